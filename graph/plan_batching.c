#include "config.h"

#include <inttypes.h>

#include "graph/activation.h"
#include "graph/expand_call.h"
#include "graph/plan_batching.h"
#include "graph/turns.h"

const char *const ra_batching_words[] = {"static", "continuous", NULL};
const char *const ra_admission_words[] = {"prompt", "whole", NULL};
const char *const ra_tool_kv_words[] = {"keep", "drop", NULL};

/* Of the tables in plan_batching.h. */
#define MAX_SEQUENCES 256
#define PREFILL_TOKENS 8192
#define KV_BLOCK 16

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

/* The first key of continuous batching that the plan states, or NULL. */
static const char *
stated_key(const RaPlan *plan, guint group)
{
  static const char *const keys[] = {
      "max-sequences", "prefill-tokens", "kv-block", "kv-memory",
      "kv-admission",  "prefix-sharing", "tool-kv"};

  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    if (ra_key_file_get(plan->file, group, keys[i]))
      return keys[i];
  return NULL;
}

/* What no engine does. */
static gboolean
check_strategy(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  const struct {
    const char *key;
    uint32_t value, wanted;
  } limits[] = {{"pp", p->pp, 1},
                {"micro-batches", p->n_micro_batches, 1},
                {"zero", (uint32_t)p->zero, 0}};

  for (guint i = 0; i < G_N_ELEMENTS(limits); i++)
    if (limits[i].value != limits[i].wanted)
      return ra_key_file_fail(plan->file, p->group, "batching", error,
                              "'batching' is continuous with '%s' %" PRIu32
                              ", expected %" PRIu32,
                              limits[i].key, limits[i].value, limits[i].wanted);
  if (p->max_sequences > p->prefill_tokens)
    return ra_key_file_fail(
        plan->file, p->group, stated_key(plan, p->group), error,
        "'max-sequences' is %" PRIu32 ", expected at most %" PRIu32
        ", 'prefill-tokens': each takes one in a step",
        p->max_sequences, p->prefill_tokens);
  if (p->prefix_sharing && c->n_sequences / p->dp % c->samples_per_prompt != 0)
    return ra_key_file_fail(plan->file, p->group, "prefix-sharing", error,
                            "'prefix-sharing' with %" PRIu32
                            " sequences a replica, expected a multiple of "
                            "%" PRIu32 ", the samples of a prompt",
                            c->n_sequences / p->dp, c->samples_per_prompt);
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
    wanted = key ? "'turns' in the workload beside it" : NULL;
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
    return !key || ra_key_file_fail(plan->file, p->group, key, error,
                                    "'%s' with static batching, expected "
                                    "'batching = continuous' beside it",
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
  if (call->batching == RA_BATCHING_STATIC)
    return;
  g_string_append_printf(out, "batching = %s\n",
                         ra_batching_words[call->batching]);
  if (call->max_sequences != MAX_SEQUENCES)
    g_string_append_printf(out, "max-sequences = %" PRIu32 "\n",
                           call->max_sequences);
  if (call->prefill_tokens != PREFILL_TOKENS)
    g_string_append_printf(out, "prefill-tokens = %" PRIu32 "\n",
                           call->prefill_tokens);
  if (call->kv_block != KV_BLOCK)
    g_string_append_printf(out, "kv-block = %" PRIu32 "\n", call->kv_block);
  if (call->kv_memory_bytes > 0)
    g_string_append_printf(out, "kv-memory = %" PRIu64 " B\n",
                           call->kv_memory_bytes);
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
         (a->batching == RA_BATCHING_STATIC ||
          (a->max_sequences == b->max_sequences &&
           a->prefill_tokens == b->prefill_tokens &&
           a->kv_block == b->kv_block &&
           a->kv_memory_bytes == b->kv_memory_bytes &&
           a->kv_admission == b->kv_admission &&
           a->prefix_sharing == b->prefix_sharing &&
           a->tool_kv_drops == b->tool_kv_drops));
}

RaBatching
ra_call_batching(const RaPlan *plan, uint32_t call)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  RaShard shard;
  RaPiece whole = {.has_embedding = 1, .has_head = 1};
  uint64_t block_bytes;
  RaBatching batching = {0};

  if (p->batching == RA_BATCHING_STATIC)
    return batching;
  shard = ra_call_shard(plan, call);
  whole.n_layers = shard.model->n_layers;
  block_bytes = p->kv_block * ra_kv_token_bytes(&shard, &whole);
  batching = (RaBatching){
      .max_sequences = p->max_sequences,
      .step_tokens = p->prefill_tokens,
      .block_tokens = p->kv_block,
      .group = p->prefix_sharing ? c->samples_per_prompt : 1,
      .reserve = p->kv_admission == 1,
  };
  if (p->kv_memory_bytes > 0)
    batching.n_blocks = p->kv_memory_bytes / block_bytes;
  return batching;
}

/* A part ends when ceil((c + 1) n / n_parts) sequences have. */
static uint32_t
part_end(uint32_t n, uint32_t part, uint32_t n_parts)
{
  return (uint32_t)(((uint64_t)(part + 1) * n + n_parts - 1) / n_parts);
}

void
ra_batching_kv_tokens(const RaBatching *batching, uint32_t n,
                      const uint32_t *prompt, const uint32_t *response,
                      uint32_t n_parts, uint64_t *out_peak, uint64_t *out_left)
{
  g_autoptr(RaBatcher) b = NULL;
  RaBatchStretch stretch;
  uint32_t part = 0, n_ended = 0;
  uint64_t peak = 0;

  for (uint32_t c = 0; c < n_parts && batching->n_blocks > 0; c++) {
    out_peak[c] = batching->n_blocks * batching->block_tokens;
    out_left[c] = c + 1 < n_parts ? out_peak[c] : 0;
  }
  if (batching->n_blocks > 0)
    return;
  b = ra_batcher_new(batching, prompt, response, n);
  ra_batcher_arrive(b, n);
  while (ra_batcher_next(b, &stretch)) {
    guint n_now;

    /* Before ends give theirs back. */
    ra_batcher_take(b, stretch.n_steps);
    peak = MAX(peak, ra_batcher_work(b)->last_blocks);
    ra_batcher_ended(b, &n_now);
    n_ended += n_now;
    for (; part < n_parts && n_ended >= part_end(n, part, n_parts); part++) {
      out_peak[part] = peak * batching->block_tokens;
      out_left[part] = ra_batcher_blocks(b) * batching->block_tokens;
      peak = ra_batcher_blocks(b);
    }
  }
}

RaBatch
ra_batching_largest_step(const RaBatching *batching, RaBatch prompts)
{
  uint32_t n = MIN(batching->max_sequences, prompts.n_sequences);
  uint64_t tokens = MIN(batching->step_tokens, prompts.q_tokens + n);

  return (RaBatch){n, tokens, prompts.kv_tokens, prompts.pairs};
}

void
ra_batching_order(const RaBatching *batching, uint32_t n,
                  const uint32_t *prompt, const uint32_t *response,
                  uint32_t *out_order)
{
  g_autoptr(RaBatcher) b = ra_batcher_new(batching, prompt, response, n);
  RaBatchStretch stretch;
  uint32_t at = 0;

  ra_batcher_arrive(b, n);
  while (ra_batcher_next(b, &stretch)) {
    const uint32_t *ended;
    guint n_ended;

    ra_batcher_take(b, stretch.n_steps);
    ended = ra_batcher_ended(b, &n_ended);
    for (guint i = 0; i < n_ended; i++)
      out_order[at++] = ended[i];
  }
  g_assert(at == n);
}
