/* Expected error of a prediction. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "estimator/fit.h"
#include "sim/path_share.h"
#include "study/model_error.h"
#include "traces/law.h"

/* The law that costs @share; NULL: none does, or nobody knows which. */
static const char *
law_of(const RaProfile *profile, const RaPathShare *share)
{
  RaOp op = {.kind = share->op, .dtype = RA_DTYPE_BF16};

  switch ((RaCause)share->cause) {
  case RA_CAUSE_COMPUTE:
  case RA_CAUSE_COMM:
  case RA_CAUSE_CONTENTION:
    break;
  case RA_CAUSE_HOST:
    return share->task == RA_TASK_HOST ? NULL : "host";
  case RA_CAUSE_DATA:
    return "realloc";
  case RA_CAUSE_MEMORY:
    return "host-copy";
  default:
    return NULL;
  }
  if (share->op == RA_N_OPS)
    return share->task == RA_TASK_DECODE && share->cause == RA_CAUSE_COMM
               ? "all-reduce"
               : NULL;
  if (share->op == RA_OP_ATTENTION_CORE)
    return "attention";
  if (share->op == RA_OP_ATTENTION_CORE_BACKWARD)
    return "attention-backward";
  if (share->op == RA_OP_HOST)
    return "host";
  op.dim[1] = 2; /* ranks, of which a node has one or both */
  op.dim[2] = share->reach == RA_REACH_NETWORK ? 1 : 2;
  return ra_fit_law_in(profile, &op);
}

/* Index of the law @name; RA_ERROR_LAWS_MAX: there is none. */
static guint
index_of(const char *name)
{
  guint n = MIN(ra_law_n_specs(), RA_ERROR_LAWS_MAX);

  for (guint i = 0; name && i < n; i++)
    if (g_str_equal(ra_law_spec_at(i)->name, name))
      return i;
  return RA_ERROR_LAWS_MAX;
}

/* Time on the path by law, as fractions of all that laws have. */
static void
weigh(const RaSetup *setup, const GArray *shares, double *out_share)
{
  double given_s = 0, sum_s = 0, all_s = 0;

  for (guint i = 0; i < shares->len; i++) {
    const RaPathShare *share = &g_array_index(shares, RaPathShare, i);
    guint law = index_of(law_of(setup->profile, share));

    all_s += share->time_s;
    if (share->op == RA_N_OPS && share->task == RA_TASK_DECODE &&
        share->cause == RA_CAUSE_COMPUTE) {
      out_share[index_of("gemm.bf16")] += share->time_s / 2;
      out_share[index_of("decode-attention")] += share->time_s / 2;
      sum_s += share->time_s;
    } else if (law < RA_ERROR_LAWS_MAX) {
      out_share[law] += share->time_s;
      sum_s += share->time_s;
    } else if (share->cause == RA_CAUSE_HOST) {
      given_s += share->time_s;
    }
  }
  for (guint law = 0; law < RA_ERROR_LAWS_MAX && sum_s > 0; law++)
    out_share[law] *= (1 - given_s / all_s) / sum_s;
}

/* Error of what no law has, as a median one. */
static double
whole_of(const RaSystem *system)
{
  if (system && isfinite(system->error_p90_frac))
    return system->error_p90_frac / RA_ERROR_NINE_OF_TEN;
  return system && isfinite(system->error_median_frac)
             ? system->error_median_frac
             : RA_ERROR_FRAMEWORK_P90 / RA_ERROR_NINE_OF_TEN;
}

void
ra_model_error(const RaSetup *setup, const RaEstimator *estimator,
               const RaTaskGraph *graph, const RaSim *sim,
               RaModelError *out_error)
{
  g_autoptr(GArray) shares = NULL;
  RaProfileError known = ra_profile_error(setup->profile);
  const RaSystem *system = setup->system;
  double squares;

  memset(out_error, 0, sizeof *out_error);
  out_error->gpu = ra_hash_text(RA_HASH_INIT, setup->profile->device);
  out_error->chip = ra_hash_text(
      ra_hash_u64(RA_HASH_INIT,
                  (uint64_t)setup->cluster->device.bf16_flop_per_s),
      system ? system->release : "");
  out_error->whole_frac = whole_of(system);
  if (known.n_measured == 0) {
    out_error->frac = NAN;
    return;
  }
  shares = ra_critical_path_shares(sim, graph, estimator);
  weigh(setup, shares, out_error->law_frac);
  squares = out_error->whole_frac * out_error->whole_frac;
  for (guint i = 0; i < MIN(ra_law_n_specs(), RA_ERROR_LAWS_MAX); i++) {
    const RaLaw *law = ra_profile_law(setup->profile, ra_law_spec_at(i)->name);

    out_error->law_frac[i] *= law && isfinite(law->error_median_frac)
                                  ? law->error_median_frac
                                  : known.most_frac;
    squares += out_error->law_frac[i] * out_error->law_frac[i];
  }
  out_error->frac = sqrt(squares);
}

