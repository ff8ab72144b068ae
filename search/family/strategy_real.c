/* Per-call meshes and strategies of ReaL (arXiv 2406.14088), found greedily:
 * a level of the dataflow after the other, each call where the estimator says
 * that it alone is fastest.  Reallocation between calls is not weighed, and
 * nothing is revised: that is what a search is for. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "search/family/strategy_impl.h"

#define MAX_LEVEL_CALLS 6 /* of which 3^n ways to place them are tried */

enum { ALL, FIRST_HALF, SECOND_HALF, N_PLACES };

/* Shapes of a call on all GPUs and on a half, fastest first. */
typedef struct {
  GArray *shapes[N_PLACES]; /* of RaShape, owned; SECOND_HALF: NULL until used;
                               perhaps empty */
} Choice;

typedef struct {
  RaWriter *writer;
  RaMesh meshes[N_PLACES];
  guint n_meshes;  /* 1: the cluster cannot be halved */
  Choice *choices; /* (n_calls) */
  guint *level;    /* (n_calls) longest way from a call without producers */
} Greedy;

static guint
level_of(const Greedy *g, uint32_t call)
{
  const RaCall *c = &g->writer->workload->calls[call];
  guint level = 0;

  for (guint i = 0; i < c->n_inputs; i++) {
    if (c->inputs[i].producer != RA_NONE)
      level = MAX(level, g->level[c->inputs[i].producer] + 1);
  }
  return level;
}

static double
best_s(const Greedy *g, uint32_t call, guint place)
{
  const GArray *shapes =
      g->choices[call].shapes[place == SECOND_HALF ? FIRST_HALF : place];

  return shapes && shapes->len > 0 ? g_array_index(shapes, RaShape, 0).time_s
                                   : (double)INFINITY;
}

/* Fastest of all ways to put @n calls on all GPUs or on a half.  Calls on all
 * GPUs run one after the other; the two halves run concurrently. */
static double
best_places(const Greedy *g, const uint32_t *calls, guint n, guint *out_places)
{
  guint n_ways = 1;
  double least_s = (double)INFINITY;

  for (guint i = 0; i < n; i++)
    n_ways *= N_PLACES;
  for (guint way = 0; way < n_ways; way++) {
    double time_s[N_PLACES] = {0};
    double sum_s;
    guint rest = way;

    for (guint i = 0; i < n; i++, rest /= N_PLACES)
      time_s[rest % N_PLACES] += best_s(g, calls[i], rest % N_PLACES);
    sum_s = time_s[ALL] + MAX(time_s[FIRST_HALF], time_s[SECOND_HALF]);
    if (!(sum_s < least_s))
      continue;
    least_s = sum_s;
    rest = way;
    for (guint i = 0; i < n; i++, rest /= N_PLACES)
      out_places[i] = rest % N_PLACES;
  }
  return least_s;
}

/* The shapes of the first half, on the second. */
static GArray *
moved(const GArray *shapes, const RaMesh *mesh)
{
  GArray *copy = ra_shapes_empty();

  for (guint i = 0; i < shapes->len; i++) {
    RaShape shape = g_array_index(shapes, RaShape, i);

    shape.plan.mesh = *mesh;
    ra_shapes_add(copy, &shape);
  }
  return copy;
}

static void
offer(const Greedy *g, uint32_t call, guint place)
{
  RaDraft *draft = g->writer->draft;
  GArray **shapes = g->choices[call].shapes;
  double other_s = best_s(g, call, place == ALL ? FIRST_HALF : ALL);
  GArray *chosen = place == SECOND_HALF
                       ? moved(shapes[FIRST_HALF], &g->meshes[SECOND_HALF])
                       : g_array_ref(shapes[place]);

  ra_draft_offer(draft, call, chosen);
  if (place == ALL)
    ra_draft_say(draft, call, "All GPUs.");
  else
    ra_draft_say(draft, call,
                 "Half of the GPUs, concurrently with the other half.");
  if (isfinite(other_s))
    ra_draft_say(draft, call, "At best %.2f s, and %.2f s on %s.",
                 best_s(g, call, place), other_s,
                 place == ALL ? "a half" : "all GPUs");
}

