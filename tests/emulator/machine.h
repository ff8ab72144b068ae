/* What emulator.cc, the machine, and async.cc and wgmma.cc, its asynchronous
 * parts, have of each other. */
#ifndef RA_TESTS_EMULATOR_MACHINE_H
#define RA_TESTS_EMULATOR_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* A line about the block that runs, and the end. */
[[noreturn]] void ra_emu_die(const char *what, const char *why);

uint64_t ra_emu_draw(void); /* of the seed */

/* The fiber that runs stops until ra_emu_wake() of its thread. */
void ra_emu_sleep(const char *what);
void ra_emu_wake(unsigned thread);

/* Shared memory as descriptors address it; the block's is from begin to end. */
struct RaEmuWindow {
  unsigned char *base;
  size_t begin, end;
};
RaEmuWindow ra_emu_window(void);

/* Of each block: before its threads, after. */
void ra_emu_async_begin(unsigned n_threads);
void ra_emu_async_end(void);

/* Before each round of the threads; @idle: none can go on.  Returns: whether
 * something has arrived. */
bool ra_emu_async_step(bool idle);

void ra_emu_async_thread_end(void); /* the fiber's own */
void ra_emu_wgmma_begin(unsigned n_threads);
void ra_emu_wgmma_thread_end(void);

#endif
