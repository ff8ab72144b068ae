/* Private parts of the plans that a framework can be told.
 *
 *     guint layout = ra_sayable_layout(says, &point);
 *
 * Private to study/contest/sayable*.c.
 */
#ifndef RA_STUDY_CONTEST_SAYABLE_IMPL_H
#define RA_STUDY_CONTEST_SAYABLE_IMPL_H

#include "study/contest/sayable.h"

/* A difference from the first plan of a layout. */
typedef struct {
  guint layout;
  uint32_t calls, models; /* bits of those that differ */
  RaPoint point;          /* what they then are */
} RaSayableMove;

/* A plan to begin with. */
typedef struct {
  guint layout;
  RaPoint point;
} RaSayableStart;

struct _RaSayable {
  RaSpace *space; /* borrowed */
  RaSayableOptions options;
  uint32_t
      n_own[RA_POINT_MAX]; /* candidates of each call, without added ones */
  GArray *layouts;         /* (RaPoint) the first plan of each, owned */
  GArray *starts;          /* (RaSayableStart), owned */
  GArray *moves;           /* (RaSayableMove), owned */
  GArray *strangers; /* (RaPoint): found not to be the framework's, owned */
  GHashTable *texts; /* of the images that were added, owned */
  char *refusal;     /* owned, nullable: why the first plan is not said */
};

/* The layout whose GPUs the calls of @point have; the number of layouts: none.
 */
guint ra_sayable_layout(const RaSayable *says, const RaPoint *point);

#endif
