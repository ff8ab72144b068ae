/* A tuning as tables and sentences. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "sim/path_share.h"
#include "study/contest/tune.h"
#include "study/contest/tune_key.h"

#define GIB 1073741824.0

RaTable *
ra_tune_changes_table(const RaTune *tune)
{
  RaTable *table = ra_table_new("changes");

  ra_table_column(table, "key", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "now", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "then", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "own_gain_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < tune->changes->len; i++) {
    const RaTuneChange *c = &g_array_index(tune->changes, RaTuneChange, i);

    ra_table_row(table);
    ra_table_text(table, c->key);
    ra_table_text(table, c->before ? c->before : "-");
    ra_table_text(table, c->after);
    ra_table_real(table, c->gain_frac);
  }
  return table;
}

static void
add_score(RaTable *table, const char *what, const RaTuneScore *score,
          double memory_bytes, double slower_frac)
{
  ra_table_row(table);
  ra_table_text(table, what);
  ra_table_real(table, score->worth.iteration_s);
  ra_table_real(table, score->worth.tokens_per_s / score->worth.n_gpus);
  ra_table_real(table, score->peak_bytes);
  ra_table_real(table, memory_bytes - score->peak_bytes);
  ra_table_real(table, score->worth.usd);
  ra_table_real(table, slower_frac);
  ra_table_text(table, score->fits ? "" : "does not fit");
}

RaTable *
ra_tune_table(const RaTune *tune)
{
  RaTable *table = ra_table_new("tuning");
  double memory_bytes = tune->setup->cluster->device.memory_bytes;

  ra_table_column(table, "configuration", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "iteration_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "tokens_per_s_per_gpu", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "peak_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "left_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "usd", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "slower_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "note", RA_UNIT_NONE, RA_CELL_TEXT);
  add_score(table, "now", &tune->now, memory_bytes, (double)NAN);
  add_score(table, "then", &tune->then, memory_bytes, tune->slower_frac);
  return table;
}

/* --- why --- */

/* Time of a cause, now and then. */
typedef struct {
  RaPathShare share;
  double then_s;
} Cause;

static gboolean
is_same_cause(const RaPathShare *a, const RaPathShare *b)
{
  return a->cause == b->cause && a->op == b->op && a->task == b->task &&
         a->reach == b->reach;
}

/* The most saved or lost first, then the longest. */
static int
compare_causes(const void *a, const void *b)
{
  const Cause *x = a, *y = b;
  double by_x = fabs(x->then_s - x->share.time_s);
  double by_y = fabs(y->then_s - y->share.time_s);

  if (by_x != by_y)
    return by_x < by_y ? 1 : -1;
  return (x->share.time_s < y->share.time_s) -
         (x->share.time_s > y->share.time_s);
}

static GArray *
list_causes(const RaTune *tune)
{
  GArray *causes = g_array_new(FALSE, FALSE, sizeof(Cause));

  for (guint i = 0; i < tune->now.path->len; i++) {
    Cause one = {g_array_index(tune->now.path, RaPathShare, i), 0};

    g_array_append_val(causes, one);
  }
  for (guint i = 0; i < tune->then.path->len; i++) {
    RaPathShare share = g_array_index(tune->then.path, RaPathShare, i);
    Cause one = {share, share.time_s};
    guint k = 0;

    while (k < causes->len &&
           !is_same_cause(&g_array_index(causes, Cause, k).share, &share))
      k++;
    one.share.time_s = 0;
    if (k == causes->len)
      g_array_append_val(causes, one);
    else
      g_array_index(causes, Cause, k).then_s = share.time_s;
  }
  g_array_sort(causes, compare_causes);
  return causes;
}

RaTable *
ra_tune_path_table(const RaTune *tune)
{
  RaTable *table = ra_table_new("critical_path");
  g_autoptr(GArray) causes = list_causes(tune);

  ra_table_column(table, "cause", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "what", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "link", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "now_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "then_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "saved_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  for (guint i = 0; i < causes->len; i++) {
    const Cause *one = &g_array_index(causes, Cause, i);
    const RaPathShare *share = &one->share;

    ra_table_row(table);
    ra_table_text(table, ra_cause_name((RaCause)share->cause));
    ra_table_text(table, ra_cause_what(share));
    ra_table_text(table, ra_reach_name((RaReach)share->reach));
    ra_table_real(table, share->time_s);
    ra_table_real(table, one->then_s);
    ra_table_real(table, share->time_s - one->then_s);
  }
  return table;
}

/* --- in a sentence --- */

char *
ra_tune_sentence(const RaTune *tune)
{
  double now_s = tune->now.worth.iteration_s;
  double then_s = tune->then.worth.iteration_s;
  guint n = tune->changes->len - tune->n_sizes, n_keys;
  const char *many = n == 1 ? "" : "s";

  if (!tune->then.fits)
    return g_strdup_printf(
        "No change that was tried makes it fit: %.1f GiB of a GPU are lacking",
        (tune->then.peak_bytes - tune->setup->cluster->device.memory_bytes) /
            GIB);
  if (!ra_tune_keys(tune->framework, &n_keys))
    return g_strdup_printf("No key of %s is known that could be changed",
                           ra_framework_names[tune->framework]);
  if (n == 0 && tune->n_tried == 1)
    return g_strdup("No other configuration could be tried");
  if (n == 0)
    return g_strdup_printf("None of the %u configurations tried is faster",
                           tune->n_tried);
  if (!tune->now.fits)
    return g_strdup_printf(
        "As given it does not fit; with %u key%s changed it takes %.4g s", n,
        many, then_s);
  return g_strdup_printf("%.3g %% less time per iteration with %u key%s "
                         "changed, of %u configurations",
                         100 * (1 - then_s / now_s), n, many, tune->n_tried);
}
