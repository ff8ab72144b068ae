/* Traces of PyTorch's profiler (Kineto): ops with shapes, as op rows.
 *
 *     g_autoptr(RaTrace) trace = ra_kineto_load("rank0.json", &left, &error);
 *     ra_measured_trace(trace, "rank0.json", rows, &tally, &error);
 *
 * The file is Chrome's trace format as `torch.profiler` exports it with
 * `record_shapes=True`: events `cpu_op` with an `External id`, `Input Dims`
 * and `Input type`; events `kernel` with the `External id` of the op that
 * launched them.  An op's row runs from the begin of its first kernel to the
 * end of its last.  Kernels of NCCL say their own shape (`Collective name`, `In
 * msg nelems`, `Group size`).  A trace without kernels is of the CPU: an op's
 * row is then the op's own time.
 *
 * Known ops: mm, addmm, bmm, baddbmm, _scaled_mm; _flash_attention_forward and
 * _backward; native_layer_norm, _fused_rms_norm and their backward; embedding;
 * add of two equal shapes; silu and gelu; NCCL's all-reduce, all-gather,
 * reduce-scatter, broadcast, all-to-all.  Every other kernel is a row without
 * an op, so that what runs beside it is known to (traces/measured_trace.h).  A
 * collective's time in one rank's file includes waiting for the others.
 *
 * Typical sizes: 10^4 to 10^6 events, 10 to 500 MB; read whole.
 */
#ifndef RA_TRACES_KINETO_H
#define RA_TRACES_KINETO_H

#include "traces/trace.h"

/* What a trace had beyond the answer. */
typedef struct {
  guint n_kernels; /* on GPUs */
  guint n_ops;     /* rows with an op */
  guint n_unknown; /* kernels, or with none of them ops of the CPU, that no op
                      here is for */
} RaKinetoTally;

/**
 * ra_kineto_load:
 * @path: JSON; not compressed
 * @out_tally: (out)
 * @error: %RA_ERROR_IO; %RA_ERROR_INPUT `path: ...`: no JSON, no
 *   `traceEvents`, no op with a shape
 *
 * Returns: (transfer full): sorted, of one iteration; ra_trace_free() it
 */
RaTrace *ra_kineto_load(const char *path, RaKinetoTally *out_tally,
                        GError **error);

#endif
