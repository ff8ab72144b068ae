/* Copies of rectangles in the GPU's table: one, or many in one kernel. */
#include "config.h"

#include "exec/backend/backend_cuda_impl.h"
#include "kernels/intervals.h"

#define UNIT 16 /* bytes */

void
ra_cuda_copy_rect(size_t n_rows, size_t n_cols, const RaElem *in,
                  size_t in_stride, RaElem *out, size_t out_stride)
{
  ra_cuda_check(ra_device_copy_rect(out, out_stride * sizeof(uint16_t), in,
                                    in_stride * sizeof(uint16_t),
                                    n_cols * sizeof(uint16_t), n_rows),
                "a copy of a rectangle");
}

/* TRUE if its rows begin and end at units. */
static gboolean
is_of_units(const RaBackendRect *r)
{
  gsize step = r->n_rows > 1 ? r->from_stride | r->to_stride : 0;

  return ((gsize)r->from | (gsize)r->to |
          (r->n_cols | step) * sizeof(uint16_t)) %
             UNIT ==
         0;
}

static gsize
units(gsize n)
{
  return n * sizeof(uint16_t) / UNIT;
}

static RaKInterval
interval(const RaBackendRect *r, gsize from, gsize to)
{
  gboolean is_dense = r->n_rows == 1 || (r->from_stride == r->n_cols &&
                                         r->to_stride == r->n_cols);

  return (RaKInterval){.from = ((gsize)r->from - from) / UNIT,
                       .to = ((gsize)r->to - to) / UNIT,
                       .n = units(is_dense ? r->n_rows * r->n_cols : r->n_cols),
                       .n_rows = is_dense ? 1 : r->n_rows,
                       .from_pitch = units(r->from_stride),
                       .to_pitch = units(r->to_stride)};
}

/* Those that the kernel takes count from the first of them in memory. */
void
ra_cuda_copy_rects(guint n, const RaBackendRect *rects)
{
  g_autofree RaKInterval *list = g_new(RaKInterval, (gsize)n + 1);
  gsize from = G_MAXSIZE, to = G_MAXSIZE, n_list = 0;
  uint64_t n_pieces;

  for (guint i = 0; i < n; i++)
    if (is_of_units(&rects[i])) {
      from = MIN(from, (gsize)rects[i].from);
      to = MIN(to, (gsize)rects[i].to);
    }
  for (guint i = 0; i < n; i++) {
    const RaBackendRect *r = &rects[i];

    if (r->n_rows == 0 || r->n_cols == 0)
      continue;
    if (is_of_units(r))
      list[n_list++] = interval(r, from, to);
    else
      ra_cuda_copy_rect(r->n_rows, r->n_cols, r->from, r->from_stride, r->to,
                        r->to_stride);
  }
  if (n_list == 0)
    return;
  n_pieces = ra_k_intervals_number(n_list, list);
  ra_cuda_check(ra_k_copy_intervals(
                    n_list,
                    (const RaKInterval *)(gconstpointer)ra_cuda_upload(
                        RA_CUDA_ORDER, n_list * sizeof *list / sizeof(uint32_t),
                        (const uint32_t *)(gconstpointer)list),
                    n_pieces, GSIZE_TO_POINTER(from), GSIZE_TO_POINTER(to),
                    ra_device_stream()),
                "copies of rectangles");
}
