/* The communicators of plans. */
#include "config.h"

#include <string.h>

#include "exec/comm/comm_groups.h"
#include "study/setup.h"
#include "tests/support/check_main.h"

typedef struct {
  RaSetup *setup;        /* owned */
  const RaPlan *plan;    /* of it */
  uint32_t *rank_of_gpu; /* as exec/run_new.c numbers them */
  uint32_t n_ranks;
  RaCommGroups *splits;
} Made;

static Made
made_new(const char *path)
{
  g_autoptr(GError) error = NULL;
  RaSetupFlags flags = {0};
  Made m = {0};
  uint32_t n_gpus;

  m.setup = ra_setup_load(path, RA_FILE_PLAN, &flags, &error);
  ck_assert_msg(m.setup != NULL, "%s", error ? error->message : path);
  m.plan = m.setup->plan;
  n_gpus = ra_cluster_n_gpus(m.plan->cluster);
  m.rank_of_gpu = g_new(uint32_t, n_gpus);
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++)
    m.rank_of_gpu[gpu] = RA_NONE;
  for (uint32_t c = 0; c < m.plan->workload->n_calls; c++)
    for (uint32_t i = 0;
         m.plan->calls[c].set && i < ra_mesh_n_gpus(&m.plan->calls[c].mesh);
         i++)
      m.rank_of_gpu[ra_mesh_gpu(&m.plan->calls[c].mesh, m.plan->cluster, i)] =
          0;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++)
    if (m.rank_of_gpu[gpu] == 0)
      m.rank_of_gpu[gpu] = m.n_ranks++;
  m.splits = ra_comm_groups_new(m.n_ranks);
  ra_comm_groups_add_plan(m.splits, m.plan, m.rank_of_gpu);
  return m;
}

static void
made_clear(Made *m)
{
  ra_comm_groups_free(m->splits);
  g_free(m->rank_of_gpu);
  ra_setup_free(m->setup);
}

/* Groups that NCCL makes of the calls: of each split the ranks of a colour, by
 * key. Every group is that, once; a group that nothing names is not made. */
static void
check_calls(const RaCommGroups *s)
{
  guint n_made = 0, n_groups = 0;

  for (uint32_t split = 0; split < s->n_splits; split++)
    for (uint32_t g = 0; g < s->groups->len; g++) {
      const RaCommGroup *group = &g_array_index(s->groups, RaCommGroup, g);
      guint n = 0;

      if (group->split != split)
        continue;
      n_groups++;
      for (uint32_t i = 0; i < group->n; i++) {
        uint32_t rank = g_array_index(s->members, uint32_t, group->first + i);
        int key;

        ck_assert_int_eq(ra_comm_groups_colour(s, split, rank, &key), (int)g);
        ck_assert_int_eq(key, (int)i);
        n++;
      }
      n_made += n;
    }
  ck_assert_uint_eq(n_groups, s->groups->len);
  for (uint32_t split = 0; split < s->n_splits; split++)
    for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
      int key;

      n_made -= ra_comm_groups_colour(s, split, rank, &key) >= 0;
    }
  ck_assert_uint_eq(n_made, 0);
}

/* No two groups have a stream and members in order alike. */
static void
check_once(const RaCommGroups *s)
{
  g_autoptr(GHashTable) seen =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

  for (uint32_t g = 0; g < s->groups->len; g++) {
    const RaCommGroup *group = &g_array_index(s->groups, RaCommGroup, g);
    GString *name = g_string_new(NULL);

    ck_assert_uint_ge(group->n, 2);
    g_string_append_printf(name, "%u:", group->stream);
    for (uint32_t i = 0; i < group->n; i++)
      g_string_append_printf(
          name, "%u,", g_array_index(s->members, uint32_t, group->first + i));
    ck_assert(g_hash_table_add(seen, g_string_free(name, FALSE)));
  }
}

/* Members and their order, from coordinates: who of the mesh agrees with
 * @rank but along what the kind spans, sorted by what the kind counts. */
