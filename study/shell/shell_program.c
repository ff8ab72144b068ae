/* Programs whose output a shell's script needs and that is computed here:
 * paths, sequences, integers, text.  And the files that a script sources. */
#include "config.h"

#include "base/error.h"
#include "base/text.h"
#include "study/shell/shell_impl.h"

#define FILE_BYTES_MAX (4u << 20)
#define PARENTS 5 /* of the script's folder, below which files are read */

/* ---- Paths --------------------------------------------------------------- */

/* The last `/` outside of regions; NULL: none. */
static const char *
last_slash(const char *path)
{
  const char *last = NULL;

  while (*path) {
    if (*path == '/')
      last = path;
    path = *path == RA_SHELL_BEGIN ? ra_shell_region_end(path) : path + 1;
  }
  return last;
}

/* Without `.`, `..` and doubled slashes, relative to the current folder. */
const char *
ra_shell_path(RaShellEval *e, const char *path)
{
  gboolean is_absolute = *path == '/' || *path == RA_SHELL_BEGIN;
  g_autofree char *whole =
      is_absolute ? g_strdup(path) : g_strconcat(e->cwd, "/", path, NULL);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *joined = NULL;

  for (const char *at = whole; *at;) {
    const char *begin = at;
    g_autofree char *name = NULL;

    while (*at && *at != '/')
      at = *at == RA_SHELL_BEGIN ? ra_shell_region_end(at) : at + 1;
    name = g_strndup(begin, (gsize)(at - begin));
    at += *at == '/';
    if (!*name || g_str_equal(name, "."))
      continue;
    if (g_str_equal(name, "..") && names->len == 0 && *whole == '/')
      continue;
    if (g_str_equal(name, "..") && names->len > 0 &&
        !g_str_equal(names->pdata[names->len - 1], "..") &&
        !ra_shell_has_region(names->pdata[names->len - 1]))
      g_ptr_array_set_size(names, (gint)names->len - 1);
    else
      g_ptr_array_add(names, g_steal_pointer(&name));
  }
  g_ptr_array_add(names, NULL);
  joined = g_strjoinv("/", (char **)names->pdata);
  return *whole == '/' ? ra_shell_printf(e->arena, "/%s", joined)
                       : ra_arena_strdup(e->arena, joined);
}

static void
print_line(RaShellEval *e, const char *text)
{
  ra_shell_print(e, text);
  ra_shell_print(e, "\n");
}

/* Ends the statement as one whose value only a run can tell. */
static void
give_up(RaShellEval *e)
{
  e->is_impure = TRUE;
  ra_shell_done(e, RA_SHELL_MAYBE_YES, 0);
}

/* The first word that is no option; n: none. */
static guint
first_operand(const RaShellWord *words, guint n)
{
  guint i = 1;

  while (i < n && *words[i].text == '-' && words[i].text[1])
    i++;
  return i;
}

static char *
without_end_slash(const char *path)
{
  char *text = g_strdup(path);

  for (gsize n = strlen(text); n > 1 && text[n - 1] == '/'; n--)
    text[n - 1] = '\0';
  return text;
}

static void
call_dirname(RaShellEval *e, const RaShellWord *words, guint n)
{
  guint i = first_operand(words, n);
  g_autofree char *path = without_end_slash(i < n ? words[i].text : "");
  const char *slash = last_slash(path);
  g_autofree char *folder = NULL;

  if (!slash && ra_shell_has_region(path)) {
    give_up(e);
    return;
  }
  if (slash && ra_shell_has_region(slash)) {
    give_up(e); /* what is behind it may have slashes */
    return;
  }
  folder = slash ? g_strndup(path, slash == path ? 1 : (gsize)(slash - path))
                 : g_strdup(".");
  print_line(e, folder);
  ra_shell_done(e, RA_SHELL_YES, 0);
}

