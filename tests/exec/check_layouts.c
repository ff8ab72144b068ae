/* Every layout of dp, tp, pp, recomputation and schedule on one to eight ranks
 * against one rank. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define MOST_RANKS 8
#define N_SEQUENCES 40
#define N_CASES 28 /* that the layouts are dealt out to */

/* Five optimizer steps of eight sequences. */
static const char head[] =
    "[workload]\nformat = 1\nalgorithm = test\ndataset = prompts\n"
    "prompts = 10\nprompt-length = uniform(2, 4)\n"
    "response-length = uniform(2, 4)\nmini-batches = 5\n";

/* A layout; the model has 4 layers, 8 heads and 2 key heads. */
typedef struct {
  uint32_t dp, tp, pp, cp;
  const char *recompute; /* "none" ... */
  const char *schedule;  /* further lines */
} Layout;

static const char *const recomputes[] = {"none", "selective", "full"};

/* clang-format off */
static const struct {
  uint32_t pp; /* that it is for; 0: any */
  const char *lines;
} schedules[] = {
    {1, ""},
    {1, "micro-batches = 1\noverlap-grad-reduce = true\n"},
    {1, "zero = 1\n"},
    {1, "zero = 1\noverlap-grad-reduce = true\n"},
    {2, "micro-batches = 2\n"},
    {2, "micro-batches = 2\nschedule = gpipe\n"},
    {2, "micro-batches = 2\nschedule = interleaved:2\n"},
    {2, "micro-batches = 2\nstage-layers = 3,1\n"},
    {2, "micro-batches = 2\noverlap-grad-reduce = true\n"},
    {2, "micro-batches = 2\nzero = 1\noverlap-grad-reduce = true\n"},
    {4, "micro-batches = 4\n"},
    {4, "micro-batches = 4\nzero = 1\n"},
    {1, "sequence-parallel = true\n"},
    {1, "sequence-parallel = true\nzero = 1\noverlap-grad-reduce = true\n"},
    {2, "micro-batches = 2\nsequence-parallel = true\n"},
    {2, "micro-batches = 2\nschedule = interleaved:2\n"
        "sequence-parallel = true\n"},
    {4, "micro-batches = 4\nsequence-parallel = true\n"},
    {4, "micro-batches = 4\nschedule = gpipe\n"},
    {1, "micro-batches = 1\nbalance = tokens\n"},
    {2, "micro-batches = 2\nbalance = tokens\n"},
    {4, "micro-batches = 4\nbalance = tokens\n"},
};

/* Layouts of ranks that share sequences. */
static const Layout rings[] = {
    {1, 1, 1, 2, "none", ""},
    {1, 1, 1, 4, "none", ""},
    {1, 1, 1, 8, "full", ""},
    {2, 1, 1, 2, "none", ""},
    {2, 1, 1, 4, "none", "overlap-grad-reduce = true\n"},
    {4, 1, 1, 2, "selective", "zero = 1\n"},
    {1, 4, 1, 2, "none", ""},
    {2, 2, 1, 2, "full", "zero = 1\noverlap-grad-reduce = true\n"},
    {1, 2, 1, 4, "selective", ""},
    {1, 2, 1, 4, "none", "sequence-parallel = true\n"},
    {1, 1, 2, 2, "none", "micro-batches = 2\n"},
    {2, 1, 1, 2, "none", "micro-batches = 2\nbalance = tokens\n"},
    {1, 1, 2, 4, "full", "micro-batches = 2\n"},
    {1, 1, 2, 4, "none", "micro-batches = 2\nschedule = interleaved:2\n"},
    {1, 2, 2, 2, "selective", "micro-batches = 2\n"},
    {2, 1, 2, 2, "none", "micro-batches = 2\nzero = 1\n"},
    {2, 1, 2, 2, "none", "micro-batches = 2\nrank-order = tp-dp-cp-pp\n"},
    {1, 2, 2, 2, "full", "micro-batches = 2\nsequence-parallel = true\n"},
    {1, 1, 4, 2, "none", "micro-batches = 4\nschedule = gpipe\n"},
};
/* clang-format on */

