/* Figures of benchmarks: medians of runs, clocks, and the comparison of a
 * figure with its bar.
 *
 *   double s = bench_median(runs_s, n_runs);
 *   bench_bar("load_ms", s * 1e3, BENCH_AT_MOST, 5);
 *
 * A figure that was not measured is NAN: its bar is printed as short, with `-`
 * for the value, so that a benchmark that measures nothing never passes.
 */
#ifndef RA_BENCH_FIGURE_H
#define RA_BENCH_FIGURE_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum { BENCH_AT_MOST, BENCH_AT_LEAST } BenchSide;

/**
 * bench_sort: ascending, in place
 * @values: (inout) (array length=n): none NAN
 */
void bench_sort(double *values, guint n);

/**
 * bench_median: of @values, which it sorts
 *
 * Returns: the middle one, or the mean of the middle two; NAN if there are none
 */
double bench_median(double *values, guint n);

/**
 * bench_quantile: the least value that @q of all do not exceed
 * @values: sorted by it
 * @q: 0 to 1
 *
 * Returns: the ceil(q n)-th smallest; NAN if there are none
 */
double bench_quantile(double *values, guint n, double q);

/**
 * bench_wall_s: seconds of a monotonic clock
 */
double bench_wall_s(void);

/**
 * bench_cpu_s: seconds of processor time of this process, all threads
 */
double bench_cpu_s(void);

/**
 * bench_unit_s: seconds of processor time of a fixed unit of work
 *
 * Bars on speed are ratios to it, so that they are about the program and not
 * about the machine.  The work is of the kind that a replay does: 2^20 times
 * the earliest of 1,024 events leaves a heap and a later one, after a duration
 * that is looked up in a table of 8 MiB, enters.  The least of nine runs, taken
 * when it is called first.
 */
double bench_unit_s(void);

/**
 * bench_bar: prints `bar NAME VALUE LIMIT ok|short`, tabs between
 * @name: name of the bar, with its unit
 * @value: NAN if it was not measured
 * @side: the side of @limit that is `ok`
 */
void bench_bar(const char *name, double value, BenchSide side, double limit);

/**
 * bench_data_folder: folder of published measurements
 * @given: (nullable): folder from the command line
 *
 * Returns: (transfer full): @given, else the one next to the source tree, whose
 *   share/ is first in RA_DATA_PATH under `make bench`
 */
char *bench_data_folder(const char *given);

G_END_DECLS

#endif
