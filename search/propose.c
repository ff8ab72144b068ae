/* Proposals: sampling of meshes, places and strategies. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "search/propose.h"
#include "search/space/space_impl.h"

enum { N_VARIATES = 4096, N_WORDS = 4 };

/* Bits of the first number of a proposal. */
enum { CALL_BITS = 8, KIND_BITS = 4 };

/* A candidate and where it may lie: what a draw reads of it, close together. */
typedef struct {
  uint32_t candidate;
  uint32_t first, step, n_runs, n_sets; /* as RaCandidate has them */
} Place;

/* Candidates of a call by the size of their mesh, of a size the fastest first.
 */
typedef struct {
  Place *sorted;    /* (n) owned */
  uint32_t *begin;  /* (n_sizes + 1) of each size in sorted; owned */
  uint32_t *n_gpus; /* (n_sizes) ascending; owned */
  uint32_t *at;     /* by GPUs up to those of the cluster: RA_NONE or the size;
                       owned */
  uint32_t n_sizes;
} Sizes;

struct _RaProposer {
  const RaSpace *space; /* borrowed */
  Sizes sizes[RA_POINT_MAX];
  uint32_t calls[RA_POINT_MAX]; /* with a choice */
  uint32_t n_calls;
  gboolean has_sets;           /* of nodes that are no runs */
  double variates[N_VARIATES]; /* exponential, mean 1: middles of quantiles */
};

/* The random numbers of one proposal, taken one by one. */
typedef struct {
  RaRng *rng;
  uint32_t words[N_WORDS];
  guint at;
} Draw;

/* --- candidates by size --- */

typedef struct {
  uint32_t candidate, n_gpus;
  double least_s;
} Entry;

