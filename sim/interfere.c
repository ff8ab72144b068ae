/* Interference of computation and communication on lanes. */
#include "config.h"

#include "sim/interfere.h"
#include "sim/task_class.h"

typedef enum { SIDE_DEVICE, SIDE_COMM, SIDE_NONE } Side;

/* A task that runs, or has run. */
typedef struct {
  double since_s;    /* when its rate was set */
  double left_s;     /* of its total_s, then */
  double stretch;    /* 1 / rate with company */
  double end_s;      /* as things stand */
  double added_s;    /* by interference, so far */
  uint32_t seq;      /* of its end */
  uint32_t n_beside; /* its lanes with company, settled */
  uint8_t side;      /* Side */
  uint8_t slowed;    /* its rate is not 1 */
  uint8_t listed;    /* to be looked at when the instant is settled */
  uint8_t runs;      /* has begun and not ended */
} Runner;

/* A task on a lane. */
typedef struct {
  RaTaskId task;
  gboolean counted; /* in n_beside of its runner */
} OnLane;

typedef struct {
  OnLane *tasks;              /* (n) at most one a stream; owned */
  uint32_t n, room;           /* tasks; that fit */
  uint32_t n_side[SIDE_NONE]; /* tasks of each side */
  uint8_t listed;             /* something has changed in this instant */
} Lane;

struct _RaInterfere {
  const RaTaskGraph *graph; /* borrowed */
  const RaCost *costs;      /* borrowed */
  Runner *runners;          /* (n_tasks) */
  Lane *lanes;              /* (n_lanes) */
  GArray *changed_lanes;    /* uint32_t */
  GArray *changed;          /* RaTaskId */
};

static Side
side_of(RaTaskKind kind)
{
  switch (ra_task_class(kind)) {
  case RA_TASK_CLASS_DEVICE:
    return SIDE_DEVICE;
  case RA_TASK_CLASS_COMM:
    return SIDE_COMM;
  case RA_TASK_CLASS_MOVE:
    return kind == RA_TASK_REALLOC || kind == RA_TASK_TRANSFER ? SIDE_COMM
                                                               : SIDE_NONE;
  default:
    return SIDE_NONE;
  }
}

static gboolean
any_beside(const RaTaskGraph *graph, const RaCost *costs)
{
  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    if (costs[t].beside_s > 0)
      return TRUE;
  return FALSE;
}

RaInterfere *
ra_interfere_new(const RaTaskGraph *graph, const RaCost *costs)
{
  RaInterfere *x;

  g_return_val_if_fail(graph && costs, NULL);
  if (!any_beside(graph, costs))
    return NULL;
  x = g_new0(RaInterfere, 1);
  x->graph = graph;
  x->costs = costs;
  x->runners = g_new0(Runner, graph->n_tasks);
  x->lanes = g_new0(Lane, MAX(graph->n_lanes, 1u));
  x->changed_lanes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  x->changed = g_array_new(FALSE, FALSE, sizeof(RaTaskId));
  return x;
}

void
ra_interfere_free(RaInterfere *x)
{
  if (!x)
    return;
  for (uint32_t lane = 0; lane < x->graph->n_lanes; lane++)
    g_free(x->lanes[lane].tasks);
  g_free(x->runners);
  g_free(x->lanes);
  g_array_unref(x->changed_lanes);
  g_array_unref(x->changed);
  g_free(x);
}

static void
list_task(RaInterfere *x, RaTaskId task)
{
  if (x->runners[task].listed)
    return;
  x->runners[task].listed = TRUE;
  g_array_append_val(x->changed, task);
}

/* The task comes to the lane or leaves it. */
static void
change_lane(RaInterfere *x, uint32_t index, RaTaskId task, gboolean comes)
{
  Lane *lane = &x->lanes[index];
  Side side = (Side)x->runners[task].side;

  if (comes) {
    if (lane->n == lane->room) {
      lane->room = 2 * lane->room + 2;
      lane->tasks = g_renew(OnLane, lane->tasks, lane->room);
    }
    lane->tasks[lane->n++] = (OnLane){task, FALSE};
    lane->n_side[side]++;
  } else {
    guint at = 0;

    while (lane->tasks[at].task != task)
      at++;
    lane->tasks[at] = lane->tasks[--lane->n];
    lane->n_side[side]--;
  }
  if (!lane->listed) {
    lane->listed = TRUE;
    g_array_append_val(x->changed_lanes, index);
  }
}

