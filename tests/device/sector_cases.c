/* Shapes of every CUDA kernel for the count of memory accesses. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/adamw.h"
#include "kernels/attention.h"
#include "kernels/decode_attention.h"
#include "kernels/grouped.h"
#include "kernels/intervals.h"
#include "kernels/layernorm.h"
#include "kernels/logprob.h"
#include "kernels/pointwise.h"
#include "kernels/rmsnorm.h"
#include "kernels/sums.h"
#include "tests/device/sector_cases.h"

/* Rows of a large model, few of them. */
enum { BACK_ROWS = 8192, BACK_HIDDEN = 128 }; /* many to a group of rows */
enum { ROWS = 8, HIDDEN = 4096, VOCAB = 32768, HEADS = 8, DIM = 128 };
enum { ARRAYS = 6, ARRAY_BYTES = 1 << 20, TOKENS = 128 };

/* Small positive bf16, which are small fp32 too. */
static char *array[ARRAYS];
static uint32_t words[1024];

#define BF16(i) ((uint16_t *)(gpointer)array[i])
#define F32(i) ((float *)(gpointer)array[i])

static gboolean
norm(void)
{
  return !ra_k_rmsnorm(BF16(0), BF16(1), BF16(2), BF16(3), ROWS, HIDDEN, 1e-5f,
                       NULL);
}

static gboolean
norm_backward(void)
{
  return !ra_k_rmsnorm_backward(BF16(0), BF16(1), BF16(2), BF16(3), F32(4),
                                F32(5), BACK_ROWS, BACK_HIDDEN, 1e-5f, NULL);
}

static gboolean
layer_norm(void)
{
  return !ra_k_layernorm(BF16(0), BF16(1), BF16(2), BF16(3), BF16(3), F32(4),
                         ROWS, HIDDEN, 1e-5f, NULL);
}

static gboolean
layer_norm_backward(void)
{
  return !ra_k_layernorm_backward(BF16(0), TRUE, BF16(1), F32(4), BF16(2),
                                  BF16(3), F32(4) + 2 * BACK_ROWS,
                                  F32(4) + 2 * BACK_ROWS + BACK_HIDDEN, F32(5),
                                  BACK_ROWS, BACK_HIDDEN, NULL);
}

static gboolean
rope(void)
{
  return !ra_k_rope(ROWS, HEADS, DIM, words, F32(1), 1, BF16(0), HEADS * DIM,
                    NULL);
}

static gboolean
swiglu(void)
{
  return !ra_k_swiglu(ROWS, HIDDEN, BF16(0), BF16(1), NULL);
}

static gboolean
swiglu_backward(void)
{
  return !ra_k_swiglu_backward(ROWS, HIDDEN, BF16(0), BF16(1), BF16(2), NULL);
}

static gboolean
gelu(void)
{
  return !ra_k_activate(RA_ACTIVATION_GELU_TANH, ROWS * HIDDEN, BF16(0),
                        BF16(1), NULL);
}

static gboolean
gelu_backward(void)
{
  return !ra_k_activate_backward(RA_ACTIVATION_GELU_TANH, ROWS * HIDDEN,
                                 BF16(0), BF16(1), BF16(2), NULL);
}

static gboolean
embedding(void)
{
  return !ra_k_embedding(ROWS, HIDDEN, 0, 64, words, NULL, BF16(0), BF16(1),
                         NULL);
}

static gboolean
log_sum(void)
{
  return !ra_k_log_sum(ROWS, 0, VOCAB, VOCAB, BF16(0), words,
                       (RaCpuLogSum *)(gpointer)array[1], NULL);
}

static gboolean
log_prob_backward(void)
{
  return !ra_k_log_prob_backward(ROWS, 0, VOCAB, VOCAB, words, F32(1), F32(2),
                                 BF16(0), NULL);
}

