/* Ranks and layers of a call's plan: arithmetic of their positions. */
#include "config.h"

#include "graph/input/plan.h"

uint32_t
ra_call_plan_degree(const RaCallPlan *plan, RaAxis axis)
{
  g_return_val_if_fail(plan != NULL, 1);
  switch (axis) {
  case RA_AXIS_TP:
    return plan->tp;
  case RA_AXIS_CP:
    return plan->cp;
  case RA_AXIS_DP:
    return plan->dp;
  case RA_AXIS_PP:
    return plan->pp;
  default:
    g_return_val_if_reached(1);
  }
}

uint32_t
ra_call_plan_rank(const RaCallPlan *plan, const RaCoord *coord)
{
  uint32_t rank = 0;

  g_return_val_if_fail(plan != NULL && coord != NULL, 0);
  for (guint i = RA_N_AXES; i-- > 0;) {
    RaAxis axis = (RaAxis)plan->axis[i];
    uint32_t degree = ra_call_plan_degree(plan, axis);

    g_return_val_if_fail(coord->at[axis] < degree, 0);
    rank = rank * degree + coord->at[axis];
  }
  return rank;
}

RaCoord
ra_call_plan_coord(const RaCallPlan *plan, uint32_t rank)
{
  RaCoord coord = {{0}};

  g_return_val_if_fail(plan != NULL, coord);
  for (guint i = 0; i < RA_N_AXES; i++) {
    RaAxis axis = (RaAxis)plan->axis[i];
    uint32_t degree = ra_call_plan_degree(plan, axis);

    coord.at[axis] = rank % degree;
    rank /= degree;
  }
  return coord;
}

uint32_t
ra_call_plan_first_layer(const RaCallPlan *plan, uint32_t vstage)
{
  uint32_t first = 0;

  g_return_val_if_fail(plan != NULL && plan->stage_layers != NULL, 0);
  g_return_val_if_fail(vstage < plan->pp * plan->n_virtual, 0);
  for (uint32_t i = 0; i < vstage; i++)
    first += plan->stage_layers[i];
  return first;
}

static uint32_t
gcd(uint32_t a, uint32_t b)
{
  while (b > 0) {
    uint32_t rest = a % b;

    a = b;
    b = rest;
  }
  return a;
}

/* Inner one of cp and dp in the rank order. */
static RaAxis
inner_data_axis(const RaCallPlan *plan)
{
  for (guint i = 0; i < RA_N_AXES; i++) {
    if (plan->axis[i] == RA_AXIS_CP || plan->axis[i] == RA_AXIS_DP)
      return (RaAxis)plan->axis[i];
  }
  g_return_val_if_reached(RA_AXIS_CP);
}

uint32_t
ra_call_plan_data_rank(const RaCallPlan *plan, const RaCoord *coord)
{
  g_return_val_if_fail(plan != NULL && coord != NULL, 0);
  return inner_data_axis(plan) == RA_AXIS_CP
             ? coord->at[RA_AXIS_DP] * plan->cp + coord->at[RA_AXIS_CP]
             : coord->at[RA_AXIS_CP] * plan->dp + coord->at[RA_AXIS_DP];
}

RaCoord
ra_call_plan_data_coord(const RaCallPlan *plan, RaCoord coord,
                        uint32_t data_rank)
{
  g_return_val_if_fail(plan != NULL, coord);
  if (inner_data_axis(plan) == RA_AXIS_CP) {
    coord.at[RA_AXIS_CP] = data_rank % plan->cp;
    coord.at[RA_AXIS_DP] = data_rank / plan->cp;
  } else {
    coord.at[RA_AXIS_DP] = data_rank % plan->dp;
    coord.at[RA_AXIS_CP] = data_rank / plan->dp;
  }
  return coord;
}

uint32_t
ra_call_plan_ep(const RaCallPlan *plan)
{
  g_return_val_if_fail(plan != NULL, 1);
  return MAX(plan->ep, 1);
}

uint32_t
ra_call_plan_expert_tp(const RaCallPlan *plan)
{
  g_return_val_if_fail(plan != NULL, 1);
  return plan->expert_tp > 0 ? plan->expert_tp : plan->tp;
}

uint32_t
ra_call_plan_expert_rank(const RaCallPlan *plan, const RaCoord *coord)
{
  return ra_call_plan_data_rank(plan, coord) * plan->tp + coord->at[RA_AXIS_TP];
}

RaCoord
ra_call_plan_expert_coord(const RaCallPlan *plan, RaCoord coord,
                          uint32_t expert_rank)
{
  g_return_val_if_fail(plan != NULL, coord);
  coord.at[RA_AXIS_TP] = expert_rank % plan->tp;
  return ra_call_plan_data_coord(plan, coord, expert_rank / plan->tp);
}

uint32_t
ra_call_plan_ep_rank(const RaCallPlan *plan, const RaCoord *coord)
{
  return ra_call_plan_expert_rank(plan, coord) / ra_call_plan_expert_tp(plan) %
         ra_call_plan_ep(plan);
}

uint32_t
ra_call_plan_expert_period(const RaCallPlan *plan)
{
  uint32_t ep = ra_call_plan_ep(plan);

  return ep / gcd(plan->tp / ra_call_plan_expert_tp(plan), ep);
}

