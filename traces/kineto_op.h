/* PyTorch ops as RaOps: from the name and inputs that the profiler records. */
#ifndef RA_TRACES_KINETO_OP_H
#define RA_TRACES_KINETO_OP_H

#include "graph/op/op.h"

#define RA_KINETO_INPUTS 16
#define RA_KINETO_DIMS 6

/* Inputs of an op, as the profiler records them. */
typedef struct {
  guint n;                        /* inputs, at most RA_KINETO_INPUTS */
  guint n_dims[RA_KINETO_INPUTS]; /* 0: a scalar, or no input */
  uint64_t dim[RA_KINETO_INPUTS][RA_KINETO_DIMS]; /* outermost first */
  const char *type;                               /* type of the first tensor */
  gboolean is_causal; /* attention is causal, if recorded */
} RaKinetoInputs;

/* TRUE if @name with @inputs is an op that has a law; fills @out_op. */
gboolean ra_kineto_op(const char *name, const RaKinetoInputs *inputs,
                      RaOp *out_op);

/* Index of the input that tells if attention is causal; -1: not attention. */
int ra_kineto_causal_input(const char *name);

/* TRUE if NCCL's collective @name has a law; fills @out_op.  @n_in and @n_out
 * are the elements that enter and leave a rank. */
gboolean ra_kineto_collective(const char *name, const char *dtype,
                              uint64_t n_in, uint64_t n_out, uint64_t n_ranks,
                              uint64_t gpus_per_node, RaOp *out_op);

#endif
