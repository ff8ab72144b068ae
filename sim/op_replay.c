/* Replay of a task's ops: launches, jitter, stragglers. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "sim/fingerprint.h"
#include "sim/op_cost.h"
#include "sim/op_replay.h"

/* One run of one op, in the order of its block. */
typedef struct {
  uint8_t op;        /* index into the program's ops */
  uint8_t is_comm;   /* else it computes */
  uint8_t is_behind; /* RA_OP_BEHIND */
  uint8_t kind;      /* RaOpKind */
} Step;

/* Data that works of one shape share: all but the dimensions of their ops. */
typedef struct {
  uint32_t shard;
  uint8_t phase, has[RA_N_BLOCKS]; /* which blocks the pieces have */
  RaOpProgram program;             /* of one of them */
  Step *steps[RA_N_BLOCKS];        /* (n_steps) owned */
  guint n_steps[RA_N_BLOCKS];
} Template;

struct _RaOpReplay {
  const RaTaskGraph *graph; /* borrowed */
  RaOpCosts *costs;         /* owned */
  GArray *templates;        /* Template */
  uint32_t *template_of;    /* (n_works) RA_NONE: one op */
  double *issued_s; /* (n_groups) when the host has launched all so far */
  /* where ranks are unlike, else NULL */
  uint32_t *gpu_begin; /* (n_lanes + 1) CSR into gpu */
  uint32_t *gpu;       /* cluster-wide numbers, lane by lane */
  double *slow;        /* (cluster GPUs) factor of each one's time */
  double *rank_s;      /* scratch: when each GPU of the group is free */
  uint32_t *ranks;     /* scratch: the group's GPUs */
  double jitter;       /* standard deviation over that of the bare sum */
  double step_jitter;  /* the same of an iteration */
  RaOpVisit visit;     /* nullable */
  void *data;          /* its */
};

/* ---- Works --------------------------------------------------------------- */

static void
compile(Template *t)
{
  RaOpProgram *p = &t->program;

  for (guint block = 0; block < RA_N_BLOCKS; block++) {
    guint end = p->first[block] + p->n[block];
    GArray *steps = g_array_new(FALSE, FALSE, sizeof(Step));
    uint32_t run = 0;

    for (guint i = p->first[block]; i < end;
         i = ra_op_program_next(p, i, &run)) {
      const RaOp *op = &p->ops[i];
      Step step = {(uint8_t)i,
                   ra_op_class((RaOpKind)op->kind) != RA_OP_CLASS_COMPUTE,
                   (op->flags & RA_OP_BEHIND) != 0, op->kind};

      g_array_append_val(steps, step);
    }
    t->n_steps[block] = steps->len;
    t->steps[block] = (Step *)(void *)g_array_free(steps, FALSE);
  }
}

/* The shape of @work, whose program is made if none before it has that. */
static uint32_t
template_of(RaOpReplay *r, uint32_t work)
{
  const RaWork *w = &r->graph->works[work];
  uint8_t has[RA_N_BLOCKS];
  Template *new;

  ra_op_program_blocks(&r->graph->shards[w->shard], &w->piece, has);
  for (guint i = 0; i < r->templates->len; i++) {
    const Template *t = &g_array_index(r->templates, Template, i);

    if (t->shard == w->shard && t->phase == w->phase &&
        memcmp(t->has, has, sizeof has) == 0)
      return i;
  }
  g_array_set_size(r->templates, r->templates->len + 1);
  new = &g_array_index(r->templates, Template, r->templates->len - 1);
  new->shard = w->shard;
  new->phase = w->phase;
  memcpy(new->has, has, sizeof has);
  ra_work_program(r->graph, work, &new->program);
  compile(new);
  return r->templates->len - 1;
}

static void
compile_works(RaOpReplay *r)
{
  const RaTaskGraph *graph = r->graph;

  r->template_of = g_new(uint32_t, graph->n_works + 1);
  for (uint32_t work = 0; work < graph->n_works; work++)
    r->template_of[work] =
        graph->works[work].shard == RA_NONE ? RA_NONE : template_of(r, work);
}

/* ---- Ranks --------------------------------------------------------------- */

/* The sum of four numbers uniform on 0 .. 65535 has variance
 * 4 (65536^2 - 1) / 12. */
