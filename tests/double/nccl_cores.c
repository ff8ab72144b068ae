/* This machine's cores as GPUs that the double of NCCL carries between: a
 * program that runs plans over NCCL, in several processes, as quickly as over
 * MPI.  Beside it tests/reallot-emulated-mpi has a device's memory and kernels.
 */
#include "config.h"

#include "exec/accelerator.h"
#include "exec/backend/backend.h"
#include "tests/double/nccl_double.h"

const char *
ra_accelerator_backend(void)
{
  return "cuda";
}

const char *
ra_accelerator_libraries(void)
{
  return "cores";
}

const RaAccelerator *
ra_accelerator_open(GError **error)
{
  static RaAccelerator accelerator;

  if (accelerator.backend)
    return &accelerator;
  nccl_double_begin(G_MAXINT, 1); /* nobody knows who comes: no watchdog */
  nccl_double_add_in_order(TRUE);
  nccl_double_go_far();
  nccl_double_obey(g_getenv("NCCL_DOUBLE"));
  accelerator = (RaAccelerator){.name = "cores as GPUs",
                                .software = "none",
                                .memory_bytes = (guint64)1 << 30,
                                .nccl = nccl_double()};
  accelerator.backend = ra_backend_host(error);
  return accelerator.backend ? &accelerator : NULL;
}

gboolean
ra_accelerator_selftest(guint32 seed, GString *out, GError **error)
{
  (void)seed;
  (void)error;
  g_string_append(out, "none: the tests are\n");
  return TRUE;
}
