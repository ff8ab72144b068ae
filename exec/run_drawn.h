/* Tokens that a rank has drawn.  Private to exec/run*.c.
 *
 * A back end that draws without a wait (RaBackend.draw()) leaves tokens on the
 * device, where the next step finds them: the host is ahead by up to
 * RA_DRAWN_STEPS steps, as it knows from the plan when a sequence ends.  It
 * reads all of them, behind one wait, when so many have been begun or the task
 * ends.  Other back ends, stages of a pipeline, whose tokens go to the first
 * one, and `run --check` wait for each step.
 */
#ifndef RA_EXEC_RUN_DRAWN_H
#define RA_EXEC_RUN_DRAWN_H

#include "exec/model/stage.h"

/* Steps ahead at most, so that a heartbeat comes in time; the wait costs a
 * round trip of the host, some 1e-5 of so many steps. */
#define RA_DRAWN_STEPS 256

/* A decode step that nobody has waited for. */
typedef struct {
  uint32_t begin;         /* first of its tokens */
  uint32_t decode, group; /* as in ra_stage_leave() */
} RaDrawnStep;

typedef struct {
  RaCpuSample *made; /* (room) pinned, owned; NULL: none yet */
  uint32_t *slots;   /* (room) of the generation's sequences, owned */
  uint32_t *at;      /* (room) number of each in its response, owned */
  uint32_t n, room;
  RaDrawnStep steps[RA_DRAWN_STEPS];
  uint32_t n_steps;
  uint32_t n_waits; /* of decode steps so far */
} RaDrawn;

void ra_drawn_clear(RaDrawn *drawn, const RaBackend *backend);

#endif
