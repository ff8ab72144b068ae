/* The emulated device as the device of the double of NCCL. */
#ifndef RA_TESTS_EMULATOR_NCCL_H
#define RA_TESTS_EMULATOR_NCCL_H

#include "tests/double/nccl_double.h"

const NcclDoubleMemory *ra_emu_nccl_memory(void);

#endif
