/* Parser of a shell's words: quotes, expansions, here-documents' bodies. */
#include "config.h"

#include "study/shell/shell_impl.h"

/* A word on its way. */
typedef struct {
  RaShellPart *first, *last;
  GString *text; /* of the part that is not ended yet */
  gboolean quoted, is_open;
} Builder;

static void
flush(RaShellParser *p, Builder *b)
{
  RaShellPart *part;

  if (!b->is_open)
    return;
  part = ra_arena_alloc(p->arena, 1, sizeof *part);
  part->kind = RA_SHELL_PART_TEXT;
  part->quoted = b->quoted;
  part->text = ra_arena_strdup(p->arena, b->text->str);
  g_string_truncate(b->text, 0);
  b->is_open = FALSE;
  if (b->last)
    b->last->next = part;
  else
    b->first = part;
  b->last = part;
}

/* Text of one kind of quoting follows, maybe none. */
static void
open_text(RaShellParser *p, Builder *b, gboolean quoted)
{
  if (b->is_open && b->quoted != quoted)
    flush(p, b);
  b->is_open = TRUE;
  b->quoted = quoted;
}

static void
put(RaShellParser *p, Builder *b, gboolean quoted, const char *text, gsize n)
{
  open_text(p, b, quoted);
  g_string_append_len(b->text, text, (gssize)n);
}

static RaShellPart *
add_part(RaShellParser *p, Builder *b, RaShellPartKind kind, gboolean quoted)
{
  RaShellPart *part = ra_arena_alloc(p->arena, 1, sizeof *part);

  flush(p, b);
  part->kind = kind;
  part->quoted = quoted;
  part->op = "";
  if (b->last)
    b->last->next = part;
  else
    b->first = part;
  b->last = part;
  return part;
}

static char *
slice(const RaShellParser *p, const char *begin, const char *end)
{
  char *text = ra_arena_alloc(p->arena, (gsize)(end - begin) + 1, 1);

  memcpy(text, begin, (gsize)(end - begin));
  return text;
}

static void
take_single(RaShellParser *p, Builder *b)
{
  const char *begin = p->at++;
  guint line = p->line;

  open_text(p, b, TRUE);
  for (; p->at < p->end && *p->at != '\''; p->at++) {
    if (*p->at == '\n')
      p->line++;
    g_string_append_c(b->text, *p->at);
  }
  if (p->at == p->end)
    ra_shell_parser_fail(p, line, begin, "a quote is not closed");
  else
    p->at++;
}

/* $'...': the escapes of C. */
static void
take_ansi(RaShellParser *p, Builder *b)
{
  const char *begin = p->at;
  guint line = p->line;
  g_autoptr(GString) raw = g_string_new(NULL);
  g_autofree char *text = NULL;

  for (p->at += 2; p->at < p->end && *p->at != '\''; p->at++) {
    if (*p->at == '\\' && p->at + 1 < p->end)
      g_string_append_c(raw, *p->at++);
    if (*p->at == '\n')
      p->line++;
    g_string_append_c(raw, *p->at);
  }
  if (p->at == p->end) {
    ra_shell_parser_fail(p, line, begin, "a quote is not closed");
    return;
  }
  p->at++;
  text = g_strcompress(raw->str);
  for (char *c = text; *c; c++) {
    if (*c > 0 && *c < ' ' && !strchr("\t\n\r", *c))
      *c = ' '; /* regions have control characters */
  }
  if (g_utf8_validate(text, -1, NULL))
    put(p, b, TRUE, text, strlen(text));
}

static void
take_double(RaShellParser *p, Builder *b)
{
  const char *begin = p->at++;
  guint line = p->line;
  RaShellText *inside = ra_shell_parse_text(p, RA_SHELL_MODE_QUOTE, TRUE);

  if (p->failed)
    return;
  if (p->at == p->end) {
    ra_shell_parser_fail(p, line, begin, "a quote is not closed");
    return;
  }
  p->at++;
  if (!inside->parts) { /* "" is a word */
    open_text(p, b, TRUE);
    return;
  }
  flush(p, b);
  if (b->last)
    b->last->next = inside->parts;
  else
    b->first = b->last = inside->parts;
  while (b->last->next)
    b->last = b->last->next;
}

/* Parser of its own for the text up to @end. */
static RaShellParser
within(const RaShellParser *p, const char *begin, const char *end)
{
  RaShellParser inner = *p;

  inner.at = begin;
  inner.end = end;
  return inner;
}

