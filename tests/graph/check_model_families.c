/* Families of transformers: parameters of its classes, and what files say of
 * layers. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "graph/input/model.h"
#include "tests/support/check_main.h"

static guint64
sum_of_tensors(const RaModel *model)
{
  guint64 sum = 0;

  for (guint32 i = 0; i < ra_model_n_tensors(model); i++) {
    RaTensor t;

    ra_model_tensor(model, i, &t);
    sum += t.rows * t.cols;
  }
  return sum;
}

static RaModel *
parse(const char *text)
{
  g_autoptr(GError) error = NULL;
  RaModel *model = ra_model_parse("t.json", text, strlen(text), &error);

  ck_assert_msg(model != NULL, "%s in %.200s",
                error ? error->message : "no error", text);
  return model;
}

/* Every row of families.tsv, to the parameter.  Tensors are summed of models
 * with few: experts are neighbours and alike. */
START_TEST(test_table)
{
  const char *srcdir = g_getenv("srcdir");
  g_autofree char *path =
      g_build_filename(srcdir ? srcdir : ".", "tests/graph/families.tsv", NULL);
  g_autofree char *text = NULL;
  g_auto(GStrv) lines = NULL;
  g_autoptr(GHashTable) types = g_hash_table_new(g_str_hash, g_str_equal);

  ck_assert(g_file_get_contents(path, &text, NULL, NULL));
  lines = g_strsplit(text, "\n", -1);
  for (guint i = 2; lines[i] && *lines[i]; i++) {
    g_auto(GStrv) cells = g_strsplit(lines[i], "\t", -1);
    g_autoptr(RaModel) model = NULL;
    uint64_t n;

    ck_assert_uint_eq(g_strv_length(cells), 4);
    ck_assert(ra_text_uint64(cells[2], &n));
    model = parse(cells[3]);
    ck_assert_msg(ra_model_n_params(model) == n,
                  "%s %s: %" G_GUINT64_FORMAT " parameters, expected %s",
                  cells[0], cells[1], ra_model_n_params(model), cells[2]);
    if (ra_model_n_tensors(model) < 3000)
      ck_assert_uint_eq(sum_of_tensors(model), n);
    /* The deliberate fault: one expert, or one element of an MLP, more. */
    if (model->n_experts > 0)
      model->n_experts++;
    else
      model->ffn++;
    ck_assert_uint_ne(ra_model_n_params(model), n);
    g_hash_table_add(types, lines[i]);
    *strchr(lines[i], '\t') = '\0';
  }
  ck_assert_uint_ge(g_hash_table_size(types), 60);
}
END_TEST

#define SIZES                                                                  \
  "\"num_hidden_layers\": 4, \"hidden_size\": 64, \"num_attention_heads\": 4," \
  " \"intermediate_size\": 96, \"vocab_size\": 100"

static void
assert_cache(const RaModel *m, guint32 tp, guint64 n_tokens, guint64 token,
             guint64 sequence)
{
  guint64 of_token, of_sequence;

  ra_model_cache_bytes(m, 0, m->n_layers, tp, 2, n_tokens, &of_token,
                       &of_sequence);
  ck_assert_uint_eq(of_token, token);
  ck_assert_uint_eq(of_sequence, sequence);
}

/* DeepSeek-V3's cache: 512 + 64 elements of 2 bytes in 61 layers, 70272 bytes a
 * token whatever tp; its successor's indexer adds 128 + 4 in each.  gpt-oss-20b
 * has 12 of 24 layers with a window of 128 tokens: 2 * 8 * 64 * 2 bytes = 2048
 * a token and layer.  Qwen3-Next-80B: 12 of 48 layers have 2 * 2 * 256 * 2 =
 * 2048 bytes a token, 36 a state of 32 * 128 * 128 * 4 = 2097152 bytes and 3
 * taps of 2 * 16 * 128 + 32 * 128 = 8192 channels of 2 bytes, 49152. */
