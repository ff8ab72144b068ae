/* Splits: the communicators of a plan, split from one of all ranks in an order
 * on which all ranks agree.
 *
 * A group of ranks has a communicator for each stream on which it meets,
 * because all members of a communicator must start its operations in one order.
 * One split (NCCL: ncclCommSplit()) makes groups that share no rank, each with
 * its own colour.  Every rank takes part in all splits; a rank in none of the
 * groups has no colour.  A pure function of the plan.
 *
 *     g_autoptr(RaCommGroups) splits = ra_comm_groups_new(n_ranks);
 *     ra_comm_groups_add_plan(splits, plan, rank_of_gpu);
 *     for (s = 0; s < splits->n_splits; s++)          every rank
 *       colour = ra_comm_groups_colour(splits, s, rank, &key);
 *
 * Two neighbours of a pipeline are one group per direction, so traffic in one
 * direction never queues after traffic in the other.
 */
#ifndef RA_EXEC_COMM_COMM_GROUPS_H
#define RA_EXEC_COMM_COMM_GROUPS_H

#include "graph/expand/task.h"
#include "graph/input/plan.h"

/* Purpose of a group of ranks. */
typedef enum {
  RA_GROUP_TP,      /* share each layer */
  RA_GROUP_CP,      /* share the same sequences */
  RA_GROUP_DATA,    /* dp x cp: have the same part of the model */
  RA_GROUP_MESH,    /* all ranks of a call */
  RA_GROUP_ENDS,    /* first and last stage */
  RA_GROUP_EP,      /* share experts */
  RA_GROUP_EXPERTS, /* have the same experts */
  RA_GROUP_PAIR,    /* one stage to another */
  RA_GROUP_WORLD,   /* all ranks */
  RA_GROUP_SET,     /* ranks of a broadcast (exec/comm/rounds.h) */
  RA_N_GROUP_KINDS
} RaGroupKind;

typedef struct {
  uint32_t first; /* index of its first member in members */
  uint32_t n;     /* >= 2 */
  uint32_t split; /* split that makes it; its colour is the group's number */
  uint8_t stream; /* RaStream */
  uint8_t kind;   /* RaGroupKind, of its first use */
  uint32_t call;  /* call of its first use; RA_NONE: none */
} RaCommGroup;

/* The use of a group by a call. */
typedef struct {
  uint32_t call; /* RA_NONE: no call */
  uint32_t group;
  uint8_t kind; /* RaGroupKind */
} RaCommGroupUse;

typedef struct {
  uint32_t n_ranks;
  GArray *groups;    /* RaCommGroup, owned */
  GArray *members;   /* uint32_t: ranks, by group and their order in it;
                        owned */
  GArray *uses;      /* RaCommGroupUse, owned */
  GPtrArray *taken;  /* by split, (n_ranks) the group of each rank, RA_NONE:
                        none; owned */
  GHashTable *known; /* groups by stream and members; owned */
  uint32_t n_splits;
} RaCommGroups;

RaCommGroups *ra_comm_groups_new(uint32_t n_ranks);
void ra_comm_groups_free(RaCommGroups *splits);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCommGroups, ra_comm_groups_free)

/**
 * ra_comm_groups_add:
 * @call: call that uses the group, or RA_NONE
 * @members: (array length=n): ranks, each once
 *
 * Reuses an existing group with these members on that stream.  A new group goes
 * to the first split in which all its members are free.  If each rank is in at
 * most g groups, none with more than m members, there are at most m (g - 1) + 1
 * splits.
 *
 * Returns: the group; RA_NONE if @n is 1, which needs none
 */
uint32_t ra_comm_groups_add(RaCommGroups *splits, uint32_t call,
                            RaGroupKind kind, RaStream stream, uint32_t n,
                            const uint32_t *members);

/**
 * ra_comm_groups_add_plan:
 * @rank_of_gpu: rank of each GPU that @plan uses
 *
 * Adds all groups of all calls in their order, then the group of all ranks, for
 * reallocation.
 */
void ra_comm_groups_add_plan(RaCommGroups *splits, const RaPlan *plan,
                             const uint32_t *rank_of_gpu);

/* The colour of @rank in split @split, and its key; -1: none. */
int ra_comm_groups_colour(const RaCommGroups *splits, uint32_t split,
                          uint32_t rank, int *out_key);

/* Index of @rank in @group; RA_NONE: it is not a member. */
uint32_t ra_comm_groups_rank_in(const RaCommGroups *splits, uint32_t group,
                                uint32_t rank);

/* The group of @kind that @rank uses in @call; RA_NONE: none.  Not for
 * pairs. */
uint32_t ra_comm_groups_find(const RaCommGroups *splits, uint32_t call,
                             RaGroupKind kind, uint32_t rank);

/* (transfer full): "dp of actor_train, 4 ranks from rank 3", for messages. */
char *ra_comm_groups_name(const RaCommGroups *splits, uint32_t group,
                          const RaPlan *plan);

#endif
