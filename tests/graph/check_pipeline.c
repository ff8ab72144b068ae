/* Pipelines that the lowering makes and the engine replays, against a list
 * scheduler written from the papers, and against closed forms. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "sim/breakdown.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"

enum { MAX_STAGES = 8, MAX_VIRTUAL = 4, MAX_PIECES = 16, MAX_MICRO = 16 };

static const char *const schedule_names[] = {"gpipe", "1f1b", "interleaved"};

typedef struct {
  int schedule;     /* RaScheduleKind */
  uint32_t p, v, m; /* stages, chunks a stage, micro-batches */
  double forward_s[MAX_PIECES], backward_s[MAX_PIECES];
  double send_s[MAX_PIECES];      /* activations of piece u to u + 1 */
  double send_back_s[MAX_PIECES]; /* gradients of piece u to u - 1 */
} Case;

/* One train call on p nodes, tp 8: nothing but a pipeline; what comes after it
 * takes no time here. */
static PlanText *
plan_of(const Case *c, const char *more_keys)
{
  g_autofree char *cluster = plan_text_cluster(c->p);
  g_autofree char *schedule = c->schedule == RA_SCHEDULE_INTERLEAVED
                                  ? g_strdup_printf("interleaved:%u", c->v)
                                  : g_strdup(schedule_names[c->schedule]);
  g_autofree char *workload = g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = sft\ndataset = pairs\n"
      "prompts = %u\nprompt-length = fixed(8)\nresponse-length = fixed(8)\n"
      "[model actor]\nconfig = tiny.json\ntrainable = true\n"
      "[call train]\nmodel = actor\nkind = train\ninputs = pairs\n",
      c->m);
  g_autofree char *plan =
      g_strdup_printf("[plan]\nformat = 1\nworkload = w\ncluster = c\n"
                      "[call train]\nmesh = node[0-%u]\ntp = 8\npp = %u\n"
                      "micro-batches = %u\nschedule = %s\n%s",
                      c->p - 1, c->p, c->m, schedule, more_keys);

  return plan_text_new(workload, cluster, plan, 1);
}

static double
task_duration_s(const Case *c, const RaTaskGraph *graph, RaTaskId t)
{
  switch (graph->kind[t]) {
  case RA_TASK_FORWARD:
    return c->forward_s[graph->stage[t]];
  case RA_TASK_BACKWARD:
    return c->backward_s[graph->stage[t]];
  case RA_TASK_SEND:
    return graph->stream[t] == RA_STREAM_PP_SEND_BACK
               ? c->send_back_s[graph->stage[t]]
               : c->send_s[graph->stage[t]];
  default:
    return 0;
  }
}

static RaSim *
simulate(const Case *c, const RaTaskGraph *graph)
{
  g_autofree double *duration_s = g_new(double, graph->n_tasks);
  RaSim *sim;

  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    duration_s[t] = task_duration_s(c, graph, t);
  sim = ra_sim_new_with_durations(graph, duration_s);
  ck_assert(ra_sim_run(sim, NULL));
  return sim;
}

/* --- the list scheduler --- */

typedef struct {
  gboolean backward;
  uint32_t piece, micro_batch;
} Slot;

/* The k-th forward of stage s: p micro-batches through chunk 0, the same p
 * through chunk 1, ..., then the next p (arXiv 2104.04473, section 2.2). */
static Slot
nth_forward(const Case *c, uint32_t s, uint32_t k)
{
  uint32_t chunk = k / c->p % c->v;

  return (Slot){FALSE, chunk * c->p + s, k / (c->p * c->v) * c->p + k % c->p};
}

/* Backwards take the chunks from the last. */
static Slot
nth_backward(const Case *c, uint32_t s, uint32_t k)
{
  uint32_t chunk = c->v - 1 - k / c->p % c->v;

  return (Slot){TRUE, chunk * c->p + s, k / (c->p * c->v) * c->p + k % c->p};
}

/* GPipe does all forwards first (arXiv 1811.06965); 1F1B as many as keep the
 * stages behind it busy, one for each of them; interleaved two for each of them
 * and p for each chunk but the last. */
