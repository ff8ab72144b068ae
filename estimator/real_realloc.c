/* ReaL's estimate of a reallocation. */
#include "config.h"

#include <string.h>

#include "estimator/real.h"

#define GBIT 0x1p30            /* ReaL's */
#define NODE_GBIT_PER_S 1800.0 /* within a node */
#define CROSS_GBIT_PER_S 200.0 /* a destination node */
#define RECEIVE_STEP_S 0.03    /* to copy into place */
#define BITS_A_PARAM (2.0 * 8) /* fp16 */

/* A layout: who has which layers, and where. */
typedef struct {
  const RaCallPlan *plan;
  const RaCluster *cluster;
  uint32_t *gpus; /* (dp x cp) of the stage and tp rank in hand */
  uint32_t n;
} Side;

typedef struct {
  const RaCluster *cluster;
  Side from, to;
  double *gpu_s;      /* (cluster GPUs) sum of each one's steps */
  uint32_t *source;   /* (to.n) index of who serves each */
  uint32_t *n_served; /* (from.n) destinations of each source */
} Broadcasts;

/* Data ranks of stage @stage, tensor-parallel rank @tp. */
static void
side_set(Side *side, uint32_t stage, uint32_t tp)
{
  RaCoord coord = {.at = {[RA_AXIS_PP] = stage, [RA_AXIS_TP] = tp}};

  for (uint32_t i = 0; i < side->n; i++) {
    RaCoord at = ra_call_plan_data_coord(side->plan, coord, i);

    side->gpus[i] = ra_mesh_gpu(&side->plan->mesh, side->cluster,
                                ra_call_plan_rank(side->plan, &at));
  }
}

static void
side_init(Side *side, const RaCallPlan *plan, const RaCluster *cluster)
{
  side->plan = plan;
  side->cluster = cluster;
  side->n = plan->dp * plan->cp;
  side->gpus = g_new0(uint32_t, side->n);
}

static uint32_t
node_of(const Broadcasts *b, uint32_t gpu)
{
  return gpu / b->cluster->gpus_per_node;
}

/* The source that serves destination @d: itself, the least busy of its node,
 * who serves the node already, the least busy. */
static uint32_t
pick_source(const Broadcasts *b, uint32_t d)
{
  uint32_t gpu = b->to.gpus[d], node = node_of(b, gpu), local = RA_NONE,
           least = 0;

  for (uint32_t s = 0; s < b->from.n; s++) {
    if (b->from.gpus[s] == gpu)
      return s;
    if (node_of(b, b->from.gpus[s]) == node &&
        (local == RA_NONE || b->n_served[s] < b->n_served[local]))
      local = s;
    if (b->n_served[s] < b->n_served[least])
      least = s;
  }
  if (local != RA_NONE)
    return local;
  for (uint32_t i = 0; i < d; i++) {
    if (node_of(b, b->to.gpus[i]) == node)
      return b->source[i];
  }
  return least;
}

/* Destination nodes of source @s; @out_is_local: no other than its own;
 * @out_sends: to anybody but itself. */
static uint32_t
count_nodes(const Broadcasts *b, uint32_t s, gboolean *out_is_local,
            gboolean *out_sends)
{
  uint32_t own = node_of(b, b->from.gpus[s]), n = 0;

  *out_is_local = TRUE;
  *out_sends = FALSE;
  for (uint32_t d = 0; d < b->to.n; d++) {
    uint32_t node = node_of(b, b->to.gpus[d]);
    gboolean seen = FALSE;

    if (b->source[d] != s)
      continue;
    for (uint32_t i = 0; i < d && !seen; i++)
      seen = b->source[i] == s && node_of(b, b->to.gpus[i]) == node;
    n += !seen;
    *out_is_local = *out_is_local && node == own;
    *out_sends = *out_sends || b->to.gpus[d] != b->from.gpus[s];
  }
  return n;
}

