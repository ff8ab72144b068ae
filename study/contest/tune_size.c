/* Tunings of several sizes, and the least hardware that would do. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "study/contest/tune_size.h"

#define FACTOR_MAX 64
#define GIB 1073741824.0

/* One of @n_left tunings that share what is left of the time. */
static void
set_until(RaTuneOptions *one, const RaTuneOptions *options, guint n_left)
{
  gint64 now_us = g_get_monotonic_time(), end_us = options->until.end_us;

  if (end_us > now_us)
    one->until.end_us = now_us + (end_us - now_us) / n_left;
}

GPtrArray *
ra_tune_sizes_new(const RaTuneOptions *options, const uint32_t *counts, guint n,
                  gboolean are_gpus, GError **error)
{
  g_autoptr(GPtrArray) sizes =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_tune_free);

  for (guint i = 0; i < n; i++) {
    RaTuneOptions one = *options;
    RaTune *tune;

    *(are_gpus ? &one.n_gpus : &one.n_nodes) = counts[i];
    set_until(&one, options, n - i);
    tune = ra_tune_new(&one, error);
    if (!tune)
      return NULL;
    g_ptr_array_add(sizes, tune);
  }
  return g_steal_pointer(&sizes);
}

uint32_t
ra_tune_sizes_best(const GPtrArray *sizes)
{
  uint32_t best = RA_NONE;
  double best_s = (double)INFINITY;

  for (guint i = 0; i < sizes->len; i++) {
    const RaTuneScore *then = &((const RaTune *)sizes->pdata[i])->then;

    if (then->fits && then->worth.iteration_s < best_s) {
      best = i;
      best_s = then->worth.iteration_s;
    }
  }
  return best;
}

RaTable *
ra_tune_sizes_table(const GPtrArray *sizes)
{
  RaTable *table = ra_table_new("sizes");

  ra_table_column(table, "nodes", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "gpus", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "now_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "then_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "tokens_per_s_per_gpu", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "left_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "usd", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "keys", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "note", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < sizes->len; i++) {
    const RaTune *tune = sizes->pdata[i];
    const RaTuneScore *then = &tune->then;

    ra_table_row(table);
    ra_table_integer(table, tune->setup->cluster->n_nodes);
    ra_table_integer(table, ra_cluster_n_gpus(tune->setup->cluster));
    ra_table_real(table, tune->now.worth.iteration_s);
    ra_table_real(table, then->worth.iteration_s);
    ra_table_real(table, then->worth.tokens_per_s / then->worth.n_gpus);
    ra_table_real(table,
                  tune->setup->cluster->device.memory_bytes - then->peak_bytes);
    ra_table_real(table, then->worth.usd);
    ra_table_integer(table, tune->changes->len);
    ra_table_text(table, !then->fits       ? "does not fit"
                         : !tune->now.fits ? "does not fit as given"
                                           : "");
  }
  return table;
}

/* --- the least that would do --- */

/* TRUE if a tuning of @one fits before its part of the time is over. */
static gboolean
fits(RaTuneOptions *one, const RaTuneOptions *options, guint n_left)
{
  g_autoptr(RaTune) tune = NULL;

  if (ra_until_is_over(&options->until))
    return FALSE;
  one->until_fits = TRUE;
  set_until(one, options, n_left);
  tune = ra_tune_new(one, NULL);
  return tune && tune->then.fits;
}

/* A kind of GPU. */
typedef struct {
  char *name; /* owned */
  double memory_bytes;
} Kind;

static void
kind_clear(gpointer data)
{
  g_free(((Kind *)data)->name);
}

static int
compare_kinds(const void *a, const void *b)
{
  const Kind *x = a, *y = b;

  if (x->memory_bytes != y->memory_bytes)
    return x->memory_bytes < y->memory_bytes ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* (transfer full) (element-type Kind): those with more memory than
 * @memory_bytes, the least first. */
static GArray *
list_kinds(double memory_bytes)
{
  GArray *kinds = g_array_new(FALSE, FALSE, sizeof(Kind));
  g_auto(GStrv) names = ra_share_list("profiles", ".profile");

  g_array_set_clear_func(kinds, kind_clear);
  for (guint i = 0; names[i]; i++) {
    g_autofree char *path = ra_share_find("profiles", names[i], NULL, NULL);
    g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, NULL) : NULL;
    g_autoptr(RaProfile) profile = file ? ra_profile_load(file, NULL) : NULL;
    Kind kind;

    if (!profile || (double)profile->spec.memory_bytes <= memory_bytes)
      continue;
    kind = (Kind){g_strndup(names[i], strlen(names[i]) - strlen(".profile")),
                  (double)profile->spec.memory_bytes};
    g_array_append_val(kinds, kind);
  }
  g_array_sort(kinds, compare_kinds);
  return kinds;
}

char *
ra_tune_least(const RaTuneOptions *options, const RaTune *tune)
{
  const RaCluster *cluster = tune->setup->cluster;
  g_autoptr(GArray) kinds = list_kinds(cluster->device.memory_bytes);
  GString *out = g_string_new(NULL);
  guint n_left = kinds->len;

  for (uint32_t factor = 2; factor <= FACTOR_MAX; factor *= 2)
    n_left++;
  for (uint32_t factor = 2; factor <= FACTOR_MAX && out->len == 0;
       factor *= 2) {
    RaTuneOptions one = *options;

    one.n_gpus = 0;
    one.n_nodes = cluster->n_nodes * factor;
    if (fits(&one, options, n_left--))
      g_string_append_printf(out, "It would fit on %u nodes (%u GPUs)",
                             one.n_nodes, one.n_nodes * cluster->gpus_per_node);
  }
  n_left = kinds->len;
  for (guint i = 0; i < kinds->len; i++) {
    const Kind *kind = &g_array_index(kinds, Kind, i);
    RaTuneOptions one = *options;

    one.recipe.gpu = kind->name;
    if (!fits(&one, options, n_left--))
      continue;
    g_string_append_printf(out, "%s on %u node%s of %s (%.0f GiB a GPU)",
                           out->len > 0 ? ", or" : "It would fit",
                           cluster->n_nodes, cluster->n_nodes == 1 ? "" : "s",
                           kind->name, kind->memory_bytes / GIB);
    break;
  }
  if (ra_until_is_over(&options->until))
    g_string_append(out, out->len > 0
                             ? ". The time was up before less was tried"
                             : "The time was up before more hardware that "
                               "would do was found: expected more --time");
  else if (out->len == 0)
    g_string_append_printf(
        out,
        "Neither up to %d times the nodes nor GPUs with more memory would "
        "do",
        FACTOR_MAX);
  return g_string_free(out, FALSE);
}
