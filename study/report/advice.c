/* Advice: placement strategies beside a plan. */
#include "config.h"

#include <math.h>

#include "study/remedy.h"
#include "study/report/advice.h"

void
ra_advice_trials(const RaSetup *setup, const RaSetupFlags *flags,
                 const RaReplayOptions *replay, guint n_threads,
                 RaTrialCount *count, RaTrial *out_trials)
{
  RaTrialSpec specs[RA_N_STRATEGIES] = {{0}};
  g_autoptr(GPtrArray) sets = g_ptr_array_new();

  for (guint i = 0; flags->sets && flags->sets[i]; i++)
    if (!ra_remedy_is_of_plan(flags->sets[i]))
      g_ptr_array_add(sets, (gpointer)flags->sets[i]);
  g_ptr_array_add(sets, NULL);
  for (guint i = 0; i < RA_N_STRATEGIES; i++) {
    specs[i].placement = ra_strategy_names[i];
    specs[i].n_steps = 1;
    specs[i].flags = *flags;
    specs[i].flags.workload = setup->workload_path;
    specs[i].flags.cluster = setup->cluster_path;
    specs[i].flags.system = setup->system_path;
    specs[i].flags.sets = (const char *const *)sets->pdata;
    specs[i].replay = *replay;
  }
  ra_trials_run(specs, RA_N_STRATEGIES, n_threads, NULL, ra_trial_count, count,
                out_trials);
}

char *
ra_advice_sentence(const RaSetup *setup, const RaSetupFlags *flags,
                   const RaReplayOptions *replay, double iteration_s)
{
  RaTrial trials[RA_N_STRATEGIES] = {{0}};
  guint best = RA_N_STRATEGIES;
  double best_s = iteration_s;
  char *text;

  ra_advice_trials(setup, flags, replay, 0, NULL, trials);
  for (guint i = 0; i < RA_N_STRATEGIES; i++) {
    if (!trials[i].refusal && ra_trial_fits(&trials[i]) &&
        trials[i].iteration_s < best_s) {
      best = i;
      best_s = trials[i].iteration_s;
    }
    ra_trial_clear(&trials[i]);
  }
  if (best == RA_N_STRATEGIES) {
    text = g_strdup("No placement strategy has a faster plan that fits.\n");
  } else {
    const char *name = ra_strategy_names[best];
    g_autofree char *command = ra_remedy_command(setup, flags, name);
    g_autofree char *less =
        isfinite(iteration_s)
            ? g_strdup_printf("takes %.1f %% less time",
                              100 * (1 - best_s / iteration_s))
            : g_strdup("fits");

    text = g_strdup_printf("The plan of strategy %s %s:\n  %s\n", name, less,
                           command);
  }
  return text;
}
