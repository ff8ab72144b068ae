/* Reader of cluster files, and quantities derived from a cluster. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/cluster_impl.h"
#include "graph/input/form.h"

#define MAX_LEAF_NODES 1000000
#define MAX_OVERSUBSCRIPTION 1000.0
#define MAX_SPINES 4096

/* A `[cluster]` group as it is written. */
typedef struct {
  uint32_t nodes;
  uint32_t gpus_per_node;
  const char *gpu;
  uint32_t nics_per_node;
  double nic_bytes_per_s;
  const char *fabric;
  double usd_per_gpu_h;
  double framework_bytes;
  double slack_frac;
  double jitter_frac;
  double step_jitter_frac;
  double straggler_frac;
  double straggler_slowdown;
  gboolean sharp;
  double nic_latency_s;
  uint32_t gpus_per_host_link;
  double host_memory_bytes;
} ClusterKeys;

/* clang-format off */
static const RaKeySpec cluster_keys[] = {
  {"nodes", RA_KEY_UINT32, G_STRUCT_OFFSET(ClusterKeys, nodes),
   .required = TRUE, .min = 1, .max = 1e6, .doc = "number of nodes"},
  {"gpus-per-node", RA_KEY_UINT32, G_STRUCT_OFFSET(ClusterKeys, gpus_per_node),
   .required = TRUE, .min = 1, .max = 1024, .doc = "GPUs per node"},
  {"gpu", RA_KEY_STRING, G_STRUCT_OFFSET(ClusterKeys, gpu),
   .required = TRUE, .doc = "GPU profile, such as h100-sxm"},
  {"nics-per-node", RA_KEY_UINT32, G_STRUCT_OFFSET(ClusterKeys, nics_per_node),
   .fallback = "0", .min = 0, .max = 1024,
   .doc = "NICs of one node; 0 only for a single node"},
  {"nic", RA_KEY_QUANTITY, G_STRUCT_OFFSET(ClusterKeys, nic_bytes_per_s),
   .unit = RA_UNIT_BYTES_PER_S, .min = 1, .max = 1e15,
   .doc = "rate of one NIC, one direction, such as 400 Gbit/s"},
  {"fabric", RA_KEY_STRING, G_STRUCT_OFFSET(ClusterKeys, fabric),
   .fallback = "flat",
   .doc = "flat, rail(leaf=nodes, oversubscription=ratio), fat-tree(...) or "
          "graph"},
  {"price", RA_KEY_QUANTITY, G_STRUCT_OFFSET(ClusterKeys, usd_per_gpu_h),
   .unit = RA_UNIT_USD_PER_GPU_H, .min = 0, .max = 1e6,
   .doc = "price of one GPU, such as 2.5 USD/gpu/h; left out: no costs are "
          "shown"},
  /* A convention in round numbers, not a fit (bench/memory prints how it does):
   * a CUDA context with its kernels is about 0.5 GiB, the rest are buffers of
   * five or six NCCL communicators and staging buckets of the framework;
   * fragments of a caching allocator are 10 % and more of what it holds
   * (ZeRO, arXiv 1910.02054, section 3.2; GMLake, arXiv 2401.08156). */
  {"framework-memory", RA_KEY_QUANTITY,
   G_STRUCT_OFFSET(ClusterKeys, framework_bytes), .fallback = "4 GiB",
   .unit = RA_UNIT_BYTES, .min = 0, .max = 1e15,
   .doc = "memory of every GPU for context, kernels, workspaces, "
          "communication buffers"},
  {"allocator-slack", RA_KEY_DOUBLE, G_STRUCT_OFFSET(ClusterKeys, slack_frac),
   .fallback = "0.1", .min = 0, .max = 10,
   .doc = "memory that the allocator holds unused, as a fraction of the used"},
  /* sim/op_replay.h: below 1 / sqrt(12) no op takes less than no time */
  {"jitter", RA_KEY_DOUBLE, G_STRUCT_OFFSET(ClusterKeys, jitter_frac),
   .fallback = "0", .min = 0, .max = 0.25,
   .doc = "standard deviation of an op's time on one GPU, as a fraction"},
  {"step-jitter", RA_KEY_DOUBLE, G_STRUCT_OFFSET(ClusterKeys, step_jitter_frac),
   .fallback = "0", .min = 0, .max = 0.25,
   .doc = "standard deviation of a factor that all GPUs share per iteration"},
  {"stragglers", RA_KEY_DOUBLE, G_STRUCT_OFFSET(ClusterKeys, straggler_frac),
   .fallback = "0", .min = 0, .max = 1,
   .doc = "share of the GPUs, sampled by seed, that compute slower"},
  {"straggler-slowdown", RA_KEY_DOUBLE,
   G_STRUCT_OFFSET(ClusterKeys, straggler_slowdown), .fallback = "1.2",
   .min = 1, .max = 1000, .doc = "factor on the time of stragglers"},
  {"sharp", RA_KEY_BOOL, G_STRUCT_OFFSET(ClusterKeys, sharp),
   .fallback = "false",
   .doc = "true if the network's switches reduce (SHARP)"},
  /* NCCL adds what a network's plug-in says of itself to each step between
   * nodes (src/graph/tuning.cc, latencyInter); InfiniBand's says 0. */
  {"nic-latency", RA_KEY_QUANTITY, G_STRUCT_OFFSET(ClusterKeys, nic_latency_s),
   .fallback = "0 s", .unit = RA_UNIT_SECONDS, .min = 0, .max = 1,
   .doc = "additional latency between nodes over InfiniBand's, such as 60 us"},
  {"gpus-per-host-link", RA_KEY_UINT32,
   G_STRUCT_OFFSET(ClusterKeys, gpus_per_host_link), .fallback = "1",
   .min = 1, .max = 1024,
   .doc = "GPUs of a node that share one host link, behind a switch"},
  {"host-memory", RA_KEY_QUANTITY,
   G_STRUCT_OFFSET(ClusterKeys, host_memory_bytes), .fallback = "0 B",
   .unit = RA_UNIT_BYTES, .min = 0, .max = 1e17,
   .doc = "memory of the host, or hosts, of one node; 0 B: not known"},
};
/* clang-format on */

