/* Pictures of a report: SVG elements that are appended to a text. */
#ifndef RA_STUDY_REPORT_REPORT_IMPL_H
#define RA_STUDY_REPORT_REPORT_IMPL_H

#include "sim/breakdown.h"
#include "study/report/report.h"
#include "study/sweep/sensitivity.h"
#include "traces/timeline.h"

#define RA_REPORT_WIDTH_PX 1000

/* Appends @text with HTML's special characters escaped. */
void ra_report_escape(GString *out, const char *text);

void ra_report_timeline(GString *out, const RaTimeline *timeline);

/* Appends the stacked areas of @data (ra_plot_memory_data()) below
 * @capacity_gib. */
void ra_report_memory(GString *out, const char *data, double capacity_gib);

/* Appends GPU time by cause, a bar per call. */
void ra_report_causes(GString *out, const RaBreakdown *breakdown,
                      const RaWorkload *workload);
void ra_report_tornado(GString *out, const RaSensitivity *sensitivity);

#endif
