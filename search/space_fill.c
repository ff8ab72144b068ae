/* The shapes of one call: which there are, and why the others are none. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "search/shape.h"
#include "search/space_impl.h"

#define GIB (1024.0 * 1024 * 1024)

/* One shape while strategies for it are made. */
typedef struct {
  RaSpaceSink *sink;
  const RaCall *call;
  const RaWorkloadModel *model;
  RaCandidate mesh; /* n_gpus, first, step, n_positions */
  RaCallPlan plan;  /* mesh and degrees set */
  uint32_t batch;   /* sequences that a replica works on at a time */
} Maker;

gboolean
ra_space_allows(const RaSpace *space, uint32_t call, RaLimitKind kind,
                uint32_t value)
{
  for (guint i = 0; i < space->options.n_limits; i++) {
    const RaLimit *limit = &space->limits[i];
    gboolean found = FALSE;

    if (limit->call != call || limit->kind != (int)kind)
      continue;
    for (uint32_t k = 0; k < limit->n_values; k++)
      found |= limit->values[k] == value;
    if (!found)
      return FALSE;
  }
  return TRUE;
}

const RaLimit *
ra_space_pin(const RaSpace *space, uint32_t call)
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
ra_space_step(const RaCluster *cluster, uint32_t n_gpus)
{
  return MIN(n_gpus, cluster->gpus_per_node);
}

