/* Timeline plot: SVG, PNG or PDF by gnuplot, or text.
 *
 * gnuplot is located when it is needed and never sees a user's file name
 * (study/plot/gnuplot.h); a failure leaves no files behind.  The boxes are also
 * written as TSV next to the picture, with or without gnuplot.  The text form
 * needs no gnuplot: a line per lane, a letter per call.
 *
 *     RaPlotOptions options = RA_PLOT_OPTIONS_INIT;
 *     options.path = "ppo.svg";
 *     if (!ra_plot_timeline(trace, &options, NULL, &error)) ...
 *
 * Typical sizes: 6 to 1,024 GPUs, 100 kB of SVG.
 */
#ifndef RA_STUDY_PLOT_PLOT_H
#define RA_STUDY_PLOT_PLOT_H

#include "traces/timeline.h"

typedef struct {
  const char *path;      /* ends in .svg, .png or .pdf; NULL: text */
  const char *data_path; /* of the boxes; NULL: path with the ending .dat; text:
                            not written unless given */
  const char *title;     /* NULL: from the trace's head */
  guint width_px;        /* 0: 1200; for text: columns, 0: 100 */
  guint height_px; /* 0: the height of the lanes, at least that of the legend;
                      for text: lines at most */
  double from_s;   /* window begins */
  double to_s;     /* window ends; 0: the trace's end */
  uint32_t iteration;       /* window is this iteration; UINT32_MAX: not used */
  guint gpus_per_node;      /* 0: from the trace's head, if it has it */
  const char *const *sides; /* nullable: as in RaTimelineOptions */
  const RaTrace *critical;  /* nullable, borrowed: rows of the critical path, a
                               line below the lanes of a picture and rows of
                               the data */
} RaPlotOptions;

#define RA_PLOT_OPTIONS_INIT                                                   \
  {                                                                            \
    .iteration = UINT32_MAX                                                    \
  }

/**
 * ra_plot_timeline:
 * @trace: borrowed, sorted
 * @options: what to plot, and where
 * @out_text: (out) (nullable): the text, if @options has no path; g_free() it;
 *   untouched on error
 * @error: %RA_ERROR_INPUT: an unknown ending, no such iteration, an empty
 *   window, or gnuplot is not installed (the data are written then);
 *   %RA_ERROR_IO: a file cannot be written, or gnuplot failed
 *
 * Cost: O(rows x lanes of a row), and gnuplot's 0.1 s.
 *
 * Returns: %TRUE if the picture and its data were written
 */
gboolean ra_plot_timeline(const RaTrace *trace, const RaPlotOptions *options,
                          char **out_text, GError **error);

#endif
