#include "config.h"

#include "exec/measure/collective_grid.h"
#include "tests/support/check_main.h"

/* Points of @kind in groups of @n_here on @n_nodes nodes, @beside. */
static guint
n_points(const GArray *grid, RaOpKind kind, uint32_t n_here, uint32_t n_nodes,
         RaBeside beside)
{
  guint n = 0;

  for (guint i = 0; i < grid->len; i++) {
    const RaCollectivePoint *p = &g_array_index(grid, RaCollectivePoint, i);

    n += p->op.kind == kind && p->n_here == n_here && p->n_nodes == n_nodes &&
         p->beside == beside;
  }
  return n;
}

/* 8 B to 1 GiB are 2^3 to 2^30: 28 sizes; by 16: 2^3, 2^7 ... 2^27, 7 sizes.
 * On two nodes of 8: groups of 2, 4, 8 in a node, of 1 and 8 on two.  Disjoint
 * groups at a time: 4, 2, 1 a node on 2 nodes; 8 and 1 across. */
START_TEST(test_two_nodes)
{
  static const struct {
    uint32_t n_here, n_nodes, n_all;
  } groups[] = {{2, 1, 8}, {4, 1, 4}, {8, 1, 2}, {1, 2, 8}, {8, 2, 1}};
  g_autoptr(GArray) grid = ra_collective_grid(2, 8);
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS(groups); i++)
    for (guint kind = RA_OP_ALL_REDUCE; kind <= RA_OP_SEND; kind++) {
      uint32_t here = groups[i].n_here, nodes = groups[i].n_nodes;
      guint has = kind != RA_OP_SEND || here * nodes == 2;
      guint alone =
          n_points(grid, (RaOpKind)kind, here, nodes, RA_BESIDE_NOTHING);
      guint all = n_points(grid, (RaOpKind)kind, here, nodes, RA_BESIDE_GROUPS);
      guint gemm = n_points(grid, (RaOpKind)kind, here, nodes, RA_BESIDE_GEMM);
      guint norm = n_points(grid, (RaOpKind)kind, here, nodes, RA_BESIDE_NORM);

      ck_assert_uint_eq(alone, 28 * has);
      ck_assert_uint_eq(gemm, 7 * has);
      ck_assert_uint_eq(norm, 7 * has);
      ck_assert_uint_eq(all, groups[i].n_all > 1 ? 7 * has : 0);
      n += alone + all + gemm + norm;
    }
  ck_assert_uint_eq(grid->len, n);
}
END_TEST

/* No group is larger than the machine, nor are all at a time; no point twice;
 * sizes within their bounds. */
START_TEST(test_machines)
{
  for (uint32_t nodes = 1; nodes <= 9; nodes++)
    for (uint32_t per = 1; per <= 12; per++) {
      g_autoptr(GArray) grid = ra_collective_grid(nodes, per);

      ck_assert_uint_eq(grid->len > 0, nodes * per > 1);
      for (guint i = 0; i < grid->len; i++) {
        const RaCollectivePoint *p = &g_array_index(grid, RaCollectivePoint, i);

        ck_assert_uint_le(p->n_here, per);
        ck_assert_uint_le(p->n_nodes, nodes);
        ck_assert_uint_ge(p->n_here * p->n_nodes, 2);
        ck_assert_uint_le(p->n_groups * p->n_here * p->n_nodes, nodes * per);
        ck_assert_uint_ge(p->op.dim[0], RA_COLLECTIVE_LEAST_BYTES);
        ck_assert_uint_le(p->op.dim[0], RA_COLLECTIVE_MOST_BYTES);
        for (guint k = i + 1; k < MIN(grid->len, i + 30); k++) {
          const RaCollectivePoint *q =
              &g_array_index(grid, RaCollectivePoint, k);

          ck_assert(q->op.kind != p->op.kind || q->n_here != p->n_here ||
                    q->n_nodes != p->n_nodes || q->beside != p->beside ||
                    q->op.dim[0] > p->op.dim[0]);
        }
      }
    }
}
END_TEST

static Suite *
collective_grid_suite(void)
{
  Suite *suite = suite_create("collective_grid");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_two_nodes);
  tcase_add_test(tcase, test_machines);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(collective_grid_suite)
