/* Builtins of a shell. */
#include "config.h"

#include "study/shell/shell_impl.h"

/* A builtin that is called. */
typedef struct {
  RaShellEval *e;
  const RaShellNode *node;
  const RaShellWord *words;
  guint n;
} Call;

void
ra_shell_done(RaShellEval *e, RaShellTruth status, int exit_code)
{
  e->status = status;
  e->exit_code = exit_code;
}

static void
succeed(RaShellEval *e, gboolean ok)
{
  ra_shell_done(e, ok ? RA_SHELL_YES : RA_SHELL_NO, !ok);
}

static void
truth(RaShellEval *e, RaShellTruth status)
{
  ra_shell_done(e, status, 1);
}

void
ra_shell_print(RaShellEval *e, const char *text)
{
  if (e->out)
    ra_shell_put(e, e->out, text);
}

/* ---- Output -------------------------------------------------------------- */

/* The escapes of `echo -e` and printf's format; only a blank for what is no
 * text. */
static char *
unescape(const char *text)
{
  char *out = g_strcompress(text);

  for (char *c = out; *c; c++) {
    if (*c > 0 && *c < ' ' && !strchr("\t\n\r", *c))
      *c = ' ';
  }
  if (!g_utf8_validate(out, -1, NULL))
    *out = '\0';
  return out;
}

static void
call_echo(const Call *call)
{
  guint i = 1;
  gboolean escapes = FALSE, newline = TRUE;

  for (; i < call->n; i++) {
    const char *word = call->words[i].text;

    if (*word != '-' || !word[1] || strspn(word + 1, "neE") != strlen(word + 1))
      break;
    newline &= !strchr(word, 'n');
    escapes |= strchr(word, 'e') != NULL;
  }
  for (guint first = i; i < call->n; i++) {
    g_autofree char *text = escapes && !ra_shell_has_region(call->words[i].text)
                                ? unescape(call->words[i].text)
                                : g_strdup(call->words[i].text);

    if (i > first)
      ra_shell_print(call->e, " ");
    ra_shell_print(call->e, text);
  }
  if (newline)
    ra_shell_print(call->e, "\n");
  succeed(call->e, TRUE);
}

/* One directive at @format, behind its `%`; returns the character behind it. */
static const char *
print_one(RaShellEval *e, const char *format, const char *word, GString *out)
{
  g_autofree char *spec = NULL, *text = NULL;
  gsize n = strspn(format, "-+ #0123456789.");
  int width, precision = -1;
  gint64 number;
  char kind = format[n];
  const char *dot = memchr(format, '.', n);

  if (!kind)
    return format + n;
  width = (int)g_ascii_strtoll(format + strspn(format, "+ #0"), NULL, 10);
  if (dot)
    precision = (int)CLAMP(g_ascii_strtoll(dot + 1, NULL, 10), 0, 1000);
  width = CLAMP(width, -1000, 1000);
  if (strchr("dixXou", kind) && *word && !ra_shell_has_region(word) &&
      ra_shell_arith(e, word, &number)) {
    gboolean zeros = *format == '0';

    spec = g_strdup_printf(zeros ? "%%0*%s%c" : "%%*%s%c", G_GINT64_MODIFIER,
                           kind);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    text = g_strdup_printf(spec, width, number);
#pragma GCC diagnostic pop
  } else if (strchr("dixXou", kind) && !*word) {
    text = g_strdup_printf("%*d", width, 0);
  } else if (kind == 'b' && !ra_shell_has_region(word)) {
    text = unescape(word);
  } else if (strchr("eEfgG", kind)) {
    e->is_impure = TRUE;
    text = g_strdup(word);
  } else if (precision >= 0 && !ra_shell_has_region(word)) {
    text = g_utf8_substring(word, 0, MIN(precision, g_utf8_strlen(word, -1)));
  } else {
    text = g_strdup(word);
    for (glong k = g_utf8_strlen(word, -1); k < ABS(width); k++) {
      char *wider = width > 0 ? g_strconcat(" ", text, NULL)
                              : g_strconcat(text, " ", NULL);

      g_free(text);
      text = wider;
    }
  }
  ra_shell_put(e, out, text);
  return format + n + 1;
}

static void
print_format(RaShellEval *e, const Call *call, guint first, GString *out)
{
  const char *raw = call->words[first].text;
  g_autofree char *format =
      ra_shell_has_region(raw) ? g_strdup(raw) : unescape(raw);
  guint i = first + 1, before;

  do {
    before = i;
    for (const char *p = format; *p && ra_shell_step(e);) {
      char one[2] = {*p, '\0'};

      if (*p == '%' && p[1] == '%') {
        ra_shell_put(e, out, "%");
        p += 2;
      } else if (*p == '%') {
        p = print_one(e, p + 1, i < call->n ? call->words[i].text : "", out);
        i++;
      } else {
        ra_shell_put(e, out, one);
        p++;
      }
    }
  } while (i < call->n && i > before && !e->error);
}