const char *
ra_shell_arith_end(const RaShellParser *p, const char *at)
{
  guint depth = 2;

  for (; at < p->end; at++) {
    if (*at == '\\' && at + 1 < p->end) {
      at++;
    } else if (*at == '(') {
      depth++;
    } else if (*at == ')' && --depth == 1) {
      return at + 1 < p->end && at[1] == ')' ? at + 2 : NULL;
    }
  }
  return NULL;
}

static guint
count_lines(const char *begin, const char *end)
{
  guint n = 0;

  for (; begin < end; begin++)
    n += *begin == '\n';
  return n;
}

/* $((...)), $(...) at p->at. */
static void
take_command(RaShellParser *p, Builder *b, gboolean quoted)
{
  const char *begin = p->at, *end = NULL;
  guint line = p->line;
  RaShellPart *part;

  if (p->end - p->at > 3 && p->at[2] == '(')
    end = ra_shell_arith_end(p, p->at + 3);
  part =
      add_part(p, b, end ? RA_SHELL_PART_ARITH : RA_SHELL_PART_COMMAND, quoted);
  if (end) {
    RaShellParser inner = within(p, p->at + 3, end - 2);

    part->first = ra_shell_parse_text(&inner, RA_SHELL_MODE_ARITH, FALSE);
    p->failed |= inner.failed;
    p->line += count_lines(begin, end);
    p->at = end;
  } else {
    p->at += 2;
    part->body = ra_shell_parse_list(p);
    if (!p->failed && (p->at == p->end || *p->at != ')'))
      ra_shell_parser_fail(p, line, begin, "'$(' is not closed");
    else
      p->at++;
  }
  if (!p->failed)
    part->text = slice(p, begin, p->at);
}

/* `...`, in which a backslash quotes $, ` and itself. */
static void
take_backquote(RaShellParser *p, Builder *b, gboolean quoted)
{
  const char *begin = p->at;
  guint line = p->line;
  g_autoptr(GString) text = g_string_new(NULL);
  RaShellPart *part = add_part(p, b, RA_SHELL_PART_COMMAND, quoted);
  RaShellParser inner;
  const char *copy;

  for (p->at++; p->at < p->end && *p->at != '`'; p->at++) {
    if (*p->at == '\\' && p->at + 1 < p->end && strchr("$`\\", p->at[1]))
      p->at++;
    if (*p->at == '\n')
      p->line++;
    g_string_append_c(text, *p->at);
  }
  if (p->at == p->end) {
    ra_shell_parser_fail(p, line, begin, "'`' is not closed");
    return;
  }
  p->at++;
  copy = ra_arena_strdup(p->arena, text->str);
  inner = within(p, copy, copy + text->len);
  inner.text = copy;
  inner.line = line;
  if (!ra_shell_deeper(&inner)) {
    p->failed = TRUE;
    return;
  }
  part->body = ra_shell_parse_list(&inner);
  p->failed |= inner.failed;
  if (!p->failed && inner.at < inner.end)
    ra_shell_parser_fail(p, line, begin, "unexpected word");
  part->text = slice(p, begin, p->at);
}

/* The operator of ${name...}, and what it takes. */
static void
take_operator(RaShellParser *p, RaShellPart *part, gboolean quoted)
{
  static const char *const ops[] = {
      ":-", ":=", ":+", ":?", "-", "=",  "+", "?",  "##", "#", "%%",
      "%",  "//", "/#", "/%", "/", "^^", "^", ",,", ",",  ":", "@"};
  const char *op = NULL;

  for (guint i = 0; !op && i < G_N_ELEMENTS(ops); i++) {
    gsize n = strlen(ops[i]);

    if ((gsize)(p->end - p->at) >= n && strncmp(p->at, ops[i], n) == 0)
      op = ops[i];
  }
  if (!op)
    return;
  part->op = op;
  p->at += strlen(op);
  if (*op == '/') {
    part->first = ra_shell_parse_text(p, RA_SHELL_MODE_PATTERN, FALSE);
    if (p->at < p->end && *p->at == '/') {
      p->at++;
      part->second = ra_shell_parse_text(p, RA_SHELL_MODE_BRACE, FALSE);
    }
  } else if (g_str_equal(op, ":")) {
    part->first = ra_shell_parse_text(p, RA_SHELL_MODE_OFFSET, FALSE);
    if (p->at < p->end && *p->at == ':') {
      p->at++;
      part->second = ra_shell_parse_text(p, RA_SHELL_MODE_BRACE, FALSE);
    }
  } else {
    gboolean is_word = strchr(":-=+?", *op) != NULL;

    part->first =
        ra_shell_parse_text(p, RA_SHELL_MODE_BRACE, is_word && quoted);
  }
}

