/* Work for network simulators: rings, pipelines, random flows.
 *
 * The work is handed out piece by piece as predecessors end, so that it can
 * drive any simulator: bench/sim.c and the peer in peer/simgrid_peer.cc run the
 * same messages and computations, with the same amounts.
 *
 *     RaTraffic *t = ra_traffic_new(RA_TRAFFIC_RING, 64, 0.05, 1e6, sink, me);
 *     ra_traffic_begin(t);                    calls sink->send, ->compute
 *     ... ra_traffic_end(t, id) as each ends  calls them again
 *
 * RING   all-reduce of 64 MB on n hosts: 2 (n - 1) steps of n messages; message
 *        (r, s) waits for (r, s - 1) and for (r - 1, s - 1)
 * PIPE   n / 8 replicas of 8 stages, 1F1B, 32 micro-batches, forward 1 ms,
 *        backward 2 ms, 16 MB messages; then each stage's ring all-reduce of
 *        256 MB over the replicas
 * FLOWS  n messages of 1 to 10 MB between random pairs of hosts, all at once
 *
 * Amounts vary by `jitter` about 1, by a hash of the piece.
 */
#ifndef RA_BENCH_TRAFFIC_H
#define RA_BENCH_TRAFFIC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  RA_TRAFFIC_RING,
  RA_TRAFFIC_PIPE,
  RA_TRAFFIC_FLOWS
} RaTrafficKind;

/* The functions of a simulator; @id is passed back to ra_traffic_end(). */
typedef struct {
  void (*send)(void *data, uint32_t id, uint32_t from, uint32_t to,
               double bytes);
  void (*compute)(void *data, uint32_t id, uint32_t host, double seconds);
} RaTrafficSink;

typedef struct RaTraffic RaTraffic;

/* @n_flows: only for FLOWS; @max_steps: most steps of a ring, 0: all. */
RaTraffic *ra_traffic_new(RaTrafficKind kind, uint32_t n_hosts,
                          uint32_t n_flows, double jitter, uint32_t max_steps,
                          const RaTrafficSink *sink, void *data);
void ra_traffic_begin(RaTraffic *traffic);
void ra_traffic_end(RaTraffic *traffic, uint32_t id);
/* Total number of pieces, known in advance, and of those that have ended. */
uint64_t ra_traffic_n_tasks(const RaTraffic *traffic);
uint64_t ra_traffic_n_ended(const RaTraffic *traffic);
void ra_traffic_free(RaTraffic *traffic);

/* The networks.  Links 0 .. n_hosts - 1 are the up links of the hosts, followed
 * by their down links; for fat, then up links and down links of the nodes; for
 * bus, then the bus. */
typedef enum {
  RA_NET_STAR, /* up and down 50 GB/s each */
  RA_NET_FAT,  /* also up and down of each node of 8 hosts, 100 GB/s each */
  RA_NET_BUS   /* star, and one link of n / 4 x 50 GB/s on all paths */
} RaNetKind;

#define RA_NET_HOST_BYTES_PER_S 50e9
#define RA_NET_NODE_BYTES_PER_S 100e9
#define RA_NET_HOSTS_A_NODE 8
#define RA_NET_LATENCY_S 2e-6 /* latency of a message */
#define RA_NET_MAX_ROUTE 4

uint32_t ra_net_n_links(RaNetKind kind, uint32_t n_hosts);
double ra_net_capacity(RaNetKind kind, uint32_t n_hosts, uint32_t link);
/* Fills @out_links; returns the number of links. */
uint32_t ra_net_route(RaNetKind kind, uint32_t n_hosts, uint32_t from,
                      uint32_t to, uint32_t out_links[RA_NET_MAX_ROUTE]);

extern const char *const ra_traffic_names[]; /* by RaTrafficKind, NULL */
extern const char *const ra_net_names[];     /* by RaNetKind, NULL */

#ifdef __cplusplus
}
#endif

#endif
