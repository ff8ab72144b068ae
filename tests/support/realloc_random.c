/* Random small clusters, models and layouts. */
#include "config.h"

#include "base/rng.h"
#include "tests/support/realloc_oracle.h"

static uint32_t
below(RaRng *rng, uint32_t n)
{
  return (uint32_t)ra_rng_below(rng, n);
}

static gboolean
coin(RaRng *rng)
{
  return below(rng, 2) == 1;
}

static RaModel *
draw_model(RaRng *rng)
{
  static const guint32 experts[] = {1, 2, 4, 6, 8};
  static const guint32 kv_heads[] = {1, 2, 3, 4, 6, 12, 12, 4};
  RaModelShape shape;
  guint32 heads = coin(rng) ? 12 : 4;

  ra_model_shape_init(&shape, coin(rng) ? RA_MLP_GATED : RA_MLP_PLAIN);
  shape.layers = 1 + below(rng, 6);
  shape.hidden = 2 + below(rng, 3);
  shape.heads = heads;
  do
    shape.kv_heads = kv_heads[below(rng, 8)];
  while (heads % shape.kv_heads != 0);
  shape.head_dim = 1 + below(rng, 2);
  shape.ffn = 3 + below(rng, 10); /* need not divide by tp */
  shape.vocab = 1 + below(rng, 20);
  shape.seq = 3;
  shape.tied = coin(rng);
  shape.bias = coin(rng);
  if (below(rng, 3) == 0) {
    shape.experts = experts[below(rng, 5)];
    shape.experts_per_token = 1;
    shape.expert_ffn = 2 + below(rng, 5);
  }
  RaModel *model = ra_model_from_shape(&shape, NULL);
  g_assert(model);
  if (model->n_experts > 0 && model->n_layers > 1 && coin(rng)) {
    g_autofree guint8 *is_moe = g_new0(guint8, model->n_layers);

    for (guint32 i = 0; i < model->n_layers; i++)
      is_moe[i] = (guint8)(i == 0 || coin(rng));
    ra_model_set_moe_layers(model, is_moe);
  }
  if (model->n_experts == 0 && model->norm == RA_NORM_LAYER && coin(rng)) {
    model->family = RA_FAMILY_BLOOM;
    model->position = RA_POSITION_ALIBI;
    model->embedding_norm = TRUE;
  }
  model->qk_norm = coin(rng) ? RA_QK_NORM_HEAD : RA_QK_NORM_NONE;
  if (below(rng, 3) == 0)
    ra_model_set_head(model, RA_HEAD_VALUE);
  return model;
}

/* Some of the nodes, and of each the same aligned power of two of GPUs. */
static void
draw_mesh(RaRng *rng, const RaCluster *cluster, RaMesh *mesh)
{
  gboolean last = FALSE;

  *mesh = (RaMesh){.gpus_per_node = cluster->gpus_per_node};
  while (mesh->gpus_per_node > 1 && below(rng, 3) == 0)
    mesh->gpus_per_node /= 2;
  mesh->first_gpu = mesh->gpus_per_node *
                    below(rng, cluster->gpus_per_node / mesh->gpus_per_node);
  while (mesh->n_nodes == 0)
    for (uint32_t node = 0; node < cluster->n_nodes; node++) {
      gboolean in = coin(rng);
      if (in && last)
        mesh->runs[mesh->n_runs - 1].n++;
      else if (in)
        mesh->runs[mesh->n_runs++] = (RaNodeRun){node, 1};
      mesh->n_nodes += in ? 1 : 0;
      last = in;
    }
}

static uint32_t
draw_divisor(RaRng *rng, uint32_t n)
{
  uint32_t d;

  do
    d = 1 + below(rng, n);
  while (n % d != 0);
  return d;
}

/* @n layers over @stages, at least one each. */
static uint32_t *
draw_stages(RaRng *rng, uint32_t n, uint32_t stages)
{
  uint32_t *layers = g_new(uint32_t, stages);

  for (uint32_t i = 0; i < stages; i++)
    layers[i] = 1;
  for (uint32_t i = stages; i < n; i++)
    layers[below(rng, stages)]++;
  return layers;
}

