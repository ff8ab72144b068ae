/* What reshard*.c share. */
#ifndef RA_EXEC_RESHARD_IMPL_H
#define RA_EXEC_RESHARD_IMPL_H

#include "exec/reshard.h"

/* A tensor on its way: all of it that the rank has, at its own place. */
typedef struct {
  float *data; /* (cols) rows; owned by the caller */
  uint64_t cols;
} RaReshardWhole;

/* What is in both; no rows: nothing. */
RaRect ra_reshard_common(const RaRect *a, const RaRect *b);

/* Of floats in the host's memory. */
void ra_reshard_copy_rect(gsize n_rows, gsize n_cols, const float *in,
                          gsize in_stride, float *out, gsize out_stride);

/* What @params have of @tensor to its place in the whole, or from there.  On
 * their way parameters are fp32 in the host's memory, whatever they were. */
void ra_reshard_copy_part(const RaParams *params, uint32_t tensor,
                          const RaReshardWhole *whole, gboolean out);

#endif
