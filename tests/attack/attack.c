/* Attacks the command line with mutated files under hostile environments.
 *
 *     attack SOURCES REALLOT FINDS SEED EXECUTIONS|SECONDSs [KIND...]
 *     attack SOURCES REALLOT FINDS SEED =CASE
 *
 * Case i of a seed is the same on every machine: its kind is i modulo the
 * number of kinds.  A case that crashes, hangs, runs a command of the file,
 * loses its input, takes too much memory or ends without its one line is a
 * find, whose folder and command go to FINDS.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "tests/attack/execute.h"
#include "tests/attack/kinds.h"
#include "tests/attack/mutate.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1 /* it needs an address space and stacks of its own */
#else
#define SANITIZED 0
#endif

#define CPU_S 20        /* a case that takes longer hangs */
#define REFUSED_MIB 256 /* peak memory of a refused input */
#define MAX_ARGUMENT 100000
#define MAX_FINDS 50

typedef struct {
  const char *sources, *reallot, *finds;
  guint64 seed;
  char *top; /* of scratch folders; owned */
  guint n, n_finds;
  guint statuses[5]; /* exit statuses 0 to 4 */
} Attack;

/* A case under way. */
typedef struct {
  guint64 number;
  const RaAttackKind *kind;
  char *folder;  /* owned */
  char *path;    /* (owned) the mutated file, below folder */
  GString *text; /* owned: what it has */
  GPtrArray *argv;
  RaExecution execution;
} Case;

static GPtrArray *
list_files(const Attack *attack, const char *pattern)
{
  GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
  gboolean is_made = g_str_has_prefix(pattern, "made/");
  g_autofree char *full =
      g_build_filename(is_made ? attack->top : attack->sources, pattern, NULL);
  g_autofree char *folder = g_path_get_dirname(full);
  g_autofree char *base = g_path_get_basename(full);
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL);

    if (g_pattern_match_simple(base, name) &&
        g_file_test(path, G_FILE_TEST_IS_REGULAR))
      g_ptr_array_add(paths, g_steal_pointer(&path));
  }
  if (dir)
    g_dir_close(dir);
  return paths;
}

static int
compare_paths(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* (transfer full): all good files of a kind, in order. */
static GPtrArray *
seeds_of(const Attack *attack, const RaAttackKind *kind)
{
  GPtrArray *all = g_ptr_array_new_with_free_func(g_free);

  for (guint i = 0; i < G_N_ELEMENTS(kind->seeds) && kind->seeds[i]; i++) {
    g_autoptr(GPtrArray) some = list_files(attack, kind->seeds[i]);

    if (some->len == 0)
      g_printerr("attack: no file '%s'\n", kind->seeds[i]);
    g_ptr_array_extend_and_steal(all, g_steal_pointer(&some));
  }
  g_ptr_array_sort(all, compare_paths);
  g_assert(all->len > 0);
  return all;
}

static GString *
read_file(const char *path)
{
  char *text = NULL;
  gsize n = 0;
  GString *out = g_string_new(NULL);

  if (g_file_get_contents(path, &text, &n, NULL))
    g_string_append_len(out, text, (gssize)n);
  g_free(text);
  return out;
}

static void
write_file(const char *folder, const char *name, const char *text, gsize n)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);

  if (!g_file_set_contents(path, text, (gssize)n, NULL))
    g_error("%s: cannot be written", path);
}

/* The files beside @seed go with it. */
static void
bring(const char *seed, const char *place)
{
  g_autofree char *folder = g_path_get_dirname(seed);
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GString) text = NULL;

    if (!g_file_test(path, G_FILE_TEST_IS_REGULAR))
      continue;
    text = read_file(path);
    write_file(place, name, text->str, text->len);
  }
  if (dir)
    g_dir_close(dir);
}

/* The word with what it stands for. */
static char *
fill_word(const Attack *attack, const Case *c, const char *word)
{
  g_autoptr(GString) out = g_string_new(NULL);

  for (; *word; word++) {
    if (*word == '@')
      g_string_append(out, c->path);
    else if (*word == '%')
      g_string_append_printf(out, "%s/made", attack->top);
    else if (*word == '^')
      g_string_append_len(out, c->text->str,
                          (gssize)MIN(strlen(c->text->str), MAX_ARGUMENT));
    else
      g_string_append_c(out, *word == '~' ? ' ' : *word);
  }
  return g_string_free(g_steal_pointer(&out), FALSE);
}

