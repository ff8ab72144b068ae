/* Turns and tool calls of sequences: laws, checks, sampling. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/units.h"
#include "graph/input/form.h"
#include "graph/input/turns.h"

/* Streams of random numbers of an iteration, as in graph/expand/sequence.c. */
#define TURNS_STREAM (UINT32_C(9) << 27)
#define RESPONSE_STREAM (UINT32_C(5) << 28)
#define TOOL_STREAM (UINT32_C(11) << 27)
#define LATENCY_STREAM (UINT32_C(13) << 27)
#define GROUP_STREAM (UINT32_C(1) << 31) /* that of the first turns */

static const char *const latency_words[] = {"constant", "exponential",
                                            "lognormal", NULL};

gboolean
ra_latency_parse(const char *text, RaLatency *out, GError **error)
{
  g_auto(RaForm) form = {0};
  RaLatency l = {0};
  guint kind = 0;

  if (!ra_form_parse(text, &form, error))
    return FALSE;
  while (latency_words[kind] && !g_str_equal(form.word, latency_words[kind]))
    kind++;
  if (!latency_words[kind] ||
      form.n_args != (kind == RA_LATENCY_LOGNORMAL ? 2 : 1)) {
    g_set_error(
        error, RA_ERROR, RA_ERROR_INPUT,
        "'%s' is not a time distribution, expected constant(time), "
        "exponential(mean) or lognormal(mean, sd), such as exponential(2 s)",
        text);
    return FALSE;
  }
  l.kind = (RaLatencyKind)kind;
  if (!ra_quantity_parse(form.args[0], RA_UNIT_SECONDS, &l.mean_s, error) ||
      (kind == RA_LATENCY_LOGNORMAL &&
       !ra_quantity_parse(form.args[1], RA_UNIT_SECONDS, &l.sd_s, error)))
    return FALSE;
  if (l.mean_s < 0 || l.mean_s > 1e6 || l.sd_s < 0 || l.sd_s > 1e6 ||
      (kind != RA_LATENCY_CONSTANT && l.mean_s <= 0)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' is out of range, expected times from 0 to 1e6 s and "
                "positive means of sampled times",
                text);
    return FALSE;
  }
  *out = l;
  return TRUE;
}

double
ra_latency_draw(const RaLatency *l, uint64_t seed, uint64_t stream,
                uint64_t index)
{
  RaRng rng = ra_rng_init(seed, stream);
  double ratio, s2;

  rng.counter = index;
  switch (l->kind) {
  case RA_LATENCY_EXPONENTIAL:
    return -l->mean_s * ra_log(ra_rng_uniform(&rng));
  case RA_LATENCY_LOGNORMAL:
    /* Mean m and deviation d: s^2 = ln(1 + (d / m)^2), mu = ln m - s^2 / 2. */
    ratio = l->sd_s / l->mean_s;
    s2 = ra_log(1 + ratio * ratio);
    return l->mean_s * ra_exp(sqrt(s2) * ra_rng_normal(&rng) - s2 / 2);
  default:
    return l->mean_s;
  }
}

gboolean
ra_turns_are_set(const RaWorkload *w)
{
  return w->turns.kind != RA_LENGTH_FIXED || w->turns.max_tokens > 1;
}

double
ra_turns_mean_tokens(const RaWorkload *w)
{
  double turns, response = ra_length_mean(&w->response_length);

  if (!ra_turns_are_set(w))
    return response;
  turns = ra_length_mean(&w->turns);
  return turns * response + (turns - 1) * ra_length_mean(&w->tool_tokens);
}

uint64_t
ra_turns_max_tokens(const RaWorkload *w)
{
  uint64_t response = w->response_length.max_tokens, n = w->turns.max_tokens;

  return ra_turns_are_set(w)
             ? n * response + (n - 1) * w->tool_tokens.max_tokens
             : response;
}

static gboolean
read_law(RaWorkload *w, guint group, const char *key, const char *text,
         RaLength *law, GError **error)
{
  GError *cause = NULL;

  if (ra_length_parse(text, ra_key_file_name(w->file), law, &cause))
    return TRUE;
  ra_key_file_fail(w->file, group, key, error, "'%s': %s", key, cause->message);
  g_error_free(cause);
  return FALSE;
}

