/* Who may touch the memory of the emulated device: see memory.cc. */
#ifndef RA_TESTS_EMULATOR_MEMORY_H
#define RA_TESTS_EMULATOR_MEMORY_H

#ifdef __cplusplus
extern "C" {
#endif

/* From here on this thread alone, until it has left as often. */
void ra_emu_enter(void);
void ra_emu_leave(void);

#ifdef __cplusplus
}
#endif

#endif
