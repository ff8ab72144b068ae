#include "config.h"

#include "graph/augment/realloc.h"
#include "tests/support/check_main.h"
#include "tests/support/realloc_oracle.h"

static const RaReallocScheme schemes[] = {RA_REALLOC_BROADCAST, RA_REALLOC_P2P,
                                          RA_REALLOC_ALL_GATHER};

/* A model whose matrices divide evenly by 16: 8 layers, each of 4 x 64 x 64
 * in attention and 3 x 64 x 256 in the MLP = 65,536 elements. */
#define LAYERS 8
#define MATRICES (UINT64_C(65536) * LAYERS)

static RaModel *
even_model(guint kv_heads)
{
  RaModelShape shape;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = LAYERS;
  shape.hidden = 64;
  shape.heads = 16;
  shape.kv_heads = kv_heads;
  shape.ffn = 256;
  shape.vocab = 512;
  return ra_model_from_shape(&shape, NULL);
}

/* A plan on @n_nodes nodes from @node on, stages even; clear with
 * g_free(stage_layers). */
static RaCallPlan
make_plan(const RaCluster *cluster, uint32_t node, uint32_t n_nodes,
          const uint32_t degrees[RA_N_AXES], const RaAxis axis[RA_N_AXES])
{
  RaCallPlan plan = {.set = TRUE,
                     .mesh = {.runs = {{node, n_nodes}},
                              .n_runs = 1,
                              .n_nodes = n_nodes,
                              .gpus_per_node = cluster->gpus_per_node},
                     .tp = degrees[RA_AXIS_TP],
                     .cp = degrees[RA_AXIS_CP],
                     .dp = degrees[RA_AXIS_DP],
                     .pp = degrees[RA_AXIS_PP],
                     .n_virtual = 1};

  for (int i = 0; i < RA_N_AXES; i++)
    plan.axis[i] = (uint8_t)axis[i];
  plan.stage_layers = g_new(uint32_t, plan.pp);
  for (uint32_t s = 0; s < plan.pp; s++)
    plan.stage_layers[s] = LAYERS / plan.pp;
  return plan;
}

static const RaAxis usual[] = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP};
/* the generation groups are strided: neighbours replicate */
static const RaAxis strided[] = {RA_AXIS_DP, RA_AXIS_TP, RA_AXIS_CP,
                                 RA_AXIS_PP};

/* Elements of layer matrices that each GPU receives. */
typedef struct {
  const RaModel *model;
  uint64_t received[16]; /* (GPUs) elements */
} Count;

static void
count_matrices(const RaSlice *slice, gpointer data)
{
  Count *count = data;
  RaTensor t;

  ra_model_tensor(count->model, slice->tensor, &t);
  if (t.layer >= 0 && t.kind != RA_TENSOR_NORM)
    count->received[slice->to] += slice->n_rows * slice->n_cols;
}

/* t, p, t', p' with t p <= 16 GPUs, two nodes of 8. */
static const uint32_t sizes[][4] = {
    {8, 2, 4, 1}, {8, 2, 2, 2},  {4, 4, 2, 2}, {2, 8, 1, 4}, {8, 2, 8, 2},
    {4, 4, 1, 1}, {16, 1, 4, 1}, {2, 8, 2, 1}, {8, 1, 2, 1}, {2, 4, 1, 2},
};

/* Training in the usual order is rank = i_t + t i_p.  Generation at stride
 * t / t' and p / p' wants i_t' = i_t / (t / t') and i_p' = i_p / (p / p'), so
 * with i_t = a + (t / t') i_t' and i_p = b + (p / p') i_p'
 *
 *     rank = a + (t / t') (i_t' + t' (b + (p / p') i_p')),
 *
 * which is the order dp-tp-cp-pp with dp' = t / t' and cp' = p / p' (cp
 * replicates parameters as dp does). */
