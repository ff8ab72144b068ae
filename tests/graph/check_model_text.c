/* Text models of vision-language models, the notes of what a record leaves out,
 * and families that are llama but for a bias, a factor or a fused matrix. */
#include "config.h"

#include <string.h>

#include "graph/input/model.h"
#include "tests/support/check_main.h"

/* Two layers 8 wide, two heads of 4, an MLP of 16, 10 tokens. */
#define SIZES                                                                  \
  "\"hidden_size\": 8, \"intermediate_size\": 16, \"num_hidden_layers\": 2, "  \
  "\"num_attention_heads\": 2, \"num_key_value_heads\": 1, "                   \
  "\"vocab_size\": 10"
/* Attention 2 * 8^2 + 2 * 8 * 4, MLP 3 * 8 * 16, norms 2 * 8: 592 a layer;
 * a table is 80, the last norm 8. */
#define LAYER 592
#define TABLE 80
#define PLAIN (2 * LAYER + 2 * TABLE + 8)
/* A layer of 2 elements, one head, patches of one pixel: matrices and offsets
 * are 3 (4 + 2) of q, k, v, 4 + 2 behind them, n (6 + 3) before and 6 + 2
 * behind an MLP of 3; the merger's are 4 + 2 and 2 * 8 + 8.  qwen2_5_vl has a
 * patch of 2, n = 2 and norms of 2 * 2 + 2; qwen3_vl a patch of 2 + 2, 5
 * positions of 2, n = 1 and norms of 2 * 4 + 4. */
#define TOWER                                                                  \
  "\"vision_config\": {\"depth\": 1, \"hidden_size\": 2, \"num_heads\": 1, "   \
  "\"intermediate_size\": 3, \"patch_size\": 1, \"in_channels\": 1, "          \
  "\"temporal_patch_size\": 1, \"spatial_merge_size\": 1, "                    \
  "\"window_size\": 1, \"fullatt_block_indexes\": [], "                        \
  "\"num_position_embeddings\": 5, \"deepstack_visual_indexes\": []}"
#define EITHER (18 + 6 + 8 + 6 + 24)
#define TOWER_QWEN2_5 (EITHER + 2 + 2 * 9 + 6)
#define TOWER_QWEN3 (EITHER + 4 + 10 + 9 + 12)

static RaModel *
parse(const char *text)
{
  g_autoptr(GError) error = NULL;
  RaModel *model = ra_model_parse("t.json", text, strlen(text), &error);

  ck_assert_msg(model != NULL, "%s", error ? error->message : "no error");
  return model;
}

static const struct {
  const char *text;
  guint64 n_params;
  const char *note; /* NULL: none; else part of the only one */
} cases[] = {
    /* clang-format off */
    {"{\"model_type\": \"llama\", " SIZES "}", PLAIN, NULL},
    /* biases of q, k, v: 8 + 4 + 4 a layer; of o: 8 */
    {"{\"model_type\": \"seed_oss\", \"head_dim\": 4, " SIZES "}",
     PLAIN + 2 * 16, NULL},
    {"{\"model_type\": \"seed_oss\", \"head_dim\": 4, " SIZES ", "
     "\"attention_bias\": false, \"attention_out_bias\": true}",
     PLAIN + 2 * 8, NULL},
    /* tied unless it is said */
    {"{\"model_type\": \"smollm3\", " SIZES "}", PLAIN - TABLE, NULL},
    {"{\"model_type\": \"smollm3\", " SIZES
     ", \"tie_word_embeddings\": false}", PLAIN, NULL},
    {"{\"model_type\": \"granite\", " SIZES ", \"logits_scaling\": 8}", PLAIN,
     NULL},
    {"{\"model_type\": \"phi3\", " SIZES "}", PLAIN, NULL},
    {"{\"model_type\": \"ministral\", " SIZES "}", PLAIN, NULL},
    {"{\"model_type\": \"ministral\", " SIZES ", \"sliding_window\": null, "
     "\"layer_types\": null}", PLAIN, NULL},
    {"{\"model_type\": \"ministral3\", \"head_dim\": 4, " SIZES "}", PLAIN,
     NULL},

    /* windows */
    {"{\"model_type\": \"mistral\", " SIZES ", \"sliding_window\": 7}", PLAIN,
     "windows of 7 tokens"},
    {"{\"model_type\": \"mistral\", " SIZES ", \"sliding_window\": null}",
     PLAIN, NULL},
    {"{\"model_type\": \"llama\", " SIZES ", \"sliding_window\": 7, "
     "\"layer_types\": [1, \"full_attention\", \"sliding_attention\"]}", PLAIN,
     "windows of 7 tokens"},
    {"{\"model_type\": \"smollm3\", " SIZES ", \"sliding_window\": 7}",
     PLAIN - TABLE, NULL},
    {"{\"model_type\": \"smollm3\", " SIZES ", \"sliding_window\": 7, "
     "\"use_sliding_window\": true}", PLAIN - TABLE, "windows of 7 tokens"},

    /* other things that a record does not express */
    {"{\"model_type\": \"llama\", " SIZES ", \"num_nextn_predict_layers\": 0}",
     PLAIN, NULL},
    {"{\"model_type\": \"llama\", " SIZES ", \"num_nextn_predict_layers\": 1}",
     PLAIN, "1 layer for multi-token prediction is not counted"},
    {"{\"model_type\": \"llama\", " SIZES
     ", \"quantization_config\": {\"quant_method\": \"awq\"}}",
     PLAIN, "published in awq"},
    {"{\"model_type\": \"llama\", " SIZES ", \"quantization_config\": {}}",
     PLAIN, "published in another type"},

    /* the text model inside; biases of q, k, v are qwen2's, norms of heads,
     * 2 * 4 a layer, qwen3's */
    {"{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"llama\", "
     SIZES "}, \"vision_config\": {\"hidden_size\": 3}}", PLAIN,
     "images and the vision tower are not counted"},
    {"{\"model_type\": \"x\", \"text_config\": {\"model_type\": \"llama\", "
     SIZES "}}", PLAIN, "only the text model is counted"},
    {"{\"model_type\": \"qwen2_5_vl\", " SIZES ", " TOWER "}",
     PLAIN + 2 * 16 + TOWER_QWEN2_5, NULL},
    {"{\"model_type\": \"qwen3_vl\", " TOWER ", \"text_config\": "
     "{\"model_type\": \"qwen3_vl_text\", \"head_dim\": 4, " SIZES "}}",
     PLAIN + 2 * 8 + TOWER_QWEN3, NULL},
    /* the outer object decides what is tied */
    {"{\"model_type\": \"qwen3_vl\", " TOWER ", "
     "\"tie_word_embeddings\": true, \"text_config\": {\"model_type\": "
     "\"llama\", \"tie_word_embeddings\": false, " SIZES "}}",
     PLAIN - TABLE + TOWER_QWEN3, NULL},
    /* clang-format on */
};