static gboolean
read_latency(RaWorkload *w, guint group, const char *text, GError **error)
{
  GError *cause = NULL;

  if (ra_latency_parse(text, &w->tool_latency, &cause))
    return TRUE;
  ra_key_file_fail(w->file, group, "tool-latency", error, "'tool-latency': %s",
                   cause->message);
  g_error_free(cause);
  return FALSE;
}

gboolean
ra_turns_read(RaWorkload *w, guint group, const RaTurnKeys *keys,
              GError **error)
{
  const char *alone;

  if (!read_law(w, group, "turns", keys->turns ? keys->turns : "fixed(1)",
                &w->turns, error) ||
      !read_law(w, group, "tool-tokens",
                keys->tool_tokens ? keys->tool_tokens : "fixed(1)",
                &w->tool_tokens, error) ||
      !read_latency(w, group,
                    keys->tool_latency ? keys->tool_latency : "constant(0 s)",
                    error))
    return FALSE;
  w->n_sandboxes = keys->sandboxes;
  alone = keys->tool_tokens      ? "tool-tokens"
          : keys->tool_latency   ? "tool-latency"
          : keys->sandboxes != 0 ? "sandboxes"
                                 : NULL;
  if (!keys->turns && alone)
    return ra_key_file_fail(w->file, group, alone, error,
                            "'%s' alone, expected 'turns' too", alone);
  if (w->turns.max_tokens > RA_TURNS_MAX)
    return ra_key_file_fail(w->file, group, "turns", error,
                            "'turns' may be %u, expected at most %d",
                            w->turns.max_tokens, RA_TURNS_MAX);
  if (ra_turns_are_set(w) && !keys->tool_tokens)
    return ra_key_file_fail(w->file, group, "turns", error,
                            "'turns' alone, expected 'tool-tokens' too");
  if (ra_turns_are_set(w) &&
      w->prompt_length.max_tokens + ra_turns_max_tokens(w) >
          RA_LENGTH_MAX_TOKENS)
    return ra_key_file_fail(w->file, group, "turns", error,
                            "all turns may come to %" G_GUINT64_FORMAT
                            " tokens, expected at most %u with the prompt",
                            ra_turns_max_tokens(w), RA_LENGTH_MAX_TOKENS);
  return TRUE;
}

const RaTurns *
ra_turns_new(RaArena *arena, const RaWorkload *w, const RaTurnSource *source,
             uint32_t n)
{
  uint64_t high = (uint64_t)source->iteration << 32;
  uint32_t samples = w->calls[source->set].samples_per_prompt;
  RaTurns *turns = ra_arena_alloc(arena, 1, sizeof *turns);
  uint32_t *begin = ra_arena_alloc(arena, (gsize)n + 1, sizeof *begin);
  uint32_t *response, *tool;
  double *latency_s;

  for (uint32_t i = 0; i < n; i++)
    begin[i + 1] =
        begin[i] + ra_length_draw(&w->turns, source->seed,
                                  high | (TURNS_STREAM + source->set),
                                  source->index[i]);
  response = ra_arena_alloc(arena, begin[n], sizeof *response);
  tool = ra_arena_alloc(arena, begin[n], sizeof *tool);
  latency_s = ra_arena_alloc(arena, begin[n], sizeof *latency_s);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t t = begin[i]; t < begin[i + 1]; t++) {
      uint64_t at = (uint64_t)source->index[i] * RA_TURNS_MAX + (t - begin[i]);

      if (t == begin[i]) {
        response[t] = source->response[i];
        continue;
      }
      response[t] = ra_length_draw_in_group(
          &w->response_length, source->seed,
          high | (RESPONSE_STREAM + source->set), at,
          high | (GROUP_STREAM + source->set), source->index[i] / samples,
          w->response_correlation);
      tool[t] = ra_length_draw(&w->tool_tokens, source->seed,
                               high | (TOOL_STREAM + source->set), at);
      latency_s[t] = ra_latency_draw(&w->tool_latency, source->seed,
                                     high | (LATENCY_STREAM + source->set), at);
    }
  *turns = (RaTurns){begin, response, tool, latency_s};
  return turns;
}

uint32_t
ra_turns_tokens(const RaTurns *turns, uint32_t i)
{
  uint32_t sum = 0;

  for (uint32_t t = turns->begin[i]; t < turns->begin[i + 1]; t++)
    sum += turns->response[t] + turns->tool_tokens[t];
  return sum;
}
