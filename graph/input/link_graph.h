/* Network of a cluster as a graph of NICs, switches and the links between them.
 *
 * Vertices are the NICs of all nodes (NIC k of node n is vertex
 * n x nics_per_node + k) and the switches, which are all other names at ends of
 * links.  A link has a rate in each direction and a latency.  Two vertices have
 * at most one link, the last one in the file.  A link of rate 0 has failed and
 * is on no path.
 *
 *     [link cards]                  from the first NIC of each of 8 nodes
 *     ends = node[0-7]/nic0 leaf0
 *     rate = 400 Gbit/s
 *     [link up]                     from both leaves to both spines
 *     ends = leaf[0-1] spine[0-1]
 *     rate = 800 Gbit/s
 *
 * Paths have the fewest links.  Among equal ones, a hash of sender and receiver
 * chooses at every switch (ECMP).  One connected part of the graph must reach
 * all nodes, or the file is refused.
 *
 * Typical sizes: 10^2 to 10^4 links.
 */
#ifndef RA_GRAPH_INPUT_LINK_GRAPH_H
#define RA_GRAPH_INPUT_LINK_GRAPH_H

#include <glib.h>
#include <stdint.h>

#include "base/keyfile.h"

typedef struct {
  uint32_t ends[2];   /* vertices */
  double bytes_per_s; /* in each direction; 0: failed */
  double latency_s;   /* of a message, in each direction */
  guint group;        /* in the file */
} RaGraphLink;

/* A link as seen from one of its ends. */
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
  RaGraphWay *ways;    /* working links of each vertex; owned */
  uint32_t *part;      /* (n_vertices) connected part of each vertex */
  uint32_t whole;      /* part that reaches all nodes */
} RaLinkGraph;

/* (transfer full): a graph without links. */
RaLinkGraph *ra_link_graph_new(uint32_t n_nodes, uint32_t nics_per_node);
void ra_link_graph_free(RaLinkGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaLinkGraph, ra_link_graph_free)

/**
 * ra_link_graph_add:
 * @file, @group: place of the link's group, for messages
 * @ends: two words, `node[0-3]/nic*` or a switch's name, which may end in
 *   `[0-3]`: all vertices of the first are linked to all of the second
 * @error: %RA_ERROR_INPUT `file:line: ...`: a NIC that does not exist, a link
 *   from a vertex to itself, too many links
 */
gboolean ra_link_graph_add(RaLinkGraph *graph, const RaKeyFile *file,
                           guint group, const char *ends, double bytes_per_s,
                           double latency_s, GError **error);

/**
 * ra_link_graph_finish:
 * @group: group of `[cluster]`
 * @error: %RA_ERROR_INPUT `file:line: ...`: a node that is cut off, at the
 *   failed link that could reach it, if there is one
 *
 * Completes the graph after the last ra_link_graph_add().
 */
gboolean ra_link_graph_finish(RaLinkGraph *graph, const RaKeyFile *file,
                              guint group, GError **error);

/* (transfer full): "node3/nic0", "leaf1". */
char *ra_link_graph_name(const RaLinkGraph *graph, uint32_t vertex);

/* (transfer full) (array length=n_vertices): number of links of the shortest
 * path from each vertex to @to; UINT16_MAX: no path.  O(links). */
uint16_t *ra_link_graph_distances(const RaLinkGraph *graph, uint32_t to);

/* First link, out of @from, of a shortest path to the vertex for which
 * @distance was computed.  @flow chooses among equal paths.  distance[from] is
 * neither 0 nor UINT16_MAX. */
RaGraphWay ra_link_graph_next(const RaLinkGraph *graph, uint32_t from,
                              const uint16_t *distance, uint64_t flow);

#endif
