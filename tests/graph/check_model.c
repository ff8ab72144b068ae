#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graph/input/model.h"
#include "tests/support/check_main.h"

static char *
in_tree(const char *file)
{
  const char *srcdir = g_getenv("srcdir");
  return g_build_filename(srcdir ? srcdir : ".", file, NULL);
}

static RaModel *
shipped(const char *name)
{
  g_autofree char *file = g_strdup_printf("share/models/%s.json", name);
  g_autofree char *path = in_tree(file);
  g_autoptr(GError) error = NULL;
  RaModel *model = ra_model_load(path, &error);
  ck_assert_msg(model != NULL, "%s", error ? error->message : "no error");
  return model;
}

static RaModel *
parse(const char *text)
{
  g_autoptr(GError) error = NULL;
  RaModel *model = ra_model_parse("t.json", text, strlen(text), &error);
  ck_assert_msg(model != NULL, "%s", error ? error->message : "no error");
  return model;
}

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

/* Published totals: what from_pretrained() and safetensors' metadata count.
 * One derivation a family, h hidden, f ffn, v vocab, q heads * head_dim, k
 * kv_heads * head_dim:
 *
 * llama (2-7B): layer 2 h q + 2 h k + 3 h f + 2 h = 4 * 4096^2 +
 *   3 * 4096 * 11008 + 8192 = 67108864 + 135266304 + 8192 = 202383360; * 32 =
 *   6476267520; + 2 * 32000 * 4096 (262144000) + 4096 = 6738415616.
 * mistral (7B): 2 * 4096^2 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 8192 =
 *   218112000; * 32 + 262144000 + 4096 = 7241732096.
 * qwen2 (2.5-7B): 2 * 3584^2 + 2 * 3584 * 512 + (3584 + 2 * 512) biases +
 *   3 * 3584 * 18944 + 7168 = 233057792; * 28 = 6525618176; +
 *   2 * 152064 * 3584 (1089994752) + 3584 = 7615616512.
 * qwen3 (32B): q 8192, k 1024: 2 * 5120 * 8192 + 2 * 5120 * 1024 + 2 * 128 +
 *   3 * 5120 * 25600 + 10240 = 487598336; * 64 = 31206293504; +
 *   2 * 151936 * 5120 (1555824640) + 5120 = 32762123264.
 * mixtral: 41943040 + 8 * (4096 + 3 * 4096 * 14336) + 8192 = 1451270144;
 *   * 32 = 46440644608; + 262144000 + 4096 = 46702792704.
 * qwen3_moe (30B-A3B): q 4096, k 512: 2 * 2048 * 4608 + 256 +
 *   128 * (2048 + 3 * 2048 * 768) + 4096 = 623120640; * 48 = 29909790720; +
 *   2 * 151936 * 2048 (622329856) + 2048 = 30532122624.
 * gpt2: layer 12 h^2 + 13 h = 7077888 + 9984 = 7087872; * 12 = 85054464; +
 *   50257 * 768 (38597376) + 1024 * 768 (786432) + 2 * 768 = 124439808.
 * bloom: layer 12 h^2 + 13 h = 2466250752 + 186368 = 2466437120; * 70 =
 *   172650598400; + 250880 * 14336 (3596615680) + 4 h (57344) = 176247271424.
 * mpt (7B): layer 12 h^2 + 2 h = 201334784; * 32 = 6442713088; + 50432 * 4096
 *   (206569472) + 4096 = 6649286656.
 * nemotron (4-15B): 2 * 6144^2 + 2 * 6144 * 1024 + 2 * 6144 * 24576 + 4 h =
 *   390094848; * 32 = 12483035136, the paper's 12.5e9 without embedding; + 2 *
 *   256000 * 6144 (3145728000, its 3.1e9) + 2 h = 15628775424.  340B the same
 *   way: 331591974912 (the paper: 331.6e9) + 9437184000 (9.4e9) + 36864.
 */
