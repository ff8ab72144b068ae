/* The shapes of one call: which there are, and why the others are none. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "search/family/shape.h"
#include "search/space/space_impl.h"

/* A chunk of a sequence is no smaller: FlashAttention-2 works on tiles of 128
 * queries (arXiv 2307.08691, section 3.3), and a smaller chunk takes a tile's
 * time. */
#define CHUNK_TOKENS 128

/* Recipes of verl, NeMo-RL and slime cut sequences over 2 to 8 ranks from 8 to
 * 32 thousand tokens on. */
#define COMMON_RANK_TOKENS 2048

gboolean
ra_space_allows(const RaSpace *space, uint32_t call, RaLimitKind kind,
                uint32_t value)
{
  for (guint i = 0; i < space->options.n_limits; i++) {
    const RaLimit *limit = &space->limits[i];
    gboolean found = FALSE;

    if (limit->call != call || limit->kind != (int)kind)
      continue;
    found = limit->has_range && value >= limit->least && value <= limit->most;
    for (uint32_t k = 0; k < limit->n_values; k++)
      found |= limit->values[k] == value;
    if (!found)
      return FALSE;
  }
  return TRUE;
}

/* The mesh to which @call is pinned; %NULL: none. */
static const RaLimit *
pin_of(const RaSpace *space, uint32_t call)
{
  for (guint i = 0; i < space->options.n_limits; i++)
    if (space->limits[i].call == call && space->limits[i].kind == RA_LIMIT_MESH)
      return &space->limits[i];
  return NULL;
}

RaMesh
ra_space_mesh(const RaCluster *cluster, uint32_t begin, uint32_t n_gpus)
{
  RaMesh mesh = {.n_runs = 1, .n_nodes = 1, .gpus_per_node = n_gpus};

  mesh.runs[0].first = begin / cluster->gpus_per_node;
  mesh.runs[0].n = 1;
  mesh.first_gpu = begin % cluster->gpus_per_node;
  if (n_gpus >= cluster->gpus_per_node) {
    mesh.n_nodes = mesh.runs[0].n = n_gpus / cluster->gpus_per_node;
    mesh.gpus_per_node = cluster->gpus_per_node;
  }
  return mesh;
}

uint32_t
ra_space_n_gpus(const RaSpace *space)
{
  uint32_t n_gpus = ra_cluster_n_gpus(space->cluster);

  return space->options.n_gpus > 0 ? MIN(space->options.n_gpus, n_gpus)
                                   : n_gpus;
}

gboolean
ra_space_has_gpus(const RaSpace *space, const RaMesh *mesh)
{
  uint32_t last = ra_mesh_n_gpus(mesh) - 1;

  return ra_mesh_gpu(mesh, space->cluster, last) < ra_space_n_gpus(space);
}

uint32_t
ra_space_step(const RaCluster *cluster, uint32_t n_gpus)
{
  return MIN(n_gpus, cluster->gpus_per_node);
}

gboolean
ra_space_names(const RaSpace *space, uint32_t call, RaLimitKind kind,
               uint32_t value)
{
  for (guint i = 0; i < space->options.n_limits; i++)
    if (space->limits[i].call == call && space->limits[i].kind == (int)kind &&
        !space->limits[i].has_range)
      return ra_space_allows(space, call, kind, value);
  return FALSE;
}

/* TRUE if @call has a limit of @kind. */
static gboolean
has_limit(const RaSpace *space, uint32_t call, RaLimitKind kind)
{
  for (guint i = 0; i < space->options.n_limits; i++)
    if (space->limits[i].call == call && space->limits[i].kind == (int)kind)
      return TRUE;
  return FALSE;
}

void
ra_space_reject(const RaSpaceMaker *maker, RaReject reason, const char *rule)
{
  RaSpaceSink *sink = maker->sink;
  RaRejection one = {.reason = reason,
                     .rule = rule,
                     .plan = maker->plan,
                     .n_gpus = maker->mesh.n_gpus};

  sink->n_tried++;
  sink->n_rejected[reason]++;
  one.plan.stage_layers = NULL;
  if (sink->rejected)
    g_array_append_val(sink->rejected, one);
}

