/* The CUDA kernels on this machine's GPU: what each reaches of the limit that
 * it is bound by, in the same run.
 *
 *   bench/gpu_kernels [--quick] [--peer=FILE]
 *
 * Kernels that move bytes are held against the bandwidth of a copy from device
 * memory to device memory, 1 GiB; products against the fastest of all the
 * algorithms that cuBLASLt proposes; attention against PyTorch's, of which
 * bench/gpu/gpu_peer.py writes FILE.  Arrays are larger than the second-level
 * cache and random, outputs are poisoned before; times are medians of CUDA
 * events.
 * Without a device: one line, and every bar short.
 */
#include "config.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/gpu/gpu_device.h"
#include "bench/gpu/gpu_experts.h"
#include "kernels/adamw.h"
#include "kernels/attention.h"
#include "kernels/decode_attention.h"
#include "kernels/intervals.h"
#include "kernels/layernorm.h"
#include "kernels/logprob.h"
#include "kernels/pointwise.h"
#include "kernels/rmsnorm.h"
#include "kernels/sums.h"

/* ---- Kernels that move bytes ----------------------------------------------*/

enum { TOKENS = 16384, HIDDEN = 4096, FFN = 14336, VOCABULARY = 128256 };
enum { HEADS = 32, KV_HEADS = 8, HEAD_DIM = 128, LOGIT_ROWS = 2048 };
enum { WIDE_TOKENS = 8192, PARAMETERS = 1 << 26 };

static int
run_copy(BenchGpu *g)
{
  return (int)cudaMemcpyAsync(g->array[1], g->array[0], BENCH_GPU_BYTES,
                              cudaMemcpyDeviceToDevice, NULL);
}

static int
run_norm(BenchGpu *g)
{
  return ra_k_rmsnorm(g->array[0], g->array[1], g->array[2], g->array[3],
                      TOKENS, HIDDEN, 1e-5f, NULL);
}

static int
run_norm_backward(BenchGpu *g)
{
  return ra_k_rmsnorm_backward(g->array[0], g->array[1], g->array[2],
                               g->array[3], g->array[4], g->array[5], TOKENS,
                               HIDDEN, 1e-5f, NULL);
}

/* Mean and deviation of a row are the first floats of array 4, from which the
 * gradient, whose sums come behind them, takes them. */
static int
run_layer_norm(BenchGpu *g)
{
  return ra_k_layernorm(g->array[0], g->array[1], g->array[2], g->array[3],
                        g->array[3], g->array[4], TOKENS, HIDDEN, 1e-5f, NULL);
}

static int
run_layer_norm_backward(BenchGpu *g)
{
  float *d_weight = (float *)g->array[4] + 2 * TOKENS;

  return ra_k_layernorm_backward(
      g->array[0], 1, g->array[1], g->array[4], g->array[2], g->array[3],
      d_weight, d_weight + HIDDEN, g->array[5], TOKENS, HIDDEN, NULL);
}

static int
run_gelu(BenchGpu *g)
{
  return ra_k_activate(RA_ACTIVATION_GELU_TANH, (gsize)WIDE_TOKENS * FFN,
                       g->array[0], g->array[1], NULL);
}

static int
run_gelu_backward(BenchGpu *g)
{
  return ra_k_activate_backward(RA_ACTIVATION_GELU_TANH,
                                (gsize)WIDE_TOKENS * FFN, g->array[0],
                                g->array[1], g->array[2], NULL);
}

static int
run_rope(BenchGpu *g)
{
  return ra_k_rope(TOKENS, HEADS, HEAD_DIM, g->indices, g->positions, 1,
                   g->array[0], HEADS * HEAD_DIM, NULL);
}

static int
run_swiglu(BenchGpu *g)
{
  return ra_k_swiglu(WIDE_TOKENS, FFN, g->array[0], g->array[1], NULL);
}

static int
run_swiglu_backward(BenchGpu *g)
{
  return ra_k_swiglu_backward(WIDE_TOKENS, FFN, g->array[0], g->array[1],
                              g->array[2], NULL);
}

