#include "config.h"

#include "kernels/sample.cu"
