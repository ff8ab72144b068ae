/* Sets of nodes of several kinds, as meshes of a search, against all sets. */
#include "config.h"

#include <math.h>

#include "search/exact.h"
#include "search/mcmc.h"
#include "tests/support/search_case.h"

enum { NODES_MAX = 16 };

/* A cluster of one letter a node, A to D, its kind. */
typedef struct {
  RaCluster cluster;
  uint8_t kind_of_node[NODES_MAX];
  RaMachineKind kinds[RA_NODE_KINDS_MAX];
} Letters;

static void
letters_init(Letters *l, const char *text)
{
  memset(l, 0, sizeof *l);
  l->cluster = (RaCluster){.n_nodes = (uint32_t)strlen(text),
                           .gpus_per_node = 8,
                           .n_kinds = RA_NODE_KINDS_MAX,
                           .kinds = l->kinds,
                           .kind_of_node = l->kind_of_node,
                           .fabric = {.oversubscription = 1}};
  for (uint32_t i = 0; text[i]; i++)
    l->kind_of_node[i] = (uint8_t)(text[i] - 'A');
}

/* How many nodes of each kind, 8 bits each, of those whose bits are set. */
static uint32_t
mix_of(const Letters *l, uint32_t bits)
{
  uint32_t mix = 0;

  for (uint32_t node = 0; node < l->cluster.n_nodes; node++)
    if (bits >> node & 1)
      mix += 1u << 8 * l->kind_of_node[node];
  return mix;
}

static uint32_t
bits_of(const RaMesh *mesh)
{
  uint32_t bits = 0;

  for (uint32_t i = 0; i < mesh->n_runs; i++)
    bits |= ((1u << mesh->runs[i].n) - 1) << mesh->runs[i].first;
  return bits;
}

static gboolean
is_run(uint32_t bits)
{
  uint32_t low = bits & -bits;

  return ((bits + low) & bits) == 0;
}

/* Among all 2^n - 1 sets of nodes, each is a run, a set, an image of one of
 * these (as many nodes of each kind), or counted as left; sets are once and in
 * the order of their kinds. */
static void
compare_all(const char *text, gboolean has_left)
{
  Letters l;
  g_autoptr(GHashTable) mixes = g_hash_table_new(NULL, NULL);
  RaNodeSets *sets;
  double n_left_all = 0;

  letters_init(&l, text);
  sets = ra_node_sets_new(&l.cluster, TRUE);
  ck_assert_ptr_null(ra_node_sets_why_none(sets));
  for (uint32_t bits = 1; bits < 1u << l.cluster.n_nodes; bits++)
    if (is_run(bits))
      g_hash_table_add(mixes, GUINT_TO_POINTER(mix_of(&l, bits)));
  for (uint32_t n = 1; n <= l.cluster.n_nodes; n++) {
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    uint32_t n_sets;
    const RaMesh *all = ra_node_sets_of(sets, n, &n_sets);

    for (uint32_t i = 0; i < n_sets; i++) {
      uint32_t bits = bits_of(&all[i]);

      ck_assert(!is_run(bits) && all[i].n_nodes == n);
      ck_assert(g_hash_table_add(seen, GUINT_TO_POINTER(bits)));
      g_hash_table_add(mixes, GUINT_TO_POINTER(mix_of(&l, bits)));
      for (uint32_t k = i + 2; k < n_sets; k++)
        ck_assert(ra_node_sets_alike(&l.cluster, &all[k - 1], &all[k]) ||
                  !ra_node_sets_alike(&l.cluster, &all[i], &all[k]));
    }
  }
  for (uint32_t n = 1; n <= l.cluster.n_nodes; n++) {
    double n_left = 0, n_other = 0;
    uint32_t n_sets;

    ra_node_sets_of(sets, n, &n_sets);
    for (uint32_t bits = 1; bits < 1u << l.cluster.n_nodes; bits++)
      if (__builtin_popcount(bits) == (int)n) {
        gboolean known =
            g_hash_table_contains(mixes, GUINT_TO_POINTER(mix_of(&l, bits)));
        n_left += !known;
        n_other += known;
      }
    ck_assert_double_eq(ra_node_sets_n_left(sets, n), n_left);
    ck_assert_double_eq(ra_node_sets_n_merged(sets, n),
                        n_other - n_sets - (l.cluster.n_nodes - n + 1));
    n_left_all += n_left;
  }
  ck_assert_int_eq(n_left_all > 0, has_left);
  ra_node_sets_free(sets);
}

