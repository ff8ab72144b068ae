/* Fuzz entry of workloads: no text may crash the reader, and what it accepts
 * is the graph that graph/input/workload.h promises.
 *
 * Without a fuzzer check_workload_bad replays tests/corpus/workload.
 */
#include "config.h"

#include <string.h>

#include "graph/input/workload.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

static void
check_call(const RaWorkload *workload, uint32_t index, const gboolean *done)
{
  const RaCall *call = &workload->calls[index];

  g_assert(ra_workload_find_call(workload, call->name) == index);
  g_assert((call->model == RA_NONE) == (call->kind == RA_CALL_HOST));
  g_assert(call->n_inputs > 0 && call->n_parts > 0);
  for (guint i = 0; i < call->n_inputs; i++) {
    const RaInput *input = &call->inputs[i];

    g_assert(call->n_parts % input->n_chunks == 0);
    if (input->producer == RA_NONE)
      continue;
    g_assert(done[input->producer]);
    g_assert(workload->calls[input->producer].n_parts % input->n_chunks == 0);
  }
  g_assert(workload->n_prompts % call->n_parts == 0);
  g_assert(call->n_sequences ==
           (uint64_t)workload->n_prompts * call->samples_per_prompt);
  g_assert(call->n_sequences % call->n_mini_batches == 0);
  g_assert(workload->calls[call->set].set == call->set);
  if (call->kind == RA_CALL_TRAIN) {
    g_assert(workload->models[call->model].trainable);
    g_assert(call->n_mini_batches % call->n_parts == 0);
  }
}

static void
check_workload(const RaWorkload *workload)
{
  gboolean *done = g_new0(gboolean, workload->n_calls);

  for (guint i = 0; i < workload->n_calls; i++) {
    uint32_t index = workload->order[i];

    g_assert(index < workload->n_calls && !done[index]);
    check_call(workload, index, done);
    done[index] = TRUE;
  }
  for (guint i = 0; i < workload->n_models; i++)
    g_assert(workload->models[i].trainable ==
             (ra_workload_trainer(workload, i) != RA_NONE));
  for (guint i = 0; i < 100; i++) {
    const RaLength *law = &workload->response_length;
    uint32_t n_tokens = ra_length_draw(law, i, 1, i);

    g_assert(n_tokens >= law->min_tokens && n_tokens <= law->max_tokens);
  }
  g_assert(ra_length_mean(&workload->response_length) >= 1);
  g_free(done);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  GError *error = NULL;
  RaKeyFile *file =
      ra_key_file_parse("f.workload", (const char *)data, size, &error);
  RaWorkload *workload = file ? ra_workload_load(file, &error) : NULL;

  fuzz_accepted = workload != NULL;
  g_assert(fuzz_accepted == (error == NULL));
  if (error) {
    g_assert(strpbrk(error->message, "\n\r") == NULL);
    g_error_free(error);
  }
  if (workload)
    check_workload(workload);
  ra_workload_free(workload);
  if (file)
    ra_key_file_unref(file);
  return 0;
}
