#include "config.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "exec/backend/backend_cuda.h"
#include "exec/comm/comm_local.h"
#include "exec/comm/comm_nccl.h"
#include "exec/model/stage_steps.h"
#include "tests/emulator/graph.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/nccl.h"
#include "tests/emulator/queue.h"
#include "tests/support/check_main.h"

/* Steps of generation that are captured and begun again, on the emulated
 * device, which notes what is begun with its arguments and runs it when it is
 * told to: beside the same steps begun op by op, each addition before the norm
 * behind it, bit for bit, logits and caches.
 * Every step has other tokens, positions and slots, so what a graph takes from
 * the step that it was captured from shows.
 */

enum { HIDDEN = 128, LAYERS = 2, VOCAB = 48, SLOTS = 16, POSITIONS = 600 };

static const char *const families[] = {"llama", "qwen3", "gpt2", "bloom",
                                       "mixtral"};

static const RaPiece whole = {
    .n_layers = LAYERS, .has_embedding = TRUE, .has_head = TRUE};
static const RaPiece first = {.n_layers = 1, .has_embedding = TRUE};
static const RaPiece last = {.first_layer = 1, .n_layers = 1, .has_head = TRUE};

static RaModel *
new_model(const char *family)
{
  g_autoptr(GError) error = NULL;
  gboolean is_bloom = strcmp(family, "bloom") == 0;
  gboolean is_gpt2 = strcmp(family, "gpt2") == 0;
  g_autofree char *text = g_strdup_printf(
      "{\"model_type\": \"%s\", \"%s\": %d, \"%s\": %d, \"%s\": %d, "
      "%s\"vocab_size\": %d, \"n_positions\": 1024, "
      "%s\"tie_word_embeddings\": true}",
      family, is_gpt2 ? "n_embd" : "hidden_size", HIDDEN,
      is_gpt2 || is_bloom ? "n_layer" : "num_hidden_layers", LAYERS,
      is_gpt2 || is_bloom ? "n_head" : "num_attention_heads",
      is_gpt2 || is_bloom ? 2 : 4,
      is_gpt2    ? "\"activation_function\": \"gelu_new\", "
      : is_bloom ? ""
                 : "\"num_key_value_heads\": 2, \"head_dim\": 64, "
                   "\"intermediate_size\": 64, \"hidden_act\": \"silu\", "
                   "\"max_position_embeddings\": 1024, ",
      VOCAB,
      strcmp(family, "mixtral") == 0
          ? "\"num_local_experts\": 8, \"num_experts_per_tok\": 2, "
          : "");
  RaModel *model = ra_model_parse("tiny.json", text, strlen(text), &error);

  ck_assert_msg(model != NULL, "%s", error ? error->message : "");
  return model;
}

/* A rank with its cache, whose steps are begun op by op or captured. */
typedef struct {
  RaParams *params;
  RaComm *comm;
  RaStage *stage;
  RaCache *cache;
} Side;

static const RaCacheShape cached = {.n_layers = LAYERS,
                                    .n_slots = SLOTS,
                                    .n_positions = POSITIONS,
                                    .page_tokens = 16};

static gsize
cache_bytes(const Side *s)
{
  const RaCacheShape *shape = ra_cache_shape(s->cache);

  return (gsize)shape->n_pages * ra_cache_page_rows(s->cache) * shape->width *
         s->stage->backend->elem_bytes;
}

static Side
side_new(const RaBackend *backend, const RaTensorTable *table, uint32_t tp,
         RaComm *comm, uint32_t rank)
{
  uint32_t layers = LAYERS;
  RaCallPlan plan = {.set = TRUE,
                     .dp = 1,
                     .tp = tp,
                     .pp = 1,
                     .cp = 1,
                     .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
                     .n_virtual = 1,
                     .stage_layers = &layers};
  RaNumerics numerics = RA_NUMERICS_DEFAULT;
  Side s;

  s.params = ra_params_new_on(backend, table, &plan, rank);
  ra_params_seed(s.params, 7);
  s.comm = comm;
  s.stage = ra_stage_new(backend, s.params, tp, s.comm, RA_RECOMPUTE_NONE, 1024,
                         &numerics);
  s.cache = ra_stage_new_cache(s.stage, &cached);
  backend->zero(ra_cache_keys(s.cache, 0), cache_bytes(&s));
  return s;
}

