/* Placement families: names, costs of shapes, common steps of planning. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "graph/expand/expand.h"
#include "graph/input/turns.h"
#include "search/family/continuous.h"
#include "search/family/strategy_impl.h"
#include "sim/sim.h"

#define GIB (1024.0 * 1024 * 1024)

const char *const ra_strategy_names[] = {
    "colocated", "interleaving", "disaggregated",
    "megatron",  "real",         "hybridflow",
    NULL};

const char *const ra_strategy_batchings[] = {"auto", "static", "continuous",
                                             "quickest", NULL};

static const RaStrategyWrite writers[RA_N_STRATEGIES] = {
    ra_strategy_colocated, ra_strategy_interleaving, ra_strategy_disaggregated,
    ra_strategy_megatron,  ra_strategy_real,         ra_strategy_hybridflow};

gboolean
ra_writer_on_gpus(const RaWriter *writer, uint32_t call)
{
  return writer->workload->calls[call].kind != RA_CALL_HOST;
}

gboolean
ra_writer_is_trained(const RaWriter *writer, uint32_t call)
{
  return ra_workload_trainer(writer->workload,
                             writer->workload->calls[call].model) != RA_NONE;
}

gboolean
ra_writer_fail(const RaWriter *writer, uint32_t call, const RaMesh *mesh,
               uint32_t tp, GError **error)
{
  const RaCall *c = &writer->workload->calls[call];
  const RaModel *model = writer->workload->models[c->model].model;
  gboolean trains = c->kind == RA_CALL_TRAIN;
  uint32_t n_blocks = trains ? c->n_mini_batches : c->n_parts;
  g_autofree char *which =
      tp > 0
          ? g_strdup_printf("tp %" PRIu32 " for %" PRIu32 " GPUs of a node and",
                            tp, mesh->gpus_per_node)
          : g_strdup("a tp for");

  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
              "'%s' cannot be sharded over %" PRIu32
              " GPUs: no dp divides %" PRIu32 " sequences in %" PRIu32
              " %s%s with %s %" PRIu32 " heads and a pp for %" PRIu32 " layers",
              c->name, ra_mesh_n_gpus(mesh), c->n_sequences, n_blocks,
              trains ? "mini-batch" : "part",
              n_blocks == 1 ? ""
              : trains      ? "es"
                            : "s",
              which, model->n_heads, model->n_layers);
  return FALSE;
}

gboolean
ra_writer_fail_fit(const RaWriter *writer, uint32_t call, const RaMesh *mesh,
                   GError **error)
{
  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
              "does not fit: '%s' has no layout on %" PRIu32
              " GPUs that divides its batch and needs at most %.1f GiB per GPU",
              writer->workload->calls[call].name, ra_mesh_n_gpus(mesh),
              RA_NEED_LIMIT_FRAC * writer->cluster->device.memory_bytes / GIB);
  return FALSE;
}

gboolean
ra_writer_offer(RaWriter *writer, const RaShapeAsk *ask, GError **error)
{
  GArray *shapes = ra_shapes_new(writer->workload, writer->cluster, ask);

  if (shapes->len == 0) {
    g_array_unref(shapes);
    return ra_writer_fail(writer, ask->call, &ask->mesh, ask->tp, error);
  }
  ra_draft_offer(writer->draft, ask->call, shapes);
  return TRUE;
}

gboolean
ra_writer_halves(const RaWriter *writer, RaMesh *out_halves)
{
  const RaCluster *cluster = writer->cluster;
  uint32_t half = cluster->gpus_per_node / 2;

  if (cluster->n_nodes % 2 == 0) {
    half = cluster->n_nodes / 2;
    out_halves[0] = ra_shape_mesh_nodes(cluster, 0, half);
    out_halves[1] = ra_shape_mesh_nodes(cluster, half, half);
    return TRUE;
  }
  /* A slice is a power of two that divides the node. */
  if (cluster->gpus_per_node % 2 != 0 || (half & (half - 1)) != 0)
    return FALSE;
  for (guint i = 0; i < 2; i++) {
    out_halves[i] = ra_shape_mesh_nodes(cluster, 0, cluster->n_nodes);
    out_halves[i].first_gpu = i * half;
    out_halves[i].gpus_per_node = half;
  }
  return TRUE;
}

/* The other calls stand on GPU 0 of node 0 in one piece: they are not run, and
 * what they would move costs nothing in one iteration. */
