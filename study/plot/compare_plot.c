/* Both traces in one picture: the simulated GPUs above, the measured below. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "study/plot/plot.h"
#include "study/run/compare_impl.h"

static const char *const side_names[2] = {"simulated", "measured"};

/* One more than the last GPU of @tasks. */
static guint
n_gpus(const RaTaskRows *tasks)
{
  g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(guint32));
  guint n = 0;

  for (guint i = 0; i < tasks->rows->len; i++) {
    const RaTraceRow *row = &g_array_index(tasks->rows, RaTraceRow, i);

    g_array_set_size(ranges, 0);
    if (*row->ranks && ra_ranks_parse(row->ranks, ranges, NULL))
      n = MAX(n, 1 + g_array_index(ranges, guint32, ranges->len - 1));
  }
  return n;
}

/* Adds @tasks, their GPUs counted from @first on; returns their end.  Host work
 * is on no GPU, and would be one lane of both. */
static double
add_side(RaTrace *both, const RaTaskRows *tasks, guint first)
{
  g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_autoptr(GString) ranks = g_string_new(NULL);
  double end_s = 0;

  for (guint i = 0; i < tasks->rows->len; i++) {
    RaTraceRow row = g_array_index(tasks->rows, RaTraceRow, i);

    g_array_set_size(ranges, 0);
    g_string_truncate(ranks, 0);
    end_s = fmax(end_s, row.end_s);
    if (!*row.ranks || !ra_ranks_parse(row.ranks, ranges, NULL))
      continue;
    for (guint k = 0; k < ranges->len; k++)
      g_array_index(ranges, guint32, k) += first;
    ra_ranks_format((const uint32_t *)(const void *)ranges->data, ranges->len,
                    ranks);
    row.ranks = ranks->str;
    ra_trace_add(both, &row);
  }
  return end_s;
}

/* "ppo-tiny.workload: 35.1 ms simulated, 40 ms measured" */
static char *
make_title(const RaTrace *simulated, const double end_s[2])
{
  const char *plan = ra_trace_head(simulated, "plan");
  g_autofree char *name = plan ? g_path_get_basename(plan) : NULL;

  return g_strdup_printf("%s%s%.4g s simulated, %.4g s measured",
                         name ? name : "", name ? ": " : "", end_s[0],
                         end_s[1]);
}

gboolean
ra_compare_plot(const RaTrace *simulated, const RaTrace *run, const char *path,
                char **out_text, GError **error)
{
  g_autoptr(RaTaskRows) a = ra_task_rows_new(simulated, error);
  g_autoptr(RaTaskRows) b = a ? ra_task_rows_new(run, error) : NULL;
  g_autoptr(RaTrace) both = ra_trace_new();
  g_autofree char *title = NULL;
  RaPlotOptions options = RA_PLOT_OPTIONS_INIT;
  double end_s[2];
  guint n;

  if (!b)
    return FALSE;
  n = MAX(n_gpus(a), n_gpus(b));
  if (n == 0 || n > RA_RANKS_MAX / 2) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%u GPUs in the traces, expected 1 to %u for a picture of both",
                n, RA_RANKS_MAX / 2);
    return FALSE;
  }
  end_s[0] = add_side(both, a, 0);
  end_s[1] = add_side(both, b, n);
  ra_trace_sort(both);
  title = make_title(simulated, end_s);
  options.path = path;
  options.title = title;
  options.sides = side_names;
  options.gpus_per_node = n;
  return ra_plot_timeline(both, &options, out_text, error);
}
