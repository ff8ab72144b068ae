/* Copies of all models: lifetimes, derived from the nodes. */
#include "config.h"

#include "graph/augment/augment_impl.h"
#include "graph/input/plan_service.h"
#include "graph/input/residency.h"

/* The copy in hand. */
typedef struct {
  RaAugmenter *a;
  uint32_t call;    /* the first that reads it */
  uint32_t trainer; /* of its model, RA_NONE: frozen */
} Subject;

static void
add(const Subject *s, RaCopyWhat what, RaCopyOrigin origin, gboolean pinned,
    uint32_t first, uint32_t last)
{
  RaCopy copy = {.model = s->a->workload->calls[s->call].model,
                 .call = s->call,
                 .first = first,
                 .last = last,
                 .what = (uint8_t)what,
                 .origin = (uint8_t)origin,
                 .pinned = (uint8_t)pinned};

  g_array_append_val(s->a->copies, copy);
}

static gboolean
is_same(const Subject *s, uint32_t call)
{
  return ra_residency_same_copy(s->a->plan, s->call, call);
}

/* The last node of the calls that run on version @version of the copy (-1:
 * what it began with), RA_NONE if the run ends before any does. */
static uint32_t
last_reader(const Subject *s, int64_t version)
{
  const RaWorkload *w = s->a->workload;
  uint32_t last = RA_NONE;

  for (uint32_t v = 0; v < w->n_calls; v++) {
    int64_t k = ra_plan_last_reader(&s->a->plan->calls[v],
                                    w->calls[v].staleness, version);
    uint32_t node;
    if (!is_same(s, v))
      continue;
    k = MIN(k, (int64_t)s->a->n_iterations - 1);
    if (k < 0 || (version >= 0 && k <= version))
      continue;
    node = ra_augmenter_last_part(s->a, (uint32_t)k, v);
    last = last == RA_NONE ? node : MAX(last, node);
  }
  return last;
}

/* Dropped after the last reader of each version.  An engine of its own has one
 * version: a new one overwrites the one that it still reads. */
static void
add_released(const Subject *s)
{
  gboolean is_engine = ra_residency_is_engine(s->a->plan, s->call);
  RaCopyOrigin origin = RA_COPY_OWN;
  uint32_t first = RA_NONE, last = last_reader(s, -1);

  for (guint i = 0; i < s->a->nodes->len; i++) {
    const RaNode *n = &g_array_index(s->a->nodes, RaNode, i);
    uint32_t end;

    if (n->kind != RA_NODE_REALLOC || !is_same(s, n->call))
      continue;
    end = last_reader(s, n->iteration);
    if (is_engine && (last == RA_NONE || i < last)) {
      last = last == RA_NONE || end == RA_NONE ? RA_NONE : MAX(last, end);
      continue;
    }
    add(s, RA_COPY_PARAMETERS, origin, FALSE, first, last);
    origin = RA_COPY_REALLOC;
    first = i;
    last = end;
  }
  add(s, RA_COPY_PARAMETERS, origin, FALSE, first, last);
}

/* The node that ends what RELOAD node @reload brought of @what: the offload
 * that follows, or the last reader before the next reload. */
static uint32_t
reload_end(const Subject *s, guint reload, RaCopyWhat what)
{
  uint32_t last = RA_NONE;

  for (guint i = reload + 1; i < s->a->nodes->len; i++) {
    const RaNode *n = &g_array_index(s->a->nodes, RaNode, i);
    if (!is_same(s, n->call) ||
        (what == RA_COPY_OPTIMIZER && n->call != s->trainer))
      continue;
    if (n->kind == RA_NODE_RELOAD && n->what & what)
      break;
    if (n->kind == RA_NODE_OFFLOAD && n->what & what && n->source == RA_NONE)
      return i;
    if (n->kind == RA_NODE_CALL)
      last = i;
  }
  return last;
}

static void
add_reloaded(const Subject *s, RaCopyWhat what)
{
  for (guint i = 0; i < s->a->nodes->len; i++) {
    const RaNode *n = &g_array_index(s->a->nodes, RaNode, i);
    if (!(n->what & what) || !is_same(s, n->call))
      continue;
    if (n->kind == RA_NODE_RELOAD)
      add(s, what, RA_COPY_RELOAD, FALSE, i, reload_end(s, i, what));
    else if (n->source != RA_NONE) /* on its way to host memory */
      add(s, what, RA_COPY_REALLOC, FALSE,
          *ra_augmenter_at(s->a, s->a->version, n->iteration, n->call), i);
  }
}

static void
add_parameters(const Subject *s)
{
  const RaCallPlan *p = &s->a->plan->calls[s->call];
  gboolean own = ra_residency_is_own(s->a->plan, s->call);
  uint32_t n_kept = MAX(s->a->workload->calls[s->call].staleness, 1u);

  for (uint32_t i = own ? ra_residency_n_behind(s->a->plan, s->call) : 0; i > 0;
       i--)
    add(s, RA_COPY_PARAMETERS, RA_COPY_OWN, FALSE, RA_NONE, RA_NONE);
  if (p->residency == RA_RESIDENCY_HOST) {
    add(s, RA_COPY_PARAMETERS, own ? RA_COPY_OWN : RA_COPY_REALLOC, TRUE,
        RA_NONE, RA_NONE);
    add_reloaded(s, RA_COPY_PARAMETERS);
  } else if (own) {
    add(s, RA_COPY_PARAMETERS, RA_COPY_OWN, FALSE, RA_NONE, RA_NONE);
  } else if (p->residency == RA_RESIDENCY_KEEP) {
    for (uint32_t i = 0; i < n_kept; i++)
      add(s, RA_COPY_PARAMETERS, RA_COPY_REALLOC, FALSE, RA_NONE, RA_NONE);
  } else {
    add_released(s);
  }
}

static void
add_optimizer(const Subject *s)
{
  int where = s->a->plan->calls[s->call].optimizer_residency;

  add(s, RA_COPY_OPTIMIZER, RA_COPY_OWN, where >= RA_RESIDENCY_HOST, RA_NONE,
      RA_NONE);
  if (where == RA_RESIDENCY_HOST)
    add_reloaded(s, RA_COPY_OPTIMIZER);
}

void
ra_augment_copies(RaAugmenter *a)
{
  const RaWorkload *w = a->workload;

  for (uint32_t call = 0; call < w->n_calls; call++) {
    Subject s = {.a = a, .call = call};
    gboolean is_first = w->calls[call].model != RA_NONE;
    if (!is_first)
      continue;
    s.trainer = ra_workload_trainer(w, w->calls[call].model);
    for (uint32_t v = 0; v < call && is_first; v++)
      is_first = !is_same(&s, v);
    if (is_first && !ra_residency_is_shared(a->plan, call))
      add_parameters(&s);
    if (s.trainer == call &&
        w->models[w->calls[call].model].optimizer != RA_OPTIMIZER_NONE)
      add_optimizer(&s);
  }
}