static int
run_embedding(BenchGpu *g)
{
  return ra_k_embedding(TOKENS, HIDDEN, 0, TOKENS, g->indices, NULL,
                        g->array[0], g->array[1], NULL);
}

static int
run_cross_entropy(BenchGpu *g)
{
  RaCpuLogSum *sums = g->array[1];
  float *log_prob = g->array[2], *lse = g->array[3], *d = g->array[4];
  int status = ra_k_log_sum(LOGIT_ROWS, 0, VOCABULARY, VOCABULARY, g->array[0],
                            g->indices, sums, NULL);

  if (status == 0)
    status = ra_k_log_prob(LOGIT_ROWS, 1, sums, log_prob, lse, NULL);
  return status ? status
                : ra_k_log_prob_backward(LOGIT_ROWS, 0, VOCABULARY, VOCABULARY,
                                         g->indices, lse, d, g->array[0], NULL);
}

static int
run_adamw(BenchGpu *g)
{
  const RaCpuAdamw adamw = {1e-6f, 0.9f, 0.95f, 1e-8f, 0.1f};

  return ra_k_adamw(PARAMETERS, &adamw, 1, 1, NULL, 0, g->array[0], g->array[1],
                    g->array[2], g->array[3], g->array[4], NULL);
}

/* Rows of a tensor that is cut by columns, as a reallocation has them: 4 KiB
 * pieces that lie apart in the source. */
enum { N_INTERVALS = 65536, INTERVAL_UNITS = 256 };

/* In the half of the last array that no other kernel uses. */
static RaKInterval *
list_at(BenchGpu *g)
{
  return (RaKInterval *)((char *)g->array[5] + BENCH_GPU_BYTES / 2);
}

static gboolean
make_list(BenchGpu *g)
{
  g_autofree RaKInterval *list = g_new(RaKInterval, N_INTERVALS);

  for (uint64_t i = 0; i < N_INTERVALS; i++)
    list[i] = (RaKInterval){.from = i * 4097 % N_INTERVALS * INTERVAL_UNITS,
                            .to = i * INTERVAL_UNITS,
                            .n = INTERVAL_UNITS,
                            .n_rows = 1};
  return ra_k_intervals_number(N_INTERVALS, list) == N_INTERVALS &&
         cudaMemcpy(list_at(g), list, N_INTERVALS * sizeof *list,
                    cudaMemcpyHostToDevice) == cudaSuccess;
}

static int
run_intervals(BenchGpu *g)
{
  return ra_k_copy_intervals(N_INTERVALS, list_at(g), N_INTERVALS, g->array[0],
                             g->array[1], NULL);
}

static int
run_add(BenchGpu *g)
{
  return ra_k_add((gsize)TOKENS * 16384, g->array[0], g->array[1], NULL);
}

/* The gradient of a bias, where no product makes it. */
static int
run_columns(BenchGpu *g)
{
  return ra_k_add_columns(TOKENS, HIDDEN, g->array[0], g->array[4], NULL);
}

static const struct {
  const char *name;
  BenchGpuRun run;
  double n_bytes; /* read and written */
} movers[] = {
    {"norm", run_norm, 8.0 * TOKENS *HIDDEN},
    {"norm_backward", run_norm_backward, 8.0 * TOKENS *HIDDEN},
    {"layer_norm", run_layer_norm, 8.0 * TOKENS *HIDDEN},
    {"layer_norm_backward", run_layer_norm_backward, 8.0 * TOKENS *HIDDEN},
    {"gelu", run_gelu, 4.0 * WIDE_TOKENS *FFN},
    {"gelu_backward", run_gelu_backward, 6.0 * WIDE_TOKENS *FFN},
    {"rope", run_rope, 4.0 * TOKENS *HEADS *HEAD_DIM},
    {"swiglu", run_swiglu, 6.0 * WIDE_TOKENS *FFN},
    {"swiglu_backward", run_swiglu_backward, 10.0 * WIDE_TOKENS *FFN},
    {"embedding", run_embedding, 4.0 * TOKENS *HIDDEN},
    {"cross_entropy", run_cross_entropy, 6.0 * LOGIT_ROWS *VOCABULARY},
    {"adamw", run_adamw, 30.0 * PARAMETERS},
    {"intervals", run_intervals, 32.0 * N_INTERVALS *INTERVAL_UNITS},
    {"add", run_add, 6.0 * TOKENS * 16384},
    {"columns", run_columns, 2.0 * TOKENS *HIDDEN},
};

