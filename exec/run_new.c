/* Creation of a run: ranks, communicators, parameters and stages. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/run_learn.h"
#include "graph/input/residency.h"

void
ra_run_options_init(RaRunOptions *options)
{
  *options = (RaRunOptions){.numerics = RA_NUMERICS_DEFAULT,
                            .sampling = {1, 0, 1},
                            .policy = {1e-3f, 0.9f, 0.999f, 1e-8f, 0},
                            .value = {1e-3f, 0.9f, 0.999f, 1e-8f, 0},
                            .max_grad_norm = 1,
                            .clip = 0.2f,
                            .kl_weight = 0.01f,
                            .beta = 0.1f,
                            .gamma = 1,
                            .lambda = 0.95f,
                            .rule = ra_reward_find("even"),
                            .every = 1,
                            .keep = 2,
                            .n_threads = 1};
}

static gboolean
refuse(const RaPlan *plan, uint32_t call, const RaBackend *backend,
       const char *what, GError **error)
{
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "call '%s' has %s, which the %s back end does not run",
              plan->workload->calls[call].name, what, backend->name);
  return FALSE;
}

/* A kind of attention that no ring runs; NULL: none. */
static const char *
find_ringless(const RaModel *model)
{
  return ra_model_has_window(model) ? "cp > 1 and attention within windows"
         : model->sinks             ? "cp > 1 and attention sinks"
         : model->kv_rank > 0       ? "cp > 1 and latent attention"
                                    : NULL;
}

/* A type, or a place of the optimizer, that no back end has; NULL: none. */
static const char *
find_type(const RaCall *call, const RaCallPlan *p)
{
  if (p->dtype > 0 || p->kv_dtype > 0 || p->expert_dtype > 0 || p->fp8_gemms)
    return "a dtype of its own";
  if (call->kind != RA_CALL_TRAIN)
    return NULL;
  return p->grad_dtype != RA_DTYPE_FP32 ? "a grad-dtype that is not fp32"
         : p->moments_dtype > 0 || p->master_weights != RA_MASTER_FP32
             ? "optimizer state that is not fp32"
         : p->optimizer_residency == RA_RESIDENCY_CPU
             ? "optimizer-residency = cpu"
             : NULL;
}

static gboolean
check_call(const RaPlan *plan, uint32_t call, const RaBackend *backend,
           GError **error)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  const RaWorkloadModel *m;

  if (c->kind == RA_CALL_HOST)
    return TRUE;
  m = &plan->workload->models[c->model];
  if (p->cp > 1 && !backend->attention_merge)
    return refuse(plan, call, backend, "cp > 1", error);
  if (p->cp > 1 && find_ringless(m->model))
    return refuse(plan, call, backend, find_ringless(m->model), error);
  if (p->zero > 1 && p->dp > 1)
    return refuse(plan, call, backend, "zero > 1", error);
  if (p->zero == 1 && p->zero_group < p->dp)
    return refuse(plan, call, backend, "a zero-group that is not all of dp",
                  error);
  if (p->batching != RA_BATCHING_STATIC)
    return refuse(plan, call, backend, "batching = continuous", error);
  if (ra_call_plan_ep(p) > 1 && p->dispatch != RA_DISPATCH_COPIES)
    return refuse(plan, call, backend, "dispatch = once", error);
  if (ra_call_plan_expert_tp(p) < p->tp)
    return refuse(plan, call, backend, "expert-tp below tp", error);
  if (ra_call_plan_ep(p) > 1 && c->kind == RA_CALL_GENERATE && c->n_parts > 1)
    return refuse(plan, call, backend,
                  "ep > 1 and readers that begin on chunks", error);
  if (ra_tail_is_set(&p->tail) || p->service != 0)
    return refuse(plan, call, backend,
                  "sequences that are moved or over-sampled", error);
  if (p->padding != RA_PADDING_NONE || p->padded_length > 0)
    return refuse(plan, call, backend, "padding", error);
  if (find_type(c, p))
    return refuse(plan, call, backend, find_type(c, p), error);
  if (c->drafts.n_tokens > 0)
    return refuse(plan, call, backend, "draft-tokens", error);
  if (m->adapters)
    return refuse(plan, call, backend, "a model with 'lora-rank'", error);
  if (m->dtype !=
      (backend->elem_bytes == sizeof(float) ? RA_DTYPE_FP32 : RA_DTYPE_BF16))
    return refuse(plan, call, backend,
                  backend->elem_bytes == sizeof(float)
                      ? "a model whose dtype is not fp32"
                      : "a model whose dtype is not bf16",
                  error);
  if (c->kind == RA_CALL_TRAIN &&
      ra_workload_trainer(plan->workload, c->model) != call)
    return refuse(plan, call, backend, "a model that a later call trains too",
                  error);
  if (c->kind == RA_CALL_TRAIN && c->n_parts > 1)
    return refuse(plan, call, backend, "inputs in chunks", error);
  if (c->kind == RA_CALL_TRAIN && !ra_learn_check(plan, call, error))
    return FALSE;
  if (backend->supports && !backend->supports(m->model, p->tp, error))
    return FALSE;
  return ra_stage_supports(m->model, error);
}

