/* The program of a work: its ops in the order in which a GPU runs them.
 *
 * graph/op/op.h's list of a work says how often each op runs; the program says
 * in which order: embedding, layer after layer, head; backward the reverse.  It
 * is made from the same lists (of pieces that have one block alone), so there
 * is one lowering.  At op fidelity every step of it is a task of its own: task
 * t of the graph, step i of its work's program.
 *
 * A *block* is what runs without a jump: the embedding, a dense layer, a layer
 * with experts, the head.  A *step* is one run of one op of a block.
 *
 *     RaOpProgram program;
 *     ra_op_program(shard, &piece, phase, &batch, &program);
 *     RaOpCursor at = ra_op_cursor(&program);
 *     while (ra_op_cursor_next(&at))
 *       run(&program.ops[at.op], at.layer);
 *
 * Works of one shard, phase and kind of piece differ in the ops' dimensions
 * alone: their blocks are equal, so a program is 100 ops at most, however many
 * layers there are.  Nothing is allocated.
 */
#ifndef RA_GRAPH_EXPAND_OP_PROGRAM_H
#define RA_GRAPH_EXPAND_OP_PROGRAM_H

#include "graph/expand/task.h"

typedef enum {
  RA_BLOCK_EMBEDDING,
  RA_BLOCK_DENSE,   /* a layer */
  RA_BLOCK_EXPERTS, /* a layer with a mixture of experts */
  RA_BLOCK_HEAD,
  RA_N_BLOCKS
} RaBlock;

typedef struct {
  RaOp ops[RA_OP_LIST_MAX]; /* as in the list, `count`: runs within a block;
                               equal counts above 1 that follow each other run
                               in turns (the steps of a ring) */
  guint n_ops;
  guint first[RA_N_BLOCKS]; /* op with which each block begins */
  guint n[RA_N_BLOCKS];     /* ops of each; 0: the piece has none */
  const RaModel *model;     /* borrowed; NULL: a work of one op */
  RaPiece piece;            /* of it */
  gboolean backward;        /* last layers first */
  uint32_t n_blocks;        /* that it runs, layers and the others */
} RaOpProgram;

/* Where a program is. */
typedef struct {
  const RaOpProgram *program;
  uint32_t block;  /* ordinal, < n_blocks */
  RaBlock kind;    /* of it */
  uint32_t layer;  /* of the model; RA_NONE: embedding or head */
  guint op;        /* index into ops */
  uint32_t run;    /* of the turn, < the op's count */
  uint32_t step;   /* of the block, from 0 */
  gboolean is_new; /* nothing was asked for yet */
} RaOpCursor;

/**
 * ra_op_program:
 * @out_program: (out): borrows @shard's model
 *
 * The program of @piece.  Cost: a few op lists, no allocation.
 */
void ra_op_program(const RaShard *shard, const RaPiece *piece, RaPhase phase,
                   const RaBatch *batch, RaOpProgram *out_program);

/* That of work @work of @graph; of one op alone its one step. */
void ra_work_program(const RaTaskGraph *graph, uint32_t work,
                     RaOpProgram *out_program);

/* Steps in all. O(blocks' ops). */
uint64_t ra_op_program_n_steps(const RaOpProgram *program);

/* The kind of block number @block, and its layer. O(1), a piece of mixed layers
 * aside. */
RaBlock ra_op_program_block(const RaOpProgram *program, uint32_t block,
                            uint32_t *out_layer);

/* Op @op of a turn's last one: the next op, or the first of the turn again
 * while @run (in, out) has not come to its count. */
guint ra_op_program_next(const RaOpProgram *program, guint op, uint32_t *run);

/* Before the first step. */
RaOpCursor ra_op_cursor(const RaOpProgram *program);
/* Moves on; FALSE: there was no next step. */
gboolean ra_op_cursor_next(RaOpCursor *cursor);

/* Where in its task an op runs. */
typedef struct {
  uint32_t decode; /* step of a decode task, from 1; 0: of another task */
  uint32_t group;  /* of the replica's micro-batches, in a decode step */
  RaBlock block;   /* RA_N_BLOCKS: between stages, behind stage `layer` */
  uint32_t layer;  /* of the model; RA_NONE: embedding or head */
  uint32_t step;   /* of the block, from 0 */
} RaOpPlace;

/**
 * ra_op_place_name:
 * @kind: of the op at @place
 * @out: (out) (array length=n_bytes): NUL-terminated
 *
 * What stands behind the task's name: `l17/gemm.4`, layer, op and the number
 * of the step in its block; `embedding/...`, `head/...`; of decode step 9 of
 * micro-batch 0 `step9/g0/l17/gemm.4`, and `step9/g0/s1/send` what leaves stage
 * 1.  A task of a single op is that op: nothing stands behind its name.
 */
void ra_op_place_name(const RaOpPlace *place, RaOpKind kind, char *out,
                      gsize n_bytes);

/* That of the step that @cursor is at. */
void ra_op_step_name(const RaOpCursor *cursor, char *out, gsize n_bytes);

#endif
