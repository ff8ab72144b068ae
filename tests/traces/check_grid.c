/* Grids: look-ups by hand, merging, filling, their text and its faults. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "traces/grid.h"

static const double m[] = {1, 2, 4, 16};
static const double k[] = {128, 256};

static RaGrid *
small(void)
{
  RaGrid *grid = ra_grid_new();

  ra_grid_add_axis(grid, "m", m, G_N_ELEMENTS(m));
  ra_grid_add_axis(grid, "k", k, G_N_ELEMENTS(k));
  return grid;
}

/* Value 10 log2(m) + log2(k) at all knots: linear in the logarithms, so that
 * any point has it: m = 3 is log2 1.5 (linear between 2 and 4), m = 10 log2
 * 3.25, k = 192 log2 7.5; beyond the knots those of the edge. */
START_TEST(test_look_up)
{
  g_autoptr(RaGrid) grid = small();

  for (guint i = 0; i < G_N_ELEMENTS(m); i++)
    for (guint j = 0; j < G_N_ELEMENTS(k); j++) {
      double at[] = {m[i], k[j]};

      ck_assert(ra_grid_sample(grid, at, 10 * log2(m[i]) + log2(k[j])));
    }
  ck_assert(!ra_grid_sample(grid, (double[]){3, 128}, 1));
  ra_grid_fill(grid);
  ck_assert_double_eq_tol(ra_grid_at(grid, (double[]){4, 128}), 27, 1e-6);
  ck_assert_double_eq_tol(ra_grid_at(grid, (double[]){3, 192}), 22.5, 1e-6);
  ck_assert_double_eq_tol(ra_grid_at(grid, (double[]){10, 256}), 40.5, 1e-5);
  ck_assert_double_eq_tol(ra_grid_at(grid, (double[]){0, 64}), 7, 1e-6);
  ck_assert_double_eq_tol(ra_grid_at(grid, (double[]){1e18, 1e18}), 48, 1e-5);
  /* A wrong cell shows. */
  grid->values[0] += 1;
  ck_assert(fabs(ra_grid_at(grid, (double[]){1.5, 128}) - 12) > 0.1);
}
END_TEST

/* Samples 1, 2, 6 in two orders and as two merged cells: n 3, mean 3, squares
 * 4 + 1 + 9 = 14, deviation sqrt(14 / 3). */
START_TEST(test_merge)
{
  g_autoptr(RaGrid) grid = small();
  const double at[] = {1, 128};
  RaGridCell pair = {.n = 2, .mean = 3.5, .deviation = 2.5}; /* 1 and 6 */

  for (guint i = 0; i < 3; i++)
    ra_grid_sample(grid, at, (double[]){1, 2, 6}[i]);
  ra_grid_sample(grid, (double[]){2, 128}, 2);
  ra_grid_merge(grid, 1, &pair);
  for (guint i = 0; i < 2; i++) {
    ck_assert_uint_eq(grid->cells[i].n, 3);
    ck_assert_double_eq_tol((double)grid->cells[i].mean, 3, 1e-6);
    ck_assert_double_eq_tol((double)grid->cells[i].deviation, sqrt(14. / 3),
                            1e-6);
  }
}
END_TEST

/* Holes.  An axis is trusted by the errors of its measured cells: m by one side
 * (0.4 / sqrt 2, 0.2 / sqrt 2, 0.2, 0.2: mean a = 0.206), between two (0.05, 0:
 * mean b = 0.025), k by one side (0.4, 0.4); between two as of a random walk,
 * which is not asked.  m = 2, k = 128: on m between 0.1 and 0.5, over 2
 * octaves, 0.3; on k one octave from 0.7.  m = 16, k = 256: no axis has both
 * sides; m = 4 (0.9) is 2 octaves away, k = 128 (0.7) one.  Equal weights of
 * the axes, the fault, give 0.43 and 0.77. */
