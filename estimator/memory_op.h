/* The law of a memory-bound op: it moves bytes and computes little.
 *
 * Such ops are norms, rotary positions, activations, sums, embedding,
 * cross-entropy, routing, permutation, sampling, losses and the optimizer.
 */
#ifndef RA_ESTIMATOR_MEMORY_OP_H
#define RA_ESTIMATOR_MEMORY_OP_H

#include "estimator/residual.h"
#include "graph/input/cluster.h"
#include "graph/op/op.h"
#include "traces/profile.h"

typedef struct {
  double floor_s;    /* least time */
  double base_s;     /* time at 0 bytes on the sloped line */
  double s_per_byte; /* memory */
  RaResidual residual;
} RaMemoryLaw;

/* @name: "memory.norm" and so on; @error: %RA_ERROR_INPUT: it is missing. */
gboolean ra_memory_op_law_init(RaMemoryLaw *law, const RaProfile *profile,
                               const RaDevice *device, const char *name,
                               GError **error);

/* The law alone, without a table, for @bytes of any kernel. */
double ra_memory_op_bytes_s(const RaMemoryLaw *law, double bytes);

/**
 * ra_memory_op_s:
 *
 *     law = max(floor, base + bytes / (memory_bytes_per_s bandwidth_frac))
 *     t   = law exp(r),  r from the table over bytes
 *
 * with the bytes that cross the memory interface, ra_op_bytes().
 *
 * Valid: 1..4096 tokens of 4096..8192 elements; the optimizer's 10^7..10^10
 * parameters by the law's last slope.
 * Source: coefficients, the profile.
 *
 * Returns: seconds, >= 0; 0 if no byte moves
 */
double ra_memory_op_s(const RaMemoryLaw *law, const RaOp *op);

#endif
