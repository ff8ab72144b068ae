#include "config.h"

#include "kernels/adamw.cu"
