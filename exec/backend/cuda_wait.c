/* Waits for the GPU, blocking or polling. */
#include "config.h"

#include <cuda_runtime_api.h>

#include "exec/backend/cuda_device.h"
#include "exec/backend/cuda_wait.h"

static _Thread_local RaDeviceLook look;
static _Thread_local void *look_data;

void
ra_device_look_with(RaDeviceLook with, void *data)
{
  look = with;
  look_data = data;
}

static cudaError_t
query(void *event)
{
  return event ? cudaEventQuery((cudaEvent_t)event)
               : cudaStreamQuery(cudaStreamPerThread);
}

/* "Not ready" stays as the thread's last error, which the check of its next
 * kernel would report.  A poll may be the last one: it then unregisters
 * itself. */
int
ra_device_until(void *event)
{
  cudaError_t code;

  if (!look)
    return (int)(event ? cudaEventSynchronize((cudaEvent_t)event)
                       : cudaStreamSynchronize(cudaStreamPerThread));
  while ((code = query(event)) == cudaErrorNotReady) {
    cudaGetLastError();
    if (look)
      look(look_data, 0);
  }
  if (look)
    look(look_data, 1);
  return (int)code;
}

void
ra_device_look_before(void)
{
  if (look)
    ra_device_until(NULL);
}
