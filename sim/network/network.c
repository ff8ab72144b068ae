/* Network of flows: starts, ends and time. */
#include "config.h"

#include <math.h>

#include "sim/network/network_impl.h"

RaNetwork *
ra_network_new(const double *capacity, uint32_t n_links)
{
  RaNetwork *net = g_new0(RaNetwork, 1);

  g_return_val_if_fail(capacity || n_links == 0, NULL);
  net->links = g_new0(RaLink, n_links);
  net->n_links = n_links;
  for (uint32_t l = 0; l < n_links; l++)
    net->links[l].capacity = capacity[l];
  net->free_slots = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  net->run = g_array_new(FALSE, FALSE, sizeof(RaEvent));
  net->starts = g_array_new(FALSE, FALSE, sizeof(RaEvent));
  net->dirty = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  net->region = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  net->touched = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  ra_queue_init(&net->latency, 64);
  ra_queue_init(&net->own, 64);
  ra_queue_init(&net->lone, 64);
  ra_queue_init(&net->filling, 64);
  return net;
}

void
ra_network_free(RaNetwork *net)
{
  if (!net)
    return;
  for (uint32_t l = 0; l < net->n_links; l++)
    g_free(net->links[l].flows);
  for (uint32_t slot = 0; slot < net->n_slots; slot++)
    g_free(net->paths[slot].more);
  g_free(net->links);
  g_free(net->flows);
  g_free(net->paths);
  g_free(net->fixed);
  g_free(net->winner.node);
  g_free(net->winner.leaf);
  g_array_free(net->free_slots, TRUE);
  g_array_free(net->run, TRUE);
  g_array_free(net->starts, TRUE);
  g_array_free(net->dirty, TRUE);
  g_array_free(net->region, TRUE);
  g_array_free(net->touched, TRUE);
  ra_queue_clear(&net->latency);
  ra_queue_clear(&net->own);
  ra_queue_clear(&net->lone);
  ra_queue_clear(&net->filling);
  ra_dense_clear(net);
  ra_hub_clear(net);
  g_free(net);
}

/* ---- Queues that are mostly in order ------------------------------------- */

/* Events mostly come in order (one latency, equal amounts): those that do are
 * appended, the others go to a heap. */
static void
append_or_push(GArray *run, guint *at, RaQueue *heap, RaEvent event)
{
  if (*at == run->len) {
    g_array_set_size(run, 0);
    *at = 0;
  } else if (ra_event_before(&event,
                             &g_array_index(run, RaEvent, run->len - 1))) {
    ra_queue_push(heap, event);
    return;
  }
  g_array_append_val(run, event);
}

/* The head of both; NULL: none. */
static const RaEvent *
first_start(const RaNetwork *net)
{
  const RaEvent *run =
      net->starts_at < net->starts->len
          ? &g_array_index(net->starts, RaEvent, net->starts_at)
          : NULL;
  const RaEvent *heap = net->latency.n > 0 ? net->latency.events : NULL;

  if (!run || (heap && ra_event_before(heap, run)))
    return heap;
  return run;
}

/* ---- Slots --------------------------------------------------------------- */

static uint32_t
take_slot(RaNetwork *net)
{
  uint32_t slot;

  if (net->free_slots->len > 0) {
    slot = g_array_index(net->free_slots, uint32_t, net->free_slots->len - 1);
    g_array_set_size(net->free_slots, net->free_slots->len - 1);
    return slot;
  }
  if (net->n_slots == net->room_slots) {
    net->room_slots = MAX(64, 2 * net->room_slots);
    net->flows = g_renew(RaFlow, net->flows, net->room_slots);
    net->paths = g_renew(RaFlowPath, net->paths, net->room_slots);
    net->fixed = g_renew(uint32_t, net->fixed, net->room_slots);
    ra_winner_grow(net, net->room_slots);
  }
  slot = net->n_slots++;
  net->paths[slot].more = NULL;
  net->fixed[slot] = 0;
  return slot;
}

static void
mark_dirty(RaNetwork *net, uint32_t link)
{
  if (net->links[link].dirty)
    return;
  net->links[link].dirty = TRUE;
  g_array_append_val(net->dirty, link);
}

static void
enter_link(RaNetwork *net, uint32_t slot, uint32_t ref)
{
  RaFlowPath *path = &net->paths[slot];
  RaFlowRef *refs = ra_path_refs(path);
  RaLink *link = &net->links[refs[ref].link];
  RaOnLink *at;

  if (link->n == link->room) {
    link->room = MAX(2, 2 * link->room);
    link->flows = g_renew(RaOnLink, link->flows, link->room);
  }
  refs[ref].at = link->n;
  at = &link->flows[link->n++];
  at->slot = slot;
  at->ref = ref;
  at->n_other = UINT32_MAX;
  if (path->n_refs > RA_INLINE_OTHERS + 1)
    return;
  at->n_other = 0;
  for (uint32_t i = 0; i < path->n_refs; i++)
    if (i != ref)
      at->other[at->n_other++] = refs[i].link;
}

