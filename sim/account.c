/* Account of GPU time: partition of each lane's time over a window. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "sim/account.h"
#include "sim/task_class.h"

struct _RaAccount {
  const RaTaskGraph *graph;  /* borrowed */
  const RaCost *costs;       /* (n_tasks) borrowed from the sim */
  const RaSimResult *result; /* borrowed from the sim */
  uint32_t n_calls;          /* of the workload */
  gsize *lane_begin;         /* (n_lanes + 1) CSR into lane_task */
  RaTaskId *lane_task;       /* tasks of the lane by (begin, id) */
  uint32_t *call_n_gpus;     /* (n_calls) */
  uint32_t n_gpus;           /* of lanes with a task */
};

typedef struct {
  double begin_s;
  RaTaskId task;
} Start;

static int
compare_starts(const void *a, const void *b)
{
  const Start *x = a, *y = b;

  if (x->begin_s != y->begin_s)
    return x->begin_s < y->begin_s ? -1 : 1;
  return x->task < y->task ? -1 : x->task > y->task;
}

static const RaNode *
task_node(const RaTaskGraph *graph, RaTaskId task)
{
  return &graph->augmented->nodes[graph->node[task]];
}

/* Fills the CSR of lanes' tasks: counted first, then laid in order of begin. */
static void
list_lanes(RaAccount *account)
{
  const RaTaskGraph *graph = account->graph;
  g_autofree Start *starts = g_new(Start, graph->n_tasks);
  g_autofree gsize *next = NULL;

  account->lane_begin = g_new0(gsize, graph->n_lanes + 1);
  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    uint32_t group = graph->group[t];

    starts[t] = (Start){account->result->begin_s[t], t};
    for (uint32_t i = graph->group_begin[group];
         i < graph->group_begin[group + 1]; i++)
      account->lane_begin[graph->group_lane[i] + 1]++;
  }
  for (uint32_t lane = 0; lane < graph->n_lanes; lane++)
    account->lane_begin[lane + 1] += account->lane_begin[lane];
  if (graph->n_tasks > 0)
    qsort(starts, graph->n_tasks, sizeof *starts, compare_starts);
  account->lane_task = g_new(RaTaskId, account->lane_begin[graph->n_lanes]);
  next = g_memdup2(account->lane_begin,
                   (graph->n_lanes + 1) * sizeof *account->lane_begin);
  for (uint32_t s = 0; s < graph->n_tasks; s++) {
    uint32_t group = graph->group[starts[s].task];

    for (uint32_t i = graph->group_begin[group];
         i < graph->group_begin[group + 1]; i++)
      account->lane_task[next[graph->group_lane[i]]++] = starts[s].task;
  }
}

static void
count_gpus(RaAccount *account)
{
  const RaTaskGraph *graph = account->graph;
  /* The last lane, plus 1, on which the call was seen. */
  g_autofree uint32_t *seen = g_new0(uint32_t, account->n_calls);

  account->call_n_gpus = g_new0(uint32_t, account->n_calls);
  for (uint32_t lane = 0; lane < graph->n_lanes; lane++) {
    if (account->lane_begin[lane] == account->lane_begin[lane + 1])
      continue;
    account->n_gpus += graph->lanes[lane].n_gpus;
    for (gsize i = account->lane_begin[lane]; i < account->lane_begin[lane + 1];
         i++) {
      const RaNode *node = task_node(graph, account->lane_task[i]);

      if (node->kind != RA_NODE_CALL || seen[node->call] == lane + 1)
        continue;
      seen[node->call] = lane + 1;
      account->call_n_gpus[node->call] += graph->lanes[lane].n_gpus;
    }
  }
}

RaAccount *
ra_account_new(const RaSim *sim, const RaTaskGraph *graph)
{
  RaAccount *account;

  g_return_val_if_fail(sim && graph, NULL);
  account = g_new0(RaAccount, 1);
  account->graph = graph;
  account->costs = ra_sim_costs(sim);
  account->result = ra_sim_result(sim);
  account->n_calls = graph->augmented->plan->workload->n_calls;
  list_lanes(account);
  count_gpus(account);
  return account;
}

