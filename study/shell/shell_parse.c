/* Parser of a shell's commands. */
#include "config.h"

#include "base/error.h"
#include "base/text.h"
#include "study/shell/shell_impl.h"

#define SHOWN_MAX 40 /* bytes of the source in a message */

void
ra_shell_parser_fail(RaShellParser *p, guint line, const char *at,
                     const char *what)
{
  g_autofree char *shown = NULL;
  gsize n;

  if (p->failed)
    return;
  p->failed = TRUE;
  for (n = 0; at + n < p->end && n < SHOWN_MAX && (guchar)at[n] >= ' ';)
    n++;
  shown = g_strndup(at, n);
  shown[ra_text_head(at, (int)n)] = '\0';
  g_set_error(p->error, RA_ERROR, RA_ERROR_INPUT, "%s:%u: %s%s%s", p->name,
              line, what, *shown ? ": " : "", shown);
}

gboolean
ra_shell_deeper(RaShellParser *p)
{
  if (p->failed)
    return FALSE;
  if (++p->depth > RA_SHELL_DEPTH_MAX)
    ra_shell_parser_fail(p, p->line, p->at, "nested deeper than 200");
  return !p->failed;
}

gboolean
ra_shell_is_name(const char *text, gsize n)
{
  for (gsize i = 0; i < n; i++) {
    if (!g_ascii_isalnum(text[i]) && text[i] != '_')
      return FALSE;
  }
  return n > 0 && !g_ascii_isdigit(*text);
}

/* ---- Blanks, here-documents ---------------------------------------------- */

void
ra_shell_skip_blank(RaShellParser *p)
{
  for (; p->at < p->end; p->at++) {
    if (*p->at == '\\' && p->at + 1 < p->end && p->at[1] == '\n') {
      p->line++;
      p->at++;
    } else if (*p->at == '\\' && p->end - p->at > 2 && p->at[1] == '\r' &&
               p->at[2] == '\n') {
      p->line++;
      p->at += 2;
    } else if (*p->at == '#') {
      while (p->at + 1 < p->end && p->at[1] != '\n')
        p->at++;
    } else if (!strchr(" \t\r", *p->at)) {
      return;
    }
  }
}

/* The lines at p->at up to the delimiter are the document's. */
static void
take_document(RaShellParser *p, RaShellRedirect *redirect)
{
  g_autoptr(GString) body = g_string_new(NULL);
  guint line = p->line;
  RaShellParser inner = *p;
  const char *text;

  while (p->at < p->end) {
    const char *eol = memchr(p->at, '\n', (gsize)(p->end - p->at));
    const char *end = eol ? eol : p->end, *begin = p->at;
    gsize n;

    while (redirect->strips_tabs && begin < end && *begin == '\t')
      begin++;
    p->at = eol ? eol + 1 : p->end;
    p->line++;
    n = (gsize)(end - begin);
    if (n > 0 && begin[n - 1] == '\r')
      n--;
    if (n == strlen(redirect->delimiter) &&
        strncmp(begin, redirect->delimiter, n) == 0)
      break;
    g_string_append_len(body, begin, end - begin);
    g_string_append_c(body, '\n');
  }
  text = ra_arena_strdup(p->arena, body->str);
  inner.at = text;
  inner.end = text + body->len;
  inner.line = line;
  if (redirect->is_literal) {
    RaShellPart *part = ra_arena_alloc(p->arena, 1, sizeof *part);

    redirect->input = ra_arena_alloc(p->arena, 1, sizeof *redirect->input);
    redirect->input->parts = part;
    redirect->input->line = line;
    part->quoted = TRUE;
    part->text = text;
  } else {
    redirect->input = ra_shell_parse_text(&inner, RA_SHELL_MODE_HERE, FALSE);
    p->failed |= inner.failed;
  }
}

static void
take_newline(RaShellParser *p)
{
  p->at++;
  p->line++;
  for (guint i = 0; i < p->pending->len && !p->failed; i++)
    take_document(p, p->pending->pdata[i]);
  g_ptr_array_set_size(p->pending, 0);
}

void
ra_shell_skip_lines(RaShellParser *p)
{
  ra_shell_skip_blank(p);
  while (p->at < p->end && *p->at == '\n' && !p->failed) {
    take_newline(p);
    ra_shell_skip_blank(p);
  }
}

gboolean
ra_shell_is_at(const RaShellParser *p, const char *text)
{
  gsize n = strlen(text);

  return (gsize)(p->end - p->at) >= n && strncmp(p->at, text, n) == 0;
}

gboolean
ra_shell_is_word(const RaShellParser *p, const char *word)
{
  gsize n = strlen(word);

  return ra_shell_is_at(p, word) &&
         (p->at + n == p->end || RA_SHELL_IS_META(p->at[n]));
}

