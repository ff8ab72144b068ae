/* Private parts of validation, shared by the files of this room: the
 * collect functions, and the profiles and models that they use.
 */
#ifndef RA_STUDY_VALIDATE_VALIDATE_IMPL_H
#define RA_STUDY_VALIDATE_VALIDATE_IMPL_H

#include "estimator/calibrate/gpu.h"
#include "sim/generate/serve.h"
#include "study/odds.h"
#include "study/setup.h"
#include "study/validate/validate.h"
#include "traces/measured.h"
#include "traces/profile.h"
#include "traces/system.h"

/* Shipped profile of the GPU that a source calls @gpu (transfer full) ("h100":
 * h100-sxm.profile). %NULL without an error if there is none, with one if it is
 * damaged. */
RaProfile *ra_validate_profile(const char *gpu, GError **error);

/* Model that a source calls @name (transfer full) (nullable). */
RaModel *ra_validate_model(const char *name);

/* Argument of a benchmark set of ops. */
typedef struct {
  const char *laws[6]; /* of estimator/fit.h, or "p2p.node" and
                          "p2p.nodes"; NULL-terminated */
  const char *source;  /* rows of another source than the laws' own: scored as
                          shipped, in both modes; NULL */
  guint lines;    /* bit i: groups along line i are left out; 0: at random */
  gboolean pairs; /* at random: groups equal in both lines, not shapes */
  const char *line_name[2]; /* RA_MEASURED_LINES: "n", "k" */
  guint64 least_bytes;      /* minimum size of scored messages */
  guint ranks;              /* number of ranks of scored collectives; 0: all */
  const char *shipped_gpu;  /* the only GPU scored as shipped; NULL: all */
  gboolean repeats;         /* rows of one shape are repeats */
  const char *own_gpu;      /* GPU with bars of its own, nullable */
  double own[2];            /* its bars: median, p90 */
  double transferred[2];    /* bars of profiles that saw no row of their GPU; 0:
                               none */
} RaValidateOps;

/* Unit that is left out together, of training runs. */
typedef enum {
  RA_VALIDATE_BY_RUN, /* a configuration with all its batch sizes and repeats */
  RA_VALIDATE_BY_DEGREES, /* (tp, dp, pp) */
  RA_VALIDATE_BY_SHAPE    /* a model */
} RaValidateTrainFold;

/* Argument of a benchmark set of training runs. */
typedef struct {
  int set;       /* RaTrainSet of study/validate/train_row.h */
  gboolean full; /* complete rows, else the incomplete ones */
  RaValidateTrainFold fold;
} RaValidateTrain;

/* validate_forward.c, on misc/galvatron_llama2_7b_forward*.csv. */
gboolean ra_validate_forward(const RaValidateLevel *level, RaValidateJob *job,
                             GError **error);

/* validate_train.c; argument: RaValidateTrain. */
gboolean ra_validate_train(const RaValidateLevel *level, RaValidateJob *job,
                           GError **error);

/* A measured run and its prediction, to be compared with others of one work. */
typedef struct {
  char *name;       /* owned */
  char *work;       /* owned: the same for runs that can be compared */
  char *layout;     /* owned: degrees, and what else a plan chooses */
  const char *gpu;  /* interned */
  const char *file; /* interned: path */
  guint line;       /* there, from 1 */
  double tokens;    /* of a sample, mean; 0: as its work says */
  double measured_s, predicted_s;
  RaDoubt doubt; /* of the prediction; owned */
} RaValidateRun;

/* Runs whose lengths differ by more are other works. */
#define RA_PAIR_TOKENS_FRAC 0.05

/* Clears a RaValidateRun. */
void ra_validate_run_clear(gpointer run);

/* Adds a row for each two of @runs (element-type RaValidateRun) that are of one
 * work, on other GPUs or in another layout: the ratio of their times, with the
 * interval of what their errors do not have in common
 * (ra_model_error_apart()). */
void ra_validate_add_pairs(RaValidateJob *job, const GArray *runs);

/* validate_train.c; no argument; each two runs of train_tables. */
gboolean ra_validate_train_pairs(const RaValidateLevel *level,
                                 RaValidateJob *job, GError **error);

/* Least seconds of @row by the data sheet: FLOP over the peak, bytes over the
 * bandwidth of the memory or the links, no latency. */
double ra_validate_roofline_s(const RaMeasured *row, const RaDevice *device);

/* A GPU that is left out, and the one whose fit predicts it. */
typedef struct {
  const char *from,
      *to;         /* names of estimator/calibrate/gpu.h; NULL ends a list */
  gboolean scored; /* against the set's bars */
} RaValidatePair;

/* Argument of a benchmark set of transfers between GPUs. */
typedef struct {
  const char *laws[12];     /* NULL-terminated */
  RaValidatePair pairs[12]; /* ended by one without names */
} RaValidateTransfers;

/* Data sheet of @shipped. */
RaSheet ra_validate_sheet(const RaProfile *shipped);