static void
side_clear(Side *s)
{
  ra_cache_free(s->cache);
  ra_stage_free(s->stage);
  ra_params_free(s->params);
  if (s->comm)
    ra_comm_free(s->comm);
}

/* Step @k of @n sequences, from @at on: what it makes, on the whole model or
 * stage by stage. */
static void
run_step(const Side *s, uint32_t k, uint32_t n, uint32_t at, gboolean staged,
         float *logits)
{
  uint32_t slots[SLOTS], tokens[SLOTS], positions[SLOTS];
  RaElem *rows;

  for (uint32_t i = 0; i < n; i++) {
    slots[i] = (i * 5 + k) % SLOTS;
    tokens[i] = (i * 7 + k * 11) % VOCAB;
    positions[i] = at + (i + k) % 3;
  }
  if (!staged) {
    ra_stage_decode(s->stage, &whole, s->cache, n, slots, tokens, positions,
                    NULL, logits);
    return;
  }
  rows = ra_stage_take(s->stage, n * HIDDEN);
  ra_stage_decode(s->stage, &first, s->cache, n, slots, tokens, positions, NULL,
                  rows);
  ra_stage_decode(s->stage, &last, s->cache, n, slots, NULL, positions, rows,
                  logits);
  ra_stage_give(s->stage, rows);
}

static gboolean
is_same_cache(const Side *a, const Side *b)
{
  const RaBackend *backend = ra_backend_cuda();
  gsize n = cache_bytes(a);
  g_autofree char *x = g_malloc(n), *y = g_malloc(n);

  backend->read(x, ra_cache_keys(a->cache, 0), n);
  backend->read(y, ra_cache_keys(b->cache, 0), n);
  return memcmp(x, y, n) == 0;
}

/* Sequences and positions of steps.  Of 5 to 8 sequences the shape is one, of
 * 8; others are of 4, of 1 and of 2, and of 2 with more than 512 tokens, whose
 * attention is split (ra_k_decode_parts()). */
static const struct {
  uint32_t n, at;
} steps[] = {{5, 3}, {5, 4}, {7, 5}, {8, 6},   {4, 7},   {4, 8},  {3, 9},
             {1, 9}, {6, 4}, {2, 9}, {2, 520}, {2, 521}, {2, 522}};

typedef struct {
  const char *family;
  uint32_t tp, rank;
  gboolean staged;
  const RaBackend *captures; /* the table of the side that does */
  RaLocalGroup *groups[2];
  const RaCommGroups
      *splits; /* the captured side's group is NCCL's; NULL: local */
  RaNcclId id;
  guint n_wrong; /* steps whose logits differ */
  guint n_waits; /* of the host for the device, in a step that was begun again,
                    at most */
  guint n_begun; /* graphs of such a step, at most */
  guint n_wrong_draws; /* tokens that differ */
  guint n_draw_waits;  /* as n_waits, where the device keeps the tokens */
  gboolean same_cache;
  RaStepsTally tally;
} Run;

/* --- tokens that stay on the device --- */

enum { DRAWS = 9, DRAWN = 4 }; /* steps; sequences at most */

/* Sequences of step @k: the last one has its turn in the first and the last
 * third, in the latter with a token of the host's, as if admitted. */
static uint32_t
n_drawn(uint32_t k)
{
  return k / 3 == 1 ? DRAWN - 1 : DRAWN;
}

/* DRAWS steps, each of the tokens that the last one drew, which are waited for
 * step by step or, with @later, once at the end: (DRAWS, DRAWN) @out, and the
 * waits of a step from @since on, at most. */