/* Normal number of @draw for what @key and @part have in common. */
static double
common(uint64_t seed, guint draw, uint64_t key, uint64_t part)
{
  RaRng rng = ra_rng_init(seed, ra_hash_u64(ra_hash_u64(key, part), draw));

  return ra_rng_normal(&rng);
}

GArray *
ra_model_error_parts(const RaPlan *plan, const RaBreakdown *breakdown)
{
  GArray *parts = g_array_new(FALSE, FALSE, sizeof(RaErrorPart));
  double squares = 0;

  for (guint i = 0; i < breakdown->n_calls; i++) {
    const RaCallShare *share = &breakdown->calls[i];
    const RaCallPlan *c = &plan->calls[share->call];
    const RaCall *call = &plan->workload->calls[share->call];
    uint64_t n_passes = (uint64_t)MAX(c->dp, 1u) * MAX(c->n_micro_batches, 1u) *
                        MAX(ra_call_plan_n_pieces(call, c), 1u);
    const uint64_t numbers[] = {call->n_sequences / n_passes,
                                c->tp,
                                c->pp,
                                c->cp,
                                MAX(c->ep, 1u),
                                c->expert_tp,
                                c->n_virtual,
                                (uint64_t)c->schedule,
                                (uint64_t)c->zero,
                                (uint64_t)c->recompute,
                                (uint64_t)c->sequence_parallel,
                                (uint64_t)c->overlap_grad_reduce,
                                (uint64_t)c->launch,
                                (uint64_t)c->batching};
    RaErrorPart part = {ra_hash_u64(RA_HASH_INIT, share->call), share->wall_s};

    for (guint k = 0; k < G_N_ELEMENTS(numbers); k++)
      part.key = ra_hash_u64(part.key, numbers[k]);
    squares += part.weight * part.weight;
    if (part.weight > 0)
      g_array_append_val(parts, part);
  }
  for (guint i = 0; i < parts->len; i++)
    g_array_index(parts, RaErrorPart, i).weight /= sqrt(squares);
  return parts;
}

double
ra_model_error_draw(const RaModelError *error, const RaErrorPart *parts,
                    guint n_parts, uint64_t seed, guint draw)
{
  double e = 0;

  for (guint i = 0; i < n_parts && error->whole_frac > 0; i++)
    e += error->whole_frac * parts[i].weight *
         common(seed, draw, ra_hash_u64(parts[i].key, error->chip), 0);
  for (guint i = 0; i < RA_ERROR_LAWS_MAX; i++)
    if (error->law_frac[i] > 0)
      e += error->law_frac[i] * common(seed, draw, error->gpu, i + 1);
  return e;
}

/* As much of what no law has of @error as @key on @chip has. */
static double
part_frac(const RaModelError *error, const GArray *parts, uint64_t key,
          uint64_t chip)
{
  for (guint i = 0; i < parts->len && error->chip == chip; i++) {
    const RaErrorPart *part = &g_array_index(parts, RaErrorPart, i);

    if (part->key == key)
      return error->whole_frac * part->weight;
  }
  return 0;
}

double
ra_model_error_apart(const RaModelError *a, const GArray *a_parts,
                     const RaModelError *b, const GArray *b_parts)
{
  double squares = 0;

  for (guint i = 0; i < RA_ERROR_LAWS_MAX; i++) {
    double x = a->law_frac[i], y = b->law_frac[i];

    squares += a->gpu == b->gpu ? (x - y) * (x - y) : x * x + y * y;
  }
  for (guint i = 0; i < a_parts->len; i++) {
    uint64_t key = g_array_index(a_parts, RaErrorPart, i).key;
    double apart = part_frac(a, a_parts, key, a->chip) -
                   part_frac(b, b_parts, key, a->chip);

    squares += apart * apart;
  }
  for (guint i = 0; i < b_parts->len; i++) {
    uint64_t key = g_array_index(b_parts, RaErrorPart, i).key;
    double alone = part_frac(b, b_parts, key, b->chip);

    if (part_frac(a, a_parts, key, b->chip) == 0)
      squares += alone * alone;
  }
  return sqrt(squares);
}
