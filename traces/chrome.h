/* A trace in Chrome's Trace Event Format, for Perfetto and chrome://tracing.
 *
 *     text = ra_trace_to_chrome(trace, 8, NULL, &n_bytes);
 *
 * Beside the rows of the trace a viewer can show marks, which a replay knows:
 * the critical path, and quantities over time.
 */
#ifndef RA_TRACES_CHROME_H
#define RA_TRACES_CHROME_H

#include "traces/trace.h"

/* Quantities over time, stacked, of a GPU or of several that are alike. */
typedef struct {
  char *name;      /* owned: "memory of gpu 0-7 (GiB)" */
  uint32_t gpu;    /* the first one: the track is in its node's process */
  char **series;   /* owned, NULL-terminated */
  GArray *times_s; /* owned (element-type double): ascending */
  GArray *values;  /* owned (element-type double): (times, series) */
} RaChromeTrack;

typedef struct {
  RaTrace *path;     /* owned, nullable: rows of the critical path, by time */
  GPtrArray *tracks; /* owned (element-type RaChromeTrack) */
} RaChromeMarks;

/* Marks without any; free with ra_chrome_marks_free(). */
RaChromeMarks *ra_chrome_marks_new(void);
void ra_chrome_marks_free(RaChromeMarks *marks);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaChromeMarks, ra_chrome_marks_free)

/* Adds a track without moments to @marks, which owns it. */
RaChromeTrack *ra_chrome_marks_add(RaChromeMarks *marks, const char *name,
                                   uint32_t gpu, char **series);

/**
 * ra_trace_to_chrome:
 * @gpus_per_node: >= 1
 * @marks: (nullable)
 * @out_n_bytes: (out): length of the text
 *
 * JSON object form:
 *
 *     process         a node; "host" for rows without GPUs
 *     thread          a lane (traces/trace_lanes.h) and stream
 *     complete event  ("X") a row, in every thread that it runs on
 *     counter         ("C") a moment of a track
 *     otherData       head fields
 *
 * The critical path is a process of its own, above the nodes; its rows have
 * `critical` in their args, and arrows ("s", "f") lead from each to the next
 * where that runs on other threads.
 *
 * Viewers cannot show rows of one thread that overlap: the later one is in a
 * further thread of the same name, "(2)".
 *
 * Cost: O(rows x threads of a row).
 *
 * Returns: (transfer full): UTF-8 text
 */
char *ra_trace_to_chrome(const RaTrace *trace, guint gpus_per_node,
                         const RaChromeMarks *marks, gsize *out_n_bytes);

#endif
