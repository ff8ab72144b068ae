/* The GPU that CUDA lists first, as the device of reallot-cuda. */
#include "config.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include "base/error.h"
#include "exec/accelerator.h"
#include "exec/backend/backend_cuda.h"
#include "exec/backend/cuda_forward.h"
#include "exec/backend/cuda_selftest.h"

const char *
ra_accelerator_backend(void)
{
  return "cuda";
}

/* 13000 is 13.0. */
static void
add_version(GString *out, const char *what, int version)
{
  g_string_append_printf(out, "%s%s %d.%d", out->len > 0 ? ", " : "", what,
                         version / 1000, version % 1000 / 10);
}

static void
add_libraries(GString *out)
{
  size_t cublas = cublasGetCudartVersion();
  int version = 0;

  if (cudaRuntimeGetVersion(&version) == cudaSuccess)
    add_version(out, "CUDA", version);
  if (cublas > 0) /* else there is none */
    g_string_append_printf(out, ", cuBLAS for CUDA %zu.%zu", cublas / 1000,
                           cublas % 1000 / 10);
  if (ncclGetVersion(&version) == ncclSuccess)
    g_string_append_printf(out, ", NCCL %d.%d.%d", version / 10000,
                           version / 100 % 100, version % 100);
}

const char *
ra_accelerator_libraries(void)
{
  static GString *text;

  if (!text) {
    text = g_string_new(NULL);
    add_libraries(text);
  }
  return text->str;
}

static gboolean
describe(RaAccelerator *a, GError **error)
{
  static struct cudaDeviceProp properties;
  GString *software = g_string_new(NULL);
  int device = 0, driver = 0;
  cudaError_t code = cudaGetDevice(&device);

  if (code == cudaSuccess)
    code = cudaGetDeviceProperties(&properties, device);
  if (code == cudaSuccess)
    code = cudaDriverGetVersion(&driver);
  if (code != cudaSuccess) {
    g_set_error(error, RA_ERROR, RA_ERROR_DEVICE,
                "the CUDA device does not answer: %s",
                cudaGetErrorString(code));
    g_string_free(software, TRUE);
    return FALSE;
  }
  add_version(software, "driver of CUDA", driver);
  g_string_append_printf(software, ", %s", ra_accelerator_libraries());
  a->backend = ra_backend_cuda();
  a->name = properties.name;
  a->software = g_string_free(software, FALSE);
  a->memory_bytes = properties.totalGlobalMem;
  a->nccl = ra_cuda_forward_has_nccl() ? ra_nccl_cuda() : NULL;
  a->probe = ra_probe_machine_cuda();
  return TRUE;
}

/* Variables that the driver and NCCL read at their first call, unless the
 * user has set them.  A kernel's first launch loads its module, which may
 * wait for the device while a receive spins on it (CUDA C Programming Guide,
 * lazy loading, concurrent execution).  Streams beyond 8 share hardware
 * queues, so that a compute stream may stand behind a receive.  Shared
 * resources: see nccl_cuda.c, split(). */
static void
set_environment(void)
{
  g_setenv("CUDA_MODULE_LOADING", "EAGER", FALSE);
  g_setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", FALSE);
  g_setenv("NCCL_COMM_SPLIT_SHARE_RESOURCES", "0", TRUE);
}

const RaAccelerator *
ra_accelerator_open(GError **error)
{
  static RaAccelerator accelerator;

  if (!accelerator.backend)
    set_environment();
  if (!accelerator.backend &&
      (!ra_cuda_open(error) || !describe(&accelerator, error)))
    return NULL;
  return &accelerator;
}

gboolean
ra_accelerator_selftest(guint32 seed, GString *out, GError **error)
{
  static const struct {
    const char *name;
    RaCudaCheck check;
  } checks[] = {
      {"rmsnorm", ra_cuda_check_rmsnorm},
      {"gemm", ra_cuda_check_gemm},
      {"allreduce", ra_cuda_check_allreduce},
  };

  if (!ra_cuda_open(error))
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS(checks); i++) {
    g_autofree char *detail = NULL;

    if (!checks[i].check(seed, &detail, error))
      return FALSE;
    g_string_append_printf(out, "%-10s ok: %s\n", checks[i].name, detail);
  }
  return TRUE;
}