/* clang-format off */
static const struct {
  const char *name;
  guint64 n_params;
  guint64 n_active; /* 0: as n_params */
} published[] = {
  {"llama-2-7b", 6738415616, 0},     {"llama-2-13b", 13015864320, 0},
  {"llama-2-70b", 68976648192, 0},   {"llama-3-8b", 8030261248, 0},
  {"llama-3-70b", 70553706496, 0},   {"llama-3.1-405b", 405853388800, 0},
  {"llama-3.2-1b", 1235814400, 0},   {"codellama-34b", 33743970304, 0},
  {"qwen2.5-1.5b", 1543714304, 0},   {"qwen2.5-7b", 7615616512, 0},
  {"qwen2.5-32b", 32763876352, 0},   {"qwen2.5-72b", 72706203648, 0},
  {"qwen3-8b", 8190735360, 0},       {"qwen3-32b", 32762123264, 0},
  {"llama-7b", 6738415616, 0},       {"llama-13b", 13015864320, 0},
  {"llama-33b", 32528943616, 0},     {"llama-65b", 65285660672, 0},
  {"mistral-7b", 7241732096, 0},     {"gpt2", 124439808, 0},
  {"gpt2-xl", 1557611200, 0},        {"bloom-176b", 176247271424, 0},
  {"mpt-7b", 6649286656, 0},         {"nemotron-4-15b", 15628775424, 0},
  {"nemotron-4-340b", 341029195776, 0},
  /* less 32 * 6 of 8 experts of 3 * 4096 * 14336, 33822867456 */
  {"mixtral-8x7b", 46702792704, 12879925248},
  /* less 48 * 120 experts of 3 * 2048 * 768, 27179089920: "A3B" */
  {"qwen3-30b-a3b", 30532122624, 3353032704},
  /* less 94 * 120 experts of 3 * 4096 * 1536, 212902871040: "A22B" */
  {"qwen3-235b-a22b", 235093634560, 22190763520},
  /* DeepSeek-V3, h 7168: 61 layers of latent attention, h 1536 + 1536 + 1536 *
   * 128 * 192 + h 576 + 512 + 512 * 128 * 256 + 128 * 128 h = 187107328, and
   * 2 h; 3 MLPs of 3 h 18432 = 396361728; 58 of 256 h + 257 experts of 3 h 2048
   * = 44040192; 2 * 129280 h + h.  The published headers (671026419200) have
   * 58 * 256 correction biases more, which are not trained.  A token misses 58
   * * 248 experts.  The other numbers are those of transformers' classes
   * (make_families.py), which leave out multi-token prediction. */
  {"deepseek-v3", 671026404352, 37552282624},
  {"kimi-k2", 1026408209408, 32861477888},
  {"moonlight-16b-a3b", 15960108544, 2914774528},
  {"glm-4.5-air", 106852245504, 13424123904},
  {"glm-4.5", 352797814784, 33632251904},
  {"gpt-oss-120b", 116829156672, 5711982912},
  {"gpt-oss-20b", 20914757184, 4187440704},
  {"qwen3-next-80b-a3b", 79674391296, 3874929408},
  {"nemotron-nano-9b-v2", 8888227328, 0},
  {"nemotron-3-nano-30b-a3b", 31577937344, 3580073408},
  /* Transformers' classes; verl's and slime's configurations have these
   * shapes (verl/tests/utils/test_flops_counter.py, slime/scripts/models).  A
   * token misses 40 * 248 experts of 3 * 2048 * 512, 24 * 56 of 3 * 2048 *
   * 1408, 62 * 248 of 3 * 3072 * 1536, 46 * 60 of 3 * 2048 * 1536. */
  {"qwen3.5-35b-a3b", 34660610688, 3454988928},
  {"qwen3.5-0.8b", 752393024, 0},
  {"qwen3.5-2b", 1881825088, 0},
  {"qwen3.5-4b", 4205751296, 0},
  {"qwen3.5-9b", 8953803264, 0},
  /* Qwen3.5 with keys' heads K, values' S = 128 each and width h: a layer of
   * the delta net has h (2 K + 2 S) + 2 h (S / 128) + 4 (2 K + S) + S / 64 +
   * 128 + S h, one of attention h 256 (3 heads + 2 kv) + 512, with 2 h of
   * norms and an MLP, or 256 or 512 experts, shared ones, router and gate;
   * 2 * 248320 h + h.  A token misses 248 of 256, 502 of 512. */
  {"qwen3.5-27b", 26895998464, 0},
  {"qwen3.5-122b-a10b", 122111526912, 9771288576},
  {"qwen3.5-397b-a17b", 396346350336, 17349040896},
  /* Nemotron-3: Mamba-2 of d = 8192 inner, c = d + 2 * 8 * 128 convolved: h (d
   * + c + 128) + 5 c + 3 * 128 + d + d h + h; 512 experts of 2 * 1024 * 2688
   * between two matrices (h, 1024).  A token misses 490 of 512. */
  {"nemotron-3-super-120b-a12b", 120668687360, 12770216960},
  {"nemotron-nano-12b-v2", 12310001152, 0},
  /* GLM-5: latent attention of 64 heads, ranks 2048 and 512, heads of 192 + 64
   * and 256; 78 indexers of 2048 * 4096 + 160 h + 256, 21 in GLM-5.2; "744B".
   * A token misses 248 of 256 experts of 3 h 2048 in 75 layers. */
  {"glm-5", 743911199232, 41784709632},
  {"glm-5.2", 743377000704, 41250511104},
  /* DeepSeek-V4-Flash, "284B" of which 13B are active, h 4096: a layer has
   * attention of h 1024 + 1024 + 1024 * 64 * 512 + h 512 + 512 + 8192 * 4096 +
   * h 8192 + 64; 257 experts of 3 h 2048, 256 h, 2 h; 2 (24 * 4 h + 24 + 3) of
   * residual streams.  20 compress 128 tokens: 2 h 512 + 128 * 512 + 512; 21
   * compress 4: 2 h 1024 + 4 * 1024 + 512, indexers of 2 h 256 + 4 * 256 + 128
   * + 1024 * 8192 + 64 h.  Behind them 4 * 4 h + 4 + 1. */
  {"deepseek-v4-flash", 284332230231, 13799622231},
  {"deepseek-v4-pro", 1572997179491, 49779058787},
  {"qwen1.5-moe-a2.7b", 14315784192, 2689173504},
  {"minimax-m2", 228689748992, 11030537216},
  /* MiniMax-M3's text model, h 6144; "428B total, 23B active" with its tower.
   * 60 layers of h (64 + 4 + 4) 128 + 64 * 128 h + 256 and 2 h, 3 MLPs of 3 h
   * 12288, 57 of 129 experts of 3 h 3072 and 128 h, and indexers of 5 * 128 h +
   * 256; 2 * 200064 h + h.  A token misses 124 of 128 experts. */
  {"minimax-m3", 426174565632, 25962466560},
  {"glm-4.7-flash", 29943390976, 3896763136},
  {"glm-4-9b-0414", 9400279040, 0},
  /* published headers; of gemma-3-27b without the vision tower */
  {"gemma-2-2b", 2614341888, 0},
  {"gemma-3-1b", 999885952, 0},
  {"gemma-3-27b", 27009346304, 0},
  /* transformers' class.  A token misses 30 * 120 experts of 3 * 2816 * 704,
   * 21410611200: "26B-A4B"; "31B" */
  {"gemma-4-26b-a4b", 25233141760, 3822530560},
  {"gemma-4-31b", 30697345280, 0},
  /* the defaults of transformers' class are its published shape; a token
   * misses 79 * 184 experts of 3 * 4096 * 1536, 274357813248: "295B-A21B" */
  {"hy3", 295033528320, 20675715072},
  {"pythia-1b", 1011781632, 0},
  /* of nobody: layer 2 * 64^2 + 2 * 32 * 64 + 3 * 64 * 128 + 128 = 36992; * 4
   * + 2 * 64 * 64 + 64 */
  {"tiny-llama", 156224, 0},
  /* layer 4 * 64 * 128 + 3 * 64 * 128 + 128 = 57472; * 2 + 2 * 64 * 64 + 64 */
  {"tiny-llama-64", 123200, 0},
  /* tiny-llama's layers between tables of 256: 4 * 36992 + 2 * 256 * 64 + 64 */
  {"tiny-bytes", 180800, 0},
  /* attention of a layer 2 * 64^2 + 2 * 32 * 64, biases 64 + 2 * 32, norms
   * 2 * 8 + 2 * 64: 12560; an expert 3 * 64 * 32 = 6144; 4 * 12560 + 3 * 64 *
   * 128 + 3 * (8 * 64 + 9 * 6144) + 2 * 64 * 64 + 64; a token misses 3 * 6 */
  {"tiny-ministral", 156224, 0}, /* as tiny-llama */
  {"tiny-glm4-moe", 250496, 139904},
  /* attention 12288, biases 64 + 2 * 32 + 64, sinks 8: 12488; an expert 6144 +
   * 2 * 32 + 64 = 6272, a router 8 * 64 + 8; 4 * (12488 + 8 * 6272 + 520 + 2 *
   * 64) + 64 + 2 * 64^2; a token misses 4 * 6 experts */
  {"tiny-gpt-oss", 261504, 110976},
  /* latents 32 * 64 + 20 * 64, norms of them 32 + 16, queries 8 * 12 * 32, keys
   * and values 8 * 16 * 16, output 64^2: 12592; 4 * (12592 + 128) + 3 * 64 *
   * 128 + 3 * (8 * 64 + 9 * 6144) + 2 * 64^2 + 64; a token misses 3 * 6
   * experts */
  {"tiny-deepseek-v3", 251136, 140544},
  /* queries 8 * 12 * 64 in place of their latents: 13584 of 12592 */
  {"tiny-deepseek-v2", 255104, 144512},
};
/* clang-format on */

