/* Relabelling equal nodes changes nothing: any permutation of the nodes that
 * leaves the ranks of every mesh in their order, sets of nodes and slices
 * included.
 *
 * Ranks go through a mesh by ascending node, so a permutation that turns the
 * nodes of a mesh about also puts other ranks of it beside those of another
 * mesh: that is another plan.  Where every call is on one node there is no such
 * order, and any permutation will do. */
#include "config.h"

#include "tests/support/check_main.h"
#include "tests/support/search_case.h"

enum { N_NODES = 6, WIDTH = 8 };

static const char *const six[] = {"cluster.nodes=6", "workload.prompts=64",
                                  NULL};

static RaMesh
mesh_of(const SearchCase *c, const RaPoint *point, uint32_t call)
{
  RaChoice choice = point->calls[call];

  return ra_space_mesh_at(c->space, ra_space_candidate(c->space, call, choice),
                          choice.position);
}

/* (N_NODES) whether the mesh has each. */
static void
mark(const RaMesh *mesh, gboolean out[N_NODES])
{
  memset(out, 0, N_NODES * sizeof *out);
  for (uint32_t r = 0; r < mesh->n_runs; r++)
    for (uint32_t i = 0; i < mesh->runs[r].n; i++)
      out[mesh->runs[r].first + i] = TRUE;
}

/* A random order of the nodes in which those of each mesh ascend: again and
 * again one of those that no other has to precede gets the next label. */
static void
draw_labels(SearchCase *c, const RaPoint *point, uint32_t out_label[N_NODES])
{
  gboolean before[N_NODES][N_NODES] = {{FALSE}}, done[N_NODES] = {FALSE};

  for (guint k = 0; k < c->setup->workload->n_calls; k++) {
    RaMesh mesh = mesh_of(c, point, k);
    gboolean has[N_NODES];

    mark(&mesh, has);
    for (guint a = 0; a < N_NODES; a++)
      for (guint b = a + 1; b < N_NODES; b++)
        before[a][b] = before[a][b] || (has[a] && has[b]);
  }
  for (uint32_t label = 0; label < N_NODES; label++) {
    uint32_t free[N_NODES], n = 0;

    for (uint32_t b = 0; b < N_NODES; b++) {
      gboolean is_free = !done[b];

      for (uint32_t a = 0; a < N_NODES; a++)
        is_free = is_free && (done[a] || !before[a][b]);
      if (is_free)
        free[n++] = b;
    }
    n = free[search_case_below(c, n)];
    done[n] = TRUE;
    out_label[n] = label;
  }
}

/* The mesh on the nodes with the new labels. */
static RaMesh
image(const RaMesh *mesh, const uint32_t label[N_NODES])
{
  RaMesh out = *mesh;
  gboolean has[N_NODES], to[N_NODES] = {FALSE};

  mark(mesh, has);
  for (guint node = 0; node < N_NODES; node++)
    if (has[node])
      to[label[node]] = TRUE;
  out.n_runs = 0;
  for (uint32_t node = 0; node < N_NODES; node++) {
    if (!to[node])
      continue;
    if (node > 0 && to[node - 1])
      out.runs[out.n_runs - 1].n++;
    else
      out.runs[out.n_runs++] = (RaNodeRun){node, 1};
  }
  return out;
}

/* @point with the new labels; how many calls are elsewhere then. */
static guint
relabel(const SearchCase *c, RaPoint *point, const uint32_t label[N_NODES])
{
  guint n_moved = 0;

  for (guint k = 0; k < c->setup->workload->n_calls; k++) {
    const RaCandidate *like = ra_space_candidate(c->space, k, point->calls[k]);
    RaMesh mesh = mesh_of(c, point, k), to = image(&mesh, label);
    uint32_t begin = to.runs[0].first * WIDTH + to.first_gpu;
    uint32_t at =
        ra_candidate_position(like, begin, to.n_runs > 1 ? &to : NULL);

    ck_assert_uint_ne(at, RA_NONE);
    n_moved += at != point->calls[k].position;
    point->calls[k].position = at;
  }
  return n_moved;
}

