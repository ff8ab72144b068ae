/* Faults of a run: results that are not finite, and ranks that stall.
 *
 * Every op's output is checked when it is made (exec/model/stage_ops.c), so the
 * first op with a result that is not finite is known, and its rank; on a device
 * only with --check, else what a pass ends with and the norm of the gradients
 * are.  If several ranks find one, the earliest task counts, then the earliest
 * op.  They have a
 * moment to report, then the run ends.  Numbers that are not finite are never
 * saved.
 */
#include "config.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "exec/run_impl.h"
#include "kernels/cpu/cpu_pointwise.h"

#define GRACE_S 0.2 /* for others that have found one earlier */
#define LOOK_S 0.05 /* from one look to the next */

static double
now_s(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
find(RaRun *run, uint64_t order, const char *line)
{
  RaFault *f = &run->found;

  pthread_mutex_lock(&run->lock);
  if (f->at_s <= 0 || order < f->order) {
    f->order = order;
    g_strlcpy(f->line, line, sizeof f->line);
    run->fault = f->line;
  }
  if (f->at_s <= 0)
    f->at_s = now_s();
  pthread_mutex_unlock(&run->lock);
}

/* Tasks are numbered in the order of the program. */
static uint64_t
order_of(RaTaskId task, uint32_t op)
{
  return (uint64_t)task << 32 | op;
}

void
ra_rank_fault(RaRank *rank, RaTaskId task, const char *what)
{
  char name[256];
  g_autofree char *line = NULL;

  ra_task_name(rank->run->graph, task, name, sizeof name);
  line = g_strdup_printf("%s on rank %u: %s", name, rank->rank, what);
  find(rank->run, order_of(task, 0), line);
}

void
ra_rank_lose(RaRank *rank, const char *line)
{
  find(rank->run, order_of(atomic_load(&rank->clock.task), UINT32_MAX), line);
}

static gboolean
has_finite_params(const RaStage *stage)
{
  g_autofree float *room = NULL;
  const RaParams *p = stage->params;

  return ra_cpu_is_finite(p->n,
                          ra_elem_floats(p->backend, p->n, p->weights, &room));
}

static void
take_bad(RaRank *rank, RaTaskId task, RaStage *stage)
{
  const RaNode *node = ra_run_node(rank->run, task);
  char name[256], op[128];
  g_autofree char *line = NULL;

  ra_task_name(rank->run->graph, task, name, sizeof name);
  ra_op_place_name(&stage->bad.place, stage->bad.kind, op, sizeof op);
  if (stage->bad.is_block && strrchr(op, '/'))
    *strrchr(op, '/') = '\0';
  line = g_strdup_printf(
      "%s/%s (call '%s', rank %u, iteration %u) %s%s", name, op,
      rank->run->workload->calls[node->call].name, rank->rank, node->iteration,
      stage->bad.is_block
          ? "has a result that is not finite (--check names the op)"
          : "is the first op whose result is not finite",
      has_finite_params(stage)
          ? ""
          : ": parameters have not been finite since the last optimizer step");
  find(rank->run, order_of(task, stage->bad.number + 1), line);
}

void
ra_rank_check(RaRank *rank, RaTaskId task)
{
  const RaNode *node = ra_run_node(rank->run, task);
  const RaRankCall *c = &rank->calls[node->call];

  if (rank->run->backend->failure())
    ra_rank_fault(rank, task, rank->run->backend->failure());
  if (node->kind != RA_NODE_CALL)
    return;
  for (uint32_t v = 0; c->stages && v < c->n_versions; v++) {
    if (c->stages[v]->bad.is_set)
      take_bad(rank, task, c->stages[v]);
    c->stages[v]->bad.is_set = FALSE;
    c->stages[v]->n_ops = 0;
  }
}

/* ---- a thread that looks on -----------------------------------------------*/

/* Last observation of a rank. */
typedef struct {
  uint32_t n; /* beats */
  double since_s;
} Seen;

static void
look_at(RaRun *run, Seen *seen, double now)
{
  for (uint32_t r = 0; r < run->n_ranks; r++) {
    RaRank *rank = &run->ranks[r];
    uint32_t n = atomic_load(&rank->clock.pulse.n);
    g_autofree char *what = NULL;

    if (!ra_run_is_here(run, r))
      continue;
    if (n != seen[r].n || atomic_load(&rank->clock.pulse.waits) ||
        !atomic_load(&rank->clock.is_at_work)) {
      seen[r] = (Seen){n, now};
      continue;
    }
    if (now - seen[r].since_s < run->options.stall_s)
      continue;
    what = g_strdup_printf("no progress for %.3g s, expected some within "
                           "--stall",
                           run->options.stall_s);
    ra_rank_fault(rank, atomic_load(&rank->clock.task), what);
  }
}

static void *
look_on(void *data)
{
  RaRun *run = data;
  g_autofree Seen *seen = g_new0(Seen, run->n_ranks);
  struct timespec nap = {0, (long)(LOOK_S * 1e9)};
  gboolean has_said = FALSE;

  while (!atomic_load(&run->is_over)) {
    double now;
    RaFault fault;

    nanosleep(&nap, NULL);
    now = now_s();
    if (run->options.stall_s > 0)
      look_at(run, seen, now);
    pthread_mutex_lock(&run->lock);
    fault = run->found;
    pthread_mutex_unlock(&run->lock);
    if (has_said || fault.at_s <= 0 || now - fault.at_s < GRACE_S)
      continue;
    has_said = TRUE;
    run->options.fault(fault.line, fault.order, run->options.fault_data);
  }
  return NULL;
}

void
ra_run_guard(RaRun *run)
{
  atomic_store(&run->is_over, FALSE);
  if (run->options.fault &&
      pthread_create(&run->guard, NULL, look_on, run) != 0)
    g_error("cannot start the watchdog thread");
}

void
ra_run_unguard(RaRun *run)
{
  struct timespec nap = {0, (long)(2 * GRACE_S * 1e9)};

  if (!run->options.fault)
    return;
  if (run->found.at_s > 0) /* it is said */
    nanosleep(&nap, NULL);
  atomic_store(&run->is_over, TRUE);
  pthread_join(run->guard, NULL);
}