/* Up to 8 nodes every set is there.  Of AAAAABBBBCCC 3 A's and 2 C's are no
 * run, and 12 nodes in 8 blocks no union either: still no mix is left.  Of 16
 * that alternate 8 A's are 8 runs, more than a mesh of a search has. */
START_TEST(counted)
{
  compare_all("AABB", FALSE);
  compare_all("ABAB", FALSE);
  compare_all("AABCABBA", FALSE);
  compare_all("AAAAABBBBCCC", FALSE);
  compare_all("AAAABBBBAAAABBBB", FALSE);
  compare_all("ABABABABABABABAB", TRUE);
}
END_TEST

/* More mixes than a space can have are none, and that is said; so are fabrics
 * that tell nodes apart. */
START_TEST(refused)
{
  Letters l;
  RaNodeSets *sets;
  g_autofree uint8_t *kinds = g_new(uint8_t, 512);
  uint32_t n;

  letters_init(&l, "AABB");
  l.cluster.fabric.oversubscription = 2;
  sets = ra_node_sets_new(&l.cluster, TRUE);
  ck_assert_ptr_nonnull(strstr(ra_node_sets_why_none(sets), "oversub"));
  ra_node_sets_free(sets);
  l.cluster.fabric.oversubscription = 1;
  /* (2 x 128 + 1)^2 > 2^16 */
  for (uint32_t i = 0; i < 512; i++)
    kinds[i] = i >= 256;
  l.cluster.n_nodes = 512;
  l.cluster.kind_of_node = kinds;
  sets = ra_node_sets_new(&l.cluster, TRUE);
  ck_assert_ptr_nonnull(strstr(ra_node_sets_why_none(sets), "65,536"));
  ck_assert_ptr_null(ra_node_sets_of(sets, 4, &n));
  ra_node_sets_free(sets);
}
END_TEST

/* --- as candidates --- */

static const char *const alternating[] = {
    "kind a100.nodes=node[1,3]", "workload.prompts=32",
    "workload.response-length=fixed(128)", NULL};

/* Whole nodes of one bit each. */
static RaMesh
mesh_of_bits(uint32_t bits)
{
  RaMesh mesh = {.gpus_per_node = 8};

  for (uint32_t node = 0; bits >> node; node++) {
    if (!(bits >> node & 1))
      continue;
    if (node == 0 || !(bits >> (node - 1) & 1))
      mesh.runs[mesh.n_runs++].first = node;
    mesh.runs[mesh.n_runs - 1].n++;
    mesh.n_nodes++;
  }
  return mesh;
}

/* Where @candidate has @mesh; RA_NONE: nowhere. */
static uint32_t
position_of(const RaCandidate *candidate, const RaMesh *mesh)
{
  if (candidate->n_gpus != 8 * mesh->n_nodes)
    return RA_NONE;
  return ra_candidate_position(candidate, mesh->runs[0].first * 8,
                               mesh->n_runs > 1 ? mesh : NULL);
}

/* Every set of nodes has as many strategies as every other of its size (none
 * of these is short of memory), each once, and its kinds. */
