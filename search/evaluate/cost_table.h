/* Cost table: seconds of every part of the plans of a space, each computed
 * once.
 *
 *     g_autoptr(RaCostTable) costs =
 *         ra_cost_table_new(space, estimator, n_threads, &error);
 *     ra_cost_table_call_s(costs, call, candidate)[0]
 *     ra_cost_table_realloc_s(costs, trainer, from, user, to)
 *
 * calls          for every candidate the result of sim/call.h: its expansion
 *                at stage fidelity, simulated in isolation.  It depends on the
 *                shape of the mesh, not on its place.  Calls that are cheap to
 *                simulate are simulated in parallel when the table is made, the
 *                others on demand.  An unknown cost has a bound
 *                (search/evaluate/call_bound.h).
 * reallocations  by (layout, layout, scheme, relative position of the meshes):
 *                the offset where they share a GPU or a node, otherwise only
 *                which comes first.  On demand, kept.
 * transfers      by batch, dp of both ends and whether both are in one node;
 *                the caller keeps them.
 * copies         offloads and reloads, by candidate. On demand, kept.
 *
 * A cost that cannot be computed is an error, never 0. A finished table may be
 * used by any number of threads.
 *
 * Rounds: a cost computed for the first time becomes visible to
 * ra_cost_table_seen_s() in the next round.  What threads see of each other
 * therefore does not depend on timing.
 *
 * Typical sizes: 10^4 candidates of 8 bytes; 10^3 to 10^5 reallocations.
 */
#ifndef RA_SEARCH_EVALUATE_COST_TABLE_H
#define RA_SEARCH_EVALUATE_COST_TABLE_H

#include "estimator/estimator.h"
#include "search/evaluate/cost_store.h"
#include "search/evaluate/flat_graph.h"

typedef struct _RaCostTable RaCostTable;

/* Number of tasks that are simulated for a new table: a tenth of a second. */
#define RA_COST_TABLE_TASKS 2e5

/* Seconds of a call that there was no time to cost: no plan with it is taken.
 */
#define RA_COST_NO_TIME_S 1e30

/**
 * ra_cost_table_new:
 * @space: borrowed, complete: no further ra_space_add()
 * @estimator: borrowed
 * @n_threads: threads that cost calls; 0: as many as processors
 * @error: errors of an expansion; %RA_ERROR_INPUT: the estimator's calls are
 *   not replayed by sums and maxima
 *
 * Simulates candidates in increasing order of their tasks, until
 * RA_COST_TABLE_TASKS tasks are spent; none where lengths are sampled, whose
 * tasks take longer as hardly two are alike.
 *
 * Cost: one bound per candidate, and at most RA_COST_TABLE_TASKS simulated
 * tasks.
 *
 * Returns: (transfer full): free with ra_cost_table_free()
 */
RaCostTable *ra_cost_table_new(const RaSpace *space,
                               const RaEstimator *estimator, guint n_threads,
                               GError **error);

/* As ra_cost_table_new(), with a store (nullable, borrowed; it outlives the
 * table) that bounds, costs of calls and reallocations are taken from and put
 * into. */
RaCostTable *ra_cost_table_new_from(const RaSpace *space,
                                    const RaEstimator *estimator,
                                    RaCostStore *store, guint n_threads,
                                    GError **error);
void ra_cost_table_free(RaCostTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCostTable, ra_cost_table_free)

const RaSpace *ra_cost_table_space(const RaCostTable *table);

/* Number of iterations for which calls are costed: 1 where lengths are fixed.
 */
uint32_t ra_cost_table_n_like(const RaCostTable *table);

/* Parts of @call in an iteration, one trip after another: in that with most
 * trips.  In the others the last are 0. */
uint32_t ra_cost_table_n_parts(const RaCostTable *table, uint32_t call);

/**
 * ra_cost_table_call_s:
 * @call: of the workload
 * @candidate: of the call
 *
 * Simulates the isolated call, if that was not done before.  An error of the
 * expansion aborts the program, as similar calls have already been expanded.
 *
 * Returns: (array) (transfer none): (n_like, n_parts) seconds of its parts
 */
const double *ra_cost_table_call_s(RaCostTable *table, uint32_t call,
                                   uint32_t candidate);

/* As ra_cost_table_call_s(), but %NULL if the cost is unknown. */
const double *ra_cost_table_known_s(const RaCostTable *table, uint32_t call,
                                    uint32_t candidate);

/* As ra_cost_table_call_s(), but %NULL if the cost was unknown before @round.
 */
const double *ra_cost_table_seen_s(const RaCostTable *table, uint32_t call,
                                   uint32_t candidate, gint round);

/* Simulates @n candidates of @call that are not known, on @n_threads threads
 * (0: as many as processors). */
void ra_cost_table_learn(RaCostTable *table, uint32_t call,
                         const uint32_t *candidates, guint n, guint n_threads);

/* Computes the bounds for which there was no time when @table was made, until
 * @until is over.  No other thread may use the table during the call. */
void ra_cost_table_bound_rest(RaCostTable *table, const RaUntil *until,
                              guint n_threads);

/* Begins a new round and returns its number.  No other thread may use the table
 * during the call. */
gint ra_cost_table_next_round(RaCostTable *table);

