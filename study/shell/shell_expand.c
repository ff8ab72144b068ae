/* Expansion of a shell's words: from what is written to the words of a
 * command. */
#include "config.h"

#include "study/shell/shell_impl.h"

/* Words on their way. */
typedef struct {
  RaShellEval *e;
  RaShellWords *words;
  GString *text;    /* of the word that is not ended */
  gboolean is_open; /* there is such a word, maybe an empty one */
  RaShellWord place;
  gboolean is_placed; /* by the item that it began with */
  RaShellWord own;    /* where the word is written */
} Out;

/* Value of a parameter. */
typedef struct {
  const RaShellItem *items;
  guint n;
  gboolean is_list; /* "$@", "${a[@]}": a word each */
  char joined;      /* '*': joined where it is quoted */
} Values;

static void
begin_word(Out *out)
{
  if (out->is_open)
    return;
  out->is_open = TRUE;
  out->place = out->own;
}

static void
end_word(Out *out)
{
  RaShellWord word = out->place;

  if (!out->is_open)
    return;
  word.text = ra_arena_strdup(out->e->arena, out->text->str);
  ra_shell_words_add(out->e, out->words, word);
  g_string_truncate(out->text, 0);
  out->is_open = FALSE;
}

static void
put(Out *out, const char *text)
{
  begin_word(out);
  ra_shell_put(out->e, out->text, text);
}

static void
put_at(Out *out, const RaShellItem *item)
{
  gboolean is_first = !out->is_open;

  put(out, item->word.text);
  if (is_first && item->word.file) {
    out->place.file = item->word.file;
    out->place.line = item->word.line;
  }
}

static const char *
separators(RaShellEval *e)
{
  const RaShellValue *value = g_hash_table_lookup(e->variables, "IFS");

  return value ? (value->n > 0 ? value->items[0].word.text : " \t\n") : " \t\n";
}

/* Unquoted @text is split; regions are not. */
static void
put_split(Out *out, const RaShellItem *item)
{
  const char *ifs = separators(out->e), *text = item->word.text;

  while (*text && ra_shell_step(out->e)) {
    const char *begin = text;
    RaShellItem piece = *item;

    while (*text && !((guchar)*text < 0x80 && strchr(ifs, *text)))
      text = *text == RA_SHELL_BEGIN ? ra_shell_region_end(text) : text + 1;
    if (text > begin) {
      piece.word.text = ra_shell_keep(out->e, begin, (gsize)(text - begin));
      put_at(out, &piece);
    } else if (!g_ascii_isspace(*text)) {
      begin_word(out); /* nothing between two commas is a word */
    }
    if (*text) {
      end_word(out);
      text++;
    }
  }
}

/* ---- Parameters ---------------------------------------------------------- */

static Values
one_value(RaShellEval *e, const char *text)
{
  RaShellItem *item = ra_arena_alloc(e->arena, 1, sizeof *item);

  item->key = "0";
  item->word.text = text;
  return (Values){item, 1, FALSE, '\0'};
}

static Values
arguments(RaShellEval *e, char kind)
{
  RaShellItem *items = ra_arena_alloc(e->arena, e->args.n, sizeof *items);

  for (guint i = 0; i < e->args.n; i++) {
    items[i].key = ra_shell_printf(e->arena, "%u", i + 1);
    items[i].word = e->args.at[i];
  }
  return (Values){items, e->args.n, TRUE, kind};
}

static const char *
index_key(RaShellEval *e, const RaShellPart *part, const RaShellValue *value)
{
  const char *key = ra_shell_expand_one(e, part->index);
  gint64 at;

  if (value && value->is_keyed)
    return key;
  if (!ra_shell_arith(e, key, &at))
    return NULL;
  if (at < 0 && value && value->n > 0)
    at += g_ascii_strtoll(value->items[value->n - 1].key, NULL, 10) + 1;
  return ra_shell_printf(e->arena, "%" G_GINT64_FORMAT, at);
}

