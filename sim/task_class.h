/* Classes of tasks for accounting.
 *
 * DEVICE  occupies the lane's compute stream
 * COMM    communication within a call; counts only if no device task overlaps
 * it HOST    a host call
 * MOVE    added by the plan between calls: reallocation, transfer, offload,
 *         reload
 *
 * A join has no time and no lane, so its class is never used.
 */
#ifndef RA_SIM_TASK_CLASS_H
#define RA_SIM_TASK_CLASS_H

#include "graph/expand/task.h"

typedef enum {
  RA_TASK_CLASS_DEVICE,
  RA_TASK_CLASS_COMM,
  RA_TASK_CLASS_HOST,
  RA_TASK_CLASS_MOVE,
  RA_N_TASK_CLASSES
} RaTaskClass;

static inline RaTaskClass
ra_task_class(RaTaskKind kind)
{
  switch (kind) {
  case RA_TASK_FORWARD:
  case RA_TASK_BACKWARD:
  case RA_TASK_OPTIMIZER:
  case RA_TASK_DECODE:
  case RA_TASK_CALL:
    return RA_TASK_CLASS_DEVICE;
  case RA_TASK_SEND:
  case RA_TASK_GRAD_REDUCE:
  case RA_TASK_CLIP:
  case RA_TASK_PARAM_GATHER:
  case RA_TASK_EMBEDDING_REDUCE:
  case RA_TASK_MIGRATE:
  case RA_TASK_JOIN:
    return RA_TASK_CLASS_COMM;
  case RA_TASK_HOST:
    return RA_TASK_CLASS_HOST;
  case RA_TASK_REALLOC:
  case RA_TASK_TRANSFER:
  case RA_TASK_OFFLOAD:
  case RA_TASK_RELOAD:
    return RA_TASK_CLASS_MOVE;
  case RA_N_TASK_KINDS:
    break;
  }
  g_assert_not_reached();
}

#endif
