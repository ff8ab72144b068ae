/* Simulation of a published training run.
 *
 * A row of a table becomes a model, a workload, a cluster and a plan in memory.
 * They are lowered as any plan is, at stage fidelity with equal replicas
 * folded, and replayed.  The framework's convention supplies what the row
 * omits.
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
#include "study/odds.h"
#include "study/validate/train_row.h"
#include "traces/profile.h"
#include "traces/system.h"

/* A fitted constant of a system. */
typedef struct {
  const char *key;  /* of ra_system_constant_specs(); NULL: no more */
  double start;     /* start value: neutral, or of the expected size; SI */
  double low, high; /* range of the fit */
} RaTrainConstant;

/* Convention: what a framework does where its tables do not say. */
typedef struct {
  const char *source; /* prefix of the rows' source */
  const char *system; /* system whose constants are fitted: a family of rows
                         that share them on one GPU */
  RaTrainConstant fitted[RA_SYSTEM_CONSTANTS_MAX]; /* fitted constants of the
                                                      system */
  RaModelPosition position;   /* of models with a plain MLP */
  gboolean tied;              /* of models with a plain MLP */
  gboolean bias;              /* of models with a plain MLP */
  gboolean sequence_parallel; /* with tp, unless the row gives it */
  gboolean scatter_sends;     /* tp ranks send parts between stages */
  gboolean overlap;  /* the reduction of gradients overlaps with the backward */
  int attention;     /* RaAttention */
  int cross_entropy; /* RaCrossEntropy */
  int grad_dtype;    /* RaDtype; -1: the model's */
  int zero;          /* ZeRO stage where the row does not give it */
  guint nics;        /* NICs of a node of 8 GPUs */
  double nic_gbit_per_s;        /* of each NIC, one direction; A100 */
  double nic_hopper_gbit_per_s; /* of each NIC; every other GPU */
} RaTrainConvention;

/* The convention of @row's source; never NULL. */
const RaTrainConvention *ra_train_convention(const RaTrainRow *row);

/* Profile name of @row's GPU (transfer full): "a100". */
char *ra_train_gpu(const RaTrainRow *row);

/* Memory bandwidth, by the data sheet, of a GPU variant without a profile of
 * its own; 0: as in the profile.  A100 40 GB: NVIDIA's data sheet of the A100;
 * H100 96 GB HBM2e: pytorch/torchtitan benchmarks. */
double ra_train_memory_bytes_per_s(const RaTrainRow *row);

/* TRUE if the row is complete: shape, micro-batch, recomputation, precision,
 * and the measured step time. */
gboolean ra_train_row_is_full(const RaTrainRow *row);

typedef struct _RaTrainRun RaTrainRun;

/**
 * ra_train_run_new:
 * @row: borrowed during the call
 * @error: %RA_ERROR_INPUT: its shape or degrees are missing or do not divide
 *
 * Returns: (transfer full): free with ra_train_run_free()
 */
RaTrainRun *ra_train_run_new(const RaTrainRow *row, GError **error);
void ra_train_run_free(RaTrainRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTrainRun, ra_train_run_free)

/**
 * ra_train_run_s:
 * @profile: profile of the run's GPU
 * @constants: (nullable): constants of the system
 * @doubt: (inout) (nullable): how wrong the seconds may be, without a system;
 *   zero or taken before, ra_doubt_clear() it
 *
 * Simulates one step.  Thread: one run from one thread at a time.
 *
 * Returns: seconds of the step; NAN with @error set
 */
double ra_train_run_s(RaTrainRun *run, const RaProfile *profile,
                      const RaSystemConstants *constants, RaDoubt *doubt,
                      GError **error);

/* Seconds by the data sheet: the FLOP of all GPUs, recomputation included, at
 * their peak. */
double ra_train_run_roofline_s(const RaTrainRun *run, const RaProfile *profile);

#endif
