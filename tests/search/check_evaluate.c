/* The evaluator of search against the simulator: the same times and peaks, to
 * the last bit, for random plans of several workloads; a change of one call
 * against all set anew. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>

#include "graph/input/plan_write.h"
#include "search/space/space_impl.h"
#include "tests/support/check_main.h"
#include "tests/support/search_case.h"

/* Often a call takes the mesh, or mesh and degrees, of another: layouts that
 * are equal are rare otherwise. */
static RaChoice
copied_choice(SearchCase *c, const RaPoint *point, uint32_t call)
{
  const RaSpaceCall *calls = c->space->calls;
  uint32_t other = search_case_below(c, c->setup->workload->n_calls);
  const RaCandidate *like =
      &calls[other].candidates[point->calls[other].candidate];
  gboolean degrees = search_case_below(c, 2);

  for (uint32_t i = 0; i < calls[call].n; i++) {
    const RaCandidate *k = &calls[call].candidates[i];
    if (k->n_gpus == like->n_gpus &&
        (!degrees ||
         (k->plan.dp == like->plan.dp && k->plan.tp == like->plan.tp)))
      return (RaChoice){i, point->calls[other].position};
  }
  return search_case_choice(c, call);
}

static RaPoint
random_point(SearchCase *c, gboolean with_host)
{
  const RaWorkload *w = c->setup->workload;
  RaPoint point = {.residency = {0}};

  for (guint i = 0; i < w->n_calls; i++)
    point.calls[i] = i > 0 && search_case_below(c, 2)
                         ? copied_choice(c, &point, i)
                         : search_case_choice(c, i);
  for (guint m = 0; m < w->n_models; m++)
    point.residency[m] = (uint8_t)search_case_below(c, with_host ? 3 : 2);
  return point;
}

/* A plan file can say it. */
static void
check_is_plan(SearchCase *c, const RaPoint *point)
{
  RaPlanWords words = {.workload = "x.workload", .cluster = "x.cluster"};
  RaPlan *plan = ra_space_plan_new(c->space, point);
  GError *error = NULL;
  g_autofree char *text = ra_plan_write(plan, &words, &error);

  ck_assert_msg(text && ra_setup_read_plan(c->setup, "x.plan", text, &error),
                "%s\n%s", error ? error->message : "", text ? text : "");
  ra_space_plan_free(plan);
}

static void
compare_random(const char *workload, const char *const *sets, RaSpaceKind kind,
               guint n, gboolean with_host)
{
  SearchCase c;
  RaScore wrong;

  search_case_init(&c, workload, "h100-16n.cluster", sets, kind, NULL);
  for (guint i = 0; i < n / RA_CHECK_SHARE; i++) {
    RaPoint point = random_point(&c, with_host);
    RaScore expected = search_case_simulate(&c, &point), score;
    double bound_s;

    check_is_plan(&c, &point);
    ra_evaluate(c.evaluator, &point, &score);
    ck_assert_msg(search_case_same(&score, &expected),
                  "%s plan %u: %.17g s %.17g s %.17g s %.17g B, expected %.17g "
                  "s %.17g s %.17g s %.17g B",
                  workload, i, score.run_s, score.iteration_s, score.makespan_s,
                  score.peak_bytes, expected.run_s, expected.iteration_s,
                  expected.makespan_s, expected.peak_bytes);
    ra_evaluator_bound(c.evaluator, 1, &bound_s);
    ck_assert_msg(bound_s <= score.run_s, "%u: %g > %g", i, bound_s,
                  score.run_s);
    /* The oracle's fault: the next double is another time. */
    wrong = expected;
    wrong.makespan_s *= 1 + 1e-15;
    ck_assert(!search_case_same(&score, &wrong));
  }
  search_case_clear(&c);
}

/* Memory habits of a framework, in search as in simulation: the same times, and
 * peaks but for the rounding of what has no slack, a byte a kind of memory and
 * call. */
