/* Lower bounds of isolated calls: inference, training and generation. */
#include "config.h"

#include <math.h>

#include "graph/expand/expand_zero.h"
#include "graph/input/plan_batching.h"
#include "search/evaluate/call_bound_impl.h"
#include "sim/generate/decode.h"

/* Rounding error of a thousand terms is some 10^-13 of them. */
#define ROUNDING (1 - 1e-9)

/* The work of @graph on the fastest kind of nodes of the mesh. */
static double
least_work_s(const RaBoundSubject *s, const RaTaskGraph *graph)
{
  double least_s = (double)INFINITY;

  for (guint k = 0; k < ra_estimator_n_kinds(s->estimator); k++) {
    RaCost cost;

    if (!(s->kinds >> k & 1))
      continue;
    ra_estimator_work(ra_estimator_kind(s->estimator, k), graph, 0, &cost);
    least_s = MIN(least_s, cost.total_s);
  }
  return least_s;
}

double
ra_bound_pass_s(const RaBoundSubject *s, const RaPiece *piece, RaPhase phase)
{
  RaWork work = {
      .shard = 0, .phase = (uint8_t)phase, .piece = *piece, .batch = s->batch};
  RaTaskGraph graph = {
      .n_works = 1, .works = &work, .n_shards = 1, .shards = &s->shard};

  return least_work_s(s, &graph);
}

/* A task of one op. */
static double
op_s(const RaBoundSubject *s, const RaOp *op)
{
  RaWork work = {.shard = RA_NONE, .op = *op};
  RaTaskGraph graph = {.n_works = 1, .works = &work};

  work.op.count = 1;
  return least_work_s(s, &graph);
}

gboolean
ra_bound_is_like_before(const RaBoundSubject *s, uint32_t piece)
{
  return piece > 0 && ra_piece_is_alike(&s->c->shard, &s->c->pieces[piece],
                                        &s->c->pieces[piece - 1]);
}

/* --- pipelines --- */

void
ra_bound_sends(const RaBoundSubject *s, double *out_s)
{
  const RaCallPlan *p = s->plan;
  uint64_t tokens = (s->batch.q_tokens + p->cp - 1) / p->cp;
  uint64_t bytes = tokens * ra_model_stream_width(s->x.model) *
                   ra_dtype_bytes((RaDtype)s->x.dtype);
  double sends_s[2] = {0};

  if (p->sequence_parallel || p->scatter_sends)
    bytes = (bytes + p->tp - 1) / p->tp;
  for (uint64_t crosses = 0; crosses < 2 && p->pp > 1; crosses++) {
    RaOp op = {.kind = RA_OP_SEND,
               .dtype = (uint8_t)s->x.dtype,
               .dim = {bytes, crosses, s->x.shard_record.tp_ranks_per_node}};
    sends_s[crosses] = op_s(s, &op);
  }
  for (uint32_t i = 0; i + 1 < p->pp; i++)
    out_s[i] = sends_s[ra_send_crosses(p, s->cluster, 0, i, i + 1) != 0];
}

/* The passes of one micro-batch. */
typedef struct {
  double *forward_s;  /* (n_pieces) */
  double *backward_s; /* (n_pieces) 0: there is none */
  double *send_s;     /* (pp) from stage s to the next, one way */
} Passes;

static void
passes_init(const RaBoundSubject *s, gboolean trains, Passes *out)
{
  uint32_t n = s->c->n_pieces;

  out->forward_s = g_new0(double, n);
  out->backward_s = g_new0(double, n);
  out->send_s = g_new0(double, s->plan->pp);
  for (uint32_t u = 0; u < n; u++) {
    if (ra_bound_is_like_before(s, u)) {
      out->forward_s[u] = out->forward_s[u - 1];
      out->backward_s[u] = out->backward_s[u - 1];
      continue;
    }
    out->forward_s[u] = ra_bound_pass_s(s, &s->c->pieces[u], RA_PHASE_FORWARD);
    if (trains)
      out->backward_s[u] =
          ra_bound_pass_s(s, &s->c->pieces[u], RA_PHASE_BACKWARD);
  }
  ra_bound_sends(s, out->send_s);
}

