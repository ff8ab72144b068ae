/* Checks of a device against computations on the host. */
#include "config.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <nccl.h>

#include "base/error.h"
#include "exec/backend/cuda_forward.h"
#include "exec/backend/cuda_selftest.h"
#include "kernels/cpu/bf16.h"
#include "kernels/rmsnorm.h"

/* Sets @error for a CUDA call that did not succeed. */
static gboolean
cuda_ok(cudaError_t code, const char *what, GError **error)
{
  if (code == cudaSuccess)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_DEVICE, "%s failed: %s", what,
              cudaGetErrorString(code));
  return FALSE;
}

static gboolean
cublas_ok(cublasStatus_t code, const char *what, GError **error)
{
  if (code == CUBLAS_STATUS_SUCCESS)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_DEVICE, "%s failed: %s", what,
              cublasGetStatusString(code));
  return FALSE;
}

static gboolean
nccl_ok(ncclResult_t code, const char *what, GError **error)
{
  if (code == ncclSuccess)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_DEVICE, "%s failed: %s", what,
              ncclGetErrorString(code));
  return FALSE;
}

static void
device_free(void *pointer)
{
  cudaFree(pointer);
}

typedef void DeviceBuffer;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DeviceBuffer, device_free)

/* Device memory of @n_bytes, filled from @host unless that is %NULL. */
static void *
device_new(const void *host, size_t n_bytes, GError **error)
{
  void *pointer = NULL;

  if (!cuda_ok(cudaMalloc(&pointer, n_bytes), "cudaMalloc", error))
    return NULL;
  if (host &&
      !cuda_ok(cudaMemcpy(pointer, host, n_bytes, cudaMemcpyHostToDevice),
               "cudaMemcpy to the device", error)) {
    cudaFree(pointer);
    return NULL;
  }
  return pointer;
}

/* Waits for the device; an error of a kernel shows here. */
static gboolean
fetch(void *host, const void *device, size_t n_bytes, GError **error)
{
  return cuda_ok(cudaMemcpy(host, device, n_bytes, cudaMemcpyDeviceToHost),
                 "cudaMemcpy from the device", error);
}

static uint16_t *
random_bf16(GRand *rand, size_t n)
{
  uint16_t *values = g_new(uint16_t, n);

  for (size_t i = 0; i < n; i++)
    values[i] = ra_bf16_from_f32((float)g_rand_double_range(rand, -2.0, 2.0));
  return values;
}

/* The oldest driver of a major release, on Linux (CUDA Toolkit Release Notes,
 * "Minimum Required Driver Version for CUDA Minor Version Compatibility"). */
#if CUDART_VERSION >= 13000
#define OLDEST_DRIVER "580.65.06"
#else
#define OLDEST_DRIVER "525.60.13"
#endif

