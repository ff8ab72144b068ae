/* Edges, order, sequence sets and parts of a workload. */
#include "config.h"

#include "graph/input/dataflow.h"
#include "graph/input/form.h"

/* In the table of makers a name maps to the call's index + 1; the dataset's
 * names map to this. */
#define IN_DATASET UINT32_MAX

/* The group where @key of @call was given: its own or [workload]. */
static guint
key_group(const RaWorkload *workload, const RaCall *call, const char *key)
{
  guint common = (guint)ra_key_file_find_group(workload->file, "workload", "");

  if (ra_key_file_get(workload->file, call->group, key) ||
      !ra_key_file_get(workload->file, common, key))
    return call->group;
  return common;
}

static gboolean
add_dataset(const RaWorkload *workload, const char *const *dataset,
            GHashTable *makers, GError **error)
{
  guint group = (guint)ra_key_file_find_group(workload->file, "workload", "");

  for (guint i = 0; dataset[i]; i++) {
    if (!g_hash_table_insert(makers, (gpointer)dataset[i],
                             GUINT_TO_POINTER(IN_DATASET)))
      return ra_key_file_fail(workload->file, group, "dataset", error,
                              "'%s' occurs twice in 'dataset', expected once",
                              dataset[i]);
  }
  return TRUE;
}

static gboolean
add_outputs(const RaWorkload *workload, uint32_t index, GHashTable *makers,
            GError **error)
{
  const RaCall *call = &workload->calls[index];

  for (guint i = 0; i < call->n_outputs; i++) {
    const char *name = call->outputs[i];
    guint maker = GPOINTER_TO_UINT(g_hash_table_lookup(makers, name));

    if (maker == IN_DATASET)
      return ra_key_file_fail(workload->file, call->group, "outputs", error,
                              "'%s' is in 'dataset', expected a name of its "
                              "own for what '%s' makes",
                              name, call->name);
    if (maker != 0)
      return ra_key_file_fail(workload->file, call->group, "outputs", error,
                              "'%s' is made by '%s' already, expected one "
                              "call to make it",
                              name, workload->calls[maker - 1].name);
    g_hash_table_insert(makers, (gpointer)name, GUINT_TO_POINTER(index + 1));
  }
  return TRUE;
}

static gboolean
fail_unknown_input(const RaWorkload *workload, const RaCall *call,
                   const char *name, GHashTable *makers, GError **error)
{
  /* Candidates in file order, so that ties do not depend on hashing. */
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_autofree char *hint = NULL;

  for (guint i = 0; i < workload->n_calls; i++) {
    const RaCall *other = &workload->calls[i];

    for (guint j = 0; j < other->n_outputs; j++)
      g_ptr_array_add(names, (gpointer)other->outputs[j]);
    for (guint j = 0; j < other->n_inputs; j++) {
      if (g_hash_table_contains(makers, other->inputs[j].data))
        g_ptr_array_add(names, (gpointer)other->inputs[j].data);
    }
  }
  g_ptr_array_add(names, NULL);
  hint = ra_form_hint(name, (const char *const *)names->pdata);
  return ra_key_file_fail(workload->file, call->group, "inputs", error,
                          "unknown input '%s' of '%s', expected a name in "
                          "'dataset' or in some call's 'outputs'%s",
                          name, call->name, hint);
}

static gboolean
connect_call(RaWorkload *workload, RaCall *call, GHashTable *makers,
             GHashTable *used, GError **error)
{
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

  for (guint i = 0; i < call->n_inputs; i++) {
    RaInput *input = &call->inputs[i];
    guint maker = GPOINTER_TO_UINT(g_hash_table_lookup(makers, input->data));

    if (maker == 0)
      return fail_unknown_input(workload, call, input->data, makers, error);
    if (!g_hash_table_add(seen, (gpointer)input->data))
      return ra_key_file_fail(
          workload->file, call->group, "inputs", error,
          "'%s' occurs twice in the inputs of '%s', expected once", input->data,
          call->name);
    g_hash_table_add(used, (gpointer)input->data);
    input->producer = maker == IN_DATASET ? RA_NONE : maker - 1;
    if (input->n_chunks > 1 &&
        (input->producer == RA_NONE ||
         workload->calls[input->producer].kind == RA_CALL_TRAIN))
      return ra_key_file_fail(workload->file, call->group, "inputs", error,
                              "'%s' comes whole from %s, expected no "
                              "chunk(%u)",
                              input->data,
                              input->producer == RA_NONE ? "the dataset"
                                                         : "a train call",
                              input->n_chunks);
  }
  return TRUE;
}

