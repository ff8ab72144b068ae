/* Clusters and meshes: reading, arithmetic, sets of GPUs, bad input. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/text.h"
#include "graph/input/cluster.h"
#include "tests/support/check_corpus.h"
#include "tests/support/check_edit.h"
#include "tests/support/check_main.h"

static const char good[] = "[cluster]\n"              /* 1 */
                           "format = 1\n"             /* 2 */
                           "nodes = 16\n"             /* 3 */
                           "gpus-per-node = 8\n"      /* 4 */
                           "gpu = h100-sxm\n"         /* 5 */
                           "nics-per-node = 4\n"      /* 6 */
                           "nic = 400 Gbit/s\n"       /* 7 */
                           "fabric = rail(leaf=32, "  /* 8 */
                           "oversubscription=1.5)\n"  /* */
                           "price = 2.5 USD/gpu/h\n"; /* 9 */

static RaCluster *
cluster_from(const char *text, GError **error)
{
  RaKeyFile *file = ra_key_file_parse("x.cluster", text, strlen(text), error);
  RaCluster *cluster;

  if (!file)
    return NULL;
  cluster = ra_cluster_load(file, error);
  ra_key_file_unref(file);
  return cluster;
}

static gboolean
load(const char *text, GError **error)
{
  RaCluster *cluster = cluster_from(text, error);
  gboolean good_text = cluster != NULL;

  ra_cluster_free(cluster);
  return good_text;
}

START_TEST(test_good)
{
  RaCluster *cluster = cluster_from(good, NULL);
  g_autofree char *text =
      g_strconcat(good,
                  "nic-latency = 60 us\ngpus-per-host-link = 4\n"
                  "host-memory = 2 TiB\n",
                  NULL);
  RaCluster *slow = cluster_from(text, NULL);

  ck_assert_ptr_nonnull(cluster);
  ck_assert_uint_eq(cluster->n_nodes, 16);
  ck_assert_str_eq(cluster->gpu, "h100-sxm");
  /* 16 nodes of 8. */
  ck_assert_uint_eq(ra_cluster_n_gpus(cluster), 128);
  /* 400 Gbit/s are 50e9 bytes/s; four of them shared by 8 GPUs: 25e9. */
  ck_assert_double_eq(cluster->nic_bytes_per_s, 50e9);
  ck_assert_double_eq(ra_cluster_nic_share_bytes_per_s(cluster), 25e9);
  /* InfiniBand's, unless it is given. */
  ck_assert_double_eq(cluster->nic_latency_s, 0);
  ck_assert_double_eq(cluster->host_memory_bytes, 0);
  /* A link to the host each, likewise. */
  ck_assert_uint_eq(cluster->gpus_per_host_link, 1);
  ck_assert_ptr_nonnull(slow);
  ck_assert_double_eq_tol(slow->nic_latency_s, 60e-6, 1e-18);
  ck_assert_double_eq(slow->host_memory_bytes, 0x1p41);
  ck_assert_uint_eq(slow->gpus_per_host_link, 4);
  ra_cluster_free(slow);
  ck_assert_int_eq(cluster->fabric.kind, RA_FABRIC_RAIL);
  ck_assert_uint_eq(cluster->fabric.n_leaf_nodes, 32);
  ck_assert_double_eq(cluster->fabric.oversubscription, 1.5);
  ck_assert_double_eq(cluster->usd_per_gpu_h, 2.5);
  ra_cluster_free(cluster);
}
END_TEST

START_TEST(test_defaults)
{
  RaCluster *cluster = cluster_from("[cluster]\nnodes = 1\n"
                                    "gpus-per-node = 4\ngpu = a100-sxm\n",
                                    NULL);

  ck_assert_ptr_nonnull(cluster);
  ck_assert_uint_eq(cluster->nics_per_node, 0);
  ck_assert_double_eq(ra_cluster_nic_share_bytes_per_s(cluster), 0);
  ck_assert_int_eq(cluster->fabric.kind, RA_FABRIC_FLAT);
  ck_assert_uint_eq(cluster->fabric.n_leaf_nodes, 0);
  ck_assert_double_eq(cluster->fabric.oversubscription, 1);
  ck_assert(isnan(cluster->usd_per_gpu_h));
  ra_cluster_free(cluster);
}
END_TEST

