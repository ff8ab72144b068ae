#include "config.h"

#include "kernels/intervals.cu"
