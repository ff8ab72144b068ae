/* Private parts of the plan space, for search/space/space*.c and other makers
 * of meshes.
 */
#ifndef RA_SEARCH_SPACE_SPACE_IMPL_H
#define RA_SEARCH_SPACE_SPACE_IMPL_H

#include "search/space/space.h"

/* Receiver of the shapes of one call: collects candidates, rejections, or both.
 */
typedef struct {
  const RaSpace *space;
  uint32_t call;
  gboolean on_cpu;    /* in the second try: no gradients between either */
  GArray *candidates; /* nullable: RaCandidate, those accepted */
  GArray *rejected;   /* nullable: RaRejection of the others */
  uint32_t n_tried;
  uint32_t n_rejected[RA_N_REJECTS];
} RaSpaceSink;

/* Numbers the layouts that the candidates have. */
void ra_space_number_layouts(RaSpace *space);

/* TRUE if calls @a and @b lie on the same GPUs in one layout. */
gboolean ra_space_lies_alike(const RaSpace *space, const RaPoint *point,
                             uint32_t a, uint32_t b);

/* Tries all shapes of the sink's call and stores the results in @sink; training
 * that fits nowhere by itself again with its optimizer on the CPU. */
void ra_space_fill(RaSpaceSink *sink);

/* A shape for which strategies are being made. */
typedef struct {
  RaSpaceSink *sink;
  const RaCall *call;
  const RaWorkloadModel *model;
  RaCandidate mesh; /* n_gpus, first, step, n_positions */
  RaCallPlan plan;  /* mesh and degrees set */
  uint32_t batch;   /* sequences that a replica processes at a time */
  uint32_t longest; /* tokens of the longest possible sequence */
} RaSpaceMaker;

/* Counts the current shape as rejected, and records it where wanted. */
void ra_space_reject(const RaSpaceMaker *maker, RaReject reason,
                     const char *rule);

/* Makes all strategies of the current shape, whose degrees divide. */
void ra_space_fill_strategies(RaSpaceMaker *maker);

/* TRUE if a limit names @value for @call, so that it is tried even if another
 * value is never worse. */
gboolean ra_space_names(const RaSpace *space, uint32_t call, RaLimitKind kind,
                        uint32_t value);

/* TRUE if @value is allowed; without a limit, every value is. */
gboolean ra_space_allows(const RaSpace *space, uint32_t call, RaLimitKind kind,
                         uint32_t value);

/* A mesh of @n_gpus from GPU @begin on: a slice of a node or whole nodes. */
RaMesh ra_space_mesh(const RaCluster *cluster, uint32_t begin, uint32_t n_gpus);

/* Number of GPUs, counted from the first, that meshes may use. */
uint32_t ra_space_n_gpus(const RaSpace *space);

/* TRUE if meshes may use all GPUs of @mesh. */
gboolean ra_space_has_gpus(const RaSpace *space, const RaMesh *mesh);

/* GPUs between successive positions of a mesh of @n_gpus. */
uint32_t ra_space_step(const RaCluster *cluster, uint32_t n_gpus);

#endif
