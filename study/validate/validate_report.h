/* Report of a validation: its scores, worst rows and bars.
 *
 *     g_autoptr(RaTable) scores = ra_validation_scores(v, TRUE);
 *     ra_table_write(scores, RA_FORMAT_TEXT, out);
 */
#ifndef RA_STUDY_VALIDATE_VALIDATE_REPORT_H
#define RA_STUDY_VALIDATE_VALIDATE_REPORT_H

#include "base/table.h"
#include "study/validate/validate.h"

/* Table with a row per score (transfer full). @brief: for a terminal; fewer
 * columns, and a source's name only once. */
RaTable *ra_validation_scores(const RaValidation *validation, gboolean brief);

/* Table with a row per benchmark set (transfer full): what its rows are and how
 * they are predicted. */
RaTable *ra_validation_levels(const RaValidation *validation);

/* The @n rows of each score with the largest errors, largest first (transfer
 * full); 0: three for each score that misses a bar. */
RaTable *ra_validation_worst(const RaValidation *validation, guint n);

/* Table with a row per note (transfer full): level, text. */
RaTable *ra_validation_notes(const RaValidation *validation);

/* Appends `bar<TAB>name<TAB>value<TAB>limit<TAB>ok|short` for every bar. */
void ra_validation_bars(const RaValidation *validation, GString *out);

/* Verdict in one line (transfer full): how many bars are met, and which set
 * exceeds one most. */
char *ra_validation_verdict(const RaValidation *validation);

#endif
