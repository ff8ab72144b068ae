/* Measurements on a GPU, in C: timers and marks, captured graphs, cache and
 * memory sizes.  Private to exec/measure/probe_cuda.c and
 * exec/backend/backend_cuda*.c.
 *
 * exec/backend/cuda_measure.c implements them on the CUDA runtime,
 * tests/emulator on a CPU, where a test sets the times
 * (tests/emulator/measure.h).
 *
 * Functions that return an int return a cudaError_t.
 */
#ifndef RA_EXEC_BACKEND_CUDA_MEASURE_H
#define RA_EXEC_BACKEND_CUDA_MEASURE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A timer: two events of this thread's stream. */
typedef struct RaDeviceTimer RaDeviceTimer;

/* (nullable) (transfer full): free with ra_device_timer_free() */
RaDeviceTimer *ra_device_timer_new(void);
void ra_device_timer_free(RaDeviceTimer *timer);
/* Starts after all that this thread has begun. */
int ra_device_timer_start(RaDeviceTimer *timer);
/* Waits; @out_ms: milliseconds from the start to the end of the last work
 * begun. */
int ra_device_timer_stop(RaDeviceTimer *timer, float *out_ms);

/* Marks in this thread's stream: events of a pool. */
typedef struct RaDeviceMarks RaDeviceMarks;

/* (nullable) (transfer full): up to @n_most marks at a time; free with
 * ra_device_marks_free() */
RaDeviceMarks *ra_device_marks_new(unsigned n_most);
void ra_device_marks_free(RaDeviceMarks *marks);
/* Marks the end of all that this thread has begun.  @out_mark: its number. */
int ra_device_mark(RaDeviceMarks *marks, unsigned *out_mark);
/* Waits for all marks; @out_s: seconds from the first mark to each.  Numbers
 * then start at 0 again, even after an error. */
int ra_device_marks_read(RaDeviceMarks *marks, double *out_s);

/* A captured graph of ops, which one call launches, any number of times. */
typedef struct RaDeviceGraph RaDeviceGraph;

/* Between these calls the ops of this thread are captured and do not run; they
 * must neither wait nor copy to or from the host.  @out_graph: (transfer full):
 * free with ra_device_graph_free(); NULL on an error */
int ra_device_capture_begin(void);
int ra_device_capture_end(RaDeviceGraph **out_graph);
/* Frees @graph, which must not be running. */
void ra_device_graph_free(RaDeviceGraph *graph);
int ra_device_graph_begin(RaDeviceGraph *graph);

/* Sets @n_bytes to 0xff: NaNs of any kind of float. */
int ra_device_poison(void *to, size_t n_bytes);
/* Size of the last-level cache. */
size_t ra_device_cache_bytes(void);
/* Free and total device memory, bytes. */
int ra_device_memory(size_t *out_free, size_t *out_all);
/* Highest clock of the multiprocessors; 0: unknown. */
double ra_device_clock_hz(void);

#ifdef __cplusplus
}
#endif

#endif
