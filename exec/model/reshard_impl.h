/* Shared declarations of reshard*.c. */
#ifndef RA_EXEC_MODEL_RESHARD_IMPL_H
#define RA_EXEC_MODEL_RESHARD_IMPL_H

#include "exec/model/reshard.h"

/* A tensor in transit: the rank's slices of it, at their places in the
 * whole. */
typedef struct {
  float *data; /* (cols) rows; owned by the caller */
  uint64_t cols;
} RaReshardWhole;

/* Intersection of both; no rows if it is empty. */
RaRect ra_reshard_common(const RaRect *a, const RaRect *b);
/* TRUE if @rect contains all of @s; and then, if @s is contiguous in it.
 */
gboolean ra_reshard_holds(const RaRect *rect, const RaSlice *s);
gboolean ra_reshard_is_dense(const RaRect *rect, const RaSlice *s);

/* Sets @is_whole (tensors) for tensors that the rank must buffer as a whole.
 * Either it sends a slice that is neither in its source nor in its target, or
 * it receives one that is not in its target or overlaps its source. */
void ra_reshard_find_whole(const RaReshard *r, const RaParams *source,
                           const RaParams *target, gboolean *is_whole);

/* Copies the part of @tensor that @params have to its place in the whole or, if
 * not @out, from there.  In transit parameters are fp32 in host memory,
 * whatever their type. */
void ra_reshard_copy_part(const RaParams *params, uint32_t tensor,
                          const RaReshardWhole *whole, gboolean out);

#endif
