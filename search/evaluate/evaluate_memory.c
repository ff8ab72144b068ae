/* The exact peak: what every GPU holds along the last replay, as
 * sim/memory_replay.c follows it.
 *
 * When something begins, grows or ends is the same for all GPUs, so it is put
 * in order once (search/evaluate/evaluate_moment.c).  GPUs differ where some
 * call's mesh or stage begins or ends.  Between two ends of meshes, the stretch
 * that could hold most first, one GPU of each set of stages is followed, if it
 * could hold more than was found. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/memory/memory_table.h"
#include "search/evaluate/evaluate_impl.h"

typedef struct {
  RaEvaluator *e;
  guint lane;
  const RaFlatGraph *program;
  const RaStageFootprint *stage[RA_POINT_MAX]; /* of the GPU; NULL: not there */
  int64_t change[2 * RA_CHANGE_GOES];          /* on the GPU */
  uint64_t standing[RA_POINT_MAX];  /* by call: most on a GPU, run or not */
  uint64_t transient[RA_POINT_MAX]; /* by call: and while it runs */
  uint32_t n_moments;
  uint32_t listed; /* bits of calls whose moments these are */
  uint32_t n_gpus; /* in e->gpus */
  uint32_t kind;   /* of the node of the fullest GPU so far */
} Walk;

static gboolean
is_there(const Walk *w, const RaFlatGraphItem *item)
{
  return item->switch_at == RA_FLAT_GRAPH_NONE ||
         w->e->on[item->switch_at].of[w->lane] != 0;
}

/* --- a GPU --- */

static uint64_t
walk(const Walk *w)
{
  const RaMemoryMoment *moments = w->e->moments;
  const RaFlatGraphUse *use = w->e->lanes[w->lane].use;
  int64_t now = 0, most;

  for (uint32_t i = 0; i < use->n_at_first; i++) {
    const RaFlatGraphItem *item = &w->program->items[use->at_first[i]];
    if (is_there(w, item))
      now += w->change[item->call * RA_N_CHANGES + item->foot];
  }
  most = now;
  for (uint32_t i = 0; i < w->n_moments; i++) {
    now += w->change[moments[i].change];
    most = MAX(most, now);
  }
  return (uint64_t)most;
}

static void
fill_changes(Walk *w)
{
  for (uint32_t c = 0; c < w->e->n_calls; c++) {
    const RaStageFootprint *stage = w->stage[c];
    const RaStageFootprint *most =
        &w->e->lanes[w->lane].candidate[c]->footprint.most;
    int64_t *change = &w->change[c * RA_N_CHANGES];
    uint64_t kv, work, now = 0;

    if (!stage) {
      memset(change, 0, RA_N_CHANGES * sizeof *change);
      memset(change + RA_CHANGE_GOES, 0, RA_N_CHANGES * sizeof *change);
      continue;
    }
    for (guint k = 0; k <= RA_FOOT_PACKED; k++)
      change[k] = (int64_t)stage->bytes[k];
    kv = stage->bytes[RA_FOOT_KV];
    work = stage->bytes[RA_FOOT_WORK];
    change[RA_CHANGE_BEGIN] = (int64_t)work;
    for (uint32_t k = 0; most->bytes[RA_FOOT_KV] > 0 && k < RA_MEMORY_STEPS;
         k++) {
      uint64_t next = kv * (k + 1) / RA_MEMORY_STEPS;
      change[RA_CHANGE_BEGIN + k] = (int64_t)(next - now + (k == 0 ? work : 0));
      now = next;
    }
    change[RA_CHANGE_ALL] = (int64_t)(kv + work);
    for (uint32_t k = 0; k <= RA_FOOT_PACKED; k++)
      change[RA_CHANGE_GOES + k] = -change[k];
    change[RA_CHANGE_GOES + RA_CHANGE_ALL] = -change[RA_CHANGE_ALL];
  }
}

/* Greatest memory of call @c on a GPU of @stage, idle and running. */
static uint64_t
call_bytes(const Walk *w, uint32_t c, const RaStageFootprint *stage,
           uint64_t *inout_transient)
{
  const uint8_t *most = w->program->most[c];
  uint16_t at = w->e->lanes[w->lane].use->realloc_switch[c];
  uint64_t sum = 0;

  for (guint k = RA_FOOT_GRADS; k <= RA_FOOT_PACKED; k++)
    sum += most[k] * stage->bytes[k];
  if (at == RA_FLAT_GRAPH_NONE || w->e->on[at].of[w->lane] != 0)
    sum += most[RA_FOOT_PARAMS] * stage->bytes[RA_FOOT_PARAMS];
  *inout_transient = MAX(*inout_transient,
                         stage->bytes[RA_FOOT_KV] + stage->bytes[RA_FOOT_WORK]);
  return sum;
}