/* Numbers of the models that no weights come with. */
static gboolean
find_numerics(const RaWorkload *w, const RaRunOptions *options, RaNumerics *out,
              GError **error)
{
  for (guint i = 0; i < w->n_models; i++) {
    const RaWeights *weights = options->weights ? options->weights[i] : NULL;

    out[i] = weights ? weights->numerics : options->numerics;
    if (!weights &&
        !ra_weights_model_numerics(w->models[i].model, &out[i], error))
      return FALSE;
    if (out[i].router_bias) /* the weights may be closed when ranks run */
      out[i].router_bias =
          g_memdup2(out[i].router_bias, (gsize)w->models[i].model->n_layers *
                                            w->models[i].model->n_experts *
                                            sizeof *out[i].router_bias);
  }
  return TRUE;
}

static void
free_numerics(RaNumerics *numerics, guint n_models)
{
  for (guint i = 0; i < n_models; i++)
    g_free((gpointer)numerics[i].router_bias);
  g_free(numerics);
}

const RaNumerics *
ra_run_numerics(const RaRun *run, uint32_t model)
{
  return &run->numerics[model];
}

/* Finds the predecessors of tasks, and the ranks that run them. */
static void
index_tasks(RaRun *run)
{
  const RaTaskGraph *g = run->graph;
  uint32_t n = g->n_tasks, n_edges = g->succ_begin[n];

  run->pred_begin = g_new0(uint32_t, n + 1);
  run->pred = g_new(RaTaskId, n_edges + 1);
  run->n_ended = g_new0(atomic_uint, n + 1);
  run->n_needed = g_new0(uint32_t, n + 1);
  run->n_left = g_new0(uint32_t, g->augmented->n_iterations);
  for (uint32_t e = 0; e < n_edges; e++)
    run->pred_begin[g->succ[e] + 1]++;
  for (RaTaskId t = 0; t < n; t++)
    run->pred_begin[t + 1] += run->pred_begin[t];
  for (RaTaskId t = 0; t < n; t++)
    for (uint32_t e = g->succ_begin[t]; e < g->succ_begin[t + 1]; e++)
      run->pred[run->pred_begin[g->succ[e]]++] = t;
  for (RaTaskId t = n; t > 0; t--)
    run->pred_begin[t] = run->pred_begin[t - 1];
  run->pred_begin[0] = 0;
  for (RaTaskId t = 0; t < n; t++) {
    uint32_t n_gpus = g->group_n_gpus[g->group[t]];

    if (g->kind[t] == RA_TASK_JOIN)
      continue;
    if (g->kind[t] == RA_TASK_TRANSFER)
      n_gpus =
          ra_mesh_n_gpus(&run->plan->calls[ra_run_node(run, t)->call].mesh);
    run->n_needed[t] = g->kind[t] == RA_TASK_SEND ? n_gpus / 2 : MAX(n_gpus, 1);
    run->n_left[ra_run_node(run, t)->iteration] += run->n_needed[t];
  }
}

/* Adds a predecessor of a node, each task once. */
static void
add_entry(GArray *entries, RaEntry entry)
{
  for (guint i = 0; i < entries->len; i++) {
    const RaEntry *e = &g_array_index(entries, RaEntry, i);

    if (e->task == entry.task && e->head == entry.head)
      return;
  }
  g_array_append_val(entries, entry);
}

static void
index_nodes(RaRun *run)
{
  const RaTaskGraph *g = run->graph;
  uint32_t n = g->augmented->n_nodes;

  run->entries = g_new(GArray *, n + 1);
  for (uint32_t i = 0; i < n; i++)
    run->entries[i] = g_array_new(FALSE, FALSE, sizeof(RaEntry));
  for (RaTaskId t = 0; t < g->n_tasks; t++)
    for (uint32_t e = run->pred_begin[t]; e < run->pred_begin[t + 1]; e++) {
      RaEntry entry = {run->pred[e], g->stage[t] > 0 ? t : RA_NONE};

      if (g->node[entry.task] != g->node[t])
        add_entry(run->entries[g->node[t]], entry);
    }
}

