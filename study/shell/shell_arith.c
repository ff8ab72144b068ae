/* Arithmetic of a shell: C's operators on 64-bit integers. */
#include "config.h"

#include "base/text.h"
#include "study/shell/shell_impl.h"

#define SHOWN_MAX 40 /* bytes of an expression in a message */
#define DEPTH_MAX 64 /* of parentheses, and of variables in variables */

typedef struct {
  RaShellEval *e;
  const char *text, *at;
  gboolean skips; /* not evaluated, as the right of 0 && x */
  guint depth;
} Arith;

typedef struct {
  gint64 n;
  gboolean is_unknown;
  const char *name, *key; /* nullable: what may be assigned to */
} Number;

static Number assignment(Arith *a);

static void
blank(Arith *a)
{
  while (*a->at && strchr(" \t\r\n", *a->at))
    a->at++;
}

static gboolean
take(Arith *a, const char *op)
{
  blank(a);
  if (!g_str_has_prefix(a->at, op))
    return FALSE;
  a->at += strlen(op);
  return TRUE;
}

static Number
number(gint64 n)
{
  return (Number){n, FALSE, NULL, NULL};
}

static Number
fail(Arith *a, const char *what)
{
  g_autofree char *plain = ra_shell_plain(a->text);

  if (!a->skips)
    ra_shell_fail(a->e, "%s in '%.*s'", what, ra_text_head(plain, SHOWN_MAX),
                  plain);
  a->at = "";
  return number(0);
}

/* The value of a text, which may name variables. */
static Number
value_of(Arith *a, const char *text)
{
  Arith inner = {a->e, text, text, a->skips, a->depth + 1};
  Number n;

  if (a->depth >= DEPTH_MAX)
    return fail(a, "variables that stand for each other");
  if (!ra_shell_step(a->e))
    return number(0);
  blank(&inner);
  if (!*inner.at)
    return number(0);
  n = assignment(&inner);
  blank(&inner);
  if (*inner.at)
    return fail(&inner, "no arithmetic");
  return n;
}

static Number
variable(Arith *a, const char *name, const char *key)
{
  const RaShellValue *value = ra_shell_get(a->e, name);
  const RaShellItem *item;
  Number n = {0, FALSE, name, key};

  if (a->skips)
    return n;
  item = value ? ra_shell_item(value, key) : NULL;
  if (item) {
    Number found = value_of(a, item->word.text);

    n.n = found.n;
    n.is_unknown = found.is_unknown;
  } else if (!value) {
    const char *text = ra_shell_special(a->e, name);

    if (text && !ra_shell_has_region(text))
      n.n = value_of(a, text).n;
    else
      n.is_unknown = !a->e->guessing;
  }
  return n;
}

/* name, name[expression] */
static Number
take_variable(Arith *a)
{
  const char *begin = a->at, *key = "0";
  const char *name;

  while (g_ascii_isalnum(*a->at) || *a->at == '_')
    a->at++;
  name = ra_shell_keep(a->e, begin, (gsize)(a->at - begin));
  if (*a->at == '[') {
    const RaShellValue *value = ra_shell_get(a->e, name);
    const char *end;

    a->at++;
    end = strchr(a->at, ']');
    if (value && value->is_keyed && end) {
      key = ra_shell_keep(a->e, a->at, (gsize)(end - a->at));
      a->at = end;
    } else {
      Number index = assignment(a);

      if (index.is_unknown)
        return (Number){0, TRUE, NULL, NULL};
      if (index.n < 0 && value)
        index.n += value->n;
      key = ra_shell_printf(a->e->arena, "%" G_GINT64_FORMAT, index.n);
    }
    if (!take(a, "]"))
      return fail(a, "']' is missing");
  }
  return variable(a, name, key);
}

static Number
take_number(Arith *a)
{
  char *end;
  guint64 base = 0;
  guint64 value = g_ascii_strtoull(a->at, &end, 0);

  if (*end == '#' && end > a->at) { /* base#digits */
    base = value;
    if (base < 2 || base > 36)
      return fail(a, "no base of numbers");
    a->at = end + 1;
    value = g_ascii_strtoull(a->at, &end, (guint)base);
  }
  if (g_ascii_isalnum(*end) || *end == '_' || *end == '.')
    return fail(a, "no whole number");
  a->at = end;
  return number((gint64)value);
}

static void
store(Arith *a, Number to, Number value)
{
  const char *text;

  if (a->skips || !to.name || a->e->guessing)
    return;
  if (value.is_unknown) {
    g_autofree char *plain = ra_shell_plain(a->text);
    g_autofree char *whole = g_strdup_printf("$((%s))", plain);

    text = ra_shell_unknown(a->e, whole, NULL);
  } else {
    text = ra_shell_printf(a->e->arena, "%" G_GINT64_FORMAT, value.n);
  }
  ra_shell_set_item(a->e, to.name, to.key, text, FALSE);
}

