/* Levels of inference engines: time of a token under continuous batching, and
 * the time of many requests that are all queued; each engine with the constants
 * of its file in share/systems.
 *
 * A closed loop of c requests of equal lengths goes through a replica's batcher
 * (graph/rollout/batcher.h): all wait at once, and a further one enters where
 * one has ended.  A step computes as many tokens of prompts as one has, at
 * least 1024 (TensorRT-LLM's examples/models/core/qwen/README.md:
 * max_num_tokens is 1024 + max_batch_size - 1), which spreads the prompts over
 * the steps.  The time of a token is the mean of the second c of three.  Over
 * pp stages, which no batcher is for, c requests begin together: with W(o) the
 * time of c responses of o tokens, a request waits W(1) / c for its own prefill
 * and gets its other o - 1 tokens in the rest:
 *
 *     time of a token = (W(o) - W(1) / c) / (o - 1)
 *
 * Requests that are all queued: 2048 at a time (TensorRT-LLM's largest batch),
 * 8192 tokens a step (its default), keys and values in 0.9 of what weights
 * leave of memory, a request admitted where all of it fits.  Over pp stages r
 * requests take r / c times W(o) with c as many as memory holds.  Experts
 * stand whole on the GPUs of the tp group (rows that say so have ep = tp).
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/expand/expand_call.h"
#include "graph/op/activation.h"
#include "sim/breakdown.h"
#include "sim/generate/serve.h"
#include "study/replay.h"
#include "study/validate/rl_step.h"
#include "study/validate/validate_impl.h"
#include "traces/csv.h"

#define BATCH_MOST 2048
#define CACHE_FRAC 0.9
#define STEP_TOKENS 8192
#define LOOP_PROMPT_TOKENS 1024
#define BLOCK_TOKENS 16 /* vLLM; TensorRT-LLM has 32: no matter here */

typedef struct {
  RaValidateJob *job;
  guint n_skipped;     /* rows of precisions that no law is of */
  GHashTable *systems; /* engine -> RaSystem, or NULL where it has none */
} Reader;

/* W(@n_out); 0 with @error set. */
static double
wall_s(const RaValidateLoad *load, uint32_t n_out, GError **error)
{
  const RaReplayOptions options = {.n_iterations = 1,
                                   .fidelity = RA_FIDELITY_STAGE};
  g_autoptr(RaSetup) setup = ra_validate_server_setup(load, n_out, error);
  g_autoptr(RaReplay) replay =
      setup ? ra_replay_new(setup, &options, error) : NULL;

  return replay ? ra_sim_result(replay->sim)->makespan_s : 0;
}

/* Bytes of a replica's GPUs for keys and values. */
static double
room_bytes(const RaValidateLoad *load, const RaSetup *setup)
{
  const RaWorkloadModel *model = &setup->workload->models[0];
  RaShard shard = ra_call_shard(setup->plan, 0);
  RaPiece whole = {
      .n_layers = shard.model->n_layers, .has_embedding = 1, .has_head = 1};
  double bytes = ra_dtype_bytes((RaDtype)model->dtype);

  return CACHE_FRAC * load->tp *
         (setup->cluster->device.memory_bytes * load->pp -
          bytes * (double)ra_piece_n_params(&shard, &whole));
}

/* Requests that memory holds beside the weights; 0 with @error set. */
static uint32_t
most_at_once(const RaValidateLoad *load, GError **error)
{
  g_autoptr(RaSetup) setup = ra_validate_server_setup(load, load->n_out, error);
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

/* @n requests, at @arrival_s (nullable). */
static void
server_run(const RaValidateServer *server, const RaValidateLoad *load,
           const RaBatching *batching, uint32_t n, const double *arrival_s,
           RaServeResult *result)
{
  g_autofree uint32_t *prompt = g_new(uint32_t, n);
  g_autofree uint32_t *response = g_new(uint32_t, n);
  g_autoptr(RaBatcher) batcher = NULL;
  RaServeSource source = ra_serve_source(&server->replica);

  for (uint32_t i = 0; i < n; i++) {
    prompt[i] = load->n_in;
    response[i] = load->n_out;
  }
  batcher = ra_batcher_new(batching, prompt, response, n);
  ra_serve_run(&source, batcher, n, arrival_s, result);
}

static RaBatching
make_batching(uint32_t at_once)
{
  return (RaBatching){.max_sequences = MIN(at_once, STEP_TOKENS),
                      .step_tokens = STEP_TOKENS,
                      .block_tokens = BLOCK_TOKENS,
                      .group = 1,
                      .reserve = TRUE};
}

/* All requests through a batcher; 0 with @error set. */
static double
queued_s(const RaValidateLoad *load, GError **error)
{
  RaBatching batching = make_batching(load->n);
  RaServeResult result = {.n_parts = 0};
  RaValidateServer server;
  double blocks;

  if (!ra_validate_server_init(&server, load, error))
    return 0;
  blocks =
      room_bytes(load, server.setup) / load->tp /
      (BLOCK_TOKENS * (double)ra_kv_token_bytes(&server.shard, &server.whole));
  if (blocks < (double)ra_batching_blocks(&batching, load->n_in, load->n_out)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "the weights do not fit");
  } else {
    batching.n_blocks = (uint64_t)blocks;
    server_run(&server, load, &batching, load->n_queued, NULL, &result);
  }
  ra_setup_free(server.setup);
  return result.makespan_s;
}

