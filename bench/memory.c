/* The memory account against published runs.
 *
 *     memory [--quick] [DATA]        DATA: the folder of measurements
 *
 * 1. train_tables/train_bench.csv, source bloom-prequel: 44 rows of 176 to 203
 *    x 10^9 parameters on 384 A100 80 GB with the memory that they took, and
 *    two that ran out of it.
 * 2. Runs that did not run out: the other rows of that source, all of
 *    train_vtrain, and the heuristic plans of rlhf_steps/real_figure.csv.
 *
 * Convention of 1, Megatron-DeepSpeed of February 2022, whose memory is what
 * the process had reserved (nvidia-smi).  Peak of the account (parameters,
 * gradients, optimizer with ZeRO, layer inputs in flight, one layer recomputed,
 * logits), and as DeepSpeed and Megatron of that time do and our plans do not:
 *   - with bf16, bf16 gradients beside the fp32 accumulators (BF16_Optimizer);
 *     with fp16, fp16 gradients alone
 *   - fp32 copies of a rank's part of fp16 gradients for the optimizer's step,
 *     in segments of their own, so that reserved memory has them at all times
 *   - the output of every micro-batch in flight is kept for its backward
 *     (PipelineEngine.pipe_buffers['outputs'])
 *   - scores of attention in the recomputed layer, 5 a s^2 b / t bytes (arXiv
 *     2205.05198, equation 2): there was no flash attention
 *   - two buckets of 5 x 10^8 16-bit elements (defaults of reduce_bucket_size
 *     and allgather_bucket_size)
 * times one and allocator-slack, plus framework-memory.  These two are the only
 * constants that no code or formula gives; they were set in round numbers, with
 * these rows in sight, so the error is not a held-out one.
 *
 * Convention of train_vtrain: its source states no sharding of the optimizer;
 * ZeRO 1 is assumed, as Megatron-DeepSpeed's examples have it, fp16, full
 * recomputation.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/figure.h"
#include "bench/real_setting.h"
#include "graph/memory/memory_peak.h"

#define GIB (1024.0 * 1024 * 1024)
#define CAPACITY_BYTES (80 * GIB) /* A100 80 GB and H100: 80 GiB */
#define BUCKET_ELEMENTS 5e8
#define HALF_BYTES 2

/* One published run of a GPT. */
typedef struct {
  char id[40];
  uint64_t layers, hidden, heads, vocab, seq;
  uint64_t gpus, batch, micro_batch; /* sequences */
  uint64_t tp, pp, dp, zero;
  gboolean bf16;     /* with fp32 gradients; else fp16 */
  gboolean oom;      /* ran out of memory */
  double memory_gib; /* NAN: not published */
} Run;

static void
die_unless(gboolean ok, GError *error)
{
  if (ok)
    return;
  fprintf(stderr, "memory: %s\n",
          error ? error->message : "cannot write a temporary file");
  exit(2);
}

/* --- tables --------------------------------------------------------------- */

typedef struct {
  char **lines; /* owned */
  char **head;  /* owned */
} Csv;

/* FALSE: no such file. */
static gboolean
csv_open(Csv *csv, const char *data, const char *name)
{
  g_autofree char *path = g_build_filename(data, name, NULL);
  g_autofree char *text = NULL;

  if (!g_file_get_contents(path, &text, NULL, NULL)) {
    printf("# no measurements in %s\n", path);
    return FALSE;
  }
  csv->lines = g_strsplit(text, "\n", -1);
  csv->head = g_strsplit(csv->lines[0], ",", -1);
  return TRUE;
}

static void
csv_close(Csv *csv)
{
  g_strfreev(csv->lines);
  g_strfreev(csv->head);
}

/* The cell of column @name, "" where there is none. */
static const char *
cell(const Csv *csv, char *const *cells, const char *name)
{
  for (guint i = 0; csv->head[i] && cells[i]; i++)
    if (g_str_equal(csv->head[i], name))
      return cells[i];
  return "";
}

static uint64_t
number(const Csv *csv, char *const *cells, const char *name, uint64_t fallback)
{
  uint64_t value;

  return ra_text_uint64(cell(csv, cells, name), &value) ? value : fallback;
}