static Values
elements(RaShellEval *e, const RaShellPart *part, const char *name)
{
  const RaShellValue *value = ra_shell_get(e, name);
  const RaShellItem *item;
  const char *key, *special;

  if (part->all) {
    if (value)
      return (Values){value->items, value->n, TRUE, part->all};
    special = ra_shell_special(e, name);
    if (special)
      return one_value(e, special);
    return (Values){NULL, 0, TRUE, part->all};
  }
  key = index_key(e, part, value);
  item = value && key ? ra_shell_item(value, key) : NULL;
  if (item)
    return (Values){item, 1, FALSE, '\0'};
  if (key && (value || !g_str_equal(key, "0")))
    return (Values){NULL, 0, FALSE, '\0'};
  if (key)
    return one_value(e, ra_shell_lookup(e, name));
  return one_value(
      e,
      ra_shell_unknown(e, ra_shell_printf(e->arena, "${%s[...]}", name), NULL));
}

/* Without the operator.  n == 0: it is not set. */
static Values
find_values(RaShellEval *e, const RaShellPart *part)
{
  const char *name = part->text;
  const RaShellValue *value;

  if (part->is_indirect && !part->all) {
    name = ra_shell_lookup(e, name);
    if (!ra_shell_is_name(name, strlen(name)))
      return one_value(
          e, ra_shell_unknown(
                 e, ra_shell_printf(e->arena, "${!%s}", part->text), NULL));
  }
  if (g_str_equal(name, "@") || g_str_equal(name, "*"))
    return arguments(e, *name);
  if (part->index || part->all)
    return elements(e, part, name);
  value =
      (g_ascii_isalpha(*name) || *name == '_') ? ra_shell_get(e, name) : NULL;
  if (value) {
    const RaShellItem *item = ra_shell_item(value, "0");

    return (Values){item, item ? 1 : 0, FALSE, '\0'};
  }
  if (g_ascii_isdigit(*name) && *name != '0' && !e->args_unknown &&
      g_ascii_strtoull(name, NULL, 10) > e->args.n)
    return (Values){NULL, 0, FALSE, '\0'};
  return one_value(e, ra_shell_lookup(e, name));
}

static Values
keys_of(RaShellEval *e, const RaShellPart *part)
{
  const RaShellValue *value = ra_shell_get(e, part->text);
  RaShellItem *items;

  if (!value)
    return (Values){NULL, 0, TRUE, part->all};
  items = ra_arena_alloc(e->arena, value->n, sizeof *items);
  for (guint i = 0; i < value->n; i++) {
    items[i] = value->items[i];
    items[i].word.text = value->items[i].key;
  }
  return (Values){items, value->n, TRUE, part->all};
}

static Values
length_of(RaShellEval *e, const RaShellPart *part, const Values *values)
{
  const char *text;

  if (values->is_list)
    return one_value(e, ra_shell_printf(e->arena, "%u", values->n));
  text = values->n > 0 ? values->items[0].word.text : "";
  if (ra_shell_has_region(text))
    return one_value(
        e, ra_shell_unknown(e, ra_shell_printf(e->arena, "${#%s}", part->text),
                            NULL));
  return one_value(e,
                   ra_shell_printf(e->arena, "%ld", g_utf8_strlen(text, -1)));
}

/* The operators of defaults: - = + ?, with a colon or without. */
static gboolean
is_default_op(const char *op)
{
  return *op && strchr("-=+?", op[*op == ':']) && op[*op == ':'];
}

/* TRUE if a default is to be taken: not set, or nothing as far as the
 * environment goes. */
static gboolean
is_missing(RaShellEval *e, const RaShellPart *part, const Values *values)
{
  const char *guess;

  if (values->n == 0)
    return TRUE;
  if (values->n > 1)
    return FALSE;
  if (!*values->items[0].word.text)
    return *part->op == ':';
  if (!ra_shell_has_region(values->items[0].word.text))
    return FALSE;
  guess = ra_shell_guess(e, values->items[0].word.text);
  return guess && !*guess;
}