static int
compare_entries(const void *a, const void *b)
{
  const Entry *x = a, *y = b;

  if (x->n_gpus != y->n_gpus)
    return x->n_gpus < y->n_gpus ? -1 : 1;
  if (x->least_s < y->least_s || x->least_s > y->least_s)
    return x->least_s < y->least_s ? -1 : 1;
  return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

static void
sizes_init(Sizes *s, const RaCostTable *costs, uint32_t call)
{
  const RaSpaceCall *c = &ra_cost_table_space(costs)->calls[call];
  g_autofree Entry *all = g_new(Entry, c->n);
  gsize n_gpus = ra_cluster_n_gpus(ra_cost_table_space(costs)->cluster);

  for (uint32_t i = 0; i < c->n; i++)
    all[i] = (Entry){i, c->candidates[i].n_gpus,
                     ra_cost_table_least_s(costs, call, i)};
  qsort(all, c->n, sizeof *all, compare_entries);
  s->sorted = g_new(Place, c->n);
  s->begin = g_new0(uint32_t, c->n + 1);
  s->n_gpus = g_new(uint32_t, c->n);
  for (uint32_t i = 0; i < c->n; i++) {
    const RaCandidate *k = &c->candidates[all[i].candidate];

    s->sorted[i] = (Place){all[i].candidate, k->first, k->step,
                           k->n_positions - k->n_sets, k->n_sets};
    if (i > 0 && all[i].n_gpus == all[i - 1].n_gpus)
      continue;
    s->begin[s->n_sizes] = i;
    s->n_gpus[s->n_sizes++] = all[i].n_gpus;
  }
  s->begin[s->n_sizes] = c->n;
  s->at = g_new(uint32_t, n_gpus + 1);
  memset(s->at, 0xff, (n_gpus + 1) * sizeof *s->at);
  for (uint32_t i = 0; i < s->n_sizes; i++)
    s->at[s->n_gpus[i]] = i;
}

RaProposer *
ra_proposer_new(const RaCostTable *costs)
{
  RaProposer *p = g_new0(RaProposer, 1);
  const RaWorkload *w;

  p->space = ra_cost_table_space(costs);
  p->has_sets = ra_node_sets_why_none(p->space->sets) == NULL &&
                p->space->cluster->n_nodes > 2;
  w = p->space->workload;
  for (uint32_t c = 0; c < w->n_calls; c++) {
    sizes_init(&p->sizes[c], costs, c);
    if (w->calls[c].model != RA_NONE)
      p->calls[p->n_calls++] = c;
  }
  for (guint i = 0; i < N_VARIATES; i++)
    p->variates[i] = -ra_log((i + 0.5) / N_VARIATES);
  return p;
}

void
ra_proposer_free(RaProposer *proposer)
{
  if (!proposer)
    return;
  for (uint32_t c = 0; c < proposer->space->workload->n_calls; c++) {
    g_free(proposer->sizes[c].sorted);
    g_free(proposer->sizes[c].begin);
    g_free(proposer->sizes[c].n_gpus);
    g_free(proposer->sizes[c].at);
  }
  g_free(proposer);
}

uint32_t
ra_proposer_n_calls(const RaProposer *proposer)
{
  return proposer->n_calls;
}

/* --- draws --- */

/* A block of the chain's stream (base/rng.h). */
static void
draw_block(Draw *draw)
{
  RaRng *rng = draw->rng;
  uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
  uint32_t counter[4] = {(uint32_t)rng->counter, (uint32_t)(rng->counter >> 32),
                         (uint32_t)rng->stream, (uint32_t)(rng->stream >> 32)};

  ra_rng_block(counter, key, draw->words);
  rng->counter++;
  draw->at = 0;
}

static uint32_t
word(Draw *draw)
{
  if (draw->at == N_WORDS)
    draw_block(draw);
  return draw->words[draw->at++];
}

/* [0, n), no more uneven than by n / 2^32. */
static uint32_t
below(Draw *draw, uint32_t n)
{
  return (uint32_t)((uint64_t)word(draw) * n >> 32);
}

/* [0, n), the first the likeliest. */
static uint32_t
below_first(Draw *draw, uint32_t n)
{
  uint64_t u = word(draw);

  return (uint32_t)((u * u >> 32) * n >> 32);
}

static const Place *
place_of_size(const Sizes *sizes, Draw *draw, uint32_t at)
{
  uint32_t begin = sizes->begin[at];

  return &sizes
              ->sorted[begin + below_first(draw, sizes->begin[at + 1] - begin)];
}

/* One in two is a power of two of the largest, of which a large cluster has few
 * among many; one in two of the places is a multiple of the size. */
static uint32_t
any_size(const Sizes *sizes, uint32_t bits)
{
  uint32_t largest = sizes->n_gpus[sizes->n_sizes - 1], at;

  if (bits & 1) {
    at = sizes->at[largest >> (bits >> 1 & 7)];
    if (at != RA_NONE)
      return at;
  }
  return (uint32_t)((uint64_t)(bits >> 4) * sizes->n_sizes >> 27);
}

/* Where there are sets of nodes, one in eight places is one. */
static gboolean
any_set(const Place *place, Draw *draw, uint32_t *out_position)
{
  if (place->n_sets == 0 || (place->n_runs > 0 && (word(draw) & 7) != 0))
    return FALSE;
  *out_position = place->n_runs + below(draw, place->n_sets);
  return TRUE;
}

static RaChoice
any_choice(const RaProposer *p, Draw *draw, uint32_t call)
{
  const Sizes *sizes = &p->sizes[call];
  uint32_t bits = word(draw), at = any_size(sizes, bits >> 1);
  const Place *place = place_of_size(sizes, draw, at);
  RaChoice choice = {place->candidate, 0};

  if (any_set(place, draw, &choice.position))
    return choice;
  choice.position = below(draw, place->n_runs);
  if (bits & 1)
    choice.position -=
        choice.position % MAX(sizes->n_gpus[at] / place->step, 1u);
  return choice;
}

/* GPUs of a call: @n from @begin on, or those of @set. */
typedef struct {
  uint32_t begin, n;
  const RaMesh *set;
} Gpus;

static gboolean
place_at(const RaProposer *p, uint32_t call, const Place *place, Gpus gpus,
         RaChoice *out)
{
  uint32_t begin = gpus.begin;

  if (gpus.set) {
    *out = (RaChoice){place->candidate,
                      ra_candidate_position(
                          &p->space->calls[call].candidates[place->candidate],
                          begin, gpus.set)};
    return out->position != RA_NONE;
  }
  if (begin < place->first || (begin - place->first) % place->step != 0 ||
      (begin - place->first) / place->step >= place->n_runs)
    return FALSE;
  *out = (RaChoice){place->candidate, (begin - place->first) / place->step};
  return TRUE;
}

/* Some strategy on @gpus; FALSE: @call cannot be there.  Where nodes are of
 * several kinds a size has candidates for each mix: the first that can, from
 * the drawn one on. */
static gboolean
choice_at(const RaProposer *p, Draw *draw, uint32_t call, Gpus gpus,
          RaChoice *out)
{
  const Sizes *sizes = &p->sizes[call];
  uint32_t size = sizes->at[gpus.n];
  const Place *place, *end;

  if (size == RA_NONE)
    return FALSE;
  place = place_of_size(sizes, draw, size);
  if (!p->space->cluster->kinds)
    return place_at(p, call, place, gpus, out);
  end = sizes->sorted + sizes->begin[size + 1];
  for (; place < end; place++)
    if (place_at(p, call, place, gpus, out))
      return TRUE;
  return FALSE;
}

static Gpus
gpus_of(const RaProposer *p, const RaPoint *point, uint32_t call)
{
  RaChoice choice = point->calls[call];
  const RaCandidate *c = &p->space->calls[call].candidates[choice.candidate];

  return (Gpus){ra_candidate_begin(c, choice.position), c->n_gpus,
                ra_candidate_set(c, choice.position)};
}

/* --- kinds of changes --- */

static gboolean
add(RaProposal *out, uint32_t call, RaChoice choice)
{
  out->call[out->n] = call;
  out->choice[out->n++] = choice;
  return TRUE;
}

static gboolean
move_to(const RaProposer *p, Draw *draw, uint32_t call, Gpus gpus,
        RaProposal *out)
{
  RaChoice choice;

  return choice_at(p, draw, call, gpus, &choice) && add(out, call, choice);
}

static gboolean
move_place(const RaProposer *p, Draw *draw, const RaPoint *point, uint32_t call,
           RaProposal *out)
{
  RaChoice choice = point->calls[call];
  const RaCandidate *c = &p->space->calls[call].candidates[choice.candidate];
  Place place = {.n_runs = c->n_positions - c->n_sets, .n_sets = c->n_sets};

  if (!any_set(&place, draw, &choice.position))
    choice.position = below(draw, place.n_runs);
  return add(out, call, choice);
}

static gboolean
swap(const RaProposer *p, Draw *draw, const RaPoint *point, uint32_t call,
     uint32_t other, RaProposal *out)
{
  return call != other &&
         move_to(p, draw, call, gpus_of(p, point, other), out) &&
         move_to(p, draw, other, gpus_of(p, point, call), out);
}

/* Whole nodes that are not those of @mesh; FALSE: none, or too many runs. */
static gboolean
rest_of(const RaCluster *cluster, const RaMesh *mesh, RaMesh *out)
{
  uint32_t from = 0;

  *out = (RaMesh){.gpus_per_node = cluster->gpus_per_node};
  for (uint32_t i = 0; i <= mesh->n_runs; i++) {
    uint32_t end = i < mesh->n_runs ? mesh->runs[i].first : cluster->n_nodes;

    if (from < end && out->n_runs == RA_NODE_SET_RUNS)
      return FALSE;
    if (from < end)
      out->runs[out->n_runs++] = (RaNodeRun){from, end - from};
    if (i < mesh->n_runs)
      from = mesh->runs[i].first + mesh->runs[i].n;
  }
  out->n_nodes = cluster->n_nodes - mesh->n_nodes;
  return out->n_runs > 0;
}

/* @call to the nodes that @other leaves, where those are no run: a run in the
 * middle leaves both ends.  Of several kinds of nodes also what a set leaves:
 * the other kind, where they take turns. */
static gboolean
move_rest(const RaProposer *p, Draw *draw, const RaPoint *point, uint32_t call,
          uint32_t other, RaProposal *out)
{
  const RaCluster *cluster = p->space->cluster;
  Gpus gpus = gpus_of(p, point, other);
  RaMesh mesh, rest;

  if (gpus.n % cluster->gpus_per_node != 0 || (gpus.set && !cluster->kinds))
    return FALSE;
  mesh = gpus.set ? *gpus.set : ra_space_mesh(cluster, gpus.begin, gpus.n);
  if (!rest_of(cluster, &mesh, &rest) || (rest.n_runs == 1 && !cluster->kinds))
    return FALSE;
  gpus = (Gpus){rest.runs[0].first * cluster->gpus_per_node,
                rest.n_nodes * cluster->gpus_per_node,
                rest.n_runs > 1 ? &rest : NULL};
  return move_to(p, draw, call, gpus, out);
}

/* All calls of the model of @call to the mesh of @other. */
static gboolean
move_model(const RaProposer *p, Draw *draw, const RaPoint *point, uint32_t call,
           uint32_t other, RaProposal *out)
{
  const RaCall *calls = p->space->workload->calls;
  Gpus gpus = gpus_of(p, point, other);

  for (uint32_t i = 0; i < p->n_calls && out->n < RA_PROPOSAL_MAX; i++)
    if (calls[p->calls[i]].model == calls[call].model &&
        !move_to(p, draw, p->calls[i], gpus, out))
      return FALSE;
  return TRUE;
}

/* The border between @call and one that begins where it ends. */
static gboolean
move_border(const RaProposer *p, Draw *draw, const RaPoint *point,
            uint32_t call, RaProposal *out)
{
  Gpus a = gpus_of(p, point, call);
  const Sizes *sizes = &p->sizes[call];
  uint32_t first = below(draw, p->n_calls);
  Gpus grown = {a.begin, sizes->n_gpus[below(draw, sizes->n_sizes)], NULL};

  if (a.set)
    return FALSE;

  for (uint32_t i = 0; i < p->n_calls; i++) {
    uint32_t other = p->calls[(first + i) % p->n_calls];
    Gpus b = gpus_of(p, point, other), rest = {a.begin + grown.n, 0, NULL};
    if (b.set || b.begin != a.begin + a.n)
      continue;
    if (grown.n >= a.n + b.n)
      return FALSE;
    rest.n = a.n + b.n - grown.n;
    return move_to(p, draw, call, grown, out) &&
           move_to(p, draw, other, rest, out);
  }
  return FALSE;
}

static gboolean
draw_kind(const RaProposer *p, Draw *draw, const RaPoint *point, uint32_t call,
          uint32_t other, uint32_t kind, RaProposal *out)
{
  if (kind < 4)
    return FALSE;
  if (kind == 4)
    return move_place(p, draw, point, call, out);
  if (kind < 8)
    return move_to(p, draw, call, gpus_of(p, point, other), out);
  if (kind < 11)
    return move_to(p, draw, call, gpus_of(p, point, call), out);
  if (kind == 11 && p->has_sets && (word(draw) & 1))
    return move_rest(p, draw, point, call, other, out);
  if (kind == 11)
    return swap(p, draw, point, call, other, out);
  if (kind < 14)
    return move_model(p, draw, point, call, other, out);
  return move_border(p, draw, point, call, out);
}

double
ra_proposer_draw(const RaProposer *proposer, RaRng *rng, const RaPoint *point,
                 RaProposal *out_proposal)
{
  const RaProposer *p = proposer;
  Draw draw = {.rng = rng, .at = N_WORDS};
  uint32_t bits = word(&draw), call, other, kind;

  call = p->calls[(bits & 0xff) * p->n_calls >> CALL_BITS];
  other = p->calls[(bits >> CALL_BITS & 0xff) * p->n_calls >> CALL_BITS];
  kind = bits >> 2 * CALL_BITS & ((1u << KIND_BITS) - 1);
  out_proposal->n = 0;
  if (!draw_kind(p, &draw, point, call, other, kind, out_proposal)) {
    out_proposal->n = 0;
    add(out_proposal, call, any_choice(p, &draw, call));
  }
  return p->variates[bits >> (2 * CALL_BITS + KIND_BITS)];
}

void
ra_proposer_point(const RaProposer *proposer, RaRng *rng, RaPoint *inout_point)
{
  Draw draw = {.rng = rng, .at = N_WORDS};

  for (uint32_t i = 0; i < proposer->n_calls; i++) {
    uint32_t call = proposer->calls[i];

    inout_point->calls[call] = any_choice(proposer, &draw, call);
  }
}

void
ra_proposer_kick(const RaProposer *proposer, RaRng *rng, uint32_t n,
                 RaPoint *inout_point)
{
  Draw draw = {.rng = rng, .at = N_WORDS};

  for (uint32_t i = 0; i < n; i++) {
    uint32_t call = proposer->calls[below(&draw, proposer->n_calls)];

    inout_point->calls[call] = any_choice(proposer, &draw, call);
  }
}
