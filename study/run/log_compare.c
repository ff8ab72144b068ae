/* A plan's prediction beside a trainer's log. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "estimator/robust.h"
#include "study/run/log_compare.h"

#define TIME(phase)                                                            \
  (G_STRUCT_OFFSET(RaLogStep, times) + sizeof(double) * (phase))
#define FIELD(name) G_STRUCT_OFFSET(RaLogStep, name)
/* Spread of responses where a log has no longest one: study/validate/rl_step.h.
 */
#define SPREAD 0.57
#define SPREAD_MAX 3.0
/* GPUs and tokens of a step may differ by this factor. */
#define SAME 1.25
#define STEPS_MIN 6
#define LATER_MAX 8 /* later steps that are replayed, evenly spaced */

/* ---- The plan with the lengths of a log ---------------------------------- */

/* The lognormal spread (deviation over mean) at which the longest of @n
 * responses is @ratio times their mean: s z - s^2 / 2 = log(ratio), z =
 * sqrt(2 log n). */
static double
spread_of(double ratio, double n)
{
  double z = sqrt(2 * log(MAX(n, 2))), wanted = log(ratio), s;

  if (!(wanted > 0))
    return SPREAD;
  if (z * z - 2 * wanted <= 0)
    return SPREAD_MAX;
  s = z - sqrt(z * z - 2 * wanted);
  return CLAMP(sqrt(expm1(s * s)), 0.01, SPREAD_MAX);
}

/* The share of responses at the limit @limit: the log's, or one of @n where the
 * longest is there; what leaves the others a part of the mean. */
static double
full_of(double clip_frac, double mean, double limit, double n)
{
  double frac = clip_frac > 0 ? clip_frac : n > 0 ? 1 / n : 0;

  return fmin(frac, 0.9 * (mean - 1) / limit);
}

/* (transfer full): the distribution of responses; NULL: the plan's own. */
static char *
answers_of(const RaStepLog *log, const RaSetup *setup, guint first, guint last)
{
  const RaLength *law = &setup->workload->response_length;
  double mean = ra_step_log_median(log, first, last, FIELD(response_mean));
  double longest = ra_step_log_median(log, first, last, FIELD(response_max));
  double clip_frac = ra_step_log_median(log, first, last, FIELD(clip_frac));
  double limit = law->max_tokens, n = 0, spread = SPREAD, full_frac = 0;

  if (!(mean >= 1))
    return NULL;
  for (guint i = 0; i < setup->workload->n_calls; i++)
    if (setup->workload->calls[i].kind == RA_CALL_GENERATE)
      n = MAX(n, setup->workload->calls[i].n_sequences);
  if (longest > mean && longest < 0.99 * limit)
    spread = spread_of(longest / mean, n);
  else if (law->kind == RA_LENGTH_LOGNORMAL && law->mean_tokens > 0)
    spread = law->sd_tokens / law->mean_tokens;
  limit = MAX(limit, longest > 0 ? longest : 0);
  if (mean >= limit - 1)
    return g_strdup_printf("fixed(%.0f)", mean);
  if (longest >= 0.99 * limit)
    full_frac = full_of(clip_frac, mean, limit, n);
  return g_strdup_printf("lognormal(%.2f, %.2f, %.0f, %.6g)", mean,
                         spread * mean, limit, full_frac);
}

/* RaLogSetup: the plan of the file @data. */
static RaSetup *
setup_of(gconstpointer data, const RaStepLog *log, guint first, guint last,
         GError **error)
{
  const char *plan = data;
  RaSetupFlags flags = {.sets = NULL};
  g_autoptr(RaSetup) own = ra_setup_load(plan, RA_FILE_PLAN, &flags, error);
  double prompt = ra_step_log_median(log, first, last, FIELD(prompt_mean));
  g_autofree char *responses = own ? answers_of(log, own, first, last) : NULL;
  g_autofree char *response =
      responses ? g_strconcat("workload.response-length=", responses, NULL)
                : NULL;
  g_autofree char *prompts =
      prompt >= 1
          ? g_strdup_printf("workload.prompt-length=fixed(%.0f)", prompt)
          : NULL;
  const char *sets[3] = {NULL, NULL, NULL};
  guint n = 0;

  if (!own || own->workload->data)
    return g_steal_pointer(&own);
  if (response)
    sets[n++] = response;
  if (prompts)
    sets[n++] = prompts;
  flags.sets = sets;
  return ra_setup_load(plan, RA_FILE_PLAN, &flags, error);
}

