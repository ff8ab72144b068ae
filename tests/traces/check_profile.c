#include "config.h"

#include <glib.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "tests/support/check_corpus.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_text.h"
#include "traces/law.h"
#include "traces/profile.h"

/* Message of the reader for the ideal profile in which the first @from stands
 * as @to; "" for nothing. */
static char *
complaint(const char *from, const char *to)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *text = profile_text(NULL);
  char *at = strstr(text, from);
  g_autoptr(GString) damaged = g_string_new(NULL);
  g_autoptr(RaKeyFile) file = NULL;
  g_autoptr(RaProfile) profile = NULL;

  ck_assert_msg(at != NULL, "no '%s'", from);
  g_string_append_len(damaged, text, at - text);
  g_string_append(damaged, to);
  g_string_append(damaged, at + strlen(from));
  file = ra_key_file_parse("p", damaged->str, damaged->len, &error);
  if (file)
    profile = ra_profile_load(file, &error);
  ck_assert((profile == NULL) == (error != NULL));
  if (error)
    ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
  return g_strdup(error ? error->message : "");
}

static void
check_complaint(const char *from, const char *to, const char *expected)
{
  g_autofree char *message = complaint(from, to);

  ck_assert_str_eq(message, expected);
}

/* An ideal profile, all its fields back. */
START_TEST(test_fields)
{
  g_autoptr(RaProfile) p =
      profile_text_load("host-copy.latency-s=2.5e-6", NULL);
  const RaLaw *law = ra_profile_law(p, "host-copy");
  g_autoptr(GError) error = NULL;
  double value = 7;
  guint n_laws = 0;

  ck_assert_str_eq(p->device, "ideal");
  /* All but those that another stands for where they are missing. */
  for (guint i = 0; i < ra_law_n_specs(); i++)
    n_laws += ra_law_spec_at(i)->stand_in == NULL;
  ck_assert_uint_eq(p->n_laws, n_laws);
  /* 80 GiB = 80 * 2^30; 1 TFLOP/s, 1 GB/s, 1e5 kB/s, 1e4 kB/s. */
  ck_assert_double_eq(p->spec.memory_bytes, 85899345920.0);
  ck_assert_double_eq(p->spec.bf16_flop_per_s, 1e12);
  ck_assert_double_eq(p->spec.fp8_flop_per_s, 2e12);
  ck_assert_double_eq(p->spec.memory_bytes_per_s, 1e9);
  ck_assert_double_eq(p->spec.intra_bytes_per_s, 1e8);
  ck_assert_double_eq(p->spec.host_bytes_per_s, 1e7);
  ck_assert_ptr_nonnull(law);
  ck_assert_uint_eq(law->n_coefficients, 2);
  ck_assert_str_eq(law->source, "a test");
  ck_assert_str_eq(law->range, "all");
  ck_assert(isnan(law->error_median_frac) && isnan(law->error_p90_frac));
  ck_assert(ra_law_get(p, law, "latency-s", &value, &error));
  ck_assert_double_eq(value, 2.5e-6);
  /* A missing coefficient leaves the output as it was. */
  ck_assert(!ra_law_get(p, law, "latency", &value, &error));
  ck_assert_double_eq(value, 2.5e-6);
  ck_assert_ptr_null(ra_profile_law(p, "gemm"));
}
END_TEST

/* Every shipped profile: all laws, errors where something was fitted on rows of
 * several lines, and the data sheet's peak of the class
 * (misc/hardware_specs.csv, or cited in estimator/calibrate/gpu.c). */