static void
choose_command(const Attack *attack, Case *c, RaRng *rng)
{
  guint n = 0;
  g_auto(GStrv) words = NULL;

  while (n < G_N_ELEMENTS(c->kind->commands) && c->kind->commands[n])
    n++;
  words = g_strsplit(c->kind->commands[ra_rng_below(rng, n)], " ", -1);
  g_ptr_array_add(c->argv, g_strdup(attack->reallot));
  for (guint i = 0; words[i]; i++)
    if (*words[i])
      g_ptr_array_add(c->argv, fill_word(attack, c, words[i]));
  g_ptr_array_add(c->argv, NULL);
}

static RaEnvironment
choose_environment(RaRng *rng)
{
  RaEnvironment e = (RaEnvironment)ra_rng_below(rng, 4 * RA_N_ENVIRONMENTS);

  if (e >= RA_N_ENVIRONMENTS ||
      (SANITIZED &&
       (e == RA_ENVIRONMENT_SMALL_MEMORY || e == RA_ENVIRONMENT_SMALL_STACK)))
    return RA_ENVIRONMENT_PLAIN;
  return e;
}

/* The case's own line of a list of --set. */
static void
pick_line(RaRng *rng, GString *text)
{
  g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);

  g_string_assign(text, lines[ra_rng_below(rng, g_strv_length(lines))]);
}

static void
prepare(const Attack *attack, Case *c)
{
  RaRng rng = ra_rng_init(c->number, attack->seed);
  g_autoptr(GPtrArray) seeds = NULL;
  g_autoptr(GString) sibling = NULL;
  g_autofree char *place = NULL, *name = NULL;
  const char *seed;

  c->kind = &ra_attack_kinds[c->number % ra_n_attack_kinds];
  seeds = seeds_of(attack, c->kind);
  seed = g_ptr_array_index(seeds, ra_rng_below(&rng, seeds->len));
  c->text = read_file(seed);
  sibling = read_file(g_ptr_array_index(seeds, ra_rng_below(&rng, seeds->len)));
  if (strcmp(c->kind->name, "set") == 0)
    pick_line(&rng, c->text);
  ra_mutate(&rng, c->text, sibling);
  c->folder = g_build_filename(attack->top, "case", NULL);
  ra_folder_remove(c->folder);
  name = g_path_get_basename(seed);
  c->path = c->kind->place ? g_build_filename(c->kind->place, name, NULL)
                           : g_strdup(name);
  place = g_build_filename(c->folder, c->kind->place, NULL);
  if (g_mkdir_with_parents(place, 0700) != 0)
    g_error("%s: cannot be made", place);
  if (c->kind->brings)
    bring(seed, place);
  write_file(c->folder, c->path, c->text->str, c->text->len);
  c->argv = g_ptr_array_new_with_free_func(g_free);
  choose_command(attack, c, &rng);
  c->execution = (RaExecution){.argv = (char **)c->argv->pdata,
                               .folder = c->folder,
                               .cpu_s = CPU_S,
                               .environment = choose_environment(&rng),
                               .degree = (guint)ra_rng_below(&rng, 1000)};
}

/* TRUE if a file named pwned is at or below @folder. */
static gboolean
is_pwned(const char *folder)
{
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;
  gboolean found = FALSE;

  while (dir && !found && (name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL);

    found = strcmp(name, "pwned") == 0 ||
            (!g_file_test(path, G_FILE_TEST_IS_SYMLINK) && is_pwned(path));
  }
  if (dir)
    g_dir_close(dir);
  return found;
}

/* A script that was exported: only the shell's own commands are there. */
static void
run_script(const Case *c)
{
  static char *argv[] = {"/usr/bin/env", "-i",     "PATH=/nowhere",
                         "/bin/sh",      "run.sh", NULL};
  g_autofree char *path = g_build_filename(c->folder, "run.sh", NULL);
  RaExecution e = {.argv = argv, .folder = c->folder, .cpu_s = CPU_S};

  if (!g_file_test(path, G_FILE_TEST_EXISTS))
    return;
  ra_execute(&e);
  g_free(e.error);
}

