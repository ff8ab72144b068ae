/* The CUDA source of copies of intervals, compiled for the emulator. */
#include "config.h"

#include "kernels/intervals.cu"
