/* Link use of generations in slots of time. */
#include "config.h"

#include "sim/cost.h"
#include "sim/decode_links.h"

struct _RaDecodeLinks {
  const RaTaskGraph *graph;
  const RaEstimator *estimator;
  const RaDynamic *dynamic;
  uint32_t n_rows, n_kinds;
  GArray **slots;          /* (n_parts) RaDecodeSlot */
  GArray **uses;           /* (n_parts) RaDecodeUse: (slots, n_rows, n_kinds) */
  RaDecodeUse *gathers;    /* (n_stages, n_kinds) of a step, zero 3 */
  RaDecodeUse *lap;        /* (n_stages, n_kinds) of a step of lap_sequences */
  uint32_t *lap_sequences; /* (n_stages) 0: not known */
  uint32_t part;           /* of the last lap */
  double until_s;          /* it ended */
  gboolean any;
};

double
ra_link_messages(const RaOp *op, const RaLinkUse *use)
{
  uint64_t nodes = op->dim[2] > 0 ? op->dim[1] / op->dim[2] : 0;

  if (!(use->inter_s > 0))
    return 0;
  if (op->kind == RA_OP_SEND || op->kind == RA_OP_REALLOC || nodes < 2)
    return 1;
  return (double)(nodes - 1) * (op->kind == RA_OP_ALL_REDUCE ? 2 : 1);
}

/* ---- Uses of a step ------------------------------------------------------ */

static void
add_use(RaDecodeUse *sum, const RaDecodeUse *use, double n)
{
  sum->intra_s += n * use->intra_s;
  sum->inter_s += n * use->inter_s;
  sum->n_messages += n * use->n_messages;
}

static void
add_op(const RaEstimator *estimator, const RaOp *op, RaDecodeUse *sum)
{
  RaLinkUse use;

  if (ra_op_class((RaOpKind)op->kind) != RA_OP_CLASS_COMM)
    return;
  ra_estimator_link_use(estimator, op, TRUE, &use);
  add_use(sum,
          &(RaDecodeUse){use.intra_s, use.inter_s, ra_link_messages(op, &use)},
          op->count);
}

/* Adds the gathers of sharded weights in a step, unit by unit. */
static void
add_gathers(const RaDecodeLinks *l, const RaEstimator *estimator,
            uint32_t stage, RaDecodeUse *sum)
{
  const RaShard *shard = &l->graph->shards[l->dynamic->shard];
  const RaPiece *piece = &l->dynamic->pieces[stage];
  uint32_t first = piece->first_layer, end = first + piece->n_layers;

  if (shard->zero_ranks < 2)
    return;
  for (uint32_t layer = first; layer < end; layer++) {
    RaPiece unit = {.first_layer = layer, .n_layers = 1};
    RaOp op = ra_op_gather(shard, &unit);

    add_op(estimator, &op, sum);
  }
  for (guint head = 0; head < 2; head++) {
    RaPiece unit = {.first_layer = first,
                    .has_embedding = head == 0 && piece->has_embedding,
                    .has_head = head == 1 && piece->has_head};
    RaOp op = ra_op_gather(shard, &unit);

    if (unit.has_embedding || unit.has_head)
      add_op(estimator, &op, sum);
  }
}

/* A step of the lap on its stage. */
static void
use_of_step(const RaDecodeLinks *l, const RaEstimator *estimator,
            const RaDecodeLap *lap, RaDecodeUse *sum)
{
  const RaShard *shard = &l->graph->shards[l->dynamic->shard];
  const RaPiece *piece = &l->dynamic->pieces[lap->stage];
  uint32_t n = lap->n_sequences;
  RaOp ops[RA_OP_LIST_MAX];
  guint n_ops;

  if (lap->mixed) {
    RaMixedBatch batch = ra_mixed_batch(lap->mixed);

    n_ops = ra_op_list_mixed(shard, piece, &batch, ops);
  } else {
    RaBatch batch = {n, n, n, n}; /* what is attended to stays on its GPU */

    n_ops = ra_op_list(shard, piece, RA_PHASE_DECODE, &batch, ops);
  }
  for (guint i = 0; i < n_ops; i++)
    add_op(estimator, &ops[i], sum);
}

