/* Arithmetic in settings: the expression of ${eval:...}. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "study/convert/setting_impl.h"

#define DEPTH_MAX 32 /* parentheses */

typedef struct {
  const char *at;
  guint depth;
  gboolean failed;
} Expression;

static double read_sum(Expression *e);

static gboolean
skip(Expression *e, const char *word)
{
  while (*e->at == ' ')
    e->at++;
  if (!g_str_has_prefix(e->at, word))
    return FALSE;
  e->at += strlen(word);
  return TRUE;
}

/* int(x), max(x, y), min(x, y), (x). */
static double
read_call(Expression *e, const char *name)
{
  double x = 0, y;

  if (!skip(e, "(") || ++e->depth > DEPTH_MAX) {
    e->failed = TRUE;
    return 0;
  }
  x = read_sum(e);
  while (skip(e, ",")) {
    y = read_sum(e);
    if (g_str_equal(name, "max"))
      x = MAX(x, y);
    else if (g_str_equal(name, "min"))
      x = MIN(x, y);
    else
      e->failed = TRUE;
  }
  e->failed |= !skip(e, ")");
  e->depth--;
  if (g_str_equal(name, "int"))
    x = trunc(x);
  else
    e->failed |= *name && !g_str_equal(name, "max") &&
                 !g_str_equal(name, "min") && !g_str_equal(name, "float");
  return x;
}

static double
read_value(Expression *e)
{
  gboolean minus = skip(e, "-");
  gsize n = 0;
  double x;

  while (g_ascii_isalnum(e->at[n]) || e->at[n] == '.' || e->at[n] == '_')
    n++;
  g_autofree char *word = g_strndup(e->at, n);

  e->at += n;
  if (n == 0 || g_ascii_isalpha(*word))
    x = read_call(e, word);
  else if (!ra_text_double(word, &x))
    e->failed = TRUE;
  return minus ? -x : x;
}

static double
read_product(Expression *e)
{
  double x = read_value(e);

  while (!e->failed) {
    gboolean whole = skip(e, "//"), over = whole || skip(e, "/");
    gboolean rest = !over && skip(e, "%");
    double y;

    if (!over && !rest && !skip(e, "*"))
      break;
    y = read_value(e);
    if ((over || rest) && y == 0)
      e->failed = TRUE;
    else
      x = whole  ? floor(x / y)
          : over ? x / y
          : rest ? x - y * floor(x / y)
                 : x * y;
  }
  return x;
}

static double
read_sum(Expression *e)
{
  double x = read_product(e);

  while (!e->failed) {
    if (skip(e, "+"))
      x += read_product(e);
    else if (skip(e, "-"))
      x -= read_product(e);
    else
      break;
  }
  return x;
}

char *
ra_settings_number(double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  return isfinite(value)
             ? g_strdup(g_ascii_formatd(text, sizeof(text), "%.15g", value))
             : NULL;
}

char *
ra_settings_calculate(const char *text)
{
  Expression e = {text, 0, FALSE};
  double value = read_sum(&e);

  skip(&e, "");
  return e.failed || *e.at ? NULL : ra_settings_number(value);
}
