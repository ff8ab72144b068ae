/* What the two halves of sim/network share: slots, links, the winner tree.
 *
 * Private to sim/.  A flow lives in a slot until it ends; slots are used again.
 */
#ifndef RA_SIM_NETWORK_NETWORK_IMPL_H
#define RA_SIM_NETWORK_NETWORK_IMPL_H

#include "sim/network/network.h"
#include "sim/network/queue.h"

#define RA_NO_LINK UINT32_MAX
/* Links that a slot holds itself: source, two levels of switches, destination
 * and a shared one fit. */
#define RA_INLINE_REFS 5
/* Links beside one that an entry of a link names itself. */
#define RA_INLINE_OTHERS 3

/* A flow's place on a link. */
typedef struct {
  uint32_t link;
  uint32_t at;   /* index in the link's list */
  double weight; /* capacity it takes there for each unit of its rate */
} RaFlowRef;

/* What solving reads and writes of a flow: less than a cache line. */
typedef struct {
  double rate;         /* amount per second; 0 before its first solution */
  double left;         /* amount at since_s */
  double since_s;      /* when rate was set */
  double solved_rate;  /* of the solution in progress */
  uint32_t seq;        /* order of start */
  uint32_t bottleneck; /* link; RA_NO_LINK: not solved yet */
  uint32_t region;     /* mark: number of the solution that it is part of */
  uint8_t placed;      /* takes capacity */
  uint8_t in_run;      /* its end stands in the run and is not to change */
} RaFlow;

/* When it ends at its rate; INFINITY: stands still. */
static inline double
ra_flow_end_s(const RaFlow *flow)
{
  return flow->left > 0 ? flow->since_s + flow->left / flow->rate
                        : flow->since_s;
}

/* The rest of it. */
typedef struct {
  uint32_t payload;              /* the caller's */
  uint32_t n_refs;               /* links */
  RaFlowRef own[RA_INLINE_REFS]; /* (n_refs) where they fit */
  RaFlowRef *more;               /* (n_refs) where not: owned */
} RaFlowPath;

static inline RaFlowRef *
ra_path_refs(RaFlowPath *path)
{
  return path->n_refs <= RA_INLINE_REFS ? path->own : path->more;
}

/* A flow on a link, with its other links where these are few: what filling
 * walks over. */
typedef struct {
  uint32_t slot;    /* of the flow */
  uint32_t ref;     /* index in its refs */
  uint32_t n_other; /* other links; UINT32_MAX: see its refs */
  uint32_t other[RA_INLINE_OTHERS];
} RaOnLink;

typedef struct {
  double capacity;    /* amount per second */
  RaOnLink *flows;    /* (n) in no order; owned */
  uint32_t n, room;   /* flows here; that fit */
  uint32_t region;    /* mark: touched by the solution in progress */
  uint32_t n_open;    /* solution: flows without a rate */
  double open_weight; /* and their weights' sum */
  double free;        /* capacity that held and fixed flows leave */
  double level;       /* rate of the flows it is the bottleneck of; < 0: of
                         none */
  uint8_t dirty;      /* listed */
} RaLink;

/* The flow that ends first, as a tournament: node i is the earlier of nodes
 * 2 i and 2 i + 1, the leaves n_leaves + slot are the slots. */
typedef struct {
  uint32_t n_leaves; /* power of two */
  uint32_t *node;    /* (n_leaves) slots; [1] is the winner */
  RaEvent *leaf;     /* (n_leaves) by slot; time INFINITY: not in it */
} RaWinner;

/* Many flows on few links: sim/network/network_dense.c. */
typedef struct _RaDense RaDense;
/* One link that all flows wait for: sim/network/network_hub.c. */
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
  RaQueue lone;    /* ends of flows alone that come out of order; task: slot */
  RaQueue latency; /* starts to come; task: slot */
  GArray *starts;  /* RaEvent: the same, in order, from starts_at on */
  guint starts_at;
  RaQueue own;     /* the caller's events; task: payload */
  GArray *dirty;   /* uint32_t links whose flows changed */
  GArray *region;  /* uint32_t slots of the solution in progress */
  GArray *touched; /* uint32_t links of it */
  RaQueue filling; /* its links by level; task: link, or RA_NO_LINK: those of a
                      single flow, which are not touched */
  double least_single; /* least capacity of these; INFINITY: none */
  uint32_t n_regions;
  uint32_t n_fillings;
  gboolean weighted;  /* some weight is not 1 */
  gboolean has_whole; /* no flow outside shares a link with the region */
  uint64_t n_entries; /* flows on links, all links */
  guint n_to_skip;    /* solutions to come that take all at once */
  guint skip;         /* how many the last failure of a local one cost */
  guint n_open;       /* flows of the region that filling has not fixed */
  RaDense *dense;     /* NULL: flows have rates of their own */
  RaHub *hub;         /* the same */
  guint hub_skip;     /* how many solutions its last end cost */
  guint hub_to_skip;  /* solutions to come that do not try it */
  uint32_t n_placed;  /* flows that take capacity */
  uint32_t next_seq;
  RaEndKind end_kind; /* of the next end, if known: RA_END_NONE: find it */
  RaEvent end;        /* the next end */
  double now_s;
  RaNetworkWork work;
};

/* Brings the rates up to date after what is dirty. */
void ra_network_solve(RaNetwork *network);

/* @slot ends at @time_s (INFINITY: leaves). O(log slots). */
void ra_winner_set(RaNetwork *network, uint32_t slot, double time_s);
/* After many leaves were set by hand. O(slots). */
void ra_winner_rebuild(RaNetwork *network);
/* Takes the flows of the region off their own ends: @attach gets what is left
 * of each now. */
void ra_network_hand_over(RaNetwork *network,
                          void (*attach)(RaNetwork *network, uint32_t slot,
                                         double left));
/* Room for @n_slots. */
void ra_winner_grow(RaNetwork *network, uint32_t n_slots);

/* Solving by link instead of by flow, while that pays.  In between a flow's
 * `left` is on the clock of its bottleneck and its `rate` is not kept. */
/* After a solution of all flows: whether it would. */
gboolean ra_dense_wanted(const RaNetwork *network);
void ra_dense_enter(RaNetwork *network);
void ra_dense_leave(RaNetwork *network);
void ra_dense_clear(RaNetwork *network);
/* @slot has entered its links; FALSE: it does not fit in, all is by flow
 * again. */
gboolean ra_dense_place(RaNetwork *network, uint32_t slot);
/* @slot leaves its links. */
void ra_dense_remove(RaNetwork *network, uint32_t slot);
/* FALSE: there are few flows left, all is by flow again. */
gboolean ra_dense_solve(RaNetwork *network);
/* The flow that ends first. */
RaEvent ra_dense_end(const RaNetwork *network);

/* The same for one bottleneck of all flows. */
gboolean ra_hub_wanted(RaNetwork *network);
void ra_hub_enter(RaNetwork *network);
void ra_hub_leave(RaNetwork *network);
void ra_hub_clear(RaNetwork *network);
gboolean ra_hub_place(RaNetwork *network, uint32_t slot);
/* @slot, which ends first, leaves its links. */
void ra_hub_remove(RaNetwork *network, uint32_t slot);
gboolean ra_hub_solve(RaNetwork *network);
RaEvent ra_hub_end(const RaNetwork *network);

#endif
