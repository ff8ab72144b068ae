/* Who may touch the memory of the emulated device: see memory.cc. */
#ifndef RA_TESTS_EMULATOR_MEMORY_H
#define RA_TESTS_EMULATOR_MEMORY_H

#include <stddef.h>

/* All that it has: reserved, not taken. */
#define RA_EMU_MEMORY_BYTES ((size_t)1 << 30)

#ifdef __cplusplus
extern "C" {
#endif

/* From here on this thread alone, until it has left as often. */
void ra_emu_enter(void);
void ra_emu_leave(void);

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
