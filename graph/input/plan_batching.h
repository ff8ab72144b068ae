/* How a generate call batches, in a plan: static, or as a serving engine does.
 *
 *     [call actor_generate]
 *     batching = continuous       default static: all sequences of a replica
 *                                 start together
 *     max-sequences = 256         of a replica, at a time
 *     prefill-tokens = 8192       of a step, prompts and answers
 *     kv-block = 16               tokens of a block of keys and values
 *     kv-memory = 40 GiB          of each GPU, for keys and values; default: no
 *                                 limit, and what they come to is held
 *     kv-admission = prompt       whole: a sequence is admitted where all that
 *                                 it may come to fits, so none is preempted
 *     prefix-sharing = true       samples of a prompt share its blocks
 *     tool-kv = keep              drop: of sequences with turns, when a tool
 *                                 runs (graph/input/turns.h)
 *
 * graph/rollout/batcher.h says what an engine does with them.
 */
#ifndef RA_GRAPH_INPUT_PLAN_BATCHING_H
#define RA_GRAPH_INPUT_PLAN_BATCHING_H

#include "graph/input/plan.h"

/* The keys, which `[call NAME]` has beside its own (graph/input/plan.c). */
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

/* What the keys are where they are not given. */
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
       .doc = "continuous: tokens of a step, prompts and answers"},            \
      {"kv-block",                                                             \
       RA_KEY_UINT32,                                                          \
       RA_BATCHING_FIELD(base, kv_block),                                      \
       .fallback = G_STRINGIFY(RA_BATCHING_KV_BLOCK),                          \
       .min = 1,                                                               \
       .max = 65536,                                                           \
       .doc = "tokens of a block of keys and values; sequences have whole "    \
              "blocks"},                                                       \
      {"kv-memory",                                                            \
       RA_KEY_QUANTITY,                                                        \
       RA_BATCHING_FIELD(base, kv_memory_bytes),                               \
       .min = 1,                                                               \
       .max = 1e18,                                                            \
       .unit = RA_UNIT_BYTES,                                                  \
       .doc = "continuous: memory of a GPU for keys and values; default: no "  \
              "limit"},                                                        \
      {"kv-admission",                                                         \
       RA_KEY_ENUM,                                                            \
       RA_BATCHING_FIELD(base, kv_admission),                                  \
       .fallback = "prompt",                                                   \
       .names = ra_admission_words,                                            \
       .doc = "continuous: a sequence waits for room for its prompt, or for "  \
              "prompt and longest answer (whole)"},                            \
      {"prefix-sharing", RA_KEY_BOOL, RA_BATCHING_FIELD(base, prefix_sharing), \
       .fallback = "false",                                                    \
       .doc = "continuous: samples of a prompt share its keys and values"},    \
  {                                                                            \
    "tool-kv", RA_KEY_ENUM, RA_BATCHING_FIELD(base, tool_kv),                  \
        .fallback = "keep", .names = ra_tool_kv_words,                         \
        .doc = "turns: keys and values stay during a tool call while "         \
               "there is room, or go (drop)"                                   \
  }

/* The keys into @plan's call @call, whose degrees are read. */
void ra_plan_set_batching(RaPlan *plan, uint32_t call,
                          const RaBatchingKeys *keys);

/* FALSE with @error set, `file:line: ...`: a key that means nothing there, a
 * strategy that no engine has, no room for the longest sequence. */
gboolean ra_plan_check_batching(const RaPlan *plan, uint32_t call,
                                GError **error);

/* Appends the keys that are not their defaults, as lines of a file. */
void ra_plan_write_batching(const RaCallPlan *call, GString *out);
gboolean ra_plan_same_batching(const RaCallPlan *a, const RaCallPlan *b);

/* Tokens of a block of keys and values of @call. */
uint32_t ra_call_plan_kv_block(const RaCallPlan *call);
/* Tokens that there is room for where a sequence has @tokens: whole blocks. */
uint64_t ra_call_plan_kv_room(const RaCallPlan *call, uint64_t tokens);

/* Bytes of a block of keys and values on the GPU whose stage has most layers;
 * `kv-block` and the degrees of @call are read, its `batching` is not. */
uint64_t ra_call_kv_block_bytes(const RaPlan *plan, uint32_t call);

/* How a replica batches. */
typedef struct {
  uint32_t max_sequences; /* running at a time, >= 1 */
  uint32_t step_tokens;   /* computed in a step, >= max_sequences */
  uint32_t block_tokens;  /* keys and values of a block, >= 1 */
  uint64_t n_blocks;      /* 0: no limit */
  uint32_t group;         /* neighbouring sequences that share a prompt; 1: none
                             shares */
  gboolean reserve;       /* admission by the whole sequence */
} RaBatching;

/* What the batcher of a replica's micro-batch of @call is made with: its share
 * of the replica's places and blocks; max_sequences 0: static batching. */
RaBatching ra_call_batching(const RaPlan *plan, uint32_t call);

/* Blocks that one sequence of @prompt and @response tokens needs at most. */
uint64_t ra_batching_blocks(const RaBatching *batching, uint64_t prompt,
                            uint64_t response);

#endif
