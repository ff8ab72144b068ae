/* What validate_*.c share: the levels' collect functions and the profiles that
 * they score. */
#ifndef RA_STUDY_VALIDATE_VALIDATE_IMPL_H
#define RA_STUDY_VALIDATE_VALIDATE_IMPL_H

#include "estimator/calibrate/gpu.h"
#include "sim/generate/serve.h"
#include "study/setup.h"
#include "study/validate/validate.h"
#include "traces/measured.h"
#include "traces/profile.h"
#include "traces/system.h"

/* (transfer full): the shipped profile of the GPU that a source calls @gpu
 * ("h100": h100-sxm.profile); %NULL without an error where there is none, with
 * one where it is damaged. */
RaProfile *ra_validate_profile(const char *gpu, GError **error);

/* (transfer full) (nullable): the model that a source calls @name. */
RaModel *ra_validate_model(const char *name);

/* What a level of ops is made of. */
typedef struct {
  const char *laws[6];      /* of estimator/fit.h, or "p2p.node" and
                               "p2p.nodes"; NULL-terminated */
  const char *source;       /* rows of another source than the laws' own:
                               scored as shipped, in both modes; NULL */
  guint lines;              /* bit i: line i is left out; 0: at random */
  const char *line_name[2]; /* RA_MEASURED_LINES: "n", "k" */
  guint64 least_bytes;      /* smaller messages are not scored */
  guint ranks;              /* only collectives of so many; 0: all */
  const char *shipped_gpu;  /* as shipped only this one is scored; NULL */
  gboolean repeats;         /* rows of one shape are repeats */
  const char *own_gpu;      /* that has bars of its own, nullable */
  double own[2];            /* median, p90 */
  double transferred[2];    /* of profiles that saw no row of their GPU; 0:
                               none */
} RaValidateOps;

/* What is left out together of training runs. */
typedef enum {
  RA_VALIDATE_BY_RUN,     /* a configuration, all its batch sizes and repeats */
  RA_VALIDATE_BY_DEGREES, /* (tp, dp, pp) */
  RA_VALIDATE_BY_SHAPE    /* a model */
} RaValidateTrainFold;

/* What a level of training is made of. */
typedef struct {
  int set;       /* RaTrainSet of study/validate/train_row.h */
  gboolean full; /* rows that say all, else those that do not */
  RaValidateTrainFold fold;
} RaValidateTrain;

/* validate_forward.c: misc/galvatron_llama2_7b_forward*.csv. */
gboolean ra_validate_forward(const RaValidateLevel *level, RaValidateJob *job,
                             GError **error);

/* validate_train.c: argument: RaValidateTrain. */
gboolean ra_validate_train(const RaValidateLevel *level, RaValidateJob *job,
                           GError **error);

/* Least seconds of @row by the data sheet: FLOP over the peak, bytes over the
 * memory's or the links' bandwidth, no latency. */
double ra_validate_roofline_s(const RaMeasured *row, const RaDevice *device);

/* A GPU left out and the one whose fit predicts it. */
typedef struct {
  const char *from,
      *to;         /* names of estimator/calibrate/gpu.h; NULL ends a list */
  gboolean scored; /* against the level's bars */
} RaValidatePair;

/* What a level of transfers is made of. */
typedef struct {
  const char *laws[12];     /* NULL-terminated */
  RaValidatePair pairs[12]; /* ended by one without names */
} RaValidateTransfers;

/* The data sheet as @shipped has it. */
RaSheet ra_validate_sheet(const RaProfile *shipped);

/* validate_transfer.c: argument: RaValidateTransfers. */
gboolean ra_validate_transfers(const RaValidateLevel *level, RaValidateJob *job,
                               GError **error);

/* validate_op.c: argument: RaValidateOps. */
gboolean ra_validate_ops(const RaValidateLevel *level, RaValidateJob *job,
                         GError **error);

/* validate_expert.c: no argument. */
gboolean ra_validate_experts(const RaValidateLevel *level, RaValidateJob *job,
                             GError **error);

/* validate_overlap.c: no argument. */
gboolean ra_validate_overlap(const RaValidateLevel *level, RaValidateJob *job,
                             GError **error);

/* validate_infer.c: no argument. */
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
  uint32_t n;                         /* at once */
  uint32_t n_queued;                  /* in all; 0: as @n */
} RaValidateLoad;

/* A replica for them; ra_setup_free() its setup.  It stays where it is. */
typedef struct {
  RaSetup *setup;
  RaShard shard;
  RaPiece whole;
  RaServeReplica replica;
} RaValidateServer;

/* (transfer full): a workload of @load with responses of @n_out tokens, whole
 * experts on each GPU, graphs; NULL with @error set. */
RaSetup *ra_validate_server_setup(const RaValidateLoad *load, uint32_t n_out,
                                  GError **error);

/* FALSE with @error set: no config of the model, no profile of the GPU. */
gboolean ra_validate_server_init(RaValidateServer *server,
                                 const RaValidateLoad *load, GError **error);

/* A closed loop of requests to a replica. */
typedef struct {
  const char *model, *gpu, *precision; /* as infer_e2e calls them */
  uint32_t tp;
  uint32_t n_in, n_out; /* tokens of each */
  uint32_t n;           /* at once */
} RaValidateRequests;

/* Seconds of a token of @requests under @constants (nullable); 0 with @error
 * set. */
double ra_validate_token_s(const RaValidateRequests *requests,
                           const RaSystemConstants *constants, GError **error);

/* (transfer full) (nullable): the system of share/systems for what infer_e2e
 * calls @engine. */
RaSystem *ra_validate_engine(const char *engine);

/* What a level of RLHF iterations is made of. */
typedef struct {
  int source;    /* RaRlSource of study/validate/rl_row.h */
  gboolean real; /* by ReaL's own estimator */
} RaValidateRlhf;

/* validate_rlhf.c: argument: RaValidateRlhf. */
gboolean ra_validate_rlhf(const RaValidateLevel *level, RaValidateJob *job,
                          GError **error);

/* validate_serving.c: no argument; scored: means, else quantiles. */
gboolean ra_validate_serving(const RaValidateLevel *level, RaValidateJob *job,
                             GError **error);

#endif
