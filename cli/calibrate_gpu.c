/* reallot calibrate --backend=cuda: the GPU of this machine, measured. */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/calibrate_base.h"
#include "cli/calibrate_gpu.h"
#include "cli/calibrate_samples.h"
#include "cli/output.h"
#include "study/run/gpu_profile.h"

static gboolean
print_plan(const RaCalibrateGpu *what, const RaCalibrateBase *base,
           GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);
  RaProbePlanTally tally;
  g_autoptr(GArray) plan =
      ra_gpu_plan(base->profile, NULL, what->quick, &tally, error);

  if (!plan)
    return FALSE;
  ra_gpu_plan_write(plan, &tally, out);
  return ra_output_write(what->output, out->str, out->len, error);
}

static RaCalibration *
measure(const RaCalibrateGpu *what, const RaCalibrateBase *base, GError **error)
{
  gint64 begin_us = g_get_monotonic_time();
  gboolean watched = isatty(STDERR_FILENO);
  g_autofree char *path = ra_cli_samples_path(what->output);
  g_autofree char *command = g_strdup_printf(
      "reallot calibrate --backend=cuda%s%s%s", what->quick ? " --quick" : "",
      what->output ? " -o " : "", what->output ? what->output : "");
  g_autoptr(RaTrace) samples = NULL;
  RaCalibration *calibration;
  RaSampleTally tally;
  const RaGpuOptions o = {.machine = what->device->probe,
                          .name = what->device->name,
                          .software = what->device->software,
                          .command = command,
                          .base = base->profile,
                          .quick = what->quick,
                          .progress = watched ? ra_cli_samples_show : NULL,
                          .progress_data = &begin_us};

  samples = ra_gpu_samples(&o, path, &tally, error);
  if (watched)
    fprintf(stderr, "\r\033[K");
  if (!samples)
    return NULL;
  ra_cli_samples_say(&tally, what->device->name, path, begin_us);
  calibration =
      ra_gpu_profile(samples, path ? path : "samples", base->path, base->text,
                     watched ? ra_calibrate_show_law : NULL, error);
  if (watched)
    fprintf(stderr, "\r\033[K");
  return calibration;
}

gboolean
ra_calibrate_gpu(const RaCalibrateGpu *what, GError **error)
{
  g_autoptr(RaCalibration) calibration = NULL;
  g_auto(RaCalibrateBase) base = {0};

  if (!ra_calibrate_base_load(what->gpu, what->refit, what->device, &base,
                              error))
    return FALSE;
  if (!what->device)
    return print_plan(what, &base, error);
  calibration = measure(what, &base, error);
  if (!calibration)
    return FALSE;
  ra_calibrate_print_notes(calibration->notes);
  return ra_output_write(what->output, calibration->text->str,
                         calibration->text->len, error);
}
