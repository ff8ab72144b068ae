/* A step's plan: in the layouts of a row, or of a placement family. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "graph/op/activation.h"
#include "search/family/need.h"
#include "study/validate/rl_step.h"

/* Large models are given all that vLLM takes of a GPU by itself (its default of
 * gpu_memory_utilization, vllm/config.py) where the usual share would not leave
 * the keys and values of one sequence of the most tokens, without which vLLM
 * refuses to start (vllm/v1/core/kv_cache_utils.py,
 * check_enough_kv_cache_memory()). */
#define CACHE_MOST_FRAC 0.9
/* Tokens of a block of keys and values: vLLM's default, and a plan's. */
#define KV_BLOCK 16
/* vLLM's defaults for offline generation on GPUs of 70 GiB and more, but for
 * A100: max_num_seqs and max_num_batched_tokens (version 0.9,
 * vllm/engine/arg_utils.py, LLM_CLASS). */
#define MAX_SEQUENCES 1024
#define STEP_TOKENS 16384

/* The divisor of @n nearest to @ideal, by ratio. */
static uint32_t
nearest_divisor(uint32_t n, double ideal)
{
  uint32_t best = 1;

  for (uint32_t d = 2; d <= n; d++) {
    if (n % d == 0 && fabs(log(d / ideal)) < fabs(log(best / ideal)))
      best = d;
  }
  return best;
}

static uint32_t
common_divisor(uint32_t a, uint32_t b)
{
  return b == 0 ? a : common_divisor(b, a % b);
}

/* Keys, values and states of the longest sequence on each GPU of generation.
 */
static double
sequence_bytes(const RaSetup *setup, const RaRlLayout *layout)
{
  const RaWorkloadModel *m = &setup->workload->models[0];
  RaShard shard = {
      .model = m->model, .tp = layout->generate_tp, .dtype = m->dtype};
  RaPiece piece = {.n_layers = m->model->n_layers};
  uint32_t tokens = setup->workload->prompt_length.max_tokens +
                    setup->workload->response_length.max_tokens;

  double block = KV_BLOCK * (double)MAX(ra_kv_token_bytes(&shard, &piece), 1);
  double states = (double)ra_kv_sequence_bytes(&shard, &piece, tokens);

  return (ceil(tokens / (double)KV_BLOCK) + ceil(states / block)) * block;
}

/* Bytes of each GPU for keys and values beside the weights of generation. */
static double
room_bytes(const RaSetup *setup, const RaRlLayout *layout)
{
  const RaModel *m = setup->workload->models[0].model;
  double weight_bytes =
      2.0 * (double)ra_model_n_params(m) / layout->generate_tp;
  double memory_bytes = setup->cluster->device.memory_bytes;
  double room = layout->cache_frac * memory_bytes - weight_bytes;
  double least = sequence_bytes(setup, layout);

  if (room >= least)
    return room;
  return MAX(CACHE_MOST_FRAC * memory_bytes - weight_bytes, least);
}

/* Values that the parts of a plan share. */
typedef struct {
  const RaRlStep *step;
  const RaRlLayout *layout;
  uint32_t dp;    /* of training */
  char *mesh;     /* of training, owned */
  char *generate; /* owned: mesh of generation */
  uint32_t generate_dp;
  double room_bytes; /* of each GPU in generation */
} Parts;

/* The first half of the GPUs, or the second. */
static char *
half_mesh(const RaCluster *cluster, gboolean second)
{
  uint32_t n = cluster->n_nodes / 2, half = cluster->gpus_per_node / 2;

  if (cluster->n_nodes > 1)
    return g_strdup_printf("node[%" PRIu32 "-%" PRIu32 "]", second ? n : 0,
                           second ? 2 * n - 1 : n - 1);
  return g_strdup_printf("node0:gpu[%" PRIu32 "-%" PRIu32 "]",
                         second ? half : 0, second ? 2 * half - 1 : half - 1);
}

static void
append_layout(GString *out, const Parts *parts, const char *call,
              uint32_t n_sequences)
{
  const RaRlLayout *l = parts->layout;
  const RaRlStep *step = parts->step;
  uint32_t n = n_sequences / parts->dp;
  double tokens = n * (step->prompt_tokens + step->mean_tokens);

  g_string_append_printf(out,
                         "[call %s]\nmesh = %s\ndp = %" PRIu32 "\ntp = %" PRIu32
                         "\npp = %" PRIu32 "\ncp = %" PRIu32 "\nep = %" PRIu32
                         "\nmicro-batches = %" PRIu32
                         "\nsequence-parallel = %s\n",
                         call, parts->mesh, parts->dp, l->tp, l->pp, l->cp,
                         l->ep, nearest_divisor(n, tokens / l->pack_tokens),
                         l->tp > 1 ? "true" : "false");
}

