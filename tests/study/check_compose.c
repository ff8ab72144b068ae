/* Configurations of several files: what YAML, OmegaConf and hydra say that
 * their values are. */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "study/convert/setting.h"
#include "tests/support/check_main.h"

static char *folder; /* of a test */

static void
set_up(void)
{
  folder = g_dir_make_tmp("compose-XXXXXX", NULL);
  ck_assert_ptr_nonnull(folder);
}

static void
remove_all(const char *path)
{
  GDir *dir = g_dir_open(path, 0, NULL);

  for (const char *name; dir && (name = g_dir_read_name(dir));) {
    g_autofree char *full = g_build_filename(path, name, NULL);

    remove_all(full);
  }
  if (dir)
    g_dir_close(dir);
  g_remove(path);
}

static void
tear_down(void)
{
  remove_all(folder);
  g_free(folder);
}

static void
put(const char *name, const char *text)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autofree char *above = g_path_get_dirname(path);

  ck_assert_int_eq(g_mkdir_with_parents(above, 0700), 0);
  ck_assert(g_file_set_contents(path, text, -1, NULL));
}

/* Settings of file @name; with @message, it must be refused with that behind
 * its folder. */
static RaSettings *
load(const char *name, const char *message)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);
  GError *error = NULL;
  RaSettings *s = ra_settings_load(path, &error);

  if (s && !ra_settings_compose(s, path, &error)) {
    ra_settings_free(s);
    s = NULL;
  }
  if (!message) {
    ck_assert_msg(s != NULL, "%s", error ? error->message : "?");
    return s;
  }
  ck_assert_ptr_null(s);
  ck_assert(g_str_has_prefix(error->message, folder));
  ck_assert_msg(g_str_has_prefix(error->message + strlen(folder) + 1, message),
                "%s", error->message);
  g_clear_error(&error);
  return NULL;
}

/* Checks keys and values, "key=value" each; without '=' it has none. */
static void
check(RaSettings *s, const char *const *want)
{
  for (guint i = 0; want[i]; i++) {
    const char *equals = strchr(want[i], '=');
    g_autofree char *key =
        g_strndup(want[i], equals ? (gsize)(equals - want[i]) : 200);
    const char *value = ra_settings_get(s, key);

    if (equals)
      ck_assert_msg(value && g_str_equal(value, equals + 1), "%s: %s", want[i],
                    value ? value : "nothing");
    else
      ck_assert_msg(!value, "%s: %s", want[i], value);
  }
}
#define CHECK(s, ...) check(s, (const char *const[]){__VA_ARGS__, NULL})

/* OmegaConf: one dot is the mapping of the value, each further one the mapping
 * around it; a reference to a mapping has that one's values, and the relative
 * ones among them mean that one's neighbours. */
START_TEST(test_references)
{
  g_autoptr(RaSettings) s = NULL;

  put("a.yaml",
      "top: 8\n"
      "a:\n"
      "  n: 3\n"
      "  near: ${.n}\n"
      "  b:\n"
      "    n: 5\n"
      "    near: ${.n}\n"
      "    above: ${..n}\n"
      "    root: ${...top}\n"
      "    list: [0, {x: '${...n}'}]\n"
      "copy: ${a.b}\n"
      "f: ${mul:${a.n},${a.b.n}}\n" /* 3 x 5 */
      "g: ${div:${top},16}\n"       /* 8 / 16 */
      "h: ${max:${a.n}, ${add:1,1.5}}\n"
      "i: ${eval:'(${top} + 2 * ${a.n}) // 4 % 2'}\n" /* 14 // 4 = 3, 3 % 2 */
      "j: ${oc.env:NO_SUCH, 7}\n"
      "k: ${oc.decode:${oc.env:NO_SUCH,'9'}}\n"
      "l: ${oc.select:a.no,${oc.select:a.n,1}}\n"
      "m: ${oc.select:a.no}\n"
      "blank: ${  mul:2, ${ a.n } }\n" /* 2 x 3 */
      "o: ${a.b.list[1].x} and ${a.n}\n"
      "p: ???\n"
      "q: ${unknown:1}\n"
      "r: ${oc.select:no.such,${a.b}}\n"
      "x: {max: 64, half: '${div:${..x.max},2}'}\n");
  s = load("a.yaml", NULL);
  CHECK(s, "a.near=3", "a.b.near=5", "a.b.above=3", "a.b.root=8",
        "a.b.list.1.x=5", "copy.n=5", "copy.near=5", "copy.above=3",
        "copy.list.1.x=5", "f=15", "g=0.5", "h=3", "blank=6", "i=1", "j=7",
        "k=9", "l=3", "m", "o=5 and 3", "p", "q=${unknown:1}", "r.above=3",
        "x.half=32");
}
END_TEST

