/* Tables of a served model's layer, and the time of a step by look-up. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "graph/op/op.h"
#include "traces/csv.h"
#include "traces/grid.h"
#include "traces/serving_table.h"

/* An axis has no knot 0: nothing stands at these. */
#define NO_SEQUENCE 0.5
#define NO_TOKENS 4.0

#define MAX_LAYERS 32

/* Times of one kernel by tokens or sequences. */
typedef struct {
  char *name;   /* owned */
  RaGrid *grid; /* owned; ln seconds */
} Kernel;

/* A row, before the axes are known. */
typedef struct {
  double at[4];
  double s;
  guint kernel; /* of dense and per sequence */
} Row;

struct _RaServingTable {
  GArray *dense, *sequence; /* Kernel */
  RaGrid *mixed, *decode;   /* ln seconds */
  RaGrid *experts;          /* the same; NULL: there are none */
};

static void
kernel_clear(gpointer data)
{
  Kernel *kernel = data;

  g_free(kernel->name);
  ra_grid_free(kernel->grid);
}

typedef struct {
  GArray *kernels; /* Kernel, or NULL: attention */
  GArray *rows;    /* Row */
} Reader;

static guint
find_kernel(GArray *kernels, const char *name)
{
  Kernel kernel = {.name = NULL};

  for (guint i = 0; i < kernels->len; i++)
    if (strcmp(g_array_index(kernels, Kernel, i).name, name) == 0)
      return i;
  kernel.name = g_strdup(name);
  g_array_append_val(kernels, kernel);
  return kernels->len - 1;
}

static gboolean
read_kernel(const RaCsvLine *line, gpointer data, GError **error)
{
  Reader *r = data;
  Row row = {.s = 0};
  double v[2];

  if (!ra_csv_numbers(line, 1, 2, v, error))
    return FALSE;
  row.at[0] = v[0];
  row.s = v[1] * 1e-6;
  row.kernel = find_kernel(r->kernels, line->field[0]);
  if (row.s > 0 && v[0] > 0)
    g_array_append_val(r->rows, row);
  return TRUE;
}

static gboolean
read_attention(const RaCsvLine *line, gpointer data, GError **error)
{
  Reader *r = data;
  Row row = {.kernel = 0};
  double v[5];

  if (!ra_csv_numbers(line, 0, 5, v, error))
    return FALSE;
  row.at[0] = v[0];
  row.at[1] = MAX(v[1], NO_TOKENS);
  row.at[2] = MAX(v[2], NO_SEQUENCE);
  row.at[3] = MAX(v[3], NO_TOKENS);
  row.s = v[4] * 1e-6;
  if (row.s > 0)
    g_array_append_val(r->rows, row);
  return TRUE;
}

