/* What a validation says: its scores, worst rows and bars.
 *
 *     g_autoptr(RaTable) scores = ra_validation_scores(v, TRUE);
 *     ra_table_write(scores, RA_FORMAT_TEXT, out);
 */
#ifndef RA_STUDY_VALIDATE_VALIDATE_REPORT_H
#define RA_STUDY_VALIDATE_VALIDATE_REPORT_H

#include "base/table.h"
#include "study/validate/validate.h"

/* (transfer full): a row a score; @brief: for people, a source's name stands
 * once, and what fits a terminal. */
RaTable *ra_validation_scores(const RaValidation *validation, gboolean brief);

/* (transfer full): a row a level: what its rows are and how they are predicted.
 */
RaTable *ra_validation_levels(const RaValidation *validation);

/* (transfer full): the @n rows of each score that are furthest off, furthest
 * first; 0: three of each that misses a bar. */
RaTable *ra_validation_worst(const RaValidation *validation, guint n);

/* (transfer full): a row a note: level, text. */
RaTable *ra_validation_notes(const RaValidation *validation);

/* Appends `bar<TAB>name<TAB>value<TAB>limit<TAB>ok|short` for every bar. */
void ra_validation_bars(const RaValidation *validation, GString *out);

/* (transfer full): one line: how many bars are met, and which level is furthest
 * over one. */
char *ra_validation_verdict(const RaValidation *validation);

#endif