const RaKeySpec *
ra_cluster_key_specs(const char *noun, gsize *out_n)
{
  g_return_val_if_fail(noun != NULL && out_n != NULL, NULL);

  if (g_str_equal(noun, "link"))
    return ra_cluster_link_key_specs(out_n);
  if (g_str_equal(noun, "kind"))
    return ra_cluster_kind_key_specs(out_n);
  *out_n = g_str_equal(noun, "cluster") ? G_N_ELEMENTS(cluster_keys) : 0;
  return *out_n > 0 ? cluster_keys : NULL;
}

static const char *const fabric_words[] = {"flat", "rail", "fat-tree", "graph",
                                           NULL};
static const char *const fabric_args[] = {"leaf", "oversubscription", "spines",
                                          NULL};

/* One `name=value` of a fabric; a field of @fabric that is 0 was not given. */
static gboolean
read_fabric_arg(char *arg, RaFabric *fabric, GError **error)
{
  char *value = strchr(arg, '=');
  g_autofree char *hint = NULL;

  if (value) {
    *value++ = '\0';
    g_strchomp(arg);
    g_strchug(value);
  }
  if (value && g_str_equal(arg, "leaf") && fabric->n_leaf_nodes == 0)
    return ra_form_uint32(value, arg, 1, MAX_LEAF_NODES, &fabric->n_leaf_nodes,
                          error);
  if (value && g_str_equal(arg, "oversubscription") &&
      !(fabric->oversubscription > 0))
    return ra_form_double(value, arg, 1, MAX_OVERSUBSCRIPTION,
                          &fabric->oversubscription, error);
  if (value && g_str_equal(arg, "spines") && fabric->n_spines == 0)
    return ra_form_uint32(value, arg, 1, MAX_SPINES, &fabric->n_spines, error);
  if (value && g_strv_contains(fabric_args, arg)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' occurs twice, expected once", arg);
    return FALSE;
  }
  hint = ra_form_hint(arg, fabric_args);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "unknown argument '%s', expected leaf=nodes, "
              "oversubscription=ratio or spines=switches%s",
              arg, hint);
  return FALSE;
}

static gboolean
parse_fabric(const char *text, RaFabric *out_fabric, GError **error)
{
  g_auto(RaForm) form = {0};
  RaFabric fabric = {0};
  guint kind = 0;

  if (!ra_form_parse(text, &form, error))
    return FALSE;
  while (fabric_words[kind] && !g_str_equal(fabric_words[kind], form.word))
    kind++;
  if (!fabric_words[kind]) {
    g_autofree char *hint = ra_form_hint(form.word, fabric_words);
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "unknown fabric '%s', expected flat, rail(leaf=nodes, "
                "oversubscription=ratio), fat-tree(...) or graph%s",
                form.word, hint);
    return FALSE;
  }
  if ((kind == RA_FABRIC_FLAT || kind == RA_FABRIC_GRAPH) && form.n_args > 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' has %u arguments, expected none", form.word, form.n_args);
    return FALSE;
  }
  for (guint i = 0; i < form.n_args; i++) {
    if (!read_fabric_arg(form.args[i], &fabric, error))
      return FALSE;
  }
  if (!(fabric.oversubscription > 0))
    fabric.oversubscription = 1;
  fabric.kind = (int)kind;
  *out_fabric = fabric;
  return TRUE;
}

