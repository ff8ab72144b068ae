/* A published training run, simulated.
 *
 * A row of a table becomes a model, a workload, a cluster and a plan in memory,
 * is expanded by the one lowering at stage fidelity, equal replicas once, and
 * replayed.  What the row leaves open its framework's convention gives.
 *
 *     g_autoptr(RaTrainRun) run = ra_train_run_new(row, &error);
 *     double s = ra_train_run_s(run, profile, &constants, &error);
 *
 * Typical sizes: 10^2 to 10^5 tasks, 0.1 to 50 ms.
 */
#ifndef RA_STUDY_VALIDATE_TRAIN_RUN_H
#define RA_STUDY_VALIDATE_TRAIN_RUN_H

#include "graph/input/model.h"
#include "graph/input/plan.h"
#include "study/validate/train_row.h"
#include "traces/profile.h"
#include "traces/system.h"

/* A constant of a system that is fitted. */
typedef struct {
  const char *key;  /* of ra_system_constant_specs(); NULL: no more */
  double start;     /* neutral, or of the size that is expected; SI */
  double low, high; /* of the fit */
} RaTrainConstant;

/* What a framework does where its tables do not say. */
typedef struct {
  const char *source; /* of the rows: begins so */
  const char *system; /* whose constants; a family of rows that share
                         them on one GPU */
  RaTrainConstant fitted[RA_SYSTEM_CONSTANTS_MAX]; /* of the system */
  RaModelPosition position;     /* of models with a plain MLP */
  gboolean tied;                /* of models with a plain MLP */
  gboolean bias;                /* of models with a plain MLP */
  gboolean sequence_parallel;   /* with tp, unless the row says */
  gboolean scatter_sends;       /* tp ranks send parts between stages */
  gboolean overlap;             /* gradients are reduced behind the backward */
  int attention;                /* RaAttention */
  int cross_entropy;            /* RaCrossEntropy */
  int grad_dtype;               /* RaDtype; -1: the model's */
  int zero;                     /* where the row does not say */
  guint nics;                   /* of a node of 8 */
  double nic_gbit_per_s;        /* each, one direction; A100 */
  double nic_hopper_gbit_per_s; /* each; every other GPU */
} RaTrainConvention;

/* The convention of @row's source; never NULL. */
const RaTrainConvention *ra_train_convention(const RaTrainRow *row);

/* (transfer full): @row's GPU as profiles are called: "a100". */
char *ra_train_gpu(const RaTrainRow *row);

/* Memory bandwidth of a variant of a GPU that has no profile of its own, data
 * sheet; 0: as in the profile.  A100 40 GB: NVIDIA's data sheet of the A100;
 * H100 96 GB HBM2e: pytorch/torchtitan benchmarks. */
double ra_train_memory_bytes_per_s(const RaTrainRow *row);

/* Whether the row says all that the seconds depend on: shape, micro-batch,
 * recomputation, precision, and how long a step took. */
gboolean ra_train_row_is_full(const RaTrainRow *row);

typedef struct _RaTrainRun RaTrainRun;

/**
 * ra_train_run_new:
 * @row: borrowed during the call
 * @error: %RA_ERROR_INPUT: its shape or degrees are missing or do not divide
 *
 * Returns: (transfer full): ra_train_run_free() it
 */
RaTrainRun *ra_train_run_new(const RaTrainRow *row, GError **error);
void ra_train_run_free(RaTrainRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTrainRun, ra_train_run_free)

/**
 * ra_train_run_s:
 * @profile: of the run's GPU
 * @constants: (nullable): of the system
 *
 * Seconds of a step.  Thread: one run from one thread at a time.
 *
 * Returns: seconds; NAN with @error set
 */
double ra_train_run_s(RaTrainRun *run, const RaProfile *profile,
                      const RaSystemConstants *constants, GError **error);

/* Seconds by the data sheet: the FLOP of all GPUs, those of recomputation with
 * them, at their peak. */
double ra_train_run_roofline_s(const RaTrainRun *run, const RaProfile *profile);

#endif
