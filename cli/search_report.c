/* Report of `reallot search`: its output and files. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/quote.h"
#include "cli/output.h"
#include "cli/search_report.h"
#include "study/plot/convergence.h"
#include "study/report/forecast.h"

#define GIB (1024.0 * 1024 * 1024)
#define CAUSES_SHOWN 10   /* of the critical path, to people */
#define SAVING_FRAC 0.001 /* less is not worth a word */
#define CURVE_COLUMNS 78
#define CURVE_LINES 12

const RaSize *
ra_search_size(const RaSearchReport *report)
{
  const RaSizing *sizing = report->sizing;

  if (report->final && report->final->winner != RA_NONE)
    return ra_finalist_size(report->final, report->final->winner);
  for (guint i = sizing->sizes->len; i > 0; i--) {
    const RaSize *size = &g_array_index(sizing->sizes, RaSize, i - 1);

    if (size->contest)
      return size;
  }
  return NULL;
}

const RaContender *
ra_search_winner(const RaSearchReport *report)
{
  return report->final && report->final->winner != RA_NONE
             ? ra_finalist_contender(report->final, report->final->winner)
             : NULL;
}

/* --- text --- */

static void
append_head(GString *out, const RaSearchReport *report, const RaSize *size)
{
  const RaCluster *cluster = size->setup->cluster;
  const RaContest *contest = size->contest;
  g_autofree char *gpus = ra_cluster_gpu_names(cluster);

  g_string_append_printf(out, "%s on %s: %" PRIu32 " %s GPUs\n",
                         report->sizing->workload, report->sizing->cluster,
                         report->sizing->n_cluster * cluster->gpus_per_node,
                         gpus);
  if (size->n_gpus < cluster->gpus_per_node)
    g_string_append_printf(out,
                           "Plans for %" PRIu32 " GPU%s of the first node:\n",
                           size->n_gpus, size->n_gpus > 1 ? "s" : "");
  else if (report->sizing->sizes->len > 1)
    g_string_append_printf(out, "Plans for %" PRIu32 " node%s:\n",
                           size->n_nodes, size->n_nodes > 1 ? "s" : "");
  if (contest->searched)
    g_string_append_printf(
        out,
        "search: 10^%.1f plans, layouts prepared in %.1f s, %.3g %s in %.1f "
        "s\n",
        contest->round.log10_points, contest->round.prepare_s,
        (double)contest->round.found.n_steps,
        report->contest->target ? "plans weighed" : "MCMC proposals",
        contest->round.found.seconds);
  g_string_append_c(out, '\n');
}

static gboolean
winner_is_found(const RaFinal *final)
{
  return ra_finalist_contender(final, final->winner)->is_found;
}

/* "3.1 % (+- 0.2 %) less than real, the best family". */
static void
append_lead(GString *out, const RaFinal *final, uint32_t i)
{
  const RaFinalist *f = &g_array_index(final->finalists, RaFinalist, i);

  g_string_append_printf(out, ", %.3g %%", fabs(100 * f->ahead_frac));
  if (final->n_draws > 1)
    g_string_append_printf(out, " (+- %.2g %%)", 100 * f->deviation_frac);
  g_string_append_printf(out, " %s than %s%s",
                         f->ahead_frac < 0 ? "more" : "less", f->name,
                         i == final->family && winner_is_found(final)
                             ? ", the best placement strategy"
                             : "");
}

/* Why the winner is not the best. */
static void
append_simpler(GString *text, const RaFinal *final)
{
  const RaContender *winner = ra_finalist_contender(final, final->winner);
  const RaContender *best = ra_finalist_contender(final, final->best);

  g_string_append_printf(
      text,
      ".  %s, the best by the numbers, is ahead of it in %u of %u worlds only: "
      "the two cannot be told apart, and %s is the simpler plan (",
      best->name, ra_final_wins(final, final->best, final->winner),
      RA_ODDS_WORLDS, winner->name);
  if (best->is_found && !winner->is_found)
    g_string_append(text, "a placement strategy)");
  else if (winner->doubt.n_layouts != best->doubt.n_layouts)
    g_string_append_printf(text, "%u layouts, not %u)", winner->doubt.n_layouts,
                           best->doubt.n_layouts);
  else
    g_string_append_printf(text, "%u reallocations, not %u)",
                           winner->doubt.n_reallocs, best->doubt.n_reallocs);
}

