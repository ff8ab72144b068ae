/* Values of a shell: regions, variables, arrays. */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "study/shell/shell_impl.h"

/* ---- Limits, messages ---------------------------------------------------- */

void
ra_shell_fail(RaShellEval *e, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list arguments;

  if (e->error)
    return;
  va_start(arguments, format);
  text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  for (char *c = text; *c; c++) {
    if (g_ascii_iscntrl(*c))
      *c = ' ';
  }
  g_set_error(&e->error, RA_ERROR, RA_ERROR_INPUT, "%s:%u: %s", e->file,
              e->line, text);
}

gboolean
ra_shell_step(RaShellEval *e)
{
  if (e->error)
    return FALSE;
  if (++e->n_steps > RA_SHELL_STEPS_MAX)
    ra_shell_fail(e, "the script takes more than %d steps", RA_SHELL_STEPS_MAX);
  else if (ra_arena_used_bytes(e->arena) > RA_SHELL_BYTES_MAX)
    ra_shell_fail(e, "the values of the script take more than %u MiB",
                  RA_SHELL_BYTES_MAX >> 20);
  return e->error == NULL;
}

void
ra_shell_note(RaShellEval *e, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list arguments;

  va_start(arguments, format);
  text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  if (e->run->notes->len < 100)
    g_ptr_array_add(e->run->notes,
                    g_strdup_printf("%s:%u: %s", e->file, e->line, text));
}

void
ra_shell_put(RaShellEval *e, GString *out, const char *text)
{
  gsize n = strlen(text);

  if (out->len + n > RA_SHELL_TEXT_MAX)
    ra_shell_fail(e, "a value has more than %u MiB", RA_SHELL_TEXT_MAX >> 20);
  else
    g_string_append_len(out, text, (gssize)n);
}

char *
ra_shell_printf(RaArena *arena, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list arguments;

  va_start(arguments, format);
  text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  return ra_arena_strdup(arena, text);
}

char *
ra_shell_keep(RaShellEval *e, const char *text, gsize n_bytes)
{
  char *copy = ra_arena_alloc(e->arena, n_bytes + 1, 1);

  memcpy(copy, text, n_bytes);
  return copy;
}

void
ra_shell_words_add(RaShellEval *e, RaShellWords *words, RaShellWord word)
{
  if (words->n == RA_SHELL_ITEMS_MAX) {
    ra_shell_fail(e, "more than %d words", RA_SHELL_ITEMS_MAX);
    return;
  }
  if (words->n == words->n_max) {
    guint n_max = MAX(8, 2 * words->n_max);
    RaShellWord *at = ra_arena_alloc(e->arena, n_max, sizeof *at);

    if (words->n > 0)
      memcpy(at, words->at, words->n * sizeof *at);
    words->at = at;
    words->n_max = n_max;
  }
  words->at[words->n++] = word;
}

/* ---- Regions ------------------------------------------------------------- */

gboolean
ra_shell_has_region(const char *text)
{
  return strchr(text, RA_SHELL_BEGIN) != NULL;
}

gboolean
ra_shell_is_unknown(const char *text)
{
  while ((text = strchr(text, RA_SHELL_BEGIN))) {
    if (text[1] != RA_SHELL_GUESS)
      return TRUE;
    text = ra_shell_region_end(text);
  }
  return FALSE;
}

gboolean
ra_shell_is_words(const char *text)
{
  const char *end;

  if (*text != RA_SHELL_BEGIN)
    return FALSE;
  end = ra_shell_region_end(text);
  return *end == '\0' && end - text > 6 && g_str_has_prefix(text + 1, "${") &&
         g_str_has_prefix(end - 5, "[@]}");
}

const char *
ra_shell_region_end(const char *text)
{
  const char *end = strchr(text, RA_SHELL_END);

  return end ? end + 1 : text + strlen(text);
}

char *
ra_shell_plain(const char *text)
{
  GString *out = g_string_new(NULL);

  for (; *text; text++) {
    if (*text == RA_SHELL_GUESS)
      text = strchr(text, RA_SHELL_END);
    if (!text)
      break;
    if (*text != RA_SHELL_BEGIN && *text != RA_SHELL_END)
      g_string_append_c(out, *text);
  }
  return g_string_free(out, FALSE);
}

