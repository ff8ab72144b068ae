/* Turns of a sequence: it generates, calls a tool, and generates again after
 * reading the tool's answer.
 *
 *     [workload]
 *     response-length = lognormal(300, 250, 2048)     per turn
 *     turns = uniform(1, 5)              per sequence; default: fixed(1)
 *     tool-tokens = uniform(20, 400)     per answer: read, not generated
 *     tool-latency = lognormal(2 s, 3 s) or constant(2 s), exponential(2 s)
 *     sandboxes = 64                     tools that run at once; default: all
 *
 * A sequence of T turns is a prompt, T responses and T - 1 outputs of tools
 * between them.  While a tool runs, the sequence is not in the batch.  Each
 * replica has its share of the sandboxes, at least one, in which calls run in
 * the order in which they are made.  The plan's `tool-kv` decides about the KV
 * cache of a sequence that waits, which is dropped, or kept while no running
 * sequence needs its blocks (a prefix cache: the sequence that left first loses
 * them first).  A sequence comes back behind all that wait (first come, first
 * served) and then computes lost keys and values again.  Calls that read the
 * sequence see prompt, responses and tools' answers.
 *
 * The first turn has the response length that the workload samples without
 * turns, so with one turn nothing changes.
 *
 *     const RaTurns *turns = ra_turns_new(arena, workload, &source, n);
 *     turns->response[turns->begin[i] + t]
 *
 * Typical sizes: 10^3 to 10^5 sequences of 1 to 20 turns.
 */
#ifndef RA_GRAPH_INPUT_TURNS_H
#define RA_GRAPH_INPUT_TURNS_H

#include "base/arena.h"
#include "graph/input/workload.h"

#define RA_TURNS_MAX 1000 /* of a sequence */

/* Keys as written in the file; NULL: not given. */
struct _RaTurnKeys {
  const char *turns, *tool_tokens, *tool_latency;
  uint32_t sandboxes; /* 0: not given */
};

/* Rows of a table of keys; @base: offset of an RaTurnKeys. */
/* clang-format off */
#define RA_TURN_KEY_SPECS(base)                                                \
  {"turns", RA_KEY_STRING, (base) + G_STRUCT_OFFSET(RaTurnKeys, turns),        \
   .doc = "distribution of turns, such as uniform(1, 5); one turn: no tools"}, \
  {"tool-tokens", RA_KEY_STRING,                                               \
   (base) + G_STRUCT_OFFSET(RaTurnKeys, tool_tokens),                          \
   .doc = "turns: length distribution of a tool's output"},                    \
  {"tool-latency", RA_KEY_STRING,                                              \
   (base) + G_STRUCT_OFFSET(RaTurnKeys, tool_latency),                         \
   .doc = "turns: time distribution such as exponential(2 s)"},                \
  {"sandboxes", RA_KEY_UINT32,                                                 \
   (base) + G_STRUCT_OFFSET(RaTurnKeys, sandboxes), .min = 1,                  \
   .max = RA_WORKLOAD_SEQUENCES_MAX,                                           \
   .doc = "turns: tools that run at once, of all replicas; default: no limit"}
/* clang-format on */

/* Returns FALSE and sets @error, `file:line: ...`, for a law that cannot be
 * read, one law without the others, or sequences that are too long. */
gboolean ra_turns_read(RaWorkload *workload, guint group,
                       const RaTurnKeys *keys, GError **error);

/* TRUE if sequences of @workload have turns. */
gboolean ra_turns_are_set(const RaWorkload *workload);

/* Expected and largest number of tokens that follow a prompt. */
double ra_turns_mean_tokens(const RaWorkload *workload);
uint64_t ra_turns_max_tokens(const RaWorkload *workload);

/* Turns of n sequences. */
struct _RaTurns {
  const uint32_t *begin;       /* (n + 1) first turn of a sequence, index into
                                  the other arrays */
  const uint32_t *response;    /* tokens generated in a turn */
  const uint32_t *tool_tokens; /* of the answer before a turn; 0 before the
                                  first */
  const double *latency_s;     /* time of the tool before a turn */
};

/* Sequences whose turns are sampled. */
typedef struct {
  uint32_t set, iteration; /* select the streams of random numbers */
  uint64_t seed;
  const uint32_t *index;    /* (n) index of each sequence in its iteration */
  const uint32_t *response; /* (n) tokens of the first turn */
} RaTurnSource;

/* @arena owns the result. */
const RaTurns *ra_turns_new(RaArena *arena, const RaWorkload *workload,
                            const RaTurnSource *source, uint32_t n);

/* Tokens that follow the prompt of sequence @i. */
uint32_t ra_turns_tokens(const RaTurns *turns, uint32_t i);

/**
 * ra_latency_parse:
 * @text: constant(2 s), exponential(2 s) or lognormal(2 s, 3 s): mean and
 *   standard deviation
 * @error: %RA_ERROR_INPUT without a place
 */
gboolean ra_latency_parse(const char *text, RaLatency *out_latency,
                          GError **error);

/* Sampled seconds, >= 0: a pure function of (@seed, @stream, @index), as for
 * lengths. */
double ra_latency_draw(const RaLatency *latency, uint64_t seed, uint64_t stream,
                       uint64_t index);

#endif