static double
bench_movers(BenchGpu *g)
{
  double least = (double)NAN;

  if (!make_list(g))
    return least;
  puts("# bytes; seconds; bytes/s; of a copy's");
  puts("kernel\tbytes\tseconds\tbytes_per_s\tcopy_frac");
  for (gsize i = 0; i < G_N_ELEMENTS(movers); i++) {
    double s = bench_gpu_s(g, movers[i].run);
    double frac = movers[i].n_bytes / s / g->copy_bytes_per_s;

    printf("%s\t%.0f\t%.4g\t%.4g\t%.3f\n", movers[i].name, movers[i].n_bytes, s,
           movers[i].n_bytes / s, frac);
    least = i == 0 || !(frac >= least) ? frac : least;
  }
  return least;
}

/* ---- Attention ------------------------------------------------------------*/

/* Lengths of equal sequences of 16,384 tokens in all. */
static uint32_t attention_length;

static RaKAttention
attention_shape(BenchGpu *g)
{
  return (RaKAttention){.n_sequences = TOKENS / attention_length,
                        .n_tokens = TOKENS,
                        .max_length = attention_length,
                        .begin = g->indices + TOKENS,
                        .q_heads = HEADS,
                        .kv_heads = KV_HEADS,
                        .head_dim = HEAD_DIM,
                        .stride = (HEADS + 2 * KV_HEADS) * HEAD_DIM,
                        .ticket = g->indices + 3 * TOKENS,
                        .n_processors = g->n_processors};
}

typedef int (*Attention)(const RaKAttention *shape, const uint16_t *q,
                         const uint16_t *k, const uint16_t *v, uint16_t *out,
                         float *out_lse, void *stream);

static int
run_forward(BenchGpu *g, Attention forward)
{
  RaKAttention shape = attention_shape(g);
  uint16_t *q = g->array[0], *k = q + HEADS * HEAD_DIM;

  return forward(&shape, q, k, k + KV_HEADS * HEAD_DIM, g->array[1],
                 g->array[2], NULL);
}

static int
run_attention(BenchGpu *g)
{
  return run_forward(g, ra_k_attention);
}

/* The text of every device, beside the one that this device has. */
static int
run_attention_mma(BenchGpu *g)
{
  return run_forward(g, ra_k_attention_mma);
}

static int
run_attention_backward(BenchGpu *g)
{
  RaKAttention shape = attention_shape(g);
  uint16_t *q = g->array[0], *k = q + HEADS * HEAD_DIM;
  uint16_t *d_q = g->array[4], *d_k = d_q + HEADS * HEAD_DIM;

  return ra_k_attention_backward(
      &shape, q, k, k + KV_HEADS * HEAD_DIM, g->array[1], g->array[2],
      g->array[3], d_q, d_k, d_k + KV_HEADS * HEAD_DIM, g->array[5], NULL);
}

/* Seconds that bench/gpu/gpu_peer.py wrote, of FLASH_ATTENTION and of the
 * fastest back end; NAN where it did not. */
static void
read_peer(const char *peer, const char *name, uint32_t length, double out_s[2])
{
  g_autofree char *text = NULL, *key = NULL;
  const char *line;
  char *end = NULL;

  out_s[0] = out_s[1] = (double)NAN;
  key = g_strdup_printf("%s\t%u\t", name, length);
  if (!peer || !g_file_get_contents(peer, &text, NULL, NULL))
    return;
  line = strstr(text, key);
  if (!line)
    return;
  out_s[0] = g_ascii_strtod(line + strlen(key), &end);
  out_s[1] = g_ascii_strtod(end, NULL);
}

