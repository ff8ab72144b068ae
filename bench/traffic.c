/* Plain C without the project's libraries: the peer links it too. */
#include "config.h"

#include <stdlib.h>

#include "bench/traffic.h"

const char *const ra_traffic_names[] = {"ring", "pipe", "flows", NULL};
const char *const ra_net_names[] = {"star", "fat", "bus", NULL};

enum { N_STAGES = 8, N_MICRO = 32 };

#define RING_BYTES 64e6
#define MESSAGE_BYTES 16e6
#define GRADIENT_BYTES 256e6
#define FORWARD_S 1e-3
#define BACKWARD_S 2e-3

/* One ring: member m is host first + m * stride. */
typedef struct {
  uint32_t first, stride, n;
  uint32_t n_steps;
  uint32_t first_id; /* of its messages: first_id + step n + member */
  double bytes;      /* a message */
  uint32_t *sent;    /* (n) steps that each has sent */
  uint32_t *got;     /* (n) messages that each has received */
  uint32_t *next;    /* (n) step to be started next */
} Ring;

/* A host of a pipeline. */
typedef struct {
  uint32_t at;                /* ops of the 1F1B order that have ended */
  uint32_t n_forward, n_back; /* messages received */
  uint32_t is_running;
} Stage;

struct RaTraffic {
  RaTrafficKind kind;
  uint32_t n_hosts, n_flows;
  double jitter;
  const RaTrafficSink *sink;
  void *data;
  uint64_t n_tasks, n_ended;
  Ring *rings; /* (n_rings) */
  uint32_t n_rings;
  Stage *stages;    /* (n_hosts) PIPE */
  uint32_t *n_done; /* (N_STAGES) replicas of each stage that have ended */
};

