/* Settings: scripts and YAML, what is read and what is left. */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "study/convert/setting.h"
#include "tests/support/check_main.h"

static RaSettings *
script(const char *text)
{
  GError *error = NULL;
  RaSettings *s =
      ra_settings_parse("run.sh", text, strlen(text), FALSE, &error);

  ck_assert_msg(s != NULL, "%s", error ? error->message : "?");
  return s;
}

/* Flags in all three forms, overrides, variables, comments, continued lines,
 * arrays; each with the line that it begins on.  Only what the launch gets. */
START_TEST(test_script)
{
  g_autoptr(RaSettings) s =
      script("# c.d=9\n"
             "N=4 # four\n"
             "ARGS=( x.y=${N} )\n"
             "uv run --extra z python3 -m a.b \\\n"
             "  p.q=\"$N nodes\" +n.m=${M:-7} \\\n"
             "  --one=1 --two 2 --three --four -5 --five \\\n"
             "  l=[\\'a\\',b] \"${ARGS[@]}\"; echo --no");
  static const struct {
    const char *key, *value, *place;
  } want[] = {
      {"p.q", "4 nodes", "run.sh:5"}, {"n.m", "7", "run.sh:5"},
      {"one", "1", "run.sh:6"},       {"two", "2", "run.sh:6"},
      {"three", "true", "run.sh:6"},  {"four", "-5", "run.sh:6"},
      {"five", "true", "run.sh:6"},   {"l.0", "a", "run.sh:7"},
      {"l.1", "b", "run.sh:7"},       {"x.y", "4", "run.sh:3"},
  };

  ck_assert_str_eq(ra_settings_entry(s), "a.b");
  ck_assert_uint_eq(ra_settings_n(s), G_N_ELEMENTS(want));
  for (guint i = 0; i < G_N_ELEMENTS(want); i++) {
    const RaSetting *got = ra_settings_at(s, i);

    ck_assert_str_eq(got->key, want[i].key);
    ck_assert_str_eq(got->value, want[i].value);
    ck_assert_str_eq(got->place, want[i].place);
  }
}
END_TEST

/* Values in hydra's syntax read as YAML does: quotes, lists and mappings in
 * each other.  A later value replaces a list; `~` is null. */