START_TEST(habits)
{
  const char *sets[] = {"cluster.nodes=1", "workload.prompts=64", NULL};
  const double most_bytes = 1.1 * 4 * 6;
  guint n_differ = 0;
  SearchCase c;

  search_case_init_system(&c, "ppo-llama2-7b.workload", "h100-16n.cluster",
                          sets, RA_SPACE_FULL, NULL, "verl-fsdp.system");
  for (guint i = 0; i < 200; i++) {
    RaPoint point = random_point(&c, TRUE);
    RaScore expected = search_case_simulate(&c, &point), score;

    ra_evaluate(c.evaluator, &point, &score);
    ck_assert_msg(fabs(score.peak_bytes - expected.peak_bytes) <= most_bytes,
                  "plan %u: %.17g B, expected %.17g B", i, score.peak_bytes,
                  expected.peak_bytes);
    score.peak_bytes = expected.peak_bytes;
    ck_assert_msg(search_case_same(&score, &expected), "plan %u", i);
    /* The fault: without habits, the plan has another peak. */
    c.setup->cluster->habits = (RaMemoryHabits){0};
    expected = search_case_simulate(&c, &point);
    c.setup->cluster->habits = c.setup->system->habits;
    n_differ += fabs(score.peak_bytes - expected.peak_bytes) > 1e9;
  }
  ck_assert_uint_gt(n_differ, 100);
  search_case_clear(&c);
}
END_TEST

/* Six calls, four models, nothing shared but GPUs. */
START_TEST(ppo)
{
  const char *sets[] = {"cluster.nodes=2", NULL};

  compare_random("ppo-llama2-7b.workload", sets, RA_SPACE_REAL, 400, FALSE);
}
END_TEST

START_TEST(ppo_full)
{
  const char *sets[] = {"cluster.nodes=1", "workload.prompts=64", NULL};

  compare_random("ppo-llama2-7b.workload", sets, RA_SPACE_FULL, 200, TRUE);
}
END_TEST

/* Dimensions of the full set that candidates have. */
enum { CP, EP, INTERLEAVED, ZERO_2, NOT_PARALLEL, N_DIMENSIONS };

static void
count(const SearchCase *c, guint out[N_DIMENSIONS])
{
  memset(out, 0, N_DIMENSIONS * sizeof *out);
  for (guint call = 0; call < c->setup->workload->n_calls; call++)
    for (uint32_t i = 0; i < c->space->calls[call].n; i++) {
      const RaCallPlan *p = &c->space->calls[call].candidates[i].plan;

      out[CP] += p->cp > 1;
      out[EP] += p->ep > 1;
      out[INTERLEAVED] += p->schedule == RA_SCHEDULE_INTERLEAVED;
      out[ZERO_2] += p->zero == 2;
      out[NOT_PARALLEL] += p->tp > 1 && !p->sequence_parallel;
    }
}

/* All dimensions of the full set: some candidates of each, which random plans
 * then draw. */
START_TEST(all_dimensions)
{
  const char *sets[] = {"cluster.nodes=4",
                        "workload.prompts=16",
                        "workload.prompt-length=fixed(256)",
                        "workload.response-length=fixed(256)",
                        "model actor.config=qwen3-30b-a3b.json",
                        NULL};
  const char *dense[] = {"cluster.nodes=2", "workload.prompts=64", NULL};
  guint n[N_DIMENSIONS];
  SearchCase c;

  search_case_init(&c, "grpo-qwen3-30b-a3b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_FULL, NULL);
  count(&c, n);
  ck_assert(n[CP] > 0 && n[EP] > 0);
  search_case_clear(&c);
  compare_random("grpo-qwen3-30b-a3b.workload", sets, RA_SPACE_FULL, 60, TRUE);
  search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", dense,
                   RA_SPACE_FULL, NULL);
  count(&c, n);
  ck_assert(n[CP] > 0 && n[EP] == 0 && n[INTERLEAVED] > 0 && n[ZERO_2] > 0 &&
            n[NOT_PARALLEL] > 0);
  search_case_clear(&c);
  compare_random("ppo-llama2-7b.workload", dense, RA_SPACE_FULL, 200, TRUE);
}
END_TEST

/* The point that equals @plan, which is freed. */
static RaPoint
add(SearchCase *c, RaPlan *plan)
{
  RaPoint point;
  RaPlan *other;

  ck_assert(ra_space_add(c->space, plan, &point));
  other = ra_space_plan_new(c->space, &point);
  ck_assert(ra_plan_equal(plan, other));
  ra_space_plan_free(plan);
  ra_space_plan_free(other);
  return point;
}

