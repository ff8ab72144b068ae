/* The law of answers' lengths in a table of measurements, with how alike those
 * to one prompt are: what a workload's `response-length` and
 * `response-correlation` say.
 *
 *     lengths [--quick] [FILE [GROUP [LENGTH]]]
 *
 * FILE: CSV with a head, by default math_group8_lengths.csv of the
 * measurements' traces; GROUP and LENGTH: its columns of the prompt and the
 * length (prompt_id, response_chars).  The bar asks whether draws with the
 * fitted law give the correlation back within three standard errors.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "bench/figure.h"
#include "graph/input/length.h"
#include "traces/csv.h"
#include "traces/measured_length.h"

#define DEFAULT_FILE "../shared/data/traces/math_group8_lengths.csv"

typedef struct {
  GArray *groups;  /* uint32_t */
  GArray *lengths; /* double */
} Table;

static gboolean
read_row(const RaCsvLine *line, gpointer data, GError **error)
{
  Table *table = data;
  double value[2];

  if (!ra_csv_numbers(line, 0, 2, value, error))
    return FALSE;
  if (value[1] > 0) {
    uint32_t group = (uint32_t)value[0];

    g_array_append_val(table->groups, group);
    g_array_append_val(table->lengths, value[1]);
  }
  return TRUE;
}

static void
print_fit(const char *what, const RaMeasuredLengthFit *fit)
{
  printf("%s\t%u\t%u\t%.6g\t%.6g\t%.4f\t%.4f\t%.4f\n", what, fit->n_answers,
         fit->n_groups, fit->mean, fit->sd, fit->log_sd, fit->correlation,
         fit->correlation_error);
}

/* As many groups and answers drawn from the fitted law, fitted again. */
static gboolean
fit_draws(const RaMeasuredLengthFit *fit, const uint32_t *groups,
          RaMeasuredLengthFit *out_fit)
{
  g_autofree char *text = g_strdup_printf(
      "lognormal(%.3f, %.3f, %u)", fit->mean, fit->sd, RA_LENGTH_MAX_TOKENS);
  g_autofree double *lengths = g_new(double, fit->n_answers);
  g_auto(RaLength) law = {0};

  if (!ra_length_parse(text, NULL, &law, NULL))
    return FALSE;
  for (guint i = 0; i < fit->n_answers; i++)
    lengths[i] =
        ra_length_draw_in_group(&law, 1, 1, i, 2, groups[i], fit->correlation);
  return ra_measured_length_fit(lengths, groups, fit->n_answers, out_fit);
}

int
main(int argc, char **argv)
{
  int at = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 2 : 1;
  const char *path = argc > at ? argv[at] : DEFAULT_FILE;
  const char *const columns[] = {
      argc > at + 1 ? argv[at + 1] : "prompt_id",
      argc > at + 2 ? argv[at + 2] : "response_chars", NULL};
  Table table = {g_array_new(FALSE, FALSE, sizeof(uint32_t)),
                 g_array_new(FALSE, FALSE, sizeof(double))};
  g_autoptr(GError) error = NULL;
  RaMeasuredLengthFit fit = {0}, again = {0};
  double off = (double)NAN;
  gboolean ok = ra_csv_read(path, columns, read_row, &table, &error);

  ok = ok &&
       ra_measured_length_fit((const double *)(gpointer)table.lengths->data,
                              (const uint32_t *)(gpointer)table.groups->data,
                              table.lengths->len, &fit);
  printf("# lengths in the file's unit; correlation of the logarithms within "
         "a prompt's answers\n");
  printf("what\tn_answers\tn_prompts\tmean\tsd\tlog_sd\tcorrelation"
         "\tcorrelation_error\n");
  if (ok) {
    print_fit("measured", &fit);
    ok =
        fit_draws(&fit, (const uint32_t *)(gpointer)table.groups->data, &again);
  } else {
    printf("# %s\n", error ? error->message : "too few answers");
  }
  if (ok) {
    print_fit("drawn", &again);
    off = fabs(again.correlation - fit.correlation) / fit.correlation_error;
  }
  bench_bar("lengths_correlation_errors", off, BENCH_AT_MOST, 3);
  g_array_unref(table.groups);
  g_array_unref(table.lengths);
  return 0;
}