static void
count_received(const uint32_t size[4], const RaAxis *order,
               RaReallocScheme scheme, Count *out_count)
{
  uint32_t n_replicas = 16 / (size[0] * size[1]);
  RaCluster cluster = {.n_nodes = 2 / n_replicas, .gpus_per_node = 8};
  const uint32_t train[] = {size[0], 1, 1, size[1]};
  const uint32_t generate[] = {size[2], size[1] / size[3], size[0] / size[2],
                               size[3]};
  g_autoptr(RaModel) model = even_model(16);
  RaCallPlan from = make_plan(&cluster, 0, cluster.n_nodes, train, usual);
  RaCallPlan to = make_plan(&cluster, 0, cluster.n_nodes, generate, order);

  *out_count = (Count){.model = model};
  ra_realloc_slices(model, &from, &to, &cluster, scheme, count_matrices,
                    out_count);
  g_free(from.stage_layers);
  g_free(to.stage_layers);
}

/* With M the layer matrices, which divide evenly by t p:
 *
 *     all-gather          (t p - 1) / (t p) M  a GPU
 *     strided generation  (t p - t' p') / (t' p' t p) M  a GPU
 *
 * The second because a GPU needs M / (t' p') and its M / (t p) is part of it.
 * HybridFlow, arXiv 2409.19256, table 2. */
START_TEST(test_closed_forms)
{
  const uint32_t *size = sizes[_i];
  uint64_t tp = size[0] * size[1], gen = size[2] * size[3];
  uint64_t expected[3] = {MATRICES / gen - MATRICES / tp,
                          MATRICES / gen - MATRICES / tp,
                          MATRICES - MATRICES / tp};

  ck_assert_uint_eq(expected[0] * gen * tp, MATRICES * (tp - gen));
  ck_assert_uint_eq(expected[2] * tp, MATRICES * (tp - 1));
  for (guint s = 0; s < G_N_ELEMENTS(schemes); s++) {
    Count count;
    count_received(size, strided, schemes[s], &count);
    for (uint32_t gpu = 0; gpu < tp; gpu++)
      ck_assert_uint_eq(count.received[gpu], expected[s]);
  }
}
END_TEST

/* Fault: with the generation ranks in the usual order rank 1 of t = 8 keeps
 * eighth 1 but needs quarter 1, that is eighths 2 and 3: the form must fail. */
START_TEST(test_closed_form_wants_stride)
{
  static const uint32_t size[] = {8, 1, 4, 1};
  Count count;

  count_received(size, usual, RA_REALLOC_P2P, &count);
  ck_assert_uint_ne(count.received[1], MATRICES / 4 - MATRICES / 8);
  count_received(size, strided, RA_REALLOC_P2P, &count);
  ck_assert_uint_eq(count.received[1], MATRICES / 4 - MATRICES / 8);
}
END_TEST

/* Elements that cross nodes. */
static uint64_t
sum_inter(const RaRealloc *r, const RaCluster *cluster)
{
  uint64_t bytes = 0;

  for (gsize i = 0; i < r->n_moves; i++)
    if (r->moves[i].from / cluster->gpus_per_node !=
        r->moves[i].to / cluster->gpus_per_node)
      bytes += r->moves[i].bytes;
  return bytes;
}

/* All 8 GPUs of node 1 need all M bytes of the model and hold none.  A
 * broadcast carries M across once, P2P eight times; both deliver 8 M. */
static void
check_network(const uint32_t source[RA_N_AXES])
{
  RaCluster cluster = {.n_nodes = 2, .gpus_per_node = 8};
  static const uint32_t dp8[] = {1, 1, 8, 1};
  g_autoptr(RaModel) model = even_model(16);
  RaCallPlan from = make_plan(&cluster, 0, 1, source, usual);
  RaCallPlan to = make_plan(&cluster, 1, 1, dp8, usual);
  uint64_t m = 2 * ra_model_n_params(model);
  g_autoptr(RaRealloc) b =
      ra_realloc_new(model, 2, &from, &to, &cluster, RA_REALLOC_BROADCAST);
  g_autoptr(RaRealloc) p =
      ra_realloc_new(model, 2, &from, &to, &cluster, RA_REALLOC_P2P);

  ck_assert_uint_eq(sum_inter(b, &cluster), m);
  ck_assert_uint_eq(b->load.total_bytes, 8 * m);
  ck_assert_uint_eq(sum_inter(p, &cluster), 8 * m);
  ck_assert_uint_eq(p->load.total_bytes, 8 * m);
  ck_assert_uint_eq(b->load.held_bytes + p->load.held_bytes, 0);
  /* The model goes in 8 runs of whole units, none larger than M / 8 plus a
   * unit (a layer, 65,536 + 128 elements, is the largest), each over NICs
   * that were idle: none sends or lands more. */
  ck_assert_uint_le(b->load.max_inter_bytes, m / 8 + 2 * (65536 + 128));
  g_free(from.stage_layers);
  g_free(to.stage_layers);
}

