/* Long tails with continuous batching: the schedule, seconds and memory against
 * schedulers taken step by step, one case by hand. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/input/plan_tail.h"
#include "tests/support/check_main.h"
#include "tests/support/rollout_case.h"
#include "tests/support/rollout_serve_reference.h"

#define N_ITERATIONS 3
#define CONTINUOUS "batching = continuous\nmax-sequences = "

typedef struct {
  guint samples, parts, prompts;
  const char *keys; /* of the generate call */
} Case;

static const Case cases[] = {
    {1, 1, 32, CONTINUOUS "3\nassignment = length\n"},
    {1, 4, 32, CONTINUOUS "3\nover-sample = 1.25\n"},
    {2, 2, 16, CONTINUOUS "3\nover-sample = 2\nunfinished = carry\n"},
    {1, 1, 32, CONTINUOUS "64\nrespread = 100\n"},
    {2, 2, 16, CONTINUOUS "4\nrespread = 3\nkv-block = 4\n"},
    {1, 1, 40, CONTINUOUS "4\nrespread = 3\nmoved-kv = recompute\n"},
    {1, 2, 32, CONTINUOUS "4\nmigrate-at = 0.3\nmigrate-to = 2\n"},
    {1, 1, 32,
     CONTINUOUS "6\nmigrate-at = 0.4\nprefill-tokens = 40\nkv-block = 8\n"
                "kv-memory = 1.3 MiB\n"},
    {2, 1, 16,
     CONTINUOUS "5\nmigrate-at = 0.4\nmigrate-to = 2\nover-sample = 1.5\n"
                "unfinished = carry\nprefix-sharing = true\nkv-block = 4\n"
                "kv-memory = 1.3 MiB\n"},
    {1, 2, 32,
     CONTINUOUS "3\nrespread = 9\nover-sample = 1.2\nunfinished = carry\n"
                "kv-admission = whole\nkv-memory = 1.5 MiB\n"},
};

static PlanText *
case_text(const Case *c, const char *lengths)
{
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *workload =
      rollout_workload(c->prompts, c->samples, c->parts, lengths);
  g_autofree char *plan =
      g_strdup_printf("[plan]\nformat = 1\nworkload = w\ncluster = c\n"
                      "[call gen]\nmesh = node0\ndp = 4\ntp = 2\n%s"
                      "[call infer]\nmesh = node0\ndp = 4\ntp = 2\n"
                      "[call train]\nmesh = node0\ndp = 4\ntp = 2\n",
                      c->keys);

  return plan_text_new(workload, cluster, plan, N_ITERATIONS);
}

/* --- An iteration's sequences --- */

typedef struct {
  uint32_t prompt[REFERENCE_MAX], response[REFERENCE_MAX], done[REFERENCE_MAX];
} Lengths;

static void
draw(const RaPlan *plan, uint32_t k, uint32_t samples, Lengths *out)
{
  const RaWorkload *w = plan->workload;

  memset(out, 0, sizeof *out);
  for (uint32_t i = 0; i < REFERENCE_MAX; i++) {
    out->prompt[i] =
        ra_length_draw(&w->prompt_length, 0, (uint64_t)k << 32, i / samples);
    out->response[i] =
        ra_length_draw(&w->response_length, 0, (uint64_t)k << 32 | 1, i);
  }
}

/* In order, or the longest left to the one with fewest tokens. */
static void
begin(Slow *s, const Lengths *l)
{
  uint64_t load[DP] = {0};
  uint32_t n = 0, at = 0;
  gboolean seen[REFERENCE_MAX] = {FALSE};

  memset(s->r, 0, sizeof s->r);
  memset(s->fills, 0, sizeof s->fills);
  memset(s->end, 0, sizeof s->end);
  memset(s->now_s, 0, sizeof s->now_s);
  s->part = s->n_moved = 0;
  s->tokens_moved = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    s->done[i] = l->done[i];
    s->over[i] = l->done[i] == l->response[i];
    n += !s->over[i];
  }
  for (uint32_t d = 0; d < DP; d++) {
    Reference *r = &s->r[d];

    r->batching = s->run->graph->dynamics[0].batching;
    memcpy(r->prompt, l->prompt, sizeof l->prompt);
    memcpy(r->response, l->response, sizeof l->response);
    for (uint32_t i = 0; i < s->n; i++)
      r->generated[i] = l->done[i];
  }
  for (uint32_t k = 0; k < n; k++) {
    uint32_t pick = RA_NONE, to = 0;

    for (uint32_t i = 0; i < s->n; i++)
      if (!s->over[i] && !seen[i] &&
          (pick == RA_NONE ||
           (s->call->tail.assignment == RA_ASSIGN_LENGTH &&
            l->response[i] - l->done[i] > l->response[pick] - l->done[pick])))
        pick = i;
    seen[pick] = TRUE;
    if (s->call->tail.assignment == RA_ASSIGN_LENGTH) {
      for (uint32_t d = 1; d < DP; d++)
        if (load[d] < load[to])
          to = d;
      load[to] += l->response[pick] - l->done[pick];
    } else {
      while ((to + 1) * n / DP <= at)
        to++;
    }
    at++;
    s->r[to].waiting[s->r[to].n_waiting++] = pick;
  }
}