static void
call_printf(const Call *call)
{
  g_autoptr(GString) out = g_string_new(NULL);
  const char *name = NULL;
  guint first = 1;

  if (call->n > 3 && g_str_equal(call->words[1].text, "-v")) {
    name = call->words[2].text;
    first = 3;
  } else if (call->n > 2 && g_str_equal(call->words[1].text, "--")) {
    first = 2;
  }
  if (first < call->n)
    print_format(call->e, call, first, out);
  if (name)
    ra_shell_set_text(call->e, name, out->str);
  else
    ra_shell_print(call->e, out->str);
  succeed(call->e, TRUE);
}

/* ---- Variables ----------------------------------------------------------- */

static void
make_empty(RaShellEval *e, const char *name, gboolean is_array,
           gboolean is_keyed)
{
  RaShellValue *value = ra_arena_alloc(e->arena, 1, sizeof *value);

  value->is_array = is_array || is_keyed;
  value->is_keyed = is_keyed;
  ra_shell_set(e, name, value);
}

/* `name` or `name=value`, as expanded. */
static void
declare_word(const Call *call, const char *word, gboolean is_array,
             gboolean is_keyed)
{
  RaShellEval *e = call->e;
  const char *equals = strchr(word, '=');
  gsize n = equals ? (gsize)(equals - word) : strlen(word);
  g_autofree char *name = g_strndup(word, n);

  if (!ra_shell_is_name(name, n))
    return;
  if (g_str_equal(call->words[0].text, "local"))
    ra_shell_local(e, name);
  if (equals)
    ra_shell_set_text(e, name, equals + 1);
  else if (is_array || is_keyed || g_str_equal(call->words[0].text, "local"))
    make_empty(e, name, is_array, is_keyed);
}

static void
call_declare(const Call *call)
{
  RaShellEval *e = call->e;
  gboolean is_array = FALSE, is_keyed = FALSE;

  for (const RaShellText *text = call->node->words ? call->node->words->next
                                                   : NULL;
       text && ra_shell_step(e); text = text->next) {
    RaShellText alone = *text;
    RaShellWords words = {NULL, 0, 0};

    if (text->assign) {
      if (g_str_equal(call->words[0].text, "local"))
        ra_shell_local(e, text->assign->name);
      if (is_keyed && !text->assign->is_append)
        make_empty(e, text->assign->name, TRUE, TRUE);
      else if (text->assign->is_array && !text->assign->is_append)
        make_empty(e, text->assign->name, TRUE, FALSE);
      ra_shell_assign(e, text->assign);
      continue;
    }
    alone.next = NULL;
    ra_shell_expand(e, &alone, &words);
    for (guint i = 0; i < words.n; i++) {
      const char *word = words.at[i].text;

      if (*word == '-' || *word == '+') {
        is_array |= strchr(word, 'a') != NULL;
        is_keyed |= strchr(word, 'A') != NULL;
      } else {
        declare_word(call, word, is_array, is_keyed);
      }
    }
  }
  succeed(e, TRUE);
}

static void
call_unset(const Call *call)
{
  RaShellEval *e = call->e;

  for (guint i = 1; i < call->n; i++) {
    const char *word = call->words[i].text;

    g_hash_table_remove(e->functions, word);
    if (ra_shell_is_name(word, strlen(word)))
      make_empty(e, word, FALSE, FALSE);
  }
  succeed(e, TRUE);
}

static void
call_shift(const Call *call)
{
  RaShellEval *e = call->e;
  guint64 n = call->n > 1 ? g_ascii_strtoull(call->words[1].text, NULL, 10) : 1;
  guint by = (guint)MIN(n, e->args.n);

  if (by > 0)
    e->args.at += by;
  e->args.n -= by;
  e->args.n_max = e->args.n;
  succeed(e, TRUE);
}

static void
call_set(const Call *call)
{
  RaShellEval *e = call->e;
  RaShellWords args = {NULL, 0, 0};
  guint i = 1;

  succeed(e, TRUE);
  for (; i < call->n; i++) {
    const char *word = call->words[i].text;

    if (g_str_equal(word, "--"))
      break;
    if (*word != '-' && *word != '+')
      break;
    if (strchr(word, 'o'))
      i++; /* -o pipefail */
  }
  if (i >= call->n)
    return;
  i += g_str_equal(call->words[i].text, "--");
  for (; i < call->n; i++)
    ra_shell_words_add(e, &args, call->words[i]);
  e->args = args;
  e->args_unknown = FALSE;
}

