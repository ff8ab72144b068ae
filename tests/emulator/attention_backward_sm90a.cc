#include "config.h"

#include "kernels/attention_backward_sm90a.cu"