/* Spreads the experts of @p over tensor-parallel ranks, in a way that is drawn;
 * FALSE: it has one such rank. */
static gboolean
spread_over_tp(SearchCase *c, uint32_t n_experts, gboolean generates,
               RaCallPlan *p)
{
  int most = generates ? 0 : p->dp * p->cp > 1 ? 3 : 1;
  uint32_t n;

  if (p->tp == 1)
    return FALSE;
  do
    p->expert_tp = 1u << search_case_below(c, 3);
  while (p->expert_tp >= p->tp);
  n = p->tp / p->expert_tp * p->dp * p->cp;
  do
    p->ep = 1u << search_case_below(c, 6);
  while (n % p->ep != 0 || n_experts % p->ep != 0);
  p->sequence_parallel = TRUE;
  p->zero = MIN(p->zero, most);
  p->zero_group = p->zero ? p->dp : 1;
  if (p->zero < 3)
    p->gathers = RA_GATHERS_AHEAD;
  return TRUE;
}

/* No set has plans whose experts are spread over tensor-parallel ranks, but one
 * that is given is a point like any other. */
START_TEST(experts_over_tp)
{
  enum { N = 60 };
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=16",
                        "workload.prompt-length=fixed(256)",
                        "workload.response-length=fixed(256)", NULL};
  RaPoint points[N];
  guint n_spread = 0;
  SearchCase c;

  search_case_init(&c, "grpo-qwen3-30b-a3b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_FULL, NULL);
  for (guint i = 0; i < N; i++) {
    RaPoint point = random_point(&c, FALSE);
    RaPlan *plan = ra_space_plan_new(c.space, &point);

    for (guint k = 0; k < c.setup->workload->n_calls; k++)
      if (c.setup->workload->calls[k].model != RA_NONE)
        n_spread += spread_over_tp(
            &c, 128, c.setup->workload->calls[k].kind == RA_CALL_GENERATE,
            &plan->calls[k]);
    points[i] = add(&c, plan);
  }
  ck_assert_uint_gt(n_spread, N);
  search_case_compare_added(&c, points, N);
  search_case_clear(&c);
}
END_TEST

/* GRPO with a second host call beside the first, in a file of its own. */
static char *
two_host_calls(const char *folder)
{
  g_autofree char *from =
      g_build_filename(g_getenv("srcdir"), "share", "workloads",
                       "grpo-qwen2.5-7b.workload", NULL);
  g_autofree char *text = NULL;
  GString *both;
  char *path = g_build_filename(folder, "two.workload", NULL);

  ck_assert(g_file_get_contents(from, &text, NULL, NULL));
  both = g_string_new(text);
  g_string_append(both, "\n[call checker]\nkind = host\nhost-time = 7 s\n"
                        "inputs = sequences\noutputs = verdicts\n");
  ck_assert(g_file_set_contents(path, both->str, -1, NULL));
  g_string_free(both, TRUE);
  return path;
}

/* Where the data of a host call are gathered: nowhere, or on the mesh of
 * generation, or on that many GPUs. */
static void
gather(SearchCase *c, const RaCallPlan *generate, RaCallPlan *p)
{
  static const uint32_t n_gpus[] = {0, 1, 4, 8, 16};
  uint32_t n = n_gpus[search_case_below(c, G_N_ELEMENTS(n_gpus))];

  *p = (RaCallPlan){.set = n > 0};
  p->dp = p->tp = p->pp = p->cp = p->ep = p->n_virtual = 1;
  p->zero_group = p->n_micro_batches = 1;
  if (n > 0 && search_case_below(c, 2))
    p->mesh = generate->mesh;
  else if (n > 0)
    p->mesh =
        ra_space_mesh(c->setup->cluster, search_case_below(c, 16 / n) * n, n);
}

/* Host calls whose data are gathered on a mesh, where generation is or
 * elsewhere; two of them wait for each other where their meshes begin with one
 * GPU.  With one replica on that mesh, nothing moves. */
