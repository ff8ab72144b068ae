/* Explanation of a missed bar: the column of the source in which the rows with
 * large errors differ from the others.
 *
 * Rows with errors above the missed bar are off.  Every column of the rows'
 * files that is no result (and the op) yields conditions: equal to a value, at
 * least, at most.  The condition is chosen that holds for most of the rows that
 * are off and for fewest of the others (Youden's J).  A second condition within
 * it is added where it explains a tenth more.  No explanation is written by
 * hand for a set.
 *
 *     g_autoptr(RaTable) missed = ra_validation_short(v);
 */
#ifndef RA_STUDY_VALIDATE_VALIDATE_SHORT_H
#define RA_STUDY_VALIDATE_VALIDATE_SHORT_H

#include "base/table.h"
#include "study/validate/validate.h"

/* TRUE if @score misses a bar. */
gboolean ra_validate_is_short(const RaValidateScore *score);

/**
 * ra_validate_why:
 * @rows: (element-type RaValidateRow): of a benchmark set
 * @score: score of a part of them, which misses a bar
 *
 * Cost: rows x columns x values of a column.
 *
 * Returns: (transfer full): one sentence: "12 of the 14 rows beyond 16 % have 4
 * GPUs or more: the 21 such are predicted 98.4 % too slow at the median; the
 * other 63 have 3.1 / 14.0 %"
 */
char *ra_validate_why(const GArray *rows, const RaValidateScore *score);

/* Table with a row per score that misses a bar (transfer full): by how much,
 * and why. */
RaTable *ra_validation_short(const RaValidation *validation);

#endif
