/* Reference of graph/input/turns.h and graph/rollout/batcher.h: sequences with
 * turns and their generation by the definition, step by step, with unlimited
 * memory.
 *
 *     Case c;
 *     draw(&c, &rng);
 *     slow(&c, at_once, keeps, n_tools, end_s);
 */
#ifndef RA_TESTS_SUPPORT_TURNS_REFERENCE_H
#define RA_TESTS_SUPPORT_TURNS_REFERENCE_H

#include <math.h>
#include <string.h>

#include "base/rng.h"

/* A step costs 1 ms, 2 us a sequence and 10 ns a token attended to; one with
 * chunks also 5 ms and 3 us for each of their tokens. */
#define STEP_S 1e-3
#define SEQUENCE_S 2e-6
#define KV_S 1e-8
#define CHUNK_S 5e-3
#define TOKEN_S 3e-6

#define MAX_N 40
#define MAX_TURNS 5

/* Sequences with turns, handmade or sampled. */
typedef struct {
  uint32_t n;
  uint32_t prompt[MAX_N], all[MAX_N], begin[MAX_N + 1];
  uint32_t response[MAX_N * MAX_TURNS], tool[MAX_N * MAX_TURNS];
  double latency_s[MAX_N * MAX_TURNS];
  uint32_t n_tools; /* that run at once; 0: no limit */
} Case;

static inline void
add(Case *c, uint32_t prompt, uint32_t n_turns, const uint32_t *response,
    const uint32_t *tool, const double *latency_s)
{
  uint32_t i = c->n++;

  c->prompt[i] = prompt;
  c->all[i] = 0;
  c->begin[i + 1] = c->begin[i] + n_turns;
  for (uint32_t t = 0; t < n_turns; t++) {
    c->response[c->begin[i] + t] = response[t];
    c->tool[c->begin[i] + t] = t > 0 ? tool[t] : 0;
    c->latency_s[c->begin[i] + t] = t > 0 ? latency_s[t] : 0;
    c->all[i] += response[t] + (t > 0 ? tool[t] : 0);
  }
}

static inline void
draw(Case *c, RaRng *rng)
{
  uint32_t n = 1 + (uint32_t)ra_rng_below(rng, MAX_N);

  memset(c, 0, sizeof *c);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t n_turns = 1 + (uint32_t)ra_rng_below(rng, MAX_TURNS);
    uint32_t response[MAX_TURNS], tool[MAX_TURNS];
    double latency_s[MAX_TURNS];

    for (uint32_t t = 0; t < n_turns; t++) {
      response[t] = 1 + (uint32_t)ra_rng_below(rng, 30);
      tool[t] = 1 + (uint32_t)ra_rng_below(rng, 20);
      latency_s[t] = ra_rng_below(rng, 3) ? 0.1 * ra_rng_uniform(rng) : 0;
    }
    add(c, 1 + (uint32_t)ra_rng_below(rng, 50), n_turns, response, tool,
        latency_s);
  }
}

typedef enum { SLOW_WAITS, SLOW_RUNS, SLOW_AWAY, SLOW_DONE } SlowState;

typedef struct {
  uint32_t turn, known, keys, left;
  SlowState state;
  double back_s;
  uint64_t place; /* place in the queue */
} Slow;

/* The first sequence in @state, by its time or its place; MAX_N: none. */
static inline uint32_t
slow_first(const Slow *s, uint32_t n, SlowState state, double now_s)
{
  uint32_t first = MAX_N;

  for (uint32_t i = 0; i < n; i++) {
    if (s[i].state != state || (state == SLOW_AWAY && s[i].back_s > now_s))
      continue;
    if (first == MAX_N || (state == SLOW_AWAY ? s[i].back_s < s[first].back_s
                                              : s[i].place < s[first].place))
      first = i;
  }
  return first;
}

/* Runs one step of all running sequences; returns its seconds. */
static inline double
slow_step(const Case *c, Slow *s)
{
  uint32_t n_decoding = 0, n_chunks = 0;
  uint64_t kv = 0, chunk = 0;

  for (uint32_t i = 0; i < c->n; i++) {
    if (s[i].state != SLOW_RUNS)
      continue;
    if (s[i].left < c->response[c->begin[i] + s[i].turn]) {
      n_decoding++;
      kv += s[i].known;
    } else {
      n_chunks++;
      chunk += s[i].known - s[i].keys;
    }
    s[i].keys = s[i].known++;
    s[i].left--;
  }
  return STEP_S + n_decoding * SEQUENCE_S + (double)kv * KV_S +
         (n_chunks > 0 ? CHUNK_S + (double)chunk * TOKEN_S : 0);
}

/* When a tool that is called now answers: the first of @n_tools to be free runs
 * it; 0: there is always one. */
static inline double
slow_answer(double *free_s, uint32_t n_tools, double now_s, double latency_s)
{
  uint32_t first = 0;

  if (n_tools == 0)
    return now_s + latency_s;
  for (uint32_t k = 1; k < n_tools; k++)
    first = free_s[k] < free_s[first] ? k : first;
  free_s[first] = fmax(free_s[first], now_s) + latency_s;
  return free_s[first];
}

/* Ends the turns that are over by now; returns the number of sequences that are
 * done. */
static inline uint32_t
slow_end(const Case *c, Slow *s, gboolean keeps, double *free_s,
         uint32_t n_tools, double now_s, double *end_s)
{
  uint32_t n_done = 0;

  for (uint32_t i = 0; i < c->n; i++) {
    uint32_t t = c->begin[i] + s[i].turn + 1;

    if (s[i].state == SLOW_RUNS && s[i].left == 0) {
      if (t == c->begin[i + 1]) {
        s[i].state = SLOW_DONE;
        end_s[i] = now_s;
      } else {
        s[i] = (Slow){s[i].turn + 1,
                      s[i].known + c->tool[t],
                      keeps ? s[i].keys : 0,
                      c->response[t],
                      SLOW_AWAY,
                      slow_answer(free_s, n_tools, now_s, c->latency_s[t]),
                      0};
      }
    }
    n_done += s[i].state == SLOW_DONE;
  }
  return n_done;
}

static inline void
slow(const Case *c, uint32_t at_once, gboolean keeps, uint32_t n_tools,
     double *end_s)
{
  Slow s[MAX_N];
  double now_s = 0, free_s[MAX_N] = {0};
  uint64_t place = c->n;

  for (uint32_t i = 0; i < c->n; i++)
    s[i] =
        (Slow){0, c->prompt[i], 0, c->response[c->begin[i]], SLOW_WAITS, 0, i};
  while (slow_end(c, s, keeps, free_s, n_tools, now_s, end_s) < c->n) {
    uint32_t n_running = 0, i;

    while ((i = slow_first(s, c->n, SLOW_AWAY, now_s)) < MAX_N) {
      s[i].state = SLOW_WAITS;
      s[i].place = place++;
    }
    for (i = 0; i < c->n; i++)
      n_running += s[i].state == SLOW_RUNS;
    while (n_running < at_once &&
           (i = slow_first(s, c->n, SLOW_WAITS, now_s)) < MAX_N) {
      s[i].state = SLOW_RUNS;
      n_running++;
    }
    if (n_running > 0)
      now_s += slow_step(c, s);
    else
      now_s = s[slow_first(s, c->n, SLOW_AWAY, (double)INFINITY)].back_s;
  }
}

#endif
