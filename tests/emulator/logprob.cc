/* The CUDA source of log-probabilities, compiled for the emulator. */
#include "config.h"

#include "kernels/logprob.cu"
