/* Checks of a workload's texts against its laws, calls and models. */
#include "config.h"

#include "base/text.h"
#include "graph/input/workload_read.h"

gboolean
ra_workload_read_data(RaWorkload *workload, const RaWorkloadKeys *keys,
                      GError **error)
{
  const char *name = ra_key_file_name(workload->file);
  GError *cause = NULL;
  g_autofree char *path = NULL;

  if (!keys->data)
    return TRUE;
  path = ra_share_find("texts", keys->data, name, &cause);
  if (path)
    workload->data = ra_text_data_load(path, keys->data_tokens == 1, &cause);
  if (workload->data)
    return TRUE;
  ra_key_file_fail(workload->file, keys->group, "data", error, "'data': %s",
                   cause->message);
  g_error_free(cause);
  return FALSE;
}

static gboolean
check_lengths(const RaWorkload *w, guint group, GError **error)
{
  for (uint32_t row = 0; row < w->data->n_rows; row++)
    for (uint32_t field = 0; field < w->data->n_fields; field++) {
      uint32_t n, most = field == 0 ? w->prompt_length.max_tokens
                                    : w->response_length.max_tokens;

      ra_text_data_field(w->data, row, field, &n);
      if (n > most)
        return ra_key_file_fail(
            w->file, group, field == 0 ? "prompt-length" : "response-length",
            error,
            "text %u of the data has %u tokens, expected at most %u, the "
            "maximum of its length distribution",
            row + 1, n, most);
    }
  return TRUE;
}

gboolean
ra_workload_check_data(const RaWorkload *w, guint group, GError **error)
{
  if (!w->data)
    return TRUE;
  for (guint i = 0; i < w->n_calls; i++) {
    const RaCall *c = &w->calls[i];

    if (c->set == i && c->kind != RA_CALL_GENERATE &&
        c->samples_per_prompt >= w->data->n_fields)
      return ra_key_file_fail(
          w->file, group, "data", error,
          "the data has %u responses per prompt, expected %u for call '%s'",
          w->data->n_fields - 1, c->samples_per_prompt, c->name);
  }
  for (guint i = 0; i < w->n_models; i++)
    if (w->data->n_vocab > w->models[i].model->vocab)
      return ra_key_file_fail(w->file, group, "data", error,
                              "token %u of the data, expected less than %u, "
                              "the vocabulary of '%s'",
                              w->data->n_vocab - 1, w->models[i].model->vocab,
                              w->models[i].name);
  return check_lengths(w, group, error);
}
