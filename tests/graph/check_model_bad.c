#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/json_index.h"
#include "graph/input/model.h"
#include "tests/support/check_main.h"

/* Lines 2 to 8 of a config; the rows below begin with line 1 or replace. */
#define TYPE "{\"model_type\": \"llama\",\n"
#define LAYERS "\"num_hidden_layers\": 2,\n"
#define HIDDEN "\"hidden_size\": 64,\n"
#define HEADS "\"num_attention_heads\": 4,\n"
#define FFN "\"intermediate_size\": 8,\n"
#define VOCAB "\"vocab_size\": 10"
#define VISION                                                                 \
  "{\"model_type\": \"qwen2_5_vl\",\n" LAYERS HIDDEN HEADS FFN VOCAB           \
  ", \"num_key_value_heads\": 4, \"vision_config\": {\n"
#define GOOD TYPE LAYERS HIDDEN HEADS FFN VOCAB "}"

/* clang-format off */
static const struct {
  const char *text;
  guint line;
  const char *words; /* in the message */
} rows[] = {
  /* not JSON, or JSON that means two things */
  {"", 1, "empty"},
  {"  \n", 2, "too early"},
  {"[1]", 1, "not an object"},
  {"7", 1, "not an object"},
  {"{", 1, "too early, expected '}'"},
  {"{\n\"a\": [1, 2}", 2, "'}' closes nothing"},
  {"{} {}", 1, "after the end"},
  {"{}\n}", 2, "after the end"},
  {"// note\n{}", 1, "not an object"},
  {"{ // note\n}", 1, "does not belong here"},
  {"{\n'a': 1}", 2, "does not belong here"},
  {"var a = {}", 1, "not an object"},
  {"{\"a\": nan}", 1, "'nan' is not JSON"},
  {"{\"a\": Infinit}", 1, "'Infinit' is not JSON"},
  {"{\"a\": +Infinity}", 1, "'+Infinity' is not JSON"},
  {"{\"a\": 0x10}", 1, "'0x10' is not JSON"},
  {"{\"a\": 010}", 1, "'010' is not JSON"},
  {"{\"a\": 1.}", 1, "'1.' is not JSON"},
  {"{\"a\": True}", 1, "'True' is not JSON"},
  {"{\"a\": 18446744073709551617}", 1, "out of range"},
  {"{\"a\": \"x\ny\"}", 1, "control character"},
  {"{\"a\": \"\\q\"}", 1, "unknown escape"},
  {"{\"a\": \"F16\\u0000\"}", 1, "NUL in a string"},
  {"{\n\"a", 2, "not closed"},
  {"{\"a\": \"\xff\"}", 1, "broken UTF-8"},
  {"{\"a\" 1}", 1, "colon"},
  {"{\"a\": 1\n\"b\": 2}", 1, "comma"},
  {"{\"a\": 1,\n}", 1, "comma"},
  {"{\n\"a\": 1,\n\"b\" 2}", 3, "colon"},
  {"{\"\": 1}", 1, "key is empty"},
  {"{\"\\u0061\": 1}", 1, "escape"},
  {"{\"a\": 1,\n\"b\": 2,\n\"a\": 3}", 3, "key 'a' is given twice"},
  {"{\"b\": {\n\"a\": 1,\n\"a\": 3}}", 3, "key 'a' is given twice"},
  /* a vision tower that contradicts itself, or the text model */
  {VISION "\"out_hidden_size\": 65}}", 7,
   "'out_hidden_size' of the vision tower is 65, expected 64"},
  {VISION "\"num_heads\": 9}}", 7, "are not divisible by 9 heads"},
  {VISION "\"window_size\": 13}}", 7, "'window_size' is 0 patches"},
  {VISION "\"window_size\": 42}}", 7, "a multiple of 'spatial_merge_size'"},
  {VISION "\"depth\": 2,\n\"fullatt_block_indexes\": [0, 1, 1]}}", 8,
   "more layers are listed than the vision tower's 2"},
  /* no model, or none that is known */
  {"{}", 1, "'layers' is missing"},
  {"{\n\"hidden_size\": 3}", 2, "unknown key 'hidden_size'"},
  {"{\n\"model_type\": \"t5\"}", 2,
   "'model_type' is 't5', expected one of llama, mistral, qwen2, qwen3, "
   "mixtral, qwen3_moe, gpt2, bloom, mpt, nemotron"},
  {"{\"model_type\": \"shape\"}", 1, "expected one of llama"},
  {"{\"model_type\": \"a\\nb\"}", 1, "'a\\nb'"},
  {"{\n\n\"model_type\": 3}", 3, "'model_type' is an integer, expected a"},
  /* values */
  {TYPE LAYERS HIDDEN HEADS VOCAB "}", 1, "'intermediate_size' is missing"},
  {TYPE "\"num_hidden_layers\": null,\n" HIDDEN HEADS FFN VOCAB "}", 2,
   "'num_hidden_layers' is missing"},
  {TYPE "\"num_hidden_layers\": 0,\n" HIDDEN HEADS FFN VOCAB "}", 2,
   "'num_hidden_layers' is 0, expected an integer from 1 to 16384"},
  {TYPE "\"num_hidden_layers\": 16385,\n" HIDDEN HEADS FFN VOCAB "}", 2,
   "expected an integer from 1 to 16384"},
  {TYPE LAYERS "\"hidden_size\": -64,\n" HEADS FFN VOCAB "}", 3, "is -64"},
  {TYPE LAYERS "\"hidden_size\": \"64\",\n" HEADS FFN VOCAB "}", 3,
   "'hidden_size' is a string"},
  {TYPE LAYERS "\"hidden_size\": 64.5,\n" HEADS FFN VOCAB "}", 3,
   "'hidden_size' is not an integer"},
  {TYPE LAYERS "\"hidden_size\": 1e2,\n" HEADS FFN VOCAB "}", 3,
   "'hidden_size' is not an integer"},
  {TYPE LAYERS "\"hidden_size\": [64],\n" HEADS FFN VOCAB "}", 3,
   "'hidden_size' is an array"},
  {TYPE LAYERS "\"hidden_size\": true,\n" HEADS FFN VOCAB "}", 3,
   "'hidden_size' is true or false"},
  {TYPE LAYERS "\"hidden_size\": 999999999999999999,\n" HEADS FFN VOCAB "}",
   3, "is 999999999999999999"},
  {TYPE LAYERS "\"hidden_size\": 66,\n" HEADS FFN VOCAB "}", 3,
   "66 hidden elements are not divisible by 4 heads"},
  {TYPE LAYERS HIDDEN HEADS FFN "\"num_key_value_heads\": 3,\n" VOCAB "}", 6,
   "4 heads are not divisible by 3"},
  {TYPE LAYERS HIDDEN HEADS FFN "\"num_key_value_heads\": 8,\n" VOCAB "}", 6,
   "4 heads are not divisible by 8"},
  {TYPE LAYERS HIDDEN HEADS FFN "\"tie_word_embeddings\": 2,\n" VOCAB "}", 6,
   "expected true or false"},
  {TYPE LAYERS HIDDEN HEADS FFN "\"torch_dtype\": \"float64\",\n" VOCAB "}",
   6, "expected one of bfloat16"},
  {TYPE "\"num_hidden_layers\": 16384,\n\"hidden_size\": 1048576,\n" HEADS
   "\"intermediate_size\": 16777216,\n" VOCAB "}", 1, "2^56"},
  {TYPE LAYERS HIDDEN "\"num_attention_heads\": 1048576,\n\"head_dim\":"
   " 1048576,\n" FFN VOCAB "}", 1, "heads * head_dim"},
  /* families with spellings, lists and objects of their own */
  {"{\"model_type\": \"gpt2\",\n\"n_layer\": 2,\n\"num_hidden_layers\": 3}",
   3, "'n_layer' and 'num_hidden_layers' are one key and differ"},
  {"{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 4, \"n_head\": 1,"
   "\n\"vocab_size\": 9,\n\"add_cross_attention\": true}", 3, "decoder-only"},
  {"{\"model_type\": \"mpt\", \"n_layers\": 2, \"d_model\": 4,\n"
   "\"n_heads\": 2, \"vocab_size\": 9, \"attn_config\": {\n"
   "\"attn_type\": \"sparse\"}}", 3, "expected one of multihead_attention"},
  {"{\"model_type\": \"mpt\", \"n_layers\": 2, \"d_model\": 4,\n"
   "\"n_heads\": 2, \"vocab_size\": 9,\n\"attn_config\": 3}", 3,
   "expected an object"},
  {"{\"model_type\": \"mpt\", \"n_layers\": 2, \"d_model\": 4,\n"
   "\"n_heads\": 2, \"vocab_size\": 9, \"learned_pos_emb\": false,\n"
   "\"attn_config\": {\n\"alibi\": false}}", 4, "'alibi' is false"},
  {"{\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 2,\n"
   "\"hidden_size\": 8, \"num_attention_heads\": 4, \"intermediate_size\": 8,"
   " \"vocab_size\": 9,\n\"mlp_only_layers\": [0, 2]}", 3,
   "element 1 of 'mlp_only_layers'"},
  {"{\"model_type\": \"mixtral\", \"num_hidden_layers\": 2,\n"
   "\"hidden_size\": 32, \"num_attention_heads\": 8,\n"
   "\"intermediate_size\": 8, \"vocab_size\": 9,\n"
   "\"num_local_experts\": 4,\n\"num_experts_per_tok\": 5}", 5,
   "expected an integer from 1 to 4"},
  /* bare shapes */
  {"{\"layers\": 2,\n\"hiden\": 8}", 2, "unknown key 'hiden'"},
  {"{\"layers\": 2,\n\"hidden\": 9,\n\"heads\": 2, \"vocab\": 3}", 2,
   "not divisible by 2 heads"},
  {"{\"layers\": 2, \"hidden\": 8, \"heads\": 2, \"vocab\": 3,\n"
   "\"gated_mlp\": 0}", 1, "'seq' is missing"},
  {"{\"layers\": 2, \"hidden\": 8, \"heads\": 2, \"vocab\": 3,\n"
   "\"norm\": \"batch\"}", 2, "expected one of rms, layer"},
};
/* clang-format on */

