/* Errors of the loop: spans of traces, the errors of their predictions, and the
 * pairs of plans in the wrong order.
 *
 *     LoopScore score;
 *     loop_score_init(&score, n_iterations);
 *     pairs[plan] = loop_score_plan(&score, &c, sims, runs);
 *     loop_score_order(&score, cases, pairs, n_plans);
 *     loop_score_bars(&score, &bars);
 *
 * The predictions and runs of a plan are arrays of traces of the same
 * iterations; the time of an iteration or a call is the median over all.
 */
#ifndef RA_BENCH_LOOP_SCORE_H
#define RA_BENCH_LOOP_SCORE_H

#include "bench/loop_plan.h"
#include "traces/trace.h"

/* The time of an iteration, predicted and measured. */
typedef struct {
  double sim_s, run_s;
} LoopPair;

typedef struct {
  guint n_iterations; /* iterations of every trace */
  GArray *iterations; /* double: errors of iterations, owned */
  GArray *calls;      /* double: errors of calls, owned */
  GArray *peaks;      /* double: errors of peak memory, owned */
  guint n_pairs;      /* pairs of plans with an order */
  guint n_wrong;      /* pairs predicted in the wrong order */
} LoopScore;

void loop_score_init(LoopScore *score, guint n_iterations);
void loop_score_clear(LoopScore *score);

/* (transfer full): an array for traces (element-type RaTrace). */
GPtrArray *loop_traces_new(void);

/* Median of doubles, which it sorts. */
double loop_median(GArray *values);

/* Median over @traces and over the iterations after the first of the time of
 * @call, from the start of its first task to the end of its last.  Without a
 * call, that of the iteration, from the end of the previous one. */
double loop_span_s(const GPtrArray *traces, const char *call,
                   guint n_iterations);

/* Prints the head of the rows that follow. */
void loop_score_head(void);

/* Scores one plan, predicted against measured, and prints its rows. */
LoopPair loop_score_plan(LoopScore *score, const LoopCase *c,
                         const GPtrArray *sim, const GPtrArray *run);

/* Scores the peak memory of a rank, predicted against measured. */
void loop_score_peak(LoopScore *score, const LoopCase *c, double sim_gib,
                     double run_gib);

/* Scores the order of pairs of plans of one size and algorithm; prints those in
 * the wrong order. */
void loop_score_order(LoopScore *score, const LoopCase *cases,
                      const LoopPair *pairs, guint n_plans);

/* Limits of the medians of errors. */
typedef struct {
  double iteration, call;
  double peak; /* 0: no peaks were compared */
} LoopBars;

/* Prints the bars. */
void loop_score_bars(LoopScore *score, const LoopBars *bars);

#endif
