/* What a generate call does about the long tail of its sequences: a record of
 * the plan's choices, whose keys are in graph/input/plan_tail.h and whose
 * meaning is in graph/rollout/rollout.h.  All zero: nothing, static batching as
 * it is. */
#ifndef RA_GRAPH_INPUT_TAIL_H
#define RA_GRAPH_INPUT_TAIL_H

#include <glib.h>
#include <stdint.h>

typedef enum { RA_ASSIGN_ORDER, RA_ASSIGN_LENGTH } RaAssignment;
typedef enum { RA_UNFINISHED_DISCARD, RA_UNFINISHED_CARRY } RaUnfinished;
typedef enum { RA_MOVED_COPY, RA_MOVED_RECOMPUTE } RaMovedKv;

typedef struct {
  int assignment;       /* RaAssignment: of sequences to replicas */
  double prediction;    /* LENGTH: correlation of what it goes by with the
                           truth, in [0, 1] */
  uint32_t n_respreads; /* times that running sequences are spread anew */
  double over_sample;   /* prompts begun for one wanted; below 1 counts as 1 */
  int unfinished;       /* RaUnfinished, of those over */
  double migrate_frac;  /* of the sequences, still running when the last are
                           moved; 0: never */
  uint32_t migrate_to;  /* replicas that they are moved to, the first ones */
  int moved_kv;         /* RaMovedKv, of respread and migrated sequences */
} RaTail;

/* Whether any of it is chosen. */
static inline gboolean
ra_tail_is_set(const RaTail *tail)
{
  return tail->assignment != RA_ASSIGN_ORDER || tail->n_respreads > 0 ||
         tail->over_sample > 1 || tail->migrate_frac > 0;
}

#endif
