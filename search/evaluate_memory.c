/* The exact peak: what every GPU holds along the last replay, as sim/memory.c
 * follows it.
 *
 * When something begins, grows or ends is the same for all GPUs, so it is put
 * in order once.  GPUs differ where some call's mesh or stage begins or ends.
 * Between two ends of meshes, the stretch that could hold most first, one GPU
 * of each set of stages is followed, if it could hold more than was found. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/memory_table.h"
#include "search/evaluate_impl.h"

/* Changes of a call's bytes on a GPU: what stands there by RaFoot up to packed,
 * then its begin and each step of its cache, then all of that. */
enum {
  CHANGE_BEGIN = RA_FOOT_PACKED + 1,
  CHANGE_ALL = CHANGE_BEGIN + RA_MEMORY_STEPS,
  N_CHANGES = 16
};

typedef struct {
  RaEvaluator *e;
  guint lane;
  const RaProgram *program;
  const RaStageFootprint *stage[RA_POINT_MAX]; /* of the GPU; NULL: not there */
  int64_t change[RA_POINT_MAX * N_CHANGES];    /* on the GPU */
  uint32_t n_moments;
  uint32_t n_gpus; /* in e->gpus */
  uint32_t kind;   /* of the node of the fullest GPU so far */
} Walk;

static gboolean
is_there(const Walk *w, const RaProgramItem *item)
{
  return item->switch_at == RA_PROGRAM_NONE ||
         w->e->on[item->switch_at].of[w->lane] != 0;
}

/* --- moments --- */

static void
add_moment(Walk *w, double time_s, uint16_t node, gboolean is_late,
           uint32_t change, int sign)
{
  w->e->moments[w->n_moments++] = (RaMemoryMoment){
      time_s, node, (uint8_t)(is_late != 0), (int8_t)sign, (uint16_t)change};
}

static void
add_begin(Walk *w, uint16_t node, uint32_t change)
{
  add_moment(w, w->e->begin_s[node].of[w->lane], node, TRUE, change, 1);
}

static void
add_end(Walk *w, uint16_t node, uint32_t change)
{
  double begin_s = w->e->begin_s[node].of[w->lane];
  double end_s = w->e->end_s[node].of[w->lane];

  add_moment(w, end_s, node, !(end_s > begin_s), change, -1);
}

/* A call holds its most while it runs; a cache grows in steps. */
static void
add_call(Walk *w, uint16_t node, uint32_t call)
{
  const RaFootprint *f = &w->e->lanes[w->lane].candidate[call]->footprint;
  double begin_s = w->e->begin_s[node].of[w->lane];
  double end_s = w->e->end_s[node].of[w->lane];
  uint32_t base = call * N_CHANGES;

  add_begin(w, node, base + CHANGE_BEGIN);
  for (uint32_t k = 1; f->most.bytes[RA_FOOT_KV] > 0 && k < RA_MEMORY_STEPS;
       k++) {
    double time_s = begin_s;
    time_s += (end_s - begin_s) * k / RA_MEMORY_STEPS;
    add_moment(w, time_s, node, TRUE, base + CHANGE_BEGIN + k, 1);
  }
  add_end(w, node, base + CHANGE_ALL);
}

static inline gboolean
is_before(const RaMemoryMoment *a, const RaMemoryMoment *b)
{
  if (a->time_s < b->time_s || b->time_s < a->time_s)
    return a->time_s < b->time_s;
  if (a->is_late != b->is_late)
    return !a->is_late;
  return a->node < b->node;
}

/* Stable; nearly sorted. */
static void
sort_moments(RaMemoryMoment *moments, uint32_t n)
{
  for (uint32_t i = 1; i < n; i++) {
    RaMemoryMoment moment = moments[i];
    uint32_t k = i;
    for (; k > 0 && is_before(&moment, &moments[k - 1]); k--)
      moments[k] = moments[k - 1];
    moments[k] = moment;
  }
}