START_TEST(test_published)
{
  g_autoptr(RaModel) model = shipped(published[_i].name);
  guint64 active = published[_i].n_active;
  ck_assert_str_eq(model->name, published[_i].name);
  ck_assert_uint_eq(ra_model_n_params(model), published[_i].n_params);
  ck_assert_uint_eq(ra_model_n_active_params(model),
                    active ? active : published[_i].n_params);
  ck_assert_uint_eq(sum_of_tensors(model), published[_i].n_params);
  ra_model_set_head(model, RA_HEAD_VALUE);
  ck_assert_uint_eq(sum_of_tensors(model), ra_model_n_params(model));
}
END_TEST

/* Every file of share/models is in the table above. */
START_TEST(test_all_shipped)
{
  g_autofree char *path = in_tree("share/models");
  g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
  ck_assert_ptr_nonnull(dir);
  guint n = 0;
  for (const char *file; (file = g_dir_read_name(dir)) != NULL;)
    n += g_str_has_suffix(file, ".json");
  ck_assert_uint_eq(n, G_N_ELEMENTS(published));
}
END_TEST

/* Files as small models of other families state them, with the counts that
 * their model cards print: bloom-560m has both spellings of hidden. */
START_TEST(test_model_cards)
{
  g_autoptr(RaModel) small =
      parse("{\"model_type\": \"bloom\", \"n_layer\": 24, \"n_embed\": 1024,"
            " \"hidden_size\": 1024, \"num_attention_heads\": 16,"
            " \"vocab_size\": 250880}");
  ck_assert_uint_eq(ra_model_n_params(small), 559214592);
  g_autoptr(RaModel) large =
      parse("{\"model_type\": \"bloom\", \"n_layer\": 30, \"hidden_size\": "
            "4096, \"n_head\": 32, \"vocab_size\": 250880}");
  ck_assert_uint_eq(ra_model_n_params(large), 7069016064);
}
END_TEST

