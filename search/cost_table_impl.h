/* Inside the table of costs; only search/cost*.c include this. */
#ifndef RA_SEARCH_COST_TABLE_IMPL_H
#define RA_SEARCH_COST_TABLE_IMPL_H

#include "search/cost_table.h"

/* Bits of the names of reallocations. */
#define RA_COST_RELATION_BITS 16
#define RA_COST_OFFSET_ZERO 0x8000u
#define RA_COST_LAYOUT_BITS 22
#define RA_COST_SCHEME_BITS 2

struct _RaCostTable {
  const RaSpace *space;         /* borrowed */
  const RaEstimator *estimator; /* borrowed */
  uint32_t n_like;
  double **call_s;       /* (n_calls) (n, n_like, n_parts), owned */
  double **bound_s;      /* (n_calls) (n), owned */
  gint **known;          /* (n_calls) (n) atomic: call_s is known; owned */
  double **copy_s;       /* (n_calls) (n, 2, 4) NAN: not yet, owned */
  GMutex lock;           /* of what is kept on demand */
  GHashTable *realloc_s; /* key -> double, owned */
};

#endif
