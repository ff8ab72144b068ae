/* Ops that are simulated are those that run: the same tasks, by name, the same
 * ops in them, by name, shape and order. */
#include "config.h"

#include <string.h>

#include "sim/record.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_text.h"
#include "tests/support/run_fixture.h"

#define GPUS(N) "mesh = node0:gpu[" N "]\n"
#define ALL GPUS("0-7")

/* Sequences that divide among the chunks of two and of four ranks. */
static const char even[] =
    "[workload]\nformat = 1\nalgorithm = test\ndataset = prompts\n"
    "prompts = 16\nprompt-length = fixed(8)\nresponse-length = fixed(8)\n"
    "mini-batches = 2\n";

/* Lengths of which no two micro-batches have as many in their order. */
static const char ragged[] =
    "[workload]\nformat = 1\nalgorithm = test\ndataset = prompts\n"
    "prompts = 16\nprompt-length = uniform(2, 9)\n"
    "response-length = uniform(1, 30)\nmini-batches = 2\n";

/* clang-format off */
static const RunSpec specs[] = {
    {"ppo", "run.json", GPUS("0"), NULL, NULL, 2, 6, NULL, 0, NULL, FALSE,
     FALSE, NULL, NULL, NULL},
    {"ppo", "run.json", GPUS("0-1") "tp = 2\n", NULL, NULL, 2, 6, NULL, 0,
     NULL, FALSE, FALSE, NULL, NULL, NULL},
    {"ppo", "run.json", ALL "dp = 8\n", NULL, "overlap-grad-reduce = true\n", 1,
     6, NULL, 0, NULL, FALSE, FALSE, NULL, NULL, NULL},
    {"ppo", "run.json", ALL "tp = 2\npp = 2\ndp = 2\n", NULL,
     "micro-batches = 4\nrecompute = selective\n", 1, 6, NULL, 0, NULL, FALSE,
     FALSE, NULL, NULL, NULL},
    {"ppo", "run.json", ALL "tp = 2\npp = 4\nmicro-batches = 4\n", NULL,
     "schedule = gpipe\nrecompute = full\n", 1, 6, NULL, 0, NULL, FALSE,
     FALSE, NULL, NULL, NULL},
    {"grpo", "run.json", GPUS("0-3") "pp = 2\ntp = 2\nmicro-batches = 4\n",
     NULL, "schedule = interleaved:2\noverlap-grad-reduce = true\n", 2, 3, NULL,
     0, NULL, FALSE, FALSE, NULL, NULL, NULL},
    {"grpo", "run.json", GPUS("0-3") "dp = 2\npp = 2\nstage-layers = 3,1\n",
     GPUS("4-7") "tp = 4\nrealloc = all-gather\n", NULL, 2, 6, NULL, 0, NULL,
     FALSE, FALSE, NULL, NULL, NULL},
    {"grpo", "run.json", GPUS("0-3") "tp = 4\n",
     GPUS("4-5") "pp = 2\nrealloc = p2p\nresidency = keep\n", NULL, 2, 6, NULL,
     1, NULL, FALSE, FALSE, NULL, NULL, NULL},
    {"ppo", "run-tied.json", ALL "tp = 2\npp = 2\ndp = 2\n",
     GPUS("4-7") "tp = 4\nresidency = host\n", NULL, 2, 6, NULL, 0, NULL,
     FALSE, FALSE, NULL, NULL, NULL},
    {"sft", "run-tied.json", ALL "tp = 2\ndp = 2\npp = 2\n", NULL,
     "micro-batches = 4\n", 1, 6, NULL, 0, NULL, FALSE, FALSE, NULL, NULL,
     NULL},
    {"ppo", "run.json", ALL "dp = 4\ntp = 2\n", NULL, "zero = 1\n", 2, 6, NULL,
     0, NULL, FALSE, FALSE, NULL, NULL, NULL},
    {"sft", "run-tied.json", ALL "tp = 2\ndp = 2\npp = 2\n", NULL,
     "micro-batches = 2\nzero = 1\noverlap-grad-reduce = true\n", 1, 6, NULL,
     0, NULL, FALSE, FALSE, NULL, NULL, NULL},
    {"ppo", "run.json", ALL "tp = 4\ndp = 2\nsequence-parallel = true\n",
     NULL, NULL, 1, 6, NULL, 0, NULL, FALSE, FALSE, NULL, NULL, NULL},
    {"ppo", "run.json", ALL "tp = 2\npp = 2\ndp = 2\nmicro-batches = 2\n",
     ALL "tp = 4\npp = 2\nsequence-parallel = true\nmicro-batches = 2\n", NULL,
     1, 6, NULL, 0, NULL, FALSE, FALSE, NULL, NULL, NULL},
    {"sft", "run-tied.json",
     ALL "tp = 2\ndp = 2\npp = 2\nsequence-parallel = true\n", NULL,
     "micro-batches = 4\nrecompute = full\n", 1, 6, NULL, 0, NULL, FALSE,
     FALSE, NULL, NULL, NULL},
    {"ppo", "run.json", GPUS("0-1") "cp = 2\n", GPUS("2-3") "tp = 2\n", NULL,
     2, 6, NULL, 0, even, FALSE, FALSE, NULL, NULL, NULL},
    {"ppo", "run.json", ALL "cp = 4\ntp = 2\n", ALL "tp = 8\n",
     "recompute = selective\n", 1, 6, NULL, 0, even, FALSE, FALSE, NULL, NULL,
     NULL},
    {"sft", "run-tied.json", ALL "cp = 4\npp = 2\n", NULL,
     "micro-batches = 2\nrecompute = full\noverlap-grad-reduce = true\n", 1,
     6, NULL, 0, even, FALSE, FALSE, NULL, NULL, NULL},
    {"ppo", "run.json",
     ALL "cp = 2\ndp = 2\ntp = 2\nsequence-parallel = true\n",
     ALL "dp = 2\ntp = 4\n", "zero = 1\n", 1, 6, NULL, 0, even, FALSE, FALSE,
     NULL, NULL, NULL},
    /* dealt by tokens: in an order of their own (the fault: the set's) */
    {"ppo", "run.json", GPUS("0-3") "dp = 2\npp = 2\nmicro-batches = 2\n"
     "balance = tokens\n", GPUS("0-3") "dp = 4\n",
     "recompute = full\n", 1, 6, NULL, 0, ragged, FALSE, FALSE, NULL, NULL,
     NULL},
    /* experts: enough tokens that all are met */
    {"sft", "run-mixtral.json", GPUS("0"), NULL, NULL, 1, 6, NULL, 0, even,
     FALSE, FALSE, NULL, NULL, NULL},
    {"sft", "run-mixtral.json", GPUS("0-3") "cp = 2\ntp = 2\n", NULL,
     "recompute = full\n", 1, 6, NULL, 0, even, FALSE, FALSE, NULL, NULL, NULL},
    {"sft", "run-mixtral.json", GPUS("0-3") "dp = 4\nep = 2\n", NULL,
     "recompute = full\n", 1, 6, NULL, 0, even, FALSE, FALSE, NULL, NULL, NULL},
    {"sft", "run-mixtral.json",
     ALL "cp = 2\ndp = 2\ntp = 2\nep = 2\nsequence-parallel = true\n", NULL,
     NULL, 1, 6, NULL, 0, even, FALSE, FALSE, NULL, NULL, NULL},
    /* latents: those of training, of whole and of absorbed matrices */
    {"ppo", "run-latent.json", ALL "tp = 2\npp = 2\ndp = 2\n", NULL,
     "micro-batches = 2\nrecompute = selective\n", 1, 6, NULL, 0, NULL, FALSE,
     FALSE, NULL, NULL, NULL},
    {"grpo", "run-latent.json",
     GPUS("0-3") "tp = 4\nsequence-parallel = true\n", NULL,
     "recompute = full\n", 1, 3, NULL, 0, NULL, FALSE, FALSE, NULL, NULL,
     NULL},
};
/* clang-format on */

