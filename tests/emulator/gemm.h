/* What the products of the emulated device can do; tests/emulator/gemm.c. */
#ifndef RA_TESTS_EMULATOR_GEMM_H
#define RA_TESTS_EMULATOR_GEMM_H

#include <glib.h>

/* Whether a bias is added as a product is stored; counting begins anew. */
void ra_emu_set_fuses(gboolean fuses);
/* Products that have added one. */
guint ra_emu_n_fused(void);

#endif
