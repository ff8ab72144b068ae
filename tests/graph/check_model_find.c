#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/model_find.h"
#include "tests/support/check_main.h"

static char *folder;

static void
make_folder(void)
{
  folder = g_dir_make_tmp("ra-find-XXXXXX", NULL);
  ck_assert_ptr_nonnull(folder);
  g_setenv("HF_HOME", folder, TRUE); /* nothing is cached */
  g_unsetenv("HF_HUB_CACHE");
}

static void
remove_folder(void)
{
  g_autofree char *command = g_strdup_printf("rm -rf '%s'", folder);

  ck_assert(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
  g_free(folder);
}

/* A config.json of a llama with @layers layers in @path under the folder. */
static void
put_config(const char *path, guint layers)
{
  g_autofree char *where = g_build_filename(folder, path, NULL);
  g_autofree char *file = g_build_filename(where, "config.json", NULL);
  g_autofree char *text = g_strdup_printf(
      "{\"model_type\": \"llama\", \"hidden_size\": 8, \"intermediate_size\": "
      "16, \"num_hidden_layers\": %u, \"num_attention_heads\": 2, "
      "\"vocab_size\": 10}",
      layers);

  ck_assert_int_eq(g_mkdir_with_parents(where, 0700), 0);
  ck_assert(ra_file_write(file, text, strlen(text), NULL));
}

static RaModel *
find(const char *name, const char *relative_to)
{
  g_autoptr(GError) error = NULL;
  RaModel *model = ra_model_find(name, relative_to, &error);

  ck_assert_msg(model != NULL, "%s", error ? error->message : "no error");
  return model;
}

static RaModelHub *
shipped(void)
{
  g_autofree char *path =
      ra_share_find("models", RA_MODEL_HUB_FILE, NULL, NULL);
  g_autoptr(GError) error = NULL;
  RaModelHub *hub = ra_model_hub_load(path, &error);

  ck_assert_msg(hub != NULL, "%s", error ? error->message : "no error");
  return hub;
}

/* Every row is a model, with as many parameters as were published: the number
 * that the hub shows for a model, from the headers of its safetensors.  All of
 * them are also what transformers 5.23 counts from the row's keys
 * (AutoModelForCausalLM.from_config() on torch's meta device).  Tables that say
 * them in print: Qwen2.5-0.5B 494,032,768; MiMo-7B, which is published with
 * 7,833,409,536, states one more layer of 177,223,680, a matrix (4096, 8192)
 * and three norms, which are not here. */
START_TEST(test_rows)
{
  g_autoptr(RaModelHub) hub = shipped();
  guint n_stated = 0;

  for (guint i = 0; i < ra_model_hub_n_rows(hub); i++) {
    const RaModelHubRow *row = ra_model_hub_row(hub, i);

    for (guint k = 0; row->names[k]; k++) {
      g_autoptr(RaModel) model = find(row->names[k], NULL);

      ck_assert_str_eq(model->name, row->names[k]); /* no name is in two rows */
      if (row->n_parameters > 0)
        ck_assert_msg(ra_model_n_params(model) == row->n_parameters,
                      "%s: %" G_GUINT64_FORMAT, row->name,
                      ra_model_n_params(model));
    }
    ck_assert_msg(row->like || row->note || row->n_parameters > 0, "%s",
                  row->name);
    n_stated += row->n_parameters > 0;
  }
  ck_assert_uint_ge(n_stated, 35);
}
END_TEST

/* 7,833,409,536 - 177,223,680 - 2 * 4096^2 - 3 * 4096. */
START_TEST(test_mimo)
{
  g_autoptr(RaModel) model = find("XiaomiMiMo/MiMo-7B-RL", NULL);

  ck_assert_uint_eq(ra_model_n_params(model), 7622619136);
}
END_TEST

/* A name is whole: the letters behind another name are another model. */
static const struct {
  const char *name, *found; /* NULL: nothing */
} names[] = {
    /* clang-format off */
    {"Qwen/Qwen2.5-3B-Instruct", "Qwen/Qwen2.5-3B-Instruct"},
    {"Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct"},
    {"qwen/qwen2.5-7b-instruct", "Qwen/Qwen2.5-7B-Instruct"},
    {"Qwen/Qwen2.5-7B/", "Qwen/Qwen2.5-7B"},
    {"/data/models/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct"},
    {"~/models/Qwen/Qwen3-8B//", "Qwen/Qwen3-8B"},
    {"/c/models--Qwen--Qwen3-8B/snapshots/0123abc", "Qwen/Qwen3-8B"},
    {"unsloth/Llama-3.2-1B-Instruct", "meta-llama/Llama-3.2-1B-Instruct"},
    {"gpt2", "openai-community/gpt2"},
    {"gpt2-large", "openai-community/gpt2-large"},
    {"Qwen/Qwen3-30B-A3B-FP8", "Qwen/Qwen3-30B-A3B-FP8"},
    {"Qwen/Qwen3-30B-A3B-fp8-dynamic", "Qwen/Qwen3-30B-A3B-FP8-dynamic"},
    {"unsloth/Qwen3-14B-unsloth-bnb-4bit", "Qwen/Qwen3-14B-unsloth-bnb-4bit"},
    {"/root/Qwen3-4B_torch_dist", "Qwen/Qwen3-4B_torch_dist"},
    {"gpt2-huge", NULL},
    {"Qwen/Qwen2.5-7B-Instruct-of-mine", NULL},
    {"Qwen/Qwen3", NULL},
    {"Qwen2_5-7B", NULL},
    {"deepseek-ai/DeepSeek-V3.2-Exp", NULL},
    {"-FP8", NULL},
    {"/", NULL},
    {"", NULL},
    {"models--", NULL},
    /* clang-format on */
};

START_TEST(test_names)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(RaModel) model = ra_model_find(names[_i].name, NULL, &error);

  if (names[_i].found) {
    ck_assert_msg(model != NULL, "%s", error ? error->message : "no error");
    ck_assert_str_eq(model->name, names[_i].found);
  } else {
    ck_assert_ptr_null(model);
    ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
  }
}
END_TEST