/* The worlds in which the winner wins, and its loss in the others. */
static void
append_odds(GString *out, const RaFinal *final)
{
  const RaFinalist *winner =
      &g_array_index(final->finalists, RaFinalist, final->winner);
  gboolean by_time = ra_objective_is_time(&final->objective);
  g_autoptr(GString) text = g_string_new(NULL);

  if (!final->has_odds)
    return;
  g_string_append_printf(
      text,
      "Where the model is wrong, by its held-out errors, %s is the %s in %u of "
      "%u worlds; in 95 %% of them it is at most %.2g %% %s than the best of "
      "the others, on average %.2g %%",
      winner->name, by_time ? "fastest" : "best", winner->odds.n_best,
      RA_ODDS_WORLDS, 100 * winner->odds.regret_p95_frac,
      by_time ? "slower" : "worse", 100 * winner->odds.regret_frac);
  if (final->winner != final->best)
    append_simpler(text, final);
  ra_output_wrapped(out, text->str);
}

/* Why not all was searched. */
static void
append_refusal(GString *out, const RaContest *contest)
{
  g_autofree char *text = NULL;

  if (!contest->refusal)
    return;
  text = g_strdup_printf(
      "Nothing was searched, so this is the best placement strategy: %s",
      contest->refusal);
  ra_output_wrapped(out, text);
}

static uint32_t
n_gpus_of(const RaSearchReport *report)
{
  return ra_cluster_n_gpus(ra_search_size(report)->setup->cluster);
}

/* How much the winner wins by. */
static void
append_verdict(GString *out, const RaSearchReport *report)
{
  const RaFinal *final = report->final;
  const RaFinalist *winner;
  RaWorth worth;
  g_autofree char *value = NULL;
  g_autoptr(GString) text = g_string_new(NULL);
  gsize begin;

  g_string_append_c(out, '\n');
  begin = out->len;
  if (!final || final->winner == RA_NONE) {
    g_string_append(out,
                    ra_search_size(report)->contest->is_cut
                        ? "No plan was ready when the time was up: expected "
                          "more --time.\n"
                    : report->contest->objective.within_s > 0
                        ? "No plan fits and is fast enough.\n"
                        : "No plan fits.\n");
    ra_output_verdict(out, begin, FALSE);
    return;
  }
  winner = &g_array_index(final->finalists, RaFinalist, final->winner);
  worth = ra_finalist_worth(final, final->winner);
  value = ra_objective_say(&final->objective, &worth);
  g_string_append_printf(text, "%s%s: %s", winner->name,
                         winner_is_found(final) ? "" : ", a placement strategy",
                         value);
  if (final->objective.kind != RA_OBJECTIVE_TIME &&
      final->objective.kind != RA_OBJECTIVE_REGRET)
    g_string_append_printf(text, ", %.4g s per iteration",
                           winner->mean.iteration_s);
  if (final->second != RA_NONE)
    append_lead(text, final, final->second);
  if (final->family != RA_NONE && final->family != final->second)
    append_lead(text, final, final->family);
  g_string_append_printf(text, " (%s%s)",
                         final->is_stage ? "stage fidelity, as the time was up"
                                         : "op by op",
                         final->n_draws > 1 ? ", mean of the samples" : "");
  if (!winner_is_found(final) && final->winner == final->best &&
      ra_search_size(report)->contest->searched)
    g_string_append(text, ".  No plan that was found is better");
  if (ra_objective_is_time(&final->objective) &&
      winner->mean.n_gpus < n_gpus_of(report))
    g_string_append_printf(text, ".  It uses %u of %u GPUs",
                           winner->mean.n_gpus, n_gpus_of(report));
  ra_output_wrapped(out, text->str);
  ra_output_verdict(out, begin, TRUE);
  append_refusal(out, ra_search_size(report)->contest);
  append_odds(out, final);
}

