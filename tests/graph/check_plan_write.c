/* Plans written as key files: reading them gives the same plan. */
#include "config.h"

#include "graph/input/plan_write.h"
#include "study/setup.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_sample.h"

static const RaPlanWords words = {.workload = "w.workload",
                                  .cluster = "c.cluster"};

/* The sample's workload with a judge of experts, which ep may cut. */
static void
setup_experts(void)
{
  g_autofree char *text = ra_edit(workload_text, "config = llama-2-70b.json",
                                  "config = mixtral-8x7b.json");
  RaKeyFile *file;

  setup();
  ra_workload_free(workload);
  file = key_file("w.workload", text);
  workload = ra_workload_load(file, NULL);
  ck_assert_ptr_nonnull(workload);
  ra_key_file_unref(file);
}

static RaPlan *
read_again(const RaPlan *plan, char **out_text)
{
  GError *error = NULL;
  RaPlan *again;

  *out_text = ra_plan_write(plan, &words, &error);
  ck_assert_msg(*out_text != NULL, "%s", error ? error->message : "");
  again = plan_from(*out_text, &error);
  ck_assert_msg(again != NULL, "%s\n%s", error ? error->message : "",
                *out_text);
  return again;
}

/* Every key of a call is in `all`, with a value that is not its default, so
 * all are written; and every one of them counts in ra_plan_equal(). */
static const char all[] =
    "[plan]\nworkload = w.workload\ncluster = c.cluster\n"
    "[call generate]\nmesh = node[0-1]\ndp = 8\ntp = 2\npp = 1\n"
    "launch = graph\nresidency = keep\nrealloc = p2p\n"
    "batching = continuous\nmax-sequences = 64\nprefill-tokens = 512\n"
    "kv-block = 32\nkv-memory = 8 GiB\nkv-admission = whole\n"
    "prefix-sharing = true\ndtype = fp8\nkv-dtype = fp8\n"
    "[call score]\nmesh = node2:gpu[4-7]\ndp = 1\ntp = 2\npp = 1\n"
    "cp = 2\nep = 2\nexpert-tp = 1\ndispatch = once\nmicro-batches = 16\n"
    "balance = tokens\npadding = micro-batch\npadded-length = 3072\n"
    "residency = host\n"
    "[call verify]\nmesh = node3\n"
    "[call train]\nmesh = node[0-1]\ndp = 2\ntp = 4\npp = 2\n"
    "micro-batches = 6\nmini-batches = 2\nschedule = "
    "interleaved:2\nsequence-parallel = true\n"
    "recompute = selective\nattention = core-dropout\n"
    "cross-entropy = unfused\nscatter-sends = true\nzero = 1\nzero-group = "
    "1\ngrad-dtype = fp32\n"
    "overlap-grad-reduce = true\nmaster-weights = remainders\n"
    "moments-dtype = fp16\n"
    "gemm-dtype = fp8\nfp8-scaling = delayed\nfp8-params = true\n"
    "bf16-first-layers = 1\nbf16-last-layers = 4\n"
    "rank-order = dp-tp-pp\n"
    "stage-layers = 11, 10, 10, 9\noptimizer-residency = host\ngrad-residency "
    "= release\n";

/* Keys that go with static batching alone, in two plans as two of them exclude
 * each other. */
static const char tails[] =
    "assignment = length\nlength-prediction = 0.5\nover-sample = 1.5\n"
    "unfinished = carry\nmigrate-at = 0.25\nmigrate-to = 2\n"
    "moved-kv = recompute\n";
static const char respread[] = "respread = 3\nmoved-kv = recompute\n";

/* `all` with static batching and @keys. */
static char *
static_plan(const char *keys)
{
  return ra_edit(all,
                 "batching = continuous\nmax-sequences = 64\n"
                 "prefill-tokens = 512\nkv-block = 32\nkv-memory = 8 GiB\n"
                 "kv-admission = whole\nprefix-sharing = true\n",
                 keys);
}