static gboolean
adamw(void)
{
  const RaCpuAdamw constants = {1e-6f, 0.9f, 0.95f, 1e-8f, 0.1f};

  return !ra_k_adamw(ROWS * HIDDEN, &constants, 1, 1, NULL, 0, F32(0), F32(1),
                     F32(2), F32(3), BF16(4), NULL);
}

static gboolean
sum_squares(void)
{
  double *sums = (double *)(gpointer)array[1];

  return !ra_k_sum_squares(ARRAY_BYTES / 8, F32(0), sums,
                           sums + RA_K_SQUARES_BLOCKS, NULL);
}

/* Pieces of 4 KiB that lie apart. */
static gboolean
intervals(void)
{
  RaKInterval *list = (RaKInterval *)(gpointer)array[5];

  for (guint64 i = 0; i < 64; i++)
    list[i] = (RaKInterval){
        .from = i * 37 % 64 * 256, .to = i * 256, .n = 256, .n_rows = 1};
  return !ra_k_copy_intervals(64, list, ra_k_intervals_number(64, list),
                              array[0], array[1], NULL);
}

static gboolean
add(void)
{
  return !ra_k_add(ROWS * HIDDEN, BF16(0), BF16(1), NULL);
}

static gboolean
reduce(gboolean f32)
{
  RaKRanks ranks = {.n_in = 2, .n_out = 2};

  for (int i = 0; i < 2; i++) {
    ranks.in[i] = array[i];
    ranks.out[i] = array[2 + i];
  }
  return !ra_k_reduce(&ranks, ROWS * HIDDEN, f32, FALSE, NULL);
}

static gboolean
reduce_bf16(void)
{
  return reduce(FALSE);
}

static gboolean
reduce_f32(void)
{
  return reduce(TRUE);
}

static gboolean
add_bias(void)
{
  return !ra_k_add_bias(ROWS, HIDDEN, BF16(0), BF16(1), NULL);
}

static gboolean
add_columns(void)
{
  return !ra_k_add_columns(256, 1024, BF16(0), F32(1), NULL);
}

static gboolean
find_odd(void)
{
  return !ra_k_find_odd(ROWS * HIDDEN, array[0], FALSE, 1, words + 512, NULL);
}

static const uint32_t begin[] = {0, TOKENS};

static RaKAttention
attention_shape(void)
{
  return (RaKAttention){.n_sequences = 1,
                        .n_tokens = TOKENS,
                        .max_length = TOKENS,
                        .begin = begin,
                        .q_heads = 2,
                        .kv_heads = 1,
                        .head_dim = DIM,
                        .stride = 4 * DIM};
}

static gboolean
attention(void)
{
  RaKAttention shape = attention_shape();

  return !ra_k_attention_mma(&shape, BF16(0), BF16(0) + 2 * DIM,
                             BF16(0) + 3 * DIM, BF16(1), F32(2), NULL);
}

static gboolean
attention_backward(void)
{
  RaKAttention shape = attention_shape();

  return !ra_k_attention_backward_mma(
      &shape, BF16(0), BF16(0) + 2 * DIM, BF16(0) + 3 * DIM, BF16(1), F32(2),
      BF16(3), BF16(4), BF16(4) + 2 * DIM, BF16(4) + 3 * DIM, F32(5), NULL);
}

static gboolean
decode_attention(void)
{
  static const uint32_t length = 512, pages[] = {1, 0};
  const RaKDecode shape = {.n_sequences = 1,
                           .lengths = &length,
                           .pages = pages,
                           .max_pages = 2,
                           .page_tokens = 256,
                           .page_rows = 256,
                           .q_heads = 8,
                           .kv_heads = 1,
                           .head_dim = DIM,
                           .q_stride = 8 * DIM,
                           .n_parts = 1};

  return !ra_k_decode_attention(&shape, BF16(2), BF16(0), BF16(1), BF16(3),
                                F32(4), NULL);
}

