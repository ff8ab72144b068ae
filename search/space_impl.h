/* Inside the space of plans; only search/space*.c include this. */
#ifndef RA_SEARCH_SPACE_IMPL_H
#define RA_SEARCH_SPACE_IMPL_H

#include "search/space.h"

/* Shapes of one call, told to a list of candidates, of reasons, or both. */
typedef struct {
  const RaSpace *space;
  uint32_t call;
  GArray *candidates; /* nullable: RaCandidate that are left */
  GString *reasons;   /* nullable: a line each that is not */
  uint32_t n_tried;
} RaSpaceSink;

/* Fills @sink with all shapes of its call. */
void ra_space_fill(RaSpaceSink *sink);

/* Whether @value is allowed; without a limit all are. */
gboolean ra_space_allows(const RaSpace *space, uint32_t call, RaLimitKind kind,
                         uint32_t value);

/* The mesh that @call is pinned to, %NULL: none. */
const RaLimit *ra_space_pin(const RaSpace *space, uint32_t call);

/* A mesh of @n_gpus from GPU @begin on: a slice of a node or whole nodes. */
RaMesh ra_space_mesh(const RaCluster *cluster, uint32_t begin, uint32_t n_gpus);

/* GPUs from a position of a mesh of @n_gpus to the next. */
uint32_t ra_space_step(const RaCluster *cluster, uint32_t n_gpus);

#endif
