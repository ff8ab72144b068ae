/* What a plan is chosen for.
 *
 *     RaObjective objective = {.kind = RA_OBJECTIVE_COST, .within_s = 60};
 *     double value = ra_objective_value(&objective, &worth);
 *
 *     time            seconds of an iteration
 *     tokens-per-gpu  tokens/s of a GPU that the plan uses
 *     cost            the price of an iteration, of the GPUs that it uses
 *     gpus            how many GPUs it uses
 *
 * Any of them may have a time that an iteration must not exceed; `gpus` needs
 * one, as the fewest GPUs are else those on which the models just fit.
 *
 * Invariant: of two plans the one with the lower value is better, equal values
 * are settled by the time, and INFINITY is a plan that will not do.
 */
#ifndef RA_STUDY_OBJECTIVE_H
#define RA_STUDY_OBJECTIVE_H

#include <glib.h>
#include <stdint.h>

typedef enum {
  RA_OBJECTIVE_TIME,
  RA_OBJECTIVE_TOKENS_PER_GPU,
  RA_OBJECTIVE_COST,
  RA_OBJECTIVE_GPUS,
  RA_N_OBJECTIVES
} RaObjectiveKind;

/* "time", "tokens-per-gpu", ...: NULL-terminated, by RaObjectiveKind. */
extern const char *const ra_objective_names[];

typedef struct {
  int kind;        /* RaObjectiveKind */
  double within_s; /* an iteration takes no longer; 0: as long as it may */
} RaObjective;

/* What a plan does. */
typedef struct {
  double iteration_s;
  double tokens_per_s; /* of all GPUs */
  double usd;          /* an iteration, of n_gpus; NAN: no price */
  uint32_t n_gpus;     /* that it uses */
} RaWorth;

/**
 * ra_objective_value:
 *
 * Returns: what is to be small: seconds of an iteration, GPU-seconds of a
 *   token, dollars of an iteration, GPUs; INFINITY where it takes too long or
 *   has no price
 */
double ra_objective_value(const RaObjective *objective, const RaWorth *worth);

/* Whether @a is better than @b, by value and then by time. */
gboolean ra_objective_better(const RaObjective *objective, const RaWorth *a,
                             const RaWorth *b);

/**
 * ra_objective_check:
 * @usd_per_gpu_h: of the cluster; NAN: it has no price
 * @cluster: its file's name, for the message
 * @error: %RA_ERROR_INPUT `--objective=...`: what it lacks
 *
 * Returns: %TRUE where plans on the cluster have a value
 */
gboolean ra_objective_check(const RaObjective *objective, double usd_per_gpu_h,
                            const char *cluster, GError **error);

/* (transfer full): the value of @worth as people say it, "12.3 s", "812
 * tokens/s a GPU", "3.27 USD", "64 GPUs". */
char *ra_objective_say(const RaObjective *objective, const RaWorth *worth);

#endif