/* Links with rates of their own: 200 Gbit/s are 25e9 bytes/s.  16 nodes below
 * leaves of 32 are one leaf, with a rail a card. */
START_TEST(test_links)
{
  g_autofree char *text = g_strconcat(good,
                                      "[link node3/nic2]\nrate = 200 Gbit/s\n"
                                      "[link node15/gpu7]\nrate = 0 B/s\n"
                                      "[link leaf0/rail3]\nrate = 1 GB/s\n",
                                      NULL);
  RaCluster *cluster = cluster_from(text, NULL);

  ck_assert_ptr_nonnull(cluster);
  ck_assert_uint_eq(cluster->n_links, 3);
  ck_assert_int_eq(cluster->links[0].kind, RA_LINK_NIC);
  ck_assert_uint_eq(cluster->links[0].where, 3);
  ck_assert_uint_eq(cluster->links[0].index, 2);
  ck_assert_double_eq(cluster->links[0].bytes_per_s, 25e9);
  ck_assert_int_eq(cluster->links[1].kind, RA_LINK_GPU);
  ck_assert_double_eq(cluster->links[1].bytes_per_s, 0);
  ck_assert_int_eq(cluster->links[2].kind, RA_LINK_UPLINK);
  ck_assert_uint_eq(ra_cluster_n_rails(cluster), 4);
  ra_cluster_free(cluster);
}
END_TEST

