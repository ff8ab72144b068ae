/* Plans side by side. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "study/sweep/beside.h"

/* The run of @plan with the first seed. */
static const RaSeedRun *
run_of(const GArray *runs, uint32_t plan)
{
  for (guint i = 0; i < runs->len; i++)
    if (g_array_index(runs, RaSeedRun, i).plan == plan)
      return &g_array_index(runs, RaSeedRun, i);
  g_assert_not_reached();
}

/* "mine", of mine.plan; "mine (2)" where the plan before has the name too. */
static char *
name_of(RaSetup *const *setups, uint32_t plan)
{
  g_autofree char *name = g_path_get_basename(setups[plan]->plan_path);
  guint n = 1;

  for (uint32_t i = 0; i < plan; i++) {
    g_autofree char *other = g_path_get_basename(setups[i]->plan_path);

    n += g_str_equal(name, other);
  }
  if (g_str_has_suffix(name, ".plan"))
    name[strlen(name) - strlen(".plan")] = '\0';
  return n > 1 ? g_strdup_printf("%s (%u)", name, n) : g_steal_pointer(&name);
}

/* The fastest plan but @except, of those that fit if any does; RA_NONE: there
 * is no other. */
static uint32_t
fastest(const GArray *runs, uint32_t n_setups, uint32_t except)
{
  uint32_t best = RA_NONE;

  for (uint32_t p = 0; p < n_setups; p++) {
    const RaSeedRun *run = run_of(runs, p);
    const RaSeedRun *other = best == RA_NONE ? NULL : run_of(runs, best);

    if (p == except)
      continue;
    if (!other || (ra_seed_run_fits(run) && !ra_seed_run_fits(other)) ||
        (ra_seed_run_fits(run) == ra_seed_run_fits(other) &&
         run->iteration_s < other->iteration_s))
      best = p;
  }
  return best;
}

RaTable *
ra_beside_table(const GArray *runs, RaSetup *const *setups, uint32_t n_setups)
{
  RaTable *table = ra_table_new("plans");
  double best_s = run_of(runs, fastest(runs, n_setups, RA_NONE))->iteration_s;

  ra_table_column(table, "plan", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "gpus", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "iteration_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "error_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "ratio", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "usd", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "peak_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "capacity_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "fits", RA_UNIT_NONE, RA_CELL_TRUTH);
  for (uint32_t p = 0; p < n_setups; p++) {
    const RaSeedRun *run = run_of(runs, p);
    g_autofree char *name = name_of(setups, p);

    ra_table_row(table);
    ra_table_text(table, name);
    ra_table_integer(table, run->n_gpus);
    ra_table_real(table, run->iteration_s);
    ra_table_real(table, run->doubt.error.frac);
    ra_table_real(table, run->iteration_s / best_s);
    ra_table_real(table, run->usd);
    ra_table_real(table, run->peak_bytes);
    ra_table_real(table, run->capacity_bytes);
    ra_table_truth(table, ra_seed_run_fits(run));
  }
  return table;
}

/* A column by plan; @suffix ends its name for machines. */
static void
add_columns(RaTable *table, RaSetup *const *setups, uint32_t n_setups,
            RaUnit unit, RaCellType type, const char *suffix)
{
  for (uint32_t p = 0; p < n_setups; p++) {
    g_autofree char *name = name_of(setups, p);
    g_autofree char *column = g_strconcat(name, suffix, NULL);

    ra_table_column(table, column, unit, type);
  }
}

/* Index of the call named @name; RA_NONE. */
static uint32_t
find_call(const RaWorkload *workload, const char *name)
{
  for (uint32_t c = 0; c < workload->n_calls; c++)
    if (g_str_equal(workload->calls[c].name, name))
      return c;
  return RA_NONE;
}

RaTable *
ra_beside_calls(const GArray *runs, RaSetup *const *setups, uint32_t n_setups)
{
  RaTable *table = ra_table_new("calls");
  g_autoptr(GPtrArray) seen = g_ptr_array_new();

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  add_columns(table, setups, n_setups, RA_UNIT_SECONDS, RA_CELL_REAL, "_s");
  for (uint32_t of = 0; of < n_setups; of++) {
    const RaWorkload *workload = setups[of]->workload;

    for (uint32_t i = 0; i < workload->n_calls; i++) {
      const char *name = workload->calls[workload->order[i]].name;

      if (g_ptr_array_find_with_equal_func(seen, name, g_str_equal, NULL))
        continue;
      g_ptr_array_add(seen, (gpointer)name);
      ra_table_row(table);
      ra_table_text(table, name);
      for (uint32_t p = 0; p < n_setups; p++) {
        uint32_t call = find_call(setups[p]->workload, name);

        if (call == RA_NONE)
          ra_table_missing(table);
        else
          ra_table_real(table, run_of(runs, p)->calls_s[call]);
      }
    }
  }
  return table;
}

/* --- differences --- */