START_TEST(gathered)
{
  enum { N = 120 };
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=8",
                        "workload.response-length=lognormal(64, 40, 256)",
                        "call reward.host-time=4 s", NULL};
  const char *limits[] = {"actor_generate.dp=1,2", NULL};
  g_autofree char *folder = g_dir_make_tmp("gathered-XXXXXX", NULL);
  g_autofree char *path = two_host_calls(folder);
  RaPoint points[N];
  guint n_stay = 0, n_meet = 0;
  SearchCase c;
  uint32_t reward, checker, generate;

  search_case_init(&c, path, "h100-16n.cluster", sets, RA_SPACE_REAL, limits);
  reward = ra_workload_find_call(c.setup->workload, "reward");
  checker = ra_workload_find_call(c.setup->workload, "checker");
  generate = ra_workload_find_call(c.setup->workload, "actor_generate");
  for (guint i = 0; i < N; i++) {
    RaPoint point = random_point(&c, TRUE);
    RaPlan *plan = ra_space_plan_new(c.space, &point);
    RaCallPlan *calls = plan->calls;

    gather(&c, &calls[generate], &calls[reward]);
    gather(&c, &calls[generate], &calls[checker]);
    n_stay += calls[reward].set && calls[generate].dp == 1 &&
              ra_mesh_equal(&calls[reward].mesh, &calls[generate].mesh);
    n_meet += calls[reward].set && calls[checker].set &&
              ra_mesh_gpu(&calls[reward].mesh, plan->cluster, 0) ==
                  ra_mesh_gpu(&calls[checker].mesh, plan->cluster, 0);
    points[i] = add(&c, plan);
  }
  ck_assert(n_stay > 0 && n_meet > 0);
  search_case_compare_added(&c, points, N);
  search_case_clear(&c);
  ck_assert_int_eq(g_unlink(path), 0);
  ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

/* Several readers of one trained model, drawn lengths, a host call; adapters,
 * which move alone where they are kept, and their base as reference. */
/* Steps of a generation that the simulator goes through one by one. */
#define SHORT "workload.response-length=lognormal(64, 40, 256)"

START_TEST(grpo)
{
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=8", SHORT, NULL,
                        NULL};
  const char *lora = "grpo-lora-qwen2.5-32b.workload";
  compare_random("grpo-qwen2.5-7b.workload", sets, RA_SPACE_REAL, 200, TRUE);
  compare_random(lora, sets, RA_SPACE_REAL, 150, TRUE);
  sets[3] = "model actor.lora-sync=merged";
  compare_random(lora, sets, RA_SPACE_REAL, 50, TRUE);
}
END_TEST

/* Generation that lags behind training. */
START_TEST(lagging)
{
  const char *sets[] = {"cluster.nodes=4", "workload.prompts=8", SHORT, NULL};

  compare_random("grpo-qwen2.5-32b-async.workload", sets, RA_SPACE_REAL, 100,
                 TRUE);
}
END_TEST

#define TRIPS                                                                  \
  "cluster.nodes=2", "workload.prompts=32", "workload.trip-prompts=48", SHORT