/* ---- Input --------------------------------------------------------------- */

/* Next line of stdin, or all of it; NULL: none is known, or it is at its end.
 */
static const char *
take_input(RaShellEval *e, gboolean all)
{
  const char *begin = e->input, *end;

  if (!begin || !*begin)
    return NULL;
  end = all ? NULL : strchr(begin, '\n');
  if (!end)
    end = begin + strlen(begin);
  e->input = *end ? end + 1 : end;
  return ra_shell_keep(e, begin, (gsize)(end - begin));
}

/* @line in its words; @names get one each, the last what is left. */
static void
read_names(RaShellEval *e, const char *line, const Call *call, guint first)
{
  const RaShellValue *ifs_value = ra_shell_get(e, "IFS");
  const char *ifs =
      ifs_value && ifs_value->n > 0 ? ifs_value->items[0].word.text : " \t\n";

  for (guint i = first; i < call->n && ra_shell_step(e); i++) {
    gsize n;

    if (*ifs)
      line += strspn(line, strpbrk(ifs, " \t\n") ? ifs : "");
    n = i + 1 < call->n ? strcspn(line, ifs) : strlen(line);
    if (i + 1 == call->n) {
      while (n > 0 && strchr(" \t\n", line[n - 1]) && strchr(ifs, line[n - 1]))
        n--;
    }
    ra_shell_set_text(e, call->words[i].text, ra_shell_keep(e, line, n));
    line += n;
    if (*line && i + 1 < call->n)
      line++;
  }
}

/* Bytes of @text up to one of @separators that is in no region. */
static gsize
item_length(const char *text, const char *separators)
{
  const char *end = text;

  while (*end && !strchr(separators, *end))
    end = *end == RA_SHELL_BEGIN ? ra_shell_region_end(end) : end + 1;
  return (gsize)(end - text);
}

/* A region that words are split from may be any number of them: the item
 * RA_SHELL_WORDS. */
static void
set_array(RaShellEval *e, const char *name, const char *text,
          const char *separators)
{
  gboolean splits = *separators && g_ascii_isspace(*separators);
  const char *words = ra_shell_printf(e->arena, RA_SHELL_WORDS, name);

  make_empty(e, name, TRUE, FALSE);
  for (guint n = 0; *text && n < RA_SHELL_ITEMS_MAX && ra_shell_step(e);) {
    gsize n_bytes = item_length(text, separators);
    g_autofree char *key = g_strdup_printf("%u", n);
    gboolean is_region = n_bytes > 0 && *text == RA_SHELL_BEGIN &&
                         ra_shell_region_end(text) == text + n_bytes;

    if (n_bytes > 0 || !splits) {
      ra_shell_set_item(e, name, key,
                        is_region && splits ? ra_shell_unknown(e, words, NULL)
                                            : ra_shell_keep(e, text, n_bytes),
                        FALSE);
      n++;
    }
    text += n_bytes + (text[n_bytes] != '\0');
  }
}

static void
call_read(const Call *call)
{
  RaShellEval *e = call->e;
  const char *array = NULL, *line;
  gboolean all = FALSE;
  guint i = 1;
  const RaShellValue *ifs = ra_shell_get(e, "IFS");

  for (; i < call->n && *call->words[i].text == '-'; i++) {
    const char *word = call->words[i].text;
    char last = word[strlen(word) - 1];

    if (!strchr("adnNptu", last) || i + 1 == call->n)
      continue;
    i++;
    if (last == 'a')
      array = call->words[i].text;
    else if (last == 'd')
      all = TRUE;
  }
  line = take_input(e, all);
  if (!line) {
    gboolean is_end = e->input != NULL;

    for (; i < call->n; i++)
      ra_shell_set_text(e, call->words[i].text,
                        is_end ? "" : ra_shell_unknown(e, "read", NULL));
    ra_shell_done(e, is_end ? RA_SHELL_NO : RA_SHELL_MAYBE, 1);
    return;
  }
  if (array)
    set_array(e, array, line,
              ifs && ifs->n > 0 ? ifs->items[0].word.text : " \t\n");
  else
    read_names(e, line, call, i);
  succeed(e, TRUE);
}

static void
call_mapfile(const Call *call)
{
  RaShellEval *e = call->e;
  const char *name = call->n > 1 ? call->words[call->n - 1].text : "MAPFILE";

  if (!ra_shell_is_name(name, strlen(name)))
    name = "MAPFILE";
  if (e->input)
    set_array(e, name, e->input, "\n");
  else
    ra_shell_set_text(e, name, ra_shell_unknown(e, "mapfile", NULL));
  truth(e, RA_SHELL_MAYBE_YES);
}

/* ---- Flow ---------------------------------------------------------------- */