/* Data sheet of H100 SXM and H200, dense bf16. */
#define PEAK_FLOP_PER_S 989.4e12

/* By direction: the least of the peer's time over ours, and of the peak's share
 * at 8,192 tokens and more. */
static void
bench_attention(BenchGpu *g, const char *peer, double out_least[2],
                double out_peak[2])
{
  static const uint32_t lengths[] = {4096, 8192, 16384};
  /* @peer: the row to compare with; the first two have bars. */
  static const struct {
    const char *name, *peer;
    double products; /* of the forward's two */
    BenchGpuRun run;
  } kernels[] = {
      {"attention", "attention", 1, run_attention},
      {"attention_backward", "attention_backward", 2.5, run_attention_backward},
      {"attention_mma", "attention", 1, run_attention_mma},
  };

  puts("# tokens of a sequence; seconds; FLOP/s; PyTorch's seconds over ours, "
       "of FLASH_ATTENTION and of its fastest back end");
  puts("kernel\tlength\tseconds\tflop_per_s\tpeer_ratio\tbest_ratio");
  for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
    uint32_t n = TOKENS / lengths[i], begin[5] = {0};

    attention_length = lengths[i];
    for (uint32_t s = 1; s <= n; s++)
      begin[s] = s * lengths[i];
    cudaMemset(g->indices + 3 * TOKENS, 0, sizeof *g->indices);
    cudaMemcpy(g->indices + TOKENS, begin, sizeof begin,
               cudaMemcpyHostToDevice);
    for (gsize j = 0; j < G_N_ELEMENTS(kernels); j++) {
      double flop = 2.0 * HEADS * HEAD_DIM * (double)TOKENS * lengths[i] *
                    kernels[j].products;
      double s = bench_gpu_s(g, kernels[j].run);
      double theirs_s[2], ratio;

      read_peer(peer, kernels[j].peer, lengths[i], theirs_s);
      ratio = theirs_s[0] / s;
      printf("%s\t%u\t%.4g\t%.4g\t%.3f\t%.3f\n", kernels[j].name, lengths[i], s,
             flop / s, ratio, theirs_s[1] / s);
      if (j < 2 && (i == 0 || !(ratio >= out_least[j])))
        out_least[j] = ratio;
      if (j < 2 && lengths[i] >= 8192 &&
          !(flop / s / PEAK_FLOP_PER_S >= out_peak[j]))
        out_peak[j] = flop / s / PEAK_FLOP_PER_S;
    }
  }
}

enum { DECODE_SEQUENCES = 16, CONTEXT = 8192, PAGE = 16 };

static int
run_decode(BenchGpu *g)
{
  RaKDecode d = {.n_sequences = DECODE_SEQUENCES,
                 .lengths = g->indices + TOKENS,
                 .pages = g->indices + 2 * TOKENS,
                 .max_pages = CONTEXT / PAGE,
                 .page_tokens = PAGE,
                 .page_rows = PAGE,
                 .q_heads = HEADS,
                 .kv_heads = KV_HEADS,
                 .head_dim = HEAD_DIM,
                 .q_stride = HEADS * HEAD_DIM,
                 .n_parts =
                     ra_k_decode_parts(DECODE_SEQUENCES, KV_HEADS, HEAD_DIM,
                                       CONTEXT, g->n_processors),
                 .counts = g->indices + 3 * TOKENS};

  return ra_k_decode_attention(&d, g->array[2], g->array[0], g->array[1],
                               g->array[3], g->array[4], NULL);
}