/* TRUE if every layer is attention to all tokens, which a ring can share. */
static gboolean
has_rings(const RaModel *model)
{
  for (uint32_t k = 0; k < ra_model_n_kinds(model); k++)
    if (!ra_model_kind_has_ring(model, k))
      return FALSE;
  return TRUE;
}

/* TRUE if the degrees divide all that has to divide; sets dp and batch. */
static gboolean
degrees_divide(RaSpaceMaker *m)
{
  const RaSpace *space = m->sink->space;
  uint32_t n = m->mesh.n_gpus, call = m->sink->call;
  uint64_t pieces = ra_call_plan_n_pieces(m->call, &m->plan);

  m->plan.dp = n / m->plan.tp / m->plan.pp / m->plan.cp;
  m->plan.n_micro_batches = 0;
  if (!ra_shape_tp_divides(m->model->model, m->plan.tp) ||
      (m->plan.cp > 1 && !has_rings(m->model->model)))
    ra_space_reject(m, RA_REJECT_HEADS,
                    "heads, key-value heads or MLP width do not divide by tp");
  else if (m->call->n_sequences % (pieces * m->plan.dp) != 0)
    ra_space_reject(m, RA_REJECT_SEQUENCES,
                    m->call->kind == RA_CALL_TRAIN
                        ? "sequences do not divide by mini-batches x dp"
                        : "sequences do not divide by parts x dp");
  else if (!ra_space_allows(space, call, RA_LIMIT_TP, m->plan.tp) ||
           !ra_space_allows(space, call, RA_LIMIT_PP, m->plan.pp) ||
           !ra_space_allows(space, call, RA_LIMIT_CP, m->plan.cp) ||
           !ra_space_allows(space, call, RA_LIMIT_EP, m->plan.ep) ||
           !ra_space_allows(space, call, RA_LIMIT_DP, m->plan.dp))
    ra_space_reject(m, RA_REJECT_LIMIT, "excluded by a limit on a degree");
  else {
    m->batch = (uint32_t)(m->call->n_sequences / (pieces * m->plan.dp));
    return TRUE;
  }
  return FALSE;
}

/* Least tokens of the longest sequence for each of several cp ranks: two
 * chunks. */
static uint32_t
rank_tokens(const RaSpaceMaker *m)
{
  return m->sink->space->options.kind == RA_SPACE_FULL ? 2 * CHUNK_TOKENS
                                                       : COMMON_RANK_TOKENS;
}

static gboolean
is_real(const RaSpaceMaker *m)
{
  return m->sink->space->options.kind == RA_SPACE_REAL;
}

/* TRUE if @cp ranks may share each sequence. */
static gboolean
may_share(RaSpaceMaker *m, uint32_t cp, uint32_t n_ranks)
{
  if (cp == 1)
    return TRUE;
  if (is_real(m) || m->call->kind == RA_CALL_GENERATE || n_ranks % cp != 0)
    return FALSE;
  if ((uint64_t)cp * rank_tokens(m) <= m->longest ||
      ra_space_names(m->sink->space, m->sink->call, RA_LIMIT_CP, cp))
    return TRUE;
  if (m->sink->space->options.kind == RA_SPACE_COMMON)
    return FALSE;
  m->plan.cp = cp;
  m->plan.dp = m->plan.ep = m->plan.n_micro_batches = 0;
  ra_space_reject(m, RA_REJECT_DOMINATED,
                  "a chunk of a sequence is smaller than a tile of attention");
  return FALSE;
}

/* TRUE if @ep of @n_ranks ranks may share a layer's experts. */
static gboolean
may_split(const RaSpaceMaker *m, uint32_t ep, uint32_t n_ranks)
{
  uint32_t n_experts = m->model->model->n_experts;

  if (ep == 1)
    return TRUE;
  return !is_real(m) && n_experts > 0 && n_experts % ep == 0 &&
         n_ranks % ep == 0;
}

