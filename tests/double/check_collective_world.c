/* Measurements of processes, collected at process 0, over a world in which the
 * test plays the other processes. */
#include "config.h"

#include "exec/measure/collective_probe_impl.h"
#include "tests/support/check_main.h"

#define N_PROCESSES 3
#define N_RANKS 6   /* two each */
#define N_NUMBERS 2 /* of a rank */

/* Rank r's are 10 r + 1 and 10 r + 2. */
static double
number(uint32_t rank, uint32_t i)
{
  return 10.0 * rank + i + 1;
}

static gboolean swaps; /* the fault: the last two processes in each other's
                          place */

static GPtrArray *
gather(RaWorld *world, const void *mine, gsize n_bytes)
{
  GPtrArray *all =
      g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);

  ck_assert_uint_eq(n_bytes, 2 * N_NUMBERS * sizeof(double));
  g_ptr_array_add(all, g_bytes_new(mine, n_bytes));
  for (uint32_t p = 1; p < N_PROCESSES; p++) {
    uint32_t from = swaps ? N_PROCESSES - p : p;
    double said[2 * N_NUMBERS];

    for (uint32_t i = 0; i < G_N_ELEMENTS(said); i++)
      said[i] = number(2 * from + i / N_NUMBERS, i % N_NUMBERS);
    g_ptr_array_add(all, g_bytes_new(said, sizeof said));
  }
  return all;
}

/* TRUE if process 0 has each rank's numbers in that rank's place. */
static gboolean
is_whole(void)
{
  static const RaWorldTable table = {.gather = gather};
  RaWorld world = {.table = &table, .n_processes = N_PROCESSES};
  const RaCollectiveProbe probe = {.world = &world};
  const RaCollectiveWork work = {
      .probe = &probe, .n_ranks = N_RANKS, .first = 0, .n_here = 2};
  double array[N_RANKS * N_NUMBERS] = {1, 2, 11, 12};
  gboolean is_right = TRUE;

  ra_collective_gather(&work, array, N_NUMBERS * sizeof *array);
  for (uint32_t i = 0; i < G_N_ELEMENTS(array); i++) {
    double want = number(i / N_NUMBERS, i % N_NUMBERS);

    is_right = is_right && !(array[i] < want) && !(array[i] > want);
  }
  return is_right;
}

START_TEST(test_gather)
{
  swaps = _i == 1;
  ck_assert_int_eq(is_whole(), !swaps);
}
END_TEST

static Suite *
collective_world_suite(void)
{
  Suite *suite = suite_create("collective_world");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_gather, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(collective_world_suite)
