/* A plan while it is chosen: for every call the shapes that it may have, in
 * order of preference, the one that it has, and why.
 *
 *     RaDraft *draft = ra_draft_new(workload, cluster);
 *     ra_draft_offer(draft, call, shapes);          for every call on GPUs
 *     ra_draft_say(draft, call, "All %u GPUs.", n);
 *     if (ra_draft_settle(draft, &error))
 *       text = ra_draft_write(draft, "w.workload", "c.cluster", NULL, &error);
 *     ra_draft_free(draft);
 *
 * Invariant: once a call has been offered shapes, its part of the plan is
 * complete.
 */
#ifndef RA_SEARCH_FAMILY_DRAFT_H
#define RA_SEARCH_FAMILY_DRAFT_H

#include "search/family/shape.h"

typedef struct {
  RaPlan *plan;      /* owned; without a file; stages borrowed from shapes */
  GArray **shapes;   /* (n_calls) of RaShape, owned; NULL: not offered */
  guint *at;         /* (n_calls) index of the shape in use */
  GString **reasons; /* (n_calls) owned; comments above the calls */
  GString *head;     /* owned; comment on top */
  gboolean weighs;   /* all calls are costed, and any shape may follow any */
} RaDraft;

RaDraft *ra_draft_new(const RaWorkload *workload, const RaCluster *cluster);
void ra_draft_free(RaDraft *draft);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaDraft, ra_draft_free)

/* Gives @call its shapes, (transfer full), at least one: the first is in use.
 */
void ra_draft_offer(RaDraft *draft, uint32_t call, GArray *shapes);

/* Puts a host call on @mesh. */
void ra_draft_host(RaDraft *draft, uint32_t call, const RaMesh *mesh);

/* Appends a sentence to the comment of @call. */
void ra_draft_say(RaDraft *draft, uint32_t call, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* The shape in use. */
RaShape *ra_draft_shape(const RaDraft *draft, uint32_t call);

/**
 * ra_draft_settle:
 * @draft: all calls offered
 * @error: %RA_ERROR_NEGATIVE: no shapes that fit are left
 *
 * While some GPU needs more than it may, by the bound of
 * graph/memory/memory_peak.h if all calls have been offered shapes and by
 * search/family/need.h if not, one of its calls goes on to its next shape that
 * needs less: the one that needs most there, or, where all of them are costed,
 * the one that saves most bytes for a second. Ends, as shapes only go on.  In a
 * draft that weighs it goes to whichever of its shapes saves most of what is
 * too much for a second; and once all fits, calls in turn to their quickest
 * shape that still does.
 *
 * Cost: O(shapes x GPUs x calls).
 *
 * Returns: %TRUE if every GPU has room
 */
gboolean ra_draft_settle(RaDraft *draft, GError **error);

/**
 * ra_draft_grow:
 * @draft: settled
 * @call: any
 *
 * Of a generate call with continuous batching: as much `kv-memory` as the
 * account leaves (to a 32nd), up to what all sequences come to.
 *
 * Cost: of some 10 accounts.
 */
void ra_draft_grow(RaDraft *draft, uint32_t call);

/**
 * ra_draft_write:
 * @workload: as the file shall name it
 * @cluster: as the file shall name it
 * @system: (nullable): as the file shall name it
 * @error: as ra_plan_write()
 *
 * Adds the shapes in use and their bytes to the comments.
 *
 * Returns: (transfer full): the text of the plan
 */
char *ra_draft_write(const RaDraft *draft, const char *workload,
                     const char *cluster, const char *system, GError **error);

#endif