/* @driver: the release of CUDA that it is for, as CUDART_VERSION */
static void
set_no_device(GError **error, cudaError_t code, int driver)
{
  if (code == cudaErrorInsufficientDriver)
    g_set_error(error, RA_ERROR, RA_ERROR_NO_DEVICE,
                "no CUDA device: the driver is for CUDA %d.%d, expected %s or "
                "newer, which a build with CUDA %d.%d needs",
                driver / 1000, driver % 1000 / 10, OLDEST_DRIVER,
                CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  else
    g_set_error(error, RA_ERROR, RA_ERROR_NO_DEVICE, "no CUDA device: %s",
                code == cudaSuccess ? "none found" : cudaGetErrorString(code));
}

gboolean
ra_cuda_open(GError **error)
{
  int version = 0, n_devices = 0;
  cudaError_t code;

  /* Without a driver this succeeds and says 0. */
  code = cudaDriverGetVersion(&version);
  if (code != cudaSuccess || version == 0) {
    g_set_error_literal(error, RA_ERROR, RA_ERROR_NO_DEVICE,
                        "no CUDA driver on this machine");
    return FALSE;
  }
  code = cudaGetDeviceCount(&n_devices);
  if (code == cudaSuccess && n_devices > 0)
    code = cudaSetDevice(0);
  if (code != cudaSuccess || n_devices < 1) {
    set_no_device(error, code, version);
    return FALSE;
  }
  return ra_cuda_forward_open(error);
}

/* Runs one shape on the device and on the host; the bits must agree. */
static gboolean
check_rmsnorm_shape(GRand *rand, size_t n_rows, size_t n_hidden, GError **error)
{
  size_t n = n_rows * n_hidden, n_bytes = n * sizeof(uint16_t);
  g_autofree uint16_t *x = random_bf16(rand, n);
  g_autofree uint16_t *residual = random_bf16(rand, n);
  g_autofree uint16_t *weight = random_bf16(rand, n_hidden);
  g_autofree uint16_t *out = g_new(uint16_t, n);
  g_autofree uint16_t *got_out = g_new(uint16_t, n);
  g_autofree uint16_t *got_residual = g_new(uint16_t, n);
  g_autoptr(DeviceBuffer) d_x = device_new(x, n_bytes, error);
  g_autoptr(DeviceBuffer) d_residual =
      d_x ? device_new(residual, n_bytes, error) : NULL;
  g_autoptr(DeviceBuffer) d_weight =
      d_residual ? device_new(weight, n_hidden * sizeof *weight, error) : NULL;
  g_autoptr(DeviceBuffer) d_out =
      d_weight ? device_new(NULL, n_bytes, error) : NULL;

  if (!d_out ||
      !cuda_ok((cudaError_t)ra_k_rmsnorm(d_out, d_residual, d_x, d_weight,
                                         n_rows, n_hidden, 1e-5f, NULL),
               "launch of rmsnorm", error) ||
      !fetch(got_out, d_out, n_bytes, error) ||
      !fetch(got_residual, d_residual, n_bytes, error))
    return FALSE;
  if (ra_k_rmsnorm_ref(out, residual, x, weight, n_rows, n_hidden, 1e-5f) != 0)
    g_assert_not_reached();
  for (size_t i = 0; i < n; i++)
    if (out[i] != got_out[i] || residual[i] != got_residual[i]) {
      g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                  "rmsnorm [%zu, %zu] differs from its reference at row %zu, "
                  "column %zu: 0x%04x, expected 0x%04x",
                  n_rows, n_hidden, i / n_hidden, i % n_hidden, got_out[i],
                  out[i]);
      return FALSE;
    }
  return TRUE;
}

gboolean
ra_cuda_check_rmsnorm(guint32 seed, char **out_detail, GError **error)
{
  /* All three variants of the kernel, whole and ragged blocks. */
  static const size_t widths[] = {8, 264, 896, 4096, 8192, 8200, 16384, 32768};
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  size_t n_elements = 0;

  for (size_t i = 0; i < G_N_ELEMENTS(widths); i++) {
    size_t n_rows = 1 + (size_t)g_rand_int_range(rand, 0, 32);

    if (!check_rmsnorm_shape(rand, n_rows, widths[i], error))
      return FALSE;
    n_elements += n_rows * widths[i];
  }
  *out_detail = g_strdup_printf("%zu shapes, %zu elements, the same bits as "
                                "the reference",
                                G_N_ELEMENTS(widths), n_elements);
  return TRUE;
}

/* Shape of the GEMM C = A B, column major as in cuBLAS; ragged on purpose.
 */
enum { GEMM_M = 200, GEMM_N = 136, GEMM_K = 520 };

static gboolean
gemm_on_device(float *c, const uint16_t *a, const uint16_t *b, GError **error)
{
  const float one = 1.0f, zero = 0.0f;
  g_autoptr(DeviceBuffer) d_a =
      device_new(a, sizeof *a * GEMM_M * GEMM_K, error);
  g_autoptr(DeviceBuffer) d_b =
      d_a ? device_new(b, sizeof *b * GEMM_K * GEMM_N, error) : NULL;
  g_autoptr(DeviceBuffer) d_c =
      d_b ? device_new(NULL, sizeof *c * GEMM_M * GEMM_N, error) : NULL;
  cublasHandle_t handle;
  gboolean ok;

  if (!d_c || !cublas_ok(cublasCreate(&handle), "cublasCreate", error))
    return FALSE;
  ok = cublas_ok(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, GEMM_M, GEMM_N,
                              GEMM_K, &one, d_a, CUDA_R_16BF, GEMM_M, d_b,
                              CUDA_R_16BF, GEMM_K, &zero, d_c, CUDA_R_32F,
                              GEMM_M, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                 "cublasGemmEx", error) &&
       fetch(c, d_c, sizeof *c * GEMM_M * GEMM_N, error);
  cublasDestroy(handle);
  return ok;
}

