/* What a generate call does about its long tail, in a plan.
 *
 *     [call actor_generate]
 *     assignment = order          length: longest first, each to the replica
 *                                 with the fewest tokens
 *     length-prediction = 1       of assignment = length: correlation of the
 *                                 lengths that it goes by with the true ones
 *     respread = 0                times that what runs is spread evenly anew
 *                                 when a replica has run dry
 *     over-sample = 1             prompts begun for one wanted; generation
 *                                 stops when enough are complete
 *     unfinished = discard        carry: the next iteration goes on with them
 *     migrate-at = 0              share of the sequences still running when
 *                                 they are moved together; 0: never
 *     migrate-to = 1              replicas that they are moved to
 *     moved-kv = copy             recompute: what moves computes its keys and
 *                                 values anew
 *
 * With zero = 0, and sequences without turns.
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
   .doc = "generate: sequences to replicas in order, or longest first "        \
          "(length)"},                                                         \
  {"length-prediction", RA_KEY_DOUBLE, RA_TAIL_FIELD(base, prediction),        \
   .fallback = "1", .min = 0, .max = 1,                                        \
   .doc = "assignment = length: correlation with the true lengths"},           \
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
   .doc = "generate: share of sequences left when they move together"},        \
  {"migrate-to", RA_KEY_UINT32, RA_TAIL_FIELD(base, migrate_to),               \
   .fallback = "1", .min = 1, .max = 1048576,                                  \
   .doc = "migrate-at: replicas that they move to"},                           \
  {"moved-kv", RA_KEY_ENUM, RA_TAIL_FIELD(base, moved_kv),                     \
   .fallback = "copy", .names = ra_moved_kv_words,                             \
   .doc = "respread, migrate-at: keys and values are copied or recomputed"}
/* clang-format on */

/* FALSE with @error set, `file:line: ...`: a key that means nothing there, a
 * strategy that it is not modelled with, more sequences than may be. */
gboolean ra_plan_check_tail(const RaPlan *plan, uint32_t call, GError **error);

/* Appends the keys that are not their defaults, as lines of a file. */
void ra_plan_write_tail(const RaCallPlan *call, GString *out);
gboolean ra_plan_same_tail(const RaCallPlan *a, const RaCallPlan *b);

/* Prompts that @call begins or goes on with in an iteration, at least those
 * that it is to complete. */
uint32_t ra_plan_tail_prompts(const RaPlan *plan, uint32_t call);

/* Whether all iterations have sequences of the same lengths: laws that are not
 * drawn, nothing carried, no trips. */
gboolean ra_plan_iterations_alike(const RaPlan *plan);

#endif
