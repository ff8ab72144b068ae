/* The plan space: its creation, points, plans of points, and checks. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/jobs.h"
#include "graph/input/residency.h"
#include "search/space/space_impl.h"

const RaCandidate ra_candidate_nowhere = {.n_positions = 1, .layout = RA_NONE};

static void
clear_candidate(void *item)
{
  RaCandidate *candidate = item;

  g_free(candidate->plan.stage_layers);
  ra_footprint_clear(&candidate->footprint);
}

/* Identity of a layout, apart from where its mesh begins. */
static char *
layout_key(const RaSpace *space, uint32_t call, const RaCandidate *candidate)
{
  const RaCallPlan *p = &candidate->plan;
  GString *key = g_string_new(NULL);

  g_string_append_printf(
      key,
      "%" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32
      " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %d %d",
      space->workload->calls[call].model, candidate->n_gpus, p->dp, p->tp,
      p->pp, p->cp, ra_call_plan_ep(p), ra_call_plan_expert_tp(p), p->n_virtual,
      ra_call_plan_n_shards(p), candidate->kinds, p->dtype, p->expert_dtype);
  for (uint32_t i = 0; i < p->pp * p->n_virtual; i++)
    g_string_append_printf(key, ",%" PRIu32, p->stage_layers[i]);
  return g_string_free(key, FALSE);
}

void
ra_space_number_layouts(RaSpace *space)
{
  g_autoptr(GHashTable) known =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

  space->n_layouts = 0;
  for (guint c = 0; c < space->workload->n_calls; c++)
    for (uint32_t i = 0; i < space->calls[c].n; i++) {
      RaCandidate *candidate = &space->calls[c].candidates[i];
      char *key;
      gpointer id;

      if (space->workload->calls[c].model == RA_NONE)
        continue;
      key = layout_key(space, c, candidate);
      candidate->layout_hash = ra_hash_text(RA_HASH_INIT, key);
      id = g_hash_table_lookup(known, key);
      if (!id)
        id = GUINT_TO_POINTER(++space->n_layouts);
      g_hash_table_insert(known, key, id);
      candidate->layout = GPOINTER_TO_UINT(id) - 1;
    }
}

static void
add_host(RaSpaceCall *call)
{
  call->candidates = g_new0(RaCandidate, 1);
  call->candidates[0] = (RaCandidate){.n_positions = 1, .layout = RA_NONE};
  call->n = 1;
}

static gboolean
fill_call(RaSpace *space, uint32_t call, GError **error)
{
  RaSpaceCall *out = &space->calls[call];
  RaSpaceSink sink = {.space = space, .call = call};
  g_autoptr(GArray) rejected = NULL;
  g_autofree char *last = NULL;

  if (space->workload->calls[call].model == RA_NONE) {
    add_host(out);
    return TRUE;
  }
  sink.candidates = g_array_new(FALSE, FALSE, sizeof(RaCandidate));
  ra_space_fill(&sink);
  out->n_tried = sink.n_tried;
  memcpy(out->n_rejected, sink.n_rejected, sizeof out->n_rejected);
  out->n = sink.candidates->len;
  out->candidates =
      (RaCandidate *)(gpointer)g_array_free(sink.candidates, FALSE);
  if (out->n > 0)
    return TRUE;
  if (ra_until_is_over(space->options.until))
    return TRUE;
  rejected = ra_space_rejected(space, call);
  last = rejected->len > 0 ? ra_rejection_text(&g_array_index(
                                 rejected, RaRejection, rejected->len - 1))
                           : g_strdup("none");
  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
              "'%s' has no layout among %" PRIu32 " tried; the last, %s",
              space->workload->calls[call].name, sink.n_tried, last);
  return FALSE;
}

/* Calls while threads fill them. */
typedef struct {
  RaSpace *space;
  GError **errors; /* (n_calls) */
} Filling;

static void
fill_one(guint i, guint thread, gpointer data)
{
  Filling *f = data;

  (void)thread;
  fill_call(f->space, i, &f->errors[i]);
}

/* The first error in the order of calls counts. */
static gboolean
fill_calls(RaSpace *space, GError **error)
{
  guint n = space->workload->n_calls;
  g_autofree GError **errors = g_new0(GError *, n);
  Filling filling = {space, errors};
  GError *first = NULL;

  ra_jobs_run(n, space->options.n_threads, fill_one, &filling);
  for (guint c = 0; c < n; c++) {
    if (errors[c] && first)
      g_error_free(errors[c]);
    else if (errors[c])
      first = errors[c];
    space->pins |= space->calls[c].n > 0 && space->calls[c].candidates[0].pins;
  }
  if (!first)
    return TRUE;
  g_propagate_error(error, first);
  return FALSE;
}

/* Lengths that are drawn reach a call that is streamed to in the order in which
 * the producer's replicas end: then its cost is not its own. */
static gboolean
is_own_cost(const RaWorkload *w, uint32_t call)
{
  const RaCall *c = &w->calls[call];

  return ra_workload_is_even(w) || c->set == call || c->model == RA_NONE ||
         w->calls[c->set].kind != RA_CALL_GENERATE ||
         w->calls[c->set].n_parts <= 1;
}

gboolean
ra_space_accepts(const RaWorkload *w, GError **error)
{
  if (w->n_calls > RA_POINT_MAX || w->n_models > RA_POINT_MAX) {
    g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                "the workload has %u calls and %u models, expected at most %d "
                "of each to search",
                w->n_calls, w->n_models, RA_POINT_MAX);
    return FALSE;
  }
  for (guint c = 0; c < w->n_calls; c++)
    if (!is_own_cost(w, c)) {
      g_set_error(
          error, RA_ERROR, RA_ERROR_NEGATIVE,
          "'%s' reads streamed sequences of sampled lengths, whose order "
          "depends on another call's dp, expected fixed lengths or no chunks",
          w->calls[c].name);
      return FALSE;
    }
  return TRUE;
}

