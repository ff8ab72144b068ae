/* Inside programs; only search/evaluate/flat_graph.c and
 * search/evaluate/signature.c include this.
 */
#ifndef RA_SEARCH_EVALUATE_FLAT_GRAPH_IMPL_H
#define RA_SEARCH_EVALUATE_FLAT_GRAPH_IMPL_H

#include "search/evaluate/flat_graph.h"

/* Whether some copy is in host memory. */
gboolean ra_flat_graph_has_host(const RaWorkload *w, const RaPoint *point);

/* Versions beside the newest that @call makes training keep, as
 * ra_residency_n_behind() has it: where it reads what training writes. */
uint32_t ra_flat_graph_n_behind(const RaSpace *space, const RaPoint *point,
                                uint32_t call);

/* A call of a small plan of the signature.
 *
 * Without host memory the GPUs that calls share do not show in the graph, so
 * each stand has a node of its own; with it, every stretch between two ends of
 * meshes is a node.  dp tells stands apart whose meshes are equal. */
void ra_flat_graph_place_call(const RaSpace *space, const RaPoint *point,
                              uint32_t call, gboolean is_host, RaCallPlan *out);

#endif
