/* Rotary frequencies as config.json has them, against transformers'. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/folder.h"
#include "exec/weights/weights_impl.h"
#include "tests/support/check_main.h"

/* float64 on both sides: some ten roundings of 2^-53, of an exponent of
 * theta^(-2 i / d) of at most ln 1e6 = 14. */
#define BAR 1e-13

/* (transfer full): the lines of tests/data/torch/rope.txt, two a model. */
static GStrv
read_models(guint *out_n)
{
  const char *srcdir = g_getenv("srcdir");
  g_autofree char *path = g_build_filename(srcdir ? srcdir : ".",
                                           "tests/data/torch/rope.txt", NULL);
  g_autofree char *text = NULL;
  GStrv lines;

  ck_assert(g_file_get_contents(path, &text, NULL, NULL));
  lines = g_strsplit(g_strchomp(text), "\n", -1);
  *out_n = g_strv_length(lines) / 2;
  ck_assert_uint_eq(*out_n, 7);
  return lines;
}

/* Numerics of @config, a file of its own in @folder. */
static gboolean
read_text(const char *folder, const char *config, RaNumerics *out,
          RaModel **out_model, GError **error)
{
  g_autofree char *path = g_build_filename(folder, "config.json", NULL);
  g_autoptr(RaModel) model = NULL;
  gboolean ok;

  ck_assert(g_file_set_contents(path, config, -1, NULL));
  model = ra_model_load(path, error);
  ck_assert_msg(model != NULL, "%s", error && *error ? (*error)->message : "");
  ok = ra_weights_read_config(path, model, out, error);
  if (out_model)
    *out_model = g_steal_pointer(&model);
  return ok;
}

static double
off(double got, double wanted)
{
  return fabs(got / wanted - 1);
}

/* The largest relative error of @rope, of @numbers: amplitude, scale of scores,
 * frequencies. */
static double
worst_of(const RaNumerics *numerics, const RaCpuRope *rope, const char *numbers)
{
  g_auto(GStrv) wanted = g_strsplit(numbers, " ", -1);
  gsize n = g_strv_length(wanted) - 2;
  double amplitude = rope->amplitude > 0 ? rope->amplitude : 1;
  double worst = off(amplitude, g_ascii_strtod(wanted[0], NULL));
  double scale = g_ascii_strtod(wanted[1], NULL);

  if (scale > 0)
    worst = fmax(worst, off(numerics->score_scale, scale));
  else
    ck_assert(numerics->score_scale == 0);
  for (gsize i = 0; i < n; i++)
    worst = fmax(worst, off(ra_cpu_rope_frequency(rope, 2 * n, i),
                            g_ascii_strtod(wanted[2 + i], NULL)));
  return worst;
}

/* Frequencies, amplitude and scale of scores are transformers'; a plain
 * rotation of that base (the fault: a key that is ignored) is not near. */
START_TEST(test_frequencies)
{
  g_autofree char *folder = g_dir_make_tmp("rope-XXXXXX", NULL);
  guint n;
  g_auto(GStrv) lines = read_models(&n);

  for (guint i = 0; i < n; i++) {
    RaNumerics numerics;
    RaCpuRope plain;
    g_autoptr(GError) error = NULL;

    ck_assert_msg(read_text(folder, lines[2 * i], &numerics, NULL, &error),
                  "%s", error ? error->message : "");
    plain = (RaCpuRope){.theta = numerics.rope.theta};
    ck_assert_double_lt(worst_of(&numerics, &numerics.rope, lines[2 * i + 1]),
                        BAR);
    ck_assert_double_gt(worst_of(&numerics, &plain, lines[2 * i + 1]), 0.5);
  }
  ra_folder_remove(folder);
}
END_TEST

/* A save states what was read; of a family of features the file is
 * copied.  `mscale` is written as the factor that it makes. */
