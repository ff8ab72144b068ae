/* The time of a decode step as a line in the tokens attended to. */
#include "config.h"

#include "estimator/estimator_impl.h"
#include "estimator/nearest.h"
#include "graph/op/op_reuse.h"

uint64_t
ra_crossing_tokens(uint64_t from_tokens, double rise_s, double slope)
{
  double ahead = rise_s / slope;

  if (ahead >= 0x1p62 || from_tokens > UINT64_MAX - (uint64_t)ahead)
    return UINT64_MAX;
  return from_tokens + (uint64_t)ahead;
}

/* Tokens of an entry that an indexer chooses. */
static uint64_t
entry_tokens(const RaModel *model)
{
  for (uint32_t k = 0; k < ra_model_n_kinds(model); k++)
    if (model->kinds[k].indexer)
      return MAX(model->kinds[k].compress, 1);
  return 1;
}

/* Tokens of its cache that @op sees more of for each that comes to a cache of
 * @batch. */
static double
growth_of(const RaModel *model, const RaBatch *batch, const RaOp *op)
{
  uint64_t n = batch->n_sequences, tokens = batch->kv_tokens;
  uint64_t ratio = op->dim[6];
  gboolean full =
      op->flags & RA_OP_SPARSE && tokens >= n * model->index_top_k * ratio;

  if (op->kind == RA_OP_INDEXER) /* of entries, or of all */
    return (double)op->dim[2] / (double)tokens;
  if (op->kind == RA_OP_COMPRESSED)
    return (tokens < n * model->kinds[0].window ? 1 : 0) +
           (ratio > 0 && !full ? 1 / (double)ratio : 0);
  return op->dim[2] < tokens ? 0 : 1;
}

/* The first total of tokens from @kv_tokens on at which the sequences of some
 * layer fill its window. */
static uint64_t
until_window(const RaModel *model, const RaBatch *batch)
{
  uint64_t n = batch->n_sequences, until = UINT64_MAX;

  for (uint32_t k = 0; k <= ra_model_n_kinds(model); k++) {
    uint64_t full = n * (k < ra_model_n_kinds(model)
                             ? model->kinds[k].window
                             : model->index_top_k * entry_tokens(model));

    if (full >= batch->kv_tokens && full > 0)
      until = MIN(until, full);
  }
  return until;
}

/* Seconds that each further token adds to @op, by the law of its own or that of
 * the nearest op, and up to which token; 0 if it sees no more of them, as its
 * window is full. */
static double
op_line(const RaEstimator *estimator, const RaModel *model,
        const RaBatch *batch, const RaOp *op, uint64_t *out_until)
{
  const RaRoofLaw *roof =
      ra_roof_has_line(op)
          ? ra_estimator_roof(estimator, op, estimator->system.kernels)
          : NULL;
  double growth = growth_of(model, batch, op), slope;
  uint64_t until;
  RaOp near = *op;

  *out_until = UINT64_MAX;
  if (!roof)
    ra_op_nearest(op, &near);
  if ((!roof && near.kind != RA_OP_DECODE_ATTENTION) || growth <= 0 ||
      (!roof && op->flags & RA_OP_SPARSE &&
       op->kind == RA_OP_DECODE_ATTENTION && near.dim[2] < batch->kv_tokens))
    return 0;
  slope = roof ? ra_roof_line(roof, &near, &until)
               : ra_decode_attention_line(
                     ra_estimator_decode_attention(estimator, &near,
                                                   estimator->system.kernels),
                     &near, &until);
  *out_until = growth < 1 || growth > 1
                   ? ra_crossing_tokens(batch->kv_tokens,
                                        (double)(until - op->dim[2]), growth)
                   : until;
  return near.count * slope * growth;
}

double
ra_estimator_device_line(const RaEstimator *estimator, const RaModel *model,
                         const RaBatch *batch, const RaOp *ops, guint n_ops,
                         uint64_t *out_until_tokens)
{
  double slope = 0;

  *out_until_tokens = until_window(model, batch);
  for (guint i = 0; i < n_ops; i++) {
    uint64_t until;

    slope += op_line(estimator, model, batch, &ops[i], &until);
    *out_until_tokens = MIN(*out_until_tokens, until);
  }
  return slope;
}

