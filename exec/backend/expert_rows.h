/* GEMMs of experts with their rows, one by one.
 *
 * A back end uses this as gemm_experts() if it has no grouped GEMM: one gemm()
 * of its table per expert that has rows.  The host must know the counts of
 * rows.
 */
#ifndef RA_EXEC_BACKEND_EXPERT_ROWS_H
#define RA_EXEC_BACKEND_EXPERT_ROWS_H

#include "exec/backend/backend.h"

/* (transfer none): (n_experts) rows of each expert, in host memory; read at the
 * first call, for which the host waits for the device. */
const uint32_t *ra_expert_rows_counts(const RaBackend *backend,
                                      RaExpertRows *rows);

/* Implements gemm_experts() with one GEMM per expert. */
void ra_expert_rows_multiply(const RaBackend *backend, RaExpertsProduct product,
                             RaExpertRows *rows, gsize n, gsize k,
                             const RaElem *a, const RaElem *b, void *out);

#endif
