/* Training after the gradients: reduction, clipping, optimizer steps. */
#include "config.h"

#include <math.h>

#include "exec/comm/device_comm.h"
#include "exec/model/shards.h"
#include "exec/model/stage_impl.h"
#include "exec/run_impl.h"

static RaRankCall *
call_of(RaRank *rank, RaTaskId task, RaStage **out_stage)
{
  const RaNode *node = ra_run_node(rank->run, task);

  *out_stage = ra_rank_stage(rank, node->call, node->iteration);
  return &rank->calls[node->call];
}

/* The reduction whose bucket has the experts of @task too: it stands before it
 * in its queue. */
static RaTaskId
dense_of(const RaRun *run, RaTaskId task)
{
  const RaTaskGraph *g = run->graph;

  for (uint32_t e = run->pred_begin[task]; e < run->pred_begin[task + 1]; e++) {
    RaTaskId p = run->pred[e];

    if (g->kind[p] == RA_TASK_GRAD_REDUCE && g->stage[p] == g->stage[task])
      return p;
  }
  g_return_val_if_reached(task);
}

/* The layers whose backward stands before a reduction in buckets; NULL: the
 * reduction is of the whole stage. */
static const RaPiece *
bucket_piece(const RaRun *run, RaTaskId task)
{
  const RaTaskGraph *g = run->graph;
  const RaPiece *piece = NULL;
  uint32_t call = ra_run_node(run, task)->call;

  if (!run->plan->calls[call].overlap_grad_reduce)
    return NULL;
  if (ra_run_is_experts(run, task))
    task = dense_of(run, task);
  for (uint32_t e = run->pred_begin[task]; e < run->pred_begin[task + 1]; e++) {
    RaTaskId p = run->pred[e];

    if (g->kind[p] == RA_TASK_BACKWARD && g->stage[p] == g->stage[task] &&
        g->bucket[p] == g->bucket[task])
      piece = &g->works[g->work[p]].piece;
  }
  return piece;
}

/* TRUE if the gradient of @param is complete with the backward of @piece.  A
 * table on the first stage is when the embedding is done, a tied copy on the
 * last with the head. */
static gboolean
is_of_piece(const RaParam *param, const RaPiece *piece, gboolean first_stage)
{
  if (param->tensor.layer != RA_TENSOR_NO_LAYER)
    return (uint32_t)param->tensor.layer >= piece->first_layer &&
           (uint32_t)param->tensor.layer < piece->first_layer + piece->n_layers;
  if (param->tensor.kind == RA_TENSOR_EMBEDDING && first_stage)
    return piece->has_embedding;
  return piece->has_head;
}

/* TRUE if the ranks of @call have a shard of the moments each. */
static gboolean
has_shards(const RaRun *run, uint32_t call)
{
  return ra_call_plan_zero_ranks(&run->plan->calls[call]) > 1;
}

void
ra_rank_cut(const RaRank *rank, uint32_t call, RaParams *params)
{
  const RaCallPlan *p = &rank->run->plan->calls[call];
  uint32_t data = ra_call_plan_data_rank(p, &rank->calls[call].coord);
  uint32_t n = p->dp * p->cp, ep = ra_call_plan_ep(p);

  if (has_shards(rank->run, call))
    ra_params_cut(params, &(RaCut){data, n}, &(RaCut){data / ep, n / ep});
}

static void
start_reduce(const RaBackend *backend, RaPending *pending, gboolean scatter,
             float *data, gsize n)
{
  RaCommRequest *request =
      ra_device_comm_start_reduce(backend, pending->comm, scatter, data, n);

  if (request)
    g_ptr_array_add(pending->requests, request);
}

/* TRUE if ranks share experts otherwise than the rest, and @run is not what
 * @task is about. */
static gboolean
is_others(const RaRankCall *c, const RaParamRun *run, gboolean experts)
{
  return c->ep && run->expert != experts;
}

/* Starts it; exec/run.c waits for it where something reads the gradients.
 * Runs that lie behind each other go together, unless each is scattered. */