static uint32_t
n_warm_up(const Case *c, uint32_t s)
{
  uint32_t behind = c->p - 1 - s, all = c->m * c->v;

  if (c->schedule == RA_SCHEDULE_GPIPE)
    return all;
  if (c->schedule == RA_SCHEDULE_1F1B)
    return MIN(behind, all);
  return MIN(2 * behind + (c->v - 1) * c->p, all);
}

/* Slot @i of stage @s.  Where micro-batches do not fill rounds of p (without
 * chunks) a forward is micro-batch k, whatever p. */
static Slot
nth_slot(const Case *c, uint32_t s, uint32_t i)
{
  uint32_t all = c->m * c->v, warm = n_warm_up(c, s);

  if (i < warm)
    return nth_forward(c, s, i);
  if (i < warm + 2 * (all - warm))
    return (i - warm) % 2 == 0 ? nth_forward(c, s, warm + (i - warm) / 2)
                               : nth_backward(c, s, (i - warm) / 2);
  return nth_backward(c, s, i - all);
}

/* When each forward, backward and send begins; NAN: not known yet. */
typedef struct {
  double forward[MAX_PIECES][MAX_MICRO], backward[MAX_PIECES][MAX_MICRO];
  double send[MAX_PIECES][MAX_MICRO], send_back[MAX_PIECES][MAX_MICRO];
  double end_s;
} Timetable;

/* When what @slot needs is there, NAN if that is not known yet. */
static double
ready_s(const Case *c, const Timetable *t, const Slot *slot)
{
  uint32_t u = slot->piece, m = slot->micro_batch;

  if (!slot->backward)
    return u == 0 ? 0 : t->send[u - 1][m] + c->send_s[u - 1];
  if (u == c->p * c->v - 1)
    return t->forward[u][m] + c->forward_s[u];
  return t->send_back[u + 1][m] + c->send_back_s[u + 1];
}

/* Scans the stages' programs again and again, taking each next slot whose input
 * is known, until all are done: O((stages x slots)^2) at worst.  A message
 * begins when its slot has ended and the link carries no earlier one. */
static void
list_schedule(const Case *c, Timetable *t)
{
  uint32_t at[MAX_STAGES] = {0}, n_slots = 2 * c->m * c->v, n_done = 0;
  double free_s[MAX_STAGES] = {0}, link_s[2][MAX_STAGES] = {{0}};

  for (uint32_t u = 0; u < MAX_PIECES; u++)
    for (uint32_t m = 0; m < MAX_MICRO; m++)
      t->forward[u][m] = t->backward[u][m] = t->send[u][m] =
          t->send_back[u][m] = (double)NAN;
  t->end_s = 0;
  while (n_done < c->p * n_slots) {
    uint32_t n_before = n_done;

    for (uint32_t s = 0; s < c->p; s++) {
      Slot slot;
      double ready, end, *link;

      if (at[s] == n_slots)
        continue;
      slot = nth_slot(c, s, at[s]);
      ready = ready_s(c, t, &slot);
      if (isnan(ready))
        continue;
      ready = MAX(ready, free_s[s]);
      link = &link_s[slot.backward][s];
      at[s]++;
      n_done++;
      if (slot.backward) {
        end = ready + c->backward_s[slot.piece];
        t->backward[slot.piece][slot.micro_batch] = ready;
        *link = MAX(*link, end);
        t->send_back[slot.piece][slot.micro_batch] = *link;
        *link += slot.piece > 0 ? c->send_back_s[slot.piece] : 0;
      } else {
        end = ready + c->forward_s[slot.piece];
        t->forward[slot.piece][slot.micro_batch] = ready;
        *link = MAX(*link, end);
        t->send[slot.piece][slot.micro_batch] = *link;
        *link += slot.piece < c->p * c->v - 1 ? c->send_s[slot.piece] : 0;
      }
      free_s[s] = end;
      t->end_s = MAX(t->end_s, MAX(end, *link));
    }
    ck_assert_msg(n_done > n_before, "the list scheduler is stuck");
  }
}

