/* Inspection of clusters and GPU profiles. */
#include "config.h"

#include <math.h>

#include "study/report/inspect.h"
#include "traces/law.h"

/* A table of one row whose columns are named as they are filled. */
static void
add_columns(RaTable *table, const char *const *names, const RaUnit *units,
            guint n)
{
  for (guint i = 0; i < n; i++)
    ra_table_column(table, names[i], units[i], RA_CELL_REAL);
}

static char *
fabric_name(const RaFabric *fabric)
{
  static const char *const words[] = {[RA_FABRIC_FLAT] = "flat",
                                      [RA_FABRIC_RAIL] = "rail",
                                      [RA_FABRIC_FAT_TREE] = "fat-tree",
                                      [RA_FABRIC_GRAPH] = "graph"};

  if (fabric->kind == RA_FABRIC_FLAT || fabric->kind == RA_FABRIC_GRAPH)
    return g_strdup(words[fabric->kind]);
  return g_strdup_printf("%s(leaf=%u, oversubscription=%g)",
                         words[fabric->kind], fabric->n_leaf_nodes,
                         fabric->oversubscription);
}

static RaTable *
make_cluster(const RaCluster *cluster)
{
  RaTable *table = ra_table_new("cluster");
  g_autofree char *name = fabric_name(&cluster->fabric);
  g_autofree char *gpus = ra_cluster_gpu_names(cluster);
  g_autofree char *fabric =
      g_strconcat(name, cluster->sharp ? ", SHARP" : "", NULL);

  ra_table_column(table, "gpu", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "nodes", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "gpus", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "gpus_per_node", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "nics_per_node", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "fabric", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_row(table);
  ra_table_text(table, gpus);
  ra_table_integer(table, cluster->n_nodes);
  ra_table_integer(table, ra_cluster_n_gpus(cluster));
  ra_table_integer(table, cluster->gpus_per_node);
  ra_table_integer(table, cluster->nics_per_node);
  ra_table_text(table, fabric);
  return table;
}

static uint32_t
count_nodes(const RaCluster *cluster, uint32_t kind)
{
  uint32_t n = 0;

  for (uint32_t node = 0; node < cluster->n_nodes; node++)
    n += cluster->kind_of_node[node] == kind;
  return n;
}

/* Kinds of nodes, where they are not all alike: data sheet of one GPU, and
 * cards of a node. */
static RaTable *
make_kinds(const RaCluster *cluster)
{
  static const char *const names[] = {"nic_bytes_per_s", "bf16_flop_per_s",
                                      "memory_bytes", "hbm_bytes_per_s",
                                      "usd_per_gpu_h"};
  static const RaUnit units[] = {RA_UNIT_BYTES_PER_S, RA_UNIT_FLOP_PER_S,
                                 RA_UNIT_BYTES, RA_UNIT_BYTES_PER_S,
                                 RA_UNIT_NONE};
  RaTable *table = ra_table_new("kinds");

  ra_table_column(table, "kind", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "gpu", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "nodes", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "nics_per_node", RA_UNIT_NONE, RA_CELL_INTEGER);
  add_columns(table, names, units, G_N_ELEMENTS(names));
  for (uint32_t k = 0; k < cluster->n_kinds; k++) {
    const RaMachineKind *kind = &cluster->kinds[k];

    ra_table_row(table);
    ra_table_text(table, kind->name);
    ra_table_text(table, kind->gpu);
    ra_table_integer(table, count_nodes(cluster, k));
    ra_table_integer(table, kind->nics_per_node);
    ra_table_real(table, kind->nic_bytes_per_s);
    ra_table_real(table, kind->device.bf16_flop_per_s);
    ra_table_real(table, kind->device.memory_bytes);
    ra_table_real(table, kind->device.memory_bytes_per_s);
    ra_table_real(table, kind->usd_per_gpu_h);
  }
  return table;
}

/* The device's data sheet: of one GPU, of a node, of the cluster. */
static RaTable *
make_capacity(const RaCluster *cluster)
{
  static const char *const names[] = {"bf16_flop_per_s", "memory_bytes",
                                      "hbm_bytes_per_s", "intra_bytes_per_s",
                                      "nic_bytes_per_s", "usd_per_h"};
  static const RaUnit units[] = {RA_UNIT_FLOP_PER_S,  RA_UNIT_BYTES,
                                 RA_UNIT_BYTES_PER_S, RA_UNIT_BYTES_PER_S,
                                 RA_UNIT_BYTES_PER_S, RA_UNIT_NONE};
  const RaDevice *device = &cluster->device;
  const struct {
    const char *of;
    double n; /* GPUs */
  } rows[] = {{"gpu", 1},
              {"node", cluster->gpus_per_node},
              {"cluster", ra_cluster_n_gpus(cluster)}};
  RaTable *table = ra_table_new("capacity");

  ra_table_column(table, "of", RA_UNIT_NONE, RA_CELL_TEXT);
  add_columns(table, names, units, G_N_ELEMENTS(names));
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    double n = rows[i].n;

    ra_table_row(table);
    ra_table_text(table, rows[i].of);
    ra_table_real(table, n * device->bf16_flop_per_s);
    ra_table_real(table, n * device->memory_bytes);
    ra_table_real(table, n * device->memory_bytes_per_s);
    ra_table_real(table, n * device->intra_bytes_per_s);
    if (cluster->nics_per_node > 0)
      ra_table_real(table, n * ra_cluster_nic_share_bytes_per_s(cluster));
    else
      ra_table_missing(table);
    ra_table_real(table, n * cluster->usd_per_gpu_h);
  }
  return table;
}

