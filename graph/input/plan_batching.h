/* Batching of a generate call in a plan: static, or as a serving engine does.
 *
 *     [call actor_generate]
 *     batching = continuous       default static: all sequences of a replica
 *                                 start together
 *     max-sequences = 256         running per replica
 *     prefill-tokens = 8192       per step, prompts and responses
 *     kv-block = 16               tokens per block of keys and values
 *     kv-memory = 40 GiB          per GPU, for keys and values; default: no
 *                                 limit, the account has what they need
 *     kv-admission = prompt       whole: admits a sequence only if its longest
 *                                 possible result fits, so none is preempted
 *     prefix-sharing = true       samples of a prompt share its blocks
 *     tool-kv = keep              drop: keys and values of sequences with turns
 *                                 while a tool runs (graph/input/turns.h)
 *
 * graph/rollout/batcher.h describes the engine that these keys control.
 */
#ifndef RA_GRAPH_INPUT_PLAN_BATCHING_H
#define RA_GRAPH_INPUT_PLAN_BATCHING_H

#include "graph/input/plan.h"

/* Batching keys of `[call NAME]`, in addition to those of graph/input/plan.c.
 */
typedef struct {
  int batching; /* RaBatchingKind */
  uint32_t max_sequences, prefill_tokens, kv_block;
  double kv_memory_bytes; /* 0: not given */
  int kv_admission;
  gboolean prefix_sharing;
  int tool_kv;
} RaBatchingKeys;

extern const char *const ra_batching_words[];
extern const char *const ra_admission_words[];
extern const char *const ra_tool_kv_words[];

/* Defaults of the keys. */
#define RA_BATCHING_MAX_SEQUENCES 256
#define RA_BATCHING_PREFILL_TOKENS 8192
#define RA_BATCHING_KV_BLOCK 16

/* Rows of a table of keys; @base: offset of an RaBatchingKeys. */
#define RA_BATCHING_FIELD(base, field)                                         \
  (base) + G_STRUCT_OFFSET(RaBatchingKeys, field)
#define RA_BATCHING_KEY_SPECS(base)                                            \
  {"batching",                                                                 \
   RA_KEY_ENUM,                                                                \
   RA_BATCHING_FIELD(base, batching),                                          \
   .fallback = "static",                                                       \
   .names = ra_batching_words,                                                 \
   .doc = "generate: all sequences together, or as there is room"},            \
      {"max-sequences",                                                        \
       RA_KEY_UINT32,                                                          \
       RA_BATCHING_FIELD(base, max_sequences),                                 \
       .fallback = G_STRINGIFY(RA_BATCHING_MAX_SEQUENCES),                     \
       .min = 1,                                                               \
       .max = 1e6,                                                             \
       .doc = "continuous: most sequences of a replica at a time"},            \
      {"prefill-tokens",                                                       \
       RA_KEY_UINT32,                                                          \
       RA_BATCHING_FIELD(base, prefill_tokens),                                \
       .fallback = G_STRINGIFY(RA_BATCHING_PREFILL_TOKENS),                    \
       .min = 1,                                                               \
       .max = 1e8,                                                             \
       .doc = "continuous: tokens per step, prompts and responses together"},  \
      {"kv-block",                                                             \
       RA_KEY_UINT32,                                                          \
       RA_BATCHING_FIELD(base, kv_block),                                      \
       .fallback = G_STRINGIFY(RA_BATCHING_KV_BLOCK),                          \
       .min = 1,                                                               \
       .max = 65536,                                                           \
       .doc = "tokens of a block of the KV cache; sequences have whole "       \
              "blocks"},                                                       \
      {"kv-memory",                                                            \
       RA_KEY_QUANTITY,                                                        \
       RA_BATCHING_FIELD(base, kv_memory_bytes),                               \
       .min = 1,                                                               \
       .max = 1e18,                                                            \
       .unit = RA_UNIT_BYTES,                                                  \
       .doc = "continuous: memory of a GPU for the KV cache; default: no "     \
              "limit"},                                                        \
      {"kv-admission",                                                         \
       RA_KEY_ENUM,                                                            \
       RA_BATCHING_FIELD(base, kv_admission),                                  \
       .fallback = "prompt",                                                   \
       .names = ra_admission_words,                                            \
       .doc = "continuous: a sequence waits for room for its prompt, or for "  \
              "prompt and longest response (whole)"},                          \
      {"prefix-sharing", RA_KEY_BOOL, RA_BATCHING_FIELD(base, prefix_sharing), \
       .fallback = "false",                                                    \
       .doc = "continuous: samples of a prompt share its KV cache"},           \
  {                                                                            \
    "tool-kv", RA_KEY_ENUM, RA_BATCHING_FIELD(base, tool_kv),                  \
        .fallback = "keep", .names = ra_tool_kv_words,                         \
        .doc = "turns: the KV cache stays during a tool call while "           \
               "there is room, or go (drop)"                                   \
  }