static double
apart(double a, double b)
{
  return MAX(a / b, b / a);
}

/* FALSE with the reason: the log is of other GPUs or another batch. */
static gboolean
is_of_plan(const RaStepLog *log, const RaSetup *setup, GError **error)
{
  guint n = log->steps->len;
  double tokens = ra_step_log_median(log, n > 1, n, FIELD(tokens));
  double rate = ra_step_log_median(log, n > 1, n, FIELD(tokens_per_s));
  double step_s = ra_step_log_median(log, n > 1, n, TIME(RA_STEP_TOTAL));
  double n_gpus =
      (double)setup->cluster->n_nodes * setup->cluster->gpus_per_node;
  double expected = 0;

  for (guint i = 0; i < setup->workload->n_calls; i++) {
    const RaCall *call = &setup->workload->calls[i];

    if (call->kind == RA_CALL_TRAIN && call->set != RA_NONE)
      expected = call->n_sequences *
                 (ra_length_mean(&setup->workload->prompt_length) +
                  ra_length_mean(&setup->workload->response_length));
  }
  if (tokens > 0 && expected > 0 && apart(tokens, expected) > SAME)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: steps of %.0f tokens, expected about %.0f, as the plan's "
                "batch has with the log's lengths; --anyway compares them",
                log->path, tokens, expected);
  else if (tokens > 0 && rate > 0 && step_s > 0 &&
           apart(tokens / rate / step_s, n_gpus) > SAME)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: a run on %.0f GPUs, expected the plan's %.0f; --anyway "
                "compares them",
                log->path, tokens / rate / step_s, n_gpus);
  else
    return TRUE;
  return FALSE;
}

/* A phase that the log lacks is counted elsewhere in it: the weights' way in
 * generation, the reference's pass in the policy's. */
static void
fold(RaStepTimes *times, const RaStepLog *log, guint first, guint last)
{
  if (!(ra_step_log_median(log, first, last, TIME(RA_STEP_SYNC)) > 0)) {
    times->s[RA_STEP_GENERATE] += times->s[RA_STEP_SYNC];
    times->s[RA_STEP_SYNC] = 0;
  }
  if (!(ra_step_log_median(log, first, last, TIME(RA_STEP_REFERENCE)) > 0)) {
    times->s[RA_STEP_LOGPROB] += times->s[RA_STEP_REFERENCE];
    times->s[RA_STEP_REFERENCE] = 0;
  }
}

/* ---- Comparison ---------------------------------------------------------- */

#define NEAR 0.15 /* errors that need no explanation */

/* (transfer full): what most likely explains a phase that is measured @ratio
 * times as long as predicted. */
static char *
explain(RaStepPhase phase, const RaStepTimes *predicted, double ratio,
        const RaStepLog *log)
{
  guint n = log->steps->len;
  double longest = ra_step_log_median(log, n > 1, n, FIELD(response_max));
  double update = ra_step_log_median(log, n > 1, n, TIME(RA_STEP_UPDATE)) /
                  predicted->s[RA_STEP_UPDATE];

  if (fabs(1 / ratio - 1) <= NEAR)
    return g_strdup("within 15 %");
  switch (phase) {
  case RA_STEP_GENERATE:
    if (ratio > 1 && longest > 0)
      return g_strdup_printf(
          "host time of the engine: %.1f ms for each token of the longest "
          "response, predicted %.1f; or engines that wait for stragglers",
          1e3 * ratio * predicted->s[phase] / longest,
          1e3 * predicted->s[phase] / longest);
    return g_strdup(ratio > 1 ? "host time of the engine, or longer responses "
                                "than the log's mean tells"
                              : "fewer or shorter responses at a time");
  case RA_STEP_LOGPROB:
  case RA_STEP_REFERENCE:
  case RA_STEP_VALUES:
    if (isfinite(update) && apart(update, ratio) < SAME)
      return g_strdup_printf("as the update, %.2f times: kernels, not the pass",
                             update);
    return g_strdup(ratio > 1 ? "more micro-batches, or padding"
                              : "fewer micro-batches");
  case RA_STEP_UPDATE:
  case RA_STEP_CRITIC:
    return g_strdup_printf("kernels %.2f times as long (compute-factor), or "
                           "%s micro-batches, recomputation, offload",
                           ratio, ratio > 1 ? "more" : "fewer");
  case RA_STEP_SYNC:
    return g_strdup_printf("weights move at %.2f of the predicted rate "
                           "(weight-sync), or engines wait to wake",
                           1 / ratio);
  case RA_STEP_REWARD:
    return g_strdup("host-time of [call reward]");
  default:
    return g_strdup("the phases above");
  }
}

