/* Parts and pictures (SVG) of a page, which are appended to a text. */
#ifndef RA_STUDY_REPORT_REPORT_IMPL_H
#define RA_STUDY_REPORT_REPORT_IMPL_H

#include "base/table.h"
#include "sim/breakdown.h"
#include "study/report/outcome.h"
#include "study/report/report.h"
#include "study/sweep/sensitivity.h"
#include "traces/timeline.h"

#define RA_REPORT_WIDTH_PX 1000

/* Appends @text with HTML's special characters escaped. */
void ra_report_escape(GString *out, const char *text);

/* The page's head, with its title and our name; and its end. */
void ra_report_open(GString *out, const char *title);
void ra_report_close(GString *out);

void ra_report_heading(GString *out, const char *title, const char *text);
void ra_report_table(GString *out, const RaTable *table);

/* A large @value (in a `<div class="row">`) above @what it is. */
void ra_report_figure(GString *out, const char *value, const char *what);

/* Timeline, GPU time by cause and memory of a @replay that was recorded. */
gboolean ra_report_pictures(GString *out, const RaSetup *setup,
                            RaReplay *replay, const RaOutcome *outcome,
                            GError **error);

/* Appends the picture of @timeline, with a line below the lanes that @path
 * (rows in order of time) is on. */
void ra_report_timeline(GString *out, const RaTimeline *timeline,
                        const RaTrace *path);

/* Appends the stacked areas of @data (ra_plot_memory_data()) below
 * @capacity_gib. */
void ra_report_memory(GString *out, const char *data, double capacity_gib);

/* Appends GPU time by cause, a bar per call. */
void ra_report_causes(GString *out, const RaBreakdown *breakdown,
                      const RaWorkload *workload);
void ra_report_tornado(GString *out, const RaSensitivity *sensitivity);

#endif
