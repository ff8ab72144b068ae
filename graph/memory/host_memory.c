/* Host memory of the fullest node, by holder. */
#include "config.h"

#include <string.h>

#include "graph/augment/layout.h"
#include "graph/input/residency.h"
#include "graph/memory/host_memory.h"

/* Bytes of a call on one GPU of each stage; all owned, (pp). */
typedef struct {
  double *params;
  double *optimizer;
  double *asleep;
} CallBytes;

static const RaCallPlan *
plan_of(const RaMemory *memory, uint32_t call)
{
  return &memory->plan->calls[call];
}

/* Blocks of stage @s over the bytes that they hold, for values of
 * @bytes_per_param. */
static double
block_factor(const RaMemory *memory, uint32_t call, uint32_t s,
             uint32_t bytes_per_param)
{
  const RaWorkload *w = memory->plan->workload;
  const RaCallPlan *p = plan_of(memory, call);
  g_autoptr(RaTensorTable) table = NULL;
  g_autofree uint64_t *n = NULL, *blocks = NULL;

  table = ra_tensor_table_new(w->models[w->calls[call].model].model);
  n = g_new(uint64_t, p->pp);
  blocks = g_new(uint64_t, p->pp);
  ra_layout_stage_params(table, p, n);
  ra_layout_stage_blocks(table, p, bytes_per_param, blocks);
  return n[s] ? (double)blocks[s] / ((double)n[s] * bytes_per_param) : 1;
}

/* The same for copies of the system, 1 where they take no blocks. */
static double
copy_factor(const RaMemory *memory, uint32_t call, uint32_t s,
            uint32_t bytes_per_param)
{
  return memory->plan->cluster->habits.host_blocks
             ? block_factor(memory, call, s, bytes_per_param)
             : 1;
}

/* TRUE if engine call @call shares a GPU with another model's or its own
 * training, so that it sleeps meanwhile. */
static gboolean
sleeps(const RaMemory *memory, uint32_t call)
{
  const RaWorkload *w = memory->plan->workload;

  if (!memory->plan->cluster->habits.asleep_in_host ||
      !ra_residency_is_engine(memory->plan, call))
    return FALSE;
  for (uint32_t i = 0; i < w->n_calls; i++)
    if (i != call && w->calls[i].model != RA_NONE &&
        w->calls[i].kind != RA_CALL_GENERATE && plan_of(memory, i)->set &&
        ra_mesh_overlaps(&plan_of(memory, i)->mesh,
                         &plan_of(memory, call)->mesh))
      return TRUE;
  return FALSE;
}

/* State of an optimizer that steps in host memory, and its gradients: fp32
 * masters too where a GPU would keep remainders, as HybridDeviceOptimizer has
 * them, but none beside parameters that are fp32 shards. */
static double
stepped_bytes(const RaMemory *memory, uint32_t call, uint32_t s)
{
  double n = (double)memory->calls[call].stages[s].owned_params;
  uint32_t fp32_bytes = ra_dtype_bytes(RA_DTYPE_FP32);
  uint32_t master_bytes =
      ra_residency_is_fp32(memory->plan, call) ? 0 : fp32_bytes;

  return n * ((master_bytes + fp32_bytes) *
                  copy_factor(memory, call, s, fp32_bytes) +
              ra_residency_moments_bytes(memory->plan, call));
}

static void
fill_stage(const RaMemory *memory, uint32_t call, uint32_t s, CallBytes *out)
{
  const RaWorkload *w = memory->plan->workload;
  const RaCallPlan *p = plan_of(memory, call);
  const RaStageMemory *stage = &memory->calls[call].stages[s];
  uint32_t dtype_bytes = ra_residency_is_fp32(memory->plan, call)
                             ? ra_dtype_bytes(RA_DTYPE_FP32)
                             : ra_dtype_bytes(ra_call_plan_dtype(
                                   p, &w->models[w->calls[call].model]));

  if (p->residency == RA_RESIDENCY_HOST && memory->calls[call].copy == call)
    out->params[s] =
        (double)stage->param_bytes * copy_factor(memory, call, s, dtype_bytes);
  if (w->calls[call].kind == RA_CALL_TRAIN && memory->calls[call].has_grads) {
    if (p->optimizer_residency == RA_RESIDENCY_HOST)
      out->optimizer[s] = (double)stage->optimizer_bytes;
    if (p->optimizer_residency == RA_RESIDENCY_CPU)
      out->optimizer[s] = stepped_bytes(memory, call, s);
  }
  if (p->residency != RA_RESIDENCY_HOST && sleeps(memory, call))
    out->asleep[s] =
        (double)stage->param_bytes * block_factor(memory, call, s, dtype_bytes);
}

