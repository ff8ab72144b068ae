/* A GPU that does nothing, for tests of what is done around ops: memory that
 * nobody can look into, ops that only return, and a timer that says what a
 * profile says of the op at hand.
 *
 *     idle_gpu_init(&gpu, truth);
 *     options.machine = &gpu.machine;
 */
#ifndef RA_TESTS_IDLE_GPU_H
#define RA_TESTS_IDLE_GPU_H

#include "estimator/estimator.h"
#include "exec/probe_machine.h"

/* There is one: its timer's functions have no data of their own. */
typedef struct {
  RaProbeMachine machine;
  RaEstimator *truth; /* owned: what ops take */
  guint n_slow;       /* of the first repeats of an op: 50 times as long */
  double unit;        /* 1: seconds, as a timer must say */
  RaOp last;          /* the op at hand */
  guint n_same;       /* how often it was begun */
  guint64 n_begun;    /* of all */
} IdleGpu;

IdleGpu *idle_gpu_new(const RaProfile *truth);
void idle_gpu_free(IdleGpu *gpu);

/* What its launches take. */
#define IDLE_EAGER_S 2.5e-6
#define IDLE_GRAPH_S 7e-6
#define IDLE_GAP_S 1.25e-7
/* What it has taken without an array. */
#define IDLE_TAKEN ((uint64_t)600 << 20)

#endif