/* Stores the keys in @plan's call @call, whose degrees must have been read. */
void ra_plan_set_batching(RaPlan *plan, uint32_t call,
                          const RaBatchingKeys *keys);

/* Returns FALSE and sets @error, `file:line: ...`, for a key without meaning
 * there, a strategy that no engine supports, or no room for the longest
 * sequence. */
gboolean ra_plan_check_batching(const RaPlan *plan, uint32_t call,
                                GError **error);

/* Appends the keys that differ from their defaults, as lines of a file. */
void ra_plan_write_batching(const RaCallPlan *call, GString *out);
gboolean ra_plan_same_batching(const RaCallPlan *a, const RaCallPlan *b);

/* Tokens per block of keys and values of @call. */
uint32_t ra_call_plan_kv_block(const RaCallPlan *call);
/* Capacity of the whole blocks of a sequence of @tokens, tokens. */
uint64_t ra_call_plan_kv_room(const RaCallPlan *call, uint64_t tokens);

/* Bytes per block of keys and values on the GPU whose stage has most layers.
 * Depends on `kv-block` and the degrees of @call, not on its `batching`. */
uint64_t ra_call_kv_block_bytes(const RaPlan *plan, uint32_t call);

/* Blocks that a sequence takes beside those of its tokens, for the windows and
 * states that it holds whatever its length: engines give both from one pool
 * (vLLM's hybrid KV cache manager).  On the stage with most. */
uint64_t ra_call_state_blocks(const RaPlan *plan, uint32_t call);

/* Tokens of the longest sequence that the distributions of lengths allow. */
uint64_t ra_call_longest_tokens(const RaWorkload *workload);

/* Sequences of one replica of generate call @call that have a cache at the same
 * time, at most. */
uint32_t ra_call_n_at_once(const RaPlan *plan, uint32_t call);

/* Parameters of a replica's batcher. */
typedef struct {
  uint32_t max_sequences; /* running at a time, >= 1 */
  uint32_t step_tokens;   /* computed in a step, >= max_sequences */
  uint32_t block_tokens;  /* tokens per block of keys and values, >= 1 */
  uint64_t n_blocks;      /* 0: no limit */
  uint64_t state_blocks;  /* of a sequence beside those of its tokens */
  uint32_t group;         /* neighbouring sequences that share a prompt; 1: no
                             sharing */
  gboolean reserve;       /* admission reserves the whole sequence */
} RaBatching;

/* Parameters of the batcher for one micro-batch of a replica of @call: its
 * share of the replica's sequences and blocks.  max_sequences is 0 for static
 * batching. */
RaBatching ra_call_batching(const RaPlan *plan, uint32_t call);

/* Largest number of blocks of one sequence of @prompt and @response tokens. */
uint64_t ra_batching_blocks(const RaBatching *batching, uint64_t prompt,
                            uint64_t response);

#endif
