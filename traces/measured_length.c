/* Fit of a law of lengths by one-way analysis of variance. */
#include "config.h"

#include <math.h>

#include "traces/measured_length.h"

/* Sums over the groups. */
typedef struct {
  guint n_groups;
  double squares;         /* of the sizes */
  double mean;            /* of all logarithms */
  double within, between; /* sums of squares */
} Sums;

static guint
group_end(const uint32_t *groups, guint begin, guint n)
{
  guint end = begin + 1;

  while (end < n && groups[end] == groups[begin])
    end++;
  return end;
}

static Sums
sum_groups(const double *lengths, const uint32_t *groups, guint n)
{
  Sums sums = {0};

  for (guint i = 0; i < n; i++)
    sums.mean += log(lengths[i]) / n;
  for (guint begin = 0, end; begin < n; begin = end) {
    double mean = 0, size;

    end = group_end(groups, begin, n);
    size = end - begin;
    for (guint i = begin; i < end; i++)
      mean += log(lengths[i]) / size;
    for (guint i = begin; i < end; i++)
      sums.within += (log(lengths[i]) - mean) * (log(lengths[i]) - mean);
    sums.between += size * (mean - sums.mean) * (mean - sums.mean);
    sums.squares += size * size;
    sums.n_groups++;
  }
  return sums;
}

gboolean
ra_measured_length_fit(const double *lengths, const uint32_t *groups, guint n,
                       RaMeasuredLengthFit *out_fit)
{
  Sums s;
  double k, within, between, size, rho, log_var;

  g_return_val_if_fail(lengths && groups && out_fit, FALSE);
  if (n == 0)
    return FALSE;
  s = sum_groups(lengths, groups, n);
  if (s.n_groups < 2 || s.n_groups == n || s.within + s.between <= 0)
    return FALSE;
  k = s.n_groups;
  within = s.within / (n - k);
  between = s.between / (k - 1);
  size = (n - s.squares / n) / (k - 1);
  rho = CLAMP((between - within) / (between + (size - 1) * within), 0, 1);
  log_var = (s.within + s.between) / (n - 1);
  *out_fit = (RaMeasuredLengthFit){
      .n_answers = n,
      .n_groups = s.n_groups,
      .mean = exp(s.mean + log_var / 2),
      .sd = exp(s.mean + log_var / 2) * sqrt(exp(log_var) - 1),
      .log_sd = sqrt(log_var),
      .correlation = rho,
      .correlation_error = sqrt(2 / (size * (size - 1) * (k - 1))) * (1 - rho) *
                           (1 + (size - 1) * rho)};
  return TRUE;
}
