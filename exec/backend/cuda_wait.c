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

/* "Not ready" is kept as the thread's last error, which its next kernel would
 * be told to have failed with.  A look may be the last one: it takes itself
 * away. */
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
