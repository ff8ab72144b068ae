/* Values of the form word(argument, argument). */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/form.h"

/* The arguments between the parentheses of @inside, stripped; NULL if one is
 * empty or there are too many. */
static char **
split_args(const char *inside, guint *out_n_args)
{
  char **args = g_strsplit(inside, ",", RA_FORM_ARGS_MAX + 1);
  guint n_args = g_strv_length(args);
  gboolean good = n_args > 0 && n_args <= RA_FORM_ARGS_MAX;

  for (guint i = 0; i < n_args; i++) {
    g_strstrip(args[i]);
    good = good && *args[i] != '\0';
  }
  if (!good) {
    g_strfreev(args);
    return NULL;
  }
  *out_n_args = n_args;
  return args;
}

gboolean
ra_form_parse(const char *text, RaForm *out_form, GError **error)
{
  g_return_val_if_fail(text != NULL && out_form != NULL, FALSE);

  g_autofree char *copy = g_strstrip(g_strdup(text));
  char *open = strchr(copy, '(');
  gsize len = strlen(copy);
  char **args = NULL;
  guint n_args = 0;

  if (open && copy[len - 1] == ')') {
    copy[len - 1] = '\0';
    *open = '\0';
    args = split_args(open + 1, &n_args);
  } else if (!open && !strchr(copy, ')')) {
    args = g_new0(char *, 1);
  }
  g_strchomp(copy);
  if (!args || *copy == '\0') {
    g_strfreev(args);
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' cannot be read, expected word or "
                "word(argument, argument)",
                text);
    return FALSE;
  }
  out_form->word = g_steal_pointer(&copy);
  out_form->args = args;
  out_form->n_args = n_args;
  return TRUE;
}

void
ra_form_clear(RaForm *form)
{
  g_clear_pointer(&form->word, g_free);
  g_clear_pointer(&form->args, g_strfreev);
  form->n_args = 0;
}

char *
ra_form_hint(const char *word, const char *const *names)
{
  const char *near = ra_text_nearest(word, names);

  return near ? g_strdup_printf(", did you mean '%s'?", near) : g_strdup("");
}

gboolean
ra_form_uint32(const char *text, const char *what, uint32_t min, uint32_t max,
               uint32_t *out_value, GError **error)
{
  uint64_t value;

  if (!ra_text_uint64(text, &value) || value < min || value > max) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s is '%s', expected a whole number from %u to %u", what, text,
                min, max);
    return FALSE;
  }
  *out_value = (uint32_t)value;
  return TRUE;
}

gboolean
ra_form_double(const char *text, const char *what, double min, double max,
               double *out_value, GError **error)
{
  double value;

  if (!ra_text_double(text, &value) || !(value >= min && value <= max)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s is '%s', expected a number from %.9g to %.9g", what, text,
                min, max);
    return FALSE;
  }
  *out_value = value;
  return TRUE;
}