static void
take_name(RaShellParser *p, RaShellPart *part)
{
  const char *begin = p->at;

  if (p->at < p->end && strchr("@*#?$!-", *p->at) && *p->at) {
    p->at++;
  } else if (p->at < p->end && g_ascii_isdigit(*p->at)) {
    while (p->at < p->end && g_ascii_isdigit(*p->at))
      p->at++;
  } else {
    while (p->at < p->end && (g_ascii_isalnum(*p->at) || *p->at == '_'))
      p->at++;
  }
  part->text = slice(p, begin, p->at);
}

static void
take_index(RaShellParser *p, RaShellPart *part)
{
  p->at++;
  if (p->end - p->at >= 2 && strchr("@*", *p->at) && p->at[1] == ']')
    part->all = *p->at++;
  else
    part->index = ra_shell_parse_text(p, RA_SHELL_MODE_INDEX, FALSE);
  if (p->at < p->end && *p->at == ']')
    p->at++;
}

/* ${...} at p->at. */
static void
take_brace(RaShellParser *p, Builder *b, gboolean quoted)
{
  const char *begin = p->at;
  guint line = p->line;
  RaShellPart *part = add_part(p, b, RA_SHELL_PART_PARAM, quoted);

  if (!ra_shell_deeper(p))
    return;
  p->at += 2;
  if (p->end - p->at >= 2 && *p->at == '#' && !strchr("}:-=+?%#/", p->at[1])) {
    part->is_length = TRUE;
    p->at++;
  } else if (p->end - p->at >= 2 && *p->at == '!' &&
             (g_ascii_isalpha(p->at[1]) || p->at[1] == '_')) {
    part->is_indirect = TRUE;
    p->at++;
  }
  take_name(p, part);
  if (!p->failed && *part->text && p->at < p->end && *p->at == '[')
    take_index(p, part);
  if (!p->failed && *part->text && p->at < p->end && *p->at != '}')
    take_operator(p, part, quoted);
  p->depth--;
  if (p->failed)
    return;
  if (p->at == p->end)
    ra_shell_parser_fail(p, line, begin, "'${' is not closed");
  else if (!*part->text || *p->at != '}')
    ra_shell_parser_fail(p, line, begin, "no expansion of a shell");
  else
    p->at++;
}

static void
take_dollar(RaShellParser *p, Builder *b, RaShellMode mode, gboolean quoted)
{
  char next = p->at + 1 < p->end ? p->at[1] : '\0';
  RaShellPart *part;

  if (next == '(') {
    if (ra_shell_deeper(p)) {
      take_command(p, b, quoted);
      p->depth--;
    }
  } else if (next == '{') {
    take_brace(p, b, quoted);
  } else if (next == '\'' && !quoted && mode != RA_SHELL_MODE_HERE) {
    take_ansi(p, b);
  } else if (next == '"' && !quoted && mode != RA_SHELL_MODE_HERE) {
    p->at++;
  } else if (next && (g_ascii_isalnum(next) || strchr("_@*#?$!-", next))) {
    part = add_part(p, b, RA_SHELL_PART_PARAM, quoted);
    p->at++;
    if (g_ascii_isdigit(next)) {
      part->text = slice(p, p->at, p->at + 1);
      p->at++;
    } else {
      take_name(p, part);
    }
  } else {
    put(p, b, quoted, p->at++, 1);
  }
}

static void
take_backslash(RaShellParser *p, Builder *b, RaShellMode mode,
               gboolean in_quotes)
{
  char next = p->at + 1 < p->end ? p->at[1] : '\0';

  if (next == '\n') {
    p->line++;
    p->at += 2;
    return;
  }
  if (!next) {
    put(p, b, TRUE, p->at++, 1);
    return;
  }
  if ((mode == RA_SHELL_MODE_QUOTE || mode == RA_SHELL_MODE_HERE ||
       in_quotes) &&
      !(strchr("$`\\", next) || (next == '"' && mode != RA_SHELL_MODE_HERE) ||
        (next == '}' && mode == RA_SHELL_MODE_BRACE)))
    put(p, b, TRUE, p->at, 1);
  if (mode == RA_SHELL_MODE_REGEX)
    put(p, b, FALSE, p->at, 1);
  p->at++;
  if (mode == RA_SHELL_MODE_REGEX)
    put(p, b, FALSE, p->at++, 1);
  else
    put(p, b, TRUE, p->at++, 1);
}

