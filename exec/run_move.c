/* Moves between calls, of parameters and data; and host calls. */
#include "config.h"

#include <math.h>

#include "exec/run_impl.h"

/* TRUE if the rank's rectangle of @tensor is counted for the whole tensor: one
 * replica, of ranks that share rows one, of stages that share a table one. */
static gboolean
is_counted(const RaCallPlan *p, const RaCoord *coord, const RaModel *model,
           const RaTensor *tensor)
{
  uint32_t sharers = MAX(p->tp / model->n_kv_heads, 1u);
  uint32_t tp = coord->at[RA_AXIS_TP];

  if (tensor->split == RA_SPLIT_NONE && tp > 0)
    return FALSE;
  if ((tensor->kind == RA_TENSOR_K || tensor->kind == RA_TENSOR_V) &&
      tp % sharers != 0)
    return FALSE;
  return !(tensor->kind == RA_TENSOR_EMBEDDING && model->tied_embeddings &&
           model->head == RA_HEAD_LM && p->pp > 1 && coord->at[RA_AXIS_PP] > 0);
}

/* Ranks that hold what one does of @tensor; of experts fewer. */
static uint32_t
n_holders(const RaCallPlan *p, const RaTensor *tensor)
{
  return tensor->expert != RA_TENSOR_NO_EXPERT
             ? p->dp * p->cp / ra_call_plan_ep(p)
             : p->dp * p->cp;
}

/* Checksums of the source once a replica and of the destination: every replica
 * of both has the same model, so the sums are in the ratio of their numbers. */
static void
add_hashes(const RaRun *run, const RaRankCall *c, uint32_t of_call,
           const RaParams *params, uint32_t side, uint64_t *sums)
{
  for (uint32_t i = 0; i < params->n_params; i++) {
    const RaParam *param = &params->params[i];

    if (is_counted(&run->plan->calls[of_call], &c->coord, params->model,
                   &param->tensor))
      sums[2 * param->index + side] += ra_params_hash(params, param);
  }
}

/* Checks for all ranks that the values arrived unchanged. */
void
ra_run_compare_sums(RaRun *run, const RaNode *node, const uint64_t *sums)
{
  const RaModel *model =
      run->workload->models[run->workload->calls[node->call].model].model;

  for (uint32_t i = 0; i < ra_model_n_tensors(model); i++) {
    RaTensor tensor;

    ra_model_tensor(model, i, &tensor);
    if (sums[2 * i] * n_holders(&run->plan->calls[node->call], &tensor) !=
        sums[2 * i + 1] * n_holders(&run->plan->calls[node->source], &tensor))
      run->fault = "a reallocation changed a parameter: its checksum at the "
                   "destination is not that of its source";
  }
}

/* (transfer full): the ranks of @call's mesh. */
static uint32_t *
mesh_ranks(const RaRun *run, uint32_t call, uint32_t *out_n)
{
  const RaMesh *mesh = &run->plan->calls[call].mesh;
  uint32_t *ranks = g_new(uint32_t, ra_mesh_n_gpus(mesh) + 1);

  *out_n = ra_mesh_n_gpus(mesh);
  for (uint32_t i = 0; i < *out_n; i++)
    ranks[i] = run->rank_of_gpu[ra_mesh_gpu(mesh, run->plan->cluster, i)];
  return ranks;
}

static void
realloc_shared(const RaRun *run, const RaNode *node, const RaReshard *reshard,
               const RaParams *source, RaParams *target)
{
  RaReshardRanks ranks;
  g_autofree uint32_t *from = mesh_ranks(run, node->source, &ranks.n_from);
  g_autofree uint32_t *to = mesh_ranks(run, node->call, &ranks.n_to);

  ranks.from = from;
  ranks.to = to;
  ra_reshard_shared(reshard, &ranks, source, target);
}