void
ra_account_free(RaAccount *account)
{
  if (!account)
    return;
  g_free(account->lane_begin);
  g_free(account->lane_task);
  g_free(account->call_n_gpus);
  g_free(account);
}

uint32_t
ra_account_n_gpus(const RaAccount *account)
{
  return account->n_gpus;
}

uint32_t
ra_account_call_n_gpus(const RaAccount *account, uint32_t call)
{
  g_return_val_if_fail(call < account->n_calls, 0);
  return account->call_n_gpus[call];
}

/* A stretch of a lane's time and its owner, which is charged. */
typedef struct {
  double begin_s, end_s;
  uint32_t owner; /* task, or span (iteration x calls + call); a gap: none */
} Stretch;

/* Sums over the lanes, of a call or (two of them) of the rest.  Exact, so that
 * it is the same whether alike lanes are one or many. */
typedef struct {
  RaSum sums[5];
} Totals;

/* One window of one lane: the gaps that have no owner yet. */
typedef struct {
  const RaAccount *account;
  double begin_s, end_s;  /* the window */
  GArray *gaps;           /* (Stretch) ascending, disjoint */
  GArray *left;           /* (Stretch) gaps after the present painting */
  GArray *stretches;      /* (Stretch) ascending, disjoint: what is painted */
  Stretch *spans;         /* (iterations x calls) */
  RaAccountShare *shares; /* (n_calls) of one GPU of the lane */
  RaAccountRest rest;     /* of one GPU of the lane */
  Totals *totals;         /* (n_calls + 1) summed up here, the rest last */
} Sweep;

typedef void (*Charge)(Sweep *sweep, uint32_t owner, double charged_s);

static void
charge_device(Sweep *sweep, uint32_t task, double charged_s)
{
  const RaCost *cost = &sweep->account->costs[task];
  const RaNode *node = task_node(sweep->account->graph, task);
  RaAccountShare *share = &sweep->shares[node->call];
  double causes_s = cost->compute_s + cost->comm_s + cost->host_s;
  double added_s = ra_sim_added_s(sweep->account->result, task);
  double scale = charged_s / (MAX(cost->total_s, causes_s) + added_s);

  share->compute_gpu_s += cost->compute_s * scale;
  share->comm_gpu_s += cost->comm_s * scale;
  share->host_gpu_s += cost->host_s * scale;
  /* Not below 0 by a rounding. */
  share->bubble_gpu_s += MAX(cost->total_s - causes_s, 0) * scale;
  share->interference_gpu_s += added_s * scale;
}

static void
charge_comm(Sweep *sweep, uint32_t task, double charged_s)
{
  sweep->shares[task_node(sweep->account->graph, task)->call].comm_gpu_s +=
      charged_s;
}

static void
charge_host(Sweep *sweep, uint32_t task, double charged_s)
{
  sweep->shares[task_node(sweep->account->graph, task)->call].host_gpu_s +=
      charged_s;
}

static void
charge_move(Sweep *sweep, uint32_t task, double charged_s)
{
  sweep->rest.realloc_gpu_s += charged_s;
}

static void
charge_bubble(Sweep *sweep, uint32_t span, double charged_s)
{
  sweep->shares[span % sweep->account->n_calls].bubble_gpu_s += charged_s;
}

static void
add_stretch(GArray *stretches, double begin_s, double end_s, uint32_t owner)
{
  Stretch stretch = {begin_s, end_s, owner};

  if (end_s > begin_s)
    g_array_append_val(stretches, stretch);
}

/* Charges the parts of the gaps that the stretches cover; the rest stays a
 * gap. */
