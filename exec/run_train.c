/* From gradients to new parameters. */
#include "config.h"

#include <math.h>
#include <string.h>

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

/* Whether the gradient of @param is complete with the backward of @piece.  A
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

static void
start_reduce(RaPending *pending, float *data, gsize n)
{
  g_ptr_array_add(pending->requests,
                  pending->comm->table->start_all_reduce(
                      pending->comm, RA_REDUCE_SUM, data, n));
}

/* Starts it; exec/run.c waits for it where something reads the gradients.
 * Parameters that lie behind each other go together. */
void
ra_rank_reduce(RaRank *rank, RaTaskId task)
{
  RaStage *stage;
  RaRankCall *c = call_of(rank, task, &stage);
  RaParams *params = stage->params;
  const RaPiece *piece = bucket_piece(rank->run, task);
  gboolean experts = ra_run_is_experts(rank->run, task);
  RaPending pending = {task, rank->begin_s, experts ? c->experts : c->dp, NULL};
  gsize first = 0, last = 0, n = 0;

  if (pending.comm->n_ranks == 1)
    return;
  pending.requests = g_ptr_array_new();
  for (uint32_t i = 0; i < params->n_params; i++) {
    const RaParam *p = &params->params[i];

    if ((piece && !is_of_piece(p, piece, c->coord.at[RA_AXIS_PP] == 0)) ||
        (c->ep && experts != (p->tensor.expert != RA_TENSOR_NO_EXPERT)))
      continue;
    if (last > first && p->offset != last) {
      start_reduce(&pending, params->grads + first, last - first);
      first = last;
    }
    first = last > first ? first : p->offset;
    last = p->offset + ra_param_n(p);
    n += ra_param_n(p);
  }
  if (last > first)
    start_reduce(&pending, params->grads + first, last - first);
  ra_rank_set_op(rank, task, RA_OP_ALL_REDUCE, n * sizeof(float),
                 pending.comm->n_ranks);
  if (pending.requests->len > 0)
    g_array_append_val(rank->pending, pending);
  else /* a rank with no row of the vocabulary */
    g_ptr_array_unref(pending.requests);
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
  ra_comm_all_reduce(c->ends, RA_REDUCE_SUM,
                     stage->params->grads + table->offset, ra_param_n(table));
  ra_rank_set_op(rank, task, RA_OP_ALL_REDUCE,
                 ra_param_n(table) * sizeof(float), c->ends->n_ranks);
}

/* The norm of all gradients, each counted once: by the first replica, of a tied
 * table by the first stage. */
static void
find_clip(RaRank *rank, RaTaskId task, RaRankCall *c, RaStage *stage)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaModel *model = stage->model;
  const RaCallPlan *p = &run->plan->calls[node->call];
  uint32_t data = ra_call_plan_data_rank(p, &c->coord);
  const RaGradParts parts = {
      .dense = data == 0,
      .experts = data < ra_call_plan_ep(p),
      .embedding = !model->tied_embeddings || model->head != RA_HEAD_LM ||
                   p->pp == 1 || c->coord.at[RA_AXIS_PP] < p->pp - 1};
  double sum = 0, norm;
  float mine = 0; /* the precision that training frameworks sum it in */
  g_autofree float *all = g_new0(float, c->mesh->n_ranks);

  ra_stage_sum_shared_grads(stage);
  mine = (float)ra_stage_grad_squares(stage, &parts);
  if (c->mesh->n_ranks > 1)
    c->mesh->table->all_gather(c->mesh, &mine, all, sizeof mine);
  else
    all[0] = mine;
  for (uint32_t i = 0; i < c->mesh->n_ranks; i++)
    sum += (double)all[i];
  norm = sqrt(sum);
  if (!isfinite(norm))
    ra_rank_fault(rank, task, "the norm of the gradients is not finite");
  c->clip_scale = 1;
  if (run->options.max_grad_norm > 0)
    c->clip_scale =
        (float)fmin(1, (double)run->options.max_grad_norm / (norm + 1e-6));
  if (c->mesh->rank > 0 || model->head != RA_HEAD_LM)
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
  memcpy(to->weights, from->weights, from->n * sizeof *from->weights);
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

  if (c->mesh->n_ranks == 1)
    find_clip(rank, task, c, stage);
  leave_version(rank, task, c);
  run->backend->adamw(params->n, adamw, ++c->n_steps, c->clip_scale,
                      params->grads, params->weights, params->first,
                      params->second);
  memset(params->grads, 0, params->n * sizeof *params->grads);
  ra_rank_set_op(rank, task, RA_OP_OPTIMIZER, params->n, 0);
}
