/* The CUDA source of attention forward, compiled for the emulator. */
#include "config.h"

#include "kernels/attention.cu"