static void
leave_links(RaNetwork *net, uint32_t slot)
{
  RaFlowPath *path = &net->paths[slot];
  RaFlowRef *refs = ra_path_refs(path);

  net->n_entries -= path->n_refs;
  net->n_placed--;
  if (net->dense)
    ra_dense_remove(net, slot);
  if (net->hub)
    ra_hub_remove(net, slot);
  for (uint32_t i = 0; i < path->n_refs; i++) {
    RaLink *link = &net->links[refs[i].link];

    if (--link->n == 0)
      continue;
    if (refs[i].at < link->n) {
      RaOnLink last = link->flows[link->n];

      link->flows[refs[i].at] = last;
      ra_path_refs(&net->paths[last.slot])[last.ref].at = refs[i].at;
    }
    mark_dirty(net, refs[i].link);
  }
}

/* A flow alone on all its links: as fast as the slowest lets it. */
static void
rate_alone(RaNetwork *net, uint32_t slot)
{
  RaFlow *flow = &net->flows[slot];
  const RaFlowRef *refs = ra_path_refs(&net->paths[slot]);

  flow->rate = (double)INFINITY;
  for (uint32_t i = 0; i < net->paths[slot].n_refs; i++) {
    double rate = net->links[refs[i].link].capacity / refs[i].weight;

    if (rate < flow->rate) {
      flow->rate = rate;
      flow->bottleneck = refs[i].link;
    }
  }
}

/* The end of @slot is known: to the run if it comes last, else to the
 * tournament. */
static void
note_end(RaNetwork *net, uint32_t slot)
{
  RaFlow *flow = &net->flows[slot];
  RaEvent event = {ra_flow_end_s(flow), flow->seq, slot};

  if (net->run_at == net->run->len) {
    g_array_set_size(net->run, 0);
    net->run_at = 0;
  }
  if (event.time_s < (double)INFINITY &&
      (net->run->len == 0 ||
       ra_event_before(&g_array_index(net->run, RaEvent, net->run->len - 1),
                       &event))) {
    g_array_append_val(net->run, event);
    flow->in_run = TRUE;
    return;
  }
  flow->in_run = TRUE;
  ra_queue_push(&net->lone, event);
}

/* Its latency is over: it takes capacity from now on. */
static void
place(RaNetwork *net, uint32_t slot)
{
  const RaFlowPath *path = &net->paths[slot];
  const RaFlowRef *refs = ra_path_refs(&net->paths[slot]);
  gboolean alone = TRUE;

  net->flows[slot].since_s = net->now_s;
  net->flows[slot].placed = TRUE;
  net->n_entries += path->n_refs;
  for (uint32_t i = 0; i < path->n_refs; i++) {
    alone = alone && net->links[refs[i].link].n == 0;
    enter_link(net, slot, i);
  }
  net->n_placed++;
  if ((net->dense && ra_dense_place(net, slot)) ||
      (net->hub && ra_hub_place(net, slot)))
    alone = FALSE;
  if (alone) {
    rate_alone(net, slot);
    note_end(net, slot);
    return;
  }
  for (uint32_t i = 0; i < path->n_refs; i++)
    mark_dirty(net, refs[i].link);
}

void
ra_network_start(RaNetwork *net, const uint32_t *links, const double *weights,
                 uint32_t n, double amount, double latency_s, uint32_t payload)
{
  uint32_t slot;
  RaFlow *flow;
  RaFlowPath *path;
  RaFlowRef *refs;

  net->work.n_flows++;
  net->end_kind = RA_END_NONE;
  if (n == 0 || amount == 0) {
    ra_network_at(net, net->now_s + latency_s, payload);
    return;
  }
  slot = take_slot(net);
  flow = &net->flows[slot];
  *flow = (RaFlow){
      .left = amount, .seq = net->next_seq++, .bottleneck = RA_NO_LINK};
  path = &net->paths[slot];
  path->payload = payload;
  path->n_refs = n;
  if (n > RA_INLINE_REFS)
    path->more = g_renew(RaFlowRef, path->more, n);
  refs = ra_path_refs(path);
  for (uint32_t i = 0; i < n; i++)
    refs[i] = (RaFlowRef){links[i], 0, weights ? weights[i] : 1};
  net->weighted = net->weighted || weights;
  if (latency_s > 0)
    append_or_push(net->starts, &net->starts_at, &net->latency,
                   (RaEvent){net->now_s + latency_s, flow->seq, slot});
  else
    place(net, slot);
}

void
ra_network_at(RaNetwork *net, double time_s, uint32_t payload)
{
  net->end_kind = RA_END_NONE;
  ra_queue_push(&net->own, (RaEvent){time_s, net->next_seq++, payload});
}

