/* Max-min fair rates of many flows by link, from lists of flows.
 *
 * If local solutions keep failing because every change moves nearly all rates,
 * this solver solves all flows at once by a walk over the links' flows.  A flow
 * uses the clock of its bottleneck (sim/network/network_dense.c), so its end
 * does not change while its bottleneck stays.  From time to time the network
 * leaves this solver to try local solutions again.
 */
#include "config.h"

#include <math.h>

#include "sim/network/network_dense_impl.h"

void
ra_dense_attach(RaNetwork *net, uint32_t slot, uint32_t l, double left)
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
      ra_dense_attach(net, at->slot, l, flow->left);
    else if (flow->bottleneck != l)
      ra_dense_attach(net, at->slot, l,
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
void
ra_dense_sort_link(RaNetwork *net, uint32_t l)
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

void
ra_dense_sort_links(RaNetwork *net)
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

void
ra_dense_fill_listed(RaNetwork *net)
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
