/* Report of `reallot search`: its output and files.
 *
 *     RaSearchReport report = {.options = &options, .sizing = sizing, ...};
 *     ok = ra_search_print(&report, &error);
 */
#ifndef RA_CLI_SEARCH_REPORT_H
#define RA_CLI_SEARCH_REPORT_H

#include "cli/options.h"
#include "study/contest/final.h"
#include "study/contest/swap.h"
#include "study/report/explain.h"

typedef struct {
  const RaOptions *options;
  const RaContestOptions *contest; /* options of the search */
  const RaSizing *sizing;
  const RaFinal *final;     /* nullable: no plan is acceptable */
  const RaExplain *explain; /* nullable: of the winner, if requested */
  const RaSwaps *swaps;     /* nullable: of the runner-up, if requested */
  const char *loser;        /* nullable: name of the runner-up */
  const char *command;      /* command line, for the plan's comment */
} RaSearchReport;

/* Size with the winner, else the largest with a contest. */
const RaSize *ra_search_size(const RaSearchReport *report);

/* The winner; NULL: none. */
const RaContender *ra_search_winner(const RaSearchReport *report);

/* Prints to standard output, in the format of the options. */
gboolean ra_search_print(const RaSearchReport *report, GError **error);

/* Writes the winner, with its forecast, to the file of --output. */
gboolean ra_search_write_plan(const RaSearchReport *report, GError **error);

/* Writes the convergence of the search as TSV. */
gboolean ra_search_write_curve(const RaSearchReport *report, const char *path,
                               GError **error);

/* Plots it as a picture, or (`-`) as text to standard output. */
gboolean ra_search_plot(const RaSearchReport *report, const char *path,
                        GError **error);

#endif
