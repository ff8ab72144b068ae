/* The speed of the host back end on one core: a training step, generation, how
 * near they are to the core's products and memory, what a task costs beside its
 * work; and PyTorch on the same model where RA_TORCH_PYTHON names a Python that
 * has it (bench/peer/torch_peer.py).
 *
 * CPU seconds of the process, the least of the runs, so that what else the
 * machine does is not in them.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "bench/figure.h"
#include "exec/model/stage.h"
#include "graph/input/plan_batching.h"
#include "traces/trace.h"

#define LAYERS 6
#define VOCAB 4096
#define SEQUENCES 4
#define TOKENS 256 /* of each, in training */
#define PROMPT 64
#define NEW 64
#define BATCH 8 /* sequences that are generated */

static const char config[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 512,"
    " \"num_hidden_layers\": 6, \"num_attention_heads\": 8,"
    " \"num_key_value_heads\": 4, \"head_dim\": 64,"
    " \"intermediate_size\": 1408, \"vocab_size\": 4096,"
    " \"max_position_embeddings\": 512}";

typedef struct {
  RaModel *model;
  RaTensorTable *table;
  RaParams *params;
  RaStage *stage;
  RaTokens *tokens;  /* of training */
  RaTokens *prompts; /* of generation */
  RaPiece piece;
} Bench;

static RaTokens *
make_tokens(uint32_t n, uint32_t length)
{
  RaRng rng = ra_rng_init(1, n);
  g_autofree uint32_t *text = g_new(uint32_t, n * length);
  g_autofree uint32_t *lengths = g_new(uint32_t, n);
  g_autofree const uint32_t **texts = g_new(const uint32_t *, n);

  for (uint32_t i = 0; i < n * length; i++)
    text[i] = (uint32_t)ra_rng_below(&rng, VOCAB);
  for (uint32_t i = 0; i < n; i++) {
    lengths[i] = length;
    texts[i] = text + i * length;
  }
  return ra_tokens_new(n, lengths, texts);
}

static void
train(Bench *b)
{
  const RaCpuAdamw adamw = {1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f};
  g_autoptr(RaPass) pass = ra_pass_new(b->stage, &b->piece, b->tokens, TRUE);
  g_autofree float *d = g_new(float, b->tokens->n_tokens);
  RaParams *p = b->params;

  ra_pass_forward(pass, NULL, NULL, NULL);
  for (uint32_t i = 0; i < b->tokens->n_tokens; i++)
    d[i] = i % TOKENS == TOKENS - 1 ? 0 : -1.0f / (SEQUENCES * (TOKENS - 1));
  memset(p->grads, 0, p->n * sizeof *p->grads);
  ra_pass_backward(pass, NULL, d);
  b->stage->backend->adamw(p->n, &adamw, 1, 1, p->grads, p->weights, NULL,
                           p->first, p->second);
}

static void
generate(Bench *b)
{
  const RaCpuSampling sampling = {1, 0, 1};
  const RaCacheShape shape = {.n_layers = LAYERS,
                              .n_slots = BATCH,
                              .n_positions = PROMPT + NEW,
                              .page_tokens = RA_BATCHING_KV_BLOCK};
  g_autoptr(RaCache) cache = ra_stage_new_cache(b->stage, &shape);
  g_autofree float *logits = g_new(float, (gsize)BATCH *VOCAB);
  double uniforms[BATCH];
  RaCpuSample drawn[BATCH];
  RaRng rng = ra_rng_init(2, 0);
  uint32_t slots[BATCH], tokens[BATCH], positions[BATCH];
  g_autoptr(RaPass) pass = ra_pass_new(b->stage, &b->piece, b->prompts, FALSE);

  for (uint32_t i = 0; i < BATCH; i++)
    slots[i] = i;
  ra_pass_forward(pass, NULL, cache, slots);
  ra_pass_last_logits(pass, logits);
  for (uint32_t step = 0;; step++) {
    for (uint32_t i = 0; i < BATCH; i++)
      uniforms[i] = ra_rng_uniform(&rng);
    b->stage->backend->sample(BATCH, VOCAB, ra_host_elems(logits), &sampling,
                              uniforms, drawn);
    for (uint32_t i = 0; i < BATCH; i++) {
      tokens[i] = drawn[i].token;
      positions[i] = PROMPT + step;
    }
    if (step == NEW - 1)
      break;
    ra_stage_decode(b->stage, &b->piece, cache, BATCH, slots, tokens, positions,
                    NULL, logits);
  }
}

static double
least_s(Bench *b, void (*work)(Bench *), guint n_runs)
{
  double best_s = INFINITY;

  work(b);
  for (guint i = 0; i < n_runs; i++) {
    double begin_s = bench_cpu_s();

    work(b);
    best_s = fmin(best_s, bench_cpu_s() - begin_s);
  }
  return best_s;
}

/* 1024^3 products: the core's peak as CBLAS reaches it. */
static void
product(Bench *b)
{
  static float a[1024 * 1024], c[1024 * 1024];

  b->stage->backend->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, 1024, 1024, 1024,
                          ra_host_elems(a), 1024, ra_host_elems(a), 1024, 0,
                          ra_host_elems(c), 1024);
}

