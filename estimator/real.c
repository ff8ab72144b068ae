/* ReaL's formulas of calls and memory, and its grid of layers. */
#include "config.h"

#include "estimator/estimator_impl.h"
#include "estimator/real.h"
#include "graph/input/turns.h"

/* ---- The grid -------------------------------------------------------------*/

enum { N_BATCHES = 8, N_LENGTHS = 3, N_TOKENS = N_BATCHES + N_LENGTHS - 1 };

static const uint32_t lengths[N_LENGTHS] = {128, 256, 512};

/* Ops that are timed of a layer. */
typedef enum { OP_FORWARD, OP_BACKWARD, OP_OPTIMIZER, OP_DECODE } Op;

/* Where layers are timed. */
typedef struct {
  const RaEstimator *estimator;
  const RaRealCall *call;
  RaModel model; /* the call's with the vocabulary as head; borrows its parts */
  RaShard shard;
  Op op;
} Bench;

static void
bench_init(Bench *bench, const RaEstimator *estimator, const RaRealCall *call)
{
  *bench = (Bench){.estimator = estimator, .call = call, .model = *call->model};
  bench->model.head = RA_HEAD_LM;
  bench->shard = (RaShard){.tp = call->tp,
                           .tp_ranks_per_node = call->tp_per_node,
                           .tp_groups_per_node = 1,
                           .dtype = (uint8_t)call->dtype,
                           .launch = RA_LAUNCH_EAGER,
                           .loss = call->kind == RA_CALL_TRAIN};
}

static RaBatch
batch_of(Op op, uint64_t n, uint64_t length)
{
  if (op == OP_DECODE) /* the token after @length others */
    return (RaBatch){.n_sequences = (uint32_t)n,
                     .q_tokens = n,
                     .kv_tokens = n * (length + 1),
                     .pairs = n * (length + 1)};
  return (RaBatch){.n_sequences = (uint32_t)n,
                   .q_tokens = n * length,
                   .kv_tokens = n * length,
                   .pairs = n * length * (length + 1) / 2};
}

/* One piece of the model, timed by itself. */
static double
piece_s(const Bench *bench, const RaPiece *piece, const RaBatch *batch)
{
  static const RaPhase phases[] = {[OP_FORWARD] = RA_PHASE_FORWARD,
                                   [OP_BACKWARD] = RA_PHASE_BACKWARD,
                                   [OP_DECODE] = RA_PHASE_DECODE};
  const RaSystemConstants *system = &bench->estimator->system;
  gboolean generates = bench->call->kind == RA_CALL_GENERATE;
  RaShard shard = bench->shard;
  RaOp ops[RA_OP_LIST_MAX];
  guint n_ops = 1;
  RaCost cost = {0};
  guint64 n_launches;

  shard.model = &bench->model;
  if (bench->op == OP_OPTIMIZER)
    ops[0] = (RaOp){.kind = RA_OP_OPTIMIZER,
                    .dtype = shard.dtype,
                    .count = 1,
                    .dim = {ra_piece_n_params(&shard, piece)}};
  else
    n_ops = ra_op_list(&shard, piece, phases[bench->op], batch, ops);
  n_launches =
      ra_estimator_sum_ops(bench->estimator, ops, n_ops, generates, &cost);
  if ((bench->op == OP_FORWARD || bench->op == OP_BACKWARD) && !generates)
    ra_estimator_scale(bench->estimator, ops, n_ops, &cost);
  ra_estimator_add_host(bench->estimator, n_launches, RA_LAUNCH_EAGER, &cost);
  return bench->op == OP_DECODE
             ? MAX(cost.total_s, piece->n_layers * system->decode_layer_s)
             : cost.total_s;
}