static void
paint(Sweep *sweep, Charge charge)
{
  const Stretch *stretches = (const Stretch *)(void *)sweep->stretches->data;
  GArray *swap = sweep->gaps;
  guint at = 0;

  g_array_set_size(sweep->left, 0);
  for (guint g = 0; g < sweep->gaps->len; g++) {
    Stretch gap = g_array_index(sweep->gaps, Stretch, g);
    double cursor_s = gap.begin_s;

    while (at < sweep->stretches->len && stretches[at].end_s <= gap.begin_s)
      at++;
    for (guint s = at;
         s < sweep->stretches->len && stretches[s].begin_s < gap.end_s; s++) {
      double begin_s = MAX(stretches[s].begin_s, cursor_s);
      double end_s = MIN(stretches[s].end_s, gap.end_s);

      add_stretch(sweep->left, cursor_s, begin_s, RA_NONE);
      charge(sweep, stretches[s].owner, end_s - begin_s);
      cursor_s = end_s;
    }
    add_stretch(sweep->left, cursor_s, gap.end_s, RA_NONE);
  }
  sweep->gaps = sweep->left;
  sweep->left = swap;
}

/* The lane's tasks of @class within the window, made disjoint: where two
 * overlap the one that began first has it. */
static void
collect_class(Sweep *sweep, uint32_t lane, RaTaskClass class)
{
  const RaAccount *account = sweep->account;
  double cursor_s = sweep->begin_s;

  g_array_set_size(sweep->stretches, 0);
  for (gsize i = account->lane_begin[lane]; i < account->lane_begin[lane + 1];
       i++) {
    RaTaskId task = account->lane_task[i];
    double begin_s, end_s;

    if (ra_task_class(account->graph->kind[task]) != class)
      continue;
    begin_s = MAX(account->result->begin_s[task], cursor_s);
    end_s = MIN(account->result->end_s[task], sweep->end_s);
    add_stretch(sweep->stretches, begin_s, end_s, task);
    cursor_s = MAX(cursor_s, end_s);
  }
}

static int
compare_stretches(const void *a, const void *b)
{
  const Stretch *x = a, *y = b;

  if (x->begin_s != y->begin_s)
    return x->begin_s < y->begin_s ? -1 : 1;
  return x->owner < y->owner ? -1 : x->owner > y->owner;
}

/* From the first begin to the last end of each call and iteration on the
 * lane, made disjoint. */
static void
collect_spans(Sweep *sweep, uint32_t lane)
{
  const RaAccount *account = sweep->account;
  uint32_t n_iterations = account->graph->augmented->n_iterations;
  gsize n_spans = (gsize)n_iterations * account->n_calls;
  double cursor_s = sweep->begin_s;

  for (gsize s = 0; s < n_spans; s++)
    sweep->spans[s] = (Stretch){G_MAXDOUBLE, 0, RA_NONE};
  for (gsize i = account->lane_begin[lane]; i < account->lane_begin[lane + 1];
       i++) {
    RaTaskId task = account->lane_task[i];
    const RaNode *node = task_node(account->graph, task);
    uint32_t owner = node->iteration * account->n_calls + node->call;
    Stretch *span = &sweep->spans[owner];

    if (node->kind != RA_NODE_CALL)
      continue;
    span->begin_s = MIN(span->begin_s, account->result->begin_s[task]);
    span->end_s = MAX(span->end_s, account->result->end_s[task]);
    span->owner = owner;
  }
  qsort(sweep->spans, n_spans, sizeof *sweep->spans, compare_stretches);
  g_array_set_size(sweep->stretches, 0);
  for (gsize s = 0; s < n_spans; s++) {
    double begin_s = MAX(sweep->spans[s].begin_s, cursor_s);
    double end_s = MIN(sweep->spans[s].end_s, sweep->end_s);

    add_stretch(sweep->stretches, begin_s, end_s, sweep->spans[s].owner);
    cursor_s = MAX(cursor_s, end_s);
  }
}