/* Most calls on one to three nodes, so that there is something to permute. */
static RaPoint
draw_point(SearchCase *c)
{
  RaPoint point = search_case_point(c, FALSE);

  for (guint k = 0; k < c->setup->workload->n_calls; k++)
    for (guint tries = 0;
         tries < 50 &&
         ra_space_candidate(c->space, k, point.calls[k])->n_gpus > 3 * WIDTH;
         tries++)
      point.calls[k] = search_case_choice(c, k);
  return point;
}

START_TEST(any_labels)
{
  SearchCase c;
  guint n_moved = 0, n_sets = 0, n_slices = 0, n_other = 0;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", six,
                   RA_SPACE_FULL, NULL);
  for (guint i = 0; i < 60; i++) {
    RaPoint point = draw_point(&c), other = point;
    uint32_t label[N_NODES];
    RaScore score, same;

    draw_labels(&c, &point, label);
    if (relabel(&c, &other, label) == 0)
      continue;
    n_moved++;
    for (guint k = 0; k < c.setup->workload->n_calls; k++) {
      RaMesh mesh = mesh_of(&c, &other, k);

      n_sets += mesh.n_runs > 1;
      n_slices += mesh.gpus_per_node < WIDTH;
    }
    ra_evaluate(c.evaluator, &point, &score);
    ra_evaluate(c.evaluator, &other, &same);
    ck_assert_msg(search_case_same(&score, &same), "plan %u: %.17g, %.17g", i,
                  score.makespan_s, same.makespan_s);
    /* The fault: one call keeps its place. */
    for (guint k = 0; k < c.setup->workload->n_calls; k++)
      if (other.calls[k].position != point.calls[k].position) {
        other.calls[k].position = point.calls[k].position;
        break;
      }
    ra_evaluate(c.evaluator, &other, &same);
    n_other += !search_case_same(&score, &same);
  }
  ck_assert_uint_gt(n_moved, 20);
  ck_assert_uint_gt(n_sets, 10);
  ck_assert_uint_gt(n_slices, 10);
  ck_assert_uint_gt(n_other, 10);
  search_case_clear(&c);
}
END_TEST

/* Any of the 6! permutations, where every call is on one node. */
START_TEST(single_nodes)
{
  static const char *const limits[] = {"actor_generate.gpus<=8",
                                       "actor_train.gpus<=8",
                                       "critic_train.gpus<=8",
                                       "critic_inference.gpus<=8",
                                       "reward_inference.gpus<=8",
                                       "ref_inference.gpus<=8",
                                       NULL};
  SearchCase c;
  guint n_moved = 0;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", six,
                   RA_SPACE_REAL, limits);
  for (guint i = 0; i < 100; i++) {
    RaPoint point = search_case_point(&c, FALSE), other = point;
    uint32_t label[N_NODES];
    RaScore score, same;

    for (uint32_t n = 0; n < N_NODES; n++) {
      uint32_t at = search_case_below(&c, n + 1);

      label[n] = label[at];
      label[at] = n;
    }
    n_moved += relabel(&c, &other, label) > 0;
    ra_evaluate(c.evaluator, &point, &score);
    ra_evaluate(c.evaluator, &other, &same);
    ck_assert_msg(search_case_same(&score, &same), "plan %u: %.17g, %.17g", i,
                  score.makespan_s, same.makespan_s);
  }
  ck_assert_uint_gt(n_moved, 80);
  search_case_clear(&c);
}
END_TEST

static Suite *
relabel_suite(void)
{
  Suite *s = suite_create("relabel");
  TCase *core = tcase_create("core");

  tcase_set_timeout(core, 600);
  tcase_add_test(core, any_labels);
  tcase_add_test(core, single_nodes);
  suite_add_tcase(s, core);
  return s;
}

RA_CHECK_MAIN(relabel_suite)
