/* The emulated device as the accelerator of a program, in place of
 * exec/accelerator_cuda.c. */
#include "config.h"

#include "exec/accelerator.h"
#include "exec/backend/backend_cuda.h"
#include "exec/comm/world.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/nccl.h"
#include "tests/emulator/queue.h"

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
  if (accelerator.backend)
    return &accelerator;
  nccl_double_set_memory(ra_emu_nccl_memory());
  ra_emu_late_ops(TRUE);
  nccl_double_begin(G_MAXINT, 1); /* nobody knows who comes: no watchdog */
  if (ra_world_is_linked())
    nccl_double_go_far();
  nccl_double_obey(g_getenv("NCCL_DOUBLE"));
  accelerator = (RaAccelerator){.backend = ra_backend_cuda(),
                                .name = "emulated GPU",
                                .software = "products by definition",
                                .memory_bytes = RA_EMU_MEMORY_BYTES,
                                .nccl = nccl_double(),
                                .probe = ra_probe_machine_cuda()};
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
