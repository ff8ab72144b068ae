/* reallot calibrate --backend=cuda --communicator=nccl: links between GPUs and
 * between nodes, measured by what NCCL does over them. */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/calibrate_base.h"
#include "cli/calibrate_collectives.h"
#include "cli/calibrate_samples.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/world.h"
#include "estimator/calibrate/calibrate.h"
#include "exec/measure/collective_probe.h"
#include "graph/input/cluster.h"
#include "traces/measured_overlap.h"

/* Sizes that --quick measures: enough for a law's two parameters, latency and
 * bandwidth, but not for effects of long messages alone. */
#define QUICK_BYTES (UINT64_C(16) << 20)
#define QUICK_REPEATS 10

/* Files that all processes load. */
typedef struct {
  RaCalibrateBase base;
  RaCluster *cluster; /* owned; NULL: none was given */
  uint64_t n_ranks;   /* 0: all that there are */
  uint64_t most_bytes;
} Input;

static void
input_clear(Input *in)
{
  ra_calibrate_base_clear(&in->base);
  ra_cluster_free(in->cluster);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Input, input_clear)

static gboolean
read_largest(const char *text, uint64_t *out_bytes, GError **error)
{
  double bytes = 0;

  if (text && !ra_quantity_parse(text, RA_UNIT_BYTES, &bytes, error)) {
    g_prefix_error(error, "--largest: ");
    return FALSE;
  }
  if (!text)
    return TRUE;
  if (bytes < (double)RA_COLLECTIVE_LEAST_BYTES ||
      bytes > (double)RA_COLLECTIVE_MOST_BYTES) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--largest: '%s' is out of range, expected 8 B to 1 GiB", text);
    return FALSE;
  }
  *out_bytes = (uint64_t)bytes;
  return TRUE;
}

static gboolean
load_cluster(const char *name, RaCluster **out, GError **error)
{
  g_autofree char *path = ra_share_find("clusters", name, NULL, error);
  g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, error) : NULL;

  *out = file ? ra_cluster_load(file, error) : NULL;
  return *out != NULL;
}

static gboolean
load(const RaCalibrateCollectives *what, Input *in, GError **error)
{
  in->most_bytes = what->quick ? QUICK_BYTES : RA_COLLECTIVE_MOST_BYTES;
  return ra_option_uint64("--ranks", what->ranks, 2, RA_RANKS_MAX, &in->n_ranks,
                          error) &&
         read_largest(what->largest, &in->most_bytes, error) &&
         ra_option_file("--cluster", what->cluster, error) &&
         (!what->cluster || load_cluster(what->cluster, &in->cluster, error)) &&
         ra_calibrate_base_load(what->gpu, what->refit, what->device, &in->base,
                                error);
}

static uint64_t
hash_cluster(const RaCluster *c)
{
  uint64_t hash = RA_HASH_INIT;

  if (!c)
    return hash;
  hash = ra_hash_u64(hash, c->n_nodes);
  hash = ra_hash_u64(hash, c->gpus_per_node);
  hash = ra_hash_u64(hash, c->nics_per_node);
  hash = ra_hash_bytes(hash, &c->nic_bytes_per_s, sizeof c->nic_bytes_per_s);
  return ra_hash_bytes(hash, &c->nic_latency_s, sizeof c->nic_latency_s);
}

/* Whose NICs it has must be what was found. */
static gboolean
check_cluster(const RaCluster *c, const RaCollectiveProbe *probe,
              GError **error)
{
  if (!c || (c->gpus_per_node == probe->gpus_per_node &&
             c->n_nodes >= probe->n_nodes))
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "--cluster: it has %u nodes of %u GPUs, but the processes run on "
              "%u of %u, expected equal nodes and no more of them",
              c->n_nodes, c->gpus_per_node, probe->n_nodes,
              probe->gpus_per_node);
  return FALSE;
}

static void
fail(const char *line, gpointer data)
{
  ra_cli_world_fail(line, 0);
}

