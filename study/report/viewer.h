/* A replay for Perfetto and chrome://tracing: its trace, the critical path, and
 * memory over time.
 *
 *     text = ra_viewer_text(replay, trace, &n_bytes);
 */
#ifndef RA_STUDY_REPORT_VIEWER_H
#define RA_STUDY_REPORT_VIEWER_H

#include "study/replay.h"

/**
 * ra_viewer_text:
 * @replay: finished
 * @trace: that ra_replay_trace() made of it
 * @out_n_bytes: (out): length of the text
 *
 * Returns: (transfer full): text of ra_trace_to_chrome() with a track of the
 * memory of every kind of GPU, by holder, beside the critical path
 */
char *ra_viewer_text(const RaReplay *replay, const RaTrace *trace,
                     gsize *out_n_bytes);

#endif
