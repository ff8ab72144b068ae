/* The exact peak: what every GPU holds along the last replay, as sim/memory.c
 * follows it.
 *
 * GPUs differ where some call's mesh or stage begins or ends.  Of each stretch
 * between two such places one GPU is looked at, if what it holds at most could
 * be more than was found so far. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/memory_table.h"
#include "search/evaluate_impl.h"

/* Something begins, grows or ends on the GPU in hand. */
typedef struct {
  double time_s;
  int64_t bytes;
  uint16_t node;
  uint8_t is_late; /* not the end of a node that takes time */
} Moment;

typedef struct {
  const RaEvaluator *e;
  guint lane;
  const RaProgram *program;
  const RaStageFootprint *stage[RA_POINT_MAX]; /* of the GPU; NULL: not there */
  Moment *moments;                             /* room for all */
  uint32_t n_moments;
} Walk;

static uint64_t
item_bytes(const Walk *w, const RaProgramItem *item)
{
  const RaStageFootprint *stage = w->stage[item->call];

  if (!stage || (item->switch_at != RA_PROGRAM_NONE &&
                 w->e->on[item->switch_at].of[w->lane] == 0))
    return 0;
  return stage->bytes[item->foot];
}

static void
add_moment(Walk *w, double time_s, uint16_t node, gboolean is_late,
           int64_t bytes)
{
  if (bytes != 0)
    w->moments[w->n_moments++] =
        (Moment){time_s, bytes, node, (uint8_t)(is_late != 0)};
}

static void
add_begin(Walk *w, uint16_t node, uint64_t bytes)
{
  add_moment(w, w->e->begin_s[node].of[w->lane], node, TRUE, (int64_t)bytes);
}

static void
add_end(Walk *w, uint16_t node, uint64_t bytes)
{
  double begin_s = w->e->begin_s[node].of[w->lane];
  double end_s = w->e->end_s[node].of[w->lane];

  add_moment(w, end_s, node, !(end_s > begin_s), -(int64_t)bytes);
}

/* A call holds its most while it runs; a cache grows in steps. */
static void
add_call(Walk *w, uint16_t node, const RaStageFootprint *stage)
{
  double begin_s = w->e->begin_s[node].of[w->lane];
  double end_s = w->e->end_s[node].of[w->lane];
  uint64_t kv = stage->bytes[RA_FOOT_KV], work = stage->bytes[RA_FOOT_WORK];
  uint64_t now = 0;

  for (uint32_t k = 0; k < RA_MEMORY_STEPS; k++) {
    uint64_t next = kv * (k + 1) / RA_MEMORY_STEPS;
    double time_s = begin_s;
    if (k > 0)
      time_s += (end_s - begin_s) * k / RA_MEMORY_STEPS;
    add_moment(w, time_s, node, TRUE,
               (int64_t)(next - now + (k == 0 ? work : 0)));
    now = next;
  }
  add_end(w, node, kv + work);
}

static gboolean
is_before(const Moment *a, const Moment *b)
{
  if (a->time_s < b->time_s || b->time_s < a->time_s)
    return a->time_s < b->time_s;
  if (a->is_late != b->is_late)
    return !a->is_late;
  return a->node < b->node;
}

/* Stable; nearly sorted. */
static void
sort_moments(Moment *moments, uint32_t n)
{
  for (uint32_t i = 1; i < n; i++) {
    Moment moment = moments[i];
    uint32_t k = i;
    for (; k > 0 && is_before(&moment, &moments[k - 1]); k--)
      moments[k] = moments[k - 1];
    moments[k] = moment;
  }
}

/* In program order, so that of one node begins come before ends. */
static void
list_moments(Walk *w)
{
  const RaProgram *p = w->program;

  w->n_moments = 0;
  for (uint32_t i = 0; i < p->n_items; i++) {
    const RaProgramItem *item = &p->items[i];
    uint64_t bytes = item->first == RA_PROGRAM_NONE ? 0 : item_bytes(w, item);
    if (bytes > 0)
      add_begin(w, item->first, bytes);
  }
  for (uint32_t n = 0; n < p->n_nodes; n++) {
    const RaProgramNode *node = &p->nodes[n];
    if (node->is_call && node->mesh_a != RA_PROGRAM_NONE &&
        w->stage[node->mesh_a])
      add_call(w, (uint16_t)n, w->stage[node->mesh_a]);
  }
  for (uint32_t i = 0; i < p->n_items; i++) {
    const RaProgramItem *item = &p->items[i];
    uint64_t bytes = item->last == RA_PROGRAM_NONE ? 0 : item_bytes(w, item);
    if (bytes > 0)
      add_end(w, item->last, bytes);
  }
  sort_moments(w->moments, w->n_moments);
}