uint32_t
ra_call_plan_expert_dp(const RaCallPlan *plan)
{
  g_return_val_if_fail(plan != NULL, 1);
  return plan->tp / ra_call_plan_expert_tp(plan) * plan->dp * plan->cp /
         ra_call_plan_ep(plan);
}

gboolean
ra_call_plan_spreads_experts(const RaCallPlan *plan)
{
  return ra_call_plan_ep(plan) > 1 || ra_call_plan_expert_tp(plan) < plan->tp;
}

uint32_t
ra_call_plan_ep_replicas(const RaCallPlan *plan)
{
  /* A tp group ends together with a group of ranks that exchange tokens. */
  uint32_t period = ra_call_plan_expert_period(plan), n = 1;

  if (inner_data_axis(plan) == RA_AXIS_DP)
    return plan->dp % period == 0 ? period : plan->dp;
  while (n * plan->cp % period != 0) /* whole groups of n replicas' cp ranks */
    n++;
  return n;
}

/* The next axis from @at on along which ranks differ; RA_N_AXES if none. */
static guint
next_axis(const RaCallPlan *plan, guint at)
{
  while (at < RA_N_AXES &&
         ra_call_plan_degree(plan, (RaAxis)plan->axis[at]) == 1)
    at++;
  return at;
}

/* An axis of degree 1 moves no rank, wherever it stands in the order. */
static gboolean
same_order(const RaCallPlan *a, const RaCallPlan *b)
{
  guint i = next_axis(a, 0);
  guint j = next_axis(b, 0);

  while (i < RA_N_AXES && j < RA_N_AXES) {
    if (a->axis[i] != b->axis[j])
      return FALSE;
    i = next_axis(a, i + 1);
    j = next_axis(b, j + 1);
  }
  return i == j;
}

uint32_t
ra_call_plan_zero_ranks(const RaCallPlan *plan)
{
  g_return_val_if_fail(plan != NULL, 1);
  return plan->zero > 0 ? plan->zero_group * plan->cp : 1;
}

uint32_t
ra_call_plan_state_ranks(const RaCallPlan *plan, gboolean of_experts)
{
  g_return_val_if_fail(plan != NULL, 1);
  return of_experts && plan->zero > 0 && ra_call_plan_spreads_experts(plan)
             ? ra_call_plan_expert_dp(plan)
             : ra_call_plan_zero_ranks(plan);
}

uint32_t
ra_call_plan_n_shards(const RaCallPlan *plan)
{
  g_return_val_if_fail(plan != NULL, 1);
  return plan->zero == 3 ? ra_call_plan_zero_ranks(plan) : 1;
}

uint32_t
ra_call_plan_n_expert_shards(const RaCallPlan *plan)
{
  g_return_val_if_fail(plan != NULL, 1);
  return plan->zero == 3 ? ra_call_plan_state_ranks(plan, TRUE) : 1;
}

/* All data ranks in their order shard, where experts are spread over them. */
uint32_t
ra_call_plan_zero_rank(const RaCallPlan *plan, const RaCoord *coord)
{
  g_return_val_if_fail(plan != NULL && coord != NULL, 0);
  if (plan->zero < 3)
    return 0;
  if (ra_call_plan_spreads_experts(plan))
    return ra_call_plan_data_rank(plan, coord);
  return coord->at[RA_AXIS_DP] % plan->zero_group * plan->cp +
         coord->at[RA_AXIS_CP];
}

uint32_t
ra_call_plan_expert_shard(const RaCallPlan *plan, const RaCoord *coord)
{
  g_return_val_if_fail(plan != NULL && coord != NULL, 0);
  if (plan->zero < 3 || !ra_call_plan_spreads_experts(plan))
    return ra_call_plan_zero_rank(plan, coord);
  return ra_call_plan_expert_rank(plan, coord) /
         (ra_call_plan_expert_tp(plan) * ra_call_plan_ep(plan));
}

gboolean
ra_call_plan_same_layout(const RaCallPlan *a, const RaCallPlan *b)
{
  g_return_val_if_fail(a != NULL && b != NULL, FALSE);
  if (!ra_mesh_equal(&a->mesh, &b->mesh) || a->dp != b->dp || a->tp != b->tp ||
      a->cp != b->cp || ra_call_plan_ep(a) != ra_call_plan_ep(b) ||
      ra_call_plan_expert_tp(a) != ra_call_plan_expert_tp(b) ||
      a->pp != b->pp || a->n_virtual != b->n_virtual || a->dtype != b->dtype ||
      a->expert_dtype != b->expert_dtype ||
      ra_call_plan_n_shards(a) != ra_call_plan_n_shards(b) || !same_order(a, b))
    return FALSE;
  if (!a->stage_layers || !b->stage_layers)
    return a->stage_layers == b->stage_layers;
  for (uint32_t i = 0; i < a->pp * a->n_virtual; i++) {
    if (a->stage_layers[i] != b->stage_layers[i])
      return FALSE;
  }
  return TRUE;
}

void
ra_stage_layers_even(uint32_t n_layers, uint32_t n_stages, uint32_t *out_layers)
{
  uint32_t first, rest;

  g_return_if_fail(n_stages > 0 && out_layers != NULL);
  rest = n_layers % n_stages;
  /* [first, first + rest) get one more; an odd surplus leans to the front. */
  first = (n_stages - rest) / 2;
  for (uint32_t i = 0; i < n_stages; i++)
    out_layers[i] =
        n_layers / n_stages + (i >= first && i < first + rest ? 1 : 0);
}
