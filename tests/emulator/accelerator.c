/* The emulated device as the one that a program is linked with: what
 * exec/accelerator_cuda.c has of a GPU. */
#include "config.h"

#include "exec/accelerator.h"
#include "exec/backend_cuda.h"
#include "tests/emulator/memory.h"

const char *
ra_accelerator_backend(void)
{
  return "cuda";
}

const char *
ra_accelerator_libraries(void)
{
  return "emulated";
}

const RaAccelerator *
ra_accelerator_open(GError **error)
{
  static RaAccelerator accelerator;

  (void)error;
  accelerator = (RaAccelerator){.backend = ra_backend_cuda(),
                                .name = "emulated GPU",
                                .software = "products by definition",
                                .memory_bytes = RA_EMU_MEMORY_BYTES};
  return &accelerator;
}

gboolean
ra_accelerator_selftest(guint32 seed, GString *out, GError **error)
{
  (void)seed;
  (void)error;
  g_string_append(out, "none: the tests are\n");
  return TRUE;
}
