/* Memory need of single calls. */
#include "config.h"

#include <math.h>

#include "graph/augment/layout.h"
#include "graph/input/lora.h"
#include "graph/input/plan_batching.h"
#include "graph/input/residency.h"
#include "search/family/need.h"

/* AdamW in mixed precision: fp32 weights and two fp32 moments. */
#define ADAMW_BYTES_PER_PARAM 12.0
#define LOGIT_BYTES 4.0
/* Bytes a token, a layer and an element of the hidden width: Korthikanti et
 * al., arXiv 2205.05198, eq. 2 and section 5 (a layer's input alone: 2). */
#define LAYER_BYTES 34.0
#define LAYER_INPUT_BYTES 2.0

/* Parameters of the rank that holds most. */
static double
most_params(const RaModel *model, const RaCallPlan *plan)
{
  RaCallPlan whole = *plan;
  g_autoptr(RaTensorTable) tensors = ra_tensor_table_new(model);
  uint64_t most = 0;

  whole.zero_group = 1;
  whole.zero = 0; /* the shards are counted by who asks */
  for (uint32_t s = 0; s < plan->pp; s++) {
    RaCoord at = {.at = {[RA_AXIS_PP] = s}};
    uint64_t n =
        ra_layout_n_params(tensors, &whole, ra_call_plan_rank(&whole, &at));

    most = MAX(most, n);
  }
  return (double)most;
}

/* Tokens of a sequence, mean. */
static double
mean_tokens(const RaWorkload *workload)
{
  return ra_length_mean(&workload->prompt_length) +
         ra_length_mean(&workload->response_length);
}

/* Layers of the longest stage. */
static double
stage_layers(const RaCallPlan *plan)
{
  uint32_t most = 0;

  for (uint32_t i = 0; i < plan->pp; i++) {
    uint32_t n = 0;

    for (uint32_t v = 0; v < plan->n_virtual; v++)
      n += plan->stage_layers[v * plan->pp + i];
    most = MAX(most, n);
  }
  return most;
}

static double
logit_bytes(const RaModel *model, const RaCallPlan *plan, double tokens)
{
  if (model->head == RA_HEAD_VALUE)
    return 0;
  return LOGIT_BYTES * model->vocab * tokens / plan->tp;
}

static double
train_work_bytes(const RaModel *model, const RaCallPlan *plan, double tokens)
{
  uint32_t in_flight = plan->schedule == RA_SCHEDULE_GPIPE
                           ? plan->n_micro_batches
                           : MIN(plan->pp, plan->n_micro_batches);
  double layers = stage_layers(plan) * in_flight;
  double element_bytes = tokens * model->hidden / plan->tp;

  if (plan->recompute == RA_RECOMPUTE_FULL)
    return element_bytes * (LAYER_INPUT_BYTES * layers + LAYER_BYTES) +
           2 * logit_bytes(model, plan, tokens);
  /* Logits and their gradient. */
  return element_bytes * LAYER_BYTES * layers +
         2 * logit_bytes(model, plan, tokens);
}

/* Keys and values of @tokens of all sequences that a replica decodes at once,
 * their windows and states. */
static double
cache_bytes(const RaModel *model, const RaCallPlan *plan, double tokens,
            double sequences, double longest, uint32_t dtype_bytes)
{
  uint64_t token, sequence;

  ra_model_cache_bytes(model, 0, model->n_layers, plan->tp, dtype_bytes,
                       (uint64_t)longest, &token, &sequence);
  return ((double)token * tokens + (double)sequence * sequences) /
         model->n_layers * stage_layers(plan);
}

/* Parts that ZeRO has whole: two layers of the weights, one in use and one on
 * its way, and one of the gradients (graph/memory/memory.h). */
static double
whole_bytes(const RaCallPlan *plan, double n_params, double n_trained,
            double dtype_bytes, gboolean trains)
{
  double layer = n_params / stage_layers(plan);
  double bytes = plan->zero == 3 ? 2 * layer * dtype_bytes : 0;

  if (trains && plan->zero >= 2)
    bytes += n_trained / stage_layers(plan) *
             ra_dtype_bytes((RaDtype)plan->grad_dtype);
  return bytes;
}

/* Parameters of a stage's experts. */
static double
expert_params(const RaModel *model, const RaCallPlan *plan)
{
  return (double)ra_model_expert_n_params(model) * model->n_experts *
         ra_model_n_moe_layers(model) * stage_layers(plan) / model->n_layers;
}

/* Parameters, of @n, whose optimizer state a rank has with ZeRO: ep ranks hold
 * fewer experts, and as many fewer ranks hold each of them. */
static double
owned_params(const RaModel *model, const RaCallPlan *plan, double n)
{
  double experts = expert_params(model, plan);
  double held = experts / plan->ep / ra_call_plan_expert_tp(plan);

  if (plan->ep == 1 || held > n)
    return n / plan->dp;
  return (n - held) / plan->dp + experts / (plan->dp * plan->tp);
}

