#include "config.h"

#include "kernels/policy.cu"