START_TEST(test_written)
{
  g_autofree char *folder = g_dir_make_tmp("rope-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "config.json", NULL);
  guint n;
  g_auto(GStrv) lines = read_models(&n);

  for (guint i = 0; i < n; i++) {
    RaNumerics numerics, again;
    g_autoptr(RaModel) model = NULL;

    ck_assert(read_text(folder, lines[2 * i], &numerics, &model, NULL));
    ck_assert(ra_weights_write_config(folder, model, &numerics, NULL));
    ck_assert(ra_weights_read_config(path, model, &again, NULL));
    ck_assert_double_lt(worst_of(&again, &again.rope, lines[2 * i + 1]), BAR);
  }
  ra_folder_remove(folder);
}
END_TEST

#define LLAMA                                                                  \
  "{\"model_type\": \"llama\", \"hidden_size\": 16,"                           \
  " \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"                     \
  " \"intermediate_size\": 24, \"vocab_size\": 29, \"rope_scaling\": {"

START_TEST(test_refused)
{
  static const struct {
    const char *keys, *wanted;
  } cases[] = {
      {"\"rope_type\": \"dynamic\", \"factor\": 2}}", "rope_type"},
      {"\"type\": \"longrope\", \"factor\": 2}}", "'type' is 'longrope'"},
      {"\"type\": \"linear\"}}", "there is no 'factor'"},
      {"\"type\": \"linear\", \"factor\": -1}}", "'factor' is not"},
      {"\"rope_type\": \"llama3\", \"factor\": 8}}",
       "there is no 'original_max_position_embeddings'"},
      {"\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1,"
       " \"original_max_position_embeddings\": 64}}",
       "there is no 'high_freq_factor'"},
      {"\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4,"
       " \"high_freq_factor\": 4, \"original_max_position_embeddings\": 64}}",
       "'high_freq_factor' is 4, expected more rounds"},
      {"\"rope_type\": \"yarn\", \"factor\": 8, \"beta_fast\": 1,"
       " \"beta_slow\": 2}, \"max_position_embeddings\": 64}",
       "'beta_fast' is 1, expected more rounds"},
      {"\"rope_type\": \"yarn\", \"factor\": 8, \"mscale\": \"1\"},"
       " \"max_position_embeddings\": 64}",
       "'mscale' is not a number above 0"}, /* a text is no 0 */
      {"\"rope_type\": \"yarn\", \"factor\": 8}, \"rope_theta\": 1,"
       " \"max_position_embeddings\": 64}",
       "'rope_theta' is 1, expected more than 1"},
  };
  g_autofree char *folder = g_dir_make_tmp("rope-XXXXXX", NULL);

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strconcat(LLAMA, cases[i].keys, NULL);
    g_autoptr(GError) error = NULL;
    RaNumerics numerics;

    ck_assert_msg(!read_text(folder, text, &numerics, NULL, &error), "%u", i);
    ck_assert_msg(strstr(error->message, cases[i].wanted) != NULL, "%s",
                  error->message);
  }
  ra_folder_remove(folder);
}
END_TEST

/* The published files scale 4,096 positions by 40 and 32.  A pair that goes
 * round r times in them is number 64 ln(4096 / (2 pi r)) / (2 ln theta): of
 * theta 10,000 that of 32 rounds is 10.5 and that of one 22.5, of theta 50,000
 * that of one 19.2.  Pairs below the first stay, pairs above the last are
 * divided.  Scores are multiplied by (0.1 ln factor + 1)^2 / sqrt(128 + 64). */
START_TEST(test_shipped)
{
  static const struct {
    const char *name;
    double factor, theta;
    uint32_t last_plain, first_divided;
  } cases[] = {{"deepseek-v3", 40, 10000, 10, 23},
               {"kimi-k2", 32, 50000, 19, 20}};
  const char *srcdir = g_getenv("srcdir");

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *path = g_strdup_printf(
        "%s/share/models/%s.json", srcdir ? srcdir : ".", cases[i].name);
    g_autoptr(RaModel) model = ra_model_load(path, NULL);
    double scale = 0.1 * log(cases[i].factor) + 1;
    RaNumerics n;

    ck_assert(model && ra_weights_read_config(path, model, &n, NULL));
    ck_assert_double_lt(off(n.score_scale, scale * scale / sqrt(192)), BAR);
    for (uint32_t at = 0; at < 32; at++) {
      double plain = pow(cases[i].theta, -(double)at / 32);
      double got = ra_cpu_rope_frequency(&n.rope, 64, at);

      if (at <= cases[i].last_plain)
        ck_assert_double_lt(off(got, plain), BAR);
      if (at >= cases[i].first_divided)
        ck_assert_double_lt(off(got, plain / cases[i].factor), BAR);
    }
  }
}
END_TEST

static Suite *
rope_suite(void)
{
  Suite *suite = suite_create("rope");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_frequencies);
  tcase_add_test(tcase, test_written);
  tcase_add_test(tcase, test_refused);
  tcase_add_test(tcase, test_shipped);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(rope_suite)