void
ra_estimator_add_layers(const RaEstimator *estimator, const RaShard *shard,
                        const RaPiece *piece, RaCost *cost)
{
  const RaSystemConstants *system = &estimator->system;
  double adapter_s = shard->model->lora_rank > 0 ? system->decode_adapter_s : 0;
  double system_s = piece->n_layers * (system->decode_layer_s + adapter_s) +
                    system->decode_stage_s;

  if (shard->launch == RA_LAUNCH_EAGER && system_s > cost->total_s) {
    cost->host_s += system_s - cost->total_s;
    cost->total_s = system_s;
  }
}

void
ra_estimator_add_between(const RaEstimator *estimator, const RaPiece *piece,
                         uint32_t n_sequences, RaCost *cost)
{
  const RaSystemConstants *system = &estimator->system;
  double host_s = piece->has_head ? system->decode_step_s +
                                        n_sequences * system->decode_sequence_s
                                  : 0;

  cost->host_s += host_s;
  cost->total_s += host_s;
}

gboolean
ra_estimator_has_reuse(const RaEstimator *estimator)
{
  return estimator->gemm_fp32.reuse.grid != NULL;
}

/* Cost of a piece whose weights are in place; returns the kernels launched. */
static guint64
decode_whole(const RaEstimator *estimator, const RaShard *shard,
             const RaPiece *piece, const RaBatch *batch, RaDecodeLine *out_line)
{
  RaOp ops[RA_OP_LIST_MAX];
  guint n_ops = ra_op_list(shard, piece, RA_PHASE_DECODE, batch, ops);
  uint64_t until = UINT64_MAX;
  guint64 n_launches;

  if (ra_estimator_has_reuse(estimator))
    ra_op_set_reuse(ops, n_ops, ra_op_reuse_mib(shard, piece, batch, &until));
  out_line->cost = (RaCost){0};
  out_line->s_per_token = ra_estimator_device_line(
      estimator, shard->model, batch, ops, n_ops, &out_line->until_tokens);
  out_line->until_tokens =
      MIN(out_line->until_tokens, MAX(until, batch->kv_tokens));
  n_launches =
      ra_estimator_sum_ops(estimator, ops, n_ops, TRUE, &out_line->cost);
  return n_launches;
}

/* A pass of a piece, without what the engine does between passes. */
static void
pass_of(const RaEstimator *estimator, const RaShard *shard,
        const RaPiece *piece, uint32_t n_sequences, uint64_t kv_tokens,
        RaDecodeLine *out_line)
{
  RaBatch batch = {.n_sequences = n_sequences,
                   .q_tokens = n_sequences,
                   .kv_tokens = kv_tokens,
                   .pairs = kv_tokens};
  guint64 n_launches;
  double slope;
  uint64_t until;

  if (shard->zero_ranks > 1)
    n_launches =
        ra_estimator_decode_gathered(estimator, shard, piece, &batch, out_line);
  else
    n_launches = decode_whole(estimator, shard, piece, &batch, out_line);
  slope = out_line->s_per_token;
  until = out_line->until_tokens;
  ra_estimator_add_host(estimator, n_launches, shard->launch, &out_line->cost);
  ra_estimator_add_layers(estimator, shard, piece, &out_line->cost);
  /* Host-bound: the device's growth hides behind the launches until it has
   * caught up with them.  A list has no host ops of its own, so all of host_s
   * is waiting. */
  out_line->compute_s_per_token = slope;
  if (shard->launch == RA_LAUNCH_EAGER && out_line->cost.host_s > 0) {
    if (slope > 0)
      until = MIN(until,
                  ra_crossing_tokens(kv_tokens, out_line->cost.host_s, slope));
    slope = 0;
  }
  out_line->s_per_token = slope;
  out_line->from_tokens = kv_tokens;
  out_line->until_tokens = until;
}

/* Adds @more times @factor. */
static void
add_cost(RaCost *cost, const RaCost *more, double factor)
{
  cost->total_s += factor * more->total_s;
  cost->compute_s += factor * more->compute_s;
  cost->comm_s += factor * more->comm_s;
  cost->host_s += factor * more->host_s;
  cost->beside_s += factor * more->beside_s;
}