START_TEST(test_caches)
{
  g_autoptr(RaModel) latent =
      parse("{\"model_type\": \"deepseek_v3\", \"num_hidden_layers\": 61,"
            " \"hidden_size\": 7168, \"num_attention_heads\": 128,"
            " \"intermediate_size\": 18432, \"moe_intermediate_size\": 2048,"
            " \"vocab_size\": 129280, \"kv_lora_rank\": 512, \"q_lora_rank\":"
            " 1536, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64,"
            " \"v_head_dim\": 128, \"n_shared_experts\": 1}");
  g_autoptr(RaModel) windows =
      parse("{\"model_type\": \"gpt_oss\", \"num_hidden_layers\": 24,"
            " \"hidden_size\": 2880, \"num_attention_heads\": 64,"
            " \"intermediate_size\": 2880, \"vocab_size\": 201088,"
            " \"sliding_window\": 128, \"num_local_experts\": 32}");
  g_autoptr(RaModel) states =
      parse("{\"model_type\": \"qwen3_next\", \"num_hidden_layers\": 48,"
            " \"hidden_size\": 2048, \"num_attention_heads\": 16,"
            " \"intermediate_size\": 5120, \"moe_intermediate_size\": 512,"
            " \"vocab_size\": 151936, \"linear_num_key_heads\": 16,"
            " \"linear_num_value_heads\": 32, \"linear_key_head_dim\": 128,"
            " \"linear_value_head_dim\": 128}");

  assert_cache(latent, 1, 4096, 70272, 0);
  assert_cache(latent, 8, 4096, 70272, 0);
  assert_cache(windows, 1, 4096, 12 * 2048, 12 * 128 * 2048);
  assert_cache(windows, 4, 100, 12 * 512, 12 * 100 * 512);
  assert_cache(states, 1, 4096, 12 * 2048, 36 * (2097152 + 49152));
  assert_cache(states, 2, 4096, 12 * 1024, 36 * (2097152 + 49152) / 2);
}
END_TEST

#define V4                                                                     \
  "\"model_type\": \"deepseek_v4\", \"hidden_size\": 64, \"vocab_size\": 100," \
  " \"num_attention_heads\": 4, \"head_dim\": 16, \"q_lora_rank\": 24,"        \
  " \"o_groups\": 2, \"o_lora_rank\": 12, \"moe_intermediate_size\": 32,"      \
  " \"n_routed_experts\": 4, \"num_experts_per_tok\": 2, \"index_n_heads\": "  \
  "3,"                                                                         \
  " \"index_head_dim\": 8, \"index_topk\": 5, \"sliding_window\": 6,"          \
  " \"num_hidden_layers\": 4"

/* Compressed attention.  A token in its window is a head of 16 elements of 2
 * bytes; an entry as much, and with an indexer 8 + 4 more: 32 / 128 of a token
 * where 128 are one, 44 / 4 where 4 are.  A sequence keeps keys and scores of
 * 128 tokens of 16 elements in fp32, 2 * 128 * 16 * 4; with an indexer of 8 of
 * twice 24, 2 * 8 * 2 * 24 * 4.  All is the same whatever tp. */
START_TEST(test_compressed_cache)
{
  g_autoptr(RaModel) m =
      parse("{" V4 ", \"compress_ratios\": [0, 4, 128, 4, 0]}");
  g_autoptr(RaModel) none =
      parse("{" V4 ", \"compress_ratios\": [0, 0, 0, 0]}");
  const guint64 states = 2 * (2 * 8 * 2 * 24 * 4) + 2 * 128 * 16 * 4;

  assert_cache(m, 1, 100, 2 * 44 / 4 + 1, 4 * 6 * 32 + states);
  assert_cache(m, 4, 100, 2 * 44 / 4 + 1, 4 * 6 * 32 + states);
  assert_cache(m, 1, 3, 2 * 44 / 4 + 1, 4 * 3 * 32 + states);
  assert_cache(none, 1, 100, 0, 4 * 6 * 32);
  ck_assert_uint_eq(none->index_top_k, 0);
  m->kinds[1].indexer = 0; /* the fault */
  {
    guint64 token, sequence;

    ra_model_cache_bytes(m, 0, 4, 1, 2, 100, &token, &sequence);
    ck_assert_uint_ne(token, 2 * 44 / 4 + 1);
    ck_assert_uint_ne(sequence, 4 * 6 * 32 + states);
  }
}
END_TEST

/* Layers by ratios, of which one too many is of multi-token prediction, by
 * words, and by the class's default; rates of its own; and tensors, whose sum
 * is the count that families.tsv shows to be transformers'. */
