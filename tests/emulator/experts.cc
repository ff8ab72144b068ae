#include "config.h"

#include "kernels/experts.cu"
