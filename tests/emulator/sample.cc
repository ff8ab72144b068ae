/* The CUDA source of sampling, compiled for the emulator. */
#include "config.h"

#include "kernels/sample.cu"