RaShellNode *
ra_shell_new_node(RaShellParser *p, RaShellNodeKind kind)
{
  RaShellNode *node = ra_arena_alloc(p->arena, 1, sizeof *node);

  node->kind = kind;
  node->file = p->name;
  node->line = p->line;
  node->begin = p->at;
  node->offset = (gsize)(p->at - p->text);
  return node;
}

/* The source of @node ends here, without blanks. */
RaShellNode *
ra_shell_end_node(RaShellParser *p, RaShellNode *node)
{
  const char *end = p->at;

  while (end > node->begin && strchr(" \t\r\n;", end[-1]))
    end--;
  node->n_bytes = (gsize)(end - node->begin);
  return node;
}

/* ---- Simple commands ----------------------------------------------------- */

/* A redirection at p->at: digits, then < or >, or &>. */
static gboolean
is_redirect(const RaShellParser *p)
{
  const char *at = p->at;

  while (at < p->end && g_ascii_isdigit(*at))
    at++;
  if (at == p->end || ra_shell_placeholder(p) > 0)
    return FALSE;
  if (at == p->at && *at == '&')
    return at + 1 < p->end && at[1] == '>';
  return (*at == '<' || *at == '>') && !(at + 1 < p->end && at[1] == '(');
}

static void
take_redirect(RaShellParser *p, RaShellRedirect ***last)
{
  static const char *const ops[] = {"<<<", "<<-", "&>>", "<<", ">>", "<&",
                                    ">&",  "<>",  ">|",  "&>", "<",  ">"};
  RaShellRedirect *redirect = ra_arena_alloc(p->arena, 1, sizeof *redirect);
  const char *op = NULL;
  RaShellText *text;
  gboolean is_first = *p->at == '1' || !g_ascii_isdigit(*p->at);

  while (g_ascii_isdigit(*p->at))
    p->at++;
  for (guint i = 0; !op && i < G_N_ELEMENTS(ops); i++) {
    if (ra_shell_is_at(p, ops[i]))
      op = ops[i];
  }
  p->at += strlen(op);
  ra_shell_skip_blank(p);
  redirect->line = p->line;
  redirect->is_stdout = is_first && strchr(op, '>') != NULL;
  redirect->is_stdin = *op == '<';
  if (p->at == p->end || (RA_SHELL_IS_META(*p->at) && !strchr("<>", *p->at))) {
    ra_shell_parser_fail(p, p->line, p->at, "expected a file to redirect to");
    return;
  }
  text = ra_shell_parse_text(p, RA_SHELL_MODE_WORD, FALSE);
  if (g_str_equal(op, "<<<")) {
    redirect->input = text;
  } else if (g_str_equal(op, "<<") || g_str_equal(op, "<<-")) {
    g_autoptr(GString) delimiter = g_string_new(NULL);

    for (RaShellPart *part = text->parts; part; part = part->next) {
      if (part->text) /* none of an expansion that is wrong */
        g_string_append(delimiter, part->text);
      redirect->is_literal |= part->quoted;
    }
    redirect->delimiter = ra_arena_strdup(p->arena, delimiter->str);
    redirect->strips_tabs = op[2] == '-';
    g_ptr_array_add(p->pending, redirect);
  }
  **last = redirect;
  *last = &redirect->next;
}

static RaShellText *
parse_array(RaShellParser *p)
{
  RaShellText *first = NULL, **last = &first;
  guint line = p->line;
  const char *begin = p->at++;

  for (;;) {
    RaShellText *text, *key = NULL;

    ra_shell_skip_lines(p);
    if (p->failed || p->at == p->end || *p->at == ')')
      break;
    if (*p->at == '[') {
      const char *start = p->at;

      p->at++;
      key = ra_shell_parse_text(p, RA_SHELL_MODE_INDEX, FALSE);
      if (ra_shell_is_at(p, "]=")) {
        p->at += 2;
      } else {
        p->at = start;
        key = NULL;
      }
    } else if (RA_SHELL_IS_META(*p->at) && !strchr("<>", *p->at)) {
      ra_shell_parser_fail(p, p->line, p->at, "unexpected in an array");
      break;
    }
    text = ra_shell_parse_text(p, RA_SHELL_MODE_WORD, FALSE);
    text->key = key;
    *last = text;
    last = &text->next;
    if (p->at < p->end && strchr("<>", *p->at) && !p->failed)
      ra_shell_parser_fail(p, p->line, p->at, "unexpected in an array");
  }
  if (!p->failed && p->at == p->end)
    ra_shell_parser_fail(p, line, begin, "'(' is not closed");
  else
    p->at++;
  return first;
}

