/* The CUDA source of grouped GEMMs for capability 9.0, compiled for the
 * emulator. */
#include "config.h"

#include "kernels/grouped_sm90a.cu"
