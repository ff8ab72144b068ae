#include "config.h"

#include <float.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "base/keyfile.h"
#include "tests/support/check_corpus.h"
#include "tests/support/check_main.h"

/* A record with every type of key. */
typedef struct {
  const char *label;
  const char *const *inputs;
  uint32_t n_nodes;
  uint64_t seed;
  double skew;
  double nic_bytes_per_s;
  gboolean is_frozen;
  int kind;
} Record;

static const char *const kinds[] = {"generate", "inference", "train", NULL};

static const RaKeySpec keys[] = {
    {"label", RA_KEY_STRING, G_STRUCT_OFFSET(Record, label), .doc = "a label"},
    {"inputs", RA_KEY_STRINGS, G_STRUCT_OFFSET(Record, inputs),
     .doc = "what it reads"},
    {"nodes", RA_KEY_UINT32, G_STRUCT_OFFSET(Record, n_nodes), .required = TRUE,
     .min = 1, .max = 65536, .doc = "number of nodes"},
    {"seed", RA_KEY_UINT64, G_STRUCT_OFFSET(Record, seed), .fallback = "7"},
    {"skew", RA_KEY_DOUBLE, G_STRUCT_OFFSET(Record, skew), .min = -1, .max = 2},
    {"nic", RA_KEY_QUANTITY, G_STRUCT_OFFSET(Record, nic_bytes_per_s),
     .unit = RA_UNIT_BYTES_PER_S, .min = 1, .max = 1e12},
    {"frozen", RA_KEY_BOOL, G_STRUCT_OFFSET(Record, is_frozen),
     .fallback = "false"},
    {"kind", RA_KEY_ENUM, G_STRUCT_OFFSET(Record, kind), .names = kinds},
};

static RaKeyFile *
parse(const char *text)
{
  GError *error = NULL;
  RaKeyFile *file = ra_key_file_parse("f.x", text, strlen(text), &error);

  ck_assert_msg(file != NULL, "%s", error ? error->message : "no error");
  return file;
}

/* Parses @text and reads its last group; what it says, or "" for nothing. */
static char *
complaint(const char *text, gsize n_bytes, Record *record)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(RaKeyFile) file = ra_key_file_parse("f.x", text, n_bytes, &error);

  if (file != NULL &&
      ra_key_file_read_group(file, ra_key_file_n_groups(file) - 1, keys,
                             G_N_ELEMENTS(keys), record, &error)) {
    ck_assert_ptr_null(error);
    return g_strdup("");
  }
  ck_assert_ptr_nonnull(error);
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
  return g_strdup(error->message);
}

/* 400 Gbit/s = 400e9 / 8 = 5e10 bytes/s. */
START_TEST(test_every_type)
{
  g_autoptr(RaKeyFile) file =
      parse("# head\n\n[call  a.b:c/d+1]  # comment\n"
            "label = \"a # b\"\t # c\ninputs= f(1, 2),x ,\"y, z\"\nnodes =16\n"
            "seed = 18446744073709551615\n  skew = -2.5e-1\n"
            "nic = 400 Gbit/s # fast\nfrozen = true\nkind = train\n");
  Record r = {0};
  GError *error = NULL;

  ck_assert_uint_eq(ra_key_file_n_groups(file), 1);
  ck_assert_str_eq(ra_key_file_group_noun(file, 0), "call");
  ck_assert_str_eq(ra_key_file_group_name(file, 0), "a.b:c/d+1");
  ck_assert_int_eq(ra_key_file_find_group(file, "call", "a.b:c/d+1"), 0);
  ck_assert_int_eq(ra_key_file_find_group(file, "call", ""), -1);
  ck_assert_str_eq(ra_key_file_key(file, 0, 0), "label");
  ck_assert_str_eq(ra_key_file_key(file, 0, 7), "kind");
  ck_assert_ptr_null(ra_key_file_key(file, 0, 8));
  ck_assert_str_eq(ra_key_file_get(file, 0, "nic"), "400 Gbit/s");
  ck_assert_ptr_null(ra_key_file_get(file, 0, "none"));
  ck_assert(
      ra_key_file_read_group(file, 0, keys, G_N_ELEMENTS(keys), &r, &error));
  ck_assert_str_eq(r.label, "a # b");
  ck_assert_str_eq(r.inputs[0], "f(1, 2)");
  ck_assert_str_eq(r.inputs[1], "x");
  ck_assert_str_eq(r.inputs[2], "y, z");
  ck_assert_ptr_null(r.inputs[3]);
  ck_assert_uint_eq(r.n_nodes, 16);
  ck_assert(r.seed == UINT64_MAX);
  ck_assert_double_eq(r.skew, -0.25);
  ck_assert_double_eq(r.nic_bytes_per_s, 5e10);
  ck_assert_int_eq(r.is_frozen, TRUE);
  ck_assert_int_eq(r.kind, 2);
}
END_TEST

