/* Steps of generation that are captured and begun again: what a device begins
 * of a step costs its host a call, not one a kernel.  Private to
 * exec/model/stage*.c.
 *
 * A step is a *shape* (sequences, piece, where its weights and cache are) and
 * words that the host tells of it (tokens, positions, ...), which the device
 * keeps at one place (RaBackend.keep_words).  Of a shape the first step runs op
 * by op, and what it takes of the stage's slabs is rehearsed; the second is
 * captured as it runs, in an arena as large as that, so that all of it has the
 * same place each time; those behind it are graphs.
 *
 * Collectives are between the graphs of a step, as they were between its ops.
 * A step of which something cannot be captured runs op by op.
 */
#ifndef RA_EXEC_MODEL_STAGE_STEPS_H
#define RA_EXEC_MODEL_STAGE_STEPS_H

#include "exec/model/stage_impl.h"

/* Shapes whose graphs are kept, those that were used last. */
#define RA_STEPS_SHAPES 64

typedef struct {
  RaPiece piece;
  uint32_t n;          /* sequences */
  uint32_t max_pages;  /* of each, in the cache */
  const void *cache;   /* where it is */
  const void *weights; /* the rank's first */
  gsize workspace;     /* of its attention, which its grid follows */
} RaStepShape;

/* (transfer full): ra_steps_free() it */
RaSteps *ra_steps_new(const RaBackend *backend);
void ra_steps_free(RaSteps *steps);

/**
 * ra_steps_begin:
 * @shape: of the step that is about to run
 *
 * From here until ra_steps_end() the stage's slabs are taken in the same order
 * each time.
 */
void ra_steps_begin(RaStage *stage, const RaStepShape *shape);

/**
 * ra_steps_run:
 * @walk: begins the ops of the step; returns where its result is
 *
 * Returns: (transfer none): that
 */
RaElem *ra_steps_run(RaStage *stage, RaElem *(*walk)(gpointer data),
                     gpointer data);

/* All that was taken is given back. */
void ra_steps_end(RaStage *stage);

/* What was found late in the graphs of the last step, once it has been waited
 * for: sets @stage->bad. */
void ra_steps_look(RaStage *stage);

typedef enum {
  RA_STEPS_ALL_REDUCE,     /* @in is @out, (n) elements */
  RA_STEPS_REDUCE_SCATTER, /* (n) elements of the result */
  RA_STEPS_ALL_GATHER      /* (n) elements of each rank */
} RaStepsCollective;

/* A collective of @stage's tensor-parallel group, in a step or elsewhere. */
void ra_steps_collective(RaStage *stage, RaStepsCollective which,
                         const RaElem *in, RaElem *out, gsize n);

/* A look at what an op of @kind has made, about to be begun. */
void ra_steps_add_look(RaStage *stage, RaOpKind kind);

/* Of this stage, since it was made. */
RaStepsTally ra_steps_tally(const RaStage *stage);

#endif
