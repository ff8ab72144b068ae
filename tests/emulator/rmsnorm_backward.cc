/* The CUDA source of RMSNorm's gradient, compiled for the emulator. */
#include "config.h"

#include "kernels/rmsnorm_backward.cu"