/* One line that names the calls of a cycle among those not @done. */
static gboolean
fail_cycle(const RaWorkload *workload, const gboolean *done, GError **error)
{
  g_autofree guint *place = g_new0(guint, workload->n_calls);
  g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  g_autoptr(GString) names = g_string_new(NULL);
  uint32_t at = 0;
  guint begin, n, least = 0;

  while (done[at])
    at++;
  /* Every call that is left waits for one that is left: walk upstream until
   * one comes up again. */
  while (place[at] == 0) {
    const RaCall *call = &workload->calls[at];
    guint i = 0;

    g_array_append_val(path, at);
    place[at] = path->len;
    while (call->inputs[i].producer == RA_NONE ||
           done[call->inputs[i].producer])
      i++;
    at = call->inputs[i].producer;
  }
  begin = place[at] - 1;
  n = path->len - begin;
  for (guint i = 1; i < n; i++) {
    if (g_array_index(path, uint32_t, begin + i) <
        g_array_index(path, uint32_t, begin + least))
      least = i;
  }
  /* Downstream, from the call that stands first in the file. */
  for (guint i = 0; i <= n; i++) {
    at = g_array_index(path, uint32_t, begin + (least + n - i % n) % n);
    g_string_append_printf(names, "%s%s", i > 0 ? " -> " : "",
                           workload->calls[at].name);
  }
  return ra_key_file_fail(workload->file, workload->calls[at].group, "inputs",
                          error,
                          "calls wait for each other: %s, expected a graph "
                          "without a cycle",
                          names->str);
}

/* Topological order, ties by file order; what runs in each trip first, which
 * waits for nothing else. */
static gboolean
sort_calls(RaWorkload *workload, GError **error)
{
  g_autofree gboolean *done = g_new0(gboolean, workload->n_calls);

  workload->order = g_new0(uint32_t, workload->n_calls);
  for (guint n = 0; n < workload->n_calls; n++) {
    uint32_t next = RA_NONE;

    for (uint32_t i = 0; i < workload->n_calls; i++) {
      const RaCall *call = &workload->calls[i];
      gboolean ready = !done[i];

      for (guint j = 0; ready && j < call->n_inputs; j++)
        ready = call->inputs[j].producer == RA_NONE ||
                done[call->inputs[j].producer];
      if (ready && (next == RA_NONE ||
                    call->each_trip > workload->calls[next].each_trip))
        next = i;
    }
    if (next == RA_NONE)
      return fail_cycle(workload, done, error);
    done[next] = TRUE;
    workload->order[n] = next;
  }
  return TRUE;
}

gboolean
ra_dataflow_connect(RaWorkload *workload, const char *const *dataset,
                    GError **error)
{
  g_autoptr(GHashTable) makers = g_hash_table_new(g_str_hash, g_str_equal);
  g_autoptr(GHashTable) used = g_hash_table_new(g_str_hash, g_str_equal);

  if (!add_dataset(workload, dataset, makers, error))
    return FALSE;
  for (uint32_t i = 0; i < workload->n_calls; i++) {
    if (!add_outputs(workload, i, makers, error))
      return FALSE;
  }
  for (guint i = 0; i < workload->n_calls; i++) {
    if (!connect_call(workload, &workload->calls[i], makers, used, error))
      return FALSE;
  }
  for (guint i = 0; dataset[i]; i++) {
    guint group = (guint)ra_key_file_find_group(workload->file, "workload", "");

    if (!g_hash_table_contains(used, dataset[i]))
      return ra_key_file_fail(workload->file, group, "dataset", error,
                              "no call reads '%s', expected it in some "
                              "call's 'inputs'",
                              dataset[i]);
  }
  return sort_calls(workload, error);
}

/* Prompts that a call has to do with, in each trip or in an iteration. */
static uint32_t
prompts_of(const RaWorkload *workload, const RaCall *call)
{
  return call->each_trip ? workload->n_trip_prompts : workload->n_prompts;
}

