/* Shapes of a call on a mesh. */
#include "config.h"

#include <math.h>

#include "graph/input/model_vision.h"
#include "search/family/continuous.h"

typedef struct {
  const RaWorkload *workload;
  const RaCluster *cluster;
  const RaShapeAsk *ask;
  const RaCall *call;
  const RaModel *model;
  GArray *shapes;
} Maker;

static void
clear_shape(void *item)
{
  g_free(((RaShape *)item)->plan.stage_layers);
}

GArray *
ra_shapes_empty(void)
{
  GArray *shapes = g_array_new(FALSE, FALSE, sizeof(RaShape));

  g_array_set_clear_func(shapes, clear_shape);
  return shapes;
}

void
ra_shapes_add(GArray *shapes, const RaShape *shape)
{
  RaShape copy = *shape;

  copy.plan.stage_layers =
      g_memdup2(shape->plan.stage_layers,
                shape->plan.pp * shape->plan.n_virtual * sizeof(uint32_t));
  g_array_append_val(shapes, copy);
}

/* TRUE if tp divides the heads of layers of kind @kind, as a plan's check wants
 * (graph/input/plan_check.c). */
static gboolean
heads_divide(const RaModel *model, uint32_t kind, uint32_t tp)
{
  uint32_t mixer = model->kinds[kind].mixer;
  uint32_t kv = ra_model_kind_kv_heads(model, kind);
  uint32_t heads = ra_model_kind_heads(model, kind);

  if (mixer == RA_MIXER_NONE)
    return TRUE;
  if (mixer == RA_MIXER_CONV)
    return model->hidden % tp == 0;
  if (mixer == RA_MIXER_COMPRESSED)
    return heads % tp == 0 && model->o_groups % tp == 0;
  if (mixer != RA_MIXER_ATTENTION && mixer != RA_MIXER_LATENT) {
    heads = model->n_value_heads;
    kv = model->n_key_heads;
  }
  return heads % tp == 0 &&
         (mixer == RA_MIXER_LATENT || kv % tp == 0 || tp % kv == 0);
}

gboolean
ra_shape_tp_divides(const RaModel *model, uint32_t tp)
{
  uint32_t n_moe = model->n_experts > 0 ? ra_model_n_moe_layers(model) : 0;
  uint32_t ffn = model->n_experts > 0 ? model->expert_ffn : model->ffn;

  for (uint32_t k = 0; k < ra_model_n_kinds(model); k++)
    if (!heads_divide(model, k, tp))
      return FALSE;
  return ffn % tp == 0 && model->shared_ffn % tp == 0 &&
         ra_vision_tp_divides(model, tp) &&
         (n_moe == model->n_layers || ra_model_is_plain(model) ||
          model->ffn % tp == 0);
}

uint32_t
ra_shape_tp_max(const RaModel *model, const RaMesh *mesh)
{
  uint32_t tp = 1;

  while (mesh->gpus_per_node % (2 * tp) == 0 &&
         ra_shape_tp_divides(model, 2 * tp))
    tp *= 2;
  return tp;
}

uint32_t
ra_shape_node_gpus(const RaWorkload *workload, const RaCluster *cluster)
{
  uint32_t n = cluster->gpus_per_node, odd = n, power = 1;

  while (odd % 2 == 0)
    odd /= 2;
  while (2 * power <= n)
    power *= 2;
  for (guint c = 0; c < workload->n_calls; c++) {
    const RaCall *call = &workload->calls[c];
    uint64_t pieces =
        call->kind == RA_CALL_TRAIN ? call->n_mini_batches : call->n_parts;

    if (call->kind != RA_CALL_HOST && call->n_sequences % (pieces * odd) != 0)
      return power;
  }
  return n;
}

RaMesh
ra_shape_mesh_nodes(const RaCluster *cluster, uint32_t first, uint32_t n)
{
  RaMesh mesh = {
      .n_runs = 1, .n_nodes = n, .gpus_per_node = cluster->gpus_per_node};

  mesh.runs[0] = (RaNodeRun){first, n};
  return mesh;
}

/* Sequences that a replica works on at a time; 0: they do not divide. */
static uint32_t
batch_of(const RaCall *call, uint32_t dp)
{
  uint64_t pieces =
      call->kind == RA_CALL_TRAIN ? call->n_mini_batches : call->n_parts;

  return call->n_sequences % (pieces * dp) == 0
             ? (uint32_t)(call->n_sequences / (pieces * dp))
             : 0;
}

/* The fewest micro-batches that fill the pipeline and the memory less than
 * the limit, with the least recomputation that allows it. */
static void
choose_micro_batches(const Maker *m, RaShape *shape)
{
  RaCallPlan *plan = &shape->plan;
  gboolean trains = m->call->kind == RA_CALL_TRAIN;
  double limit_bytes = RA_SHAPE_WORK_FRAC * m->cluster->device.memory_bytes;
  uint32_t batch = batch_of(m->call, plan->dp);
  uint32_t least = plan->pp > 1 && trains ? 2 * plan->pp : plan->pp;
  int last = trains ? RA_RECOMPUTE_FULL : m->ask->recompute;

  for (int recompute = m->ask->recompute; recompute <= last; recompute++) {
    plan->recompute = trains ? recompute : RA_RECOMPUTE_NONE;
    for (uint32_t n = 1; n <= batch; n++) {
      if (batch % n != 0 || (n < least && n < batch))
        continue;
      plan->n_micro_batches = n;
      shape->need = ra_need_call(m->workload, m->ask->call, plan);
      /* A generation's memory is its cache, in however many pieces. */
      if (m->call->kind == RA_CALL_GENERATE ||
          shape->need.work_bytes <= limit_bytes)
        return;
    }
  }
}

