/* Levels of inference engines: time of a token under continuous batching, and
 * the time of many requests that are all queued.
 *
 * In the steady state of a closed loop with c requests of equal lengths an
 * engine does, while one response comes out, one prefill and one decode of
 * each; so it takes as long as c requests that begin together, whose caches are
 * on average as large.  With W(o) the time of c responses of o tokens, a
 * request waits W(1) / c for its own prefill and gets its other o - 1 tokens in
 * the rest:
 *
 *     time of a token = (W(o) - W(1) / c) / (o - 1)
 *
 * Requests that are all queued go through a replica's batcher
 * (graph/batcher.h): 2048 at a time (TensorRT-LLM's largest batch), 8192 tokens
 * a step (its default), keys and values in 0.9 of what weights leave of memory,
 * a request admitted where all of it fits.  Over pp stages, which no batcher is
 * for, r requests take r / c times W(o) with c as many as memory holds.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/activation.h"
#include "graph/expand_call.h"
#include "sim/breakdown.h"
#include "sim/serve.h"
#include "study/replay.h"
#include "study/rl_step.h"
#include "study/validate_impl.h"
#include "traces/csv.h"

#define BATCH_MOST 2048
#define CACHE_FRAC 0.9
#define STEP_TOKENS 8192
#define BLOCK_TOKENS 16 /* vLLM; TensorRT-LLM has 32: no matter here */

/* Requests to an engine on @tp x @pp GPUs. */
typedef struct {
  const char *model, *gpu, *precision;
  uint32_t tp, pp;
  uint32_t n_in, n_out; /* tokens of each */
  uint32_t n;           /* at once */
  uint32_t n_queued;    /* in all; 0: as @n */
} Load;

typedef struct {
  RaValidateJob *job;
  guint n_skipped; /* rows of precisions that no law is of */
} Reader;

static char *
workload_text(const Load *load, const char *config, uint32_t n_out)
{
  return g_strdup_printf(
      "[workload]\nalgorithm = generate\ndataset = prompts\nprompts = %" PRIu32
      "\nprompt-length = fixed(%" PRIu32 ")\nresponse-length = fixed(%" PRIu32
      ")\n[model m]\nconfig = %s\ndtype = %s\n[call generate]\nmodel = m\n"
      "kind = generate\ninputs = prompts\n",
      load->n, load->n_in, n_out, config, load->precision);
}

static RaSetup *
load_texts(const Load *load, const char *workload, GError **error)
{
  uint32_t n_gpus = load->tp * load->pp;
  g_autoptr(RaSetup) setup = g_new0(RaSetup, 1);
  g_autofree char *cluster = g_strdup_printf(
      "[cluster]\nnodes = 1\ngpus-per-node = %" PRIu32 "\ngpu = %s\n", n_gpus,
      load->gpu);
  g_autoptr(RaKeyFile) w =
      ra_key_file_parse("infer.workload", workload, strlen(workload), error);
  g_autoptr(RaKeyFile) c =
      w ? ra_key_file_parse("infer.cluster", cluster, strlen(cluster), error)
        : NULL;
  GError *cause = NULL;

  setup->workload = c ? ra_workload_load(w, error) : NULL;
  setup->cluster = setup->workload ? ra_cluster_load(c, error) : NULL;
  if (!setup->cluster)
    return NULL;
  setup->profile = ra_validate_profile(load->gpu, &cause);
  if (!setup->profile) {
    g_clear_error(&cause);
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "no profile of GPU '%s'",
                load->gpu);
    return NULL;
  }
  setup->cluster->device = setup->profile->spec;
  setup->estimator = ra_estimator_new(setup->profile, setup->cluster, error);
  return setup->estimator ? g_steal_pointer(&setup) : NULL;
}

static RaSetup *
make_setup(const Load *load, uint32_t n_out, GError **error)
{
  g_autofree char *config = ra_rl_model_config(load->model);
  g_autofree char *workload = NULL, *plan = NULL;
  g_autoptr(RaSetup) setup = NULL;

  if (!config) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "no config of model '%s'",
                load->model);
    return NULL;
  }
  workload = workload_text(load, config, n_out);
  setup = load_texts(load, workload, error);
  plan = g_strdup_printf("[plan]\nworkload = w\ncluster = c\n[call generate]\n"
                         "mesh = all\ntp = %" PRIu32 "\npp = %" PRIu32
                         "\nmicro-batches = %" PRIu32 "\nlaunch = graph\n",
                         load->tp, load->pp,
                         load->n % load->pp == 0 ? load->pp : 1);
  if (!setup || !ra_setup_read_plan(setup, "infer.plan", plan, error))
    return NULL;
  return g_steal_pointer(&setup);
}

