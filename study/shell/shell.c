/* Shell: parsed scripts, runs, and what `set -x` has printed. */
#include "config.h"

#include "base/error.h"
#include "study/shell/shell_impl.h"

#define PARENTS 5 /* folders above the script's whose files it may source */

struct _RaShell {
  RaArena *arena;
  const char *name; /* as given */
  const char *path; /* absolute */
  const char *text;
  RaShellNode *tree;
};

/* ---- What `set -x` prints ------------------------------------------------ */

/* Behind the `+ ` of a line; NULL: it has none. */
static const char *
behind_plus(const char *line, const char *end)
{
  const char *at = line;

  while (at < end && *at == '+')
    at++;
  return at > line && at < end && *at == ' ' ? at + 1 : NULL;
}

/* A log has commands behind `+ `; a script begins otherwise. */
static gboolean
is_log(const char *text, gsize n_bytes)
{
  const char *end = text + n_bytes;

  if (g_str_has_prefix(text, "#!"))
    return FALSE;
  while (text < end) {
    const char *eol = memchr(text, '\n', (gsize)(end - text));
    const char *blank = text;

    eol = eol ? eol : end;
    if (behind_plus(text, eol))
      return TRUE;
    while (blank < eol && strchr(" \t\r", *blank))
      blank++;
    if (blank < eol && (g_str_has_prefix(blank, "python") ||
                        g_str_has_prefix(blank, "export ")))
      return FALSE;
    text = eol + 1;
  }
  return FALSE;
}

/* The command that begins at @begin may go on behind @eol, in quotes. */
static RaShellNode *
parse_logged(RaShell *shell, const char *begin, const char *eol,
             const char *end, guint line)
{
  for (guint i = 0; i < 20; i++) {
    RaShellNode *list = ra_shell_tree(shell->arena, shell->name, begin,
                                      (gsize)(eol - begin), line, NULL);

    if (list)
      return list->a && !list->a->next && list->a->kind == RA_SHELL_SIMPLE
                 ? list->a
                 : NULL;
    if (eol == end || behind_plus(eol + 1, end))
      return NULL;
    eol = memchr(eol + 1, '\n', (gsize)(end - eol - 1));
    eol = eol ? eol : end;
  }
  return NULL;
}

/* The programs that a log shows, as a list. */
static RaShellNode *
parse_log(RaShell *shell, const char *text, gsize n_bytes)
{
  static const char *const left_out[] = {"exit", "return", "set", "source",
                                         ".",    "eval",   NULL};
  const char *end = text + n_bytes;
  RaShellNode *list = ra_arena_alloc(shell->arena, 1, sizeof *list);
  RaShellNode **last = &list->a;

  list->kind = RA_SHELL_LIST;
  list->file = shell->name;
  list->line = 1;
  list->begin = text;
  for (guint line = 1; text < end; line++) {
    const char *eol = memchr(text, '\n', (gsize)(end - text));
    const char *begin;
    RaShellNode *node;

    eol = eol ? eol : end;
    begin = behind_plus(text, eol);
    node = begin ? parse_logged(shell, begin, eol, end, line) : NULL;
    if (node && node->words && node->words->parts &&
        !g_strv_contains(left_out, node->words->parts->text)) {
      *last = node;
      last = &node->next;
    }
    text = eol + 1;
  }
  return list;
}

/* ---- Scripts ------------------------------------------------------------- */

/* FALSE with @error: no text. */
static gboolean
check_text(const char *name, const char *text, gsize n_bytes, GError **error)
{
  guint line = 1;

  if (!g_utf8_validate(text, (gssize)n_bytes, NULL)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: neither YAML nor a script in UTF-8", name);
    return FALSE;
  }
  for (gsize i = 0; i < n_bytes; i++) {
    line += text[i] == '\n';
    if ((guchar)text[i] < '\a') {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s:%u: a control character, expected a script", name, line);
      return FALSE;
    }
  }
  return TRUE;
}

