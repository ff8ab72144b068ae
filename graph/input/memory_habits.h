/* Memory habits: what the software that runs a plan holds on a GPU, and when.
 *
 * A plan says which parallelism runs where.  Frameworks differ in what rests on
 * a GPU between the calls.  A system profile (traces/system.h, [memory]) says
 * it; without one the habits are those of the executor (exec/), all zero:
 *
 *                     the executor               others
 *     fp32_shards     parameters in the model's  with zero = 3 fp32 shards
 *                     dtype, and fp32 master     alone, which the optimizer
 *                     weights in the optimizer   updates
 *     drop_gradients  gradients are kept         they are freed when their
 *                     between training calls     call ends
 *     engine          generation shares memory   generation has an engine of
 *                     with training              its own in a fixed part of
 *                                                the GPU
 *     in_place_loss   the fp32 softmax of the    with zero = 3 the 16-bit
 *                     logits is kept for the     logits are kept, and their
 *                     backward                   gradient overwrites them
 *
 * graph/input/residency.h says what they mean for a call of a plan.
 *
 * Typical size: one a cluster.
 */
#ifndef RA_GRAPH_INPUT_MEMORY_HABITS_H
#define RA_GRAPH_INPUT_MEMORY_HABITS_H

/* 0 or 1 each. */
typedef struct {
  int fp32_shards;
  int drop_gradients;
  int engine;
  int in_place_loss;
} RaMemoryHabits;

#endif
