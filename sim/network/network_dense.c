/* Max-min fair rates of many flows on few links, by link.
 *
 * The solver is for flows on one or two of a few hundred links each, and many
 * more flows than links.  A change then moves nearly all rates, but a flow's
 * rate is the level of its bottleneck link.  Levels are therefore solved from
 * counts of flows by pair of links, without visiting flows.  Each link keeps a
 * clock, the integral of its level: a flow that starts at clock V with amount A
 * left ends when the clock shows V + A, for any levels.  Only a flow whose
 * other link becomes its bottleneck is touched, as when links change places in
 * the order in which they fill.
 *
 * With more links, or flows on more than two, filling walks over lists
 * of the links' flows; the clocks are the same.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "sim/network/network_impl.h"

struct _RaDense {
  uint32_t n;     /* links */
  double *count;  /* (n x n) flows on both links; on the diagonal, on that link
                     alone; NULL: listed */
  double *level;  /* (n) rate of the flows whose bottleneck it is; 0: none */
  double *clock;  /* (n) integral of the level, at since_s */
  double since_s; /* time of the clocks */
  double *open, *free; /* (n) scratch of filling */
  uint32_t *place;     /* (n) position in the order in which links fill */
  uint32_t *order;     /* (n) links in that order */
  RaQueue *ends;       /* (n) ends of its flows, by clock; some are stale */
  GArray *fresh;       /* (uint32_t) slots placed since the last solution */
  uint32_t n_flows;    /* placed flows */
  /* listed: */
  uint32_t n_solved;
  uint32_t *full;  /* (n) links that are some flow's bottleneck */
  uint32_t n_full; /* number of these */
  double *key;     /* (n) level at which a link would fill alone; order of
                      (place) and (order) */
};

enum {
  MOST_LINKS = 256,       /* the counts of pairs stay in the cache */
  LEAST_FLOWS = 512,      /* to begin */
  FEW_FLOWS = 256,        /* to end: solving by flow is as fast */
  FLOWS_A_LINK = 32,      /* to begin */
  LOCAL_FAILED = 2,       /* listed: solutions that a failed local one cost */
  LISTED_SOLUTIONS = 1024 /* and how many there are until it is left */
};

/* ---- By lists --- */

/* Attaches @slot, with @left to move, to the clock of link @l. */
static void
attach_to(RaNetwork *net, uint32_t slot, uint32_t l, double left)
{
  RaDense *d = net->dense;
  RaFlow *flow = &net->flows[slot];

  flow->bottleneck = l;
  flow->left = d->clock[l] + left; /* of the link's clock */
  ra_queue_push(&d->ends[l], (RaEvent){flow->left, flow->seq, slot});
}

/* Link @l fills: its flows without a rate have its level. */
static void
fix_listed(RaNetwork *net, uint32_t l, double level)
{
  RaDense *d = net->dense;
  const RaLink *link = &net->links[l];
  double *open = d->open, *room = d->free;

  for (uint32_t j = 0; j < link->n; j++) {
    const RaOnLink *at = &link->flows[j];
    RaFlow *flow = &net->flows[at->slot];

    if (net->fixed[at->slot] == net->n_fillings)
      continue;
    net->fixed[at->slot] = net->n_fillings;
    net->n_open--;
    if (flow->bottleneck == RA_NO_LINK)
      attach_to(net, at->slot, l, flow->left);
    else if (flow->bottleneck != l)
      attach_to(net, at->slot, l,
                MAX(flow->left - d->clock[flow->bottleneck], 0));
    if (at->n_other <= RA_INLINE_OTHERS) {
      for (uint32_t i = 0; i < at->n_other; i++) {
        open[at->other[i]]--;
        room[at->other[i]] -= level;
      }
    } else {
      RaFlowPath *path = &net->paths[at->slot];
      const RaFlowRef *refs = ra_path_refs(path);

      for (uint32_t i = 0; i < path->n_refs; i++)
        if (i != at->ref) {
          open[refs[i].link]--;
          room[refs[i].link] -= level;
        }
    }
  }
  net->work.n_visited += link->n;
}

static double
key_of(const RaLink *link)
{
  return link->n > 0 ? link->capacity / link->n : (double)INFINITY;
}

/* No link fills below its key, so those come in the order of their keys, and
 * again where others have left them more.  Few keys change at a time. */
