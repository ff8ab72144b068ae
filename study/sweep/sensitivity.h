/* How the iteration of a plan answers to each resource: the plan replayed with
 * that resource times a factor and divided by it, all else as it was.
 *
 *     RaSensitivityOptions options = {.factor = 2, .replay = {...}};
 *     g_autoptr(RaSensitivity) s =
 *         ra_sensitivity_new("ppo.plan", &flags, &options, &error);
 *     if (s)
 *       ra_table_write(s->table, RA_FORMAT_TEXT, out);
 *
 *     flop           FLOP/s of the GPU, every precision
 *     hbm            bandwidth of its memory
 *     memory         bytes of its memory
 *     intra-node     bandwidth to the GPUs of its node
 *     network        bandwidth of network cards, of all kinds of nodes, and of
 *                    links with a rate of their own
 *     latency        of collectives, sends, reallocation and copies: what they
 *                    take however few the bytes
 *     launch         host time of kernels and captured graphs
 *     host-link      bandwidth to the host
 *     prompts, responses    every length
 *     spread         of the lengths of responses: a lognormal law's standard
 *                    deviation, and how far the longest is from the mean
 *     stragglers     part of the GPUs that computes slower; where there is none
 *                    the one GPU that the seed draws first; at op fidelity
 *                    alone, and against a replay at that
 *
 * Every one is a change of a file's values as `--set` makes it, and rates count
 * by the laws: what a kernel or a message takes however small it is stays.
 * Where nodes are of several kinds, what is a GPU's is that of the cluster's
 * own kind: `--set` changes no other profile.
 * The plan is not made anew, so this is what the plan gains and no bound on
 * what another plan would.  A resource that the files do not have (a node
 * without network cards, lengths of a file) has no row.
 *
 * Beside them stand the shipped profiles in place of the GPU's own.
 *
 * Typical sizes: 12 resources, 17 GPUs: 40 replays.
 */
#ifndef RA_STUDY_SWEEP_SENSITIVITY_H
#define RA_STUDY_SWEEP_SENSITIVITY_H

#include "base/table.h"
#include "study/sweep/trial.h"

typedef struct {
  double factor; /* > 1 */
  RaReplayOptions replay;
  guint n_threads; /* 0: as many as processors */
} RaSensitivityOptions;

/* A resource, or a GPU in place of the plan's. */
typedef struct {
  const char *name;      /* "hbm"; static */
  char *now;             /* owned: what it is: "3350 GB/s" */
  double base_s;         /* an iteration as it is, at the row's fidelity */
  RaTrial more;          /* times the factor; of a GPU: with it */
  RaTrial less;          /* divided by it; of a GPU refused */
  gboolean is_one_sided; /* there is no less */
} RaResponse;

typedef struct {
  double factor;
  RaTrial base;
  GArray *responses;  /* (RaResponse), the largest change first; owned */
  GArray *gpus;       /* (RaResponse), the quickest first; name is in now; owned
                       */
  RaTable *summary;   /* owned: one row */
  RaTable *table;     /* owned: a row a response */
  RaTable *gpu_table; /* owned: a row a GPU */
} RaSensitivity;

/**
 * ra_sensitivity_new:
 * @plan: file
 * @flags: borrowed during the call
 * @error: as ra_setup_load(), ra_replay_new(), of the plan as it is
 *
 * Returns: (transfer full): ra_sensitivity_free() it
 */
RaSensitivity *ra_sensitivity_new(const char *plan, const RaSetupFlags *flags,
                                  const RaSensitivityOptions *options,
                                  GError **error);
void ra_sensitivity_free(RaSensitivity *sensitivity);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSensitivity, ra_sensitivity_free)

/* Change of the iteration, -0.03: 3 % less; NAN: it does not run. */
double ra_response_frac(const RaResponse *response, const RaTrial *trial);

/* The largest of both, absolute; 0: neither runs. */
double ra_response_size(const RaResponse *response);

/* (transfer full): "Twice the bandwidth of GPU memory: -31.0 %; ...": what
 * helps most, three at most; of no change none. */
char *ra_sensitivity_sentence(const RaSensitivity *sensitivity);

/* What people call a resource: "bandwidth of GPU memory"; static. */
const char *ra_response_title(const RaResponse *response);

#endif