static gint64
add(gint64 a, gint64 b)
{
  return (gint64)((guint64)a + (guint64)b);
}

static Number
primary(Arith *a)
{
  Number n;

  blank(a);
  if (*a->at == RA_SHELL_BEGIN) {
    const char *end = ra_shell_region_end(a->at);
    const char *region = ra_shell_keep(a->e, a->at, (gsize)(end - a->at));
    const char *guess = ra_shell_guess(a->e, region);

    a->at = end;
    if (g_ascii_isalnum(*end) || *end == '_' || *end == RA_SHELL_BEGIN) {
      while (g_ascii_isalnum(*a->at) || *a->at == '_')
        a->at++;
      return (Number){0, TRUE, NULL, NULL};
    }
    if (a->e->guessing && guess)
      return value_of(a, guess);
    return (Number){0, TRUE, NULL, NULL};
  }
  if (take(a, "(")) {
    if (a->depth++ > DEPTH_MAX)
      return fail(a, "nested too deep");
    n = assignment(a);
    while (take(a, ","))
      n = assignment(a);
    a->depth--;
    n.name = NULL;
    return take(a, ")") ? n : fail(a, "')' is missing");
  }
  if (g_ascii_isdigit(*a->at))
    return take_number(a);
  if (g_ascii_isalpha(*a->at) || *a->at == '_') {
    n = take_variable(a);
    for (int sign = 1; sign >= -1; sign -= 2) {
      if (n.name && take(a, sign > 0 ? "++" : "--")) {
        Number next = {add(n.n, sign), n.is_unknown, NULL, NULL};

        store(a, n, next);
        n.name = NULL;
      }
    }
    return n;
  }
  return fail(a, "no arithmetic");
}

static Number
unary(Arith *a)
{
  Number n;

  if (!ra_shell_step(a->e))
    return number(0);
  if (a->depth > DEPTH_MAX)
    return fail(a, "nested too deep");
  blank(a);
  for (int sign = 1; sign >= -1; sign -= 2) {
    if (take(a, sign > 0 ? "++" : "--")) {
      Number next;

      a->depth++;
      n = unary(a);
      a->depth--;
      next = (Number){add(n.n, sign), n.is_unknown, NULL, NULL};
      store(a, n, next);
      return next;
    }
  }
  if (*a->at && strchr("+-!~", *a->at)) {
    char op = *a->at++;

    a->depth++;
    n = unary(a);
    a->depth--;
    n.name = NULL;
    n.n = op == '-'   ? (gint64)(0 - (guint64)n.n)
          : op == '!' ? !n.n
          : op == '~' ? ~n.n
                      : n.n;
    return n;
  }
  return primary(a);
}

static gint64
power(Arith *a, gint64 base, gint64 exponent)
{
  guint64 value = 1, factor = (guint64)base;

  if (exponent < 0)
    fail(a, "an exponent below 0");
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1)
      value *= factor;
    factor *= factor;
  }
  return (gint64)value;
}

