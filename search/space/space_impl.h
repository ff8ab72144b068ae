/* Inside the space of plans; search/space/space*.c, and who makes meshes. */
#ifndef RA_SEARCH_SPACE_SPACE_IMPL_H
#define RA_SEARCH_SPACE_SPACE_IMPL_H

#include "search/space/space.h"

/* Shapes of one call, told to a list of candidates, of reasons, or both. */
typedef struct {
  const RaSpace *space;
  uint32_t call;
  GArray *candidates; /* nullable: RaCandidate that are left */
  GArray *rejected;   /* nullable: RaRejection of those that are not */
  uint32_t n_tried;
  uint32_t n_rejected[RA_N_REJECTS];
} RaSpaceSink;

/* Fills @sink with all shapes of its call. */
void ra_space_fill(RaSpaceSink *sink);

/* One shape while strategies for it are made. */
typedef struct {
  RaSpaceSink *sink;
  const RaCall *call;
  const RaWorkloadModel *model;
  RaCandidate mesh; /* n_gpus, first, step, n_positions */
  RaCallPlan plan;  /* mesh and degrees set */
  uint32_t batch;   /* sequences that a replica works on at a time */
  uint32_t longest; /* tokens of the longest sequence that may be */
} RaSpaceMaker;

/* The shape in hand is none: counts it, and tells it. */
void ra_space_reject(const RaSpaceMaker *maker, RaReject reason,
                     const char *rule);

/* All strategies of the shape in hand, whose degrees divide. */
void ra_space_fill_strategies(RaSpaceMaker *maker);

/* Whether a limit names @value for @call, so that it is wanted though another
 * be never worse. */
gboolean ra_space_names(const RaSpace *space, uint32_t call, RaLimitKind kind,
                        uint32_t value);

/* Whether there is a limit of @kind for @call. */
gboolean ra_space_limits(const RaSpace *space, uint32_t call, RaLimitKind kind);

/* Whether @value is allowed; without a limit all are. */
gboolean ra_space_allows(const RaSpace *space, uint32_t call, RaLimitKind kind,
                         uint32_t value);

/* The mesh that @call is pinned to, %NULL: none. */
const RaLimit *ra_space_pin(const RaSpace *space, uint32_t call);

/* A mesh of @n_gpus from GPU @begin on: a slice of a node or whole nodes. */
RaMesh ra_space_mesh(const RaCluster *cluster, uint32_t begin, uint32_t n_gpus);

/* GPUs that meshes may have, from the first on. */
uint32_t ra_space_n_gpus(const RaSpace *space);

/* Whether all GPUs of @mesh are such. */
gboolean ra_space_has_gpus(const RaSpace *space, const RaMesh *mesh);

/* GPUs from a position of a mesh of @n_gpus to the next. */
uint32_t ra_space_step(const RaCluster *cluster, uint32_t n_gpus);

#endif
