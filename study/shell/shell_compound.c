/* Parser of a shell's compound commands: if, loops, case, functions, groups. */
#include "config.h"

#include "study/shell/shell_impl.h"

/* Goes behind @word, which must come here. */
static void
expect(RaShellParser *p, const char *word, const char *what)
{
  ra_shell_skip_lines(p);
  if (p->failed)
    return;
  if (ra_shell_is_word(p, word) ||
      (!g_ascii_isalpha(*word) && ra_shell_is_at(p, word)))
    p->at += strlen(word);
  else
    ra_shell_parser_fail(p, p->line, p->at, what);
}

/* A list that must have something in it. */
static RaShellNode *
parse_body(RaShellParser *p, const char *what)
{
  RaShellNode *list = ra_shell_parse_list(p);

  if (!p->failed && !list->a)
    ra_shell_parser_fail(p, p->line, p->at, what);
  return list;
}

static RaShellNode *
parse_if(RaShellParser *p)
{
  RaShellNode *node = ra_shell_new_node(p, RA_SHELL_IF);

  p->at += ra_shell_is_word(p, "elif") ? 4 : 2;
  node->a = parse_body(p, "expected a condition");
  expect(p, "then", "expected 'then'");
  node->b = parse_body(p, "expected a command behind 'then'");
  ra_shell_skip_lines(p);
  if (p->failed)
    return NULL;
  if (ra_shell_is_word(p, "elif")) {
    if (ra_shell_deeper(p)) {
      node->c = parse_if(p); /* takes the fi */
      p->depth--;
    }
    return ra_shell_end_node(p, node);
  }
  if (ra_shell_is_word(p, "else")) {
    p->at += 4;
    node->c = parse_body(p, "expected a command behind 'else'");
  }
  expect(p, "fi", "expected 'fi'");
  return ra_shell_end_node(p, node);
}

static RaShellNode *
parse_do(RaShellParser *p)
{
  RaShellNode *body;

  ra_shell_skip_lines(p);
  if (p->at < p->end && *p->at == ';')
    p->at++;
  expect(p, "do", "expected 'do'");
  body = parse_body(p, "expected a command behind 'do'");
  expect(p, "done", "expected 'done'");
  return body;
}

static RaShellNode *
parse_while(RaShellParser *p)
{
  RaShellNode *node = ra_shell_new_node(p, RA_SHELL_WHILE);

  node->flag = *p->at == 'u';
  p->at += 5;
  node->a = parse_body(p, "expected a condition");
  node->b = parse_do(p);
  return ra_shell_end_node(p, node);
}

/* Text of an arithmetic expression from @begin to @end. */
static RaShellText *
parse_arith(RaShellParser *p, const char *begin, const char *end)
{
  RaShellParser inner = *p;
  RaShellText *text;

  inner.at = begin;
  inner.end = end;
  text = ra_shell_parse_text(&inner, RA_SHELL_MODE_ARITH, FALSE);
  p->failed |= inner.failed;
  return text;
}

/* for ((a; b; c)): behind the `((`. */
static RaShellNode *
parse_cfor(RaShellParser *p, RaShellNode *node)
{
  const char *end = ra_shell_arith_end(p, p->at), *begin = p->at;
  RaShellText **last = &node->words;

  node->kind = RA_SHELL_CFOR;
  if (!end) {
    ra_shell_parser_fail(p, p->line, p->at, "'((' is not closed");
    return NULL;
  }
  for (guint i = 0; i < 3; i++) {
    const char *stop = memchr(begin, ';', (gsize)(end - 2 - begin));

    if ((stop == NULL) != (i == 2)) {
      ra_shell_parser_fail(p, p->line, p->at, "expected three expressions");
      return NULL;
    }
    *last = parse_arith(p, begin, stop ? stop : end - 2);
    last = &(*last)->next;
    begin = stop ? stop + 1 : end;
  }
  p->at = end;
  node->a = parse_do(p);
  return ra_shell_end_node(p, node);
}

static RaShellNode *
parse_for(RaShellParser *p)
{
  RaShellNode *node = ra_shell_new_node(p, RA_SHELL_FOR);
  RaShellText **last = &node->words;
  const char *begin;

  p->at += ra_shell_is_word(p, "select") ? 6 : 3;
  ra_shell_skip_blank(p);
  if (ra_shell_is_at(p, "((")) {
    p->at += 2;
    return parse_cfor(p, node);
  }
  begin = p->at;
  while (p->at < p->end && (g_ascii_isalnum(*p->at) || *p->at == '_'))
    p->at++;
  if (!ra_shell_is_name(begin, (gsize)(p->at - begin))) {
    ra_shell_parser_fail(p, p->line, begin, "expected a variable");
    return NULL;
  }
  node->name = ra_shell_printf(p->arena, "%.*s", (int)(p->at - begin), begin);
  ra_shell_skip_lines(p);
  node->flag = !ra_shell_is_word(p, "in");
  if (!node->flag) {
    p->at += 2;
    for (ra_shell_skip_blank(p);
         !p->failed && p->at < p->end && !RA_SHELL_IS_META(*p->at);
         ra_shell_skip_blank(p)) {
      *last = ra_shell_parse_text(p, RA_SHELL_MODE_WORD, FALSE);
      last = &(*last)->next;
    }
  }
  node->a = parse_do(p);
  return ra_shell_end_node(p, node);
}

