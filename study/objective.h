/* Objective: the quantity by which a plan is chosen.
 *
 *     RaObjective objective = {.kind = RA_OBJECTIVE_COST, .within_s = 60};
 *     double value = ra_objective_value(&objective, &worth);
 *
 *     time            seconds of an iteration
 *     tokens-per-gpu  tokens/s per GPU that the plan uses
 *     cost            price of an iteration, for the GPUs that it uses
 *     gpus            number of GPUs that it uses
 *     regret          seconds of an iteration; of finalists, how much is lost
 *                     by them where the model is wrong (study/contest/final.h)
 *     p95             seconds of an iteration; of finalists, the 95th
 *                     percentile over samples of the lengths
 *
 * Each may have an upper limit on the time of an iteration.  `gpus` needs one,
 * as the fewest GPUs are otherwise those on which the models just fit.
 *
 * Invariant: a lower value is better; the time breaks ties; INFINITY means that
 * the plan is not acceptable.
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
  RA_OBJECTIVE_REGRET,
  RA_OBJECTIVE_P95,
  RA_N_OBJECTIVES
} RaObjectiveKind;

/* "time", "tokens-per-gpu", ...: NULL-terminated, by RaObjectiveKind. */
extern const char *const ra_objective_names[];

typedef struct {
  int kind;        /* RaObjectiveKind */
  double within_s; /* upper limit on the time of an iteration; 0: none */
} RaObjective;

/* Figures of a plan that objectives use. */
typedef struct {
  double iteration_s;
  double tokens_per_s; /* of all GPUs */
  double usd;          /* per iteration, on n_gpus; NAN: no price */
  uint32_t n_gpus;     /* used by the plan */
} RaWorth;

/**
 * ra_objective_value:
 *
 * Returns: the value to minimize: seconds of an iteration, GPU-seconds per
 * token, dollars per iteration, or GPUs; INFINITY where it takes too long or
 * has no price
 */
double ra_objective_value(const RaObjective *objective, const RaWorth *worth);

/* TRUE if a plan's own value is the time of its iteration. */
gboolean ra_objective_is_time(const RaObjective *objective);

/* TRUE if @a is better than @b, by value and then by time. */
gboolean ra_objective_better(const RaObjective *objective, const RaWorth *a,
                             const RaWorth *b);

/**
 * ra_objective_check:
 * @usd_per_gpu_h: price of the cluster; NAN: none
 * @cluster: the cluster file's name, for the message
 * @error: %RA_ERROR_INPUT `--objective=...`: what is missing
 *
 * Returns: %TRUE if plans on the cluster have a value
 */
gboolean ra_objective_check(const RaObjective *objective, double usd_per_gpu_h,
                            const char *cluster, GError **error);

/* Formats the value of @worth (transfer full): "12.3 s", "812 tokens/s a GPU",
 * "3.27 USD", "64 GPUs". */
char *ra_objective_say(const RaObjective *objective, const RaWorth *worth);

#endif