/* Generation in trips, of which iterations have different numbers. */
START_TEST(in_trips)
{
  const char *sets[] = {TRIPS, NULL};
  uint32_t n_trips[2];
  SearchCase c;

  compare_random("dapo-qwen2.5-32b.workload", sets, RA_SPACE_COMMON, 100,
                 FALSE);
  search_case_init(&c, "dapo-qwen2.5-32b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_REAL, NULL);
  for (uint32_t k = 0; k < 2; k++)
    n_trips[k] = ra_loads_n_trips(c.space->loads, 0, k);
  ck_assert_uint_ne(n_trips[0], n_trips[1]);
  search_case_clear(&c);
}
END_TEST

/* Chunks: calls of several parts. */
START_TEST(streaming)
{
  const char *sets[] = {"cluster.nodes=2", "workload.prompt-length=fixed(128)",
                        "workload.response-length=fixed(256)", NULL};

  compare_random("ppo-llama-7b-stream.workload", sets, RA_SPACE_REAL, 100,
                 TRUE);
}
END_TEST

/* Gives @p, a generate call, a tail that is drawn; @begins: it may begin more
 * prompts than it needs. */
static void
draw_tail(SearchCase *c, gboolean begins, RaCallPlan *p)
{
  RaTail *t = &p->tail;

  *t = (RaTail){.over_sample = begins ? 1 + 0.25 * search_case_below(c, 4) : 1,
                .unfinished = (int)search_case_below(c, 2),
                .moved_kv = (int)search_case_below(c, 2),
                .assignment = (int)search_case_below(c, 2),
                .prediction = 1,
                .migrate_to = 1};
  if (search_case_below(c, 2)) {
    t->n_respreads = search_case_below(c, 3);
  } else if (p->dp > 1) {
    t->migrate_frac = 0.125 * search_case_below(c, 8);
    t->migrate_to = 1 + search_case_below(c, p->dp - 1);
  }
}

/* A bound of sampled lengths is no more than the cost, and not nothing. */
static void
check_tail_bounds(const SearchCase *c, uint32_t call, const RaPoint *points,
                  guint n)
{
  for (guint i = 0; i < n; i++) {
    uint32_t candidate = points[i].calls[call].candidate;
    const double *parts_s = ra_cost_table_call_s(c->costs, call, candidate);
    double bound_s = ra_cost_table_bound_s(c->costs, call, candidate);

    ck_assert_double_gt(bound_s, 0);
    for (guint k = 0; k < ra_cost_table_n_like(c->costs); k++)
      ck_assert_double_le(bound_s, parts_s[k]);
  }
}

static void
compare_tails(const char *workload, const char *const *sets, gboolean begins)
{
  enum { N = 40 };
  RaPoint points[N];
  SearchCase c;
  uint32_t call;

  search_case_init(&c, workload, "h100-16n.cluster", sets, RA_SPACE_COMMON,
                   NULL);
  call = ra_workload_find_call(c.setup->workload, "actor_generate");
  for (guint i = 0; i < N; i++) {
    RaPlan *plan;

    do
      points[i] = random_point(&c, FALSE);
    while (c.space->calls[call]
               .candidates[points[i].calls[call].candidate]
               .plan.zero > 0);
    plan = ra_space_plan_new(c.space, &points[i]);
    draw_tail(&c, begins, &plan->calls[call]);
    points[i] = add(&c, plan);
  }
  ck_assert(c.space->carries == begins);
  search_case_compare_added(&c, points, N);
  if (!begins)
    check_tail_bounds(&c, call, points, N);
  search_case_clear(&c);
}

/* Tails that move sequences, of sampled lengths; where lengths are fixed, also
 * those that begin more than they need, and carry the rest over or stop it, of
 * calls in one part and in several.  The fault: tables that take iterations of
 * fixed lengths for alike have the first one's cost for all, but a later one
 * begins with what was carried. */
START_TEST(tails)
{
  const char *drawn[] = {"cluster.nodes=2", "workload.prompts=16", SHORT, NULL};
  const char *fixed[] = {"cluster.nodes=2", "workload.prompts=64",
                         "workload.prompt-length=fixed(128)",
                         "workload.response-length=fixed(256)", NULL};

  compare_tails("grpo-qwen2.5-7b.workload", drawn, FALSE);
  compare_tails("grpo-qwen2.5-7b.workload", fixed, TRUE);
  compare_tails("ppo-llama-7b-stream.workload", fixed, TRUE);
}
END_TEST

/* --- nodes are alike --- */

/* Moves all meshes of @point by as many nodes as there are behind the last;
 * those are the labels that change no rank's place in its mesh.  Returns how
 * many. */
static uint32_t
shift(SearchCase *c, RaPoint *point)
{
  uint32_t width = c->setup->cluster->gpus_per_node;
  uint32_t end = 0, by;

  for (guint k = 0; k < c->setup->workload->n_calls; k++) {
    RaChoice choice = point->calls[k];
    const RaCandidate *like = &c->space->calls[k].candidates[choice.candidate];
    uint32_t last = ra_candidate_begin(like, choice.position) + like->n_gpus;
    end = MAX(end, last);
  }
  by = c->setup->cluster->n_nodes - (end + width - 1) / width;
  for (guint k = 0; k < c->setup->workload->n_calls; k++) {
    RaChoice *choice = &point->calls[k];
    const RaCandidate *like = &c->space->calls[k].candidates[choice->candidate];
    choice->position += by * width / like->step;
  }
  return by;
}

START_TEST(relabelled)
{
  const char *sets[] = {"cluster.nodes=4", NULL};
  SearchCase c;
  guint n_shifted = 0, n_other = 0;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_REAL, NULL);
  for (guint i = 0; i < 3000 / RA_CHECK_SHARE; i++) {
    RaPoint point = random_point(&c, FALSE), other = point;
    RaScore score, same;

    if (shift(&c, &other) == 0)
      continue;
    ra_evaluate(c.evaluator, &point, &score);
    ra_evaluate(c.evaluator, &other, &same);
    n_shifted++;
    ck_assert_msg(search_case_same(&score, &same), "plan %u: %.17g, %.17g", i,
                  score.makespan_s, same.makespan_s);
    /* The fault: with one call left behind it is another plan. */
    other.calls[0] = point.calls[0];
    ra_evaluate(c.evaluator, &other, &same);
    n_other += !search_case_same(&score, &same);
  }
  ck_assert_uint_gt(n_shifted, 10);
  ck_assert_uint_gt(n_other, 5);
  search_case_clear(&c);
}
END_TEST