static guint
draw_steps(const Side *s, gboolean later, uint32_t since, RaCpuSample *out)
{
  const RaBackend *b = ra_backend_cuda();
  RaCpuSample *made = b->alloc_host(DRAWS * DRAWN * sizeof *made);
  uint32_t slots[DRAWN] = {9, 2, 14, 5}, tokens[DRAWN] = {3, 1, 4, 15};
  uint32_t positions[DRAWN] = {0, 7, 3, 30};
  guint n_waits = 0;

  memset(made, 0, DRAWS * DRAWN * sizeof *made);
  for (uint32_t k = 0; k < DRAWS; k++) {
    uint32_t n = n_drawn(k);
    double uniforms[DRAWN];
    RaDraw draw = {.how = {1, 0, 1},
                   .uniforms = uniforms,
                   .out = made + k * DRAWN,
                   .n_slots = SLOTS,
                   .slots = later ? slots : NULL};
    size_t before = ra_emu_n_waits();

    for (uint32_t i = 0; i < n; i++)
      uniforms[i] = fmod(0.37 * (k + 1) + 0.21 * i, 1);
    s->stage->draw = &draw;
    ra_stage_decode(s->stage, &whole, s->cache, n, slots, tokens, positions,
                    NULL, NULL);
    s->stage->draw = NULL;
    if (k >= since)
      n_waits = MAX(n_waits, (guint)(ra_emu_n_waits() - before));
    for (uint32_t i = 0; i < n; i++) {
      tokens[i] = later ? RA_TOKEN_DRAWN | slots[i] : draw.out[i].token;
      positions[i]++;
    }
    tokens[DRAWN - 1] = k == 5 ? 21 : tokens[DRAWN - 1];
  }
  b->wait();
  memcpy(out, made, DRAWS * DRAWN * sizeof *out);
  b->free_host(made);
  return n_waits;
}

/* Step by step on the plain side, later on the other.  A shape of 4, padded
 * from 3, is begun again from the third step on. */
static void
run_draws(Run *r, const Side *plain, const Side *captured)
{
  RaCpuSample expected[DRAWS * DRAWN], made[DRAWS * DRAWN];
  guint n_kinds = 0;

  draw_steps(plain, FALSE, 0, expected);
  r->n_draw_waits = draw_steps(captured, TRUE, 2, made);
  for (guint i = 0; i < DRAWS * DRAWN; i++) {
    r->n_wrong_draws += memcmp(&expected[i], &made[i], sizeof made[i]) != 0;
    n_kinds += expected[i].token != expected[0].token;
  }
  ck_assert_uint_gt(n_kinds, DRAWS); /* the tokens are not one */
}

static void
lose(const char *line, gpointer data)
{
  (void)data;
  g_error("%s", line);
}

static RaNccl *
join(const Run *r)
{
  RaNcclOptions options = {nccl_double(), 60, lose, NULL, 0};
  g_autoptr(GError) error = NULL;
  RaNccl *nccl;

  nccl_double_enter();
  nccl = ra_nccl_new(&options, &r->id, r->tp, r->rank, &error);
  g_assert_no_error(error);
  ra_nccl_split(nccl, r->splits, NULL, &error);
  g_assert_no_error(error);
  return nccl;
}

static RaComm *
local_comm(const Run *r, guint which)
{
  return r->groups[which] ? ra_local_comm_new(r->groups[which], r->rank) : NULL;
}

static _Thread_local guint n_begun;

static void
count_graph(RaBackendGraph *graph)
{
  n_begun++;
  ra_backend_cuda()->begin_graph(graph);
}

/* The device's table without additions in norms. */
static const RaBackend *
adds_apart(void)
{
  static RaBackend table;
  static gsize is_made;

  if (g_once_init_enter(&is_made)) {
    table = *ra_backend_cuda();
    table.add_norm = NULL;
    table.add_layer_norm = NULL;
    g_once_init_leave(&is_made, 1);
  }
  return &table;
}

static void *
run_rank(void *data)
{
  Run *r = data;
  RaNccl *nccl = r->splits ? join(r) : NULL;
  g_autoptr(RaModel) model = new_model(r->family);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  const RaBackend *apart = adds_apart();
  Side plain = side_new(apart, table, r->tp, local_comm(r, 0), r->rank);
  Side captured =
      side_new(r->captures, table, r->tp,
               nccl ? ra_nccl_comm_new(nccl, 0) : local_comm(r, 1), r->rank);

  ra_stage_capture_steps(captured.stage);
  r->n_wrong = 0;
  for (uint32_t k = 0; k < G_N_ELEMENTS(steps); k++) {
    float expected[SLOTS * VOCAB], logits[SLOTS * VOCAB];
    uint32_t n = steps[k].n;
    guint n_plain = ra_steps_tally(captured.stage).n_plain;
    guint n_captured = ra_steps_tally(captured.stage).n_captured;
    size_t before;

    n_begun = 0;
    run_step(&plain, k, n, steps[k].at, r->staged, expected);
    before = ra_emu_n_waits();
    run_step(&captured, k, n, steps[k].at, r->staged, logits);
    if (ra_steps_tally(captured.stage).n_plain == n_plain &&
        ra_steps_tally(captured.stage).n_captured == n_captured) {
      r->n_waits = MAX(r->n_waits, (guint)(ra_emu_n_waits() - before));
      r->n_begun = MAX(r->n_begun, n_begun);
    }
    r->n_wrong += memcmp(expected, logits, n * VOCAB * sizeof(float)) != 0;
    ck_assert_uint_eq(plain.stage->n_ops, captured.stage->n_ops);
    ck_assert(!captured.stage->bad.is_set);
  }
  r->tally = ra_steps_tally(captured.stage);
  if (!r->staged)
    run_draws(r, &plain, &captured);
  r->same_cache = is_same_cache(&plain, &captured);
  side_clear(&plain);
  side_clear(&captured);
  if (nccl) {
    nccl_double_leave(); /* its guard waits, whom no watchdog knows */
    ra_nccl_free(nccl);
  }
  return NULL;
}