static RaTrace *
simulated(const RunFixture *f, uint64_t seed)
{
  RaProfile *profile = profile_text_shipped("h100-sxm");
  g_autoptr(RaTaskGraph) graph = NULL;
  g_autoptr(RaEstimator) estimator = NULL;
  g_autoptr(RaSim) sim = NULL;
  g_autoptr(GError) error = NULL;
  RaTrace *trace;

  f->text->cluster->device = profile->spec;
  f->text->cluster->device.groups_experts = FALSE; /* as they run */
  graph = ra_expand(f->text->augmented, RA_FIDELITY_OP, seed, &error);
  ck_assert_msg(graph != NULL, "%s", error ? error->message : "");
  estimator = ra_estimator_new(profile, f->text->cluster, &error);
  ck_assert_msg(estimator != NULL, "%s", error ? error->message : "");
  sim = ra_sim_new(graph, estimator, &error);
  ck_assert_msg(sim != NULL, "%s", error ? error->message : "");
  {
    RaRecorder *recorder = ra_recorder_new(sim, graph);

    ck_assert(ra_sim_run(sim, NULL));
    trace = ra_recorder_finish(recorder, estimator);
  }
  ra_profile_free(profile);
  return trace;
}

/* The rank of a row of one, the first of several. */
static guint64
first_rank(const RaTraceRow *row)
{
  return g_ascii_strtoull(row->ranks, NULL, 10);
}