/* The deliberate fault: a wrong bit must not pass for the published count.
 * Llama-2-7B: tied takes 32000 * 4096 away; kv 8 instead of 32 takes
 * 2 * 4096 * 24 * 128 a layer; a qkv bias adds 3 * 4096 a layer. */
START_TEST(test_faults)
{
  const guint64 n = 6738415616;
  g_autoptr(RaModel) model = shipped("llama-2-7b");
  model->tied_embeddings = TRUE;
  ck_assert_uint_eq(ra_model_n_params(model), n - 32000 * 4096);
  ck_assert_uint_eq(sum_of_tensors(model), n - 32000 * 4096);
  model->tied_embeddings = FALSE;
  model->n_kv_heads = 8;
  ck_assert_uint_eq(ra_model_n_params(model),
                    n - G_GUINT64_CONSTANT(32) * 2 * 4096 * 24 * 128);
  ck_assert_uint_eq(sum_of_tensors(model), ra_model_n_params(model));
  model->n_kv_heads = 32;
  model->qkv_bias = TRUE;
  ck_assert_uint_eq(ra_model_n_params(model), n + 32 * 3 * 4096);
  ck_assert_uint_eq(sum_of_tensors(model), n + 32 * 3 * 4096);
}
END_TEST

/* A value head is (1, hidden).  Untied Llama-2-7B loses 32000 * 4096 and gets
 * 4096; tied gpt2 loses nothing and gets 768. */