/* An absent key is its fallback, or leaves the field as it was. */
START_TEST(test_absent)
{
  Record r = {.kind = 1, .skew = 0.5, .is_frozen = TRUE};
  g_autofree char *said = complaint("[c]\nnodes=2", 11, &r);

  ck_assert_str_eq(said, "");
  ck_assert(r.seed == 7);
  ck_assert_int_eq(r.is_frozen, FALSE);
  ck_assert_int_eq(r.kind, 1);
  ck_assert_double_eq(r.skew, 0.5);
}
END_TEST

/* A byte order mark, CRLF and tabs are no part of any value; a '#' inside a
 * word and a ';' are. */
START_TEST(test_spelling)
{
  g_autoptr(RaKeyFile) file =
      parse("\xef\xbb\xbf[c]\r\n\ta\t=\tx#y;z\t# c\r\n\r\nb=#z\r\nc = # z\r\n"
            "d = ; e\r\n[c2] \r\n");

  ck_assert_str_eq(ra_key_file_get(file, 0, "a"), "x#y;z");
  ck_assert_str_eq(ra_key_file_get(file, 0, "b"), "#z");
  ck_assert_str_eq(ra_key_file_get(file, 0, "c"), "");
  ck_assert_str_eq(ra_key_file_get(file, 0, "d"), "; e");
  ck_assert_str_eq(ra_key_file_group_noun(file, 1), "c2");
}
END_TEST

#define RATES                                                                  \
  "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, bit/s, kbit/s, "   \
  "Mbit/s, Gbit/s, Tbit/s"
#define GROUP "expected a group '[noun]' or '[noun name]', found "
#define ENTRY "expected 'key = value', a '[group]' or a '# comment', found "

