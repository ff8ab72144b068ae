/* Kernels that tests/check_emulator.c runs to see what the emulator sees. */
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
void emu_product(const uint16_t *a, const uint16_t *b, float *d);

#ifdef __cplusplus
}
#endif

#endif