/* Lower bound of the time of all parts of @call as @candidate, in any
 * iteration. */
double ra_cost_table_bound_s(const RaCostTable *table, uint32_t call,
                             uint32_t candidate);

/* Lower bound of one part, @at of (n_like, n_parts); 0: none is known, as of
 * several parts a trip. */
double ra_cost_table_part_bound_s(const RaCostTable *table, uint32_t call,
                                  uint32_t candidate, uint32_t at);

/* Least time of all parts of @call as @candidate over the iterations; its bound
 * while the cost is unknown. */
double ra_cost_table_least_s(const RaCostTable *table, uint32_t call,
                             uint32_t candidate);

/**
 * ra_cost_table_transfer_s:
 * @transfer: data and batch
 * @from: how the producer runs
 * @to: how the consumer runs
 * @one_node: both meshes are in one node
 * @kinds: bits of the node kinds of both
 *
 * Computes a transfer as graph/augment/augment.c, graph/expand/data_transfer.h
 * and the estimator do.
 *
 * Cost: O(pieces x replicas).   Thread: any.
 */
double ra_cost_table_transfer_s(const RaCostTable *table,
                                const RaFlatGraphSlot *transfer,
                                const RaCallPlan *from, const RaCallPlan *to,
                                gboolean one_node, uint32_t kinds);

/**
 * ra_cost_table_realloc_key:
 * @from: candidate of the trainer, at position @at_from
 * @to: candidate of the reader, at position @at_to
 * @adapters: adapters move alone (ra_cost_table_moves_adapters())
 *
 * Computes the key of a class of pairs with equal cost.  The key is never 0.
 * Where a mesh is a set of nodes that are not in a row, it is 62 bits of a hash
 * of the relative position of the two meshes.  Among 10^6 pairs, two keys
 * collide once in 10^7 searches.
 */
uint64_t ra_cost_table_realloc_key(const RaCostTable *table,
                                   const RaCandidate *from, uint32_t at_from,
                                   const RaCandidate *to, uint32_t at_to,
                                   gboolean adapters);

/* TRUE if a new version reaches @call's copy, under @residency, as adapters
 * alone (graph/input/lora.h). */
gboolean ra_cost_table_moves_adapters(const RaCostTable *table, uint32_t call,
                                      const uint8_t *residency);

/* Seconds to fill the layout of call @to_call from that of @from_call.  The
 * first request costs O(ra_realloc_new()), 0.1 ms to 1 s; later ones are a
 * table lookup. */
double ra_cost_table_realloc_s(RaCostTable *table, uint32_t from_call,
                               RaChoice from, uint32_t to_call, RaChoice to,
                               gboolean adapters);

/**
 * ra_cost_table_realloc_bound_s:
 *
 * Computes a lower bound of ra_cost_table_realloc_s() with broadcasts, in O(1).
 * P is the bytes of the fullest reader, less what one GPU of the trainer may
 * have of them where the meshes share GPUs.  W is the bytes of the model.
 * Where the meshes share no node, every node with a replica receives W once,
 * from n sources.  a and b are seconds per byte within and across nodes:
 *
 *     the maximum of  P a b / (a + b)        by both routes at once
 *                     W max(1, tp dp / width) / n b
 *
 * Sets of nodes that are not in a row count as if they shared GPUs.
 *
 * Returns: seconds; 0 for equal layouts, for sharded layouts, for experts, and
 * for models with adapters
 */
double ra_cost_table_realloc_bound_s(const RaCostTable *table, uint32_t model,
                                     const RaCandidate *from, uint32_t at_from,
                                     const RaCandidate *to, uint32_t at_to);

/* TRUE if the reallocation of @key was computed before @round; @out_s is then
 * its time. */
gboolean ra_cost_table_realloc_seen(RaCostTable *table, uint64_t key,
                                    gint round, double *out_s);

/**
 * ra_cost_table_take_news:
 *
 * Takes the outbox: the costs computed since the last call, for a table of the
 * same space in another process.  The first call only starts the recording.  No
 * other thread may use the table during the call.
 *
 * Returns: (transfer full): the costs
 */
GByteArray *ra_cost_table_take_news(RaCostTable *table);

/* Adds the costs from another table's outbox as if they had been computed in
 * this round. */
void ra_cost_table_add_news(RaCostTable *table, const void *news,
                            gsize n_bytes);

/* Hash of all bounds: equal for tables of one space. */
uint64_t ra_cost_table_hash(const RaCostTable *table);

/* Seconds to offload (@out) or reload @what (RaCopyWhat bits) of @call. */
double ra_cost_table_copy_s(RaCostTable *table, uint32_t call,
                            uint32_t candidate, uint8_t what, gboolean out);

/* Approximate number of tasks in a simulation of @candidate of @call. */
double ra_cost_table_n_tasks(const RaCostTable *table, uint32_t call,
                             uint32_t candidate);

/* Seconds of each part of host call @call. */
double ra_cost_table_host_s(const RaCostTable *table, uint32_t call);

/* Number of candidates with known costs. */
guint ra_cost_table_n_known(const RaCostTable *table);

/* Number of reallocations with known costs. */
guint ra_cost_table_n_reallocs(RaCostTable *table);

#endif
