/* The CUDA source of pointwise kernels, compiled for the emulator. */
#include "config.h"

#include "kernels/pointwise.cu"
