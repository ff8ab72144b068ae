/* Reallocations between random small layouts, element by element. */
#include "config.h"

#include "base/rng.h"
#include "graph/augment/realloc.h"
#include "tests/support/check_main.h"
#include "tests/support/realloc_oracle.h"

/* Random cases: a fresh process each BLOCK, for its time limit. */
#define N_RANDOM 600
#define BLOCK 50

static const RaReallocScheme schemes[] = {RA_REALLOC_BROADCAST, RA_REALLOC_P2P,
                                          RA_REALLOC_ALL_GATHER};

/* Features that the random cases must have among them, or they prove little. */
typedef struct {
  guint gqa;      /* tp above the kv heads on a side */
  guint tied;     /* tied embedding with pp > 1 */
  guint value;    /* value head */
  guint moe;      /* experts */
  guint disjoint; /* meshes */
  guint equal;    /* meshes */
  guint overlap;  /* meshes, not equal */
  guint virtual;  /* interleaved stages */
  guint uneven;   /* stages of unlike numbers of layers */
  guint order;    /* tp is not innermost on a side, with tp and others > 1 */
  guint ep;       /* experts spread over ranks on a side */
  guint other_ep; /* over other numbers of ranks on both */
  guint cut;      /* less than by tp, on a side */
} Seen;

static gboolean
is_uneven(const RaCallPlan *plan)
{
  for (uint32_t s = 1; s < plan->pp * plan->n_virtual; s++)
    if (plan->stage_layers[s] != plan->stage_layers[0])
      return TRUE;
  return FALSE;
}

/* TRUE if neighbouring ranks are not of one tp group. */
static gboolean
is_strided(const RaCallPlan *plan)
{
  RaCoord at;

  if (plan->tp == 1)
    return FALSE;
  at = ra_call_plan_coord(plan, 1);
  return at.at[RA_AXIS_TP] == 0;
}

static void
note(Seen *seen, const RaOracleCase *c)
{
  const RaModel *m = c->model;
  gboolean lm = m->head == RA_HEAD_LM;

  seen->gqa += c->from.tp > m->n_kv_heads || c->to.tp > m->n_kv_heads;
  seen->tied += lm && m->tied_embeddings && (c->from.pp > 1 || c->to.pp > 1);
  seen->value += !lm;
  seen->moe += m->n_experts > 0;
  seen->ep += c->from.ep > 1 || c->to.ep > 1;
  seen->other_ep += c->from.ep != c->to.ep;
  seen->cut += c->from.expert_tp < c->from.tp || c->to.expert_tp < c->to.tp;
  seen->virtual += c->from.n_virtual > 1 || c->to.n_virtual > 1;
  seen->uneven += is_uneven(&c->from) || is_uneven(&c->to);
  seen->order += is_strided(&c->from) || is_strided(&c->to);
  if (ra_mesh_equal(&c->from.mesh, &c->to.mesh))
    seen->equal++;
  else if (ra_mesh_overlaps(&c->from.mesh, &c->to.mesh))
    seen->overlap++;
  else
    seen->disjoint++;
}

/* Every element that the destination needs arrives exactly once from a GPU
 * that has it, or was held; nothing else travels; bytes of moves are those of
 * their slices; held + moved = needed. */
START_TEST(test_random)
{
  for (uint64_t seed = (uint64_t)_i * BLOCK; seed < (uint64_t)(_i + 1) * BLOCK;
       seed++) {
    RaOracleCase c;
    ra_oracle_case_init(&c, seed);
    for (guint s = 0; s < G_N_ELEMENTS(schemes); s++) {
      GArray *slices = ra_oracle_slices(&c, schemes[s]);
      g_autoptr(RaRealloc) r =
          ra_realloc_new(c.model, RA_ORACLE_ELEMENT_BYTES, &c.from, &c.to,
                         &c.cluster, schemes[s]);
      const char *fault = ra_oracle_judge(&c, schemes[s], slices, r);
      ck_assert_msg(!fault, "seed %u, scheme %d: %s", (guint)seed,
                    (int)schemes[s], fault);
      g_array_free(slices, TRUE);
    }
    ra_oracle_case_clear(&c);
  }
}
END_TEST

/* A layout of experts over 12 ranks: tp divides 12, expert-tp divides tp, and
 * ep what is left. */
