/* The strategies of one shape: those of ReaL by rule, of ours all. */
#include "config.h"

#include <string.h>

#include "graph/input/turns.h"
#include "search/family/continuous.h"
#include "search/space/space_impl.h"

/* Schedules by the values of RA_LIMIT_SCHEDULE. */
enum { GPIPE = 0, ONE_F_ONE_B = 1, DEEPEST = 64 };

typedef RaSpaceMaker Maker;

static double
gpu_bytes(const Maker *m, const RaFootprint *footprint)
{
  const RaCluster *cluster = m->sink->space->cluster;

  return cluster->framework_bytes +
         (1 + cluster->slack_frac) * (double)footprint->total_bytes;
}

/* TRUE if one micro-batch works in little enough of a GPU. */
static gboolean
works_in_little(const Maker *m, const RaFootprint *footprint)
{
  const RaCluster *cluster = m->sink->space->cluster;
  double frac = m->sink->space->options.work_frac;

  if (!(frac > 0))
    frac = RA_SHAPE_WORK_FRAC;
  return m->call->kind == RA_CALL_GENERATE ||
         (double)footprint->most.bytes[RA_FOOT_WORK] <=
             frac * cluster->device.memory_bytes;
}

static void
footprint_of(const Maker *m, RaFootprint *out)
{
  const RaSpace *space = m->sink->space;

  ra_footprint_init(out, space->loads, space->cluster, m->sink->call, &m->plan);
}

static void
reject_memory(Maker *m, double bytes, double limit)
{
  GArray *rejected = m->sink->rejected;
  RaRejection *last;

  ra_space_reject(m, RA_REJECT_MEMORY, "does not fit into a GPU by itself");
  if (!rejected)
    return;
  last = &g_array_index(rejected, RaRejection, rejected->len - 1);
  last->needs_bytes = bytes;
  last->has_bytes = limit;
}

/* Memory of the largest GPU of the mesh; the evaluation of a plan checks which
 * stage is on which GPU. */
static double
most_memory_bytes(const Maker *m)
{
  const RaCluster *cluster = m->sink->space->cluster;
  double most = 0;

  for (uint32_t k = 0; k < MAX(cluster->n_kinds, 1u); k++)
    if (m->mesh.kinds >> k & 1) {
      double bytes = ra_cluster_memory_bytes(cluster, 1u << k);
      most = MAX(most, bytes);
    }
  return most;
}

/* Takes the strategy in hand, or says why not; @footprint is taken over. */
static void
take(Maker *m, RaFootprint *footprint)
{
  RaCandidate candidate = m->mesh;
  double bytes = gpu_bytes(m, footprint);
  double limit = most_memory_bytes(m);

  if (bytes > limit) {
    reject_memory(m, bytes, limit);
  } else {
    m->sink->n_tried++;
    if (m->sink->candidates) {
      candidate.plan = m->plan;
      candidate.pins = m->sink->on_cpu;
      candidate.plan.stage_layers =
          g_memdup2(m->plan.stage_layers,
                    m->plan.pp * m->plan.n_virtual * sizeof(uint32_t));
      candidate.footprint = *footprint;
      g_array_append_val(m->sink->candidates, candidate);
      return;
    }
  }
  ra_footprint_clear(footprint);
}

/* --- continuous batches --- */

/* A continuous batch with room for @kv_bytes of keys and values; 0: for all. */
static void
take_served(Maker *m, uint64_t kv_bytes)
{
  RaFootprint footprint;

  m->plan.kv_memory_bytes = kv_bytes;
  footprint_of(m, &footprint);
  take(m, &footprint);
}

/* Room for all keys and values, and for each tenth of a GPU that holds the
 * longest sequence but not all. */
static void
make_served(Maker *m)
{
  const RaSpace *space = m->sink->space;
  RaContinuousRoom room = ra_continuous_room(space->workload, space->cluster,
                                             m->sink->call, &m->plan);
  double gpu_bytes = space->cluster->device.memory_bytes;

  ra_continuous_set(&m->plan, m->call->n_sequences);
  for (uint32_t tenths = 9; tenths > 0; tenths--) {
    uint64_t bytes = (uint64_t)(tenths * gpu_bytes / 10) /
                     RA_SERVING_STEP_BYTES * RA_SERVING_STEP_BYTES;
    if (bytes >= room.least_bytes && bytes < room.whole_bytes)
      take_served(m, bytes);
  }
  if ((double)room.whole_bytes < gpu_bytes)
    take_served(m, MAX(room.whole_bytes, room.least_bytes));
  ra_continuous_clear(&m->plan);
}

