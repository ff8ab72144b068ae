/* Errors of predictions, and pairs in the wrong order. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/loop_score.h"

#define ORDER_FRAC 0.1 /* plans whose times differ by more have an order */

void
loop_score_init(LoopScore *score, guint n_iterations)
{
  *score = (LoopScore){.n_iterations = n_iterations,
                       .iterations = g_array_new(FALSE, FALSE, sizeof(double)),
                       .calls = g_array_new(FALSE, FALSE, sizeof(double)),
                       .peaks = g_array_new(FALSE, FALSE, sizeof(double))};
}

void
loop_score_clear(LoopScore *score)
{
  g_array_unref(score->iterations);
  g_array_unref(score->calls);
  g_array_unref(score->peaks);
}

double
loop_median(GArray *values)
{
  return bench_median((double *)(void *)values->data, values->len);
}

/* Adds, for the iterations after the first, the seconds of @call from its first
 * task's begin to its last one's end; without a call, those of the iteration,
 * from the end of the one before. */
static void
add_spans(const RaTrace *trace, const char *call, guint n_iterations,
          GArray *spans)
{
  double before_s = 0;

  for (guint k = 0; k < n_iterations; k++) {
    double begin_s = (double)INFINITY, end_s = 0, s;

    for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
      const RaTraceRow *row = ra_trace_row(trace, i);

      if (row->iteration != k || (call && strcmp(row->call, call) != 0))
        continue;
      begin_s = fmin(begin_s, row->begin_s);
      end_s = fmax(end_s, row->end_s);
    }
    s = end_s - (call ? begin_s : before_s);
    before_s = end_s;
    if (k > 0 || n_iterations == 1)
      g_array_append_val(spans, s);
  }
}

/* Their median over all of @traces. */
double
loop_span_s(const GPtrArray *traces, const char *call, guint n_iterations)
{
  g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(double));

  for (guint i = 0; i < traces->len; i++)
    add_spans(traces->pdata[i], call, n_iterations, spans);
  return loop_median(spans);
}

/* (transfer full): for traces. */
GPtrArray *
loop_traces_new(void)
{
  return g_ptr_array_new_with_free_func((GDestroyNotify)ra_trace_free);
}

void
loop_score_head(void)
{
  printf("# predicted and measured: seconds, medians over iterations after the "
         "first; error: predicted / measured - 1\n"
         "model\talgorithm\tplan\twhat\tpredicted_s\tmeasured_s\t"
         "error_frac\n");
}

static void
print_pair(const LoopCase *c, const char *what, LoopPair pair, GArray *errors)
{
  double error = pair.sim_s / pair.run_s - 1, size = fabs(error);

  printf("%s\t%s\t%s\t%s\t%.4f\t%.4f\t%+.3f\n", c->size, c->algorithm, c->plan,
         what, pair.sim_s, pair.run_s, error);
  fflush(stdout);
  g_array_append_val(errors, size);
}

/* Prints the predicted and the measured seconds of one plan. */
LoopPair
loop_score_plan(LoopScore *score, const LoopCase *c, const GPtrArray *sim,
                const GPtrArray *run)
{
  const char *const *calls = loop_case_calls(c);
  LoopPair all = {loop_span_s(sim, NULL, score->n_iterations),
                  loop_span_s(run, NULL, score->n_iterations)};

  print_pair(c, "iteration", all, score->iterations);
  for (guint i = 0; calls[i]; i++) {
    LoopPair call = {loop_span_s(sim, calls[i], score->n_iterations),
                     loop_span_s(run, calls[i], score->n_iterations)};

    print_pair(c, calls[i], call, score->calls);
  }
  return all;
}

void
loop_score_peak(LoopScore *score, const LoopCase *c, double sim_gib,
                double run_gib)
{
  print_pair(c, "peak_gib", (LoopPair){sim_gib, run_gib}, score->peaks);
}

/* Pairs of plans of one size and algorithm. */
void
loop_score_order(LoopScore *score, const LoopCase *cases, const LoopPair *pairs,
                 guint n_plans)
{
  for (guint i = 0; i < n_plans; i++)
    for (guint k = i + 1; k < n_plans; k++) {
      double ratio = pairs[i].run_s / pairs[k].run_s;

      if (fmax(ratio, 1 / ratio) <= 1 + ORDER_FRAC)
        continue;
      score->n_pairs++;
      if ((ratio > 1) == (pairs[i].sim_s > pairs[k].sim_s))
        continue;
      score->n_wrong++;
      printf("# wrong order: %s %s, %s and %s: %.4f and %.4f, in truth %.4f "
             "and %.4f s\n",
             cases[i].size, cases[i].algorithm, cases[i].plan, cases[k].plan,
             pairs[i].sim_s, pairs[k].sim_s, pairs[i].run_s, pairs[k].run_s);
    }
}

void
loop_score_bars(LoopScore *score, const LoopBars *bars)
{
  bench_bar("iteration_error_median", loop_median(score->iterations),
            BENCH_AT_MOST, bars->iteration);
  bench_bar("call_error_median", loop_median(score->calls), BENCH_AT_MOST,
            bars->call);
  if (bars->peak > 0)
    bench_bar("peak_error_median", loop_median(score->peaks), BENCH_AT_MOST,
              bars->peak);
  bench_bar("wrong_order_of_pairs", score->n_wrong, BENCH_AT_MOST, 0);
  printf("# %u pairs of plans differ by more than %g\n", score->n_pairs,
         ORDER_FRAC);
}
