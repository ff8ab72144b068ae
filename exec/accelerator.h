/* The device that a program runs plans on, beside this machine's cores.
 *
 * `reallot` has none (exec/accelerator_none.c); `reallot-cuda`, the same
 * commands, has the GPU that CUDA puts first (exec/accelerator_cuda.c); the
 * tests' `reallot-emulated` one on a CPU (tests/emulator/accelerator.c).  All
 * ranks of a process share it, or with NCCL each has another of its kind.
 *
 *     const RaAccelerator *device = ra_accelerator_open(&error);
 *     options.accelerator = device;
 */
#ifndef RA_EXEC_ACCELERATOR_H
#define RA_EXEC_ACCELERATOR_H

#include "exec/backend/backend.h"
#include "exec/comm/nccl_api.h"
#include "exec/measure/probe_machine.h"

typedef struct {
  const RaBackend *backend; /* its table */
  const char *name;         /* "NVIDIA H100 80GB HBM3" */
  const char *software;     /* "CUDA driver 13.0, runtime 13.0, ..." */
  guint64 memory_bytes;     /* all that it has */
  const RaNcclApi *nccl; /* what carries from its kind to its kind, if not all
                            ranks share it */
  const RaProbeMachine *probe; /* to measure it by */
} RaAccelerator;

/* The name of the back end that the program is linked with, "cuda"; %NULL:
 * none. */
const char *ra_accelerator_backend(void);

/* Versions of the libraries that it is linked with, "CUDA 13.0, ..."; %NULL:
 * none. */
const char *ra_accelerator_libraries(void);

/**
 * ra_accelerator_open:
 * @error: %RA_ERROR_NO_DEVICE: no driver, no device, or the program is linked
 *   with none; %RA_ERROR_DEVICE: it does not answer
 *
 * Thread: the main one, before any other uses the device.
 *
 * Returns: (transfer none) (nullable): the same every time
 */
const RaAccelerator *ra_accelerator_open(GError **error);

/**
 * ra_accelerator_selftest:
 * @seed: of the inputs
 * @out: a line a check that has passed is added
 * @error: as ra_accelerator_open(); %RA_ERROR_NEGATIVE: a check has found a
 *   difference
 *
 * A few products and kernels against references of the host.
 */
gboolean ra_accelerator_selftest(guint32 seed, GString *out, GError **error);

#endif