GPtrArray *
ra_inspect_cluster(const RaCluster *cluster)
{
  GPtrArray *tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  g_ptr_array_add(tables, make_cluster(cluster));
  g_ptr_array_add(tables, cluster->kinds ? make_kinds(cluster)
                                         : make_capacity(cluster));
  return tables;
}

static RaTable *
make_device(const RaProfile *profile)
{
  static const char *const names[] = {"memory_bytes",      "hbm_bytes_per_s",
                                      "bf16_flop_per_s",   "fp8_flop_per_s",
                                      "intra_bytes_per_s", "host_bytes_per_s"};
  static const RaUnit units[] = {RA_UNIT_BYTES,       RA_UNIT_BYTES_PER_S,
                                 RA_UNIT_FLOP_PER_S,  RA_UNIT_FLOP_PER_S,
                                 RA_UNIT_BYTES_PER_S, RA_UNIT_BYTES_PER_S};
  const RaDevice *spec = &profile->spec;
  RaTable *table = ra_table_new("device");

  ra_table_column(table, "device", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "base", RA_UNIT_NONE, RA_CELL_TEXT);
  add_columns(table, names, units, G_N_ELEMENTS(names));
  ra_table_row(table);
  ra_table_text(table, profile->device);
  if (profile->base)
    ra_table_text(table, profile->base);
  else
    ra_table_missing(table);
  ra_table_real(table, spec->memory_bytes);
  ra_table_real(table, spec->memory_bytes_per_s);
  ra_table_real(table, spec->bf16_flop_per_s);
  if (spec->fp8_flop_per_s > 0)
    ra_table_real(table, spec->fp8_flop_per_s);
  else
    ra_table_missing(table);
  ra_table_real(table, spec->intra_bytes_per_s);
  ra_table_real(table, spec->host_bytes_per_s);
  return table;
}

static RaTable *
make_pace(const RaProfile *profile)
{
  RaTable *table = ra_table_new("pace");

  ra_table_column(table, "wall_per_cpu", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "error_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "draws", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "source", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_row(table);
  ra_table_real(table, profile->pace.wall_per_cpu);
  ra_table_real(table, profile->pace.error_frac);
  ra_table_integer(table, profile->pace.n_draws);
  ra_table_text(table, profile->pace.source);
  return table;
}

static RaTable *
make_laws(const RaProfile *profile)
{
  RaTable *table = ra_table_new("laws");

  ra_table_column(table, "law", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "of", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "rows", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "error_median_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "error_p90_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "source", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < profile->n_laws; i++) {
    const RaLaw *law = &profile->laws[i];

    ra_table_row(table);
    ra_table_text(table, law->name);
    ra_table_text(table, law->transferred ? law->transferred : profile->device);
    ra_table_integer(table, law->n_rows);
    ra_table_real(table, law->error_median_frac);
    ra_table_real(table, law->error_p90_frac);
    ra_table_text(table, law->source);
  }
  return table;
}

static RaTable *
make_coefficients(const RaProfile *profile)
{
  RaTable *table = ra_table_new("coefficients");

  ra_table_column(table, "law", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "coefficient", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "value", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "meaning", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < profile->n_laws; i++) {
    const RaLaw *law = &profile->laws[i];
    const RaLawSpec *spec = ra_law_spec(law->name);

    for (guint j = 0; j < law->n_coefficients; j++) {
      const RaCoefficient *at = &law->coefficients[j];
      const RaCoefficientSpec *known =
          spec ? ra_law_coefficient_spec(spec, at->name) : NULL;

      ra_table_row(table);
      ra_table_text(table, law->name);
      ra_table_text(table, at->name);
      ra_table_real(table, at->value);
      ra_table_text(table, known ? known->doc : "-");
    }
  }
  return table;
}

GPtrArray *
ra_inspect_profile(const RaProfile *profile)
{
  GPtrArray *tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  g_ptr_array_add(tables, make_device(profile));
  if (profile->pace.n_draws > 0)
    g_ptr_array_add(tables, make_pace(profile));
  g_ptr_array_add(tables, make_laws(profile));
  g_ptr_array_add(tables, make_coefficients(profile));
  return tables;
}
