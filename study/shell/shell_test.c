/* Tests of a shell: [ ], test and [[ ]]. */
#include "config.h"

#include <stdlib.h>

#include "study/shell/shell_impl.h"

#define REGEX_MAX 4096 /* bytes of a pattern, and of its text */

/* ---- Parser of [[ ]] ----------------------------------------------------- */

static const char *const binary_ops[] = {"==",  "=~",  "!=",  "=",   "-eq",
                                         "-ne", "-lt", "-le", "-gt", "-ge",
                                         "-nt", "-ot", "-ef", "<",   ">"};

static RaShellTest *
new_test(RaShellParser *p, const char *op)
{
  RaShellTest *test = ra_arena_alloc(p->arena, 1, sizeof *test);

  test->op = op;
  return test;
}

static gboolean
is_next(RaShellParser *p, const char *word)
{
  gsize n = strlen(word);

  ra_shell_skip_lines(p);
  return (gsize)(p->end - p->at) >= n && strncmp(p->at, word, n) == 0;
}

/* `-z` and the like, followed by a blank. */
static gboolean
is_unary(RaShellParser *p)
{
  return p->end - p->at > 2 && *p->at == '-' && g_ascii_isalpha(p->at[1]) &&
         strchr(" \t\n", p->at[2]) != NULL;
}

static RaShellTest *parse_or(RaShellParser *p);

static RaShellTest *
parse_primary(RaShellParser *p)
{
  RaShellTest *test;

  if (is_next(p, "!") && p->at + 1 < p->end && strchr(" \t\n(", p->at[1])) {
    p->at++;
    test = new_test(p, "!");
    if (ra_shell_deeper(p)) {
      test->left = parse_primary(p);
      p->depth--;
    }
    return test;
  }
  if (is_next(p, "(")) {
    p->at++;
    test = parse_or(p);
    if (!is_next(p, ")"))
      ra_shell_parser_fail(p, p->line, p->at, "expected ')' in '[['");
    else
      p->at++;
    return test;
  }
  if (is_unary(p)) {
    test = new_test(p, ra_shell_printf(p->arena, "%.2s", p->at));
    p->at += 2;
    ra_shell_skip_blank(p);
    test->a = ra_shell_parse_text(p, RA_SHELL_MODE_WORD, FALSE);
    return test;
  }
  test = new_test(p, "-n");
  test->a = ra_shell_parse_text(p, RA_SHELL_MODE_WORD, FALSE);
  if (!test->a->parts)
    ra_shell_parser_fail(p, p->line, p->at, "expected a test in '[['");
  for (guint i = 0; !p->failed && i < G_N_ELEMENTS(binary_ops); i++) {
    const char *op = binary_ops[i];

    if (!is_next(p, op))
      continue;
    p->at += strlen(op);
    ra_shell_skip_blank(p);
    test->op = op;
    test->b = ra_shell_parse_text(
        p, g_str_equal(op, "=~") ? RA_SHELL_MODE_REGEX : RA_SHELL_MODE_WORD,
        FALSE);
    break;
  }
  return test;
}

static RaShellTest *
parse_and(RaShellParser *p)
{
  RaShellTest *left = parse_primary(p);

  while (!p->failed && is_next(p, "&&")) {
    RaShellTest *test = new_test(p, "&&");

    p->at += 2;
    test->left = left;
    test->right = parse_primary(p);
    left = test;
  }
  return left;
}

static RaShellTest *
parse_or(RaShellParser *p)
{
  RaShellTest *left = NULL;

  if (!ra_shell_deeper(p))
    return new_test(p, "-n");
  left = parse_and(p);
  while (!p->failed && is_next(p, "||")) {
    RaShellTest *test = new_test(p, "||");

    p->at += 2;
    test->left = left;
    test->right = parse_and(p);
    left = test;
  }
  p->depth--;
  return left;
}

RaShellTest *
ra_shell_parse_test(RaShellParser *p)
{
  return parse_or(p);
}

/* ---- Values -------------------------------------------------------------- */

RaShellTruth
ra_shell_not(RaShellTruth truth)
{
  static const RaShellTruth not [] = {RA_SHELL_YES, RA_SHELL_NO,
                                      RA_SHELL_MAYBE_YES, RA_SHELL_MAYBE_NO,
                                      RA_SHELL_MAYBE};

  return not [truth];
}

static RaShellTruth
both(RaShellTruth a, RaShellTruth b)
{
  if (a == RA_SHELL_NO || b == RA_SHELL_NO)
    return RA_SHELL_NO;
  if (a == RA_SHELL_YES && b == RA_SHELL_YES)
    return RA_SHELL_YES;
  if (a == RA_SHELL_MAYBE_NO || b == RA_SHELL_MAYBE_NO)
    return RA_SHELL_MAYBE_NO;
  if (a == RA_SHELL_MAYBE || b == RA_SHELL_MAYBE)
    return RA_SHELL_MAYBE;
  return RA_SHELL_MAYBE_YES;
}

