/* Collectives ordered on the device: those that a rank has begun and not yet
 * seen end.
 *
 *     ops      ... before             follow after ...
 *     stream       follow before  op  after
 *
 * The host continues.  When it next waits for the device, it polls the oldest
 * collective, and the two marks tell what it waits for.  Until the ops reach
 * `before` it is the rank's own work, whose heartbeat the rank's guard checks.
 * From there to `after` it waits for peers, at most for its patience, which
 * restarts whenever a collective ends.
 *
 * Captured with the ops (RaCommDevice.capture) they are one graph, which is in
 * progress as a whole.
 */
#include "config.h"

#include "exec/comm/heartbeat.h"
#include "exec/comm/nccl_impl.h"

static RaNcclUnderWay *
oldest(RaNccl *nccl)
{
  return &nccl->under_way[nccl->first_under_way];
}

/* Updates the pulse only when this changes, so that it beats once per
 * collective that ends and not once per poll. */
static void
set_waiting(RaNccl *nccl, gboolean is_waiting)
{
  if (is_waiting != nccl->is_waiting)
    ra_heartbeat_wait(is_waiting);
  nccl->is_waiting = is_waiting;
}

static void
fail(RaNccl *nccl, int result)
{
  const RaNcclUnderWay *u = oldest(nccl);

  ra_nccl_fail(nccl, u->group, u->handle, u->what, result);
}

/* Takes those that are over, from the oldest on. */
static void
take_over(RaNccl *nccl)
{
  const RaNcclApi *api = nccl->options.api;
  int result = RA_NCCL_OK;

  while (nccl->n_under_way > 0 &&
         (result = api->mark_look(oldest(nccl)->after)) == RA_NCCL_OK) {
    api->mark_free(oldest(nccl)->before);
    api->mark_free(oldest(nccl)->after);
    nccl->first_under_way =
        (nccl->first_under_way + 1) % RA_NCCL_MOST_UNDER_WAY;
    nccl->n_under_way--;
    set_waiting(nccl, FALSE);
  }
  if (nccl->n_under_way > 0 && result != RA_NCCL_BUSY)
    fail(nccl, result);
}

/* Errors of any; the end of patience with the oldest. */
static void
look_at_all(RaNccl *nccl)
{
  RaNcclUnderWay *u = oldest(nccl);
  RaNcclHandle last = NULL;
  int result;

  if (!u->has_come) {
    result = nccl->options.api->mark_look(u->before);
    if (result != RA_NCCL_OK && result != RA_NCCL_BUSY)
      fail(nccl, result);
    u->has_come = result == RA_NCCL_OK;
    nccl->came_s = ra_nccl_now_s();
  }
  set_waiting(nccl, u->has_come);
  for (guint i = 0; i < nccl->n_under_way; i++) {
    RaNcclUnderWay *any =
        &nccl->under_way[(nccl->first_under_way + i) % RA_NCCL_MOST_UNDER_WAY];

    if (any->handle != last &&
        !ra_nccl_look_once(nccl, &any->handle, 1, NULL, &result) &&
        result != RA_NCCL_BUSY)
      ra_nccl_fail(nccl, any->group, any->handle, any->what, result);
    last = any->handle;
  }
  if (u->has_come && ra_nccl_now_s() - nccl->came_s >= nccl->options.patience_s)
    fail(nccl, RA_NCCL_BUSY);
}

/* As a thread waits for its device. */
static void
look(void *data, int is_over)
{
  RaNccl *nccl = data;

  take_over(nccl);
  if (is_over || nccl->n_under_way == 0) {
    nccl->n_looks = 0;
    set_waiting(nccl, FALSE);
  } else {
    look_at_all(nccl);
    ra_nccl_pause(++nccl->n_looks);
  }
  if (nccl->n_under_way == 0)
    nccl->options.api->look_with(NULL, NULL);
}

RaNcclMark
ra_nccl_follow_ops(RaNcclEnd *e, const char *what)
{
  const RaNcclApi *api = e->nccl->options.api;
  RaNcclMark before = NULL;

  ra_nccl_check(e, api->mark_new(api->own_stream(), &before), what);
  ra_nccl_check(e, api->follow(e->stream, before), what);
  return before;
}

/* @before, @after: (transfer full) */
static void
add_under_way(RaNcclEnd *e, RaNcclMark before, RaNcclMark after,
              const char *what)
{
  RaNccl *nccl = e->nccl;
  RaNcclUnderWay u = {before, after, FALSE, e->handle, e->name, what};

  while (nccl->n_under_way == RA_NCCL_MOST_UNDER_WAY)
    look(nccl, FALSE);
  set_waiting(nccl, FALSE);
  nccl->under_way[(nccl->first_under_way + nccl->n_under_way++) %
                  RA_NCCL_MOST_UNDER_WAY] = u;
  nccl->options.api->look_with(look, nccl);
}

/* A captured mark is an edge of the graph, which nobody can poll. */
void
ra_nccl_ops_follow(RaNcclEnd *e, RaNcclMark before, const char *what)
{
  const RaNcclApi *api = e->nccl->options.api;
  RaNcclMark after = NULL;

  ra_nccl_check(e, api->mark_new(e->stream, &after), what);
  if (!e->nccl->captures)
    add_under_way(e, before, after, what);
  ra_nccl_check(e, api->follow(api->own_stream(), after), what);
  if (e->nccl->captures) {
    api->mark_free(before);
    api->mark_free(after);
  }
}

void
ra_nccl_capture(RaComm *comm, RaCommCapture phase)
{
  RaNcclEnd *e = (RaNcclEnd *)comm;
  RaNccl *nccl = e->nccl;
  const RaNcclApi *api = nccl->options.api;
  RaNcclMark *before = &nccl->graph_before, after = NULL;
  const char *what = "the collectives of a step";

  if (phase == RA_COMM_CAPTURE || phase == RA_COMM_CAPTURED)
    nccl->captures = phase == RA_COMM_CAPTURE;
  else if (phase == RA_COMM_BEGINS)
    ra_nccl_check(e, api->mark_new(api->own_stream(), before), what);
  else {
    ra_nccl_check(e, api->mark_new(api->own_stream(), &after), what);
    add_under_way(e, g_steal_pointer(before), after, what);
  }
}

void
ra_nccl_pass_ops(RaNcclEnd *e, RaNcclMark before, const char *what)
{
  guint n_looks = 0;
  int result;

  while (!ra_nccl_look_once(e->nccl, &e->handle, 1, before, &result)) {
    if (result != RA_NCCL_BUSY)
      ra_nccl_fail(e->nccl, e->name, e->handle, what, result);
    if (e->nccl->n_under_way > 0)
      look(e->nccl, FALSE);
    else
      ra_nccl_pause(++n_looks);
  }
  set_waiting(e->nccl, FALSE);
  e->nccl->options.api->mark_free(before);
}

void
ra_nccl_pass_all(RaNccl *nccl)
{
  while (nccl->n_under_way > 0)
    look(nccl, FALSE);
}
