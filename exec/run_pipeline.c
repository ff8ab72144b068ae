/* Forwards, backwards and the messages between stages. */
#include "config.h"

#include "exec/run_impl.h"

uint32_t
ra_run_version(const RaRun *run, uint32_t call, uint32_t iteration)
{
  const RaCall *c = &run->workload->calls[call];

  if (ra_workload_trainer(run->workload, c->model) == RA_NONE)
    return 0;
  return iteration > c->staleness ? iteration - c->staleness : 0;
}

/* Training overwrites copy 0 and leaves what it began with in one of the
 * others, in turn (exec/run_train.c). */
uint32_t
ra_rank_copy_index(const RaRank *rank, uint32_t call, uint32_t iteration)
{
  const RaRankCall *c = &rank->calls[call];
  uint32_t version = ra_run_version(rank->run, call, iteration);

  if (!c->is_own)
    return version % c->n_versions;
  if (c->n_versions == 1 || version == iteration + (c->is_after ? 1u : 0u))
    return 0;
  return 1 + version % (c->n_versions - 1);
}

RaStage *
ra_rank_stage(const RaRank *rank, uint32_t call, uint32_t iteration)
{
  return rank->calls[call].stages[ra_rank_copy_index(rank, call, iteration)];
}

uint32_t
ra_run_rank_at(const RaRun *run, uint32_t call, const RaCoord *coord)
{
  const RaCallPlan *p = &run->plan->calls[call];

  return run->rank_of_gpu[ra_mesh_gpu(&p->mesh, run->plan->cluster,
                                      ra_call_plan_rank(p, coord))];
}

/* The rank that has the same part of another stage. */
static uint32_t
peer(const RaRank *rank, uint32_t call, uint32_t stage)
{
  RaCoord coord = rank->calls[call].coord;

  coord.at[RA_AXIS_PP] = stage;
  return ra_run_rank_at(rank->run, call, &coord);
}

static RaMicroBatch *
micro_of(const RaRank *rank, RaTaskId task)
{
  const RaTaskGraph *g = rank->run->graph;
  uint32_t call = ra_run_node(rank->run, task)->call;

  return &rank->calls[call].micro[g->stage[task] * rank->run->plan->calls[call]
                                                       .n_micro_batches +
                                  g->micro_batch[task]];
}

/* The sequences of a micro-batch, by graph/expand_*.c: contiguous parts of the
 * mini-batch (train) or part (inference), replica by replica. */
static uint32_t
first_sequence(const RaRun *run, RaTaskId task, uint32_t *out_last)
{
  const RaTaskGraph *g = run->graph;
  const RaNode *node = ra_run_node(run, task);
  const RaCall *c = &run->workload->calls[node->call];
  const RaCallPlan *p = &run->plan->calls[node->call];
  uint32_t n = p->n_micro_batches, d = g->replica[task];
  uint32_t m = g->micro_batch[task], pieces, index, share, first;

  if (c->kind == RA_CALL_GENERATE) {
    share = c->n_sequences / p->dp;
    first = d * share;
    *out_last = first + (uint32_t)((uint64_t)(m + 1) * share / n);
    return first + (uint32_t)((uint64_t)m * share / n);
  }
  pieces = c->kind == RA_CALL_TRAIN ? c->n_mini_batches : node->n_parts;
  index = c->kind == RA_CALL_TRAIN ? g->mini_batch[task] % pieces : node->part;
  share = c->n_sequences / pieces;
  first = index * share + (d * n + m) * (share / p->dp / n);
  *out_last = first + share / p->dp / n;
  return first;
}

/* Makes the micro-batch's pass on the stage's first task of it. */
static RaMicroBatch *
begin_micro_batch(RaRank *rank, RaTaskId task, const RaPiece *piece)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  int kind = run->workload->calls[node->call].kind;
  RaMicroBatch *micro = micro_of(rank, task);
  uint32_t last;

  ra_micro_batch_clear(micro);
  micro->first = first_sequence(run, task, &last);
  micro->tokens =
      ra_experience_tokens(run->experience[node->iteration], node->call,
                           micro->first, last, kind == RA_CALL_GENERATE);
  micro->pass = ra_pass_new(ra_rank_stage(rank, node->call, node->iteration),
                            piece, micro->tokens, kind == RA_CALL_TRAIN);
  return micro;
}

