/* An oracle for reallocations, element by element, with small random cases.
 *
 * It shares no code with graph/augment/layout.c or graph/augment/realloc*.c.
 * It decides for each element alone which ranks have it, and keeps a copy of
 * every tensor as one byte per element and GPU.
 *
 *     RaOracleCase c;
 *     ra_oracle_case_init(&c, seed);
 *     GArray *slices = ra_oracle_slices(&c, scheme);
 *     const char *fault = ra_oracle_judge(&c, scheme, slices, realloc);
 *     ra_oracle_case_clear(&c);
 *
 * Typical: 16 GPUs, 2,000 elements.
 */
#ifndef RA_TESTS_SUPPORT_REALLOC_ORACLE_H
#define RA_TESTS_SUPPORT_REALLOC_ORACLE_H

#include "graph/augment/realloc.h"

#define RA_ORACLE_ELEMENT_BYTES 2

typedef struct {
  RaCluster cluster; /* up to 4 nodes of 8, no file */
  RaModel *model;    /* owned */
  RaCallPlan from;   /* owns its stage layers */
  RaCallPlan to;     /* owns its stage layers */
} RaOracleCase;

/* Samples meshes, degrees, rank orders, stages and model with @seed. */
void ra_oracle_case_init(RaOracleCase *oracle, uint64_t seed);
void ra_oracle_case_clear(RaOracleCase *oracle);

/* (transfer full): the RaSlices that ra_realloc_slices() visits, in order. */
GArray *ra_oracle_slices(const RaOracleCase *oracle, RaReallocScheme scheme);

/* A description of what is wrong with @slices or @realloc; NULL: nothing. */
const char *ra_oracle_judge(const RaOracleCase *oracle, RaReallocScheme scheme,
                            const GArray *slices, const RaRealloc *realloc);

/* TRUE if @rank of @plan has element (@row, @col) of @tensor, which is number
 * @index of @model. */
gboolean ra_oracle_holds(const RaModel *model, const RaCallPlan *plan,
                         uint32_t rank, uint32_t index, const RaTensor *tensor,
                         uint64_t row, uint64_t col);

#endif
