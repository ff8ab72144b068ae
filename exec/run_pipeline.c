/* Forward and backward passes, and the messages between stages. */
#include "config.h"

#include "exec/model/ring.h"
#include "exec/model/stage_impl.h"
#include "exec/run_impl.h"

/* Messages that a rank expects at once: that of the task at hand and of the
 * next two that begin with one.  What comes earlier is kept
 * (exec/comm/mailbox.h).
 */
#define RECEIVES 3

gboolean
ra_rank_receives_ahead(const RaRank *rank)
{
  const RaComm *comm = rank->messages.forward;

  return !comm || !comm->table->device || rank->run->backend->is_host;
}

/* Version of the parameters that @call reads in @iteration: the number of
 * trainings before it; 0 for a model that is not trained. */
static uint32_t
version_of(const RaRun *run, uint32_t call, uint32_t iteration)
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
  uint32_t version = version_of(rank->run, call, iteration);

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

/* The sequences of a micro-batch in the call's order, by
 * graph/expand/expand_*.c: contiguous parts of the mini-batch (train) or part
 * (inference), replica by replica. */
static uint32_t
first_sequence(const RaRun *run, RaTaskId task, uint32_t *out_last)
{
  const RaTaskGraph *g = run->graph;
  const RaNode *node = ra_run_node(run, task);
  const RaCall *c = &run->workload->calls[node->call];
  const RaCallPlan *p = &run->plan->calls[node->call];
  const uint32_t *begin =
      run->experience[node->iteration]->orders[node->call].begin;
  uint32_t n = p->n_micro_batches, d = g->replica[task];
  uint32_t m = g->micro_batch[task], pieces, index, share, first;

  if (c->kind == RA_CALL_GENERATE) {
    share = c->n_sequences / p->dp;
    first = d * share;
    *out_last = first + (uint32_t)((uint64_t)(m + 1) * share / n);
    return first + (uint32_t)((uint64_t)m * share / n);
  }
  pieces =
      c->kind == RA_CALL_TRAIN ? ra_call_plan_n_pieces(c, p) : node->n_parts;
  index = c->kind == RA_CALL_TRAIN ? g->mini_batch[task] % pieces : node->part;
  if (begin) {
    begin += (index * p->dp + d) * n + m;
    *out_last = begin[1];
    return begin[0];
  }
  share = c->n_sequences / pieces;
  first = index * share + (d * n + m) * (share / p->dp / n);
  *out_last = first + share / p->dp / n;
  return first;
}

/* (transfer full): what the rank computes of sequences @first to @last - 1. */
static RaTokens *
tokens_of(const RaRank *rank, const RaNode *node, uint32_t first, uint32_t last)
{
  const RaRun *run = rank->run;
  const RaRankCall *c = &rank->calls[node->call];
  gboolean prompts = run->workload->calls[node->call].kind == RA_CALL_GENERATE;
  g_autoptr(RaTokens) whole = ra_experience_tokens(
      run->experience[node->iteration], node->call, first, last, prompts);

  return c->cp ? ra_ring_cut(whole, c->cp->n_ranks, c->cp->rank)
               : g_steal_pointer(&whole);
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
  micro->sequences =
      run->experience[node->iteration]->orders[node->call].sequences +
      micro->first;
  micro->tokens = tokens_of(rank, node, micro->first, last);
  micro->pass = ra_pass_new(ra_rank_stage(rank, node->call, node->iteration),
                            piece, micro->tokens, kind == RA_CALL_TRAIN);
  return micro;
}

/* TRUE if @task begins with hidden states, or gradients, of another stage: of
 * the parts of a micro-batch's backward only the first does. */
static gboolean
is_received(const RaRun *run, RaTaskId task)
{
  const RaTaskGraph *g = run->graph;

  if (g->kind[task] != RA_TASK_FORWARD && g->kind[task] != RA_TASK_BACKWARD)
    return FALSE;
  for (uint32_t e = run->pred_begin[task]; e < run->pred_begin[task + 1]; e++)
    if (g->kind[run->pred[e]] == RA_TASK_SEND)
      return TRUE;
  return FALSE;
}