/* Embedding, layers and head of @n sequences of @length tokens. */
static double
point_s(const Bench *bench, uint64_t n, uint64_t length)
{
  static const RaPiece embedding = {.has_embedding = 1}, head = {.has_head = 1},
                       block = {.n_layers = 1};
  RaBatch batch = batch_of(bench->op, n, length);

  return piece_s(bench, &embedding, &batch) +
         bench->model.n_layers * piece_s(bench, &block, &batch) +
         piece_s(bench, &head, &batch);
}

double
ra_real_interpolate(const double *x, const double *y, guint n, double at)
{
  guint i = 1;

  g_return_val_if_fail(n > 0, 0);
  if (at < x[0])
    return y[0] * at / x[0];
  if (at >= x[n - 1])
    return y[n - 1] * at / x[n - 1];
  while (x[i] <= at)
    i++;
  return y[i - 1] + (y[i] - y[i - 1]) * (at - x[i - 1]) / (x[i] - x[i - 1]);
}

/* The mean of the grid's points with 128 << @at tokens, or of decode with
 * 1 << @at sequences. */
static double
mean_s(const Bench *bench, guint at)
{
  double sum_s = 0;
  guint n = 0;

  for (guint i = 0; i < N_LENGTHS; i++) {
    guint batch = bench->op == OP_DECODE ? at : at - i;

    if (at < i && bench->op != OP_DECODE)
      break;
    if (batch >= N_BATCHES)
      continue;
    sum_s += point_s(bench, UINT64_C(1) << batch, lengths[i]);
    n++;
  }
  return sum_s / n;
}

static gboolean
is_on_grid(double n, double length)
{
  gboolean known = FALSE;

  for (guint i = 0; i < N_LENGTHS; i++)
    known = known || length == lengths[i];
  for (guint i = 0; known && i < N_BATCHES; i++) {
    if (n == (double)(1u << i))
      return TRUE;
  }
  return FALSE;
}

/* A stage's op on @n sequences, not whole perhaps. */
static double
stage_s(Bench *bench, Op op, double n)
{
  double length = bench->call->seq_tokens, x[2], y[2];
  guint n_points = op == OP_DECODE ? N_BATCHES : N_TOKENS, i = 0;
  double unit = op == OP_DECODE ? 1 : lengths[0];
  double at = op == OP_DECODE ? n : n * length;

  bench->op = op;
  if (op == OP_OPTIMIZER) /* the same at every point */
    return point_s(bench, 1, lengths[0]) / bench->call->pp;
  if (is_on_grid(n, length))
    return point_s(bench, (uint64_t)n, (uint64_t)length) / bench->call->pp;
  /* The two points around it, or the last two. */
  while (i + 2 < n_points && at >= unit * (double)(1u << (i + 1)))
    i++;
  for (guint k = 0; k < 2; k++) {
    x[k] = unit * (double)(1u << (i + k));
    y[k] = mean_s(bench, i + k);
  }
  return ra_real_interpolate(x, y, 2, at) / bench->call->pp;
}

/* ---- The formulas ---------------------------------------------------------*/

/* Sequences of a micro-batch. */
static double
micro_batch(const RaRealCall *call)
{
  if (call->kind != RA_CALL_TRAIN)
    return call->n_sequences / ((double)call->pp * call->dp);
  if (call->pp == 1)
    return call->n_sequences / call->dp;
  return call->n_sequences / (2.0 * call->pp * call->dp);
}

void
ra_real_ops(const RaEstimator *estimator, const RaRealCall *call,
            RaRealOps *out_ops)
{
  double n = micro_batch(call);
  Bench bench;

  g_return_if_fail(estimator && call && call->kind != RA_CALL_HOST);
  bench_init(&bench, estimator, call);
  *out_ops = (RaRealOps){.forward_s = stage_s(&bench, OP_FORWARD, n)};
  if (call->kind == RA_CALL_TRAIN) {
    out_ops->backward_s = stage_s(&bench, OP_BACKWARD, n);
    out_ops->optimizer_s = stage_s(&bench, OP_OPTIMIZER, 1);
  } else if (call->kind == RA_CALL_GENERATE) {
    out_ops->decode_s = stage_s(&bench, OP_DECODE, n);
  }
}