START_TEST(test_shapes)
{
  g_autoptr(RaModel) large = find("gpt2-large", NULL);
  g_autoptr(RaModel) fp8 = find("Qwen/Qwen3-8B-FP8", NULL);
  g_autoptr(RaModel) seen = find("Qwen/Qwen2.5-VL-7B-Instruct", NULL);
  g_autoptr(RaModel) plain = find("Qwen/Qwen2.5-7B", NULL);

  ck_assert_uint_eq(ra_model_n_params(large), 774030080); /* not 124,439,808 */
  ck_assert_uint_eq(fp8->param_bytes, 1);
  ck_assert_uint_eq(fp8->notes->len, 1);
  ck_assert_ptr_nonnull(strstr(fp8->notes->pdata[0], "published in fp8"));
  /* as the hub counts its tensors */
  ck_assert_uint_eq(ra_model_n_params(seen), 8292166656);
  ck_assert_ptr_null(seen->notes);
  ck_assert_ptr_null(plain->notes);
}
END_TEST

/* 8B is one letter from 3B, 7B and 14B two; ties are in the table's order. */
START_TEST(test_near)
{
  g_autoptr(RaModelHub) hub = shipped();
  g_autofree char *near = ra_model_hub_nearest(hub, "Qwen/Qwen2.5-8B");
  g_autofree char *none = ra_model_hub_nearest(hub, "my-model-of-last-week");
  g_autoptr(GError) error = NULL;

  ck_assert_str_eq(near, "Qwen/Qwen2.5-3B, Qwen/Qwen2.5-7B, Qwen/Qwen2.5-14B");
  ck_assert_ptr_null(none);
  ck_assert_ptr_null(ra_model_find("/x/Qwen2.5-8B/", NULL, &error));
  ck_assert_str_eq(error->message,
                   "no shape is known for '/x/Qwen2.5-8B/', nearest: "
                   "Qwen/Qwen2.5-3B, Qwen/Qwen2.5-7B, Qwen/Qwen2.5-14B");
}
END_TEST

/* A folder with a config.json precedes the table, from the folder of the file
 * that names it or by its whole path. */
START_TEST(test_folders)
{
  g_autofree char *script = g_build_filename(folder, "run.sh", NULL);
  g_autofree char *whole = g_build_filename(folder, "m/Qwen3-8B", NULL);
  g_autofree char *config = g_build_filename(whole, "config.json", NULL);

  put_config("m/Qwen3-8B", 3);
  g_autoptr(RaModel) near = find("m/Qwen3-8B/", script);
  g_autoptr(RaModel) far = find(whole, NULL);
  g_autoptr(RaModel) table = find("m/Qwen3-8B", NULL);
  ck_assert_uint_eq(near->n_layers, 3);
  ck_assert_str_eq(far->path, config);
  ck_assert_uint_eq(table->n_layers, 36);
}
END_TEST