/* Hidden states from the stage before: (transfer full). */
static float *
receive(RaRank *rank, RaTaskId task, const RaMicroBatch *micro, gboolean back)
{
  RaRun *run = rank->run;
  uint32_t call = ra_run_node(run, task)->call;
  uint32_t pp = run->plan->calls[call].pp, piece = run->graph->stage[task];
  gsize n = (gsize)micro->tokens->n_tokens *
            run->tables[run->workload->calls[call].model]->model->hidden;
  RaComm *comm = back ? rank->backward : rank->forward;
  float *data = g_new(float, n + 1);

  comm->table->recv(comm,
                    peer(rank, call, (back ? piece + 1 : piece + pp - 1) % pp),
                    data, n * sizeof *data);
  rank->begin_s = ra_run_now_s(run);
  return data;
}

void
ra_rank_forward(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  const RaWork *work = &run->graph->works[run->graph->work[task]];
  const RaNode *node = ra_run_node(run, task);
  int kind = run->workload->calls[node->call].kind;
  RaMicroBatch *micro = begin_micro_batch(rank, task, &work->piece);
  g_autofree float *input = NULL;
  g_autofree uint32_t *slots = NULL;
  RaCache *cache = NULL;

  if (!work->piece.has_embedding)
    input = receive(rank, task, micro, FALSE);
  if (kind == RA_CALL_GENERATE) {
    RaGeneration *generation = ra_rank_generation(rank, task);

    cache = generation->cache;
    slots = g_new(uint32_t, micro->tokens->n_sequences + 1);
    for (uint32_t i = 0; i < micro->tokens->n_sequences; i++)
      slots[i] = micro->first - generation->first + i;
  }
  ra_pass_forward(micro->pass, input, cache, slots);
  if (work->piece.has_head && kind == RA_CALL_TRAIN)
    ra_rank_loss(rank, task, micro, FALSE);
  else if (work->piece.has_head && kind == RA_CALL_INFERENCE)
    ra_rank_finish_inference(rank, task, micro);
  else if (kind == RA_CALL_GENERATE)
    ra_rank_first_tokens(rank, task, micro);
  if (kind != RA_CALL_TRAIN && work->piece.has_head)
    ra_micro_batch_clear(micro);
}

/* The last micro-batch comes in parts, of which the first has the gradient from
 * the next stage; the last one ends it. */
void
ra_rank_backward(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  const RaTaskGraph *g = run->graph;
  const RaWork *work = &g->works[g->work[task]];
  RaMicroBatch *micro = micro_of(rank, task);
  g_autofree float *received = NULL;

  if (!micro->pass->d && !micro->pass->piece.has_head)
    received = receive(rank, task, micro, TRUE);
  if (work->piece.has_head) {
    ra_stage_enter(micro->pass->stage, RA_BLOCK_HEAD, RA_NONE);
    ra_rank_loss(rank, task, micro, TRUE);
  }
  ra_pass_backward(micro->pass, &work->piece,
                   received ? received : micro->d_output);
  if (micro->pass->piece.has_embedding && work->piece.has_embedding)
    ra_micro_batch_clear(micro);
}

void
ra_rank_send(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  const RaTaskGraph *g = run->graph;
  uint32_t call = ra_run_node(run, task)->call;
  uint32_t pp = run->plan->calls[call].pp, piece = g->stage[task];
  gboolean back = g->stream[task] == RA_STREAM_PP_SEND_BACK;
  RaMicroBatch *micro = micro_of(rank, task);
  RaComm *comm = back ? rank->backward : rank->forward;
  const float *data =
      back ? micro->pass->d : micro->pass->inputs[micro->pass->piece.n_layers];
  gsize n = (gsize)micro->tokens->n_tokens * micro->pass->stage->model->hidden;

  comm->table->send(comm,
                    peer(rank, call, (back ? piece + pp - 1 : piece + 1) % pp),
                    data, n * sizeof *data);
  ra_rank_set_op(rank, task, RA_OP_SEND, n * sizeof *data, 0);
  /* Nothing needs the micro-batch here any more. */
  if (back || run->workload->calls[call].kind != RA_CALL_TRAIN)
    ra_micro_batch_clear(micro);
}