static void
set_ranks(RaOpReplay *r)
{
  const RaCluster *cluster = r->graph->augmented->plan->cluster;
  uint32_t n_gpus = ra_cluster_n_gpus(cluster);

  if (!ra_cluster_ranks_differ(cluster))
    return;
  r->gpu = ra_task_graph_gpus(r->graph, n_gpus, &r->gpu_begin);
  r->jitter = cluster->jitter_frac / sqrt((65536.0 * 65536.0 - 1) / 3);
  r->step_jitter =
      cluster->step_jitter_frac / sqrt((65536.0 * 65536.0 - 1) / 3);
  r->slow = g_new(double, n_gpus);
  r->rank_s = g_new(double, n_gpus);
  r->ranks = g_new(uint32_t, n_gpus);
  for (uint32_t i = 0; i < n_gpus; i++) {
    double u = ra_op_replay_share(r->graph->seed, i);

    r->slow[i] = u < cluster->straggler_frac ? cluster->straggler_slowdown : 1;
  }
}

/* The GPUs of @group into the scratch; how many. */
static uint32_t
list_ranks(RaOpReplay *r, uint32_t group)
{
  const RaTaskGraph *g = r->graph;
  uint32_t n = 0;

  for (uint32_t i = g->group_begin[group]; i < g->group_begin[group + 1]; i++) {
    uint32_t lane = g->group_lane[i];

    for (uint32_t j = r->gpu_begin[lane]; j < r->gpu_begin[lane + 1]; j++)
      r->ranks[n++] = r->gpu[j];
  }
  return n;
}

double
ra_op_replay_slowest(const RaOpReplay *r, RaTaskId task)
{
  const RaTaskGraph *g = r->graph;
  uint32_t group = g->group[task];
  double slowest = 1;

  if (!r->slow)
    return 1;
  for (uint32_t i = g->group_begin[group]; i < g->group_begin[group + 1]; i++) {
    uint32_t lane = g->group_lane[i];

    for (uint32_t j = r->gpu_begin[lane]; j < r->gpu_begin[lane + 1]; j++)
      slowest = MAX(slowest, r->slow[r->gpu[j]]);
  }
  return slowest;
}

/* ---- Life ---------------------------------------------------------------- */

RaOpReplay *
ra_op_replay_new(const RaTaskGraph *graph, const RaEstimator *estimator)
{
  RaOpReplay *r = g_new0(RaOpReplay, 1);

  r->graph = graph;
  r->templates = g_array_new(FALSE, FALSE, sizeof(Template));
  r->issued_s = g_new0(double, graph->n_groups);
  compile_works(r);
  r->costs = ra_op_costs_new(graph, estimator);
  set_ranks(r);
  return r;
}

void
ra_op_replay_free(RaOpReplay *r)
{
  if (!r)
    return;
  for (guint i = 0; i < r->templates->len; i++)
    for (guint block = 0; block < RA_N_BLOCKS; block++)
      g_free(g_array_index(r->templates, Template, i).steps[block]);
  g_array_unref(r->templates);
  g_free(r->template_of);
  ra_op_costs_free(r->costs);
  g_free(r->issued_s);
  g_free(r->gpu_begin);
  g_free(r->gpu);
  g_free(r->slow);
  g_free(r->rank_s);
  g_free(r->ranks);
  g_free(r);
}

void
ra_op_replay_set_visit(RaOpReplay *replay, RaOpVisit visit, void *data)
{
  replay->visit = visit;
  replay->data = data;
}

gboolean
ra_op_replay_has(const RaOpReplay *r, RaTaskId task)
{
  uint32_t work = r->graph->work[task];

  return work != RA_NONE && r->template_of[work] != RA_NONE;
}

gboolean
ra_op_replay_runs_ahead(const RaTaskGraph *g, RaTaskId from, RaTaskId to)
{
  return g->group[from] == g->group[to] && g->node[from] == g->node[to] &&
         g->stream[from] == RA_STREAM_COMPUTE &&
         g->stream[to] == RA_STREAM_COMPUTE;
}

/* ---- A task -------------------------------------------------------------- */

/* A task's steps as they run.  Clocks begin with the task: in the run's seconds
 * hundreds of steps would add up a rounding of its length. */