/* clang-format off */
static const RaFault faults[] = {
  {"price = 2.5 USD/gpu/h\n", "[link node16/nic0]\nrate = 1 GB/s\n",
   "x.cluster:9: link 'node16/nic0', expected numbers below 16 and 4"},
  {"price = 2.5 USD/gpu/h\n", "[link leaf0/rail4]\nrate = 1 GB/s\n",
   "x.cluster:9: link 'leaf0/rail4', expected numbers below 1 and 4"},
  {"price = 2.5 USD/gpu/h\n", "[link node1/nic]\nrate = 1 GB/s\n",
   "x.cluster:9: link 'node1/nic', expected node0/nic0, node0/gpu0 or "
   "leaf0/rail0"},
  {"price = 2.5 USD/gpu/h\n", "[link node1/gpu0]\nrates = 1 GB/s\n",
   "x.cluster:10: unknown key 'rates' in [link node1/gpu0], did you mean "
   "'rate'?"},
  {"oversubscription=1.5", "spines=0",
   "x.cluster:8: 'fabric': spines is '0', expected a whole number from 1 to "
   "4096"},
  {"nodes = 16\n", "nodes = 0\n",
   "x.cluster:3: 'nodes' is 0, expected an integer in [1, 1000000]"},
  {"nodes = 16\n", "nodes = -16\n",
   "x.cluster:3: 'nodes' is -16, expected an integer in [1, 1000000]"},
  {"nodes = 16\n", "nodes = 99999999999999999999999\n",
   "x.cluster:3: 'nodes' is 99999999999999999999999, expected an integer in "
   "[1, 1000000]"},
  {"nodes = 16\n", "nodez = 16\n",
   "x.cluster:3: unknown key 'nodez' in [cluster], did you mean 'nodes'?"},
  {"nodes = 16\n", "nodes = 16\nnodes = 16\n",
   "x.cluster:4: duplicate key 'nodes' in [cluster], expected once, first at "
   "line 3"},
  {"nodes = 16\n", "",
   "x.cluster:1: missing key 'nodes' in [cluster], expected number of nodes"},
  {"format = 1", "format = 2",
   "x.cluster:2: 'format' is '2', expected 1"},
  {"[cluster]", "[clustre]",
   "x.cluster:1: unknown group 'clustre', did you mean 'cluster'?"},
  {"gpu = h100-sxm", "gpu =",
   "x.cluster:5: 'gpu' has no value, expected GPU profile, such as h100-sxm"},
  {"nics-per-node = 4\n", "",
   "x.cluster:1: 'nics-per-node' is 0 with 'nodes' 16, expected at least 1 as "
   "nodes must reach each other"},
  {"nic = 400 Gbit/s\n", "",
   "x.cluster:6: 'nics-per-node' is 4 but 'nic' is missing, expected the rate "
   "of one, such as 400 Gbit/s"},
  {"nodes = 16\ngpus-per-node = 8\ngpu = h100-sxm\nnics-per-node = 4\n",
   "nodes = 1\ngpus-per-node = 8\ngpu = h100-sxm\n",
   "x.cluster:6: 'nic' without 'nics-per-node', expected how many of them a "
   "node has"},
  {"price = 2.5 USD/gpu/h\n", "nic-latency = 60 GB\n",
   "x.cluster:9: 'nic-latency': '60 GB' has the unit 'GB', expected a time in "
   "one of ns, us, ms, s, min, h, d"},
  {"price = 2.5 USD/gpu/h\n", "host-memory = 2 us\n",
   "x.cluster:9: 'host-memory': '2 us' has the unit 'us', expected a size in "
   "one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"},
  {"price = 2.5 USD/gpu/h\n", "gpus-per-host-link = 3\n",
   "x.cluster:9: 'gpus-per-host-link' is 3, expected a power of two that "
   "divides 8, the GPUs of a node"},
  {"price = 2.5 USD/gpu/h\n", "gpus-per-host-link = 16\n",
   "x.cluster:9: 'gpus-per-host-link' is 16, expected a power of two that "
   "divides 8, the GPUs of a node"},
  {"fabric = rail(", "fabric = rial(",
   "x.cluster:8: 'fabric': unknown fabric 'rial', expected flat, "
   "rail(leaf=nodes, oversubscription=ratio), fat-tree(...) or graph, did you "
   "mean 'rail'?"},
  {"rail(leaf=32, oversubscription=1.5)", "rail(leaf=32",
   "x.cluster:8: 'fabric': 'rail(leaf=32' cannot be read, expected word or "
   "word(argument, argument)"},
  {"rail(leaf=32, oversubscription=1.5)", "flat(1)",
   "x.cluster:8: 'fabric': 'flat' has 1 arguments, expected none"},
  {"leaf=32,", "leef=32,",
   "x.cluster:8: 'fabric': unknown argument 'leef', expected leaf=nodes, "
   "oversubscription=ratio or spines=switches, did you mean 'leaf'?"},
  {"leaf=32,", "leaf=0,",
   "x.cluster:8: 'fabric': leaf is '0', expected a whole number from 1 to "
   "1000000"},
  {"leaf=32,", "leaf=32, leaf=32,",
   "x.cluster:8: 'fabric': 'leaf' occurs twice, expected once"},
  {"oversubscription=1.5", "oversubscription=0.5",
   "x.cluster:8: 'fabric': oversubscription is '0.5', expected a number from "
   "1 to 1000"},
};
/* clang-format on */

START_TEST(test_faults)
{
  ra_check_faults(good, faults, G_N_ELEMENTS(faults), load);
}
END_TEST

/* The accepted units come from base/units.c, so only the place and the kind
 * of complaint are checked here. */
START_TEST(test_wrong_units)
{
  static const char *const rates[] = {
      "400", "400 GB", "400 Gbit", "fast", "-400 Gbit/s", "inf Gbit/s", NULL};

  for (guint i = 0; rates[i]; i++) {
    char *text = ra_edit(good, "400 Gbit/s", rates[i]);
    GError *error = NULL;

    ck_assert_msg(!load(text, &error), "accepted %s", rates[i]);
    ck_assert(g_str_has_prefix(error->message, "x.cluster:7: 'nic'"));
    ck_assert(strstr(error->message, "expected") != NULL);
    g_error_free(error);
    g_free(text);
  }
}
END_TEST