START_TEST(test_value_head)
{
  g_autoptr(RaModel) llama = shipped("llama-2-7b");
  ra_model_set_head(llama, RA_HEAD_VALUE);
  ck_assert_uint_eq(ra_model_n_params(llama), 6738415616 - 131072000 + 4096);
  ck_assert_uint_eq(ra_model_head_n_params(llama), 4096);
  RaTensor t;
  ra_model_tensor(llama, ra_model_n_tensors(llama) - 1, &t);
  ck_assert_str_eq(t.name, "score.weight");
  ck_assert_int_eq(t.split, RA_SPLIT_NONE);
  g_autoptr(RaModel) gpt2 = shipped("gpt2");
  ra_model_set_head(gpt2, RA_HEAD_VALUE);
  ck_assert_uint_eq(ra_model_n_params(gpt2), 124439808 + 768);
}
END_TEST

/* The pieces of Mixtral: attention 2 * 4096 * (4096 + 1024) = 41943040; an
 * expert 3 * 4096 * 14336 = 176160768; MLP 8 * (4096 + 176160768). */
START_TEST(test_pieces)
{
  g_autoptr(RaModel) m = shipped("mixtral-8x7b");
  ck_assert_uint_eq(ra_model_embedding_n_params(m), 131072000);
  ck_assert_uint_eq(ra_model_position_n_params(m), 0);
  ck_assert_uint_eq(ra_model_mixer_n_params(m, 0), 41943040);
  ck_assert_uint_eq(ra_model_expert_n_params(m), 176160768);
  ck_assert_uint_eq(ra_model_mlp_n_params(m, 31), 1409318912);
  ck_assert_uint_eq(ra_model_kind_n_params(m, 0, RA_PART_NORMS, 1), 8192);
  ck_assert_uint_eq(ra_model_layer_n_params(m, 0), 1451270144);
  ck_assert_uint_eq(ra_model_final_norm_n_params(m), 4096);
  ck_assert_uint_eq(ra_model_head_n_params(m), 131072000);
  ck_assert_uint_eq(ra_model_n_moe_layers(m), 32);
}
END_TEST

typedef struct {
  const char *model;
  guint32 index;
  const char *name;
  guint64 rows, cols;
  RaTensorSplit split;
  guint32 grain;
  gint32 layer, expert;
} TensorRow;

/* Places in the checkpoints: Llama-2-7B has 1 tensor before and 9 a layer, so
 * layer 3's q is 1 + 27.  Qwen2.5-7B has 3 biases more: 12.  Mixtral has 4 + 1
 * + 8 * 3 + 2 = 31 a layer; layer 1's expert 5's w2 is 1 + 31 + 4 + 1 + 16.
 * gpt2 has 2 before and 16 a layer (c_attn in 6 parts). */
