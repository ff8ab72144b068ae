/* The CUDA source of LayerNorm, compiled for the emulator. */
#include "config.h"

#include "kernels/layernorm.cu"
