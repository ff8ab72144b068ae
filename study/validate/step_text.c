/* Numbers in texts for people. */
#include "config.h"

#include <string.h>

#include "study/validate/step_text.h"

/* Sum, product, number of thousands of 1024. */
#define EXPRESSION "(\\(?[0-9][0-9.]*k?(?:\\+[0-9]+)?\\)?(?:\\*[0-9]+)?)"
#define COUNT "\\b([0-9]+)"

static double
value_of(const char *text)
{
  double sum = 0, factor = 1;
  const char *at = text;

  while (*at) {
    char *end;
    double value;

    if (*at == '*') {
      factor *= g_ascii_strtod(at + 1, &end);
      at = end > at + 1 ? end : at + 1;
      continue;
    }
    value = g_ascii_strtod(at, &end);
    if (end == at) {
      at++;
      continue;
    }
    if (*end == 'k' || *end == 'K')
      value *= 1024;
    sum += value;
    at = end;
  }
  return sum * factor;
}

gboolean
ra_phrase_number(const char *text, const char *pattern, double *out_value)
{
  g_autoptr(GRegex) regex = g_regex_new(pattern, G_REGEX_CASELESS, 0, NULL);
  g_autoptr(GMatchInfo) match = NULL;
  g_autofree char *group = NULL;

  g_return_val_if_fail(regex != NULL, FALSE);
  if (!g_regex_match(regex, text, 0, &match))
    return FALSE;
  group = g_match_info_fetch(match, 1);
  *out_value = value_of(group);
  return *out_value > 0 && *out_value < 1e9;
}

static uint32_t
first_of(const char *text, const char *const *patterns)
{
  double value;

  for (guint i = 0; patterns[i]; i++) {
    if (ra_phrase_number(text, patterns[i], &value))
      return (uint32_t)value;
  }
  return 0;
}

RaStepMicro
ra_phrase_micro(const char *text)
{
  static const char *const tokens[] = {EXPRESSION
                                       " *(?:k )?tokens(?:/GPU)?(?! a bin)",
                                       "token limit.*?: *([0-9]+)", NULL};
  static const char *const logprob_tokens[] = {
      "; *" EXPRESSION " *(?:tokens/GPU )?log",
      "\\*[0-9]+ tokens/GPU train; \\*" COUNT, NULL};
  static const char *const bins[] = {COUNT " tokens a bin", NULL};
  static const char *const sequences[] = {
      "actor " COUNT,         "mbs " COUNT,  "^" COUNT "\\b(?! sequence)",
      "^global micro " COUNT, "size " COUNT, NULL};
  static const char *const logprob_sequences[] = {
      "logprob(?: mbs)? " COUNT, "log prob " COUNT, "; " COUNT " log", NULL};
  RaStepMicro micro = {.tokens = 0};
  uint32_t bin = first_of(text, bins);

  micro.global = strstr(text, "global micro") != NULL;
  if (bin == 0 && (micro.tokens = first_of(text, tokens)) > 0) {
    micro.logprob_tokens = first_of(text, logprob_tokens);
    if (micro.logprob_tokens < 1024)
      micro.logprob_tokens = micro.tokens;
    return micro;
  }
  micro.sequences = first_of(text, sequences);
  micro.logprob_sequences = first_of(text, logprob_sequences);
  if (bin > 0 && strstr(text, "packing on")) {
    micro.tokens = bin * MAX(1, micro.sequences);
    micro.logprob_tokens = bin * MAX(1, micro.logprob_sequences);
  }
  return micro;
}

/* Both numbers of @text. */
static gboolean
split_of(const char *text, uint32_t *out_train, uint32_t *out_generate)
{
  double train, generate;

  if (!ra_phrase_number(text, COUNT " *(?:GPUs )?:? *train", &train) ||
      !ra_phrase_number(text, COUNT " *(?:GPUs )?(?:rollout|gen)", &generate))
    return FALSE;
  *out_train = (uint32_t)train;
  *out_generate = (uint32_t)generate;
  return TRUE;
}

gboolean
ra_phrase_split(const char *placement, const char *notes, uint32_t *out_train,
                uint32_t *out_generate)
{
  return split_of(placement, out_train, out_generate) ||
         split_of(notes, out_train, out_generate);
}

void
ra_phrase_drafts(const char *notes, RaDrafts *out_drafts)
{
  double depth, accepted_percent;

  if (ra_phrase_number(notes, "speculative decoding depth ([0-9]+)", &depth) &&
      ra_phrase_number(notes, "acceptance ([0-9.]+) %", &accepted_percent))
    *out_drafts = (RaDrafts){.n_tokens = (uint32_t)depth,
                             .accepted_frac = accepted_percent / 100};
}