RaShell *
ra_shell_parse(const char *name, const char *text, gsize n_bytes,
               GError **error)
{
  g_autoptr(RaShell) shell = NULL;
  g_autofree char *path = NULL;
  char *copy;

  g_return_val_if_fail(name != NULL && text != NULL, NULL);
  if (!check_text(name, text, n_bytes, error))
    return NULL;
  shell = g_new0(RaShell, 1);
  shell->arena = ra_arena_new(0);
  path = g_canonicalize_filename(name, NULL);
  shell->path = ra_arena_strdup(shell->arena, path);
  shell->name = ra_arena_strdup(shell->arena, name);
  copy = ra_arena_alloc(shell->arena, n_bytes + 1, 1);
  memcpy(copy, text, n_bytes);
  shell->text = copy;
  shell->tree = is_log(copy, n_bytes) ? parse_log(shell, copy, n_bytes)
                                      : ra_shell_tree(shell->arena, shell->name,
                                                      copy, n_bytes, 1, error);
  return shell->tree ? g_steal_pointer(&shell) : NULL;
}

void
ra_shell_free(RaShell *shell)
{
  if (!shell)
    return;
  ra_arena_free(shell->arena);
  g_free(shell);
}

/* ---- Runs ---------------------------------------------------------------- */

static void
pin(RaShellEval *e, const char *const *sets)
{
  for (guint i = 0; sets && sets[i]; i++) {
    const char *equals = strchr(sets[i], '=');
    gsize n = equals ? (gsize)(equals - sets[i]) : 0;
    RaShellValue *value;

    if (!ra_shell_is_name(sets[i], n))
      continue;
    value = ra_arena_alloc(e->arena, 1, sizeof *value);
    value->n = 1;
    value->is_pinned = TRUE;
    value->items = ra_arena_alloc(e->arena, 1, sizeof *value->items);
    value->items[0].key = "0";
    value->items[0].word.text = ra_arena_strdup(e->arena, equals + 1);
    value->items[0].word.file = "--set";
    g_hash_table_replace(e->variables, ra_shell_keep(e, sets[i], n), value);
  }
}

/* The folder below which files are read. */
static char *
folder_of(const char *path)
{
  char *folder = g_path_get_dirname(path);

  for (guint i = 0; i < PARENTS && strlen(folder) > 1; i++) {
    char *above = g_path_get_dirname(folder);

    if (strlen(above) <= 1) {
      g_free(above);
      break; /* not all of the machine */
    }
    g_free(folder);
    folder = above;
  }
  return folder;
}

RaShellRun *
ra_shell_run(const RaShell *shell, const char *const *sets,
             const RaShellFlip *flip, GError **error)
{
  g_autoptr(RaShellRun) run = g_new0(RaShellRun, 1);
  g_autofree char *cwd = g_path_get_dirname(shell->path);
  g_autofree char *folder = folder_of(shell->path);
  RaShellEval e = {.run = run, .flip = flip};

  g_return_val_if_fail(shell != NULL, NULL);
  run->arena = e.arena = ra_arena_new(0);
  run->commands = g_ptr_array_new();
  run->decisions = g_ptr_array_new();
  run->notes = g_ptr_array_new_with_free_func(g_free);
  run->used = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  e.variables = g_hash_table_new(g_str_hash, g_str_equal);
  e.functions = g_hash_table_new(g_str_hash, g_str_equal);
  e.decided = g_hash_table_new(g_str_hash, g_str_equal);
  e.locals = g_ptr_array_new();
  e.sources = g_ptr_array_new();
  e.script = e.source = shell->path;
  e.file = shell->name;
  e.cwd = ra_arena_strdup(e.arena, cwd);
  e.folder = folder;
  e.line = 1;
  e.args_unknown = TRUE;
  e.status = RA_SHELL_YES;
  g_ptr_array_add(e.sources, (gpointer)shell->path);
  e.text = shell->text;
  pin(&e, sets);
  ra_shell_batch(&e, shell->text);
  ra_shell_eval(&e, shell->tree);
  run->n_steps = e.n_steps;
  run->end_line = e.flow == RA_SHELL_FLOW_EXIT ? e.line : 0;
  g_hash_table_unref(e.variables);
  g_hash_table_unref(e.functions);
  g_hash_table_unref(e.decided);
  g_ptr_array_unref(e.locals);
  g_ptr_array_unref(e.sources);
  if (e.error) {
    g_propagate_error(error, e.error);
    return NULL;
  }
  return g_steal_pointer(&run);
}

void
ra_shell_run_free(RaShellRun *run)
{
  if (!run)
    return;
  g_ptr_array_unref(run->commands);
  g_ptr_array_unref(run->decisions);
  g_ptr_array_unref(run->notes);
  g_hash_table_unref(run->used);
  ra_arena_free(run->arena);
  g_free(run);
}
