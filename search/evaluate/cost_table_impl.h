/* Inside the table of costs; only search/evaluate/cost*.c include this. */
#ifndef RA_SEARCH_EVALUATE_COST_TABLE_IMPL_H
#define RA_SEARCH_EVALUATE_COST_TABLE_IMPL_H

#include "graph/expand/sequence.h"
#include "search/evaluate/cost_table.h"

/* Bits of the names of reallocations. */
#define RA_COST_RELATION_BITS 16
#define RA_COST_OFFSET_ZERO 0x8000u
#define RA_COST_LAYOUT_BITS 22
#define RA_COST_SCHEME_BITS 2
#define RA_COST_KEPT_BIT (UINT64_C(1) << 62) /* adapters move alone */

/* Seconds, and the round in which they were asked. */
typedef struct {
  double seconds;
  gint round;
} RaKnownRealloc;

struct _RaCostTable {
  const RaSpace *space;         /* borrowed */
  const RaEstimator *estimator; /* borrowed */
  uint32_t n_like;
  RaArena *arena;             /* owns sets */
  const RaSequenceSet **sets; /* (n_like, n_calls) that transfers carry, at
                                 the calls that make them; owned */
  double **call_s;            /* (n_calls) (n, n_like, n_parts), owned */
  double **bound_s;           /* (n_calls) (n), owned */
  float **n_tasks;            /* (n_calls) (n) to simulate; owned */
  gint **known;        /* (n_calls) (n) atomic: the round in which call_s was
                          asked; 0: not yet; owned */
  gint round;          /* atomic, >= 1 */
  double **copy_s;     /* (n_calls) (n, 2, 4) NAN: not yet, owned */
  GMutex lock;         /* of what is kept on demand */
  double *model_bytes; /* (n_models) of one copy of the parameters; owned */
  double *layers_frac; /* (n_models) of that: what layers' matrices have */
  double intra_s_per_byte, inter_s_per_byte; /* of a reallocation */
  GHashTable *reallocs;                      /* key -> RaKnownRealloc, owned */
  GByteArray *news; /* nullable: what was asked since it was taken; owned */
};

/* Notes what has been asked, if somebody wants to know; lock is held. */
void ra_cost_table_note_call(RaCostTable *table, uint32_t call,
                             uint32_t candidate);
void ra_cost_table_note_realloc(RaCostTable *table, uint64_t key,
                                double seconds);

/* Doubles of a candidate of @call. */
gsize ra_cost_table_width(const RaCostTable *table, uint32_t call);

/* Seconds of @op as a task of its own on the slowest of @kinds of nodes. */
double ra_cost_table_op_s(const RaCostTable *table, RaOp op, uint32_t kinds);

/* Fills what ra_cost_table_realloc_bound_s() goes by. */
void ra_cost_table_init_moves(RaCostTable *table);

#endif
