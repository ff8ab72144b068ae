/* How fast the engine replays: tasks/s, events in flight and bytes a task.
 *
 * Graphs are 1F1B pipelines with a send between stages, a queue on every
 * stream, and jittered durations, so that no two events are at one time: 2.5
 * edges a task.  A row a size; the median of the runs counts.  Memory is what
 * the graph (without its arena's slack) and the run ask of the allocator.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "bench/figure.h"
#include "sim/sim.h"

enum { N_STAGES = 16, MAX_RUNS = 9 };

/* The records that a graph needs around it. */
typedef struct {
  RaTaskGraph graph;
  RaAugmented augmented;
  RaNode node;
  RaPlan plan;
  RaWorkload workload;
  RaArena *arena;
  double *duration_s; /* (n_tasks) */
} Case;

/* Attributes of a task while the graph is made. */
typedef struct {
  uint8_t *kind, *stream;
  uint16_t *stage, *mini_batch, *micro_batch, *bucket;
  uint32_t *replica, *node, *work, *group, *n_pred;
  GArray *from, *to; /* (RaTaskId) edges */
  uint32_t n;
} Builder;

static void
add_edge(Builder *b, RaTaskId from, RaTaskId to)
{
  if (from == RA_NONE)
    return;
  g_array_append_val(b->from, from);
  g_array_append_val(b->to, to);
}

static RaTaskId
add_task(Builder *b, RaTaskKind kind, RaStream stream, uint32_t replica,
         uint32_t stage, uint32_t micro_batch)
{
  RaTaskId t = b->n++;

  b->kind[t] = (uint8_t)kind;
  b->stream[t] = (uint8_t)stream;
  b->replica[t] = replica;
  b->stage[t] = (uint16_t)stage;
  b->micro_batch[t] = (uint16_t)micro_batch;
  b->mini_batch[t] = (uint16_t)(micro_batch >> 16);
  b->work[t] = RA_NONE;
  return t;
}

/* A send waits for its producer and, on both ends' queues, for the last one. */
static RaTaskId
add_send(Builder *b, RaStream stream, uint32_t replica, uint32_t stage,
         uint32_t micro_batch, RaTaskId producer, RaTaskId *inout_last)
{
  RaTaskId send =
      add_task(b, RA_TASK_SEND, stream, replica, stage, micro_batch);

  add_edge(b, producer, send);
  add_edge(b, *inout_last, send);
  add_edge(b, *inout_last, send);
  *inout_last = send;
  return send;
}

/* One replica's pipeline over @n_micro micro-batches: 4 N_STAGES - 2 tasks
 * each.  Slot k of stage s is in the order of 1F1B; tasks are appended stage by
 * stage as the lowering does, so their successors lie far apart. */
static void
add_replica(Builder *b, uint32_t replica, uint32_t n_micro)
{
  gsize n = (gsize)N_STAGES * n_micro;
  g_autofree RaTaskId *forward = g_new(RaTaskId, n);
  g_autofree RaTaskId *backward = g_new(RaTaskId, n);

  for (uint32_t s = 0; s < N_STAGES; s++) {
    uint32_t n_warm = MIN(N_STAGES - 1 - s, n_micro);
    RaTaskId last = RA_NONE;

    for (uint32_t k = 0; k < 2 * n_micro; k++) {
      uint32_t f = k < n_warm ? k : n_warm + (k - n_warm) / 2;
      gboolean is_forward =
          k < n_warm || (f < n_micro && (k - n_warm) % 2 == 0);
      uint32_t m = is_forward    ? f
                   : f < n_micro ? (k - n_warm) / 2
                                 : k - n_micro;
      RaTaskId t = add_task(b, is_forward ? RA_TASK_FORWARD : RA_TASK_BACKWARD,
                            RA_STREAM_COMPUTE, replica, s, m);

      (is_forward ? forward : backward)[(gsize)s * n_micro + m] = t;
      add_edge(b, last, t);
      last = t;
    }
  }
  for (uint32_t s = 0; s + 1 < N_STAGES; s++) {
    RaTaskId last = RA_NONE, last_back = RA_NONE;

    for (uint32_t m = 0; m < n_micro; m++) {
      gsize here = (gsize)s * n_micro + m, next = here + n_micro;

      add_edge(
          b,
          add_send(b, RA_STREAM_PP_SEND, replica, s, m, forward[here], &last),
          forward[next]);
      add_edge(b,
               add_send(b, RA_STREAM_PP_SEND_BACK, replica, s + 1, m,
                        backward[next], &last_back),
               backward[here]);
    }
  }
  for (uint32_t m = 0; m < n_micro; m++)
    add_edge(b, forward[(gsize)(N_STAGES - 1) * n_micro + m],
             backward[(gsize)(N_STAGES - 1) * n_micro + m]);
}

