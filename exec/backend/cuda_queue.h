/* Copy queues of a GPU that run concurrently with a thread's stream
 * (exec/backend/cuda_device.h), and the events that order queues, in C.
 *
 * exec/backend/cuda_queue.c implements them on the CUDA runtime, tests/emulator
 * on a CPU, where a copy is made when it is waited for or at any time before.
 *
 *     ra_device_event_record(event, NULL);      the thread's ops so far
 *     ra_device_queue_follow(queue, event);     precede
 *     ra_device_queue_copy(queue, to, from, n, 1);
 *
 * Functions that return an int return a cudaError_t.
 */
#ifndef RA_EXEC_BACKEND_CUDA_QUEUE_H
#define RA_EXEC_BACKEND_CUDA_QUEUE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RaDeviceQueue RaDeviceQueue;
typedef struct RaDeviceEvent RaDeviceEvent;

/* (nullable) (transfer full): queue on this thread's device.  Free with
 * ra_device_queue_free(); copies in progress continue. */
RaDeviceQueue *ra_device_queue_new(void);
void ra_device_queue_free(RaDeviceQueue *queue);

/* Copies @n_bytes between the device and pinned host memory. */
int ra_device_queue_copy(RaDeviceQueue *queue, void *to, const void *from,
                         size_t n_bytes, int to_host);

/* (nullable) (transfer full): free with ra_device_event_free(), at any time */
RaDeviceEvent *ra_device_event_new(void);
void ra_device_event_free(RaDeviceEvent *event);

/* Records the end of all work in @queue (nullable: the thread's stream).  An
 * event that was never recorded counts as reached. */
int ra_device_event_record(RaDeviceEvent *event, RaDeviceQueue *queue);
/* Makes later work in @queue (nullable: the thread's stream) wait for
 * @event. */
int ra_device_queue_follow(RaDeviceQueue *queue, const RaDeviceEvent *event);
/* Makes the host wait for @event. */
int ra_device_event_wait(const RaDeviceEvent *event);
/* Seconds between two events that have been reached. */
int ra_device_event_s(const RaDeviceEvent *from, const RaDeviceEvent *to,
                      double *out_s);

#ifdef __cplusplus
}
#endif

#endif