double
ra_real_time_s(const RaRealCall *call, const RaRealOps *ops)
{
  double pp = call->pp, tp = call->tp, dp = call->dp, s = 0;

  switch (call->kind) {
  case RA_CALL_TRAIN: {
    double m = call->pp > 1 ? 2 * pp : 1;
    double pass_s =
        ops->backward_s + (call->recompute ? 2 : 1) * ops->forward_s;

    s = pass_s * (pp + m - 1) + ops->optimizer_s;
    if (pp * dp <= 1)
      s *= 1 - 0.04 * tp;
    if (tp > 1)
      s *= 1 - 0.03 * tp;
    s *= call->n_epochs;
    break;
  }
  case RA_CALL_INFERENCE:
    s = ops->forward_s * (2 * pp - 1);
    if (tp > 1)
      s *= 1 - 0.03 * tp;
    break;
  case RA_CALL_GENERATE:
    s = ops->forward_s * (2 * pp - 1) +
        ops->decode_s * (call->gen_tokens - 1) * pp;
    if (dp * tp > 1)
      s *= 1 - 0.03 * MIN(dp * tp, 8);
    break;
  default:
    g_return_val_if_reached(0);
  }
  if (pp > 8)
    s *= 1 + 0.01 * pp;
  return MAX(s, 0); /* tp beyond 25 is none of ReaL's */
}

double
ra_real_call_s(const RaEstimator *estimator, const RaRealCall *call)
{
  RaRealOps ops;

  ra_real_ops(estimator, call, &ops);
  return ra_real_time_s(call, &ops);
}

double
ra_real_call_bytes(const RaRealCall *call)
{
  const RaModel *m = call->model;
  double v = m->vocab, h = m->hidden, layers = m->n_layers;
  double i = m->n_experts > 0 ? (double)m->n_experts * m->expert_ffn : m->ffn;
  double n_params = 3 * v * h + layers * (3 * h * i + 4 * h * h);
  double cut = (double)call->pp * call->tp, all = cut * call->dp;

  switch (call->kind) {
  case RA_CALL_TRAIN:
    return 4 * n_params / cut + 20 * n_params / all;
  case RA_CALL_GENERATE:
    return 4 * n_params / cut + 4 * call->n_sequences *
                                    (call->gen_tokens + call->seq_tokens) * h *
                                    layers / all;
  default:
    return 4 * n_params / cut;
  }
}

/* ---- From a plan ----------------------------------------------------------*/

gboolean
ra_real_call_init(RaRealCall *call, const RaPlan *plan, uint32_t index)
{
  const RaWorkload *workload = plan->workload;
  const RaCall *c = &workload->calls[index];
  const RaCallPlan *p = &plan->calls[index];
  const RaWorkloadModel *model;
  gboolean generates = FALSE;

  if (c->kind == RA_CALL_HOST)
    return FALSE;
  for (guint i = 0; i < workload->n_calls; i++)
    generates = generates || workload->calls[i].kind == RA_CALL_GENERATE;
  model = &workload->models[c->model];
  *call = (RaRealCall){
      .model = model->model,
      .kind = c->kind,
      .dtype = model->dtype,
      .n_sequences = c->n_sequences,
      .seq_tokens = workload->prompt_length.max_tokens,
      .gen_tokens = (uint32_t)ra_turns_max_tokens(workload),
      .recompute = p->recompute == RA_RECOMPUTE_FULL,
      .tp = p->tp,
      .pp = p->pp,
      .dp = p->dp * p->cp,
      .tp_per_node = MIN(p->tp, p->mesh.gpus_per_node),
      .n_epochs = c->n_epochs,
  };
  if (!generates)
    call->seq_tokens += (uint32_t)ra_turns_max_tokens(workload);
  return TRUE;
}