/* One piece of @n_params, from all that have it to all that need it. */
static void
add_piece(Broadcasts *b, double n_params)
{
  memset(b->n_served, 0, b->from.n * sizeof *b->n_served);
  for (uint32_t d = 0; d < b->to.n; d++) {
    b->source[d] = pick_source(b, d);
    b->n_served[b->source[d]]++;
  }
  for (uint32_t s = 0; s < b->from.n; s++) {
    gboolean is_local, sends;
    uint32_t n_nodes = count_nodes(b, s, &is_local, &sends);
    double bits = n_params * BITS_A_PARAM;
    double step_s = is_local ? bits / (NODE_GBIT_PER_S * GBIT)
                             : bits / (CROSS_GBIT_PER_S * GBIT) * n_nodes;

    if (sends)
      b->gpu_s[b->from.gpus[s]] += step_s;
    for (uint32_t d = 0; d < b->to.n; d++) {
      if (b->source[d] != s)
        continue;
      b->gpu_s[b->to.gpus[d]] += RECEIVE_STEP_S;
      if (b->to.gpus[d] != b->from.gpus[s])
        b->gpu_s[b->to.gpus[d]] += step_s;
    }
  }
}

/* The pipeline rank that has layer @layer. */
static uint32_t
stage_of(const RaCallPlan *plan, uint32_t layer)
{
  uint32_t v = 0;

  for (uint32_t end = plan->stage_layers[0]; layer >= end;)
    end += plan->stage_layers[++v];
  return v % plan->pp;
}

/* Parameters that stage @from of one layout and @to of the other both have. */
static double
common_params(const RaModel *model, const Broadcasts *b, uint32_t from,
              uint32_t to)
{
  double n = 0;

  if (from == 0 && to == 0)
    n += (double)ra_model_embedding_n_params(model) +
         (double)ra_model_position_n_params(model) +
         (double)ra_model_embedding_norm_n_params(model);
  for (uint32_t i = 0; i < model->n_layers; i++) {
    if (stage_of(b->from.plan, i) == from && stage_of(b->to.plan, i) == to)
      n += (double)ra_model_layer_n_params(model, i);
  }
  if (from == b->from.plan->pp - 1 && to == b->to.plan->pp - 1)
    n += (double)ra_model_final_norm_n_params(model) +
         (double)ra_model_head_n_params(model);
  return n;
}

/* Share of a tensor, cut evenly, that rank @i of @n and rank @j of @m both
 * have. */
static double
common_frac(uint32_t i, uint32_t n, uint32_t j, uint32_t m)
{
  double begin = MAX((double)i / n, (double)j / m);
  double end = MIN((i + 1.0) / n, (j + 1.0) / m);

  /* Rounding of a cut that both share is none. */
  return end - begin > 1e-9 ? end - begin : 0;
}

static void
add_stages(Broadcasts *b, uint32_t from, uint32_t to, double n_params)
{
  for (uint32_t i = 0; i < b->from.plan->tp; i++) {
    side_set(&b->from, from, i);
    for (uint32_t j = 0; j < b->to.plan->tp; j++) {
      double frac = common_frac(i, b->from.plan->tp, j, b->to.plan->tp);

      if (frac == 0)
        continue;
      side_set(&b->to, to, j);
      add_piece(b, n_params * frac);
    }
  }
}

double
ra_real_realloc_s(const RaModel *model, const RaCallPlan *from,
                  const RaCallPlan *to, const RaCluster *cluster)
{
  uint32_t n_gpus = ra_cluster_n_gpus(cluster);
  Broadcasts b = {.cluster = cluster};
  double most_s = 0;

  g_return_val_if_fail(from->stage_layers && to->stage_layers, 0);
  if (ra_call_plan_same_layout(from, to))
    return 0;
  side_init(&b.from, from, cluster);
  side_init(&b.to, to, cluster);
  b.gpu_s = g_new0(double, n_gpus);
  b.source = g_new(uint32_t, b.to.n);
  b.n_served = g_new(uint32_t, b.from.n);
  for (uint32_t i = 0; i < from->pp; i++) {
    for (uint32_t j = 0; j < to->pp; j++) {
      double n_params = common_params(model, &b, i, j);

      if (n_params > 0)
        add_stages(&b, i, j, n_params);
    }
  }
  for (uint32_t i = 0; i < n_gpus; i++)
    most_s = MAX(most_s, b.gpu_s[i]);
  g_free(b.from.gpus);
  g_free(b.to.gpus);
  g_free(b.gpu_s);
  g_free(b.source);
  g_free(b.n_served);
  return most_s;
}