/* One line, no NUL, "where:line: what". */
static void
check_message(const GError *error, const char *where, guint line,
              const char *words)
{
  g_autofree char *prefix = g_strdup_printf("%s:%u: ", where, line);
  ck_assert_msg(g_str_has_prefix(error->message, prefix), "%s: expected %s",
                error->message, prefix);
  ck_assert_msg(strstr(error->message, words) != NULL, "%s: expected %s",
                error->message, words);
  ck_assert_ptr_null(strchr(error->message, '\n'));
  ck_assert(g_utf8_validate(error->message, -1, NULL));
  ck_assert_int_eq(error->code, RA_ERROR_INPUT);
}

START_TEST(test_bad)
{
  g_autoptr(GError) error = NULL;
  const char *text = rows[_i].text;
  g_autoptr(RaModel) model =
      ra_model_parse("b.json", text, strlen(text), &error);
  ck_assert_msg(model == NULL, "accepted: %s", text);
  check_message(error, "b.json", rows[_i].line, rows[_i].words);
}
END_TEST

/* The fault: what the rows spoil is good, so each row fails by its spoiling. */
START_TEST(test_good)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(RaModel) model =
      ra_model_parse("g.json", GOOD, strlen(GOOD), &error);
  ck_assert_msg(model != NULL, "%s", error ? error->message : "");
  ck_assert_uint_eq(model->n_kv_heads, 4);
}
END_TEST