static void put_parts(Out *out, const RaShellPart *parts, gboolean quoted);

static void
put_default(Out *out, const RaShellPart *part, const Values *values,
            gboolean quoted, gboolean *out_done)
{
  gboolean is_missing_now = is_missing(out->e, part, values);
  char kind = part->op[*part->op == ':'];

  *out_done = TRUE;
  if (kind == '+') {
    if (!is_missing_now)
      put_parts(out, part->first->parts, quoted);
    return;
  }
  if (!is_missing_now || kind == '?') {
    *out_done = FALSE;
    return;
  }
  if (kind == '=' && ra_shell_is_name(part->text, strlen(part->text)) &&
      !part->index)
    ra_shell_set_text(out->e, part->text,
                      ra_shell_expand_one(out->e, part->first));
  if (!part->first->parts && values->n > 0 && *part->op == ':' && kind == '-' &&
      ra_shell_has_region(values->items[0].word.text))
    put(out, ra_shell_unknown(out->e, "", ""));
  put_parts(out, part->first->parts, quoted);
}

/* ${a[@]:1:2}: a slice of a list. */
static Values
slice(RaShellEval *e, const RaShellPart *part, Values values)
{
  gint64 first = 0, n = values.n;

  if (!ra_shell_arith(e, ra_shell_expand_one(e, part->first), &first) ||
      (part->second &&
       !ra_shell_arith(e, ra_shell_expand_one(e, part->second), &n)))
    return values;
  if (values.n == 0)
    return values;
  first = CLAMP(first, G_MININT32, G_MAXINT32);
  if (g_str_equal(part->text, "@") || g_str_equal(part->text, "*"))
    first--; /* $0 is first */
  if (first < 0)
    first = MAX(0, first + values.n);
  first = MIN(first, values.n);
  values.items += first;
  values.n = (guint)CLAMP(n, 0, values.n - first);
  return values;
}

static void
put_values(Out *out, const RaShellPart *part, Values values, gboolean quoted)
{
  RaShellEval *e = out->e;
  gboolean operates = *part->op && !is_default_op(part->op);

  if (values.is_list && g_str_equal(part->op, ":")) {
    values = slice(e, part, values);
    operates = FALSE;
  }
  for (guint i = 0; i < values.n && ra_shell_step(e); i++) {
    RaShellItem item = values.items[i];

    if (operates)
      item.word.text = ra_shell_operate(e, part, item.word.text);
    if (i > 0 && quoted && values.joined == '*') {
      char first[2] = {*separators(e), '\0'};

      put(out, first);
    } else if (i > 0) {
      end_word(out);
    }
    if (quoted)
      put_at(out, &item);
    else
      put_split(out, &item);
  }
}

static void
put_param(Out *out, const RaShellPart *part, gboolean quoted)
{
  RaShellEval *e = out->e;
  Values values;
  gboolean done = FALSE;

  if (part->is_indirect && part->all) {
    put_values(out, part, keys_of(e, part), quoted);
    return;
  }
  values = find_values(e, part);
  if (part->is_length)
    values = length_of(e, part, &values);
  else if (is_default_op(part->op))
    put_default(out, part, &values, quoted, &done);
  if (quoted && (done || values.n == 0) &&
      (!values.is_list || values.joined == '*'))
    begin_word(out);
  if (done)
    return;
  put_values(out, part, values, quoted);
}

/* ---- Words --------------------------------------------------------------- */

static void
put_text(Out *out, const char *text, gboolean quoted)
{
  RaShellItem item = {"0", {text, NULL, 0}};

  if (quoted)
    put(out, text);
  else
    put_split(out, &item);
}