/* Text that the user writes, the text that comes back, and the GPUs in it. */
static const struct {
  const char *text;
  const char *canonical;
  uint32_t n_gpus;
  uint32_t rank;
  uint32_t gpu; /* of that rank */
} meshes[] = {
    /* 16 nodes of 8: rank 77 is GPU 5 of node 9. */
    {"all", "node[0-15]", 128, 77, 77},
    /* Nodes 0-3 are ranks 0-31, so rank 32 is the first GPU of node 8. */
    {"node[0-3,8-11]", "node[0-3,8-11]", 64, 32, 64},
    /* Two GPUs a node from GPU 4: rank 3 is GPU 5 of node 1. */
    {"node[0-1]:gpu[4-5]", "node[0-1]:gpu[4-5]", 4, 3, 13},
    {"node5", "node5", 8, 0, 40},
    {"node5:gpu2", "node5:gpu2", 1, 0, 42},
    {"node[5]:gpu[0-7]", "node5", 8, 7, 47},
    /* Sorted and joined: 2, 0-1, 3 are 0-3. */
    {"node[ 2, 0-1 ,3]", "node[0-3]", 32, 31, 31},
    {"node[3,1,2]", "node[1-3]", 24, 0, 8},
    /* Sixteen runs that join as they come: fewer than 16 at the end. */
    {"node[0,2,4,6,8,10,12,14,1,3,5,7,9,11,13,15]", "node[0-15]", 128, 127,
     127},
};

START_TEST(test_mesh_good)
{
  RaCluster *cluster = cluster_from(good, NULL);

  for (guint i = 0; i < G_N_ELEMENTS(meshes); i++) {
    RaMesh mesh, again;
    char *text;

    ck_assert(ra_mesh_parse(meshes[i].text, cluster, &mesh, NULL));
    text = ra_mesh_format(&mesh, cluster);
    ck_assert_str_eq(text, meshes[i].canonical);
    ck_assert(ra_mesh_parse(text, cluster, &again, NULL));
    ck_assert(ra_mesh_equal(&mesh, &again));
    ck_assert_mem_eq(&mesh, &again, sizeof mesh);
    ck_assert_uint_eq(ra_mesh_n_gpus(&mesh), meshes[i].n_gpus);
    ck_assert_uint_eq(ra_mesh_gpu(&mesh, cluster, meshes[i].rank),
                      meshes[i].gpu);
    g_free(text);
  }
  ra_cluster_free(cluster);
}
END_TEST

/* Nodes of 72 GPUs, which no power of two above 8 divides: 64 from GPU 0 of
 * node 1, whose last is 72 + 63; the 8 behind them begin at 72 + 64. */
START_TEST(test_mesh_of_rack)
{
  g_autofree char *rack = g_strdup(good);
  RaCluster *cluster;
  RaMesh most, rest;

  memcpy(strstr(rack, "node = 8"), "node =72", strlen("node = 8"));
  cluster = cluster_from(rack, NULL);
  ck_assert_uint_eq(cluster->gpus_per_node, 72);
  ck_assert(ra_mesh_parse("node1:gpu[0-63]", cluster, &most, NULL));
  ck_assert(ra_mesh_parse("node1:gpu[64-71]", cluster, &rest, NULL));
  ck_assert_uint_eq(ra_mesh_gpu(&most, cluster, 63), 135);
  ck_assert_uint_eq(ra_mesh_gpu(&rest, cluster, 0), 136);
  ck_assert(!ra_mesh_overlaps(&most, &rest));
  ck_assert(!ra_mesh_parse("node1:gpu[8-71]", cluster, &most, NULL));
  ra_cluster_free(cluster);
}
END_TEST

static const char mesh_syntax[] = "is not a mesh, expected all, node[0-3], "
                                  "node[0-3,8-11], node5 or node0:gpu[0-3]";