/* All that are valid: degrees are powers of two, as meshes are aligned slices
 * of a node, and heads and layers divide. */
static GArray *
all_layouts(void)
{
  GArray *all = g_array_new(FALSE, FALSE, sizeof(Layout));

  for (uint32_t pp = 1; pp <= 4; pp *= 2)
    for (uint32_t tp = 1; tp * pp <= MOST_RANKS; tp *= 2)
      for (uint32_t dp = 1; dp * tp * pp <= MOST_RANKS; dp *= 2)
        for (guint r = 0; r < G_N_ELEMENTS(recomputes); r++)
          for (guint s = 0; s < G_N_ELEMENTS(schedules); s++) {
            Layout l = {dp, tp, pp, 1, recomputes[r], schedules[s].lines};
            gboolean sums = strstr(l.schedule, "overlap") != NULL ||
                            strstr(l.schedule, "zero") != NULL;

            if (schedules[s].pp == pp && (dp > 1 || !sums) &&
                (tp > 1 || !strstr(l.schedule, "sequence-parallel")))
              g_array_append_val(all, l);
          }
  g_array_append_vals(all, rings, G_N_ELEMENTS(rings));
  return all;
}

static RunFixture *
run_of(const Layout *l)
{
  uint32_t n = l->dp * l->tp * l->pp * l->cp;
  g_autofree char *all =
      g_strdup_printf("mesh = node0:gpu[0-%u]\ndp = %u\ntp = %u\npp = %u\n%s",
                      n - 1, l->dp, l->tp, l->pp, "");
  g_autofree char *ring = g_strdup_printf("%scp = %u\n", all, l->cp);
  g_autofree char *whole = /* generation shares no sequences */
      g_strdup_printf("mesh = node0:gpu[0-%u]\ndp = %u\ntp = %u\npp = %u\n",
                      n - 1, l->dp * l->cp, l->tp, l->pp);
  g_autofree char *train =
      g_strdup_printf("%s%srecompute = %s\n", l->cp > 1 ? ring : all,
                      l->schedule, l->recompute);
  RunSpec spec = {.algorithm = "grpo",
                  .config = "run.json",
                  .all = all,
                  .train_alone = train,
                  .head = head,
                  .n_iterations = 1,
                  .seed = 8};
  RunFixture *f;

  if (strstr(l->schedule, "stage-layers")) { /* one layout of all calls */
    g_autofree char *uneven = g_strconcat(all, "stage-layers = 3,1\n", NULL);

    spec.all = uneven;
    f = run_fixture_new(&spec);
  } else if (strstr(l->schedule, "sequence-parallel")) { /* forward too */
    g_autofree char *rows =
        g_strconcat(l->cp > 1 ? ring : all, "sequence-parallel = true\n", NULL);

    g_autofree char *gathered =
        g_strconcat(whole, l->tp > 1 ? "sequence-parallel = true\n" : "", NULL);

    spec.generate = l->cp > 1 ? gathered : NULL;
    spec.all = rows;
    f = run_fixture_new(&spec);
  } else {
    spec.generate = l->cp > 1 ? whole : NULL;
    spec.all = l->cp > 1 ? ring : all;
    f = run_fixture_new(&spec);
  }
  run_fixture_go(f);
  return f;
}

static const RaColumn *
column(const RunFixture *f, const char *call, gboolean tokens)
{
  return ra_experience_column(ra_run_experience(f->run, 0),
                              ra_workload_find_call(f->text->workload, call),
                              tokens, RA_NONE);
}

/* The largest difference of the reference's log-probabilities. */
static double
forward_error(const RunFixture *x, const RunFixture *y)
{
  const RaColumn *a = column(x, "ref", FALSE), *b = column(y, "ref", FALSE);
  double worst = 0;

  ck_assert_uint_gt(a->n, N_SEQUENCES);
  ck_assert_uint_eq(a->n, b->n);
  for (gsize i = 0; i < a->n; i++)
    worst = fmax(worst, fabs((double)a->values[i] - (double)b->values[i]));
  return worst;
}