/* A winner that trains otherwise than the workload says so. */
static void
append_algorithm(GString *out, const RaSearchReport *report)
{
  const RaContender *winner = ra_search_winner(report);
  RaSetup *setup = ra_search_size(report)->setup;

  if (!winner || !ra_setup_read_plan(setup, "the plan", winner->text, NULL))
    return;
  for (guint c = 0; c < setup->workload->n_calls; c++)
    if (setup->plan->calls[c].n_mini_batches > 0)
      g_string_append_printf(
          out, "%s trains in %u mini-batches, not in %u: another algorithm.\n",
          setup->workload->calls[c].name, setup->plan->calls[c].n_mini_batches,
          setup->workload->calls[c].n_mini_batches);
}

/* Certificate for all plans, in the times of the tables. */
static void
append_certificate(GString *out, const RaContest *contest)
{
  const RaContestRound *round = &contest->round;
  const RaExactResult *e = &round->exact;

  if (!contest->searched)
    return;
  if (contest->by_mean) {
    ra_output_wrapped(out,
                      "The search took all lengths for their mean, as streamed "
                      "sequences of sampled lengths depend on more than one "
                      "call; what it found was replayed with the samples");
    return;
  }
  if (round->bounded && e->found && e->is_proven) {
    g_string_append_printf(
        out,
        "Proven in %.3g s: no plan of this space is faster at call fidelity\n"
        "with its residencies.\n",
        e->seconds);
    return;
  }
  if (isfinite(round->best_s))
    g_string_append_printf(out,
                           "No plan of this space is more than %.3g %% faster "
                           "at call fidelity%s.\n",
                           100 * (1 - round->bound_s / round->best_s),
                           round->bounded ? "\nwith its residencies" : "");
}

static void
append_why(GString *out, const RaSearchReport *report)
{
  if (report->swaps && report->swaps->n > 0) {
    const RaSwap *first = &report->swaps->rows[0];
    g_autoptr(RaTable) table = ra_swaps_table(report->swaps);
    g_autofree char *title = g_strdup_printf(
        "%s (%.4g s, stage fidelity) with one call laid out as in the winner",
        report->loser, report->swaps->iteration_s);

    g_string_append_c(out, '\n');
    ra_output_titled(out, table, title);
    if (!first->refusal && first->fits &&
        first->saved_s > SAVING_FRAC * report->swaps->iteration_s)
      g_string_append_printf(
          out, "The most expensive choice of %s is its layout of %s: %.3g s.\n",
          report->loser, report->swaps->workload->calls[first->call].name,
          first->saved_s);
    else
      g_string_append_printf(
          out,
          "No single layout of the winner makes %s %.2g %% faster or more.\n",
          report->loser, 100 * SAVING_FRAC);
  }
  if (report->explain) {
    g_string_append_c(out, '\n');
    ra_output_top(out, report->explain->causes,
                  "The winner's critical path by cause (stage fidelity)",
                  CAUSES_SHOWN, "smaller");
  }
}

static gboolean
print_text(const RaSearchReport *report, const RaSize *size, GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);
  g_autoptr(RaTable) plans = ra_contest_table(size->contest);

  append_head(out, report, size);
  if (report->sizing->sizes->len > 1) {
    g_autoptr(RaTable) sizes = ra_sizing_table(report->sizing);

    ra_table_write(sizes, RA_FORMAT_TEXT, out);
    g_string_append_c(out, '\n');
  }
  if (size->contest->candidates) {
    ra_output_titled(
        out, size->contest->candidates,
        "Layouts of calls: tried, candidates, and why others are none (heads: "
        "tp does not divide them;\nsequences: dp does not divide them; plan: "
        "not supported; dominated: another is better in all)");
    g_string_append_c(out, '\n');
  }
  ra_output_titled(out, plans, "Plans (stage fidelity)");
  if (report->final) {
    g_autoptr(RaTable) finalists = ra_final_table(report->final);
    g_autofree char *title =
        report->final->n_draws > 1
            ? g_strdup_printf("Finalists (op fidelity, mean of %u samples)",
                              report->final->n_draws)
            : g_strdup_printf("Finalists (%s fidelity)",
                              report->final->is_stage ? "stage" : "op");

    g_string_append_c(out, '\n');
    ra_output_titled(out, finalists, title);
  }
  append_verdict(out, report);
  append_algorithm(out, report);
  append_certificate(out, size->contest);
  append_why(out, report);
  return ra_output_print(out->str, out->len, error);
}