static void
check_members(const Made *m, uint32_t call, RaGroupKind kind, uint32_t at)
{
  const RaCallPlan *p = &m->plan->calls[call];
  const RaCluster *cluster = m->plan->cluster;
  uint32_t n = ra_mesh_n_gpus(&p->mesh), ep = ra_call_plan_ep(p), size = 0;
  RaCoord own = ra_call_plan_coord(p, at);
  uint32_t rank = m->rank_of_gpu[ra_mesh_gpu(&p->mesh, cluster, at)];
  uint32_t group = ra_comm_groups_find(m->splits, call, kind, rank);
  uint32_t data = ra_call_plan_data_rank(p, &own);

  for (uint32_t i = 0; i < n; i++) {
    RaCoord c = ra_call_plan_coord(p, i);
    uint32_t d = ra_call_plan_data_rank(p, &c);
    uint32_t other = m->rank_of_gpu[ra_mesh_gpu(&p->mesh, cluster, i)];
    gboolean same_stage = c.at[RA_AXIS_PP] == own.at[RA_AXIS_PP];
    gboolean same_part = same_stage && c.at[RA_AXIS_TP] == own.at[RA_AXIS_TP];
    uint32_t want = RA_NONE;

    if (kind == RA_GROUP_TP && same_stage && d == data)
      want = c.at[RA_AXIS_TP];
    if (kind == RA_GROUP_CP && same_part &&
        c.at[RA_AXIS_DP] == own.at[RA_AXIS_DP])
      want = c.at[RA_AXIS_CP];
    if (kind == RA_GROUP_DATA && same_part)
      want = d;
    if (kind == RA_GROUP_EP && same_part && d / ep == data / ep)
      want = d % ep;
    if (kind == RA_GROUP_EXPERTS && same_part && d % ep == data % ep)
      want = d / ep;
    if (kind == RA_GROUP_MESH)
      want = i;
    size += want != RA_NONE;
    if (group != RA_NONE)
      ck_assert_uint_eq(ra_comm_groups_rank_in(m->splits, group, other), want);
  }
  if (group == RA_NONE)
    ck_assert_uint_eq(size, 1);
  else
    ck_assert_uint_eq(g_array_index(m->splits->groups, RaCommGroup, group).n,
                      size);
}

/* The pair from stage @from to @to of @at's pipeline is there. */
static void
check_pair(const Made *m, uint32_t call, const RaCoord *at, RaStream stream,
           uint32_t from, uint32_t to)
{
  const RaCallPlan *p = &m->plan->calls[call];
  RaCoord a = *at, b = *at;
  uint32_t ranks[2];
  guint n = 0;

  a.at[RA_AXIS_PP] = from;
  b.at[RA_AXIS_PP] = to;
  ranks[0] = m->rank_of_gpu[ra_mesh_gpu(&p->mesh, m->plan->cluster,
                                        ra_call_plan_rank(p, &a))];
  ranks[1] = m->rank_of_gpu[ra_mesh_gpu(&p->mesh, m->plan->cluster,
                                        ra_call_plan_rank(p, &b))];
  for (uint32_t g = 0; g < m->splits->groups->len; g++) {
    const RaCommGroup *group =
        &g_array_index(m->splits->groups, RaCommGroup, g);

    n += group->stream == stream && group->kind == RA_GROUP_PAIR &&
         memcmp(&g_array_index(m->splits->members, uint32_t, group->first),
                ranks, sizeof ranks) == 0;
  }
  ck_assert_uint_eq(n, 1);
}

static void
check_call(const Made *m, uint32_t call)
{
  const RaCallPlan *p = &m->plan->calls[call];
  uint32_t n = ra_mesh_n_gpus(&p->mesh);
  uint32_t step = MAX(n / 16, 1u); /* of large plans a part */

  for (uint32_t i = 0; i < n; i += step) {
    RaCoord coord = ra_call_plan_coord(p, i);

    check_members(m, call, RA_GROUP_TP, i);
    check_members(m, call, RA_GROUP_CP, i);
    check_members(m, call, RA_GROUP_DATA, i);
    check_members(m, call, RA_GROUP_MESH, i);
    if (ra_call_plan_ep(p) > 1) {
      check_members(m, call, RA_GROUP_EP, i);
      check_members(m, call, RA_GROUP_EXPERTS, i);
    }
    for (uint32_t s = 0; s + 1 < p->pp; s++) {
      check_pair(m, call, &coord, RA_STREAM_PP_SEND, s, s + 1);
      check_pair(m, call, &coord, RA_STREAM_PP_SEND_BACK, s + 1, s);
    }
    if (p->pp > 1 && p->n_virtual > 1) {
      check_pair(m, call, &coord, RA_STREAM_PP_SEND, p->pp - 1, 0);
      check_pair(m, call, &coord, RA_STREAM_PP_SEND_BACK, 0, p->pp - 1);
    }
  }
}

/* Calls that every rank makes: no more than a rank is in groups on the way, and
 * of all shipped plans few. */
static void
check_plan(const char *path)
{
  Made m = made_new(path);
  const RaCommGroups *s = m.splits;
  g_autoptr(RaCommGroups) again = ra_comm_groups_new(m.n_ranks);

  check_calls(s);
  check_once(s);
  for (uint32_t c = 0; c < m.plan->workload->n_calls; c++)
    if (m.plan->calls[c].set && m.plan->workload->calls[c].kind != RA_CALL_HOST)
      check_call(&m, c);
  ck_assert_msg(s->n_splits <= 64, "%s: %u splits", path, s->n_splits);
  /* The same of every rank. */
  ra_comm_groups_add_plan(again, m.plan, m.rank_of_gpu);
  ck_assert_uint_eq(again->n_splits, s->n_splits);
  ck_assert_uint_eq(again->members->len, s->members->len);
  ck_assert_mem_eq(again->members->data, s->members->data,
                   s->members->len * sizeof(uint32_t));
  for (uint32_t i = 0; i < s->n_splits; i++)
    ck_assert_mem_eq(again->taken->pdata[i], s->taken->pdata[i],
                     m.n_ranks * sizeof(uint32_t));
  made_clear(&m);
}

