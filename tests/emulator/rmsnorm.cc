#include "config.h"

#include "kernels/rmsnorm.cu"
