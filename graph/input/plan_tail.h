/* Long-tail keys of a generate call in a plan.
 *
 *     [call actor_generate]
 *     assignment = order          length: longest first, each to the replica
 *                                 with the fewest tokens
 *     length-prediction = 1       assignment = length: correlation of the
 *                                 predicted lengths with the true ones
 *     respread = 0                number of times that running sequences are
 *                                 spread evenly again when a replica is empty
 *     over-sample = 1             prompts started per prompt wanted; generation
 *                                 stops when enough are complete
 *     unfinished = discard        carry: the next iteration continues them
 *     migrate-at = 0              fraction of the sequences still running when
 *                                 they are moved together; 0: never
 *     migrate-to = 1              replicas that receive them
 *     moved-kv = copy             recompute: moved sequences compute their keys
 *                                 and values again
 *
 * All need zero = 0 and sequences without turns.
 */
#ifndef RA_GRAPH_INPUT_PLAN_TAIL_H
#define RA_GRAPH_INPUT_PLAN_TAIL_H

#include "graph/input/plan.h"

extern const char *const ra_assignment_words[];
extern const char *const ra_unfinished_words[];
extern const char *const ra_moved_kv_words[];

/* Rows of a table of keys; @base: offset of an RaTail. */
#define RA_TAIL_FIELD(base, field) (base) + G_STRUCT_OFFSET(RaTail, field)
/* clang-format off */
#define RA_TAIL_KEY_SPECS(base)                                                \
  {"assignment", RA_KEY_ENUM, RA_TAIL_FIELD(base, assignment),                 \
   .fallback = "order", .names = ra_assignment_words,                          \
   .doc = "generate: assignment of sequences to replicas, in order or "        \
          "longest first"},                                                    \
  {"length-prediction", RA_KEY_DOUBLE, RA_TAIL_FIELD(base, prediction),        \
   .fallback = "1", .min = 0, .max = 1,                                        \
   .doc = "assignment = length: correlation of predicted and true lengths"},   \
  {"respread", RA_KEY_UINT32, RA_TAIL_FIELD(base, n_respreads),                \
   .fallback = "0", .min = 0, .max = 1000,                                     \
   .doc = "generate: times that sequences are redistributed over replicas"},   \
  {"over-sample", RA_KEY_DOUBLE, RA_TAIL_FIELD(base, over_sample),             \
   .fallback = "1", .min = 1, .max = 16,                                       \
   .doc = "generate: factor on the prompts that are begun"},                   \
  {"unfinished", RA_KEY_ENUM, RA_TAIL_FIELD(base, unfinished),                 \
   .fallback = "discard", .names = ra_unfinished_words,                        \
   .doc = "over-sample: the rest is discarded or carried to the next"},        \
  {"migrate-at", RA_KEY_DOUBLE, RA_TAIL_FIELD(base, migrate_frac),             \
   .fallback = "0", .min = 0, .max = 0.999,                                    \
   .doc = "generate: share of sequences left at which they move together"},    \
  {"migrate-to", RA_KEY_UINT32, RA_TAIL_FIELD(base, migrate_to),               \
   .fallback = "1", .min = 1, .max = 1048576,                                  \
   .doc = "migrate-at: number of replicas to which they move"},                \
  {"moved-kv", RA_KEY_ENUM, RA_TAIL_FIELD(base, moved_kv),                     \
   .fallback = "copy", .names = ra_moved_kv_words,                             \
   .doc = "respread, migrate-at: KV cache is copied or recomputed"}
/* clang-format on */

/* Returns FALSE and sets @error, `file:line: ...`, for a key without meaning
 * there, a strategy for which it is not modelled, or too many sequences. */
gboolean ra_plan_check_tail(const RaPlan *plan, uint32_t call, GError **error);

/* Appends the keys that differ from their defaults, as lines of a file. */
void ra_plan_write_tail(const RaCallPlan *call, GString *out);
gboolean ra_plan_same_tail(const RaTail *a, const RaTail *b);

/* Prompts that @call starts or continues in an iteration, at least the number
 * that it must complete. */
uint32_t ra_plan_tail_prompts(const RaPlan *plan, uint32_t call);

/* TRUE if some call's unfinished sequences are carried to the next iteration.
 */
gboolean ra_plan_carries(const RaPlan *plan);

/* TRUE if all iterations have sequences of the same lengths: fixed laws, no
 * carried sequences, no trips, no turns. */
gboolean ra_plan_iterations_alike(const RaPlan *plan);

#endif