/* (n_kinds) of the lap's stage, as of its last lap where they are alike. */
static const RaDecodeUse *
step_uses(RaDecodeLinks *l, const RaDecodeLap *lap)
{
  RaDecodeUse *uses = &l->lap[(gsize)lap->stage * l->n_kinds];
  uint32_t *known = &l->lap_sequences[lap->stage];

  if (!lap->mixed && *known == lap->n_sequences)
    return uses;
  *known = lap->mixed ? 0 : lap->n_sequences;
  for (uint32_t k = 0; k < l->n_kinds; k++) {
    uses[k] = l->gathers[(gsize)lap->stage * l->n_kinds + k];
    use_of_step(l, ra_estimator_kind(l->estimator, k), lap, &uses[k]);
    l->any = l->any || uses[k].intra_s > 0 || uses[k].inter_s > 0;
  }
  return uses;
}

/* ---- Slots --------------------------------------------------------------- */

/* Neighbours by two. */
static void
halve(const RaDecodeLinks *l, uint32_t part)
{
  GArray *slots = l->slots[part];
  RaDecodeSlot *s = (RaDecodeSlot *)(void *)slots->data;
  RaDecodeUse *uses = (RaDecodeUse *)(void *)l->uses[part]->data;
  gsize width = (gsize)l->n_rows * l->n_kinds;

  for (guint i = 0; i < slots->len / 2; i++) {
    s[i] = (RaDecodeSlot){s[2 * i].wall_s + s[2 * i + 1].wall_s,
                          s[2 * i].comm_s + s[2 * i + 1].comm_s,
                          s[2 * i].n_steps + s[2 * i + 1].n_steps};
    for (gsize j = 0; j < width; j++) {
      RaDecodeUse sum = uses[2 * i * width + j];

      add_use(&sum, &uses[(2 * i + 1) * width + j], 1);
      uses[i * width + j] = sum;
    }
  }
  g_array_set_size(slots, slots->len / 2);
  g_array_set_size(l->uses[part], (guint)(slots->len * width));
}

/* A slot for the lap that begins on stage 0. */
static void
begin_slot(RaDecodeLinks *l, const RaDecodeLap *lap)
{
  GArray *slots = l->slots[lap->part];
  RaDecodeSlot slot = {MAX(lap->until_s - l->until_s, 0), 0, lap->n_steps};

  if (slots->len == RA_DECODE_SLOTS)
    halve(l, lap->part);
  g_array_append_val(slots, slot);
  g_array_set_size(l->uses[lap->part], slots->len * l->n_rows * l->n_kinds);
  l->until_s = lap->until_s;
}

static RaDecodeUse *
last_uses(const RaDecodeLinks *l, uint32_t part, uint32_t row)
{
  gsize at = ((gsize)l->slots[part]->len - 1) * l->n_rows + row;

  return &g_array_index(l->uses[part], RaDecodeUse, at * l->n_kinds);
}

/* Notes the send of the lap's tokens from its stage to the next one. */
static void
note_send(RaDecodeLinks *l, const RaDecodeLap *lap, RaDecodeSlot *slot)
{
  RaDecodeUse *sum = last_uses(l, lap->part, l->dynamic->n_stages);
  RaOp send = l->dynamic->send;
  double most_s = 0;

  send.count = 1;
  send.dim[0] *= lap->n_sequences + (lap->mixed ? lap->mixed->chunk_tokens : 0);
  for (uint32_t k = 0; k < l->n_kinds; k++) {
    const RaEstimator *estimator = ra_estimator_kind(l->estimator, k);
    double send_s = ra_estimator_op_s(estimator, &send);

    most_s = MAX(most_s, send_s);
    if (lap->stage == 0)
      add_op(estimator, &send, &sum[k]);
  }
  slot->comm_s += most_s / l->dynamic->n_stages;
  l->any = l->any || most_s > 0;
}