/* The fault of the words on standard error; NULL: none. */
static const char *
judge_words(const RaExecution *e)
{
  static const char *const bad[] = {"Sanitizer", "runtime error:", "GLib",
                                    "ERROR **",  "CRITICAL **",    "WARNING **",
                                    "ssertion"};
  gboolean is_heard = e->environment != RA_ENVIRONMENT_CLOSED &&
                      e->environment != RA_ENVIRONMENT_FULL;
  const char *end = strchr(e->error, '\n');

  for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
    if (strstr(e->error, bad[i]))
      return "words of a library or of a sanitizer";
  if (!g_utf8_validate(e->error, -1, NULL))
    return "a message that is not UTF-8";
  for (const char *p = e->error; *p; p++)
    if (g_ascii_iscntrl(*p) && *p != '\n')
      return "a control character in a message";
  if (e->status == 2 && is_heard &&
      (!g_str_has_prefix(e->error, "reallot: ") || !end || end[1] != '\0'))
    return "exit 2 without its one line";
  return NULL;
}

static gboolean
is_short_of_memory(const RaExecution *e)
{
  return e->environment == RA_ENVIRONMENT_SMALL_MEMORY ||
         e->environment == RA_ENVIRONMENT_FEW_FILES;
}

/* The fault of the case; NULL: none. */
static const char *
judge(const Case *c)
{
  const RaExecution *e = &c->execution;
  g_autofree char *path = g_build_filename(c->folder, c->path, NULL);
  g_autoptr(GString) now = NULL;

  if (is_pwned(c->folder))
    return "a command of the file was run";
  if (e->signal == SIGXCPU || e->signal == SIGKILL || e->signal == SIGALRM)
    return "hangs";
  if (e->signal != 0)
    return "ended by a signal";
  /* The loader itself lacks memory or descriptors. */
  if (e->status == 127 && is_short_of_memory(e))
    return NULL;
  if (e->status > 4)
    return "an exit status that no manual has";
  now = read_file(path);
  if (!g_string_equal(now, c->text))
    return "the input was changed";
  if (!SANITIZED && e->status == 2 && e->mib > REFUSED_MIB)
    return "too much memory for a refused input";
  return judge_words(e);
}

static void
case_clear(Case *c)
{
  g_free(c->folder);
  g_free(c->path);
  g_string_free(c->text, TRUE);
  g_ptr_array_unref(c->argv);
  g_free(c->execution.error);
}

static void
keep(Attack *attack, const Case *c, const char *why)
{
  g_autofree char *kept = g_strdup_printf(
      "%s/%" G_GUINT64_FORMAT "-%s", attack->finds, c->number, c->kind->name);
  g_autofree char *command = g_strjoinv(" ", c->execution.argv + 1);
  g_autofree char *line = g_strdup_printf(
      "%s (%s %u, status %d, signal %d, %.1f s, %.0f MiB)\nreallot %s\n", why,
      ra_environment_names[c->execution.environment], c->execution.degree,
      c->execution.status, c->execution.signal, c->execution.s,
      c->execution.mib, command);

  g_mkdir_with_parents(attack->finds, 0700);
  ra_folder_remove(kept);
  write_file(c->folder, "find.txt", line, strlen(line));
  if (rename(c->folder, kept) != 0)
    g_printerr("attack: %s: %s\n", kept, g_strerror(errno));
  printf("# case %" G_GUINT64_FORMAT " (%s): %s\n#   %.300s\n#   %.300s\n",
         c->number, c->kind->name, kept, line, c->execution.error);
  fflush(stdout);
  attack->n_finds++;
}