/* Rows of @trace by name, of each the lowest rank's; tasks that have ops as
 * rows of their own are left out. */
static GHashTable *
index_rows(const RaTrace *trace)
{
  GHashTable *rows = g_hash_table_new(g_str_hash, g_str_equal);

  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);
    const RaTraceRow *seen = g_hash_table_lookup(rows, row->name);

    if (!seen || first_rank(row) < first_rank(seen))
      g_hash_table_insert(rows, (gpointer)row->name, (gpointer)row);
  }
  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);
    g_autofree char *name = g_strdup(row->name);
    char *slash;

    while (row->op && (slash = strrchr(name, '/'))) {
      *slash = '\0';
      g_hash_table_remove(rows, name);
    }
  }
  return rows;
}

/* TRUE if two ops are of one shape. Flags do not count: they are for a GPU's
 * libraries. @drawn: the number of rows that an expert of this rank gets is
 * sampled, and with it those of the GEMMs, activations and exchanges of rows
 * between ranks that share them. */
static gboolean
same_op(const RaOp *a, const RaOp *b, gboolean drawn)
{
  RaOp x = *a, y = *b;

  x.flags = y.flags = 0;
  if (drawn && x.kind == RA_OP_GEMM && x.dim[3] > 1) { /* m, or k backward */
    guint rows = x.dim[1] == y.dim[1] && x.dim[2] == y.dim[2] ? 0 : 2;

    x.dim[rows] = y.dim[rows] = 0;
  } else if (drawn &&
             (x.kind == RA_OP_ACTIVATION || x.kind == RA_OP_ALL_GATHER ||
              x.kind == RA_OP_ACTIVATION_BACKWARD ||
              x.kind == RA_OP_REDUCE_SCATTER)) {
    x.dim[0] = y.dim[0] = 0;
  }
  return memcmp(&x, &y, sizeof x) == 0;
}

static gboolean
same_shape(const RaTraceRow *a, const RaTraceRow *b, gboolean drawn)
{
  RaOp x, y;

  if (g_strcmp0(a->op, b->op) != 0 || !a->shape || !b->shape)
    return g_strcmp0(a->op, b->op) == 0 && a->shape == b->shape;
  ck_assert(ra_op_parse(a->op, a->shape, &x, NULL));
  ck_assert(ra_op_parse(b->op, b->shape, &y, NULL));
  return same_op(&x, &y, drawn);
}

