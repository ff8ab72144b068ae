/* The one place where a thread waits for its GPU: every function of
 * exec/backend/cuda_*.c that waits goes through here, and looks meanwhile where
 * it is told to (ra_device_look_with()).
 *
 * A copy from pageable memory (ra_device_write()) may wait for the stream
 * inside the driver, as CUDA's text has it, and nobody looks then: words go
 * through pinned memory (ra_cuda_upload()); rows from a pipeline's host and
 * gradients of a head do not.
 *
 * Those that return an int return a cudaError_t.
 */
#ifndef RA_EXEC_BACKEND_CUDA_WAIT_H
#define RA_EXEC_BACKEND_CUDA_WAIT_H

/* Until @event, a cudaEvent_t, is reached; NULL: all that the thread's own
 * stream has. */
int ra_device_until(void *event);

/* The same of all before a call that waits for the device inside the driver,
 * where nobody would look. */
void ra_device_look_before(void);

#endif