/* A pass of the layer that drafts: the last layer, with embedding and head. */
static gboolean
draft_of(const RaEstimator *estimator, const RaShard *shard,
         const RaPiece *piece, uint32_t n_sequences, uint64_t kv_tokens,
         RaDecodeLine *out_line)
{
  RaShard drafts = *shard;
  RaPiece layer = {.first_layer = shard->model->n_layers - 1,
                   .n_layers = 1,
                   .has_embedding = 1,
                   .has_head = 1};

  drafts.draft_tokens = 0;
  if (shard->draft_layer && piece->has_head)
    pass_of(estimator, &drafts, &layer, n_sequences, kv_tokens, out_line);
  return shard->draft_layer && piece->has_head;
}

void
ra_estimator_decode(const RaEstimator *estimator, const RaShard *shard,
                    const RaPiece *piece, uint32_t n_sequences,
                    uint64_t kv_tokens, RaDecodeLine *out_line)
{
  double n = shard->draft_tokens, passes = 1 / ra_shard_tokens_per_pass(shard);
  RaDecodeLine draft;

  pass_of(estimator, shard, piece, n_sequences, kv_tokens, out_line);
  ra_estimator_add_between(estimator, piece, n_sequences, &out_line->cost);
  if (n == 0)
    return;
  if (draft_of(estimator, shard, piece, n_sequences, kv_tokens, &draft)) {
    add_cost(&out_line->cost, &draft.cost, n);
    out_line->s_per_token += n * draft.s_per_token;
    out_line->compute_s_per_token += n * draft.compute_s_per_token;
    out_line->until_tokens = MIN(out_line->until_tokens, draft.until_tokens);
  }
  add_cost(&out_line->cost, &out_line->cost, passes - 1);
  out_line->s_per_token *= passes;
  out_line->compute_s_per_token *= passes;
}

void
ra_estimator_add_drafts(const RaEstimator *estimator, const RaShard *shard,
                        const RaPiece *piece, const RaBatch *decode,
                        RaCost *cost)
{
  RaDecodeLine draft;

  if (shard->draft_tokens > 0 && decode->n_sequences > 0 &&
      draft_of(estimator, shard, piece, decode->n_sequences, decode->kv_tokens,
               &draft))
    add_cost(cost, &draft.cost, shard->draft_tokens);
}

/* A power of two of tokens a sequence, of @n_sequences, that @kv_tokens reach.
 * Tables of attention have their knots there. */
static uint64_t
anchor_tokens(uint32_t n_sequences, uint64_t kv_tokens)
{
  return (uint64_t)n_sequences
         << (63 - __builtin_clzll(kv_tokens / n_sequences));
}

void
ra_estimator_decode_line(const RaEstimator *estimator, const RaShard *shard,
                         const RaPiece *piece, uint32_t n_sequences,
                         uint64_t kv_tokens, RaDecodeLine *out_line)
{
  RaLineSubject subject = {.shard = *shard,
                           .first_layer = shard->model->layer_kind
                                              ? piece->first_layer
                                              : piece->first_layer > 0,
                           .n_layers = piece->n_layers,
                           .ends = piece->has_embedding * 2u + piece->has_head,
                           .n_sequences = n_sequences};
  RaKnownLines *known = NULL;

  if (kv_tokens < n_sequences || shard->zero_ranks > 1 ||
      ra_estimator_has_reuse(estimator)) {
    ra_estimator_decode(estimator, shard, piece, n_sequences, kv_tokens,
                        out_line);
    return;
  }
  subject.anchor_tokens = anchor_tokens(n_sequences, kv_tokens);
  out_line->until_tokens = subject.anchor_tokens - 1;
  if (estimator->lines)
    known = ra_lines_memo_at(estimator->lines, &subject);
  for (guint i = 0; kv_tokens > out_line->until_tokens; i++) {
    if (known && i < known->n) {
      *out_line = known->lines[i];
      continue;
    }
    ra_estimator_decode(estimator, shard, piece, n_sequences,
                        out_line->until_tokens + 1, out_line);
    if (known && i < RA_LINES_MAX)
      known->lines[known->n++] = *out_line;
  }
}
