/* Laws of lengths: parsing, sampling, means. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/text.h"
#include "graph/input/form.h"
#include "graph/input/length.h"

/* A lengths file is refused beyond this: 10^7 rows of 6 digits. */
#define MAX_FILE_BYTES ((gsize)64 << 20)

static const char *const law_words[] = {"fixed", "uniform", "lognormal",
                                        "file",  "replay",  NULL};

#define REPLAY_WORD 4 /* of law_words: a file in its order */

static const char law_usage[] = "fixed(n), uniform(min, max), "
                                "lognormal(mean, sd, max[, share at max]), "
                                "file(path:column) or replay(path:column)";

/* Column of @head, a CSV head line, named @column; NULL: the first. */
static gboolean
find_column(const char *path, guint line, const char *head, const char *column,
            guint *out_index, GError **error)
{
  g_auto(GStrv) names = g_strsplit(head, ",", -1);

  *out_index = 0;
  if (!column)
    return TRUE;
  for (guint i = 0; names[i]; i++) {
    if (g_str_equal(g_strstrip(names[i]), column)) {
      *out_index = i;
      return TRUE;
    }
  }
  g_autofree char *hint = ra_form_hint(column, (const char *const *)names);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s:%u: no column '%s', expected one of this head line%s", path,
              line, column, hint);
  return FALSE;
}

/* Tokens of column @column of a row; 0 if it is no length. */
static uint32_t
read_cell(const char *row, guint column)
{
  const char *begin = row;
  uint64_t value;

  for (guint i = 0; i < column; i++) {
    begin = strchr(begin, ',');
    if (!begin)
      return 0;
    begin++;
  }
  g_autofree char *cell = g_strstrip(g_strndup(begin, strcspn(begin, ",")));
  if (!ra_text_uint64(cell, &value) || value > RA_LENGTH_MAX_TOKENS)
    return 0;
  return (uint32_t)value;
}

/* Rows of a CSV @text; NULL on error. */
static GArray *
read_rows(const char *path, char *text, const char *column, GError **error)
{
  g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  gboolean have_head = FALSE;
  guint index = 0;
  guint line = 0;

  for (char *row = text, *next; row; row = next) {
    next = strchr(row, '\n');
    if (next)
      *next++ = '\0';
    line++;
    g_strchomp(row);
    if (*row == '\0' || *row == '#')
      continue;
    if (!have_head) {
      if (!find_column(path, line, row, column, &index, error))
        return NULL;
      have_head = TRUE;
      continue;
    }
    uint32_t n_tokens = read_cell(row, index);
    if (n_tokens == 0) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s:%u: no length in column %u, expected a whole number "
                  "of tokens from 1 to %u",
                  path, line, index + 1, RA_LENGTH_MAX_TOKENS);
      return NULL;
    }
    g_array_append_val(samples, n_tokens);
  }
  if (samples->len == 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s:%u: no lengths, expected a head line and at least one row",
                path, MAX(line, 1));
    return NULL;
  }
  return g_steal_pointer(&samples);
}

/* Refuses a table with characters that a message could not show. */
static gboolean
check_text(const char *path, const char *text, gsize n_bytes, GError **error)
{
  gboolean valid = g_utf8_validate_len(text, n_bytes, NULL);
  guint line = 1;

  if (n_bytes > strlen(text)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s:1: a NUL byte, expected CSV text", path);
    return FALSE;
  }
  for (const char *p = text; *p && valid; p++) {
    line += *p == '\n';
    if (g_ascii_iscntrl(*p) && *p != '\n' && *p != '\t' &&
        !(p[0] == '\r' && p[1] == '\n')) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s:%u: a control character, expected CSV text", path, line);
      return FALSE;
    }
  }
  if (!valid)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s:1: invalid UTF-8, expected CSV text", path);
  return valid;
}

static int
compare_tokens(const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static gboolean
parse_file(const char *arg, const char *relative_to, RaLength *law,
           GError **error)
{
  g_autofree char *name = g_strdup(arg);
  char *column = strrchr(name, ':');
  g_autofree char *path = NULL;
  g_autofree char *text = NULL;
  gsize n_bytes;

  if (column)
    *column++ = '\0';
  if (*name == '\0' || (column && *column == '\0')) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "file is '%s', expected path or path:column", arg);
    return FALSE;
  }
  path = ra_share_find("lengths", name, relative_to, error);
  if (!path || !ra_file_read(path, MAX_FILE_BYTES, &text, &n_bytes, error))
    return FALSE;
  if (!check_text(path, text, n_bytes, error))
    return FALSE;
  GArray *samples = read_rows(path, text, column, error);
  if (!samples)
    return FALSE;
  law->n_samples = samples->len;
  law->samples = (uint32_t *)(void *)g_array_free(samples, FALSE);
  law->sorted = g_new(uint32_t, law->n_samples);
  memcpy(law->sorted, law->samples, law->n_samples * sizeof *law->sorted);
  qsort(law->sorted, law->n_samples, sizeof *law->sorted, compare_tokens);
  law->min_tokens = law->sorted[0];
  law->max_tokens = law->sorted[law->n_samples - 1];
  return TRUE;
}