/* One fault each; the line is counted in the text. */
static const struct {
  const char *text;
  const char *message;
} faults[] = {
    {"a = 1", "f.x:1: key 'a' stands before any group, expected '[noun]' "
              "first"},
    {"\n[c", "f.x:2: " GROUP "'[c'"},
    {"[]", "f.x:1: " GROUP "'[]'"},
    {"[c.d]", "f.x:1: " GROUP "'[c.d]'"},
    {"[c d e]", "f.x:1: " GROUP "'[c d e]'"},
    {"[c]d", "f.x:1: " GROUP "'[c]d'"},
    {"[c]\n[d]\n[ c ]", "f.x:3: duplicate group [c], expected once, first at "
                        "line 1"},
    {"[c]\nx y = 1", "f.x:2: " ENTRY "'x y = 1'"},
    {"[c]\n= 1", "f.x:2: " ENTRY "'= 1'"},
    {"[c]\n\nx = \"y # 1", "f.x:3: unterminated quote, expected a closing "
                           "'\"', found 'x = \"y # 1'"},
    {"[c]\nnodes=1\nnodes = 1", "f.x:3: duplicate key 'nodes' in [c], expected "
                                "once, first at line 2"},
    {"[c]\nx\x01=1", "f.x:2: control character 0x01, expected plain text"},
    {"[c]\nx=\r1", "f.x:2: control character 0x0d, expected plain text"},
    {"[c]\n#\n\xff", "f.x:3: invalid UTF-8, expected plain text"},
    {"[c d]\nseed=1", "f.x:1: missing key 'nodes' in [c d], expected number of "
                      "nodes"},
    {"[c]\nnodez=1", "f.x:2: unknown key 'nodez' in [c], did you mean "
                     "'nodes'?"},
    {"[c]\nabcdefghij=1",
     "f.x:2: unknown key 'abcdefghij' in [c], expected one "
     "of label, inputs, nodes, seed, skew, nic, frozen, kind"},
    {"[c]\nformat=2", "f.x:2: unknown key 'format' in [c], expected one of "
                      "label, inputs, nodes, seed, skew, nic, frozen, kind"},
    {"[c]\nnodes= # 4", "f.x:2: 'nodes' has no value, expected number of "
                        "nodes"},
    {"[c]\nnodes=-4", "f.x:2: 'nodes' is -4, expected an integer in [1, "
                      "65536]"},
    {"[c]\nnodes=65537", "f.x:2: 'nodes' is 65537, expected an integer in [1, "
                         "65536]"},
    {"[c]\nnodes=1e3", "f.x:2: 'nodes' is 1e3, expected an integer in [1, "
                       "65536]"},
    {"[c]\nnodes=0x10", "f.x:2: 'nodes' is '0x10', expected an integer in [1, "
                        "65536]"},
    {"[c]\nnodes=1\nseed=18446744073709551616",
     "f.x:3: 'seed' is 18446744073709551616, expected an integer of at least "
     "0"},
    {"[c]\nnodes=1\nskew=2.5", "f.x:3: 'skew' is 2.5, expected a number in "
                               "[-1, 2]"},
    {"[c]\nnodes=1\nskew=nan", "f.x:3: 'skew' is 'nan', expected a number in "
                               "[-1, 2]"},
    {"[c]\nnodes=1\nnic=400",
     "f.x:3: 'nic': '400' has no unit, expected a rate in one of " RATES},
    {"[c]\nnodes=1\nnic=4 GB", "f.x:3: 'nic': '4 GB' has the unit 'GB', "
                               "did you mean 'GB/s'? expected a rate in one "
                               "of " RATES},
    {"[c]\nnodes=1\nnic=2 TB/s", "f.x:3: 'nic' is '2 TB/s', expected a "
                                 "quantity in [1 B/s, 1 TB/s]"},
    {"[c]\nnodes=1\nfrozen=yes", "f.x:3: 'frozen' is 'yes', expected true or "
                                 "false"},
    {"[c]\nnodes=1\nkind=gennerate",
     "f.x:3: 'kind' is 'gennerate', expected one of generate, inference, "
     "train, did you mean 'generate'?"},
    {"[c]\nnodes=1\nkind=x", "f.x:3: 'kind' is 'x', expected one of generate, "
                             "inference, train"},
    {"[c]\nnodes=1\nlabel=\"\"", "f.x:3: 'label' is '\"\"', expected a text"},
    {"[c]\nnodes=1\ninputs=a,,b", "f.x:3: 'inputs' is 'a,,b', expected a "
                                  "comma-separated list without gaps"},
    {"[c]\nnodes=1\ninputs=a,", "f.x:3: 'inputs' is 'a,', expected a "
                                "comma-separated list without gaps"},
};

/* A record is written whole or not at all: it still has its pattern. */
START_TEST(test_fault)
{
  const char *text = faults[_i].text;
  Record r, before;
  g_autofree char *said = NULL;

  memset(&r, 0x5a, sizeof r);
  memcpy(&before, &r, sizeof r);
  said = complaint(text, strlen(text), &r);
  ck_assert_str_eq(said, faults[_i].message);
  ck_assert_mem_eq(&r, &before, sizeof r);
}
END_TEST

/* The oracle of test_fault, a record that keeps its pattern, sees a fault: the
 * same group without one changes the record. */
START_TEST(test_pattern_sees_a_write)
{
  Record r, before;
  g_autofree char *said = NULL;

  memset(&r, 0x5a, sizeof r);
  memcpy(&before, &r, sizeof r);
  said = complaint("[c]\nnodes=4", 11, &r);
  ck_assert_str_eq(said, "");
  ck_assert_mem_ne(&r, &before, sizeof r);
}
END_TEST

