#include "config.h"

#include "kernels/layernorm.cu"
