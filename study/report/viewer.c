/* A replay for viewers of traces. */
#include "config.h"

#include "sim/record.h"
#include "study/plot/plot_memory.h"
#include "study/report/viewer.h"
#include "traces/chrome.h"

char *
ra_viewer_text(const RaReplay *replay, const RaTrace *trace, gsize *out_n_bytes)
{
  g_autoptr(RaChromeMarks) marks = ra_chrome_marks_new();
  guint gpus_per_node = ra_trace_gpus_per_node(trace);

  g_return_val_if_fail(gpus_per_node > 0, NULL);
  marks->path = ra_record_path(replay->sim, replay->graph);
  ra_plot_memory_tracks(replay, marks);
  return ra_trace_to_chrome(trace, gpus_per_node, marks, out_n_bytes);
}
