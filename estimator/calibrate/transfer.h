/* Transfer: the laws of one GPU on the data sheet of another.
 *
 * A law is transferred in dimensionless form:
 *
 *     shares    of FLOP/s, memory bandwidth and links: unchanged; kernels bound
 *               by the bytes in flight of a multiprocessor use a smaller share
 *               of a faster memory
 *     sizes     tiles and elements: unchanged
 *     latencies of kernels, and of collectives in a node: in cycles of the
 *               multiprocessor
 *     sms       those of the target
 *     table     transferred if the kernels and, but for a twentieth, the number
 *               of multiprocessors are equal, else dropped
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
 * @base: has the fitted law @name
 * @to: class of @target
 * @target: from ra_transfer_start(); its law @name is set
 *
 *     share, tile, tokens   unchanged
 *     sms                   those of the target
 *     x-s                   x-s clock(from) / clock(to); unchanged between
 *                           nodes and on the host
 *     head-dim-half         as the cycles of a score's exponentials, fp32
 *                           operations and rows make it
 *     tile-s, block-s       of attention from FlashAttention 3 on: x rows of a
 *                           tensor core's instruction too
 *     bandwidth-frac        x (bytes a cycle and multiprocessor of @to's
 *                           bandwidth / @from's)^p; p = -1/2 for memory.*
 *                           except sums, -0.13 for attention, 0 for GEMMs
 *
 * Cycles: measured floors of the A100 (1410 MHz) are 1.37 times the H100's
 * (1980 MHz) for GEMMs, 1.4 to 1.6 times for small collectives;
 * 1980 / 1410 = 1.40.
 */
void ra_transfer_law(const RaGpu *from, const RaProfile *base, const RaGpu *to,
                     RaProfile *target, const char *name);

/* (transfer full): every law of @base on @sheet, the data sheet of @to; other
 * laws at the start of their fit. */
RaProfile *ra_transfer_profile(const RaGpu *from, const RaProfile *base,
                               const RaGpu *to, const RaSheet *sheet);

/**
 * ra_transfer_error:
 * @base: a profile of class @from
 * @data: (array zero-terminated=1): folders of measurements
 * @law: a law of ra_fit_law()
 * @twin: another class with rows of @law
 * @out_n_rows: (out): rows of @twin; 0: none, and the errors are not set
 *
 * The error of a transfer of @law to @twin, on @twin's own rows, which @base
 * has not seen.
 */
gboolean ra_transfer_error(const RaGpu *from, const RaProfile *base,
                           const char *const *data, const char *law,
                           const RaGpu *twin, guint *out_n_rows,
                           double *out_median_frac, double *out_p90_frac,
                           GError **error);

#endif
