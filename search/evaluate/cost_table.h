/* Seconds of all that a plan of the space is made of, each asked once.
 *
 *     g_autoptr(RaCostTable) costs =
 *         ra_cost_table_new(space, estimator, n_threads, &error);
 *     ra_cost_table_call_s(costs, call, candidate)[0]
 *     ra_cost_table_realloc_s(costs, trainer, from, user, to)
 *
 * calls          of every candidate what sim/call.h says: its own expansion at
 *                stage fidelity, simulated alone; by the shape of its mesh, as
 *                no cost knows where it lies.  When the table is made, in
 *                parallel, those that are quickly simulated; the others on
 *                demand: what is not known yet has a bound
 *                (search/evaluate/call_bound.h).
 * reallocations  by (layout, layout, scheme, how the meshes lie to each
 *                other): their offset where they share a GPU or a node, else
 *                only which comes first.  On demand, kept.
 * transfers      by batch, dp of both ends and whether both are in one node;
 *                whoever asks keeps them.
 * copies         offloads and reloads, by candidate.  On demand, kept.
 *
 * A cost that cannot be computed is an error, never 0.  Once made, a table may
 * be asked by any number of threads.
 *
 * Rounds: what is asked for the first time is known from the next round on to
 * whoever asks what is known (ra_cost_table_seen_s()), so what threads see of
 * each other does not depend on who was first.
 *
 * Typical sizes: 10^4 candidates of 8 bytes; 10^3 to 10^5 reallocations.
 */
#ifndef RA_SEARCH_EVALUATE_COST_TABLE_H
#define RA_SEARCH_EVALUATE_COST_TABLE_H

#include "estimator/estimator.h"
#include "search/evaluate/flat_graph.h"

typedef struct _RaCostTable RaCostTable;

/* Tasks that are simulated for a new table: a tenth of a second. */
#define RA_COST_TABLE_TASKS 2e5

/**
 * ra_cost_table_new:
 * @space: borrowed, complete: no ra_space_add() from now on
 * @estimator: borrowed
 * @n_threads: that cost calls; 0: as many as processors
 * @error: what an expansion refuses; %RA_ERROR_INPUT: an estimator whose
 *   calls are not replayed by sums and maxima
 *
 * Candidates are taken in the order of the tasks that simulating them needs,
 * until RA_COST_TABLE_TASKS of them are spent; where lengths are drawn all.
 *
 * Cost: a bound each candidate, and at most RA_COST_TABLE_TASKS simulated.
 *
 * Returns: (transfer full): ra_cost_table_free() it
 */
RaCostTable *ra_cost_table_new(const RaSpace *space,
                               const RaEstimator *estimator, guint n_threads,
                               GError **error);
void ra_cost_table_free(RaCostTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCostTable, ra_cost_table_free)

const RaSpace *ra_cost_table_space(const RaCostTable *table);

/* Iterations that calls are costed for: 1 where lengths are fixed. */
uint32_t ra_cost_table_n_like(const RaCostTable *table);

/**
 * ra_cost_table_call_s:
 * @call: of the workload
 * @candidate: of the call
 *
 * Simulates the call alone if that was not done before; what an expansion
 * refuses then ends the program, as others of the kind have been expanded.
 *
 * Returns: (array) (transfer none): (n_like, n_parts) seconds of its parts
 */
const double *ra_cost_table_call_s(RaCostTable *table, uint32_t call,
                                   uint32_t candidate);

/* The same if it is known, else %NULL. */
const double *ra_cost_table_known_s(const RaCostTable *table, uint32_t call,
                                    uint32_t candidate);

/* The same if it was known before @round, else %NULL. */
const double *ra_cost_table_seen_s(const RaCostTable *table, uint32_t call,
                                   uint32_t candidate, gint round);

/* Begins a new round and returns it; while nobody asks. */
gint ra_cost_table_next_round(RaCostTable *table);

/* No more than all parts of @call take as @candidate, in any iteration. */
double ra_cost_table_bound_s(const RaCostTable *table, uint32_t call,
                             uint32_t candidate);

/* The least of all parts of @call as @candidate in any iteration; its bound
 * while it is not known. */
double ra_cost_table_least_s(const RaCostTable *table, uint32_t call,
                             uint32_t candidate);