static gboolean
read_experts(const RaCsvLine *line, gpointer data, GError **error)
{
  Reader *r = data;
  Row row = {.kernel = 0};
  double v[3];

  if (!ra_csv_numbers(line, 0, 3, v, error))
    return FALSE;
  row.at[0] = v[0];
  row.at[1] = v[1];
  row.s = v[2] * 1e-6;
  if (row.s > 0 && v[0] >= 1 && v[1] >= 1)
    g_array_append_val(r->rows, row);
  return TRUE;
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Which rows go into a grid. */
typedef gboolean (*Wanted)(const Row *row, guint kernel);

static gboolean
of_kernel(const Row *row, guint kernel)
{
  return row->kernel == kernel;
}

static gboolean
with_chunk(const Row *row, guint kernel G_GNUC_UNUSED)
{
  return row->at[0] > 0;
}

static gboolean
without_chunk(const Row *row, guint kernel G_GNUC_UNUSED)
{
  return row->at[0] <= 0 && row->at[2] >= 1;
}

static void
add_axis(RaGrid *grid, const GArray *rows, Wanted wanted, guint kernel,
         guint at)
{
  g_autofree double *knots = g_new(double, rows->len + 1);
  guint n = 0, m = 0;

  for (guint i = 0; i < rows->len; i++) {
    const Row *row = &g_array_index(rows, Row, i);

    if (wanted(row, kernel))
      knots[n++] = row->at[at];
  }
  qsort(knots, n, sizeof *knots, compare_doubles);
  for (guint i = 0; i < n; i++)
    if (m == 0 || knots[i] > knots[m - 1])
      knots[m++] = knots[i];
  /* More than a grid has: every so many and the last. */
  if (m > RA_GRID_KNOTS) {
    guint step = (m + RA_GRID_KNOTS - 2) / (RA_GRID_KNOTS - 1), kept = 0;
    double last = knots[m - 1];

    for (guint i = 0; i + 1 < m; i += step)
      knots[kept++] = knots[i];
    knots[kept++] = last;
    m = kept;
  }
  ra_grid_add_axis(grid, "x", knots, m);
}

/* (nullable): of the wanted rows over axes @first to @first + @n - 1; NULL
 * where there is none. */
static RaGrid *
make_grid(const GArray *rows, Wanted wanted, guint kernel, guint first, guint n)
{
  g_autoptr(RaGrid) grid = ra_grid_new();
  guint n_rows = 0;

  for (guint i = 0; i < rows->len; i++)
    n_rows += wanted(&g_array_index(rows, Row, i), kernel);
  if (n_rows == 0)
    return NULL;
  for (guint a = 0; a < n; a++)
    add_axis(grid, rows, wanted, kernel, first + a);
  for (guint i = 0; i < rows->len; i++) {
    const Row *row = &g_array_index(rows, Row, i);

    if (wanted(row, kernel))
      ra_grid_sample(grid, row->at + first, ra_log(row->s));
  }
  ra_grid_fill(grid);
  return g_steal_pointer(&grid);
}

/* All files of @folder whose names begin with @prefix. */
static gboolean
read_files(const char *folder, const char *prefix, const char *const *columns,
           RaCsvRow read, Reader *reader, GError **error)
{
  g_autoptr(GPtrArray) files = ra_csv_find(folder, prefix);

  for (guint i = 0; i < files->len; i++)
    if (!ra_csv_read(files->pdata[i], columns, read, reader, error))
      return FALSE;
  if (files->len > 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_IO, "%s: there is no %s*.csv", folder,
              prefix);
  return FALSE;
}

static gboolean
load_kernels(const char *folder, const char *name, const char *size,
             GArray *kernels, GError **error)
{
  const char *const columns[] = {"layer", size, "time_us", NULL};
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
  Reader reader = {kernels, rows};

  if (!read_files(folder, name, columns, read_kernel, &reader, error))
    return FALSE;
  for (guint k = 0; k < kernels->len; k++) {
    Kernel *kernel = &g_array_index(kernels, Kernel, k);

    kernel->grid = make_grid(rows, of_kernel, k, 0, 1);
    if (kernel->grid)
      continue;
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: '%s' of %s*.csv has no time", folder, kernel->name, name);
    return FALSE;
  }
  return TRUE;
}

static gboolean
load_attention(RaServingTable *t, const char *folder, GError **error)
{
  static const char *const columns[] = {
      "prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us", NULL};
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
  Reader reader = {NULL, rows};

  if (!read_files(folder, "attention", columns, read_attention, &reader, error))
    return FALSE;
  t->mixed = make_grid(rows, with_chunk, 0, 0, 4);
  t->decode = make_grid(rows, without_chunk, 0, 2, 2);
  if (t->mixed && t->decode)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: attention*.csv has no rows with and without a chunk of a "
              "prompt",
              folder);
  return FALSE;
}

