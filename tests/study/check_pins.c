/* Limits of a search: typed, of a file, of one call and of all. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "search/space/space.h"
#include "study/setup.h"
#include "tests/support/check_main.h"

static RaSetup *setup;

static void
prepare(void)
{
  static const char *const sets[] = {"cluster.nodes=2", "workload.prompts=64",
                                     NULL};
  RaSetupFlags flags = {.workload = "ppo-llama2-7b.workload",
                        .cluster = "h100-16n.cluster",
                        .sets = sets};
  GError *error = NULL;

  setup = ra_setup_load_pair(&flags, &error);
  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
}

static void
clear(void)
{
  ra_setup_free(setup);
}

static gboolean
read_pins(const char *text, GArray *limits, GError **error)
{
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse("x.pins", text, strlen(text), error);

  return file &&
         ra_limits_read(limits, file, setup->workload, setup->cluster, error);
}

static RaSpace *
space_of(const GArray *limits)
{
  RaSpaceOptions options = {.kind = RA_SPACE_FULL,
                            .n_iterations = 1,
                            .limits =
                                (const RaLimit *)(gconstpointer)limits->data,
                            .n_limits = limits->len};
  GError *error = NULL;
  RaSpace *space =
      ra_space_new(setup->workload, setup->cluster, &options, &error);

  ck_assert_msg(space != NULL, "%s", error ? error->message : "");
  return space;
}

static const char pins[] = "[call all]\n"
                           "tp = <=4\n"
                           "cp = 1\n"
                           "[call actor_generate]\n"
                           "mesh = node1\n"
                           "tp = 2, 4, 8\n"
                           "[call actor_train]\n"
                           "gpus = >=16\n"
                           "schedule = 1f1b, interleaved:2\n"
                           "residency = keep\n";

/* The limits of the file hold for every candidate, and it leaves some: tp at
 * most 4 and no cp anywhere; generation on GPUs 8 to 15, of 2, 4 and 8 with tp
 * 2 or 4; training on both nodes. The fault: without the file some have each of
 * these. */
START_TEST(file)
{
  g_autoptr(GArray) limits = g_array_new(FALSE, FALSE, sizeof(RaLimit));
  g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(RaLimit));
  uint32_t generate = ra_workload_find_call(setup->workload, "actor_generate");
  uint32_t train = ra_workload_find_call(setup->workload, "actor_train");
  GError *error = NULL;
  RaSpace *with, *without;
  guint n_broken = 0, n_two = 0;

  ck_assert_msg(read_pins(pins, limits, &error), "%s",
                error ? error->message : "");
  with = space_of(limits);
  without = space_of(none);
  for (guint s = 0; s < 2; s++)
    for (guint c = 0; c < setup->workload->n_calls; c++)
      for (uint32_t i = 0; i < (s ? without : with)->calls[c].n; i++) {
        const RaCandidate *k = &(s ? without : with)->calls[c].candidates[i];
        const RaCallPlan *p = &k->plan;
        gboolean ok = p->tp <= 4 && p->cp == 1;

        if (c == generate)
          ok = ok && k->n_gpus == 8 && k->first == 8 && k->n_positions == 1 &&
               p->tp >= 2;
        if (c == train)
          ok = ok && k->n_gpus == 16 && p->n_virtual <= 2;
        n_broken += s && !ok;
        n_two += !s && c == train && p->n_virtual == 2;
        ck_assert(s || ok);
      }
  ck_assert_uint_gt(n_broken, 0);
  ck_assert_uint_gt(n_two, 0);
  ck_assert(ra_space_allows_residency(with, setup->workload->calls[train].model,
                                      RA_RESIDENCY_KEEP));
  ck_assert(!ra_space_allows_residency(
      with, setup->workload->calls[train].model, RA_RESIDENCY_HOST));
  ra_space_free(with);
  ra_space_free(without);
}
END_TEST

