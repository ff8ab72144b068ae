/* Batching keys of a generate call: checks, writing, derived sizes. */
#include "config.h"

#include <inttypes.h>

#include "graph/input/plan_batching.h"
#include "graph/input/turns.h"

const char *const ra_batching_words[] = {"static", "continuous", NULL};
const char *const ra_admission_words[] = {"prompt", "whole", NULL};
const char *const ra_tool_kv_words[] = {"keep", "drop", NULL};

#define MIB ((uint64_t)1 << 20)

void
ra_plan_set_batching(RaPlan *plan, uint32_t call, const RaBatchingKeys *keys)
{
  RaCallPlan *to = &plan->calls[call];

  to->batching = keys->batching;
  to->max_sequences = keys->max_sequences;
  to->prefill_tokens = keys->prefill_tokens;
  to->kv_block = keys->kv_block;
  to->kv_memory_bytes = (uint64_t)keys->kv_memory_bytes;
  to->kv_admission = keys->kv_admission;
  to->prefix_sharing = keys->prefix_sharing;
  to->tool_kv_drops = keys->tool_kv;
}

/* Key that static batching has too. */
static const char kv_block_key[] = "kv-block";

/* The first key of generation that the plan states, or NULL; the last is that
 * of static batching. */
static const char *
stated_key(const RaPlan *plan, guint group)
{
  static const char *const keys[] = {
      "max-sequences",  "prefill-tokens", "kv-memory", "kv-admission",
      "prefix-sharing", "tool-kv",        kv_block_key};

  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    if (ra_key_file_get(plan->file, group, keys[i]))
      return keys[i];
  return NULL;
}

/* Strategies that no engine supports. */
static gboolean
check_strategy(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  uint32_t share = c->n_sequences / p->dp / MAX(p->n_micro_batches, 1u);

  if (p->zero != 0)
    return ra_key_file_fail(plan->file, p->group, "batching", error,
                            "'batching' is continuous with 'zero' %d, "
                            "expected 0",
                            p->zero);
  if (p->pp == 1 && p->n_micro_batches > 1)
    return ra_key_file_fail(plan->file, p->group, "batching", error,
                            "'batching' is continuous with 'micro-batches' "
                            "%" PRIu32 " and 'pp' 1, expected 1",
                            p->n_micro_batches);
  if (p->max_sequences < p->n_micro_batches)
    return ra_key_file_fail(plan->file, p->group, "max-sequences", error,
                            "'max-sequences' is %" PRIu32
                            ", expected at least %" PRIu32
                            ", 'micro-batches': they divide it",
                            p->max_sequences, p->n_micro_batches);
  if (p->max_sequences > p->prefill_tokens)
    return ra_key_file_fail(
        plan->file, p->group, stated_key(plan, p->group), error,
        "'max-sequences' is %" PRIu32 ", expected at most %" PRIu32
        ", 'prefill-tokens': each takes one in a step",
        p->max_sequences, p->prefill_tokens);
  if (p->prefix_sharing && !ra_tail_is_set(&p->tail) &&
      (share % c->samples_per_prompt != 0 ||
       c->n_sequences / p->dp % p->n_micro_batches != 0))
    return ra_key_file_fail(plan->file, p->group, "prefix-sharing", error,
                            "'prefix-sharing' with %" PRIu32
                            " sequences a replica and micro-batch, expected a "
                            "multiple of %" PRIu32 ", the samples of a prompt",
                            share, c->samples_per_prompt);
  return TRUE;
}

/* Sequences with turns need a scheduler, and memory that tools' keys stay in.
 */