static void
change_lanes(RaInterfere *x, RaTaskId task, gboolean comes)
{
  const RaTaskGraph *graph = x->graph;
  uint32_t group = graph->group[task];

  if (x->runners[task].side == SIDE_NONE)
    return;
  for (uint32_t i = graph->group_begin[group];
       i < graph->group_begin[group + 1]; i++)
    change_lane(x, graph->group_lane[i], task, comes);
}

void
ra_interfere_start(RaInterfere *x, RaTaskId task, uint32_t seq, double now_s,
                   RaQueue *queue)
{
  Runner *runner = &x->runners[task];
  const RaCost *cost = &x->costs[task];

  runner->since_s = now_s;
  runner->left_s = cost->total_s;
  runner->stretch = 1;
  runner->side = SIDE_NONE;
  runner->end_s = -1; /* not pushed yet */
  runner->seq = seq;
  runner->runs = TRUE;
  if (runner->left_s <= 0) {
    runner->end_s = now_s;
    ra_queue_push(queue, (RaEvent){.time_s = now_s, .seq = seq, .task = task});
    return;
  }
  runner->stretch = 1 + cost->beside_s / cost->total_s;
  runner->side = (uint8_t)side_of((RaTaskKind)x->graph->kind[task]);
  change_lanes(x, task, TRUE);
  list_task(x, task);
}

void
ra_interfere_enter(RaInterfere *x, RaTaskId task)
{
  Runner *runner = &x->runners[task];

  runner->stretch = 1;
  runner->runs = FALSE; /* no end of its own */
  runner->side = (uint8_t)side_of((RaTaskKind)x->graph->kind[task]);
  change_lanes(x, task, TRUE);
}

void
ra_interfere_leave(RaInterfere *x, RaTaskId task)
{
  change_lanes(x, task, FALSE);
}

/* Settles which of the lane's tasks now overlap with others. */
static void
settle_lane(RaInterfere *x, Lane *lane)
{
  lane->listed = FALSE;
  for (guint i = 0; i < lane->n; i++) {
    OnLane *on = &lane->tasks[i];
    Runner *runner = &x->runners[on->task];
    gboolean beside = lane->n_side[!runner->side] > 0;

    if (beside == on->counted)
      continue;
    on->counted = beside;
    runner->n_beside += beside ? 1 : UINT32_MAX;
    list_task(x, on->task);
  }
}

/* The rest of the task at another rate from @now_s on. */
static void
set_rate(Runner *runner, gboolean slowed, double now_s)
{
  double passed_s = now_s - runner->since_s;
  double done_s = runner->slowed ? passed_s / runner->stretch : passed_s;

  if (runner->slowed)
    runner->added_s += passed_s - done_s;
  runner->left_s = MAX(runner->left_s - done_s, 0);
  runner->since_s = now_s;
  runner->slowed = (uint8_t)slowed;
}

static void
settle_task(RaInterfere *x, RaTaskId task, double now_s, RaQueue *queue)
{
  Runner *runner = &x->runners[task];
  gboolean slowed = runner->n_beside > 0 && runner->stretch > 1;
  double left_s, end_s;

  runner->listed = FALSE;
  if (!runner->runs)
    return;
  if (slowed != runner->slowed)
    set_rate(runner, slowed, now_s);
  left_s = slowed ? runner->left_s * runner->stretch : runner->left_s;
  end_s = runner->since_s + left_s;
  if (end_s == runner->end_s)
    return;
  runner->end_s = end_s;
  ra_queue_push(queue,
                (RaEvent){.time_s = end_s, .seq = runner->seq, .task = task});
}

void
ra_interfere_settle(RaInterfere *x, double now_s, RaQueue *queue)
{
  for (guint i = 0; i < x->changed_lanes->len; i++)
    settle_lane(x, &x->lanes[g_array_index(x->changed_lanes, uint32_t, i)]);
  g_array_set_size(x->changed_lanes, 0);
  for (guint i = 0; i < x->changed->len; i++)
    settle_task(x, g_array_index(x->changed, RaTaskId, i), now_s, queue);
  g_array_set_size(x->changed, 0);
}

gboolean
ra_interfere_is_end(RaInterfere *x, const RaEvent *event)
{
  Runner *runner = &x->runners[event->task];

  if (!runner->runs || event->time_s != runner->end_s)
    return FALSE;
  set_rate(runner, FALSE, event->time_s);
  runner->runs = FALSE;
  change_lanes(x, event->task, FALSE);
  return TRUE;
}

double *
ra_interfere_added_s(RaInterfere *x)
{
  double *added_s = g_new(double, MAX(x->graph->n_tasks, 1u));

  for (RaTaskId t = 0; t < x->graph->n_tasks; t++)
    added_s[t] = x->runners[t].added_s;
  return added_s;
}
