/* Transfer: what was measured on one GPU, on the data sheet of another.
 *
 * A law is carried over dimensionless: shares of FLOP/s, of memory bandwidth
 * (kernels that are bound by the bytes in flight of a multiprocessor get less
 * of a faster memory) and of links, tiles and elements as they are; latencies
 * of kernels and of collectives in a node as multiprocessor cycles;
 * multiprocessors are the target's.  Its table is carried where the kernels and
 * the number of multiprocessors are the same, and left behind otherwise.
 *
 *     ra_transfer_law(h100, base, b200, target, "gemm.bf16");
 */
#ifndef RA_ESTIMATOR_CALIBRATE_TRANSFER_H
#define RA_ESTIMATOR_CALIBRATE_TRANSFER_H

#include "estimator/calibrate/gpu.h"
#include "traces/law.h"
#include "traces/profile.h"

/* Appends the group of law @spec at the start of its fit, in a key file's text.
 */
void ra_transfer_start_law(const RaGpu *gpu, const RaLawSpec *spec,
                           GString *out);

/* A profile with every law at the start of its fit, on @sheet. */
RaProfile *ra_transfer_start(const RaGpu *gpu, const RaSheet *sheet);

/**
 * ra_transfer_law:
 * @from: class of @base
 * @base: with law @name, as fitted
 * @to: class of @target
 * @target: of ra_transfer_start(); its law @name is set
 *
 *     share, tile, tokens   as they are
 *     sms                   the target's
 *     x-s                   x-s clock(from) / clock(to), but between nodes and
 *                           on the host: as they are
 *     bandwidth-frac        x (bytes a cycle and multiprocessor of @to's
 *                           bandwidth / @from's)^p; p = -1/2 for memory.* but
 *                           sums, -0.13 for attention, 0 for products
 *
 * Cycles: measured floors of the A100 (1410 MHz) are 1.37 times the H100's
 * (1980 MHz) for products, 1.4 to 1.6 times for small collectives;
 * 1980 / 1410 = 1.40.
 */
void ra_transfer_law(const RaGpu *from, const RaProfile *base, const RaGpu *to,
                     RaProfile *target, const char *name);

/* (transfer full): every law of @base on @sheet, that of @to, others at the
 * start of a fit. */
RaProfile *ra_transfer_profile(const RaGpu *from, const RaProfile *base,
                               const RaGpu *to, const RaSheet *sheet);

/**
 * ra_transfer_error:
 * @base: a profile of class @from
 * @data: folder of measurements
 * @law: that ra_fit_law() knows
 * @twin: another class with rows of it
 * @out_n_rows: (out): of @twin; 0: none, and no error
 *
 * What a transfer of @law to @twin is off @twin's own rows, which @base has not
 * seen.
 */
gboolean ra_transfer_error(const RaGpu *from, const RaProfile *base,
                           const char *data, const char *law, const RaGpu *twin,
                           guint *out_n_rows, double *out_median_frac,
                           double *out_p90_frac, GError **error);

#endif
