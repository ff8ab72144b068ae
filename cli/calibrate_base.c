/* Base profile of a calibration, and the display of a fit. */
#include "config.h"

#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/calibrate_base.h"
#include "estimator/calibrate/gpu.h"

#define PROFILE_BYTES_MAX (4u << 20) /* as of any key file */
/* Whose seconds a plan is of where nothing else is said. */
#define DEFAULT_GPU "h100-sxm"

void
ra_calibrate_base_clear(RaCalibrateBase *b)
{
  g_free(b->path);
  g_free(b->text);
  ra_profile_free(b->profile);
}

static const char *
class_of(const char *name, const RaAccelerator *device, GError **error)
{
  const RaGpu *gpu;

  if (name) {
    gpu = ra_gpu_named(name, error);
    return gpu ? gpu->name : NULL;
  }
  if (!device)
    return DEFAULT_GPU;
  gpu = ra_gpu_find(device->name);
  if (gpu)
    return gpu->name;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "--backend: no profile is shipped for '%s', expected --gpu GPU "
              "or --refit PROFILE for the data sheet and the links",
              device->name);
  return NULL;
}

gboolean
ra_calibrate_base_load(const char *gpu, const char *refit,
                       const RaAccelerator *device, RaCalibrateBase *out,
                       GError **error)
{
  g_autofree char *name = g_strdup(refit);
  g_autoptr(RaKeyFile) file = NULL;
  gsize n_bytes;

  if (!name) {
    const char *class = class_of(gpu, device, error);

    if (!class)
      return FALSE;
    name = g_strconcat(class, ".profile", NULL);
  }
  out->path = ra_share_find("profiles", name, NULL, error);
  if (!out->path ||
      !ra_file_read(out->path, PROFILE_BYTES_MAX, &out->text, &n_bytes, error))
    return FALSE;
  file = ra_key_file_parse(out->path, out->text, n_bytes, error);
  out->profile = file ? ra_profile_load(file, error) : NULL;
  return out->profile != NULL;
}

void
ra_calibrate_show_law(const char *law)
{
  fprintf(stderr, "\r\033[Kfitting %s ...", law);
}

void
ra_calibrate_print_notes(const GPtrArray *notes)
{
  for (guint i = 0; i < notes->len; i++)
    fprintf(stderr, "reallot: %s\n", (char *)g_ptr_array_index(notes, i));
}