static void
run_ranks(Run *run)
{
  Run ranks[2];
  pthread_t threads[2];

  for (int i = 0; i < 2; i++)
    run->groups[i] = run->tp > 1 ? ra_local_group_new(run->tp, FALSE) : NULL;
  for (uint32_t r = 0; r < run->tp; r++) {
    ranks[r] = *run;
    ranks[r].rank = r;
    pthread_create(&threads[r], NULL, run_rank, &ranks[r]);
  }
  for (uint32_t r = 0; r < run->tp; r++)
    pthread_join(threads[r], NULL);
  for (uint32_t r = 1; r < run->tp; r++)
    ck_assert_uint_eq(ranks[r].n_wrong, ranks[0].n_wrong);
  *run = ranks[0];
  for (int i = 0; i < 2; i++)
    g_clear_pointer(&run->groups[i], ra_local_group_free);
  ck_assert_msg(!ra_backend_cuda()->failure(), "%s",
                ra_backend_cuda()->failure());
}

/* A shape is rehearsed, captured, and then begun again: that of 8 sequences 1 +
 * 1 + 3 times, of 4 1 + 1 + 1, of 1 and of 2 once, of 2 with many tokens 1 + 1
 * + 1; of two stages twice that. */
START_TEST(test_steps)
{
  int i = _i * RA_CHECK_SHARE;
  Run run = {.family = families[i % 5],
             .tp = i / 5 % 2 + 1,
             .staged = i / 10 == 1,
             .captures = ra_backend_cuda()};
  guint n = run.staged ? 2 : 1;

  run_ranks(&run);
  ck_assert_uint_eq(run.n_wrong, 0);
  ck_assert_uint_eq(run.n_wrong_draws, 0);
  ck_assert(run.same_cache);
  ck_assert_uint_eq(run.tally.n_refused, 0);
  ck_assert_uint_eq(run.tally.n_plain, 5 * n);
  ck_assert_uint_eq(run.tally.n_captured, 3 * n);
  ck_assert_uint_eq(run.tally.n_graphs, 5 * n);
}
END_TEST

/* Over NCCL the sums of a step are captured with its ops: two ranks begin one
 * graph and wait for it once, for the logits, as one rank alone; where the
 * device keeps the tokens that it draws, never.  Over threads, which meet on
 * the host, they wait before and behind each sum, and have a graph between
 * two. */
START_TEST(test_waits)
{
  uint32_t both[] = {0, 1};
  RaBackend counts = *ra_backend_cuda();
  g_autoptr(RaCommGroups) splits = ra_comm_groups_new(2);
  Run over_nccl = {
      .family = families[_i], .tp = 2, .splits = splits, .captures = &counts};
  Run alone = {.family = families[_i], .tp = 1, .captures = &counts};
  Run over_threads = alone;

  counts.begin_graph = count_graph;
  ra_comm_groups_add(splits, RA_NONE, RA_GROUP_WORLD, RA_STREAM_TP, 2, both);
  nccl_double_set_memory(ra_emu_nccl_memory());
  nccl_double_begin(2, (guint)_i);
  ck_assert(ra_nccl_id(nccl_double(), &over_nccl.id, NULL));
  ra_emu_seed_queues((guint)_i, _i % 2);
  ra_emu_late_ops(TRUE);
  run_ranks(&over_nccl);
  ra_emu_late_ops(FALSE);
  nccl_double_end();
  run_ranks(&alone);
  over_threads.tp = 2;
  run_ranks(&over_threads);
  ck_assert_uint_eq(over_nccl.n_wrong, 0);
  ck_assert_uint_eq(over_nccl.n_wrong_draws, 0);
  ck_assert(over_nccl.same_cache);
  ck_assert_uint_eq(alone.n_draw_waits, 0);
  ck_assert_uint_eq(over_nccl.n_draw_waits, 0);
  ck_assert_uint_ge(over_threads.n_draw_waits, 2 * 2 * LAYERS);
  ck_assert_uint_eq(alone.n_waits, 1);
  ck_assert_uint_eq(over_nccl.n_waits, 1);
  ck_assert_uint_ge(over_threads.n_waits, 1 + 2 * 2 * LAYERS);
  ck_assert_uint_eq(alone.n_begun, 1);
  ck_assert_uint_eq(over_nccl.n_begun, 1);
  ck_assert_uint_ge(over_threads.n_begun, 1 + 2 * LAYERS);
}
END_TEST