/* Of one node begins come before ends: what it takes no time between. */
static void
list_moments(Walk *w)
{
  const RaProgram *p = w->program;

  for (uint32_t n = 0; n < p->n_nodes; n++) {
    const RaProgramNode *node = &p->nodes[n];
    for (uint32_t i = p->begins[n]; i < p->begins[n + 1]; i++) {
      const RaProgramItem *item = &p->items[p->by_first[i]];
      if (is_there(w, item))
        add_begin(w, (uint16_t)n, item->call * N_CHANGES + item->foot);
    }
    if (node->is_call && node->mesh_a != RA_PROGRAM_NONE)
      add_call(w, (uint16_t)n, node->mesh_a);
    for (uint32_t i = p->ends[n]; i < p->ends[n + 1]; i++) {
      const RaProgramItem *item = &p->items[p->by_last[i]];
      if (is_there(w, item))
        add_end(w, (uint16_t)n, item->call * N_CHANGES + item->foot);
    }
  }
  sort_moments(w->e->moments, w->n_moments);
}

/* --- a GPU --- */

static uint64_t
walk(const Walk *w)
{
  const RaMemoryMoment *moments = w->e->moments;
  int64_t now = 0, most;

  for (uint32_t i = 0; i < w->program->n_items; i++) {
    const RaProgramItem *item = &w->program->items[i];
    if (item->first == RA_PROGRAM_NONE && is_there(w, item))
      now += w->change[item->call * N_CHANGES + item->foot];
  }
  most = now;
  for (uint32_t i = 0; i < w->n_moments; i++) {
    now += moments[i].sign * w->change[moments[i].change];
    most = MAX(most, now);
  }
  return (uint64_t)most;
}

static void
fill_changes(Walk *w)
{
  for (uint32_t c = 0; c < w->e->n_calls; c++) {
    const RaStageFootprint *stage = w->stage[c];
    int64_t *change = &w->change[c * N_CHANGES];
    uint64_t kv, work, now = 0;

    memset(change, 0, N_CHANGES * sizeof *change);
    if (!stage)
      continue;
    for (guint k = 0; k <= RA_FOOT_PACKED; k++)
      change[k] = (int64_t)stage->bytes[k];
    kv = stage->bytes[RA_FOOT_KV];
    work = stage->bytes[RA_FOOT_WORK];
    for (uint32_t k = 0; k < RA_MEMORY_STEPS; k++) {
      uint64_t next = kv * (k + 1) / RA_MEMORY_STEPS;
      change[CHANGE_BEGIN + k] = (int64_t)(next - now + (k == 0 ? work : 0));
      now = next;
    }
    change[CHANGE_ALL] = (int64_t)(kv + work);
  }
}

/* What call @c holds at most on a GPU of @stage, and while it runs. */
static uint64_t
call_bytes(const Walk *w, uint32_t c, const RaStageFootprint *stage,
           uint64_t *inout_transient)
{
  const uint8_t *most = w->program->most[c];
  uint16_t at = w->e->lanes[w->lane].use->realloc_switch[c];
  uint64_t sum = 0;

  for (guint k = RA_FOOT_GRADS; k <= RA_FOOT_PACKED; k++)
    sum += most[k] * stage->bytes[k];
  if (at == RA_PROGRAM_NONE || w->e->on[at].of[w->lane] != 0)
    sum += most[RA_FOOT_PARAMS] * stage->bytes[RA_FOOT_PARAMS];
  *inout_transient = MAX(*inout_transient,
                         stage->bytes[RA_FOOT_KV] + stage->bytes[RA_FOOT_WORK]);
  return sum;
}

/* What @call holds on @gpu; NULL: it is not there. */
static const RaStageFootprint *
stage_at(const RaLane1 *l, uint32_t call, uint32_t gpu)
{
  const RaFootprint *f = &l->candidate[call]->footprint;
  uint32_t rank = ra_lane_rank(l, call, gpu);

  return rank == RA_NONE ? NULL
                         : &f->stages[(uint64_t)rank * f->n_stages /
                                      (l->end[call] - l->begin[call])];
}

