/* Private parts of programs; only search/evaluate/{flat_graph,evaluate}.c and
 * search/evaluate/signature.c include this.
 */
#ifndef RA_SEARCH_EVALUATE_FLAT_GRAPH_IMPL_H
#define RA_SEARCH_EVALUATE_FLAT_GRAPH_IMPL_H

#include "search/evaluate/flat_graph.h"

/* TRUE if some copy is in host memory. */
gboolean ra_flat_graph_has_host(const RaSpace *space, const RaPoint *point);

/* Number of versions, besides the newest, that training keeps for @call, as
 * ra_residency_n_behind(). Only for calls that read a trained model. */
uint32_t ra_flat_graph_n_behind(const RaSpace *space, const RaPoint *point,
                                uint32_t call);

/* Places a call in the small plan of a signature.
 *
 * Without host memory, the graph does not depend on the GPUs that calls share,
 * so each stand (calls that read one copy) has a node of its own.  With host
 * memory, every interval between two ends of meshes is a node.  dp
 * distinguishes stands with equal meshes.
 */
void ra_flat_graph_place_call(const RaSpace *space, const RaPoint *point,
                              uint32_t call, gboolean is_host, RaCallPlan *out);

#endif