static const char *
arith_text(RaShellEval *e, const RaShellPart *part)
{
  gint64 n;

  if (ra_shell_arith(e, ra_shell_expand_one(e, part->first), &n))
    return ra_shell_printf(e->arena, "%" G_GINT64_FORMAT, n);
  return ra_shell_unknown(e, part->text, NULL);
}

static void
put_parts(Out *out, const RaShellPart *parts, gboolean quoted)
{
  for (const RaShellPart *part = parts; part; part = part->next) {
    gboolean is_quoted = quoted || part->quoted;

    if (!ra_shell_step(out->e))
      return;
    switch (part->kind) {
    case RA_SHELL_PART_TEXT:
      if (!is_quoted && strpbrk(part->text, " \t\n"))
        put_text(out, part->text, FALSE); /* of a default */
      else
        put(out, part->text);
      break;
    case RA_SHELL_PART_PARAM:
      put_param(out, part, is_quoted);
      break;
    case RA_SHELL_PART_COMMAND:
      put_text(out, ra_shell_substitute(out->e, part), is_quoted);
      break;
    case RA_SHELL_PART_ARITH:
    default:
      put_text(out, arith_text(out->e, part), is_quoted);
    }
  }
}

/* ---- Braces -------------------------------------------------------------- */

/* Where the brace at @open ends; NULL: it has neither comma nor range. */
static const char *
brace_end(const char *open)
{
  guint depth = 0;
  gboolean has = FALSE;

  for (const char *p = open; *p; p++) {
    if (*p == '{')
      depth++;
    else if (*p == '}' && --depth == 0)
      return has ? p : NULL;
    else if (depth == 1 && (*p == ',' || (*p == '.' && p[1] == '.')))
      has = TRUE;
  }
  return NULL;
}

static void put_braces(RaShellEval *e, GPtrArray *out, const char *text,
                       guint depth);

/* {a..b}, {a..b..c} of numbers; FALSE: no such. */
static gboolean
put_range(RaShellEval *e, GPtrArray *out, const char *before,
          const char *inside, const char *after, guint depth)
{
  g_auto(GStrv) ends = g_strsplit(inside, "..", 4);
  gint64 n[3] = {0, 0, 1};
  guint n_ends = g_strv_length(ends);
  gint64 step;

  if (n_ends < 2 || n_ends > 3)
    return FALSE;
  for (guint i = 0; i < n_ends; i++) {
    char *rest;

    n[i] = g_ascii_strtoll(ends[i], &rest, 10);
    if (!*ends[i] || *rest || n[i] > G_MAXINT32 || n[i] < -G_MAXINT32)
      return FALSE;
  }
  step = MAX(1, ABS(n[2])) * (n[0] <= n[1] ? 1 : -1);
  for (gint64 i = n[0]; step > 0 ? i <= n[1] : i >= n[1]; i += step) {
    g_autofree char *text = NULL;

    if (!ra_shell_step(e))
      break;
    text = g_strdup_printf("%s%" G_GINT64_FORMAT "%s", before, i, after);
    put_braces(e, out, text, depth + 1);
  }
  return TRUE;
}

static void
put_braces(RaShellEval *e, GPtrArray *out, const char *text, guint depth)
{
  const char *open = strchr(text, '{'), *end = NULL;
  g_autofree char *before = NULL, *inside = NULL, *first = NULL;
  const char *begin;

  while (open && !(end = brace_end(open)))
    open = strchr(open + 1, '{');
  if (!open || depth > 20 || !ra_shell_step(e) ||
      out->len > RA_SHELL_ITEMS_MAX) {
    g_ptr_array_add(out, ra_arena_strdup(e->arena, text));
    return;
  }
  before = g_strndup(text, (gsize)(open - text));
  inside = g_strndup(open + 1, (gsize)(end - open) - 1);
  if (put_range(e, out, before, inside, end + 1, depth))
    return;
  begin = inside;
  depth++;
  for (const char *p = inside, *nested = NULL;; p++) {
    nested = *p == '{' ? strchr(p, '}') : NULL;
    if (nested)
      p = nested;
    if (*p && *p != ',')
      continue;
    g_free(first);
    first =
        g_strdup_printf("%s%.*s%s", before, (int)(p - begin), begin, end + 1);
    put_braces(e, out, first, depth);
    begin = p + 1;
    if (!*p)
      break;
  }
}