static uint64_t
lack_of(const Walk *w, uint32_t gpu)
{
  return w->e->lack_bytes[ra_cluster_kind(w->e->space->cluster, gpu)];
}

/* Follows @gpu if it could hold more than @most. */
static uint64_t
try_gpu(Walk *w, uint32_t gpu, uint64_t most)
{
  const RaLane1 *l = &w->e->lanes[w->lane];
  uint64_t lack = lack_of(w, gpu), sum = lack, transient = 0, bytes;

  for (uint32_t c = 0; c < w->e->n_calls; c++) {
    w->stage[c] = stage_at(l, c, gpu);
    if (!w->stage[c])
      continue;
    sum += call_bytes(w, c, w->stage[c], &transient);
  }
  if (sum + transient <= most)
    return most;
  fill_changes(w);
  if (w->n_moments == 0)
    list_moments(w);
  bytes = walk(w) + lack;
  if (bytes > most)
    w->kind = ra_cluster_kind(w->e->space->cluster, gpu);
  return MAX(most, bytes);
}

/* --- stretches of GPUs --- */

static int
compare_gpus(const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* Ends of runs of meshes and of kinds of nodes, at most. */
#define ENDS_MAX (2 * RA_POINT_MAX * RA_NODE_SET_RUNS + RA_KIND_RUNS_MAX)

/* Of few, most often, which are almost in order. */
static void
sort_gpus(uint32_t *gpus, uint32_t n)
{
  if (n > 48) {
    qsort(gpus, n, sizeof *gpus, compare_gpus);
    return;
  }
  for (uint32_t i = 1; i < n; i++) {
    uint32_t gpu = gpus[i], k = i;

    for (; k > 0 && gpus[k - 1] > gpu; k--)
      gpus[k] = gpus[k - 1];
    gpus[k] = gpu;
  }
}

/* Between two neighbouring ends of meshes. */
typedef struct {
  uint32_t begin, end;
  uint64_t bound_bytes; /* 0: no call there, or done */
} Stretch;

static uint64_t
stretch_bound(const Walk *w, uint32_t gpu)
{
  const RaLane1 *l = &w->e->lanes[w->lane];
  uint64_t sum = 0, transient = 0;
  gboolean any = FALSE;

  for (uint32_t c = 0; c < w->e->n_calls; c++)
    if (ra_lane_rank(l, c, gpu) != RA_NONE) {
      sum += call_bytes(w, c, &l->candidate[c]->footprint.most, &transient);
      any = TRUE;
    }
  if (!any)
    return 0;
  return sum + transient + lack_of(w, gpu);
}

static uint32_t
list_stretches(const Walk *w, Stretch *out)
{
  const RaLane1 *l = &w->e->lanes[w->lane];
  uint32_t ends[ENDS_MAX], n = 0, n_out = 0;

  for (uint32_t c = 0; c < w->e->n_calls; c++) {
    const RaMesh *set = l->set[c];

    for (uint32_t i = 0; set && i < set->n_runs; i++) {
      ends[n++] = set->runs[i].first * set->gpus_per_node;
      ends[n++] = (set->runs[i].first + set->runs[i].n) * set->gpus_per_node;
    }
    if (!set && l->end[c] > l->begin[c]) {
      ends[n++] = l->begin[c];
      ends[n++] = l->end[c];
    }
  }
  for (uint32_t i = 0; i < w->e->n_kind_ends; i++)
    ends[n++] = w->e->kind_ends[i];
  sort_gpus(ends, n);
  for (uint32_t i = 0; i + 1 < n; i++)
    if (ends[i] < ends[i + 1])
      out[n_out++] = (Stretch){ends[i], ends[i + 1], stretch_bound(w, ends[i])};
  return n_out;
}

/* GPUs of @stretch at which some stage begins. */
static void
list_gpus(Walk *w, const Stretch *stretch)
{
  const RaLane1 *l = &w->e->lanes[w->lane];
  uint32_t *gpus = w->e->gpus;

  w->n_gpus = 0;
  gpus[w->n_gpus++] = stretch->begin;
  for (uint32_t c = 0; c < w->e->n_calls; c++) {
    uint32_t stages = l->candidate[c]->footprint.n_stages;
    uint64_t n = l->end[c] - l->begin[c];
    uint32_t rank = ra_lane_rank(l, c, stretch->begin);
    if (rank == RA_NONE)
      continue;
    for (uint32_t s = 1; s < stages; s++) {
      /* The stretch lies within a run: its ranks follow each other. */
      uint32_t gpu = stretch->begin + (uint32_t)(n * s / stages) - rank;
      if (n * s / stages < rank)
        continue;
      if (gpu > stretch->begin && gpu < stretch->end)
        gpus[w->n_gpus++] = gpu;
    }
  }
  sort_gpus(gpus, w->n_gpus);
}

/* What is on @gpu when the call runs that has most then: all that stands
 * there, its own copy and its transients. */
static uint64_t
least_on_gpu(const Walk *w, uint32_t gpu)
{
  const RaLane1 *l = &w->e->lanes[w->lane];
  uint64_t sum = 0, most = 0;

  for (uint32_t c = 0; c < w->e->n_calls; c++) {
    const RaStageFootprint *stage = stage_at(l, c, gpu);
    const uint8_t *standing = w->program->standing[c];
    uint16_t at = l->use->realloc_switch[c];
    gboolean on = at == RA_PROGRAM_NONE || w->e->on[at].of[w->lane] != 0;
    const uint64_t *bytes;
    uint64_t running;

    if (!stage)
      continue;
    bytes = stage->bytes;
    for (guint k = RA_FOOT_GRADS; k <= RA_FOOT_PACKED; k++)
      sum += standing[k] * bytes[k];
    if (on)
      sum += standing[RA_FOOT_PARAMS] * bytes[RA_FOOT_PARAMS];
    running = bytes[RA_FOOT_KV] + bytes[RA_FOOT_WORK];
    if (on && standing[RA_FOOT_PARAMS] == 0 &&
        w->program->most[c][RA_FOOT_PARAMS] > 0)
      running += bytes[RA_FOOT_PARAMS];
    most = MAX(most, running);
  }
  return sum + most + lack_of(w, gpu);
}

uint64_t
ra_evaluator_least_bytes(RaEvaluator *e, guint lane)
{
  Walk w = {.e = e, .lane = lane, .program = e->lanes[lane].use->program};
  Stretch stretches[ENDS_MAX];
  uint32_t n = list_stretches(&w, stretches);
  uint64_t most = 0;

  for (uint32_t k = 0; k < n; k++) {
    if (stretches[k].bound_bytes <= most)
      continue;
    list_gpus(&w, &stretches[k]);
    for (uint32_t i = 0; i < w.n_gpus; i++) {
      uint64_t bytes = least_on_gpu(&w, e->gpus[i]);
      most = MAX(most, bytes);
    }
  }
  return most;
}

uint64_t
ra_evaluator_most_bytes(RaEvaluator *e, guint lane, uint32_t *out_kind)
{
  Walk w = {.e = e, .lane = lane, .program = e->lanes[lane].use->program};
  Stretch stretches[ENDS_MAX], *next;
  uint32_t n = list_stretches(&w, stretches);
  uint64_t most = 0;

  for (;;) {
    next = NULL;
    for (uint32_t i = 0; i < n; i++)
      if (stretches[i].bound_bytes > most &&
          (!next || stretches[i].bound_bytes > next->bound_bytes))
        next = &stretches[i];
    if (!next) {
      *out_kind = w.kind;
      return most;
    }
    next->bound_bytes = 0;
    list_gpus(&w, next);
    for (uint32_t i = 0; i < w.n_gpus; i++)
      if (i == 0 || e->gpus[i] != e->gpus[i - 1])
        most = try_gpu(&w, e->gpus[i], most);
  }
}