/* Checks that involve several keys. */
static gboolean
check_nics(RaKeyFile *file, guint group, const ClusterKeys *keys,
           GError **error)
{
  gboolean has_rate = ra_key_file_get(file, group, "nic") != NULL;

  if (keys->nics_per_node == 0 && keys->nodes > 1)
    return ra_key_file_fail(file, group, "nics-per-node", error,
                            "'nics-per-node' is 0 with 'nodes' %u, expected "
                            "at least 1 as nodes must reach each other",
                            keys->nodes);
  if (keys->nics_per_node > 0 && !has_rate)
    return ra_key_file_fail(file, group, "nics-per-node", error,
                            "'nics-per-node' is %u but 'nic' is missing, "
                            "expected the rate of one, such as 400 Gbit/s",
                            keys->nics_per_node);
  if (keys->nics_per_node == 0 && has_rate)
    return ra_key_file_fail(file, group, "nic", error,
                            "'nic' without 'nics-per-node', expected how "
                            "many of them a node has");
  return TRUE;
}

/* Slices of nodes then have whole links, or are behind one. */
static gboolean
check_host_links(RaKeyFile *file, guint group, const ClusterKeys *keys,
                 GError **error)
{
  uint32_t n = keys->gpus_per_host_link;

  if ((n & (n - 1)) == 0 && keys->gpus_per_node % n == 0)
    return TRUE;
  return ra_key_file_fail(file, group, "gpus-per-host-link", error,
                          "'gpus-per-host-link' is %u, expected a power of "
                          "two that divides %u, the GPUs of a node",
                          n, keys->gpus_per_node);
}

RaCluster *
ra_cluster_load(RaKeyFile *file, GError **error)
{
  static const char *const nouns[] = {"cluster!", "link *", "kind *", NULL};
  ClusterKeys keys = {.usd_per_gpu_h = (double)NAN};
  RaFabric fabric;
  GError *cause = NULL;
  RaCluster *cluster;
  guint group;

  g_return_val_if_fail(file != NULL, NULL);
  if (!ra_key_file_check_nouns(file, nouns, error))
    return NULL;
  group = (guint)ra_key_file_find_group(file, "cluster", "");
  if (!ra_key_file_read_group(file, group, cluster_keys,
                              G_N_ELEMENTS(cluster_keys), &keys, error) ||
      !check_nics(file, group, &keys, error) ||
      !check_host_links(file, group, &keys, error))
    return NULL;
  if (!parse_fabric(keys.fabric, &fabric, &cause)) {
    ra_key_file_fail(file, group, "fabric", error, "'fabric': %s",
                     cause->message);
    g_error_free(cause);
    return NULL;
  }
  cluster = g_new0(RaCluster, 1);
  cluster->file = ra_key_file_ref(file);
  cluster->n_nodes = keys.nodes;
  cluster->gpus_per_node = keys.gpus_per_node;
  cluster->nics_per_node = keys.nics_per_node;
  cluster->gpu = keys.gpu;
  cluster->nic_bytes_per_s = keys.nic_bytes_per_s;
  cluster->fabric = fabric;
  cluster->usd_per_gpu_h = keys.usd_per_gpu_h;
  cluster->framework_bytes = keys.framework_bytes;
  cluster->slack_frac = keys.slack_frac;
  cluster->jitter_frac = keys.jitter_frac;
  cluster->step_jitter_frac = keys.step_jitter_frac;
  cluster->straggler_frac = keys.straggler_frac;
  cluster->straggler_slowdown = keys.straggler_slowdown;
  cluster->sharp = keys.sharp;
  cluster->nic_latency_s = keys.nic_latency_s;
  cluster->gpus_per_host_link = keys.gpus_per_host_link;
  cluster->host_memory_bytes = keys.host_memory_bytes;
  if (ra_cluster_read_kinds(cluster, error) &&
      ra_cluster_read_links(cluster, error))
    return cluster;
  ra_cluster_free(cluster);
  return NULL;
}

void
ra_cluster_free(RaCluster *cluster)
{
  if (!cluster)
    return;
  ra_key_file_unref(cluster->file);
  g_free(cluster->links);
  g_free(cluster->kinds);
  g_free(cluster->kind_of_node);
  ra_link_graph_free(cluster->graph);
  g_free(cluster);
}

uint32_t
ra_cluster_n_gpus(const RaCluster *cluster)
{
  g_return_val_if_fail(cluster != NULL, 0);
  return cluster->n_nodes * cluster->gpus_per_node;
}

double
ra_cluster_nic_share_bytes_per_s(const RaCluster *cluster)
{
  g_return_val_if_fail(cluster != NULL, 0);
  return cluster->nics_per_node * cluster->nic_bytes_per_s /
         cluster->gpus_per_node;
}
