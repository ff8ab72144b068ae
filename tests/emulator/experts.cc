/* The CUDA source of experts, compiled for the emulator. */
#include "config.h"

#include "kernels/experts.cu"