/* YAML's own: anchors, `<<` takes what is not there, block and folded scalars,
 * tags, flow collections; a second document is not read. */
START_TEST(test_yaml)
{
  g_autoptr(RaSettings) s = NULL;

  put("a.yaml", "base: &base {n: 1, m: 2, 'quoted': 'x: y'}\n"
                "more: &more {m: 3, k: 4}\n"
                "one:\n"
                "  <<: [*base, *more]\n"
                "  n: !!int 9\n"
                "  text: |\n"
                "    a\n"
                "    b\n"
                "  folded: >-\n"
                "    a\n"
                "    b\n"
                "  list: [1, {z: 2}]\n"
                "---\n"
                "one: {n: 10}\n");
  s = load("a.yaml", NULL);
  CHECK(s, "one.n=9", "one.m=2", "one.k=4", "one.text=a\nb\n", "one.folded=a b",
        "one.list.1.z=2", "one.quoted=x: y");
  ck_assert_uint_eq(ra_settings_notes(s)->len, 1);
  ck_assert_ptr_nonnull(
      strstr(ra_settings_notes(s)->pdata[0], "first of 2 documents"));
}
END_TEST

/* NeMo-RL's `defaults`: files, the later one over the earlier one, the file
 * itself over both; mappings are united, lists and `_override_` replaced, `???`
 * replaces nothing; a mapping over a reference to one is united with it. */
START_TEST(test_files)
{
  g_autoptr(RaSettings) s = NULL;

  put("base.yaml", "a: {n: 1, m: 2, l: [1, 2, 3]}\n"
                   "b: {x: 1, y: '${a.n}'}\n"
                   "student: ${a}\n"
                   "k: 5\n");
  put("more/other.yaml", "defaults: ../base.yaml\na: {m: 3, o: 4}\n");
  put("own.yaml", "defaults: [base.yaml, more/other.yaml]\n"
                  "a: {n: 7, l: [9]}\n"
                  "b: {_override_: true, z: 6}\n"
                  "student: {m: 8}\n"
                  "k: ???\n");
  s = load("own.yaml", NULL);
  CHECK(s, "a.n=7", "a.m=3", "a.o=4", "a.l.0=9", "a.l.1", "b.x", "b.z=6", "k=5",
        "student.m=8", "student.o=4");
  ck_assert_ptr_nonnull(
      strstr(ra_settings_at(s, 0)->place, "own.yaml:2")); /* a.n */
  put("gone.yaml", "\ndefaults: nothing.yaml\n");
  ck_assert_ptr_null(load("gone.yaml", "gone.yaml:2: 'defaults': "));
}
END_TEST

/* Hydra's list: names of this group, groups, packages, ${...} of a choice,
 * `override` of a nested entry, `optional`, absolute names and the order around
 * `_self_`. */
START_TEST(test_groups)
{
  g_autoptr(RaSettings) s = NULL;

  put("main.yaml", "hydra: {searchpath: ['file://library']}\n"
                   "defaults:\n"
                   "  - engine: fsdp\n"
                   "  - actor@x.actor: ${engine}_actor\n"
                   "  - optional actor@x.none: no_such\n"
                   "  - theirs\n"
                   "  - gone\n"
                   "  - _self_\n"
                   "  - last\n"
                   "mine: 1\n"
                   "late: 1\n"
                   "x: {actor: {n: 2}}\n");
  put("engine/fsdp.yaml", "kind: f\n");
  put("engine/megatron.yaml", "kind: m\n");
  put("actor/base.yaml", "n: 1\nlr: 3\nsame: ${.n}\n");
  put("actor/fsdp_actor.yaml",
      "defaults: [base, /optim@o: adam, ../optim@p: adam]\nzero: 3\n");
  put("actor/megatron_actor.yaml", "defaults: [base]\ntp: 2\n");
  put("optim/adam.yaml", "beta: 0.9\n");
  put("last.yaml", "late: 2\n");
  put("library/theirs.yaml", "defaults: [deeper/one]\nlib: 4\n");
  put("library/deeper/one.yaml", "# @package _global_\none: 5\n");
  put("other.yaml", "defaults: [main, override engine: megatron]\n");
  s = load("main.yaml", NULL);
  CHECK(s, "mine=1", "late=2", "engine.kind=f", "x.actor.zero=3", "x.actor.n=2",
        "x.actor.same=2", "x.actor.lr=3", "x.actor.o.beta=0.9",
        "x.actor.p.beta=0.9", "lib=4", "one=5", "hydra.searchpath.0");
  ck_assert_uint_eq(ra_settings_notes(s)->len, 1); /* gone */
  for (guint i = 0; i < ra_settings_n(s); i++) {
    const RaSetting *at = ra_settings_at(s, i);

    ck_assert(g_str_equal(at->key, "one") ==
              (strstr(at->place, "deeper/one.yaml:2") != NULL));
  }
  ra_settings_free(s);
  s = load("other.yaml", NULL);
  CHECK(s, "engine.kind=m", "x.actor.tp=2", "x.actor.zero", "x.actor.n=2");
}
END_TEST

