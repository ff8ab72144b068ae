/* A GPU's memory and its one queue of work a thread, in C: what
 * exec/backend/backend_cuda.c takes from the CUDA runtime beside kernels and
 * products.
 *
 * exec/backend/cuda_device.c has them on the runtime.  tests/emulator has them
 * on a CPU, where kernels and copies alone can touch memory of the device: who
 * looks into it from the host meets a signal.
 *
 * All that a thread starts goes to its own stream, in order; what two threads
 * do is ordered by ra_device_wait().  Those that return an int return a
 * cudaError_t.
 */
#ifndef RA_EXEC_BACKEND_CUDA_DEVICE_H
#define RA_EXEC_BACKEND_CUDA_DEVICE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* (nullable) (transfer full): device memory of any value, 256-byte aligned. */
void *ra_device_alloc(size_t n_bytes);
void ra_device_free(void *memory);

/* (nullable) (transfer full): pinned memory of the host, which kernels reach
 * too. */
void *ra_device_alloc_host(size_t n_bytes);
void ra_device_free_host(void *memory);

/* The stream of this thread, for kernels: a cudaStream_t. */
void *ra_device_stream(void);
unsigned ra_device_n_processors(void);

int ra_device_zero(void *to, size_t n_bytes);
int ra_device_copy(void *to, const void *from, size_t n_bytes);
/* @n_rows of @n_bytes each, @to_pitch and @from_pitch bytes apart. */
int ra_device_copy_rect(void *to, size_t to_pitch, const void *from,
                        size_t from_pitch, size_t n_bytes, size_t n_rows);
/* To the host, waits for it; from the host, whose memory may be used again at
 * once unless it is pinned, or from the device. */
int ra_device_read(void *to, const void *from, size_t n_bytes);
int ra_device_write(void *to, const void *from, size_t n_bytes);

/* Waits for all that this thread has started. */
int ra_device_wait(void);

/* While @look is set (NULL: no more), the calling thread waits for its device
 * by looking: @look is called with @data between two looks, and once more when
 * what was waited for @is_over.  For what the device does that may never end,
 * as it waits for other devices: who looks can see why, and end the run. */
typedef void (*RaDeviceLook)(void *data, int is_over);
void ra_device_look_with(RaDeviceLook look, void *data);

/* (transfer none): of a cudaError_t. */
const char *ra_device_error(int code);

#ifdef __cplusplus
}
#endif

#endif
