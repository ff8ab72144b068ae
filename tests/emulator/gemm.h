/* What the products of the emulated device can do; tests/emulator/gemm.c. */
#ifndef RA_TESTS_EMULATOR_GEMM_H
#define RA_TESTS_EMULATOR_GEMM_H

#include "exec/backend/cuda_gemm.h"

/* Whether a product may have a bias, or its gradient; counting begins anew. */
void ra_emu_set_fuses(gboolean fuses);
/* Products that have had one. */
guint ra_emu_n_fused(RaCudaBias bias);

#endif
