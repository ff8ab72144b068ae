/* Ranks on hosts. */
#include "config.h"

#include "exec/comm/places.h"
#include "tests/support/check_main.h"

#define N 6

/* Two nodes of three; by hand. */
static const uint32_t nodes[N] = {0, 0, 0, 1, 1, 1};

/* clang-format off */
static const struct {
  const char *hosts[N];
  const char *fault; /* NULL: none */
} cases[] = {
    {{"a", "a", "a", "b", "b", "b"}, NULL},
    /* any order of hosts, as node 0 is who has rank 0 */
    {{"z", "z", "z", "b", "b", "b"}, NULL},
    /* dealt out in turn */
    {{"a", "b", "a", "b", "a", "b"},
     "node 0 of the plan is on two hosts, rank 0 on a and rank 1 on b, "
     "expected one: processes in the order of the nodes"},
    /* a part too far: the second node's first rank */
    {{"a", "a", "a", "a", "b", "b"},
     "nodes 0 and 1 of the plan are both on a, expected one host per node"},
    {{"a", "a", "a", "a", "a", "a"},
     "nodes 0 and 1 of the plan are both on a, expected one host per node"},
    {{"a", "a", "a", "b", "b", "c"},
     "node 1 of the plan is on two hosts, rank 4 on b and rank 5 on c, "
     "expected one: processes in the order of the nodes"},
};
/* clang-format on */

START_TEST(test_faults)
{
  g_autofree char *fault = ra_places_fault(N, nodes, cases[_i].hosts);

  if (!cases[_i].fault)
    ck_assert_ptr_null(fault);
  else
    ck_assert_str_eq(fault, cases[_i].fault);
}
END_TEST

static Suite *
places_suite(void)
{
  Suite *suite = suite_create("places");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_faults, 0, G_N_ELEMENTS(cases));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(places_suite)