/* Adds the lane's charges, once for each of its GPUs. */
static void
add_lane(Sweep *sweep, uint32_t lane)
{
  uint32_t n_gpus = sweep->account->graph->lanes[lane].n_gpus;
  uint32_t n_calls = sweep->account->n_calls;

  for (uint32_t c = 0; c < n_calls; c++) {
    const RaAccountShare *share = &sweep->shares[c];
    RaSum *sums = sweep->totals[c].sums;
    ra_sum_add(&sums[0], share->compute_gpu_s, n_gpus);
    ra_sum_add(&sums[1], share->comm_gpu_s, n_gpus);
    ra_sum_add(&sums[2], share->host_gpu_s, n_gpus);
    ra_sum_add(&sums[3], share->bubble_gpu_s, n_gpus);
    ra_sum_add(&sums[4], share->interference_gpu_s, n_gpus);
  }
  ra_sum_add(&sweep->totals[n_calls].sums[0], sweep->rest.realloc_gpu_s,
             n_gpus);
  ra_sum_add(&sweep->totals[n_calls].sums[1], sweep->rest.idle_gpu_s, n_gpus);
}

static void
sweep_lane(Sweep *sweep, uint32_t lane)
{
  static const Charge charges[RA_N_TASK_CLASSES] = {
      [RA_TASK_CLASS_DEVICE] = charge_device,
      [RA_TASK_CLASS_COMM] = charge_comm,
      [RA_TASK_CLASS_HOST] = charge_host,
      [RA_TASK_CLASS_MOVE] = charge_move,
  };

  memset(sweep->shares, 0, sweep->account->n_calls * sizeof *sweep->shares);
  sweep->rest = (RaAccountRest){0, 0};
  g_array_set_size(sweep->gaps, 0);
  add_stretch(sweep->gaps, sweep->begin_s, sweep->end_s, RA_NONE);
  for (int class = 0; class < RA_N_TASK_CLASSES; class ++) {
    collect_class(sweep, lane, (RaTaskClass) class);
    paint(sweep, charges[class]);
  }
  collect_spans(sweep, lane);
  paint(sweep, charge_bubble);
  for (guint g = 0; g < sweep->gaps->len; g++) {
    Stretch gap = g_array_index(sweep->gaps, Stretch, g);

    sweep->rest.idle_gpu_s += gap.end_s - gap.begin_s;
  }
  add_lane(sweep, lane);
}

/* Rounds the totals, at last. */
static void
read_totals(const Sweep *sweep, RaAccountRest *out_rest)
{
  uint32_t n_calls = sweep->account->n_calls;

  for (uint32_t c = 0; c < n_calls; c++) {
    const RaSum *sums = sweep->totals[c].sums;
    sweep->shares[c] = (RaAccountShare){
        ra_sum_get(&sums[0]), ra_sum_get(&sums[1]), ra_sum_get(&sums[2]),
        ra_sum_get(&sums[3]), ra_sum_get(&sums[4])};
  }
  if (out_rest)
    *out_rest = (RaAccountRest){ra_sum_get(&sweep->totals[n_calls].sums[0]),
                                ra_sum_get(&sweep->totals[n_calls].sums[1])};
}

RaAccountShare *
ra_account_window(const RaAccount *account, double begin_s, double end_s,
                  RaAccountRest *out_rest)
{
  gsize n_spans =
      (gsize)account->graph->augmented->n_iterations * account->n_calls;
  Sweep sweep = {.account = account,
                 .begin_s = begin_s,
                 .end_s = end_s,
                 .gaps = g_array_new(FALSE, FALSE, sizeof(Stretch)),
                 .left = g_array_new(FALSE, FALSE, sizeof(Stretch)),
                 .stretches = g_array_new(FALSE, FALSE, sizeof(Stretch)),
                 .spans = g_new(Stretch, n_spans),
                 .shares = g_new0(RaAccountShare, account->n_calls),
                 .totals = g_new0(Totals, account->n_calls + 1)};

  g_return_val_if_fail(end_s >= begin_s, NULL);
  for (uint32_t lane = 0; lane < account->graph->n_lanes; lane++)
    if (account->lane_begin[lane] < account->lane_begin[lane + 1])
      sweep_lane(&sweep, lane);
  read_totals(&sweep, out_rest);
  g_free(sweep.totals);
  g_array_unref(sweep.gaps);
  g_array_unref(sweep.left);
  g_array_unref(sweep.stretches);
  g_free(sweep.spans);
  return sweep.shares;
}
