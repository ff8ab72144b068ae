/* A GPU's queues of copies beside the one that a thread computes in
 * (exec/backend/cuda_device.h), and the events that order queues, in C.
 *
 * exec/backend/cuda_queue.c has them on the CUDA runtime, tests/emulator on a
 * CPU, where a copy is made when somebody waits for it, or at any time before.
 *
 *     ra_device_event_record(event, NULL);      what the thread has begun
 *     ra_device_queue_follow(queue, event);     comes before
 *     ra_device_queue_copy(queue, to, from, n, 1);
 *
 * Those that return an int return a cudaError_t.
 */
#ifndef RA_EXEC_BACKEND_CUDA_QUEUE_H
#define RA_EXEC_BACKEND_CUDA_QUEUE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RaDeviceQueue RaDeviceQueue;
typedef struct RaDeviceEvent RaDeviceEvent;

/* (nullable) (transfer full): of this thread's device; ra_device_queue_free()
 * it: what it was given goes on. */
RaDeviceQueue *ra_device_queue_new(void);
void ra_device_queue_free(RaDeviceQueue *queue);

/* @n_bytes between the device and pinned memory of the host. */
int ra_device_queue_copy(RaDeviceQueue *queue, void *to, const void *from,
                         size_t n_bytes, int to_host);

/* (nullable) (transfer full): ra_device_event_free() it, at any time */
RaDeviceEvent *ra_device_event_new(void);
void ra_device_event_free(RaDeviceEvent *event);

/* When all that @queue (nullable: the thread's own) was given has ended; one
 * that has not been recorded has been reached. */
int ra_device_event_record(RaDeviceEvent *event, RaDeviceQueue *queue);
/* What @queue (nullable, likewise) is given next waits for @event. */
int ra_device_queue_follow(RaDeviceQueue *queue, const RaDeviceEvent *event);
/* The host waits. */
int ra_device_event_wait(const RaDeviceEvent *event);
/* Seconds between two that have been reached. */
int ra_device_event_s(const RaDeviceEvent *from, const RaDeviceEvent *to,
                      double *out_s);

#ifdef __cplusplus
}
#endif

#endif
