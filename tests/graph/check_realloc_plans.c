/* Conservation on all shipped plans: every element of every tensor arrives
 * exactly once at every GPU that needs it and has it not, and at no other; what
 * is sent is received.
 *
 * A model of 70 x 10^9 elements on 1,024 GPUs is no case for a byte an element.
 * Instead every rectangle has a weight that adds up over disjoint unions,
 *
 *     w = (H(row end) - H(row)) (K(column end) - K(column))  modulo 2^64
 *
 * with random H and K, so the weights of the slices that arrive sum to the
 * weight of what is lacking if and (but for a chance of 2^-60 or so) only if
 * they tile it.  Who may send is proven element by element on small layouts, in
 * check_realloc_random.c.
 */
#include "config.h"

#include <stdlib.h>

#include "base/hash.h"
#include "graph/augment/layout.h"
#include "graph/augment/realloc.h"
#include "graph/input/residency.h"
#include "study/setup.h"
#include "tests/support/check_main.h"

#define ELEMENT_BYTES 2

static const RaReallocScheme schemes[] = {RA_REALLOC_BROADCAST, RA_REALLOC_P2P,
                                          RA_REALLOC_ALL_GATHER};

typedef enum { FAULT_NONE, FAULT_DROP, FAULT_TWICE, FAULT_SHIFT } Fault;

/* One reallocation and what has come of it so far. */
typedef struct {
  const RaModel *model;
  const RaCallPlan *from, *to;
  const RaCluster *cluster;
  RaReallocScheme scheme;
  Fault fault;
  uint32_t n_gpus, n_tensors;
  uint64_t *arrived;  /* (n_gpus, n_tensors) sums of weights */
  uint64_t *received; /* (n_gpus) elements */
  uint64_t *sent;     /* (n_gpus) elements */
  guint n_slices;     /* seen */
} Judge;

static uint64_t
mark(uint64_t axis, uint64_t at)
{
  return ra_hash_u64(ra_hash_u64(RA_HASH_INIT, axis + 1), at);
}

static uint64_t
weight(uint64_t row, uint64_t n_rows, uint64_t col, uint64_t n_cols)
{
  return (mark(0, row + n_rows) - mark(0, row)) *
         (mark(1, col + n_cols) - mark(1, col));
}

static uint64_t
rect_weight(const RaRect *r)
{
  return weight(r->row, r->n_rows, r->col, r->n_cols);
}

static void
take(const RaSlice *slice, gpointer data)
{
  Judge *j = data;
  RaSlice s = *slice;
  uint64_t w, times = 1;

  if (j->n_slices++ == 5) {
    times = j->fault == FAULT_DROP ? 0 : j->fault == FAULT_TWICE ? 2 : 1;
    s.row += j->fault == FAULT_SHIFT;
  }
  w = weight(s.row, s.n_rows, s.col, s.n_cols);
  j->arrived[(gsize)s.to * j->n_tensors + s.tensor] += times * w;
  j->received[s.to] += times * s.n_rows * s.n_cols;
  j->sent[s.from] += times * s.n_rows * s.n_cols;
}

/* Tensors on the GPUs of one side, by class of ranks that hold the same. */
typedef struct {
  uint32_t *class; /* (n_gpus) RA_NONE: not in the mesh; owned */
  RaRect *rects;   /* (classes, n_tensors) of no elements: nothing; owned */
} Held;

static Held
held_by(const Judge *j, const RaCallPlan *plan)
{
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(j->model);
  uint32_t ep = ra_call_plan_ep(plan), zero = ra_call_plan_n_shards(plan);
  uint32_t n = plan->pp * plan->tp * ep * zero;
  g_autofree gboolean *done = g_new0(gboolean, n);
  Held held = {g_new(uint32_t, j->n_gpus),
               g_new0(RaRect, (gsize)n * j->n_tensors)};

  for (uint32_t gpu = 0; gpu < j->n_gpus; gpu++)
    held.class[gpu] = RA_NONE;
  for (uint32_t r = 0; r < ra_mesh_n_gpus(&plan->mesh); r++) {
    RaCoord at = ra_call_plan_coord(plan, r);
    uint32_t data = zero > 1 ? ra_call_plan_zero_rank(plan, &at)
                             : ra_call_plan_ep_rank(plan, &at);
    uint32_t c =
        (at.at[RA_AXIS_PP] * plan->tp + at.at[RA_AXIS_TP]) * zero * ep + data;
    held.class[ra_mesh_gpu(&plan->mesh, j->cluster, r)] = c;
    for (uint32_t i = 0; i < j->n_tensors && !done[c]; i++)
      ra_layout_rect(table, plan, r, i,
                     &held.rects[(gsize)c * j->n_tensors + i]);
    done[c] = TRUE;
  }
  return held;
}

