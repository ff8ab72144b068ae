/* Private parts of a plot: the texts made from a timeline.
 *
 * plot.c decides and runs gnuplot; plot_script.c writes gnuplot's input,
 * plot_text.c the text form and the data file.  Sizes are pixels of 1/96 inch,
 * also in a PDF.
 *
 * Typical sizes: scripts of 10 to 500 kB.
 */
#ifndef RA_STUDY_PLOT_PLOT_IMPL_H
#define RA_STUDY_PLOT_PLOT_IMPL_H

#include "study/plot/plot.h"

typedef enum { RA_PLOT_SVG, RA_PLOT_PNG, RA_PLOT_PDF } RaPlotFormat;

/* Title lines above a picture. */
typedef struct {
  char *title;    /* owned */
  char *subtitle; /* owned */
} RaPlotHead;

/* Pixels that are not lanes: above (title, iterations) and below (axis). */
#define RA_PLOT_ABOVE_PX 96
#define RA_PLOT_BELOW_PX 60

/* gnuplot script (transfer full); it writes the picture to its output.  @path
 * (nullable): ra_timeline_path(). */
char *ra_plot_script(const RaTimeline *timeline, const RaPlotHead *head,
                     const GArray *path, RaPlotFormat format, guint width_px,
                     guint height_px);

/* Text form (transfer full). */
char *ra_plot_text(const RaTimeline *timeline, const RaPlotHead *head,
                   guint n_columns);

/* Boxes, and @path (nullable), as TSV (transfer full). */
char *ra_plot_data(const RaTimeline *timeline, const RaPlotHead *head,
                   const GArray *path);

/* Formats a time (transfer full): "41.2 s", in the unit that suits the window.
 */
char *ra_plot_time(const RaTimeline *timeline, double time_s);

#endif
