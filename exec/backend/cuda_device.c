/* Device memory, copies and the stream of a thread, by the CUDA runtime. */
#include "config.h"

#include <cuda_runtime_api.h>

#include "exec/backend/cuda_device.h"
#include "exec/backend/cuda_wait.h"

/* Clears the error of memory that there is not, which the next launch would
 * report as its own. */
static void *
given(cudaError_t code, void *memory)
{
  if (code == cudaSuccess)
    return memory;
  cudaGetLastError();
  return NULL;
}

void *
ra_device_alloc(size_t n_bytes)
{
  void *memory = NULL;
  cudaError_t code;

  ra_device_look_before();
  code = cudaMalloc(&memory, n_bytes + 1);
  return given(code, memory);
}

void
ra_device_free(void *memory)
{
  ra_device_look_before();
  cudaFree(memory);
}

void *
ra_device_alloc_host(size_t n_bytes)
{
  void *memory = NULL;
  cudaError_t code;

  ra_device_look_before();
  code = cudaMallocHost(&memory, n_bytes + 1);
  return given(code, memory);
}

void
ra_device_free_host(void *memory)
{
  ra_device_look_before();
  cudaFreeHost(memory);
}

void *
ra_device_stream(void)
{
  return cudaStreamPerThread;
}

unsigned
ra_device_n_processors(void)
{
  int n = 0, device = 0;

  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device) !=
          cudaSuccess)
    return 1;
  return (unsigned)(n > 1 ? n : 1);
}

int
ra_device_zero(void *to, size_t n_bytes)
{
  if (n_bytes == 0)
    return 0;
  return (int)cudaMemsetAsync(to, 0, n_bytes, cudaStreamPerThread);
}

static int
copy(void *to, const void *from, size_t n_bytes, enum cudaMemcpyKind kind)
{
  if (n_bytes == 0)
    return 0;
  return (int)cudaMemcpyAsync(to, from, n_bytes, kind, cudaStreamPerThread);
}

int
ra_device_copy(void *to, const void *from, size_t n_bytes)
{
  return copy(to, from, n_bytes, cudaMemcpyDeviceToDevice);
}

int
ra_device_copy_rect(void *to, size_t to_pitch, const void *from,
                    size_t from_pitch, size_t n_bytes, size_t n_rows)
{
  if (n_bytes == 0 || n_rows == 0)
    return 0;
  return (int)cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, n_bytes, n_rows,
                                cudaMemcpyDeviceToDevice, cudaStreamPerThread);
}

int
ra_device_read(void *to, const void *from, size_t n_bytes)
{
  int code = copy(to, from, n_bytes, cudaMemcpyDeviceToHost);

  return code ? code : ra_device_wait();
}

int
ra_device_write(void *to, const void *from, size_t n_bytes)
{
  return copy(to, from, n_bytes, cudaMemcpyDefault);
}

int
ra_device_wait(void)
{
  return ra_device_until(NULL);
}

const char *
ra_device_error(int code)
{
  return cudaGetErrorString((cudaError_t)code);
}