/* From shards, and from replicas, which must share the work as well: one that
 * served alone would send M. */
START_TEST(test_network_once)
{
  check_network((const uint32_t[]){8, 1, 1, 1});
  check_network((const uint32_t[]){1, 1, 8, 1});
}
END_TEST

/* GPUs 0 and 1 of a node hold all M, the 6 others need it.  P2P: each holder
 * serves three, 3 M out.  Broadcast: who has received serves too, always one
 * that has not yet served, so nobody sends more than the M it received. */
START_TEST(test_node_shares_work)
{
  RaCluster cluster = {.n_nodes = 1, .gpus_per_node = 8};
  static const uint32_t dp2[] = {1, 1, 2, 1}, dp8[] = {1, 1, 8, 1};
  g_autoptr(RaModel) model = even_model(16);
  RaCallPlan from = make_plan(&cluster, 0, 1, dp2, usual);
  RaCallPlan to = make_plan(&cluster, 0, 1, dp8, usual);
  uint64_t m = 2 * ra_model_n_params(model);

  from.mesh.gpus_per_node = 2;
  g_autoptr(RaRealloc) p =
      ra_realloc_new(model, 2, &from, &to, &cluster, RA_REALLOC_P2P);
  g_autoptr(RaRealloc) b =
      ra_realloc_new(model, 2, &from, &to, &cluster, RA_REALLOC_BROADCAST);
  ck_assert_uint_eq(p->load.max_intra_bytes, 3 * m);
  ck_assert_uint_eq(b->load.max_intra_bytes, m);
  ck_assert_uint_eq(p->load.held_bytes, 2 * m);
  ck_assert_uint_eq(p->load.total_bytes, 6 * m);
  g_free(from.stage_layers);
  g_free(to.stage_layers);
}
END_TEST

/* One GPU needs what 8 replicas on another node hold: 10 units in 8 runs, so
 * all 8 send (with the sizes of even_model() the runs end after units 1, 2,
 * 3, 5, 6, 7, 8 and 9 of 0 to 9). */
START_TEST(test_replicas_share_work)
{
  RaCluster cluster = {.n_nodes = 2, .gpus_per_node = 8};
  static const uint32_t dp8[] = {1, 1, 8, 1}, one[] = {1, 1, 1, 1};
  g_autoptr(RaModel) model = even_model(16);
  RaCallPlan from = make_plan(&cluster, 0, 1, dp8, usual);
  RaCallPlan to = make_plan(&cluster, 1, 1, one, usual);

  to.mesh.gpus_per_node = 1;
  g_autoptr(RaRealloc) r =
      ra_realloc_new(model, 2, &from, &to, &cluster, RA_REALLOC_P2P);
  ck_assert_uint_eq(r->n_moves, 8);
  ck_assert_uint_eq(r->load.n_steps, 8);
  ck_assert_uint_eq(r->load.max_inter_bytes, 2 * ra_model_n_params(model));
  g_free(from.stage_layers);
  g_free(to.stage_layers);
}
END_TEST

/* The same layout: nothing moves, all is held: 16 replicas of M. */
START_TEST(test_nothing_to_do)
{
  RaCluster cluster = {.n_nodes = 2, .gpus_per_node = 8};
  static const uint32_t dp16[] = {1, 1, 16, 1};
  g_autoptr(RaModel) model = even_model(16);
  RaCallPlan plan = make_plan(&cluster, 0, 2, dp16, usual);
  g_autoptr(RaRealloc) r =
      ra_realloc_new(model, 2, &plan, &plan, &cluster, RA_REALLOC_BROADCAST);

  ck_assert_uint_eq(r->n_moves, 0);
  ck_assert_uint_eq(r->load.held_bytes, 32 * ra_model_n_params(model));
  g_free(plan.stage_layers);
}
END_TEST