void
ra_rank_reduce(RaRank *rank, RaTaskId task)
{
  RaStage *stage;
  RaRankCall *c = call_of(rank, task, &stage);
  RaParams *params = stage->params;
  const RaPiece *piece = bucket_piece(rank->run, task);
  gboolean experts = ra_run_is_experts(rank->run, task);
  gboolean scatter = has_shards(rank->run, ra_run_node(rank->run, task)->call);
  RaPending pending = {task, rank->clock.begin_s, experts ? c->experts : c->dp,
                       NULL};
  RaSpan at = {0, 0};
  gsize n = 0;

  if (pending.comm->n_ranks == 1)
    return;
  pending.requests = g_ptr_array_new();
  for (uint32_t i = 0; i < params->n_runs; i++) {
    const RaParamRun *run = &params->runs[i];

    if ((piece && !is_of_piece(&params->params[run->param], piece,
                               c->coord.at[RA_AXIS_PP] == 0)) ||
        is_others(c, run, experts))
      continue;
    if (at.end > at.begin && (scatter || run->all.begin != at.end)) {
      start_reduce(rank->run->backend, &pending, scatter,
                   params->grads + at.begin, at.end - at.begin);
      at.begin = at.end;
    }
    at.begin = at.end > at.begin ? at.begin : run->all.begin;
    at.end = run->all.end;
    n += run->all.end - run->all.begin;
  }
  if (at.end > at.begin)
    start_reduce(rank->run->backend, &pending, scatter,
                 params->grads + at.begin, at.end - at.begin);
  ra_rank_set_op(rank, task, scatter ? RA_OP_REDUCE_SCATTER : RA_OP_ALL_REDUCE,
                 n * sizeof(float), pending.comm->n_ranks);
  if (pending.requests->len > 0)
    g_array_append_val(rank->messages.pending, pending);
  else /* it is done, or a rank has no row of the vocabulary */
    g_ptr_array_unref(pending.requests);
}

/* The stepped parameters, from the ranks that each have stepped some. */
void
ra_rank_gather(RaRank *rank, RaTaskId task)
{
  RaStage *stage;
  RaRankCall *c = call_of(rank, task, &stage);
  RaParams *params = stage->params;
  gboolean experts = ra_run_is_experts(rank->run, task);
  RaComm *comm = experts ? c->experts : c->dp;
  gsize n = 0;

  for (uint32_t i = 0; i < params->n_runs; i++) {
    const RaParamRun *run = &params->runs[i];
    void *scratch;

    if (is_others(c, run, experts))
      continue;
    scratch = ra_stage_take(stage, ra_shards_scratch(run));
    ra_shards_gather(comm, run, params, scratch);
    ra_stage_give(stage, scratch);
    n += run->all.end - run->all.begin;
  }
  ra_rank_set_op(rank, task, RA_OP_ALL_GATHER,
                 n * rank->run->backend->elem_bytes, comm->n_ranks);
}

void
ra_rank_reduce_embedding(RaRank *rank, RaTaskId task)
{
  RaStage *stage;
  RaRankCall *c = call_of(rank, task, &stage);
  const RaParam *table = ra_params_find(stage->params, RA_TENSOR_EMBEDDING,
                                        RA_TENSOR_NO_LAYER, FALSE);

  if (!table) /* a rank may have no row of the vocabulary */
    return;
  ra_device_comm_all_reduce_f32(rank->run->backend, c->ends,
                                stage->params->grads + table->offset,
                                ra_param_n(table));
  ra_rank_set_op(rank, task, RA_OP_ALL_REDUCE,
                 ra_param_n(table) * sizeof(float), c->ends->n_ranks);
}

/* TRUE if the norm of @model's gradients is an iteration's: of the policy, or
 * where none is trained of what is. */
static gboolean
is_reported(const RaRun *run, const RaModel *model)
{
  const RaWorkload *w = run->workload;

  if (model->head == RA_HEAD_LM)
    return TRUE;
  for (uint32_t i = 0; i < w->n_calls; i++)
    if (w->calls[i].kind == RA_CALL_TRAIN &&
        w->models[w->calls[i].model].model->head == RA_HEAD_LM)
      return FALSE;
  return TRUE;
}

/* The norm of all gradients, each counted once: by the first replica or the
 * rank that steps it, and a tied table by the first stage. */
