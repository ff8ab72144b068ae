/* Value of the form `word` or `word(argument, argument)`.
 *
 * Files use it for laws, fabrics, schedules and granularities that carry
 * numbers: `lognormal(600, 450, 1024)`, `rail(leaf=32)`, `chunk(4)`, `flat`.
 *
 *     RaForm form;
 *     if (ra_form_parse("chunk(4)", &form, &error)) {
 *       form.word is "chunk", form.args[0] "4", form.n_args 1
 *       ra_form_clear(&form);
 *     }
 *
 * Invariants: the word and every argument are stripped and not empty.
 * Typical sizes: 0 to 3 arguments; more than RA_FORM_ARGS_MAX are refused.
 */
#ifndef RA_GRAPH_INPUT_FORM_H
#define RA_GRAPH_INPUT_FORM_H

#include <glib.h>
#include <stdint.h>

#define RA_FORM_ARGS_MAX 16

typedef struct {
  char *word;   /* before the parenthesis, owned */
  char **args;  /* (n_args) NULL-terminated, owned */
  guint n_args; /* 0 where there is no parenthesis */
} RaForm;

/**
 * ra_form_parse:
 * @text: value as in a file
 * @out_form: (out caller-allocates): ra_form_clear() it; untouched on error
 * @error: %RA_ERROR_INPUT without a place: a missing or misplaced parenthesis,
 *   an empty word or argument, too many arguments
 *
 * Cost: O(length).   Thread: any.
 *
 * Returns: %TRUE on success
 */
gboolean ra_form_parse(const char *text, RaForm *out_form, GError **error);

void ra_form_clear(RaForm *form);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaForm, ra_form_clear)

/* (transfer full): end of a message about @word: ", did you mean 'rail'?" if
 * one of the NULL-terminated @names resembles it, else "". */
char *ra_form_hint(const char *word, const char *const *names);

/**
 * ra_form_uint32:
 * @text: one argument
 * @what: its name, for the message
 * @min: least, inclusive
 * @max: largest, inclusive
 * @out_value: (out): untouched on error
 * @error: %RA_ERROR_INPUT without a place
 *
 * Returns: %TRUE if @text is a whole number within the bounds
 */
gboolean ra_form_uint32(const char *text, const char *what, uint32_t min,
                        uint32_t max, uint32_t *out_value, GError **error);

/* Like ra_form_uint32() for a real number, finite and within [@min, @max]. */
gboolean ra_form_double(const char *text, const char *what, double min,
                        double max, double *out_value, GError **error);

#endif