/* TRUE if every task begins when the timetable says, to the last bit. */
static gboolean
agrees(const Timetable *t, const RaTaskGraph *graph, const RaSim *sim)
{
  const RaSimResult *result = ra_sim_result(sim);

  for (RaTaskId i = 0; i < graph->n_tasks; i++) {
    uint32_t u = graph->stage[i], m = graph->micro_batch[i];
    double begin_s = result->begin_s[i];

    if ((graph->kind[i] == RA_TASK_FORWARD && begin_s != t->forward[u][m]) ||
        (graph->kind[i] == RA_TASK_BACKWARD && begin_s != t->backward[u][m]))
      return FALSE;
    if (graph->kind[i] == RA_TASK_SEND &&
        begin_s != (graph->stream[i] == RA_STREAM_PP_SEND_BACK
                        ? t->send_back[u][m]
                        : t->send[u][m]))
      return FALSE;
  }
  return result->makespan_s == t->end_s;
}

/* Stages and directions unequal; sends from nothing to longer than a stage. */
static void
random_case(RaRng *rng, int schedule, Case *c)
{
  double send_scale = (double)ra_rng_below(rng, 4) * 0.5;

  *c = (Case){.schedule = schedule, .v = 1};
  c->p = 1 + (uint32_t)ra_rng_below(rng, MAX_STAGES);
  c->m = 1 + (uint32_t)ra_rng_below(rng, MAX_MICRO);
  if (schedule == RA_SCHEDULE_INTERLEAVED) {
    c->p = 2 + (uint32_t)ra_rng_below(rng, 4);
    c->v = 2 + (uint32_t)ra_rng_below(rng, MIN(MAX_PIECES / c->p, 4) - 1);
    c->m = c->p * (1 + (uint32_t)ra_rng_below(rng, MAX_MICRO / c->p));
  }
  for (uint32_t u = 0; u < c->p * c->v; u++) {
    c->forward_s[u] = 0.1 + ra_rng_uniform(rng);
    c->backward_s[u] = 0.1 + 2 * ra_rng_uniform(rng);
    c->send_s[u] = send_scale * ra_rng_uniform(rng);
    c->send_back_s[u] = send_scale * ra_rng_uniform(rng);
  }
}

static void
check_schedule(int schedule, int n_cases)
{
  RaRng rng = ra_rng_init(31, (uint64_t)schedule);

  for (int i = 0; i < n_cases; i++) {
    g_autoptr(RaTaskGraph) graph = NULL;
    g_autoptr(RaSim) sim = NULL;
    PlanText *text;
    Timetable table;
    Case c;

    random_case(&rng, schedule, &c);
    text = plan_of(&c, "");
    graph = ra_expand(text->augmented, RA_FIDELITY_STAGE, 0, NULL);
    ck_assert_ptr_nonnull(graph);
    sim = simulate(&c, graph);
    list_schedule(&c, &table);
    ck_assert_msg(agrees(&table, graph, sim),
                  "%s case %d: p %u v %u m %u, %.17g against %.17g",
                  schedule_names[schedule], i, c.p, c.v, c.m,
                  ra_sim_result(sim)->makespan_s, table.end_s);
    plan_text_free(text);
  }
}

START_TEST(test_gpipe)
{
  check_schedule(RA_SCHEDULE_GPIPE, 350);
}
END_TEST

START_TEST(test_1f1b)
{
  check_schedule(RA_SCHEDULE_1F1B, 350);
}
END_TEST

START_TEST(test_interleaved)
{
  check_schedule(RA_SCHEDULE_INTERLEAVED, 350);
}
END_TEST

/* The faults that the comparison must see: another schedule than the plan's,
 * and one send of one stage a little longer than the graph's. */
