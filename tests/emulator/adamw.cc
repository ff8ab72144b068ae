/* The CUDA source of AdamW, compiled for the emulator. */
#include "config.h"

#include "kernels/adamw.cu"
