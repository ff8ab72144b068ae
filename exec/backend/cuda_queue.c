/* Copy queues and events, by the CUDA runtime. */
#include "config.h"

#include <cuda_runtime_api.h>

#include "exec/backend/cuda_queue.h"
#include "exec/backend/cuda_wait.h"

/* Both are the runtime's own handles. */
static cudaStream_t
stream_of(RaDeviceQueue *queue)
{
  return queue ? (cudaStream_t)(void *)queue : cudaStreamPerThread;
}

static cudaEvent_t
event_of(const RaDeviceEvent *event)
{
  return (cudaEvent_t)(void *)event;
}

/* A non-blocking stream: the legacy stream, which nothing here uses, does not
 * delay it. */
RaDeviceQueue *
ra_device_queue_new(void)
{
  cudaStream_t stream = NULL;

  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
    return NULL;
  return (RaDeviceQueue *)(void *)stream;
}

void
ra_device_queue_free(RaDeviceQueue *queue)
{
  if (queue)
    cudaStreamDestroy(stream_of(queue));
}

int
ra_device_queue_copy(RaDeviceQueue *queue, void *to, const void *from,
                     size_t n_bytes, int to_host)
{
  if (n_bytes == 0)
    return 0;
  return (int)cudaMemcpyAsync(to, from, n_bytes,
                              to_host ? cudaMemcpyDeviceToHost
                                      : cudaMemcpyHostToDevice,
                              stream_of(queue));
}

RaDeviceEvent *
ra_device_event_new(void)
{
  cudaEvent_t event = NULL;

  return cudaEventCreate(&event) == cudaSuccess ? (RaDeviceEvent *)(void *)event
                                                : NULL;
}

void
ra_device_event_free(RaDeviceEvent *event)
{
  if (event)
    cudaEventDestroy(event_of(event));
}

int
ra_device_event_record(RaDeviceEvent *event, RaDeviceQueue *queue)
{
  return (int)cudaEventRecord(event_of(event), stream_of(queue));
}

int
ra_device_queue_follow(RaDeviceQueue *queue, const RaDeviceEvent *event)
{
  return (int)cudaStreamWaitEvent(stream_of(queue), event_of(event), 0);
}

int
ra_device_event_wait(const RaDeviceEvent *event)
{
  return ra_device_until(event_of(event));
}

int
ra_device_event_s(const RaDeviceEvent *from, const RaDeviceEvent *to,
                  double *out_s)
{
  float ms = 0;
  cudaError_t code = cudaEventElapsedTime(&ms, event_of(from), event_of(to));

  *out_s = 1e-3 * (double)ms;
  return (int)code;
}