/* The products of two bf16 are exact in fp32; each of the K additions loses at
 * most 2^-22 of the running sum of magnitudes (tensor cores truncate and align
 * to the largest term instead of rounding: Fasi, Higham, Mikaitis, Pranesh,
 * "Numerical behavior of NVIDIA tensor cores", PeerJ CS 2021; 2^-22 allows
 * four times the 2^-24 of rounding).  A lost term would be 1/K = 2e-3 of that
 * sum on average, the bound is K 2^-22 = 1.2e-4 of it.
 */
gboolean
ra_cuda_check_gemm(guint32 seed, char **out_detail, GError **error)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  g_autofree uint16_t *a = random_bf16(rand, GEMM_M * GEMM_K);
  g_autofree uint16_t *b = random_bf16(rand, GEMM_K * GEMM_N);
  g_autofree float *c = g_new0(float, GEMM_M *GEMM_N);
  double worst_frac = 0.0;

  if (!gemm_on_device(c, a, b, error))
    return FALSE;
  for (size_t n = 0; n < GEMM_N; n++)
    for (size_t m = 0; m < GEMM_M; m++) {
      double sum = 0.0, magnitude = 0.0, frac;

      for (size_t k = 0; k < GEMM_K; k++) {
        double term = (double)ra_bf16_to_f32(a[k * GEMM_M + m]) *
                      (double)ra_bf16_to_f32(b[n * GEMM_K + k]);

        sum += term;
        magnitude += fabs(term);
      }
      frac = fabs((double)c[n * GEMM_M + m] - sum) /
             (GEMM_K * 0x1p-22 * magnitude);
      if (!(frac <= 1.0)) {
        g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                    "gemm element [%zu, %zu] is %.9g, expected %.9g", m, n,
                    (double)c[n * GEMM_M + m], sum);
        return FALSE;
      }
      worst_frac = MAX(worst_frac, frac);
    }
  *out_detail = g_strdup_printf("%d x %d x %d bf16, worst error %.2g of the "
                                "bound",
                                GEMM_M, GEMM_N, GEMM_K, worst_frac);
  return TRUE;
}

enum { REDUCE_N = 100003 };

static gboolean
allreduce_on_device(float *out, const float *in, GError **error)
{
  const int device = 0;
  g_autoptr(DeviceBuffer) d_in = device_new(in, sizeof *in * REDUCE_N, error);
  g_autoptr(DeviceBuffer) d_out =
      d_in ? device_new(NULL, sizeof *out * REDUCE_N, error) : NULL;
  ncclComm_t comm;
  gboolean ok;

  if (!d_out ||
      !nccl_ok(ncclCommInitAll(&comm, 1, &device), "ncclCommInitAll", error))
    return FALSE;
  ok = nccl_ok(ncclAllReduce(d_in, d_out, REDUCE_N, ncclFloat32, ncclSum, comm,
                             NULL),
               "ncclAllReduce", error) &&
       fetch(out, d_out, sizeof *out * REDUCE_N, error);
  ncclCommDestroy(comm);
  return ok;
}

gboolean
ra_cuda_check_allreduce(guint32 seed, char **out_detail, GError **error)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  g_autofree float *in = g_new(float, REDUCE_N);
  g_autofree float *out = g_new0(float, REDUCE_N);

  for (size_t i = 0; i < REDUCE_N; i++)
    in[i] = (float)g_rand_double_range(rand, -1.0, 1.0);
  if (!allreduce_on_device(out, in, error))
    return FALSE;
  for (size_t i = 0; i < REDUCE_N; i++)
    if (in[i] < out[i] || in[i] > out[i]) {
      g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                  "all-reduce over one rank changed element %zu from %.9g to "
                  "%.9g",
                  i, (double)in[i], (double)out[i]);
      return FALSE;
    }
  *out_detail = g_strdup_printf("%d floats over one rank, unchanged", REDUCE_N);
  return TRUE;
}