static void
fill_csr(Case *c, Builder *b)
{
  const RaTaskId *from = (const RaTaskId *)(void *)b->from->data;
  const RaTaskId *to = (const RaTaskId *)(void *)b->to->data;
  uint32_t n_edges = b->from->len;
  uint32_t *begin = ra_arena_alloc(c->arena, b->n + 1, sizeof *begin);
  RaTaskId *succ = ra_arena_alloc(c->arena, n_edges, sizeof *succ);
  g_autofree uint32_t *next = g_new(uint32_t, b->n + 1);

  for (uint32_t e = 0; e < n_edges; e++) {
    begin[from[e] + 1]++;
    b->n_pred[to[e]]++;
  }
  for (uint32_t t = 0; t < b->n; t++)
    begin[t + 1] += begin[t];
  memcpy(next, begin, (b->n + 1) * sizeof *next);
  for (uint32_t e = 0; e < n_edges; e++)
    succ[next[from[e]]++] = to[e];
  c->graph.succ_begin = begin;
  c->graph.succ = succ;
  g_array_unref(b->from);
  g_array_unref(b->to);
}

static void
builder_init(Builder *b, RaArena *arena, uint32_t n)
{
  b->kind = ra_arena_alloc(arena, n, 1);
  b->stream = ra_arena_alloc(arena, n, 1);
  b->stage = ra_arena_alloc(arena, n, 2);
  b->mini_batch = ra_arena_alloc(arena, n, 2);
  b->micro_batch = ra_arena_alloc(arena, n, 2);
  b->bucket = ra_arena_alloc(arena, n, 2);
  b->replica = ra_arena_alloc(arena, n, 4);
  b->node = ra_arena_alloc(arena, n, 4);
  b->work = ra_arena_alloc(arena, n, 4);
  b->group = ra_arena_alloc(arena, n, 4);
  b->n_pred = ra_arena_alloc(arena, n, 4);
  b->from = g_array_new(FALSE, FALSE, sizeof(RaTaskId));
  b->to = g_array_new(FALSE, FALSE, sizeof(RaTaskId));
}

/* At least @n_tasks tasks in @n_replicas pipelines. */
static Case *
case_new(uint32_t n_tasks, uint32_t n_replicas)
{
  uint32_t a_micro = (4 * N_STAGES - 2) * n_replicas;
  uint32_t n_micro = (n_tasks + a_micro - 1) / a_micro;
  RaRng rng = ra_rng_init(1, 0);
  Case *c = g_new0(Case, 1);
  Builder b = {.n = 0};

  c->arena = ra_arena_new(0);
  builder_init(&b, c->arena, n_micro * a_micro);
  for (uint32_t r = 0; r < n_replicas; r++)
    add_replica(&b, r, n_micro);
  c->node = (RaNode){.kind = RA_NODE_CALL, .source = RA_NONE, .n_parts = 1};
  c->augmented = (RaAugmented){
      .plan = &c->plan, .n_iterations = 1, .n_nodes = 1, .nodes = &c->node};
  c->plan.workload = &c->workload;
  c->graph = (RaTaskGraph){.augmented = &c->augmented,
                           .n_tasks = b.n,
                           .kind = b.kind,
                           .stream = b.stream,
                           .stage = b.stage,
                           .mini_batch = b.mini_batch,
                           .micro_batch = b.micro_batch,
                           .bucket = b.bucket,
                           .replica = b.replica,
                           .node = b.node,
                           .work = b.work,
                           .group = b.group,
                           .n_pred = b.n_pred};
  fill_csr(c, &b);
  c->duration_s = g_new(double, b.n);
  for (uint32_t t = 0; t < b.n; t++)
    c->duration_s[t] =
        (b.kind[t] == RA_TASK_SEND ? 0.1 : 1) * (0.5 + ra_rng_uniform(&rng));
  return c;
}

