/* Reallocation, for real, between all pairs of layouts up to eight ranks and
 * back, bit for bit. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "exec/comm/comm_local.h"
#include "tests/support/check_main.h"
#include "tests/support/reshard_cases.h"

enum { MOST_LAYOUTS = 32 };

/* Seeded parameters by layout, first node and GPU. */
typedef RaParams *Seeded[MOST_LAYOUTS][2][N_RANKS];

typedef struct {
  Case *cases;
  guint n_cases;
  RaLocalGroup *group;
  const RaBackend *shared; /* whose memory ranks share; NULL: by slices */
  atomic_uint *n_wrong;    /* (n_cases) ranks that did not get their bits */
  Seeded seeded;           /* nobody changes them; NULL: nothing is there */
} Work;

typedef struct {
  Work *work;
  uint32_t rank;
} Rank;

static uint32_t gpu_ranks[N_RANKS];

/* Slices that come to @rank, but the very first of all: each is asked for while
 * one before it passes. */
static guint
n_coming(const GArray *slices, uint32_t rank)
{
  guint n = 0;

  for (guint i = 1; i < slices->len; i++) {
    const RaSlice *slice = &g_array_index(slices, RaSlice, i);

    n += slice->to == rank && slice->from != rank;
  }
  return n;
}

/* (transfer full) */
static uint32_t *
ranks_of(const RaCallPlan *plan, uint32_t *out_n)
{
  uint32_t n = *out_n = ra_mesh_n_gpus(&plan->mesh);
  uint32_t *ranks = g_new(uint32_t, n);

  for (uint32_t i = 0; i < n; i++)
    ranks[i] = gpu_ranks[ra_mesh_gpu(&plan->mesh, &two_nodes, i)];
  return ranks;
}

/* TRUE if @out, moved by @slices from @source, equals @want and every receive
 * was posted ahead. */
static gboolean
arrives(const Case *c, const RaBackend *shared, RaComm *world,
        const RaCallPlan *from, const RaCallPlan *to, const GArray *slices,
        const RaParams *source, const RaParams *want, RaParams **out)
{
  RaReshardRanks ranks;
  g_autofree uint32_t *from_ranks = ranks_of(from, &ranks.n_from);
  g_autofree uint32_t *to_ranks = ranks_of(to, &ranks.n_to);
  RaReshard r = {shared ? shared : ra_backend_host(NULL),
                 world,
                 gpu_ranks,
                 world->rank,
                 c->model,
                 slices,
                 NULL};

  *out = params_on(c, to, world->rank, FALSE);
  ranks.from = from_ranks;
  ranks.to = to_ranks;
  if (shared)
    ra_reshard_shared(&r, &ranks, source, *out);
  else if (ra_reshard(&r, source, *out) != n_coming(slices, world->rank))
    return FALSE;
  return !want ||
         memcmp((*out)->weights, want->weights, want->n * sizeof(float)) == 0;
}

static void *
run_rank(void *data)
{
  const Rank *rank = data;
  Work *work = rank->work;
  uint32_t r = rank->rank;
  g_autoptr(RaComm) world = ra_local_comm_new(work->group, rank->rank);

  for (guint i = 0; i < work->n_cases; i++) {
    const Case *c = &work->cases[i];
    const RaParams *from = work->seeded[c->from_layout][0][r];
    const RaParams *to = work->seeded[c->to_layout][c->to_node][r];
    g_autoptr(RaParams) there = NULL, back = NULL;

    gboolean came = arrives(c, work->shared, world, &c->from, &c->to, c->there,
                            from, to, &there);

    if (!arrives(c, work->shared, world, &c->to, &c->from, c->back, there, from,
                 &back) ||
        !came)
      atomic_fetch_add(&work->n_wrong[i], 1);
  }
  return NULL;
}

static void
seed(Work *work)
{
  for (guint i = 0; i < work->n_cases; i++) {
    const Case *c = &work->cases[i];

    for (uint32_t gpu = 0; gpu < N_RANKS; gpu++) {
      RaParams **from = &work->seeded[c->from_layout][0][gpu];
      RaParams **to = &work->seeded[c->to_layout][c->to_node][gpu];

      if (!*from)
        *from = params_on(c, &c->from, gpu, TRUE);
      if (!*to)
        *to = params_on(c, &c->to, gpu, TRUE);
    }
  }
}