static void
sort_link(RaNetwork *net, uint32_t l)
{
  RaDense *d = net->dense;
  double key = key_of(&net->links[l]);
  uint32_t at = d->place[l];

  d->key[l] = key;
  for (; at > 0 && d->key[d->order[at - 1]] > key; at--) {
    d->order[at] = d->order[at - 1];
    d->place[d->order[at]] = at;
  }
  for (; at + 1 < d->n && d->key[d->order[at + 1]] < key; at++) {
    d->order[at] = d->order[at + 1];
    d->place[d->order[at]] = at;
  }
  d->order[at] = l;
  d->place[l] = at;
}

static int
compare_keys(const void *a, const void *b, void *data)
{
  const RaDense *d = data;
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  if (d->key[x] < d->key[y] || d->key[x] > d->key[y])
    return d->key[x] < d->key[y] ? -1 : 1;
  return (x > y) - (x < y);
}

/* Listed: makes the order of links, or updates it after a change of @l's flows.
 */
static void
sort_links(RaNetwork *net)
{
  RaDense *d = net->dense;

  d->full = g_new(uint32_t, d->n);
  d->key = g_new(double, d->n);
  for (uint32_t l = 0; l < d->n; l++) {
    d->key[l] = key_of(&net->links[l]);
    d->order[l] = l;
  }
  g_qsort_with_data(d->order, (gint)d->n, sizeof *d->order, compare_keys, d);
  for (uint32_t i = 0; i < d->n; i++)
    d->place[d->order[i]] = i;
}

/* Link @l comes up at level @at_level: fills, or comes again later. */
static void
try_link(RaNetwork *net, uint32_t l, double at_level)
{
  RaDense *d = net->dense;
  double level;

  if (!(d->open[l] > 0))
    return;
  level = MAX(d->free[l], 0) / d->open[l];
  if (level > at_level) {
    ra_queue_push(&net->filling, (RaEvent){level, l, l});
    return;
  }
  d->level[l] = at_level;
  d->full[d->n_full++] = l;
  fix_listed(net, l, at_level);
  d->open[l] = 0;
}

/* Listed: progressive filling; clocks must be at now.  O(flows x their
 * links). */
static void
fill_listed(RaNetwork *net)
{
  RaDense *d = net->dense;
  uint32_t i = 0;

  net->n_fillings++;
  net->n_open = d->n_flows;
  for (uint32_t k = 0; k < d->n_full; k++)
    d->level[d->full[k]] = 0;
  d->n_full = 0;
  for (uint32_t l = 0; l < d->n; l++) {
    d->open[l] = net->links[l].n;
    d->free[l] = net->links[l].capacity;
  }
  while (net->n_open > 0) {
    double key = i < d->n ? d->key[d->order[i]] : (double)INFINITY;
    RaEvent event;

    if (net->filling.n > 0 && net->filling.events[0].time_s <= key) {
      ra_queue_pop(&net->filling, &event);
      try_link(net, event.task, event.time_s);
    } else {
      g_assert(i < d->n);
      try_link(net, d->order[i++], key);
    }
  }
  net->filling.n = 0;
  net->work.n_rounds++;
  net->work.n_listed++;
  net->work.n_visited += d->n;
}

static double *
counts(const RaDense *d, const RaFlowPath *path)
{
  uint32_t a = path->own[0].link, b = path->own[path->n_refs - 1].link;

  return &d->count[(gsize)a * d->n + b];
}

static void
add_count(RaDense *d, const RaFlowPath *path, double by)
{
  uint32_t a = path->own[0].link, b = path->own[path->n_refs - 1].link;

  if (!d->count)
    return;
  *counts(d, path) += by;
  if (a != b)
    d->count[(gsize)b * d->n + a] += by;
}

/* TRUE if counts of pairs of links suffice. */
static gboolean
can_count(const RaNetwork *net)
{
  uint32_t n = net->region->len;

  if (net->n_links > MOST_LINKS || n < FLOWS_A_LINK * net->n_links)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (net->paths[g_array_index(net->region, uint32_t, i)].n_refs > 2)
      return FALSE;
  return TRUE;
}

gboolean
ra_dense_wanted(const RaNetwork *net)
{
  return !net->weighted && net->has_whole && net->region->len >= LEAST_FLOWS &&
         (net->skip >= LOCAL_FAILED || can_count(net));
}

/* Subtracts what the links' flows on a filled link use; four at a time, which
 * compilers make two of. */
static void
lose(double *restrict open, double *restrict room, const double *restrict count,
     double level, uint32_t n)
{
  uint32_t m = 0;

  for (; m + 4 <= n; m += 4) {
    open[m] -= count[m];
    open[m + 1] -= count[m + 1];
    open[m + 2] -= count[m + 2];
    open[m + 3] -= count[m + 3];
    room[m] -= count[m] * level;
    room[m + 1] -= count[m + 1] * level;
    room[m + 2] -= count[m + 2] * level;
    room[m + 3] -= count[m + 3] * level;
  }
  for (; m < n; m++) {
    open[m] -= count[m];
    room[m] -= count[m] * level;
  }
}