static Run
read_bloom(const Csv *csv, char *const *cells)
{
  Run run = {.layers = number(csv, cells, "layers", 0),
             .hidden = number(csv, cells, "hidden", 0),
             .heads = number(csv, cells, "heads", 0),
             .vocab = number(csv, cells, "vocab", 0),
             .seq = number(csv, cells, "seq", 0),
             .gpus = number(csv, cells, "gpus", 0),
             .batch = number(csv, cells, "gbs_seq", 0),
             .micro_batch = number(csv, cells, "mbs", 0),
             .tp = number(csv, cells, "tp", 1),
             .pp = number(csv, cells, "pp", 1),
             .dp = number(csv, cells, "dp", 1)};

  g_strlcpy(run.id, cell(csv, cells, "id"), sizeof run.id);
  run.zero = g_str_equal(cell(csv, cells, "sharding"), "ZeRO-1");
  run.bf16 = g_str_has_prefix(cell(csv, cells, "precision"), "bf16");
  run.oom = strstr(cell(csv, cells, "note"), "OOM") != NULL;
  if (!ra_text_double(cell(csv, cells, "mem_gib"), &run.memory_gib))
    run.memory_gib = (double)NAN;
  return run;
}

static Run
read_vtrain(const Csv *csv, char *const *cells)
{
  Run run = {.layers = number(csv, cells, "layers", 0),
             .hidden = number(csv, cells, "hidden", 0),
             .heads = number(csv, cells, "heads", 0),
             .vocab = 50304, /* 50,257 padded to a multiple of 128 */
             .seq = number(csv, cells, "seq", 0),
             .gpus = number(csv, cells, "gpus", 0),
             .batch = number(csv, cells, "global_batch", 0),
             .micro_batch = number(csv, cells, "micro_batch", 0),
             .tp = number(csv, cells, "tp", 1),
             .pp = number(csv, cells, "pp", 1),
             .dp = number(csv, cells, "dp", 1),
             .zero = 1,
             .memory_gib = (double)NAN};

  g_snprintf(run.id, sizeof run.id, "h%u-l%u-tp%u-pp%u-b%u", (guint)run.hidden,
             (guint)run.layers, (guint)run.tp, (guint)run.pp,
             (guint)run.micro_batch);
  return run;
}

typedef Run (*RunReader)(const Csv *csv, char *const *cells);

static GArray *
read_runs(const char *data, const char *name, const char *source,
          RunReader reader)
{
  GArray *runs = g_array_new(FALSE, FALSE, sizeof(Run));
  Csv csv;

  if (!csv_open(&csv, data, name))
    return runs;
  for (guint i = 1; csv.lines[i]; i++) {
    g_auto(GStrv) cells = g_strsplit(csv.lines[i], ",", -1);
    Run run;
    if (!cells[0] ||
        (source && !g_str_equal(cell(&csv, cells, "source"), source)))
      continue;
    run = reader(&csv, cells);
    if (run.layers > 0 && run.micro_batch > 0)
      g_array_append_val(runs, run);
  }
  csv_close(&csv);
  return runs;
}

/* --- a run as a plan ------------------------------------------------------ */

static RaKeyFile *
parse(const char *name, const char *text)
{
  GError *error = NULL;
  RaKeyFile *file = ra_key_file_parse(name, text, strlen(text), &error);

  die_unless(file != NULL, error);
  return file;
}

typedef struct {
  RaWorkload *workload;
  RaCluster *cluster;
  RaPlan *plan;
} Setting;

/* Without the sync to disk of g_file_set_contents(): a thousand of them. */
static void
write_model(const char *path, const char *config)
{
  FILE *file = fopen(path, "w");

  die_unless(file && fputs(config, file) >= 0, NULL);
  die_unless(fclose(file) == 0, NULL);
}

