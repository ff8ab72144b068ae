/* Long-tail record of a generate call: the plan's choices about its longest
 * sequences.  graph/input/plan_tail.h has the keys, graph/rollout/rollout.h the
 * meaning.  All zero: plain static batching. */
#ifndef RA_GRAPH_INPUT_TAIL_H
#define RA_GRAPH_INPUT_TAIL_H

#include <glib.h>
#include <stdint.h>

typedef enum { RA_ASSIGN_ORDER, RA_ASSIGN_LENGTH } RaAssignment;
typedef enum { RA_UNFINISHED_DISCARD, RA_UNFINISHED_CARRY } RaUnfinished;
typedef enum { RA_MOVED_COPY, RA_MOVED_RECOMPUTE } RaMovedKv;

typedef struct {
  int assignment;       /* RaAssignment of sequences to replicas */
  double prediction;    /* LENGTH: correlation of predicted with true lengths,
                           in [0, 1] */
  uint32_t n_respreads; /* times that running sequences are spread again */
  double over_sample;   /* prompts started per prompt wanted; below 1 counts as
                           1 */
  int unfinished;       /* RaUnfinished: handling of surplus sequences */
  double migrate_frac;  /* fraction of sequences still running when they are
                           moved together; 0: never */
  uint32_t migrate_to;  /* replicas that receive them, the first ones */
  int moved_kv;         /* RaMovedKv of respread and migrated sequences */
} RaTail;

/* TRUE if any choice differs from plain static batching. */
static inline gboolean
ra_tail_is_set(const RaTail *tail)
{
  return tail->assignment != RA_ASSIGN_ORDER || tail->n_respreads > 0 ||
         tail->over_sample > 1 || tail->migrate_frac > 0;
}

#endif