static void reject(const Maker *m, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
reject(const Maker *m, const char *format, ...)
{
  GString *out = m->sink->reasons;
  va_list args;

  if (!out)
    return;
  g_string_append_printf(out, "%" PRIu32 " GPUs, tp %" PRIu32 ", pp %" PRIu32,
                         m->mesh.n_gpus, m->plan.tp, m->plan.pp);
  if (m->plan.dp > 0)
    g_string_append_printf(out, ", dp %" PRIu32, m->plan.dp);
  if (m->plan.n_micro_batches > 0)
    g_string_append_printf(out,
                           ", %" PRIu32 " micro-batches, zero %d, "
                           "recompute %d",
                           m->plan.n_micro_batches, m->plan.zero,
                           m->plan.recompute);
  g_string_append(out, ": ");
  va_start(args, format);
  g_string_append_vprintf(out, format, args);
  va_end(args);
  g_string_append_c(out, '\n');
}

static double
gpu_bytes(const Maker *m, const RaFootprint *footprint)
{
  const RaCluster *cluster = m->sink->space->cluster;

  return cluster->framework_bytes +
         (1 + cluster->slack_frac) * (double)footprint->total_bytes;
}

/* Whether one micro-batch works in little enough of a GPU. */
static gboolean
works_in_little(const Maker *m, const RaFootprint *footprint)
{
  const RaCluster *cluster = m->sink->space->cluster;

  return m->call->kind == RA_CALL_GENERATE ||
         (double)footprint->most.bytes[RA_FOOT_WORK] <=
             RA_SHAPE_WORK_FRAC * cluster->device.memory_bytes;
}

static void
footprint_of(const Maker *m, RaFootprint *out)
{
  const RaSpace *space = m->sink->space;

  ra_footprint_init(out, space->loads, space->cluster, m->sink->call, &m->plan);
}

/* Takes the strategy in hand, or says why not; @footprint is taken over. */
static void
take(Maker *m, RaFootprint *footprint)
{
  RaCandidate candidate = m->mesh;
  double bytes = gpu_bytes(m, footprint);
  double limit = m->sink->space->cluster->device.memory_bytes;

  m->sink->n_tried++;
  if (bytes > limit) {
    reject(m, "needs %.1f GiB of a GPU by itself, which has %.1f", bytes / GIB,
           limit / GIB);
  } else if (m->sink->candidates) {
    candidate.plan = m->plan;
    candidate.plan.stage_layers =
        g_memdup2(m->plan.stage_layers, m->plan.pp * sizeof(uint32_t));
    candidate.footprint = *footprint;
    g_array_append_val(m->sink->candidates, candidate);
    return;
  }
  ra_footprint_clear(footprint);
}

static gboolean
strategy_allowed(Maker *m)
{
  const RaSpace *space = m->sink->space;
  uint32_t call = m->sink->call;

  if (ra_space_allows(space, call, RA_LIMIT_MICRO_BATCHES,
                      m->plan.n_micro_batches) &&
      ra_space_allows(space, call, RA_LIMIT_ZERO, (uint32_t)m->plan.zero) &&
      ra_space_allows(space, call, RA_LIMIT_RECOMPUTE,
                      (uint32_t)m->plan.recompute))
    return TRUE;
  m->sink->n_tried++;
  reject(m, "a limit leaves it out");
  return FALSE;
}

/* The fewest micro-batches that fill the pipeline, and divide. */
static uint32_t
least_micro_batches(const Maker *m)
{
  uint32_t least = m->plan.pp > 1 && m->call->kind == RA_CALL_TRAIN
                       ? 2 * m->plan.pp
                       : m->plan.pp;

  for (uint32_t n = least; n < m->batch; n++)
    if (m->batch % n == 0)
      return n;
  return m->batch;
}

/* ReaL's: by rule; the last tried if none works in little. */
static void
make_by_rule(Maker *m)
{
  gboolean trains = m->call->kind == RA_CALL_TRAIN;
  uint32_t least = least_micro_batches(m);

  m->plan.zero = trains && m->plan.dp > 1;
  m->plan.zero_group = m->plan.zero ? m->plan.dp : 1;
  for (int r = RA_RECOMPUTE_NONE; r <= (trains ? RA_RECOMPUTE_FULL : 0); r++)
    for (uint32_t n = least; n <= m->batch; n++) {
      RaFootprint footprint;
      gboolean last = n == m->batch && (!trains || r == RA_RECOMPUTE_FULL);

      if (m->batch % n != 0)
        continue;
      m->plan.n_micro_batches = n;
      m->plan.recompute = r;
      footprint_of(m, &footprint);
      if (last || works_in_little(m, &footprint)) {
        if (strategy_allowed(m))
          take(m, &footprint);
        else
          ra_footprint_clear(&footprint);
        return;
      }
      ra_footprint_clear(&footprint);
    }
}

/* All of them: micro-batches 1, 2, 4 times the least. */
static void
make_all(Maker *m)
{
  gboolean trains = m->call->kind == RA_CALL_TRAIN;
  uint32_t least = least_micro_batches(m);
  guint n_factors = m->call->kind == RA_CALL_GENERATE ? 1 : 3;

  for (guint sharded = 0; sharded <= (m->plan.dp > 1 ? 1 : 0); sharded++)
    for (int r = RA_RECOMPUTE_NONE; r <= (trains ? RA_RECOMPUTE_FULL : 0); r++)
      for (guint f = 0; f < n_factors; f++) {
        RaFootprint footprint;
        uint32_t n = least << f;

        if (n > m->batch || m->batch % n != 0)
          continue;
        m->plan.zero = sharded ? 3 : trains && m->plan.dp > 1;
        m->plan.zero_group = m->plan.zero ? m->plan.dp : 1;
        m->plan.n_micro_batches = n;
        m->plan.recompute = r;
        if (!strategy_allowed(m))
          continue;
        footprint_of(m, &footprint);
        take(m, &footprint);
      }
}

static gboolean
tp_divides(const RaModel *model, uint32_t tp)
{
  uint32_t ffn = model->n_experts > 0 ? model->expert_ffn : model->ffn;

  return model->n_heads % tp == 0 && ffn % tp == 0 &&
         (model->n_kv_heads % tp == 0 || tp % model->n_kv_heads == 0);
}

/* Whether the degrees divide all that has to divide; sets dp and batch. */
static gboolean
degrees_divide(Maker *m)
{
  const RaSpace *space = m->sink->space;
  uint32_t n = m->mesh.n_gpus, call = m->sink->call;
  uint64_t pieces = m->call->kind == RA_CALL_TRAIN ? m->call->n_mini_batches
                                                   : m->call->n_parts;

  m->plan.dp = m->plan.n_micro_batches = 0;
  if (!tp_divides(m->model->model, m->plan.tp))
    reject(m, "heads, key-value heads or MLP width do not divide by tp");
  else if (n / m->plan.tp % m->plan.pp != 0)
    reject(m, "GPUs do not divide by tp x pp");
  else {
    m->plan.dp = n / m->plan.tp / m->plan.pp;
    if (m->call->n_sequences % (pieces * m->plan.dp) != 0)
      reject(m, "%" PRIu32 " sequences do not divide by %" PRIu64 " x dp",
             m->call->n_sequences, pieces);
    else if (!ra_space_allows(space, call, RA_LIMIT_TP, m->plan.tp) ||
             !ra_space_allows(space, call, RA_LIMIT_PP, m->plan.pp) ||
             !ra_space_allows(space, call, RA_LIMIT_DP, m->plan.dp))
      reject(m, "a limit leaves it out");
    else {
      m->batch = (uint32_t)(m->call->n_sequences / (pieces * m->plan.dp));
      return TRUE;
    }
  }
  m->sink->n_tried++;
  return FALSE;
}

static void
make_degrees(Maker *m, uint32_t tp, uint32_t pp)
{
  gboolean trains = m->call->kind == RA_CALL_TRAIN;
  g_autofree uint32_t *layers = NULL;

  m->plan.tp = tp;
  m->plan.pp = pp;
  if (!degrees_divide(m))
    return;
  layers = g_new(uint32_t, pp);
  ra_stage_layers_even(m->model->model->n_layers, pp, layers);
  m->plan.stage_layers = layers;
  m->plan.sequence_parallel = tp > 1 && m->call->kind != RA_CALL_GENERATE;
  m->plan.overlap_grad_reduce = trains && m->plan.dp > 1;
  if (m->sink->space->options.kind == RA_SPACE_REAL)
    make_by_rule(m);
  else
    make_all(m);
}

static void
make_mesh(Maker *m, uint32_t n_gpus)
{
  const RaSpace *space = m->sink->space;
  const RaCluster *cluster = space->cluster;
  const RaLimit *pin = ra_space_pin(space, m->sink->call);
  uint32_t step = ra_space_step(cluster, n_gpus);

  if (!ra_space_allows(space, m->sink->call, RA_LIMIT_GPUS, n_gpus) ||
      (pin && pin->values[1] != n_gpus)) {
    m->mesh.n_gpus = n_gpus;
    m->plan.tp = m->plan.pp = m->plan.dp = m->plan.n_micro_batches = 0;
    m->sink->n_tried++;
    reject(m, "a limit leaves it out");
    return;
  }
  m->mesh = (RaCandidate){
      .n_gpus = n_gpus,
      .step = step,
      .first = pin ? pin->values[0] : 0,
      .n_positions =
          pin ? 1 : (ra_cluster_n_gpus(cluster) - n_gpus) / step + 1};
  m->plan.mesh = ra_space_mesh(cluster, 0, n_gpus);
  for (uint32_t tp = 1; tp <= step; tp *= 2)
    for (uint32_t pp = 1; pp <= n_gpus / tp; pp++) {
      if (pp > m->model->model->n_layers)
        break;
      /* Only divisors are worth a line. */
      if (step % tp == 0 && n_gpus / tp % pp == 0)
        make_degrees(m, tp, pp);
    }
}

void
ra_space_fill(RaSpaceSink *sink)
{
  const RaWorkload *w = sink->space->workload;
  const RaCluster *cluster = sink->space->cluster;
  const RaCall *call = &w->calls[sink->call];
  gboolean trains = call->kind == RA_CALL_TRAIN;
  Maker m = {.sink = sink, .call = call, .model = &w->models[call->model]};
  uint32_t width = cluster->gpus_per_node;
  uint32_t least =
      sink->space->options.kind == RA_SPACE_REAL ? MAX(width / 2, 1u) : 1;

  m.plan =
      (RaCallPlan){.set = TRUE,
                   .cp = 1,
                   .ep = 1,
                   .n_virtual = 1,
                   .schedule = RA_SCHEDULE_1F1B,
                   .grad_dtype = trains ? RA_DTYPE_FP32 : m.model->dtype,
                   .optimizer_residency = RA_RESIDENCY_KEEP,
                   .launch = call->kind == RA_CALL_GENERATE ? RA_LAUNCH_GRAPH
                                                            : RA_LAUNCH_EAGER};
  for (guint axis = 0; axis < RA_N_AXES; axis++)
    m.plan.axis[axis] = (uint8_t)axis;
  for (uint32_t n = least; n < width; n *= 2)
    if (width % n == 0)
      make_mesh(&m, n);
  for (uint32_t n = 1; n <= cluster->n_nodes; n++)
    make_mesh(&m, n * width);
}