/* --- faults --- */

static RaBackend faulty;

static void
keep_none(gsize n, const uint32_t *words)
{
  (void)n, (void)words;
}

/* Where they are is known, what they are now is not sent: no word changes. */
static void
keep_first(gsize n, const uint32_t *words)
{
  static uint32_t *was;
  static gsize n_was;

  if (n == n_was && n > 0) {
    g_autofree uint32_t *now = g_memdup2(words, n * sizeof *words);

    memcpy((uint32_t *)(gsize)words, was, n * sizeof *words);
    ra_backend_cuda()->keep_words(n, words);
    memcpy((uint32_t *)(gsize)words, now, n * sizeof *words);
    return;
  }
  if (n > 0) {
    g_free(was);
    was = g_memdup2(words, n * sizeof *words);
    n_was = n;
  }
  ra_backend_cuda()->keep_words(n, words);
}

static void
begin_nothing(RaBackendGraph *graph)
{
  (void)graph;
}

/* Nothing is kept: what has words from the host cannot be captured, and the
 * steps run op by op, right. */
START_TEST(test_refused)
{
  Run run = {.family = "qwen3", .tp = 1, .captures = &faulty};

  faulty = *ra_backend_cuda();
  faulty.keep_words = keep_none;
  run_ranks(&run);
  ck_assert_uint_eq(run.n_wrong, 0);
  ck_assert(run.same_cache);
  ck_assert_uint_eq(run.tally.n_captured, 0);
  ck_assert_uint_eq(run.tally.n_refused, 3);
  ck_assert_uint_eq(run.tally.n_graphs, 0);
}
END_TEST

/* Faults that the comparison must see: graphs that are not begun, and words of
 * another step. */
START_TEST(test_fault)
{
  Run run = {.family = "llama", .tp = 1, .captures = &faulty};

  faulty = *ra_backend_cuda();
  if (_i == 0)
    faulty.begin_graph = begin_nothing;
  else
    faulty.keep_words = keep_first;
  run_ranks(&run);
  ck_assert_uint_gt(run.n_wrong, 0);
  ck_assert(!run.same_cache);
}
END_TEST

/* --- what moves --- */

/* Steps of a llama, captured; then its rooms move, as an op of more rows makes
 * them; then a step, which must be captured anew: where the words were is
 * poison now, as a number of a token or of a row no place at all. */
START_TEST(test_moved)
{
  enum { MANY = 50000, N = 6 };
  const RaBackend *b = ra_backend_cuda();
  g_autoptr(RaModel) model = new_model("llama");
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  Side plain = side_new(b, table, 1, NULL, 0);
  Side captured = side_new(b, table, 1, NULL, 0);
  g_autofree uint32_t *words = g_new0(uint32_t, MANY);
  float expected[SLOTS * VOCAB], logits[SLOTS * VOCAB];

  ra_stage_capture_steps(captured.stage);
  for (uint32_t k = 0; k < 4; k++) {
    run_step(&plain, k, N, 5 + k, FALSE, expected);
    run_step(&captured, k, N, 5 + k, FALSE, logits);
    ck_assert_mem_eq(expected, logits, N * VOCAB * sizeof(float));
    if (k == 2)
      b->keep_words(MANY, words);
  }
  ck_assert_uint_eq(ra_steps_tally(captured.stage).n_captured, 2);
  ck_assert_uint_eq(ra_steps_tally(captured.stage).n_graphs, 1);
  ck_assert(!b->failure());
  side_clear(&plain);
  side_clear(&captured);
}
END_TEST

