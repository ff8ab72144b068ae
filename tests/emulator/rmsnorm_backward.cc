#include "config.h"

#include "kernels/rmsnorm_backward.cu"