/* Sharded weights exclude experts. */
static char *
sharded_plan(void)
{
  return ra_edit(all, "ep = 2\nexpert-tp = 1\ndispatch = once\n",
                 "zero = 3\ngathers = in-turn\n");
}

START_TEST(test_round_trip)
{
  g_autofree char *sharded = sharded_plan();
  g_autofree char *moved = static_plan(tails);
  g_autofree char *spread = static_plan(respread);
  const char *const texts[] = {all, moved, spread, sharded};
  g_autoptr(GString) written = g_string_new(NULL);
  const RaKeySpec *specs;
  gsize n;

  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
    GError *error = NULL;
    RaPlan *plan = plan_from(texts[i], &error), *again;
    g_autofree char *text = NULL;

    ck_assert_msg(plan != NULL, "%s", error ? error->message : "");
    again = read_again(plan, &text);
    ck_assert_msg(ra_plan_equal(plan, again), "%s", text);
    g_string_append(written, text);
    ra_plan_free(plan);
    ra_plan_free(again);
  }
  specs = ra_plan_key_specs("call", &n);
  for (gsize i = 0; i < n; i++) {
    g_autofree char *line = g_strdup_printf("\n%s = ", specs[i].key);

    /* A service needs GPUs of its own: test_shipped() has one. */
    /* tests/graph/check_turns.c, tests/sim/check_service.c */
    if (g_str_equal(specs[i].key, "tool-kv") ||
        g_str_equal(specs[i].key, "sync-interval"))
      continue;
    if (g_str_equal(specs[i].key, "service"))
      continue;
    /* A rollout of experts: tests/graph/check_precision.c. */
    if (g_str_equal(specs[i].key, "expert-dtype"))
      continue;
    ck_assert_msg(strstr(written->str, line) != NULL,
                  "'%s' is not written by graph/input/plan_write.c, or has its "
                  "default in this test's plans:\n%s",
                  specs[i].key, written->str);
  }
}
END_TEST

/* Each changes one key of `all`. */
static const struct {
  const char *from, *to;
} edits[] = {
    {"mesh = node2:gpu[4-7]", "mesh = node2:gpu[0-3]"},
    {"mesh = node3", "mesh = node2"},
    {"dp = 8\ntp = 2\npp = 1", "dp = 4\ntp = 4\npp = 1"},
    {"batching = continuous\nmax-sequences = 64\nprefill-tokens = 512\n"
     "kv-block = 32\nkv-memory = 8 GiB\nkv-admission = whole\n"
     "prefix-sharing = true\n",
     ""},
    {"max-sequences = 64\n", ""},
    {"prefill-tokens = 512\n", ""},
    {"kv-block = 32\n", ""},
    {"kv-memory = 8 GiB\n", ""},
    {"kv-admission = whole\n", ""},
    {"true\ndtype = fp8\n", "true\n"},
    {"kv-dtype = fp8\n", ""},
    {"prefix-sharing = true\n", ""},
    {"ep = 2\nexpert-tp = 1\ndispatch = once\n", ""},
    {"expert-tp = 1\n", ""},
    {"dispatch = once\n", ""},
    {"dp = 1\ntp = 2\npp = 1\ncp = 2", "dp = 2\ntp = 2\npp = 1"},
    {"micro-batches = 16", "micro-batches = 8"},
    {"mini-batches = 2\n", ""},
    {"schedule = interleaved:2", "schedule = gpipe"},
    {"sequence-parallel = true\n", ""},
    {"recompute = selective", "recompute = full"},
    {"attention = core-dropout", "attention = core"},
    {"cross-entropy = unfused\n", ""},
    {"scatter-sends = true\n", ""},
    {"zero = 1", "zero = 2"},
    {"zero-group = 1\n", ""},
    {"grad-dtype = fp32", "grad-dtype = bf16"},
    {"overlap-grad-reduce = true\n", ""},
    {"launch = graph\n", ""},
    {"rank-order = dp-tp-pp\n", ""},
    {"11, 10, 10, 9", "10, 11, 10, 9"},
    {"residency = keep", "residency = release"},
    {"realloc = p2p", "realloc = all-gather"},
    {"optimizer-residency = host\n", ""},
    {"optimizer-residency = host", "optimizer-residency = cpu"},
    {"grad-residency = release\n", ""},
    {"master-weights = remainders\n", ""},
    {"master-weights = remainders", "master-weights = none"},
    {"moments-dtype = fp16\n", ""},
    {"moments-dtype = fp16", "moments-dtype = bf16"},
    {"gemm-dtype = fp8\nfp8-scaling = delayed\nfp8-params = true\n"
     "bf16-first-layers = 1\nbf16-last-layers = 4\n",
     ""},
    {"bf16-first-layers = 1\n", ""},
    {"bf16-last-layers = 4", "bf16-last-layers = 1"},
    {"fp8-scaling = delayed\n", ""},
    {"fp8-params = true\n", ""},
    {"balance = tokens\n", ""},
    {"padding = micro-batch\n", ""},
    {"padding = micro-batch", "padding = batch"},
    {"padded-length = 3072\n", ""},
    {"[call verify]\nmesh = node3\n", ""},
};