START_TEST(test_nul)
{
  Record r;
  g_autofree char *said = complaint("[c]\nnodes=1\0", 12, &r);

  ck_assert_str_eq(said, "f.x:2: NUL byte, expected plain text");
}
END_TEST

/* 40 characters of a faulty line are quoted, whole ones: 39 'x' and an 'e'
 * with an acute accent, which are 41 bytes. */
START_TEST(test_long_line)
{
  Record r;
  g_autofree char *xs = g_strnfill(39, 'x');
  g_autofree char *text = g_strconcat("[c]\n", xs, "\xc3\xa9yyy", NULL);
  g_autofree char *wanted =
      g_strconcat("f.x:2: " ENTRY "'", xs, "\xc3\xa9...'", NULL);
  g_autofree char *said = complaint(text, strlen(text), &r);

  ck_assert_str_eq(said, wanted);
}
END_TEST

START_TEST(test_too_large)
{
  g_autoptr(GError) error = NULL;
  gsize n = ((gsize)4 << 20) + 1;
  g_autofree char *text = g_strnfill(n, '\n');

  ck_assert_ptr_null(ra_key_file_parse("f.x", text, n, &error));
  ck_assert_str_eq(error->message,
                   "f.x:1: file is too large, expected at most 4 MiB");
  ra_key_file_unref(ra_key_file_parse("f.x", text, n - 1, NULL));
}
END_TEST