static void
call_basename(RaShellEval *e, const RaShellWord *words, guint n)
{
  guint i = first_operand(words, n);
  g_autofree char *path = without_end_slash(i < n ? words[i].text : "");
  const char *slash = last_slash(path);
  char *name = slash && slash[1] ? (char *)slash + 1 : path;

  if (ra_shell_has_region(name)) {
    give_up(e);
    return;
  }
  if (i + 1 < n && g_str_has_suffix(name, words[i + 1].text) &&
      !g_str_equal(name, words[i + 1].text))
    name[strlen(name) - strlen(words[i + 1].text)] = '\0';
  print_line(e, name);
  ra_shell_done(e, RA_SHELL_YES, 0);
}

static void
call_realpath(RaShellEval *e, const RaShellWord *words, guint n)
{
  guint i = first_operand(words, n);

  if (i >= n) {
    give_up(e);
    return;
  }
  print_line(e, ra_shell_path(e, words[i].text));
  ra_shell_done(e, RA_SHELL_YES, 0);
}

/* ---- Integers ------------------------------------------------------------ */

static gboolean
is_small(gint64 n)
{
  return n <= G_MAXINT32 && n >= -G_MAXINT32;
}

static void
call_seq(RaShellEval *e, const RaShellWord *words, guint n)
{
  gint64 ends[3] = {1, 1, 1};
  const char *between = "\n";
  guint i = 1, k = 0;
  gint64 step;

  if (n > 3 && g_str_equal(words[1].text, "-s")) {
    between = words[2].text;
    i = 3;
  } else if (n > 2 && g_str_has_prefix(words[1].text, "-s")) {
    between = words[1].text + 2;
    i = 2;
  }
  for (; i < n && k < 3; i++, k++) {
    if (ra_shell_has_region(words[i].text) || strchr(words[i].text, '.') ||
        !ra_shell_arith(e, words[i].text, &ends[k])) {
      give_up(e);
      return;
    }
  }
  if (k == 1) {
    ends[2] = ends[0];
    ends[0] = 1;
  } else if (k == 2) {
    ends[2] = ends[1];
    ends[1] = 1;
  }
  step = ends[1];
  if (k == 0 || step == 0 || !is_small(ends[0]) || !is_small(ends[2]) ||
      !is_small(step)) {
    give_up(e);
    return;
  }
  for (gint64 v = ends[0]; step > 0 ? v <= ends[2] : v >= ends[2]; v += step) {
    gboolean is_last = step > 0 ? v + step > ends[2] : v + step < ends[2];
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, v);

    if (!ra_shell_step(e))
      return;
    ra_shell_print(e, text);
    ra_shell_print(e, is_last ? "\n" : between);
  }
  ra_shell_done(e, RA_SHELL_YES, 0);
}

/* Numbers, blanks, + - * / % ( ) and comparisons. */
static void
print_arith(RaShellEval *e, const char *text)
{
  gint64 value;
  g_autofree char *line = NULL;

  if (strspn(text, "0123456789+-*/%() \n\t<>=") != strlen(text) ||
      !ra_shell_arith(e, text, &value)) {
    give_up(e);
    return;
  }
  line = g_strdup_printf("%" G_GINT64_FORMAT, value);
  print_line(e, line);
  ra_shell_done(e, value ? RA_SHELL_YES : RA_SHELL_NO, 1);
}

static void
call_expr(RaShellEval *e, const RaShellWord *words, guint n)
{
  g_autoptr(GString) text = g_string_new(NULL);

  for (guint i = 1; i < n; i++)
    g_string_append_printf(text, "%s ", words[i].text);
  print_arith(e, text->str);
}

static void
call_bc(RaShellEval *e, const RaShellWord *words, guint n)
{
  if (n > 1 || !e->input)
    give_up(e);
  else
    print_arith(e, e->input);
}

static void
call_cat(RaShellEval *e, const RaShellWord *words, guint n)
{
  if (n > 1 || !e->input) {
    give_up(e);
    return;
  }
  ra_shell_print(e, e->input);
  ra_shell_done(e, RA_SHELL_YES, 0);
}