START_TEST(test_cases)
{
  g_autoptr(RaModel) model = parse(cases[_i].text);

  ck_assert_uint_eq(ra_model_n_params(model), cases[_i].n_params);
  if (!cases[_i].note) {
    ck_assert_ptr_null(model->notes);
    return;
  }
  ck_assert_uint_eq(model->notes->len, 1);
  ck_assert_msg(strstr(model->notes->pdata[0], cases[_i].note), "%s",
                (char *)model->notes->pdata[0]);
}
END_TEST

/* An fp8 checkpoint has one byte a parameter. */
START_TEST(test_fp8)
{
  g_autoptr(RaModel) model =
      parse("{\"model_type\": \"qwen3\", " SIZES
            ", \"quantization_config\": {\"quant_method\": \"fp8\"}}");

  ck_assert_uint_eq(model->param_bytes, 1);
}
END_TEST

static const struct {
  const char *text, *message;
} bad[] = {
    {"{\"model_type\": \"x\",\n\"text_config\": {\n\"model_type\": \"y\"}}",
     "t.json:3: 'model_type' is 'y', expected one of llama"},
    {"{\"model_type\": \"x\",\n\"text_config\": {" SIZES "}}",
     "'model_type' is missing"},
    {"{\"model_type\": \"x\",\n\"text_config\": 3}",
     "t.json:2: 'text_config' is an integer, expected an object"},
    {"{\"model_type\": \"llama\", " SIZES ",\n\"sliding_window\": \"7\"}",
     "t.json:2: 'sliding_window' is "},
};

START_TEST(test_bad)
{
  g_autoptr(GError) error = NULL;

  ck_assert_ptr_null(
      ra_model_parse("t.json", bad[_i].text, strlen(bad[_i].text), &error));
  ck_assert_msg(strstr(error->message, bad[_i].message), "%s", error->message);
}
END_TEST

/* phi3 stores q, k and v in one matrix, gate and up in another. */
START_TEST(test_phi3_tensors)
{
  static const char *const names[] = {
      "model.embed_tokens.weight",
      "model.layers.0.self_attn.o_proj.weight",
      "model.layers.0.self_attn.qkv_proj.weight[q]",
      "model.layers.0.self_attn.qkv_proj.weight[k]",
      "model.layers.0.self_attn.qkv_proj.weight[v]",
      "model.layers.0.mlp.gate_up_proj.weight[gate]",
      "model.layers.0.mlp.gate_up_proj.weight[up]",
      "model.layers.0.mlp.down_proj.weight",
      "model.layers.0.input_layernorm.weight"};
  g_autoptr(RaModel) model = parse("{\"model_type\": \"phi3\", " SIZES "}");
  guint64 sum = 0;

  for (guint32 i = 0; i < ra_model_n_tensors(model); i++) {
    RaTensor t;

    ra_model_tensor(model, i, &t);
    sum += t.rows * t.cols;
    if (i < G_N_ELEMENTS(names))
      ck_assert_str_eq(t.name, names[i]);
  }
  ck_assert_uint_eq(sum, PLAIN);
}
END_TEST

static Suite *
text_suite(void)
{
  Suite *suite = suite_create("model_text");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_cases, 0, (int)G_N_ELEMENTS(cases));
  tcase_add_test(tcase, test_fp8);
  tcase_add_loop_test(tcase, test_bad, 0, (int)G_N_ELEMENTS(bad));
  tcase_add_test(tcase, test_phi3_tensors);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(text_suite)