/* --- tables --- */

gboolean
ra_search_print(const RaSearchReport *report, GError **error)
{
  const RaSize *size = ra_search_size(report);
  g_autoptr(GPtrArray) tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);
  g_autoptr(GPtrArray) all = g_ptr_array_new();

  g_return_val_if_fail(size != NULL, FALSE);
  if (report->options->format == RA_FORMAT_TEXT)
    return print_text(report, size, error);
  g_ptr_array_add(tables, ra_contest_table(size->contest));
  g_ptr_array_add(tables, ra_sizing_table(report->sizing));
  if (report->final)
    g_ptr_array_add(tables, ra_final_table(report->final));
  if (report->swaps)
    g_ptr_array_add(tables, ra_swaps_table(report->swaps));
  for (guint i = 0; i < tables->len; i++)
    g_ptr_array_add(all, tables->pdata[i]);
  if (size->contest->candidates)
    g_ptr_array_add(all, size->contest->candidates);
  if (report->explain)
    g_ptr_array_add(all, report->explain->causes);
  return ra_output_tables(all, report->options->format, error);
}

/* --- files --- */

gboolean
ra_search_write_plan(const RaSearchReport *report, GError **error)
{
  const RaSize *size = ra_search_size(report);
  const RaContender *c = ra_search_winner(report);
  const RaFinalist *f = &g_array_index(report->final->finalists, RaFinalist,
                                       report->final->winner);
  g_autoptr(GString) head = g_string_new(report->command);
  g_autofree char *text = NULL;

  ra_quote_comment(head,
                   "%s: %.6g s per iteration, %.6g tokens/s, peak %.4g GiB per "
                   "GPU, simulated at",
                   c->name, c->worth.iteration_s, c->worth.tokens_per_s,
                   c->peak_bytes / GIB);
  g_string_append(head, "# stage fidelity");
  if (!report->final->is_stage)
    g_string_append_printf(head, "; op fidelity %.6g s", f->mean.iteration_s);
  if (report->final->n_draws > 1)
    g_string_append_printf(head, " (mean of %u samples, +- %.2g s)",
                           report->final->n_draws, f->deviation_s);
  g_string_append(head, ".\n");
  text = ra_forecast_text(size->setup, c->text, head->str,
                          report->contest->n_iterations, report->contest->seed,
                          report->contest->whole, error);
  return text &&
         ra_output_write(report->options->output, text, strlen(text), error);
}

gboolean
ra_search_write_curve(const RaSearchReport *report, const char *path,
                      GError **error)
{
  g_autoptr(RaTable) curve = ra_contest_curve(ra_search_size(report)->contest);
  g_autoptr(GString) text = g_string_new(NULL);

  ra_table_write(curve, RA_FORMAT_TSV, text);
  return ra_output_write(path, text->str, text->len, error);
}

gboolean
ra_search_plot(const RaSearchReport *report, const char *path, GError **error)
{
  const RaContest *contest = ra_search_size(report)->contest;
  g_autofree char *text = NULL;

  if (strcmp(path, "-") != 0)
    return ra_convergence_plot(contest, path, error);
  text = ra_convergence_text(contest, CURVE_COLUMNS, CURVE_LINES);
  return ra_output_print(text, strlen(text), error);
}