START_TEST(test_fill)
{
  g_autoptr(RaGrid) grid = small();
  const struct {
    double at[2], value;
  } known[] = {{{1, 128}, 0.1}, {{4, 128}, 0.5}, {{16, 128}, 0.7},
               {{1, 256}, 0.5}, {{2, 256}, 0.7}, {{4, 256}, 0.9}};
  double a = (0.6 / sqrt(2) + 0.4) / 4, b = 0.05 / 2, w[2];

  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    ra_grid_sample(grid, known[i].at, known[i].value);
  ra_grid_fill(grid);
  w[0] = 1 / (2 * (b * b + 1e-6));
  w[1] = 1 / (0.4 * 0.4 + 1e-6);
  ck_assert_double_eq_tol(ra_grid_at(grid, (double[]){2, 128}),
                          (0.3 * w[0] + 0.7 * w[1]) / (w[0] + w[1]), 1e-6);
  w[0] = 1 / (2 * (a * a + 1e-6));
  ck_assert_double_eq_tol(ra_grid_at(grid, (double[]){16, 256}),
                          (0.9 * w[0] + 0.7 * w[1]) / (w[0] + w[1]), 1e-6);
  ck_assert_uint_eq(grid->n_spikes, 0);
}
END_TEST

/* A lone sample a factor of e off its neighbours is not used, three are. */
START_TEST(test_spike)
{
  g_autoptr(RaGrid) grid = ra_grid_new();

  ra_grid_add_axis(grid, "m", m, 4);
  for (guint i = 0; i < 4; i++)
    ra_grid_sample(grid, &m[i], i == 1 ? 1.5 : 0.1);
  ra_grid_fill(grid);
  ck_assert_uint_eq(grid->n_spikes, 1);
  ck_assert_double_eq_tol(ra_grid_at(grid, &m[1]), 0.1, 1e-6);
  ra_grid_sample(grid, &m[1], 1.5);
  ra_grid_sample(grid, &m[1], 1.5);
  ra_grid_fill(grid);
  ck_assert_uint_eq(grid->n_spikes, 0);
  ck_assert_double_eq_tol(ra_grid_at(grid, &m[1]), 1.5, 1e-6);
}
END_TEST

/* Over the last size (m 4) of three numbers of ranks (n) the middle one stands
 * between 0 and 2.6 and is 0: 1.3 off what its neighbours in n say, but as the
 * size before it, beyond which nothing stands: no spike.  (The first sizes are
 * 5, so that m is little trusted: without the rule, the fault, it is one.)  At
 * -1.5 it is as neither, and a hole between 0 on m, whose six steps are 19.1,
 * and 1.3 on n, whose three middles are off by 2.8. */
START_TEST(test_edge)
{
  const double sizes[] = {1, 2, 4}, ranks[] = {2, 4, 8};
  const double w[] = {1 / (19.1 * 19.1 / 36), 1 / (2 * 2.8 * 2.8 / 2 / 9)};

  for (guint odd = 0; odd < 2; odd++) {
    g_autoptr(RaGrid) grid = ra_grid_new();
    double last[] = {4, 4};

    ra_grid_add_axis(grid, "m", sizes, 3);
    ra_grid_add_axis(grid, "n", ranks, 3);
    for (guint r = 0; r < 3; r++)
      for (guint i = 0; i < 3; i++) {
        double at[] = {sizes[i], ranks[r]};
        double own = r == 1 && i == 2 && odd ? -1.5 : 0;

        ra_grid_sample(grid, at, i == 0 ? 5 : i == 2 && r == 2 ? 2.6 : own);
      }
    ra_grid_fill(grid);
    ck_assert_uint_eq(grid->n_spikes, odd);
    ck_assert_double_eq_tol(ra_grid_at(grid, last),
                            odd ? 1.3 * w[1] / (w[0] + w[1]) : 0, 1e-6);
  }
}
END_TEST