START_TEST(test_hydra)
{
  g_autoptr(RaSettings) s = script(
      "python t.py a.l='[\"x y\",2]' a.m='{b: 1, c: [d, {e: f}]}' \"a.q='r "
      "s'\" "
      "a.n=null ~a.gone a.open='[1,2' a.l2=[1,2,3] a.l2=[9] a.e=[] a.e2= "
      "'a.u={\"k\":\"v:w\"}' a.path=\"['$HOME/x','y']\"");
  static const char *const want[][2] = {
      {"a.l.0", "x y"},
      {"a.l.1", "2"},
      {"a.m.b", "1"},
      {"a.m.c.0", "d"},
      {"a.m.c.1.e", "f"},
      {"a.q", "r s"},
      {"a.n", NULL},
      {"a.gone", NULL},
      {"a.open", "[1,2"},
      {"a.l2.0", "9"},
      {"a.l2.1", NULL},
      {"a.l2.2", NULL},
      {"a.e", NULL},
      {"a.e2", NULL},
      {"a.u.k", "v:w"},
      {"a.l", NULL},
      {"a.path.0", "${HOME}/x"},
      {"a.path.1", "y"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(want); i++) {
    const char *got = ra_settings_get(s, want[i][0]);

    ck_assert_msg(g_strcmp0(got, want[i][1]) == 0, "%s: %s", want[i][0], got);
  }
}
END_TEST

/* Values that only a run can tell are text, but no number; the message says how
 * to say it. */
START_TEST(test_unknown)
{
  g_autoptr(RaSettings) s =
      script("N=$(wc -l < hosts)\npython t.py a.n=$N a.p=$HOME/m a.e=${E:-}");
  GError *error = NULL;
  uint32_t n;

  ck_assert_str_eq(ra_settings_get(s, "a.p"), "${HOME}/m");
  ck_assert_ptr_null(ra_settings_get(s, "a.e"));
  ck_assert(ra_settings_at(s, 0)->is_unknown &&
            ra_settings_at(s, 1)->is_unknown);
  ck_assert(!ra_settings_at(s, 2)->is_unknown);
  ck_assert(!ra_settings_uint32(s, "a.n", 1, 1, 9, &n, &error));
  ck_assert_str_eq(error->message,
                   "run.sh:2: 'a.n' is '$(wc -l < hosts)', which is known only "
                   "when the script runs; expected a whole number from 1 to 9 "
                   "(--set a.n=VALUE says it)");
  g_clear_error(&error);
}
END_TEST

/* A branch that was taken is a note, with what the other would set; a branch
 * that changes nothing is none, nor is a check. */
START_TEST(test_notes)
{
  g_autoptr(RaSettings) s =
      script("[ $# -lt 1 ] && exit 1\n"
             "if [ \"$MODE\" = big ]; then N=4; else N=2; fi\n"
             "if [ -n \"$DEBUG\" ]; then export LOG=1; fi\n"
             "case \"$DEV\" in npu) G=16 ;; gpu) G=8 ;; esac\n"
             "python prepare.py --out x\n"
             "python t.py a.n=$N a.g=$G\n");
  static const char *const want[] = {
      "run.sh:6: 't.py' is taken; the script starts 'prepare.py' (line 5), too",
      "run.sh:2: '[ \"$MODE\" = big ]' is known only when the script runs; "
      "taken: false; if true: a.n=4 (here 2)",
      "run.sh:4: 'case \"$DEV\" in npu) G=16 ;; gpu) G=8 ;; esac' is known "
      "only "
      "when the script runs; taken: gpu; if npu: a.g=16 (here 8)",
      "run.sh:4: 'case \"$DEV\" in npu) G=16 ;; gpu) G=8 ;; esac' is known "
      "only "
      "when the script runs; taken: gpu; if none of them: a.g=${G} (here 8)",
  };
  const GPtrArray *notes = ra_settings_notes(s);

  ck_assert_uint_eq(notes->len, G_N_ELEMENTS(want));
  for (guint i = 0; i < notes->len; i++)
    ck_assert_str_eq(notes->pdata[i], want[i]);
}
END_TEST

/* An override is the last setting of its key, and a variable of the script;
 * where it is only that, it is no setting. */
START_TEST(test_sets)
{
  g_autofree char *folder = g_dir_make_tmp("check_setting_XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "run.sh", NULL);
  static const char *const sets[] = {"N=8", "a.k=7", "engines=3", NULL};
  static const char *const bad[] = {"N", NULL};
  static const char *const keys[][2] = {{"a.n", "16"},
                                        {"a.k", "7"},
                                        {"engines", "3"},
                                        {"N", NULL},
                                        {"launcher.nnodes", "8"}};
  GError *error = NULL;
  g_autoptr(RaSettings) s = NULL;

  ck_assert(g_file_set_contents(path,
                                "N=1\ntorchrun --nnodes=$N t.py a.n=$((N * 2)) "
                                "a.k=1 --engines 2",
                                -1, NULL));
  s = ra_settings_load_with(path, sets, &error);
  ck_assert_msg(s != NULL, "%s", error ? error->message : "?");
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    ck_assert_msg(g_strcmp0(ra_settings_get(s, keys[i][0]), keys[i][1]) == 0,
                  "%s", keys[i][0]);
  ck_assert_ptr_null(ra_settings_load_with(path, bad, &error));
  ck_assert_str_eq(error->message, "--set: found 'N', expected KEY=VALUE");
  g_clear_error(&error);
  ck_assert_int_eq(g_remove(path), 0);
  ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

/* Mappings join with dots, sequences count, references are followed; null is
 * nothing. */
START_TEST(test_yaml)
{
  static const char text[] = "a:\n"
                             "  b: 3\n"
                             "  c: [x, {d: 'y # z'}]\n"
                             "e: ${a.b}\n"
                             "f: ${mul:${a.b}, 4}\n"
                             "g: null\n"
                             "h: ${oc.select:no.such,5}\n"
                             "i: ${a.nothing}\n";
  GError *error = NULL;
  g_autoptr(RaSettings) s =
      ra_settings_parse("x.yaml", text, strlen(text), TRUE, &error);

  ck_assert_ptr_nonnull(s);
  ck_assert_str_eq(ra_settings_get(s, "a.b"), "3");
  ck_assert_str_eq(ra_settings_get(s, "a.c.0"), "x");
  ck_assert_str_eq(ra_settings_get(s, "a.c.1.d"), "y # z");
  ck_assert_str_eq(ra_settings_get(s, "e"), "3");
  ck_assert_str_eq(ra_settings_get(s, "f"), "12"); /* 3 x 4 */
  ck_assert_ptr_null(ra_settings_get(s, "g"));
  ck_assert_str_eq(ra_settings_get(s, "h"), "5");
  ck_assert_str_eq(ra_settings_get(s, "i"), "${a.nothing}");
  ck_assert_str_eq(ra_settings_at(s, 2)->place, "x.yaml:3");
}
END_TEST

/* Keys that nothing has read stay unread; the last of a key counts. */
START_TEST(test_states)
{
  g_autoptr(RaSettings) s =
      script("x a.n=1 a.n=2 a.lr=3 a.off=False a.on=True b=maybe");
  GError *error = NULL;
  uint32_t n;
  gboolean on;

  ck_assert(ra_settings_uint32(s, "a.n", 9, 1, 9, &n, &error));
  ck_assert_uint_eq(n, 2);
  ra_settings_ignore(s, "*.lr");
  /* Setting 3 is off, whatever the word; 4 is not. */
  ck_assert(ra_settings_is(s, 3, "on|off") && !ra_settings_is(s, 4, "off"));
  ck_assert(ra_settings_is(s, 4, "TRUE") && ra_settings_is(s, 2, "7|3.0"));
  ra_settings_settle(s, 3, NULL, NULL);
  ck_assert_int_eq(ra_settings_at(s, 0)->state, RA_SETTING_REPLACED);
  ck_assert_int_eq(ra_settings_at(s, 1)->state, RA_SETTING_READ);
  ck_assert_int_eq(ra_settings_at(s, 2)->state, RA_SETTING_IGNORED);
  ck_assert_int_eq(ra_settings_at(s, 3)->state, RA_SETTING_IGNORED);
  ck_assert_int_eq(ra_settings_at(s, 4)->state, RA_SETTING_UNREAD);
  ra_settings_about(s, "a.on", "as %d", 1);
  ck_assert_str_eq(ra_settings_at(s, 4)->note, "as 1");
  ck_assert(!ra_settings_bool(s, "b", FALSE, &on, &error));
  ck_assert_str_eq(error->message,
                   "run.sh:1: 'b' is 'maybe', expected true or false");
  g_clear_error(&error);
  ck_assert(!ra_settings_uint32(s, "a.n", 9, 3, 9, &n, &error));
  g_clear_error(&error);
  ck_assert(ra_settings_bool(s, "absent", TRUE, &on, &error) && on);
}
END_TEST

/* Whatever is no settings is refused with its line. */
START_TEST(test_bad)
{
  static const struct {
    const char *text, *message;
    gboolean yaml;
  } bad[] = {
      {"a 'b\nc", "x:1: a quote is not closed", FALSE},
      {"echo a.b=c", "x: no training program is started, expected", FALSE},
      {"[ a = a ] && exit\npython t.py",
       "x: no training program is started before the script ends in line 1",
       FALSE},
      {"\xff", "x: neither YAML nor a script in UTF-8", FALSE},
      {"a: [", "x:2: no YAML", TRUE},
      {"a: 1\n  b: 2", "x:2: no YAML", TRUE},
      {"just words", "x:1: expected keys and values", TRUE},
  };

  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    GError *error = NULL;

    ck_assert_ptr_null(ra_settings_parse("x", bad[i].text, strlen(bad[i].text),
                                         bad[i].yaml, &error));
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(g_str_has_prefix(error->message, bad[i].message), "%s",
                  error->message);
    g_clear_error(&error);
  }
}
END_TEST

/* Collections are counted before they are loaded, which took minutes for
 * 100,000: 100 of them are read, the 101st is refused on its line. */
START_TEST(test_deep)
{
  static const guint depths[] = {100, 101, 100000};

  for (guint i = 0; i < G_N_ELEMENTS(depths); i++) {
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(RaSettings) s = NULL;
    GError *error = NULL;

    for (guint k = 0; k < depths[i]; k++)
      g_string_append(text, k == 50 ? "{a:\n " : "{a: ");
    g_string_append(text, "1");
    for (guint k = 0; k < depths[i]; k++)
      g_string_append_c(text, '}');
    s = ra_settings_parse("x", text->str, text->len, TRUE, &error);
    ck_assert(!s == (depths[i] > 100));
    if (!s)
      ck_assert_str_eq(error->message, "x:2: nested deeper than 100");
    g_clear_error(&error);
  }
}
END_TEST

/* So are anchors, for their square; 100 are read. */
START_TEST(test_anchors)
{
  static const guint counts[] = {100, 101, 100000};

  for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
    g_autoptr(GString) text = g_string_new("a:\n");
    g_autoptr(RaSettings) s = NULL;
    GError *error = NULL;

    for (guint k = 0; k < counts[i]; k++)
      g_string_append_printf(text, "- &a%u x\n", k);
    s = ra_settings_parse("x", text->str, text->len, TRUE, &error);
    ck_assert(!s == (counts[i] > 100));
    if (!s)
      ck_assert_str_eq(error->message, "x:102: more anchors than 100");
    g_clear_error(&error);
  }
}
END_TEST

/* A mapping of YAML that has itself ends. */
START_TEST(test_cycles)
{
  static const char self[] = "a: &x {b: *x}\n";
  GError *error = NULL;

  ck_assert_ptr_null(ra_settings_parse("x", self, strlen(self), TRUE, &error));
  ck_assert_ptr_nonnull(error);
  g_clear_error(&error);
}
END_TEST

static Suite *
setting_suite(void)
{
  Suite *suite = suite_create("setting");
  TCase *tcase = tcase_create("setting");

  tcase_add_test(tcase, test_script);
  tcase_add_test(tcase, test_hydra);
  tcase_add_test(tcase, test_unknown);
  tcase_add_test(tcase, test_notes);
  tcase_add_test(tcase, test_sets);
  tcase_add_test(tcase, test_yaml);
  tcase_add_test(tcase, test_states);
  tcase_add_test(tcase, test_bad);
  tcase_add_test(tcase, test_deep);
  tcase_add_test(tcase, test_anchors);
  tcase_add_test(tcase, test_cycles);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(setting_suite)