/* Takes the strategy in hand, generation with each batching. */
static void
take_batched(Maker *m, RaFootprint *footprint)
{
  const RaSpace *space = m->sink->space;
  gboolean serves = m->call->kind == RA_CALL_GENERATE && m->plan.zero == 0 &&
                    space->options.kind != RA_SPACE_REAL &&
                    ra_space_allows(space, m->sink->call, RA_LIMIT_BATCHING,
                                    RA_BATCHING_CONTINUOUS);

  if (m->call->kind != RA_CALL_GENERATE ||
      (!ra_turns_are_set(space->workload) &&
       ra_space_allows(space, m->sink->call, RA_LIMIT_BATCHING,
                       RA_BATCHING_STATIC))) {
    take(m, footprint);
  } else {
    ra_footprint_clear(footprint);
    ra_space_reject(m, RA_REJECT_PLAN, "static batches, with turns or a limit");
  }
  if (serves)
    make_served(m);
}

static uint32_t
schedule_value(const RaCallPlan *plan)
{
  if (plan->schedule == RA_SCHEDULE_INTERLEAVED)
    return plan->n_virtual;
  return plan->schedule == RA_SCHEDULE_GPIPE ? GPIPE : ONE_F_ONE_B;
}

static gboolean
is_allowed(const Maker *m)
{
  const RaSpace *space = m->sink->space;
  const RaCallPlan *p = &m->plan;
  uint32_t call = m->sink->call;

  if (ra_space_allows(space, call, RA_LIMIT_MICRO_BATCHES,
                      p->n_micro_batches) &&
      ra_space_allows(space, call, RA_LIMIT_ZERO, (uint32_t)p->zero) &&
      ra_space_allows(space, call, RA_LIMIT_RECOMPUTE,
                      (uint32_t)p->recompute) &&
      ra_space_allows(space, call, RA_LIMIT_SCHEDULE, schedule_value(p)) &&
      ra_space_allows(space, call, RA_LIMIT_SEQUENCE_PARALLEL,
                      p->sequence_parallel != 0))
    return TRUE;
  ra_space_reject(m, RA_REJECT_LIMIT, "excluded by a limit on the strategy");
  return FALSE;
}

