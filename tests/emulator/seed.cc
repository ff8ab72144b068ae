/* The CUDA source of seed, compiled for the emulator. */
#include "config.h"

#include "kernels/seed.cu"
