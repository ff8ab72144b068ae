/* Lower bounds of isolated calls whose lengths are sampled: of one replica. */
#include "config.h"

#include <math.h>

#include "graph/input/turns.h"
#include "search/evaluate/call_bound_impl.h"

/* Sequences that a task of a decode stands for in what a simulation takes.
 * MEASURED: a replica's steps are summed between ends of sequences, each about
 * a pass. */
#define SEQUENCES_PER_TASK 2

/* Passes of some micro-batches through the stages of a replica. */
typedef struct {
  uint32_t n_stages;
  double *sum_s;      /* (n_stages) forward and backward of all */
  double *forward_s;  /* (n_stages) the shortest forward */
  double *backward_s; /* (n_stages) the shortest backward */
  double *send_s;     /* (n_stages) the shortest send to the next, one way */
} Passes;

static void
passes_init(Passes *p, uint32_t n_stages)
{
  p->n_stages = n_stages;
  p->sum_s = g_new0(double, 4 * (gsize)n_stages);
  p->forward_s = p->sum_s + n_stages;
  p->backward_s = p->forward_s + n_stages;
  p->send_s = p->backward_s + n_stages;
  for (uint32_t i = n_stages; i < 4 * n_stages; i++)
    p->sum_s[i] = (double)INFINITY;
}

/* Adds the batch of @s. */
static void
passes_add(Passes *p, const RaBoundSubject *s, gboolean trains)
{
  double forward_s = 0, backward_s = 0;
  g_autofree double *whole_s = g_new0(double, 3 * (gsize)p->n_stages);
  double *back_s = whole_s + p->n_stages, *send_s = back_s + p->n_stages;

  for (uint32_t u = 0; u < s->c->n_pieces; u++) {
    if (!ra_bound_is_like_before(s, u)) {
      forward_s = ra_bound_pass_s(s, &s->c->pieces[u], RA_PHASE_FORWARD);
      backward_s =
          trains ? ra_bound_pass_s(s, &s->c->pieces[u], RA_PHASE_BACKWARD) : 0;
    }
    whole_s[u % p->n_stages] += forward_s;
    back_s[u % p->n_stages] += backward_s;
  }
  ra_bound_sends(s, send_s);
  for (uint32_t i = 0; i < p->n_stages; i++) {
    p->sum_s[i] += whole_s[i] + back_s[i];
    p->forward_s[i] = MIN(p->forward_s[i], whole_s[i]);
    p->backward_s[i] = MIN(p->backward_s[i], back_s[i]);
    p->send_s[i] = MIN(p->send_s[i], send_s[i]);
  }
}

/* A stage does all of its passes, the first after the stages before it and the
 * last before those behind it, or back through those before it. */
static double
passes_s(const Passes *p, const RaBoundSubject *s, gboolean trains)
{
  double most_s = 0;

  for (uint32_t i = 0; i < p->n_stages; i++) {
    double sum_s = p->sum_s[i];

    for (uint32_t k = 0; k < p->n_stages; k++) {
      if (k < i && trains && s->plan->n_virtual == 1)
        sum_s += p->forward_s[k] + p->backward_s[k] + 2 * p->send_s[k];
      else if (k != i && !trains)
        sum_s += p->forward_s[k] + (k + 1 < p->n_stages ? p->send_s[k] : 0);
    }
    most_s = MAX(most_s, sum_s);
  }
  return most_s;
}

/* Sequences [@first, @first + @n) in @n_batches micro-batches. */
static double
range_s(RaBoundSubject *s, const RaSequenceSet *set, uint32_t first, uint32_t n,
        uint32_t n_batches, gboolean trains)
{
  g_autofree RaBatch *batches = g_new(RaBatch, n_batches);
  Passes passes;
  double sum_s;

  ra_sequence_set_cut(set, first, n, n_batches, s->plan, batches, NULL);
  passes_init(&passes, s->plan->pp);
  for (uint32_t i = 0; i < n_batches; i++) {
    s->batch = batches[i];
    passes_add(&passes, s, trains);
  }
  sum_s = passes_s(&passes, s, trains);
  g_free(passes.sum_s);
  return sum_s;
}

static uint64_t
tokens_of(const RaSequenceSet *set, uint32_t first, uint32_t n)
{
  return set->tokens[first + n] - set->tokens[first];
}