/* ---- Time ---------------------------------------------------------------- */

static const RaEvent *
first_of_run(RaNetwork *net)
{
  while (net->run_at < net->run->len) {
    const RaEvent *event = &g_array_index(net->run, RaEvent, net->run_at);
    const RaFlow *flow = &net->flows[event->task];

    if (flow->in_run && flow->seq == event->seq)
      return event;
    net->run_at++; /* solved again since, or gone */
  }
  return NULL;
}

static const RaEvent *
first_of_lone(RaNetwork *net)
{
  RaEvent gone;
  while (net->lone.n > 0) {
    const RaEvent *event = net->lone.events;
    const RaFlow *flow = &net->flows[event->task];

    if (flow->in_run && flow->seq == event->seq)
      return event;
    ra_queue_pop(&net->lone, &gone);
  }
  return NULL;
}

static void
find_end(RaNetwork *net)
{
  const RaEvent *run = first_of_run(net);

  net->end = (RaEvent){(double)INFINITY, UINT32_MAX, 0};
  net->end_kind = RA_END_NONE;
  if (run) {
    net->end = *run;
    net->end_kind = RA_END_RUN;
  }
  {
    const RaEvent *lone = first_of_lone(net);
    if (lone && ra_event_before(lone, &net->end)) {
      net->end = *lone;
      net->end_kind = RA_END_LONE;
    }
  }
  if (net->winner.n_leaves > 0) {
    const RaEvent *event = &net->winner.leaf[net->winner.node[1]];

    if (event->time_s < (double)INFINITY && ra_event_before(event, &net->end)) {
      net->end = *event;
      net->end_kind = RA_END_WINNER;
    }
  }
  if (net->dense || net->hub) {
    RaEvent event = net->dense ? ra_dense_end(net) : ra_hub_end(net);

    if (ra_event_before(&event, &net->end)) {
      net->end = event;
      net->end_kind = net->dense ? RA_END_DENSE : RA_END_HUB;
    }
  }
  if (net->own.n > 0 && ra_event_before(net->own.events, &net->end)) {
    net->end = net->own.events[0];
    net->end_kind = RA_END_OWN;
  }
}

static void
place_first(RaNetwork *net, const RaEvent *start)
{
  uint32_t slot = start->task;
  RaEvent event;

  if (net->latency.n > 0 && start == net->latency.events)
    ra_queue_pop(&net->latency, &event);
  else
    net->starts_at++;
  place(net, slot);
}

/* Rates are needed only once time goes on: what ends or starts at one instant
 * is solved together, and an end that is due is due whatever the others do. */
double
ra_network_next_by_s(RaNetwork *net, double limit_s)
{
  if (net->end_kind != RA_END_NONE)
    return MAX(net->end.time_s, net->now_s);
  for (;;) {
    const RaEvent *start = first_start(net);

    find_end(net);
    if (net->end.time_s <= net->now_s)
      return net->now_s;
    if (start && start->time_s <= net->now_s) {
      place_first(net, start);
      continue;
    }
    if (net->dirty->len > 0) {
      ra_network_solve(net);
      continue;
    }
    if (!start || start->time_s > net->end.time_s)
      return net->end.time_s;
    if (start->time_s > limit_s) {
      net->end_kind = RA_END_NONE; /* what starts first may put it off */
      return start->time_s;
    }
    net->now_s = start->time_s;
    place_first(net, start);
  }
}

double
ra_network_next_s(RaNetwork *net)
{
  return ra_network_next_by_s(net, (double)INFINITY);
}

uint32_t
ra_network_pop(RaNetwork *net)
{
  RaEvent end;
  RaFlow *flow;
  RaEndKind kind;

  net->now_s = ra_network_next_s(net);
  kind = net->end_kind;
  end = net->end;
  g_return_val_if_fail(kind != RA_END_NONE, 0);
  net->end_kind = RA_END_NONE;
  if (kind == RA_END_OWN) {
    ra_queue_pop(&net->own, &end);
    return end.task;
  }
  flow = &net->flows[end.task];
  leave_links(net, end.task);
  flow->bottleneck = RA_NO_LINK;
  flow->in_run = FALSE;
  flow->placed = FALSE;
  if (kind == RA_END_RUN)
    net->run_at++;
  else if (kind == RA_END_LONE)
    ra_queue_pop(&net->lone, &end);
  else if (kind == RA_END_WINNER)
    ra_winner_set(net, end.task, (double)INFINITY);
  g_array_append_val(net->free_slots, end.task);
  return net->paths[end.task].payload;
}

void
ra_network_advance(RaNetwork *net, double time_s)
{
  g_return_if_fail(time_s >= net->now_s &&
                   time_s <= ra_network_next_by_s(net, time_s));
  net->now_s = time_s;
}

double
ra_network_now_s(const RaNetwork *net)
{
  return net->now_s;
}
