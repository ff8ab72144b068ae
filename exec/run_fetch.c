/* Parameters of ranks in other processes, for process 0, which writes files. */
#include "config.h"

#include <string.h>

#include "exec/run_impl.h"

/* The copies of @model that a rank has itself, in order. */
static gboolean
is_copy(const RaRun *run, const RaRank *rank, uint32_t call, uint32_t model)
{
  const RaCall *c = &run->workload->calls[call];

  return c->kind != RA_CALL_HOST && c->model == model &&
         rank->calls[call].is_in && ra_run_copy_of(run->plan, call) == call;
}

/* The call that trains the copy @v of @call; RA_NONE: none does. */
static uint32_t
trainer_of(const RaRun *run, uint32_t call, uint32_t v)
{
  uint32_t trainer =
      ra_workload_trainer(run->workload, run->workload->calls[call].model);

  return v == 0 && trainer != RA_NONE &&
                 ra_run_copy_of(run->plan, trainer) == call
             ? trainer
             : RA_NONE;
}

/* All calls that share a copy have it. */
static void
set_copy(RaRank *rank, uint32_t call, uint32_t v, RaParams *params)
{
  const RaRun *run = rank->run;

  for (uint32_t u = 0; u < run->workload->n_calls; u++)
    if (rank->calls[u].is_in && run->workload->calls[u].kind != RA_CALL_HOST &&
        ra_run_copy_of(run->plan, u) == call && v < rank->calls[u].n_versions)
      rank->calls[u].params[v] = params;
}

static RaParams *
new_copy(RaRank *rank, uint32_t call, uint32_t v)
{
  const RaCallPlan *plan = &rank->run->plan->calls[call];
  RaParams *p =
      ra_params_new(rank->run->tables[rank->run->workload->calls[call].model],
                    plan, ra_call_plan_rank(plan, &rank->calls[call].coord));

  if (trainer_of(rank->run, call, v) != RA_NONE) {
    ra_rank_cut(rank, trainer_of(rank->run, call, v), p);
    ra_params_make_trainable(p);
  }
  set_copy(rank, call, v, p);
  return p;
}

/* Array @which of @p, from process @from to process 0, in fp32. */
static void
pass_array(RaWorld *w, uint32_t from, RaParams *p, RaParamsArray which)
{
  gsize n = ra_params_array_n(p, which);
  g_autofree float *numbers = g_new(float, n + 1);

  if (w->process == from)
    ra_params_read(p, which, 0, n, numbers);
  w->table->pass(w, from, numbers, n * sizeof *numbers);
  if (w->process != from)
    ra_params_write(p, which, 0, n, numbers);
}

static void
fetch(RaRank *rank, uint32_t call, uint32_t v)
{
  RaRun *run = rank->run;
  RaWorld *w = run->world;
  uint32_t from = ra_world_process(w, rank->rank, run->n_ranks);
  uint32_t trainer = trainer_of(run, call, v);
  RaParams *p = NULL;

  if (w->process == 0)
    p = new_copy(rank, call, v);
  else if (w->process == from)
    p = rank->calls[call].params[v];
  else
    return;
  if (trainer != RA_NONE)
    w->table->pass(w, from, &rank->calls[trainer].n_steps,
                   sizeof rank->calls[trainer].n_steps);
  for (uint32_t a = 0; a < RA_N_PARAMS_ARRAYS; a++)
    if (ra_params_has(p, (RaParamsArray)a))
      pass_array(w, from, p, (RaParamsArray)a);
}

void
ra_run_fetch(RaRun *run, uint32_t model)
{
  for (uint32_t r = 0; run->world && r < run->n_ranks; r++)
    for (uint32_t call = 0; call < run->workload->n_calls; call++)
      if (ra_world_process(run->world, r, run->n_ranks) > 0 &&
          is_copy(run, &run->ranks[r], call, model))
        for (uint32_t v = 0; v < run->ranks[r].calls[call].n_versions; v++)
          fetch(&run->ranks[r], call, v);
}

void
ra_run_drop(RaRun *run, uint32_t model)
{
  for (uint32_t r = 0;
       run->world && run->world->process == 0 && r < run->n_ranks; r++)
    for (uint32_t call = 0; call < run->workload->n_calls; call++) {
      RaRankCall *c = &run->ranks[r].calls[call];

      if (ra_run_is_here(run, r) || !is_copy(run, &run->ranks[r], call, model))
        continue;
      for (uint32_t v = 0; v < c->n_versions; v++) {
        RaParams *params = c->params[v];

        set_copy(&run->ranks[r], call, v, NULL);
        ra_params_free(params);
      }
    }
}
