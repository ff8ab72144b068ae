/* Readers of measured kernel slowdowns and of collectives in an iteration. */
#include "config.h"

#include <string.h>

#include "traces/measured_impl.h"
#include "traces/overlap_rows.h"

static const char *const kernel_columns[] = {
    "kernel",     "alone_ns", "overlapped_ns", "overlap_ratio", "compute_pct",
    "memory_pct", NULL};

static gboolean
read_kernel(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  const RaMeasuredFound *name = g_hash_table_lookup(r->found, line->field[0]);
  double v[5];
  RaOverlapRowsKernel row;

  if (!ra_csv_numbers(line, 1, 5, v, error))
    return FALSE;
  if (!name)
    name = ra_measured_found(r, line->field[0]);
  row = (RaOverlapRowsKernel){.alone_s = v[0] * 1e-9,
                              .beside_s = v[1] * 1e-9,
                              .overlap_frac = CLAMP(v[2], 0, 1),
                              .by_memory = v[4] > v[3],
                              .name = g_intern_string(line->field[0]),
                              .file = g_intern_string(line->path),
                              .file_line = line->number,
                              .kernel = name->number};
  if (row.alone_s > 0 && row.beside_s > 0)
    g_array_append_val(r->rows, row);
  return TRUE;
}

static const char *const message_columns[] = {"op", "group_size", "msg_bytes",
                                              "median_us", NULL};

static gboolean
read_message(const RaCsvLine *line, gpointer data, GError **error)
{
  static const struct {
    const char *name;
    RaOpKind kind;
  } kinds[] = {{"all_reduce", RA_OP_ALL_REDUCE},
               {"all_gather", RA_OP_ALL_GATHER},
               {"reduce_scatter", RA_OP_REDUCE_SCATTER},
               {"all_to_all", RA_OP_ALL_TO_ALL}};
  RaMeasuredReader *r = data;
  double v[3];

  if (!ra_csv_numbers(line, 1, 3, v, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    uint64_t ranks = ra_measured_whole(v[0]);
    RaOp op = {.kind = (uint8_t)kinds[i].kind,
               .dim = {ra_measured_whole(v[1]), ranks, ranks, 1}};

    if (strcmp(line->field[0], kinds[i].name) == 0 && ranks > 1 && v[1] > 0)
      ra_measured_add(r, op, v[2], op.dim[0], ranks);
  }
  return TRUE;
}

/* All rows of @kind of @gpu. */
static GArray *
read_rows(const char *const *data, const char *kind, const char *gpu,
          guint row_bytes, const char *const *columns, RaCsvRow read,
          GError **error)
{
  g_autofree char *prefix = g_strdup_printf("%s_%s", kind, gpu);
  g_autoptr(GHashTable) found =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, row_bytes);
  RaMeasuredReader r = {.rows = rows, .gpu = gpu, .found = found};

  if (!ra_measured_files(data, "overlap", prefix, &r, columns, read, error))
    return NULL;
  return g_steal_pointer(&rows);
}

GArray *
ra_overlap_rows_kernels(const char *const *data, const char *gpu,
                        GError **error)
{
  return read_rows(data, "echo_kernel_slowdown", gpu,
                   sizeof(RaOverlapRowsKernel), kernel_columns, read_kernel,
                   error);
}

GArray *
ra_overlap_rows_messages(const char *const *data, const char *gpu,
                         GError **error)
{
  return read_rows(data, "aicb_insitu_comm", gpu, sizeof(RaMeasured),
                   message_columns, read_message, error);
}