/* --- what is not finite --- */

/* A step of which layer 1 has a NaN in its second GEMM.  Where every op is
 * checked, the same op is named as with ops begun one by one, where each is
 * waited for; else the NaN arrives at the logits. */
START_TEST(test_odd)
{
  g_autoptr(RaModel) model = new_model("llama");
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  Side s = side_new(ra_backend_cuda(), table, 1, NULL, 0);
  const RaParam *o = ra_params_find(s.params, RA_TENSOR_O, 1, FALSE);
  float logits[SLOTS * VOCAB], nan_x = NAN;
  RaBadOp bad;

  s.stage->checks_ops = _i == 0;
  ra_stage_capture_steps(s.stage);
  for (uint32_t k = 0; k < 4; k++) {
    if (k == 3) {
      ck_assert(!s.stage->bad.is_set);
      ra_params_write(s.params, RA_PARAMS_WEIGHTS, o->offset, 1, &nan_x);
      s.stage->n_ops = 0;
    }
    ra_stage_leave(s.stage, k + 1, 0);
    run_step(&s, k, 3, 5 + k, FALSE, logits);
  }
  bad = s.stage->bad;
  ck_assert(bad.is_set);
  ck_assert_uint_eq(ra_steps_tally(s.stage).n_graphs, 2);
  ck_assert_int_eq(bad.kind, RA_OP_GEMM);
  ck_assert_uint_eq(bad.place.decode, 4);
  ck_assert_int_eq(bad.is_block, _i == 1);
  if (bad.is_block) {
    ck_assert_uint_eq(bad.place.block, RA_BLOCK_HEAD);
  } else {
    ck_assert_uint_eq(bad.place.layer, 1);
    ck_assert_uint_eq(bad.place.step, 4); /* norm, qkv, rope, attention, it */
    /* the embedding, a layer of 11, those four */
    ck_assert_uint_eq(bad.number, 1 + 11 + 4);
  }
  side_clear(&s);
}
END_TEST

/* Six steps, op by op or captured, whose tokens stay on the device, which is
 * late; from the fourth on there is a NaN.  Behind the one wait the tokens say
 * which step it was, and the check has its block. */
START_TEST(test_odd_later)
{
  const RaBackend *b = ra_backend_cuda();
  g_autoptr(RaModel) model = new_model("llama");
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  Side s = side_new(b, table, 1, NULL, 0);
  const RaParam *o = ra_params_find(s.params, RA_TENSOR_O, 1, FALSE);
  RaCpuSample *made = b->alloc_host(6 * sizeof *made);
  uint32_t slot = 3, token = 5;
  double uniform = 0.5;
  float nan_x = NAN;

  if (_i == 1)
    ra_stage_capture_steps(s.stage);
  ra_emu_late_ops(TRUE);
  for (uint32_t k = 0; k < 6; k++) {
    RaDraw draw = {{1, 0, 1}, &uniform, made + k, SLOTS, &slot};

    if (k == 3)
      ra_params_write(s.params, RA_PARAMS_WEIGHTS, o->offset, 1, &nan_x);
    ra_stage_leave(s.stage, k + 1, 0);
    s.stage->draw = &draw;
    ra_stage_decode(s.stage, &whole, s.cache, 1, &slot, &token, &k, NULL, NULL);
    token = RA_TOKEN_DRAWN | slot;
  }
  s.stage->draw = NULL;
  b->wait();
  ra_stage_settle_steps(s.stage, 4, 0);
  ra_emu_late_ops(FALSE);
  for (uint32_t k = 0; k < 6; k++)
    ck_assert(isfinite(made[k].log_prob) == (k < 3));
  ck_assert(s.stage->bad.is_set && s.stage->bad.is_block);
  ck_assert_uint_eq(s.stage->bad.place.block, RA_BLOCK_HEAD);
  ck_assert_uint_eq(s.stage->bad.place.decode, 4);
  b->free_host(made);
  side_clear(&s);
}
END_TEST

/* A forward that is kept, with a NaN in the embedding, or in the second GEMM of
 * layer 0 or 1, or in the head's norm: the block is found that made it. */