START_TEST(test_compressed_layers)
{
  g_autoptr(RaModel) ratios =
      parse("{" V4 ", \"compress_ratios\": [0, 4, 128, 4, 0]}");
  g_autoptr(RaModel) words =
      parse("{" V4 ", \"layer_types\": [\"sliding_attention\","
            " \"compressed_sparse_attention\","
            " \"heavily_compressed_attention\","
            " \"compressed_sparse_attention\"],"
            " \"compress_rates\": {\"heavily_compressed_attention\": 64},"
            " \"compress_rate_csa\": 2}");
  g_autoptr(RaModel) other = parse("{" V4 "}");
  const guint32 by_ratio[] = {0, 4, 128, 4}, by_word[] = {0, 2, 64, 2};
  const guint32 by_default[] = {128, 128, 128, 4};
  guint64 n;

  for (guint32 i = 0; i < 4; i++) {
    const RaLayerKind *k = &ratios->kinds[ra_model_layer_kind(ratios, i)];

    ck_assert_uint_eq(k->mixer, RA_MIXER_COMPRESSED);
    ck_assert_uint_eq(k->compress, by_ratio[i]);
    ck_assert_uint_eq(k->indexer, by_ratio[i] == 4);
    ck_assert_uint_eq(k->window, 6);
    k = &words->kinds[ra_model_layer_kind(words, i)];
    ck_assert_uint_eq(k->compress, by_word[i]);
    k = &other->kinds[ra_model_layer_kind(other, i)];
    ck_assert_uint_eq(k->compress, by_default[i]);
  }
  ck_assert_uint_eq(sum_of_tensors(ratios), ra_model_n_params(ratios));
  ck_assert_uint_eq(sum_of_tensors(words), ra_model_n_params(words));
  ck_assert_uint_eq(ra_model_stream_width(ratios), 4 * 64);
  n = ra_model_n_params(ratios);
  ratios->n_streams++; /* the fault */
  ck_assert_uint_ne(sum_of_tensors(ratios), n);
}
END_TEST

#define M3                                                                     \
  "\"model_type\": \"minimax_m3_vl_text\", \"hidden_size\": 64,"               \
  " \"vocab_size\": 100, \"num_attention_heads\": 8,"                          \
  " \"num_key_value_heads\": 2, \"head_dim\": 16, \"intermediate_size\": 32,"  \
  " \"dense_intermediate_size\": 48, \"shared_intermediate_size\": 24,"        \
  " \"num_local_experts\": 4, \"num_experts_per_tok\": 2,"                     \
  " \"num_hidden_layers\": 3"

#define BLOCKS                                                                 \
  "\"sparse_attention_config\": {\"sparse_num_index_heads\": 2,"               \
  " \"sparse_index_dim\": 8, \"sparse_block_size\": 4,"                        \
  " \"sparse_topk_blocks\": 3, \"sparse_attention_freq\": [0, 1, 1]}"

/* MiniMax-M3 as published files write it: the second and third layer choose
 * blocks of 4 keys, 12 in all, the first has no experts.  A token has 2 * 2 *
 * 16 elements of 2 bytes in each layer, and 8 more where blocks are chosen. */
START_TEST(test_blocks)
{
  g_autoptr(RaModel) m =
      parse("{" M3 ", \"moe_layer_freq\": [0, 1, 1], " BLOCKS "}");
  g_autoptr(RaModel) plain = parse("{" M3 "}");

  ck_assert_uint_eq(m->index_top_k, 12);
  ck_assert_uint_eq(m->ffn, 48);
  ck_assert_uint_eq(m->expert_ffn, 32);
  ck_assert_uint_eq(m->shared_ffn, 24);
  ck_assert_uint_eq(ra_model_n_kinds(m), 2);
  ck_assert_uint_eq(ra_model_n_moe_layers(m), 2);
  ck_assert_uint_eq(ra_model_kind_window(m, 0), 0);
  ck_assert_uint_eq(ra_model_kind_window(m, 1), 12);
  ck_assert(ra_model_kind_has_ring(m, 0) && !ra_model_kind_has_ring(m, 1));
  assert_cache(m, 1, 100, 3 * 128 + 2 * 16, 0);
  assert_cache(m, 2, 100, 3 * 64 + 2 * 16, 0);
  assert_cache(plain, 1, 100, 3 * 128, 0); /* without them */
  ck_assert_uint_eq(sum_of_tensors(m), ra_model_n_params(m));
  /* An indexer is 2 heads of 8 of 64, a key of 8, and two norms of 8. */
  ck_assert_uint_eq(ra_model_kind_n_params(m, 1, RA_PART_MIXER, 1) -
                        ra_model_kind_n_params(m, 0, RA_PART_MIXER, 1),
                    16 * 64 + 8 * 64 + 2 * 8);
}
END_TEST