/* @ep: of the experts; above 1 they are whole, and attention is cut by tp. */
static void
add_shape(const Maker *m, uint32_t dp, uint32_t tp, uint32_t pp, uint32_t ep)
{
  const RaWorkloadModel *model = &m->workload->models[m->call->model];
  gboolean trains = m->call->kind == RA_CALL_TRAIN;
  RaShape shape = {.time_s = (double)NAN};
  RaCallPlan *plan = &shape.plan;

  *plan = (RaCallPlan){.set = TRUE,
                       .mesh = m->ask->mesh,
                       .dp = dp,
                       .tp = tp,
                       .pp = pp,
                       .cp = 1,
                       .ep = ep,
                       .expert_tp = ep > 1 && tp > 1 ? 1 : 0,
                       .n_virtual = 1,
                       .schedule = RA_SCHEDULE_1F1B,
                       .zero = dp > 1 ? m->ask->zero : 0,
                       .zero_group = dp > 1 && m->ask->zero > 0 ? dp : 1,
                       .grad_dtype = trains ? RA_DTYPE_FP32 : model->dtype,
                       .optimizer_residency = RA_RESIDENCY_KEEP};
  for (guint axis = 0; axis < RA_N_AXES; axis++)
    plan->axis[axis] = (uint8_t)axis;
  plan->stage_layers = g_new(uint32_t, pp);
  ra_stage_layers_even(m->model->n_layers, pp, plan->stage_layers);
  plan->sequence_parallel = tp > 1 && m->call->kind != RA_CALL_GENERATE;
  plan->overlap_grad_reduce = trains && dp > 1;
  plan->launch =
      m->call->kind == RA_CALL_GENERATE ? RA_LAUNCH_GRAPH : RA_LAUNCH_EAGER;
  choose_micro_batches(m, &shape);
  g_array_append_val(m->shapes, shape);
}

static double
last_bytes(const Maker *m)
{
  const RaNeed *need =
      &g_array_index(m->shapes, RaShape, m->shapes->len - 1).need;

  return need->held_bytes + need->work_bytes;
}

/* Experts on every rank, shared by the ranks of a node, and by more where that
 * does not fit. */
static void
add_shapes(const Maker *m, uint32_t dp, uint32_t tp, uint32_t pp)
{
  double limit_bytes = RA_NEED_LIMIT_FRAC * m->cluster->device.memory_bytes;
  uint32_t n_ranks = dp * tp, n_experts = m->model->n_experts;

  add_shape(m, dp, tp, pp, 1);
  if (m->ask->zero > 1)
    return;
  for (uint32_t ep = 2;
       n_experts % ep == 0 && n_ranks % ep == 0 && n_experts > 0; ep *= 2) {
    gboolean is_last = n_experts % (2 * ep) != 0 || n_ranks % (2 * ep) != 0;
    gboolean in_node = ep <= m->ask->mesh.gpus_per_node;

    if (in_node && 2 * ep <= m->ask->mesh.gpus_per_node && !is_last)
      continue;
    if (!in_node && last_bytes(m) <= limit_bytes)
      return;
    add_shape(m, dp, tp, pp, ep);
  }
}

static int
compare_shapes(const void *a, const void *b)
{
  const RaCallPlan *x = &((const RaShape *)a)->plan;
  const RaCallPlan *y = &((const RaShape *)b)->plan;
  uint32_t split_x = x->tp * x->pp, split_y = y->tp * y->pp;

  if (split_x != split_y)
    return split_x < split_y ? -1 : 1;
  if (x->tp != y->tp)
    return x->tp > y->tp ? -1 : 1;
  return (x->ep > y->ep) - (x->ep < y->ep);
}

static void
add_served(const Maker *m)
{
  guint n = m->shapes->len;

  for (guint i = 0; i < n; i++) {
    RaShape shape = g_array_index(m->shapes, RaShape, i); /* they move */

    ra_continuous_add(m->shapes, m->workload, m->cluster, m->ask->call, &shape);
  }
  if (m->ask->batching == RA_SHAPE_CONTINUOUS && n > 0)
    g_array_remove_range(m->shapes, 0, n);
}

GArray *
ra_shapes_new(const RaWorkload *workload, const RaCluster *cluster,
              const RaShapeAsk *ask)
{
  const RaCall *call = &workload->calls[ask->call];
  Maker m = {.workload = workload,
             .cluster = cluster,
             .ask = ask,
             .call = call,
             .shapes = ra_shapes_empty()};
  uint32_t n_gpus = ra_mesh_n_gpus(&ask->mesh), pp_max;

  g_return_val_if_fail(call->kind != RA_CALL_HOST, m.shapes);
  m.model = workload->models[call->model].model;
  pp_max =
      ask->pp_max > 0 ? MIN(ask->pp_max, m.model->n_layers) : m.model->n_layers;
  for (uint32_t tp = 1; tp <= ask->mesh.gpus_per_node; tp++) {
    if (ask->mesh.gpus_per_node % tp != 0 ||
        !ra_shape_tp_divides(m.model, tp) ||
        (ask->tp > 0 ? tp != ask->tp : (tp & (tp - 1)) != 0))
      continue;
    for (uint32_t pp = 1; pp <= MIN(n_gpus / tp, pp_max); pp++) {
      if (n_gpus / tp % pp == 0 && (!ask->even || (pp & (pp - 1)) == 0) &&
          batch_of(call, n_gpus / tp / pp) > 0)
        add_shapes(&m, n_gpus / tp / pp, tp, pp);
    }
  }
  g_array_sort(m.shapes, compare_shapes);
  if (call->kind == RA_CALL_GENERATE && ask->batching != RA_SHAPE_STATIC)
    add_served(&m);
  return m.shapes;
}