static uint64_t
walk(Walk *w)
{
  int64_t now = 0, most;

  for (uint32_t i = 0; i < w->program->n_items; i++) {
    const RaProgramItem *item = &w->program->items[i];
    if (item->first == RA_PROGRAM_NONE)
      now += (int64_t)item_bytes(w, item);
  }
  most = now;
  list_moments(w);
  for (uint32_t i = 0; i < w->n_moments; i++) {
    now += w->moments[i].bytes;
    most = MAX(most, now);
  }
  return (uint64_t)most;
}

/* No less than walk(). */
static uint64_t
bound_bytes(const Walk *w)
{
  const RaProgram *p = w->program;
  uint64_t sum = 0, transient = 0;

  for (uint32_t c = 0; c < p->n_calls; c++) {
    const RaStageFootprint *stage = w->stage[c];
    uint16_t at = w->e->lanes[w->lane].use->realloc_switch[c];
    if (!stage)
      continue;
    for (guint k = RA_FOOT_GRADS; k <= RA_FOOT_PACKED; k++)
      sum += p->most[c][k] * stage->bytes[k];
    if (at == RA_PROGRAM_NONE || w->e->on[at].of[w->lane] != 0)
      sum += p->most[c][RA_FOOT_PARAMS] * stage->bytes[RA_FOOT_PARAMS];
    transient =
        MAX(transient, stage->bytes[RA_FOOT_KV] + stage->bytes[RA_FOOT_WORK]);
  }
  return sum + transient;
}

/* The stage that each call has at @gpu. */
static gboolean
enter(Walk *w, uint32_t gpu)
{
  const RaLane1 *l = &w->e->lanes[w->lane];
  gboolean any = FALSE;

  for (uint32_t c = 0; c < w->e->n_calls; c++) {
    const RaFootprint *f = &l->candidate[c]->footprint;
    uint64_t at = gpu - l->begin[c];
    w->stage[c] = NULL;
    if (gpu < l->begin[c] || gpu >= l->end[c])
      continue;
    w->stage[c] = &f->stages[at * f->n_stages / (l->end[c] - l->begin[c])];
    any = TRUE;
  }
  return any;
}

static int
compare_gpus(const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

uint64_t
ra_evaluator_most_bytes(const RaEvaluator *e, guint lane)
{
  const RaLane1 *l = &e->lanes[lane];
  const RaProgram *p = l->use->program;
  Walk w = {.e = e, .lane = lane, .program = p};
  uint32_t n = 0, room = 0;
  g_autofree uint32_t *gpus = NULL;
  uint64_t most = 0;

  for (uint32_t c = 0; c < e->n_calls; c++)
    room += l->candidate[c]->footprint.n_stages + 1;
  gpus = g_new(uint32_t, room);
  for (uint32_t c = 0; c < e->n_calls; c++) {
    uint32_t stages = l->candidate[c]->footprint.n_stages;
    uint64_t n_gpus = l->end[c] - l->begin[c];
    for (uint32_t s = 0; s <= stages && n_gpus > 0; s++)
      gpus[n++] = l->begin[c] + (uint32_t)(n_gpus * s / stages);
  }
  qsort(gpus, n, sizeof *gpus, compare_gpus);
  w.moments = g_new(Moment, (gsize)p->n_nodes * (RA_MEMORY_STEPS + 1) +
                                2 * (gsize)p->n_items + 1);
  for (uint32_t i = 0; i < n; i++)
    if ((i == 0 || gpus[i] != gpus[i - 1]) && enter(&w, gpus[i]) &&
        bound_bytes(&w) > most)
      most = MAX(most, walk(&w));
  g_free(w.moments);
  return most;
}