/* clang-format off */
static const TensorRow tensor_rows[] = {
  {"llama-2-7b", 0, "model.embed_tokens.weight", 32000, 4096,
   RA_SPLIT_VOCAB, 1, -1, -1},
  {"llama-2-7b", 28, "model.layers.3.self_attn.q_proj.weight", 4096, 4096,
   RA_SPLIT_COLUMN, 128, 3, -1},
  {"llama-2-7b", 31, "model.layers.3.self_attn.o_proj.weight", 4096, 4096,
   RA_SPLIT_ROW, 128, 3, -1},
  {"llama-2-7b", 32, "model.layers.3.mlp.gate_proj.weight", 11008, 4096,
   RA_SPLIT_COLUMN, 1, 3, -1},
  {"llama-2-7b", 34, "model.layers.3.mlp.down_proj.weight", 4096, 11008,
   RA_SPLIT_ROW, 1, 3, -1},
  {"llama-2-7b", 35, "model.layers.3.input_layernorm.weight", 4096, 1,
   RA_SPLIT_NONE, 1, 3, -1},
  {"llama-2-7b", 290, "lm_head.weight", 32000, 4096, RA_SPLIT_VOCAB, 1, -1,
   -1},
  {"qwen2.5-7b", 28, "model.layers.2.self_attn.k_proj.bias", 512, 1,
   RA_SPLIT_COLUMN, 128, 2, -1},
  {"mixtral-8x7b", 53, "model.layers.1.block_sparse_moe.experts.5.w2.weight",
   4096, 14336, RA_SPLIT_ROW, 1, 1, 5},
  {"mixtral-8x7b", 61, "model.layers.1.input_layernorm.weight", 4096, 1,
   RA_SPLIT_NONE, 1, 1, -1},
  {"gpt2", 1, "transformer.wpe.weight", 1024, 768, RA_SPLIT_NONE, 1, -1, -1},
  {"gpt2", 21, "transformer.h.1.attn.c_attn.weight[k]", 768, 768,
   RA_SPLIT_COLUMN, 64, 1, -1},
  {"gpt2", 27, "transformer.h.1.attn.c_proj.bias", 768, 1, RA_SPLIT_NONE, 1,
   1, -1},
  {"gpt2", 195, "transformer.ln_f.bias", 768, 1, RA_SPLIT_NONE, 1, -1, -1},
};
/* clang-format on */

START_TEST(test_tensors)
{
  const TensorRow *row = &tensor_rows[_i];
  g_autoptr(RaModel) model = shipped(row->model);
  ck_assert_uint_lt(row->index, ra_model_n_tensors(model));
  RaTensor t;
  ra_model_tensor(model, row->index, &t);
  ck_assert_str_eq(t.name, row->name);
  ck_assert_uint_eq(t.rows, row->rows);
  ck_assert_uint_eq(t.cols, row->cols);
  ck_assert_int_eq(t.split, row->split);
  ck_assert_uint_eq(t.grain, row->grain);
  ck_assert_int_eq(t.layer, row->layer);
  ck_assert_int_eq(t.expert, row->expert);
}
END_TEST

/* safetensors' index of Llama-2-7B lists 291 tensors, of Mixtral 995; names
 * are unique, which a table of 18,867 (Qwen3-30B-A3B: 1 + 48 * (6 + 1 + 384 +
 * 2) + 2) shows best. */
START_TEST(test_tensor_names)
{
  g_autoptr(RaModel) llama = shipped("llama-2-7b");
  ck_assert_uint_eq(ra_model_n_tensors(llama), 291);
  g_autoptr(RaModel) mixtral = shipped("mixtral-8x7b");
  ck_assert_uint_eq(ra_model_n_tensors(mixtral), 995);
  g_autoptr(RaModel) qwen = shipped("qwen3-30b-a3b");
  ck_assert_uint_eq(ra_model_n_tensors(qwen), 18867);
  g_autoptr(GHashTable) seen =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint32 i = 0; i < 18867; i++) {
    RaTensor t;
    ra_model_tensor(qwen, i, &t);
    ck_assert_msg(g_hash_table_add(seen, g_strdup(t.name)), "%s twice", t.name);
  }
}
END_TEST

#define QWEN3_MOE                                                              \
  "{\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 4,"                  \
  " \"hidden_size\": 8, \"num_attention_heads\": 4, \"head_dim\": 2,"          \
  " \"intermediate_size\": 16, \"vocab_size\": 10, \"num_experts\": 2,"        \
  " \"num_experts_per_tok\": 1, \"moe_intermediate_size\": 3"

/* Step 2 makes layers 1 and 3 MoE; mlp_only_layers takes 3 away.
 * kv heads: the class's 4.  Layer: attention 4 * 64 + 4; norms 16; dense
 * 3 * 8 * 16 = 384; MoE 2 * (8 + 3 * 8 * 3) = 160. */