/* Why another is never worse than the strategy in hand; %NULL: none is. */
static const char *
dominated(const Maker *m)
{
  const RaSpace *space = m->sink->space;
  const RaCallPlan *p = &m->plan;
  uint32_t call = m->sink->call;

  if (m->call->kind == RA_CALL_TRAIN && p->zero == 0 && p->dp * p->cp > 1 &&
      !ra_space_names(space, call, RA_LIMIT_ZERO, 0))
    return "zero 1 moves no more and needs less memory";
  if (p->recompute == RA_RECOMPUTE_SELECTIVE &&
      p->attention == RA_ATTENTION_FLASH &&
      !ra_space_names(space, call, RA_LIMIT_RECOMPUTE, RA_RECOMPUTE_SELECTIVE))
    return "flash attention keeps nothing that selective recomputation saves";
  return NULL;
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

static void
set_zero(Maker *m, int zero)
{
  m->plan.zero = zero;
  m->plan.zero_group = zero ? m->plan.dp : 1;
}

/* By rule, with at least recomputation @from; the last tried if none works in
 * little.  Ranks that share sequences have one at a time. */
static void
make_by_rule(Maker *m, int from)
{
  gboolean trains = m->call->kind == RA_CALL_TRAIN;
  uint32_t least = m->plan.cp > 1 ? m->batch : least_micro_batches(m);

  for (int r = from; r <= (trains ? RA_RECOMPUTE_FULL : 0); r++)
    for (uint32_t n = least; n <= m->batch; n++) {
      RaFootprint footprint;
      gboolean last = n == m->batch && (!trains || r == RA_RECOMPUTE_FULL);

      if (m->batch % n != 0)
        continue;
      m->plan.n_micro_batches = n;
      m->plan.recompute = r;
      footprint_of(m, &footprint);
      if (last || works_in_little(m, &footprint)) {
        if (is_allowed(m))
          take_batched(m, &footprint);
        else
          ra_footprint_clear(&footprint);
        return;
      }
      ra_footprint_clear(&footprint);
    }
}

/* --- all of them --- */

static void
consider(Maker *m)
{
  const char *rule;
  RaFootprint footprint;

  if (!is_allowed(m))
    return;
  rule = dominated(m);
  if (rule) {
    ra_space_reject(m, RA_REJECT_DOMINATED, rule);
    return;
  }
  footprint_of(m, &footprint);
  take_batched(m, &footprint);
}

/* Micro-batches 1, 2, 4 times the least; with cp one sequence each: of several
 * cp ranks would take as many each, as dp, without the ring. */
static void
make_micro_batches(Maker *m)
{
  uint32_t least = least_micro_batches(m);
  guint n_factors = m->call->kind == RA_CALL_GENERATE || m->plan.cp > 1 ? 1 : 3;

  for (guint f = 0; f < n_factors; f++) {
    uint32_t n = m->plan.cp > 1 ? m->batch : least << f;

    if (n > m->batch || m->batch % n != 0)
      continue;
    m->plan.n_micro_batches = n;
    if (m->plan.schedule == RA_SCHEDULE_INTERLEAVED && n % m->plan.pp != 0)
      ra_space_reject(m, RA_REJECT_PLAN,
                      "interleaved micro-batches do not divide by pp");
    else if (m->plan.ep > 1 && m->plan.zero > 0 &&
             m->call->kind == RA_CALL_GENERATE)
      ra_space_reject(m, RA_REJECT_PLAN, "engines with ep shard no weights");
    else
      consider(m);
  }
}

static void
make_recomputations(Maker *m)
{
  gboolean trains = m->call->kind == RA_CALL_TRAIN;

  for (int r = RA_RECOMPUTE_NONE; r <= (trains ? RA_RECOMPUTE_FULL : 0); r++) {
    m->plan.recompute = r;
    make_micro_batches(m);
  }
  m->plan.recompute = RA_RECOMPUTE_NONE;
}

static void
make_zeros(Maker *m)
{
  gboolean trains = m->call->kind == RA_CALL_TRAIN;

  for (int zero = 0; zero <= (m->plan.dp * m->plan.cp > 1 ? 3 : 0); zero++) {
    if (!trains && zero != 0 && zero != 3)
      continue;
    set_zero(m, zero);
    make_recomputations(m);
  }
}

/* Sequence-parallel and not. */
static void
make_parallel(Maker *m)
{
  gboolean may = m->plan.tp > 1 && m->call->kind != RA_CALL_GENERATE;

  for (int off = 0; off <= (may ? 1 : 0); off++) {
    m->plan.sequence_parallel = may && !off;
    make_zeros(m);
  }
}

/* TRUE if schedule @value is among candidates: interleaving by 2 and 4, what a
 * limit names. */
static gboolean
has_schedule(const Maker *m, uint32_t value)
{
  if (value == ONE_F_ONE_B)
    return TRUE;
  if (m->call->kind != RA_CALL_TRAIN || m->plan.pp == 1 ||
      value * m->plan.pp > m->model->model->n_layers)
    return FALSE;
  return value == 2 || value == 4 ||
         ra_space_names(m->sink->space, m->sink->call, RA_LIMIT_SCHEDULE,
                        value);
}

static void
make_schedules(Maker *m)
{
  uint32_t n_layers = m->model->model->n_layers;

  for (uint32_t value = GPIPE; value <= DEEPEST; value++) {
    g_autofree uint32_t *layers = NULL;

    if (!has_schedule(m, value))
      continue;
    m->plan.n_virtual = MAX(value, 1);
    m->plan.schedule = value == GPIPE         ? RA_SCHEDULE_GPIPE
                       : value == ONE_F_ONE_B ? RA_SCHEDULE_1F1B
                                              : RA_SCHEDULE_INTERLEAVED;
    layers = g_new(uint32_t, m->plan.pp * m->plan.n_virtual);
    ra_stage_layers_even(n_layers, m->plan.pp * m->plan.n_virtual, layers);
    m->plan.stage_layers = layers;
    make_parallel(m);
    m->plan.stage_layers = NULL;
  }
  m->plan.n_virtual = 1;
  m->plan.schedule = RA_SCHEDULE_1F1B;
}

/* Variants that frameworks run beside the rule's: full recomputation, and
 * parameters sharded over dp without a pipeline. */
static void
make_common(Maker *m)
{
  gboolean trains = m->call->kind == RA_CALL_TRAIN;
  gboolean fully = m->plan.recompute == RA_RECOMPUTE_FULL;

  if (trains && !fully)
    make_by_rule(m, RA_RECOMPUTE_FULL);
  m->plan.recompute = RA_RECOMPUTE_NONE;
  if (m->plan.dp * m->plan.cp == 1 || m->plan.pp > 1 || m->plan.ep > 1 ||
      (m->call->kind == RA_CALL_GENERATE && m->plan.tp > 1))
    return;
  set_zero(m, 3);
  make_by_rule(m, RA_RECOMPUTE_NONE);
  if (trains && m->plan.recompute != RA_RECOMPUTE_FULL)
    make_by_rule(m, RA_RECOMPUTE_FULL);
  m->plan.recompute = RA_RECOMPUTE_NONE;
  set_zero(m, 0);
}

void
ra_space_fill_strategies(RaSpaceMaker *m)
{
  gboolean trains = m->call->kind == RA_CALL_TRAIN;
  g_autofree uint32_t *layers = NULL;

  m->plan.overlap_grad_reduce = trains && m->plan.dp * m->plan.cp > 1;
  if (m->sink->space->options.kind == RA_SPACE_FULL) {
    make_schedules(m);
    return;
  }
  layers = g_new(uint32_t, m->plan.pp);
  ra_stage_layers_even(m->model->model->n_layers, m->plan.pp, layers);
  m->plan.stage_layers = layers;
  m->plan.sequence_parallel =
      m->plan.tp > 1 && m->call->kind != RA_CALL_GENERATE;
  set_zero(m, trains && m->plan.dp > 1);
  make_by_rule(m, RA_RECOMPUTE_NONE);
  if (m->sink->space->options.kind == RA_SPACE_COMMON)
    make_common(m);
  m->plan.stage_layers = NULL;
}
