/* Reference of graph/rollout/batcher.h: its scheduler by the definition, step
 * by step.
 *
 * Every running sequence requests its tokens and blocks in turn, and blocks are
 * recounted from the sequences.  Slow, with selectable faults. */
#ifndef RA_TESTS_SUPPORT_BATCHER_REFERENCE_H
#define RA_TESTS_SUPPORT_BATCHER_REFERENCE_H

#include "graph/rollout/batcher.h"

#define REFERENCE_MAX 64

typedef enum {
  FAULT_NONE,
  FAULT_PREEMPT_FIRST, /* preempts the first admitted, not the last */
  FAULT_ALONE,         /* samples do not share their prompt */
  FAULT_STATELESS,     /* sequences take no blocks for their states */
  FAULT_KEEP,          /* a preempted sequence keeps its computed tokens */
  N_FAULTS
} ReferenceFault;

typedef struct {
  RaBatching batching;
  ReferenceFault fault;
  uint32_t n, n_arrived;
  uint32_t prompt[REFERENCE_MAX], response[REFERENCE_MAX];
  uint64_t computed[REFERENCE_MAX], generated[REFERENCE_MAX];
  uint32_t running[REFERENCE_MAX], n_running; /* in order of admission */
  uint32_t waiting[REFERENCE_MAX], n_waiting; /* in order of next admission */
  RaBatchStretch step;                        /* last step */
  uint32_t first[REFERENCE_MAX], n_first;
  uint32_t ended[REFERENCE_MAX], n_ended;
  uint64_t n_preempted, peak_blocks;
} Reference;

static inline uint64_t
reference_shared(const Reference *r, uint32_t i)
{
  return r->batching.group > 1 && r->fault != FAULT_ALONE
             ? (r->prompt[i] - 1) / r->batching.block_tokens
             : 0;
}

/* Blocks with keys of sequence @i once it has @computed tokens. */
static inline uint64_t
reference_held(const Reference *r, uint32_t i, uint64_t computed)
{
  uint64_t tokens =
      r->batching.reserve ? (uint64_t)r->prompt[i] + r->response[i] : computed;

  return (tokens + r->batching.block_tokens - 1) / r->batching.block_tokens;
}

/* All blocks in use: the own blocks of each running sequence, and for each
 * prompt once those of the sample that has most of it. */
static inline uint64_t
reference_blocks(const Reference *r, const uint64_t *computed)
{
  uint64_t sum = 0, group[REFERENCE_MAX] = {0};

  for (uint32_t k = 0; k < r->n_running; k++) {
    uint32_t i = r->running[k], g = i / r->batching.group;
    uint64_t held = reference_held(r, i, computed[i]);
    uint64_t shared = MIN(held, reference_shared(r, i));

    sum += held - shared;
    if (held > shared && r->fault != FAULT_STATELESS)
      sum += r->batching.state_blocks;
    group[g] = MAX(group[g], shared);
  }
  for (uint32_t g = 0; g < REFERENCE_MAX; g++)
    sum += group[g];
  return sum;
}

static inline gboolean
reference_fits(const Reference *r, const uint64_t *computed)
{
  return r->batching.n_blocks == 0 ||
         reference_blocks(r, computed) <= r->batching.n_blocks;
}

static inline void
reference_arrive(Reference *r, uint32_t n)
{
  while (r->n_arrived < n)
    r->waiting[r->n_waiting++] = r->n_arrived++;
}

static inline uint64_t
reference_preempt(Reference *r, uint64_t *after)
{
  uint32_t at = r->fault == FAULT_PREEMPT_FIRST ? 0 : r->n_running - 1;
  uint32_t i = r->running[at];

  for (uint32_t k = at; k + 1 < r->n_running; k++)
    r->running[k] = r->running[k + 1];
  r->n_running--;
  if (r->fault != FAULT_KEEP)
    r->computed[i] = 0;
  after[i] = r->computed[i];
  for (uint32_t k = r->n_waiting; k > 0; k--)
    r->waiting[k] = r->waiting[k - 1];
  r->waiting[0] = i;
  r->n_waiting++;
  r->n_preempted++;
  return i;
}

