/* What `reallot search` prints and writes.
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
  const RaContestOptions *contest; /* that it was searched with */
  const RaSizing *sizing;
  const RaFinal *final;     /* nullable: no plan will do */
  const RaExplain *explain; /* nullable: of the winner; asked for */
  const RaSwaps *swaps;     /* nullable: of the runner-up; asked for */
  const char *loser;        /* nullable: name of that */
  const char *command;      /* comment: how the plan came about */
} RaSearchReport;

/* Size that has the winner, else the largest that has a contest. */
const RaSize *ra_search_size(const RaSearchReport *report);

/* The winner; NULL: none. */
const RaContender *ra_search_winner(const RaSearchReport *report);

/* To standard output, in the form that the options say. */
gboolean ra_search_print(const RaSearchReport *report, GError **error);

/* The winner, with what is predicted of it, to the file of --output. */
gboolean ra_search_write_plan(const RaSearchReport *report, GError **error);

/* How the search converged, as TSV. */
gboolean ra_search_write_curve(const RaSearchReport *report, const char *path,
                               GError **error);

/* The same as a picture, or (`-`) as text to standard output. */
gboolean ra_search_plot(const RaSearchReport *report, const char *path,
                        GError **error);

#endif
