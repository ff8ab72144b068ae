/* The device on which a program runs plans, in place of this machine's cores.
 *
 * `reallot` has none (exec/accelerator_none.c).  `reallot-cuda`, the same
 * commands, has the GPU that CUDA lists first (exec/accelerator_cuda.c).  The
 * tests' `reallot-emulated` emulates one on a CPU
 * (tests/emulator/accelerator.c).  All ranks of a process share the device;
 * with NCCL each has another of its kind.
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
  const RaBackend *backend;    /* back end that runs on it */
  const char *name;            /* "NVIDIA H100 80GB HBM3" */
  const char *software;        /* "CUDA driver 13.0, runtime 13.0, ..." */
  guint64 memory_bytes;        /* total memory */
  const RaNcclApi *nccl;       /* NCCL between devices of this kind; NULL: all
                                  ranks share the device */
  const RaProbeMachine *probe; /* (nullable) what measures it */
} RaAccelerator;

/* Name of the back end that the program is linked with, "cuda"; %NULL: none. */
const char *ra_accelerator_backend(void);

/* Versions of the libraries that the program is linked with, "CUDA 13.0, ...";
 * %NULL: none. */
const char *ra_accelerator_libraries(void);

/**
 * ra_accelerator_open:
 * @error: %RA_ERROR_NO_DEVICE: no driver, no device, or the program is linked
 *   with none; %RA_ERROR_DEVICE: the device does not respond
 *
 * Thread: the main one, before any other thread uses the device.
 *
 * Returns: (transfer none) (nullable): the same device at every call
 */
const RaAccelerator *ra_accelerator_open(GError **error);

/**
 * ra_accelerator_selftest:
 * @seed: seed of the inputs
 * @out: appended to: a line per check that has passed
 * @error: as ra_accelerator_open(); %RA_ERROR_NEGATIVE: a check has found a
 *   difference
 *
 * Compares a few GEMMs and kernels with references of the host.
 */
gboolean ra_accelerator_selftest(guint32 seed, GString *out, GError **error);

#endif
