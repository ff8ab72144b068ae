/* Stretches and ends of a micro-batch's sequences. */
#include "config.h"

#include <stdlib.h>

#include "sim/generate/decode_group.h"

/* A sequence: its last decode step, and whose it is. */
typedef struct {
  uint32_t step;   /* response - 1 */
  uint32_t group;  /* micro-batch */
  uint32_t prompt; /* tokens */
} Sequence;

static int
compare_sequences(const void *a, const void *b)
{
  const Sequence *x = a, *y = b;

  if (x->step != y->step)
    return x->step < y->step ? -1 : 1;
  return x->group < y->group ? -1 : x->group > y->group;
}

/* First sequence of @group. */
static uint32_t
group_begin(const RaDynamic *dynamic, uint32_t group)
{
  return (uint32_t)((uint64_t)group * dynamic->n_sequences / dynamic->n_groups);
}

/* Fills @out with the sequences of @group, by their ends. */
static uint32_t
sort_group(const RaDynamic *dynamic, uint32_t group, Sequence *out)
{
  uint32_t begin = group_begin(dynamic, group);
  uint32_t n = group_begin(dynamic, group + 1) - begin;

  for (uint32_t i = 0; i < n; i++) {
    g_assert(dynamic->response[begin + i] >= 1);
    out[i] = (Sequence){dynamic->response[begin + i] - 1, group,
                        dynamic->prompt[begin + i]};
  }
  if (n > 0)
    qsort(out, n, sizeof *out, compare_sequences);
  return n;
}

static void
group_init(RaDecodeGroup *group, const Sequence *sequences, uint32_t n)
{
  uint64_t prompt_tokens = 0;
  uint32_t n_ended = 0;

  group->stretches = g_new(RaDecodeStretch, n);
  group->n_stretches = 0;
  for (uint32_t i = 0; i < n; i++)
    prompt_tokens += sequences[i].prompt;
  while (n_ended < n) {
    uint32_t step = sequences[n_ended].step;

    if (step > 0)
      group->stretches[group->n_stretches++] = (RaDecodeStretch){
          .last_step = step,
          .n_active = n - n_ended,
          .prompt_tokens = prompt_tokens,
      };
    while (n_ended < n && sequences[n_ended].step == step)
      prompt_tokens -= sequences[n_ended++].prompt;
  }
}

RaDecodeGroup *
ra_decode_groups_new(const RaDynamic *dynamic)
{
  RaDecodeGroup *groups = g_new(RaDecodeGroup, dynamic->n_groups);
  g_autofree Sequence *sequences = g_new(Sequence, dynamic->n_sequences);

  for (uint32_t g = 0; g < dynamic->n_groups; g++)
    group_init(&groups[g], sequences, sort_group(dynamic, g, sequences));
  return groups;
}

void
ra_decode_groups_free(RaDecodeGroup *groups, uint32_t n_groups)
{
  for (uint32_t g = 0; g < n_groups; g++)
    g_free(groups[g].stretches);
  g_free(groups);
}

RaDecodeEnd *
ra_decode_part_ends(const RaDynamic *dynamic)
{
  g_autofree Sequence *sequences = g_new(Sequence, dynamic->n_sequences);
  RaDecodeEnd *ends = g_new0(RaDecodeEnd, dynamic->n_parts);
  uint64_t n = dynamic->n_sequences, n_parts = dynamic->n_parts;
  uint32_t n_done = 0;

  for (uint32_t g = 0; g < dynamic->n_groups; g++)
    n_done += sort_group(dynamic, g, sequences + n_done);
  if (n > 0)
    qsort(sequences, n, sizeof *sequences, compare_sequences);
  for (uint64_t part = 0; part < n_parts && n > 0; part++) {
    uint64_t n_ended = ((part + 1) * n + n_parts - 1) / n_parts;

    ends[part].step = sequences[n_ended - 1].step;
    ends[part].group = sequences[n_ended - 1].group;
  }
  return ends;
}