uint32_t
ra_run_copy_of(const RaPlan *plan, uint32_t call)
{
  for (uint32_t u = 0; u < call; u++)
    if (plan->workload->calls[u].model == plan->workload->calls[call].model &&
        ra_residency_same_copy(plan, u, call))
      return u;
  return call;
}

/* The copy that training writes also has the versions by which its readers lag;
 * a copy in another layout has one more for every version of lag. */
static uint32_t
n_versions(const RaPlan *plan, uint32_t call)
{
  uint32_t lag = 0;

  if (ra_residency_is_own(plan, call))
    return 1 + ra_residency_n_behind(plan, call);
  for (uint32_t u = 0; u < plan->workload->n_calls; u++)
    if (plan->workload->calls[u].model == plan->workload->calls[call].model &&
        ra_residency_same_copy(plan, u, call))
      lag = MAX(lag, plan->workload->calls[u].staleness);
  return 1 + lag;
}

static uint32_t
longest(const RaRun *run)
{
  const RaWorkload *w = run->workload;

  return w->prompt_length.max_tokens + w->response_length.max_tokens;
}

static void
add_params(RaRank *rank, uint32_t call)
{
  RaRun *run = rank->run;
  RaRankCall *c = &rank->calls[call];
  const RaCall *wc = &run->workload->calls[call];
  const RaCallPlan *p = &run->plan->calls[call];
  uint32_t copy = ra_run_copy_of(run->plan, call);

  c->is_own = ra_residency_is_own(run->plan, call);
  c->is_after = ra_residency_is_after(run->plan, call);
  c->n_versions = n_versions(run->plan, call);
  c->params = g_new0(RaParams *, c->n_versions);
  c->stages = g_new0(RaStage *, c->n_versions);
  for (uint32_t v = 0; v < c->n_versions && ra_run_is_here(run, rank->rank);
       v++) {
    if (copy != call) {
      c->params[v] = rank->calls[copy].params[v];
    } else {
      c->params[v] = ra_params_new_bare(run->backend, run->tables[wc->model], p,
                                        ra_call_plan_rank(p, &c->coord));
      g_ptr_array_add(rank->memory.params, c->params[v]);
    }
    if (wc->kind == RA_CALL_TRAIN && v == 0) {
      ra_rank_cut(rank, call, c->params[v]);
      c->params[v]->is_trained = TRUE;
    }
    c->stages[v] = ra_stage_new(run->backend, c->params[v], p->tp, c->tp,
                                (uint32_t)p->recompute, longest(run),
                                ra_run_numerics(run, wc->model));
    c->stages[v]->cpu_clock = run->options.cpu_clock;
    c->stages[v]->world = run->world;
    c->stages[v]->checks_ops |= run->options.check;
    ra_stage_spread_experts(c->stages[v], c->ep);
    ra_stage_share_sequences(c->stages[v], c->cp);
    ra_stage_share_rows(c->stages[v], p->sequence_parallel);
    ra_stage_share_slabs(c->stages[v], rank->memory.slabs);
    if (p->launch == RA_LAUNCH_GRAPH)
      ra_stage_capture_steps(c->stages[v]);
  }
  c->n_pieces = p->pp * p->n_virtual;
  c->micro = g_new0(RaMicroBatch, (gsize)c->n_pieces * p->n_micro_batches);
  c->advantages_of = RA_NONE;
}

/* Makes the slices of a reallocation to @call, tensor by tensor. */
static void
add_slices(RaRun *run, uint32_t source, uint32_t call)
{
  const RaCallPlan *p = run->plan->calls;
  const RaModel *model =
      run->workload->models[run->workload->calls[call].model].model;

  if (run->slices[call])
    return;
  run->slices[call] =
      ra_reshard_slices(model, &p[source], &p[call], run->plan->cluster);
}

/* Makes the state of a rank in this process. */
static void
begin_rank(RaRank *rank, uint32_t n_threads)
{
  rank->memory.slabs = ra_slabs_new(rank->run->backend);
  rank->memory.moved = ra_slabs_new(ra_backend_host_memory());
  rank->memory.params =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_params_free);
  rank->messages.pending = g_array_new(FALSE, FALSE, sizeof(RaPending));
  rank->messages.receives = g_array_new(FALSE, FALSE, sizeof(RaReceive));
  rank->team = ra_team_new(n_threads, rank->run->has_cores);
}

