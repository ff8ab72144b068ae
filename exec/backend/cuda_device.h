/* Device memory and one stream per thread, in C: what
 * exec/backend/backend_cuda.c needs of the CUDA runtime besides kernels and
 * GEMMs.
 *
 * exec/backend/cuda_device.c implements it on the runtime, tests/emulator on a
 * CPU. There only kernels and copies can access device memory: an access from
 * the host raises a signal.
 *
 * All ops of a thread go to its own stream, in order; ra_device_wait() orders
 * the ops of two threads.  Functions that return an int return a cudaError_t.
 */
#ifndef RA_EXEC_BACKEND_CUDA_DEVICE_H
#define RA_EXEC_BACKEND_CUDA_DEVICE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* (nullable) (transfer full): uninitialised device memory, 256-byte aligned. */
void *ra_device_alloc(size_t n_bytes);
void ra_device_free(void *memory);

/* (nullable) (transfer full): pinned host memory, which kernels can access
 * too. */
void *ra_device_alloc_host(size_t n_bytes);
void ra_device_free_host(void *memory);

/* The stream of this thread, for kernels: a cudaStream_t. */
void *ra_device_stream(void);
unsigned ra_device_n_processors(void);

int ra_device_zero(void *to, size_t n_bytes);
int ra_device_copy(void *to, const void *from, size_t n_bytes);
/* Copies @n_rows rows of @n_bytes each, @to_pitch and @from_pitch bytes
 * apart. */
int ra_device_copy_rect(void *to, size_t to_pitch, const void *from,
                        size_t from_pitch, size_t n_bytes, size_t n_rows);
/* ra_device_read() copies to the host and waits for it.  ra_device_write()
 * copies from the host or from the device; pageable host memory may be reused
 * at once, pinned memory may not. */
int ra_device_read(void *to, const void *from, size_t n_bytes);
int ra_device_write(void *to, const void *from, size_t n_bytes);

/* Waits for all that this thread has begun. */
int ra_device_wait(void);

/* While @look is set (NULL: no longer), the calling thread polls its device
 * instead of blocking.  @look is called with @data between two polls, and once
 * more when the wait @is_over.  For device work that may never end because it
 * waits for other devices: @look can find the reason and end the run. */
typedef void (*RaDeviceLook)(void *data, int is_over);
void ra_device_look_with(RaDeviceLook look, void *data);

/* (transfer none): message of a cudaError_t. */
const char *ra_device_error(int code);

#ifdef __cplusplus
}
#endif

#endif
