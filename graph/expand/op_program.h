/* Program of a work: its ops in the order in which a GPU runs them.
 *
 * The op list of a work (graph/op/op.h) has the number of runs of each op; the
 * program has their order: embedding, layer after layer, head; backward the
 * reverse.  It is made from the same lists, of pieces with a single block, so
 * there is one lowering.  At op fidelity every step is a task of its own: task
 * t of the graph, step i of its work's program.
 *
 * A *block* is a sequence of ops without a jump: the embedding, a layer of one
 * kind, the head.  A *step* is one run of one op of a block.
 *
 *     RaOpProgram program;
 *     ra_op_program(shard, &piece, phase, &batch, &program);
 *     RaOpCursor at = ra_op_cursor(&program);
 *     while (ra_op_cursor_next(&at))
 *       run(&program.ops[at.op], at.layer);
 *
 * Works of one shard, phase and kind of piece differ only in the ops'
 * dimensions.  Their blocks are equal, so a program has at most RA_OP_LIST_MAX
 * ops for any number of layers.  Nothing is allocated.
 */
#ifndef RA_GRAPH_EXPAND_OP_PROGRAM_H
#define RA_GRAPH_EXPAND_OP_PROGRAM_H

#include "graph/expand/task.h"

typedef enum {
  RA_BLOCK_EMBEDDING,
  RA_BLOCK_LAYER, /* a layer of kind 0; those of kind k have number + k */
  RA_BLOCK_HEAD = RA_BLOCK_LAYER + RA_MODEL_MAX_KINDS,
  RA_N_BLOCKS
} RaBlock;

typedef struct {
  RaOp ops[RA_OP_LIST_MAX]; /* as in the list, but `count`: runs within a block;
                               consecutive ops with equal counts above 1 run in
                               turns (the steps of a ring) */
  guint n_ops;
  guint first[RA_N_BLOCKS]; /* op with which each block begins */
  guint n[RA_N_BLOCKS];     /* ops of each block; 0: the piece has none */
  const RaModel *model;     /* borrowed; NULL: a work of one op */
  RaPiece piece;            /* piece of the model */
  gboolean backward;        /* last layers first */
  uint32_t n_blocks; /* number of blocks that it runs, layers and others */
} RaOpProgram;

/* Position in a program. */
typedef struct {
  const RaOpProgram *program;
  uint32_t block;  /* ordinal, < n_blocks */
  RaBlock kind;    /* kind of the block */
  uint32_t layer;  /* of the model; RA_NONE: embedding or head */
  guint op;        /* index into ops */
  uint32_t run;    /* number of the turn, < the op's count */
  uint32_t step;   /* of the block, from 0 */
  gboolean is_new; /* before the first step */
} RaOpCursor;

/**
 * ra_op_program:
 * @out_program: (out): borrows @shard's model
 *
 * Makes the program of @piece.   Cost: a few op lists, no allocation.
 */
void ra_op_program(const RaShard *shard, const RaPiece *piece, RaPhase phase,
                   const RaBatch *batch, RaOpProgram *out_program);

/* The blocks that @piece has.  Programs of one shard, phase and set of blocks
 * differ only in the dimensions of their ops. */
void ra_op_program_blocks(const RaShard *shard, const RaPiece *piece,
                          uint8_t out_has[RA_N_BLOCKS]);

/* Makes the program of work @work of @graph; a work of one op has one step. */
void ra_work_program(const RaTaskGraph *graph, uint32_t work,
                     RaOpProgram *out_program);

/* Number of steps.  O(blocks' ops). */
uint64_t ra_op_program_n_steps(const RaOpProgram *program);

/* Kind of block number @block, and its layer.  O(1), except for a piece of
 * mixed layers. */
RaBlock ra_op_program_block(const RaOpProgram *program, uint32_t block,
                            uint32_t *out_layer);

/* Op after op @op, the last of a turn: the next op, or the first of the turn
 * again while @run (inout) has not reached its count. */
guint ra_op_program_next(const RaOpProgram *program, guint op, uint32_t *run);

/* Cursor before the first step. */
RaOpCursor ra_op_cursor(const RaOpProgram *program);
/* Moves to the next step; FALSE: there is none. */
gboolean ra_op_cursor_next(RaOpCursor *cursor);

/* Place of an op in its task. */
typedef struct {
  uint32_t decode; /* step of a decode task, from 1; 0: any other task */
  uint32_t group;  /* micro-batch of the replica, in a decode step */
  RaBlock block;   /* RA_N_BLOCKS: between stages, after stage `layer` */
  uint32_t layer;  /* of the model; RA_NONE: embedding or head */
  uint32_t step;   /* of the block, from 0 */
} RaOpPlace;

/**
 * ra_op_place_name:
 * @kind: kind of the op at @place
 * @out: (out) (array length=n_bytes): NUL-terminated
 *
 * Suffix of the task's name for an op:
 *
 *     l17/gemm.4              layer, op and number of the step in its block
 *     embedding/..., head/... the same outside layers
 *     step9/g0/l17/gemm.4     decode step 9 of micro-batch 0
 *     step9/g0/s1/send        the send after stage 1 in that step
 *
 * A task of a single op has no suffix.
 */
void ra_op_place_name(const RaOpPlace *place, RaOpKind kind, char *out,
                      gsize n_bytes);

/* Suffix for the step at @cursor. */
void ra_op_step_name(const RaOpCursor *cursor, char *out, gsize n_bytes);

#endif