/* y += x over arrays that no cache holds: 12 bytes an element (the add of
 * STREAM). */
#define STREAM_N ((gsize)1 << 25)

static float *stream_x, *stream_y;

static void
stream(Bench *b)
{
  b->stage->backend->add(STREAM_N, ra_host_elems(stream_x),
                         ra_host_elems(stream_y));
}

/* FLOP of products in a training step, three times the forward's. */
static double
train_flop(const Bench *b)
{
  RaBatch batch = {SEQUENCES, SEQUENCES * TOKENS, SEQUENCES * TOKENS,
                   (uint64_t)SEQUENCES * TOKENS * (TOKENS + 1) / 2};

  return 3 * ra_model_forward_flop(b->model, &batch);
}

/* The number behind @name in @text. */
static gboolean
value_of(const char *text, const char *name, double *out_value)
{
  const char *at = strstr(text, name);

  if (at)
    *out_value = g_ascii_strtod(at + strlen(name), NULL);
  return at != NULL;
}

static gboolean
peer(const char *script, guint n_runs, double *out_train_s,
     double *out_generate_s)
{
  const char *python = g_getenv("RA_TORCH_PYTHON");
  g_autofree char *n = g_strdup_printf("%u", n_runs);
  char *argv[] = {(char *)python, (char *)script, n, NULL};
  g_autofree char *out = NULL;
  gboolean ran;

  ran = python &&
        g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out,
                     NULL, NULL, NULL) &&
        out;
  return ran && value_of(out, "train_s ", out_train_s) &&
         value_of(out, "generate_s ", out_generate_s);
}

static void
bench_init(Bench *b)
{
  static uint32_t layers = LAYERS;
  RaCallPlan plan = {.set = TRUE,
                     .dp = 1,
                     .tp = 1,
                     .pp = 1,
                     .cp = 1,
                     .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
                     .n_virtual = 1,
                     .stage_layers = &layers};

  b->model = ra_model_parse("bench.json", config, strlen(config), NULL);
  b->table = ra_tensor_table_new(b->model);
  b->params = ra_params_new(b->table, &plan, 0);
  ra_params_seed(b->params, 1);
  ra_params_make_trainable(b->params);
  b->stage = ra_stage_new(ra_backend_host(NULL), b->params, 1, NULL,
                          RA_RECOMPUTE_NONE, 512, &RA_NUMERICS_DEFAULT);
  b->tokens = make_tokens(SEQUENCES, TOKENS);
  b->prompts = make_tokens(BATCH, PROMPT);
  b->piece =
      (RaPiece){.n_layers = LAYERS, .has_embedding = TRUE, .has_head = TRUE};
  stream_x = g_new0(float, STREAM_N);
  stream_y = g_new0(float, STREAM_N);
}

static void
bench_clear(Bench *b)
{
  ra_tokens_free(b->tokens);
  ra_tokens_free(b->prompts);
  ra_stage_free(b->stage);
  ra_params_free(b->params);
  ra_tensor_table_free(b->table);
  ra_model_free(b->model);
  g_free(stream_x);
  g_free(stream_y);
}

/* The executor's own time a task: from the end of one to the begin of the next
 * on a rank that waits for nobody, in the middle of all, so that what else the
 * machine does is not in it.  NAN: no run. */