char *
ra_shell_unknown(RaShellEval *e, const char *expression, const char *guess)
{
  g_autofree char *plain = ra_shell_plain(expression);
  char mark[2] = {guess ? RA_SHELL_GUESS : '\0', '\0'};

  return ra_shell_printf(e->arena, "%c%s%s%s%c", RA_SHELL_BEGIN, plain, mark,
                         guess ? guess : "", RA_SHELL_END);
}

char *
ra_shell_guess(RaShellEval *e, const char *text)
{
  g_autoptr(GString) out = g_string_new(NULL);

  while (*text) {
    const char *end, *guess;

    if (*text != RA_SHELL_BEGIN) {
      g_string_append_c(out, *text++);
      continue;
    }
    end = ra_shell_region_end(text);
    guess = memchr(text, RA_SHELL_GUESS, (gsize)(end - text));
    if (!guess)
      return NULL;
    g_string_append_len(out, guess + 1, MAX(0, end - guess - 2));
    text = end;
  }
  return ra_arena_strdup(e->arena, out->str);
}

/* ---- Variables ----------------------------------------------------------- */

const RaShellValue *
ra_shell_get(RaShellEval *e, const char *name)
{
  if (!g_hash_table_contains(e->run->used, name))
    g_hash_table_add(e->run->used, g_strdup(name));
  return g_hash_table_lookup(e->variables, name);
}

void
ra_shell_set(RaShellEval *e, const char *name, const RaShellValue *value)
{
  const RaShellValue *before = g_hash_table_lookup(e->variables, name);

  if (before && before->is_pinned)
    return;
  g_hash_table_replace(e->variables, ra_arena_strdup(e->arena, name),
                       (gpointer)value);
}

static RaShellItem
item_of(RaShellEval *e, const char *key, const char *text)
{
  return (RaShellItem){key, {text, e->file, e->line}};
}

void
ra_shell_set_text(RaShellEval *e, const char *name, const char *text)
{
  RaShellValue *value = ra_arena_alloc(e->arena, 1, sizeof *value);

  value->n = 1;
  value->items = ra_arena_alloc(e->arena, 1, sizeof *value->items);
  value->items[0] = item_of(e, "0", ra_arena_strdup(e->arena, text));
  ra_shell_set(e, name, value);
}

const RaShellItem *
ra_shell_item(const RaShellValue *value, const char *key)
{
  for (guint i = 0; i < value->n; i++) {
    if (g_str_equal(value->items[i].key, key))
      return &value->items[i];
  }
  return NULL;
}

static gint64
index_of(const char *key)
{
  return g_ascii_strtoll(key, NULL, 10);
}

/* @value (nullable) with room for @n_more, copied. */
static RaShellValue *
copy_value(RaShellEval *e, const RaShellValue *value, guint n_more)
{
  RaShellValue *copy = ra_arena_alloc(e->arena, 1, sizeof *copy);

  if (value)
    *copy = *value;
  if (copy->n + n_more > RA_SHELL_ITEMS_MAX) {
    ra_shell_fail(e, "an array of more than %d items", RA_SHELL_ITEMS_MAX);
    n_more = 0;
  }
  copy->items =
      ra_arena_alloc(e->arena, copy->n + n_more + 1, sizeof *copy->items);
  if (copy->n > 0)
    memcpy(copy->items, value->items, copy->n * sizeof *copy->items);
  return copy;
}

