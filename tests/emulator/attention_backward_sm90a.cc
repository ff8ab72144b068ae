/* The CUDA source of attention's gradients for capability 9.0, compiled for the
 * emulator. */
#include "config.h"

#include "kernels/attention_backward_sm90a.cu"
