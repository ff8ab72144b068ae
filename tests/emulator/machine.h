/* Interfaces between emulator.cc, the machine, and its asynchronous parts,
 * async.cc and wgmma.cc. */
#ifndef RA_TESTS_EMULATOR_MACHINE_H
#define RA_TESTS_EMULATOR_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Prints a line about the running block and ends the program. */
[[noreturn]] void ra_emu_die(const char *what, const char *why);

uint64_t ra_emu_draw(void); /* the next random number of the seed */

/* Blocks that run together have a seat each; the running block's. */
enum { RA_EMU_SEATS = 3 };
extern unsigned ra_emu_seat;

/* Stops the running fiber until ra_emu_wake() of its thread. */
void ra_emu_sleep(const char *what);
void ra_emu_wake(unsigned thread);

/* Lets other threads, and other blocks, go on before the running fiber. */
void ra_emu_rest(void);

/* Shared memory as addressed by descriptors; that of the block is from begin to
 * end. */
struct RaEmuWindow {
  unsigned char *base;
  size_t begin, end;
};
RaEmuWindow ra_emu_window(void);

/* Called for each block, before its threads and after. */
void ra_emu_async_begin(unsigned n_threads);
void ra_emu_async_end(void);

/* Called before each round of a warp; @idle: no thread of the block can
 * continue.  Returns: TRUE if something has arrived. */
bool ra_emu_async_step(bool idle);

/* TRUE if a product that runs in this block reads from there. */
bool ra_emu_wgmma_reads(uint32_t begin, uint32_t end);

/* A product reads a chunk of 16 bytes at @at of the window. */
void ra_emu_async_read(uint32_t at);

void ra_emu_async_thread_end(void); /* called by the fiber that ends */
void ra_emu_wgmma_begin(unsigned n_threads);
void ra_emu_wgmma_thread_end(void);

#endif
