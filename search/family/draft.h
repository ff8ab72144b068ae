/* Draft of a plan: for every call its allowed shapes in order of preference,
 * the shape in use, and the reasons.
 *
 *     RaDraft *draft = ra_draft_new(workload, cluster);
 *     ra_draft_offer(draft, call, shapes);          for every call on GPUs
 *     ra_draft_say(draft, call, "All %u GPUs.", n);
 *     if (ra_draft_settle(draft, &error))
 *       text = ra_draft_write(draft, "w.workload", "c.cluster", NULL, &error);
 *     ra_draft_free(draft);
 *
 * Invariant: once shapes were offered for a call, its part of the plan is
 * complete.
 */
#ifndef RA_SEARCH_FAMILY_DRAFT_H
#define RA_SEARCH_FAMILY_DRAFT_H

#include "base/until.h"
#include "search/family/shape.h"

typedef struct {
  RaPlan *plan;      /* owned; without a file; stages borrowed from shapes */
  GArray **shapes;   /* (n_calls) arrays of RaShape, owned; NULL: not offered */
  guint *at;         /* (n_calls) index of the shape in use */
  GString **reasons; /* (n_calls) owned; comments above the calls in the file */
  GString *head;     /* owned; comment at the top of the file */
  const RaUntil *until; /* nullable, borrowed: when over, settling is refused,
                           and growing ends */
  gboolean weighs;      /* all calls are costed, and any shape may follow any */
} RaDraft;

RaDraft *ra_draft_new(const RaWorkload *workload, const RaCluster *cluster);
void ra_draft_free(RaDraft *draft);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaDraft, ra_draft_free)

/* Sets the shapes of @call, (transfer full), at least one.  The first is in
 * use. */
void ra_draft_offer(RaDraft *draft, uint32_t call, GArray *shapes);

/* Appends a sentence to the comment of @call. */
void ra_draft_say(RaDraft *draft, uint32_t call, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* The shape of @call that is in use. */
RaShape *ra_draft_shape(const RaDraft *draft, uint32_t call);

/**
 * ra_draft_settle:
 * @draft: shapes of all calls were offered
 * @error: %RA_ERROR_NEGATIVE: no shapes that fit are left
 *
 * Replaces shapes until every GPU has enough memory.  The memory need is the
 * bound of graph/memory/memory_peak.h if shapes of all calls were offered, and
 * search/family/need.h otherwise.  While some GPU lacks memory, one of its
 * calls advances to its next shape that needs less.  That call is the one that
 * needs most memory there; where all of them are costed, it is the one that
 * saves most bytes per second of added time.  Shapes only advance, so the loop
 * ends.
 *
 * A draft that weighs advances whichever shape saves most of the excess bytes
 * per second.  Once everything fits, each call in turn moves to its fastest
 * shape that still fits.
 *
 * Cost: O(shapes x GPUs x calls).
 *
 * Returns: %TRUE if every GPU has enough memory
 */
gboolean ra_draft_settle(RaDraft *draft, GError **error);

/**
 * ra_draft_grow:
 * @draft: settled
 * @call: any call
 *
 * Gives a generate call with continuous batching as much `kv-memory` as the
 * memory account leaves (to a 32nd), up to the need of all sequences.  Other
 * calls are unchanged.
 *
 * Cost: about 10 memory accounts.
 */
void ra_draft_grow(RaDraft *draft, uint32_t call);

/**
 * ra_draft_write:
 * @workload: name of the workload in the file
 * @cluster: name of the cluster in the file
 * @system: (nullable): name of the system in the file
 * @error: as ra_plan_write()
 *
 * Formats the plan, with the shapes in use and their bytes in the comments.
 *
 * Returns: (transfer full): the text of the plan
 */
char *ra_draft_write(const RaDraft *draft, const char *workload,
                     const char *cluster, const char *system, GError **error);

#endif
