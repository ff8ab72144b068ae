/* Why a shape of a call is no candidate of the space of plans.
 *
 *     g_autoptr(GArray) all = ra_space_rejected(space, call);
 *     for (guint i = 0; i < all->len; i++)
 *       text = ra_rejection_text(&g_array_index(all, RaRejection, i));
 *
 * How many of each reason there are, space->calls[call].n_rejected says at any
 * time; which, only a second walk over the shapes, as there are many.
 *
 * Typical sizes: 10^2 to 10^5 a call.
 */
#ifndef RA_SEARCH_SPACE_REJECTION_H
#define RA_SEARCH_SPACE_REJECTION_H

#include "graph/input/plan.h"

typedef enum {
  RA_REJECT_LIMIT,     /* a limit of the user leaves it out */
  RA_REJECT_HEADS,     /* tp does not divide what it cuts */
  RA_REJECT_SEQUENCES, /* parts or mini-batches times dp do not divide them */
  RA_REJECT_PLAN,      /* no plan may say it */
  RA_REJECT_DOMINATED, /* another is as quick and as small, whatever the plan */
  RA_REJECT_MEMORY,    /* it does not fit into a GPU by itself */
  RA_N_REJECTS
} RaReject;

/* "limit", "heads", ...: NULL-terminated, by RaReject. */
extern const char *const ra_reject_names[];

typedef struct {
  RaReject reason;
  const char *rule;   /* static: in words */
  RaCallPlan plan;    /* as far as it was made: 0 where a degree was not chosen
                         yet; stage_layers NULL */
  uint32_t n_gpus;    /* of its mesh */
  double needs_bytes; /* MEMORY: of a GPU; else 0 */
  double has_bytes;   /* MEMORY: that a GPU has; else 0 */
} RaRejection;

/* (transfer full): `256 GPUs, tp 8, pp 3: heads ... do not divide by tp`. */
char *ra_rejection_text(const RaRejection *rejection);

#endif