static void
draw_twelve(RaRng *rng, RaCallPlan *plan)
{
  static const uint32_t divisors[] = {1, 2, 3, 4, 6, 12};
  uint32_t *degrees[] = {&plan->tp, &plan->expert_tp, &plan->ep, &plan->cp};
  uint32_t of = 12;

  for (guint i = 0; i < G_N_ELEMENTS(degrees); i++) {
    if (i == 2)
      of = 12 / plan->expert_tp;
    if (i == 3)
      of = 12 / plan->tp;
    do
      *degrees[i] = divisors[ra_rng_below(rng, G_N_ELEMENTS(divisors))];
    while (of % *degrees[i] != 0);
    of = *degrees[i];
  }
  plan->dp = 12 / plan->tp / plan->cp;
}

/* 300 pairs of such layouts, on 3 nodes, of a model of 12 experts: 2 and 3 and
 * 4 and 6 ranks share them, so that tp groups end within the ranks that share
 * a layer's experts, in some 1 of 10. */
START_TEST(test_twelve)
{
  RaRng rng = ra_rng_init(12, 0);
  uint32_t layers[] = {2};
  guint n_split = 0;
  RaModelShape shape;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 2;
  shape.hidden = 2;
  shape.heads = 12;
  shape.head_dim = 1;
  shape.ffn = 12;
  shape.vocab = 13;
  shape.seq = 3;
  shape.experts = 12;
  shape.experts_per_token = 1;
  shape.expert_ffn = 12;
  for (guint i = 0; i < 300; i++) {
    const RaMesh mesh = {
        .runs = {{0, 3}}, .n_runs = 1, .n_nodes = 3, .gpus_per_node = 4};
    RaCallPlan plan = {
        .set = TRUE,
        .mesh = mesh,
        .pp = 1,
        .n_virtual = 1,
        .stage_layers = layers,
        .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP}};
    RaOracleCase c = {
        .cluster = {.n_nodes = 3, .gpus_per_node = 4, .nics_per_node = 4},
        .from = plan,
        .to = plan};
    g_autoptr(RaModel) model = NULL;
    uint32_t sets;

    shape.kv_heads = i % 2 ? 1 : 12; /* on all tp ranks, or divided */
    c.model = model = ra_model_from_shape(&shape, NULL);
    draw_twelve(&rng, &c.from);
    draw_twelve(&rng, &c.to);
    sets = c.from.tp / c.from.expert_tp;
    n_split += sets % c.from.ep != 0 && c.from.ep % sets != 0;
    for (guint s = 0; s < G_N_ELEMENTS(schemes); s++) {
      GArray *slices = ra_oracle_slices(&c, schemes[s]);
      g_autoptr(RaRealloc) r =
          ra_realloc_new(c.model, RA_ORACLE_ELEMENT_BYTES, &c.from, &c.to,
                         &c.cluster, schemes[s]);
      const char *fault = ra_oracle_judge(&c, schemes[s], slices, r);
      ck_assert_msg(!fault, "case %u, scheme %d: %s", i, (int)schemes[s],
                    fault);
      g_array_free(slices, TRUE);
    }
  }
  ck_assert_uint_gt(n_split, 20);
}
END_TEST

START_TEST(test_random_is_varied)
{
  Seen seen = {0};

  for (uint64_t seed = 0; seed < N_RANDOM; seed++) {
    RaOracleCase c;
    ra_oracle_case_init(&c, seed);
    note(&seen, &c);
    ra_oracle_case_clear(&c);
  }
  ck_assert(seen.gqa >= 50 && seen.tied >= 50 && seen.value >= 50);
  ck_assert(seen.moe >= 50 && seen.virtual >= 20 && seen.equal >= 50);
  ck_assert(seen.ep >= 30 && seen.other_ep >= 25);
  ck_assert_uint_ge(seen.cut, 30);
  ck_assert(seen.overlap >= 50 && seen.disjoint >= 50);
  ck_assert(seen.uneven >= 50 && seen.order >= 50);
}
END_TEST

static Suite *
realloc_random_suite(void)
{
  Suite *suite = suite_create("realloc_random");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_random_is_varied);
  tcase_add_test(tcase, test_twelve);
  tcase_add_loop_test(tcase, test_random, 0, N_RANDOM / BLOCK);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(realloc_random_suite)
