/* The CUDA source of RMSNorm, compiled for the emulator. */
#include "config.h"

#include "kernels/rmsnorm.cu"
