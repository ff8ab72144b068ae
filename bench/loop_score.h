/* What the loop was wrong by: spans of traces, the errors of their predictions,
 * the pairs of plans in the wrong order.
 *
 *     LoopScore score;
 *     loop_score_init(&score, n_iterations);
 *     pairs[plan] = loop_score_plan(&score, &c, sims, runs);
 *     loop_score_order(&score, cases, pairs, n_plans);
 *     loop_score_bars(&score, &bars);
 *
 * A plan's predictions and runs are arrays of traces of the same iterations;
 * what an iteration or a call takes is the median over all of them.
 */
#ifndef RA_BENCH_LOOP_SCORE_H
#define RA_BENCH_LOOP_SCORE_H

#include "bench/loop_plan.h"
#include "traces/trace.h"

/* What an iteration took. */
typedef struct {
  double sim_s, run_s;
} LoopPair;

typedef struct {
  guint n_iterations; /* of every trace */
  GArray *iterations; /* of double: errors of iterations, owned */
  GArray *calls;      /* the same of calls, owned */
  GArray *peaks;      /* the same of peaks of memory, owned */
  guint n_pairs;      /* of plans with an order */
  guint n_wrong;      /* of them predicted the other way round */
} LoopScore;

void loop_score_init(LoopScore *score, guint n_iterations);
void loop_score_clear(LoopScore *score);

/* (transfer full): for traces (element-type RaTrace). */
GPtrArray *loop_traces_new(void);

/* Of doubles, which it sorts. */
double loop_median(GArray *values);

/* Of the iterations after the first: what @call takes from its first task's
 * begin to its last one's end; without a call, the iteration, from the end of
 * the one before.  The median over all of @traces. */
double loop_span_s(const GPtrArray *traces, const char *call,
                   guint n_iterations);

/* Prints the head of the rows that follow. */
void loop_score_head(void);

/* What one plan was predicted to take, and took: prints its rows. */
LoopPair loop_score_plan(LoopScore *score, const LoopCase *c,
                         const GPtrArray *sim, const GPtrArray *run);

/* What a rank's memory was predicted to be at most, and was. */
void loop_score_peak(LoopScore *score, const LoopCase *c, double sim_gib,
                     double run_gib);

/* Pairs of plans of one size and algorithm; prints those in the wrong order. */
void loop_score_order(LoopScore *score, const LoopCase *cases,
                      const LoopPair *pairs, guint n_plans);

/* What medians of errors are at most. */
typedef struct {
  double iteration, call;
  double peak; /* 0: no peaks were compared */
} LoopBars;

/* Prints the bars. */
void loop_score_bars(LoopScore *score, const LoopBars *bars);

#endif
