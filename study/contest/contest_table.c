/* Tables of a contest. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "study/contest/contest.h"

static const RaContender *
at(const RaContest *contest, uint32_t i)
{
  return &g_array_index(contest->contenders, RaContender, i);
}

/* Why a plan that is none of the best stands where it does. */
static const char *
note_of(const RaContest *contest, const RaContender *c)
{
  double within_s = contest->objective.within_s;

  if (!c->fits)
    return "does not fit";
  return within_s > 0 && c->worth.iteration_s > within_s ? "takes too long"
                                                         : "";
}

/* Its refusal, without the name that the row begins with. */
static const char *
reason_of(const RaContender *c)
{
  gsize n = strlen(c->name);

  return g_str_has_prefix(c->refusal, c->name) &&
                 g_str_has_prefix(c->refusal + n, ": ")
             ? c->refusal + n + 2
             : c->refusal;
}

RaTable *
ra_contest_table(const RaContest *contest)
{
  RaTable *table = ra_table_new("plans");

  ra_table_column(table, "plan", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "iteration_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "ratio", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "search_estimate_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "gpus", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "tokens_per_s", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "usd", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "peak_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "note", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < contest->contenders->len; i++) {
    const RaContender *c = at(contest, i);

    ra_table_row(table);
    ra_table_text(table, c->name);
    if (c->refusal) {
      for (guint k = 0; k < 7; k++)
        ra_table_missing(table);
      ra_table_text(table, reason_of(c));
      continue;
    }
    ra_table_real(table, c->worth.iteration_s);
    ra_table_real(table,
                  contest->winner == RA_NONE
                      ? (double)NAN
                      : c->worth.iteration_s /
                            at(contest, contest->winner)->worth.iteration_s);
    ra_table_real(table, c->call_s);
    ra_table_integer(table, c->worth.n_gpus);
    ra_table_real(table, c->worth.tokens_per_s);
    ra_table_real(table, c->worth.usd);
    ra_table_real(table, c->peak_bytes);
    if (c->unsaid) {
      g_autofree char *note =
          g_strconcat("not exported whole: ", c->unsaid, NULL);

      ra_table_text(table, note);
      continue;
    }
    ra_table_text(table, i == contest->winner ? "winner" : note_of(contest, c));
  }
  return table;
}

static void
add_sample(RaTable *table, const RaContestRound *round, const RaMcmcSample *s)
{
  ra_table_row(table);
  ra_table_text(table, "search");
  ra_table_integer(table, s->n_steps);
  ra_table_real(table, s->seconds);
  ra_table_real(table, s->best_s);
  ra_table_real(table, round->bound_s);
}

/* The best does not change between its last sample and the end. */
static void
add_end(RaTable *table, const RaContestRound *round)
{
  const RaMcmcResult *found = &round->found;
  RaMcmcSample end = {.n_steps = found->n_steps, .seconds = found->seconds};

  if (!found->found)
    return;
  end.best_s = round->best_s;
  if (round->bounded)
    end.seconds += round->exact.seconds;
  add_sample(table, round, &end);
}

RaTable *
ra_contest_curve(const RaContest *contest)
{
  RaTable *table = ra_table_new("convergence");

  ra_table_column(table, "search", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "proposals", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "best_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "bound_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  for (guint i = 0; contest->searched && i < contest->round.found.curve->len;
       i++)
    add_sample(table, &contest->round,
               &g_array_index(contest->round.found.curve, RaMcmcSample, i));
  if (contest->searched)
    add_end(table, &contest->round);
  return table;
}