/* Adds @n tokens of sequence @i to the step. */
static inline void
reference_add(Reference *r, uint32_t i, uint64_t n, gboolean decodes)
{
  uint64_t c = r->computed[i];

  if (decodes) {
    r->step.n_decoding++;
    r->step.kv_tokens += c + 1;
    return;
  }
  r->step.n_chunks++;
  r->step.n_whole += c + n == r->prompt[i] + r->generated[i];
  r->step.chunk_tokens += n;
  r->step.chunk_kv_tokens += c + n;
  for (uint64_t q = 1; q <= n; q++)
    r->step.chunk_pairs += c + q;
}

/* A step under construction. */
typedef struct {
  uint64_t after[REFERENCE_MAX]; /* tokens computed after the step */
  uint64_t budget;
  gboolean in_step[REFERENCE_MAX];
} ReferenceStep;

static inline void
reference_serve(Reference *r, ReferenceStep *s)
{
  for (uint32_t k = 0; k < r->n_running; k++) {
    uint32_t i = r->running[k];
    uint64_t n =
        MIN(r->prompt[i] + r->generated[i] - r->computed[i], s->budget);
    gboolean gone = FALSE;

    s->after[i] = r->computed[i] + n;
    while (!gone && !reference_fits(r, s->after)) {
      uint64_t who = reference_preempt(r, s->after);

      gone = who == i;
      k -= r->fault == FAULT_PREEMPT_FIRST && !gone;
      s->in_step[who] = FALSE;
    }
    if (gone)
      return;
    s->budget -= n;
    s->in_step[i] = n > 0;
  }
}

/* Admits the first waiting sequence; FALSE: it does not fit. */
static inline gboolean
reference_admit(Reference *r, ReferenceStep *s, gboolean *fills)
{
  uint32_t i = r->waiting[0], g = i / r->batching.group;
  uint64_t n, found = 0;

  if (r->n_waiting == 0 || s->budget == 0 ||
      r->n_running == r->batching.max_sequences)
    return FALSE;
  for (uint32_t k = 0; k < r->n_running; k++)
    if (r->running[k] / r->batching.group == g)
      found = reference_shared(r, i) * r->batching.block_tokens;
  r->computed[i] = MAX(r->fault == FAULT_KEEP ? r->computed[i] : 0, found);
  n = MIN(r->prompt[i] + r->generated[i] - r->computed[i], s->budget);
  s->after[i] = r->computed[i] + n;
  r->running[r->n_running++] = i;
  if (!reference_fits(r, s->after)) {
    r->n_running--;
    return FALSE;
  }
  fills[i] = TRUE;
  s->in_step[i] = TRUE;
  s->budget -= n;
  for (uint32_t k = 0; k + 1 < r->n_waiting; k++)
    r->waiting[k] = r->waiting[k + 1];
  r->n_waiting--;
  return TRUE;
}

/* Applies the step to sequence @i; TRUE if it has all its tokens. */
static inline gboolean
reference_end(Reference *r, const ReferenceStep *s, uint32_t i, gboolean *fills)
{
  if (!s->in_step[i])
    return FALSE;
  r->computed[i] = s->after[i];
  if (r->computed[i] < r->prompt[i] + r->generated[i])
    return FALSE;
  fills[i] = FALSE;
  if (r->generated[i]++ == 0)
    r->first[r->n_first++] = i;
  return r->generated[i] == r->response[i];
}

/* Runs one step; FALSE: there is nothing to do. */
static inline gboolean
reference_step(Reference *r, gboolean *fills)
{
  ReferenceStep s = {.budget = r->batching.step_tokens};
  uint64_t n_preempted = r->n_preempted;
  uint32_t kept = 0;

  if (r->n_running + r->n_waiting == 0)
    return FALSE;
  r->step = (RaBatchStretch){.n_steps = 1};
  r->n_first = r->n_ended = 0;
  memcpy(s.after, r->computed, sizeof s.after);
  reference_serve(r, &s);
  while (r->n_preempted == n_preempted && reference_admit(r, &s, fills))
    ;
  r->peak_blocks = MAX(r->peak_blocks, reference_blocks(r, s.after));
  for (uint32_t k = 0; k < r->n_running; k++) {
    uint32_t i = r->running[k];

    if (s.in_step[i])
      reference_add(r, i, s.after[i] - r->computed[i], !fills[i]);
  }
  for (uint32_t k = 0; k < r->n_running; k++) {
    uint32_t i = r->running[k];

    if (reference_end(r, &s, i, fills))
      r->ended[r->n_ended++] = i;
    else
      r->running[kept++] = i;
  }
  r->n_running = kept;
  return TRUE;
}

#endif