static const struct {
  const char *text;
  const char *message; /* NULL: the syntax message */
} bad_meshes[] = {
    {"", NULL},
    {"gpu0", NULL},
    {"node", NULL},
    {"node[", NULL},
    {"node[]", NULL},
    {"node[0-]", NULL},
    {"node[0-3", NULL},
    {"node[0,]", NULL},
    {"node0-3", NULL},
    {"node[0] ", NULL},
    {"node-1", NULL},
    {"node0:", NULL},
    {"node0:gpu", NULL},
    {"node0:gpu[0-3", NULL},
    {"node0:gpu[0,2]", NULL},
    {"node16", "node 16 is outside the cluster, expected 0 to 15"},
    {"node[8-16]", "node 16 is outside the cluster, expected 0 to 15"},
    {"node99999999999999999999",
     "node 4294967295 is outside the cluster, expected 0 to 15"},
    {"node[3-1]", "nodes 3-1 run backwards, expected the lower first"},
    {"node[0-3,3]", "node 3 occurs twice, expected once"},
    {"node[3,0-4]", "node 3 occurs twice, expected once"},
    {"node0:gpu8", "gpu 8-8 is outside a node, expected a range in 0-7"},
    {"node0:gpu[4-2]", "gpu 4-2 is outside a node, expected a range in 0-7"},
    {"node0:gpu[0-2]",
     "gpu 0-2 is not an aligned slice of 8 GPUs, expected a length that is a "
     "power of two, and a start that is a multiple of the length"},
    {"node0:gpu[2-5]",
     "gpu 2-5 is not an aligned slice of 8 GPUs, expected a length that is a "
     "power of two, and a start that is a multiple of the length"},
};

START_TEST(test_mesh_bad)
{
  RaCluster *cluster = cluster_from(good, NULL);

  for (guint i = 0; i < G_N_ELEMENTS(bad_meshes); i++) {
    RaMesh mesh = {.n_nodes = 77};
    GError *error = NULL;
    char *expected =
        bad_meshes[i].message
            ? g_strdup(bad_meshes[i].message)
            : g_strdup_printf("'%s' %s", bad_meshes[i].text, mesh_syntax);

    ck_assert_msg(!ra_mesh_parse(bad_meshes[i].text, cluster, &mesh, &error),
                  "accepted %s", bad_meshes[i].text);
    ck_assert_str_eq(error->message, expected);
    /* Nothing is written on error. */
    ck_assert_uint_eq(mesh.n_nodes, 77);
    g_error_free(error);
    g_free(expected);
  }
  ra_cluster_free(cluster);
}
END_TEST

/* 17 runs that do not touch are one too many. */
START_TEST(test_mesh_runs)
{
  char *text = ra_edit(good, "nodes = 16\n", "nodes = 100\n");
  RaCluster *cluster = cluster_from(text, NULL);
  GString *list = g_string_new("node[0");
  RaMesh mesh;
  GError *error = NULL;

  for (guint i = 1; i < 16; i++)
    g_string_append_printf(list, ",%u", 2 * i);
  g_string_append(list, "]");
  ck_assert(ra_mesh_parse(list->str, cluster, &mesh, NULL));
  ck_assert_uint_eq(mesh.n_runs, 16);
  g_string_truncate(list, list->len - 1);
  g_string_append(list, ",50]");
  ck_assert(!ra_mesh_parse(list->str, cluster, &mesh, &error));
  ck_assert_str_eq(error->message, "more than 16 runs of nodes, expected at "
                                   "most that many");
  g_error_free(error);
  g_string_free(list, TRUE);
  ra_cluster_free(cluster);
  g_free(text);
}
END_TEST

/* A random mesh of a cluster of 16 x 8: a few random nodes, a random slice. */
static void
random_mesh(RaRng *rng, const RaCluster *cluster, RaMesh *out_mesh)
{
  GString *text = g_string_new("node[");
  uint64_t mask = ra_rng_bits(rng) & ra_rng_bits(rng) & 0xffff;
  uint32_t length = UINT32_C(1) << ra_rng_below(rng, 4);
  uint32_t first = (uint32_t)ra_rng_below(rng, 8 / length) * length;

  mask |= UINT64_C(1) << ra_rng_below(rng, 16);
  for (guint i = 0; i < 16; i++) {
    if (mask >> i & 1)
      g_string_append_printf(text, "%u,", i);
  }
  g_string_truncate(text, text->len - 1);
  g_string_append_printf(text, "]:gpu[%u-%u]", first, first + length - 1);
  ck_assert(ra_mesh_parse(text->str, cluster, out_mesh, NULL));
  g_string_free(text, TRUE);
}