/* The plan's, the workload's or the cluster's file. */
static const RaKeyFile *
file_of(const RaSetup *setup, guint kind)
{
  return kind == 0   ? setup->plan->file
         : kind == 1 ? setup->workload->file
                     : setup->cluster->file;
}

/* Keys that name files, which are set side by side themselves. */
static gboolean
is_about_files(guint kind, const char *noun, const char *key)
{
  return g_str_equal(key, "format") ||
         (kind == 0 && g_str_equal(noun, "plan") &&
          (g_str_equal(key, "workload") || g_str_equal(key, "cluster")));
}

/* Adds a row if files of @kind differ in [noun name] key. */
static void
add_difference(RaTable *table, RaSetup *const *setups, uint32_t n_setups,
               guint kind, const char *noun, const char *name, const char *key)
{
  g_autofree const char **values = g_new0(const char *, n_setups);
  g_autofree char *label =
      g_strdup_printf("%s%s%s.%s", noun, *name ? " " : "", name, key);
  gboolean differ = FALSE;

  for (uint32_t p = 0; p < n_setups; p++) {
    const RaKeyFile *file = file_of(setups[p], kind);
    int group = file ? ra_key_file_find_group(file, noun, name) : -1;

    if (group >= 0)
      values[p] = ra_key_file_get(file, (guint)group, key);
    differ |= g_strcmp0(values[p], values[0]) != 0;
  }
  if (!differ)
    return;
  ra_table_row(table);
  ra_table_text(table, label);
  for (uint32_t p = 0; p < n_setups; p++) {
    if (values[p])
      ra_table_text(table, values[p]);
    else
      ra_table_missing(table);
  }
}

/* TRUE if a setup before @of has the key, whose row is there already. */
static gboolean
is_known(RaSetup *const *setups, uint32_t of, guint kind, const char *noun,
         const char *name, const char *key)
{
  for (uint32_t p = 0; p < of; p++) {
    const RaKeyFile *file = file_of(setups[p], kind);
    int group = file ? ra_key_file_find_group(file, noun, name) : -1;

    if (group >= 0 && ra_key_file_get(file, (guint)group, key))
      return TRUE;
  }
  return FALSE;
}

RaTable *
ra_beside_differences(RaSetup *const *setups, uint32_t n_setups)
{
  RaTable *table = ra_table_new("differences");

  ra_table_column(table, "key", RA_UNIT_NONE, RA_CELL_TEXT);
  add_columns(table, setups, n_setups, RA_UNIT_NONE, RA_CELL_TEXT, "");
  for (guint kind = 0; kind < 3; kind++)
    for (uint32_t of = 0; of < n_setups; of++) {
      const RaKeyFile *file = file_of(setups[of], kind);

      for (guint g = 0; file && g < ra_key_file_n_groups(file); g++) {
        const char *noun = ra_key_file_group_noun(file, g);
        const char *name = ra_key_file_group_name(file, g), *key;

        for (guint k = 0; (key = ra_key_file_key(file, g, k)); k++)
          if (!is_about_files(kind, noun, key) &&
              !is_known(setups, of, kind, noun, name, key))
            add_difference(table, setups, n_setups, kind, noun, name, key);
      }
    }
  return table;
}

/* " (90 % interval 1.2 to 7.4 %)": less time of @a than of @b, without the
 * errors that both have in common; "": nobody has measured how wrong they are.
 */
static char *
interval(const RaSeedRun *a, const RaSeedRun *b)
{
  double ratio = a->iteration_s / b->iteration_s, apart;

  if (!ra_doubt_is_known(&a->doubt) || !ra_doubt_is_known(&b->doubt))
    return g_strdup("");
  apart = RA_ERROR_NINE_OF_TEN *
          ra_model_error_apart(&a->doubt.error, a->doubt.parts, &b->doubt.error,
                               b->doubt.parts);
  return g_strdup_printf(" (90 %% interval %.1f to %.1f %%)",
                         100 * (1 - ratio * ra_exp(apart)),
                         100 * (1 - ratio * ra_exp(-apart)));
}

char *
ra_beside_sentence(const GArray *runs, RaSetup *const *setups,
                   uint32_t n_setups)
{
  uint32_t first = fastest(runs, n_setups, RA_NONE);
  uint32_t second = fastest(runs, n_setups, first);
  const RaSeedRun *a = run_of(runs, first);
  const RaSeedRun *b = second == RA_NONE ? NULL : run_of(runs, second);
  g_autofree char *one = name_of(setups, first);

  if (!ra_seed_run_fits(a))
    return g_strdup("No plan fits its GPUs");
  if (!b || !ra_seed_run_fits(b))
    return g_strdup_printf("%s is the only plan that fits", one);
  g_autofree char *other = name_of(setups, second);
  g_autofree char *within = interval(a, b);
  return g_strdup_printf("%s is the fastest plan that fits: %.1f %% less time "
                         "than %s%s",
                         one, 100 * (1 - a->iteration_s / b->iteration_s),
                         other, within);
}