static RaShellTruth
either(RaShellTruth a, RaShellTruth b)
{
  return ra_shell_not(both(ra_shell_not(a), ra_shell_not(b)));
}

static RaShellTruth
maybe(gboolean guess)
{
  return guess ? RA_SHELL_MAYBE_YES : RA_SHELL_MAYBE_NO;
}

/* Something stands outside of the regions of @text. */
static gboolean
has_known(const char *text)
{
  while (*text == RA_SHELL_BEGIN)
    text = ra_shell_region_end(text);
  return *text != '\0';
}

static RaShellTruth
is_set_truth(RaShellEval *e, const char *text)
{
  const char *guess;

  if (!ra_shell_has_region(text))
    return *text ? RA_SHELL_YES : RA_SHELL_NO;
  if (has_known(text))
    return RA_SHELL_YES;
  guess = ra_shell_guess(e, text);
  return guess ? maybe(*guess != '\0') : RA_SHELL_MAYBE;
}

static RaShellTruth
unary(RaShellEval *e, char op, const char *text)
{
  if (op == 'n')
    return is_set_truth(e, text);
  if (op == 'z')
    return ra_shell_not(is_set_truth(e, text));
  if (op == 'v') {
    const RaShellValue *value = ra_shell_get(e, text);

    return value ? (value->n > 0 ? RA_SHELL_YES : RA_SHELL_NO)
                 : RA_SHELL_MAYBE_NO;
  }
  return RA_SHELL_MAYBE; /* files, terminals */
}

static RaShellTruth
compare(RaShellEval *e, const char *op, const char *a, const char *b)
{
  gint64 x = 0, y = 0;

  if (!ra_shell_arith(e, a, &x) || !ra_shell_arith(e, b, &y))
    return RA_SHELL_MAYBE;
  if (g_str_equal(op, "-eq"))
    return x == y;
  if (g_str_equal(op, "-ne"))
    return x != y;
  if (g_str_equal(op, "-lt"))
    return x < y;
  if (g_str_equal(op, "-le"))
    return x <= y;
  return g_str_equal(op, "-gt") ? x > y : x >= y;
}

/* `a =~ b`, and the groups in BASH_REMATCH. */
static RaShellTruth
match_regex(RaShellEval *e, const char *text, const char *pattern)
{
  g_autoptr(GRegex) regex = NULL;
  g_autoptr(GMatchInfo) info = NULL;
  g_autofree char *limited = NULL;
  RaShellValue *groups;
  gint n;

  if (strlen(text) > REGEX_MAX || strlen(pattern) > REGEX_MAX ||
      !g_utf8_validate(text, -1, NULL) || !g_utf8_validate(pattern, -1, NULL))
    return RA_SHELL_MAYBE;
  limited = g_strconcat("(*LIMIT_MATCH=10000)", pattern, NULL);
  regex = g_regex_new(limited, 0, 0, NULL);
  if (!regex)
    return RA_SHELL_MAYBE;
  if (!g_regex_match(regex, text, 0, &info))
    return RA_SHELL_NO;
  n = g_match_info_get_match_count(info);
  groups = ra_arena_alloc(e->arena, 1, sizeof *groups);
  groups->is_array = TRUE;
  groups->n = (guint)MAX(n, 0);
  groups->items = ra_arena_alloc(e->arena, groups->n, sizeof *groups->items);
  for (gint i = 0; i < n; i++) {
    g_autofree char *group = g_match_info_fetch(info, i);

    groups->items[i].key = ra_shell_printf(e->arena, "%d", i);
    groups->items[i].word.text = ra_arena_strdup(e->arena, group);
    groups->items[i].word.file = e->file;
    groups->items[i].word.line = e->line;
  }
  ra_shell_set(e, "BASH_REMATCH", groups);
  return RA_SHELL_YES;
}

/* @is_pattern: @b is a pattern, in which quoted characters are escaped. */
static RaShellTruth
binary_known(RaShellEval *e, const char *op, const char *a, const char *b,
             gboolean is_pattern)
{
  gboolean is_same;

  if (g_str_equal(op, "=~"))
    return match_regex(e, a, b);
  if (g_str_equal(op, "<") || g_str_equal(op, "\\<"))
    return strcmp(a, b) < 0;
  if (g_str_equal(op, ">") || g_str_equal(op, "\\>"))
    return strcmp(a, b) > 0;
  if (*op == '-')
    return strchr("tf", op[2]) ? RA_SHELL_MAYBE : compare(e, op, a, b);
  is_same = is_pattern ? ra_shell_match(e, b, a, NULL) : g_str_equal(a, b);
  return *op == '!' ? !is_same : is_same;
}