/* tp = 2 to tp = 8 with 2 kv heads on other nodes: GQA, relays, a tie. */
static void
fault_case(RaOracleCase *c)
{
  static const uint32_t tp2[] = {2, 1, 4, 1}, tp8[] = {8, 1, 1, 1};

  *c = (RaOracleCase){.cluster = {.n_nodes = 2, .gpus_per_node = 8}};
  c->model = even_model(2);
  c->from = make_plan(&c->cluster, 0, 1, tp2, usual);
  c->to = make_plan(&c->cluster, 1, 1, tp8, usual);
}

typedef enum {
  FAULT_NONE,
  FAULT_DROP,      /* a slice is lost */
  FAULT_TWICE,     /* a slice is sent twice */
  FAULT_ELSEWHERE, /* a slice goes to a GPU that does not need it */
  FAULT_ORDER,     /* relays first */
  FAULT_ACROSS,    /* a relayed slice comes over the network instead */
  FAULT_GQA,       /* K and V only to the first of the tp ranks that share */
  FAULT_MOVE,      /* a move is a byte off */
  FAULT_HELD,      /* held is a byte off */
  FAULT_BUSIEST,   /* the largest flow is a byte off */
  N_FAULTS
} Fault;

/* The last slice that a GPU of node 1 passes on comes from node 0 instead,
 * from where it came to the first of them. */
static void
redirect_relay(GArray *slices)
{
  RaSlice *last = &g_array_index(slices, RaSlice, slices->len - 1);

  while (last->from < 8)
    last--;
  for (guint i = 0; i < slices->len; i++) {
    const RaSlice *s = &g_array_index(slices, RaSlice, i);
    if (s->tensor == last->tensor && s->row == last->row && s->from < 8)
      last->from = s->from;
  }
}

static void
spoil(const RaModel *model, Fault fault, GArray *slices, RaRealloc *r)
{
  RaSlice first = g_array_index(slices, RaSlice, 0);

  if (fault == FAULT_DROP)
    g_array_remove_index(slices, 0);
  else if (fault == FAULT_TWICE)
    g_array_append_val(slices, first);
  else if (fault == FAULT_ELSEWHERE)
    g_array_index(slices, RaSlice, 0).to = first.from == 0 ? 1 : 0;
  else if (fault == FAULT_ACROSS)
    redirect_relay(slices);
  else if (fault == FAULT_ORDER)
    for (guint i = 0; i < slices->len / 2; i++) {
      RaSlice *a = &g_array_index(slices, RaSlice, i);
      RaSlice *b = &g_array_index(slices, RaSlice, slices->len - 1 - i);
      RaSlice swap = *a;
      *a = *b;
      *b = swap;
    }
  else if (fault == FAULT_GQA)
    for (guint i = slices->len; i-- > 0;) {
      const RaSlice *s = &g_array_index(slices, RaSlice, i);
      RaTensor t;
      ra_model_tensor(model, s->tensor, &t);
      if ((t.kind == RA_TENSOR_K || t.kind == RA_TENSOR_V) && s->to % 4 != 0)
        g_array_remove_index(slices, i);
    }
  r->moves[0].bytes += fault == FAULT_MOVE;
  r->load.held_bytes += fault == FAULT_HELD;
  r->load.max_inter_bytes += fault == FAULT_BUSIEST;
}

/* The oracle must find each; without a fault it must find nothing. */
START_TEST(test_faults_are_caught)
{
  RaOracleCase c;
  RaReallocScheme scheme = RA_REALLOC_BROADCAST;

  fault_case(&c);
  GArray *slices = ra_oracle_slices(&c, scheme);
  g_autoptr(RaRealloc) r = ra_realloc_new(c.model, RA_ORACLE_ELEMENT_BYTES,
                                          &c.from, &c.to, &c.cluster, scheme);
  spoil(c.model, (Fault)_i, slices, r);
  const char *fault = ra_oracle_judge(&c, scheme, slices, r);
  ck_assert_msg((fault != NULL) == (_i != FAULT_NONE), "%s",
                fault ? fault : "not caught");
  g_array_free(slices, TRUE);
  ra_oracle_case_clear(&c);
}
END_TEST

