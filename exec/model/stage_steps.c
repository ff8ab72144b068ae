/* Capture and replay of decode steps. */
#include "config.h"

#include <string.h>

#include "exec/comm/device_comm.h"
#include "exec/model/stage_steps.h"

typedef struct {
  RaStepsCollective which;
  const RaElem *in;
  RaElem *out;
  gsize n;
} Collective;

typedef struct {
  RaOpKind kind;
  RaOpPlace place;
  uint32_t number; /* in the step */
} Look;

/* State of a shape. */
typedef struct {
  RaStepShape shape;
  gsize extent;        /* bytes of its arena; 0: not rehearsed */
  gboolean is_refused; /* it cannot be captured */
  const void *arena;   /* where it was as the step was captured */
  GPtrArray *graphs;   /* RaBackendGraph, owned; empty: not captured */
  GArray *collectives; /* Collective: one after each graph but the last */
  GArray *looks;       /* Look */
  RaElem *made;        /* result of walk() */
  RaOpPlace place;     /* behind it */
  uint32_t n_ops;      /* its ops */
} Known;

struct _RaSteps {
  const RaBackend *backend; /* borrowed */
  GPtrArray *known;         /* Known, owned; most recently used first */
  Known *now;               /* the step's, from begin to end */
  gboolean captures;        /* it goes on */
  uint32_t n_before;        /* ops of the task before it */
  gboolean is_graph;        /* the last step was: looks are its */
  void *arena;              /* from the stage's slabs; NULL: being rehearsed */
  RaRegion *region, *before;
  RaStepsTally tally;
};

/* --- shapes --- */

static void
forget(const RaSteps *steps, Known *known)
{
  for (guint i = 0; i < known->graphs->len; i++)
    steps->backend->free_graph(known->graphs->pdata[i]);
  g_ptr_array_set_size(known->graphs, 0);
  g_array_set_size(known->collectives, 0);
  g_array_set_size(known->looks, 0);
}

static void
known_free(const RaSteps *steps, Known *known)
{
  forget(steps, known);
  g_ptr_array_unref(known->graphs);
  g_array_unref(known->collectives);
  g_array_unref(known->looks);
  g_free(known);
}

static gboolean
is_same(const RaStepShape *a, const RaStepShape *b)
{
  return a->piece.first_layer == b->piece.first_layer &&
         a->piece.n_layers == b->piece.n_layers &&
         a->piece.has_embedding == b->piece.has_embedding &&
         a->piece.has_head == b->piece.has_head && a->n == b->n &&
         a->max_pages == b->max_pages && a->cache == b->cache &&
         a->weights == b->weights && a->workspace == b->workspace;
}

/* The one of @shape, which is the first from now on. */
static Known *
find(RaSteps *steps, const RaStepShape *shape)
{
  Known *known = NULL;
  guint i = 0;

  while (i < steps->known->len &&
         !is_same(&((Known *)steps->known->pdata[i])->shape, shape))
    i++;
  if (i < steps->known->len) {
    known = g_ptr_array_steal_index(steps->known, i);
  } else {
    known = g_new0(Known, 1);
    known->shape = *shape;
    known->graphs = g_ptr_array_new();
    known->collectives = g_array_new(FALSE, FALSE, sizeof(Collective));
    known->looks = g_array_new(FALSE, FALSE, sizeof(Look));
  }
  g_ptr_array_insert(steps->known, 0, known);
  if (steps->known->len > RA_STEPS_SHAPES)
    known_free(steps, g_ptr_array_steal_index(steps->known, RA_STEPS_SHAPES));
  return known;
}

RaSteps *
ra_steps_new(const RaBackend *backend)
{
  RaSteps *s = g_new0(RaSteps, 1);

  s->backend = backend;
  s->known = g_ptr_array_new();
  return s;
}

void
ra_steps_free(RaSteps *steps)
{
  if (!steps)
    return;
  for (guint i = 0; i < steps->known->len; i++)
    known_free(steps, steps->known->pdata[i]);
  g_ptr_array_unref(steps->known);
  g_free(steps);
}

