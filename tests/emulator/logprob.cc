#include "config.h"

#include "kernels/logprob.cu"
