/* Kinds of input files: where good ones are, and commands that read them. */
#ifndef RA_TESTS_ATTACK_KINDS_H
#define RA_TESTS_ATTACK_KINDS_H

#include <glib.h>

/* A pattern is of paths in the source tree, or in the folder `made` of what
 * ra_attack_make wrote; its only `*` is in the last part.  In commands `@` is
 * the mutated file, `^` its text, `%` that folder; `~` stands for a blank in a
 * word. */
typedef struct {
  const char *name;
  const char *seeds[4];    /* patterns of good files; NULL: no more */
  const char *place;       /* folder of the case in which it stands, or NULL */
  gboolean brings;         /* the files beside it stand beside it there too */
  const char *commands[8]; /* arguments of reallot; NULL: no more */
} RaAttackKind;

/* Shell script that writes good files: $R is the program, $S the source tree.
 */
extern const char ra_attack_make[];

extern const RaAttackKind ra_attack_kinds[];
extern const guint ra_n_attack_kinds;

#endif
