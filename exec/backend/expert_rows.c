/* GEMMs of experts, one by one. */
#include "config.h"

#include "exec/backend/expert_rows.h"

const uint32_t *
ra_expert_rows_counts(const RaBackend *backend, RaExpertRows *rows)
{
  if (!rows->is_read)
    backend->read(rows->read, rows->counts,
                  rows->n_experts * sizeof *rows->read);
  rows->is_read = TRUE;
  return rows->read;
}

void
ra_expert_rows_multiply(const RaBackend *backend, RaExpertsProduct product,
                        RaExpertRows *rows, gsize n, gsize k, const RaElem *a,
                        const RaElem *b, void *out)
{
  const uint32_t *counts = ra_expert_rows_counts(backend, rows);
  gsize row = 0;

  for (uint32_t x = 0; x < rows->n_experts; row += counts[x++]) {
    gsize m = counts[x], matrix = x * n * k;

    if (m > 0 && product == RA_EXPERTS_OUTPUT)
      backend->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, m, n, k,
                    ra_elem_at(backend, a, row * k), k,
                    ra_elem_at(backend, b, matrix), k, 0,
                    ra_elem_at(backend, (RaElem *)out, row * n), n);
    else if (m > 0 && product == RA_EXPERTS_INPUT)
      backend->gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, m, k, n,
                    ra_elem_at(backend, a, row * n), n,
                    ra_elem_at(backend, b, matrix), k, 0,
                    ra_elem_at(backend, (RaElem *)out, row * k), k);
    else if (m > 0)
      backend->gemm_f32(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, k, m,
                        ra_elem_at(backend, a, row * n), n,
                        ra_elem_at(backend, b, row * k), k, 1,
                        (float *)out + matrix, k);
  }
}