static RaShellTruth
binary(RaShellEval *e, const char *op, const char *a, const char *b,
       gboolean is_pattern)
{
  const char *guess_a, *guess_b;
  RaShellTruth truth;

  if (g_str_equal(op, "-nt") || g_str_equal(op, "-ot") ||
      g_str_equal(op, "-ef"))
    return RA_SHELL_MAYBE;
  if (*op == '-') {
    truth = compare(e, op, a, b);
    if (truth != RA_SHELL_MAYBE || e->error)
      return truth;
  } else if (!ra_shell_has_region(a) && !ra_shell_has_region(b)) {
    return binary_known(e, op, a, b, is_pattern);
  } else if (strchr("=!", *op) && op[1] != '~' && is_pattern &&
             ra_shell_match(e, b, a, NULL)) {
    return *op == '!' ? RA_SHELL_NO : RA_SHELL_YES;
  }
  guess_a = ra_shell_guess(e, a);
  guess_b = ra_shell_guess(e, b);
  if (!guess_a || !guess_b || e->guessing)
    return RA_SHELL_MAYBE;
  e->guessing = TRUE;
  truth = binary_known(e, op, guess_a, guess_b, is_pattern);
  e->guessing = FALSE;
  return RA_SHELL_IS_KNOWN(truth) ? maybe(truth == RA_SHELL_YES) : truth;
}

RaShellTruth
ra_shell_test_tree(RaShellEval *e, const RaShellTest *test)
{
  const char *op = test->op;
  RaShellTruth left;
  gboolean is_pattern;

  if (!ra_shell_step(e))
    return RA_SHELL_MAYBE;
  if (g_str_equal(op, "!"))
    return ra_shell_not(ra_shell_test_tree(e, test->left));
  if (g_str_equal(op, "&&") || g_str_equal(op, "||")) {
    left = ra_shell_test_tree(e, test->left);
    if (left == (*op == '&' ? RA_SHELL_NO : RA_SHELL_YES))
      return left;
    return *op == '&' ? both(left, ra_shell_test_tree(e, test->right))
                      : either(left, ra_shell_test_tree(e, test->right));
  }
  if (!test->b)
    return unary(e, op[1], ra_shell_expand_one(e, test->a));
  is_pattern =
      g_str_equal(op, "==") || g_str_equal(op, "=") || g_str_equal(op, "!=");
  return binary(e, op, ra_shell_expand_one(e, test->a),
                is_pattern || g_str_equal(op, "=~")
                    ? ra_shell_expand_pattern(e, test->b, !is_pattern)
                    : ra_shell_expand_one(e, test->b),
                is_pattern);
}

/* ---- [ ] ----------------------------------------------------------------- */

typedef struct {
  RaShellEval *e;
  const RaShellWord *words;
  guint at, n;
} Words;

static gboolean
next_is(const Words *w, guint ahead, const char *word)
{
  return w->at + ahead < w->n &&
         g_str_equal(w->words[w->at + ahead].text, word);
}

static gboolean
is_binary_op(const char *word)
{
  if (g_str_equal(word, "\\<") || g_str_equal(word, "\\>"))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(binary_ops); i++) {
    if (g_str_equal(word, binary_ops[i]))
      return TRUE;
  }
  return FALSE;
}

static RaShellTruth words_or(Words *w, guint depth);

static RaShellTruth
words_primary(Words *w, guint depth)
{
  const char *a;

  if (w->at >= w->n || depth > RA_SHELL_DEPTH_MAX || !ra_shell_step(w->e))
    return RA_SHELL_NO;
  a = w->words[w->at].text;
  if (w->at + 2 < w->n && is_binary_op(w->words[w->at + 1].text)) {
    w->at += 3;
    return binary(w->e, w->words[w->at - 2].text, a, w->words[w->at - 1].text,
                  FALSE);
  }
  if (g_str_equal(a, "!") && w->at + 1 < w->n) {
    w->at++;
    return ra_shell_not(words_primary(w, depth + 1));
  }
  if (g_str_equal(a, "(") && w->at + 1 < w->n) {
    RaShellTruth truth;

    w->at++;
    truth = words_or(w, depth + 1);
    w->at += next_is(w, 0, ")");
    return truth;
  }
  if (*a == '-' && g_ascii_isalpha(a[1]) && !a[2] && w->at + 1 < w->n) {
    w->at += 2;
    return unary(w->e, a[1], w->words[w->at - 1].text);
  }
  w->at++;
  return is_set_truth(w->e, a);
}

static RaShellTruth
words_and(Words *w, guint depth)
{
  RaShellTruth truth = words_primary(w, depth);

  while (next_is(w, 0, "-a")) {
    w->at++;
    truth = both(truth, words_primary(w, depth));
  }
  return truth;
}

static RaShellTruth
words_or(Words *w, guint depth)
{
  RaShellTruth truth = words_and(w, depth);

  while (next_is(w, 0, "-o")) {
    w->at++;
    truth = either(truth, words_and(w, depth));
  }
  return truth;
}

RaShellTruth
ra_shell_test_words(RaShellEval *e, const RaShellWord *words, guint n)
{
  Words w = {e, words, 0, n};

  return words_or(&w, 0);
}
