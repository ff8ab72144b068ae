/* Reallocation, for real, between all pairs of layouts up to eight ranks and
 * back, bit for bit. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "exec/comm_local.h"
#include "exec/reshard.h"
#include "tests/check_main.h"

#define N_RANKS 16 /* GPUs of two nodes */
#define NODE 8
#define MOST_LAYERS 4
#define SEED 9

typedef struct {
  uint32_t tp, pp, dp;
  uint32_t layers[MOST_LAYERS]; /* of each stage */
} Layout;

/* A reallocation and its way back, and what went wrong. */
typedef struct {
  const RaModel *model;
  const RaTensorTable *table;
  const RaCluster *cluster;
  RaCallPlan from, to;
  GArray *there, *back; /* slices, owned */
} Case;

typedef struct {
  Case *cases;
  guint n_cases;
  RaLocalGroup *group;
  atomic_uint *n_wrong; /* (n_cases) ranks that did not get their bits */
} Work;

typedef struct {
  Work *work;
  uint32_t rank;
} Rank;

static uint32_t gpu_ranks[N_RANKS];

/* (transfer full) (nullable): what @gpu has of the model under @plan. */
static RaParams *
params_on(const Case *c, const RaCallPlan *plan, uint32_t gpu, gboolean full)
{
  for (uint32_t rank = 0; rank < ra_mesh_n_gpus(&plan->mesh); rank++)
    if (ra_mesh_gpu(&plan->mesh, c->cluster, rank) == gpu) {
      RaParams *params = ra_params_new(c->table, plan, rank);

      if (full)
        ra_params_seed(params, SEED);
      return params;
    }
  return NULL;
}

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

/* Whether @got, which came by @slices from @source, is what a seeded model has
 * there, and all of it was asked for ahead. */
static gboolean
arrives(const Case *c, RaComm *world, const RaCallPlan *to,
        const GArray *slices, const RaParams *source, RaParams **out)
{
  g_autoptr(RaParams) want = params_on(c, to, world->rank, TRUE);
  RaReshard r = {ra_backend_host(NULL), world,    gpu_ranks,
                 world->rank,           c->model, slices};

  *out = params_on(c, to, world->rank, FALSE);
  if (ra_reshard(&r, source, *out) != n_coming(slices, world->rank))
    return FALSE;
  return !want ||
         memcmp((*out)->weights, want->weights, want->n * sizeof(float)) == 0;
}

static void *
run_rank(void *data)
{
  const Rank *rank = data;
  Work *work = rank->work;
  g_autoptr(RaComm) world = ra_local_comm_new(work->group, rank->rank);

  for (guint i = 0; i < work->n_cases; i++) {
    const Case *c = &work->cases[i];
    g_autoptr(RaParams) source = params_on(c, &c->from, rank->rank, TRUE);
    g_autoptr(RaParams) there = NULL, back = NULL;

    gboolean came = arrives(c, world, &c->to, c->there, source, &there);

    if (!arrives(c, world, &c->from, c->back, there, &back) || !came)
      atomic_fetch_add(&work->n_wrong[i], 1);
  }
  return NULL;
}

/* Runs all of @cases on a thread a GPU; cases at which some rank was wrong. */
static guint
run_cases(GArray *cases)
{
  g_autofree atomic_uint *n_wrong = g_new0(atomic_uint, cases->len + 1);
  g_autoptr(RaLocalGroup) group = ra_local_group_new(N_RANKS, FALSE);
  Work work = {(Case *)(void *)cases->data, cases->len, group, n_wrong};
  pthread_t threads[N_RANKS];
  Rank ranks[N_RANKS];
  guint n = 0;

  for (uint32_t i = 0; i < N_RANKS; i++) {
    gpu_ranks[i] = i;
    ranks[i] = (Rank){&work, i};
  }
  for (uint32_t i = 0; i < N_RANKS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_rank, &ranks[i]), 0);
  for (uint32_t i = 0; i < N_RANKS; i++)
    pthread_join(threads[i], NULL);
  for (guint i = 0; i < cases->len; i++)
    n += atomic_load(&n_wrong[i]) > 0;
  return n;
}

