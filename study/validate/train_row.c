/* Reading tables of training runs. */
#include "config.h"

#include <string.h>

#include "study/validate/train_row.h"
#include "traces/csv.h"

static const char *const vtrain_columns[] = {
    "gpus", "global_batch", "micro_batch", "hidden", "heads",        "layers",
    "seq",  "tp",           "dp",          "pp",     "iter_time_ms", NULL};

static const char *const bench_columns[] = {
    "id",          "source", "gpu",       "task",   "sharding", "recompute",
    "precision",   "gpus",   "layers",    "hidden", "heads",    "kv_heads",
    "ffn",         "vocab",  "gated_mlp", "seq",    "gbs_seq",  "mbs",
    "tp",          "pp",     "vpp",       "cp",     "ep",       "dp",
    "step_time_s", NULL};

enum { BENCH_WORDS = 7, BENCH_NUMBERS = 17 };

static void
row_free(RaTrainRow *row)
{
  if (row == NULL)
    return;
  g_free(row->id);
  g_free(row->source);
  g_free(row->gpu);
  g_free(row->task);
  g_free(row->sharding);
  g_free(row->recompute);
  g_free(row->precision);
  g_free(row);
}

/* Whole numbers of a table; what is none, as "n/a" or "None", is not given. */
static uint32_t
whole(const RaCsvLine *line, guint column)
{
  char *end;
  guint64 value = g_ascii_strtoull(line->field[column], &end, 10);

  return end == line->field[column] || (*end != '\0' && *end != '.') ||
                 value > G_MAXINT32
             ? 0
             : (uint32_t)value;
}

static gboolean
read_vtrain(const RaCsvLine *line, gpointer data, GError **error)
{
  RaTrainRow *row;
  double v[11];
  uint32_t n[10];

  if (!ra_csv_numbers(line, 0, 11, v, error))
    return FALSE;
  for (guint i = 0; i < 10; i++)
    n[i] = whole(line, i);
  row = g_new0(RaTrainRow, 1);
  *row = (RaTrainRow){.gpus = n[0],
                      .batch = n[1],
                      .micro_batch = n[2],
                      .hidden = n[3],
                      .heads = n[4],
                      .layers = n[5],
                      .seq = n[6],
                      .tp = n[7],
                      .dp = n[8],
                      .pp = n[9],
                      .kv_heads = n[4],
                      .ffn = 4 * n[3],
                      .measured_s = v[10] * 1e-3};
  row->id = g_strdup_printf("vtrain-h%u-l%u-g%u-b%u-m%u-tp%u-dp%u-pp%u", n[3],
                            n[5], n[0], n[1], n[2], n[7], n[8], n[9]);
  row->source =
      g_strdup(strstr(line->path, "multi_node") ? "vtrain-nodes" : "vtrain");
  row->gpu = g_strdup("A100-80GB");
  row->task = g_strdup("pretrain");
  row->sharding = g_strdup("");
  row->recompute = g_strdup("full");
  row->precision = g_strdup("fp16");
  row->file = g_intern_string(line->path);
  row->line = line->number;
  g_ptr_array_add(data, row);
  return TRUE;
}

static gboolean
read_bench(const RaCsvLine *line, gpointer data, GError **error)
{
  RaTrainRow *row = g_new0(RaTrainRow, 1);
  char **words[BENCH_WORDS] = {&row->id,       &row->source,   &row->gpu,
                               &row->task,     &row->sharding, &row->recompute,
                               &row->precision};
  uint32_t *numbers[BENCH_NUMBERS] = {
      &row->gpus,     &row->layers, &row->hidden,      &row->heads,
      &row->kv_heads, &row->ffn,    &row->vocab,       &row->gated_mlp,
      &row->seq,      &row->batch,  &row->micro_batch, &row->tp,
      &row->pp,       &row->vpp,    &row->cp,          &row->ep,
      &row->dp};

  for (guint i = 0; i < BENCH_WORDS; i++)
    *words[i] = g_strdup(line->field[i]);
  for (guint i = 0; i < BENCH_NUMBERS; i++)
    *numbers[i] = whole(line, BENCH_WORDS + i);
  row->file = g_intern_string(line->path);
  row->line = line->number;
  g_ptr_array_add(data, row);
  return ra_csv_number(line, BENCH_WORDS + BENCH_NUMBERS, &row->measured_s,
                       error);
}

GPtrArray *
ra_train_rows(const char *data, RaTrainSet set, GError **error)
{
  static const struct {
    const char *folder, *prefix;
    const char *const *columns;
    RaCsvRow read;
  } sets[] = {
      [RA_TRAIN_VTRAIN_NODE] = {"train_vtrain", "single_node", vtrain_columns,
                                read_vtrain},
      [RA_TRAIN_VTRAIN_NODES] = {"train_vtrain", "multi_node", vtrain_columns,
                                 read_vtrain},
      [RA_TRAIN_TABLES] = {"train_tables", "train_bench", bench_columns,
                           read_bench},
  };
  g_autofree char *folder = g_build_filename(data, sets[set].folder, NULL);
  g_autoptr(GPtrArray) files = ra_csv_find(folder, sets[set].prefix);
  g_autoptr(GPtrArray) rows =
      g_ptr_array_new_with_free_func((GDestroyNotify)row_free);

  for (guint i = 0; i < files->len; i++)
    if (!ra_csv_read(g_ptr_array_index(files, i), sets[set].columns,
                     sets[set].read, rows, error))
      return NULL;
  return g_steal_pointer(&rows);
}
