#include "config.h"

#include "kernels/attention_merge.cu"