/* A launch: the file that it names comes first, its command line over it, which
 * replaces whole mappings and lists too; it also chooses of groups.  What the
 * framework has itself is known until it is asked for. */
START_TEST(test_launch)
{
  g_autoptr(RaSettings) s = NULL;

  put("setup.py", "");
  put("pkg/trainer/config/main.yaml",
      "defaults: [{engine: fsdp}]\na: {n: 1, m: 2}\nl: [1, 2]\nk: 3\n");
  put("pkg/trainer/config/engine/fsdp.yaml", "zero: 3\n");
  put("pkg/trainer/config/engine/mega.yaml", "tp: 4\n");
  put("own/config/mine.yaml", "hydra: {searchpath: ['pkg://pkg.trainer."
                              "config']}\ndefaults: [main]\na: {n: 5}\n");
  put("run/one.sh", "python -m pkg.trainer.go --config-name=main engine=mega "
                    "a.m=null l=[7]");
  put("run/two.sh", "python -m pkg.trainer.go --config-path=$HERE/own/config "
                    "--config-name mine a.m=6");
  put("run/three.sh", "python go.py --config own/config/mine.yaml");
  put("run/five.sh", "python -m pkg.trainer.go --config-path=config "
                     "--config-name=main");
  put("run/four.sh", "python go.py --config own/none.yaml x.y=1");
  s = load("run/one.sh", NULL);
  CHECK(s, "a.n=1", "a.m", "l.0=7", "l.1", "engine.tp=4", "engine.zero", "k=3");
  for (guint i = 0; i < ra_settings_n(s); i++) /* all that was asked for */
    ck_assert_int_ne(ra_settings_at(s, i)->state, RA_SETTING_UNREAD);
  ra_settings_free(s);
  s = load("run/two.sh", NULL);
  CHECK(s, "a.n=5", "a.m=6", "engine.zero=3");
  ra_settings_free(s);
  s = load("run/five.sh", NULL); /* beside the program, not the script */
  CHECK(s, "a.n=1", "engine.zero=3");
  ra_settings_free(s);
  s = load("run/three.sh", NULL);
  CHECK(s, "a.n=5", "a.m=2");
  ck_assert_uint_eq(ra_settings_notes(s)->len, 0);
  ra_settings_free(s);
  s = load("run/four.sh", NULL);
  CHECK(s, "x.y=1");
  ck_assert_uint_eq(ra_settings_notes(s)->len, 1);
  ck_assert_ptr_nonnull(
      strstr(ra_settings_notes(s)->pdata[0], "'own/none.yaml' was not found"));
}
END_TEST

/* Weights & Biases: the values of a configuration, and the words of a command.
 */
START_TEST(test_logged)
{
  g_autoptr(RaSettings) s = NULL;

  put("config.yaml", "wandb_version: 1\n"
                     "_wandb: {desc: null, value: {python: 3}}\n"
                     "data: {desc: null, value: {n: 64}}\n"
                     "seed: {value: 5}\n");
  put("config.json", "{\"data\": {\"desc\": null, \"value\": {\"n\": 64}}}");
  put("wandb-metadata.json",
      "{\"program\": \"/x/a/b/main.py\", \"args\": [\"data.n=64\","
      " \"x.y='1 2'\", \"--z\", \"5\"]}");
  s = load("config.yaml", NULL);
  CHECK(s, "data.n=64", "seed=5");
  ck_assert_uint_eq(ra_settings_n(s), 2);
  ra_settings_free(s);
  s = load("config.json", NULL);
  CHECK(s, "data.n=64");
  ck_assert_uint_eq(ra_settings_n(s), 1);
  ra_settings_free(s);
  s = load("wandb-metadata.json", NULL);
  CHECK(s, "data.n=64", "z=5");
  ck_assert_ptr_nonnull(strstr(ra_settings_entry(s), "main"));
}
END_TEST

/* The configuration that the program itself names: the command line over it.
 * The first folder of a module's name may be the repository.  Settings of a
 * recipe are the run's, those of the framework known until they are read. */