/* The workload's number of mini-batches, or those that a limit allows and no
 * plan refuses: the most are as in graph/input/plan_check.c. */
static void
make_mini_batches(RaSpaceMaker *m)
{
  const RaSpace *space = m->sink->space;
  const RaCall *call = m->call;
  uint32_t most = UINT16_MAX / MAX(call->n_epochs, 1u), n_allowed = 0;

  if (!has_limit(space, m->sink->call, RA_LIMIT_MINI_BATCHES)) {
    if (degrees_divide(m))
      ra_space_fill_strategies(m);
    return;
  }
  for (uint32_t n = call->n_parts; n <= MIN(call->n_sequences, most);
       n += call->n_parts) {
    if (call->n_sequences % n != 0 ||
        !ra_space_allows(space, m->sink->call, RA_LIMIT_MINI_BATCHES, n))
      continue;
    m->plan.n_mini_batches = n == call->n_mini_batches ? 0 : n;
    n_allowed++;
    if (degrees_divide(m))
      ra_space_fill_strategies(m);
  }
  m->plan.n_mini_batches = m->plan.n_micro_batches = m->plan.dp = 0;
  if (n_allowed == 0)
    ra_space_reject(m, RA_REJECT_LIMIT,
                    "no divisor among the limits of mini-batches");
}

/* Whole experts over all ranks of a stage, tensor-parallel ones too: Megatron's
 * and DeepSeek's layout, with attention cut by tp. */
static void
make_whole_experts(RaSpaceMaker *m, uint32_t n_ranks)
{
  uint32_t n = n_ranks * m->plan.tp;

  if (m->plan.tp == 1 || m->sink->space->options.kind != RA_SPACE_COMMON)
    return;
  m->plan.expert_tp = 1;
  for (uint32_t ep = 2; ep <= n; ep *= 2) {
    m->plan.ep = ep;
    if (may_split(m, ep, n))
      make_mini_batches(m);
  }
  m->plan.expert_tp = 0;
}

/* All degrees of cp and ep. */
static void
make_degrees(RaSpaceMaker *m, uint32_t tp, uint32_t pp)
{
  uint32_t n_ranks = m->mesh.n_gpus / tp / pp;

  m->plan.tp = tp;
  m->plan.pp = pp;
  for (uint32_t cp = 1; cp <= n_ranks; cp *= 2) {
    if (!may_share(m, cp, n_ranks))
      continue;
    for (uint32_t ep = 1; ep <= n_ranks; ep *= 2) {
      m->plan.cp = cp;
      m->plan.ep = ep;
      if (may_split(m, ep, n_ranks))
        make_mini_batches(m);
    }
    make_whole_experts(m, n_ranks);
  }
}

/* All degrees on the mesh in hand. */
static void
make_all(RaSpaceMaker *m)
{
  uint32_t n_gpus = m->mesh.n_gpus, step = m->mesh.step;

  for (uint32_t tp = 1; tp <= step; tp *= 2)
    for (uint32_t pp = 1; pp <= n_gpus / tp; pp++) {
      if (pp > m->model->model->n_layers)
        break;
      /* Only divisors are worth a line. */
      if (step % tp == 0 && n_gpus / tp % pp == 0)
        make_degrees(m, tp, pp);
    }
}

/* TRUE if meshes of @n_gpus from GPUs @a and @b on are on the same kinds of
 * nodes, node by node. */
static gboolean
same_kinds(const RaCluster *cluster, uint32_t a, uint32_t b, uint32_t n_gpus)
{
  for (uint32_t i = 0; i < n_gpus; i += cluster->gpus_per_node)
    if (ra_cluster_kind(cluster, a + i) != ra_cluster_kind(cluster, b + i))
      return FALSE;
  return TRUE;
}

/* Sets of whole nodes of which places of a kind are left: taken once. */
typedef struct {
  const RaMesh *sets; /* (n) the same kinds node by node after each other */
  uint32_t n;
  gboolean *taken; /* (n) owned */
} KindSets;