/**
 * ra_cost_table_transfer_s:
 * @transfer: of which data and batch
 * @from: how the producer runs
 * @to: how the consumer runs
 * @one_node: both meshes are in one node
 * @kinds: of the nodes of both
 *
 * As graph/augment/augment.c, graph/expand/data_transfer.h and the estimator
 * have it.
 *
 * Cost: O(pieces x replicas).   Thread: any.
 */
double ra_cost_table_transfer_s(const RaCostTable *table,
                                const RaFlatGraphSlot *transfer,
                                const RaCallPlan *from, const RaCallPlan *to,
                                gboolean one_node, uint32_t kinds);

/**
 * ra_cost_table_realloc_key:
 * @from: of the trainer, at position @at_from
 * @to: of who reads, at position @at_to
 * @adapters: they move alone (ra_cost_table_moves_adapters())
 *
 * Names a class of pairs that cost the same.  Never 0.  Where a mesh is a set
 * of nodes that are no run it is 62 bits of a hash of how the two lie to each
 * other: 10^6 pairs have two alike once in 10^7 searches.
 */
uint64_t ra_cost_table_realloc_key(const RaCostTable *table,
                                   const RaCandidate *from, uint32_t at_from,
                                   const RaCandidate *to, uint32_t at_to,
                                   gboolean adapters);

/* Whether a version moves to @call's copy of @residency as adapters alone
 * (graph/input/lora.h). */
gboolean ra_cost_table_moves_adapters(const RaCostTable *table, uint32_t call,
                                      const uint8_t *residency);

/* Seconds to fill the layout of call @to_call from that of @from_call. The
 * first time O(ra_realloc_new()), 0.1 ms to 1 s; then a look into a table. */
double ra_cost_table_realloc_s(RaCostTable *table, uint32_t from_call,
                               RaChoice from, uint32_t to_call, RaChoice to,
                               gboolean adapters);

/**
 * ra_cost_table_realloc_bound_s:
 *
 * A lower bound of ra_cost_table_realloc_s() of broadcasts, in O(1): with P the
 * bytes of the fullest reader, less what one GPU of the trainer may have of
 * them where meshes share GPUs; W those of the model, which every node
 * that has a replica takes in once where they share no node, from n sources;
 * a and b seconds a byte within and across nodes:
 *
 *     the most of  P a b / (a + b)        by both ways at once
 *                  W max(1, tp dp / width) / n b
 *
 * Sets of nodes that are no run count as if they shared GPUs.
 *
 * Returns: seconds; 0 of layouts that are the same, sharded or of experts, and
 * of models with adapters
 */
double ra_cost_table_realloc_bound_s(const RaCostTable *table, uint32_t model,
                                     const RaCandidate *from, uint32_t at_from,
                                     const RaCandidate *to, uint32_t at_to);

/* Whether that was asked before @round, by its key; then @out_s gets it. */
gboolean ra_cost_table_realloc_seen(RaCostTable *table, uint64_t key,
                                    gint round, double *out_s);

/**
 * ra_cost_table_take_news:
 *
 * What was asked since the last call, for a table of the same space elsewhere;
 * the first call only begins to note it.  While nobody asks.
 *
 * Returns: (transfer full)
 */
GByteArray *ra_cost_table_take_news(RaCostTable *table);

/* Adds what another table has told as if it had been asked in this round. */
void ra_cost_table_add_news(RaCostTable *table, const void *news,
                            gsize n_bytes);

/* Of all bounds: tables of one space have the same. */
uint64_t ra_cost_table_hash(const RaCostTable *table);

/* Seconds to offload (@out) or reload @what (RaCopyWhat bits) of @call. */
double ra_cost_table_copy_s(RaCostTable *table, uint32_t call,
                            uint32_t candidate, uint8_t what, gboolean out);

/* Tasks that simulating @candidate of @call takes, about. */
double ra_cost_table_n_tasks(const RaCostTable *table, uint32_t call,
                             uint32_t candidate);

/* Seconds of each part of host call @call. */
double ra_cost_table_host_s(const RaCostTable *table, uint32_t call);

/* Candidates whose costs are known so far. */
guint ra_cost_table_n_known(const RaCostTable *table);

/* Reallocations costed so far. */
guint ra_cost_table_n_reallocs(RaCostTable *table);

#endif