/* The same on the command line: as many candidates. */
START_TEST(one_syntax)
{
  static const char *const texts[] = {"all.tp<=4",
                                      "all.cp=1",
                                      "actor_generate.mesh=node1",
                                      "actor_generate.tp=2,4,8",
                                      "actor_train.gpus>=16",
                                      "actor_train.schedule=1f1b,interleaved:2",
                                      "actor_train.residency=keep"};
  g_autoptr(GArray) typed = g_array_new(FALSE, FALSE, sizeof(RaLimit));
  g_autoptr(GArray) filed = g_array_new(FALSE, FALSE, sizeof(RaLimit));
  RaSpace *a, *b;

  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    ck_assert(
        ra_limits_add(typed, texts[i], setup->workload, setup->cluster, NULL));
  ck_assert(read_pins(pins, filed, NULL));
  ck_assert_uint_eq(typed->len, filed->len);
  a = space_of(typed);
  b = space_of(filed);
  for (guint c = 0; c < setup->workload->n_calls; c++) {
    ck_assert_uint_eq(a->calls[c].n, b->calls[c].n);
    ck_assert_uint_gt(a->calls[c].n, 0);
  }
  ra_space_free(a);
  ra_space_free(b);
}
END_TEST

/* A range names nothing: zero 0 beside dp stays dominated, which `zero = 0,1`
 * would bring back. */
START_TEST(ranges)
{
  static const char *const texts[] = {"[call actor_train]\nzero = <=1\n",
                                      "[call actor_train]\nzero = 0, 1\n"};
  uint32_t train = ra_workload_find_call(setup->workload, "actor_train");
  guint n[2] = {0, 0};

  for (guint t = 0; t < 2; t++) {
    g_autoptr(GArray) limits = g_array_new(FALSE, FALSE, sizeof(RaLimit));
    RaSpace *space;

    ck_assert(read_pins(texts[t], limits, NULL));
    space = space_of(limits);
    for (uint32_t i = 0; i < space->calls[train].n; i++) {
      const RaCallPlan *p = &space->calls[train].candidates[i].plan;

      ck_assert_int_le(p->zero, 1);
      n[t] += p->zero == 0 && p->dp * p->cp > 1;
    }
    ra_space_free(space);
  }
  ck_assert_uint_eq(n[0], 0);
  ck_assert_uint_gt(n[1], 0);
}
END_TEST

/* The line, and what was expected. */
START_TEST(bad)
{
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"[call actor_tran]\ntp = 1\n", "x.pins:2: no call 'actor_tran'"},
      {"[call all]\n\ntpp = 1\n", "x.pins:3: unknown key 'tpp'"},
      {"[call all]\ntp = 1\npp = two\n", "x.pins:3: 'two' is not a value"},
      {"[call all]\ntp = <=x\n", "x.pins:2: '<=x' is not a range of tp"},
      {"[call all]\nrecompute = >=1\n", "x.pins:2: '>=1' is not a range of"},
      {"[call all]\nmesh = node9\n", "x.pins:2: node 9 is outside"},
      {"[calls all]\ntp = 1\n", "x.pins:1: unknown group"},
      {"[call actor_train]\ntp = 1\ntp = 2\n", "x.pins:3: "},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GArray) limits = g_array_new(FALSE, FALSE, sizeof(RaLimit));
    GError *error = NULL;

    ck_assert(!read_pins(cases[i].text, limits, &error));
    ck_assert_int_eq(error->code, RA_ERROR_INPUT);
    ck_assert_msg(g_str_has_prefix(error->message, cases[i].says), "%s",
                  error->message);
    g_error_free(error);
  }
}
END_TEST

static Suite *
pins_suite(void)
{
  Suite *s = suite_create("pins");
  TCase *core = tcase_create("core");

  tcase_set_timeout(core, 300);
  tcase_add_unchecked_fixture(core, prepare, clear);
  tcase_add_test(core, file);
  tcase_add_test(core, one_syntax);
  tcase_add_test(core, ranges);
  tcase_add_test(core, bad);
  suite_add_tcase(s, core);
  return s;
}

RA_CHECK_MAIN(pins_suite)
