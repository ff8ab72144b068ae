/* Sensitivity: how the iteration of a plan responds to each resource.  The plan
 * is replayed with that resource multiplied by a factor and divided by it, all
 * else unchanged.
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
 *     network        bandwidth of NICs, for all kinds of nodes, and of links
 *                    with a rate of their own
 *     latency        fixed time of collectives, sends, reallocation and copies,
 *                    however few the bytes
 *     launch         host time of kernels and captured graphs
 *     host-link      bandwidth to the host
 *     prompts, responses    every length
 *     spread         spread of the response lengths: a lognormal law's standard
 *                    deviation, and how far the longest is from the mean
 *     stragglers     share of the GPUs that compute slower; where there are
 *                    none, the one GPU that the seed samples first; at op
 *                    fidelity only, and against a replay at that
 *
 * Every resource is a change of a file's values as by `--set`, and rates apply
 * through the laws: the fixed time of a kernel or a message stays.  Where nodes
 * are of several kinds, a GPU's resources are those of the cluster's own kind,
 * as `--set` changes no other profile.
 *
 * The plan is not made anew, so the result is the gain of this plan and no
 * bound on the gain of another.  A resource that the files lack (a node without
 * NICs, lengths from a file) has no row.
 *
 * In addition, the shipped profiles replace the GPU's own, one at a time.
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
  guint n_threads;     /* 0: as many as processors */
  RaTrialCount *count; /* nullable: its replays are added */
} RaSensitivityOptions;

/* A resource, or a GPU in place of the plan's. */
typedef struct {
  const char *name;      /* "hbm"; static */
  char *now;             /* owned: present value: "3350 GB/s" */
  double base_s;         /* unchanged iteration, at the row's fidelity */
  RaTrial more;          /* times the factor; for a GPU: with that GPU */
  RaTrial less;          /* divided by the factor; for a GPU: refused */
  gboolean is_one_sided; /* less is not possible */
} RaResponse;

typedef struct {
  double factor;
  RaTrial base;
  guint n_replays;   /* that the tables rest on: trials that ran, the unchanged
                        one too */
  GArray *responses; /* (RaResponse), the largest change first; owned */
  GArray *gpus; /* (RaResponse), the fastest first; the name is in now; owned */
  RaTable *summary;   /* owned: one row */
  RaTable *table;     /* owned: a row per response */
  RaTable *gpu_table; /* owned: a row per GPU */
} RaSensitivity;

/**
 * ra_sensitivity_new:
 * @plan: file
 * @flags: borrowed during the call
 * @error: as ra_setup_load(), ra_replay_new(), of the unchanged plan
 *
 * Returns: (transfer full): free with ra_sensitivity_free()
 */
RaSensitivity *ra_sensitivity_new(const char *plan, const RaSetupFlags *flags,
                                  const RaSensitivityOptions *options,
                                  GError **error);
void ra_sensitivity_free(RaSensitivity *sensitivity);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSensitivity, ra_sensitivity_free)

/* Relative change of the iteration, -0.03: 3 % less; NAN: it does not run. */
double ra_response_frac(const RaResponse *response, const RaTrial *trial);

/* Larger absolute change of more and less; 0: neither runs. */
double ra_response_size(const RaResponse *response);

/* Sentence about the up to three resources that help most (transfer full):
 * "Twice the bandwidth of GPU memory: -31.0 %; ..."; resources without effect
 * are left out. */
char *ra_sensitivity_sentence(const RaSensitivity *sensitivity);

/* Readable name of a resource: "bandwidth of GPU memory"; static. */
const char *ra_response_title(const RaResponse *response);

#endif