/* All replicas meet behind a mini-batch, so the longest of each counts. */
static double
train_s(RaBoundSubject *s, const RaCall *c, const RaSequenceSet *set)
{
  const RaCallPlan *p = s->plan;
  uint32_t n_pieces = (uint32_t)ra_call_plan_n_pieces(c, p);
  uint32_t n = c->n_sequences / n_pieces / p->dp;
  double collectives_s = ra_bound_collectives_s(s, TRUE), sum_s = 0;

  for (uint32_t i = 0; i < n_pieces; i++) {
    uint32_t most = i * p->dp * n;
    double one_s;

    for (uint32_t d = 1; d < p->dp; d++)
      if (tokens_of(set, (i * p->dp + d) * n, n) > tokens_of(set, most, n))
        most = (i * p->dp + d) * n;
    one_s = range_s(s, set, most, n, p->n_micro_batches, TRUE);
    one_s += ra_bound_update_s(s, ra_bound_last_reduce_s(s), c->n_parts);
    sum_s += MAX(one_s, p->n_micro_batches * collectives_s);
  }
  return sum_s * c->n_epochs;
}

/* A replica works through its share of every part. */
static double
inference_s(RaBoundSubject *s, const RaCall *c, const RaSequenceSet *set)
{
  const RaCallPlan *p = s->plan;
  uint32_t n = c->n_sequences / c->n_parts / p->dp, best = 0;
  uint64_t most = 0;
  double sum_s = 0;

  for (uint32_t d = 0; d < p->dp; d++) {
    uint64_t tokens = 0;

    for (uint32_t i = 0; i < c->n_parts; i++)
      tokens += tokens_of(set, (i * p->dp + d) * n, n);
    if (tokens > most)
      best = d;
    most = MAX(most, tokens);
  }
  if (c->n_parts == 1)
    sum_s = range_s(s, set, best * n, n, p->n_micro_batches, FALSE);
  return MAX(sum_s, (double)c->n_parts * p->n_micro_batches *
                        ra_bound_collectives_s(s, FALSE));
}

static double
prefill_s(RaBoundSubject *s, const RaSequenceSet *set, uint32_t first,
          uint32_t n)
{
  uint64_t m = s->plan->n_micro_batches;
  Passes passes;
  double sum_s;

  passes_init(&passes, s->plan->pp);
  for (uint64_t g = 0; g < m; g++) {
    s->batch = ra_sequence_set_prompts(set, first + (uint32_t)(g * n / m),
                                       first + (uint32_t)((g + 1) * n / m));
    passes_add(&passes, s, FALSE);
  }
  sum_s = passes_s(&passes, s, FALSE);
  g_free(passes.sum_s);
  return MAX(sum_s, (double)m * ra_bound_collectives_s(s, FALSE));
}

/* The needs of a replica's micro-batch on each stage. */
typedef struct {
  uint64_t longest; /* steps of the longest sequence */
  uint64_t steps;   /* of all sequences */
  double kv_tokens; /* that these attend to */
} Need;

/* Sequences [@first, @last): the first token of each is the prefill's.  Of
 * sequences with turns only what is generated counts. */
static Need
need_of(const RaSequenceSet *set, uint32_t first, uint32_t last)
{
  Need need = {0, 0, 0};

  for (uint32_t i = first; i < last; i++) {
    uint64_t n = set->response[i] - 1;

    if (set->turns) {
      n = 0;
      for (uint32_t t = set->turns->begin[i]; t < set->turns->begin[i + 1]; t++)
        n += set->turns->response[t] - 1;
    } else {
      need.kv_tokens += (double)n * (set->prompt[i] + 0.5 * ((double)n + 1));
    }
    need.longest = MAX(need.longest, n);
    need.steps += n;
  }
  return need;
}

/* Steps of a micro-batch: those of its longest sequence, and as many as it
 * takes with as many sequences, or keys and values, as run at most. */
static double
n_steps(const RaBoundSubject *s, const Need *need)
{
  const RaBatching *b = &s->batching;
  double steps = (double)need->longest;

  if (b->max_sequences > 0)
    steps = MAX(steps, (double)need->steps / b->max_sequences);
  if (b->max_sequences > 0 && b->n_blocks > 0 && b->group <= 1)
    steps = MAX(steps, need->kv_tokens / (double)b->n_blocks / b->block_tokens);
  return steps;
}