START_TEST(test_load)
{
  GError *error = NULL;
  g_autofree char *folder = g_dir_make_tmp("ra-keyfile-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "a.plan", NULL);
  g_autofree char *missing = g_build_filename(folder, "b.plan", NULL);
  g_autofree char *wanted =
      g_strdup_printf("%s: No such file or directory, expected an existing "
                      "file",
                      missing);
  RaKeyFile *file;

  ck_assert(g_file_set_contents(path, "[c]\nx = 1\n", -1, NULL));
  file = ra_key_file_load(path, &error);
  ck_assert_ptr_nonnull(file);
  ck_assert_str_eq(ra_key_file_name(file), path);
  ra_key_file_unref(ra_key_file_ref(file));
  ck_assert_str_eq(ra_key_file_get(file, 0, "x"), "1");
  ra_key_file_unref(file);
  ck_assert_ptr_null(ra_key_file_load(missing, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_IO));
  ck_assert_str_eq(error->message, wanted);
  g_error_free(error);
  g_unlink(path);
  g_rmdir(folder);
}
END_TEST

/* A flag replaces and adds; messages name it instead of a line. */
START_TEST(test_set)
{
  g_autoptr(RaKeyFile) file = parse("[call a.b]\nnodes = 1\nlabel = old\n");
  GError *error = NULL;
  Record r = {0}, s = {0};

  ck_assert(
      ra_key_file_read_group(file, 0, keys, G_N_ELEMENTS(keys), &r, &error));
  ra_key_file_set(file, "call", "a.b", "nodes", " 4 ");
  ra_key_file_set(file, "call", "a.b", "label", "new");
  ra_key_file_set(file, "call", "a.b", "kind", "train");
  ck_assert(
      ra_key_file_read_group(file, 0, keys, G_N_ELEMENTS(keys), &s, &error));
  ck_assert_uint_eq(s.n_nodes, 4);
  ck_assert_str_eq(s.label, "new");
  ck_assert_int_eq(s.kind, 2);
  ck_assert_str_eq(r.label, "old");
  ra_key_file_set(file, "call", "a.b", "nodes", "x\ny");
  ck_assert(
      !ra_key_file_read_group(file, 0, keys, G_N_ELEMENTS(keys), &s, &error));
  ck_assert_str_eq(error->message,
                   "--set 'call a.b.nodes=x?y': 'nodes' is 'x?y', expected an "
                   "integer in [1, 65536]");
  g_clear_error(&error);
  /* A group that a flag made is known by the first value set in it. */
  ra_key_file_set(file, "new", "", "seed", "3");
  ck_assert_int_eq(ra_key_file_find_group(file, "new", ""), 1);
  ck_assert(
      !ra_key_file_read_group(file, 1, keys, G_N_ELEMENTS(keys), &s, &error));
  ck_assert_str_eq(error->message, "--set 'new.seed=3': missing key 'nodes' in "
                                   "[new], expected number of nodes");
  g_clear_error(&error);
}
END_TEST

/* ra_key_file_fail() finds the key's line, else the group's. */
START_TEST(test_fail)
{
  g_autoptr(RaKeyFile) file = parse("\n[c]\n\nx = 1\n");
  GError *error = NULL;

  ck_assert(!ra_key_file_fail(file, 0, "x", &error, "no %d", 1));
  ck_assert_str_eq(error->message, "f.x:4: no 1");
  g_clear_error(&error);
  ck_assert(!ra_key_file_fail(file, 0, "y", &error, "no"));
  ck_assert_str_eq(error->message, "f.x:2: no");
  g_clear_error(&error);
  ck_assert(!ra_key_file_fail(file, 0, NULL, NULL, "no"));
}
END_TEST

static const struct {
  const char *text;
  const char *message;
} noun_rows[] = {
    {"[cluster]\n[call a]\n[call b]", ""},
    {"[cluster]\nformat = 1", ""},
    {"[cluster]\nformat = 2", "f.x:2: 'format' is '2', expected 1"},
    {"[call a]", "f.x:1: missing group '[cluster]', expected exactly one"},
    {"", "f.x:1: missing group '[cluster]', expected exactly one"},
    {"[cluster]\n[cal a]", "f.x:2: unknown group 'cal', did you mean 'call'?"},
    {"[cluster]\n[zzzzz]",
     "f.x:2: unknown group 'zzzzz', expected one of cluster, call, system"},
    {"[cluster a]",
     "f.x:1: group [cluster] has the name 'a', expected '[cluster]'"},
    {"[cluster]\n[call]", "f.x:2: group [call] has no name, expected "
                          "'[call NAME]'"},
};

START_TEST(test_nouns)
{
  static const char *const nouns[] = {"cluster!", "call *", "system", NULL};
  g_autoptr(RaKeyFile) file = parse(noun_rows[_i].text);
  g_autoptr(GError) error = NULL;
  gboolean ok = ra_key_file_check_nouns(file, nouns, &error);

  ck_assert_str_eq(error ? error->message : "", noun_rows[_i].message);
  ck_assert_int_eq(ok, error == NULL);
}
END_TEST

/* "system *!": a name, and exactly one. */
START_TEST(test_one_named)
{
  static const char *const nouns[] = {"system *!", NULL};
  g_autoptr(RaKeyFile) one = parse("[system a]");
  g_autoptr(RaKeyFile) two = parse("[system a]\n[system b]");
  g_autoptr(GError) error = NULL;

  ck_assert(ra_key_file_check_nouns(one, nouns, NULL));
  ck_assert(!ra_key_file_check_nouns(two, nouns, &error));
  ck_assert_str_eq(error->message,
                   "f.x:2: second group 'system', expected exactly one");
}
END_TEST

START_TEST(test_corpus)
{
  ra_check_corpus("keyfile");
}
END_TEST

static Suite *
keyfile_suite(void)
{
  Suite *suite = suite_create("keyfile");
  TCase *good = tcase_create("good");
  TCase *bad = tcase_create("bad");

  tcase_add_test(good, test_every_type);
  tcase_add_test(good, test_absent);
  tcase_add_test(good, test_spelling);
  tcase_add_test(good, test_load);
  tcase_add_test(good, test_set);
  tcase_add_test(good, test_fail);
  tcase_add_test(good, test_one_named);
  tcase_add_loop_test(good, test_nouns, 0, G_N_ELEMENTS(noun_rows));
  suite_add_tcase(suite, good);
  tcase_add_loop_test(bad, test_fault, 0, G_N_ELEMENTS(faults));
  tcase_add_test(bad, test_pattern_sees_a_write);
  tcase_add_test(bad, test_nul);
  tcase_add_test(bad, test_long_line);
  tcase_add_test(bad, test_too_large);
  tcase_add_test(bad, test_corpus);
  suite_add_tcase(suite, bad);
  return suite;
}

RA_CHECK_MAIN(keyfile_suite)
