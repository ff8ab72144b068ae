/* Memory plot: memory of one GPU over time, stacked by holder, below its
 * capacity.
 *
 *     RaMemoryPlotOptions options = {.path = "memory.svg", .gpu = RA_NONE};
 *     if (!ra_plot_memory(setup, replay, &options, &error)) ...
 *
 * It shows the account of graph/memory/memory.h: framework at the bottom, then
 * permanent and temporary holders, allocator slack on top.  Holders that never
 * reach 1 % of the peak are merged into one.  Each pixel column shows its
 * fullest moment, so a peak is never lost.  The data next to the picture have
 * the same rows as TSV.
 *
 * Typical sizes: 10 holders, 10^3 rows.
 */
#ifndef RA_STUDY_PLOT_PLOT_MEMORY_H
#define RA_STUDY_PLOT_PLOT_MEMORY_H

#include "study/replay.h"
#include "traces/chrome.h"

typedef struct {
  const char *path;      /* ends in .svg, .png or .pdf */
  const char *data_path; /* NULL: path with its ending replaced by .dat */
  const char *title;     /* NULL: names the GPU */
  guint width_px;        /* 0: 1200 */
  guint height_px;       /* 0: 500 */
  double from_s;         /* window begins */
  double to_s;           /* window ends; 0: the run's end */
  uint32_t gpu;          /* of the cluster; RA_NONE: the fullest */
} RaMemoryPlotOptions;

/**
 * ra_plot_memory:
 * @setup: with a plan; borrowed
 * @replay: of the plan; borrowed
 * @options: what to plot, and where
 * @error: %RA_ERROR_INPUT: an unknown ending, a GPU that no call uses, or
 *   gnuplot is not installed (the data are written then); %RA_ERROR_IO: a file
 *   cannot be written, or gnuplot failed
 *
 * Returns: %TRUE if the picture and its data were written
 */
gboolean ra_plot_memory(const RaSetup *setup, const RaReplay *replay,
                        const RaMemoryPlotOptions *options, GError **error);

/**
 * ra_plot_memory_data:
 * @n_rows: number of moments, evenly over the run
 * @out_gpu: (out): the fullest GPU, which the data describe
 *
 * Returns: (transfer full) (nullable): the data of the picture: TSV after a `#`
 * line, with `time_s` and the upper edge of every holder in GiB; %NULL: no call
 * uses a GPU
 */
char *ra_plot_memory_data(const RaReplay *replay, uint32_t n_rows,
                          uint32_t *out_gpu);

/* Adds to @marks a track of memory by holder for every lane of GPUs, with 50 to
 * 1,000 moments each, as few lanes as there are; equal neighbours are one. */
void ra_plot_memory_tracks(const RaReplay *replay, RaChromeMarks *marks);

#endif
