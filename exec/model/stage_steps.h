/* CUDA-graph capture of decode steps: replaying a captured step costs the host
 * one launch instead of one per kernel.  Private to exec/model/stage*.c.
 *
 * A step is a *shape* (sequences, piece, addresses of weights and cache) and
 * words from the host (tokens, positions, ...), which the device keeps at a
 * fixed address (RaBackend.keep_words).
 *
 *   first step   runs op by op; its allocations from the stage's slabs are
 *                rehearsed
 *   second step  is captured while it runs, in an arena of the rehearsed size,
 *                so that every allocation has the same address each time
 *   later steps  are launched as graphs
 *
 * Collectives of a communicator that carries from device to device are captured
 * with the ops, so that the step is one graph; others run between its graphs. A
 * step with an op that cannot be captured runs op by op.
 */
#ifndef RA_EXEC_MODEL_STAGE_STEPS_H
#define RA_EXEC_MODEL_STAGE_STEPS_H

#include "exec/model/stage_impl.h"

/* Number of shapes whose graphs are kept, the most recently used. */
#define RA_STEPS_SHAPES 64

typedef struct {
  RaPiece piece;
  uint32_t n;          /* sequences */
  uint32_t max_pages;  /* pages of each sequence in the cache */
  const void *cache;   /* address of the cache */
  const void *weights; /* address of the rank's first weight */
  gsize workspace;     /* size of its attention workspace, which determines the
                          grid */
} RaStepShape;

/* (transfer full): free with ra_steps_free() */
RaSteps *ra_steps_new(const RaBackend *backend);
void ra_steps_free(RaSteps *steps);

/**
 * ra_steps_begin:
 * @shape: shape of the step that is about to run
 *
 * From here until ra_steps_end() the stage must allocate from its slabs in the
 * same order each time.
 */
void ra_steps_begin(RaStage *stage, const RaStepShape *shape);

/**
 * ra_steps_run:
 * @walk: runs the ops of the step; returns the address of its result
 *
 * Returns: (transfer none): that address
 */
RaElem *ra_steps_run(RaStage *stage, RaElem *(*walk)(gpointer data),
                     gpointer data);

/* Ends the step; all its allocations must have been given back. */
void ra_steps_end(RaStage *stage);

/* Reads the checks of the last step, once the host has waited for it: sets
 * @stage->bad. */
void ra_steps_look(RaStage *stage);
/* Leaves the check of the last step, captured or not, to
 * ra_stage_settle_steps(). */
void ra_steps_look_later(RaStage *stage);

typedef enum {
  RA_STEPS_ALL_REDUCE,     /* @in is @out, (n) elements */
  RA_STEPS_REDUCE_SCATTER, /* (n) elements of the result */
  RA_STEPS_ALL_GATHER      /* (n) elements from each rank */
} RaStepsCollective;

/* Runs a collective of @stage's tensor-parallel group, in a step or
 * elsewhere. */
void ra_steps_collective(RaStage *stage, RaStepsCollective which,
                         const RaElem *in, RaElem *out, gsize n);

/* Adds a check of the result of an op of @kind, which is about to begin.
 *
 * Returns: TRUE if it is being captured */
gboolean ra_steps_add_look(RaStage *stage, RaOpKind kind);

/* Counts of this stage since it was made. */
RaStepsTally ra_steps_tally(const RaStage *stage);

#endif
