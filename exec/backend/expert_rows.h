/* Products of experts with their rows, one by one.
 *
 * What the table's gemm_experts() is where it has nothing better: a product an
 * expert that has rows, each by the table's own, for which the host must know
 * how many rows these are.
 */
#ifndef RA_EXEC_BACKEND_EXPERT_ROWS_H
#define RA_EXEC_BACKEND_EXPERT_ROWS_H

#include "exec/backend/backend.h"

/* (transfer none): (n_experts) rows of each, the host's; read when first asked
 * for, and then the host waits for the device. */
const uint32_t *ra_expert_rows_counts(const RaBackend *backend,
                                      RaExpertRows *rows);

/* With the contract of gemm_experts(). */
void ra_expert_rows_multiply(const RaBackend *backend, RaExpertsProduct product,
                             RaExpertRows *rows, gsize n, gsize k,
                             const RaElem *a, const RaElem *b, void *out);

#endif