/* State with which the next iteration goes on. */
static void
carry(const Slow *s, Lengths *l, const Lengths *fresh)
{
  const Lengths old = *l;
  gboolean kept[REFERENCE_MAX] = {FALSE};
  uint32_t at = 0;

  for (uint32_t k = 0; k < s->wanted; k++) {
    uint32_t best = RA_NONE;
    uint64_t best_end = 0;

    for (uint32_t p = 0; p < s->n / s->samples; p++) {
      uint64_t end = 0;

      for (uint32_t i = p * s->samples; i < (p + 1) * s->samples; i++)
        end = MAX(end, s->end[i]);
      if (!kept[p] && is_complete(s, p) &&
          (best == RA_NONE || end < best_end)) {
        best = p;
        best_end = end;
      }
    }
    kept[best] = TRUE;
  }
  for (uint32_t i = 0; i < s->n; i++) {
    uint64_t made = old.response[i];

    if (kept[i / s->samples] ||
        s->call->tail.unfinished == RA_UNFINISHED_DISCARD)
      continue;
    for (uint32_t d = 0; d < DP && !s->over[i]; d++)
      for (uint32_t k = 0; k < unfinished(s, d); k++) {
        const Reference *r = &s->r[d];

        if ((k < r->n_running ? r->running[k] : r->waiting[k - r->n_running]) ==
            i)
          made = r->generated[i];
      }
    l->prompt[at] = old.prompt[i];
    l->response[at] = old.response[i];
    l->done[at++] = (uint32_t)made;
  }
  for (uint32_t i = 0; at < s->n; i++, at++) {
    l->prompt[at] = fresh->prompt[i];
    l->response[at] = fresh->response[i];
    l->done[at] = 0;
  }
}

static Slow *
slow_new(const Run *run, const Case *c)
{
  Slow *s = g_new0(Slow, 1);

  s->run = run;
  s->call = &run->text->plan->calls[0];
  s->shard = &run->graph->shards[run->graph->dynamics[0].shard];
  s->piece = run->graph->dynamics[0].pieces[0];
  s->samples = c->samples;
  s->wanted = c->prompts;
  s->n_parts = c->parts;
  s->n = ra_plan_tail_prompts(run->text->plan, 0) * c->samples;
  ck_assert_uint_le(s->n, REFERENCE_MAX);
  return s;
}

/* Every part of every iteration, and tokens that move; forgetting what moves
 * cost gives other times. */
START_TEST(test_reference)
{
  const Case *c = &cases[_i];
  Run run = run_new(case_text(c, "lognormal(40, 50, 300)"),
                    profile_text_shipped("h100-sxm"), 4e11);
  g_autofree Slow *s = slow_new(&run, c);
  Lengths l, fresh;
  uint32_t n_moved = 0;

  draw(run.text->plan, 0, c->samples, &l);
  for (uint32_t k = 0; k < N_ITERATIONS; k++) {
    begin(s, &l);
    s->fault = TRUE;
    slow_run(s);
    if (s->tokens_moved > 0 && k == 0)
      ck_assert_double_gt(fabs(rollout_part_end_s(&run, k, c->parts - 1) -
                               s->part_end_s[c->parts - 1]),
                          1e-9 * s->part_end_s[c->parts - 1]);
    n_moved += s->n_moved;
    begin(s, &l);
    s->fault = FALSE;
    slow_run(s);
    ck_assert_uint_eq(s->part, c->parts);
    for (uint32_t part = 0; part < c->parts; part++)
      ck_assert_double_eq_tol(rollout_part_end_s(&run, k, part),
                              s->part_end_s[part], 1e-9 * s->part_end_s[part]);
    draw(run.text->plan, k + 1, c->samples, &fresh);
    carry(s, &l, &fresh);
  }
  ck_assert((n_moved > 0) == (strstr(c->keys, "respread") != NULL ||
                              strstr(c->keys, "migrate") != NULL));
  run_clear(&run);
}
END_TEST