/* Few rows a group, for which these are. */
static const uint32_t group_rows[] = {16, 48};
static const RaKGroups groups = {.n_groups = 2,
                                 .n_rows = 64,
                                 .counts = group_rows,
                                 .n = 256,
                                 .k = 512,
                                 .n_processors = 4};

static gboolean
grouped(void)
{
  return !ra_k_grouped_mma(RA_K_OUTPUT, &groups, BF16(0), BF16(1), array[2],
                           NULL);
}

static gboolean
grouped_input(void)
{
  return !ra_k_grouped_mma(RA_K_INPUT, &groups, BF16(0), BF16(1), array[2],
                           NULL);
}

static gboolean
grouped_weight(void)
{
  return !ra_k_grouped_mma(RA_K_WEIGHT, &groups, BF16(0), BF16(1), array[2],
                           NULL);
}

static gboolean
grouped_wgmma(void)
{
  return !ra_k_grouped_wgmma(RA_K_OUTPUT, &groups, BF16(0), BF16(1), array[2],
                             NULL);
}

static gboolean
grouped_input_wgmma(void)
{
  return !ra_k_grouped_wgmma(RA_K_INPUT, &groups, BF16(0), BF16(1), array[2],
                             NULL);
}

static gboolean
grouped_weight_wgmma(void)
{
  return !ra_k_grouped_wgmma(RA_K_WEIGHT, &groups, BF16(0), BF16(1), array[2],
                             NULL);
}

const RaSectorCase ra_sector_cases[] = {
    {"norm", norm, TRUE},
    {"norm_backward", norm_backward, TRUE},
    {"layer_norm", layer_norm, TRUE},
    {"layer_norm_backward", layer_norm_backward, TRUE},
    {"rope", rope, TRUE},
    {"swiglu", swiglu, TRUE},
    {"swiglu_backward", swiglu_backward, TRUE},
    {"gelu", gelu, TRUE},
    {"gelu_backward", gelu_backward, TRUE},
    {"embedding", embedding, TRUE},
    {"log_sum", log_sum, TRUE},
    {"log_prob_backward", log_prob_backward, TRUE},
    {"adamw", adamw, TRUE},
    {"sum_squares", sum_squares, TRUE},
    {"intervals", intervals, TRUE},
    {"add", add, TRUE},
    {"reduce_bf16", reduce_bf16, TRUE},
    {"reduce_f32", reduce_f32, TRUE},
    {"add_bias", add_bias, TRUE},
    {"add_columns", add_columns, TRUE},
    {"find_odd", find_odd, TRUE},
    {"attention", attention, FALSE},
    {"attention_backward", attention_backward, FALSE},
    {"decode_attention", decode_attention, TRUE},
    {"grouped", grouped, TRUE},
    {"grouped_input", grouped_input, TRUE},
    {"grouped_weight", grouped_weight, TRUE},
    {"grouped_wgmma", grouped_wgmma, TRUE},
    {"grouped_input_wgmma", grouped_input_wgmma, TRUE},
    {"grouped_weight_wgmma", grouped_weight_wgmma, TRUE},
};

guint
ra_sector_n_cases(void)
{
  return G_N_ELEMENTS(ra_sector_cases);
}

gboolean
ra_sector_run(const RaSectorCase *one, RaSectors *out)
{
  gboolean ok;

  for (guint i = 0; i < ARRAYS; i++)
    if (!array[i])
      array[i] = aligned_alloc(256, 2 * ARRAY_BYTES);
  for (guint i = 0; i < ARRAYS; i++) /* 0.01 in bf16 */
    for (gsize at = 0; at < ARRAY_BYTES; at++)
      BF16(i)[at] = 0x3c24;
  memset(words, 0, sizeof words);
  ra_sectors_begin();
  for (guint i = 0; i < ARRAYS; i++)
    ra_sectors_array(array[i], 2 * ARRAY_BYTES);
  ok = one->run();
  *out = ra_sectors_end();
  return ok;
}