RaTable *
ra_step_log_compare(const char *plan, const RaStepLog *log, gboolean anyway,
                    GError **error)
{
  guint n = log->steps->len, first = n > 1;
  g_autoptr(RaSetup) setup = setup_of(plan, log, first, n, error);
  RaStepTimes predicted;
  RaTable *t;

  if (!setup || (!anyway && !is_of_plan(log, setup, error)) ||
      !ra_step_times(setup, &predicted, NULL, error))
    return NULL;
  fold(&predicted, log, first, n);
  t = ra_table_new("phases");
  ra_table_column(t, "phase", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(t, "predicted_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "measured_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "error_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(t, "most_likely", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint p = 0; p < RA_N_STEP_PHASES; p++) {
    double measured_s = ra_step_log_median(log, first, n, TIME(p));
    double ratio = measured_s / predicted.s[p];
    g_autofree char *why = NULL;

    if (!(measured_s > 0) && !(predicted.s[p] > 0))
      continue;
    ra_table_row(t);
    ra_table_text(t, ra_step_phase_names[p]);
    ra_table_real(t, predicted.s[p]);
    ra_table_real(t, measured_s);
    if (measured_s > 0 && predicted.s[p] > 0) {
      ra_table_real(t, 1 / ratio - 1);
      why = explain(p, &predicted, ratio, log);
    } else {
      ra_table_missing(t);
      why = g_strdup(measured_s > 0 ? "the plan has no such phase"
                                    : "the log has no such phase");
    }
    ra_table_text(t, why);
  }
  return t;
}

/* ---- Constants ----------------------------------------------------------- */

/* Phases that one constant is of. */
typedef struct {
  RaStepPhase phases[6];
  guint n;
  const char *key, *eager; /* eager: in place of @key, of eager engines */
  double low, high;
  gboolean falls; /* the phases get shorter as it grows */
} Fitted;

/* compute-factor is on update and passes together, as it is on all kernels of
 * training: what their kernels have in common is told, not what differs. */
static const Fitted fitted[] = {
    {{RA_STEP_GENERATE}, 1, "decode-step", "decode-layer", 1e-6, 1, FALSE},
    {{RA_STEP_UPDATE, RA_STEP_CRITIC, RA_STEP_LOGPROB, RA_STEP_REFERENCE,
      RA_STEP_VALUES},
     5,
     "compute-factor",
     NULL,
     0.2,
     20,
     FALSE},
    {{RA_STEP_SYNC}, 1, "weight-sync", NULL, 1e7, 1e12, TRUE},
};

/* Seconds that both the log's first @last steps and the plan have of @what's
 * phases: measured, and predicted under @constants; FALSE with @error. */
static gboolean
sum_phases(const RaSetup *setup, const RaSystemConstants *constants,
           const RaStepLog *log, guint last, const Fitted *what,
           double *out_measured_s, double *out_predicted_s, GError **error)
{
  RaStepTimes times;

  *out_measured_s = *out_predicted_s = 0;
  ra_estimator_set_system(setup->estimator, constants);
  if (!ra_step_times(setup, &times, NULL, error))
    return FALSE;
  fold(&times, log, 1, last);
  for (guint i = 0; i < what->n; i++) {
    double measured_s = ra_step_log_median(log, 1, last, TIME(what->phases[i]));

    if (!(measured_s > 0) || !(times.s[what->phases[i]] > 0))
      continue;
    *out_measured_s += measured_s;
    *out_predicted_s += times.s[what->phases[i]];
  }
  return TRUE;
}

/* Finds the value of constant @key, between the bounds of @what, at which its
 * phases take what is measured.  FALSE with @error. */
static gboolean
find_constant(const RaSetup *setup, RaSystemConstants *constants,
              const char *key, const Fitted *what, const RaStepLog *log,
              guint last, GError **error)
{
  double *value = ra_system_constant(constants, key);
  double low = what->low, high = what->high, wanted_s, s;

  for (guint i = 0; i < 18; i++) {
    *value = sqrt(low * high);
    if (!sum_phases(setup, constants, log, last, what, &wanted_s, &s, error))
      return FALSE;
    if ((s < wanted_s) != what->falls)
      low = *value;
    else
      high = *value;
  }
  return TRUE;
}

static gboolean
is_eager(const RaSetup *setup)
{
  for (guint i = 0; i < setup->workload->n_calls; i++) {
    if (setup->workload->calls[i].kind == RA_CALL_GENERATE)
      return setup->plan->calls[i].launch == RA_LAUNCH_EAGER;
  }
  return FALSE;
}

/* Finds the constants of the first @last steps; @out_keys: which. */
static gboolean
fit_constants(const RaSetup *setup, const RaStepLog *log, guint last,
              RaSystemConstants *constants, GPtrArray *out_keys, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS(fitted); i++) {
    const Fitted *what = &fitted[i];
    const char *key = what->eager && is_eager(setup) ? what->eager : what->key;
    double wanted_s, now_s;

    if (!sum_phases(setup, constants, log, last, what, &wanted_s, &now_s,
                    error))
      return FALSE;
    if (!(wanted_s > 0))
      continue;
    if (!find_constant(setup, constants, key, what, log, last, error))
      return FALSE;
    g_ptr_array_add(out_keys, (gpointer)key);
  }
  if (out_keys->len > 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: no generation, update or sync in both log and plan, "
              "expected one of them",
              log->path);
  return FALSE;
}