double
ra_writer_time_s(const RaWriter *writer, uint32_t call, const RaShape *shape,
                 GError **error)
{
  const RaWorkload *workload = writer->workload;
  g_autoptr(RaDraft) scratch = ra_draft_new(workload, writer->cluster);
  g_autofree uint32_t *layers = g_new0(uint32_t, workload->n_calls);
  RaExpandOptions options = {.fidelity = RA_FIDELITY_STAGE,
                             .fold = TRUE,
                             .one_call = TRUE,
                             .call = call,
                             .until = writer->options->until};
  g_autoptr(RaAugmented) augmented = NULL;
  g_autoptr(RaTaskGraph) graph = NULL;
  g_autoptr(RaSim) sim = NULL;

  if (ra_until_is_over(writer->options->until)) {
    g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                "not planned, as the time was up");
    return -1;
  }
  for (guint c = 0; c < workload->n_calls; c++) {
    RaCallPlan *plan = &scratch->plan->calls[c];

    if (!ra_writer_on_gpus(writer, c))
      continue;
    layers[c] = workload->models[workload->calls[c].model].model->n_layers;
    plan->set = TRUE;
    plan->mesh = (RaMesh){.n_runs = 1, .n_nodes = 1, .gpus_per_node = 1};
    plan->mesh.runs[0].n = 1;
    plan->stage_layers = &layers[c];
  }
  scratch->plan->calls[call] = shape->plan;
  augmented = ra_augment(scratch->plan, 1);
  graph = ra_expand_with(augmented, &options, error);
  sim = graph ? ra_sim_new(graph, writer->estimator, error) : NULL;
  if (!sim || !ra_sim_run(sim, error))
    return -1;
  return ra_sim_result(sim)->makespan_s;
}

