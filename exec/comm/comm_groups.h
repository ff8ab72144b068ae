/* Splits: the communicators of a plan, made from one of all ranks in an order
 * that all agree on.
 *
 * A group of ranks has a communicator for each stream on which it meets, as of
 * one communicator all members must give operations in one order.  A call of
 * split (NCCL: ncclCommSplit()) makes groups that share no rank, each with a
 * colour of its own, and every rank makes all calls, those outside of all
 * groups without a colour.  A pure function of the plan.
 *
 *     g_autoptr(RaCommGroups) splits = ra_comm_groups_new(n_ranks);
 *     ra_comm_groups_add_plan(splits, plan, rank_of_gpu);
 *     for (s = 0; s < splits->n_splits; s++)          every rank
 *       colour = ra_comm_groups_colour(splits, s, rank, &key);
 *
 * Two neighbours of a pipeline are a group for each direction: what goes one
 * way never stands behind what goes the other.
 */
#ifndef RA_EXEC_COMM_COMM_GROUPS_H
#define RA_EXEC_COMM_COMM_GROUPS_H

#include "graph/expand/task.h"
#include "graph/input/plan.h"

/* What ranks are a group for. */
typedef enum {
  RA_GROUP_TP,      /* parts of one layer */
  RA_GROUP_CP,      /* parts of the same sequences */
  RA_GROUP_DATA,    /* dp x cp: the same part of the model */
  RA_GROUP_MESH,    /* all of a call */
  RA_GROUP_ENDS,    /* first and last stage */
  RA_GROUP_EP,      /* ranks that share experts */
  RA_GROUP_EXPERTS, /* ranks that hold the same experts */
  RA_GROUP_PAIR,    /* from one stage to another */
  RA_GROUP_WORLD,   /* all ranks */
  RA_GROUP_SET,     /* of a broadcast (exec/comm/rounds.h) */
  RA_N_GROUP_KINDS
} RaGroupKind;

typedef struct {
  uint32_t first; /* of its members in members */
  uint32_t n;     /* >= 2 */
  uint32_t split; /* call that makes it; colour: the group's number */
  uint8_t stream; /* RaStream */
  uint8_t kind;   /* RaGroupKind of its first use */
  uint32_t call;  /* of its first use; RA_NONE: of no call */
} RaCommGroup;

/* That a call's ranks meet in a group. */
typedef struct {
  uint32_t call; /* RA_NONE: of no call */
  uint32_t group;
  uint8_t kind; /* RaGroupKind */
} RaCommGroupUse;

typedef struct {
  uint32_t n_ranks;
  GArray *groups;   /* of RaCommGroup, owned */
  GArray *members;  /* of uint32_t: ranks, in their order in the group; owned */
  GArray *uses;     /* of RaCommGroupUse, owned */
  GPtrArray *taken; /* of each split (n_ranks) the rank's group, RA_NONE: it
                        has none; owned */
  GHashTable *known; /* of groups, by stream and members; owned */
  uint32_t n_splits;
} RaCommGroups;

RaCommGroups *ra_comm_groups_new(uint32_t n_ranks);
void ra_comm_groups_free(RaCommGroups *splits);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCommGroups, ra_comm_groups_free)

/**
 * ra_comm_groups_add:
 * @call: that meets there, or RA_NONE
 * @members: (array length=n): ranks, each once
 *
 * A group that is there already, on that stream, is used again.  Each group is
 * in the first split in which all its members are free, so of n ranks that are
 * in at most g groups each, none of more than m, at most m (g - 1) + 1 calls
 * are made.
 *
 * Returns: the group; RA_NONE where @n is 1: that is no group
 */
uint32_t ra_comm_groups_add(RaCommGroups *splits, uint32_t call,
                            RaGroupKind kind, RaStream stream, uint32_t n,
                            const uint32_t *members);

/**
 * ra_comm_groups_add_plan:
 * @rank_of_gpu: of each GPU that @plan uses
 *
 * All groups of all calls in their order, then that of all ranks, for
 * reallocation.
 */
void ra_comm_groups_add_plan(RaCommGroups *splits, const RaPlan *plan,
                             const uint32_t *rank_of_gpu);

/* The colour that @rank gives to call @split, and its key; -1: none. */
int ra_comm_groups_colour(const RaCommGroups *splits, uint32_t split,
                          uint32_t rank, int *out_key);

/* Number of @rank in @group; RA_NONE: it is not in it. */
uint32_t ra_comm_groups_rank_in(const RaCommGroups *splits, uint32_t group,
                                uint32_t rank);

/* The group of @kind in which @rank meets for @call; RA_NONE: there is none.
 * Not of pairs. */
uint32_t ra_comm_groups_find(const RaCommGroups *splits, uint32_t call,
                             RaGroupKind kind, uint32_t rank);

/* (transfer full): "dp of actor_train, 4 ranks from rank 3", for messages. */
char *ra_comm_groups_name(const RaCommGroups *splits, uint32_t group,
                          const RaPlan *plan);

#endif