static char *
plan_text(const Parts *parts, gboolean recompute)
{
  const RaRlStep *step = parts->step;
  GString *out = g_string_new("[plan]\nworkload = step.workload\n"
                              "cluster = step.cluster\n");

  g_string_append_printf(
      out,
      "[call actor_generate]\nmesh = %s\ndp = %" PRIu32 "\ntp = %" PRIu32
      "\nlaunch = graph\nbatching = continuous\nmax-sequences = %d\n"
      "prefill-tokens = %d\nkv-memory = %.0f B\n%s",
      parts->generate, parts->generate_dp, parts->layout->generate_tp,
      MAX_SEQUENCES, STEP_TOKENS, parts->room_bytes,
      step->is_async ? "residency = keep\n" : "");
  append_layout(out, parts, "actor_inference", step->n_sequences);
  append_layout(out, parts, "ref_inference", step->n_sequences);
  g_string_append(out, "residency = host\n");
  append_layout(out, parts, "actor_train",
                step->n_sequences / step->n_mini_batches);
  g_string_append_printf(out,
                         "zero = 1\nrecompute = %s\ngrad-dtype = fp32\n"
                         "overlap-grad-reduce = true\n"
                         "optimizer-residency = host\n",
                         recompute ? "full" : "none");
  return g_string_free(out, FALSE);
}

/* TRUE if training fits, by the coarse bound of search. */
static gboolean
train_fits(const RaSetup *setup)
{
  uint32_t call = ra_workload_find_call(setup->workload, "actor_train");
  RaNeed need = ra_need_call(setup->workload, call, &setup->plan->calls[call]);

  return need.held_bytes + need.work_bytes <=
         RA_NEED_LIMIT_FRAC * setup->cluster->device.memory_bytes;
}

static gboolean
read_plan(RaSetup *setup, const Parts *parts, GError **error)
{
  g_autofree char *whole = plan_text(parts, FALSE);
  g_autofree char *again = plan_text(parts, TRUE);

  if (!ra_setup_read_plan(setup, "step.plan", whole, error))
    return FALSE;
  return train_fits(setup) ||
         ra_setup_read_plan(setup, "step.plan", again, error);
}

static gboolean
fail(GError **error, const char *what)
{
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s", what);
  return FALSE;
}

gboolean
ra_rl_set_layout(RaSetup *setup, const RaRlStep *step, const RaRlLayout *layout,
                 GError **error)
{
  uint32_t n_gpus = step->is_async ? step->n_gpus / 2 : step->n_gpus;
  uint32_t cut = layout->tp * layout->cp * layout->pp;
  RaRlLayout own = *layout;
  Parts parts = {.step = step, .layout = &own};
  gboolean ok;

  g_return_val_if_fail(!step->critic && layout->pack_tokens > 0, FALSE);
  if (n_gpus == 0 || n_gpus % layout->generate_tp != 0 || n_gpus % cut != 0)
    return fail(error, "the degrees do not divide the GPUs");
  parts.dp = n_gpus / cut;
  own.ep = common_divisor(MAX(layout->ep, 1), parts.dp * layout->cp);
  parts.generate_dp = n_gpus / layout->generate_tp;
  if (step->n_sequences / step->n_mini_batches % parts.dp != 0 ||
      step->n_sequences % parts.generate_dp != 0)
    return fail(error, "the replicas do not divide the sequences");
  parts.room_bytes = room_bytes(setup, &own);
  parts.mesh =
      step->is_async ? half_mesh(setup->cluster, TRUE) : g_strdup("all");
  parts.generate =
      step->is_async ? half_mesh(setup->cluster, FALSE) : g_strdup("all");
  ok = read_plan(setup, &parts, error);
  g_free(parts.mesh);
  g_free(parts.generate);
  return ok;
}

gboolean
ra_rl_set_strategy(RaSetup *setup, const RaStrategyOptions *options,
                   GError **error)
{
  g_autoptr(RaDraft) draft = ra_strategy_plan(setup->workload, setup->cluster,
                                              setup->estimator, options, error);
  g_autofree char *text = draft ? ra_draft_write(draft, "step.workload",
                                                 "step.cluster", NULL, error)
                                : NULL;

  return text && ra_setup_read_plan(setup, "step.plan", text, error);
}

gboolean
ra_rl_set_heuristic(RaSetup *setup, GError **error)
{
  const RaWorkload *workload = setup->workload;
  uint32_t pp = setup->cluster->n_nodes, tp = setup->cluster->gpus_per_node;
  g_autoptr(GString) out = g_string_new("[plan]\nworkload = step.workload\n"
                                        "cluster = step.cluster\n");

  for (guint i = 0; i < workload->n_calls; i++) {
    const RaCall *call = &workload->calls[i];
    gboolean train = call->kind == RA_CALL_TRAIN;
    gboolean frozen = !workload->models[call->model].trainable;

    g_string_append_printf(out,
                           "[call %s]\nmesh = all\ntp = %" PRIu32
                           "\npp = %" PRIu32 "\nmicro-batches = %" PRIu32
                           "\nsequence-parallel = %s\nlaunch = eager\n%s%s",
                           call->name, tp, pp, train ? 2 * pp : pp,
                           call->kind == RA_CALL_GENERATE ? "false" : "true",
                           train ? "schedule = 1f1b\nrecompute = full\n" : "",
                           frozen ? "residency = host\n" : "");
  }
  return ra_setup_read_plan(setup, "step.plan", out->str, error);
}
