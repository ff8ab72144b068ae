/* The CUDA source of advantages and losses, compiled for the emulator. */
#include "config.h"

#include "kernels/policy.cu"
