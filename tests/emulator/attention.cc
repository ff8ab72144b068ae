#include "config.h"

#include "kernels/attention.cu"
