/* Curves of a study. */
#include "config.h"

#include "study/sweep/curve.h"

/* Points from one value along the curve to the next. */
static guint
stride(const RaStudy *study)
{
  guint n = 1;

  for (guint a = study->along + 1; a < study->n_axes; a++)
    n *= study->axes[a].n_values;
  return n;
}

const RaStudyAxis *
ra_study_along(const RaStudy *study)
{
  return &study->axes[study->along];
}

guint
ra_study_n_curves(const RaStudy *study)
{
  return study->n_points / ra_study_along(study)->n_values;
}

guint
ra_study_curve_point(const RaStudy *study, guint curve, guint v)
{
  guint s = stride(study), n = ra_study_along(study)->n_values;

  return curve / s * s * n + v * s + curve % s;
}

guint
ra_study_curve_of(const RaStudy *study, guint point)
{
  guint s = stride(study), n = ra_study_along(study)->n_values;

  return point / (s * n) * s + point % s;
}

char *
ra_study_curve_name(const RaStudy *study, guint curve)
{
  GString *out = g_string_new(NULL);
  guint point = ra_study_curve_point(study, curve, 0);

  for (guint a = 0; a < study->n_axes; a++) {
    const RaStudyAxis *axis = &study->axes[a];

    if (a != study->along)
      g_string_append_printf(out, "%s%s %s", out->len > 0 ? ", " : "",
                             axis->name,
                             axis->labels[ra_study_value(study, point, a)]);
  }
  return g_string_free(out, FALSE);
}