/* ---- Text ---------------------------------------------------------------- */

/* The lines (-l) or words (-w) of the input: how scripts count GPUs. */
static void
call_wc(RaShellEval *e, const RaShellWord *words, guint n)
{
  gboolean of_words = n == 2 && g_str_equal(words[1].text, "-w");
  gboolean in_word = FALSE;
  g_autofree char *line = NULL;
  guint count = 0;

  if (n != 2 || (!of_words && !g_str_equal(words[1].text, "-l")) || !e->input ||
      ra_shell_has_region(e->input)) {
    give_up(e);
    return;
  }
  for (const char *c = e->input; *c; c++) {
    gboolean is_space = g_ascii_isspace(*c);

    count += of_words ? !is_space && !in_word : *c == '\n';
    in_word = !is_space;
  }
  line = g_strdup_printf("%u", count);
  print_line(e, line);
  ra_shell_done(e, RA_SHELL_YES, 0);
}

/* `tr A B` and `tr -d A` of characters, without ranges and classes. */
static void
call_tr(RaShellEval *e, const RaShellWord *words, guint n)
{
  gboolean deletes = n == 3 && g_str_equal(words[1].text, "-d");
  g_autofree char *from =
      n == 3 ? g_strcompress(words[1 + deletes].text) : NULL;
  g_autofree char *to = n == 3 ? g_strcompress(words[2].text) : NULL;
  g_autoptr(GString) out = g_string_new(NULL);

  if (!from || !*from || !*to || strpbrk(from, "-[") || strpbrk(to, "-[") ||
      !e->input || ra_shell_has_region(e->input) || ra_shell_has_region(from) ||
      ra_shell_has_region(to)) {
    give_up(e);
    return;
  }
  for (const char *c = e->input; *c; c++) {
    const char *at = strchr(from, *c);

    if (!at)
      g_string_append_c(out, *c);
    else if (!deletes)
      g_string_append_c(out, to[MIN((gsize)(at - from), strlen(to) - 1)]);
  }
  ra_shell_print(e, out->str);
  ra_shell_done(e, RA_SHELL_YES, 0);
}

gboolean
ra_shell_program(RaShellEval *e, const RaShellWord *words, guint n)
{
  static const struct {
    const char *name;
    void (*call)(RaShellEval *e, const RaShellWord *words, guint n);
  } programs[] = {{"dirname", call_dirname},
                  {"basename", call_basename},
                  {"realpath", call_realpath},
                  {"readlink", call_realpath},
                  {"seq", call_seq},
                  {"expr", call_expr},
                  {"bc", call_bc},
                  {"cat", call_cat},
                  {"wc", call_wc},
                  {"tr", call_tr}};

  for (guint i = 0; i < G_N_ELEMENTS(programs); i++) {
    if (g_str_equal(programs[i].name, words[0].text)) {
      programs[i].call(e, words, n);
      return TRUE;
    }
  }
  return FALSE;
}

/* ---- Files --------------------------------------------------------------- */

/* Below the folder that the script and what belongs to it are in. */
static gboolean
is_near(const RaShellEval *e, const char *path)
{
  gsize n = strlen(e->folder);

  return strncmp(path, e->folder, n) == 0 &&
         (path[n] == '/' || (n == 1 && *e->folder == '/'));
}

/* (nullable): @path if it may be read. */
static const char *
readable(const RaShellEval *e, const char *path)
{
  return is_near(e, path) && g_file_test(path, G_FILE_TEST_IS_REGULAR) ? path
                                                                       : NULL;
}

/* (nullable): @name in the folder of the current file or in one above. */
static const char *
find_above(RaShellEval *e, const char *name)
{
  g_autofree char *folder = g_path_get_dirname(e->source);
  const char *path = NULL;

  for (guint i = 0; !path && i <= PARENTS; i++) {
    g_autofree char *joined = g_build_filename(folder, name, NULL);
    char *above = g_path_get_dirname(folder);

    path = readable(e, ra_shell_path(e, joined));
    g_free(folder);
    folder = above;
  }
  return path;
}

