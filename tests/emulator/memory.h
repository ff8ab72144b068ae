/* Who may touch the memory of the emulated device: see memory.cc. */
#ifndef RA_TESTS_EMULATOR_MEMORY_H
#define RA_TESTS_EMULATOR_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* All that it has: reserved, not taken. */
#define RA_EMU_MEMORY_BYTES ((size_t)1 << 30)

#ifdef __cplusplus
extern "C" {
#endif

/* From here on this thread alone, for an op, until it has left as often.
 * Meanwhile queues of copies may go on (queue.h). */
void ra_emu_enter(void);
void ra_emu_leave(void);
/* The same for what is no op, and leaves queues alone. */
void ra_emu_open(void);
/* Ops that this thread has begun. */
uint64_t ra_emu_n_begun(void);
/* Copies from pinned memory among the thread's first @n ops have been waited
 * for: ends the program where it was written meanwhile. */
void ra_emu_end_reads(uint64_t n);

int ra_emu_is_device(const void *x, size_t n_bytes);
int ra_emu_is_pinned(const void *x);

/* That arrays have. */
size_t ra_emu_held_bytes(void);

/* Times that this thread has waited for the device, by ra_device_wait() or by
 * what waits as the CUDA runtime does: ra_device_read() and
 * ra_device_free_host().  Waits for marks are not counted. */
size_t ra_emu_n_waits(void);

#ifdef __cplusplus
}
#endif

#endif
