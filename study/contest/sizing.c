/* Sizing: contests on several sizes of a cluster. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "study/contest/sizing.h"

static RaSize *
at(const RaSizing *sizing, uint32_t i)
{
  return &g_array_index(sizing->sizes, RaSize, i);
}

static void
size_clear(gpointer data)
{
  RaSize *size = data;

  ra_contest_free(size->contest);
  ra_setup_free(size->setup);
  g_free(size->refusal);
}

static const RaWorth *
worth_of(const RaSize *size)
{
  return &g_array_index(size->contest->contenders, RaContender,
                        size->contest->winner)
              .worth;
}

/* Flags' changes, and that the cluster has @n_nodes; (transfer full). */
static GPtrArray *
list_sets(const RaSetupFlags *flags, uint32_t n_nodes)
{
  GPtrArray *sets = g_ptr_array_new_with_free_func(g_free);

  for (guint i = 0; flags->sets && flags->sets[i]; i++)
    g_ptr_array_add(sets, g_strdup(flags->sets[i]));
  g_ptr_array_add(sets, g_strdup_printf("cluster.nodes=%" PRIu32, n_nodes));
  g_ptr_array_add(sets, NULL);
  return sets;
}

/* Slices of the first node, for whom few GPUs count: powers of two that divide
 * it. */
static void
list_slices(const RaSizingOptions *options, uint32_t width, GArray *sizes)
{
  if (options->n_nodes > 0 ||
      options->contest.objective.kind != RA_OBJECTIVE_GPUS)
    return;
  for (uint32_t n = 1; n < width; n *= 2)
    if (width % n == 0)
      g_array_append_val(sizes, n);
}

/* (element-type uint32_t): ascending. */
static GArray *
list_nodes(const RaSizingOptions *options, uint32_t n_cluster, GError **error)
{
  g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t));

  for (guint i = 0; i < options->n_nodes; i++) {
    if (options->nodes[i] > n_cluster) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "--nodes: the cluster has %" PRIu32 ", fewer than %" PRIu32,
                  n_cluster, options->nodes[i]);
      return NULL;
    }
    g_array_append_val(nodes, options->nodes[i]);
  }
  for (uint32_t n = 1; options->n_nodes == 0 && n < n_cluster &&
                       !ra_objective_is_time(&options->contest.objective);
       n *= 2) {
    uint32_t between = n + n / 2;

    g_array_append_val(nodes, n);
    if (n > 1 && between < n_cluster)
      g_array_append_val(nodes, between);
  }
  if (options->n_nodes == 0)
    g_array_append_val(nodes, n_cluster);
  return g_steal_pointer(&nodes);
}

/* (element-type uint32_t): in GPUs, ascending. */
static GArray *
list_sizes(const RaSizingOptions *options, const RaCluster *cluster,
           GError **error)
{
  g_autoptr(GArray) nodes = list_nodes(options, cluster->n_nodes, error);
  g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(uint32_t));

  if (!nodes)
    return NULL;
  list_slices(options, cluster->gpus_per_node, sizes);
  for (guint i = 0; i < nodes->len; i++) {
    uint32_t n = g_array_index(nodes, uint32_t, i) * cluster->gpus_per_node;

    g_array_append_val(sizes, n);
  }
  return g_steal_pointer(&sizes);
}

/* TRUE if the rest need not be tried. */
static gboolean
is_enough(const RaSizing *sizing, const RaContestOptions *options)
{
  const RaSize *last = at(sizing, sizing->sizes->len - 1);

  if (options->stop && g_atomic_int_get(options->stop))
    return TRUE;
  return options->objective.kind == RA_OBJECTIVE_GPUS && last->contest &&
         last->contest->winner != RA_NONE;
}

static gboolean
try_size(RaSizing *sizing, const RaSetupFlags *flags, uint32_t n_gpus,
         uint32_t width, const RaContestOptions *options, gboolean is_only,
         GError **error)
{
  uint32_t n_nodes = MAX(n_gpus / width, 1u);
  g_autoptr(GPtrArray) sets = list_sets(flags, n_nodes);
  RaSetupFlags cut = *flags;
  RaContestOptions own = *options;
  RaSize size = {.n_nodes = n_nodes, .n_gpus = n_gpus};
  GError *cause = NULL;

  own.n_gpus = n_gpus < width ? n_gpus : 0;

  if (n_nodes != sizing->n_cluster)
    cut.sets = (const char *const *)sets->pdata;
  size.setup = ra_setup_load_pair(&cut, error);
  if (!size.setup)
    return FALSE;
  size.contest = ra_contest_new(size.setup, &own, &cause);
  if (!size.contest &&
      (is_only || !g_error_matches(cause, RA_ERROR, RA_ERROR_NEGATIVE))) {
    ra_setup_free(size.setup);
    g_propagate_error(error, cause);
    return FALSE;
  }
  if (cause)
    size.refusal = g_strdup(cause->message);
  g_clear_error(&cause);
  g_array_append_val(sizing->sizes, size);
  return TRUE;
}