RaStepsTally
ra_steps_tally(const RaStage *stage)
{
  return stage->steps ? stage->steps->tally : (RaStepsTally){0, 0, 0, 0};
}

void
ra_steps_add(RaStepsTally *sum, const RaStepsTally *to,
             const RaStepsTally *from)
{
  sum->n_plain += to->n_plain - from->n_plain;
  sum->n_captured += to->n_captured - from->n_captured;
  sum->n_graphs += to->n_graphs - from->n_graphs;
  sum->n_refused += to->n_refused - from->n_refused;
}

/* --- a step --- */

#define LINE_BYTES 64

/* Address of a rehearsal's memory, which is never accessed: a cache line that
 * is not NULL. */
#define NOWHERE GSIZE_TO_POINTER(4096)

void
ra_steps_begin(RaStage *s, const RaStepShape *shape)
{
  RaSteps *steps = s->steps;

  steps->now = find(steps, shape);
  if (steps->now->extent == 0) {
    steps->region = ra_slabs_open(s->slabs, NOWHERE, G_MAXSIZE / 4);
    ra_slabs_rehearse(s->slabs, steps->region);
  } else if (!steps->now->is_refused) {
    /* Slabs are known by where they begin: those in it are behind that. */
    steps->arena = ra_slabs_take(s->slabs, LINE_BYTES + steps->now->extent);
    steps->region = ra_slabs_open(s->slabs, (char *)steps->arena + LINE_BYTES,
                                  steps->now->extent);
    steps->before = ra_slabs_enter(s->slabs, steps->region);
  }
}

void
ra_steps_end(RaStage *s)
{
  RaSteps *steps = s->steps;

  if (steps->arena) {
    ra_slabs_enter(s->slabs, steps->before);
    ra_slabs_close(s->slabs, steps->region);
    ra_slabs_give(s->slabs, g_steal_pointer(&steps->arena));
  } else if (steps->region) {
    steps->now->extent = ra_slabs_extent(steps->region);
    ra_slabs_rehearse(s->slabs, NULL);
    ra_slabs_close(s->slabs, steps->region);
  }
  steps->region = steps->before = NULL;
  steps->now = NULL;
}

static void
begin_graph(RaStage *s, RaBackendGraph *graph)
{
  ra_device_comm_capture(s->backend, s->tp, RA_COMM_BEGINS);
  s->backend->begin_graph(graph);
  ra_device_comm_capture(s->backend, s->tp, RA_COMM_BEGUN);
}

/* Ends the capture of a part, and launches its graph. */
static void
end_part(RaStage *s)
{
  RaSteps *steps = s->steps;
  RaBackendGraph *graph = steps->backend->end_capture();

  if (graph) {
    g_ptr_array_add(steps->now->graphs, graph);
    begin_graph(s, graph);
  } else {
    steps->now->is_refused = TRUE;
    steps->captures = FALSE;
  }
}

static void
capture(RaStage *s, RaElem *(*walk)(gpointer data), gpointer data)
{
  RaSteps *steps = s->steps;
  Known *now = steps->now;

  forget(steps, now);
  now->arena = steps->arena;
  steps->n_before = s->n_ops;
  steps->captures = TRUE;
  ra_device_comm_capture(s->backend, s->tp, RA_COMM_CAPTURE);
  steps->backend->begin_capture(TRUE);
  now->made = walk(data);
  if (steps->captures)
    end_part(s);
  ra_device_comm_capture(s->backend, s->tp, RA_COMM_CAPTURED);
  steps->captures = FALSE;
  now->n_ops = s->n_ops - steps->n_before;
  now->place = s->place;
  if (now->is_refused)
    forget(steps, now);
  steps->tally.n_refused += now->is_refused;
  steps->tally.n_captured += !now->is_refused;
}