static uint64_t
hash(uint64_t x)
{
  x += 0x9e3779b97f4a7c15u; /* splitmix64, Steele, Lea and Flood 2014 */
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static double
unit(uint64_t x)
{
  return (double)(hash(x) >> 11) * 0x1p-53;
}

static double
jittered(const RaTraffic *t, uint32_t id, double amount)
{
  return t->jitter == 0 ? amount
                        : amount * (1 + t->jitter * (2 * unit(id) - 1));
}

/* Whole bytes, which the peer counts in. */
static double
bytes_of(const RaTraffic *t, uint32_t id, double bytes)
{
  return (double)(uint64_t)(jittered(t, id, bytes) + 0.5);
}

/* ---- Rings --------------------------------------------------------------- */

static void
ring_init(Ring *ring, uint32_t first, uint32_t stride, uint32_t n, double bytes,
          uint32_t max_steps, uint32_t first_id)
{
  uint32_t n_steps = 2 * (n - 1);

  ring->first = first;
  ring->stride = stride;
  ring->n = n;
  ring->n_steps = max_steps > 0 && max_steps < n_steps ? max_steps : n_steps;
  ring->bytes = bytes / n;
  ring->first_id = first_id;
  ring->sent = calloc(3 * (size_t)n, sizeof *ring->sent);
  ring->got = ring->sent + n;
  ring->next = ring->got + n;
}

static void
ring_try(RaTraffic *t, Ring *ring, uint32_t m)
{
  uint32_t step = ring->next[m], to = m + 1 < ring->n ? m + 1 : 0;
  uint32_t id = ring->first_id + step * ring->n + m;

  if (step >= ring->n_steps || ring->sent[m] < step || ring->got[m] < step)
    return;
  ring->next[m]++;
  t->sink->send(t->data, id, ring->first + m * ring->stride,
                ring->first + to * ring->stride, bytes_of(t, id, ring->bytes));
}

static void
ring_begin(RaTraffic *t, Ring *ring)
{
  for (uint32_t m = 0; m < ring->n; m++)
    ring_try(t, ring, m);
}

static void
ring_end(RaTraffic *t, Ring *ring, uint32_t id)
{
  uint32_t m = (id - ring->first_id) % ring->n;
  uint32_t to = m + 1 < ring->n ? m + 1 : 0;

  ring->sent[m]++;
  ring->got[to]++;
  ring_try(t, ring, m);
  if (to != m)
    ring_try(t, ring, to);
}

/* ---- Pipelines ----------------------------------------------------------- */

/* Ids of a host: op k of its 1F1B order is computed as 2 k, sent as 2 k + 1. */
enum { IDS_A_HOST = 4 * N_MICRO };

/* Op @k of stage @s: N_STAGES - 1 - s forwards ahead, then in turn. */
static int
op_of(uint32_t s, uint32_t k, uint32_t *out_micro)
{
  uint32_t ahead = N_STAGES - 1 - s;

  if (k < ahead) {
    *out_micro = k;
    return 1;
  }
  if (k >= 2 * N_MICRO - ahead) {
    *out_micro = k - N_MICRO;
    return 0;
  }
  *out_micro = (k - ahead) / 2 + ((k - ahead) % 2 == 0 ? ahead : 0);
  return (k - ahead) % 2 == 0;
}

static void
stage_try(RaTraffic *t, uint32_t host)
{
  Stage *stage = &t->stages[host];
  uint32_t s = host % N_STAGES, micro, id = host * IDS_A_HOST + 2 * stage->at;
  int forward;

  if (stage->is_running || stage->at == 2 * N_MICRO)
    return;
  forward = op_of(s, stage->at, &micro);
  if (forward ? s > 0 && stage->n_forward <= micro
              : s + 1 < N_STAGES && stage->n_back <= micro)
    return;
  stage->is_running = 1;
  t->sink->compute(t->data, id, host,
                   jittered(t, id, forward ? FORWARD_S : BACKWARD_S));
}

static void
computed(RaTraffic *t, uint32_t id)
{
  uint32_t host = id / IDS_A_HOST, s = host % N_STAGES, micro;
  Stage *stage = &t->stages[host];
  int forward = op_of(s, stage->at, &micro);

  stage->is_running = 0;
  stage->at++;
  if (forward ? s + 1 < N_STAGES : s > 0)
    t->sink->send(t->data, id + 1, host, forward ? host + 1 : host - 1,
                  bytes_of(t, id + 1, MESSAGE_BYTES));
  if (stage->at == 2 * N_MICRO && ++t->n_done[s] == t->n_hosts / N_STAGES)
    ring_begin(t, &t->rings[s]);
  stage_try(t, host);
}

static void
received(RaTraffic *t, uint32_t id)
{
  uint32_t host = id / IDS_A_HOST, s = host % N_STAGES, micro;

  if (op_of(s, id % IDS_A_HOST / 2, &micro)) {
    t->stages[host + 1].n_forward++;
    stage_try(t, host + 1);
  } else {
    t->stages[host - 1].n_back++;
    stage_try(t, host - 1);
  }
}

/* ---- All ----------------------------------------------------------------- */

static void
pipe_init(RaTraffic *t, uint32_t max_steps)
{
  uint32_t n = t->n_hosts / N_STAGES, id = t->n_hosts * IDS_A_HOST;

  t->stages = calloc(t->n_hosts, sizeof *t->stages);
  t->n_done = calloc(N_STAGES, sizeof *t->n_done);
  t->n_rings = N_STAGES;
  t->rings = calloc(N_STAGES, sizeof *t->rings);
  /* 2 N_MICRO ops a host, a message a micro-batch and way between stages */
  t->n_tasks = (uint64_t)n * N_MICRO * (2 * N_STAGES + 2 * (N_STAGES - 1));
  for (uint32_t s = 0; s < N_STAGES; s++) {
    ring_init(&t->rings[s], s, N_STAGES, n, GRADIENT_BYTES, max_steps, id);
    id += t->rings[s].n_steps * n;
    t->n_tasks += (uint64_t)t->rings[s].n_steps * n;
  }
}

RaTraffic *
ra_traffic_new(RaTrafficKind kind, uint32_t n_hosts, uint32_t n_flows,
               double jitter, uint32_t max_steps, const RaTrafficSink *sink,
               void *data)
{
  RaTraffic *t = calloc(1, sizeof *t);

  t->kind = kind;
  t->n_hosts = n_hosts;
  t->n_flows = n_flows;
  t->jitter = jitter;
  t->sink = sink;
  t->data = data;
  if (kind == RA_TRAFFIC_RING) {
    t->n_rings = 1;
    t->rings = calloc(1, sizeof *t->rings);
    ring_init(t->rings, 0, 1, n_hosts, RING_BYTES, max_steps, 0);
    t->n_tasks = (uint64_t)t->rings->n_steps * n_hosts;
  } else if (kind == RA_TRAFFIC_PIPE) {
    pipe_init(t, max_steps);
  } else {
    t->n_tasks = n_flows;
  }
  return t;
}

void
ra_traffic_begin(RaTraffic *t)
{
  if (t->kind == RA_TRAFFIC_RING)
    ring_begin(t, t->rings);
  for (uint32_t h = 0; t->kind == RA_TRAFFIC_PIPE && h < t->n_hosts; h++)
    stage_try(t, h);
  for (uint32_t f = 0; t->kind == RA_TRAFFIC_FLOWS && f < t->n_flows; f++) {
    uint32_t from = (uint32_t)(hash(3 * (uint64_t)f) % t->n_hosts);
    uint32_t hop = (uint32_t)(hash(3 * (uint64_t)f + 1) % (t->n_hosts - 1));

    t->sink->send(t->data, f, from, (from + 1 + hop) % t->n_hosts,
                  bytes_of(t, f, 1e6 + 9e6 * unit(3 * (uint64_t)f + 2)));
  }
}

void
ra_traffic_end(RaTraffic *t, uint32_t id)
{
  t->n_ended++;
  if (t->kind == RA_TRAFFIC_FLOWS)
    return;
  if (t->kind == RA_TRAFFIC_PIPE && id < t->n_hosts * IDS_A_HOST) {
    if (id % 2 == 0)
      computed(t, id);
    else
      received(t, id);
    return;
  }
  for (uint32_t r = t->n_rings; r-- > 0;) {
    if (id >= t->rings[r].first_id) {
      ring_end(t, &t->rings[r], id);
      return;
    }
  }
}

uint64_t
ra_traffic_n_tasks(const RaTraffic *t)
{
  return t->n_tasks;
}

uint64_t
ra_traffic_n_ended(const RaTraffic *t)
{
  return t->n_ended;
}

void
ra_traffic_free(RaTraffic *t)
{
  for (uint32_t r = 0; r < t->n_rings; r++)
    free(t->rings[r].sent);
  free(t->rings);
  free(t->stages);
  free(t->n_done);
  free(t);
}

/* ---- Networks ------------------------------------------------------------ */

uint32_t
ra_net_n_links(RaNetKind kind, uint32_t n_hosts)
{
  return 2 * n_hosts + (kind == RA_NET_FAT ? 2 * (n_hosts / RA_NET_HOSTS_A_NODE)
                                           : kind == RA_NET_BUS);
}

double
ra_net_capacity(RaNetKind kind, uint32_t n_hosts, uint32_t link)
{
  if (link < 2 * n_hosts)
    return RA_NET_HOST_BYTES_PER_S;
  return kind == RA_NET_FAT ? RA_NET_NODE_BYTES_PER_S
                            : RA_NET_HOST_BYTES_PER_S * n_hosts / 4;
}

uint32_t
ra_net_route(RaNetKind kind, uint32_t n_hosts, uint32_t from, uint32_t to,
             uint32_t out_links[RA_NET_MAX_ROUTE])
{
  uint32_t n = 0, n_nodes = n_hosts / RA_NET_HOSTS_A_NODE;

  out_links[n++] = from;
  if (kind == RA_NET_FAT) {
    out_links[n++] = 2 * n_hosts + from / RA_NET_HOSTS_A_NODE;
    out_links[n++] = 2 * n_hosts + n_nodes + to / RA_NET_HOSTS_A_NODE;
  } else if (kind == RA_NET_BUS) {
    out_links[n++] = 2 * n_hosts;
  }
  out_links[n++] = n_hosts + to;
  return n;
}