/* W(@n_out); 0 with @error set. */
static double
wall_s(const Load *load, uint32_t n_out, GError **error)
{
  const RaReplayOptions options = {.n_iterations = 1,
                                   .fidelity = RA_FIDELITY_STAGE};
  g_autoptr(RaSetup) setup = make_setup(load, n_out, error);
  g_autoptr(RaReplay) replay =
      setup ? ra_replay_new(setup, &options, error) : NULL;

  return replay ? ra_sim_result(replay->sim)->makespan_s : 0;
}

/* Bytes of a replica's GPUs for keys and values. */
static double
room_bytes(const Load *load, const RaSetup *setup)
{
  const RaWorkloadModel *model = &setup->workload->models[0];
  double bytes = ra_dtype_bytes((RaDtype)model->dtype);

  return CACHE_FRAC *
         (setup->cluster->device.memory_bytes * load->tp * load->pp -
          bytes * (double)ra_model_n_params(model->model));
}

/* Requests that memory holds beside the weights; 0 with @error set. */
static uint32_t
most_at_once(const Load *load, GError **error)
{
  g_autoptr(RaSetup) setup = make_setup(load, load->n_out, error);
  const RaWorkloadModel *model;
  double bytes, heads, n;

  if (!setup)
    return 0;
  model = &setup->workload->models[0];
  bytes = ra_dtype_bytes((RaDtype)model->dtype);
  heads = MAX(model->model->n_kv_heads, load->tp);
  n = room_bytes(load, setup) /
      (2 * bytes * model->model->n_layers * heads * model->model->head_dim *
       (load->n_in + load->n_out / 2.0));
  if (n < 1) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "the weights do not fit");
    return 0;
  }
  return (uint32_t)CLAMP(n, 1, MIN(load->n_queued, BATCH_MOST));
}

/* All requests through a batcher; FALSE with @error set. */
static gboolean
serve(const Load *load, RaServeResult *result, GError **error)
{
  uint32_t n = load->n_queued;
  g_autoptr(RaSetup) setup = make_setup(load, load->n_out, error);
  g_autofree uint32_t *prompt = g_new(uint32_t, n);
  g_autofree uint32_t *response = g_new(uint32_t, n);
  g_autoptr(RaBatcher) batcher = NULL;
  RaPiece whole = {.has_embedding = 1, .has_head = 1};
  RaBatching batching = {.max_sequences = MIN(load->n, STEP_TOKENS),
                         .step_tokens = STEP_TOKENS,
                         .block_tokens = BLOCK_TOKENS,
                         .group = 1,
                         .reserve = TRUE};
  RaServeReplica replica;
  RaServeSource source;
  RaShard shard;
  double blocks;

  if (!setup)
    return FALSE;
  shard = ra_call_shard(setup->plan, 0);
  whole.n_layers = shard.model->n_layers;
  blocks = room_bytes(load, setup) / load->tp /
           (BLOCK_TOKENS * (double)ra_kv_token_bytes(&shard, &whole));
  if (blocks < (double)ra_batching_blocks(&batching, load->n_in, load->n_out)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "the weights do not fit");
    return FALSE;
  }
  batching.n_blocks = (uint64_t)blocks;
  for (uint32_t i = 0; i < n; i++) {
    prompt[i] = load->n_in;
    response[i] = load->n_out;
  }
  replica = (RaServeReplica){setup->estimator, &shard, &whole};
  source = ra_serve_source(&replica);
  batcher = ra_batcher_new(&batching, prompt, response, n);
  ra_serve_run(&source, batcher, n, NULL, result);
  return TRUE;
}

/* Time of a token in a closed loop; 0 with @error set. */
static double
token_s(const Load *load, GError **error)
{
  double whole_s = wall_s(load, load->n_out, error);
  double one_s = whole_s > 0 ? wall_s(load, 1, error) : 0;

  return (whole_s - one_s / load->n) / (load->n_out - 1);
}

/* Time of all requests, queued at once; 0 with @error set. */
static double
queue_s(Load *load, GError **error)
{
  RaServeResult result = {.n_parts = 0};

  if (load->pp > 1) {
    load->n = load->pp; /* until it is known */
    load->n = most_at_once(load, error);
    if (load->n == 0)
      return 0;
    if (load->n > load->pp)
      load->n -= load->n % load->pp;
    return wall_s(load, load->n_out, error) * load->n_queued / load->n;
  }
  load->n = MIN(load->n_queued, BATCH_MOST);
  return serve(load, &result, error) ? result.makespan_s : 0;
}

/* ---- Rows -----------------------------------------------------------------*/

/* FALSE: a precision that no law is of. */
static gboolean
set_precision(Load *load, const char *precision)
{
  load->precision = strcmp(precision, "fp8") == 0 ? "fp8" : "bf16";
  return strcmp(precision, "fp4") != 0 && strcmp(precision, "nvfp4") != 0;
}

