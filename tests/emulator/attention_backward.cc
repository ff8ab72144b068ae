/* The CUDA source of attention's gradients, compiled for the emulator. */
#include "config.h"

#include "kernels/attention_backward.cu"
