/* What reshard*.c share. */
#ifndef RA_EXEC_MODEL_RESHARD_IMPL_H
#define RA_EXEC_MODEL_RESHARD_IMPL_H

#include "exec/model/reshard.h"

/* A tensor on its way: all of it that the rank has, at its own place. */
typedef struct {
  float *data; /* (cols) rows; owned by the caller */
  uint64_t cols;
} RaReshardWhole;

/* What is in both; no rows: nothing. */
RaRect ra_reshard_common(const RaRect *a, const RaRect *b);
/* Whether all of @s is in @rect; and then, whether it lies there in one piece.
 */
gboolean ra_reshard_holds(const RaRect *rect, const RaSlice *s);
gboolean ra_reshard_is_dense(const RaRect *rect, const RaSlice *s);

/* Sets @is_whole (tensors) where the rank needs room for all of one: a slice of
 * it is neither of what it has nor of what it wants, but goes on, or it has
 * what comes. */
void ra_reshard_find_whole(const RaReshard *r, const RaParams *source,
                           const RaParams *target, gboolean *is_whole);

/* Of floats in the host's memory. */
void ra_reshard_copy_rect(gsize n_rows, gsize n_cols, const float *in,
                          gsize in_stride, float *out, gsize out_stride);

/* What @params have of @tensor to its place in the whole, or from there.  On
 * their way parameters are fp32 in the host's memory, whatever they were. */
void ra_reshard_copy_part(const RaParams *params, uint32_t tensor,
                          const RaReshardWhole *whole, gboolean out);

#endif
