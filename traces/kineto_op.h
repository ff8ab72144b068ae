/* What an op of PyTorch is here: its name and inputs as an RaOp. */
#ifndef RA_TRACES_KINETO_OP_H
#define RA_TRACES_KINETO_OP_H

#include "graph/op/op.h"

#define RA_KINETO_INPUTS 16
#define RA_KINETO_DIMS 6

/* Inputs of an op, as the profiler has them. */
typedef struct {
  guint n;                                        /* inputs, at most INPUTS */
  guint n_dims[RA_KINETO_INPUTS];                 /* 0: a scalar, or none */
  uint64_t dim[RA_KINETO_INPUTS][RA_KINETO_DIMS]; /* outermost first */
  const char *type;                               /* of the first tensor */
  gboolean is_causal; /* of attention, where it is said */
} RaKinetoInputs;

/* Whether @name with @inputs is an op that laws are about; fills @out_op. */
gboolean ra_kineto_op(const char *name, const RaKinetoInputs *inputs,
                      RaOp *out_op);

/* The input that says whether attention is causal; -1: it is no attention. */
int ra_kineto_causal_input(const char *name);

/* Likewise of a collective: NCCL's name of it, elements that go in and out of a
 * rank, ranks. */
gboolean ra_kineto_collective(const char *name, const char *dtype,
                              uint64_t n_in, uint64_t n_out, uint64_t n_ranks,
                              uint64_t gpus_per_node, RaOp *out_op);

#endif
