/* Fuzz entry of trainers' logs: no text may crash the reader, and what it keeps
 * ascends and has times. */
#include "config.h"

#include <math.h>

#include "study/run/step_log.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  GError *error = NULL;
  g_autoptr(RaStepLog) log =
      ra_step_log_parse("f.log", (const char *)data, size, &error);

  fuzz_accepted = log != NULL;
  if (!fuzz_check_error(fuzz_accepted, error))
    return 0;
  g_assert(log->steps->len > 0);
  for (guint i = 0; i < log->steps->len; i++) {
    const RaLogStep *step = &g_array_index(log->steps, RaLogStep, i);
    double sum_s = 0;

    g_assert(i == 0 || step->step > step[-1].step);
    for (guint p = 0; p < RA_N_STEP_PHASES; p++) {
      g_assert(isfinite(step->times.s[p]) && step->times.s[p] >= 0);
      sum_s += step->times.s[p];
    }
    g_assert(sum_s > 0);
  }
  return 0;
}