/* The stretch of @k that begins at @at. */
static uint32_t
stretch_of_sets(const RaCluster *cluster, const KindSets *k, uint32_t at)
{
  uint32_t n = 1;

  while (at + n < k->n &&
         ra_node_sets_alike(cluster, &k->sets[at], &k->sets[at + n]))
    n++;
  return n;
}

/* Sets that see what the mesh of the plan in hand does become places of it, if
 * they are not those of another. */
static void
take_sets(RaSpaceMaker *m, KindSets *k)
{
  const RaCluster *cluster = m->sink->space->cluster;

  m->mesh.sets = NULL;
  m->mesh.n_sets = 0;
  for (uint32_t at = 0, n; at < k->n; at += n) {
    n = stretch_of_sets(cluster, k, at);
    if (k->taken[at] ||
        !ra_node_sets_alike(cluster, &k->sets[at], &m->plan.mesh))
      continue;
    k->taken[at] = TRUE;
    m->mesh.sets = &k->sets[at];
    m->mesh.n_sets = n;
    m->mesh.n_positions += n;
    return;
  }
}

/* Sets of nodes whose kinds no run has in that order. */
static void
make_sets(RaSpaceMaker *m, KindSets *k)
{
  const RaCluster *cluster = m->sink->space->cluster;

  for (uint32_t at = 0, n; at < k->n; at += n) {
    n = stretch_of_sets(cluster, k, at);
    if (k->taken[at])
      continue;
    m->plan.mesh = k->sets[at];
    m->mesh.first = k->sets[at].runs[0].first * cluster->gpus_per_node;
    m->mesh.n_positions = 0;
    take_sets(m, k);
    m->mesh.kinds = ra_cluster_kinds(cluster, &m->plan.mesh);
    make_all(m);
  }
}

/* Where nodes are of several kinds: a candidate for every stretch of places
 * that see the same, and sets that do, as they differ in cost and room. */
static void
make_kinds(RaSpaceMaker *m)
{
  const RaCluster *cluster = m->sink->space->cluster;
  RaCandidate all = m->mesh;
  uint32_t n_runs = all.n_positions - all.n_sets;
  g_autofree gboolean *taken = g_new0(gboolean, all.n_sets + 1);
  KindSets sets = {all.sets, all.n_sets, taken};

  for (uint32_t at = 0, n; at < n_runs; at += n) {
    uint32_t begin = all.first + at * all.step;

    for (n = 1; at + n < n_runs &&
                same_kinds(cluster, begin, begin + n * all.step, all.n_gpus);)
      n++;
    m->mesh.first = begin;
    m->mesh.n_positions = n;
    m->plan.mesh = ra_space_mesh(cluster, begin, all.n_gpus);
    take_sets(m, &sets);
    m->mesh.kinds = ra_cluster_kinds(cluster, &m->plan.mesh);
    make_all(m);
  }
  make_sets(m, &sets);
}

static void
make_mesh(RaSpaceMaker *m, uint32_t n_gpus)
{
  const RaSpace *space = m->sink->space;
  const RaCluster *cluster = space->cluster;
  const RaLimit *pin = pin_of(space, m->sink->call);
  uint32_t step = ra_space_step(cluster, n_gpus);
  uint32_t n_all = ra_space_n_gpus(space);

  if (!ra_space_allows(space, m->sink->call, RA_LIMIT_GPUS, n_gpus) ||
      (pin && (pin->values[1] != n_gpus || pin->values[0] + n_gpus > n_all))) {
    m->mesh.n_gpus = n_gpus;
    m->plan.tp = m->plan.pp = m->plan.dp = m->plan.n_micro_batches = 0;
    ra_space_reject(m, RA_REJECT_LIMIT, "excluded by a limit on meshes");
    return;
  }
  m->mesh = (RaCandidate){.n_gpus = n_gpus,
                          .step = step,
                          .first = pin ? pin->values[0] : 0,
                          .n_positions = pin ? 1 : (n_all - n_gpus) / step + 1};
  if (pin && pin->mesh.n_runs > 1) {
    m->mesh.sets = &pin->mesh;
    m->mesh.n_sets = 1;
  } else if (!pin && n_gpus >= cluster->gpus_per_node &&
             n_all == ra_cluster_n_gpus(cluster)) {
    m->mesh.sets = ra_node_sets_of(space->sets, n_gpus / cluster->gpus_per_node,
                                   &m->mesh.n_sets);
    m->mesh.n_positions += m->mesh.n_sets;
  }
  m->plan.mesh = cluster->kinds && pin && pin->mesh.n_runs > 1
                     ? pin->mesh
                     : ra_space_mesh(cluster, 0, n_gpus);
  m->mesh.kinds = ra_cluster_kinds(cluster, &m->plan.mesh);
  if (cluster->kinds && !(pin && pin->mesh.n_runs > 1))
    make_kinds(m);
  else
    make_all(m);
}