/* (nullable): the file that @name means.  Where a repository was is not where
 * it is: of an absolute path, the end is looked for, with one folder at
 * least. */
static const char *
find_file(RaShellEval *e, const char *name)
{
  const char *path;

  if (ra_shell_has_region(name) || !*name)
    return NULL;
  path = readable(e, ra_shell_path(e, name));
  if (path || *name != '/')
    return path ? path : find_above(e, name);
  path = ra_shell_path(e, name);
  for (const char *at = path + 1, *next; (next = strchr(at, '/'));
       at = next + 1) {
    const char *found = find_above(e, at);

    if (found)
      return found;
  }
  return NULL;
}

/* Files of a machine, which set nothing that counts here. */
static gboolean
is_of_machine(const char *name)
{
  static const char *const ends[] = {"activate", "bashrc",     "profile",
                                     ".env",     "set_env.sh", "conda.sh",
                                     "nvm.sh",   "env",        "setvars.sh"};

  for (guint i = 0; i < G_N_ELEMENTS(ends); i++) {
    if (g_str_has_suffix(name, ends[i]))
      return TRUE;
  }
  return FALSE;
}

static void
run_file(RaShellEval *e, const char *path, gboolean is_call)
{
  const char *file = e->file, *source = e->source, *script = e->script;
  guint line = e->line;
  g_autofree char *text = NULL;
  RaShellNode *tree;
  gsize n_bytes;

  if (!ra_file_read(path, FILE_BYTES_MAX, &text, &n_bytes, &e->error))
    return;
  if (!g_utf8_validate(text, (gssize)n_bytes, NULL)) {
    ra_shell_note(e, "'%s' is no text and was not read", path);
    return;
  }
  tree = ra_shell_tree(e->arena, path, ra_shell_keep(e, text, n_bytes), n_bytes,
                       1, &e->error);
  if (!tree)
    return;
  g_ptr_array_add(e->sources, (gpointer)path);
  e->source = path;
  if (is_call)
    e->script = path;
  ra_shell_eval(e, tree);
  g_ptr_array_set_size(e->sources, (gint)e->sources->len - 1);
  e->file = file;
  e->line = line;
  e->source = source;
  e->script = script;
  if (e->flow == RA_SHELL_FLOW_RETURN)
    e->flow = RA_SHELL_FLOW_NONE;
}

void
ra_shell_read_file(RaShellEval *e, const RaShellWord *words, guint n,
                   gboolean is_call)
{
  const char *path = find_file(e, words[0].text);
  RaShellWords args = e->args;
  gboolean args_unknown = e->args_unknown;

  if (!path) {
    g_autofree char *plain = ra_shell_plain(words[0].text);

    e->misses_file |= !is_call && !is_of_machine(plain);
    if (!is_call && !is_of_machine(plain))
      ra_shell_note(e,
                    "'%s', which is sourced here, was not found; what it "
                    "sets is not known",
                    plain);
    return;
  }
  for (guint i = 0; i < e->sources->len; i++) {
    if (g_str_equal(e->sources->pdata[i], path)) {
      ra_shell_fail(e, "'%s' sources itself", words[0].text);
      return;
    }
  }
  if (e->sources->len > RA_SHELL_SOURCES_MAX) {
    ra_shell_fail(e, "more than %d files that source each other",
                  RA_SHELL_SOURCES_MAX);
    return;
  }
  if (n > 1 || is_call) {
    e->args = (RaShellWords){(RaShellWord *)words + 1, n - 1, n - 1};
    e->args_unknown = FALSE;
  }
  run_file(e, path, is_call);
  e->args = args;
  e->args_unknown = args_unknown;
}
