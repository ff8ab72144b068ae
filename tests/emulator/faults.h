/* Kernels that tests/device/check_emulator.c runs to see what the emulator
 * sees. */
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
/* Of a kernel that does nothing: a launch; one with dynamic shared memory, for
 * which it @asks (0, or what that gave); one with too much of its own. */
void emu_launch(unsigned width, unsigned height, unsigned n_threads);
int emu_dynamic(int n_bytes, int asks);
void emu_static(void);
/* 16 bytes of @in, @shift elements on, to shared memory, and from there, or
 * @elsewhere from @in, rows of matrices. */
void emu_address(const uint16_t *in, int shift, int row_shift, int elsewhere);
void emu_product(const uint16_t *a, const uint16_t *b, float *d);

/* What is wrong with emu_hopper(). */
typedef enum {
  EMU_NO_FAULT,
  /* Numbers that are wrong. */
  EMU_WRONG_SWIZZLE,
  EMU_WRONG_STRIDE,
  EMU_WRONG_LEADING,
  /* The end of the program, by some seed. */
  EMU_NO_BARRIER_WAIT,
  EMU_WRONG_PARITY,
  EMU_NO_PROXY_FENCE,
  EMU_NO_WGMMA_FENCE,
  EMU_NO_WGMMA_WAIT,
  EMU_TOUCHED_RESULT,
  EMU_EARLY_STORE,
  EMU_N_FAULTS
} EmuHopperFault;

/* @out_scores (64, 128) = a b^T but for b's row 0, taken for zeroes, and
 * @out_sums (64, 128) = a c; a (64, 64), b (128, 64), c (64, 128). */
void emu_hopper(const uint16_t *a, const uint16_t *b, const uint16_t *c,
                float *out_scores, float *out_sums, EmuHopperFault fault);

#ifdef __cplusplus
}
#endif

#endif