static double
most_bytes_per_s(const RaCluster *cluster)
{
  double most = cluster->device.memory_bytes_per_s;

  for (uint32_t k = 0; k < cluster->n_kinds; k++)
    most = MAX(most, cluster->kinds[k].device.memory_bytes_per_s);
  return most;
}

/* Bytes of weights that a token's pass through @stage reads at least: of
 * experts those of one token, and of the embedding a row. */
static double
weight_bytes(const RaBoundSubject *s, uint32_t stage)
{
  const RaModel *model = s->c->shard.model;
  double bytes = (double)s->c->stages[stage].param_bytes;
  double unread = (double)model->vocab * model->hidden +
                  (double)ra_model_vision_n_params(model, 1);

  if (stage == 0)
    bytes = MAX(bytes - unread * ra_dtype_bytes((RaDtype)s->x.dtype), 0);
  return model->n_experts > 0
             ? bytes * model->experts_per_token / model->n_experts
             : bytes;
}

/* Time in which a replica reads its weights @steps times and the keys and
 * values of @kv_tokens, on its greatest stage. */
static double
reads_s(const RaBoundSubject *s, double steps, double kv_tokens)
{
  double most_s = 0;

  for (uint32_t i = 0; i < s->plan->pp; i++) {
    double kv = (double)ra_call_kv_token_bytes(s->memory, s->call, i);

    most_s = MAX(most_s, (steps * weight_bytes(s, i) + kv_tokens * kv) /
                             most_bytes_per_s(s->cluster));
  }
  return most_s;
}

/* The steps of replica @d on its greatest stage: each reads the weights, and
 * all of them their keys and values, at the memory's peak rate; or gathers all
 * weights. */
static double
decode_s(const RaBoundSubject *s, const RaSequenceSet *set, uint32_t d,
         uint32_t n, double gather_s)
{
  uint64_t m = s->plan->n_micro_batches;
  double steps = 0, kv_tokens = 0, read_s;

  for (uint64_t g = 0; g < m; g++) {
    Need need = need_of(set, d * n + (uint32_t)(g * n / m),
                        d * n + (uint32_t)((g + 1) * n / m));

    steps += n_steps(s, &need);
    kv_tokens += need.kv_tokens;
  }
  read_s = reads_s(s, steps, kv_tokens);
  return MAX(read_s, steps * gather_s);
}

/* Sequences that move between replicas, or are dealt to them by length: the
 * longest takes its steps one after another wherever it is, and all replicas
 * together read all keys and values.  Of those that are begun beyond what is
 * wanted, or go on from the iteration before, nothing is known. */
static double
moved_s(const RaBoundSubject *s, const RaCall *c, const RaSequenceSet *set)
{
  const RaTail *tail = &s->plan->tail;
  double step_s, read_s;
  Need need;

  if (tail->over_sample > 1)
    return 0;
  need = need_of(set, 0, c->n_sequences);
  step_s = reads_s(s, (double)need.longest, 0);
  read_s = reads_s(s, 0, need.kv_tokens / s->plan->dp);
  return MAX(step_s, read_s);
}

static double
generate_s(RaBoundSubject *s, const RaCall *c, const RaSequenceSet *set)
{
  const RaCallPlan *p = s->plan;
  uint32_t n = c->n_sequences / p->dp, longest = 0;
  double gather_s = ra_bound_collectives_s(s, FALSE), most_s = 0;

  if (ra_tail_is_set(&p->tail))
    return moved_s(s, c, set);
  for (uint32_t d = 0; d < p->dp; d++) {
    double one_s = decode_s(s, set, d, n, gather_s);

    if (one_s > most_s)
      longest = d;
    most_s = MAX(most_s, one_s);
  }
  return most_s + (p->batching == RA_BATCHING_STATIC
                       ? prefill_s(s, set, longest * n, n)
                       : 0);
}

double
ra_bound_drawn_s(RaBoundSubject *s, const RaCall *c, const RaSequenceSet *set)
{
  if (!set)
    return 0;
  if (c->kind == RA_CALL_TRAIN)
    return train_s(s, c, set);
  if (c->kind == RA_CALL_INFERENCE)
    return inference_s(s, c, set);
  return generate_s(s, c, set);
}

double
ra_bound_drawn_tasks(const RaBoundSubject *s, const RaCall *c, double n_tasks)
{
  double n = n_tasks * s->plan->dp;

  if (c->kind == RA_CALL_GENERATE)
    n += (double)c->n_sequences / SEQUENCES_PER_TASK * s->plan->pp;
  return n;
}