START_TEST(test_shipped)
{
  static const struct {
    const char *name;
    double bf16_flop_per_s;
    gboolean has_fp8;   /* units */
    gboolean has_nodes; /* all-to-alls measured across nodes, of its base */
    guint n_own;        /* laws fitted on rows of its own, cited or assumed */
  } shipped[] = {{"a100-sxm", 312e12, FALSE, FALSE, 32},
                 {"h100-sxm", 989e12, TRUE, TRUE, 74},
                 {"h200-sxm", 989e12, TRUE, TRUE, 68},
                 {"a40", 149.7e12, FALSE, FALSE, 14},
                 {"rtx4090", 165.2e12, TRUE, TRUE, 15},
                 {"rtx-pro-6000", 467.801e12, TRUE, TRUE, 59},
                 {"l40s", 362.05e12, TRUE, TRUE, 49},
                 {"b200-sxm", 2250e12, TRUE, TRUE, 73}};

  for (guint i = 0; i < G_N_ELEMENTS(shipped); i++) {
    g_autoptr(RaProfile) p = profile_text_shipped(shipped[i].name);
    guint n_own = 0;

    ck_assert_str_eq(p->device, shipped[i].name);
    ck_assert_double_eq(p->spec.bf16_flop_per_s, shipped[i].bf16_flop_per_s);
    for (guint j = 0; j < ra_law_n_specs(); j++) {
      const char *name = ra_law_spec_at(j)->name;
      const RaLaw *law = ra_profile_law(p, name);
      gboolean is_2026 =
          strcmp(name, "gemm.fp8block") == 0 ||
          strcmp(name, "gemm.nvfp4") == 0 ||
          strcmp(name, "indexer-step") == 0 ||
          g_str_has_prefix(name, "compressed") ||
          g_str_has_prefix(name, "block-") ||
          g_str_has_prefix(name, "entry-indexer") ||
          g_str_has_prefix(name, "experts.") ||
          g_str_has_prefix(name, "latent-") || g_str_has_prefix(name, "scan") ||
          g_str_has_prefix(name, "conv") || strcmp(name, "memory.cast") == 0 ||
          g_str_has_suffix(name, "attention.fp8") ||
          g_str_has_suffix(name, "attention.wide") ||
          g_str_has_prefix(name, "tokens.") ||
          g_str_has_prefix(name, "all-reduce.") ||
          strcmp(name, "encoder-attention") == 0;
      gboolean wanted = is_2026 ? law != NULL /* where there are rows */
                        : strcmp(name, "gemm.fp8") == 0 ? shipped[i].has_fp8
                        : strcmp(name, "inter-node.all-to-all") == 0
                            ? shipped[i].has_nodes
                            : ra_law_spec_at(j)->stand_in == NULL;

      ck_assert_msg((law != NULL) == wanted, "%s %s", p->device, name);
      if (!law)
        continue;
      n_own += !law->transferred;
      /* One model alone was measured on the RTX 4090. */
      if (law->n_rows > 100 && !law->transferred && i != 4)
        ck_assert_msg(!isnan(law->error_median_frac), "%s %s", p->device, name);
    }
    ck_assert_msg(n_own == shipped[i].n_own, "%s: %u", p->device, n_own);
  }
}
END_TEST

/* An engine's own all-reduce is carried over to GPUs that NVLink connects, not
 * to others: those sum by NCCL. */
START_TEST(test_own_sums)
{
  g_autoptr(RaProfile) a40 = profile_text_shipped("a40");
  g_autoptr(RaProfile) h20 = profile_text_shipped("h20");
  const RaLaw *law = ra_profile_law(h20, "all-reduce.vllm");

  ck_assert_ptr_null(ra_profile_law(a40, "all-reduce.vllm"));
  ck_assert_ptr_nonnull(law);
  ck_assert_ptr_nonnull(law->transferred);
}
END_TEST

/* Lines: [profile] is 1, [device] 5, its keys 6 to 12, [law gemm.bf16] 13,
 * sms 14, its 11 coefficients to 24, source 25, rows 26, range 27, errors 28
 * and 29. */