/* Supervised training of one GPT; its shape goes through a file of @folder. */
static Setting
setting_new(const Run *run, const char *folder)
{
  g_autofree char *model = g_build_filename(folder, "model.json", NULL);
  g_autofree char *config = g_strdup_printf(
      "{\"layers\": %u, \"hidden\": %u, \"heads\": %u, \"vocab\": %u, "
      "\"seq\": %u, \"gated_mlp\": false}",
      (guint)run->layers, (guint)run->hidden, (guint)run->heads,
      (guint)run->vocab, (guint)run->seq);
  g_autofree char *workload = g_strdup_printf(
      "[workload]\nalgorithm = sft\ndataset = text\nprompts = %u\n"
      "prompt-length = fixed(%u)\nresponse-length = fixed(%u)\n"
      "[model gpt]\nconfig = %s\ntrainable = true\ndtype = %s\n"
      "[call train]\nmodel = gpt\nkind = train\ninputs = text\n",
      (guint)run->batch, (guint)run->seq / 2, (guint)(run->seq - run->seq / 2),
      model, run->bf16 ? "bf16" : "fp16");
  guint per_node = (guint)MIN(run->gpus, 8);
  g_autofree char *cluster = g_strdup_printf(
      "[cluster]\nnodes = %u\ngpus-per-node = %u\ngpu = a100-sxm\n"
      "nics-per-node = 4\nnic = 100 Gbit/s\n",
      (guint)run->gpus / per_node, per_node);
  g_autofree char *plan = g_strdup_printf(
      "[plan]\nworkload = w\ncluster = c\n[call train]\nmesh = all\n"
      "dp = %u\ntp = %u\npp = %u\nmicro-batches = %u\nrecompute = full\n"
      "zero = %u\ngrad-dtype = %s\n",
      (guint)run->dp, (guint)run->tp, (guint)run->pp,
      (guint)(run->batch / run->dp / run->micro_batch), (guint)run->zero,
      run->bf16 ? "fp32" : "fp16");
  g_autoptr(RaKeyFile) w = parse("bench.workload", workload);
  g_autoptr(RaKeyFile) c = parse("bench.cluster", cluster);
  g_autoptr(RaKeyFile) p = parse("bench.plan", plan);
  GError *error = NULL;
  Setting s;

  write_model(model, config);
  s.workload = ra_workload_load(w, &error);
  die_unless(s.workload != NULL, error);
  s.cluster = ra_cluster_load(c, &error);
  die_unless(s.cluster != NULL, error);
  s.plan = ra_plan_load(p, s.workload, s.cluster, &error);
  die_unless(s.plan != NULL, error);
  return s;
}

static void
setting_clear(Setting *s)
{
  ra_plan_free(s->plan);
  ra_cluster_free(s->cluster);
  ra_workload_free(s->workload);
}

/* Bytes of a stage beside the account: see the head. */
static double
extra_bytes(const RaMemory *memory, const Run *run, uint32_t stage)
{
  const RaStageMemory *s = &memory->calls[0].stages[stage];
  double message =
      HALF_BYTES * (double)(run->seq * run->micro_batch * run->hidden);
  double in_flight =
      (double)MIN(run->pp - stage, run->batch / run->dp / run->micro_batch);
  double scores =
      5.0 * (double)(run->heads * run->seq * run->seq * run->micro_batch) /
      (double)run->tp;

  return (double)s->step_bytes + (run->bf16 ? (double)s->param_bytes : 0) +
         (run->pp > 1 ? in_flight * message : 0) + scores +
         2 * BUCKET_ELEMENTS * HALF_BYTES;
}

/* The fullest stage of the convention; its account alone is *out_account. */
static double
predict(const Run *run, const char *folder, double *out_account)
{
  Setting s = setting_new(run, folder);
  g_autoptr(RaMemory) memory = ra_memory_new(s.plan);
  g_autofree RaCallLoad *loads = ra_call_loads_new(s.plan, 1, 0);
  uint32_t n = ra_memory_n_holders(memory);
  g_autofree uint64_t *bytes = g_new(uint64_t, n);
  g_autofree RaTransients *all = ra_call_transients_new(memory, 0, &loads[0]);
  double most = 0;

  *out_account = 0;
  for (uint32_t stage = 0; stage < run->pp; stage++) {
    const RaStageMemory *m = &memory->calls[0].stages[stage];
    double used = (double)(m->param_bytes + m->grad_bytes + m->optimizer_bytes);
    memset(bytes, 0, n * sizeof *bytes);
    ra_transients_add(&all[stage], 0, bytes);
    for (uint32_t h = 0; h < n; h++)
      used += (double)bytes[h];
    *out_account = MAX(*out_account, ra_memory_total(memory, used));
    used += extra_bytes(memory, run, stage);
    most = MAX(most, ra_memory_total(memory, used));
  }
  setting_clear(&s);
  return most;
}

/* --- the answers ---------------------------------------------------------- */

typedef struct {
  GArray *errors; /* double, absolute relative */
  GArray *alone;  /* the same of the account without the convention */
  guint n_oom, n_oom_fit;
  guint n_ran, n_ran_unfit;
} Tally;

static void
add_bloom(const GArray *runs, const char *folder, Tally *tally)
{
  printf("# bloom-prequel: GiB, predicted by the convention of this program's "
         "head, by the account alone, measured\n"
         "id\tpredicted_gib\taccount_gib\tmeasured_gib\terror_frac\n");
  for (guint i = 0; i < runs->len; i++) {
    const Run *run = &g_array_index(runs, Run, i);
    double account, bytes = predict(run, folder, &account);
    gboolean fits = bytes <= CAPACITY_BYTES;
    double error = bytes / GIB / run->memory_gib - 1;

    tally->n_oom += run->oom;
    tally->n_oom_fit += run->oom && fits;
    tally->n_ran += !run->oom;
    tally->n_ran_unfit += !run->oom && !fits;
    if (isnan(run->memory_gib)) {
      if (run->oom || !fits)
        printf("%s\t%.1f\t%.1f\t%s\t-\n", run->id, bytes / GIB, account / GIB,
               run->oom ? "OOM" : "ran");
      continue;
    }
    printf("%s\t%.1f\t%.1f\t%.0f\t%.3f\n", run->id, bytes / GIB, account / GIB,
           run->memory_gib, error);
    error = fabs(error);
    g_array_append_val(tally->errors, error);
    error = fabs(account / GIB / run->memory_gib - 1);
    g_array_append_val(tally->alone, error);
  }
}

