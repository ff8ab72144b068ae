/* Notifications from emulator.cc to refuse.cc, which checks accesses. */
#ifndef RA_TESTS_EMULATOR_REFUSE_H
#define RA_TESTS_EMULATOR_REFUSE_H

#include "tests/emulator/cuda_runtime_api.h"

void ra_emu_refuse_launch(const void *kernel, dim3 grid, dim3 block,
                          size_t n_dynamic);
void ra_emu_refuse_shared(const void *memory, size_t n_bytes); /* new, static */
void ra_emu_refuse_copy(const void *to, const void *from);     /* cp.async */
void ra_emu_refuse_block_done(void);

#endif
