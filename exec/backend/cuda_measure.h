/* What is measured of a GPU, in C: timers and marks, captured graphs, its
 * caches and memory.  Private to exec/measure/probe_cuda.c and
 * exec/backend/backend_cuda*.c.
 *
 * exec/backend/cuda_measure.c has them on the CUDA runtime, tests/emulator on a
 * CPU, where a timer says what a test wants (tests/emulator/measure.h).
 *
 * Those that return an int return a cudaError_t.
 */
#ifndef RA_EXEC_BACKEND_CUDA_MEASURE_H
#define RA_EXEC_BACKEND_CUDA_MEASURE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Two events of this thread's stream. */
typedef struct RaDeviceTimer RaDeviceTimer;

/* (nullable) (transfer full): ra_device_timer_free() it */
RaDeviceTimer *ra_device_timer_new(void);
void ra_device_timer_free(RaDeviceTimer *timer);
/* Behind all that this thread has begun. */
int ra_device_timer_start(RaDeviceTimer *timer);
/* Waits; @out_ms: milliseconds from there to the end of what was begun last. */
int ra_device_timer_stop(RaDeviceTimer *timer, float *out_ms);

/* Moments of this thread's stream: events of a pool. */
typedef struct RaDeviceMarks RaDeviceMarks;

/* (nullable) (transfer full): of @n_most at a time; ra_device_marks_free()
 * it */
RaDeviceMarks *ra_device_marks_new(unsigned n_most);
void ra_device_marks_free(RaDeviceMarks *marks);
/* When all that this thread has begun has ended.  @out_mark: its number. */
int ra_device_mark(RaDeviceMarks *marks, unsigned *out_mark);
/* Waits for all; @out_s: seconds of each after the first.  The next mark is the
 * first again, be there an error or not. */
int ra_device_marks_read(RaDeviceMarks *marks, double *out_s);

/* Ops to be begun, as often as one likes, by one call. */
typedef struct RaDeviceGraph RaDeviceGraph;

/* Between the two what this thread begins is noted, and does not run: ops that
 * neither wait nor copy to or from the host.  @out_graph: (transfer full):
 * ra_device_graph_free() it; NULL on an error */
int ra_device_capture_begin(void);
int ra_device_capture_end(RaDeviceGraph **out_graph);
/* Of one that does not run. */
void ra_device_graph_free(RaDeviceGraph *graph);
int ra_device_graph_begin(RaDeviceGraph *graph);

/* @n_bytes are 0xff: NaNs of any kind of float. */
int ra_device_poison(void *to, size_t n_bytes);
/* Of the last cache before its memory. */
size_t ra_device_cache_bytes(void);
/* What no process has, and all. */
int ra_device_memory(size_t *out_free, size_t *out_all);
/* The highest of its multiprocessors; 0: not said. */
double ra_device_clock_hz(void);

#ifdef __cplusplus
}
#endif

#endif
