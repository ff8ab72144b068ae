/* Trips of an iteration: sampling, expectation, checks. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "base/rng.h"
#include "graph/input/trips.h"

/* Stream of random numbers that decide which groups of an iteration pass.
 * Streams of lengths have other low halves (graph/expand/sequence.c). */
#define PASS_STREAM (UINT32_C(7) << 29)

gboolean
ra_trips_are_set(const RaWorkload *workload)
{
  return workload->n_trip_prompts > 0;
}

uint32_t
ra_trips_draw(const RaWorkload *w, uint32_t iteration, uint64_t seed,
              uint32_t *out_groups)
{
  RaRng rng = ra_rng_init(seed, (uint64_t)iteration << 32 | PASS_STREAM);
  g_autoptr(GArray) failed = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  uint32_t n_trips = 0, n_passed = 0, n_missing, at = 0;
  g_autofree uint32_t *passed = g_new(uint32_t, w->n_prompts);

  if (!ra_trips_are_set(w)) {
    for (uint32_t i = 0; out_groups && i < w->n_prompts; i++)
      out_groups[i] = i;
    return 1;
  }
  while (n_passed < w->n_prompts && n_trips < w->max_trips) {
    for (uint32_t i = 0; i < w->n_trip_prompts; i++) {
      uint32_t group = n_trips * w->n_trip_prompts + i;

      if (ra_rng_uniform(&rng) >= w->pass_rate)
        g_array_append_val(failed, group);
      else if (n_passed < w->n_prompts)
        passed[n_passed++] = group;
    }
    n_trips++;
  }
  /* Both are ascending: merged with as many that failed as are missing. */
  n_missing = w->n_prompts - n_passed;
  for (uint32_t p = 0, f = 0; out_groups && at < w->n_prompts; at++)
    if (p < n_passed &&
        (f == n_missing || passed[p] < g_array_index(failed, uint32_t, f)))
      out_groups[at] = passed[p++];
    else
      out_groups[at] = g_array_index(failed, uint32_t, f++);
  return n_trips;
}

/* P(Binomial(m, p) < k), 0 < p < 1: terms by lgamma, so that none is lost. */
static double
binomial_below(double m, double p, uint32_t k)
{
  double sum = 0;

  for (uint32_t i = 0; i < k && i <= m; i++)
    sum += exp(lgamma(m + 1) - lgamma(i + 1.0) - lgamma(m - i + 1) +
               i * log(p) + (m - i) * log1p(-p));
  return MIN(sum, 1);
}

double
ra_trips_expected(const RaWorkload *w)
{
  double sum = 1;

  if (!ra_trips_are_set(w))
    return 1;
  for (uint32_t t = 1; t < w->max_trips; t++) {
    double m = (double)t * w->n_trip_prompts;

    if (w->pass_rate < 1)
      sum += binomial_below(m, w->pass_rate, w->n_prompts);
    else
      sum += m < w->n_prompts;
  }
  return sum;
}

/* A call of a trip reads what trips make, others no chunk of it. */
static gboolean
check_inputs(const RaWorkload *w, const RaCall *call, GError **error)
{
  for (guint i = 0; i < call->n_inputs; i++) {
    const RaInput *input = &call->inputs[i];
    const RaCall *producer;

    if (input->producer == RA_NONE)
      continue;
    producer = &w->calls[input->producer];
    if (call->each_trip && !producer->each_trip)
      return ra_key_file_fail(
          w->file, call->group, "inputs", error,
          "'%s' runs in each round and reads '%s' of '%s', which does not, "
          "expected 'each-trip = true' there",
          call->name, input->data, producer->name);
    if (!call->each_trip && producer->each_trip && input->n_chunks > 1)
      return ra_key_file_fail(
          w->file, call->group, "inputs", error,
          "'%s' reads chunks of '%s', expected all of it: its sequences are "
          "known after the last round only",
          call->name, input->data);
  }
  return TRUE;
}

gboolean
ra_trips_check(const RaWorkload *w, GError **error)
{
  guint group = (guint)ra_key_file_find_group(w->file, "workload", "");
  guint n_generate = 0;

  for (guint i = 0; i < w->n_calls; i++) {
    const RaCall *call = &w->calls[i];

    if (!ra_trips_are_set(w)) {
      if (call->each_trip && call->kind != RA_CALL_GENERATE)
        return ra_key_file_fail(
            w->file, call->group, "each-trip", error,
            "'each-trip' of '%s', expected 'trip-prompts' in [workload]",
            call->name);
      continue;
    }
    n_generate += call->kind == RA_CALL_GENERATE;
    if (!check_inputs(w, call, error))
      return FALSE;
  }
  if (ra_trips_are_set(w) && n_generate != 1)
    return ra_key_file_fail(w->file, group, "trip-prompts", error,
                            "'trip-prompts' with %u generate calls, expected "
                            "one",
                            n_generate);
  for (guint i = 0; ra_trips_are_set(w) && i < w->n_calls; i++) {
    uint64_t n = (uint64_t)w->max_trips * w->n_trip_prompts *
                 w->calls[i].samples_per_prompt;

    if (n > RA_WORKLOAD_SEQUENCES_MAX)
      return ra_key_file_fail(
          w->file, group, "trip-prompts", error,
          "'max-trips' x 'trip-prompts' x 'samples-per-prompt' is %" PRIu64
          ", expected at most %d",
          n, RA_WORKLOAD_SEQUENCES_MAX);
  }
  /* Trips may not end before there is enough to choose from. */
  return !ra_trips_are_set(w) ||
         (uint64_t)w->max_trips * w->n_trip_prompts >= w->n_prompts ||
         ra_key_file_fail(w->file, group, "trip-prompts", error,
                          "'max-trips' x 'trip-prompts' is %u x %u, expected "
                          "at least %u, the prompts",
                          w->max_trips, w->n_trip_prompts, w->n_prompts);
}
