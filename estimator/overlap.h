/* The overlap law: the slowdown of concurrent computation and communication.
 *
 * The kernels of a collective occupy multiprocessors and use the memory.  While
 * one runs on a GPU, kernels take longer there than alone:
 *
 *     product_frac  kernels bound by arithmetic (GEMMs, attention)
 *     memory_frac   kernels bound by memory
 *     comm_frac     the collective itself
 *
 * So a task of such kernels costs more during overlap (sim/interfere.h), when
 * it progresses at this share of its rate alone:
 *
 *     rate = total_s / (total_s + beside_s),  beside_s = sum of frac x seconds
 *
 * The law is fitted on kernels of one program with and without collectives.
 * Half of the runs of a kernel are not slowed at all, some threefold.  Its
 * slowdown is the mean over its runs, as replays add up tasks:
 *
 *     sum of alone_s clip(beside_s / alone_s - 1, -0.2, 5)
 *     / sum of alone_s overlap_frac
 *
 * The clipping follows the source, whose authors do the same in spirit.  A few
 * kernels starve completely, so the law's frac is the median of its kernels,
 * each weighted by its alone_s overlap_frac.
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
  double flop_per_byte; /* ops below this ratio are bound by memory */
} RaOverlapLaw;

/* Sets all fracs to 0 if @profile has no law "overlap". */
gboolean ra_overlap_law_init(RaOverlapLaw *law, const RaProfile *profile,
                             const RaDevice *device, GError **error);

/* TRUE if a computation is bound by memory. */
static inline gboolean
ra_overlap_is_by_memory(const RaOverlapLaw *law, const RaOp *op)
{
  return ra_op_flop(op) < law->flop_per_byte * ra_op_bytes(op);
}

/* Slowdown of one second of @op while it overlaps with the other kind; 0 for
 * copies and host work. */
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

/* All overlapped runs of a kernel. */
typedef struct {
  guint first;        /* first of its rows, overlapped or not */
  gboolean by_memory; /* bound by memory in most of its time */
  double alone_s;     /* sum of its runs alone */
  double overlap_s;   /* part of alone_s during collectives */
  double beside_s;    /* measured sum of its runs with overlap */
  double frac;        /* slowdown; may be below 0 */
  double predicted_s; /* beside_s by a fit that had not seen the kernel */
  gboolean is_only;   /* only one of its kind: nothing to predict from */
} RaOverlapKernel;

typedef struct {
  double product_frac, memory_frac; /* fits on all kernels */
  RaOverlapKernel *kernels;         /* (n_kernels) in order of appearance */
  guint n_kernels;
  guint n_rows;     /* rows that overlapped */
  guint n_outliers; /* rows that were clipped */
} RaOverlapFit;

/**
 * ra_overlap_fit_new:
 * @rows: (element-type RaOverlapRowsKernel)
 *
 * Fits on all rows, and once for each kernel without it.
 *
 * Returns: (transfer full): ra_overlap_fit_free() it
 */
RaOverlapFit *ra_overlap_fit_new(const GArray *rows);
void ra_overlap_fit_free(RaOverlapFit *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaOverlapFit, ra_overlap_fit_free)

/* Appends to @out (double) |predicted_s / beside_s - 1| of the kernels that
 * others predict; if @alone, |alone_s / beside_s - 1| of all, the error without
 * a law. */
void ra_overlap_add_errors(const RaOverlapFit *fit, gboolean alone,
                           GArray *out);

/* Median and 90th percentile of these errors; 0 if there are none. */
void ra_overlap_errors(const RaOverlapFit *fit, gboolean alone,
                       double *out_median_frac, double *out_p90_frac);

/**
 * ra_overlap_fit_messages:
 * @messages: (element-type RaMeasured): collectives within an iteration
 * @alone_s: (array length=n): time of each without overlap
 *
 * The median of (in place - call) / alone - 1 over messages of 1 MiB and more,
 * at least 0.  `call` is the framework's overhead of a collective: the median
 * of in place - alone up to 64 KiB.
 *
 * Returns: comm_frac; 0 for no such message
 */
double ra_overlap_fit_messages(const GArray *messages, const double *alone_s);

#endif