static double
lognormal_mean(const RaLength *law)
{
  double m = law->log_mean;
  double s = law->log_sd;
  double cut = law->max_tokens;
  double z = fmin((ra_log(cut) - m) / s, law->full_z);
  double mean = law->whole_tokens * ra_normal_cdf(z - s) +
                cut * (1.0 - ra_normal_cdf(z)) + ra_normal_cdf(-m / s) -
                law->whole_tokens * ra_normal_cdf(-m / s - s);

  return CLAMP(mean, 1.0, cut);
}

static void
shift_lognormal(RaLength *law, double log_mean)
{
  law->log_mean = log_mean;
  law->whole_tokens = ra_exp(log_mean + law->log_sd * law->log_sd / 2);
}

/* Shifts the logarithm until the cut lengths have the mean written.  The mean
 * rises with the shift: 9 deviations below 1 nearly all lengths are 1, and
 * as far above the maximum nearly all are cut. */
static void
fit_lognormal(RaLength *law)
{
  double low = -9 * law->log_sd;
  double high = ra_log(law->max_tokens) + 9 * law->log_sd;

  for (guint i = 0; i < 60; i++) {
    shift_lognormal(law, (low + high) / 2);
    if (lognormal_mean(law) < law->mean_tokens)
      low = law->log_mean;
    else
      high = law->log_mean;
  }
}

/* The share of samples that run on to the maximum; their part of the mean
 * leaves at least a token for each of the others. */
static gboolean
parse_full(const char *arg, RaLength *law, GError **error)
{
  law->full_z = G_MAXDOUBLE;
  if (!arg)
    return TRUE;
  if (!ra_form_double(arg, "share at max", 0, 1, &law->full_frac, error))
    return FALSE;
  if (law->full_frac * law->max_tokens + 1 - law->full_frac >=
      law->mean_tokens) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "share at max is '%s', expected one whose samples leave a part "
                "of the mean to the others",
                arg);
    return FALSE;
  }
  if (law->full_frac > 0)
    law->full_z = ra_normal_quantile(1 - law->full_frac);
  return TRUE;
}

static gboolean
parse_lognormal(char **args, const char *full, RaLength *law, GError **error)
{
  /* The standard deviation's bound keeps e^(m + 9 s) far from overflow. */
  if (!ra_form_double(args[0], "mean", 1, RA_LENGTH_MAX_TOKENS,
                      &law->mean_tokens, error) ||
      !ra_form_double(args[1], "sd", 1e-3, RA_LENGTH_MAX_TOKENS,
                      &law->sd_tokens, error) ||
      !ra_form_uint32(args[2], "max", 1, RA_LENGTH_MAX_TOKENS, &law->max_tokens,
                      error))
    return FALSE;
  if (law->mean_tokens >= law->max_tokens) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "mean is '%s', expected less than the maximum '%s' (or "
                "fixed(n))",
                args[0], args[2]);
    return FALSE;
  }
  if (!parse_full(full, law, error))
    return FALSE;
  double cv = law->sd_tokens / law->mean_tokens;

  /* Mean e^(m + s^2 / 2) and variance mean^2 (e^(s^2) - 1), solved for the
   * logarithm's m and s. */
  double variance = ra_log(1.0 + cv * cv);
  law->log_sd = sqrt(variance);
  law->log_mean = ra_log(law->mean_tokens) - variance / 2;
  law->whole_tokens = law->mean_tokens;
  law->min_tokens = 1;
  if (law->log_sd > 0) {
    if (fabs(lognormal_mean(law) - law->mean_tokens) > 0.5)
      fit_lognormal(law);
    return TRUE;
  }
  g_set_error(
      error, RA_ERROR, RA_ERROR_INPUT,
      "sd is '%s', expected more than 0 with a mean of '%s' (or fixed(n))",
      args[1], args[0]);
  return FALSE;
}

static gboolean
parse_args(RaForm *form, const char *relative_to, RaLength *law, GError **error)
{
  switch (law->kind) {
  case RA_LENGTH_FIXED:
    if (!ra_form_uint32(form->args[0], "length", 1, RA_LENGTH_MAX_TOKENS,
                        &law->min_tokens, error))
      return FALSE;
    law->max_tokens = law->min_tokens;
    return TRUE;
  case RA_LENGTH_UNIFORM:
    return ra_form_uint32(form->args[0], "min", 1, RA_LENGTH_MAX_TOKENS,
                          &law->min_tokens, error) &&
           ra_form_uint32(form->args[1], "max", law->min_tokens,
                          RA_LENGTH_MAX_TOKENS, &law->max_tokens, error);
  case RA_LENGTH_LOGNORMAL:
    return parse_lognormal(form->args, form->n_args > 3 ? form->args[3] : NULL,
                           law, error);
  case RA_LENGTH_FILE:
    return parse_file(form->args[0], relative_to, law, error);
  default:
    g_assert_not_reached();
  }
}