/* Python's json module writes this for a number without limit. */
START_TEST(test_infinity)
{
  static const char text[] = TYPE LAYERS HIDDEN HEADS FFN VOCAB
      ", \"time_step_limit\": [0.0, Infinity],\n\"low\": -Infinity}";
  g_autoptr(GError) error = NULL;
  g_autoptr(RaModel) model =
      ra_model_parse("g.json", text, strlen(text), &error);

  ck_assert_msg(model != NULL, "%s", error ? error->message : "");
}
END_TEST

START_TEST(test_nul)
{
  static const char text[] = "{\n\"a\"\0: 1}";
  g_autoptr(GError) error = NULL;
  ck_assert_ptr_null(ra_model_parse("n.json", text, sizeof text - 1, &error));
  check_message(error, "n.json", 2, "NUL byte");
}
END_TEST

/* As deep as is allowed is read; one more is refused at its line. */
START_TEST(test_depth)
{
  for (guint extra = 0; extra < 2; extra++) {
    g_autoptr(GString) text =
        g_string_new("{\"model_type\": \"llama\", \"num_hidden_layers\": 2,"
                     "\"hidden_size\": 64, \"num_attention_heads\": 4,"
                     "\"intermediate_size\": 8, \"vocab_size\": 10, \"x\":\n");
    guint n = RA_JSON_MAX_DEPTH - 1 + extra;
    for (guint i = 0; i < n; i++)
      g_string_append_c(text, '[');
    for (guint i = 0; i < n; i++)
      g_string_append_c(text, ']');
    g_string_append_c(text, '}');
    g_autoptr(GError) error = NULL;
    g_autoptr(RaModel) model =
        ra_model_parse("d.json", text->str, text->len, &error);
    ck_assert_int_eq(model != NULL, extra == 0);
    if (extra)
      check_message(error, "d.json", 2, "nested deeper than 64");
  }
}
END_TEST