/* Equality that overlooks a key would make the test above worthless. */
START_TEST(test_equal_sees_every_key)
{
  RaPlan *plan = plan_from(all, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS(edits); i++) {
    g_autofree char *first = ra_edit(all, edits[i].from, edits[i].to);
    g_autofree char *text = NULL;
    GError *error = NULL;
    RaPlan *other, *again;

    if (g_str_has_prefix(edits[i].from, "schedule")) {
      char *gpipe = ra_edit(first, "11, 10, 10, 9", "21, 19");

      g_free(first);
      first = gpipe;
    }
    other = plan_from(first, &error);
    ck_assert_msg(other != NULL, "%s", error ? error->message : "");
    ck_assert_msg(!ra_plan_equal(plan, other), "edit %u is not seen", (guint)i);
    again = read_again(other, &text);
    ck_assert_msg(ra_plan_equal(other, again), "%s", text);
    ra_plan_free(other);
    ra_plan_free(again);
  }
  ra_plan_free(plan);
}
END_TEST

/* The same of sharded weights. */
START_TEST(test_equal_sees_gathers)
{
  g_autofree char *sharded = sharded_plan();
  g_autofree char *ahead = ra_edit(sharded, "gathers = in-turn\n", "");
  RaPlan *a = plan_from(sharded, NULL), *b = plan_from(ahead, NULL);

  ck_assert(a && b && !ra_plan_equal(a, b));
  ra_plan_free(a);
  ra_plan_free(b);
}
END_TEST

/* The same of the keys of static batching. */
START_TEST(test_equal_sees_tails)
{
  static const char *const from[] = {
      "assignment = length\nlength-prediction = 0.5\n",
      "length-prediction = 0.5\n",
      "over-sample = 1.5\nunfinished = carry\n",
      "unfinished = carry\n",
      "migrate-at = 0.25\n",
      "migrate-to = 2\n",
      "moved-kv = recompute\n",
      "respread = 3\n"};
  static const char *const to[] = {
      "", "", "", "", "migrate-at = 0.5\n", "", "", "respread = 4\n"};
  g_autofree char *moved = static_plan(tails);
  g_autofree char *spread = static_plan(respread);

  for (gsize i = 0; i < G_N_ELEMENTS(from); i++) {
    const char *base = strstr(moved, from[i]) ? moved : spread;
    g_autofree char *changed = ra_edit(base, from[i], to[i]);
    RaPlan *a = plan_from(base, NULL), *b = plan_from(changed, NULL);

    ck_assert_msg(a && b, "%s", from[i]);
    ck_assert_msg(!ra_plan_equal(a, b), "%s is not seen", from[i]);
    ra_plan_free(a);
    ra_plan_free(b);
  }
}
END_TEST