static void
call_exit(const Call *call)
{
  RaShellEval *e = call->e;
  gint64 code;

  e->flow = g_str_equal(call->words[0].text, "exit") ? RA_SHELL_FLOW_EXIT
                                                     : RA_SHELL_FLOW_RETURN;
  if (call->n < 2)
    return;
  if (ra_shell_arith(e, call->words[1].text, &code))
    ra_shell_done(e, code == 0 ? RA_SHELL_YES : RA_SHELL_NO, (int)(code & 255));
  else
    truth(e, RA_SHELL_MAYBE_YES);
}

static void
call_break(const Call *call)
{
  RaShellEval *e = call->e;
  guint64 n = call->n > 1 ? g_ascii_strtoull(call->words[1].text, NULL, 10) : 1;

  e->flow = g_str_equal(call->words[0].text, "break") ? RA_SHELL_FLOW_BREAK
                                                      : RA_SHELL_FLOW_CONTINUE;
  e->flow_levels = (guint)CLAMP(n, 1, 100);
  succeed(e, TRUE);
}

static void
call_let(const Call *call)
{
  truth(call->e, RA_SHELL_NO);
  for (guint i = 1; i < call->n; i++)
    truth(call->e, ra_shell_arith_truth(call->e, call->words[i].text));
}

static void
call_test(const Call *call)
{
  guint n = call->n - 1;

  if (g_str_equal(call->words[0].text, "[") && n > 0 &&
      g_str_equal(call->words[n].text, "]"))
    n--;
  truth(call->e, ra_shell_test_words(call->e, call->words + 1, n));
}

static void
call_eval(const Call *call)
{
  g_autoptr(GString) text = g_string_new(NULL);

  for (guint i = 1; i < call->n; i++) {
    ra_shell_put(call->e, text, call->words[i].text);
    ra_shell_put(call->e, text, " ");
  }
  succeed(call->e, TRUE);
  ra_shell_eval_text(call->e, ra_arena_strdup(call->e->arena, text->str));
}

static void
call_source(const Call *call)
{
  succeed(call->e, TRUE);
  if (call->n > 1)
    ra_shell_read_file(call->e, call->words + 1, call->n - 1, FALSE);
}

static void
call_cd(const Call *call)
{
  RaShellEval *e = call->e;
  guint i = 1;

  while (i < call->n && *call->words[i].text == '-' && call->words[i].text[1])
    i++;
  if (i < call->n)
    e->cwd = ra_shell_path(e, call->words[i].text);
  else if (!g_str_equal(call->words[0].text, "popd"))
    e->cwd = ra_shell_lookup(e, "HOME");
  succeed(e, TRUE);
}

static void
call_pwd(const Call *call)
{
  ra_shell_print(call->e, call->e->cwd);
  ra_shell_print(call->e, "\n");
  succeed(call->e, TRUE);
}

static void
call_true(const Call *call)
{
  succeed(call->e, !g_str_equal(call->words[0].text, "false") &&
                       !g_str_equal(call->words[0].text, "getopts"));
}

static const struct {
  const char *name;
  void (*call)(const Call *call);
} builtins[] = {
    /* clang-format off */
    {":", call_true},         {"true", call_true},     {"false", call_true},
    {"getopts", call_true},   {"echo", call_echo},     {"printf", call_printf},
    {"declare", call_declare}, {"typeset", call_declare},
    {"local", call_declare},  {"export", call_declare},
    {"readonly", call_declare}, {"unset", call_unset}, {"shift", call_shift},
    {"set", call_set},        {"read", call_read},
    {"mapfile", call_mapfile}, {"readarray", call_mapfile},
    {"exit", call_exit},      {"return", call_exit},   {"break", call_break},
    {"continue", call_break}, {"let", call_let},       {"[", call_test},
    {"test", call_test},      {"eval", call_eval},     {"source", call_source},
    {".", call_source},       {"cd", call_cd},         {"pushd", call_cd},
    {"popd", call_cd},        {"pwd", call_pwd},
    /* what changes nothing here */
    {"trap", call_true},      {"shopt", call_true},    {"ulimit", call_true},
    {"wait", call_true},      {"umask", call_true},    {"alias", call_true},
    {"unalias", call_true},   {"disown", call_true},   {"sleep", call_true},
    {"hash", call_true},
    /* clang-format on */
};

gboolean
ra_shell_builtin(RaShellEval *e, const RaShellNode *node,
                 const RaShellWord *words, guint n)
{
  Call call = {e, node, words, n};

  for (guint i = 0; i < G_N_ELEMENTS(builtins); i++) {
    if (g_str_equal(builtins[i].name, words[0].text)) {
      builtins[i].call(&call);
      return TRUE;
    }
  }
  return FALSE;
}
