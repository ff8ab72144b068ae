/* Internals of the network: slots, links, the winner tree.
 *
 * Private to sim/network/network*.c.  A flow has a slot until it ends; slots
 * are reused.
 */
#ifndef RA_SIM_NETWORK_NETWORK_IMPL_H
#define RA_SIM_NETWORK_NETWORK_IMPL_H

#include "sim/network/network.h"
#include "sim/network/queue.h"

#define RA_NO_LINK UINT32_MAX
/* Links stored in the slot: source, two levels of switches, destination and a
 * shared one fit. */
#define RA_INLINE_REFS 5
/* Other links of a flow that are stored in a link's entry. */
#define RA_INLINE_OTHERS 3

/* Reference from a flow to one of its links. */
typedef struct {
  uint32_t link;
  uint32_t at;   /* index in the link's list */
  double weight; /* capacity used there per unit of its rate */
} RaFlowRef;

/* Part of a flow that solving reads and writes: less than a cache line. */
typedef struct {
  double rate;         /* amount per second; 0 before its first solution */
  double left;         /* amount left at since_s */
  double since_s;      /* time at which rate was set */
  double solved_rate;  /* in the solution in progress */
  uint32_t seq;        /* order of start */
  uint32_t bottleneck; /* link; RA_NO_LINK: not solved yet */
  uint32_t region;     /* mark: number of the solution to which it belongs */
  uint8_t placed;      /* uses capacity */
  uint8_t in_run;      /* its end is in the run and must not change */
} RaFlow;

/* Time of its end at its rate; INFINITY: the rate is 0. */
static inline double
ra_flow_end_s(const RaFlow *flow)
{
  return flow->left > 0 ? flow->since_s + flow->left / flow->rate
                        : flow->since_s;
}

/* Remaining part of a flow. */
typedef struct {
  uint32_t payload;              /* the caller's value */
  uint32_t n_refs;               /* number of links */
  RaFlowRef own[RA_INLINE_REFS]; /* (n_refs) if they fit */
  RaFlowRef *more;               /* (n_refs) otherwise; owned */
} RaFlowPath;

static inline RaFlowRef *
ra_path_refs(RaFlowPath *path)
{
  return path->n_refs <= RA_INLINE_REFS ? path->own : path->more;
}

/* Entry of a flow in a link's list, with its other links if these are few;
 * filling walks over these entries. */
typedef struct {
  uint32_t slot;    /* slot of the flow */
  uint32_t ref;     /* index in its refs */
  uint32_t n_other; /* other links; UINT32_MAX: see its refs */
  uint32_t other[RA_INLINE_OTHERS];
} RaOnLink;

typedef struct {
  double capacity;    /* amount per second */
  RaOnLink *flows;    /* (n) unordered; owned */
  uint32_t n, room;   /* flows here; capacity of the array */
  uint32_t region;    /* mark: touched by the solution in progress */
  uint32_t n_open;    /* in the solution: flows without a rate */
  double open_weight; /* in the solution: sum of their weights */
  double free;        /* capacity left by held and fixed flows */
  double level;       /* rate of the flows whose bottleneck it is; < 0: none */
  uint8_t dirty;      /* listed in `dirty` of the network */
} RaLink;

/* Tournament for the flow that ends first: node i is the earlier of nodes 2 i
 * and 2 i + 1; the leaves n_leaves + slot are the slots. */
typedef struct {
  uint32_t n_leaves; /* power of two */
  uint32_t *node;    /* (n_leaves) slots; [1] is the winner */
  RaEvent *leaf;     /* (n_leaves) by slot; time INFINITY: does not take part */
} RaWinner;

/* Solver for many flows on few links: sim/network/network_dense.c. */
typedef struct _RaDense RaDense;
/* Solver for one bottleneck of all flows: sim/network/network_hub.c. */
typedef struct _RaHub RaHub;

typedef enum {
  RA_END_NONE,
  RA_END_RUN,
  RA_END_LONE,
  RA_END_WINNER,
  RA_END_OWN,
  RA_END_DENSE,
  RA_END_HUB
} RaEndKind;