void
ra_shell_set_item(RaShellEval *e, const char *name, const char *key,
                  const char *text, gboolean is_append)
{
  const RaShellValue *before = ra_shell_get(e, name);
  const RaShellItem *old = before ? ra_shell_item(before, key) : NULL;
  RaShellValue *value = copy_value(e, before, 1);
  guint at;

  if (!ra_shell_step(e))
    return;
  if (!value->is_keyed && index_of(key) != (gint32)index_of(key)) {
    ra_shell_fail(e, "index %s of an array", key);
    return;
  }
  if (is_append && old) {
    g_autoptr(GString) joined = g_string_new(old->word.text);

    ra_shell_put(e, joined, text);
    text = ra_arena_strdup(e->arena, joined->str);
  }
  if (old) {
    value->items[old - before->items] = item_of(e, old->key, text);
  } else {
    value->is_array |= !g_str_equal(key, "0") || value->n > 0;
    at = value->n++;
    while (!value->is_keyed && at > 0 &&
           index_of(value->items[at - 1].key) > index_of(key)) {
      value->items[at] = value->items[at - 1];
      at--;
    }
    value->items[at] = item_of(e, ra_arena_strdup(e->arena, key), text);
  }
  ra_shell_set(e, name, value);
}

static int
compare_items(const void *a, const void *b)
{
  gint64 x = index_of(((const RaShellItem *)a)->key);
  gint64 y = index_of(((const RaShellItem *)b)->key);

  return (x > y) - (x < y);
}

/* name=(...), name+=(...) */
static void
assign_array(RaShellEval *e, const RaShellAssign *assign)
{
  const RaShellValue *before = ra_shell_get(e, assign->name);
  gboolean is_keyed = before && before->is_keyed, has_keys = FALSE;
  RaShellValue *value;
  gint64 next = 0;

  value = copy_value(e, assign->is_append ? before : NULL, 0);
  value->is_array = TRUE;
  value->is_keyed = is_keyed;
  value->is_pinned = before && before->is_pinned;
  if (value->n > 0 && !is_keyed)
    next = index_of(value->items[value->n - 1].key) + 1;
  for (const RaShellText *text = assign->value; text; text = text->next) {
    RaShellWords words = {NULL, 0, 0};
    RaShellText alone = *text;
    const char *key = text->key ? ra_shell_expand_one(e, text->key) : NULL;

    alone.next = NULL;
    ra_shell_expand(e, &alone, &words);
    if (!ra_shell_step(e))
      return;
    if (key) {
      ra_shell_set(e, assign->name, value);
      ra_shell_set_item(e, assign->name, key, words.n ? words.at[0].text : "",
                        FALSE);
      value = copy_value(e, ra_shell_get(e, assign->name), 0);
      next = index_of(key) + 1;
      has_keys = TRUE;
      continue;
    }
    value = copy_value(e, value, words.n);
    for (guint i = 0; i < words.n && !e->error; i++) {
      RaShellItem *item = &value->items[value->n++];

      item->key = ra_shell_printf(e->arena, "%" G_GINT64_FORMAT, next++);
      item->word = words.at[i];
    }
  }
  if (!is_keyed && has_keys)
    qsort(value->items, value->n, sizeof *value->items, compare_items);
  ra_shell_set(e, assign->name, value);
}

void
ra_shell_assign(RaShellEval *e, const RaShellAssign *assign)
{
  const RaShellValue *before;
  const char *text, *key = "0";
  gint64 at;

  e->line = assign->line;
  if (!ra_shell_step(e))
    return;
  if (assign->is_array) {
    assign_array(e, assign);
    return;
  }
  text = ra_shell_expand_one(e, assign->value);
  if (!assign->index && !assign->is_append) {
    before = g_hash_table_lookup(e->variables, assign->name);
    if (!before || !before->is_array) {
      ra_shell_set_text(e, assign->name, text);
      return;
    }
  }
  if (assign->index) {
    before = ra_shell_get(e, assign->name);
    key = ra_shell_expand_one(e, assign->index);
    if (!(before && before->is_keyed)) {
      if (!ra_shell_arith(e, key, &at))
        at = 0;
      if (at < 0 && before)
        at += before->n;
      key = ra_shell_printf(e->arena, "%" G_GINT64_FORMAT, at);
    }
  } else if (assign->is_append && !ra_shell_get(e, assign->name)) {
    /* what the environment has comes before */
    text = ra_shell_printf(e->arena, "%s%s", ra_shell_lookup(e, assign->name),
                           text);
  }
  ra_shell_set_item(e, assign->name, key, text, assign->is_append);
}