START_TEST(test_hydra_main)
{
  g_autoptr(RaSettings) s = NULL;

  put("setup.py", "");
  put("verl/trainer/go.py",
      "import hydra\n@hydra.main(config_path='conf', config_name=\"main\", "
      "version_base=None)\ndef main(config):\n  pass\n");
  put("verl/trainer/conf/main.yaml", "a: {n: 1, m: 2}\nk: 3\n");
  put("mine/go.py", "@hydra.main(\n    config_path=\"config\",\n"
                    "    config_name=\"own\",\n)\n");
  put("mine/config/own.yaml", "hydra: {searchpath: ['file://verl/trainer/"
                              "conf']}\ndefaults: [main]\na: {n: 5}\n");
  put("mine/none.py", "@hydra.main(config_path=PATH, config_name='own')\n");
  put("mine/one.sh", "python -m verl.trainer.go a.m=7");
  put("mine/two.sh", "python -m recipe.mine.go a.m=7");
  put("mine/three.sh", "python -m mine.none a.m=7");
  s = load("mine/one.sh", NULL);
  CHECK(s, "a.n=1", "a.m=7", "k=3");
  for (guint i = 0; i < ra_settings_n(s); i++) /* all that was asked for */
    ck_assert_int_ne(ra_settings_at(s, i)->state, RA_SETTING_UNREAD);
  ra_settings_free(s);
  s = load("mine/two.sh", NULL);
  ck_assert_int_eq(ra_settings_at(s, 0)->state, RA_SETTING_UNREAD); /* a.n */
  CHECK(s, "a.n=5", "a.m=7", "k=3");
  ra_settings_free(s);
  s = load("mine/three.sh", NULL);
  CHECK(s, "a.n", "a.m=7");
  ck_assert_uint_eq(ra_settings_notes(s)->len, 0);
}
END_TEST

/* Cycles and explosions: one line each. */
START_TEST(test_endless)
{
  g_autoptr(GString) many = g_string_new("a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
  g_autoptr(GString) wide = g_string_new("a0: x\n");

  put("a.yaml", "defaults: b.yaml\n");
  put("b.yaml", "\ndefaults: [a.yaml]\n");
  load("a.yaml", "b.yaml:2: 'defaults' leads back to ");
  put("c.yaml", "defaults: [c]\n");
  load("c.yaml", "c.yaml:1: 'defaults' leads back to ");
  put("d.yaml", "x: 1\ny: ${z}\nz: '1 ${y}'\n");
  load("d.yaml", "d.yaml:2: 'y' refers to itself");
  put("e.yaml", "a:\n  b: ${a}\n");
  load("e.yaml", "e.yaml:2: nested deeper than 100");
  for (guint i = 1; i < 9; i++) {
    g_string_append_printf(many, "a%u: &a%u [", i, i);
    for (guint k = 0; k < 10; k++)
      g_string_append_printf(many, "%s*a%u", k ? "," : "", i - 1);
    g_string_append(many, "]\n");
  }
  put("f.yaml", many->str); /* 10^9 of them */
  load("f.yaml", "f.yaml:1: more than 100000 settings");
  for (guint i = 1; i < 40; i++)
    g_string_append_printf(wide, "a%u: ${a%u}${a%u}\n", i, i - 1, i - 1);
  put("g.yaml", wide->str); /* 2^39 of them */
  load("g.yaml", "g.yaml:");
  put("h.yaml", "- a\n- b\n");
  load("h.yaml", "h.yaml:1: expected keys and values");
  put("i.yaml", "defaults: {a: 1}\n");
  load("i.yaml", "i.yaml:1: 'defaults' is not understood");
  put("j.yaml", "defaults: [[a]]\n");
  load("j.yaml", "j.yaml:1: an entry of 'defaults' is not understood");
  put("k.yaml", "a: {<<: 1}\n");
  load("k.yaml", "k.yaml:1: '<<' is not a mapping");
}
END_TEST

static Suite *
compose_suite(void)
{
  Suite *suite = suite_create("compose");
  TCase *tcase = tcase_create("compose");

  tcase_add_checked_fixture(tcase, set_up, tear_down);
  tcase_add_test(tcase, test_references);
  tcase_add_test(tcase, test_yaml);
  tcase_add_test(tcase, test_files);
  tcase_add_test(tcase, test_groups);
  tcase_add_test(tcase, test_launch);
  tcase_add_test(tcase, test_hydra_main);
  tcase_add_test(tcase, test_logged);
  tcase_add_test(tcase, test_endless);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(compose_suite)