/* Pages in an order that no prefetcher guesses: 5 is prime to their number. */
static double
bench_decode(BenchGpu *g)
{
  enum { N_PAGES = DECODE_SEQUENCES * CONTEXT / PAGE };
  g_autofree uint32_t *host = g_new(uint32_t, N_PAGES);
  double n_bytes = 4.0 * DECODE_SEQUENCES * CONTEXT * KV_HEADS * HEAD_DIM, s;

  for (uint32_t i = 0; i < DECODE_SEQUENCES; i++)
    host[i] = CONTEXT;
  cudaMemcpy(g->indices + TOKENS, host, DECODE_SEQUENCES * sizeof *host,
             cudaMemcpyHostToDevice);
  for (uint32_t i = 0; i < N_PAGES; i++)
    host[i] = i * 5 % N_PAGES;
  cudaMemset(g->indices + 3 * TOKENS, 0,
             DECODE_SEQUENCES * KV_HEADS * sizeof *g->indices);
  cudaMemcpy(g->indices + 2 * TOKENS, host, N_PAGES * sizeof *host,
             cudaMemcpyHostToDevice);
  s = bench_gpu_s(g, run_decode);
  printf("decode\t%d\t%.4g\t%.4g\t%.3f\n", CONTEXT, s, n_bytes / s,
         n_bytes / s / g->copy_bytes_per_s);
  return n_bytes / s / g->copy_bytes_per_s;
}

/* ---- Products -------------------------------------------------------------*/

/* GEMMs of Llama-3 8B and 70B at tensor parallel 8, and of 16 sequences
 * decoding. */
static const RaCudaProduct products[] = {
    {RA_CPU_PLAIN, RA_CPU_TRANSPOSED, RA_CUDA_STORE, RA_CUDA_NO_BIAS, 8192,
     6144, 4096, 4096, 4096, 6144},
    {RA_CPU_PLAIN, RA_CPU_TRANSPOSED, RA_CUDA_STORE, RA_CUDA_NO_BIAS, 8192,
     28672, 4096, 4096, 4096, 28672},
    {RA_CPU_PLAIN, RA_CPU_TRANSPOSED, RA_CUDA_ADD, RA_CUDA_NO_BIAS, 8192, 4096,
     14336, 14336, 14336, 4096},
    {RA_CPU_PLAIN, RA_CPU_PLAIN, RA_CUDA_STORE, RA_CUDA_NO_BIAS, 8192, 4096,
     28672, 28672, 4096, 4096},
    {RA_CPU_TRANSPOSED, RA_CPU_PLAIN, RA_CUDA_ADD_F32, RA_CUDA_NO_BIAS, 14336,
     4096, 8192, 14336, 4096, 4096},
    {RA_CPU_PLAIN, RA_CPU_TRANSPOSED, RA_CUDA_STORE, RA_CUDA_NO_BIAS, 8192,
     7168, 8192, 8192, 8192, 7168},
    {RA_CPU_PLAIN, RA_CPU_TRANSPOSED, RA_CUDA_STORE, RA_CUDA_NO_BIAS, 16, 28672,
     4096, 4096, 4096, 28672},
};

static const RaCudaProduct *product_now;
static guint candidate_now;

static int
run_product(BenchGpu *g)
{
  return !ra_cuda_gemm(g->gemm, product_now, g->array[0], g->array[1], NULL,
                       g->array[2], NULL, NULL);
}

static int
run_candidate(BenchGpu *g)
{
  return !ra_cuda_gemm_by(g->gemm, product_now, candidate_now, g->array[0],
                          g->array[1], g->array[2], NULL, NULL);
}

enum { MOST_CANDIDATES = 64 };

/* By how much algorithm @candidate_now takes less than the one that runs: the
 * median ratio of neighbouring runs, as the clock of a GPU drifts by more under
 * load than algorithms differ. */
static double
candidate_ratio(BenchGpu *g)
{
  double ratios[BENCH_GPU_RUNS];

  for (int i = 0; i < g->n_runs; i++) {
    double before_s = bench_gpu_once_s(g, run_product);
    double its_s = bench_gpu_once_s(g, run_candidate);
    double after_s = bench_gpu_once_s(g, run_product);

    ratios[i] = 2 * its_s / (before_s + after_s);
  }
  return bench_median(ratios, (guint)g->n_runs);
}