static void
held_clear(Held *held)
{
  g_free(held->class);
  g_free(held->rects);
}

static const RaRect *
held_at(const Judge *j, const Held *held, uint32_t gpu, uint32_t tensor)
{
  static const RaRect nothing;
  uint32_t c = held->class[gpu];

  return c == RA_NONE ? &nothing
                      : &held->rects[(gsize)c * j->n_tensors + tensor];
}

static RaRect
common(const RaRect *a, const RaRect *b)
{
  uint64_t row = MAX(a->row, b->row), col = MAX(a->col, b->col);
  uint64_t row_end = MIN(a->row + a->n_rows, b->row + b->n_rows);
  uint64_t col_end = MIN(a->col + a->n_cols, b->col + b->n_cols);

  return (RaRect){row, row_end > row ? row_end - row : 0, col,
                  col_end > col ? col_end - col : 0};
}

/* Elements of tensor @index, @whole, that @gpu lacks: its weight, and its
 * elements. */
static uint64_t
lacks(const Judge *j, const Held sides[2], uint32_t gpu, uint32_t index,
      const RaRect *whole, uint64_t *out_n)
{
  const RaRect *held = held_at(j, &sides[0], gpu, index);
  const RaRect *needed = held_at(j, &sides[1], gpu, index);
  RaRect both;

  if (j->scheme == RA_REALLOC_ALL_GATHER && sides[0].class[gpu] != RA_NONE)
    needed = whole;
  both = common(held, needed);
  *out_n = needed->n_rows * needed->n_cols - both.n_rows * both.n_cols;
  return rect_weight(needed) - rect_weight(&both);
}

static const char *
judge_arrivals(const Judge *j)
{
  Held sides[2] = {held_by(j, j->from), held_by(j, j->to)};
  g_autofree uint64_t *n_lacking = g_new0(uint64_t, j->n_gpus);
  const char *what = NULL;

  for (uint32_t i = 0; i < j->n_tensors; i++) {
    RaTensor tensor;
    RaRect whole;
    ra_model_tensor(j->model, i, &tensor);
    whole = (RaRect){0, tensor.rows, 0, tensor.cols};
    for (uint32_t gpu = 0; gpu < j->n_gpus; gpu++) {
      uint64_t n, w = lacks(j, sides, gpu, i, &whole, &n);
      n_lacking[gpu] += n;
      if (j->arrived[(gsize)gpu * j->n_tensors + i] != w)
        what = "slices do not tile what a GPU lacks of a tensor";
    }
  }
  for (uint32_t gpu = 0; gpu < j->n_gpus && !what; gpu++)
    if (j->received[gpu] != n_lacking[gpu])
      what = "a GPU receives more or less than it lacks";
  held_clear(&sides[0]);
  held_clear(&sides[1]);
  return what;
}

/* The moves against the slices: bytes out of and into each GPU, and in all. */
static const char *
judge_moves(const Judge *j, const RaRealloc *realloc)
{
  g_autofree uint64_t *in = g_new0(uint64_t, j->n_gpus);
  g_autofree uint64_t *out = g_new0(uint64_t, j->n_gpus);
  uint64_t total = 0;

  for (gsize i = 0; i < realloc->n_moves; i++) {
    out[realloc->moves[i].from] += realloc->moves[i].bytes;
    in[realloc->moves[i].to] += realloc->moves[i].bytes;
    total += realloc->moves[i].bytes;
  }
  for (uint32_t gpu = 0; gpu < j->n_gpus; gpu++)
    if (in[gpu] != ELEMENT_BYTES * j->received[gpu] ||
        out[gpu] != ELEMENT_BYTES * j->sent[gpu])
      return "moves and slices differ";
  return total == realloc->load.total_bytes ? NULL : "moves and total differ";
}

