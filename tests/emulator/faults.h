/* Kernels with faults, for tests/device/check_emulator.c, which checks that the
 * emulator detects them. */
#ifndef RA_TESTS_EMULATOR_FAULTS_H
#define RA_TESTS_EMULATOR_FAULTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void emu_turn(const int *in, int *out, int with_barrier); /* (64) each */
void emu_copy(const int *in, int *out, int with_wait);
void emu_lonely_barrier(void);
void emu_split_warp(int *out);
void emu_lost_copy(const int *in);
void emu_eager(void);
int emu_text(const int *architectures, int n, int capability);
/* Launches of an empty kernel: a plain one; one with dynamic shared memory,
 * which it requests if @asks (the result is 0 or that of the request); one with
 * too much static shared memory. */
void emu_launch(unsigned width, unsigned height, unsigned n_threads);
int emu_dynamic(int n_bytes, int asks);
void emu_static(void);
/* Copies 16 bytes of @in, from element @shift on, to shared memory, and loads
 * rows of matrices from there, or from @in if @elsewhere. */
void emu_address(const uint16_t *in, int shift, int row_shift, int elsewhere);
/* Makes the map of (2, @n_rows, @width) bf16 from element @shift of @in on, for
 * copies of @rows rows.  Returns: a cudaError_t. */
int emu_map(const uint16_t *in, int shift, int width, int n_rows, int rows);
void emu_product(const uint16_t *a, const uint16_t *b, float *d);

/* The fault of emu_hopper(). */
typedef enum {
  EMU_NO_FAULT,
  /* Faults that give wrong numbers. */
  EMU_WRONG_SWIZZLE,
  EMU_WRONG_STRIDE,
  EMU_WRONG_LEADING,
  /* Faults that end the program with some seed. */
  EMU_NO_BARRIER_WAIT,
  EMU_WRONG_PARITY,
  EMU_NO_PROXY_FENCE,
  EMU_NO_WGMMA_FENCE,
  EMU_NO_WGMMA_WAIT,
  EMU_TOUCHED_RESULT,
  EMU_EARLY_STORE,
  EMU_TWO_COPIES,  /* to one place at once */
  EMU_EARLY_COPY,  /* a stage is overwritten while a product reads it, */
  EMU_UNREAD_COPY, /* or before one does */
  EMU_LONE_COMMIT, /* one lane ends a group more than the others */
  EMU_N_FAULTS
} EmuHopperFault;

/* @out_scores (64, 128) = a b^T with row 0 of b replaced by zeroes, and
 * @out_sums (64, 128) = a c; a (64, 64), b (128, 64), c (64, 128). */
void emu_hopper(const uint16_t *a, const uint16_t *b, const uint16_t *c,
                float *out_scores, float *out_sums, EmuHopperFault fault);

/* The fault of emu_turns(). */
typedef enum {
  EMU_TURNS,
  /* Faults that give a wrong sum with some seed. */
  EMU_NO_TURN,    /* blocks do not wait for theirs */
  EMU_EARLY_TURN, /* or give it before they have written */
  /* Faults that end the program with some seed. */
  EMU_NO_TICKET,  /* blocks may wait for one that has no room to begin */
  EMU_EARLY_WRITE /* what is being stored is written */
} EmuTurnsFault;

/* Blocks of one warp, EMU_N_TURNS of them, make *@sum (4) their sum: block t
 * adds 2^t, and the first one stores it.  @counts (2): zeroes. */
enum { EMU_N_TURNS = 8 };
void emu_turns(float *sum, uint32_t *counts, EmuTurnsFault fault);

#ifdef __cplusplus
}
#endif

#endif