/* Memory of @call on @gpu; NULL: it is not there. */
static const RaStageFootprint *
stage_at(const RaLane1 *l, uint32_t call, uint32_t gpu)
{
  const RaFootprint *f = &l->candidate[call]->footprint;
  uint32_t rank = ra_simd_rank(l, call, gpu);

  if (rank == RA_NONE)
    return NULL;
  if (f->n_stages == 1)
    return f->stages;
  return &f->stages[(uint64_t)rank * f->n_stages /
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
  uint32_t there = 0;

  for (uint32_t c = 0; c < w->e->n_calls; c++) {
    w->stage[c] = stage_at(l, c, gpu);
    if (!w->stage[c])
      continue;
    there |= 1u << c;
    sum += call_bytes(w, c, w->stage[c], &transient);
  }
  if (sum + transient <= most)
    return most;
  fill_changes(w);
  if (there & ~w->listed) {
    w->listed |= there;
    w->n_moments = ra_evaluator_list_moments(w->e, w->lane, w->listed);
  }
  w->e->work.n_gpus++;
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

/* Sorts GPUs: mostly few, and almost in order. */
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

/* Upper bound of the memory on the GPUs of a stretch that the calls of @there
 * share. */
static uint64_t
stretch_bound(const Walk *w, uint32_t there, uint32_t gpu)
{
  uint64_t sum = 0, transient = 0;

  if (there == 0)
    return 0;
  for (uint32_t c = 0; there >> c; c++)
    if (there >> c & 1) {
      sum += w->standing[c];
      transient = MAX(transient, w->transient[c]);
    }
  return sum + transient + lack_of(w, gpu);
}

/* A GPU at which a mesh begins or ends, or another kind of nodes begins. */
static inline uint64_t
end_at(uint32_t gpu, uint32_t call)
{
  return (uint64_t)gpu << 8 | call;
}

static void
sort_ends(uint64_t *ends, uint32_t n)
{
  for (uint32_t i = 1; i < n; i++) {
    uint64_t end = ends[i];
    uint32_t k = i;

    for (; k > 0 && ends[k - 1] > end; k--)
      ends[k] = ends[k - 1];
    ends[k] = end;
  }
}

static uint32_t
list_ends(const Walk *w, uint64_t *out)
{
  const RaLane1 *l = &w->e->lanes[w->lane];
  uint32_t n = 0;

  for (uint32_t c = 0; c < w->e->n_calls; c++) {
    const RaMesh *set = l->set[c];

    for (uint32_t i = 0; set && i < set->n_runs; i++) {
      uint32_t end = set->runs[i].first + set->runs[i].n;

      out[n++] = end_at(set->runs[i].first * set->gpus_per_node, c);
      out[n++] = end_at(end * set->gpus_per_node, c);
    }
    if (!set && l->end[c] > l->begin[c]) {
      out[n++] = end_at(l->begin[c], c);
      out[n++] = end_at(l->end[c], c);
    }
  }
  for (uint32_t i = 0; i < w->e->n_kind_ends; i++)
    out[n++] = end_at(w->e->kind_ends[i], RA_POINT_MAX);
  sort_ends(out, n);
  return n;
}

/* Lists the stretches of GPUs on which the same calls run: these change only at
 * the ends of meshes. */
static uint32_t
list_stretches(Walk *w, Stretch *out)
{
  const RaLane1 *l = &w->e->lanes[w->lane];
  uint64_t ends[ENDS_MAX];
  uint32_t n = list_ends(w, ends), n_out = 0, there = 0;

  for (uint32_t c = 0; c < w->e->n_calls; c++) {
    w->transient[c] = 0;
    w->standing[c] =
        call_bytes(w, c, &l->candidate[c]->footprint.most, &w->transient[c]);
  }
  for (uint32_t i = 0; i + 1 < n; i++) {
    uint32_t begin = (uint32_t)(ends[i] >> 8);
    uint32_t end = (uint32_t)(ends[i + 1] >> 8);

    there ^= 1u << (ends[i] & 0xff);
    if (begin < end)
      out[n_out++] = (Stretch){
          begin, end,
          stretch_bound(w, there & ((1u << RA_POINT_MAX) - 1), begin)};
  }
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
    uint32_t rank, first;

    if (stages == 1)
      continue;
    rank = ra_simd_rank(l, c, stretch->begin);
    if (rank == RA_NONE)
      continue;
    /* The stretch lies within a run: its ranks follow each other. */
    first = (uint32_t)((uint64_t)rank * stages / n);
    for (uint32_t s = MAX(first, 1); s < stages; s++) {
      uint32_t begin = (uint32_t)(n * s / stages);
      uint32_t gpu = stretch->begin + begin - rank;

      if (begin <= rank)
        continue;
      if (gpu >= stretch->end)
        break;
      gpus[w->n_gpus++] = gpu;
    }
  }
  sort_gpus(gpus, w->n_gpus);
}

/* Memory on @gpu while the call runs that needs most: everything held there,
 * the call's own copy and its transients. */
static uint64_t
least_on_gpu(const Walk *w, uint32_t gpu)
{
  const RaLane1 *l = &w->e->lanes[w->lane];
  uint64_t sum = 0, most = 0;

  for (uint32_t c = 0; c < w->e->n_calls; c++) {
    const RaStageFootprint *stage = stage_at(l, c, gpu);
    const uint8_t *standing = w->program->standing[c];
    uint16_t at = l->use->realloc_switch[c];
    gboolean on = at == RA_FLAT_GRAPH_NONE || w->e->on[at].of[w->lane] != 0;
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

  e->work.n_peaks++;
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
