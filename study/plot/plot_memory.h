/* Memory of one GPU over time, stacked by holder, under its capacity.
 *
 *     RaMemoryPlotOptions options = {.path = "memory.svg", .gpu = RA_NONE};
 *     if (!ra_plot_memory(setup, replay, &options, &error)) ...
 *
 * Drawn as graph/memory/memory.h counts it: framework at the bottom, what
 * stays, what comes and goes, allocator slack on top.  Holders that never have
 * 1 % of the peak are drawn as one.  Of each pixel column the fullest moment is
 * shown, so a peak is never lost.  The data beside the picture has the same
 * rows as TSV.
 *
 * Typical sizes: 10 holders, 10^3 rows.
 */
#ifndef RA_STUDY_PLOT_PLOT_MEMORY_H
#define RA_STUDY_PLOT_PLOT_MEMORY_H

#include "study/replay.h"

typedef struct {
  const char *path;      /* ends in .svg, .png or .pdf */
  const char *data_path; /* NULL: path with its ending replaced by .dat */
  const char *title;     /* NULL: says which GPU */
  guint width_px;        /* 0: 1200 */
  guint height_px;       /* 0: 500 */
  double from_s;         /* window begins */
  double to_s;           /* window ends; 0: the run's end */
  uint32_t gpu;          /* of the cluster; RA_NONE: the fullest */
} RaMemoryPlotOptions;

/**
 * ra_plot_memory:
 * @setup: with a plan; borrowed
 * @replay: of it; borrowed
 * @options: what to draw, and where
 * @error: %RA_ERROR_INPUT: an unknown ending, a GPU that no call uses, or
 *   gnuplot is not installed (the data are written then); %RA_ERROR_IO: a file
 *   cannot be written, or gnuplot failed
 *
 * Returns: %TRUE where the picture and its data were written
 */
gboolean ra_plot_memory(const RaSetup *setup, const RaReplay *replay,
                        const RaMemoryPlotOptions *options, GError **error);

/**
 * ra_plot_memory_data:
 * @n_rows: moments, evenly over the run
 * @out_gpu: (out): the fullest GPU, whose memory it is
 *
 * Returns: (transfer full) (nullable): what the picture would be drawn from:
 * TSV behind a `#` line, `time_s` and the upper edge of every holder in GiB;
 * %NULL: no call uses a GPU
 */
char *ra_plot_memory_data(const RaReplay *replay, uint32_t n_rows,
                          uint32_t *out_gpu);

#endif
