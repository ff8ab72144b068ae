/* The CUDA source of attention forward for capability 9.0, compiled for the
 * emulator. */
#include "config.h"

#include "kernels/attention_sm90a.cu"