/* First steps that constants are fitted on: without the first of all. */
static guint
n_fitted(const RaStepLog *log)
{
  return MAX(2, log->steps->len / 3);
}

GArray *
ra_step_log_later(RaLogSetup make, gconstpointer plan, const RaStepLog *log,
                  const RaSystemConstants *constants, GError **error)
{
  guint n = log->steps->len, last = n_fitted(log);
  guint by = MAX(1, (n - last) / LATER_MAX);
  g_autoptr(GArray) later = g_array_new(FALSE, FALSE, sizeof(RaLogLater));

  for (guint i = last; i < n; i += by) {
    const RaLogStep *step = &g_array_index(log->steps, RaLogStep, i);
    RaLogLater one = {step->step, .measured_s = step->times.s[RA_STEP_TOTAL]};
    g_autoptr(RaSetup) setup = NULL;
    RaStepTimes times;

    if (!(one.measured_s > 0))
      continue;
    setup = make(plan, log, i, i + 1, error);
    if (!setup)
      return NULL;
    ra_estimator_set_system(setup->estimator, constants);
    if (!ra_step_times(setup, &times, NULL, error))
      return NULL;
    one.predicted_s = times.s[RA_STEP_TOTAL];
    g_array_append_val(later, one);
  }
  return g_steal_pointer(&later);
}

/* Later steps as a table; median error in @out_median. */
static RaTable *
make_later(const GArray *later, double *out_median)
{
  g_autofree double *errors = g_new(double, later->len + 1);
  RaTable *t = ra_table_new("later steps");

  ra_table_column(t, "step", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(t, "predicted_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "measured_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "error_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < later->len; i++) {
    const RaLogLater *one = &g_array_index(later, RaLogLater, i);
    double apart_frac = one->predicted_s / one->measured_s - 1;

    ra_table_row(t);
    ra_table_integer(t, one->step);
    ra_table_real(t, one->predicted_s);
    ra_table_real(t, one->measured_s);
    ra_table_real(t, apart_frac);
    errors[i] = fabs(apart_frac);
  }
  *out_median = later->len > 0 ? ra_robust_quantile(errors, later->len, 0.5)
                               : (double)NAN;
  return t;
}

gboolean
ra_step_log_constants(RaLogSetup make, gconstpointer plan, const RaStepLog *log,
                      RaSystemConstants *out_constants, GPtrArray *out_keys,
                      GError **error)
{
  RaSystemConstants none = RA_SYSTEM_CONSTANTS_NONE;
  g_autoptr(RaSetup) setup = NULL;

  if (log->steps->len < STEPS_MIN) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: %u steps, expected at least %d: a third to fit, the "
                "others to tell the error",
                log->path, log->steps->len, STEPS_MIN);
    return FALSE;
  }
  setup = make(plan, log, 1, n_fitted(log), error);
  if (!setup)
    return FALSE;
  *out_constants = setup->system ? setup->system->constants : none;
  return fit_constants(setup, log, n_fitted(log), out_constants, out_keys,
                       error);
}