/* @best: the fastest one's number. */
static double
bench_products(BenchGpu *g)
{
  double least = (double)NAN;

  puts("# seconds; FLOP/s; the fastest algorithm's number, and its seconds "
       "over ours");
  puts("gemm\tm\tn\tk\tseconds\tflop_per_s\tcandidates\tbest\tbest_ratio");
  for (gsize i = 0; i < G_N_ELEMENTS(products); i++) {
    const RaCudaProduct *p = &products[i];
    guint n = ra_cuda_gemm_candidates(g->gemm, p, MOST_CANDIDATES, NULL);
    guint best = 0;
    double s, ratio = 1;

    product_now = p;
    s = bench_gpu_s(g, run_product);
    for (candidate_now = 1; candidate_now < n; candidate_now++) {
      double its_ratio = candidate_ratio(g);

      if (its_ratio < ratio)
        ratio = its_ratio, best = candidate_now;
    }
    printf("gemm\t%zu\t%zu\t%zu\t%.4g\t%.4g\t%u\t%u\t%.3f\n", p->m, p->n, p->k,
           s, 2.0 * (double)p->m * (double)p->n * (double)p->k / s, n, best,
           ratio);
    least = i == 0 || !(ratio >= least) ? ratio : least;
  }
  return least;
}

/* ---- All of it -----------------------------------------------------------*/

int
main(int argc, char **argv)
{
  gboolean quick = FALSE;
  g_autofree char *peer = NULL;
  const GOptionEntry entries[] = {
      {"quick", 0, 0, G_OPTION_ARG_NONE, &quick, "few repetitions", NULL},
      {"peer", 0, 0, G_OPTION_ARG_FILENAME, &peer,
       "what bench/gpu/gpu_peer.py printed on this machine", "FILE"},
      {.long_name = NULL}};
  g_autoptr(GOptionContext) context = g_option_context_new(NULL);
  g_autoptr(GError) error = NULL;
  double movers_frac = (double)NAN, decode_frac = (double)NAN;
  double attention[2] = {(double)NAN, (double)NAN}, gemm_frac = (double)NAN;
  double peak[2] = {(double)NAN, (double)NAN};
  BenchGpu gpu = {0};

  g_option_context_add_main_entries(context, entries, NULL);
  if (!g_option_context_parse(context, &argc, &argv, &error)) {
    fprintf(stderr, "gpu_kernels: %s\n", error->message);
    return 2;
  }
  if (bench_gpu_open(&gpu, quick, &error)) {
    gpu.copy_bytes_per_s =
        2.0 * (double)BENCH_GPU_BYTES / bench_gpu_s(&gpu, run_copy);
    printf("# a copy: %.4g bytes/s, read and written\n", gpu.copy_bytes_per_s);
    bench_attention(&gpu, peer, attention, peak);
    decode_frac = bench_decode(&gpu);
    gemm_frac = bench_products(&gpu);
    movers_frac = bench_movers(&gpu);
    bench_gpu_experts(&gpu); /* the last: it changes the first indices */
  } else {
    printf("# %s\n", error->message);
  }
  bench_bar("movers_copy_frac", movers_frac, BENCH_AT_LEAST, 0.88);
  bench_bar("gemm_best_frac", gemm_frac, BENCH_AT_LEAST, 0.97);
  bench_bar("attention_peak_frac", peak[0], BENCH_AT_LEAST, 0.60);
  bench_bar("attention_backward_peak_frac", peak[1], BENCH_AT_LEAST, 0.48);
  bench_bar("attention_peer_ratio", attention[0], BENCH_AT_LEAST, 0.9);
  bench_bar("attention_backward_peer_ratio", attention[1], BENCH_AT_LEAST, 0.7);
  bench_bar("decode_copy_frac", decode_frac, BENCH_AT_LEAST, 0.85);
  return 0;
}