static void
add_ranks(RaRun *run)
{
  uint32_t n_gpus = ra_cluster_n_gpus(run->plan->cluster);
  uint32_t n_calls = run->workload->n_calls;
  uint32_t n_threads = MAX(run->options.n_threads, 1u);

  run->rank_of_gpu = g_new(uint32_t, n_gpus);
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++)
    run->rank_of_gpu[gpu] =
        run->graph->lane_of_gpu[gpu] == RA_NONE ? RA_NONE : run->n_ranks++;
  run->ranks = g_new0(RaRank, run->n_ranks);
  run->has_cores =
      (glong)ra_run_n_here(run) * n_threads <= sysconf(_SC_NPROCESSORS_ONLN);
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) {
    uint32_t i = run->rank_of_gpu[gpu];

    if (i == RA_NONE)
      continue;
    run->ranks[i] =
        (RaRank){.run = run,
                 .rank = i,
                 .gpu = gpu,
                 .clock.node = RA_NONE,
                 .calls = g_new0(RaRankCall, n_calls),
                 .clock.times = g_array_new(FALSE, FALSE, sizeof(RaTaskTime))};
    if (ra_run_is_here(run, i))
      begin_rank(&run->ranks[i], n_threads);
  }
}

static void
add_calls(RaRun *run)
{
  for (uint32_t call = 0; call < run->workload->n_calls; call++) {
    if (run->workload->calls[call].kind == RA_CALL_HOST)
      continue;
    for (uint32_t i = 0; i < run->n_ranks; i++)
      if (run->ranks[i].calls[call].is_in) {
        ra_rank_use(&run->ranks[i]);
        add_params(&run->ranks[i], call);
      }
  }
  for (uint32_t i = 0; i < run->n_ranks; i++)
    if (ra_run_is_here(run, i)) {
      ra_rank_use(&run->ranks[i]);
      ra_rank_make_slab(&run->ranks[i]);
      run->backend->wait(); /* its own thread uses what this one has begun */
    }
}

static void
add_moves(RaRun *run)
{
  const RaAugmented *a = run->graph->augmented;

  for (uint32_t i = 0; i < a->n_nodes; i++)
    if (a->nodes[i].kind == RA_NODE_REALLOC)
      add_slices(run, a->nodes[i].source, a->nodes[i].call);
}

RaRun *
ra_run_new(const RaTaskGraph *graph, const RaRunOptions *options,
           GError **error)
{
  const RaPlan *plan = graph->augmented->plan;
  const RaWorkload *w = plan->workload;
  const RaBackend *backend;
  RaNumerics *numerics;
  RaRun *run;

  g_return_val_if_fail(graph->fidelity == RA_FIDELITY_STAGE, NULL);
  g_return_val_if_fail(!graph->is_folded, NULL);
  backend = options->backend ? options->backend : ra_backend_host_memory();
  for (uint32_t call = 0; call < w->n_calls; call++)
    if (!check_call(plan, call, backend, error))
      return NULL;
  if (!options->backend)
    backend = ra_backend_host(error);
  if (!backend)
    return NULL;
  numerics = g_new0(RaNumerics, w->n_models + 1);
  if (!find_numerics(w, options, numerics, error)) {
    free_numerics(numerics, w->n_models);
    return NULL;
  }
  run = g_new0(RaRun, 1);
  run->numerics = numerics;
  run->graph = graph;
  run->plan = plan;
  run->workload = w;
  run->backend = backend;
  run->options = *options;
  run->world = options->world;
  run->tables = g_new0(RaTensorTable *, w->n_models + 1);
  for (guint i = 0; i < w->n_models; i++)
    run->tables[i] = ra_tensor_table_new(w->models[i].model);
  run->slices = g_new0(GArray *, w->n_calls);
  run->rounds = g_new0(RaRounds *, w->n_calls);
  run->sets = g_new0(uint32_t *, w->n_calls);
  run->results = g_new0(RaRunIteration, graph->augmented->n_iterations);
  run->experience = g_new0(RaExperience *, graph->augmented->n_iterations);
  for (uint32_t k = 0; k < graph->augmented->n_iterations; k++)
    run->experience[k] = ra_experience_new(plan, k, graph->seed);
  run->past = g_array_new(FALSE, FALSE, sizeof(RaPast));
  pthread_mutex_init(&run->lock, NULL);
  pthread_cond_init(&run->progressed, NULL);
  run->account = ra_memory_table_new(graph);
  index_tasks(run);
  index_nodes(run);
  add_ranks(run);
  add_moves(run);
  if (!ra_run_add_groups(run, error)) {
    ra_run_free(run);
    return NULL;
  }
  add_calls(run);
  ra_run_meet(run);
  for (uint32_t i = 0; i < run->n_ranks && options->ops; i++)
    ra_rank_record(&run->ranks[i]);
  return run;
}