static void
find_clip(RaRank *rank, RaTaskId task, RaRankCall *c, RaStage *stage)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaModel *model = stage->model;
  const RaCallPlan *p = &run->plan->calls[node->call];
  uint32_t data = ra_call_plan_data_rank(p, &c->coord);
  gboolean shards = has_shards(run, node->call);
  const RaGradParts parts = {
      .dense = shards || data == 0,
      .experts = shards || data < ra_call_plan_ep(p),
      .embedding = !model->tied_embeddings || model->head != RA_HEAD_LM ||
                   p->pp == 1 || c->coord.at[RA_AXIS_PP] < p->pp - 1};
  double sum = 0, norm;
  float mine = 0; /* the precision that training frameworks sum it in */
  g_autofree float *all = g_new0(float, c->mesh->n_ranks);

  ra_stage_sum_shared_grads(stage);
  mine = (float)ra_stage_grad_squares(stage, &parts);
  c->mesh->table->all_gather(c->mesh, &mine, all, sizeof mine);
  for (uint32_t i = 0; i < c->mesh->n_ranks; i++)
    sum += (double)all[i];
  norm = sqrt(sum);
  if (!isfinite(norm))
    ra_rank_fault(rank, task, "the norm of the gradients is not finite");
  c->clip_scale = 1;
  if (run->options.max_grad_norm > 0)
    c->clip_scale =
        (float)fmin(1, (double)run->options.max_grad_norm / (norm + 1e-6));
  if (c->mesh->rank > 0 || !is_reported(run, model))
    return;
  pthread_mutex_lock(&run->lock);
  run->results[node->iteration].grad_norm = norm;
  pthread_mutex_unlock(&run->lock);
}

void
ra_rank_clip(RaRank *rank, RaTaskId task)
{
  RaStage *stage;
  RaRankCall *c = call_of(rank, task, &stage);

  find_clip(rank, task, c, stage);
  /* Gathered and then summed by all in one order: as many bytes. */
  ra_rank_set_op(rank, task, RA_OP_ALL_REDUCE, sizeof(float), c->mesh->n_ranks);
}

/* Before the first step of an iteration: the version that it began with, for
 * readers that are behind. */
static void
leave_version(RaRank *rank, RaTaskId task, RaRankCall *c)
{
  const RaNode *node = ra_run_node(rank->run, task);
  const RaParams *from = c->params[0];
  RaParams *to;

  if (c->n_versions == 1 || c->n_left == node->iteration + 1)
    return;
  c->n_left = node->iteration + 1;
  to = c->params[1 + node->iteration % (c->n_versions - 1)];
  rank->run->backend->copy(to->weights, from->weights,
                           from->n * rank->run->backend->elem_bytes);
}

/* Steps what this rank owns; runs whose gradients and whose moments lie behind
 * each other together.  Returns: elements that a rank steps, at most. */
static gsize
step_own(RaRank *rank, RaRankCall *c, RaParams *p, const RaCpuAdamw *adamw)
{
  const RaBackend *b = rank->run->backend;
  gsize n_dense = 0, n_experts = 0, n_dense_ranks = 1, n_expert_ranks = 1;

  for (uint32_t i = 0; i < p->n_runs;) {
    const RaParamRun *first = &p->runs[i];
    gsize at = first->own.begin, end = at, moments = first->moments;

    for (; i < p->n_runs && p->runs[i].own.begin == end &&
           p->runs[i].moments == moments + end - at;
         i++) {
      gsize n = p->runs[i].all.end - p->runs[i].all.begin;

      end = p->runs[i].own.end;
      if (p->runs[i].expert && c->ep) {
        n_experts += n;
        n_expert_ranks = p->runs[i].n_ranks;
      } else {
        n_dense += n;
        n_dense_ranks = p->runs[i].n_ranks;
      }
    }
    b->adamw(end - at, adamw, c->n_steps, c->clip_scale, p->grads + at,
             ra_elem_at(b, p->weights, at),
             p->master ? p->master + moments : NULL, p->first + moments,
             p->second + moments);
  }
  return (n_dense + n_dense_ranks - 1) / n_dense_ranks +
         (n_experts + n_expert_ranks - 1) / n_expert_ranks;
}

/* A mesh of one GPU has no clip task. */
void
ra_rank_step(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  RaStage *stage;
  RaRankCall *c = call_of(rank, task, &stage);
  RaParams *params = stage->params;
  const RaCpuAdamw *adamw = stage->model->head == RA_HEAD_VALUE
                                ? &run->options.value
                                : &run->options.policy;
  gsize n;

  if (c->mesh->n_ranks == 1)
    find_clip(rank, task, c, stage);
  leave_version(rank, task, c);
  c->n_steps++;
  n = step_own(rank, c, params, adamw);
  run->backend->zero(params->grads, params->n * sizeof *params->grads);
  run->backend->wait(); /* or the next call would have what a device takes */
  ra_rank_set_op(rank, task, RA_OP_OPTIMIZER, n, 0);
}