/* (nullable): the first of @a, in its order, that @b lacks or has otherwise. */
static const char *
find_missing(const RaTrace *trace, GHashTable *a, GHashTable *b, gboolean drawn)
{
  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i), *other;

    if (g_hash_table_lookup(a, row->name) != row)
      continue;
    other = g_hash_table_lookup(b, row->name);
    if (!other || !same_shape(row, other, drawn))
      return row->name;
  }
  return NULL;
}

/* (nullable): the first op of a pass that comes in another
 * place in @run than in @sim: of all ops of its task on its lowest
 * rank.  Messages of a ring go on beside what is computed: the simulated one
 * begins with the step that it stands behind, the one that runs when it can. */
static const char *
find_moved(const RaTrace *sim, GHashTable *sims, const RaTrace *run,
           GHashTable *runs)
{
  g_autoptr(GHashTable) last =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GHashTable) before = g_hash_table_new(g_str_hash, g_str_equal);

  for (guint side = 0; side < 2; side++) {
    const RaTrace *trace = side ? run : sim;

    g_hash_table_remove_all(last);
    for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
      const RaTraceRow *row = ra_trace_row(trace, i);
      g_autofree char *task = NULL;
      const char *previous;
      char *end;

      if (g_hash_table_lookup(side ? runs : sims, row->name) != row ||
          (strcmp(row->kind, "fwd") != 0 && strcmp(row->kind, "bwd") != 0) ||
          g_strcmp0(row->op, "send") == 0)
        continue;
      task = g_strdup(row->name);
      end = strstr(task, row->kind);
      end[strlen(row->kind)] = '\0';
      previous = g_hash_table_lookup(last, task);
      if (!side)
        g_hash_table_insert(before, (gpointer)row->name, (gpointer)previous);
      else if (g_strcmp0(g_hash_table_lookup(before, row->name), previous) != 0)
        return row->name;
      g_hash_table_insert(last, g_steal_pointer(&task), (gpointer)row->name);
    }
  }
  return NULL;
}

/* Names: those of one that the other lacks, and both ways; and the order. */
static const char *
difference(const RaTrace *sim, const RaTrace *run, gboolean drawn)
{
  g_autoptr(GHashTable) a = index_rows(sim), b = index_rows(run);
  const char *name = find_missing(sim, a, b, drawn);

  if (!name)
    name = find_missing(run, b, a, drawn);
  return name ? name : find_moved(sim, a, run, b);
}

static RunFixture *
run_of(const RunSpec *spec, RaTrace **out_trace)
{
  RunFixture *f = run_fixture_new(spec);

  f->options.ops = TRUE;
  run_fixture_go(f);
  *out_trace = ra_trace_new();
  ra_run_trace(f->run, *out_trace);
  return f;
}

START_TEST(test_same)
{
  g_autoptr(RaTrace) run = NULL, sim = NULL;
  RunFixture *f = run_of(&specs[_i], &run);
  const char *what;

  sim = simulated(f, specs[_i].seed);
  what = difference(sim, run, strstr(specs[_i].all, "ep = ") != NULL);
  ck_assert_msg(what == NULL, "plan %d: %s", _i, what);
  run_fixture_free(f);
}
END_TEST

/* Every GPU of a group runs the group's ops: as many rows of a name as the
 * simulated row has GPUs, of a task of steps. */
START_TEST(test_all_ranks)
{
  g_autoptr(RaTrace) run = NULL, sim = NULL;
  RunFixture *f = run_of(&specs[3], &run);
  g_autoptr(GHashTable) n_rows = g_hash_table_new(g_str_hash, g_str_equal);
  guint n_checked = 0;

  sim = simulated(f, specs[3].seed);
  for (guint i = 0; i < ra_trace_n_rows(run); i++) {
    const char *name = ra_trace_row(run, i)->name;
    guint n = GPOINTER_TO_UINT(g_hash_table_lookup(n_rows, name));

    g_hash_table_insert(n_rows, (gpointer)name, GUINT_TO_POINTER(n + 1));
  }
  for (guint i = 0; i < ra_trace_n_rows(sim); i++) {
    const RaTraceRow *row = ra_trace_row(sim, i);
    const char *dash = strchr(row->ranks, '-');
    guint64 n =
        dash ? 1 + g_ascii_strtoull(dash + 1, NULL, 10) - first_rank(row) : 1;

    if (strcmp(row->kind, "fwd") != 0 && strcmp(row->kind, "bwd") != 0)
      continue;
    n_checked++;
    ck_assert_uint_eq(n,
                      GPOINTER_TO_UINT(g_hash_table_lookup(n_rows, row->name)));
  }
  ck_assert_uint_gt(n_checked, 1000);
  run_fixture_free(f);
}
END_TEST