static void
passes_clear(Passes *passes)
{
  g_free(passes->forward_s);
  g_free(passes->backward_s);
  g_free(passes->send_s);
}

/* Work of stage @stage for one micro-batch. */
static double
stage_s(const RaBoundSubject *s, const Passes *passes, uint32_t stage)
{
  double sum_s = 0;

  for (uint32_t u = stage; u < s->c->n_pieces; u += s->plan->pp)
    sum_s += passes->forward_s[u] + passes->backward_s[u];
  return sum_s;
}

/* N micro-batches forward: those of a stage one after the other, the first
 * comes through all stages before it and the last goes through all behind. */
static double
forwards_s(const RaBoundSubject *s, const Passes *passes, double n)
{
  double through_s = 0, most_s = 0;

  for (uint32_t i = 0; i < s->plan->pp; i++) {
    through_s += passes->forward_s[i] + passes->send_s[i];
    most_s = MAX(most_s, (n - 1) * passes->forward_s[i]);
  }
  return through_s + most_s;
}

/* N micro-batches forward and backward: those of a stage, the first through the
 * stages before it, the last back through them. */
static double
trains_s(const RaBoundSubject *s, const Passes *passes, double n)
{
  double before_s = 0, most_s = 0;

  for (uint32_t i = 0; i < s->plan->pp; i++) {
    most_s = MAX(most_s, before_s + n * stage_s(s, passes, i));
    before_s +=
        passes->forward_s[i] + passes->backward_s[i] + 2 * passes->send_s[i];
  }
  return most_s;
}

/* --- what follows a mini-batch --- */

/* Parameters of @piece whose gradients all data ranks sum. */
static uint64_t
dense_params(const RaBoundSubject *s, const RaPiece *piece)
{
  uint64_t n = ra_piece_n_trained(&s->x.shard_record, piece);

  return ra_call_plan_spreads_experts(s->plan)
             ? n - ra_piece_n_trained_experts(&s->x.shard_record, piece)
             : n;
}

/* The reduction of the first stage's bucket @k. */
static double
bucket_s(const RaBoundSubject *s, uint32_t k)
{
  const RaCallContext *x = &s->x;
  RaPiece part = ra_piece_bucket(x, 0, k);
  uint64_t n = dense_params(s, &part) - ra_piece_bucket_shared(x, 0, k);
  RaOp op = ra_zero_op(x, x->zero ? RA_OP_REDUCE_SCATTER : RA_OP_ALL_REDUCE,
                       (RaDtype)s->plan->grad_dtype, n);

  return op_s(s, &op);
}

double
ra_bound_last_reduce_s(const RaBoundSubject *s)
{
  return s->x.dp.ranks > 1 ? bucket_s(s, ra_piece_n_buckets(&s->x, 0) - 1) : 0;
}

/* Seconds behind the first stage's last backward, of @whole_s, until all that
 * it made is reduced: bucket by bucket, as each is ready. */
static double
reduce_s(const RaBoundSubject *s, double whole_s)
{
  double ready_s = 0, end_s = 0;

  if (s->x.dp.ranks <= 1)
    return 0;
  for (uint32_t k = 0; k < ra_piece_n_buckets(&s->x, 0); k++) {
    RaPiece part = ra_piece_bucket(&s->x, 0, k);

    ready_s += ra_bound_pass_s(s, &part, RA_PHASE_BACKWARD);
    end_s = MAX(end_s, ready_s) + bucket_s(s, k);
  }
  return MAX(end_s - whole_s, 0);
}