gboolean
ra_length_parse(const char *text, const char *relative_to, RaLength *out_length,
                GError **error)
{
  static const guint n_args[] = {1, 2, 3, 1, 1};
  g_auto(RaForm) form = {0};
  RaLength law = {0};
  guint kind = 0;

  g_return_val_if_fail(text != NULL && out_length != NULL, FALSE);
  if (!ra_form_parse(text, &form, error))
    return FALSE;
  while (law_words[kind] && !g_str_equal(law_words[kind], form.word))
    kind++;
  if (!law_words[kind]) {
    g_autofree char *hint = ra_form_hint(form.word, law_words);
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "unknown length distribution '%s', expected %s%s", form.word,
                law_usage, hint);
    return FALSE;
  }
  if (form.n_args != n_args[kind] &&
      !(kind == RA_LENGTH_LOGNORMAL && form.n_args == n_args[kind] + 1)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' has %u arguments, expected %u as in %s", form.word,
                form.n_args, n_args[kind], law_usage);
    return FALSE;
  }
  law.in_order = kind == REPLAY_WORD;
  law.kind = law.in_order ? RA_LENGTH_FILE : (RaLengthKind)kind;
  if (!parse_args(&form, relative_to, &law, error))
    return FALSE;
  *out_length = law;
  return TRUE;
}

void
ra_length_clear(RaLength *length)
{
  g_clear_pointer(&length->samples, g_free);
  g_clear_pointer(&length->sorted, g_free);
  length->n_samples = 0;
}

static uint32_t
lognormal_at(const RaLength *law, double z)
{
  double x = ra_exp(law->log_mean + law->log_sd * z);

  if (x >= law->max_tokens || z >= law->full_z)
    return law->max_tokens;
  return MAX((uint32_t)(x + 0.5), 1);
}

uint32_t
ra_length_replay(const RaLength *length, uint64_t index)
{
  g_return_val_if_fail(length->in_order, 0);
  return length->samples[index % length->n_samples];
}

uint32_t
ra_length_draw(const RaLength *length, uint64_t seed, uint64_t stream,
               uint64_t index)
{
  RaRng rng = ra_rng_init(seed, stream);
  uint32_t n;
  double x;

  rng.counter = index;
  switch (length->kind) {
  case RA_LENGTH_FIXED:
    return length->min_tokens;
  case RA_LENGTH_LOGNORMAL:
    return lognormal_at(length, ra_rng_normal(&rng));
  case RA_LENGTH_UNIFORM:
  case RA_LENGTH_FILE:
    n = length->kind == RA_LENGTH_FILE
            ? length->n_samples
            : length->max_tokens - length->min_tokens + 1;
    /* One number a draw, so that index i never shares with index i + 1, as
     * rejection would. */
    x = ra_rng_uniform(&rng) * n;
    n = MIN((uint32_t)x, n - 1);
    return length->kind == RA_LENGTH_FILE ? length->samples[n]
                                          : length->min_tokens + n;
  default:
    g_assert_not_reached();
  }
}

uint32_t
ra_length_at(const RaLength *length, double z)
{
  uint32_t n, at;

  if (length->kind == RA_LENGTH_FIXED)
    return length->min_tokens;
  if (length->kind == RA_LENGTH_LOGNORMAL)
    return lognormal_at(length, z);
  n = length->kind == RA_LENGTH_FILE
          ? length->n_samples
          : length->max_tokens - length->min_tokens + 1;
  at = MIN((uint32_t)(ra_normal_cdf(z) * n), n - 1);
  return length->kind == RA_LENGTH_FILE ? length->sorted[at]
                                        : length->min_tokens + at;
}

uint32_t
ra_length_draw_in_group(const RaLength *length, uint64_t seed, uint64_t stream,
                        uint64_t index, uint64_t group_stream, uint64_t group,
                        double correlation)
{
  RaRng own = ra_rng_init(seed, stream);
  RaRng shared = ra_rng_init(seed, group_stream);

  if (correlation == 0)
    return ra_length_draw(length, seed, stream, index);
  own.counter = index;
  shared.counter = group;
  return ra_length_at(length, sqrt(correlation) * ra_rng_normal(&shared) +
                                  sqrt(1 - correlation) * ra_rng_normal(&own));
}

double
ra_length_mean(const RaLength *length)
{
  uint64_t sum = 0;

  switch (length->kind) {
  case RA_LENGTH_FIXED:
    return length->min_tokens;
  case RA_LENGTH_UNIFORM:
    return ((double)length->min_tokens + length->max_tokens) / 2;
  case RA_LENGTH_LOGNORMAL:
    return lognormal_mean(length);
  case RA_LENGTH_FILE:
    for (guint i = 0; i < length->n_samples; i++)
      sum += length->samples[i];
    return (double)sum / length->n_samples;
  default:
    g_assert_not_reached();
  }
}

RaLength
ra_length_at_mean(const RaLength *length)
{
  uint32_t tokens = MAX((uint32_t)lround(ra_length_mean(length)), 1u);

  return (RaLength){
      .kind = RA_LENGTH_FIXED, .min_tokens = tokens, .max_tokens = tokens};
}