/* Where there is a file of them. */
static gboolean
load_experts(RaServingTable *t, const char *folder, GError **error)
{
  static const char *const columns[] = {"tokens", "activated_experts",
                                        "time_us", NULL};
  g_autoptr(GPtrArray) files = ra_csv_find(folder, "moe");
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
  Reader reader = {NULL, rows};

  if (files->len == 0)
    return TRUE;
  if (!read_files(folder, "moe", columns, read_experts, &reader, error))
    return FALSE;
  t->experts = make_grid(rows, of_kernel, 0, 0, 2);
  if (t->experts)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: there is no time in moe*.csv", folder);
  return FALSE;
}

RaServingTable *
ra_serving_table_load(const char *folder, GError **error)
{
  g_autoptr(RaServingTable) t = g_new0(RaServingTable, 1);

  t->dense = g_array_new(FALSE, TRUE, sizeof(Kernel));
  t->sequence = g_array_new(FALSE, TRUE, sizeof(Kernel));
  g_array_set_clear_func(t->dense, kernel_clear);
  g_array_set_clear_func(t->sequence, kernel_clear);
  if (!load_kernels(folder, "dense", "tokens", t->dense, error) ||
      !load_kernels(folder, "per_sequence", "sequences", t->sequence, error) ||
      !load_attention(t, folder, error) || !load_experts(t, folder, error))
    return NULL;
  return g_steal_pointer(&t);
}

void
ra_serving_table_free(RaServingTable *t)
{
  if (!t)
    return;
  g_array_unref(t->dense);
  g_array_unref(t->sequence);
  ra_grid_free(t->mixed);
  ra_grid_free(t->decode);
  ra_grid_free(t->experts);
  g_free(t);
}

/* How often a step runs the kernel called @name. */
static double
n_runs(const char *name, uint32_t n_layers)
{
  if (strcmp(name, "embedding") == 0 || strcmp(name, "final_layernorm") == 0)
    return 1;
  return strcmp(name, "layernorm") == 0 ? 2.0 * n_layers : n_layers;
}

static double
attention_s(const RaServingTable *t, const RaBatchStretch *step)
{
  double n = step->n_decoding > 0 ? step->n_decoding : NO_SEQUENCE;
  double kv = step->n_decoding > 0 ? MAX((double)step->kv_tokens / n, NO_TOKENS)
                                   : NO_TOKENS;
  double c = (double)step->chunk_tokens;
  double before = c > 0 ? ((double)step->chunk_pairs - c * (c + 1) / 2) / c : 0;

  return ra_exp(
      c > 0 ? ra_grid_at(t->mixed, (double[]){c, MAX(before, NO_TOKENS), n, kv})
            : ra_grid_at(t->decode, (double[]){n, kv}));
}

gboolean
ra_serving_table_has_experts(const RaServingTable *t)
{
  return t->experts != NULL;
}

/* Experts of all layers. */
static double
experts_s(const RaServingTable *t, const RaModel *model, double tokens)
{
  uint64_t n = (uint64_t)tokens;

  if (!t->experts || model->n_experts == 0)
    return 0;
  return ra_model_n_moe_layers(model) *
         ra_exp(ra_grid_at(
             t->experts,
             (double[]){tokens,
                        (double)ra_experts_met(model, 1, n,
                                               n * model->experts_per_token)}));
}

double
ra_serving_step_s(const RaServingTable *t, const RaModel *model,
                  const RaBatchStretch *step)
{
  uint32_t n_layers = model->n_layers;
  double tokens = (double)(step->n_decoding + step->chunk_tokens);
  double sampled = MAX((double)step->n_decoding + step->n_whole, 1);
  double s = n_layers * attention_s(t, step) + experts_s(t, model, tokens);

  for (guint i = 0; i < t->dense->len; i++) {
    const Kernel *k = &g_array_index(t->dense, Kernel, i);

    s += n_runs(k->name, n_layers) * ra_exp(ra_grid_at(k->grid, &tokens));
  }
  for (guint i = 0; i < t->sequence->len; i++)
    s += ra_exp(
        ra_grid_at(g_array_index(t->sequence, Kernel, i).grid, &sampled));
  return s;
}
