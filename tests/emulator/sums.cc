/* The CUDA source of sums, compiled for the emulator. */
#include "config.h"

#include "kernels/sums.cu"