/* Time of a token in a closed loop of a replica; 0 with @error set. */
static double
looped_s(const RaValidateLoad *load, GError **error)
{
  RaBatching batching = make_batching(load->n);
  uint32_t c = load->n, n = 3 * c;
  g_autofree double *first_s = g_new(double, n);
  g_autofree double *end_s = g_new(double, n);
  RaServeResult result = {.first_s = first_s, .end_s = end_s};
  RaValidateServer server;
  double sum_s = 0;

  if (!ra_validate_server_init(&server, load, error))
    return 0;
  batching.step_tokens = MAX(LOOP_PROMPT_TOKENS, load->n_in) + c - 1;
  server_run(&server, load, &batching, n, NULL, &result);
  for (uint32_t i = c; i < 2 * c; i++)
    sum_s += end_s[i] - first_s[i];
  ra_setup_free(server.setup);
  return sum_s / c / (load->n_out - 1);
}

/* Time of a token in a closed loop; 0 with @error set. */
static double
token_s(const RaValidateLoad *load, GError **error)
{
  double whole_s, one_s;

  if (load->pp == 1)
    return looped_s(load, error);
  whole_s = wall_s(load, load->n_out, error);
  one_s = whole_s > 0 ? wall_s(load, 1, error) : 0;
  return (whole_s - one_s / load->n) / (load->n_out - 1);
}

/* Time of all requests, queued at once; 0 with @error set. */
static double
queue_s(RaValidateLoad *load, GError **error)
{
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
  return queued_s(load, error);
}

/* ---- Rows -----------------------------------------------------------------*/

/* FALSE: a precision that no law is of. */
static gboolean
set_precision(RaValidateLoad *load, const char *precision)
{
  load->precision = strcmp(precision, "fp8") == 0 ? "fp8" : "bf16";
  return strcmp(precision, "fp4") != 0 && strcmp(precision, "nvfp4") != 0;
}

/* Adds the row; or a note of why there is none.  Takes @error. */
static void
add_row(Reader *reader, const RaCsvLine *line, const RaValidateLoad *load,
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
  /* Serving the same requests on different GPU counts: competing plans. */
  if (load->n_queued == 0)
    row.group = g_strdup_printf("%s %s %s %s %" PRIu32 " %" PRIu32 " %" PRIu32,
                                part, load->model, load->precision, load->gpu,
                                load->n, load->n_in, load->n_out);
  ra_validate_add(reader->job, row);
}

/* The constants of @engine; NULL: it has none here. */
static const RaSystemConstants *
constants_of(Reader *reader, const char *engine)
{
  gpointer system = NULL;

  if (!g_hash_table_lookup_extended(reader->systems, engine, NULL, &system)) {
    system = ra_validate_engine(engine);
    g_hash_table_insert(reader->systems, g_strdup(engine), system);
    if (system)
      ra_validate_note(reader->job, "%s: constants of %s", engine,
                       ((RaSystem *)system)->release);
    else
      ra_validate_note(reader->job, "%s: no system, captured graphs only",
                       engine);
  }
  return system ? &((RaSystem *)system)->constants : NULL;
}

static gboolean
read_tpot(const RaCsvLine *line, gpointer data, GError **error)
{
  enum { TP, PP, IN, OUT, CONCURRENT, TPOT, N };
  g_autofree char *gpu = g_ascii_strdown(line->field[1], -1);
  double v[N], predicted_s;
  RaValidateLoad load = {.model = line->field[0], .gpu = gpu};
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
  load.constants = constants_of(data, line->field[2]);
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
  RaValidateLoad load = {.model = line->field[0], .gpu = gpu};
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
  load.constants = constants_of(data, "trtllm");
  predicted_s = queue_s(&load, &why);
  add_row(data, line, &load, gpu, v[REQUESTS] * load.n_out / v[RATE],
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
  Reader reader = {.job = job,
                   .systems =
                       g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                             (GDestroyNotify)ra_system_free)};
  gboolean ok = TRUE;

  for (guint i = 0; ok && i < files->len; i++)
    ok = ra_csv_read(files->pdata[i], columns, read, &reader, error);
  g_hash_table_unref(reader.systems);
  if (reader.n_skipped > 0)
    ra_validate_note(
        job, "%u rows of 4-bit weights are not predicted: no law covers them",
        reader.n_skipped);
  return ok;
}

double
ra_validate_token_s(const RaValidateRequests *requests,
                    const RaSystemConstants *constants, GError **error)
{
  const RaValidateLoad load = {.model = requests->model,
                               .gpu = requests->gpu,
                               .precision = requests->precision,
                               .tp = requests->tp,
                               .pp = 1,
                               .constants = constants,
                               .n_in = requests->n_in,
                               .n_out = requests->n_out,
                               .n = requests->n};

  return token_s(&load, error);
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