double
ra_bound_update_s(const RaBoundSubject *s, double reduce_s, uint32_t n_parts)
{
  const RaCallContext *x = &s->x;
  const RaCallPlan *p = s->plan;
  uint32_t n_gpus = ra_mesh_n_gpus(&p->mesh);
  RaOp clip = {.kind = RA_OP_ALL_REDUCE,
               .dtype = RA_DTYPE_FP32,
               .dim = {sizeof(float), n_gpus, p->mesh.gpus_per_node, 1}};
  RaOp step = {.kind = RA_OP_OPTIMIZER, .dtype = (uint8_t)x->dtype};
  uint64_t n_params = 0;
  double sum_s = reduce_s;

  for (uint32_t u = 0; u < s->c->n_pieces; u += p->pp)
    n_params += dense_params(s, &s->c->pieces[u]);
  step.dim[0] =
      x->zero ? (n_params + x->set.ranks - 1) / x->set.ranks : n_params;
  if (n_gpus > 1)
    sum_s += op_s(s, &clip);
  sum_s += op_s(s, &step);
  if ((x->zero == 1 || x->zero == 2) && n_parts == 1) {
    RaOp gather = ra_zero_gather_op(x, s->c->pieces, 0, n_params);
    sum_s += op_s(s, &gather);
  }
  return sum_s;
}

double
ra_bound_collectives_s(const RaBoundSubject *s, gboolean trains)
{
  const RaCallContext *x = &s->x;
  double most_s = 0, sum_s = 0;

  for (uint32_t i = 0; i < s->plan->pp && x->zero == 3; i++, sum_s = 0) {
    for (uint32_t u = i; u < s->c->n_pieces; u += s->plan->pp)
      for (uint32_t k = 0; k < ra_piece_n_buckets(x, u); k++) {
        RaPiece part = ra_piece_bucket(x, u, k);
        uint64_t shared = ra_piece_bucket_shared(x, u, k);
        RaOp gather = ra_op_gather(&x->shard_record, &part);
        RaOp reduce =
            ra_zero_op(x, RA_OP_REDUCE_SCATTER, (RaDtype)s->plan->grad_dtype,
                       dense_params(s, &part) - shared);
        sum_s += op_s(s, &gather) * (trains ? 2 : 1);
        sum_s += trains ? op_s(s, &reduce) : 0;
      }
    most_s = MAX(most_s, sum_s);
  }
  return most_s;
}

static double
train_s(const RaBoundSubject *s, const RaCall *c)
{
  double n_mini_batches =
      (double)ra_call_plan_n_pieces(c, s->plan) * c->n_epochs;
  double m = s->plan->n_micro_batches, bound_s;
  Passes passes;

  passes_init(s, TRUE, &passes);
  bound_s = trains_s(s, &passes, m) +
            ra_bound_update_s(s, reduce_s(s, passes.backward_s[0]), c->n_parts);
  passes_clear(&passes);
  return n_mini_batches * MAX(bound_s, m * ra_bound_collectives_s(s, TRUE));
}

static double
inference_s(const RaBoundSubject *s, double n)
{
  double bound_s;
  Passes passes;

  passes_init(s, FALSE, &passes);
  bound_s = forwards_s(s, &passes, n);
  passes_clear(&passes);
  return MAX(bound_s, n * ra_bound_collectives_s(s, FALSE));
}

/* --- decoding --- */

/* All steps of all groups on one stage, as if it never waited. */
static double
steps_s(const RaBoundSubject *s, const RaPiece *piece,
        const RaDynamic *sequences)
{
  double end_s, least_s = (double)INFINITY;
  RaCost cost;
  RaDynamic dynamic = *sequences;
  RaDecodeResult result = {.part_end_s = &end_s, .part_cost = &cost};

  dynamic.n_groups = s->plan->n_micro_batches;
  dynamic.n_stages = 1;
  dynamic.pieces = piece;
  dynamic.n_parts = 1;
  dynamic.weight = 1;
  for (guint k = 0; k < ra_estimator_n_kinds(s->estimator); k++)
    if (s->kinds >> k & 1) {
      ra_decode_run(ra_estimator_kind(s->estimator, k), &s->x.shard_record,
                    &dynamic, &result);
      least_s = MIN(least_s, end_s);
    }
  return least_s;
}

/* The most of: a stage that never waits; one group, which passes all stages in
 * every step. */