static void
compare_places(const char *const *sets)
{
  static const char *const limits[] = {"ref_inference.tp=8", NULL};
  SearchCase c;
  uint32_t call, n_of_size[5] = {0};
  guint n_sets = 0;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-a100-4n.cluster", sets,
                   RA_SPACE_FULL, limits);
  call = ra_workload_find_call(c.setup->workload, "ref_inference");
  for (uint32_t bits = 1; bits < 16; bits++) {
    RaMesh mesh = mesh_of_bits(bits);
    uint32_t n = 0, *of_size = &n_of_size[mesh.n_nodes];

    for (uint32_t i = 0; i < c.space->calls[call].n; i++) {
      const RaCandidate *k = &c.space->calls[call].candidates[i];
      uint32_t at = position_of(k, &mesh);
      RaMesh there;

      if (at == RA_NONE)
        continue;
      there = ra_space_mesh_at(c.space, k, at);
      ck_assert(ra_mesh_equal(&there, &mesh));
      ck_assert_uint_eq(k->kinds, ra_cluster_kinds(c.setup->cluster, &mesh));
      ck_assert(ra_node_sets_alike(c.setup->cluster, &k->plan.mesh, &mesh));
      n_sets += mesh.n_runs > 1;
      n++;
    }
    ck_assert_uint_gt(n, 0);
    ck_assert_msg(*of_size == 0 || *of_size == n, "%u: %u, %u", bits, n,
                  *of_size);
    *of_size = n;
  }
  ck_assert_uint_gt(n_sets, 0);
  search_case_clear(&c);
}

START_TEST(places)
{
  const char *together[] = {"workload.prompts=32", NULL};

  compare_places(together);
  compare_places(alternating);
}
END_TEST

/* Plans with such sets cost what the simulator says, to the last bit.  The
 * fault: one call on other nodes. */
START_TEST(simulator)
{
  SearchCase c;
  guint n_sets = 0, n_unlike = 0;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-a100-4n.cluster",
                   alternating, RA_SPACE_FULL, NULL);
  for (guint i = 0; i < 120; i++) {
    RaPoint point = search_case_point(&c, i % 2), other = point;
    RaScore score, wrong;
    guint n = 0;

    for (guint k = 0; k < c.setup->workload->n_calls; k++)
      n += ra_candidate_set(ra_space_candidate(c.space, k, point.calls[k]),
                            point.calls[k].position) != NULL;
    if (n == 0)
      continue;
    n_sets++;
    search_case_compare(&c, &point);
    other.calls[0] = search_case_choice(&c, 0);
    ra_evaluate(c.evaluator, &point, &score);
    ra_evaluate(c.evaluator, &other, &wrong);
    n_unlike += !search_case_same(&score, &wrong);
  }
  ck_assert_uint_gt(n_sets, 40);
  ck_assert_uint_gt(n_unlike, n_sets / 2);
  search_case_clear(&c);
}
END_TEST

/* --- the best of all plans --- */

/* Two nodes a call, which of the four is all there is to choose. */
static const char *const two_nodes[] = {"actor_generate.gpus=16",
                                        "actor_generate.tp=8",
                                        "actor_generate.zero=0",
                                        "actor_generate.batching=static",
                                        "actor_generate.pp=1",
                                        "actor_generate.micro-batches=1",
                                        "ref_inference.mesh=node0",
                                        "ref_inference.tp=8",
                                        "ref_inference.micro-batches=1",
                                        "reward_inference.gpus=16",
                                        "reward_inference.tp=8",
                                        "reward_inference.zero=0",
                                        "reward_inference.pp=1",
                                        "reward_inference.micro-batches=1",
                                        "critic_inference.gpus=16",
                                        "critic_inference.tp=8",
                                        "critic_inference.zero=0",
                                        "critic_inference.pp=1",
                                        "critic_inference.micro-batches=1",
                                        "actor_train.gpus=16",
                                        "actor_train.tp=8",
                                        "actor_train.pp=1",
                                        "actor_train.zero=1",
                                        "actor_train.recompute=none",
                                        "actor_train.micro-batches=1",
                                        "critic_train.gpus=16",
                                        "critic_train.tp=8",
                                        "critic_train.pp=1",
                                        "critic_train.zero=1",
                                        "critic_train.recompute=none",
                                        "critic_train.micro-batches=1",
                                        "all.cp=1",
                                        "all.sequence-parallel=true",
                                        NULL};

typedef struct {
  SearchCase *c;
  RaPoint point;
  double best_s;
  guint n;
} Force;