static const struct {
  const char *op;
  guint level;
} operators[] = {
    /* longer first where one begins another */
    {"**", 11}, {"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7},
    {"==", 6},  {"!=", 6}, {"&&", 2}, {"||", 1}, {"*", 10},
    {"/", 10},  {"%", 10}, {"+", 9},  {"-", 9},  {"<", 7},
    {">", 7},   {"&", 5},  {"^", 4},  {"|", 3}};

/* Index of the operator that comes; G_N_ELEMENTS: none, or an assignment. */
static guint
peek(Arith *a)
{
  blank(a);
  for (guint i = 0; i < G_N_ELEMENTS(operators); i++) {
    gsize n = strlen(operators[i].op);

    if (!g_str_has_prefix(a->at, operators[i].op))
      continue;
    if (a->at[n] == '=' && !strchr("=!", *operators[i].op) &&
        !(n == 2 && a->at[1] == '='))
      return G_N_ELEMENTS(operators); /* += and so on */
    return i;
  }
  return G_N_ELEMENTS(operators);
}

static gint64
shift(gint64 n, gint64 by, gboolean left)
{
  guint bits = (guint)((guint64)by & 63);

  if (left)
    return (gint64)((guint64)n << bits);
  return n >= 0 ? n >> bits : ~(~n >> bits);
}

static gint64
divide(Arith *a, gint64 x, gint64 y, gboolean is_rest)
{
  if (y == 0) {
    fail(a, "a division by 0");
    return 0;
  }
  if (y == -1) /* the least number has no opposite */
    return is_rest ? 0 : (gint64)(0 - (guint64)x);
  return is_rest ? x % y : x / y;
}

static gint64
apply(Arith *a, const char *op, gint64 x, gint64 y)
{
  switch (*op) {
  case '*':
    return op[1] == '*' ? power(a, x, y) : (gint64)((guint64)x * (guint64)y);
  case '/':
  case '%':
    return divide(a, x, y, *op == '%');
  case '+':
    return add(x, y);
  case '-':
    return (gint64)((guint64)x - (guint64)y);
  case '<':
    return op[1] == '<' ? shift(x, y, TRUE) : op[1] == '=' ? x <= y : x < y;
  case '>':
    return op[1] == '>' ? shift(x, y, FALSE) : op[1] == '=' ? x >= y : x > y;
  case '=':
    return x == y;
  case '!':
    return x != y;
  case '&':
    return op[1] ? x && y : (x & y);
  case '^':
    return x ^ y;
  default:
    return op[1] ? x || y : (x | y);
  }
}

static Number
binary(Arith *a, guint level)
{
  Number left = unary(a), right;
  guint i;

  while ((i = peek(a)) < G_N_ELEMENTS(operators) &&
         operators[i].level >= level && !a->e->error) {
    const char *op = operators[i].op;
    gboolean skips = a->skips, is_or = g_str_equal(op, "||");
    gboolean is_logic = is_or || g_str_equal(op, "&&");
    gboolean decides = is_logic && !left.is_unknown && !left.n == !is_or;

    a->at += strlen(op);
    if (a->depth++ > DEPTH_MAX)
      return fail(a, "nested too deep");
    a->skips |= decides;
    right = binary(a, operators[i].level + (*op != '*' || !op[1]));
    a->skips = skips;
    a->depth--;
    if (decides) {
      left = number(is_or);
    } else if (is_logic && !right.is_unknown && !right.n == !is_or) {
      left = number(is_or); /* whatever the left is */
    } else if (left.is_unknown || right.is_unknown) {
      left = (Number){0, TRUE, NULL, NULL};
    } else {
      left = number(a->skips ? 0 : apply(a, op, left.n, right.n));
    }
  }
  return left;
}

static Number
conditional(Arith *a)
{
  Number test = binary(a, 1), yes, no;
  gboolean skips = a->skips;

  if (!take(a, "?"))
    return test;
  if (a->depth++ > DEPTH_MAX)
    return fail(a, "nested too deep");
  a->skips = skips || (!test.is_unknown && !test.n);
  yes = assignment(a);
  if (!take(a, ":"))
    return fail(a, "':' is missing");
  a->skips = skips || (!test.is_unknown && test.n);
  no = assignment(a);
  a->skips = skips;
  a->depth--;
  yes.name = no.name = NULL;
  if (test.is_unknown)
    return (Number){0, TRUE, NULL, NULL};
  return test.n ? yes : no;
}

static Number
assignment(Arith *a)
{
  static const char *const ops[] = {
      "<<=", ">>=", "*=", "/=", "%=", "+=", "-=", "&=", "^=", "|="};
  Number left, right;

  if (!ra_shell_step(a->e))
    return number(0);
  left = conditional(a);
  if (!left.name)
    return left;
  blank(a);
  if (*a->at == '=' && a->at[1] != '=') {
    a->at++;
    if (a->depth++ > DEPTH_MAX)
      return fail(a, "nested too deep");
    right = assignment(a);
    a->depth--;
    right.name = NULL;
    store(a, left, right);
    return right;
  }
  for (guint i = 0; i < G_N_ELEMENTS(ops); i++) {
    g_autofree char *op = g_strndup(ops[i], strlen(ops[i]) - 1);

    if (!take(a, ops[i]))
      continue;
    right = assignment(a);
    right.is_unknown |= left.is_unknown;
    right.name = NULL;
    if (!right.is_unknown && !a->skips)
      right.n = apply(a, op, left.n, right.n);
    store(a, left, right);
    return right;
  }
  return left;
}

gboolean
ra_shell_arith(RaShellEval *e, const char *text, gint64 *out)
{
  Arith a = {e, text, text, FALSE, 0};
  Number n = {0, FALSE, NULL, NULL};

  *out = 0;
  if (e->error)
    return TRUE;
  blank(&a);
  if (*a.at) {
    n = assignment(&a);
    while (take(&a, ",") && !e->error)
      n = assignment(&a);
  }
  blank(&a);
  if (*a.at)
    fail(&a, "no arithmetic");
  *out = n.n;
  return !n.is_unknown;
}

RaShellTruth
ra_shell_arith_truth(RaShellEval *e, const char *text)
{
  gint64 n;
  gboolean is_known = ra_shell_arith(e, text, &n);

  if (is_known)
    return n ? RA_SHELL_YES : RA_SHELL_NO;
  if (e->guessing || !ra_shell_guess(e, text))
    return RA_SHELL_MAYBE;
  e->guessing = TRUE;
  is_known = ra_shell_arith(e, text, &n);
  e->guessing = FALSE;
  if (!is_known)
    return RA_SHELL_MAYBE;
  return n ? RA_SHELL_MAYBE_YES : RA_SHELL_MAYBE_NO;
}