START_TEST(test_plans)
{
  g_autofree char *folder =
      g_build_filename(g_getenv("srcdir"), "share", "plans", NULL);
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  guint n = 0;

  ck_assert_ptr_nonnull(dir);
  while ((name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL);

    if (g_str_has_suffix(name, ".plan")) {
      check_plan(path);
      n++;
    }
  }
  ck_assert_uint_ge(n, 30);
}
END_TEST

/* Groups of ranks drawn by chance, thrice each. */
START_TEST(test_random)
{
  for (uint32_t seed = 1; seed <= 40; seed++) {
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    uint32_t n_ranks = (uint32_t)g_rand_int_range(rand, 2, 24);
    g_autoptr(RaCommGroups) s = ra_comm_groups_new(n_ranks);
    g_autofree guint *n_of = g_new0(guint, n_ranks);
    guint most = 0, largest = 0;

    for (guint k = 0; k < 30; k++) {
      uint32_t order[24], n;
      uint32_t before = s->groups->len, group;

      for (uint32_t i = 0; i < n_ranks; i++)
        order[i] = i;
      for (uint32_t i = n_ranks; i-- > 1;) {
        uint32_t with = (uint32_t)g_rand_int_range(rand, 0, (gint)i + 1);
        uint32_t x = order[i];

        order[i] = order[with];
        order[with] = x;
      }
      n = (uint32_t)g_rand_int_range(rand, 1, (gint)n_ranks + 1);
      group = ra_comm_groups_add(s, k, RA_GROUP_TP, RA_STREAM_TP, n, order);
      if (n == 1) {
        ck_assert_uint_eq(group, RA_NONE);
        continue;
      }
      ck_assert_uint_eq(
          ra_comm_groups_add(s, k, RA_GROUP_DATA, RA_STREAM_TP, n, order),
          group);
      if (s->groups->len > before)
        for (uint32_t i = 0; i < n; i++) {
          n_of[order[i]]++;
          most = MAX(most, n_of[order[i]]);
        }
      largest = MAX(largest, n);
      ck_assert_uint_eq(ra_comm_groups_find(s, k, RA_GROUP_DATA, order[n - 1]),
                        group);
    }
    check_calls(s);
    check_once(s);
    if (most > 0)
      ck_assert_uint_le(s->n_splits, largest * (most - 1) + 1);
    ck_assert_uint_ge(s->n_splits, most);
  }
}
END_TEST

/* tp 2, dp 2, on a stream each, and all four: by hand.  Ranks (0 1) (2 3), then
 * (0 2) (1 3), then (0 1 2 3): three calls.  The pair 0, 1 on another stream
 * fits into the second in no way, nor the first or third: a fourth; then so
 * does 2, 3, in the same. */
START_TEST(test_hand)
{
  g_autoptr(RaCommGroups) s = ra_comm_groups_new(4);
  static const uint32_t tp[] = {0, 1, 2, 3}, dp[] = {0, 2, 1, 3};
  int key;

  ck_assert_uint_eq(ra_comm_groups_add(s, 0, RA_GROUP_TP, RA_STREAM_TP, 2, tp),
                    0);
  ck_assert_uint_eq(
      ra_comm_groups_add(s, 0, RA_GROUP_TP, RA_STREAM_TP, 2, tp + 2), 1);
  ra_comm_groups_add(s, 0, RA_GROUP_DATA, RA_STREAM_DP, 2, dp);
  ra_comm_groups_add(s, 0, RA_GROUP_DATA, RA_STREAM_DP, 2, dp + 2);
  ra_comm_groups_add(s, 0, RA_GROUP_MESH, RA_STREAM_TP, 4, tp);
  ck_assert_uint_eq(s->n_splits, 3);
  ra_comm_groups_add(s, 0, RA_GROUP_PAIR, RA_STREAM_PP_SEND, 2, tp);
  ra_comm_groups_add(s, 0, RA_GROUP_PAIR, RA_STREAM_PP_SEND, 2, tp + 2);
  ck_assert_uint_eq(s->n_splits, 4);
  ck_assert_int_eq(ra_comm_groups_colour(s, 1, 3, &key), 3);
  ck_assert_int_eq(key, 1);
  ck_assert_int_eq(ra_comm_groups_colour(s, 2, 3, &key), 4);
  ck_assert_int_eq(key, 3);
}
END_TEST

static Suite *
splits_suite(void)
{
  Suite *suite = suite_create("splits");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_hand);
  tcase_add_test(tcase, test_random);
  tcase_add_test(tcase, test_plans);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(splits_suite)
