/* tests/device/device_array.h on a CUDA device: managed memory, and a program
 * that is skipped if there is no device, or fails if RA_REQUIRE_GPU=yes
 * (`make check-gpu`).
 */
#ifndef RA_TESTS_DEVICE_GPU_ARRAY_H
#define RA_TESTS_DEVICE_GPU_ARRAY_H

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The device has an order of its own. */
static inline void
device_seed(uint64_t seed)
{
  (void)seed;
}

static inline void *
device_new(gsize n_bytes)
{
  void *p = NULL;
  cudaError_t code = cudaMallocManaged(&p, n_bytes + 16, cudaMemAttachGlobal);

  ck_assert_msg(code == cudaSuccess, "cudaMallocManaged: %s",
                cudaGetErrorString(code));
  return p;
}

static inline void
device_free(void *p)
{
  cudaFree(p);
}

static inline int
device_done(int status)
{
  cudaError_t code = cudaDeviceSynchronize();

  return status ? status : (int)code;
}

static inline gboolean
device_answers(void)
{
  int n = 0;

  return cudaGetDeviceCount(&n) == cudaSuccess && n > 0;
}

/* TRUE if there is a device.  It asks in another process, as a process that
 * forks after CUDA has started cannot use it.  If tests do not fork
 * (CK_FORK=no) it asks in this process: a tool such as compute-sanitizer may
 * serve this process only. */
static inline gboolean
device_is_there(void)
{
  int status = 1;
  pid_t child;

  if (g_strcmp0(g_getenv("CK_FORK"), "no") == 0)
    return device_answers();
  child = fork();
  if (child == 0)
    _exit(device_answers() ? 0 : 1);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static inline int
device_main(Suite *(*make_suite)(void))
{
  const char *required = g_getenv("RA_REQUIRE_GPU");

  if (device_is_there())
    return ra_check_run(make_suite());
  if (g_strcmp0(required, "yes") == 0) {
    printf("1..1\nnot ok 1 - no CUDA device\n");
    return EXIT_FAILURE;
  }
  printf("1..0 # SKIP no CUDA device\n");
  return EXIT_SUCCESS;
}

#define RA_DEVICE_MAIN(make_suite)                                             \
  int main(void) { return device_main(make_suite); }

#endif