/* tp up to 8, pp up to 4 even and uneven, dp to fill up to eight. */
static GArray *
all_layouts(void)
{
  static const uint32_t stages[][MOST_LAYERS] = {
      {4}, {2, 2}, {3, 1}, {1, 1, 1, 1}};
  static const uint32_t pp[] = {1, 2, 2, 4};
  GArray *all = g_array_new(FALSE, FALSE, sizeof(Layout));

  for (guint s = 0; s < G_N_ELEMENTS(pp); s++)
    for (uint32_t tp = 1; tp * pp[s] <= NODE; tp *= 2)
      for (uint32_t dp = 1; dp * tp * pp[s] <= NODE; dp *= 2) {
        Layout l = {tp, pp[s], dp, {0}};

        memcpy(l.layers, stages[s], sizeof l.layers);
        g_array_append_val(all, l);
      }
  return all;
}

static RaCallPlan
plan_of(Layout *l, uint32_t node, RaReallocScheme scheme)
{
  return (RaCallPlan){.set = TRUE,
                      .mesh = {.n_runs = 1,
                               .runs = {{.first = node, .n = 1}},
                               .n_nodes = 1,
                               .first_gpu = 0,
                               .gpus_per_node = l->tp * l->pp * l->dp},
                      .dp = l->dp,
                      .tp = l->tp,
                      .pp = l->pp,
                      .cp = 1,
                      .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
                      .n_virtual = 1,
                      .stage_layers = l->layers,
                      .realloc = (uint8_t)scheme};
}

/* All pairs on one node, and from one node to the other; schemes take turns. */
static GArray *
all_pairs(const RaModel *model, const RaTensorTable *table,
          const RaCluster *cluster, GArray *layouts)
{
  GArray *cases = g_array_new(FALSE, TRUE, sizeof(Case));

  for (guint i = 0; i < layouts->len; i++)
    for (guint k = 0; k < layouts->len; k++)
      for (guint way = 0; way < 2; way++) {
        RaReallocScheme scheme = (RaReallocScheme)((i + k + way) % 3);
        Case c = {.model = model, .table = table, .cluster = cluster};

        c.from = plan_of(&g_array_index(layouts, Layout, i), 0, scheme);
        c.to = plan_of(&g_array_index(layouts, Layout, k), way, scheme);
        c.there = ra_reshard_slices(model, &c.from, &c.to, cluster);
        c.back = ra_reshard_slices(model, &c.to, &c.from, cluster);
        g_array_append_val(cases, c);
      }
  return cases;
}

static void
free_cases(GArray *cases)
{
  for (guint i = 0; i < cases->len; i++) {
    g_array_unref(g_array_index(cases, Case, i).there);
    g_array_unref(g_array_index(cases, Case, i).back);
  }
  g_array_unref(cases);
}

/* 4 layers of 4, 8 heads of 1; with 2 key heads tp 4 and 8 hold them twice and
 * four times. */
static RaModel *
make_model(uint32_t kv_heads, gboolean tied, gboolean value)
{
  RaModelShape shape;
  RaModel *model;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 4;
  shape.hidden = 4;
  shape.heads = 8;
  shape.kv_heads = kv_heads;
  shape.head_dim = 1;
  shape.ffn = 8;
  shape.vocab = 11; /* ranks of tp 4 and 8 have unlike rows, one of 8 none */
  shape.seq = 8;
  shape.tied = tied;
  model = ra_model_from_shape(&shape, NULL);
  ck_assert_ptr_nonnull(model);
  if (value)
    ra_model_set_head(model, RA_HEAD_VALUE);
  return model;
}

static const RaCluster two_nodes = {.n_nodes = 2, .gpus_per_node = NODE};

/* clang-format off */
static const struct { uint32_t kv_heads; gboolean tied, value; } models[] = {
    {8, FALSE, FALSE}, {2, FALSE, FALSE}, {2, TRUE, FALSE}, {1, FALSE, TRUE}};
/* clang-format on */

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
  ck_assert_uint_eq(run_cases(cases), 0);
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
  ck_assert_uint_ge(run_cases(cases), n_cut * 9 / 10);
  free_cases(cases);
}
END_TEST

static Suite *
reshard_suite(void)
{
  Suite *suite = suite_create("reshard");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_pairs, 0, G_N_ELEMENTS(models));
  tcase_add_test(tcase, test_fault);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(reshard_suite)
