/* Private parts of the cost table; only search/evaluate/cost*.c include this.
 */
#ifndef RA_SEARCH_EVALUATE_COST_TABLE_IMPL_H
#define RA_SEARCH_EVALUATE_COST_TABLE_IMPL_H

#include "graph/expand/sequence.h"
#include "search/evaluate/cost_table.h"

/* Bit fields of reallocation keys. */
#define RA_COST_RELATION_BITS 16
#define RA_COST_OFFSET_ZERO 0x8000u
#define RA_COST_LAYOUT_BITS 22
#define RA_COST_SCHEME_BITS 2
#define RA_COST_KEPT_BIT (UINT64_C(1) << 62) /* adapters move alone */

/* Seconds of a reallocation, and the round in which they were computed. */
typedef struct {
  double seconds;
  gint round;
} RaKnownRealloc;

struct _RaCostTable {
  const RaSpace *space;         /* borrowed */
  const RaEstimator *estimator; /* borrowed */
  RaForks *forks;               /* of it, owned */
  RaCostStore *store;           /* borrowed, nullable */
  uint32_t n_like;
  RaPlan *any;      /* some plan of the space, owned */
  double **call_s;  /* (n_calls) (n, n_like, n_parts), owned */
  double **trip_s;  /* (n_calls) the same as lower bounds, of calls
                                 with a part a trip; NULL: others; owned */
  double **bound_s; /* (n_calls) (n), owned */
  float **n_tasks;  /* (n_calls) (n) tasks of a simulation; owned */
  gint **known; /* (n_calls) (n) atomic: round in which call_s was computed; 0:
                   unknown; owned */
  gint round;   /* atomic, >= 1 */
  double **copy_s;     /* (n_calls) (n, 2, 4) NAN: unknown, owned */
  GMutex lock;         /* protects the costs that are computed on demand */
  double *model_bytes; /* (n_models) bytes of one copy of the parameters;
                          owned */
  double *layers_frac; /* (n_models) share of that in the layers' matrices */
  double intra_s_per_byte, inter_s_per_byte; /* rates of a reallocation */
  GHashTable *reallocs;                      /* key -> RaKnownRealloc, owned */
  GByteArray *news; /* nullable: outbox, costs computed since it was taken;
                       owned */
};

/* Record a computed cost in the outbox, if there is one.  The lock is held. */
void ra_cost_table_note_call(RaCostTable *table, uint32_t call,
                             uint32_t candidate);
void ra_cost_table_note_realloc(RaCostTable *table, uint64_t key,
                                double seconds);

/* Parts of the name of a cost in the store. */
enum { RA_COST_NAME_BOUND, RA_COST_NAME_CALL, RA_COST_NAME_REALLOC };

/* Number of doubles per candidate of @call. */
gsize ra_cost_table_width(const RaCostTable *table, uint32_t call);

/* Computes the inputs of ra_cost_table_realloc_bound_s(). */
void ra_cost_table_init_moves(RaCostTable *table);

#endif
