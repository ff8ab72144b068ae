/* A GPU that does nothing, for tests of what is done around ops: memory that
 * nobody can look into, and ops that only let time pass, as long as a profile
 * says and no sooner than the host has begun them.  It can be calibrated and
 * plans run on it, one rank each.
 *
 *     IdleGpu *gpu = idle_gpu_new(truth);
 *     options.machine = &gpu->machine;
 */
#ifndef RA_TESTS_DEVICE_IDLE_GPU_H
#define RA_TESTS_DEVICE_IDLE_GPU_H

#include "estimator/estimator.h"
#include "exec/measure/probe_machine.h"
#include "tests/device/idle_time.h"

/* There is one: its timer's functions have no data of their own. */
typedef struct {
  RaProbeMachine machine;
  RaEstimator *truth; /* owned: what ops take */
  guint n_slow;       /* of the first repeats of an op: 50 times as long */
  double unit;        /* 1: seconds, as a timer must say */
  RaOp last;          /* the op at hand */
  double begin_s;     /* the device's time when it was begun */
  RaOpKind odd_op;    /* takes @odd times what the truth says; RA_N_OPS: none */
  double odd;
  guint n_same;    /* how often it was begun */
  guint64 n_begun; /* of all */
} IdleGpu;

IdleGpu *idle_gpu_new(const RaProfile *truth);
void idle_gpu_free(IdleGpu *gpu);

/* The host's time beside it: launches, and what it has waited for. */
double idle_gpu_now_s(void);

/* What an op takes by the profile that is the truth, in as many launches as
 * exec/backend/backend_cuda*.c makes of it. */
void idle_op(RaOpKind kind, guint n_launches, const uint64_t *dims);
#define IDLE_OP(kind, n_launches, ...)                                         \
  idle_op(kind, n_launches, (const uint64_t[RA_OP_DIMS]){__VA_ARGS__})
/* Entries of its table that are of experts. */
void idle_set_experts(RaBackend *table);

/* Of copies within it, read and written. */
#define IDLE_COPY_BYTES_PER_S 3e12
/* What it has taken without an array. */
#define IDLE_TAKEN ((uint64_t)600 << 20)

#endif
