/* The CUDA source of grouped GEMMs, compiled for the emulator. */
#include "config.h"

#include "kernels/grouped.cu"