/* The processes meet: what is to be measured, on which nodes. */
static gboolean
meet(const RaCalibrateCollectives *what, const Input *in,
     RaCollectiveProbe *probe, GError **error)
{
  RaWorld *world = ra_cli_world_current();

  if (!what->device->nccl) {
    g_set_error_literal(error, RA_ERROR, RA_ERROR_NO_DEVICE,
                        "--communicator: no NCCL library on this machine");
    return FALSE;
  }
  ra_collective_probe_init(probe, what->device->nccl, 0);
  probe->backend = what->device->backend;
  probe->most_bytes = in->most_bytes;
  if (what->quick)
    probe->n_repeats = QUICK_REPEATS;
  probe->fail = fail;
  return ra_world_agree(world, hash_cluster(in->cluster), "the cluster",
                        error) &&
         ra_collective_probe_meet(probe, world, (uint32_t)in->n_ranks,
                                  what->device->name, error) &&
         check_cluster(in->cluster, probe, error);
}

static void
set_number(RaTrace *trace, const char *key, double value)
{
  g_autofree char *text = g_strdup_printf("%.9g", value);

  ra_trace_set_head(trace, key, text);
}

/* Rows over nodes are held against its NICs. */
static void
set_cluster(RaTrace *trace, const RaCluster *c)
{
  set_number(trace, "nics-per-node", c->nics_per_node);
  set_number(trace, "nic-bytes-per-s", c->nic_bytes_per_s);
  set_number(trace, "nic-latency-s", c->nic_latency_s);
}

static void
say_measured(const RaCollectiveProbe *probe, const GArray *rows,
             const Input *in, const char *path, gint64 begin_us)
{
  fprintf(stderr,
          "reallot: %u shapes measured in %.0f s on %u node%s of %u GPUs",
          rows->len, 1e-6 * (double)(g_get_monotonic_time() - begin_us),
          probe->n_nodes, probe->n_nodes == 1 ? "" : "s", probe->gpus_per_node);
  fprintf(stderr, path ? ", in '%s'\n" : "\n", path);
  if (probe->n_nodes > 1 && !in->cluster)
    fprintf(stderr,
            "reallot: unknown NICs, assuming %d of %.0f Gbit/s per node: "
            "--cluster has them\n",
            RA_MEASURED_NODE, 8e-9 * RA_MEASURED_NIC_BYTES_PER_S);
}

/* As `calibrate --from FILE --refit BASE`, to the bit: times as the file has
 * them. */
static gboolean
fit(const RaCalibrateCollectives *what, const Input *in, const RaTrace *trace,
    const char *path, GError **error)
{
  gsize n_bytes;
  g_autofree char *text = ra_trace_format(trace, &n_bytes);
  g_autoptr(RaTrace) read = ra_trace_parse(path, text, n_bytes, error);
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autoptr(GArray) beside =
      g_array_new(FALSE, FALSE, sizeof(RaMeasuredOverlap));
  g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
  gboolean watched = isatty(STDERR_FILENO);
  g_autoptr(RaCalibration) calibration = NULL;

  if (!read || !ra_calibrate_trace(read, path, rows, beside, notes, error))
    return FALSE;
  calibration =
      ra_calibrate_rows(in->base.path, in->base.text, NULL, rows, beside, path,
                        watched ? ra_calibrate_show_law : NULL, error);
  if (watched)
    fprintf(stderr, "\r\033[K");
  if (!calibration)
    return FALSE;
  ra_calibrate_print_notes(notes);
  ra_calibrate_print_notes(calibration->notes);
  return ra_output_write(what->output, calibration->text->str,
                         calibration->text->len, error);
}

gboolean
ra_calibrate_collectives(const RaCalibrateCollectives *what, GError **error)
{
  gint64 begin_us = g_get_monotonic_time();
  g_autoptr(GArray) beside =
      g_array_new(FALSE, FALSE, sizeof(RaCollectiveBeside));
  g_autofree char *path = ra_collectives_path(what->output);
  g_autoptr(GArray) rows = NULL;
  g_autoptr(RaTrace) trace = NULL;
  g_auto(Input) in = {0};
  RaCollectiveProbe probe;

  if (!load(what, &in, error) || !meet(what, &in, &probe, error))
    return FALSE;
  rows = ra_collective_probe(&probe, beside, error);
  if (!rows || (probe.world && probe.world->process > 0))
    return rows != NULL;
  trace = ra_collective_trace(&probe, rows, beside);
  ra_trace_set_head(trace, "device", what->device->name);
  ra_trace_set_head(trace, "software", PACKAGE_STRING);
  ra_trace_set_head(trace, "libraries", what->device->software);
  if (in.cluster)
    set_cluster(trace, in.cluster);
  if (path && !ra_trace_save(trace, path, error))
    return FALSE;
  say_measured(&probe, rows, &in, path, begin_us);
  return fit(what, &in, trace, path ? path : "collectives", error);
}
