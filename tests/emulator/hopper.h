/* What kernels/hopper.cuh has of the emulator.
 *
 *  - A bulk copy lands at a moment drawn from the seed: in some blocks only
 *    when no thread can go on, in others at any time after it began.  What
 *    reads too early sees poison, what frees too early is overwritten.
 *  - A product reads shared memory through its descriptors as it begins, and
 *    ends the program if that has changed by the time it is waited for.  Until
 *    then its results are poison, and to touch them is an end too.
 *  - Stores that products are to read are not there before the fence.
 */
#ifndef RA_TESTS_EMULATOR_HOPPER_H
#define RA_TESTS_EMULATOR_HOPPER_H

#include <stdint.h>

/* Three dimensions of bf16, the first dense. */
struct RaEmuTensorMap {
  const char *base;
  uint64_t size[3];  /* elements */
  uint64_t pitch[3]; /* bytes */
  uint32_t box[3];   /* elements; a row of the box is 128 bytes */
};

/* Of dynamic shared memory, in the block's window. */
uint32_t ra_emu_window_address(const void *shared);

void ra_emu_barrier_init(void *barrier, unsigned n_arrivals);
void ra_emu_barrier_arrive(void *barrier, uint32_t n_bytes);
void ra_emu_barrier_wait(void *barrier, unsigned parity);
void ra_emu_named_barrier(unsigned id, unsigned n_threads, bool waits);

void ra_emu_bulk_copy(void *to, const RaEmuTensorMap *map, const int at[3],
                      void *barrier);
void ra_emu_proxy_zero(void *shared); /* 16 bytes */
void ra_emu_proxy_fence(void);

/* This lane's part of d = a b, 64 x @n: @a in registers, or where @desc_a says
 * if NULL; @by_rows: rows in shared memory are the product's sum. */
void ra_emu_wgmma(float *d, unsigned n, const uint32_t *a, uint64_t desc_a,
                  uint64_t desc_b, bool by_rows, bool adds);
void ra_emu_wgmma_fence(void);
void ra_emu_wgmma_commit(void);
void ra_emu_wgmma_wait(unsigned n_left);

#endif