/* The [memory] group of the plan's system, as it stands there. */
static void
put_habits(const RaSetup *setup, GString *out)
{
  gsize n;
  const RaKeySpec *specs = ra_system_key_specs("memory", &n);
  int group = setup->system
                  ? ra_key_file_find_group(setup->system->file, "memory", "")
                  : -1;

  if (group < 0)
    return;
  g_string_append(out, "\n[memory]\n");
  for (gsize i = 0; i < n; i++) {
    const char *value =
        ra_key_file_get(setup->system->file, (guint)group, specs[i].key);

    if (value)
      g_string_append_printf(out, "%s = %s\n", specs[i].key, value);
  }
}

/* All constants that differ from none, the fitted ones marked. */
static void
put_constants(RaSystemConstants *constants, const GPtrArray *keys, GString *out)
{
  RaSystemConstants none = RA_SYSTEM_CONSTANTS_NONE;
  gsize n;
  const RaKeySpec *specs = ra_system_constant_specs(&n);

  g_string_append(out, "\n[constants]\n");
  for (gsize i = 0; i < n; i++) {
    double value = *ra_system_constant(constants, specs[i].key);
    double neutral = *ra_system_constant(&none, specs[i].key);
    gboolean is_rate = specs[i].unit == RA_UNIT_BYTES_PER_S;
    gboolean is_plain = specs[i].type != RA_KEY_QUANTITY;

    if (!(value > 0) || !(value < neutral || value > neutral))
      continue;
    g_string_append_printf(out, "%s = %.6g%s%s\n", specs[i].key,
                           is_plain  ? value
                           : is_rate ? 1e-9 * value
                                     : 1e3 * value,
                           is_plain  ? ""
                           : is_rate ? " GB/s"
                                     : " ms",
                           g_ptr_array_find_with_equal_func((GPtrArray *)keys,
                                                            specs[i].key,
                                                            g_str_equal, NULL)
                               ? " # fitted"
                               : "");
  }
}

char *
ra_step_log_fit(const char *plan, const RaStepLog *log, const char *name,
                gboolean anyway, RaTable **out_errors, GError **error)
{
  guint last = n_fitted(log);
  g_autoptr(RaSetup) setup = setup_of(plan, log, 1, last, error);
  g_autoptr(GPtrArray) keys = g_ptr_array_new();
  g_autoptr(GArray) later = NULL;
  RaSystemConstants constants;
  g_autoptr(GString) out = g_string_new(NULL);
  double median;

  if (!setup || (!anyway && !is_of_plan(log, setup, error)) ||
      !ra_step_log_constants(setup_of, plan, log, &constants, keys, error))
    return NULL;
  later = ra_step_log_later(setup_of, plan, log, &constants, error);
  if (!later)
    return NULL;
  *out_errors = make_later(later, &median);
  g_string_append(out, "# Made by `reallot calibrate --log`.\n\n[system]\n"
                       "format = 1\n");
  if (!ra_quote_key(out, "release", name, error) ||
      !ra_quote_key(out, "source", log->path, error)) {
    g_clear_pointer(out_errors, ra_table_free);
    return NULL;
  }
  g_string_append_printf(out,
                         "rows = %u\nderived = first third of the steps, "
                         "without the first\n",
                         last - 1);
  if (!ra_quote_key(out, "range", plan, error)) {
    g_clear_pointer(out_errors, ra_table_free);
    return NULL;
  }
  if (isfinite(median))
    g_string_append_printf(out, "error-median = %.3f\n", median);
  else
    g_string_append(out, "error-median = -\n");
  put_constants(&constants, keys, out);
  put_habits(setup, out);
  return g_string_free(g_steal_pointer(&out), FALSE);
}