/* NAME=, NAME+=, NAME[...]= at p->at; NULL: none. */
static RaShellAssign *
parse_assign(RaShellParser *p)
{
  const char *at = p->at;
  RaShellAssign *assign;
  RaShellText *index = NULL;
  gsize n = 0;

  while (at + n < p->end && (g_ascii_isalnum(at[n]) || at[n] == '_'))
    n++;
  if (!ra_shell_is_name(at, n))
    return NULL;
  if (at + n < p->end && at[n] == '[') {
    RaShellParser saved = *p;

    p->at = at + n + 1;
    index = ra_shell_parse_text(p, RA_SHELL_MODE_INDEX, FALSE);
    if (p->failed || !(ra_shell_is_at(p, "]=") || ra_shell_is_at(p, "]+="))) {
      gboolean failed = p->failed;

      *p = saved;
      p->failed = failed;
      return NULL;
    }
    p->at++;
  } else {
    p->at = at + n;
  }
  if (!ra_shell_is_at(p, "=") && !ra_shell_is_at(p, "+=")) {
    p->at = at;
    return NULL;
  }
  assign = ra_arena_alloc(p->arena, 1, sizeof *assign);
  assign->is_append = *p->at == '+';
  p->at += assign->is_append ? 2 : 1;
  assign->name = ra_shell_printf(p->arena, "%.*s", (int)n, at);
  assign->index = index;
  assign->line = p->line;
  assign->is_array = p->at < p->end && *p->at == '(';
  assign->value = assign->is_array
                      ? parse_array(p)
                      : ra_shell_parse_text(p, RA_SHELL_MODE_WORD, FALSE);
  return assign;
}

static gboolean
is_declaration(const RaShellText *text)
{
  static const char *const words[] = {"export",   "declare", "local",
                                      "readonly", "typeset", NULL};

  return text->parts && !text->parts->next &&
         text->parts->kind == RA_SHELL_PART_TEXT &&
         g_strv_contains(words, text->parts->text);
}

static RaShellNode *parse_command(RaShellParser *p);

/* NAME() is followed by its body. */
RaShellNode *
ra_shell_parse_function(RaShellParser *p, RaShellNode *node, const char *name)
{
  node->kind = RA_SHELL_FUNCTION;
  node->name = name;
  ra_shell_skip_lines(p);
  node->a = parse_command(p);
  if (!node->a && !p->failed)
    ra_shell_parser_fail(p, node->line, node->begin, "a function has no body");
  return ra_shell_end_node(p, node);
}

/* TRUE if `()` comes, and goes behind it. */
gboolean
ra_shell_take_parentheses(RaShellParser *p)
{
  const char *at = p->at;

  ra_shell_skip_blank(p);
  if (p->at < p->end && *p->at == '(') {
    p->at++;
    ra_shell_skip_blank(p);
    if (p->at < p->end && *p->at == ')') {
      p->at++;
      return TRUE;
    }
  }
  p->at = at;
  return FALSE;
}

static RaShellNode *
parse_simple(RaShellParser *p)
{
  RaShellNode *node = ra_shell_new_node(p, RA_SHELL_SIMPLE);
  RaShellText **last_word = &node->words;
  RaShellAssign **last_assign = &node->assigns;
  RaShellRedirect **last_redirect = &node->redirects;
  gboolean is_declare = FALSE;

  for (;;) {
    RaShellAssign *assign = NULL;
    RaShellText *text;

    ra_shell_skip_blank(p);
    if (p->failed || p->at == p->end)
      break;
    if (is_redirect(p)) {
      take_redirect(p, &last_redirect);
      continue;
    }
    if (RA_SHELL_IS_META(*p->at) && !ra_shell_is_at(p, "<(") &&
        !ra_shell_is_at(p, ">(") && ra_shell_placeholder(p) == 0)
      break;
    if (!node->words || is_declare)
      assign = parse_assign(p);
    if (p->failed)
      break;
    if (assign && !node->words) {
      *last_assign = assign;
      last_assign = &assign->next;
      continue;
    }
    if (assign) {
      text = ra_arena_alloc(p->arena, 1, sizeof *text);
      text->line = assign->line;
      text->assign = assign;
    } else {
      text = ra_shell_parse_text(p, RA_SHELL_MODE_WORD, FALSE);
    }
    if (p->failed)
      break;
    if (!node->words) {
      is_declare = is_declaration(text);
      if (text->parts && !text->parts->next &&
          text->parts->kind == RA_SHELL_PART_TEXT &&
          ra_shell_take_parentheses(p))
        return ra_shell_parse_function(p, node, text->parts->text);
    }
    *last_word = text;
    last_word = &text->next;
  }
  if (p->failed || (!node->words && !node->assigns && !node->redirects))
    return NULL;
  return ra_shell_end_node(p, node);
}

