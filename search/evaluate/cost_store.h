/* Cost store: costs that tables of earlier searches computed, by content.
 *
 *     g_autoptr(RaCostStore) store = ra_cost_store_new(bytes, n_bytes);
 *     table = ra_cost_table_new_from(space, estimator, store, 0, &error);
 *     ...
 *     bytes = ra_cost_store_bytes(store);    for the next search
 *
 * A store is of one workload, cluster, estimator, seed and number of
 * iterations: its owner makes sure of that.  Within it a cost has a name, the
 * hash of everything else that it depends on: call and plan.
 *
 * A table takes a cost from its store where it would compute it, and at no
 * other time.  What a search does is therefore the same with a store and
 * without.
 *
 * Thread: any.   Typical sizes: 10^3 to 10^5 costs of 32 bytes.
 */
#ifndef RA_SEARCH_EVALUATE_COST_STORE_H
#define RA_SEARCH_EVALUATE_COST_STORE_H

#include <glib.h>
#include <stdint.h>

typedef struct _RaCostStore RaCostStore;

/**
 * ra_cost_store_new:
 * @bytes: (nullable) (array length=n_bytes): of ra_cost_store_bytes(); ignored
 *   from where they are not
 *
 * Returns: (transfer full): free with ra_cost_store_free()
 */
RaCostStore *ra_cost_store_new(const void *bytes, gsize n_bytes);
void ra_cost_store_free(RaCostStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCostStore, ra_cost_store_free)

/* Adds the costs of @bytes that are not there. */
void ra_cost_store_add(RaCostStore *store, const void *bytes, gsize n_bytes);

/* All costs, in the order of their names (transfer full). */
GByteArray *ra_cost_store_bytes(RaCostStore *store);

/* Copies the @n numbers of @name to @out.  FALSE: it is not there, or has
 * another number of them. */
gboolean ra_cost_store_get(RaCostStore *store, uint64_t name, double *out,
                           gsize n);

/* Keeps @n numbers as @name, unless it is there. */
void ra_cost_store_put(RaCostStore *store, uint64_t name, const double *numbers,
                       gsize n);

/* Number of costs that were put and were not there. */
guint ra_cost_store_n_put(const RaCostStore *store);

#endif