static gboolean
check_turns(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaCallPlan *p = &plan->calls[call];
  const char *wanted = NULL, *key = NULL;

  if (plan->workload->calls[call].kind != RA_CALL_GENERATE)
    return TRUE;
  if (!ra_turns_are_set(plan->workload)) {
    key = ra_key_file_get(plan->file, p->group, "tool-kv") ? "tool-kv" : NULL;
    wanted = key ? "'turns' in the workload" : NULL;
  } else if (p->batching != RA_BATCHING_CONTINUOUS || p->kv_memory_bytes == 0) {
    wanted = "'batching = continuous' with 'kv-memory', as its sequences have "
             "turns";
  } else if (p->kv_admission != 0) {
    key = "kv-admission";
    wanted = "prompt, as its sequences have turns";
  }
  return !wanted || ra_key_file_fail(plan->file, p->group, key, error,
                                     "%s%s'%s', expected %s", key ? key : "",
                                     key ? " of " : "",
                                     plan->workload->calls[call].name, wanted);
}

gboolean
ra_plan_check_batching(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaWorkload *w = plan->workload;
  const RaCallPlan *p = &plan->calls[call];
  const char *key = stated_key(plan, p->group);
  RaBatching batching;
  uint64_t most;

  if (w->calls[call].kind != RA_CALL_GENERATE &&
      (key || p->batching != RA_BATCHING_STATIC))
    return ra_key_file_fail(plan->file, p->group, key ? key : "batching", error,
                            "'%s' of '%s', expected it on generate calls only",
                            key ? key : "batching", w->calls[call].name);
  if (!check_turns(plan, call, error))
    return FALSE;
  if (p->batching == RA_BATCHING_STATIC)
    return !key || strcmp(key, kv_block_key) == 0 ||
           ra_key_file_fail(
               plan->file, p->group, key, error,
               "'%s' with static batching, expected 'batching = continuous'",
               key);
  if (!check_strategy(plan, call, error))
    return FALSE;
  batching = ra_call_batching(plan, call);
  most = ra_batching_blocks(&batching, w->prompt_length.max_tokens,
                            (uint64_t)ra_turns_max_tokens(w));
  if (p->kv_memory_bytes == 0 || most <= batching.n_blocks)
    return TRUE;
  return ra_key_file_fail(
      plan->file, p->group, "kv-memory", error,
      "'kv-memory' has room for %" PRIu64 " blocks of %" PRIu32
      " tokens, expected at least %" PRIu64 ", for the longest sequence",
      batching.n_blocks, p->kv_block, most);
}

void
ra_plan_write_batching(const RaCallPlan *call, GString *out)
{
  if (ra_call_plan_kv_block(call) != RA_BATCHING_KV_BLOCK)
    g_string_append_printf(out, "kv-block = %" PRIu32 "\n", call->kv_block);
  if (call->batching == RA_BATCHING_STATIC)
    return;
  g_string_append_printf(out, "batching = %s\n",
                         ra_batching_words[call->batching]);
  if (call->max_sequences != RA_BATCHING_MAX_SEQUENCES)
    g_string_append_printf(out, "max-sequences = %" PRIu32 "\n",
                           call->max_sequences);
  if (call->prefill_tokens != RA_BATCHING_PREFILL_TOKENS)
    g_string_append_printf(out, "prefill-tokens = %" PRIu32 "\n",
                           call->prefill_tokens);
  if (call->kv_memory_bytes % MIB > 0)
    g_string_append_printf(out, "kv-memory = %" PRIu64 " B\n",
                           call->kv_memory_bytes);
  else if (call->kv_memory_bytes > 0)
    g_string_append_printf(out, "kv-memory = %" PRIu64 " MiB\n",
                           call->kv_memory_bytes / MIB);
  if (call->kv_admission != 0)
    g_string_append_printf(out, "kv-admission = %s\n",
                           ra_admission_words[call->kv_admission]);
  if (call->prefix_sharing)
    g_string_append(out, "prefix-sharing = true\n");
  if (call->tool_kv_drops)
    g_string_append_printf(out, "tool-kv = %s\n",
                           ra_tool_kv_words[call->tool_kv_drops]);
}

gboolean
ra_plan_same_batching(const RaCallPlan *a, const RaCallPlan *b)
{
  return a->batching == b->batching &&
         ra_call_plan_kv_block(a) == ra_call_plan_kv_block(b) &&
         (a->batching == RA_BATCHING_STATIC ||
          (a->max_sequences == b->max_sequences &&
           a->prefill_tokens == b->prefill_tokens &&
           a->kv_memory_bytes == b->kv_memory_bytes &&
           a->kv_admission == b->kv_admission &&
           a->prefix_sharing == b->prefix_sharing &&
           a->tool_kv_drops == b->tool_kv_drops));
}