/* --- bounds --- */

/* No candidate costs less than its bound, and so many quarters hardly more. */
static void
compare_bounds(const char *workload, const char *const *sets, RaSpaceKind kind,
               guint quarters)
{
  SearchCase c;
  guint n_tight = 0, n = 0;

  search_case_init(&c, workload, "h100-16n.cluster", sets, kind, NULL);
  for (guint call = 0; call < c.setup->workload->n_calls; call++)
    for (uint32_t i = 0; i < c.space->calls[call].n; i++) {
      const double *parts = ra_cost_table_call_s(c.costs, call, i);
      double bound_s = ra_cost_table_bound_s(c.costs, call, i), sum_s = 0;

      for (guint p = 0; p < ra_cost_table_n_parts(c.costs, call); p++) {
        double one_s = ra_cost_table_part_bound_s(c.costs, call, i, p);

        ck_assert(one_s <= parts[p]);
        sum_s += parts[p];
      }
      ck_assert_msg(bound_s <= sum_s, "%s candidate %u: bound %.17g, %.17g s",
                    c.setup->workload->calls[call].name, i, bound_s, sum_s);
      n_tight += bound_s > 0.95 * sum_s;
      n++;
    }
  /* The fault: a bound of 0 would pass, and one of compute alone, which is
   * some 0.55 of the cost. */
  ck_assert_uint_gt(4 * n_tight, quarters * n);
  search_case_clear(&c);
}

/* With what the full set has beside: what interleaves, shares sequences or
 * experts. */
START_TEST(bounds_of_all)
{
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=8",
                        "workload.prompt-length=fixed(256)",
                        "workload.response-length=fixed(256)", NULL};

  compare_bounds("grpo-qwen3-30b-a3b.workload", sets, RA_SPACE_FULL, 2);
}
END_TEST

/* Every sixth of Gemma's layers attends to all tokens, the others to 1,024 of
 * them: pipeline stages of as many layers differ (the fault: they do not). */
START_TEST(bounds_of_windows)
{
  const char *sets[] = {"cluster.nodes=2",
                        "workload.prompts=8",
                        "workload.prompt-length=fixed(512)",
                        "workload.response-length=fixed(16384)",
                        "model actor.config=gemma-3-27b.json",
                        "model ref.config=gemma-3-27b.json",
                        NULL};

  compare_bounds("grpo-qwen2.5-7b.workload", sets, RA_SPACE_FULL, 2);
}
END_TEST

START_TEST(bounds)
{
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=128", NULL};
  const char *trips[] = {TRIPS, NULL};
  const char *chunks[] = {"cluster.nodes=2",
                          "workload.prompt-length=fixed(128)",
                          "workload.response-length=fixed(256)", NULL};

  compare_bounds("ppo-llama2-7b.workload", sets, RA_SPACE_FULL, 3);
  compare_bounds("dapo-qwen2.5-32b.workload", trips, RA_SPACE_COMMON, 0);
  compare_bounds("ppo-llama-7b-stream.workload", chunks, RA_SPACE_REAL, 3);
}
END_TEST

/* --- moves --- */