void
ra_micro_batch_clear(RaMicroBatch *micro)
{
  g_clear_pointer(&micro->pass, ra_pass_free);
  g_clear_pointer(&micro->tokens, ra_tokens_free);
  g_clear_pointer(&micro->d_output, g_free);
}

static void
clear_call(RaRankCall *c, uint32_t n_micro)
{
  for (uint32_t i = 0; c->micro && i < c->n_pieces * n_micro; i++)
    ra_micro_batch_clear(&c->micro[i]);
  for (uint32_t v = 0; v < c->n_versions; v++)
    g_clear_pointer(&c->stages[v], ra_stage_free);
  ra_cache_free(c->generation.cache);
  g_free(c->generation.newest);
  g_free(c->generation.n_done);
  g_free(c->micro);
  g_free(c->params);
  g_free(c->stages);
  g_free(c->advantages);
  g_free(c->returns);
}

static void
clear_rank(RaRank *rank)
{
  for (uint32_t call = 0; call < rank->run->workload->n_calls; call++)
    clear_call(&rank->calls[call],
               rank->run->plan->calls[call].n_micro_batches);
  ra_nccl_free(rank->nccl); /* the slab is no longer enrolled */
  ra_rank_free_slab(rank);
  ra_slabs_unref(rank->memory.slabs);
  ra_slabs_unref(rank->memory.moved);
  ra_team_free(rank->team);
  ra_drawn_clear(&rank->drawn, rank->run->backend);
  g_free(rank->calls);
  if (rank->memory.params)
    g_ptr_array_unref(rank->memory.params);
  g_array_unref(rank->clock.times);
  if (rank->clock.ops)
    g_array_unref(rank->clock.ops);
  if (rank->clock.task_ops)
    g_array_unref(rank->clock.task_ops);
  if (rank->messages.pending)
    g_array_unref(rank->messages.pending);
  if (rank->messages.receives)
    g_array_unref(rank->messages.receives);
  if (rank->messages.outbox)
    g_byte_array_unref(rank->messages.outbox);
}

void
ra_run_free(RaRun *run)
{
  if (!run)
    return;
  for (uint32_t i = 0; i < run->n_ranks; i++)
    ra_rank_clear_ends(&run->ranks[i]);
  for (uint32_t i = 0; i < run->n_ranks; i++)
    clear_rank(&run->ranks[i]);
  ra_device_message_clear_all(run->backend);
  for (guint i = 0; i < run->workload->n_models; i++)
    ra_tensor_table_free(run->tables[i]);
  for (guint i = 0; i < run->workload->n_calls; i++) {
    if (run->slices[i])
      g_array_unref(run->slices[i]);
    ra_rounds_free(run->rounds[i]);
    g_free(run->sets[i]);
  }
  for (uint32_t k = 0; k < run->graph->augmented->n_iterations; k++)
    ra_experience_free(run->experience[k]);
  ra_memory_table_free(run->account);
  g_ptr_array_unref(run->groups);
  ra_peers_free(run->peers);
  ra_comm_groups_free(run->splits);
  ra_run_part(run);
  for (guint i = 0; i < run->past->len; i++)
    g_ptr_array_unref(g_array_index(run->past, RaPast, i).parts);
  g_array_unref(run->past);
  pthread_mutex_destroy(&run->lock);
  pthread_cond_destroy(&run->progressed);
  g_free(run->ranks);
  g_free(run->rank_of_gpu);
  g_free(run->tables);
  free_numerics(run->numerics, run->workload->n_models);
  g_free(run->slices);
  g_free(run->rounds);
  g_free(run->sets);
  g_free(run->results);
  g_free(run->experience);
  for (uint32_t i = 0; i < run->graph->augmented->n_nodes; i++)
    g_array_unref(run->entries[i]);
  g_free(run->entries);
  g_free(run->pred_begin);
  g_free(run->pred);
  g_free(run->n_ended);
  g_free(run->n_needed);
  g_free(run->n_left);
  g_free(run);
}