uint32_t
ra_call_plan_kv_block(const RaCallPlan *p)
{
  return p->kv_block > 0 ? p->kv_block : RA_BATCHING_KV_BLOCK;
}

uint64_t
ra_call_plan_kv_room(const RaCallPlan *p, uint64_t tokens)
{
  uint32_t block = ra_call_plan_kv_block(p);

  return (tokens + block - 1) / block * block;
}

/* Cache of a token, and of a sequence whatever its length, on stage @stage. */
static void
stage_cache(const RaPlan *plan, uint32_t call, uint32_t stage,
            uint64_t *out_token, uint64_t *out_sequence)
{
  const RaCallPlan *p = &plan->calls[call];
  const RaWorkloadModel *m =
      &plan->workload->models[plan->workload->calls[call].model];
  uint32_t first = 0;

  for (uint32_t s = 0; s < stage; s++)
    first += p->stage_layers[s];
  ra_model_cache_bytes(m->model, first, p->stage_layers[stage], p->tp,
                       ra_dtype_bytes(ra_call_plan_kv_dtype(p, m)),
                       ra_call_longest_tokens(plan->workload), out_token,
                       out_sequence);
}

uint64_t
ra_call_longest_tokens(const RaWorkload *workload)
{
  return workload->prompt_length.max_tokens +
         (uint64_t)ra_turns_max_tokens(workload);
}

uint32_t
ra_call_n_at_once(const RaPlan *plan, uint32_t call)
{
  const RaCallPlan *p = &plan->calls[call];
  uint32_t share = plan->workload->calls[call].n_sequences / MAX(p->dp, 1u);

  return p->batching == RA_BATCHING_CONTINUOUS ? MIN(share, p->max_sequences)
                                               : share;
}

/* A block is on all stages; the one with most of it has least room. */
uint64_t
ra_call_kv_block_bytes(const RaPlan *plan, uint32_t call)
{
  const RaCallPlan *p = &plan->calls[call];
  uint64_t most = 0, token, sequence;

  for (uint32_t s = 0; s < p->pp; s++) {
    stage_cache(plan, call, s, &token, &sequence);
    most = MAX(most, token);
  }
  return ra_call_plan_kv_block(p) * MAX(most, 1);
}

uint64_t
ra_call_state_blocks(const RaPlan *plan, uint32_t call)
{
  const RaCallPlan *p = &plan->calls[call];
  uint64_t block = ra_call_kv_block_bytes(plan, call);
  uint64_t most = 0, token, sequence;

  for (uint32_t s = 0; s < p->pp; s++) {
    stage_cache(plan, call, s, &token, &sequence);
    most = MAX(most, sequence);
  }
  return (most + block - 1) / block;
}

RaBatching
ra_call_batching(const RaPlan *plan, uint32_t call)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  RaBatching batching = {0};

  if (p->batching == RA_BATCHING_STATIC)
    return batching;
  batching = (RaBatching){
      .max_sequences = p->max_sequences / p->n_micro_batches,
      .step_tokens = p->prefill_tokens,
      .block_tokens = p->kv_block,
      .group = p->prefix_sharing ? c->samples_per_prompt : 1,
      .reserve = p->kv_admission == 1,
  };
  if (p->kv_memory_bytes > 0) {
    batching.n_blocks = p->kv_memory_bytes /
                        ra_call_kv_block_bytes(plan, call) / p->n_micro_batches;
    batching.state_blocks = ra_call_state_blocks(plan, call);
  }
  return batching;
}

uint64_t
ra_batching_blocks(const RaBatching *batching, uint64_t prompt,
                   uint64_t response)
{
  /* The last token's keys are never needed. */
  uint64_t tokens = prompt + response - (batching->reserve ? 0 : 1);

  return (tokens + batching->block_tokens - 1) / batching->block_tokens +
         batching->state_blocks;
}
