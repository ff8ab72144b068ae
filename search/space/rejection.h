/* Rejections: reasons why a shape of a call is not a candidate of the plan
 * space.
 *
 *     g_autoptr(GArray) all = ra_space_rejected(space, call);
 *     for (guint i = 0; i < all->len; i++)
 *       text = ra_rejection_text(&g_array_index(all, RaRejection, i));
 *
 * space->calls[call].n_rejected always has the count of each reason.  The
 * rejected shapes themselves are too many to keep, so listing them repeats the
 * enumeration.
 *
 * Typical sizes: 10^2 to 10^5 per call.
 */
#ifndef RA_SEARCH_SPACE_REJECTION_H
#define RA_SEARCH_SPACE_REJECTION_H

#include "graph/input/plan.h"

typedef enum {
  RA_REJECT_LIMIT,     /* excluded by a limit of the user */
  RA_REJECT_HEADS,     /* tp does not divide the heads or widths that it cuts */
  RA_REJECT_SEQUENCES, /* parts or mini-batches times dp do not divide the
                          sequences */
  RA_REJECT_PLAN,      /* not expressible in a plan */
  RA_REJECT_DOMINATED, /* another shape is as fast and as small, whatever the
                          plan */
  RA_REJECT_MEMORY,    /* does not fit into a GPU by itself */
  RA_N_REJECTS
} RaReject;

/* Names "limit", "heads", ...: NULL-terminated, by RaReject. */
extern const char *const ra_reject_names[];

typedef struct {
  RaReject reason;
  const char *rule;   /* static: the rule in words */
  RaCallPlan plan;    /* as far as it was chosen: degrees not yet chosen are 0;
                         stage_layers NULL */
  uint32_t n_gpus;    /* of its mesh */
  double needs_bytes; /* MEMORY: need per GPU; else 0 */
  double has_bytes;   /* MEMORY: capacity of a GPU; else 0 */
} RaRejection;

/* Formats a rejection (transfer full): `256 GPUs, tp 8, pp 3: heads ... do not
 * divide by tp`. */
char *ra_rejection_text(const RaRejection *rejection);

#endif