/* @trace less its last op row, or with the two ops of its first task of steps
 * the other way round. */
static RaTrace *
spoil(const RaTrace *trace, gboolean swap)
{
  RaTrace *out = ra_trace_new();
  guint n = ra_trace_n_rows(trace), last = n - 1;

  while (!ra_trace_row(trace, last)->op)
    last--;
  for (guint i = 0; i < n; i++) {
    RaTraceRow row = *ra_trace_row(trace, i);

    if (!swap && i == last)
      continue;
    if (swap && g_str_has_suffix(row.name, "/fwd/l0/norm.0"))
      row.begin_s = row.end_s = row.end_s + 1e-3;
    ra_trace_add(out, &row);
  }
  ra_trace_sort(out);
  return out;
}

/* Seen: other lengths, an op that is missing, one that comes late. */
START_TEST(test_faults)
{
  g_autoptr(RaTrace) run = NULL, sim = NULL, other = NULL, less = NULL;
  g_autoptr(RaTrace) late = NULL;
  RunFixture *f = run_of(&specs[0], &run);

  sim = simulated(f, specs[0].seed);
  other = simulated(f, specs[0].seed + 1);
  less = spoil(sim, FALSE);
  late = spoil(sim, TRUE);
  ck_assert(difference(sim, run, FALSE) == NULL);
  ck_assert(difference(other, run, FALSE) != NULL);
  ck_assert(difference(less, run, FALSE) != NULL);
  ck_assert(difference(late, run, FALSE) != NULL);
  run_fixture_free(f);
}
END_TEST

/* Decode steps fill their task: the first op begins after the task does, the
 * last ends with it, and none overlaps the one before it on one stage. */
START_TEST(test_decode_times)
{
  RunFixture *f = run_fixture_new(&specs[0]);
  g_autoptr(RaTrace) sim = simulated(f, specs[0].seed);
  g_autoptr(RaTrace) whole = ra_trace_new();
  double end_s = 0, first_s = -1, prefill_s = 0, ref_s = 0;
  guint n = 0;

  for (guint i = 0; i < ra_trace_n_rows(sim); i++) {
    const RaTraceRow *row = ra_trace_row(sim, i);

    if (row->iteration > 0 || strcmp(row->call, "gen") != 0)
      continue;
    if (strcmp(row->kind, "fwd") == 0)
      prefill_s = row->end_s;
    if (strcmp(row->kind, "decode") != 0)
      continue;
    if (!row->op) {
      ref_s = row->end_s;
      continue;
    }
    n++;
    ck_assert_double_ge(row->begin_s, end_s - 1e-12);
    end_s = row->end_s;
    first_s = first_s < 0 ? row->begin_s : first_s;
  }
  ck_assert_uint_gt(n, 100);
  ck_assert_double_ge(first_s, prefill_s - 1e-12);
  ck_assert_double_gt(ref_s, 0);
  ck_assert_double_eq_tol(end_s, ref_s, 1e-9);
  run_fixture_free(f);
}
END_TEST

static Suite *
same_ops_suite(void)
{
  Suite *suite = suite_create("same_ops");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_same, 0, G_N_ELEMENTS(specs));
  tcase_add_test(tcase, test_all_ranks);
  tcase_add_test(tcase, test_faults);
  tcase_add_test(tcase, test_decode_times);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(same_ops_suite)