void
ra_rank_realloc(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaRankCall *from = &rank->calls[node->source];
  const RaRankCall *to = &rank->calls[node->call];
  const RaModel *model =
      run->workload->models[run->workload->calls[node->call].model].model;
  uint32_t version = node->iteration + 1; /* trainings before it */
  const RaParams *source = from->is_in ? from->params[0] : NULL;
  RaParams *target = to->is_in ? to->params[version % to->n_versions] : NULL;
  const RaReshard reshard = {
      run->backend,      rank->world, run->rank_of_gpu,
      rank->gpu,         model,       run->slices[node->call],
      rank->memory.moved};
  g_autofree uint64_t *sums = NULL;

  if (run->options.nccl)
    ra_rank_realloc_rounds(rank, node->call, &reshard, source, target);
  else if (!run->backend->is_host && rank->world->table->shares_memory)
    realloc_shared(run, node, &reshard, source, target);
  else
    rank->messages.n_ahead[RA_AHEAD_SLICES] +=
        ra_reshard(&reshard, source, target);
  if (!run->options.check)
    return;
  sums = g_new0(uint64_t, 2 * ra_model_n_tensors(model));
  if (source)
    add_hashes(run, from, node->source, source, 0, sums);
  if (target)
    add_hashes(run, to, node->call, target, 1, sums);
  ra_run_add_sums(run, task, 2 * ra_model_n_tensors(model), sums);
}

gboolean
ra_run_reads(const RaRun *run, uint32_t call, uint32_t gpu)
{
  const RaMesh *mesh = &run->plan->calls[call].mesh;

  for (uint32_t i = 0; i < ra_mesh_n_gpus(mesh); i++)
    if (ra_mesh_gpu(mesh, run->plan->cluster, i) == gpu)
      return TRUE;
  return FALSE;
}

/* The ranks of the reader's mesh that are here each take a part of the
 * sequences: every process has an experience. */
void
ra_rank_transfer(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaMesh *mesh = &run->plan->calls[node->call].mesh;
  uint32_t n = 0, mine = 0;
  uint32_t share =
      run->workload->calls[node->source].n_sequences / MAX(node->n_parts, 1u);

  for (uint32_t i = 0; i < ra_mesh_n_gpus(mesh); i++) {
    uint32_t gpu = ra_mesh_gpu(mesh, run->plan->cluster, i);

    if (gpu == rank->gpu)
      mine = n;
    n += ra_run_is_here(run, run->rank_of_gpu[gpu]);
  }
  ra_experience_transfer(
      run->experience[node->iteration], node->source, node->call,
      node->part * share + (uint32_t)((uint64_t)share * mine / n),
      node->part * share + (uint32_t)((uint64_t)share * (mine + 1) / n));
}

/* The reward rule, by one rank of the call's mesh. */
void
ra_rank_host(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaCallPlan *p = &run->plan->calls[node->call];
  const RaExperience *e = run->experience[node->iteration];
  uint32_t set_call = run->workload->calls[node->call].set;
  const RaExperienceSet *set = &e->sets[set_call];
  const RaColumn *text = ra_experience_column(e, set_call, TRUE, node->call);
  const RaColumn *out = ra_experience_column(e, node->call, FALSE, RA_NONE);
  uint32_t n = set->seqs->n_sequences;
  const RaModel *model;

  if (p->set && ra_mesh_gpu(&p->mesh, run->plan->cluster, 0) != rank->gpu)
    return;
  model = run->workload->models[0].model;
  for (uint32_t i = (uint32_t)((uint64_t)n * node->part / node->n_parts);
       i < (uint64_t)n * (node->part + 1) / node->n_parts; i++) {
    uint32_t at = set->seqs->order[i], prompt = set->seqs->prompt[at];
    const uint32_t *words = text->tokens + set->text_begin[at];

    out->values[at] = (float)run->options.rule(
        words, prompt, words + prompt, set->seqs->response[at], model->vocab);
    ra_rank_publish(rank, node->call, FALSE, at, 1);
    if (!isfinite(out->values[at]))
      ra_rank_fault(rank, task, "a reward that is not finite");
  }
}