/* Where every size was refused, why the largest was. */
static gboolean
has_contest(const RaSizing *sizing, GError **error)
{
  for (guint i = 0; i < sizing->sizes->len; i++)
    if (at(sizing, i)->contest)
      return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE, "%s",
              at(sizing, sizing->sizes->len - 1)->refusal);
  return FALSE;
}

static void
choose(RaSizing *sizing, const RaObjective *objective)
{
  sizing->winner = RA_NONE;
  for (guint i = 0; i < sizing->sizes->len; i++) {
    const RaSize *size = at(sizing, i);

    if (size->contest && size->contest->winner != RA_NONE &&
        (sizing->winner == RA_NONE ||
         ra_objective_better(objective, worth_of(size),
                             worth_of(at(sizing, sizing->winner)))))
      sizing->winner = i;
  }
}

static void
name_files(RaSizing *sizing, const RaSetup *setup, const char *output)
{
  sizing->workload =
      ra_setup_name_in_plan("workloads", setup->workload_path, output);
  sizing->cluster =
      ra_setup_name_in_plan("clusters", setup->cluster_path, output);
  if (setup->system_path)
    sizing->system =
        ra_setup_name_in_plan("systems", setup->system_path, output);
}

/* All of @sizes, until it is enough. */
static gboolean
try_sizes(RaSizing *sizing, const RaSetupFlags *flags,
          const RaSizingOptions *options, const GArray *sizes, uint32_t width,
          GError **error)
{
  RaContestOptions contest = options->contest;

  contest.workload = sizing->workload;
  contest.cluster = sizing->cluster;
  contest.system = sizing->system;
  contest.time_limit_s /= sizes->len;
  contest.prove_s /= sizes->len;
  for (guint i = 0; i < sizes->len; i++) {
    if (!try_size(sizing, flags, g_array_index(sizes, uint32_t, i), width,
                  &contest, sizes->len == 1, error))
      return FALSE;
    if (is_enough(sizing, &contest))
      break;
  }
  return TRUE;
}

RaSizing *
ra_sizing_new(const RaSetupFlags *flags, const RaSizingOptions *options,
              GError **error)
{
  const RaObjective *objective = &options->contest.objective;
  g_autoptr(RaSizing) sizing = g_new0(RaSizing, 1);
  g_autoptr(RaSetup) whole = ra_setup_load_pair(flags, error);
  g_autoptr(GArray) sizes = NULL;

  sizing->sizes = g_array_new(FALSE, FALSE, sizeof(RaSize));
  g_array_set_clear_func(sizing->sizes, size_clear);
  if (!whole)
    return NULL;
  name_files(sizing, whole, options->output);
  sizing->n_cluster = whole->cluster->n_nodes;
  if (!ra_objective_check(objective, whole->cluster->usd_per_gpu_h,
                          sizing->cluster, error))
    return NULL;
  sizes = list_sizes(options, whole->cluster, error);
  if (!sizes ||
      !try_sizes(sizing, flags, options, sizes, whole->cluster->gpus_per_node,
                 error) ||
      !has_contest(sizing, error))
    return NULL;
  choose(sizing, objective);
  return g_steal_pointer(&sizing);
}

void
ra_sizing_free(RaSizing *sizing)
{
  if (!sizing)
    return;
  g_array_unref(sizing->sizes);
  g_free(sizing->workload);
  g_free(sizing->cluster);
  g_free(sizing->system);
  g_free(sizing);
}

RaTable *
ra_sizing_table(const RaSizing *sizing)
{
  RaTable *table = ra_table_new("sizes");

  ra_table_column(table, "nodes", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "of_gpus", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "plan", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "gpus", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "iteration_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "bound_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "tokens_per_s_per_gpu", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "usd", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "note", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < sizing->sizes->len; i++) {
    const RaSize *size = at(sizing, i);
    const RaContest *contest = size->contest;
    gboolean has_plan = contest && contest->winner != RA_NONE;

    ra_table_row(table);
    ra_table_integer(table, size->n_nodes);
    ra_table_integer(table, size->n_gpus);
    if (has_plan) {
      const RaWorth *worth = worth_of(size);

      ra_table_text(table, g_array_index(contest->contenders, RaContender,
                                         contest->winner)
                               .name);
      ra_table_integer(table, worth->n_gpus);
      ra_table_real(table, worth->iteration_s);
      ra_table_real(table,
                    contest->searched ? contest->round.bound_s : (double)NAN);
      ra_table_real(table, worth->tokens_per_s / worth->n_gpus);
      ra_table_real(table, worth->usd);
      ra_table_text(table, i == sizing->winner ? "best" : "");
      continue;
    }
    for (guint k = 0; k < 6; k++)
      ra_table_missing(table);
    ra_table_text(table,
                  size->refusal ? size->refusal : "no plan meets the limits");
  }
  return table;
}
