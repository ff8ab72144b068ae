/* reallot calibrate --backend=cuda: the GPU of this machine, measured. */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/calibrate_gpu.h"
#include "cli/calibrate_samples.h"
#include "cli/output.h"
#include "study/calibrate_gpu.h"
#include "study/gpu.h"

#define PROFILE_BYTES_MAX (4u << 20) /* as of any key file */
/* Whose seconds a plan is of where nothing else is said. */
#define DEFAULT_GPU "h100-sxm"

typedef struct {
  char *path;         /* owned */
  char *text;         /* owned */
  RaProfile *profile; /* owned */
} Base;

static void
base_clear(Base *b)
{
  g_free(b->path);
  g_free(b->text);
  ra_profile_free(b->profile);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Base, base_clear)

static const char *
class_of(const RaCalibrateGpu *what, GError **error)
{
  const RaGpu *gpu;

  if (what->gpu) {
    gpu = ra_gpu_named(what->gpu, error);
    return gpu ? gpu->name : NULL;
  }
  if (!what->device)
    return DEFAULT_GPU;
  gpu = ra_gpu_find(what->device->name);
  if (gpu)
    return gpu->name;
  g_set_error(
      error, RA_ERROR, RA_ERROR_INPUT,
      "--backend: '%s' is no GPU that a profile is shipped of, expected "
      "--gpu GPU or --refit PROFILE, whose data sheet and links it has",
      what->device->name);
  return NULL;
}

static gboolean
load_base(const RaCalibrateGpu *what, Base *out, GError **error)
{
  g_autofree char *name = g_strdup(what->refit);
  g_autoptr(RaKeyFile) file = NULL;
  gsize n_bytes;

  if (!name) {
    const char *gpu = class_of(what, error);

    if (!gpu)
      return FALSE;
    name = g_strconcat(gpu, ".profile", NULL);
  }
  out->path = ra_data_find("profiles", name, NULL, error);
  if (!out->path ||
      !ra_file_read(out->path, PROFILE_BYTES_MAX, &out->text, &n_bytes, error))
    return FALSE;
  file = ra_key_file_parse(out->path, out->text, n_bytes, error);
  out->profile = file ? ra_profile_load(file, error) : NULL;
  return out->profile != NULL;
}

static gboolean
print_plan(const RaCalibrateGpu *what, const Base *base, GError **error)
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

static void
show_law(const char *law)
{
  fprintf(stderr, "\r\033[Kfitting %s ...", law);
}

static RaCalibration *
measure(const RaCalibrateGpu *what, const Base *base, GError **error)
{
  gint64 begin_us = g_get_monotonic_time();
  gboolean watched = isatty(STDERR_FILENO);
  g_autofree char *path = ra_samples_path(what->output);
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
                          .progress = watched ? ra_samples_show : NULL,
                          .progress_data = &begin_us};

  samples = ra_gpu_samples(&o, path, &tally, error);
  if (watched)
    fprintf(stderr, "\r\033[K");
  if (!samples)
    return NULL;
  ra_samples_say(&tally, what->device->name, path, begin_us);
  calibration = ra_gpu_profile(samples, path ? path : "samples", base->path,
                               base->text, watched ? show_law : NULL, error);
  if (watched)
    fprintf(stderr, "\r\033[K");
  return calibration;
}

gboolean
ra_calibrate_gpu(const RaCalibrateGpu *what, GError **error)
{
  g_autoptr(RaCalibration) calibration = NULL;
  g_auto(Base) base = {0};

  if (!load_base(what, &base, error))
    return FALSE;
  if (!what->device)
    return print_plan(what, &base, error);
  calibration = measure(what, &base, error);
  if (!calibration)
    return FALSE;
  for (guint i = 0; i < calibration->notes->len; i++)
    fprintf(stderr, "reallot: %s\n",
            (const char *)g_ptr_array_index(calibration->notes, i));
  return ra_output_write(what->output, calibration->text->str,
                         calibration->text->len, error);
}
