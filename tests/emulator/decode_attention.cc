#include "config.h"

#include "kernels/decode_attention.cu"