static int
compare_times(const void *a, const void *b)
{
  const RaShape *x = a, *y = b;

  return (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

/* Shapes worth costing, of those that fit: pipelines of generation at
 * most twice as deep as they must be, as a token passes through the stages one
 * after the other; else at most four times the model parallelism there must
 * be, as what more there is only communicates. */
typedef struct {
  double limit_bytes;
  uint32_t pp_max, split_max; /* of pp; of tp x pp */
} Worth;

static gboolean
fits(const RaShape *shape, const Worth *worth)
{
  return shape->need.held_bytes + shape->need.work_bytes <= worth->limit_bytes;
}

static Worth
worth_of(const RaWriter *writer, const RaShapeAsk *ask, const GArray *shapes)
{
  gboolean generates =
      writer->workload->calls[ask->call].kind == RA_CALL_GENERATE;
  Worth worth = {.limit_bytes =
                     RA_NEED_LIMIT_FRAC * writer->cluster->device.memory_bytes};
  uint32_t pp = UINT32_MAX / 4, split = UINT32_MAX / 4;

  for (guint i = 0; i < shapes->len; i++) {
    const RaShape *shape = &g_array_index(shapes, RaShape, i);

    if (!fits(shape, &worth))
      continue;
    pp = MIN(pp, shape->plan.pp);
    split = MIN(split, shape->plan.tp * shape->plan.pp);
  }
  worth.pp_max = generates ? 2 * pp : UINT32_MAX;
  worth.split_max = generates ? UINT32_MAX : 4 * split;
  return worth;
}

/* The simulated shape of a (tp, pp, ep). */
typedef struct {
  double time_s;   /* < 0: an error */
  double slowdown; /* of a static batch without limits, by the formula */
} Known;

/* Seconds of @shape alone.  One shape of each (tp, pp, ep) is simulated, in
 * @known: the static one, or, with turns, which static batches cannot have, the
 * first, whose keys have the most room.  Continuous ones take a multiple of it.
 */
static double
cost_s(const RaWriter *writer, uint32_t call, const RaShape *shape,
       GHashTable *known, GError **error)
{
  const RaWorkload *workload = writer->workload;
  gboolean is_static = shape->plan.batching == RA_BATCHING_STATIC;
  gboolean turns = ra_turns_are_set(workload);
  gpointer key = GUINT_TO_POINTER(g_bit_storage(shape->plan.ep) << 27 |
                                  shape->plan.tp << 12 | shape->plan.pp);
  Known *first = g_hash_table_lookup(known, key);
  double slowdown =
      is_static
          ? 1
          : ra_continuous_slowdown(workload, writer->cluster, call, shape);

  if (is_static || !first) {
    RaShape all = *shape;

    if (!turns) {
      all.plan.batching = RA_BATCHING_STATIC;
      all.plan.kv_memory_bytes = 0;
    }
    first = g_new(Known, 1);
    first->time_s = ra_writer_time_s(writer, call, &all, error);
    first->slowdown = turns ? slowdown : 1;
    g_hash_table_insert(known, key, first);
  }
  return first->time_s * (slowdown / first->slowdown);
}

GArray *
ra_writer_timed(const RaWriter *writer, const RaShapeAsk *ask, GError **error)
{
  g_autoptr(GArray) all = ra_shapes_new(writer->workload, writer->cluster, ask);
  g_autoptr(GArray) timed = ra_shapes_empty();
  g_autoptr(GHashTable) known = g_hash_table_new_full(NULL, NULL, NULL, g_free);
  Worth worth = worth_of(writer, ask, all);

  for (guint i = 0; i < all->len; i++) {
    RaShape *shape = &g_array_index(all, RaShape, i);

    if (!fits(shape, &worth))
      continue;
    shape->time_s = (double)INFINITY;
    if (shape->plan.pp <= worth.pp_max &&
        shape->plan.tp * shape->plan.pp <= worth.split_max)
      shape->time_s = cost_s(writer, ask->call, shape, known, error);
    if (shape->time_s < 0)
      return NULL;
    ra_shapes_add(timed, shape);
  }
  g_array_sort(timed, compare_times);
  return g_steal_pointer(&timed);
}

/* A plan whose calls take shapes of @batching, an RA_SHAPE_*. */
static RaDraft *
write_with(RaWriter writer, int batching, GError **error)
{
  writer.batching = batching;
  writer.draft = ra_draft_new(writer.workload, writer.cluster);
  writer.draft->until = writer.options->until;
  if (writers[writer.options->kind](&writer, error) &&
      ra_draft_settle(writer.draft, error)) {
    for (guint c = 0; c < writer.workload->n_calls; c++)
      ra_draft_grow(writer.draft, c);
    return writer.draft;
  }
  g_prefix_error(error, "%s: ", ra_strategy_names[writer.options->kind]);
  ra_draft_free(writer.draft);
  return NULL;
}

/* TRUE if all calls may have room on all GPUs with continuous batches: costs no
 * seconds, so that what is too large is refused at once. */
static gboolean
may_fit(const RaWriter *writer)
{
  const RaCluster *cluster = writer->cluster;
  g_autoptr(RaDraft) draft = ra_draft_new(writer->workload, cluster);

  draft->until = writer->options->until;
  for (guint c = 0; c < writer->workload->n_calls; c++) {
    RaShapeAsk ask = {.call = c,
                      .mesh = ra_shape_mesh_nodes(cluster, 0, cluster->n_nodes),
                      .zero = writer->workload->calls[c].kind == RA_CALL_TRAIN,
                      .recompute = RA_RECOMPUTE_SELECTIVE,
                      .batching = RA_SHAPE_CONTINUOUS};
    GArray *shapes;

    if (!ra_writer_on_gpus(writer, c))
      continue;
    shapes = ra_shapes_new(writer->workload, cluster, &ask);
    if (shapes->len == 0) {
      g_array_unref(shapes);
      return FALSE;
    }
    ra_draft_offer(draft, c, shapes);
  }
  return ra_draft_settle(draft, NULL);
}

/* TRUE if generation is under ZeRO-3, which no engine has. */
static gboolean
generates_in_zero(const RaStrategyOptions *options)
{
  return (options->kind == RA_STRATEGY_COLOCATED ||
          options->kind == RA_STRATEGY_INTERLEAVING) &&
         options->generate_tp == 0;
}

/* Error for calls that cannot be batched as requested. */
static gboolean
check_batching(const RaWorkload *workload, const RaStrategyOptions *options,
               GError **error)
{
  gboolean turns = ra_turns_are_set(workload);

  if (turns && options->batching == RA_STRATEGY_BATCHING_STATIC)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "static batching of a workload that calls tools between turns "
                "('turns'), expected --batching=continuous");
  else if (generates_in_zero(options) &&
           (turns || options->batching == RA_STRATEGY_BATCHING_CONTINUOUS))
    g_set_error(
        error, RA_ERROR, RA_ERROR_INPUT,
        "continuous batching of generation under ZeRO-3, which no engine "
        "supports, expected a tensor parallel degree (--generate-tp)");
  else
    return TRUE;
  return FALSE;
}

static RaDraft *
plan_on(const RaWorkload *workload, const RaCluster *cluster,
        const RaEstimator *estimator, const RaStrategyOptions *options,
        GError **error)
{
  static const int first[] = {RA_SHAPE_STATIC, RA_SHAPE_STATIC,
                              RA_SHAPE_CONTINUOUS, RA_SHAPE_EITHER};
  RaWriter writer = {.workload = workload,
                     .cluster = cluster,
                     .estimator = estimator,
                     .options = options};
  gboolean turns = ra_turns_are_set(workload);
  GError *cause = NULL, *later = NULL;
  RaDraft *draft;

  if (!check_batching(workload, options, error))
    return NULL;
  draft = write_with(
      writer, turns ? RA_SHAPE_CONTINUOUS : first[options->batching], &cause);
  /* The reason of a static batch is the plainer one, but for lack of time. */
  if (!draft && !turns && options->batching == RA_STRATEGY_BATCHING_AUTO &&
      !generates_in_zero(options) &&
      g_error_matches(cause, RA_ERROR, RA_ERROR_NEGATIVE) && may_fit(&writer))
    draft = write_with(writer, RA_SHAPE_EITHER, &later);
  if (!draft && later && ra_until_is_over(options->until))
    g_propagate_error(error, g_steal_pointer(&later));
  else if (!draft)
    g_propagate_error(error, g_steal_pointer(&cause));
  g_clear_error(&cause);
  g_clear_error(&later);
  return draft;
}

/* A plan on the first nodes, and GPUs of a node, of which @narrow has some. */
static RaDraft *
plan_narrow(const RaWorkload *workload, const RaCluster *cluster,
            const RaCluster *narrow, const RaEstimator *estimator,
            const RaStrategyOptions *options, GError **error)
{
  RaDraft *draft = plan_on(workload, narrow, estimator, options, error);

  if (!draft)
    return NULL;
  draft->plan->cluster = cluster;
  if (narrow->gpus_per_node < cluster->gpus_per_node)
    g_string_append_printf(draft->head,
                           "  Of the %" PRIu32 " GPUs of a node %" PRIu32
                           " are idle, as they do not divide the sequences.",
                           cluster->gpus_per_node,
                           cluster->gpus_per_node - narrow->gpus_per_node);
  if (narrow->n_nodes < cluster->n_nodes)
    g_string_append_printf(draft->head,
                           "  Of the %" PRIu32 " nodes %" PRIu32
                           " are idle, as no layout was found on all.",
                           cluster->n_nodes,
                           cluster->n_nodes - narrow->n_nodes);
  return draft;
}

/* Nodes that are wider than what divides are planned as narrower ones, whose
 * meshes are slices of them; and where all nodes have no plan, as many as a
 * power of two. */
RaDraft *
ra_strategy_plan(const RaWorkload *workload, const RaCluster *cluster,
                 const RaEstimator *estimator, const RaStrategyOptions *options,
                 GError **error)
{
  g_autoptr(RaEstimator) fork = NULL;
  GError *cause = NULL;
  RaCluster narrow;
  RaDraft *draft;
  uint32_t power = 1;

  g_return_val_if_fail(workload && cluster && estimator && options, NULL);
  g_return_val_if_fail(options->kind < RA_N_STRATEGIES, NULL);
  g_return_val_if_fail(cluster->device.memory_bytes > 0, NULL);
  fork = ra_estimator_fork(estimator);
  narrow = *cluster;
  narrow.gpus_per_node = ra_shape_node_gpus(workload, cluster);
  draft = plan_narrow(workload, cluster, &narrow, fork, options, &cause);
  if (draft)
    return draft;
  while (2 * power <= cluster->n_nodes)
    power *= 2;
  if (power < cluster->n_nodes && cluster->n_kinds == 0 &&
      g_error_matches(cause, RA_ERROR, RA_ERROR_NEGATIVE)) {
    narrow.n_nodes = power;
    draft = plan_narrow(workload, cluster, &narrow, fork, options, NULL);
  }
  if (draft)
    g_clear_error(&cause);
  else
    g_propagate_error(error, cause);
  return draft;
}