/* Whose sequences a call works on, and how many; producers are done. */
static gboolean
place_in_set(RaWorkload *workload, uint32_t index, GError **error)
{
  RaCall *call = &workload->calls[index];
  uint64_t n_sequences;

  call->set = index;
  if (call->kind != RA_CALL_GENERATE) {
    for (guint i = 0; i < call->n_inputs && call->set == index; i++) {
      if (call->inputs[i].producer != RA_NONE)
        call->set = workload->calls[call->inputs[i].producer].set;
    }
  }
  if (call->set != index) {
    const RaCall *owner = &workload->calls[call->set];

    if (ra_key_file_get(workload->file, call->group, "samples-per-prompt"))
      return ra_key_file_fail(workload->file, call->group, "samples-per-prompt",
                              error,
                              "'%s' works on the sequences of '%s', expected "
                              "'samples-per-prompt' there",
                              call->name, owner->name);
    call->samples_per_prompt = owner->samples_per_prompt;
    call->n_sequences = call->each_trip == owner->each_trip
                            ? owner->n_sequences
                            : workload->n_prompts * owner->samples_per_prompt;
    return TRUE;
  }
  /* Two 32-bit numbers: the product fits 64 bits. */
  n_sequences = (uint64_t)prompts_of(workload, call) * call->samples_per_prompt;
  if (n_sequences > RA_WORKLOAD_SEQUENCES_MAX)
    return ra_key_file_fail(
        workload->file, key_group(workload, call, "samples-per-prompt"),
        "samples-per-prompt", error,
        "'prompts' x 'samples-per-prompt' of '%s' is %u x %u = "
        "%" G_GUINT64_FORMAT ", expected at most %d",
        call->name, prompts_of(workload, call), call->samples_per_prompt,
        (guint64)n_sequences, RA_WORKLOAD_SEQUENCES_MAX);
  call->n_sequences = (uint32_t)n_sequences;
  return TRUE;
}

/* Least common multiple of two chunk counts; 0 if it is beyond the bound. */
static uint32_t
common_multiple(uint32_t a, uint32_t b)
{
  uint64_t x = a, y = b, multiple;

  while (y > 0) {
    uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  multiple = (uint64_t)a / x * b;
  return multiple > RA_WORKLOAD_CHUNKS_MAX ? 0 : (uint32_t)multiple;
}

static gboolean
cut_into_parts(RaWorkload *workload, GError **error)
{
  for (guint i = 0; i < workload->n_calls; i++)
    workload->calls[i].n_parts = 1;
  for (guint i = 0; i < workload->n_calls; i++) {
    RaCall *call = &workload->calls[i];

    for (guint j = 0; j < call->n_inputs; j++) {
      const RaInput *input = &call->inputs[j];
      RaCall *producer;
      uint32_t n_in, n_out;

      if (input->n_chunks == 1)
        continue;
      producer = &workload->calls[input->producer];
      n_in = common_multiple(call->n_parts, input->n_chunks);
      n_out = common_multiple(producer->n_parts, input->n_chunks);
      if (n_in == 0 || n_out == 0)
        return ra_key_file_fail(workload->file, call->group, "inputs", error,
                                "chunk(%u) of '%s' leaves '%s' with too many "
                                "parts, expected a common multiple of all "
                                "its chunks of at most %d",
                                input->n_chunks, input->data,
                                n_in == 0 ? call->name : producer->name,
                                RA_WORKLOAD_CHUNKS_MAX);
      call->n_parts = n_in;
      producer->n_parts = n_out;
    }
  }
  return TRUE;
}

static gboolean
check_batch(const RaWorkload *workload, const RaCall *call, GError **error)
{
  const char *key = "outputs";

  for (guint i = 0; i < call->n_inputs; i++) {
    if (call->inputs[i].n_chunks > 1)
      key = "inputs";
  }
  if (prompts_of(workload, call) % call->n_parts != 0)
    return ra_key_file_fail(workload->file, call->group, key, error,
                            "the chunks of '%s' cut it into %u parts, "
                            "expected a divisor of %u, the prompts",
                            call->name, call->n_parts,
                            prompts_of(workload, call));
  if (call->kind != RA_CALL_TRAIN)
    return TRUE;
  if (call->n_sequences % call->n_mini_batches != 0)
    return ra_key_file_fail(
        workload->file, key_group(workload, call, "mini-batches"),
        "mini-batches", error,
        "'mini-batches' of '%s' is %u, expected a divisor "
        "of %u, its sequences",
        call->name, call->n_mini_batches, call->n_sequences);
  if (call->n_mini_batches % call->n_parts != 0)
    return ra_key_file_fail(workload->file, call->group, key, error,
                            "the chunks of '%s' cut it into %u parts, "
                            "expected a divisor of %u, its mini-batches",
                            call->name, call->n_parts, call->n_mini_batches);
  return TRUE;
}

gboolean
ra_dataflow_batch(RaWorkload *workload, GError **error)
{
  for (guint i = 0; i < workload->n_calls; i++) {
    if (!place_in_set(workload, workload->order[i], error))
      return FALSE;
  }
  if (!cut_into_parts(workload, error))
    return FALSE;
  for (guint i = 0; i < workload->n_calls; i++) {
    if (!check_batch(workload, &workload->calls[i], error))
      return FALSE;
  }
  return TRUE;
}
