/* The space that a round of a contest searches. */
#include "config.h"

#include <math.h>

#include "base/error.h"
#include "base/hash.h"
#include "study/contest/contest_impl.h"

void
ra_field_clear(RaField *field)
{
  ra_sayable_free(field->says);
  ra_cost_table_free(field->costs);
  ra_kept_costs_free(field->kept);
  ra_space_free(field->space);
  g_clear_pointer(&field->starts, g_array_unref);
  g_clear_pointer(&field->whose, g_array_unref);
}

/* (element-type RaLimit) (transfer full): of the limits that are typed and of
 * the file of pins; %NULL with @error. */
static GArray *
read_limits(const RaSetup *setup, const RaContestOptions *options,
            GError **error)
{
  const char *const *texts = options->limits;
  g_autoptr(GArray) limits = g_array_new(FALSE, FALSE, sizeof(RaLimit));

  if (options->pins) {
    g_autoptr(RaKeyFile) file = ra_key_file_load(options->pins, error);

    if (!file ||
        !ra_limits_read(limits, file, setup->workload, setup->cluster, error))
      return NULL;
  }
  for (guint i = 0; texts && texts[i]; i++)
    if (!ra_limits_add(limits, texts[i], setup->workload, setup->cluster,
                       error)) {
      g_prefix_error(error, "--limit: ");
      return NULL;
    }
  return g_steal_pointer(&limits);
}

gboolean
ra_field_open(RaField *field, const RaContestOptions *options, GError **error)
{
  RaSpaceOptions space = {.kind = (int)options->kind,
                          .n_threads = options->n_threads,
                          .n_iterations = options->n_iterations,
                          .seed = options->seed,
                          .until = &field->until,
                          .end = options->whole,
                          .n_gpus = options->n_gpus};
  g_autoptr(GArray) limits = read_limits(field->setup, options, error);

  if (!limits)
    return FALSE;
  space.limits = (const RaLimit *)(gconstpointer)limits->data;
  space.n_limits = limits->len;
  field->space = ra_space_new(field->setup->workload, field->setup->cluster,
                              &space, error);
  for (uint32_t c = 0;
       options->eager && field->space && c < field->setup->workload->n_calls;
       c++)
    for (uint32_t i = 0; i < field->space->calls[c].n; i++)
      field->space->calls[c].candidates[i].plan.launch = RA_LAUNCH_EAGER;
  return field->space != NULL;
}

/* GPU-seconds of all calls, the least of each. */
static double
least_gpu_s(const RaField *field)
{
  const RaSpace *space = field->space;
  double gpu_s = 0;

  for (uint32_t c = 0; c < space->workload->n_calls; c++) {
    const RaSpaceCall *call = &space->calls[c];
    double least = (double)INFINITY;

    if (space->workload->calls[c].model == RA_NONE)
      continue;
    for (uint32_t i = 0; i < call->n; i++)
      least = MIN(least, call->candidates[i].n_gpus *
                             ra_cost_table_least_s(field->costs, c, i));
    gpu_s += least;
  }
  return gpu_s;
}

/* All calls at their fastest on GPUs of their own. */
static double
relaxed_s(const RaField *field, const RaPoint *point)
{
  RaEvaluator *evaluator = ra_evaluator_new(field->costs);
  RaPoint root = *point;
  double bound_s;

  for (uint32_t c = 0; c < field->space->workload->n_calls; c++)
    if (field->space->workload->calls[c].model != RA_NONE)
      root.calls[c].candidate = RA_NONE;
  ra_evaluator_set(evaluator, 0, &root);
  ra_evaluator_relaxed(evaluator, 1, &bound_s);
  ra_evaluator_free(evaluator);
  return bound_s;
}

/* Only of what is trained there are copies that are kept or released. */
double
ra_field_bound_s(const RaField *field)
{
  const RaWorkload *w = field->space->workload;
  uint32_t trained[RA_POINT_MAX], n = 0;
  double bound_s = (double)INFINITY;

  for (uint32_t m = 0; m < w->n_models; m++)
    if (ra_workload_trainer(w, m) != RA_NONE)
      trained[n++] = m;
  for (uint32_t kept = 0; kept < 1u << n; kept++) {
    RaPoint root = {.residency = {0}};
    double s;

    for (uint32_t i = 0; i < n; i++)
      root.residency[trained[i]] =
          kept >> i & 1 ? RA_RESIDENCY_KEEP : RA_RESIDENCY_RELEASE;
    s = relaxed_s(field, &root);
    bound_s = MIN(bound_s, s);
  }
  return MAX(bound_s,
             least_gpu_s(field) / ra_cluster_n_gpus(field->space->cluster));
}

void
ra_contest_share_exact(RaWorld *world, RaCostTable *costs, RaExactResult *exact)
{
  g_autoptr(GByteArray) news = ra_cost_table_take_news(costs);
  uint64_t n_bytes = news->len;

  world->table->share(world, exact, sizeof *exact);
  world->table->share(world, &n_bytes, sizeof n_bytes);
  g_byte_array_set_size(news, (guint)n_bytes);
  world->table->share(world, news->data, n_bytes);
  ra_cost_table_add_news(costs, news->data, n_bytes);
}

uint64_t
ra_field_hash(const RaField *field, const RaContestOptions *options)
{
  uint64_t hash = ra_cost_table_hash(field->costs);

  hash = ra_hash_u64(hash, options->seed);
  hash = ra_hash_u64(hash, options->n_steps);
  hash = ra_hash_u64(hash, options->time_limit_s > 0);
  hash = ra_hash_u64(hash, options->prove_s > 0);
  return ra_hash_u64(hash, options->n_near);
}
