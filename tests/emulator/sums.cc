#include "config.h"

#include "kernels/sums.cu"