static CallBytes *
call_bytes_new(const RaMemory *memory)
{
  CallBytes *all = g_new0(CallBytes, memory->n_calls);

  for (uint32_t i = 0; i < memory->n_calls; i++) {
    uint32_t pp = plan_of(memory, i)->pp;

    if (memory->calls[i].copy == RA_NONE || !plan_of(memory, i)->set)
      continue;
    all[i] =
        (CallBytes){g_new0(double, pp), g_new0(double, pp), g_new0(double, pp)};
    for (uint32_t s = 0; s < pp; s++)
      fill_stage(memory, i, s, &all[i]);
  }
  return all;
}

static void
call_bytes_free(CallBytes *all, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++) {
    g_free(all[i].params);
    g_free(all[i].optimizer);
    g_free(all[i].asleep);
  }
  g_free(all);
}

/* Adds what @gpu has in its node's memory to @out_bytes. */
static void
add_gpu(const RaMemory *memory, const CallBytes *all, uint32_t gpu,
        double *out_bytes)
{
  gboolean works = FALSE, generates = FALSE;

  for (uint32_t i = 0; i < memory->n_calls; i++) {
    uint32_t stage = ra_memory_stage(memory, i, gpu);
    double *mine = out_bytes + (gsize)i * RA_N_HOST_HOLDS;

    if (stage == RA_NONE)
      continue;
    if (ra_residency_is_engine(memory->plan, i))
      generates = TRUE;
    else
      works = TRUE;
    mine[RA_HOST_PARAMS] += all[i].params[stage];
    mine[RA_HOST_OPTIMIZER] += all[i].optimizer[stage];
    mine[RA_HOST_ASLEEP] += all[i].asleep[stage];
  }
  out_bytes[RA_HOST_PROCESSES] +=
      ((works ? 1 : 0) + (generates ? 1 : 0)) * RA_HOST_PROCESS_BYTES;
}

RaHostMemory *
ra_host_memory_new(const RaMemory *memory)
{
  g_return_val_if_fail(memory, NULL);
  const RaCluster *cluster = memory->plan->cluster;
  gsize n = (gsize)memory->n_calls * RA_N_HOST_HOLDS;
  g_autofree double *bytes = g_new(double, n + 1);
  RaHostMemory *host = g_new0(RaHostMemory, 1);
  CallBytes *all = call_bytes_new(memory);

  host->n_calls = memory->n_calls;
  host->capacity_bytes = cluster->host_memory_bytes;
  host->bytes = g_new0(double, n + 1);
  for (uint32_t node = 0; node < cluster->n_nodes; node++) {
    double sum = 0;

    memset(bytes, 0, (n + 1) * sizeof *bytes);
    for (uint32_t g = 0; g < cluster->gpus_per_node; g++)
      add_gpu(memory, all, node * cluster->gpus_per_node + g, bytes);
    for (gsize i = 0; i < n; i++)
      sum += bytes[i];
    if (sum <= host->peak_bytes)
      continue;
    host->node = node;
    host->peak_bytes = sum;
    memcpy(host->bytes, bytes, n * sizeof *bytes);
  }
  call_bytes_free(all, memory->n_calls);
  return host;
}

void
ra_host_memory_free(RaHostMemory *host)
{
  if (!host)
    return;
  g_free(host->bytes);
  g_free(host);
}

gboolean
ra_host_memory_fits(const RaHostMemory *host)
{
  return host->capacity_bytes <= 0 || host->peak_bytes <= host->capacity_bytes;
}

char *
ra_host_memory_name(const RaWorkload *workload, uint32_t holder)
{
  const RaCall *call = &workload->calls[holder / RA_N_HOST_HOLDS];
  const char *model =
      call->model == RA_NONE ? "" : workload->models[call->model].name;

  switch ((RaHostHold)(holder % RA_N_HOST_HOLDS)) {
  case RA_HOST_PARAMS:
    return g_strdup_printf("parameters of %s", model);
  case RA_HOST_OPTIMIZER:
    return g_strdup_printf("optimizer of %s", model);
  case RA_HOST_ASLEEP:
    return g_strdup_printf("weights of %s asleep", call->name);
  default:
    return g_strdup("processes");
  }
}