/* @n: data ranks of the plan. */
static void
draw_experts(RaRng *rng, const RaModel *model, uint32_t n, RaCallPlan *plan)
{
  plan->ep = 1;
  plan->expert_tp = plan->tp;
  if (model->n_experts == 0)
    return;
  if (coin(rng))
    plan->expert_tp = draw_divisor(rng, plan->tp);
  n = n * plan->tp / plan->expert_tp;
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t ep = draw_divisor(rng, n);
    if (model->n_experts % ep == 0)
      plan->ep = ep;
  }
}

static void
draw_plan(RaRng *rng, const RaModel *model, const RaCluster *cluster,
          RaCallPlan *plan)
{
  uint32_t n;

  *plan = (RaCallPlan){.set = TRUE, .n_virtual = 1};
  draw_mesh(rng, cluster, &plan->mesh);
  n = plan->mesh.n_nodes * plan->mesh.gpus_per_node;
  do
    plan->tp = draw_divisor(rng, n);
  while (model->n_heads % plan->tp != 0 || (model->n_kv_heads % plan->tp != 0 &&
                                            plan->tp % model->n_kv_heads != 0));
  n /= plan->tp;
  do
    plan->pp = draw_divisor(rng, n);
  while (plan->pp > model->n_layers);
  n /= plan->pp;
  plan->dp = draw_divisor(rng, n);
  plan->cp = n / plan->dp;
  draw_experts(rng, model, n, plan);
  plan->zero = (int)below(rng, 4);
  plan->zero_group = plan->zero ? draw_divisor(rng, plan->dp) : 1;
  if (plan->zero && (plan->ep > 1 || plan->expert_tp < plan->tp)) {
    plan->zero_group = plan->dp;
    if (plan->dp * plan->cp == 1)
      plan->zero = 1;
  }
  if (plan->pp > 1 && plan->pp * 2 <= model->n_layers && coin(rng))
    plan->n_virtual = 2;
  plan->stage_layers =
      draw_stages(rng, model->n_layers, plan->pp * plan->n_virtual);
  for (uint32_t i = 0; i < RA_N_AXES; i++) { /* Fisher and Yates */
    uint32_t k = below(rng, i + 1);
    plan->axis[i] = plan->axis[k];
    plan->axis[k] = (uint8_t)i;
  }
}

void
ra_oracle_case_init(RaOracleCase *c, uint64_t seed)
{
  RaRng rng = ra_rng_init(seed, 0);

  *c = (RaOracleCase){.cluster = {.n_nodes = 1 + below(&rng, 4)}};
  c->cluster.gpus_per_node = 1u << below(&rng, 3);
  if (c->cluster.n_nodes < 3 && coin(&rng))
    c->cluster.gpus_per_node = 8;
  c->cluster.nics_per_node = c->cluster.gpus_per_node;
  c->model = draw_model(&rng);
  draw_plan(&rng, c->model, &c->cluster, &c->from);
  draw_plan(&rng, c->model, &c->cluster, &c->to);
  if (below(&rng, 4) == 0)
    c->to.mesh = c->from.mesh;
  if (c->to.mesh.n_nodes * c->to.mesh.gpus_per_node !=
      c->to.tp * c->to.pp * c->to.dp * c->to.cp) {
    g_free(c->to.stage_layers); /* the mesh changed its size: as the source */
    c->to = c->from;
    c->to.stage_layers =
        g_memdup2(c->from.stage_layers,
                  sizeof(uint32_t) * c->from.pp * c->from.n_virtual);
    c->to.axis[0] = c->from.axis[RA_N_AXES - 1];
    c->to.axis[RA_N_AXES - 1] = c->from.axis[0];
  }
}

void
ra_oracle_case_clear(RaOracleCase *c)
{
  ra_model_free(c->model);
  g_free(c->from.stage_layers);
  g_free(c->to.stage_layers);
}
