/* Traces of PyTorch's profiler (Kineto): ops with shapes, as op rows.
 *
 *     g_autoptr(RaTrace) trace = ra_kineto_load("rank0.json", &left, &error);
 *     ra_measured_trace(trace, "rank0.json", rows, &tally, &error);
 *
 * The file is Chrome's trace format as `torch.profiler` exports it with
 * `record_shapes=True`, as .json or .json.gz:
 *
 *     cpu_op  events with an `External id`, `Input Dims` and `Input type`
 *     kernel  events with the `External id` of the op that launched them; NCCL
 *             kernels have a shape of their own (`Collective name`, `In msg
 *             nelems`, `Group size`)
 *
 * An op's row runs from the start of its first kernel to the end of its last.
 * A trace without kernels was taken on the CPU: an op's row is then the op's
 * own time.
 *
 * Known ops: mm, addmm, bmm, baddbmm, _scaled_mm; _flash_attention_forward and
 * _backward; native_layer_norm, _fused_rms_norm and their backward; embedding;
 * add of two equal shapes; silu and gelu; NCCL's all-reduce, all-gather,
 * reduce-scatter, broadcast, all-to-all.  Every other kernel becomes a row
 * without an op, so that overlap with it is seen (traces/measured_trace.h).
 * The time of a collective in the file of one rank includes waiting for the
 * others.
 *
 * Typical sizes: 10^4 to 10^6 events, 10 to 500 MB.  The file is read an event
 * at a time, a large one twice; 120 bytes of an op or kernel are kept.
 */
#ifndef RA_TRACES_KINETO_H
#define RA_TRACES_KINETO_H

#include "traces/kineto_events.h"
#include "traces/trace.h"

/* Counts of what a trace had. */
typedef struct {
  guint n_kernels; /* kernels on GPUs */
  guint n_ops;     /* rows with an op */
  guint n_unknown; /* kernels (CPU ops, if there are no kernels) that are not
                      one of the known ops */
} RaKinetoTally;

/**
 * ra_kineto_load:
 * @path: JSON, or compressed as its name's .gz says
 * @out_tally: (out)
 * @error: of ra_kineto_events(); %RA_ERROR_INPUT `path: ...`: no op that is
 *   known has a shape
 *
 * Returns: (transfer full): sorted trace of one iteration; ra_trace_free() it
 */
RaTrace *ra_kineto_load(const char *path, RaKinetoTally *out_tally,
                        GError **error);

/* A trace of the profiler if its name is a .json or .json.gz, else of ours. */
RaTrace *ra_trace_load_any(const char *path, GError **error);

#endif