/* All meshes of @call and those behind it. */
static void
force(Force *f, uint32_t call)
{
  const RaSpaceCall *calls = f->c->space->calls;
  RaScore score;

  if (call == f->c->setup->workload->n_calls) {
    ra_evaluate(f->c->evaluator, &f->point, &score);
    f->n++;
    if (!(score.over_bytes > 0))
      f->best_s = MIN(f->best_s, score.run_s);
    return;
  }
  for (uint32_t bits = 1; bits < 16; bits++) {
    RaMesh mesh = mesh_of_bits(bits);

    for (uint32_t i = 0; i < calls[call].n; i++) {
      uint32_t at = position_of(&calls[call].candidates[i], &mesh);

      if (at == RA_NONE)
        continue;
      f->point.calls[call] = (RaChoice){i, at};
      force(f, call + 1);
    }
  }
}

static void
limited(SearchCase *c, RaSpaceKind kind)
{
  RaSetupFlags flags = {.workload = "ppo-llama2-7b.workload",
                        .cluster = "h100-a100-4n.cluster",
                        .sets = alternating};
  g_autoptr(GArray) limits = g_array_new(FALSE, FALSE, sizeof(RaLimit));
  RaSpaceOptions options = {.kind = (int)kind, .n_iterations = 2};
  GError *error = NULL;

  memset(c, 0, sizeof *c);
  c->setup = ra_setup_load_pair(&flags, &error);
  ck_assert_msg(c->setup != NULL, "%s", error ? error->message : "");
  for (guint i = 0; two_nodes[i]; i++)
    ck_assert_msg(ra_limits_add(limits, two_nodes[i], c->setup->workload,
                                c->setup->cluster, &error),
                  "%s", error ? error->message : "");
  options.limits = (const RaLimit *)(gpointer)limits->data;
  options.n_limits = limits->len;
  c->space =
      ra_space_new(c->setup->workload, c->setup->cluster, &options, &error);
  ck_assert_msg(c->space != NULL, "%s", error ? error->message : "");
  c->costs = ra_cost_table_new(c->space, c->setup->estimator, 1, &error);
  ck_assert_msg(c->costs != NULL, "%s", error ? error->message : "");
  c->evaluator = ra_evaluator_new(c->costs);
}

/* 6 pairs of nodes for five calls: 6^5 plans.  Branch and bound proves the best
 * of them, chains find it.  The fault: among runs alone the best is slower, as
 * two H100 nodes that are not neighbours are no mesh. */
START_TEST(best)
{
  SearchCase c, runs;
  Force f = {.c = &c, .best_s = (double)INFINITY};
  RaExactOptions options = {.seed = 1};
  RaMcmcOptions chains = {.n_steps = 4000, .n_threads = 1, .seed = 1};
  RaExactResult result, without;
  RaMcmcResult found;

  limited(&c, RA_SPACE_FULL);
  force(&f, 0);
  ck_assert_uint_eq(f.n, 6 * 6 * 6 * 6 * 6);
  ra_exact_search(c.costs, &options, &result);
  ck_assert(result.found && result.is_proven);
  ck_assert_double_eq(result.score.run_s, f.best_s);
  ra_mcmc_search(c.costs, &chains, &found);
  ck_assert(found.found);
  ck_assert_double_eq(found.score.run_s, f.best_s);
  ra_mcmc_result_clear(&found);
  limited(&runs, RA_SPACE_REAL);
  ra_exact_search(runs.costs, &options, &without);
  ck_assert(without.found && without.is_proven);
  ck_assert(without.score.run_s > 1.1 * f.best_s);
  search_case_clear(&runs);
  search_case_clear(&c);
}
END_TEST

static Suite *
kind_sets_suite(void)
{
  Suite *s = suite_create("kind_sets");
  TCase *core = tcase_create("core");

  tcase_set_timeout(core, 600);
  tcase_add_test(core, counted);
  tcase_add_test(core, refused);
  tcase_add_test(core, places);
  tcase_add_test(core, simulator);
  tcase_add_test(core, best);
  suite_add_tcase(s, core);
  return s;
}

RA_CHECK_MAIN(kind_sets_suite)