typedef struct {
  RaOpReplay *replay;
  RaTaskId task;
  double begin_s;       /* of the task, in the run */
  const double *op_s;   /* of its work */
  const double *seen_s; /* of its work */
  double at_s;          /* end of the step before */
  double before_s;      /* begin of the step before */
  double issue_s;       /* eager: of the last launch */
  double launch_s;      /* eager: of a launch */
  double gap_s;         /* graph: before a kernel */
  double compute_s;     /* so far */
  double comm_s;        /* so far, exposed */
  double host_s;        /* so far, where ranks are unlike */
  uint64_t hash;        /* so far */
  uint64_t n_steps;     /* so far */
  uint64_t seed;        /* of jitter */
  double step;          /* factor of all GPUs in the iteration */
  uint32_t n_ranks;     /* that are unlike; 0: all alike */
  RaOpCursor cursor;    /* where there is a visitor */
} OpRun;

static inline void
hash_step(OpRun *run, const Step *step, double begin_s, double end_s)
{
  run->hash = ra_hash_u64(run->hash, ra_fingerprint_ns(run->begin_s + begin_s) ^
                                         (uint64_t)step->kind << 56);
  run->hash = ra_hash_u64(run->hash, ra_fingerprint_ns(run->begin_s + end_s));
}

/* All ranks alike: one clock.  Returns when the step ends. */
static inline double
run_step(OpRun *run, const Step *step)
{
  double op_s = run->op_s[step->op], begin_s, end_s, at_s;

  run->issue_s += run->launch_s;
  begin_s = step->is_behind ? run->before_s : run->at_s + run->gap_s;
  begin_s = MAX(begin_s, run->issue_s);
  end_s = at_s = begin_s + op_s;
  if (!step->is_comm)
    run->compute_s += op_s;
  if (step->is_behind)
    at_s = MAX(run->at_s + run->seen_s[step->op], end_s);
  if (step->is_comm)
    run->comm_s += step->is_behind ? at_s - run->at_s : op_s;
  run->before_s = begin_s;
  run->at_s = step->is_behind ? at_s + run->gap_s : at_s;
  hash_step(run, step, begin_s, end_s);
  return end_s;
}

/* Sum of four uniform numbers, centred at 0. */
static inline double
centred_sum(uint64_t bits)
{
  int64_t sum = 0;

  for (guint i = 0; i < 4; i++)
    sum += (int64_t)(bits >> (16 * i) & 0xffff);
  return (double)(sum - 2 * 65535);
}

/* The factor of GPU @gpu's time of the step in hand. */
static double
rank_factor(const OpRun *run, uint32_t gpu)
{
  uint64_t bits = ra_hash_u64(ra_hash_u64(run->seed, run->n_steps), gpu);

  return run->replay->slow[gpu] * run->step *
         (1 + run->replay->jitter * centred_sum(bits));
}

/* Every rank at its own pace. */
static double
compute_of_ranks(OpRun *run, double op_s)
{
  const RaOpReplay *r = run->replay;
  double first_s = (double)INFINITY, last_s = 0, compute_s = 0, host_s = 0;

  for (uint32_t i = 0; i < run->n_ranks; i++) {
    double begin_s = MAX(r->rank_s[i] + run->gap_s, run->issue_s);
    double own_s = op_s * rank_factor(run, r->ranks[i]);

    compute_s += own_s;
    host_s += begin_s - r->rank_s[i];
    first_s = MIN(first_s, begin_s);
    last_s = MAX(last_s, begin_s);
    r->rank_s[i] = begin_s + own_s;
    run->at_s = MAX(run->at_s, r->rank_s[i]);
  }
  run->compute_s += compute_s / run->n_ranks;
  run->host_s += host_s / run->n_ranks;
  run->before_s = last_s;
  return first_s;
}

/* All ranks wait for the last and end at once; behind a computation each goes
 * on when both have ended. */
static double
meet_of_ranks(OpRun *run, const Step *step)
{
  const RaOpReplay *r = run->replay;
  double op_s = run->op_s[step->op], seen_s = run->seen_s[step->op];
  double begin_s = step->is_behind ? run->before_s : run->at_s + run->gap_s;
  double end_s, comm_s = 0;

  begin_s = MAX(begin_s, run->issue_s);
  end_s = begin_s + op_s;
  for (uint32_t i = 0; i < run->n_ranks; i++) {
    double own_s = step->is_behind ? MAX(r->rank_s[i] + seen_s, end_s) : end_s;

    comm_s += step->is_behind ? own_s - r->rank_s[i] : op_s;
    r->rank_s[i] = own_s + (step->is_behind ? run->gap_s : 0);
    run->at_s = MAX(run->at_s, r->rank_s[i]);
  }
  run->comm_s += comm_s / run->n_ranks;
  run->before_s = begin_s;
  return begin_s;
}