START_TEST(test_refused)
{
  static const struct {
    const char *from, *to, *message;
  } cases[] = {
      {"sms = 1", "smz = 1",
       "p:14: unknown key 'smz' in law 'gemm.bf16', did you mean 'sms'?"},
      {"sms = 1", "qqqqqqqq = 1",
       "p:14: unknown key 'qqqqqqqq' in law 'gemm.bf16'"},
      {"sms = 1\n", "", "p:13: law 'gemm.bf16' has no 'sms'"},
      {"sms = 1\n", "sms = 1\nsms = 1\n",
       "p:15: duplicate key 'sms' in [law gemm.bf16], expected once, first at "
       "line 14"},
      {"sms = 1", "sms = many", "p:14: 'sms' is 'many', expected a number"},
      {"sms = 1", "sms = nan", "p:14: 'sms' is 'nan', expected a number"},
      {"sms = 1", "sms = 0", "p:14: 'sms' is 0, expected 1 to 1e+09"},
      {"peak-frac = 1", "peak-frac = -0.5",
       "p:18: 'peak-frac' is -0.5, expected 1e-06 to 100"},
      {"floor-s = 0", "floor-s = 3 us",
       "p:17: 'floor-s' is '3 us', expected a number"},
      {"rows = 0", "rows = -1",
       "p:26: 'rows' is '-1', expected a whole number"},
      {"rows = 0\n", "", "p:13: law 'gemm.bf16' has no 'rows'"},
      {"range = all\n", "", "p:13: law 'gemm.bf16' has no 'range'"},
      {"source = a test\nrows", "rows",
       "p:13: law 'gemm.bf16' has no 'source'"},
      {"error-median = -\n", "", "p:13: law 'gemm.bf16' has no 'error-median'"},
      {"error-p90 = -", "error-p90 = -0.1",
       "p:29: 'error-p90' is '-0.1', expected a ratio of at least 0, or '-' "
       "where it was not measured"},
      {"[law gemm.bf16]", "[law gem.bf16]",
       "p:13: unknown law 'gem.bf16', did you mean 'gemm.bf16'?"},
      {"format = 1", "format = 2", "p:2: 'format' is '2', expected 1"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    check_complaint(cases[i].from, cases[i].to, cases[i].message);
}
END_TEST

/* A file cut anywhere is refused or, where only whole optional matter is
 * lost, read; never half read.  The reader's own asserts would trip. */
START_TEST(test_cut)
{
  g_autofree char *text = profile_text(NULL);
  gsize n = strlen(text);

  for (gsize cut = 0; cut < n; cut += 7)
    ck_assert_int_eq(LLVMFuzzerTestOneInput((uint8_t *)text, cut), 0);
}
END_TEST

/* Names and coefficients of the table are unique and found by name. */
START_TEST(test_table)
{
  for (guint i = 0; i < ra_law_n_specs(); i++) {
    const RaLawSpec *law = ra_law_spec_at(i);

    ck_assert_ptr_eq(ra_law_spec(law->name), law);
    ck_assert_uint_gt(law->n_coefficients, 0);
    /* A law that stands in is one that a profile must have. */
    ck_assert(!law->stand_in ||
              (law->optional && !ra_law_spec(law->stand_in)->optional));
    for (guint j = 0; j < law->n_coefficients; j++) {
      const RaCoefficientSpec *c = &law->coefficients[j];

      ck_assert_ptr_eq(ra_law_coefficient_spec(law, c->name), c);
      ck_assert(c->min < c->max && *c->doc);
    }
  }
  ck_assert_ptr_null(ra_law_spec("gemm"));
  ck_assert_str_eq(ra_law_nearest("all-reduse"), "all-reduce");
}
END_TEST

START_TEST(test_corpus)
{
  ra_check_corpus("profile");
}
END_TEST

static Suite *
profile_suite(void)
{
  Suite *suite = suite_create("profile");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_fields);
  tcase_add_test(tcase, test_shipped);
  tcase_add_test(tcase, test_own_sums);
  tcase_add_test(tcase, test_refused);
  tcase_add_test(tcase, test_cut);
  tcase_add_test(tcase, test_table);
  tcase_add_test(tcase, test_corpus);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(profile_suite)