RaNeed
ra_need_call(const RaWorkload *workload, uint32_t call, const RaCallPlan *plan)
{
  const RaCall *of = &workload->calls[call];
  const RaWorkloadModel *m = &workload->models[of->model];
  double dtype_bytes = ra_dtype_bytes(ra_call_plan_dtype(plan, m));
  double n = most_params(m->model, plan);
  double n_trained =
      m->adapters ? most_params(ra_lora_trained_model(m), plan) : n;
  double dp = plan->dp;
  gboolean trains = of->kind == RA_CALL_TRAIN;
  uint32_t n_pieces = ra_call_plan_n_pieces(of, plan);
  double replica_tokens =
      mean_tokens(workload) * of->n_sequences / n_pieces / dp;
  double tokens = replica_tokens / plan->n_micro_batches;
  RaNeed need = {.held_bytes = n * dtype_bytes / (plan->zero == 3 ? dp : 1)};

  if (plan->expert_dtype != RA_EXPERT_DTYPE_SAME)
    need.held_bytes -= (dtype_bytes - ra_call_plan_expert_bytes(plan, m)) *
                       MIN(n, expert_params(m->model, plan) / plan->ep /
                                  ra_call_plan_expert_tp(plan));
  need.work_bytes = whole_bytes(plan, n, n_trained, dtype_bytes, trains);
  if (trains) {
    double grad_bytes = ra_dtype_bytes((RaDtype)plan->grad_dtype);

    need.held_bytes += n_trained * grad_bytes / (plan->zero >= 2 ? dp : 1);
    if (m->optimizer == RA_OPTIMIZER_ADAMW)
      need.held_bytes +=
          ADAMW_BYTES_PER_PARAM *
          (plan->zero == 0 ? n_trained
           : m->adapters   ? n_trained / dp
                           : owned_params(m->model, plan, n_trained));
    need.work_bytes += train_work_bytes(m->model, plan, tokens);
    return need;
  }
  if (plan->batching == RA_BATCHING_CONTINUOUS)
    tokens = MIN(tokens, (double)plan->prefill_tokens); /* of a step */
  need.work_bytes += LAYER_BYTES * m->model->hidden * tokens / plan->tp;
  if (plan->batching == RA_BATCHING_CONTINUOUS && plan->kv_memory_bytes > 0)
    need.work_bytes += (double)plan->kv_memory_bytes;
  else if (of->kind == RA_CALL_GENERATE)
    need.work_bytes += cache_bytes(
        m->model, plan, replica_tokens, (double)of->n_sequences / plan->dp,
        (double)ra_call_longest_tokens(workload),
        ra_dtype_bytes(ra_call_plan_kv_dtype(plan, m)));
  else
    need.work_bytes += logit_bytes(m->model, plan, tokens);
  return need;
}

static gboolean
mesh_has(const RaMesh *mesh, uint32_t node, uint32_t gpu)
{
  if (gpu < mesh->first_gpu || gpu >= mesh->first_gpu + mesh->gpus_per_node)
    return FALSE;
  for (uint32_t i = 0; i < mesh->n_runs; i++) {
    if (node >= mesh->runs[i].first &&
        node - mesh->runs[i].first < mesh->runs[i].n)
      return TRUE;
  }
  return FALSE;
}

/* TRUE if the copy of call @c stays between calls, and is not counted with an
 * earlier call that reads the same one (graph/input/residency.h). */
static gboolean
holds(const RaPlan *plan, const RaNeed *needs, uint32_t c)
{
  uint32_t model = plan->workload->calls[c].model;
  uint32_t trainer = ra_workload_trainer(plan->workload, model);

  if (ra_residency_is_shared(plan, c))
    return FALSE;
  /* Training holds most of those that share a layout. */
  if (trainer != RA_NONE && plan->calls[trainer].set &&
      ra_residency_is_own(plan, c))
    return trainer == c;
  if (trainer != RA_NONE && plan->calls[c].residency != RA_RESIDENCY_KEEP)
    return FALSE;
  for (uint32_t i = 0; i < c; i++) {
    if (plan->workload->calls[i].model == model && needs[i].held_bytes > 0 &&
        ra_residency_same_copy(plan, i, c))
      return FALSE;
  }
  return TRUE;
}

/* TRUE if a call on a trained model has a copy of its own while it runs. */
static gboolean
copies(const RaPlan *plan, uint32_t c)
{
  return plan->calls[c].residency == RA_RESIDENCY_RELEASE &&
         !ra_residency_is_own(plan, c);
}

RaNeedWorst
ra_need_worst(const RaPlan *plan, const RaNeed *needs, double *share)
{
  const RaCluster *cluster = plan->cluster;
  guint n = plan->workload->n_calls;
  g_autofree double *held = g_new0(double, n);
  g_autofree double *work = g_new0(double, n);
  RaNeedWorst worst = {.bytes = 0,
                       .limit_bytes =
                           RA_NEED_LIMIT_FRAC * cluster->device.memory_bytes,
                       .largest = RA_NONE};
  uint32_t n_gpus = ra_cluster_n_gpus(cluster);

  for (guint c = 0; c < n; c++) {
    if (plan->workload->calls[c].kind == RA_CALL_HOST || !plan->calls[c].set)
      continue;
    held[c] = holds(plan, needs, c) ? needs[c].held_bytes : 0;
    work[c] = needs[c].work_bytes + (copies(plan, c) ? needs[c].held_bytes : 0);
  }
  for (uint32_t g = 0; g < n_gpus; g++) {
    uint32_t node = g / cluster->gpus_per_node, at = g % cluster->gpus_per_node;
    uint32_t busiest = RA_NONE;
    double bytes = 0;

    for (guint c = 0; c < n; c++) {
      if (held[c] + work[c] == 0 || !mesh_has(&plan->calls[c].mesh, node, at))
        continue;
      bytes += held[c];
      if (busiest == RA_NONE || work[c] > work[busiest])
        busiest = c;
    }
    if (busiest == RA_NONE || bytes + work[busiest] <= worst.bytes)
      continue;
    worst.bytes = bytes + work[busiest];
    worst.gpu = g;
    for (guint c = 0; c < n; c++) {
      share[c] = mesh_has(&plan->calls[c].mesh, node, at)
                     ? held[c] + (c == busiest ? work[c] : 0)
                     : 0;
    }
  }
  for (guint c = 0; worst.bytes > 0 && c < n; c++) {
    if (worst.largest == RA_NONE || share[c] > share[worst.largest])
      worst.largest = c;
  }
  return worst;
}