/* Experts in the wrong place: slices made for a destination where every rank
 * has all experts, judged where ep ranks share them, and the other way round.
 * Taken from the random cases that have ep > 1 at the destination. */
START_TEST(test_ep_faults_are_caught)
{
  guint n_cases = 0, n_caught[2] = {0};

  for (uint64_t seed = 0; seed < 200; seed++) {
    RaOracleCase c;
    uint32_t ep;
    ra_oracle_case_init(&c, seed);
    ep = c.to.ep;
    /* With zero 3 each GPU has as much of the experts either way, and where the
     * source has all of it nothing moves. */
    if (ep > 1 && c.to.zero < 3) {
      n_cases++;
      for (guint i = 0; i < 2; i++) {
        c.to.ep = i == 0 ? 1 : ep;
        GArray *slices = ra_oracle_slices(&c, RA_REALLOC_P2P);
        g_autoptr(RaRealloc) r =
            ra_realloc_new(c.model, RA_ORACLE_ELEMENT_BYTES, &c.from, &c.to,
                           &c.cluster, RA_REALLOC_P2P);
        c.to.ep = i == 0 ? ep : 1;
        n_caught[i] += ra_oracle_judge(&c, RA_REALLOC_P2P, slices, r) != NULL;
        g_array_free(slices, TRUE);
      }
    }
    ra_oracle_case_clear(&c);
  }
  ck_assert_uint_gt(n_cases, 5);
  ck_assert_uint_eq(n_caught[0], n_cases);
  ck_assert_uint_eq(n_caught[1], n_cases);
}
END_TEST

/* The same for ranks that cut an expert: moves to a layout where tp cuts it,
 * judged where it is whole or in larger parts, and the other way round. */
START_TEST(test_expert_tp_faults_are_caught)
{
  guint n_cases = 0, n_caught = 0;

  for (uint64_t seed = 0; seed < 400; seed++) {
    RaOracleCase c;
    uint32_t cut;
    ra_oracle_case_init(&c, seed);
    cut = c.to.expert_tp;
    /* ep divides both; of a narrower expert both may give a rank nothing */
    if (c.to.ep == 1 && cut < c.to.tp && c.model->expert_ffn >= c.to.tp)
      for (guint i = 0; i < 2; i++) {
        n_cases++;
        c.to.expert_tp = i == 0 ? c.to.tp : cut;
        GArray *slices = ra_oracle_slices(&c, RA_REALLOC_P2P);
        g_autoptr(RaRealloc) r =
            ra_realloc_new(c.model, RA_ORACLE_ELEMENT_BYTES, &c.from, &c.to,
                           &c.cluster, RA_REALLOC_P2P);
        c.to.expert_tp = i == 0 ? cut : c.to.tp;
        n_caught += ra_oracle_judge(&c, RA_REALLOC_P2P, slices, r) != NULL;
        g_array_free(slices, TRUE);
      }
    ra_oracle_case_clear(&c);
  }
  ck_assert_uint_gt(n_cases, 5);
  ck_assert_uint_eq(n_caught, n_cases);
}
END_TEST

static Suite *
realloc_suite(void)
{
  Suite *suite = suite_create("realloc");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_closed_forms, 0, G_N_ELEMENTS(sizes));
  tcase_add_test(tcase, test_closed_form_wants_stride);
  tcase_add_test(tcase, test_network_once);
  tcase_add_test(tcase, test_node_shares_work);
  tcase_add_test(tcase, test_replicas_share_work);
  tcase_add_test(tcase, test_nothing_to_do);
  tcase_add_loop_test(tcase, test_faults_are_caught, 0, N_FAULTS);
  tcase_add_test(tcase, test_ep_faults_are_caught);
  tcase_add_test(tcase, test_expert_tp_faults_are_caught);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(realloc_suite)