/* Every shipped plan. */
START_TEST(test_shipped)
{
  g_autofree char *folder =
      g_build_filename(g_getenv("srcdir"), "share", "plans", NULL);
  GDir *dir = g_dir_open(folder, 0, NULL);
  const RaSetupFlags none = {.workload = NULL};
  const char *name;
  guint n = 0, n_services = 0;

  ck_assert_ptr_nonnull(dir);
  while ((name = g_dir_read_name(dir))) {
    GError *error = NULL;
    RaSetup *s;
    RaPlan *before;
    g_autofree char *text = NULL;

    if (!g_str_has_suffix(name, ".plan"))
      continue;
    s = ra_setup_load(name, RA_FILE_PLAN, &none, &error);
    ck_assert_msg(s != NULL, "%s", error ? error->message : "");
    text = ra_plan_write(s->plan, &words, NULL);
    before = g_steal_pointer(&s->plan);
    ck_assert_msg(ra_setup_read_plan(s, name, text, &error), "%s",
                  error ? error->message : "");
    ck_assert_msg(ra_plan_equal(before, s->plan), "%s\n%s", name, text);
    n_services += strstr(text, "\nservice = ") != NULL;
    ra_plan_free(before);
    ra_setup_free(s);
    n++;
  }
  g_dir_close(dir);
  ck_assert_uint_ge(n, 15);
  ck_assert_uint_ge(n_services, 1);
}
END_TEST

/* Names with blanks stand in quotes; what no key file can hold is refused.
 * Comments are wrapped at 80 columns, and stay comments. */
START_TEST(test_words)
{
  static const char long_comment[] =
      "one two three four five six seven eight nine ten eleven twelve thirteen "
      "fourteen fifteen\n\nsixteen";
  RaPlanWords w = {.workload = "my # w.workload",
                   .cluster = "c.cluster",
                   .head = long_comment};
  RaPlan *plan = plan_from(all, NULL);
  g_autofree char *text = ra_plan_write(plan, &w, NULL);
  g_autofree char *none = NULL;
  g_autoptr(GError) error = NULL;
  RaKeyFile *file = key_file("x.plan", text);
  const char *workload_name, *cluster_name;

  ck_assert(ra_plan_files(file, &workload_name, &cluster_name, NULL));
  ck_assert_str_eq(workload_name, "my # w.workload");
  ra_key_file_unref(file);
  ck_assert(g_str_has_prefix(
      text, "# one two three four five six seven eight nine ten eleven twelve "
            "thirteen\n# fourteen fifteen\n#\n# sixteen\n\n[plan]\n"));
  w.system = "s.system";
  g_free(text);
  text = ra_plan_write(plan, &w, NULL);
  file = key_file("x.plan", text);
  ck_assert_str_eq(ra_plan_system(file), "s.system");
  ra_key_file_unref(file);
  w.workload = "a\"b";
  none = ra_plan_write(plan, &w, &error);
  ck_assert_ptr_null(none);
  ck_assert_str_eq(error->message,
                   "workload: 'a\"b' cannot stand in a file of keys, expected "
                   "it without double quotes and control characters");
  ra_plan_free(plan);
}
END_TEST

static Suite *
plan_write_suite(void)
{
  Suite *suite = suite_create("plan_write");
  TCase *tcase = tcase_create("core");

  tcase_add_checked_fixture(tcase, setup_experts, teardown);
  tcase_add_test(tcase, test_round_trip);
  tcase_add_test(tcase, test_equal_sees_every_key);
  tcase_add_test(tcase, test_equal_sees_gathers);
  tcase_add_test(tcase, test_equal_sees_tails);
  tcase_add_test(tcase, test_shipped);
  tcase_add_test(tcase, test_words);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(plan_write_suite)
