/* GEMMs of the emulated device (tests/emulator/gemm.c): fused epilogues. */
#ifndef RA_TESTS_EMULATOR_GEMM_H
#define RA_TESTS_EMULATOR_GEMM_H

#include "exec/backend/cuda_gemm.h"

/* Allows GEMMs with a fused bias or its gradient, or not; resets the counts. */
void ra_emu_set_fuses(gboolean fuses);
/* Number of GEMMs with a fused @bias. */
guint ra_emu_n_fused(RaCudaBias bias);

#endif