/* Memory: nothing below nothing, all given back, never above the bound. */
START_TEST(test_memory)
{
  const Case *c = &cases[_i];
  Run run = run_new(case_text(c, "lognormal(40, 50, 300)"),
                    profile_text_shipped("h100-sxm"), 4e11);

  rollout_assert_memory(&run, N_ITERATIONS);
  run_clear(&run);
}
END_TEST

/* Four replicas of one place each, 8 sequences of r tokens: two after each
 * other, so all end at step 2 r whatever is chosen about them; with half the
 * sequences left (4 of 8, at step r) gathered on one replica of one place, 4
 * more of them follow each other: 5 r.  (A prompt's chunk gives its first
 * token, so r tokens take r steps.)                                         */
START_TEST(test_by_hand)
{
  static const struct {
    const char *keys;
    uint64_t end;
  } rows[] = {{CONTINUOUS "1\nassignment = length\n", 2 * 30},
              {CONTINUOUS "1\nmigrate-at = 0.5\n", 5 * 30},
              {CONTINUOUS "1\nmigrate-at = 0.5\nmigrate-to = 2\n", 3 * 30}};

  for (guint k = 0; k < G_N_ELEMENTS(rows); k++) {
    Case c = {1, 1, 8, rows[k].keys};
    PlanText *t = case_text(&c, "fixed(30)");
    g_autoptr(RaArena) arena = ra_arena_new(0);
    const RaSequenceSet *set = ra_sequence_set_new(arena, t->plan, 0, 0, 0);
    const RaRollout *r = set->rollout;
    uint64_t steps = 0;

    for (uint32_t phase = 0; phase < r->n_phases; phase++)
      steps += r->spells[phase * r->n_replicas].n_steps;
    ck_assert_uint_eq(steps, rows[k].end);
    ck_assert_uint_eq(r->generated_tokens, 8 * 30);
    plan_text_free(t);
  }
}
END_TEST

/* Over-sampling, carried: what is trained on and what is left are all that was
 * generated, with a pipeline under it too; and it makes the same tokens. */
START_TEST(test_conserves)
{
  static const char *const keys[] = {"", "migrate-at = 0.3\nmigrate-to = 2\n",
                                     "respread = 2\nmoved-kv = recompute\n"};

  for (guint k = 0; k < G_N_ELEMENTS(keys); k++) {
    g_autofree char *cluster = plan_text_cluster(1);
    g_autofree char *plan = g_strdup_printf(
        "[plan]\nformat = 1\nworkload = w\ncluster = c\n[call gen]\n"
        "mesh = node0\ndp = 4\npp = 2\nbatching = continuous\n"
        "max-sequences = 6\n%s",
        keys[k]);
    PlanText *t = plan_text_new(
        "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\n"
        "prompts = 64\nprompt-length = fixed(20)\n"
        "response-length = lognormal(40, 50, 300)\n"
        "[model m]\nconfig = tiny.json\n[call gen]\nmodel = m\n"
        "kind = generate\ninputs = prompts\noutputs = seq\n",
        cluster, plan, 1);
    Run run = run_new(t, profile_text_shipped("h100-sxm"), 4e11);
    g_autofree RaFlopShare *shares = ra_flop_count(run.graph, 0);
    g_autoptr(RaArena) arena = ra_arena_new(0);
    const RaSequenceSet *set = ra_sequence_set_new(arena, t->plan, 0, 0, 0);
    double tokens = 0;
    guint n_moves = 0;

    for (uint32_t i = 0; i < set->n_sequences; i++)
      tokens += set->prompt[i] + set->response[i];
    for (RaTaskId id = 0; id < run.graph->n_tasks; id++)
      n_moves += run.graph->kind[id] == RA_TASK_MIGRATE;
    ck_assert_uint_eq(n_moves > 0, k > 0);
    ck_assert_double_eq_tol(shares[0].tokens, tokens, 1e-9 * tokens);
    ck_assert_double_gt(shares[0].hardware_flop, 0);
    run_clear(&run);
  }
}
END_TEST

static Suite *
rollout_serve_suite(void)
{
  Suite *suite = suite_create("rollout_serve");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_reference, 0, G_N_ELEMENTS(cases));
  tcase_add_loop_test(tcase, test_memory, 0, G_N_ELEMENTS(cases));
  tcase_add_test(tcase, test_by_hand);
  tcase_add_test(tcase, test_conserves);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(rollout_serve_suite)
