/* The one place where a thread waits for its GPU.
 *
 * Every function of exec/backend/cuda_*.c that waits uses it, and polls if
 * ra_device_look_with() has asked for that.
 *
 * A copy from pageable memory (ra_device_write()) may wait for the stream
 * inside the driver, as CUDA's documentation says, where no poll runs.  Words
 * therefore go through pinned memory (ra_cuda_upload()); rows from a pipeline's
 * host and gradients of a head do not.
 *
 * Functions that return an int return a cudaError_t.
 */
#ifndef RA_EXEC_BACKEND_CUDA_WAIT_H
#define RA_EXEC_BACKEND_CUDA_WAIT_H

/* Waits for @event, a cudaEvent_t; NULL: for all work of the thread's
 * stream. */
int ra_device_until(void *event);

/* Polls until the thread's stream is idle, before a call that waits inside the
 * driver, where no poll runs. */
void ra_device_look_before(void);

#endif