/* A word of one unquoted text with braces. */
static gboolean
expand_braces(RaShellEval *e, const RaShellText *text, RaShellWords *out)
{
  const RaShellPart *part = text->parts;
  g_autoptr(GPtrArray) words = NULL;

  if (!part || part->next || part->kind != RA_SHELL_PART_TEXT || part->quoted ||
      !strchr(part->text, '{'))
    return FALSE;
  words = g_ptr_array_new();
  put_braces(e, words, part->text, 0);
  for (guint i = 0; i < words->len; i++)
    ra_shell_words_add(e, out,
                       (RaShellWord){words->pdata[i], e->file, text->line});
  return TRUE;
}

void
ra_shell_expand(RaShellEval *e, const RaShellText *texts, RaShellWords *words)
{
  g_autoptr(GString) buffer = g_string_new(NULL);

  if (e->depth++ > RA_SHELL_CALLS_MAX)
    ra_shell_fail(e, "expansions nested deeper than %d", RA_SHELL_CALLS_MAX);
  for (const RaShellText *text = texts; text && ra_shell_step(e);
       text = text->next) {
    RaShellWord place = {"", e->file, text->line};
    Out out = {e, words, buffer, FALSE, place, FALSE, place};

    e->line = text->line;
    if (text->assign || expand_braces(e, text, words))
      continue;
    put_parts(&out, text->parts, FALSE);
    end_word(&out);
  }
  e->depth--;
}

/* ---- Without splitting --------------------------------------------------- */

const char *
ra_shell_expand_one(RaShellEval *e, const RaShellText *text)
{
  g_autoptr(GString) buffer = g_string_new(NULL);
  g_autoptr(GString) joined = g_string_new(NULL);
  RaShellWords words = {NULL, 0, 0};
  RaShellWord place = {"", e->file, e->line};
  Out out = {e, &words, buffer, FALSE, place, FALSE, place};

  if (!text)
    return "";
  if (e->depth++ > RA_SHELL_CALLS_MAX)
    ra_shell_fail(e, "expansions nested deeper than %d", RA_SHELL_CALLS_MAX);
  put_parts(&out, text->parts, TRUE);
  end_word(&out);
  e->depth--;
  if (words.n == 1)
    return words.at[0].text;
  for (guint i = 0; i < words.n; i++) {
    if (i > 0)
      ra_shell_put(e, joined, " ");
    ra_shell_put(e, joined, words.at[i].text);
  }
  return ra_arena_strdup(e->arena, joined->str);
}

/* As ra_shell_expand_one(); quoted characters are escaped, so that they stand
 * for themselves in a pattern. */
const char *
ra_shell_expand_pattern(RaShellEval *e, const RaShellText *text,
                        gboolean is_regex)
{
  g_autoptr(GString) out = g_string_new(NULL);

  for (const RaShellPart *part = text ? text->parts : NULL; part;
       part = part->next) {
    RaShellPart alone = *part;
    RaShellText one = {&alone, NULL, NULL, text->line, NULL};
    const char *value;

    alone.next = NULL;
    value = ra_shell_expand_one(e, &one);
    if (part->quoted && is_regex) {
      g_autofree char *escaped = g_regex_escape_string(value, -1);

      ra_shell_put(e, out, escaped);
      continue;
    }
    for (const char *p = value; *p; p++) {
      if (part->quoted && strchr("*?[\\", *p))
        g_string_append_c(out, '\\');
      g_string_append_c(out, *p);
    }
  }
  return ra_arena_strdup(e->arena, out->str);
}
