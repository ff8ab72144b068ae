#include "config.h"

#include "kernels/attention_sm90a.cu"
