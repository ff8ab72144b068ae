/* Memory over time, told: the turns of a level, and of shipped plans that the
 * holders of a turn are all that a GPU has then. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "sim/memory_replay.h"
#include "study/report/explain_memory.h"
#include "tests/support/check_main.h"

static void
check_turns(const double *level, guint n, guint max, const guint *wanted,
            guint n_wanted)
{
  guint turns[RA_EXPLAIN_TURNS];

  ck_assert_uint_eq(ra_turning_points(level, n, max, turns), n_wanted);
  for (guint i = 0; i < n_wanted; i++)
    ck_assert_uint_eq(turns[i], wanted[i]);
}

/* 1 up to 5 at 2, down to 2 at 4, up to 9 at 6, down to 3: turns at 2, 4 and 6
 * between the ends.  Room for three: swings of 3 (5 to 2) go, the rise to 9
 * stays.  A ripple of less than 1 % of 9 is none.  A level that only rises, or
 * stays, has none. */
START_TEST(test_turns)
{
  const double level[] = {1, 3, 5, 4.95, 2, 6, 9, 3};
  const double rise[] = {1, 2, 1.99, 3}, flat[] = {4, 4};
  const guint all[] = {0, 2, 4, 6, 7}, few[] = {0, 6, 7}, ends[] = {0, 3};
  const guint two[] = {0, 1};

  check_turns(level, 8, 12, all, 5);
  check_turns(level, 8, 5, all, 5);
  check_turns(level, 8, 3, few, 3);
  check_turns(rise, 4, 12, ends, 2);
  check_turns(flat, 2, 12, two, 2);
  check_turns(flat, 1, 12, two, 1);
  check_turns(flat, 0, 12, two, 0);
}
END_TEST

/* Cells of a row of a table as TSV. */
static char **
cells_of(const char *line)
{
  return g_strsplit(line, "\t", -1);
}

static char **
lines_of(const RaTable *table)
{
  g_autoptr(GString) out = g_string_new(NULL);

  ra_table_write(table, RA_FORMAT_TSV, out);
  return g_strsplit(out->str, "\n", -1);
}

/* Bytes that the holders have of @gpus at @time, in turn @nth of that time. */
static double
sum_holders(char **lines, const char *gpus, const char *time)
{
  double sum = 0;

  for (guint i = 2; lines[i] && *lines[i]; i++) {
    g_auto(GStrv) cells = cells_of(lines[i]);

    if (strcmp(cells[0], gpus) == 0 && strcmp(cells[1], time) == 0)
      sum += g_ascii_strtod(cells[3], NULL);
  }
  return sum;
}

/* The largest relative difference between a turn's memory and the sum of its
 * holders, less @left_out bytes; turns at one time are summed. */
static double
apart(char **turns, char **holders, double left_out)
{
  double most = 0;

  for (guint i = 2; turns[i] && *turns[i]; i++) {
    g_auto(GStrv) cells = cells_of(turns[i]);
    double total = 0;

    for (guint k = 2; turns[k] && *turns[k]; k++) {
      g_auto(GStrv) others = cells_of(turns[k]);

      if (strcmp(cells[0], others[0]) == 0 && strcmp(cells[1], others[1]) == 0)
        total += g_ascii_strtod(others[3], NULL);
    }
    most = fmax(most, fabs(sum_holders(holders, cells[0], cells[1]) - left_out -
                           total) /
                          total);
  }
  return most;
}

static double
highest(char **turns)
{
  double most = 0;

  for (guint i = 2; turns[i] && *turns[i]; i++) {
    g_auto(GStrv) cells = cells_of(turns[i]);

    most = fmax(most, g_ascii_strtod(cells[3], NULL));
  }
  return most;
}

/* Groups, disaggregated and shared, with offloads: the holders add up (1e-6 of
 * what they have; not with a byte in a thousand less, the fault), and the
 * highest turn of all is the peak of the account. */
START_TEST(test_plans)
{
  static const char *const names[] = {"ppo-llama3-70b-128-disaggregated.plan",
                                      "ppo-llama2-7b-8-offload.plan",
                                      "grpo-qwen2.5-32b-128-async.plan"};
  g_autofree char *path =
      g_build_filename(g_getenv("srcdir"), "share", "plans", names[_i], NULL);
  RaSetupFlags flags = {0};
  RaReplayOptions options = {.n_iterations = 2, .fidelity = RA_FIDELITY_STAGE};
  RaSetup *setup = ra_setup_load(path, RA_FILE_PLAN, &flags, NULL);
  g_autoptr(RaReplay) replay = ra_replay_new(setup, &options, NULL);
  g_autoptr(RaMemoryTable) table = ra_memory_table_new(replay->graph);
  g_autoptr(RaMemoryReplay) memory = ra_memory_replay_new(replay->sim, table);
  RaTable *turns, *holders;
  double peak = memory->lanes[memory->fullest].peak_bytes;

  ra_explain_memory(setup, replay, &turns, &holders);
  {
    g_auto(GStrv) a = lines_of(turns), b = lines_of(holders);

    ck_assert_uint_gt(ra_table_n_rows(turns), 4);
    ck_assert_double_le(apart(a, b, 0), 1e-6);
    ck_assert_double_gt(apart(a, b, 1e-3 * peak), 1e-6);
    ck_assert_double_eq_tol(highest(a), peak, 1e-6 * peak);
  }
  ra_table_free(turns);
  ra_table_free(holders);
  ra_setup_free(setup);
}
END_TEST

static Suite *
explain_memory_suite(void)
{
  Suite *suite = suite_create("explain_memory");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_turns);
  tcase_add_loop_test(tcase, test_plans, 0, 3);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(explain_memory_suite)