/* Progressive filling by counts; a link that all others leave without flows
 * comes last. */
static void
fill(RaNetwork *net, RaDense *d)
{
  uint32_t n = d->n, n_placed = 0;
  RaEvent event;

  for (uint32_t l = 0; l < n; l++) {
    d->open[l] = net->links[l].n;
    d->free[l] = net->links[l].capacity;
    d->level[l] = 0;
    d->place[l] = UINT32_MAX;
    if (net->links[l].n > 0)
      ra_queue_push(&net->filling, (RaEvent){d->free[l] / d->open[l], l, l});
  }
  while (ra_queue_pop(&net->filling, &event)) {
    uint32_t l = event.task;
    const double *count = &d->count[(gsize)l * n];
    double level = d->free[l] / d->open[l];

    if (!(d->open[l] > 0))
      continue;
    if (level > event.time_s) {
      event.time_s = level;
      ra_queue_push(&net->filling, event);
      continue;
    }
    d->level[l] = level;
    d->place[l] = n_placed++;
    /* full links lose values that are not read any more */
    lose(d->open, d->free, count, level, n);
    d->open[l] = 0;
  }
  for (uint32_t l = 0; l < n; l++) {
    if (d->place[l] == UINT32_MAX)
      d->place[l] = n_placed++;
  }
  net->work.n_rounds++;
  net->work.n_visited += n;
}

static void
attach(RaNetwork *net, uint32_t slot, double left)
{
  const RaDense *d = net->dense;
  const RaFlowPath *path = &net->paths[slot];
  uint32_t a = path->own[0].link, b = path->own[path->n_refs - 1].link;

  if (d->count)
    attach_to(net, slot, d->place[b] < d->place[a] ? b : a, left);
  else /* its bottleneck of the solution before, until the next */
    attach_to(net, slot, net->flows[slot].bottleneck, left);
}

/* ---- By counts --- */

/* Flows on both that had @from as their bottleneck. */
static void
move_flows(RaNetwork *net, uint32_t from, uint32_t to)
{
  RaDense *d = net->dense;
  gboolean shorter = net->links[to].n < net->links[from].n;
  uint32_t at = shorter ? to : from, other = shorter ? from : to;
  const RaLink *link = &net->links[at];

  if (!(d->count[(gsize)from * d->n + to] > 0))
    return;
  net->work.n_visited += link->n;
  for (uint32_t i = 0; i < link->n; i++) {
    RaFlow *flow = &net->flows[link->flows[i].slot];

    if (link->flows[i].n_other == 1 && link->flows[i].other[0] == other &&
        flow->bottleneck == from)
      attach(net, link->flows[i].slot, MAX(flow->left - d->clock[from], 0));
  }
}

/* Sorts the links by their new places; a pair that swaps swaps its flows. */
static void
reorder(RaNetwork *net)
{
  RaDense *d = net->dense;

  for (uint32_t i = 1; i < d->n; i++) {
    uint32_t l = d->order[i], at = i;

    for (; at > 0 && d->place[d->order[at - 1]] > d->place[l]; at--) {
      d->order[at] = d->order[at - 1];
      move_flows(net, d->order[at], l);
    }
    d->order[at] = l;
  }
}

static void
advance(RaNetwork *net)
{
  RaDense *d = net->dense;
  double dt_s = net->now_s - d->since_s;

  for (uint32_t l = 0; l < d->n; l++)
    d->clock[l] += d->level[l] * dt_s;
  d->since_s = net->now_s;
}

void
ra_dense_enter(RaNetwork *net)
{
  uint32_t n = net->n_links;
  RaDense *d = g_new0(RaDense, 1);

  net->dense = d;
  d->n = n;
  if (can_count(net))
    d->count = g_new0(double, (gsize)n *n);
  d->level = g_new0(double, n);
  d->clock = g_new0(double, n);
  d->open = g_new(double, n);
  d->free = g_new(double, n);
  d->place = g_new(uint32_t, n);
  d->order = g_new(uint32_t, n);
  d->ends = g_new(RaQueue, n);
  d->fresh = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  d->since_s = net->now_s;
  d->n_flows = net->region->len;
  for (uint32_t l = 0; l < n; l++)
    ra_queue_init(&d->ends[l], d->count ? 64 : 4);
  for (guint i = 0; i < net->region->len; i++)
    add_count(d, &net->paths[g_array_index(net->region, uint32_t, i)], 1);
  if (!d->count) {
    sort_links(net);
    ra_network_hand_over(net, attach);
    fill_listed(net);
    return;
  }
  fill(net, d);
  for (uint32_t l = 0; l < n; l++)
    d->order[d->place[l]] = l;
  ra_network_hand_over(net, attach);
}

