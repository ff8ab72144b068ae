#include "config.h"

#include "kernels/pointwise.cu"
