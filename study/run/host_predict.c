/* Prediction of a plan's iterations on a calibrated host. */
#include "config.h"

#include <math.h>

#include "study/replay.h"
#include "study/run/host.h"

gboolean
ra_host_is_profile(const RaProfile *profile)
{
  return ra_profile_law(profile, "gemm.fp32") &&
         !ra_profile_law(profile, "gemm.bf16");
}

double *
ra_host_predict(const RaSetup *setup, uint32_t n_iterations, uint64_t seed,
                GError **error)
{
  RaReplayOptions o = {.n_iterations = n_iterations,
                       .fidelity = RA_FIDELITY_STAGE,
                       .seed = seed,
                       .unfolded = TRUE,
                       .record = TRUE};
  g_autoptr(RaReplay) replay = ra_replay_new(setup, &o, error);
  g_autoptr(RaTrace) trace = replay ? ra_replay_trace(setup, replay) : NULL;
  double *s = trace ? g_new0(double, n_iterations + 1) : NULL;

  for (guint i = 0; trace && i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);

    s[row->iteration] = fmax(s[row->iteration], row->end_s);
  }
  for (uint32_t k = n_iterations; s && k-- > 1;)
    s[k] -= s[k - 1];
  return s;
}
