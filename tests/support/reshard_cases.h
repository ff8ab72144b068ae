/* Pairs of layouts of a small model, on one node and between two, and their
 * reallocations, for tests/exec/check_reshard.c and tests/exec/check_rounds.c.
 */
#ifndef RA_TESTS_SUPPORT_RESHARD_CASES_H
#define RA_TESTS_SUPPORT_RESHARD_CASES_H

#include <string.h>

#include "exec/model/reshard.h"
#include "tests/support/check_points.h"

#define N_RANKS 16 /* GPUs of two nodes */
#define NODE 8
#define MOST_LAYERS 4
#define SEED 9

typedef struct {
  uint32_t tp, pp, dp;
  uint32_t layers[MOST_LAYERS]; /* layers of each stage */
} Layout;

/* A reallocation and its reverse, and the faults found. */
typedef struct {
  const RaModel *model;
  const RaTensorTable *table;
  const RaCluster *cluster;
  RaCallPlan from, to;
  guint from_layout, to_layout, to_node; /* which they are */
  GArray *there, *back;                  /* slices, owned */
} Case;

/* (transfer full) (nullable): the parameters of @gpu under @plan. */
static inline RaParams *
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

/* Layouts with tp up to 8, pp up to 4 (even and uneven), and dp up to a total
 * of eight. */
static inline GArray *
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

static inline RaCallPlan
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

/* All pairs on one node, and from one node to the other, with alternating
 * schemes. */
static inline GArray *
all_pairs(const RaModel *model, const RaTensorTable *table,
          const RaCluster *cluster, GArray *layouts)
{
  GArray *cases = g_array_new(FALSE, TRUE, sizeof(Case));

  for (guint i = 0; i < layouts->len; i++)
    for (guint k = 0; k < layouts->len; k++)
      for (guint way = 0; way < 2; way++) {
        RaReallocScheme scheme = (RaReallocScheme)((i + k + way) % 3);
        Case c = {.model = model,
                  .table = table,
                  .cluster = cluster,
                  .from_layout = i,
                  .to_layout = k,
                  .to_node = way};

        c.from = plan_of(&g_array_index(layouts, Layout, i), 0, scheme);
        c.to = plan_of(&g_array_index(layouts, Layout, k), way, scheme);
        c.there = ra_reshard_slices(model, &c.from, &c.to, cluster);
        c.back = ra_reshard_slices(model, &c.to, &c.from, cluster);
        g_array_append_val(cases, c);
      }
  return cases;
}

static inline void
free_cases(GArray *cases)
{
  for (guint i = 0; i < cases->len; i++) {
    g_array_unref(g_array_index(cases, Case, i).there);
    g_array_unref(g_array_index(cases, Case, i).back);
  }
  g_array_unref(cases);
}

/* 4 layers of 4, 8 heads of 1; with 2 key heads, tp 4 and 8 have them twice and
 * four times. */
static inline RaModel *
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

#endif