static void
run_step_of_ranks(OpRun *run, const Step *step, double *out_begin_s)
{
  run->issue_s += run->launch_s;
  *out_begin_s = step->is_comm ? meet_of_ranks(run, step)
                               : compute_of_ranks(run, run->op_s[step->op]);
  hash_step(run, step, *out_begin_s, run->at_s);
}

/* Runs a block.  An op that does nothing is not launched, and is no step. */
static void
run_block(OpRun *run, const Step *steps, guint n)
{
  for (guint i = 0; i < n; i++) {
    double end_s, begin_s;

    if (run->replay->visit)
      ra_op_cursor_next(&run->cursor);
    if (!(run->op_s[steps[i].op] > 0))
      continue;
    if (run->n_ranks == 0) {
      end_s = run_step(run, &steps[i]);
      begin_s = run->before_s;
    } else {
      run_step_of_ranks(run, &steps[i], &begin_s);
      end_s = run->at_s;
    }
    run->n_steps++;
    if (run->replay->visit)
      run->replay->visit(run->task, &run->cursor, run->begin_s + begin_s,
                         run->begin_s + end_s, run->replay->data);
  }
}

static void
begin_run(OpRun *run, const RaLaunchCost *launch, double host_s)
{
  RaOpReplay *r = run->replay;
  const RaTaskGraph *graph = r->graph;
  const RaWork *work = &graph->works[graph->work[run->task]];
  uint32_t group = graph->group[run->task];

  run->at_s = run->before_s = 0;
  run->issue_s = -run->begin_s;
  if (graph->shards[work->shard].launch == RA_LAUNCH_GRAPH) {
    run->at_s += launch->graph_s;
    run->gap_s = launch->gap_s;
  } else {
    run->issue_s = MAX(r->issued_s[group], host_s) - run->begin_s;
    run->launch_s = launch->eager_s;
  }
  if (!r->slow)
    return;
  run->n_ranks = list_ranks(r, group);
  run->seed = ra_hash_u64(graph->seed, ra_task_name_hash(graph, run->task));
  run->step =
      1 + r->step_jitter *
              centred_sum(ra_hash_u64(
                  ra_hash_u64(~graph->seed, RA_HASH_INIT),
                  graph->augmented->nodes[graph->node[run->task]].iteration));
  run->host_s = run->at_s;
  for (uint32_t i = 0; i < run->n_ranks; i++)
    r->rank_s[i] = run->at_s;
}

static void
end_run(OpRun *run, RaCost *out_cost)
{
  *out_cost = (RaCost){.total_s = run->at_s,
                       .compute_s = run->compute_s,
                       .comm_s = run->comm_s,
                       .host_s = run->host_s,
                       .beside_s = out_cost->beside_s};
  if (run->n_ranks == 0)
    out_cost->host_s = MAX(run->at_s - run->compute_s - run->comm_s, 0);
  run->replay->issued_s[run->replay->graph->group[run->task]] =
      run->begin_s + run->issue_s;
}

uint64_t
ra_op_replay_run(RaOpReplay *r, RaTaskId task, double begin_s, double host_s,
                 RaCost *out_cost, uint64_t *hash)
{
  uint32_t index = r->graph->work[task];
  const RaWork *work = &r->graph->works[index];
  Template *t = &g_array_index(r->templates, Template, r->template_of[index]);
  RaOpProgram own;
  RaOpTimes times = ra_op_costs_of(r->costs, task);
  OpRun run = {.replay = r,
               .task = task,
               .begin_s = begin_s,
               .op_s = times.op_s,
               .seen_s = times.seen_s,
               .hash = *hash};

  t->program.n_blocks += work->piece.n_layers - t->program.piece.n_layers;
  t->program.piece = work->piece;
  if (r->visit) {
    ra_work_program(r->graph, index, &own);
    run.cursor = ra_op_cursor(&own);
  }
  begin_run(&run, times.launch, host_s);
  for (uint32_t i = 0; i < t->program.n_blocks; i++) {
    uint32_t layer;
    RaBlock block = ra_op_program_block(&t->program, i, &layer);

    run_block(&run, t->steps[block], t->n_steps[block]);
  }
  end_run(&run, out_cost);
  *hash = run.hash;
  return run.n_steps;
}