START_TEST(test_sparse_layers)
{
  g_autoptr(RaModel) two = parse(QWEN3_MOE ", \"decoder_sparse_step\": 2}");
  ck_assert_uint_eq(ra_model_n_moe_layers(two), 2);
  ck_assert(!ra_model_layer_is_moe(two, 0));
  ck_assert(ra_model_layer_is_moe(two, 3));
  ck_assert_uint_eq(ra_model_layer_n_params(two, 0), 260 + 16 + 384);
  ck_assert_uint_eq(ra_model_layer_n_params(two, 1), 260 + 16 + 160);
  ck_assert_uint_eq(sum_of_tensors(two), ra_model_n_params(two));
  ck_assert_uint_eq(ra_model_n_params(two) - ra_model_n_active_params(two),
                    2 * 3 * 8 * 3);
  g_autoptr(RaModel) one = parse(
      QWEN3_MOE ", \"decoder_sparse_step\": 2, \"mlp_only_layers\": [3]}");
  ck_assert_uint_eq(ra_model_n_moe_layers(one), 1);
  ck_assert_uint_eq(sum_of_tensors(one), ra_model_n_params(one));
  g_autoptr(RaModel) none = parse(QWEN3_MOE ", \"decoder_sparse_step\": 9}");
  ck_assert_uint_eq(none->n_experts, 0);
  ck_assert_uint_eq(sum_of_tensors(none), ra_model_n_params(none));
}
END_TEST

#define SMALL(type)                                                            \
  "{\"model_type\": \"" type "\", \"num_hidden_layers\": 1,"                   \
  " \"hidden_size\": 256, \"num_attention_heads\": 64,"                        \
  " \"intermediate_size\": 16, \"vocab_size\": 10"

/* Defaults of configuration classes for what a file leaves out. */
START_TEST(test_defaults)
{
  static const struct {
    const char *text;
    guint32 kv, dim, positions;
    gboolean tied, qkv_bias, out_bias;
  } rows[] = {
      {SMALL("llama") "}", 64, 4, 2048, 0, 0, 0},
      {SMALL("llama") ", \"attention_bias\": true}", 64, 4, 2048, 0, 1, 1},
      {SMALL("mistral") "}", 8, 4, 131072, 0, 0, 0},
      {SMALL("mistral") ", \"num_key_value_heads\": null}", 64, 4, 131072, 0, 0,
       0},
      {SMALL("qwen2") "}", 32, 4, 32768, 0, 1, 0},
      {SMALL("qwen3") "}", 32, 128, 32768, 0, 0, 0},
      {SMALL("mixtral") "}", 8, 4, 131072, 0, 0, 0},
      {SMALL("qwen3_moe") "}", 4, 4, 32768, 0, 0, 0},
      {SMALL("gpt2") "}", 64, 4, 1024, 1, 1, 1},
      {SMALL("bloom") "}", 64, 4, 0, 1, 1, 1},
      {SMALL("mpt") "}", 64, 4, 2048, 1, 0, 0},
      {SMALL("mpt") ", \"no_bias\": false}", 64, 4, 2048, 1, 1, 1},
      {SMALL("mpt") ", \"attn_config\": {\"attn_type\":"
                    " \"grouped_query_attention\", \"kv_n_heads\": 2}}",
       2, 4, 2048, 1, 0, 0},
      {SMALL("nemotron") "}", 64, 4, 4096, 0, 0, 0},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(RaModel) m = parse(rows[i].text);
    ck_assert_uint_eq(m->n_kv_heads, rows[i].kv);
    ck_assert_uint_eq(m->head_dim, rows[i].dim);
    ck_assert_uint_eq(m->max_positions, rows[i].positions);
    ck_assert_int_eq(m->tied_embeddings, rows[i].tied);
    ck_assert_int_eq(m->qkv_bias, rows[i].qkv_bias);
    ck_assert_int_eq(m->out_bias, rows[i].out_bias);
    ck_assert_uint_eq(m->param_bytes, 2);
    ck_assert_uint_eq(sum_of_tensors(m), ra_model_n_params(m));
  }
}
END_TEST

/* arXiv 2104.04473, eq. 2: P = 12 l h^2 (1 + 13 / (12 h) + (V + s) /
 * (12 l h)) = 12 l h^2 + 13 l h + (V + s) h, without the final norm (2 h).
 * GPT-3 175B: l 96, h 12288, V 51200, s 2048. */