static double
overhead_s(void)
{
  static const char *const calls[] = {"actor_generate", "ref_inference",
                                      "critic_inference", "actor_train",
                                      "critic_train"};
  g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GArray) gaps = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(RaTrace) trace = NULL;
  g_autofree char *path = NULL;
  int fd = g_file_open_tmp("executor-XXXXXX.tsv", &path, NULL);

  if (fd < 0)
    return (double)NAN;
  close(fd);
  for (const char *const *word = (const char *const[]){"./reallot", "run",
                                                       "ppo-tiny-4-colocated"
                                                       ".plan",
                                                       "-n", "20", NULL};
       *word; word++)
    g_ptr_array_add(argv, g_strdup(*word));
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    g_ptr_array_add(
        argv, g_strdup_printf("--set=call %s.mesh=node0:gpu[0]", calls[i]));
    g_ptr_array_add(argv, g_strdup_printf("--set=call %s.tp=1", calls[i]));
    g_ptr_array_add(argv, g_strdup_printf("--set=call %s.dp=1", calls[i]));
  }
  g_ptr_array_add(argv, g_strdup_printf("--trace=%s", path));
  g_ptr_array_add(argv, NULL);
  if (g_spawn_sync(NULL, (char **)argv->pdata, NULL, G_SPAWN_STDOUT_TO_DEV_NULL,
                   NULL, NULL, NULL, NULL, NULL, NULL))
    trace = ra_trace_load(path, NULL);
  for (guint i = 1; trace && i < ra_trace_n_rows(trace); i++) {
    double gap =
        ra_trace_row(trace, i)->begin_s - ra_trace_row(trace, i - 1)->end_s;

    g_array_append_val(gaps, gap);
  }
  g_remove(path);
  if (gaps->len == 0)
    printf("# ./reallot run left no trace\n");
  return bench_median((double *)(void *)gaps->data, gaps->len);
}

int
main(int argc, char **argv)
{
  guint n_runs = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 2 : 7;
  const char *srcdir = g_getenv("srcdir");
  g_autofree char *script = g_build_filename(srcdir ? srcdir : ".", "bench",
                                             "peer", "torch_peer.py", NULL);
  double train_s, generate_s, flop_per_s, bytes_per_s, weight_bytes;
  double torch_train_s = (double)NAN, torch_generate_s = (double)NAN;
  Bench b;

  if (!ra_backend_host(NULL)) {
    printf("# no CBLAS\n");
    return 0;
  }
  bench_init(&b);
  flop_per_s = 2 * pow(1024, 3) / least_s(&b, product, n_runs);
  bytes_per_s = 12 * (double)STREAM_N / least_s(&b, stream, n_runs);
  train_s = least_s(&b, train, n_runs);
  generate_s = least_s(&b, generate, n_runs);
  peer(script, n_runs, &torch_train_s, &torch_generate_s);
  weight_bytes = 4 * (double)b.params->n * NEW;
  printf("# CPU seconds, one core; FLOP/s of its products, bytes/s of its "
         "memory; fractions of these\n"
         "work\tcpu_s\ttokens_per_s\tgemm_frac\tstream_frac\ttorch_cpu_s\n"
         "train\t%.4g\t%.5g\t%.3f\t-\t%.4g\n"
         "generate\t%.4g\t%.5g\t-\t%.3f\t%.4g\n"
         "product\t-\t%.4g\t1\t-\t-\nstream\t-\t%.4g\t-\t1\t-\n",
         train_s, SEQUENCES * TOKENS / train_s,
         train_flop(&b) / train_s / flop_per_s, torch_train_s, generate_s,
         BATCH * NEW / generate_s, weight_bytes / generate_s / bytes_per_s,
         torch_generate_s, flop_per_s, bytes_per_s);
  bench_bar("train_of_torch", torch_train_s / train_s, BENCH_AT_LEAST, 1);
  bench_bar("generate_of_torch", torch_generate_s / generate_s, BENCH_AT_LEAST,
            1.5);
  bench_bar("overhead_us_per_task", 1e6 * overhead_s(), BENCH_AT_MOST, 5);
  bench_clear(&b);
  return 0;
}