static void
add_vtrain(const char *data, const char *folder, Tally *tally)
{
  static const char *const names[] = {"train_vtrain/single_node_a100.csv",
                                      "train_vtrain/multi_node_a100.csv"};

  printf("# train_vtrain: runs that are judged not to fit\n");
  for (guint f = 0; f < G_N_ELEMENTS(names); f++) {
    g_autoptr(GArray) runs = read_runs(data, names[f], NULL, read_vtrain);
    for (guint i = 0; i < runs->len; i++) {
      const Run *run = &g_array_index(runs, Run, i);
      double account;
      predict(run, folder, &account);
      tally->n_ran++;
      if (account <= CAPACITY_BYTES)
        continue;
      tally->n_ran_unfit++;
      printf("%s\t-\t%.1f\tran\t-\n", run->id, account / GIB);
    }
  }
}

static void
add_real(const char *data, Tally *tally)
{
  g_autoptr(GArray) rows = real_rows(data);

  printf("# real_heuristic: the account alone, in GiB of 80\n");
  for (guint i = 0; i < rows->len; i++) {
    const RealRow *row = &g_array_index(rows, RealRow, i);
    RealSetting *setting = real_setting_new(row);
    const RaPlan *plan = real_setting_plan(setting);
    g_autoptr(RaMemory) memory = ra_memory_new(plan);
    g_autofree RaCallLoad *loads = ra_call_loads_new(plan, 3, 0);
    RaAugmented *augmented = ra_augment(plan, 3);
    RaMemoryPeak peak;

    ra_memory_peak(memory, augmented, loads, &peak);
    printf("real-%s-%s-%u\t-\t%.1f\tran\t-\n", row->actor, row->critic,
           row->n_gpus, peak.total_bytes / GIB);
    tally->n_ran++;
    tally->n_ran_unfit += peak.total_bytes > CAPACITY_BYTES;
    ra_memory_peak_clear(&peak);
    ra_augmented_free(augmented);
    real_setting_free(setting);
  }
}

int
main(int argc, char **argv)
{
  const char *given = NULL;
  g_autofree char *data = NULL, *model = NULL;
  g_autofree char *folder = g_dir_make_tmp("ra-memory-XXXXXX", NULL);
  g_autoptr(GArray) runs = NULL;
  Tally tally = {.errors = g_array_new(FALSE, FALSE, sizeof(double)),
                 .alone = g_array_new(FALSE, FALSE, sizeof(double))};
  gboolean none;

  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--quick") != 0) /* takes a second as it is */
      given = argv[i];
  die_unless(folder != NULL, NULL);
  data = bench_data_folder(given);
  model = g_build_filename(folder, "model.json", NULL);
  runs = read_runs(data, "train_tables/train_bench.csv", "bloom-prequel",
                   read_bloom);
  add_bloom(runs, folder, &tally);
  add_vtrain(data, folder, &tally);
  add_real(data, &tally);
  g_unlink(model);
  g_rmdir(folder);

  printf("# %u rows with memory, %u that ran out, %u that ran\n",
         tally.errors->len, tally.n_oom, tally.n_ran);
  none = tally.errors->len == 0;
  if (!none)
    printf(
        "# median error of the account alone: %.3f\n",
        bench_median((double *)(gpointer)tally.alone->data, tally.alone->len));
  bench_bar("bloom_memory_median_error_frac",
            none ? (double)NAN
                 : bench_median((double *)(gpointer)tally.errors->data,
                                tally.errors->len),
            BENCH_AT_MOST, 0.08);
  bench_bar("bloom_oom_judged_to_fit",
            tally.n_oom > 0 ? tally.n_oom_fit : (double)NAN, BENCH_AT_MOST, 0);
  bench_bar("ran_judged_not_to_fit",
            tally.n_ran > 0 ? tally.n_ran_unfit : (double)NAN, BENCH_AT_MOST,
            0);
  g_array_unref(tally.errors);
  g_array_unref(tally.alone);
  return 0;
}