START_TEST(test_shape)
{
  RaModelShape shape;
  ra_model_shape_init(&shape, RA_MLP_PLAIN);
  shape.layers = 96;
  shape.hidden = 12288;
  shape.heads = 96;
  shape.vocab = 51200;
  shape.seq = 2048;
  g_autoptr(RaModel) gpt3 = ra_model_from_shape(&shape, NULL);
  const guint64 h = 12288;
  guint64 paper = 12 * 96 * h * h + 13 * 96 * h + (51200 + 2048) * h;
  ck_assert_uint_eq(ra_model_n_params(gpt3), paper + 2 * h);
  ck_assert_uint_eq(sum_of_tensors(gpt3), paper + 2 * h);
  /* a gated row of the same table is Llama-2-7B */
  g_autoptr(RaModel) llama = parse(
      "{\"layers\": 32, \"hidden\": 4096, \"heads\": 32, \"kv_heads\": 32,"
      " \"ffn\": 11008, \"vocab\": 32000, \"gated_mlp\": 1, \"seq\": 4096}");
  ck_assert_uint_eq(ra_model_n_params(llama), 6738415616);
  /* the other spelling of the columns; 46702792704 is Mixtral */
  g_autoptr(RaModel) moe = parse(
      "{\"name\": \"m\", \"n_layer\": 32, \"n_embd\": 4096, \"n_head\": 32,"
      " \"n_kv_head\": 8, \"n_expanded_embd\": 14336, \"vocab_size\": 32000,"
      " \"use_gated_mlp\": true, \"experts\": 8, \"experts_per_token\": 2}");
  ck_assert_str_eq(moe->name, "m");
  ck_assert_uint_eq(ra_model_n_params(moe), 46702792704);
}
END_TEST

START_TEST(test_shape_errors)
{
  RaModelShape shape;
  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 2;
  shape.hidden = 100;
  shape.heads = 3;
  shape.vocab = 10;
  g_autoptr(GError) error = NULL;
  ck_assert_ptr_null(ra_model_from_shape(&shape, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "not divisible"));
  g_clear_error(&error);
  shape.head_dim = 33;
  shape.kv_heads = 2;
  ck_assert_ptr_null(ra_model_from_shape(&shape, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "key/value heads"));
  g_clear_error(&error);
  /* 2^16 experts of 3 * 2^20 * 2^24 in 2^14 layers are over 2^75 */
  shape = (RaModelShape){.layers = 1 << 14,
                         .hidden = 1 << 20,
                         .heads = 1 << 4,
                         .ffn = 1 << 24,
                         .vocab = 1 << 24,
                         .experts = 1 << 16,
                         .experts_per_token = 1};
  ck_assert_ptr_null(ra_model_from_shape(&shape, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "2^56"));
}
END_TEST

/* "/a/b/NAME/config.json" names a model as its folder does. */
START_TEST(test_name)
{
  const char *text = SMALL("llama") "}";
  g_autoptr(RaModel) folder =
      ra_model_parse("/a/Llama-2-7b-hf/config.json", text, strlen(text), NULL);
  ck_assert_str_eq(folder->name, "Llama-2-7b-hf");
  g_autoptr(RaModel) plain =
      ra_model_parse("config.json", text, strlen(text), NULL);
  ck_assert_str_eq(plain->name, "config");
}
END_TEST

static Suite *
model_suite(void)
{
  Suite *suite = suite_create("model");
  TCase *tcase = tcase_create("core");
  tcase_add_loop_test(tcase, test_published, 0, (int)G_N_ELEMENTS(published));
  tcase_add_test(tcase, test_all_shipped);
  tcase_add_test(tcase, test_model_cards);
  tcase_add_test(tcase, test_faults);
  tcase_add_test(tcase, test_value_head);
  tcase_add_test(tcase, test_pieces);
  tcase_add_loop_test(tcase, test_tensors, 0, (int)G_N_ELEMENTS(tensor_rows));
  tcase_add_test(tcase, test_tensor_names);
  tcase_add_test(tcase, test_sparse_layers);
  tcase_add_test(tcase, test_defaults);
  tcase_add_test(tcase, test_shape);
  tcase_add_test(tcase, test_shape_errors);
  tcase_add_test(tcase, test_name);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(model_suite)