/* Adds the row; or a note of why there is none.  Takes @error. */
static void
add_row(Reader *reader, const RaCsvLine *line, const Load *load,
        const char *part, double measured, double predicted, GError *error)
{
  RaValidateRow row = {RA_VALIDATE_ROW,
                       .part = part ? g_intern_string(part) : NULL,
                       .file = g_intern_string(line->path),
                       .line = line->number,
                       .measured = measured,
                       .predicted = predicted};

  if (error) {
    ra_validate_note(reader->job, "%s:%u: not predicted: %s", line->path,
                     line->number, error->message);
    g_error_free(error);
    return;
  }
  row.name = g_strdup_printf("%s %s on %" PRIu32 " %s, %" PRIu32 " of %" PRIu32
                             " + %" PRIu32 " tokens",
                             load->model, load->precision, load->tp * load->pp,
                             load->gpu, load->n, load->n_in, load->n_out);
  /* Who serves the same requests on how many GPUs are plans that compete. */
  if (load->n_queued == 0)
    row.group = g_strdup_printf("%s %s %s %s %" PRIu32 " %" PRIu32 " %" PRIu32,
                                part, load->model, load->precision, load->gpu,
                                load->n, load->n_in, load->n_out);
  ra_validate_add(reader->job, row);
}

static gboolean
read_tpot(const RaCsvLine *line, gpointer data, GError **error)
{
  enum { TP, PP, IN, OUT, CONCURRENT, TPOT, N };
  g_autofree char *gpu = g_ascii_strdown(line->field[1], -1);
  double v[N], predicted_s;
  Load load = {.model = line->field[0], .gpu = gpu};
  GError *why = NULL;

  if (!ra_csv_numbers(line, 4, N, v, error))
    return FALSE;
  if (!set_precision(&load, line->field[3])) {
    ((Reader *)data)->n_skipped++;
    return TRUE;
  }
  load.tp = (uint32_t)MAX(v[TP], 1);
  load.pp = (uint32_t)MAX(v[PP], 1);
  load.n_in = (uint32_t)MAX(v[IN], 1);
  load.n_out = (uint32_t)v[OUT];
  load.n = (uint32_t)v[CONCURRENT];
  if (load.n_out < 2 || load.n < 1 || v[TPOT] <= 0)
    return TRUE;
  predicted_s = token_s(&load, &why);
  add_row(data, line, &load, line->field[2], 1e-3 * v[TPOT], predicted_s, why);
  return TRUE;
}

static gboolean
read_throughput(const RaCsvLine *line, gpointer data, GError **error)
{
  enum { TP, PP, IN, OUT, REQUESTS, RATE, N };
  g_autofree char *gpu = g_ascii_strdown(line->field[1], -1);
  double v[N], predicted_s;
  Load load = {.model = line->field[0], .gpu = gpu};
  GError *why = NULL;

  if (!ra_csv_numbers(line, 3, N, v, error))
    return FALSE;
  if (!set_precision(&load, line->field[2])) {
    ((Reader *)data)->n_skipped++;
    return TRUE;
  }
  load.tp = (uint32_t)MAX(v[TP], 1);
  load.pp = (uint32_t)MAX(v[PP], 1);
  load.n_in = (uint32_t)MAX(v[IN], 1);
  load.n_out = (uint32_t)MAX(v[OUT], 1);
  load.n_queued = (uint32_t)MAX(v[REQUESTS], 1);
  if (v[RATE] <= 0)
    return TRUE;
  predicted_s = queue_s(&load, &why);
  add_row(data, line, &load, gpu, load.n_queued * (double)load.n_out / v[RATE],
          predicted_s, why);
  return TRUE;
}

static const char *const tpot_columns[] = {
    "model", "gpu", "engine", "precision",         "tp",
    "pp",    "isl", "osl",    "batch_per_replica", "tpot_ms",
    NULL};
static const char *const throughput_columns[] = {
    "model", "gpu",          "precision",           "tp", "pp", "isl",
    "osl",   "num_requests", "output_tokens_per_s", NULL};

static gboolean
collect(RaValidateJob *job, const char *source, const char *const *columns,
        RaCsvRow read, GError **error)
{
  g_autofree char *folder = g_build_filename(job->data, source, NULL);
  g_autoptr(GPtrArray) files = ra_csv_find(folder, "");
  Reader reader = {.job = job};

  for (guint i = 0; i < files->len; i++)
    if (!ra_csv_read(files->pdata[i], columns, read, &reader, error))
      return FALSE;
  if (reader.n_skipped > 0)
    ra_validate_note(job,
                     "%u rows of 4 bits are not predicted: no law is of "
                     "them",
                     reader.n_skipped);
  return TRUE;
}

gboolean
ra_validate_tpot(const RaValidateLevel *level, RaValidateJob *job,
                 GError **error)
{
  return collect(job, level->source, tpot_columns, read_tpot, error);
}

gboolean
ra_validate_throughput(const RaValidateLevel *level, RaValidateJob *job,
                       GError **error)
{
  return collect(job, level->source, throughput_columns, read_throughput,
                 error);
}
