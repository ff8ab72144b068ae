/* Expected error of a prediction. */
#include "config.h"

#include <math.h>

#include "study/model_error.h"

double
ra_model_error(const RaSetup *setup, const char **out_source)
{
  RaProfileError laws;

  if (setup->system && isfinite(setup->system->error_median_frac)) {
    *out_source = "held-out median error of the system's iterations";
    return setup->system->error_median_frac;
  }
  laws = ra_profile_error(setup->profile);
  *out_source = "largest held-out median error of the GPU's laws";
  return laws.most_frac;
}
