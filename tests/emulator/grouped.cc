#include "config.h"

#include "kernels/grouped.cu"