static void
unseed(Work *work)
{
  for (guint i = 0; i < MOST_LAYOUTS; i++)
    for (guint node = 0; node < 2; node++)
      for (uint32_t gpu = 0; gpu < N_RANKS; gpu++)
        ra_params_free(work->seeded[i][node][gpu]);
}

/* Runs all of @cases on a thread a GPU; cases at which some rank was wrong. */
static guint
run_cases(GArray *cases, const RaBackend *shared)
{
  g_autofree atomic_uint *n_wrong = g_new0(atomic_uint, cases->len + 1);
  g_autoptr(RaLocalGroup) group = ra_local_group_new(N_RANKS, FALSE);
  Work work = {(Case *)(void *)cases->data,
               cases->len,
               group,
               shared,
               n_wrong,
               {{{NULL}}}};
  pthread_t threads[N_RANKS];
  Rank ranks[N_RANKS];
  guint n = 0;

  seed(&work);
  for (uint32_t i = 0; i < N_RANKS; i++) {
    gpu_ranks[i] = i;
    ranks[i] = (Rank){&work, i};
  }
  for (uint32_t i = 0; i < N_RANKS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_rank, &ranks[i]), 0);
  for (uint32_t i = 0; i < N_RANKS; i++)
    pthread_join(threads[i], NULL);
  unseed(&work);
  for (guint i = 0; i < cases->len; i++)
    n += atomic_load(&n_wrong[i]) > 0;
  return n;
}

/* pp 1: 10 pairs of tp and dp, pp 2: 6, twice, pp 4: 3; of 25 layouts all
 * pairs, on one node and between two: 1,250 there and back. */
START_TEST(test_pairs)
{
  g_autoptr(RaModel) model =
      make_model(models[_i].kv_heads, models[_i].tied, models[_i].value);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  g_autoptr(GArray) layouts = all_layouts();
  GArray *cases = all_pairs(model, table, &two_nodes, layouts);

  ck_assert_uint_eq(layouts->len, 25);
  ck_assert_uint_eq(cases->len, 1250);
  ck_assert_uint_eq(run_cases(cases, NULL), 0);
  ck_assert_uint_eq(run_cases(cases, ra_backend_host(NULL)), 0);
  free_cases(cases);
}
END_TEST

/* Each of the ranks that share memory forgets its last rectangle. */
static void
copy_but_one(guint n, const RaBackendRect *rects)
{
  if (n > 0)
    ra_backend_host(NULL)->copy_rects(n - 1, rects);
}

START_TEST(test_shared_fault)
{
  g_autoptr(RaModel) model = make_model(2, FALSE, FALSE);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  g_autoptr(GArray) layouts = all_layouts();
  GArray *cases = all_pairs(model, table, &two_nodes, layouts);
  RaBackend faulty = *ra_backend_host(NULL);

  faulty.copy_rects = copy_but_one;
  ck_assert_uint_eq(run_cases(cases, &faulty), cases->len);
  free_cases(cases);
}
END_TEST

/* The fault: one element of one slice is not sent. */
START_TEST(test_fault)
{
  g_autoptr(RaModel) model = make_model(2, FALSE, FALSE);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  g_autoptr(GArray) layouts = all_layouts();
  GArray *cases = all_pairs(model, table, &two_nodes, layouts);
  guint n_cut = 0;

  for (guint i = 100; i < cases->len; i++) {
    g_array_unref(g_array_index(cases, Case, i).there);
    g_array_unref(g_array_index(cases, Case, i).back);
  }
  g_array_set_size(cases, 100);
  for (guint i = 0; i < cases->len; i++) {
    GArray *slices = g_array_index(cases, Case, i).there;
    gboolean cut = FALSE;

    for (guint k = 0; k < slices->len && !cut; k++) {
      RaSlice *slice = &g_array_index(slices, RaSlice, k);

      cut = slice->n_cols > 1 && slice->to >= NODE;
      slice->n_cols -= cut;
    }
    n_cut += cut;
  }
  ck_assert_uint_gt(n_cut, 30);
  ck_assert_uint_ge(run_cases(cases, NULL), n_cut * 9 / 10);
  free_cases(cases);
}
END_TEST

static Suite *
reshard_suite(void)
{
  Suite *suite = suite_create("reshard");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_pairs, 0,
                      RA_CHECK_SOME(G_N_ELEMENTS(models)));
  tcase_add_test(tcase, test_fault);
  tcase_add_test(tcase, test_shared_fault);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(reshard_suite)
