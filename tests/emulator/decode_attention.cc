/* The CUDA source of decode attention, compiled for the emulator. */
#include "config.h"

#include "kernels/decode_attention.cu"