START_TEST(test_comparison_sees_faults)
{
  RaRng rng = ra_rng_init(32, 0);
  g_autoptr(RaTaskGraph) graph = NULL;
  g_autoptr(RaSim) sim = NULL;
  PlanText *text;
  Timetable table;
  Case c;

  do
    random_case(&rng, RA_SCHEDULE_1F1B, &c);
  while (c.p < 3 || c.m < 4);
  text = plan_of(&c, "");
  graph = ra_expand(text->augmented, RA_FIDELITY_STAGE, 0, NULL);
  sim = simulate(&c, graph);
  list_schedule(&c, &table);
  ck_assert(agrees(&table, graph, sim));
  c.schedule = RA_SCHEDULE_GPIPE;
  list_schedule(&c, &table);
  ck_assert(!agrees(&table, graph, sim));
  c.schedule = RA_SCHEDULE_1F1B;
  c.send_s[1] += 0.001;
  list_schedule(&c, &table);
  ck_assert(!agrees(&table, graph, sim));
  plan_text_free(text);
}
END_TEST

/* --- closed forms --- */

/* Waiting over all time of the pipeline, from the account. */
static double
bubble_frac(const Case *c, const RaTaskGraph *graph)
{
  g_autoptr(RaSim) sim = simulate(c, graph);
  g_autoptr(RaBreakdown) breakdown = ra_breakdown_new(sim, graph);
  double gpu_s = breakdown->n_gpus * breakdown->window_s;

  ck_assert_uint_eq(breakdown->n_gpus, 8 * c->p);
  ck_assert_double_eq_tol(breakdown->calls[0].compute_gpu_s +
                              breakdown->calls[0].bubble_gpu_s +
                              breakdown->idle_gpu_s,
                          gpu_s, 1e-9 * gpu_s);
  /* Waits of a stage before its first and after its last slot are no bubble of
   * the account where the call is not open on the lane. */
  return (breakdown->calls[0].bubble_gpu_s + breakdown->idle_gpu_s) / gpu_s;
}

/* Equal stages, no messages, b = 2 f: each stage works m (f + b) of the m + p -
 * 1 slots of f + b that the pipeline lasts (arXiv 2104.04473, section 2.2.1:
 * over the ideal time (p - 1) / m, so over the whole (p - 1) / (m + p - 1)).
 * With v chunks a slot is a v-th: (p - 1) / (v m + p - 1). */
static void
check_bubble(int schedule, uint32_t p, uint32_t v, uint32_t m)
{
  Case c = {.schedule = schedule, .p = p, .v = v, .m = m};
  PlanText *text;
  g_autoptr(RaTaskGraph) graph = NULL;

  for (uint32_t u = 0; u < p * v; u++) {
    c.forward_s[u] = 1;
    c.backward_s[u] = 2;
  }
  text = plan_of(&c, "");
  graph = ra_expand(text->augmented, RA_FIDELITY_STAGE, 0, NULL);
  ck_assert_double_eq_tol(bubble_frac(&c, graph),
                          (p - 1) / (double)(v * m + p - 1), 1e-12);
  /* The fault: one stage slower by a tenth leaves the form (one micro-batch
   * is always alone, so that it keeps it). */
  if (p > 1 && m > 1) {
    c.forward_s[p - 1] = 1.1;
    ck_assert(fabs(bubble_frac(&c, graph) - (p - 1) / (double)(v * m + p - 1)) >
              1e-6);
  }
  plan_text_free(text);
}

START_TEST(test_bubble)
{
  for (uint32_t p = 1; p <= 8; p++)
    for (uint32_t m = 1; m <= 16; m += 3) {
      check_bubble(RA_SCHEDULE_GPIPE, p, 1, m);
      check_bubble(RA_SCHEDULE_1F1B, p, 1, m);
    }
}
END_TEST

START_TEST(test_bubble_interleaved)
{
  for (uint32_t p = 2; p <= 8; p++)
    for (uint32_t v = 2; v <= MIN(MAX_VIRTUAL, MAX_PIECES / p); v++)
      for (uint32_t m = p; m <= MAX_MICRO; m += p)
        check_bubble(RA_SCHEDULE_INTERLEAVED, p, v, m);
}
END_TEST

static Suite *
pipeline_suite(void)
{
  Suite *suite = suite_create("pipeline");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_gpipe);
  tcase_add_test(tcase, test_1f1b);
  tcase_add_test(tcase, test_interleaved);
  tcase_add_test(tcase, test_comparison_sees_faults);
  tcase_add_test(tcase, test_bubble);
  tcase_add_test(tcase, test_bubble_interleaved);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(pipeline_suite)
