/* A decode step that gathers its weights: ZeRO 3. */
#include "config.h"

#include "estimator/estimator_impl.h"

/* How long the split of a step into computation and waiting for weights may
 * stand while K grows: an eighth.  Their sum is a line further than that. */
#define SPLIT_FRAC 8

/* A part of the weights that is gathered at once. */
typedef struct {
  RaCost cost;           /* computes, with the collectives inside */
  double s_per_token;    /* slope of it */
  uint64_t until_tokens; /* last K of the slope */
  double gather_s;       /* its weights */
  guint64 n_launches;
} Unit;

/* Units of a kind cost the same. */
enum { EMBEDDING, HEAD, LAYER, N_KINDS = LAYER + RA_MODEL_MAX_KINDS };

static Unit
make_unit(const RaEstimator *estimator, const RaShard *shard,
          const RaPiece *piece, const RaBatch *batch)
{
  Unit unit = {.cost = {0}};
  RaOp ops[RA_OP_LIST_MAX], gather = ra_op_gather(shard, piece);
  guint n_ops = ra_op_list(shard, piece, RA_PHASE_DECODE, batch, ops);

  unit.s_per_token = ra_estimator_device_line(estimator, shard->model, batch,
                                              ops, n_ops, &unit.until_tokens);
  unit.n_launches =
      ra_estimator_sum_ops(estimator, ops, n_ops, TRUE, &unit.cost);
  unit.gather_s = ra_estimator_op_s(estimator, &gather);
  unit.n_launches += unit.gather_s > 0;
  return unit;
}

/* A step under way: the line of the units so far. */
typedef struct {
  double slow_frac; /* of a gather, what it adds to a unit beside it */
  RaDecodeLine *line;
  guint64 n_launches;
  double exposed_s; /* waited for weights */
  const Unit *last; /* computes while the next is gathered; NULL: none */
} Step;

static void
add_slope(Step *step, const Unit *unit)
{
  step->line->s_per_token += unit->s_per_token;
}

/* @unit comes after the last one: its gather hides behind that one, which it
 * slows (f = memory-frac of the overlap law: a step is bound by memory; c
 * seconds alone beside g of gathering take max(g, c + g f / (1 + f))), or that
 * one's growth behind the gather. */
static void
add_unit(Step *step, const Unit *unit)
{
  RaDecodeLine *line = step->line;
  const Unit *last = step->last;
  double hidden_s = last ? last->cost.compute_s + last->cost.comm_s : 0;
  double slow_s = last ? unit->gather_s * step->slow_frac : 0;
  double ahead_s = unit->gather_s - hidden_s - slow_s;

  if (last && ahead_s <= 0) {
    add_slope(step, last);
    line->cost.compute_s += slow_s;
  } else if (last && last->s_per_token > 0)
    line->until_tokens =
        MIN(line->until_tokens,
            ra_crossing_tokens(line->from_tokens, ahead_s, last->s_per_token));
  step->exposed_s += ahead_s > 0 ? unit->gather_s - hidden_s : 0;
  line->cost.compute_s += unit->cost.compute_s;
  line->cost.comm_s += unit->cost.comm_s;
  line->until_tokens = MIN(line->until_tokens, unit->until_tokens);
  step->n_launches += unit->n_launches;
  step->last = unit;
}

guint64
ra_estimator_decode_gathered(const RaEstimator *estimator, const RaShard *shard,
                             const RaPiece *piece, const RaBatch *batch,
                             RaDecodeLine *out_line)
{
  Unit units[N_KINDS];
  gboolean known[N_KINDS] = {FALSE};
  double memory_frac = estimator->overlap.memory_frac;
  Step step = {.slow_frac = memory_frac / (1 + memory_frac), .line = out_line};
  uint32_t n = piece->n_layers + 2;
  uint64_t from = batch->kv_tokens;

  *out_line = (RaDecodeLine){.from_tokens = from, .until_tokens = UINT64_MAX};
  for (uint32_t i = 0; i < n; i++) {
    gboolean is_layer = i > 0 && i < n - 1;
    RaPiece part = {.first_layer = piece->first_layer + (is_layer ? i - 1 : 0),
                    .n_layers = is_layer,
                    .has_embedding = i == 0,
                    .has_head = i == n - 1};
    guint kind = i == 0       ? EMBEDDING
                 : i == n - 1 ? HEAD
                              : LAYER + ra_model_layer_kind(shard->model,
                                                            part.first_layer);
    if ((i == 0 && !piece->has_embedding) || (i == n - 1 && !piece->has_head))
      continue;
    if (!known[kind])
      units[kind] = make_unit(estimator, shard, &part, batch);
    known[kind] = TRUE;
    add_unit(&step, &units[kind]);
  }
  if (step.last)
    add_slope(&step, step.last);
  out_line->cost.comm_s += step.exposed_s;
  if (step.exposed_s > 0)
    out_line->until_tokens =
        MIN(out_line->until_tokens, from + from / SPLIT_FRAC);
  return step.n_launches;
}
