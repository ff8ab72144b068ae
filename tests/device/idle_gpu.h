/* An idle GPU, for tests of the code around ops: its memory is not accessible,
 * and its ops only let time pass.
 *
 * An op costs the time of a profile and starts no sooner than the host launches
 * it.  The GPU can be calibrated, and plans run on it, one rank each.
 *
 *     IdleGpu *gpu = idle_gpu_new(truth);
 *     options.machine = &gpu->machine;
 */
#ifndef RA_TESTS_DEVICE_IDLE_GPU_H
#define RA_TESTS_DEVICE_IDLE_GPU_H

#include "estimator/estimator.h"
#include "exec/measure/probe_machine.h"
#include "tests/device/idle_time.h"

/* An idle GPU; there is only one, as the functions of its timer have no data.
 */
typedef struct {
  RaProbeMachine machine;
  RaEstimator *truth; /* owned: times of ops */
  guint n_slow;       /* first repeats of an op that take 50 times as long */
  double unit;        /* unit of the timer; 1: seconds, which is right */
  RaOp last;          /* current op */
  double begin_s;     /* the device's time at its start */
  RaOpKind odd_op;    /* takes odd times the truth; RA_N_OPS: none */
  double odd;
  guint n_same;    /* starts of the current op */
  guint64 n_begun; /* starts of all ops */
} IdleGpu;

IdleGpu *idle_gpu_new(const RaProfile *truth);
void idle_gpu_free(IdleGpu *gpu);

/* The host's time: launches and waits. */
double idle_gpu_now_s(void);

/* Runs an op for its time by the true profile, with @n_launches launches as in
 * exec/backend/backend_cuda*.c. */
void idle_op(RaOpKind kind, guint n_launches, const uint64_t *dims);
#define IDLE_OP(kind, n_launches, ...)                                         \
  idle_op(kind, n_launches, (const uint64_t[RA_OP_DIMS]){__VA_ARGS__})
/* Sets the entries of its table for experts. */
void idle_set_experts(RaBackend *table);

/* Rate of copies within it, read and written. */
#define IDLE_COPY_BYTES_PER_S 3e12
/* Memory in use without any array. */
#define IDLE_TAKEN ((uint64_t)600 << 20)

#endif
