/* The CUDA source of few_rows, compiled for the emulator. */
#include "config.h"

#include "kernels/few_rows.cu"