void
ra_dense_clear(RaNetwork *net)
{
  RaDense *d = net->dense;

  if (!d)
    return;
  for (uint32_t l = 0; l < d->n; l++)
    ra_queue_clear(&d->ends[l]);
  g_free(d->count);
  g_free(d->level);
  g_free(d->clock);
  g_free(d->open);
  g_free(d->free);
  g_free(d->place);
  g_free(d->order);
  g_free(d->full);
  g_free(d->key);
  g_free(d->ends);
  g_array_free(d->fresh, TRUE);
  g_free(d);
  net->dense = NULL;
}

/* Every flow has its rate and what it has left again. */
void
ra_dense_leave(RaNetwork *net)
{
  RaDense *d = net->dense;

  advance(net);
  for (uint32_t slot = 0; slot < net->n_slots; slot++) {
    RaFlow *flow = &net->flows[slot];

    if (!flow->placed || flow->bottleneck == RA_NO_LINK)
      continue;
    flow->left = MAX(flow->left - d->clock[flow->bottleneck], 0);
    flow->rate = d->level[flow->bottleneck];
    flow->since_s = net->now_s;
    net->winner.leaf[slot] = (RaEvent){ra_flow_end_s(flow), flow->seq, slot};
  }
  ra_winner_rebuild(net);
  ra_dense_clear(net);
}

gboolean
ra_dense_place(RaNetwork *net, uint32_t slot)
{
  if (net->weighted || (net->dense->count && net->paths[slot].n_refs > 2)) {
    ra_dense_leave(net);
    return FALSE;
  }
  add_count(net->dense, &net->paths[slot], 1);
  net->dense->n_flows++;
  g_array_append_val(net->dense->fresh, slot);
  return TRUE;
}

void
ra_dense_remove(RaNetwork *net, uint32_t slot)
{
  add_count(net->dense, &net->paths[slot], -1);
  net->dense->n_flows--;
}

gboolean
ra_dense_solve(RaNetwork *net)
{
  RaDense *d = net->dense;

  if (d->n_flows < FEW_FLOWS ||
      (!d->count && ++d->n_solved > LISTED_SOLUTIONS)) {
    net->n_to_skip = 0;
    ra_dense_leave(net);
    return FALSE;
  }
  for (guint i = 0; i < net->dirty->len; i++) {
    uint32_t l = g_array_index(net->dirty, uint32_t, i);

    net->links[l].dirty = FALSE;
    if (!d->count)
      sort_link(net, l);
  }
  g_array_set_size(net->dirty, 0);
  net->work.n_solved++;
  advance(net);
  if (!d->count) {
    fill_listed(net);
    g_array_set_size(d->fresh, 0);
    return TRUE;
  }
  fill(net, d);
  reorder(net);
  for (guint i = 0; i < d->fresh->len; i++) {
    uint32_t slot = g_array_index(d->fresh, uint32_t, i);

    attach(net, slot, net->flows[slot].left);
  }
  g_array_set_size(d->fresh, 0);
  return TRUE;
}

/* First end of link @l that is not stale. */
static const RaEvent *
first_of_link(const RaNetwork *net, uint32_t l)
{
  RaQueue *ends = &net->dense->ends[l];
  RaEvent gone;

  while (ends->n > 0) {
    const RaFlow *flow = &net->flows[ends->events[0].task];

    if (flow->placed && flow->bottleneck == l &&
        flow->seq == ends->events[0].seq &&
        flow->left == ends->events[0].time_s)
      return ends->events;
    ra_queue_pop(ends, &gone);
  }
  return NULL;
}

RaEvent
ra_dense_end(const RaNetwork *net)
{
  const RaDense *d = net->dense;
  RaEvent first = {(double)INFINITY, UINT32_MAX, 0};

  for (uint32_t i = 0, n = d->count ? d->n : d->n_full; i < n; i++) {
    uint32_t l = d->count ? i : d->full[i];
    const RaEvent *end = d->level[l] > 0 ? first_of_link(net, l) : NULL;
    RaEvent event;

    if (!end)
      continue;
    event =
        (RaEvent){d->since_s + MAX(end->time_s - d->clock[l], 0) / d->level[l],
                  end->seq, end->task};
    if (ra_event_before(&event, &first))
      first = event;
  }
  return first;
}
