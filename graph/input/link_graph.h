/* The network of a cluster as a graph: cards, switches, links between them.
 *
 * Its vertices are the network cards of all nodes (card k of node n is vertex
 * n x nics_per_node + k) and whatever else links name: switches.  A link has a
 * rate each way and a latency; at most one is between two vertices, the last
 * that the file has.  Links of rate 0 have failed and are no way.
 *
 *     [link cards]                              links from the first card of 8
 * nodes ends = node[0-7]/nic0 leaf0 rate = 400 Gbit/s [link up] from both
 * leaves to both spines ends = leaf[0-1] spine[0-1] rate = 800 Gbit/s
 *
 * Ways have the fewest links; where several have, a hash of who sends to whom
 * chooses at every switch (ECMP).  Some part of the graph that is connected
 * reaches all nodes, or the file is refused.
 * Typical sizes: 10^2 to 10^4 links.
 */
#ifndef RA_GRAPH_INPUT_LINK_GRAPH_H
#define RA_GRAPH_INPUT_LINK_GRAPH_H

#include <glib.h>
#include <stdint.h>

#include "base/keyfile.h"

typedef struct {
  uint32_t ends[2];   /* vertices */
  double bytes_per_s; /* each way; 0: failed */
  double latency_s;   /* of a message, each way */
  guint group;        /* of the file */
} RaGraphLink;

/* A link as one of its ends has it. */
typedef struct {
  uint32_t to;   /* vertex */
  uint32_t link; /* index into links */
} RaGraphWay;

typedef struct {
  uint32_t n_cards, nics_per_node;
  GPtrArray *switches; /* (char *) names; vertex n_cards + i; owned */
  GHashTable *numbers; /* name of a switch -> i */
  GArray *links;       /* RaGraphLink; owned */
  uint32_t *begin;     /* (n_vertices + 1) CSR into ways */
  RaGraphWay *ways;    /* links that work; owned */
  uint32_t *part;      /* (n_vertices) connected part */
  uint32_t whole;      /* one that reaches all nodes */
} RaLinkGraph;

/* Without links. */
RaLinkGraph *ra_link_graph_new(uint32_t n_nodes, uint32_t nics_per_node);
void ra_link_graph_free(RaLinkGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaLinkGraph, ra_link_graph_free)

/**
 * ra_link_graph_add:
 * @file, @group: where it stands
 * @ends: two words, `node[0-3]/nic*` or a switch's name, which may end in
 *   `[0-3]`: all of the one to all of the other
 * @error: %RA_ERROR_INPUT `file:line: ...`: a card that there is not, a link
 *   from a vertex to itself, too many
 */
gboolean ra_link_graph_add(RaLinkGraph *graph, const RaKeyFile *file,
                           guint group, const char *ends, double bytes_per_s,
                           double latency_s, GError **error);

/**
 * ra_link_graph_finish:
 * @group: of `[cluster]`
 * @error: %RA_ERROR_INPUT `file:line: ...`: a node that is cut off, at the link
 *   that has failed and could reach it, if there is one
 *
 * After the last link.
 */
gboolean ra_link_graph_finish(RaLinkGraph *graph, const RaKeyFile *file,
                              guint group, GError **error);

uint32_t ra_link_graph_n_vertices(const RaLinkGraph *graph);

/* (transfer full): "node3/nic0", "leaf1". */
char *ra_link_graph_name(const RaLinkGraph *graph, uint32_t vertex);

/* (transfer full) (array length=n_vertices): links of the shortest way from
 * each vertex to @to; UINT16_MAX: none.  O(links). */
uint16_t *ra_link_graph_distances(const RaLinkGraph *graph, uint32_t to);

/* The way out of @from on one of the shortest ways to where @distance is from,
 * chosen by @flow; distance[from] is neither 0 nor UINT16_MAX. */
RaGraphWay ra_link_graph_next(const RaLinkGraph *graph, uint32_t from,
                              const uint16_t *distance, uint64_t flow);

#endif
