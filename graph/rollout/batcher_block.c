/* Blocks of a batcher. */
#include "config.h"

#include "graph/rollout/batcher_impl.h"

static uint64_t
blocks_of(const RaBatching *b, uint64_t tokens)
{
  return (tokens + b->block_tokens - 1) / b->block_tokens;
}

/* Blocks of a prompt that its samples share: whole ones, but for the last
 * token, which each computes. */
static uint64_t
shared_blocks(const RaBatcher *b, uint32_t i)
{
  return b->batching.group > 1
             ? (uint64_t)(b->prompt[i] - 1) / b->batching.block_tokens
             : 0;
}

/* Blocks that sequence @i has of its own at @tokens, with its states from the
 * first that is not a sample's share. */
uint64_t
ra_batcher_own_blocks(const RaBatcher *b, uint32_t i, uint64_t tokens)
{
  uint64_t shared = shared_blocks(b, i), all = blocks_of(&b->batching, tokens);

  return all > shared ? b->batching.state_blocks + all - shared : 0;
}

/* Tokens whose blocks a running sequence holds. */
uint64_t
ra_batcher_held_tokens(const RaBatcher *b, uint32_t i)
{
  if (b->batching.reserve)
    return (uint64_t)b->prompt[i] + b->response[i];
  return ra_batcher_computed(b, i);
}

/* Further blocks that sequence @i needs to hold @tokens, its group's among
 * them. */
uint64_t
ra_batcher_more_blocks(RaBatcher *b, uint32_t i, uint64_t held, uint64_t tokens)
{
  uint64_t shared = MIN(shared_blocks(b, i), blocks_of(&b->batching, tokens));
  uint64_t there = ra_batcher_group(b, i)->n_blocks;

  return ra_batcher_own_blocks(b, i, tokens) -
         ra_batcher_own_blocks(b, i, held) +
         (shared > there ? shared - there : 0);
}

void
ra_batcher_take_blocks(RaBatcher *b, uint32_t i, uint64_t held, uint64_t tokens)
{
  RaBatchGroup *group = ra_batcher_group(b, i);

  b->used_blocks += ra_batcher_more_blocks(b, i, held, tokens);
  group->n_blocks = MAX(group->n_blocks, MIN(shared_blocks(b, i),
                                             blocks_of(&b->batching, tokens)));
}

uint64_t
ra_batcher_free_blocks(const RaBatcher *b)
{
  if (b->batching.n_blocks == 0)
    return UINT64_MAX;
  return b->batching.n_blocks - b->used_blocks;
}

/* Those of the sequences that decode which need a block for the key of step
 * @ahead + 1 from now. */
uint64_t
ra_batcher_n_crossing(const RaBatcher *b, uint64_t ahead)
{
  uint64_t size = b->batching.block_tokens;

  return b->batching.reserve
             ? 0
             : b->at_residue[(size - (b->step + ahead) % size) % size];
}