/* Which layer is what. */
START_TEST(test_layers)
{
  g_autoptr(RaModel) every =
      parse("{\"model_type\": \"gemma3_text\", " SIZES
            ", \"sliding_window\": 8, \"sliding_window_pattern\": 2}");
  g_autoptr(RaModel) listed =
      parse("{\"model_type\": \"gemma3_text\", " SIZES
            ", \"sliding_window\": 8, \"layer_types\": [\"full_attention\","
            " \"full_attention\", \"sliding_attention\","
            " \"full_attention\"]}");
  g_autoptr(RaModel) pattern =
      parse("{\"model_type\": \"nemotron_h\", " SIZES
            ", \"hybrid_override_pattern\": \"M-*E\", \"mamba_num_heads\": 4,"
            " \"mamba_head_dim\": 8, \"ssm_state_size\": 16, \"n_groups\": 2,"
            " \"moe_intermediate_size\": 32, \"num_key_value_heads\": 2}");

  ck_assert_uint_eq(ra_model_n_kinds(every), 2);
  ck_assert_ptr_null(every->notes); /* windows are counted as such */
  for (guint32 i = 0; i < 4; i++) {
    ck_assert_uint_eq(every->kinds[ra_model_layer_kind(every, i)].window,
                      i % 2 == 0 ? 8 : 0);
    ck_assert_uint_eq(listed->kinds[ra_model_layer_kind(listed, i)].window,
                      i == 2 ? 8 : 0);
    ck_assert_uint_eq(ra_model_layer_kind(pattern, i), i);
  }
  ck_assert_uint_eq(pattern->kinds[0].mixer, RA_MIXER_MAMBA);
  ck_assert_uint_eq(pattern->kinds[0].ffn, RA_FFN_NONE);
  ck_assert_uint_eq(pattern->kinds[1].mixer, RA_MIXER_NONE);
  ck_assert_uint_eq(pattern->kinds[2].mixer, RA_MIXER_ATTENTION);
  ck_assert_uint_eq(ra_model_n_moe_layers(pattern), 1);
  ck_assert(!ra_model_is_plain(every));
}
END_TEST