static guint
tokens_apart(const RunFixture *x, const RunFixture *y)
{
  const RaColumn *a = column(x, "gen", TRUE), *b = column(y, "gen", TRUE);
  guint n = 0;

  ck_assert_uint_eq(a->n, b->n);
  for (gsize i = 0; i < a->n; i++)
    n += a->tokens[i] != b->tokens[i];
  return n;
}

/* Forward within 1e-5, parameters after five training steps within 1e-4 of the
 * largest; tokens differ only where two candidates were within 1e-5, and then
 * the run is another one from there on: such layouts are counted. */
START_TEST(test_all)
{
  static const Layout alone = {1, 1, 1, 1, "none", ""};
  g_autoptr(GArray) all = all_layouts();
  RunFixture *one = run_of(&alone);
  g_autoptr(GArray) params = run_fixture_params(one, "atrain");
  guint n_ties = ra_run_iteration(one->run, 0)->n_ties, n_apart = 0;
  double worst_forward = 0, worst_params = 0;

  ck_assert_uint_ge(all->len, 100);
  for (guint i = (guint)_i; i < all->len; i += N_CASES) {
    const Layout *l = &g_array_index(all, Layout, i);
    RunFixture *many = run_of(l);
    g_autoptr(GArray) trained = run_fixture_params(many, "atrain");
    double forward = forward_error(one, many);
    double off = run_fixture_worst(trained, params);

    if (tokens_apart(one, many) > 0) {
      ck_assert_uint_gt(n_ties, 0);
      n_apart++;
    } else {
      ck_assert_msg(forward < 1e-5 && off < 1e-4,
                    "dp %u tp %u pp %u cp %u recompute %s %s: forward off by "
                    "%g, parameters by %g",
                    l->dp, l->tp, l->pp, l->cp, l->recompute, l->schedule,
                    forward, off);
      worst_forward = fmax(worst_forward, forward);
      worst_params = fmax(worst_params, off);
    }
    run_fixture_free(many);
  }
  printf("# every %ust of %u layouts: forward within %.2g, parameters within "
         "%.2g; %u tokens "
         "near a tie, %u layouts drew another\n",
         N_CASES, all->len, worst_forward, worst_params, n_ties, n_apart);
  run_fixture_free(one);
}
END_TEST

/* clang-format off */
static const Layout layouts[] = {
    {1, 1, 1, 1, "none", ""},
    {2, 2, 2, 1, "full", "micro-batches = 2\n"},
    {8, 1, 1, 1, "none", ""},
    {4, 2, 1, 1, "none", "zero = 1\n"},
    {2, 4, 1, 1, "full", "sequence-parallel = true\nzero = 1\n"},
    {1, 8, 1, 1, "selective", ""},
    {1, 2, 4, 1, "none", "micro-batches = 4\n"},
    {2, 1, 1, 4, "full", ""},
    {1, 2, 2, 2, "none", "micro-batches = 2\nsequence-parallel = true\n"},
};
/* clang-format on */

/* Each number of ranks in each direction twice: the same bits. */
START_TEST(test_twice)
{
  RunFixture *a = run_of(&layouts[_i]), *b = run_of(&layouts[_i]);
  g_autoptr(GArray) x = run_fixture_params(a, "atrain");
  g_autoptr(GArray) y = run_fixture_params(b, "atrain");

  ck_assert_uint_eq(tokens_apart(a, b), 0);
  ck_assert_uint_eq(x->len, y->len);
  ck_assert_mem_eq(x->data, y->data, x->len * sizeof(float));
  run_fixture_free(a);
  run_fixture_free(b);
}
END_TEST

static Suite *
layouts_suite(void)
{
  Suite *suite = suite_create("layouts");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_all, 0, RA_CHECK_SOME(N_CASES));
  tcase_add_loop_test(tcase, test_twice, 0,
                      RA_CHECK_SOME(G_N_ELEMENTS(layouts)));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(layouts_suite)
