/* Rows of collectives over nodes that were made up by a law, through the trace
 * that the probe writes: the fit finds the law. */
#include "config.h"

#include <math.h>

#include "estimator/calibrate/calibrate.h"
#include "estimator/fit.h"
#include "exec/measure/collective_probe.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_text.h"

#define N_NODES 2
#define PER_NODE 4

#define NIC_BYTES_PER_S 25e9

/* The law that rows are made up by; links within a node are out of its way. */
static const char *const truth_edits[] = {
    "device.intra-node=400 GB/s",
    "inter-node.low-latency-s=2e-5",
    "inter-node.low-latency-hop-s=5e-6",
    "inter-node.low-bandwidth-frac=0.08",
    "inter-node.high-latency-s=9e-5",
    "inter-node.high-latency-hop-s=1.2e-5",
    "inter-node.high-bandwidth-frac=0.75",
    "send.inter-latency-s=1.5e-5",
    "send.inter-bandwidth-frac=0.6",
    NULL};
static const char *const base_edits[] = {"device.intra-node=400 GB/s", NULL};

/* (transfer full): the planned grid's rows between nodes, of @factor its
 * sizes, as @p has them. */
static GArray *
made_up(const RaProfile *p, double factor)
{
  g_autoptr(GArray) grid = ra_collective_grid(N_NODES, PER_NODE);
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autofree double *s = NULL;

  for (guint i = 0; i < grid->len; i++) {
    const RaCollectivePoint *point = &g_array_index(grid, RaCollectivePoint, i);
    RaMeasured row = {.op = point->op,
                      .gpus_per_node = PER_NODE,
                      .nics_per_node = PER_NODE,
                      .nic_bytes_per_s = PER_NODE * NIC_BYTES_PER_S,
                      .samples = {.n = RA_COLLECTIVE_PASSES}};

    /* All-to-alls between nodes have a law of their own, of 2 and 8 nodes. */
    if (point->n_nodes == 1 || point->beside != RA_BESIDE_NOTHING ||
        point->op.kind == RA_OP_ALL_TO_ALL)
      continue;
    row.op.dim[0] = (uint64_t)(factor * (double)row.op.dim[0]);
    g_array_append_val(rows, row);
  }
  s = g_new(double, rows->len);
  ra_fit_predict(p, rows, s);
  for (guint i = 0; i < rows->len; i++)
    g_array_index(rows, RaMeasured, i).measured_s = s[i];
  return rows;
}

/* The ideal profile after a fit on a trace of @rows. */
static RaProfile *
fit(const GArray *rows, gboolean knows_nics)
{
  const RaCollectiveProbe probe = {.n_nodes = N_NODES,
                                   .gpus_per_node = PER_NODE};
  g_autoptr(RaTrace) trace = ra_collective_trace(&probe, rows, NULL);
  g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GArray) read = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autofree char *base = profile_text(base_edits);
  g_autoptr(RaCalibration) c = NULL;
  GError *error = NULL;

  if (knows_nics) {
    ra_trace_set_head(trace, "nics-per-node", "4");
    ra_trace_set_head(trace, "nic-bytes-per-s", "25e9");
  }
  ck_assert(ra_calibrate_trace(trace, "it", read, NULL, notes, &error));
  c = ra_calibrate_rows("base.profile", base, NULL, read, NULL, "it", NULL,
                        &error);
  ck_assert_msg(c != NULL, "%s", error ? error->message : "");
  return profile_text_parse(c->text->str);
}

static double
coefficient(const RaProfile *p, const char *law, const char *name)
{
  double value;

  ck_assert(ra_law_get(p, ra_profile_law(p, law), name, &value, NULL));
  return value;
}

/* Sizes between those of the grid take what the law says, and its rates are
 * those that it was given: exact but for the trace's nanoseconds. */
START_TEST(test_finds)
{
  g_autofree char *text = profile_text(truth_edits);
  g_autoptr(RaProfile) truth = profile_text_parse(text);
  g_autoptr(GArray) rows = made_up(truth, 1);
  g_autoptr(GArray) between = made_up(truth, 1.5);
  g_autoptr(RaProfile) p = fit(rows, TRUE);
  g_autofree double *s = g_new(double, between->len);

  ck_assert_double_le(
      fabs(coefficient(p, "inter-node", "high-bandwidth-frac") / 0.75 - 1),
      0.01);
  ck_assert_double_le(
      fabs(coefficient(p, "send", "inter-bandwidth-frac") / 0.6 - 1), 0.01);
  ra_fit_predict(p, between, s);
  for (guint i = 0; i < between->len; i++)
    ck_assert_double_le(
        fabs(s[i] / g_array_index(between, RaMeasured, i).measured_s - 1),
        0.01);
}
END_TEST

/* The fault: without the cluster's NICs eight of 400 Gbit/s are taken for them,
 * four times as much: the law's share of them is not what it was given. */
START_TEST(test_other_nics)
{
  g_autofree char *text = profile_text(truth_edits);
  g_autoptr(RaProfile) truth = profile_text_parse(text);
  g_autoptr(GArray) rows = made_up(truth, 1);
  g_autoptr(RaProfile) p = fit(rows, FALSE);

  ck_assert_double_le(coefficient(p, "inter-node", "high-bandwidth-frac"), 0.5);
}
END_TEST

static Suite *
collective_fit_suite(void)
{
  Suite *suite = suite_create("collective_fit");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_finds);
  tcase_add_test(tcase, test_other_nics);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(collective_fit_suite)
