/* Answers of a run as text. */
#include "config.h"

#include "study/run/run_texts.h"

static void
add_bytes(GString *out, const uint32_t *tokens, uint32_t n)
{
  g_autoptr(GString) bytes = g_string_new(NULL);
  g_autofree char *shown = NULL;

  for (uint32_t i = 0; i < n; i++)
    /* A token that is no byte of text: one beyond them, or a NUL. */
    g_string_append_c(bytes,
                      tokens[i] > 0 && tokens[i] < 256 ? (char)tokens[i] : '?');
  shown = g_strescape(bytes->str, NULL);
  g_string_append(out, shown);
}

static void
add_ids(GString *out, const uint32_t *tokens, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    g_string_append_printf(out, "%s%u", i > 0 ? " " : "", tokens[i]);
}

char *
ra_run_texts(const RaExecution *x, uint32_t n)
{
  const RaWorkload *w = x->setup->plan->workload;
  const RaExperience *e =
      ra_run_experience(x->run, x->augmented->n_iterations - 1);
  gboolean bytes = w->data && w->data->bytes;
  GString *out = g_string_new(NULL);

  for (uint32_t call = 0; call < w->n_calls; call++) {
    const RaExperienceSet *set = &e->sets[call];
    const RaColumn *text;

    if (w->calls[call].kind != RA_CALL_GENERATE)
      continue;
    text = ra_experience_column(e, call, TRUE, RA_NONE);
    for (uint32_t i = 0; i < MIN(n, set->seqs->n_sequences); i++) {
      const uint32_t *tokens = text->tokens + set->text_begin[i];
      uint32_t prompt = set->seqs->prompt[i];

      g_string_append_printf(out, "%s: ", w->calls[call].name);
      (bytes ? add_bytes : add_ids)(out, tokens, prompt);
      g_string_append(out, bytes ? "|" : " | ");
      (bytes ? add_bytes : add_ids)(out, tokens + prompt,
                                    set->seqs->response[i]);
      g_string_append_c(out, '\n');
    }
  }
  return g_string_free(out, FALSE);
}