void
ra_shell_local(RaShellEval *e, const char *name)
{
  g_ptr_array_add(e->locals, ra_arena_strdup(e->arena, name));
  g_ptr_array_add(e->locals, g_hash_table_lookup(e->variables, name));
}

/* ---- What has a value without an assignment ------------------------------ */

const char *
ra_shell_special(RaShellEval *e, const char *name)
{
  static const char *const run_only[] = {
      "HOME",    "USER", "HOSTNAME",     "RANDOM", "LOGNAME", "PPID",
      "SECONDS", "PATH", "EPOCHSECONDS", "TMPDIR", "UID",     NULL};

  if (g_str_equal(name, "PWD"))
    return e->cwd;
  if (g_str_equal(name, "BASH_SOURCE"))
    return e->source;
  if (g_str_equal(name, "LINENO"))
    return ra_shell_printf(e->arena, "%u", e->line);
  if (g_str_equal(name, "IFS"))
    return " \t\n";
  if (g_str_equal(name, "BASH_VERSION"))
    return "5.2";
  if (g_strv_contains(run_only, name))
    return ra_shell_unknown(e, ra_shell_printf(e->arena, "${%s}", name), NULL);
  return NULL;
}

/* $1, $#, $? ... */
static const char *
parameter(RaShellEval *e, const char *name)
{
  if (g_ascii_isdigit(*name)) {
    guint64 i = g_ascii_strtoull(name, NULL, 10);

    if (i == 0)
      return e->script;
    if (i <= e->args.n)
      return e->args.at[i - 1].text;
    return e->args_unknown
               ? ra_shell_unknown(e, ra_shell_printf(e->arena, "$%s", name), "")
               : "";
  }
  switch (*name) {
  case '#':
    if (e->args_unknown)
      return ra_shell_unknown(e, "$#", "0");
    return ra_shell_printf(e->arena, "%u", e->args.n);
  case '?':
    return RA_SHELL_IS_KNOWN(e->status)
               ? ra_shell_printf(e->arena, "%d",
                                 e->status == RA_SHELL_YES ? 0 : e->exit_code)
               : ra_shell_unknown(e, "$?",
                                  e->status == RA_SHELL_MAYBE_NO ? "1" : "0");
  case '-':
    return "hB";
  default:
    return ra_shell_unknown(e, ra_shell_printf(e->arena, "$%c", *name), NULL);
  }
}

/* TRUE if the script may set @name: it stands somewhere as a word. */
static gboolean
is_set_somewhere(const RaShellEval *e, const char *name)
{
  gsize n = strlen(name);

  for (const char *at = e->text; (at = strstr(at, name)); at++) {
    if ((at == e->text || strchr(" \t\n;&|(", at[-1])) &&
        !g_ascii_isalnum(at[n]) && at[n] != '_')
      return TRUE;
  }
  return FALSE;
}

/* The environment's names are in capitals (POSIX, "Environment Variables"): a
 * name in small letters that the script never sets is nothing. */
static gboolean
is_nothing(RaShellEval *e, const char *name)
{
  gboolean is_small = FALSE;

  for (const char *c = name; *c; c++)
    is_small |= g_ascii_islower(*c);
  if (!is_small || e->misses_file || is_set_somewhere(e, name))
    return FALSE;
  ra_shell_note(e,
                "'${%s}' is nothing, as the script never sets it; "
                "--set %s=VALUE says it",
                name, name);
  ra_shell_set_text(e, name, "");
  return TRUE;
}

/* The value of a scalar; of one that is not assigned, a region. */
const char *
ra_shell_lookup(RaShellEval *e, const char *name)
{
  const RaShellValue *value;
  const RaShellItem *item;
  const char *special;

  if (!g_ascii_isalpha(*name) && *name != '_')
    return parameter(e, name);
  value = ra_shell_get(e, name);
  if (value) {
    item = ra_shell_item(value, "0");
    return item ? item->word.text : "";
  }
  special = ra_shell_special(e, name);
  if (!special && is_nothing(e, name))
    return "";
  return special ? special
                 : ra_shell_unknown(e, ra_shell_printf(e->arena, "${%s}", name),
                                    "");
}
