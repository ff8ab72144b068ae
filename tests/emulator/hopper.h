/* Emulation of kernels/hopper.cuh, the features of capability 9.0.
 *
 *  - A bulk copy arrives at a time sampled from the seed: in some blocks only
 *    when no thread can continue, in others at any time after its start.  A
 *    read that is too early sees poison; memory that is freed too early is
 *    overwritten.
 *  - A wgmma reads shared memory through its descriptors at its start, and ends
 *    the program if that memory has changed by the wait.  Until then its
 *    results are poisoned, and to access them ends the program too.
 *  - Stores that a wgmma reads are not visible before the fence.
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

/* Address of dynamic shared memory in the block's window. */
uint32_t ra_emu_window_address(const void *shared);

void ra_emu_barrier_init(void *barrier, unsigned n_arrivals);
void ra_emu_barrier_arrive(void *barrier, uint32_t n_bytes);
void ra_emu_barrier_wait(void *barrier, unsigned parity);
void ra_emu_named_barrier(unsigned id, unsigned n_threads, bool waits);

void ra_emu_bulk_copy(void *to, const RaEmuTensorMap *map, const int at[3],
                      void *barrier);
void ra_emu_proxy_zero(void *shared); /* 16 bytes */
void ra_emu_proxy_fence(void);

/* This lane's part of d = a b, 64 x @n.  @a is in registers, or at @desc_a if
 * NULL; @by_rows: the sum is over the rows of b in shared memory. */
void ra_emu_wgmma(float *d, unsigned n, const uint32_t *a, uint64_t desc_a,
                  uint64_t desc_b, bool by_rows, bool adds);
void ra_emu_wgmma_fence(void);
void ra_emu_wgmma_commit(void);
void ra_emu_wgmma_wait(unsigned n_left);

#endif
