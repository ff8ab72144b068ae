/* The CUDA source of the merge of attention, compiled for the emulator. */
#include "config.h"

#include "kernels/attention_merge.cu"