static void
collective(RaStage *s, const Collective *c)
{
  switch (c->which) {
  case RA_STEPS_ALL_REDUCE:
    ra_device_comm_all_reduce(s->backend, s->tp, c->out, c->n);
    break;
  case RA_STEPS_REDUCE_SCATTER:
    ra_device_comm_reduce_scatter(s->backend, s->tp, c->in, c->out, c->n);
    break;
  case RA_STEPS_ALL_GATHER:
    ra_device_comm_all_gather(s->backend, s->tp, c->in, c->out,
                              c->n * s->backend->elem_bytes);
    break;
  }
}

static void
replay(RaStage *s)
{
  RaSteps *steps = s->steps;
  const Known *now = steps->now;

  steps->n_before = s->n_ops;
  for (guint i = 0; i < now->graphs->len; i++) {
    begin_graph(s, now->graphs->pdata[i]);
    if (i < now->collectives->len)
      collective(s, &g_array_index(now->collectives, Collective, i));
  }
  s->n_ops += now->n_ops;
  s->place.block = now->place.block;
  s->place.layer = now->place.layer;
  s->place.step = now->place.step;
  steps->tally.n_graphs++;
}

RaElem *
ra_steps_run(RaStage *s, RaElem *(*walk)(gpointer data), gpointer data)
{
  RaSteps *steps = s->steps;
  Known *now = steps->now;

  steps->is_graph = FALSE;
  if (!steps->arena) {
    steps->tally.n_plain++;
    return walk(data);
  }
  if (now->graphs->len > 0 && now->arena == steps->arena &&
      steps->backend->holds_graph(now->graphs->pdata[0]))
    replay(s);
  else
    capture(s, walk, data);
  steps->is_graph = now->graphs->len > 0;
  return now->made;
}

void
ra_steps_collective(RaStage *s, RaStepsCollective which, const RaElem *in,
                    RaElem *out, gsize n)
{
  const Collective c = {which, in, out, n};
  RaSteps *steps = s->steps;

  if (!steps || !steps->captures ||
      ra_device_comm_is_captured(s->backend, s->tp)) {
    collective(s, &c);
    return;
  }
  end_part(s);
  collective(s, &c);
  if (!steps->captures)
    return;
  g_array_append_val(steps->now->collectives, c);
  steps->backend->begin_capture(FALSE);
}

/* --- looks --- */

gboolean
ra_steps_add_look(RaStage *s, RaOpKind kind)
{
  RaSteps *steps = s->steps;
  Look look;

  if (!steps || !steps->captures)
    return FALSE;
  look = (Look){kind, s->place, s->n_ops - steps->n_before};
  g_array_append_val(steps->now->looks, look);
  return TRUE;
}

void
ra_steps_look(RaStage *s)
{
  RaSteps *steps = s->steps;
  uint32_t code;
  const Look *look;

  if (!steps->is_graph) {
    ra_stage_settle(s);
    return;
  }
  code = steps->backend->odd();
  if (code == 0 || s->bad.is_set)
    return;
  look = &g_array_index(steps->now->looks, Look,
                        MIN(code, steps->now->looks->len) - 1);
  s->bad = (RaBadOp){TRUE, !s->checks_ops, look->kind, look->place,
                     steps->n_before + look->number};
  s->bad.place.decode = s->place.decode;
  s->bad.place.group = s->place.group;
}

/* A step that is begun op by op has it already: ra_stage_look_last(). */
void
ra_steps_look_later(RaStage *s)
{
  const RaSteps *steps = s->steps;
  const Look *look;

  if (!steps || !steps->now || !steps->is_graph || steps->now->looks->len == 0)
    return;
  look = &g_array_index(steps->now->looks, Look, 0);
  s->looked = (RaBadOp){TRUE, !s->checks_ops, look->kind, look->place,
                        steps->n_before + look->number};
}

void
ra_stage_settle_steps(RaStage *s, uint32_t decode, uint32_t group)
{
  s->looked.place.decode = decode;
  s->looked.place.group = group;
  ra_stage_settle(s);
  if (!s->bad.is_set || !s->bad.is_block || s->bad.place.decode <= decode)
    return;
  s->bad.place.decode = decode; /* a later step had the device's answer */
  s->bad.place.group = group;
}