static void
run_case(Attack *attack, guint64 number)
{
  Case c = {.number = number};
  g_autofree char *doubles = g_build_filename(attack->top, "doubles", NULL);
  const char *why;

  prepare(attack, &c);
  c.execution.doubles = doubles;
  ra_execute(&c.execution);
  run_script(&c);
  why = judge(&c);
  attack->n++;
  if (c.execution.status >= 0 && c.execution.status < 5)
    attack->statuses[c.execution.status]++;
  if (why)
    keep(attack, &c, why);
  case_clear(&c);
}

/* Programs named gnuplot that fail, die, print garbage and linger. */
static void
make_doubles(const Attack *attack)
{
  static const char *const texts[] = {
      "#!/bin/sh\nexit 1\n", "#!/bin/sh\nkill -9 $$\n",
      "#!/bin/sh\nhead -c 1000 /dev/urandom; head -c 100 /dev/urandom >&2\n",
      "#!/bin/sh\nsleep 1\nexit 3\n"};

  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_autofree char *folder = g_strdup_printf("%s/doubles/%u", attack->top, i);
    g_autofree char *path = g_build_filename(folder, "gnuplot", NULL);

    g_mkdir_with_parents(folder, 0700);
    write_file(folder, "gnuplot", texts[i], strlen(texts[i]));
    chmod(path, 0700);
  }
}

static gboolean
begin(Attack *attack)
{
  char *argv[] = {"/bin/sh", "-c", (char *)ra_attack_make, NULL};
  RaExecution e = {.argv = argv, .cpu_s = 300};
  g_autofree char *cache = NULL;

  attack->top = g_dir_make_tmp("reallot-attack-XXXXXX", NULL);
  if (!attack->top)
    return FALSE;
  cache = g_build_filename(attack->top, "cache", NULL);
  g_setenv("XDG_CACHE_HOME", cache, TRUE);
  g_setenv("HF_HOME", cache, TRUE);
  g_setenv("R", attack->reallot, TRUE);
  g_setenv("S", attack->sources, TRUE);
  make_doubles(attack);
  e.folder = attack->top;
  ra_execute(&e);
  g_free(e.error);
  return e.status == 0;
}

/* TRUE if case @number is of a kind that was asked for. */
static gboolean
is_wanted(guint64 number, char **kinds)
{
  const char *name = ra_attack_kinds[number % ra_n_attack_kinds].name;

  return !kinds[0] || g_strv_contains((const char *const *)kinds, name);
}

static void
run_all(Attack *attack, const char *amount, char **kinds)
{
  gboolean is_time = g_str_has_suffix(amount, "s");
  guint64 most = g_ascii_strtoull(amount, NULL, 10);
  gint64 begin_us = g_get_monotonic_time();

  for (guint64 i = 0; attack->n_finds < MAX_FINDS; i++) {
    gint64 s = (g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC;

    if (is_time ? s >= (gint64)most : attack->n >= most)
      break;
    if (is_wanted(i, kinds))
      run_case(attack, i);
  }
}

int
main(int argc, char **argv)
{
  Attack attack = {.n = 0};

  if (argc < 6) {
    g_printerr("usage: attack SOURCES REALLOT FINDS SEED EXECUTIONS|SECONDSs|"
               "=CASE [KIND...]\n");
    return 2;
  }
  attack.sources = argv[1];
  attack.reallot = argv[2];
  attack.finds = argv[3];
  attack.seed = g_ascii_strtoull(argv[4], NULL, 10);
  if (!begin(&attack)) {
    printf("1..1\nnot ok 1 - good files are made\n");
    return 1;
  }
  if (argv[5][0] == '=')
    run_case(&attack, g_ascii_strtoull(argv[5] + 1, NULL, 10));
  else
    run_all(&attack, argv[5], argv + 6);
  printf("# %u executions, seed %" G_GUINT64_FORMAT
         "; exit 0: %u, 1: %u, 2: %u, 3: %u, 4: %u\n",
         attack.n, attack.seed, attack.statuses[0], attack.statuses[1],
         attack.statuses[2], attack.statuses[3], attack.statuses[4]);
  printf("%s 1 - mutated inputs: no crash, hang, command or lost file\n",
         attack.n_finds == 0 && attack.n > 0 ? "ok" : "not ok");
  ra_folder_remove(attack.top);
  g_free(attack.top);
  return attack.n_finds > 0;
}