/* GPU sets by enumeration. */
static void
list_gpus(const RaMesh *mesh, const RaCluster *cluster, gboolean in[128])
{
  uint32_t last = 0;

  memset(in, 0, 128 * sizeof in[0]);
  for (uint32_t i = 0; i < ra_mesh_n_gpus(mesh); i++) {
    uint32_t gpu = ra_mesh_gpu(mesh, cluster, i);

    /* Ranks ascend, so each GPU comes once. */
    ck_assert(i == 0 || gpu > last);
    ck_assert_uint_lt(gpu, 128);
    in[gpu] = TRUE;
    last = gpu;
  }
}

/* ra_mesh_overlaps() against enumeration.  The deliberate fault: an oracle
 * that looks at nodes only must differ somewhere, or slices are not tested. */
START_TEST(test_mesh_overlaps)
{
  RaCluster *cluster = cluster_from(good, NULL);
  RaRng rng = ra_rng_init(1, 0);
  guint n_yes = 0, n_no = 0, n_fault_caught = 0;

  for (guint i = 0; i < 2000; i++) {
    gboolean in_a[128], in_b[128];
    gboolean shared = FALSE, shared_node = FALSE;
    RaMesh a, b;

    random_mesh(&rng, cluster, &a);
    random_mesh(&rng, cluster, &b);
    list_gpus(&a, cluster, in_a);
    list_gpus(&b, cluster, in_b);
    for (guint g = 0; g < 128; g++) {
      shared = shared || (in_a[g] && in_b[g]);
      for (guint h = g / 8 * 8; h < g / 8 * 8 + 8; h++)
        shared_node = shared_node || (in_a[g] && in_b[h]);
    }
    ck_assert_int_eq(ra_mesh_overlaps(&a, &b), shared);
    ck_assert_int_eq(ra_mesh_overlaps(&b, &a), shared);
    ck_assert_int_eq(ra_mesh_equal(&a, &b),
                     memcmp(in_a, in_b, sizeof in_a) == 0);
    n_fault_caught += shared_node != shared;
    n_yes += shared != FALSE;
    n_no += shared == FALSE;
  }
  ck_assert_uint_gt(n_yes, 100);
  ck_assert_uint_gt(n_no, 100);
  ck_assert_uint_gt(n_fault_caught, 100);
  ra_cluster_free(cluster);
}
END_TEST

/* Every shipped cluster, with the GPUs that its name and its head promise. */
START_TEST(test_shipped)
{
  static const struct {
    const char *name;
    uint32_t n_gpus;
  } shipped[] = {
      {"h100-1n.cluster", 8},      {"h100-16n.cluster", 128},
      {"h100-128n.cluster", 1024}, {"a100-4n.cluster", 32},
      {"h200-16n.cluster", 128},
  };

  for (guint i = 0; i < G_N_ELEMENTS(shipped); i++) {
    GError *error = NULL;
    char *path = ra_share_find("clusters", shipped[i].name, NULL, &error);
    RaKeyFile *file = path ? ra_key_file_load(path, &error) : NULL;
    RaCluster *cluster = file ? ra_cluster_load(file, &error) : NULL;

    ck_assert_msg(cluster != NULL, "%s", error ? error->message : "");
    ck_assert_uint_eq(ra_cluster_n_gpus(cluster), shipped[i].n_gpus);
    ra_cluster_free(cluster);
    ra_key_file_unref(file);
    g_free(path);
  }
}
END_TEST

START_TEST(test_corpus)
{
  ra_check_corpus("cluster");
}
END_TEST

static Suite *
cluster_suite(void)
{
  Suite *suite = suite_create("cluster");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_good);
  tcase_add_test(tcase, test_defaults);
  tcase_add_test(tcase, test_links);
  tcase_add_test(tcase, test_faults);
  tcase_add_test(tcase, test_wrong_units);
  tcase_add_test(tcase, test_mesh_good);
  tcase_add_test(tcase, test_mesh_of_rack);
  tcase_add_test(tcase, test_mesh_bad);
  tcase_add_test(tcase, test_mesh_runs);
  tcase_add_test(tcase, test_mesh_overlaps);
  tcase_add_test(tcase, test_shipped);
  tcase_add_test(tcase, test_corpus);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(cluster_suite)