static GArray *
timed_shapes(const Greedy *g, uint32_t call, const RaMesh *mesh, GError **error)
{
  gboolean trains = g->writer->workload->calls[call].kind == RA_CALL_TRAIN;
  uint32_t n = ra_mesh_n_gpus(mesh);
  RaShapeAsk ask = {.call = call,
                    .mesh = *mesh,
                    .zero = trains ? 1 : 0,
                    .recompute = RA_RECOMPUTE_SELECTIVE,
                    .even = (n & (n - 1)) == 0, /* else none may divide */
                    .batching = g->writer->batching};

  return ra_writer_timed(g->writer, &ask, error);
}

static gboolean
place_level(const Greedy *g, const uint32_t *calls, guint n, GError **error)
{
  guint places[MAX_LEVEL_CALLS];

  for (guint i = 0; i < n; i++) {
    for (guint p = 0; p < g->n_meshes; p++) {
      GArray **shapes = &g->choices[calls[i]].shapes[p];

      /* A half is for calls that have another one beside them. */
      if (*shapes || (p > 0 && n == 1))
        continue;
      *shapes = timed_shapes(g, calls[i], &g->meshes[p], error);
      if (!*shapes)
        return FALSE;
    }
    if (!isfinite(best_s(g, calls[i], ALL)) &&
        !isfinite(best_s(g, calls[i], FIRST_HALF)))
      return ra_writer_fail_fit(g->writer, calls[i], &g->meshes[ALL], error);
  }
  best_places(g, calls, n, places);
  for (guint i = 0; i < n; i++)
    offer(g, calls[i], places[i]);
  return TRUE;
}

static gboolean
place_all(Greedy *g, GError **error)
{
  const RaWorkload *workload = g->writer->workload;
  guint last = 0;

  for (guint i = 0; i < workload->n_calls; i++) {
    uint32_t c = workload->order[i];

    g->level[c] = level_of(g, c);
    last = MAX(last, g->level[c]);
  }
  for (guint level = 0; level <= last; level++) {
    uint32_t calls[MAX_LEVEL_CALLS];
    guint n = 0;

    for (guint c = 0; c < workload->n_calls; c++) {
      if (g->level[c] != level || !ra_writer_on_gpus(g->writer, c))
        continue;
      if (n == MAX_LEVEL_CALLS) { /* one batch of calls after the other */
        if (!place_level(g, calls, n, error))
          return FALSE;
        n = 0;
      }
      calls[n++] = c;
    }
    if (n > 0 && !place_level(g, calls, n, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
ra_strategy_real(RaWriter *writer, GError **error)
{
  const RaCluster *cluster = writer->cluster;
  guint n = writer->workload->n_calls;
  g_autofree Choice *choices = g_new0(Choice, n);
  g_autofree guint *level = g_new0(guint, n);
  Greedy g = {.writer = writer, .choices = choices, .level = level};
  gboolean good;

  g_string_append(
      writer->draft->head,
      "A mesh and a strategy for every call, as in ReaL (arXiv 2406.14088), "
      "but found greedily.  Each call has the layout that is fastest when it "
      "runs alone, by the estimator.  Calls that do not wait for each other "
      "run on halves of the GPUs where that is faster.  The cost of "
      "reallocation is ignored.");
  g.meshes[ALL] = ra_shape_mesh_nodes(cluster, 0, cluster->n_nodes);
  g.n_meshes = ra_writer_halves(writer, &g.meshes[FIRST_HALF]) ? 2 : 1;
  good = place_all(&g, error);
  for (guint c = 0; c < n; c++) {
    for (guint p = 0; p < N_PLACES; p++)
      g_clear_pointer(&choices[c].shapes[p], g_array_unref);
  }
  return good;
}
