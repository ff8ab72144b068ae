/* Emulation of kernels/hopper.cuh, the features of capability 9.0.
 *
 *  - A bulk copy arrives at a time sampled from the seed: in some blocks only
 *    when no thread can continue, in others at any time after its start.  A
 *    read that is too early sees poison; memory that is freed too early is
 *    overwritten.  To start one ends the program if a wgmma that runs reads the
 *    memory, or if no wgmma has read what the last one has brought there.
 *  - A wgmma reads shared memory through its descriptors at its start, and ends
 *    the program if that memory has changed by the wait.  Until then its
 *    results are poisoned, and to access them ends the program too.
 *  - Stores that a wgmma or a bulk store reads are not visible before the
 *    fence.
 *  - A bulk store writes when it is waited for, and ends the program if what it
 *    reads has changed before.
 */
#ifndef RA_TESTS_EMULATOR_HOPPER_H
#define RA_TESTS_EMULATOR_HOPPER_H

#include <stdint.h>

/* A tensor map: three dimensions of bf16, the first dense. */
struct RaEmuTensorMap {
  const char *base;
  uint64_t size[3];  /* elements */
  uint64_t pitch[3]; /* bytes */
  uint32_t box[3];   /* elements; a row of the box is 128 bytes */
};

/* TRUE if the driver makes such a map: what CUDA's documentation of
 * cuTensorMapEncodeTiled() says of addresses, sizes and boxes. */
bool ra_emu_map_is_allowed(const RaEmuTensorMap *map);

/* Address of dynamic shared memory in the block's window. */
uint32_t ra_emu_window_address(const void *shared);

void ra_emu_barrier_init(void *barrier, unsigned n_arrivals);
void ra_emu_barrier_arrive(void *barrier, uint32_t n_bytes);
void ra_emu_barrier_wait(void *barrier, unsigned parity);
void ra_emu_named_barrier(unsigned id, unsigned n_threads, bool waits);

void ra_emu_bulk_copy(void *to, const RaEmuTensorMap *map, const int at[3],
                      void *barrier);
void ra_emu_proxy_store(void *shared, const void *value); /* 16 bytes */
void ra_emu_proxy_fence(void);

/* (n) floats from @shared to @global, added to what is there or instead of it;
 * waits for this thread's: until they are read, until they are written. */
void ra_emu_bulk_store(float *global, const float *shared, uint32_t n,
                       bool adds);
void ra_emu_bulk_wait(bool written);

/* Reads the first and the last byte, for sanitizers to see. */
void ra_emu_bulk_prefetch(const void *global, uint32_t n_bytes);

/* This lane's part of d = a b, 64 x @n.  @a is in registers, or at @desc_a if
 * NULL; @a_by_rows, @b_by_rows: the sum is over the rows of what is in shared
 * memory. */
void ra_emu_wgmma(float *d, unsigned n, const uint32_t *a, uint64_t desc_a,
                  uint64_t desc_b, bool a_by_rows, bool b_by_rows, bool adds);
void ra_emu_wgmma_fence(void);
void ra_emu_wgmma_commit(void);
void ra_emu_wgmma_wait(unsigned n_left);

/* Multiplications of pairs of numbers in all wgmma since the program began. */
extern "C" uint64_t ra_emu_n_multiplied(void);

#endif
