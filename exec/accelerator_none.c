/* No device: replaces exec/accelerator_cuda.c in programs without one. */
#include "config.h"

#include "base/error.h"
#include "exec/accelerator.h"

const char *
ra_accelerator_backend(void)
{
  return NULL;
}

const char *
ra_accelerator_libraries(void)
{
  return NULL;
}

const RaAccelerator *
ra_accelerator_open(GError **error)
{
  g_set_error_literal(error, RA_ERROR, RA_ERROR_NO_DEVICE,
                      "this program is linked with no device");
  return NULL;
}

gboolean
ra_accelerator_selftest(guint32 seed, GString *out, GError **error)
{
  (void)seed;
  (void)out;
  return ra_accelerator_open(error) != NULL;
}