struct _RaNetwork {
  RaLink *links; /* (n_links) */
  uint32_t n_links;
  RaFlow *flows;     /* (n_slots) */
  RaFlowPath *paths; /* (n_slots) */
  uint32_t *fixed;   /* (n_slots) mark: number of the filling that rated it */
  uint32_t n_slots, room_slots;
  GArray *free_slots; /* uint32_t */
  RaWinner winner;    /* of flows whose end may change */
  GArray *run;        /* RaEvent: ends in order, from run_at on */
  guint run_at;
  RaQueue lone;    /* ends of isolated flows, if out of order; task: slot */
  RaQueue latency; /* future starts, if out of order; task: slot */
  GArray *starts;  /* RaEvent: future starts in order, from starts_at on */
  guint starts_at;
  RaQueue own;     /* the caller's events; task: payload */
  GArray *dirty;   /* uint32_t links whose flows changed */
  GArray *region;  /* uint32_t slots of the solution in progress */
  GArray *touched; /* uint32_t links of the solution in progress */
  RaQueue filling; /* its links by level; task: link, or RA_NO_LINK: links of a
                      single flow, which are not touched */
  double least_single; /* least capacity of these; INFINITY: none */
  uint32_t n_regions;
  uint32_t n_fillings;
  gboolean weighted;  /* some weight is not 1 */
  gboolean has_whole; /* no other flow shares a link with the region */
  uint64_t n_entries; /* entries in the lists of all links */
  guint n_to_skip;    /* next solutions, which solve all flows at once */
  guint skip;         /* n_to_skip after the last failed local solution */
  guint n_open;       /* flows of the region that filling has not fixed */
  RaDense *dense;     /* NULL: not in use */
  RaHub *hub;         /* NULL: not in use */
  guint hub_skip;     /* hub_to_skip after the last use of the hub */
  guint hub_to_skip;  /* next solutions, which do not try the hub */
  uint32_t n_placed;  /* flows that use capacity */
  uint32_t next_seq;
  RaEndKind end_kind; /* kind of the next end; RA_END_NONE: not known */
  RaEvent end;        /* the next end */
  double now_s;
  RaNetworkWork work;
};

/* Updates the rates after changes of the dirty links. */
void ra_network_solve(RaNetwork *network);

/* Sets the end of @slot to @time_s; INFINITY removes it.  O(log slots). */
void ra_winner_set(RaNetwork *network, uint32_t slot, double time_s);
/* Rebuilds the tournament after many leaves were set directly.  O(slots). */
void ra_winner_rebuild(RaNetwork *network);
/* Removes the ends of the flows of the region from the tournament, and calls
 * @attach with the amount that each has left now. */
void ra_network_hand_over(RaNetwork *network,
                          void (*attach)(RaNetwork *network, uint32_t slot,
                                         double left));
/* Grows the tournament to @n_slots. */
void ra_winner_grow(RaNetwork *network, uint32_t n_slots);

/* Solver by link instead of by flow, used while it is faster.  Meanwhile a
 * flow's `left` is on the clock of its bottleneck and its `rate` is not
 * valid. */
/* TRUE, after a solution of all flows, if the solver would be faster. */
gboolean ra_dense_wanted(const RaNetwork *network);
void ra_dense_enter(RaNetwork *network);
void ra_dense_leave(RaNetwork *network);
void ra_dense_clear(RaNetwork *network);
/* Adds @slot, which has entered its links; FALSE: it does not fit, and solving
 * is by flow again. */
gboolean ra_dense_place(RaNetwork *network, uint32_t slot);
/* Removes @slot, which leaves its links. */
void ra_dense_remove(RaNetwork *network, uint32_t slot);
/* Solves; FALSE: few flows are left, and solving is by flow again. */
gboolean ra_dense_solve(RaNetwork *network);
/* Next end. */
RaEvent ra_dense_end(const RaNetwork *network);

/* Solver for one bottleneck of all flows, with the same functions. */
gboolean ra_hub_wanted(RaNetwork *network);
void ra_hub_enter(RaNetwork *network);
void ra_hub_leave(RaNetwork *network);
void ra_hub_clear(RaNetwork *network);
gboolean ra_hub_place(RaNetwork *network, uint32_t slot);
/* Removes @slot, which ends first, as it leaves its links. */
void ra_hub_remove(RaNetwork *network, uint32_t slot);
gboolean ra_hub_solve(RaNetwork *network);
RaEvent ra_hub_end(const RaNetwork *network);

#endif
