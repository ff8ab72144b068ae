/* The settings of ReaL's figure, for replay: a row of the table of
 * measurements, its workload, cluster and plan, and the time of an iteration.
 *
 * The plan is the heuristic that ReaL is compared with: every call on all GPUs
 * with tp 8 in the node, pp over the nodes, dp 1, sequence parallelism and full
 * recomputation.  Training has 4 mini-batches of 2 pp micro-batches, other
 * calls pp micro-batches.  Kernels are launched one by one; ref and reward are
 * offloaded to the host after use.  fp16 on H100.
 *
 *     GArray *rows = real_rows("../shared/data");
 *     RealSetting *setting =
 *         real_setting_new(&g_array_index(rows, RealRow, 0));
 *     real_predict(setting, REAL_SYSTEM, &constants, &times);
 *
 * Typical sizes: 11 rows, 8 to 128 GPUs, 10^4 tasks.
 */
#ifndef RA_BENCH_REAL_SETTING_H
#define RA_BENCH_REAL_SETTING_H

#include "graph/input/plan.h"
#include "traces/system.h"

typedef struct {
  char actor[8];        /* also ref's: "7B" */
  char critic[8];       /* also reward's */
  uint32_t n_gpus;      /* multiple of 8 */
  uint32_t n_sequences; /* sequences of an iteration */
  uint32_t n_prompt;    /* tokens of each */
  uint32_t n_response;  /* tokens of each */
  double measured_s;    /* an iteration under the heuristic plan */
} RealRow;

/**
 * real_rows:
 * @data: folder of published measurements, with rlhf_steps/real_figure.csv
 *
 * Returns: (transfer full) (element-type RealRow): empty if the file is missing
 *   or its columns are not known
 */
GArray *real_rows(const char *data);

/* Seconds of an iteration of the steady state, by phase. */
typedef struct {
  double generate_s;  /* rollout */
  double inference_s; /* from its end to the end of the last inference */
  double train_s;     /* from there to the end of the last training */
  double move_s;      /* the rest: reallocation, offload */
  double total_s;     /* sum of all */
} RealTimes;

/* The source of predictions. */
typedef enum {
  REAL_SYSTEM,    /* kernels by their laws, under the system's constants */
  REAL_KERNELS,   /* kernels by their laws and launches, without a system */
  REAL_ROOFLINE,  /* kernels at the data sheet's rates, without the host */
  REAL_OWN,       /* ReaL's own estimator, layers by the laws and launches */
  REAL_OWN_SYSTEM /* the same, layers under the system's constants */
} RealModel;

typedef struct _RealSetting RealSetting;

/* (transfer full): real_setting_free() it; ends the program if a shipped model
 * or profile cannot be read. */
RealSetting *real_setting_new(const RealRow *row);
void real_setting_free(RealSetting *setting);
/* The plan, owned by @setting. */
const RaPlan *real_setting_plan(const RealSetting *setting);

/* Predicts an iteration; @constants is only read for REAL_SYSTEM and
 * REAL_OWN_SYSTEM. */
void real_predict(const RealSetting *setting, RealModel model,
                  const RaSystemConstants *constants, RealTimes *out_times);

#endif