static gboolean
is_stop(const RaShellParser *p, RaShellMode mode, guint parens)
{
  char c = *p->at;

  switch (mode) {
  case RA_SHELL_MODE_BRACE:
    return c == '}';
  case RA_SHELL_MODE_PATTERN:
    return c == '}' || c == '/';
  case RA_SHELL_MODE_OFFSET:
    return c == '}' || (c == ':' && parens == 0);
  case RA_SHELL_MODE_INDEX:
    return c == ']';
  case RA_SHELL_MODE_QUOTE:
    return c == '"';
  case RA_SHELL_MODE_REGEX:
    return parens == 0 && strchr(" \t\r\n", c) != NULL;
  case RA_SHELL_MODE_WORD:
    if (ra_shell_placeholder(p) > 0)
      return FALSE;
    if ((c == '<' || c == '>') && p->at + 1 < p->end && p->at[1] == '(')
      return FALSE;
    return strchr(" \t\r\n;&|()<>", c) != NULL;
  case RA_SHELL_MODE_HERE:
  case RA_SHELL_MODE_ARITH:
  default:
    return FALSE;
  }
}

gsize
ra_shell_placeholder(const RaShellParser *p)
{
  const char *at = p->at;

  if (at == p->end || *at != '<' || at + 1 == p->end || !g_ascii_isalpha(at[1]))
    return 0;
  for (at++; at < p->end && (g_ascii_isalnum(*at) || strchr("_-.", *at));)
    at++;
  if (at == p->end || *at != '>')
    return 0;
  for (const char *next = at + 1; next < p->end && *next != '\n'; next++) {
    if (!strchr(" \t\r", *next))
      return 0;
  }
  return (gsize)(at + 1 - p->at);
}

/* <(...) is a file that only a run has. */
static void
take_process(RaShellParser *p, Builder *b)
{
  const char *begin = p->at;
  guint line = p->line;
  g_autofree char *source = NULL, *text = NULL;

  p->at += 2;
  if (!ra_shell_deeper(p))
    return;
  ra_shell_parse_list(p);
  p->depth--;
  if (p->failed)
    return;
  if (p->at == p->end || *p->at != ')') {
    ra_shell_parser_fail(p, line, begin, "'<(' is not closed");
    return;
  }
  p->at++;
  source = g_strndup(begin, (gsize)(p->at - begin));
  text = g_strdup_printf("%c%s%c", RA_SHELL_BEGIN, source, RA_SHELL_END);
  put(p, b, TRUE, text, strlen(text));
}

/* One character or what begins with it. */
static void
take(RaShellParser *p, Builder *b, RaShellMode mode, gboolean in_quotes)
{
  gboolean is_quoted = mode == RA_SHELL_MODE_QUOTE || in_quotes;
  char c = *p->at;

  if (c == RA_SHELL_BEGIN) {
    const char *end = memchr(p->at, RA_SHELL_END, (gsize)(p->end - p->at));

    end = end ? end + 1 : p->end;
    put(p, b, TRUE, p->at, (gsize)(end - p->at));
    p->at = end;
  } else if (c == '\\') {
    take_backslash(p, b, mode, in_quotes);
  } else if (c == '\'' && !is_quoted && mode != RA_SHELL_MODE_HERE &&
             mode != RA_SHELL_MODE_ARITH) {
    take_single(p, b);
  } else if (c == '"' && mode == RA_SHELL_MODE_ARITH) {
    p->at++;
  } else if (c == '"' && mode != RA_SHELL_MODE_HERE) {
    take_double(p, b);
  } else if (c == '$') {
    take_dollar(p, b, mode, is_quoted);
  } else if (c == '`') {
    take_backquote(p, b, is_quoted);
  } else if (mode == RA_SHELL_MODE_WORD && ra_shell_placeholder(p) > 0) {
    gsize n = ra_shell_placeholder(p);

    put(p, b, TRUE, p->at, n);
    p->at += n;
  } else if ((c == '<' || c == '>') && mode == RA_SHELL_MODE_WORD) {
    take_process(p, b);
  } else {
    if (c == '\n')
      p->line++;
    put(p, b, is_quoted, p->at++, 1);
  }
}

RaShellText *
ra_shell_parse_text(RaShellParser *p, RaShellMode mode, gboolean in_quotes)
{
  RaShellText *text = ra_arena_alloc(p->arena, 1, sizeof *text);
  g_autoptr(GString) buffer = g_string_new(NULL);
  Builder b = {NULL, NULL, buffer, FALSE, FALSE};
  guint parens = 0;

  text->line = p->line;
  if (!ra_shell_deeper(p))
    return text;
  while (p->at < p->end && !p->failed && !is_stop(p, mode, parens)) {
    parens += *p->at == '(' || (*p->at == '?' && mode == RA_SHELL_MODE_OFFSET);
    if (parens > 0 &&
        (*p->at == ')' || (*p->at == ':' && mode == RA_SHELL_MODE_OFFSET)))
      parens--;
    take(p, &b, mode, in_quotes);
  }
  p->depth--;
  flush(p, &b);
  text->parts = b.first;
  return text;
}