RaSpace *
ra_space_new(const RaWorkload *workload, const RaCluster *cluster,
             const RaSpaceOptions *options, GError **error)
{
  g_autoptr(RaSpace) space = g_new0(RaSpace, 1);

  g_return_val_if_fail(cluster->device.memory_bytes > 0, NULL);
  g_return_val_if_fail(options->n_iterations >= 1, NULL);
  space->workload = workload;
  space->cluster = cluster;
  space->options = *options;
  space->options.limits = NULL;
  space->limits =
      g_memdup2(options->limits, options->n_limits * sizeof(RaLimit));
  space->calls = g_new0(RaSpaceCall, workload->n_calls);
  space->sets = ra_node_sets_new(cluster, options->kind == RA_SPACE_FULL);
  space->added = g_ptr_array_new_with_free_func(g_free);
  if (!ra_space_accepts(workload, error))
    return NULL;
  space->loads = ra_loads_new(workload, options->n_iterations, options->seed);
  if (!fill_calls(space, error))
    return NULL;
  ra_space_number_layouts(space);
  return g_steal_pointer(&space);
}

void
ra_space_free(RaSpace *space)
{
  if (!space)
    return;
  for (guint c = 0; c < space->workload->n_calls; c++) {
    for (uint32_t i = 0; i < space->calls[c].n; i++)
      clear_candidate(&space->calls[c].candidates[i]);
    g_free(space->calls[c].candidates);
  }
  g_free(space->calls);
  ra_loads_free(space->loads);
  ra_node_sets_free(space->sets);
  g_clear_pointer(&space->added, g_ptr_array_unref);
  g_free(space->limits);
  g_free(space);
}

GArray *
ra_space_rejected(const RaSpace *space, uint32_t call)
{
  RaSpaceSink sink = {.space = space, .call = call};

  sink.rejected = g_array_new(FALSE, FALSE, sizeof(RaRejection));
  if (space->workload->calls[call].model != RA_NONE)
    ra_space_fill(&sink);
  return sink.rejected;
}

double
ra_space_log10_points(const RaSpace *space)
{
  double sum = 0;

  for (guint c = 0; c < space->workload->n_calls; c++) {
    double n = 0;

    if (space->workload->calls[c].model == RA_NONE)
      continue;
    for (uint32_t i = 0; i < space->calls[c].n; i++)
      n += space->calls[c].candidates[i].n_positions;
    sum += log10(n);
  }
  return sum;
}

/* --- points and plans --- */

/* Calls of a model go by its residency; what is trained into a copy that lags
 * must still be on the GPUs then (graph/input/residency.c). */
static gboolean
residency_fits(const RaWorkload *w, const RaPoint *point)
{
  for (guint m = 0; m < w->n_models; m++)
    if (point->residency[m] > RA_RESIDENCY_HOST)
      return FALSE;
  return TRUE;
}

gboolean
ra_space_check(const RaSpace *space, const RaPoint *point)
{
  for (guint c = 0; c < space->workload->n_calls; c++) {
    const RaSpaceCall *call = &space->calls[c];
    RaChoice choice = point->calls[c];

    if (choice.candidate >= call->n ||
        choice.position >= call->candidates[choice.candidate].n_positions)
      return FALSE;
  }
  return residency_fits(space->workload, point);
}

RaPlan *
ra_space_plan_new(const RaSpace *space, const RaPoint *point)
{
  const RaWorkload *w = space->workload;
  RaPlan *plan = g_new0(RaPlan, 1);

  g_return_val_if_fail(ra_space_check(space, point), plan);
  plan->workload = w;
  plan->cluster = space->cluster;
  plan->calls = g_new0(RaCallPlan, w->n_calls);
  for (guint c = 0; c < w->n_calls; c++) {
    RaChoice choice = point->calls[c];
    const RaCandidate *k = &space->calls[c].candidates[choice.candidate];

    if (k->n_gpus == 0)
      continue;
    plan->calls[c] = k->plan;
    plan->calls[c].mesh = ra_space_mesh_at(space, k, choice.position);
    if (w->calls[c].model == RA_NONE)
      continue;
    plan->calls[c].residency = ra_space_residency(space, point, c);
    plan->calls[c].stage_layers =
        g_memdup2(k->plan.stage_layers,
                  k->plan.pp * k->plan.n_virtual * sizeof(uint32_t));
  }
  for (guint c = 0; c < w->n_calls; c++)
    if (plan->calls[c].residency == RA_RESIDENCY_KEEP &&
        w->calls[c].model != RA_NONE && ra_residency_is_own(plan, c))
      plan->calls[c].residency = RA_RESIDENCY_RELEASE;
  return plan;
}

void
ra_space_plan_free(RaPlan *plan)
{
  if (!plan)
    return;
  for (guint c = 0; c < plan->workload->n_calls; c++)
    g_free(plan->calls[c].stage_layers);
  g_free(plan->calls);
  g_free(plan);
}

gboolean
ra_space_allows_residency(const RaSpace *space, uint32_t model, int residency)
{
  for (guint c = 0; c < space->workload->n_calls; c++)
    if (space->workload->calls[c].model == model &&
        (!ra_space_allows(space, c, RA_LIMIT_RESIDENCY, (uint32_t)residency) ||
         (residency == RA_RESIDENCY_HOST &&
          space->workload->calls[c].each_trip)))
      return FALSE;
  return TRUE;
}