static void
start_receive(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaCall *c = &run->workload->calls[node->call];
  gboolean back = run->graph->kind[task] == RA_TASK_BACKWARD;
  uint32_t pp = run->plan->calls[node->call].pp, last;
  uint32_t piece = run->graph->stage[task];
  uint32_t first = first_sequence(run, task, &last);
  g_autoptr(RaTokens) tokens = tokens_of(rank, node, first, last);
  gsize n = ra_stage_n_rows(ra_rank_stage(rank, node->call, node->iteration),
                            tokens->n_tokens) *
            run->tables[c->model]->model->hidden;
  RaReceive r = {.task = task};

  r.message = ra_device_message_start_recv(
      run->backend, back ? rank->messages.backward : rank->messages.forward,
      peer(rank, node->call, (back ? piece + 1 : piece + pp - 1) % pp), NULL,
      n * run->backend->elem_bytes);
  g_array_append_val(rank->messages.receives, r);
}

void
ra_rank_receive_ahead(RaRank *rank, RaTaskId task)
{
  const RaTaskGraph *g = rank->run->graph;
  RaTaskId at = MAX(rank->messages.looked, task);
  RaTaskId end = ra_rank_receives_ahead(rank) ? g->n_tasks : task + 1;

  for (; at < end && g->node[at] == g->node[task] &&
         rank->messages.receives->len < RECEIVES;
       at++) {
    if (!ra_rank_has_turn(rank, at))
      continue;
    if (g->kind[at] == RA_TASK_DECODE) {
      at += at == task; /* it receives by itself, in its turn */
      break;
    }
    if (!is_received(rank->run, at))
      continue;
    start_receive(rank, at);
    if (at > task)
      rank->messages.n_ahead[RA_AHEAD_STAGES]++;
  }
  rank->messages.looked = at;
}

/* The message received for @task: (transfer full) (nullable), %NULL: it reads
 * no message.  @out_data: its address. */
static RaDeviceMessage *
receive(RaRank *rank, RaTaskId task, const void **out_data)
{
  for (guint i = 0; i < rank->messages.receives->len; i++) {
    RaReceive r = g_array_index(rank->messages.receives, RaReceive, i);

    if (r.task != task)
      continue;
    *out_data = ra_device_message_end_recv(r.message, NULL);
    rank->clock.begin_s = ra_run_now_s(rank->run);
    g_array_remove_index(rank->messages.receives, i);
    return r.message;
  }
  return NULL;
}

void
ra_rank_forward(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  const RaWork *work = &run->graph->works[run->graph->work[task]];
  const RaNode *node = ra_run_node(run, task);
  int kind = run->workload->calls[node->call].kind;
  RaMicroBatch *micro = begin_micro_batch(rank, task, &work->piece);
  g_autoptr(RaDeviceMessage) message = NULL;
  const void *input = NULL;
  g_autofree uint32_t *slots = NULL;
  RaCache *cache = NULL;

  if (!work->piece.has_embedding)
    message = receive(rank, task, &input);
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
  g_autoptr(RaDeviceMessage) message = NULL;
  const void *received = NULL;

  if (!micro->pass->d && !micro->pass->piece.has_head)
    message = receive(rank, task, &received);
  if (work->piece.has_head) {
    ra_stage_enter(micro->pass->stage, RA_BLOCK_HEAD, RA_NONE);
    ra_rank_loss(rank, task, micro, TRUE);
  }
  ra_pass_backward(micro->pass, &work->piece,
                   received ? received : micro->d_output);
  if (micro->pass->piece.has_embedding && work->piece.has_embedding)
    ra_micro_batch_clear(micro);
}

/* Bytes that the graph has for a stage's send: the mean of ranks that share
 * rows. */
static uint64_t
message_bytes(const RaMicroBatch *micro)
{
  const RaStage *s = micro->pass->stage;
  uint64_t n = (uint64_t)micro->tokens->n_tokens * s->model->hidden;

  n *= s->backend->elem_bytes;
  return s->sequence_parallel ? (n + s->n_tp - 1) / s->n_tp : n;
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
  RaComm *comm = back ? rank->messages.backward : rank->messages.forward;
  const RaElem *data =
      back ? micro->pass->d : micro->pass->inputs[micro->pass->piece.n_layers];
  gsize n = ra_stage_n_rows(micro->pass->stage, micro->tokens->n_tokens) *
            micro->pass->stage->model->hidden;

  ra_device_message_send(
      run->backend, comm,
      peer(rank, call, (back ? piece + pp - 1 : piece + 1) % pp), data,
      n * run->backend->elem_bytes);
  ra_rank_set_op(rank, task, RA_OP_SEND, message_bytes(micro), 0);
  /* Nothing needs the micro-batch here any more. */
  if (back || run->workload->calls[call].kind != RA_CALL_TRAIN)
    ra_micro_batch_clear(micro);
}