/* validate_transfer.c; argument: RaValidateTransfers. */
gboolean ra_validate_transfers(const RaValidateLevel *level, RaValidateJob *job,
                               GError **error);

/* validate_op.c; argument: RaValidateOps. */
gboolean ra_validate_ops(const RaValidateLevel *level, RaValidateJob *job,
                         GError **error);

/* validate_expert.c; no argument. */
gboolean ra_validate_experts(const RaValidateLevel *level, RaValidateJob *job,
                             GError **error);

/* validate_overlap.c; no argument. */
gboolean ra_validate_overlap(const RaValidateLevel *level, RaValidateJob *job,
                             GError **error);

/* validate_infer.c; no argument. */
gboolean ra_validate_tpot(const RaValidateLevel *level, RaValidateJob *job,
                          GError **error);
gboolean ra_validate_throughput(const RaValidateLevel *level,
                                RaValidateJob *job, GError **error);

/* Requests to an engine on @tp x @pp GPUs of a node. */
typedef struct {
  const char *model, *gpu, *precision;
  uint32_t tp, pp;
  const RaSystemConstants *constants; /* of the engine; NULL: none */
  uint32_t n_in, n_out;               /* tokens of each */
  uint32_t n;                         /* concurrent requests */
  uint32_t n_queued;                  /* requests in all; 0: as @n */
} RaValidateLoad;

/* Replica that serves them; ra_setup_free() its setup.  It must not be moved in
 * memory. */
typedef struct {
  RaSetup *setup;
  RaShard shard;
  RaPiece whole;
  RaServeReplica replica;
} RaValidateServer;

/* Workload of @load (transfer full), with responses of @n_out tokens, whole
 * experts on each GPU, CUDA graphs.  NULL with @error set. */
RaSetup *ra_validate_server_setup(const RaValidateLoad *load, uint32_t n_out,
                                  GError **error);

/* Initialises a replica.  FALSE with @error set: no config of the model, no
 * profile of the GPU. */
gboolean ra_validate_server_init(RaValidateServer *server,
                                 const RaValidateLoad *load, GError **error);

/* Closed loop of requests to a replica. */
typedef struct {
  const char *model, *gpu, *precision; /* names in infer_e2e */
  uint32_t tp;
  uint32_t n_in, n_out; /* tokens of each */
  uint32_t n;           /* concurrent requests */
} RaValidateRequests;

/* Seconds per token of @requests under @constants (nullable); 0 with @error
 * set. */
double ra_validate_token_s(const RaValidateRequests *requests,
                           const RaSystemConstants *constants, GError **error);

/* System of share/systems for infer_e2e's @engine (transfer full) (nullable).
 */
RaSystem *ra_validate_engine(const char *engine);

/* Argument of a benchmark set of RLHF iterations. */
typedef struct {
  int source;    /* RaRlSource of study/validate/rl_row.h */
  gboolean real; /* predicted by ReaL's own estimator */
} RaValidateRlhf;

/* validate_rlhf.c; argument: RaValidateRlhf. */
gboolean ra_validate_rlhf(const RaValidateLevel *level, RaValidateJob *job,
                          GError **error);

/* Rows of rl_steps that a set has. */
typedef enum {
  RA_VALIDATE_STEPS_DENSE,   /* whole, attributed; in turn, without experts */
  RA_VALIDATE_STEPS_MOE,     /* likewise, with experts */
  RA_VALIDATE_STEPS_ASYNC,   /* likewise, generation lags */
  RA_VALIDATE_STEPS_ALL,     /* the three together */
  RA_VALIDATE_STEPS_PARTS,   /* likewise, by framework and GPU */
  RA_VALIDATE_STEPS_PARTIAL, /* attributed; layout or lengths in part */
  RA_VALIDATE_STEPS_INDEX    /* of files that nobody stands for */
} RaValidateStepRows;

/* Argument of a benchmark set of published RL steps. */
typedef struct {
  int phase;      /* RaStepPhase of study/run/step_times.h */
  int rows;       /* RaValidateStepRows */
  gboolean lists; /* notes tell which rows are not predicted, and why */
} RaValidateStep;

/* validate_steps.c; argument: RaValidateStep. */
gboolean ra_validate_steps(const RaValidateLevel *level, RaValidateJob *job,
                           GError **error);

/* Likewise; no argument. */
/* validate_level_steps.c: the sets of published RL steps. */
extern const RaValidateLevel ra_validate_step_levels[];
extern const guint ra_validate_n_step_levels;

gboolean ra_validate_step_lengths(const RaValidateLevel *level,
                                  RaValidateJob *job, GError **error);
gboolean ra_validate_step_pairs(const RaValidateLevel *level,
                                RaValidateJob *job, GError **error);

/* validate_logs.c; no argument. */
gboolean ra_validate_logs(const RaValidateLevel *level, RaValidateJob *job,
                          GError **error);

/* validate_serving.c; no argument.  Scored sets predict means, the others
 * quantiles. */
gboolean ra_validate_serving(const RaValidateLevel *level, RaValidateJob *job,
                             GError **error);

#endif
