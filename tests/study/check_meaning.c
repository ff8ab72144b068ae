/* A table of meanings: what it reads, and what it says of the rest. */
#include "config.h"

#include <string.h>

#include "study/convert/meaning.h"
#include "tests/support/check_main.h"

static const RaMeaning table[] = {
    RA_MEANS(COUNT, "a.n", "7", n_prompts),
    RA_MEANS(COUNT, "old.n", NULL, n_prompts),
    RA_MEANS(NATURAL, "a.zero", "3", staleness),
    RA_MEANS(SWITCH, "a.on", "true", lora_merged),
    RA_MEANS(FRACTION, "a.part", "0.5", calls[0].memory_frac),
    RA_MEANS(TEXT, "a.name", "x", algorithm),
    RA_MEANS_LOST(TIME, "a.slow", "off|auto", "fast"),
    RA_MEANS_LOST(LEARNING, "a.warm", NULL, NULL),
    RA_MEANS_CODE("a.code"),
    RA_MEANS_NOTHING("a.c*"),
    RA_MEANS_LOST(MEMORY, "a.covered", "off", NULL), /* never reached */
};

typedef struct {
  RaSettings *settings;
  RaRecipe recipe;
  gboolean ok;
} Case;

static Case
read_case(const char *text, GError **error)
{
  Case c = {.settings =
                ra_settings_parse("run.sh", text, strlen(text), FALSE, error)};

  ck_assert_ptr_nonnull(c.settings);
  c.ok =
      ra_meaning_read(table, G_N_ELEMENTS(table), &c.recipe, c.settings, error);
  ra_meaning_settle(table, G_N_ELEMENTS(table), c.settings);
  return c;
}

static void
end_case(Case *c)
{
  ra_settings_free(c->settings);
  g_free(c->recipe.algorithm);
}

/* Missing keys have the table's values; set ones their own; of two that fill
 * one field the later row that is set. */
START_TEST(test_read)
{
  Case none = read_case("python x.py other=1", NULL);
  Case some = read_case("python x.py a.n=2 a.zero=0 a.on=False a.part=1 "
                        "a.name=y",
                        NULL);
  Case both = read_case("python x.py old.n=5 a.n=2", NULL);

  ck_assert(none.ok && some.ok && both.ok);
  ck_assert_uint_eq(none.recipe.n_prompts, 7);
  ck_assert_uint_eq(none.recipe.staleness, 3);
  ck_assert(none.recipe.lora_merged);
  ck_assert_double_eq(none.recipe.calls[0].memory_frac, 0.5);
  ck_assert_str_eq(none.recipe.algorithm, "x");
  ck_assert_uint_eq(some.recipe.n_prompts, 2);
  ck_assert_uint_eq(some.recipe.staleness, 0);
  ck_assert(!some.recipe.lora_merged);
  ck_assert_double_eq(some.recipe.calls[0].memory_frac, 1);
  ck_assert_str_eq(some.recipe.algorithm, "y");
  ck_assert_uint_eq(both.recipe.n_prompts, 5);
  end_case(&none);
  end_case(&some);
  end_case(&both);
}
END_TEST

/* Each setting gets the state of the first row that it matches; one at the
 * framework's default is worth no line, one of no row stays UNREAD. */
START_TEST(test_settle)
{
  static const struct {
    const char *text, *effect, *note;
    RaSettingState state;
  } rows[] = {
      {"a.n=2", NULL, NULL, RA_SETTING_READ},
      {"a.slow=very", "time", "fast", RA_SETTING_LOST},
      {"a.slow=None", NULL, NULL, RA_SETTING_IGNORED},
      {"a.slow=AUTO", NULL, NULL, RA_SETTING_IGNORED},
      {"a.warm=0", "learning", "nothing", RA_SETTING_LOST},
      {"a.code=1", NULL, NULL, RA_SETTING_IGNORED},
      {"a.covered=1", NULL, NULL, RA_SETTING_IGNORED},
      {"b=False", NULL, NULL, RA_SETTING_UNREAD},
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *text = g_strconcat("python x.py ", rows[i].text, NULL);
    Case c = read_case(text, NULL);
    const RaSetting *s = ra_settings_at(c.settings, 0);

    ck_assert_msg(s->state == rows[i].state, "%s", rows[i].text);
    ck_assert_str_eq(s->effect ? s->effect : "",
                     rows[i].effect ? rows[i].effect : "");
    ck_assert_str_eq(s->note ? s->note : "", rows[i].note ? rows[i].note : "");
    end_case(&c);
  }
}
END_TEST

/* A value out of its range is refused with its line. */
START_TEST(test_range)
{
  GError *error = NULL;
  Case c = read_case("python x.py a.n=0", &error);

  ck_assert(!c.ok);
  ck_assert_str_eq(error->message, "run.sh:1: 'a.n' is '0', expected a whole "
                                   "number from 1 to 1000000");
  g_clear_error(&error);
  end_case(&c);
}
END_TEST

static Suite *
meaning_suite(void)
{
  Suite *suite = suite_create("meaning");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_read);
  tcase_add_test(tcase, test_settle);
  tcase_add_test(tcase, test_range);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(meaning_suite)