static RaShellNode *
parse_command(RaShellParser *p)
{
  RaShellNode *node;
  RaShellRedirect **last;

  if (p->at == p->end || !ra_shell_deeper(p))
    return NULL;
  node = ra_shell_parse_compound(p);
  if (!node || p->failed) {
    node = p->failed ? NULL : parse_simple(p);
    p->depth--;
    return node;
  }
  last = &node->redirects;
  for (ra_shell_skip_blank(p); !p->failed && p->at < p->end && is_redirect(p);
       ra_shell_skip_blank(p))
    take_redirect(p, &last);
  p->depth--;
  return node;
}

/* ---- Lists --------------------------------------------------------------- */

static RaShellNode *
parse_pipeline(RaShellParser *p)
{
  RaShellNode *pipe = ra_shell_new_node(p, RA_SHELL_PIPE), **last = &pipe->a;
  gboolean is_not = FALSE;
  guint n = 0;

  while (ra_shell_is_word(p, "!") || ra_shell_is_word(p, "time")) {
    is_not ^= *p->at == '!';
    p->at += *p->at == '!' ? 1 : 4;
    ra_shell_skip_blank(p);
  }
  for (;;) {
    *last = parse_command(p);
    if (!*last) {
      if (!p->failed && (n > 0 || is_not))
        ra_shell_parser_fail(p, p->line, p->at, "expected a command");
      return NULL;
    }
    last = &(*last)->next;
    n++;
    ra_shell_skip_blank(p);
    if (p->failed || p->at == p->end || *p->at != '|' ||
        ra_shell_is_at(p, "||"))
      break;
    p->at += ra_shell_is_at(p, "|&") ? 2 : 1;
    ra_shell_skip_lines(p);
  }
  ra_shell_end_node(p, pipe);
  if (n == 1)
    pipe = pipe->a;
  if (is_not) {
    RaShellNode *node = ra_shell_new_node(p, RA_SHELL_NOT);

    node->begin = pipe->begin;
    node->a = pipe;
    pipe = ra_shell_end_node(p, node);
  }
  return pipe;
}

static RaShellNode *
parse_and_or(RaShellParser *p)
{
  RaShellNode *left = parse_pipeline(p);

  while (left && !p->failed &&
         (ra_shell_is_at(p, "&&") || ra_shell_is_at(p, "||"))) {
    RaShellNode *node =
        ra_shell_new_node(p, *p->at == '&' ? RA_SHELL_AND : RA_SHELL_OR);

    node->begin = left->begin;
    node->line = left->line;
    node->a = left;
    p->at += 2;
    ra_shell_skip_lines(p);
    node->b = parse_pipeline(p);
    if (!node->b) {
      ra_shell_parser_fail(p, p->line, p->at, "expected a command");
      return NULL;
    }
    left = ra_shell_end_node(p, node);
  }
  return left;
}

/* TRUE at the words that end a list. */
static gboolean
is_terminator(const RaShellParser *p)
{
  static const char *const words[] = {"then", "else", "elif", "fi",
                                      "do",   "done", "esac", "}"};

  if (*p->at == ')' || ra_shell_is_at(p, ";;") || ra_shell_is_at(p, ";&"))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    if (ra_shell_is_word(p, words[i]))
      return TRUE;
  }
  return FALSE;
}

RaShellNode *
ra_shell_parse_list(RaShellParser *p)
{
  RaShellNode *list = ra_shell_new_node(p, RA_SHELL_LIST), **last = &list->a;

  if (!ra_shell_deeper(p))
    return list;
  for (;;) {
    ra_shell_skip_lines(p);
    if (p->failed || p->at == p->end || is_terminator(p))
      break;
    *last = parse_and_or(p);
    if (!*last) {
      ra_shell_parser_fail(p, p->line, p->at, "unexpected");
      break;
    }
    last = &(*last)->next;
    ra_shell_skip_blank(p);
    if (p->failed || p->at == p->end)
      break;
    if ((*p->at == ';' && !is_terminator(p)) || *p->at == '&')
      p->at++;
    else if (*p->at != '\n' && !is_terminator(p))
      ra_shell_parser_fail(p, p->line, p->at, "unexpected");
  }
  p->depth--;
  return ra_shell_end_node(p, list);
}

RaShellNode *
ra_shell_tree(RaArena *arena, const char *name, const char *text, gsize n_bytes,
              guint line, GError **error)
{
  g_autoptr(GPtrArray) pending = g_ptr_array_new();
  RaShellParser p = {arena, name, text,    text,  text + n_bytes,
                     line,  0,    pending, error, FALSE};
  RaShellNode *list = ra_shell_parse_list(&p);

  if (!p.failed && p.at < p.end)
    ra_shell_parser_fail(&p, p.line, p.at, "unexpected");
  return p.failed ? NULL : list;
}