static double
decode_s(const RaBoundSubject *s, uint32_t n_sequences, uint32_t prompt,
         uint32_t response)
{
  uint32_t share = n_sequences / s->plan->dp;
  uint32_t n_groups = s->plan->n_micro_batches, pp = s->plan->pp;
  g_autofree uint32_t *prompts = g_new(uint32_t, share);
  g_autofree uint32_t *responses = g_new(uint32_t, share);
  double most_s = 0, sum_s = 0, piece_s = 0;
  RaDynamic all = {
      .n_sequences = share, .prompt = prompts, .response = responses};
  RaOp send = {.kind = RA_OP_SEND,
               .dtype = (uint8_t)s->x.dtype,
               .dim = {share / n_groups * ra_model_stream_width(s->x.model) *
                           ra_dtype_bytes((RaDtype)s->x.dtype),
                       0, s->x.shard_record.tp_ranks_per_node}};

  for (uint32_t i = 0; i < share; i++) {
    prompts[i] = prompt;
    responses[i] = response;
  }
  for (uint32_t u = 0; u < s->c->n_pieces; u++) {
    if (!ra_bound_is_like_before(s, u))
      piece_s = steps_s(s, &s->c->pieces[u], &all);
    most_s = MAX(most_s, piece_s);
    sum_s += piece_s / n_groups;
    if (u + 1 < pp)
      send.dim[1] |= ra_send_crosses(s->plan, s->cluster, 0, u, u + 1) != 0;
  }
  if (pp > 1)
    sum_s += (response - 1.0) * (pp - 1) * op_s(s, &send);
  return MAX(most_s, sum_s);
}

/* Bound where all lengths are alike and batches static. */
static double
alike_s(RaBoundSubject *s, const RaCall *c, double n)
{
  const RaWorkload *w = s->workload;
  uint32_t prompt = (uint32_t)ra_length_mean(&w->prompt_length);
  uint32_t response = (uint32_t)ra_length_mean(&w->response_length);

  s->batch = s->load->batch;
  if (c->kind == RA_CALL_TRAIN)
    return train_s(s, c);
  if (c->kind == RA_CALL_INFERENCE)
    return inference_s(s, n);
  /* Groups that are not alike have no bound here. */
  return c->n_sequences / s->plan->dp % s->plan->n_micro_batches == 0
             ? inference_s(s, n) + decode_s(s, c->n_sequences, prompt, response)
             : 0;
}

double
ra_call_bound_s(const RaEstimator *estimator, const RaMemory *memory,
                uint32_t call, const RaCallLoad *load,
                const RaSequenceSet *const *sets, guint n_sets,
                double *out_n_tasks)
{
  const RaWorkload *w = memory->plan->workload;
  const RaCall *c = &w->calls[call];
  const RaCallMemory *held = &memory->calls[call];
  RaBoundSubject s = {.estimator = estimator,
                      .workload = w,
                      .cluster = memory->plan->cluster,
                      .memory = memory,
                      .call = call,
                      .c = held,
                      .shard = held->shard,
                      .plan = &memory->plan->calls[call],
                      .load = load};
  gboolean trains = c->kind == RA_CALL_TRAIN;
  double m = s.plan->n_micro_batches, n = m, bound_s = (double)INFINITY;

  s.kinds = ra_cluster_kinds(s.cluster, &s.plan->mesh);
  s.shard.zero_ranks = 0;
  ra_call_context_fill(&s.x, memory->plan, call);
  s.x.pieces = held->pieces;
  if (trains)
    n *= (double)ra_call_plan_n_pieces(c, s.plan) * c->n_epochs;
  else if (c->kind == RA_CALL_INFERENCE)
    n *= c->n_parts;
  *out_n_tasks = n * held->n_pieces * (trains ? 4 : 2);
  if (c->kind == RA_CALL_GENERATE && s.plan->pp > 1)
    *out_n_tasks += m * s.plan->pp * ra_length_mean(&w->response_length);
  if (n_sets == 0)
    return 0;
  if (ra_workload_is_even(w) && s.plan->batching == RA_BATCHING_STATIC &&
      !ra_tail_is_set(&s.plan->tail))
    return alike_s(&s, c, n) * ROUNDING;
  *out_n_tasks = ra_bound_drawn_tasks(&s, c, *out_n_tasks);
  s.batching = ra_call_batching(memory->plan, call);
  for (guint k = 0; k < n_sets; k++) {
    double one_s = ra_bound_drawn_s(&s, c, sets[k]);
    bound_s = MIN(bound_s, one_s);
  }
  return bound_s * ROUNDING;
}