static void
note_lap(const RaDecodeLap *lap, void *data)
{
  RaDecodeLinks *l = data;
  uint32_t n_stages = l->dynamic->n_stages;
  const RaDecodeUse *uses = step_uses(l, lap);
  double passes = (double)lap->n_steps; /* a step makes a token a sequence */
  RaDecodeSlot *slot;

  if (!lap->mixed)
    passes /= ra_shard_tokens_per_pass(&l->graph->shards[l->dynamic->shard]);

  if (lap->stage == 0)
    begin_slot(l, lap);
  slot = &g_array_index(l->slots[lap->part], RaDecodeSlot,
                        l->slots[lap->part]->len - 1);
  slot->comm_s += lap->comm_s / n_stages;
  for (uint32_t k = 0; k < l->n_kinds; k++)
    add_use(last_uses(l, lap->part, lap->stage) + k, &uses[k], passes);
  if (lap->stage + 1 < n_stages)
    note_send(l, lap, slot);
}

/* A stage communicates for as long as it has a link full, and no longer than it
 * runs. */
static void
bound_slots(RaDecodeLinks *l)
{
  for (uint32_t part = 0; part < l->dynamic->n_parts; part++)
    for (guint i = 0; i < l->slots[part]->len; i++) {
      RaDecodeSlot *slot = &g_array_index(l->slots[part], RaDecodeSlot, i);

      for (uint32_t row = 0; row < l->n_rows; row++) {
        const RaDecodeUse *use = ra_decode_links_use(l, part, i, row, 0);

        slot->comm_s = MAX(slot->comm_s, MAX(use->intra_s, use->inter_s));
      }
      slot->comm_s = MIN(slot->comm_s, slot->wall_s);
    }
}

RaDecodeLinks *
ra_decode_links_new(const RaTaskGraph *graph, const RaEstimator *estimator,
                    uint32_t index, const uint32_t *kinds)
{
  RaDecodeLinks *l = g_new0(RaDecodeLinks, 1);
  const RaDynamic *d = l->dynamic = &graph->dynamics[index];
  g_autofree double *ends_s = g_new0(double, d->n_parts);
  g_autofree RaCost *costs = g_new0(RaCost, d->n_parts);
  RaDecodeWatch watch = {note_lap, l};
  RaDecodeResult result = {
      .part_end_s = ends_s, .part_cost = costs, .watch = &watch};

  l->graph = graph;
  l->estimator = estimator;
  l->n_rows = d->n_stages + 1;
  l->n_kinds = ra_estimator_n_kinds(estimator);
  l->slots = g_new(GArray *, d->n_parts);
  l->uses = g_new(GArray *, d->n_parts);
  for (uint32_t part = 0; part < d->n_parts; part++) {
    l->slots[part] = g_array_new(FALSE, TRUE, sizeof(RaDecodeSlot));
    l->uses[part] = g_array_new(FALSE, TRUE, sizeof(RaDecodeUse));
  }
  l->lap = g_new0(RaDecodeUse, (gsize)d->n_stages * l->n_kinds);
  l->gathers = g_new0(RaDecodeUse, (gsize)d->n_stages * l->n_kinds);
  l->lap_sequences = g_new0(uint32_t, d->n_stages);
  for (uint32_t s = 0; s < d->n_stages; s++)
    for (uint32_t k = 0; k < l->n_kinds; k++)
      add_gathers(l, ra_estimator_kind(estimator, k), s,
                  &l->gathers[(gsize)s * l->n_kinds + k]);
  ra_dynamic_run(graph, estimator, index, kinds, &result);
  bound_slots(l);
  return l;
}

void
ra_decode_links_free(RaDecodeLinks *l)
{
  if (!l)
    return;
  for (uint32_t part = 0; part < l->dynamic->n_parts; part++) {
    g_array_unref(l->slots[part]);
    g_array_unref(l->uses[part]);
  }
  g_free(l->slots);
  g_free(l->uses);
  g_free(l->lap);
  g_free(l->gathers);
  g_free(l->lap_sequences);
  g_free(l);
}

const RaDecodeSlot *
ra_decode_links_slots(const RaDecodeLinks *l, uint32_t part, guint *out_n)
{
  *out_n = l->slots[part]->len;
  return (const RaDecodeSlot *)(void *)l->slots[part]->data;
}

const RaDecodeUse *
ra_decode_links_use(const RaDecodeLinks *l, uint32_t part, guint slot,
                    uint32_t row, uint32_t kind)
{
  gsize at = (gsize)slot * l->n_rows + row;

  return &g_array_index(l->uses[part], RaDecodeUse, at * l->n_kinds + kind);
}

gboolean
ra_decode_links_any(const RaDecodeLinks *l)
{
  return l->any;
}