/* One `a|b) list ;;`. */
static RaShellCase *
parse_item(RaShellParser *p)
{
  RaShellCase *item = ra_arena_alloc(p->arena, 1, sizeof *item);
  RaShellText **last = &item->patterns;
  const char *begin;

  if (*p->at == '(')
    p->at++;
  ra_shell_skip_blank(p);
  begin = p->at;
  for (;;) {
    if (p->at == p->end || RA_SHELL_IS_META(*p->at)) {
      ra_shell_parser_fail(p, p->line, p->at, "expected a pattern of 'case'");
      return item;
    }
    *last = ra_shell_parse_text(p, RA_SHELL_MODE_WORD, FALSE);
    last = &(*last)->next;
    ra_shell_skip_blank(p);
    if (p->failed || p->at == p->end || *p->at != '|')
      break;
    p->at++;
    ra_shell_skip_blank(p);
  }
  item->label = ra_shell_printf(p->arena, "%.*s", (int)(p->at - begin), begin);
  if (!p->failed && (p->at == p->end || *p->at != ')'))
    ra_shell_parser_fail(p, p->line, p->at, "expected ')' behind a pattern");
  if (p->failed)
    return item;
  p->at++;
  item->body = ra_shell_parse_list(p);
  ra_shell_skip_lines(p);
  if (ra_shell_is_at(p, ";;") || ra_shell_is_at(p, ";&")) {
    item->falls_through = p->at[1] == '&' || ra_shell_is_at(p, ";;&");
    p->at += ra_shell_is_at(p, ";;&") ? 3 : 2;
  }
  return item;
}

static RaShellNode *
parse_case(RaShellParser *p)
{
  RaShellNode *node = ra_shell_new_node(p, RA_SHELL_CASE);
  RaShellCase **last = &node->cases;

  p->at += 4;
  ra_shell_skip_blank(p);
  node->words = ra_shell_parse_text(p, RA_SHELL_MODE_WORD, FALSE);
  expect(p, "in", "expected 'in'");
  ra_shell_skip_lines(p);
  while (!p->failed && p->at < p->end && !ra_shell_is_word(p, "esac")) {
    *last = parse_item(p);
    last = &(*last)->next;
    ra_shell_skip_lines(p);
  }
  expect(p, "esac", "expected 'esac'");
  return ra_shell_end_node(p, node);
}

/* (( ... )); NULL without a failure: it is a subshell in a subshell. */
static RaShellNode *
parse_arith_command(RaShellParser *p)
{
  const char *end = ra_shell_arith_end(p, p->at + 2);
  RaShellNode *node;

  if (!end)
    return NULL;
  node = ra_shell_new_node(p, RA_SHELL_ARITH);
  node->words = parse_arith(p, p->at + 2, end - 2);
  for (; p->at < end; p->at++)
    p->line += *p->at == '\n';
  return ra_shell_end_node(p, node);
}

static RaShellNode *
parse_group(RaShellParser *p, RaShellNodeKind kind, const char *close)
{
  RaShellNode *node = ra_shell_new_node(p, kind);
  const char *begin = p->at++;
  guint line = p->line;

  node->a = ra_shell_parse_list(p);
  if (!p->failed && !(p->at < p->end && ra_shell_is_at(p, close)))
    ra_shell_parser_fail(p, line, begin,
                         *close == ')' ? "'(' is not closed"
                                       : "'{' is not closed");
  p->at++;
  return p->failed ? NULL : ra_shell_end_node(p, node);
}

RaShellNode *
ra_shell_parse_compound(RaShellParser *p)
{
  RaShellNode *node;

  if (ra_shell_is_at(p, "((") && (node = parse_arith_command(p)))
    return node;
  if (*p->at == '(')
    return parse_group(p, RA_SHELL_SUBSHELL, ")");
  if (ra_shell_is_word(p, "{"))
    return parse_group(p, RA_SHELL_GROUP, "}");
  if (ra_shell_is_word(p, "[[")) {
    node = ra_shell_new_node(p, RA_SHELL_TEST);
    p->at += 2;
    node->test = ra_shell_parse_test(p);
    expect(p, "]]", "expected ']]'");
    return ra_shell_end_node(p, node);
  }
  if (ra_shell_is_word(p, "if"))
    return parse_if(p);
  if (ra_shell_is_word(p, "while") || ra_shell_is_word(p, "until"))
    return parse_while(p);
  if (ra_shell_is_word(p, "for") || ra_shell_is_word(p, "select"))
    return parse_for(p);
  if (ra_shell_is_word(p, "case"))
    return parse_case(p);
  if (ra_shell_is_word(p, "function")) {
    const char *begin;

    node = ra_shell_new_node(p, RA_SHELL_FUNCTION);
    p->at += 8;
    ra_shell_skip_blank(p);
    begin = p->at;
    while (p->at < p->end && !RA_SHELL_IS_META(*p->at))
      p->at++;
    node->name = ra_shell_printf(p->arena, "%.*s", (int)(p->at - begin), begin);
    ra_shell_take_parentheses(p);
    return ra_shell_parse_function(p, node, node->name);
  }
  return NULL;
}