static void
case_free(Case *c)
{
  ra_arena_free(c->arena);
  g_free(c->duration_s);
  g_free(c);
}

/* Peak of what this process had resident, bytes; 0 where Linux does not say. */
static double
peak_rss_bytes(void)
{
  g_autofree char *text = NULL;
  const char *line;

  if (!g_file_get_contents("/proc/self/status", &text, NULL, NULL))
    return 0;
  line = strstr(text, "VmHWM:");
  return line ? g_ascii_strtod(line + strlen("VmHWM:"), NULL) * 1024 : 0;
}

/* Median seconds of @n_runs runs, from a simulator made afresh each time. */
static double
time_runs(const Case *c, guint n_runs, double *out_min_s, double *out_max_s)
{
  double times_s[MAX_RUNS];

  for (guint r = 0; r < n_runs; r++) {
    RaSim *sim = ra_sim_new_with_durations(&c->graph, c->duration_s);
    double begin_s = bench_wall_s();

    if (!ra_sim_run(sim, NULL))
      g_error("the benchmark's graph has a cycle");
    times_s[r] = bench_wall_s() - begin_s;
    ra_sim_free(sim);
  }
  bench_sort(times_s, n_runs);
  *out_min_s = times_s[0];
  *out_max_s = times_s[n_runs - 1];
  return times_s[n_runs / 2];
}

static double
run_case(uint32_t n_tasks, uint32_t n_replicas, guint n_runs)
{
  Case *c = case_new(n_tasks, n_replicas);
  uint32_t n = c->graph.n_tasks;
  double min_s, max_s, s = time_runs(c, n_runs, &min_s, &max_s);

  printf("%u\t%.3g\t%u\t%u\t%.9g\t%.9g\t%.9g\t%.9g\n", n,
         (double)c->graph.succ_begin[n] / n, n_replicas * N_STAGES, n_runs, s,
         min_s, max_s, n / s);
  case_free(c);
  return n / s;
}

/* Bytes a task of the graph and its run. */
static double
bytes_a_task(uint32_t n_tasks)
{
  Case *c = case_new(n_tasks, 64);
  gsize graph_bytes = ra_arena_used_bytes(c->arena);
  /* sim/sim.c at its peak: the costs, the states (32 bytes) and the arrays of
   * the result; the queue holds a task a stream, which is nothing beside. */
  gsize run_bytes =
      (gsize)c->graph.n_tasks *
      (sizeof(RaCost) + 32 + 2 * sizeof(double) + sizeof(RaTaskId));
  double bytes = (double)(graph_bytes + run_bytes) / c->graph.n_tasks;

  case_free(c);
  return bytes;
}

int
main(int argc, char **argv)
{
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  guint n_runs = quick ? 3 : MAX_RUNS;
  /* 10^7 tasks in 2 GiB. */
  double limit_bytes = 2147483648.0 / 1e7;
  double rate, bytes;

  printf("# tasks/s of ra_sim_run() on one core, fingerprint included\n");
  printf("n_tasks\tedges_per_task\tn_stages\tn_runs\tmedian_s\tmin_s\tmax_s\t"
         "tasks_per_s\n");
  run_case(10000, 4, n_runs);
  run_case(100000, 16, n_runs);
  rate = run_case(1000000, 64, n_runs);
  if (!quick)
    run_case(10000000, 64, 3);
  bytes = bytes_a_task(1000000);
  printf("# peak resident, durations and lists of edges of this benchmark "
         "included: %.9g bytes\n",
         peak_rss_bytes());
  bench_bar("sim_tasks_per_s", rate, BENCH_AT_LEAST, 2e6);
  bench_bar("sim_bytes_per_task", bytes, BENCH_AT_MOST, limit_bytes);
  return 0;
}