/* A MiB is read in reasonable time even if it is all one key or all keys. */
START_TEST(test_large)
{
  gsize len = RA_MODEL_MAX_FILE_BYTES + 1;
  g_autofree char *spaces = g_strnfill(len, ' ');
  g_autoptr(GError) error = NULL;
  ck_assert_ptr_null(ra_model_parse("l.json", spaces, len, &error));
  check_message(error, "l.json", 1, "expected at most 1048576");
  g_clear_error(&error);
  memset(spaces, 'a', len);
  memcpy(spaces, "{\"", 2);
  memcpy(spaces + len - 6, "\": 1}", 5);
  ck_assert_ptr_null(ra_model_parse("l.json", spaces, len - 1, &error));
  check_message(error, "l.json", 1, "unknown key 'aaaa");
}
END_TEST

START_TEST(test_no_file)
{
  g_autoptr(GError) error = NULL;
  ck_assert_ptr_null(ra_model_load("/no/such/file.json", &error));
  ck_assert(g_str_has_prefix(error->message, "/no/such/file.json"));
  g_clear_error(&error);
  ck_assert_ptr_null(ra_model_load("/", &error));
  ck_assert_int_eq(error->code, RA_ERROR_IO);
}
END_TEST

/* Every file that a fuzzer or a person found wrong stays refused, in one
 * line that names it. */
START_TEST(test_corpus)
{
  const char *srcdir = g_getenv("srcdir");
  g_autofree char *path =
      g_build_filename(srcdir ? srcdir : ".", "tests", "corpus", "model", NULL);
  g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
  ck_assert_ptr_nonnull(dir);
  guint n = 0;
  for (const char *name; (name = g_dir_read_name(dir)) != NULL; n++) {
    g_autofree char *file = g_build_filename(path, name, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(RaModel) model = ra_model_load(file, &error);
    gboolean good = g_str_has_prefix(name, "good-");
    ck_assert_msg((model != NULL) == good, "%s: %s", name,
                  error ? error->message : "accepted");
    ck_assert(good || g_str_has_prefix(error->message, file));
    ck_assert(good || !strchr(error->message, '\n'));
  }
  ck_assert_uint_gt(n, 0);
}
END_TEST

static Suite *
model_bad_suite(void)
{
  Suite *suite = suite_create("model_bad");
  TCase *tcase = tcase_create("core");
  tcase_add_loop_test(tcase, test_bad, 0, (int)G_N_ELEMENTS(rows));
  tcase_add_test(tcase, test_good);
  tcase_add_test(tcase, test_infinity);
  tcase_add_test(tcase, test_nul);
  tcase_add_test(tcase, test_depth);
  tcase_add_test(tcase, test_large);
  tcase_add_test(tcase, test_no_file);
  tcase_add_test(tcase, test_corpus);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(model_bad_suite)