#define TABLE                                                                  \
  "[table x]\naxis-1 = m 1 2 4 16\naxis-2 = k 128 256\n"                       \
  "at-128 = -31 12*3~7 (-8) 5\nat-256 = (0) (7)9000 0 -100000\n"

/* Reads @text; NULL with the message in @out_message. */
static RaGrid *
parse(const char *text, char **out_message)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(RaKeyFile) file = ra_key_file_parse("t", text, strlen(text), NULL);
  RaGrid *grid;

  ck_assert_ptr_nonnull(file);
  grid = ra_grid_read(file, 0, &error);
  ck_assert((grid == NULL) == (error != NULL));
  *out_message = g_strdup(error ? error->message : "");
  return grid;
}

START_TEST(test_text)
{
  g_autofree char *message = NULL;
  g_autoptr(RaGrid) grid = parse(TABLE, &message);
  g_autoptr(GString) out = g_string_new("[table x]\n");

  ck_assert_str_eq(message, "");
  ck_assert_uint_eq(grid->cells[1].n, 3);
  ck_assert_double_eq_tol((double)grid->cells[1].mean, 0.012, 1e-9);
  ck_assert_double_eq_tol((double)grid->cells[1].deviation, 0.007, 1e-9);
  ck_assert_uint_eq(grid->cells[2].n, 0);
  ck_assert_double_eq_tol((double)grid->values[2], -0.008, 1e-9);
  ck_assert_uint_eq(grid->cells[5].n, 1); /* a spike */
  ck_assert_double_eq_tol((double)grid->values[5], 0.007, 1e-9);
  ck_assert_double_eq_tol((double)grid->cells[7].mean, -100, 1e-5);
  ra_grid_write(grid, out);
  ck_assert_str_eq(out->str, TABLE);
}
END_TEST

START_TEST(test_refused)
{
  static const struct {
    const char *from, *to, *message;
  } cases[] = {
      {"axis-1 = m 1", "axis-1 = m 2", "t:2: knot 2 of 'axis-1' is '2'"},
      {"m 1 2 4 16", "m", "t:2: 'axis-1' has 0 knots"},
      {"axis-2", "axis-3", "t:3: 'axis-3' is axis 2"},
      {"at-128", "at-129", "t:4: unknown key 'at-129'"},
      {"at-128", "at", "t:4: unknown key 'at'"},
      {"at-128 = -31 12*3~7 (-8) 5\n", "",
       "t:1: the table has 1 lines, expected 2"},
      {"-31 12", "-31  12", "t:4: cell 2 of 'at-128'"},
      {" (-8) 5", " (-8)", "t:4: cell 3 of 'at-128'"},
      {" (-8) 5", " (-8 5", "t:4: cell 3 of 'at-128'"},
      {" (-8) 5", " (-8) 5 6", "t:4: cell 4 of 'at-128'"},
      {"12*3~7", "12*0~7", "t:4: cell 2"},
      {"12*3~7", "1e3", "t:4: cell 2"},
      {"-100000", "-100001", "t:5: cell 4"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_auto(GStrv) parts = g_strsplit(TABLE, cases[i].from, 2);
    g_autofree char *text = g_strjoinv(cases[i].to, parts);
    g_autofree char *message = NULL;
    g_autoptr(RaGrid) grid = parse(text, &message);

    ck_assert_ptr_null(grid);
    ck_assert_msg(g_str_has_prefix(message, cases[i].message), "%s", message);
  }
}
END_TEST

static Suite *
grid_suite(void)
{
  Suite *suite = suite_create("grid");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_look_up);
  tcase_add_test(tcase, test_merge);
  tcase_add_test(tcase, test_fill);
  tcase_add_test(tcase, test_spike);
  tcase_add_test(tcase, test_edge);
  tcase_add_test(tcase, test_text);
  tcase_add_test(tcase, test_refused);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(grid_suite)