static void
check_equal_lanes(SearchCase *c, guint step)
{
  RaScore scores[2];
  RaPoint point = *ra_evaluator_point(c->evaluator, 1);

  ra_evaluator_set(c->evaluator, 0, &point);
  ra_evaluator_run(c->evaluator, 2, scores);
  if (!scores[0].is_exact)
    ra_evaluator_exact_peak(c->evaluator, 0, &scores[0]);
  if (!scores[1].is_exact)
    ra_evaluator_exact_peak(c->evaluator, 1, &scores[1]);
  ck_assert_msg(search_case_same(&scores[0], &scores[1]), "step %u", step);
}

static void
move_often(const char *workload, const char *const *sets, RaSpaceKind kind,
           guint n)
{
  SearchCase c;
  RaPoint point;

  search_case_init(&c, workload, "h100-16n.cluster", sets, kind, NULL);
  point = random_point(&c, FALSE);
  ra_evaluator_set(c.evaluator, 1, &point);
  for (guint i = 0; i < n; i++) {
    uint32_t call = search_case_below(&c, c.setup->workload->n_calls);
    point = *ra_evaluator_point(c.evaluator, 1);
    if (i % 1000 == 0)
      ra_evaluator_move_residency(
          c.evaluator, 1, search_case_below(&c, c.setup->workload->n_models),
          (int)search_case_below(&c, 3));
    if (i % 7 == 0)
      ra_evaluator_spread(c.evaluator, 1);
    ra_evaluator_move(c.evaluator, 1, call,
                      i % 2 ? copied_choice(&c, &point, call)
                            : search_case_choice(&c, call));
    check_equal_lanes(&c, i);
  }
  search_case_clear(&c);
}

/* 10^5 moves; the fault that it would catch is in ppo(): scores that differ in
 * one bit are not the same. */
START_TEST(moves)
{
  const char *sets[] = {"cluster.nodes=2", NULL};

  move_often("ppo-llama2-7b.workload", sets, RA_SPACE_REAL, 100000);
}
END_TEST

START_TEST(moves_grpo)
{
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=32", NULL};

  move_often("grpo-qwen2.5-7b.workload", sets, RA_SPACE_REAL, 5000);
}
END_TEST

/* Meshes that are sets of nodes. */
START_TEST(moves_sets)
{
  const char *sets[] = {"cluster.nodes=4", "workload.prompts=16",
                        "workload.prompt-length=fixed(128)",
                        "workload.response-length=fixed(64)", NULL};

  move_often("ppo-llama2-7b.workload", sets, RA_SPACE_FULL, 2000);
}
END_TEST

/* One reader that lags behind its training: how many versions stand there
 * depends on whether it has the layout of training. */
START_TEST(moves_lagging)
{
  const char *sets[] = {"cluster.nodes=8", "workload.prompts=32",
                        "workload.prompt-length=fixed(128)",
                        "workload.response-length=fixed(64)", NULL};

  move_often("grpo-qwen2.5-32b-async.workload", sets, RA_SPACE_REAL, 3000);
}
END_TEST

static Suite *
evaluate_suite(void)
{
  Suite *s = suite_create("evaluate");
  TCase *same = tcase_create("simulator"), *moved = tcase_create("moves");

  tcase_set_timeout(same, 600);
  tcase_set_timeout(moved, 600);
  tcase_add_test(same, habits);
  tcase_add_test(same, ppo);
  tcase_add_test(same, ppo_full);
  tcase_add_test(same, all_dimensions);
  tcase_add_test(same, experts_over_tp);
  tcase_add_test(same, gathered);
  tcase_add_test(same, grpo);
  tcase_add_test(same, lagging);
  tcase_add_test(same, in_trips);
  tcase_add_test(same, streaming);
  tcase_add_test(same, tails);
  tcase_add_test(same, relabelled);
  tcase_add_test(same, bounds);
  tcase_add_test(same, bounds_of_all);
  tcase_add_test(same, bounds_of_windows);
  tcase_add_test(moved, moves);
  tcase_add_test(moved, moves_grpo);
  tcase_add_test(moved, moves_sets);
  tcase_add_test(moved, moves_lagging);
  suite_add_tcase(s, same);
  suite_add_tcase(s, moved);
  return s;
}

RA_CHECK_MAIN(evaluate_suite)