/* The call as it is before a mesh and degrees are chosen. */
static RaCallPlan
plan_of(const RaSpaceSink *sink, const RaCall *call, RaDtype dtype)
{
  const RaSpace *space = sink->space;
  gboolean generates = call->kind == RA_CALL_GENERATE;
  gboolean by_tokens = space->options.kind == RA_SPACE_COMMON && !generates &&
                       !ra_workload_is_even(space->workload);
  RaCallPlan plan = {
      .set = TRUE,
      .cp = 1,
      .ep = 1,
      .n_virtual = 1,
      .schedule = RA_SCHEDULE_1F1B,
      .grad_dtype = call->kind == RA_CALL_TRAIN ? RA_DTYPE_FP32 : dtype,
      .optimizer_residency =
          sink->on_cpu ? RA_RESIDENCY_CPU : RA_RESIDENCY_KEEP,
      .releases_grads = sink->on_cpu,
      .balance = by_tokens ? RA_BALANCE_TOKENS : RA_BALANCE_SEQUENCES,
      .launch = generates ? RA_LAUNCH_GRAPH : RA_LAUNCH_EAGER};

  for (guint axis = 0; axis < RA_N_AXES; axis++)
    plan.axis[axis] = (uint8_t)axis;
  return plan;
}

static void
fill(RaSpaceSink *sink)
{
  const RaWorkload *w = sink->space->workload;
  const RaCluster *cluster = sink->space->cluster;
  const RaCall *call = &w->calls[sink->call];
  RaSpaceMaker m = {.sink = sink,
                    .call = call,
                    .model = &w->models[call->model],
                    .longest = w->prompt_length.max_tokens +
                               w->response_length.max_tokens};
  uint32_t width = cluster->gpus_per_node;
  uint32_t n_all = ra_space_n_gpus(sink->space);
  uint32_t least = sink->space->options.kind == RA_SPACE_FULL
                       ? 1
                       : MIN(MAX(width / 2, 1u), n_all);

  m.plan = plan_of(sink, call, m.model->dtype);
  for (uint32_t n = least; n < width && n <= n_all; n *= 2)
    if (width % n == 0 && (n & (n - 1)) == 0)
      make_mesh(&m, n);
  for (uint32_t n = width;
       n <= n_all && !ra_until_is_over(sink->space->options.until); n += width)
    make_mesh(&m, n);
}

/* TRUE if all shapes were rejected, and some of them for memory. */
static gboolean
lacks_memory(const RaSpaceSink *sink)
{
  uint32_t n_rejected = 0;

  for (guint i = 0; i < RA_N_REJECTS; i++)
    n_rejected += sink->n_rejected[i];
  return n_rejected == sink->n_tried && sink->n_rejected[RA_REJECT_MEMORY] > 0;
}

void
ra_space_fill(RaSpaceSink *sink)
{
  const RaSpace *space = sink->space;

  fill(sink);
  if (space->options.kind != RA_SPACE_COMMON ||
      space->workload->calls[sink->call].kind != RA_CALL_TRAIN ||
      !lacks_memory(sink) || ra_until_is_over(space->options.until))
    return;
  sink->on_cpu = TRUE;
  fill(sink);
}