/* The cache precedes the table too; of two snapshots the first one by name. */
START_TEST(test_cache)
{
  put_config("hub/models--Qwen--Qwen3-8B/snapshots/b", 5);
  put_config("hub/models--Qwen--Qwen3-8B/snapshots/a", 4);
  put_config("hub/models--me--mine/snapshots/c", 6);
  g_autoptr(RaModel) cached = find("Qwen/Qwen3-8B", NULL);
  g_autoptr(RaModel) mine = find("me/mine", NULL);
  g_autoptr(RaModel) base = find("Qwen3-8B", NULL);
  ck_assert_uint_eq(cached->n_layers, 4);
  ck_assert_str_eq(cached->name, "Qwen/Qwen3-8B");
  ck_assert_uint_eq(mine->n_layers, 6);
  ck_assert_uint_eq(base->n_layers, 36); /* the cache has whole names */
  g_setenv("HF_HUB_CACHE", "/nowhere", TRUE);
  g_autoptr(RaModel) moved = find("Qwen/Qwen3-8B", NULL);
  ck_assert_uint_eq(moved->n_layers, 36);
}
END_TEST

static const struct {
  const char *text, *message;
} bad[] = {
    {"", "hub.tsv:1: expected '# reallot models 1'"},
    {"# reallot models 1\n", "hub.tsv:1: expected a line of column names"},
    {"# reallot models 1\nname\tlike\na/b\n",
     "hub.tsv:3: expected a cell for every column"},
    {"# reallot models 1\nname\tlike\n\n-\tx.json\n",
     "hub.tsv:4: expected a name"},
    {"# reallot models 1\nname\talso\na\tb, \n", "hub.tsv:3: expected a name"},
    {"# reallot models 1\nname\n\xff\n", "hub.tsv:1: broken UTF-8"},
    {"# reallot models 1\nname\tlike\na\tb\nb\t-\n",
     "hub.tsv:3: 'like' is neither"},
    {"# reallot models 1\nname\tlike\na\ta\n", "hub.tsv:3: 'like' is neither"},
    {"# reallot models 1\nname\tparameters\na\t1e9\n",
     "hub.tsv:3: 'parameters' is no whole number"},
};

START_TEST(test_bad)
{
  g_autofree char *path = g_build_filename(folder, RA_MODEL_HUB_FILE, NULL);
  g_autoptr(GError) error = NULL;

  ck_assert(ra_file_write(path, bad[_i].text, strlen(bad[_i].text), NULL));
  ck_assert_ptr_null(ra_model_hub_load(path, &error));
  ck_assert_msg(strstr(error->message, bad[_i].message), "%s", error->message);
}
END_TEST

/* A key that the row lacks is told with the row's line. */
START_TEST(test_bad_shape)
{
  static const char text[] = "# reallot models 1\nname\tmodel_type\nx\tllama\n";
  g_autofree char *path = g_build_filename(folder, RA_MODEL_HUB_FILE, NULL);
  g_autoptr(GError) error = NULL;

  ck_assert(ra_file_write(path, text, strlen(text), NULL));
  ck_assert_ptr_null(ra_model_find("x", path, &error));
  ck_assert_msg(strstr(error->message, "hub.tsv:3:1: 'num_hidden_layers'"),
                "%s", error->message);
}
END_TEST

static Suite *
find_suite(void)
{
  Suite *suite = suite_create("model_find");
  TCase *tcase = tcase_create("core");

  tcase_add_checked_fixture(tcase, make_folder, remove_folder);
  tcase_add_test(tcase, test_rows);
  tcase_add_test(tcase, test_mimo);
  tcase_add_loop_test(tcase, test_names, 0, (int)G_N_ELEMENTS(names));
  tcase_add_test(tcase, test_shapes);
  tcase_add_test(tcase, test_near);
  tcase_add_test(tcase, test_folders);
  tcase_add_test(tcase, test_cache);
  tcase_add_loop_test(tcase, test_bad, 0, (int)G_N_ELEMENTS(bad));
  tcase_add_test(tcase, test_bad_shape);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(find_suite)
