/* Meanings: what each key of a framework says, one table a framework.
 *
 *     static const RaMeaning table[] = {
 *         RA_MEANS(COUNT, "trainer.nnodes", "1", n_nodes),
 *         RA_MEANS_NOTHING("trainer.project_name"),
 *         RA_MEANS_LOST(TIME, "model.use_liger", "false", "plain kernels"),
 *     };
 *     ra_meaning_read(table, G_N_ELEMENTS(table), recipe, settings, &error);
 *     ... what the reader's own functions read ...
 *     ra_meaning_settle(table, G_N_ELEMENTS(table), settings);
 *
 * A key is known to matter, known not to, or listed as unknown; no key is
 * dropped because its value is off.  A key at the framework's own default is
 * worth no line.
 *
 * Invariant: after ra_meaning_settle() every setting whose key is in the table
 * is READ, IGNORED, ABOUT, LOST or REPLACED; the rest is UNREAD.  The first row
 * that matches a key counts.  Typical sizes: 150 rows, 30 to 400 settings.
 */
#ifndef RA_STUDY_CONVERT_MEANING_H
#define RA_STUDY_CONVERT_MEANING_H

#include "study/convert/recipe.h"

typedef enum {
  RA_MEANING_NOTHING,  /* changes neither time nor memory nor learning */
  RA_MEANING_CODE,     /* read by the framework's own function; what that leaves
                          has no effect in this configuration */
  RA_MEANING_COUNT,    /* read into a uint32_t, 1 to RA_RECIPE_COUNT_MAX */
  RA_MEANING_NATURAL,  /* read into a uint32_t, from 0 */
  RA_MEANING_SWITCH,   /* read into a gboolean */
  RA_MEANING_FRACTION, /* read into a double, 0 to 1 */
  RA_MEANING_TEXT,     /* read into a char *, owned */
  RA_MEANING_TIME,     /* changes the time; not expressed in a plan */
  RA_MEANING_MEMORY,   /* changes the memory; not expressed in a plan */
  RA_MEANING_LEARNING  /* changes what is learnt; not expressed in a workload */
} RaMeaningKind;

typedef struct {
  const char *key;      /* a key, or a glob of keys that are not read */
  const char *standard; /* nullable: the framework's default.  Read kinds: the
                           value of a missing key; NULL leaves the recipe's.
                           Others: alternatives, separated by '|', that are
                           worth no line; "off" is false, null, 0 or nothing */
  RaMeaningKind kind;
  gsize offset;     /* of the field in RaRecipe, for the kinds that are read */
  const char *says; /* nullable: what is taken instead */
} RaMeaning;

/* Rows.  @field is a member of RaRecipe. */
#define RA_MEANS(kind_, key_, standard_, field_)                               \
  {                                                                            \
    .key = (key_), .standard = (standard_), .kind = RA_MEANING_##kind_,        \
    .offset = G_STRUCT_OFFSET(RaRecipe, field_)                                \
  }
#define RA_MEANS_NOTHING(key_)                                                 \
  {                                                                            \
    .key = (key_), .kind = RA_MEANING_NOTHING                                  \
  }
#define RA_MEANS_CODE(key_)                                                    \
  {                                                                            \
    .key = (key_), .kind = RA_MEANING_CODE                                     \
  }
#define RA_MEANS_LOST(kind_, key_, standard_, says_)                           \
  {                                                                            \
    .key = (key_), .standard = (standard_), .kind = RA_MEANING_##kind_,        \
    .says = (says_)                                                            \
  }

/**
 * ra_meaning_read:
 * @table: (array length=n_rows): rows in order; where two fill one field, the
 *   later one that is set counts
 * @error: %RA_ERROR_INPUT `file:line: ...`: a value out of its range
 *
 * Reads the settings that go straight into a field.
 */
gboolean ra_meaning_read(const RaMeaning *table, guint n_rows, RaRecipe *recipe,
                         RaSettings *settings, GError **error);

/* Gives every setting that is still UNREAD the state that its row says.
 * O(settings x rows). */
void ra_meaning_settle(const RaMeaning *table, guint n_rows,
                       RaSettings *settings);

#endif
