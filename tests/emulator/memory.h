/* Memory of the emulated device, and its protection from the host (memory.cc).
 */
#ifndef RA_TESTS_EMULATOR_MEMORY_H
#define RA_TESTS_EMULATOR_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Size of its memory, reserved but not allocated. */
#define RA_EMU_MEMORY_BYTES ((size_t)1 << 30)

#ifdef __cplusplus
extern "C" {
#endif

/* Gives this thread alone access, for an op, until it has left as often.
 * Meanwhile queues of copies may continue (queue.h). */
void ra_emu_enter(void);
void ra_emu_leave(void);
/* The same for accesses that are not ops, without effect on queues. */
void ra_emu_open(void);
/* Number of ops that this thread has started. */
uint64_t ra_emu_n_begun(void);
/* Called when the thread has waited for the copies from pinned memory among its
 * first @n ops: ends the program if that memory was written meanwhile. */
void ra_emu_end_reads(uint64_t n);

/* The device of the calling thread, 0 at first: what it allocates is that
 * device's.  All devices have one region, and access each other's memory; a
 * test asks whose it is.  UINT32_MAX: no device's. */
void ra_emu_use(uint32_t device);
uint32_t ra_emu_device(void);
uint32_t ra_emu_device_of(const void *memory);

int ra_emu_is_device(const void *x, size_t n_bytes);
int ra_emu_is_pinned(const void *x);

/* Bytes of all arrays of the calling thread's device. */
size_t ra_emu_held_bytes(void);

/* Number of times that this thread has waited for the device, by
 * ra_device_wait() or by calls that wait as in the CUDA runtime:
 * ra_device_read() and ra_device_free_host().  Waits for marks do not count. */
size_t ra_emu_n_waits(void);

#ifdef __cplusplus
}
#endif

#endif
