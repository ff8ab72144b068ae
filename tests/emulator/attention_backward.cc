#include "config.h"

#include "kernels/attention_backward.cu"