START_TEST(test_odd_layer)
{
  static const struct {
    RaTensorKind kind;
    gint32 layer;
    guint block;
  } cases[] = {{RA_TENSOR_EMBEDDING, RA_TENSOR_NO_LAYER, RA_BLOCK_EMBEDDING},
               {RA_TENSOR_O, 0, RA_BLOCK_LAYER},
               {RA_TENSOR_O, 1, RA_BLOCK_LAYER},
               {RA_TENSOR_NORM, RA_TENSOR_NO_LAYER, RA_BLOCK_HEAD}};
  static const uint32_t text[] = {0, 1, 2, 3, 5, 8}, n = G_N_ELEMENTS(text);
  const uint32_t *texts[] = {text};
  g_autoptr(RaModel) model = new_model("llama");
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  g_autoptr(RaTokens) tokens = ra_tokens_new(1, &n, texts);
  Side s = side_new(ra_backend_cuda(), table, 1, NULL, 0);
  const RaParam *param =
      ra_params_find(s.params, cases[_i].kind, cases[_i].layer, FALSE);
  float nan_x = NAN;

  for (int k = 0; k < 2; k++) {
    RaPass *pass = ra_pass_new(s.stage, &whole, tokens, TRUE);

    ra_pass_forward(pass, NULL, NULL, NULL);
    ra_pass_free(pass);
    ck_assert_int_eq(s.stage->bad.is_set, k == 1);
    ra_params_write(s.params, RA_PARAMS_WEIGHTS, param->offset, 1, &nan_x);
  }
  ck_assert(s.stage->bad.is_block);
  ck_assert_uint_eq(s.stage->bad.place.block, cases[_i].block);
  if (cases[_i].layer != RA_TENSOR_NO_LAYER)
    ck_assert_int_eq((gint32)s.stage->bad.place.layer, cases[_i].layer);
  side_clear(&s);
}
END_TEST

/* --- launches --- */

/* Ops that the device begins for step @k of a piece of @n_layers. */
static size_t
n_launches(const Side *s, uint32_t k, uint32_t n_layers, uint32_t at)
{
  const RaPiece piece = {.n_layers = n_layers, .has_embedding = TRUE};
  uint32_t slots[] = {0, 1}, tokens[] = {3, 5}, positions[] = {at + k, at + k};
  RaElem *rows = ra_stage_take(s->stage, 2 * HIDDEN);
  size_t before = ra_emu_n_ops();

  ra_stage_decode(s->stage, &piece, s->cache, 2, slots, tokens, positions, NULL,
                  rows);
  ra_stage_give(s->stage, rows);
  return ra_emu_n_ops() - before;
}

/* A layer of a step, op by op and as a graph: two norms with the additions
 * before them, four GEMMs, rotary positions with rows of the cache, attention,
 * also of parts, and SwiGLU: 9.  Where every op is checked, which on a device
 * is asked for, checks of the eight that are not positions.  The first step
 * makes rooms too. */
START_TEST(test_launches)
{
  static const size_t expected[] = {9, 9, 17, 17};
  uint32_t at = _i % 2 == 0 ? 3 : 520;
  g_autoptr(RaModel) model = new_model("llama");
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  Side s = side_new(ra_backend_cuda(), table, 1, NULL, 0);

  ck_assert(!s.stage->checks_ops);
  s.stage->checks_ops = _i / 2 == 1;
  ra_stage_capture_steps(s.stage);
  n_launches(&s, 0, 2, at);
  n_launches(&s, 0, 1, at);
  for (uint32_t k = 1; k < 4; k++)
    ck_assert_uint_eq(n_launches(&s, k, 2, at) - n_launches(&s, k, 1, at),
                      expected[_i]);
  ck_assert_uint_eq(ra_steps_tally(s.stage).n_graphs, 4);
  side_clear(&s);
}
END_TEST

static Suite *
steps_suite(void)
{
  Suite *suite = suite_create("steps");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_steps, 0, RA_CHECK_SOME(15));
  tcase_add_loop_test(tcase, test_waits, 0, 2);
  tcase_add_test(tcase, test_refused);
  tcase_add_loop_test(tcase, test_fault, 0, 2);
  tcase_add_test(tcase, test_moved);
  tcase_add_loop_test(tcase, test_odd, 0, 2);
  tcase_add_loop_test(tcase, test_odd_later, 0, 2);
  tcase_add_loop_test(tcase, test_odd_layer, 0, 4);
  tcase_add_loop_test(tcase, test_launches, 0, 4);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(steps_suite)
