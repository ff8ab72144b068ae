/* The overlap law: how much longer computation and communication take beside
 * each other.
 *
 * A collective's kernels hold multiprocessors and use the memory.  While one
 * runs on a GPU, a kernel there that is bound by arithmetic (products,
 * attention) takes product_frac longer, one that is bound by memory
 * memory_frac, and the collective comm_frac longer than alone.  So a task of
 * such kernels has a cost of its own beside communication, and progresses at
 *
 *     rate = total_s / (total_s + beside_s),  beside_s = sum of frac x seconds
 *
 * of its rate alone while it has company (sim/interfere.h).
 *
 * Fitted on kernels of one program with and without collectives.  A kernel's
 * slowdown is a mean over its runs, as replays add tasks up (half of the runs
 * are not slowed at all, some threefold),
 *
 *     sum of alone_s clip(beside_s / alone_s - 1, -0.2, 5)
 *     / sum of alone_s overlap_frac
 *
 * clipped as the source says its authors do in spirit; the law's frac is the
 * median of the kernels it stands for, each weighted by its alone_s
 * overlap_frac, as a few starve altogether.
 */
#ifndef RA_ESTIMATOR_OVERLAP_H
#define RA_ESTIMATOR_OVERLAP_H

#include "graph/op/op.h"
#include "traces/overlap_rows.h"
#include "traces/profile.h"

typedef struct {
  double product_frac;  /* kernels bound by arithmetic */
  double memory_frac;   /* kernels bound by memory */
  double comm_frac;     /* collectives and sends */
  double flop_per_byte; /* of the device: below it an op is bound by memory */
} RaOverlapLaw;

/* All fracs 0 where @profile has no law "overlap". */
gboolean ra_overlap_law_init(RaOverlapLaw *law, const RaProfile *profile,
                             const RaDevice *device, GError **error);

/* Whether a computation is bound by memory. */
static inline gboolean
ra_overlap_is_by_memory(const RaOverlapLaw *law, const RaOp *op)
{
  return ra_op_flop(op) < law->flop_per_byte * ra_op_bytes(op);
}

/* What one second of @op takes longer beside the other kind: 0 for copies and
 * host work. */
static inline double
ra_overlap_frac(const RaOverlapLaw *law, const RaOp *op)
{
  switch (ra_op_class((RaOpKind)op->kind)) {
  case RA_OP_CLASS_COMPUTE:
    return ra_overlap_is_by_memory(law, op) ? law->memory_frac
                                            : law->product_frac;
  case RA_OP_CLASS_COMM:
    return law->comm_frac;
  default:
    return 0;
  }
}

/* A kernel, all its runs that overlapped. */
typedef struct {
  guint first;        /* of its rows, whether or not it overlapped */
  gboolean by_memory; /* in most of its time */
  double alone_s;     /* sum of its runs */
  double overlap_s;   /* of it, beside collectives */
  double beside_s;    /* measured sum beside them */
  double frac;        /* slowdown; may be below 0 */
  double predicted_s; /* of beside_s, by a fit that had not seen the kernel */
  gboolean is_only;   /* of its kind: predicted from nothing */
} RaOverlapKernel;

typedef struct {
  double product_frac, memory_frac; /* of all kernels */
  RaOverlapKernel *kernels;         /* (n_kernels) in the order found */
  guint n_kernels;
  guint n_rows;     /* that overlapped */
  guint n_outliers; /* of them, clipped */
} RaOverlapFit;

/**
 * ra_overlap_fit_new:
 * @rows: (element-type RaOverlapRowsKernel)
 *
 * Fits on all rows, and leaves out each kernel in turn.
 *
 * Returns: (transfer full): ra_overlap_fit_free() it
 */
RaOverlapFit *ra_overlap_fit_new(const GArray *rows);
void ra_overlap_fit_free(RaOverlapFit *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaOverlapFit, ra_overlap_fit_free)

/* Appends |predicted_s / beside_s - 1| of the kernels that others predict to
 * @out (double); @alone: |alone_s / beside_s - 1| of all, as without a law. */
void ra_overlap_add_errors(const RaOverlapFit *fit, gboolean alone,
                           GArray *out);

/* Their median and 90th percentile; 0 where there are none. */
void ra_overlap_errors(const RaOverlapFit *fit, gboolean alone,
                       double *out_median_frac, double *out_p90_frac);

/**
 * ra_overlap_fit_messages:
 * @messages: (element-type RaMeasured): collectives within an iteration
 * @alone_s: (array length=n): what each takes by itself
 *
 * Median of (in place - call) / alone - 1 over messages of 1 MiB and more, >=
 * 0, where call, what a framework adds to every collective, is the median of in
 * place - alone up to 64 KiB.
 *
 * Returns: comm_frac; 0 for no such message
 */
double ra_overlap_fit_messages(const GArray *messages, const double *alone_s);

#endif