static const char *
judge(const RaSetup *setup, uint32_t user, RaReallocScheme scheme, Fault fault)
{
  const RaWorkload *w = setup->workload;
  uint32_t model = w->calls[user].model;
  Judge j = {.model = w->models[model].model,
             .from = &setup->plan->calls[ra_workload_trainer(w, model)],
             .to = &setup->plan->calls[user],
             .cluster = setup->cluster,
             .scheme = scheme,
             .fault = fault};
  g_autoptr(RaRealloc) realloc =
      ra_realloc_new(j.model, ELEMENT_BYTES, j.from, j.to, j.cluster, scheme);
  const char *what;

  j.n_gpus = ra_cluster_n_gpus(j.cluster);
  j.n_tensors = ra_model_n_tensors(j.model);
  j.arrived = g_new0(uint64_t, (gsize)j.n_gpus * j.n_tensors);
  j.received = g_new0(uint64_t, j.n_gpus);
  j.sent = g_new0(uint64_t, j.n_gpus);
  ra_realloc_slices(j.model, j.from, j.to, j.cluster, scheme, take, &j);
  what = judge_arrivals(&j);
  if (!what)
    what = judge_moves(&j, realloc);
  g_free(j.arrived);
  g_free(j.received);
  g_free(j.sent);
  return what;
}

static RaSetup *
load(const char *name)
{
  g_autofree char *path =
      g_build_filename(g_getenv("srcdir"), "share", "plans", name, NULL);
  RaSetupFlags flags = {0};
  GError *error = NULL;
  RaSetup *setup = ra_setup_load(path, RA_FILE_PLAN, &flags, &error);

  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  return setup;
}

/* TRUE if training's parameters are reallocated to @call's layout. */
static gboolean
is_user(const RaSetup *setup, uint32_t call)
{
  return setup->workload->calls[call].model != RA_NONE &&
         !ra_residency_is_own(setup->plan, call);
}

static guint
check_plan(const char *name)
{
  g_autoptr(RaSetup) setup = load(name);
  guint n = 0;

  for (uint32_t call = 0; call < setup->workload->n_calls; call++)
    for (guint s = 0; is_user(setup, call) && s < G_N_ELEMENTS(schemes); s++) {
      const char *fault = judge(setup, call, schemes[s], FAULT_NONE);
      ck_assert_msg(!fault, "%s, %s, scheme %d: %s", name,
                    setup->workload->calls[call].name, (int)schemes[s], fault);
      n++;
    }
  return n;
}

START_TEST(test_shipped_plans)
{
  g_autofree char *folder =
      g_build_filename(g_getenv("srcdir"), "share", "plans", NULL);
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  guint n_plans = 0, n_cases = 0;

  ck_assert_ptr_nonnull(dir);
  while ((name = g_dir_read_name(dir))) {
    guint n = g_str_has_suffix(name, ".plan") ? check_plan(name) : 0;
    n_plans += n > 0;
    n_cases += n;
  }
  ck_assert_uint_ge(n_plans, 8);
  ck_assert_uint_ge(n_cases, 30);
}
END_TEST

/* A slice that is lost, comes twice or is a row off. */
START_TEST(test_faults_are_caught)
{
  g_autoptr(RaSetup) setup = load("ppo-llama2-7b-8.plan");
  uint32_t call = ra_workload_find_call(setup->workload, "actor_generate");

  for (guint s = 0; s < G_N_ELEMENTS(schemes); s++) {
    ck_assert_ptr_null(judge(setup, call, schemes[s], FAULT_NONE));
    ck_assert_ptr_nonnull(judge(setup, call, schemes[s], FAULT_DROP));
    ck_assert_ptr_nonnull(judge(setup, call, schemes[s], FAULT_TWICE));
    ck_assert_ptr_nonnull(judge(setup, call, schemes[s], FAULT_SHIFT));
  }
}
END_TEST

static Suite *
realloc_plans_suite(void)
{
  Suite *suite = suite_create("realloc_plans");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_shipped_plans);
  tcase_add_test(tcase, test_faults_are_caught);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(realloc_plans_suite)