/* Contradictory files, each with the key that the message must name. */
static const struct {
  const char *text, *key;
} bad[] = {
    {"{\"model_type\": \"gemma3_text\", " SIZES ", \"sliding_window\": 8,"
     " \"layer_types\": [\"full_attention\"]}",
     "'layer_types' has 1 elements, expected 4"},
    {"{\"model_type\": \"gemma3_text\", " SIZES ", \"sliding_window\": 8,"
     " \"layer_types\": [\"full_attention\", \"full_attention\", \"mamba\","
     " \"full_attention\"]}",
     "element 2 of 'layer_types"},
    {"{\"model_type\": \"gemma3_text\", " SIZES
     ", \"layer_types\": [\"sliding_attention\", \"full_attention\","
     " \"full_attention\", \"full_attention\"]}",
     "there is no 'sliding_window'"},
    {"{\"model_type\": \"nemotron_h\", " SIZES
     ", \"hybrid_override_pattern\": \"M-*\", \"mamba_num_heads\": 4,"
     " \"mamba_head_dim\": 8, \"ssm_state_size\": 16, \"n_groups\": 2, "
     "\"num_key_value_heads\": 2}",
     "'hybrid_override_pattern' has 3 letters, expected 4"},
    {"{\"model_type\": \"nemotron_h\", " SIZES
     ", \"hybrid_override_pattern\": \"M-*X\", \"mamba_num_heads\": 4,"
     " \"mamba_head_dim\": 8, \"ssm_state_size\": 16, \"n_groups\": 2, "
     "\"num_key_value_heads\": 2}",
     "element 3 of 'hybrid_override_pattern'"},
    {"{\"model_type\": \"nemotron_h\", " SIZES
     ", \"hybrid_override_pattern\": \"M-*-\", \"mamba_num_heads\": 4,"
     " \"mamba_head_dim\": 8, \"ssm_state_size\": 16, \"n_groups\": 3, "
     "\"num_key_value_heads\": 2}",
     "not divisible by 3 heads or groups"},
    {"{\"model_type\": \"gemma4_text\", " SIZES "}",
     "'hidden_size_per_layer_input' of a gemma4_text is not 0"},
    {"{\"model_type\": \"gemma4_text\", " SIZES
     ", \"hidden_size_per_layer_input\": 0, \"num_kv_shared_layers\": 2}",
     "'num_kv_shared_layers' of a gemma4_text is not 0"},
    {"{\"model_type\": \"gemma4_text\", " SIZES
     ", \"hidden_size_per_layer_input\": 0, \"sliding_window\": 8,"
     " \"per_layer_config\": {\"1\": {\"num_key_value_heads\": 3}}}",
     "3 heads of keys of layer 1, expected a divisor of 4"},
    {"{\"model_type\": \"gemma4_text\", " SIZES
     ", \"hidden_size_per_layer_input\": 0,"
     " \"per_layer_config\": {\"1\": {\"intermediate_size\": 3}}}",
     "'intermediate_size' of one layer"},
    {"{\"model_type\": \"llama\", " SIZES
     ", \"per_layer_config\": {\"1\": {\"head_dim\": 16}}}",
     "'per_layer_config' of this 'model_type'"},
    {"{\"model_type\": \"gpt_oss\", " SIZES ", \"num_key_value_heads\": 8}",
     "4 heads are not divisible by 8 key/value heads"},
    {"{\"model_type\": \"glm4_moe\", " SIZES
     ", \"num_key_value_heads\": 2, \"n_routed_experts\": 4, "
     "\"num_experts_per_tok\": 8}",
     "'num_experts_per_tok' is 8, expected an integer from 1 to 4"},
    {"{\"model_type\": \"deepseek_v32\", " SIZES
     ", \"q_lora_rank\": null, \"kv_lora_rank\": 8, \"qk_nope_head_dim\": 8,"
     " \"qk_rope_head_dim\": 8, \"v_head_dim\": 8, \"index_n_heads\": 2,"
     " \"index_head_dim\": 8, \"index_topk\": 4}",
     "'q_lora_rank' is null"},
    {"{" V4 ", \"compress_ratios\": [0, 4, 128]}",
     "'compress_ratios' has 3 elements, expected at least 4"},
    {"{" V4 ", \"compress_ratios\": [0, 4, 128, 8]}",
     "element 3 of 'compress_ratios' is no known ratio"},
    {"{" V4 ", \"compress_ratios\": [0, 4, 128, 4], \"layer_types\":"
     " [\"sliding_attention\", \"sliding_attention\", \"sliding_attention\","
     " \"sliding_attention\"]}",
     "element 1 of 'compress_ratios' is of a compressed_sparse_attention"},
    {"{" V4 ", \"layer_types\": [\"full_attention\", \"full_attention\","
     " \"full_attention\", \"full_attention\"]}",
     "element 0 of 'layer_types' is no known type"},
    {"{" V4 ", \"mlp_layer_types\": [\"moe\", \"moe\", \"dense\", \"moe\"]}",
     "element 2 of 'mlp_layer_types'"},
    {"{" V4 ", \"num_key_value_heads\": 2}", "'num_key_value_heads' is 2"},
    {"{" V4 ", \"n_shared_experts\": 2}", "'n_shared_experts' is 2"},
    {"{\"o_groups\": 3, \"model_type\": \"deepseek_v4\", \"hidden_size\": 64,"
     " \"vocab_size\": 100, \"num_attention_heads\": 4, \"head_dim\": 16,"
     " \"num_hidden_layers\": 1, \"moe_intermediate_size\": 32}",
     "'o_groups' is 3, expected a divisor of 64"},
    {"{" V4 ", \"mlp_bias\": true}", "'mlp_bias' of a deepseek_v4 is true"},
    {"{" M3 ", \"layer_types\": [\"full_attention\", \"full_attention\","
     " \"full_attention\"], " BLOCKS "}",
     "element 1 of 'sparse_attention_freq' contradicts 'layer_types'"},
    {"{" M3 ", \"moe_layer_freq\": [0, 2, 1]}",
     "element 1 of 'moe_layer_freq' is no type of layer"},
    {"{" M3 ", \"mlp_layer_types\": [\"moe\", \"dense\", \"sparse\"]}",
     "element 0 of 'mlp_layer_types'"},
    {"{" M3 ", \"layer_types\": [\"minimax_m3_sparse\", \"full_attention\","
     " \"full_attention\"], \"index_n_heads\": 3}",
     "3 heads of the indexer, expected a divisor of 8"},
    {"{\"model_type\": \"jamba\", " SIZES "}", "'model_type' is 'jamba'"},
};

START_TEST(test_bad)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(RaModel) model =
      ra_model_parse("t.json", bad[_i].text, strlen(bad[_i].text), &error);

  ck_assert_ptr_null(model);
  ck_assert_msg(strstr(error->message, bad[_i].key) != NULL, "%s",
                error->message);
}
END_TEST

static Suite *
families_suite(void)
{
  Suite *suite = suite_create("families");
  TCase *table = tcase_create("table");

  tcase_add_test(table, test_table);
  tcase_add_test(table, test_caches);
  tcase_add_test(table, test_layers);
  tcase_add_test(table, test_compressed_cache);
  tcase_add_test(table, test_compressed_layers);
  tcase_add_test(table, test_blocks);
  tcase_add_loop_test(table, test_bad, 0, G_N_ELEMENTS(bad));
  suite_add_tcase(suite, table);
  return suite;
}

RA_CHECK_MAIN(families_suite)
