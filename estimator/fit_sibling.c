/* Rows that a GPU lacks, from measurements of its siblings.
 *
 * GPUs of one architecture run the same kernels, and links of one generation
 * carry messages alike: what is chosen by size (protocols, algorithms, tiles)
 * changes at the same sizes, and the ratio of two GPUs' times is smooth.  A
 * size that only a sibling has is its time times that ratio, read between the
 * nearest sizes that both have. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "estimator/fit.h"

/* Rows of one op. */
typedef struct {
  RaOp op;
  uint64_t size; /* the dimension along which is read; 0 in @op then */
  double sum;    /* of ln(seconds) */
  guint n;
} Spot;

static int
compare_lines(const Spot *a, const Spot *b)
{
  if (a->op.flags != b->op.flags)
    return a->op.flags < b->op.flags ? -1 : 1;
  for (guint i = 0; i < RA_OP_DIMS; i++)
    if (a->op.dim[i] != b->op.dim[i])
      return a->op.dim[i] < b->op.dim[i] ? -1 : 1;
  return 0;
}

static int
compare_spots(const void *a, const void *b)
{
  const Spot *x = a, *y = b;
  int order = compare_lines(x, y);

  return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* Sorts @spots and adds up those of one op. */
static void
merge(GArray *spots)
{
  guint n = 0;

  qsort(spots->data, spots->len, sizeof(Spot), compare_spots);
  for (guint i = 0; i < spots->len; i++) {
    Spot *spot = &g_array_index(spots, Spot, i);
    Spot *last = n > 0 ? &g_array_index(spots, Spot, n - 1) : NULL;

    if (last && compare_spots(last, spot) == 0) {
      last->sum += spot->sum;
      last->n += spot->n;
    } else {
      g_array_index(spots, Spot, n++) = *spot;
    }
  }
  g_array_set_size(spots, n);
}

static void
add(GArray *spots, const RaOp *op, guint dim, double log_s)
{
  Spot spot = {*op, op->dim[dim], log_s, 1};

  spot.op.count = 0;
  spot.op.dim[dim] = 0;
  g_array_append_val(spots, spot);
}

/* (transfer full) (element-type Spot): of @rows, in order. */
static GArray *
list_spots(const GArray *rows, guint dim)
{
  GArray *spots = g_array_sized_new(FALSE, FALSE, sizeof(Spot), rows->len);

  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);

    add(spots, &row->op, dim, ra_log(row->measured_s));
  }
  merge(spots);
  return spots;
}

static double
mean(const Spot *spot)
{
  return spot->sum / spot->n;
}

/* ln(own / sibling) of two spots of one op. */
static double
ratio(const Spot *const pair[2])
{
  return mean(pair[1]) - mean(pair[0]);
}

/* ln(seconds) of @spot of the sibling on the GPU, between @below and @above:
 * spots of the sibling and the GPU's own; one of them may be NULLs. */
static double
read_between(const Spot *spot, const Spot *const below[2],
             const Spot *const above[2])
{
  double frac;

  if (!below[0] || !above[0])
    return mean(spot) + ratio(below[0] ? below : above);
  frac = ra_log((double)spot->size / (double)below[0]->size) /
         ra_log((double)above[0]->size / (double)below[0]->size);
  return mean(spot) + (1 - frac) * ratio(below) + frac * ratio(above);
}

/* Appends to @found what a line of @sibling, spots @first to @last - 1, has
 * beyond those of @own. */
static void
borrow_line(const GArray *own, const GArray *sibling, guint first, guint last,
            GArray *found)
{
  const Spot *below[2] = {NULL, NULL};
  guint begin = first;

  for (guint i = first; i <= last; i++) {
    const Spot *spot = i < last ? &g_array_index(sibling, Spot, i) : NULL;
    const Spot *above[2] = {spot, NULL};

    if (spot)
      above[1] =
          bsearch(spot, own->data, own->len, sizeof *spot, compare_spots);
    if (spot && !above[1])
      continue;
    for (guint k = begin; (below[0] || above[0]) && k < i; k++) {
      const Spot *lent = &g_array_index(sibling, Spot, k);
      Spot one = {lent->op, lent->size, read_between(lent, below, above), 1};

      g_array_append_val(found, one);
    }
    below[0] = above[0];
    below[1] = above[1];
    begin = i + 1;
  }
}

static void
borrow(const GArray *own, const GArray *sibling, GArray *found)
{
  guint first = 0;

  for (guint i = 1; i <= sibling->len; i++)
    if (i == sibling->len ||
        compare_lines(&g_array_index(sibling, Spot, first),
                      &g_array_index(sibling, Spot, i)) != 0) {
      borrow_line(own, sibling, first, i, found);
      first = i;
    }
}

/* Laws to which siblings lend rows: along which dimensions of their ops, and
 * the share of ln(seconds) that is theirs.  Of kernels it is the mean of two
 * estimates, theirs and the table's own, which are about as far off.  Between
 * two sizes of messages a table sees no change of protocol, and says nothing.
 */
static const struct {
  const char *law;
  guint dims; /* bit d: dimension d */
  double share;
} lent[] = {
    {"gemm.bf16", 1u << 1 | 1u << 2, 0.5}, {"attention", 1u << 4, 0.5},
    {"decode-attention", 1u << 4, 0.5},    {"all-reduce", 1u << 0, 1},
    {"all-reduce.trtllm", 1u << 0, 1},     {"all-reduce.sglang", 1u << 0, 1},
    {"all-reduce.vllm", 1u << 0, 1},       {"all-gather", 1u << 0, 1},
    {"reduce-scatter", 1u << 0, 1},        {"all-to-all", 1u << 0, 1}};

static guint
index_of(const char *law)
{
  guint i = 0;

  while (i < G_N_ELEMENTS(lent) && strcmp(lent[i].law, law) != 0)
    i++;
  return i;
}

gboolean
ra_fit_borrows(const RaFitLaw *law)
{
  return index_of(law->law) < G_N_ELEMENTS(lent);
}

/* Appends to @rows what siblings have along dimension @dim. */
static void
borrow_along(GArray *rows, const GPtrArray *siblings, guint dim)
{
  g_autoptr(GArray) own = list_spots(rows, dim);
  g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Spot));
  RaKernels kernels =
      rows->len > 0 ? g_array_index(rows, RaMeasured, 0).kernels : 0;

  for (guint k = 0; k < siblings->len; k++) {
    g_autoptr(GArray) spots = list_spots(siblings->pdata[k], dim);

    borrow(own, spots, found);
  }
  merge(found);
  for (guint i = 0; i < found->len; i++) {
    const Spot *spot = &g_array_index(found, Spot, i);
    RaMeasured row = {
        .op = spot->op, .kernels = kernels, .measured_s = ra_exp(mean(spot))};

    row.op.count = 1;
    row.op.dim[dim] = spot->size;
    g_array_append_val(rows, row);
  }
}

GArray *
ra_fit_borrow(const RaFitLaw *law, const GArray *rows, double *out_share)
{
  GArray *out = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  guint i = index_of(law->law);

  g_return_val_if_fail(i < G_N_ELEMENTS(lent), out);
  g_array_append_vals(out, rows->data, rows->len);
  for (guint dim = 0; dim < RA_OP_DIMS; dim++)
    if (lent[i].dims & 1u << dim)
      borrow_along(out, law->siblings, dim);
  *out_share = lent[i].share;
  return out;
}
