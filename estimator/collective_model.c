/* Rates and latencies of NCCL's algorithms and protocols. */
#include "config.h"

#include <math.h>

#include "estimator/collective_model.h"

/* Nodes that the caps tell apart: 1, 2, more. */
#define N_SCALES 3
#define N_CORRECTIONS 24
/* Channels of a node's own collectives, and the least that cross nodes: NCCL
 * doubles those of few NICs. */
#define NODE_CHANNELS 16
#define LEAST_CHANNELS 2

/* NCCL 2.27, src/graph/tuning.cc: seconds by LL, LL128, Simple. */
/* clang-format off */
enum { HW_NVLINK, HW_PCIE, HW_NET, N_HW };
static const double base_s[RA_N_ALGORITHMS][RA_N_PROTOCOLS] = {
  [RA_ALGORITHM_RING] = {6.6e-6, 14e-6, 8.4e-6},
  [RA_ALGORITHM_TREE] = {6.8e-6, 14e-6, 8.4e-6},
  /* not tuned by NCCL: a ring's */
  [RA_ALGORITHM_DIRECT] = {6.6e-6, 14e-6, 8.4e-6},
};
static const double hop_s[N_HW][RA_N_ALGORITHMS][RA_N_PROTOCOLS] = {
  [HW_NVLINK] = {
    [RA_ALGORITHM_RING] = {0.6e-6, 1.9e-6, 3.4e-6},
    [RA_ALGORITHM_TREE] = {0.6e-6, 1.25e-6, 4e-6},
    [RA_ALGORITHM_NVLS] = {0, 0, 25e-6},
    [RA_ALGORITHM_NVLS_TREE] = {0, 0, 25e-6},
    [RA_ALGORITHM_SHARP] = {0, 0, 3.7e-6},
    [RA_ALGORITHM_DIRECT] = {0.6e-6, 1.9e-6, 3.4e-6},
  },
  [HW_PCIE] = {
    [RA_ALGORITHM_RING] = {1e-6, 2.5e-6, 5.7e-6},
    [RA_ALGORITHM_TREE] = {1e-6, 1.9e-6, 4e-6},
    [RA_ALGORITHM_SHARP] = {0, 0, 3.7e-6},
    [RA_ALGORITHM_DIRECT] = {1e-6, 2.5e-6, 5.7e-6},
  },
  [HW_NET] = {
    [RA_ALGORITHM_RING] = {2.7e-6, 4e-6, 14e-6},
    [RA_ALGORITHM_TREE] = {5e-6, 8.5e-6, 14e-6},
    [RA_ALGORITHM_NVLS_TREE] = {0, 0, 20.9e-6},
    [RA_ALGORITHM_SHARP] = {0, 0, 31e-6},
    [RA_ALGORITHM_DIRECT] = {2.7e-6, 4e-6, 14e-6},
  },
};
/* Overhead of a ring's step in a node while others cross: getNetOverhead(). */
static const double net_overhead_s[RA_N_PROTOCOLS] = {1e-6, 1e-6, 3e-6};
/* With the switches of nodes: NVLS's hop and its net. */
#define NVLS_SHARP_S 43e-6
#define SHARP_RANK_S 0.4e-6 /* each further rank of a node, both ways */

/* Caps, bytes/s: LL of all channels (across nodes the host's processor's,
 * Intel), the others of one. */
static const double ll_max[RA_N_LINK_GENERATIONS][N_SCALES] = {
  {87.7e9, 39e9, 20.4e9}, {141e9, 39e9, 20.4e9}, {282e9, 39e9, 20.4e9},
};
static const double ring_ll128[RA_N_LINK_GENERATIONS] = {20e9, 36.7e9, 40e9};
static const double tree_ll128[RA_N_LINK_GENERATIONS][N_SCALES] = {
  {20e9, 20e9, 20e9}, {36.7e9, 36.7e9, 29e9}, {55.6e9, 31.67e9, 20e9},
};
static const double tree_simple[RA_N_LINK_GENERATIONS][N_SCALES] = {
  {24e9, 23.6e9, 17.8e9}, {38.7e9, 41.4e9, 36e9}, {70e9, 42.8e9, 24e9},
};
static const double nvls_tree[RA_N_LINK_GENERATIONS][N_SCALES] = {
  {24e9, 23.6e9, 17.8e9}, {0, 57.7e9, 45.5e9}, {0, 96e9, 80e9},
};
static const double nvls_frac[RA_N_LINK_GENERATIONS] = {0, 0.85, 0.74};
/* Corrections of a tree's rate, by log2(bytes / 64). */
static const double correction[RA_N_PROTOCOLS][N_CORRECTIONS] = {
  {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5,
   .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
  {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6,
   .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
  {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
   .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
};
/* clang-format on */

/* Cap of generation @g, no lower than an older one's. Blackwell's are lower in
 * the library, as it has more channels there, whose number nothing here knows.
 */
static double
tree_cap(const double (*caps)[N_SCALES], guint g, guint scale)
{
  double most = 0;

  for (guint i = 0; i <= g; i++)
    most = MAX(most, caps[i][scale]);
  return most;
}

/* One op on one cluster. */
typedef struct {
  const RaCollectiveModel *model;
  guint kind, scale, channels, hw;
  double n, r, nodes, doublings, bytes;
  double steps, net_steps; /* of a ring, and those that cross nodes */
  double link, wire;       /* L and W */
} Shape;

const char *
ra_algorithm_name(RaAlgorithm algorithm)
{
  static const char *const names[] = {"ring",     "tree",  "NVLS",
                                      "NVLSTree", "SHARP", "direct"};

  g_return_val_if_fail(algorithm < RA_N_ALGORITHMS, "");
  return names[algorithm];
}

const char *
ra_protocol_name(RaProtocol protocol)
{
  static const char *const names[] = {"LL", "LL128", "Simple"};

  g_return_val_if_fail(protocol < RA_N_PROTOCOLS, "");
  return names[protocol];
}

void
ra_collective_model_init(RaCollectiveModel *model, guint gpus_per_node,
                         double intra_bytes_per_s, double host_bytes_per_s)
{
  gboolean nvlink = intra_bytes_per_s > 2 * host_bytes_per_s;

  *model = (RaCollectiveModel){
      .nvlink = nvlink,
      .generation = intra_bytes_per_s < 450e9   ? RA_LINK_AMPERE
                    : intra_bytes_per_s < 900e9 ? RA_LINK_HOPPER
                                                : RA_LINK_BLACKWELL,
      .ring_bytes_per_s = intra_bytes_per_s * (nvlink ? 0.8 : 0.75),
      .path_bytes_per_s = (double)INFINITY,
      .gpus_per_node = MAX(gpus_per_node, 1)};
  model->nvls = nvlink && nvls_frac[model->generation] > 0;
}

/* log2 and what is linear in it between powers of two. */
static double
log2_linear(double x)
{
  guint bits = 0;

  for (; x >= 2; bits++)
    x /= 2;
  return bits + MAX(x, 1) - 1;
}

static double
steps_of(guint kind, double n)
{
  switch (kind) {
  case RA_OP_ALL_REDUCE:
    return 2 * (n - 1);
  case RA_OP_BROADCAST:
    return n;
  default:
    return n - 1;
  }
}

/* FALSE: nothing is sent. */
static gboolean
shape_init(Shape *s, const RaCollectiveModel *model, const RaOp *op)
{
  uint64_t n = op->dim[1], r = CLAMP(op->dim[2], 1, MAX(n, 1));
  uint64_t nodes = n / r + (n % r != 0);
  double groups = (double)MAX(op->dim[3], 1);
  double way = MIN(model->node_bytes_per_s, model->path_bytes_per_s);
  double share = (double)r / model->gpus_per_node;

  if (n < 2 || op->dim[0] == 0)
    return FALSE;
  *s = (Shape){.model = model,
               .kind = op->kind,
               .scale = (guint)MIN(nodes, N_SCALES) - 1,
               .hw = model->nvlink ? HW_NVLINK : HW_PCIE,
               .n = (double)n,
               .r = (double)r,
               .nodes = (double)nodes,
               .doublings = log2_linear((double)nodes),
               .bytes = (double)op->dim[0],
               .steps = steps_of(op->kind, (double)n),
               .link = model->ring_bytes_per_s,
               .wire = way * MIN(1 / groups, MIN(share, 1))};
  s->net_steps = nodes > 1 ? steps_of(op->kind, (double)nodes) : 0;
  s->net_steps = MIN(s->net_steps, s->steps);
  s->channels = NODE_CHANNELS;
  if (nodes > 1)
    s->channels =
        MAX((guint)(model->nics_per_node * MIN(1 / groups, 1)), LEAST_CHANNELS);
  return TRUE;
}

/* Rate of a ring or a tree that passes the node and its NICs, @wires of them.
 */
static double
bus_rate(const Shape *s, double wires)
{
  if (s->nodes <= 1)
    return s->link;
  return s->r > 1 ? MIN(s->link, wires * s->wire) : wires * s->wire;
}

/* A step between nodes. */
static double
net_s(const RaCollectiveModel *m, RaAlgorithm a, RaProtocol p)
{
  return hop_s[HW_NET][a][p] +
         (p == RA_PROTOCOL_SIMPLE ? 2 : 1) * m->net_latency_s;
}

static gboolean
ring(const Shape *s, RaProtocol p, double *latency_s, double *rate)
{
  const RaCollectiveModel *m = s->model;
  double bus = bus_rate(s, 1), hop = hop_s[s->hw][RA_ALGORITHM_RING][p];
  double net = net_s(m, RA_ALGORITHM_RING, p);

  if (s->kind == RA_OP_ALL_TO_ALL || (p == RA_PROTOCOL_LL128 && !m->nvlink))
    return FALSE;
  if (p == RA_PROTOCOL_LL)
    bus = MIN(bus / 2, ll_max[m->generation][s->scale]);
  if (p == RA_PROTOCOL_LL128)
    bus = MIN(0.92 * bus, s->channels * ring_ll128[m->generation]);
  if (s->nodes > 1)
    hop = MAX(hop, net_overhead_s[p]);
  if (s->nodes > 1 && s->r <= 1) /* nothing hides the network's latency */
    net = net_s(m, RA_ALGORITHM_TREE, p);
  *rate = bus * s->n / s->steps;
  *latency_s = base_s[RA_ALGORITHM_RING][p] + (s->steps - s->net_steps) * hop +
               s->net_steps * net;
  return TRUE;
}

/* Correction of a tree's rate at the op's size. */
static double
corrected(RaProtocol p, double bytes)
{
  double at = log2_linear(bytes / 64), last;
  guint i = (guint)MIN(at, N_CORRECTIONS);
  double x = at - i;

  if (i >= N_CORRECTIONS)
    return 1;
  last = i + 1 < N_CORRECTIONS ? correction[p][i + 1] : 1;
  return (1 - x) * correction[p][i] + x * last;
}

static gboolean
tree(const Shape *s, RaProtocol p, double *latency_s, double *rate)
{
  const RaCollectiveModel *m = s->model;
  double bus = 0.92 * bus_rate(s, s->scale == 1 ? 2 : 1);
  double share = s->nodes > 1 ? 15.0 / 16 : 7.0 / 9;

  if (s->kind != RA_OP_ALL_REDUCE || (p == RA_PROTOCOL_LL128 && !m->nvlink))
    return FALSE;
  bus = MIN(bus, s->channels * tree_cap(tree_simple, m->generation, s->scale));
  if (p == RA_PROTOCOL_LL)
    bus = MIN(bus / 3.8, ll_max[m->generation][s->scale]);
  if (p == RA_PROTOCOL_LL128)
    bus = MIN(bus * share,
              s->channels * tree_cap(tree_ll128, m->generation, s->scale));
  *rate = bus / 2 * corrected(p, s->bytes);
  *latency_s = base_s[RA_ALGORITHM_TREE][p] +
               2 * ((s->r - 1) * hop_s[s->hw][RA_ALGORITHM_TREE][p] +
                    s->doublings * net_s(m, RA_ALGORITHM_TREE, p));
  return TRUE;
}

/* Rate at which a node's switches add up and send out, for @n ranks. */
static double
nvls_rate(const Shape *s, double n)
{
  double bus = nvls_frac[s->model->generation] * s->link * (NODE_CHANNELS - 1) /
               NODE_CHANNELS;

  if (s->kind == RA_OP_ALL_REDUCE)
    return 2 * bus * n / steps_of(s->kind, n);
  return bus * (n - 1) / n;
}

static gboolean
nvls(const Shape *s, double *latency_s, double *rate)
{
  if (!s->model->nvls || s->nodes > 1 || s->kind == RA_OP_ALL_TO_ALL ||
      s->kind == RA_OP_BROADCAST)
    return FALSE;
  *rate = nvls_rate(s, s->n);
  *latency_s = hop_s[HW_NVLINK][RA_ALGORITHM_NVLS][RA_PROTOCOL_SIMPLE];
  return TRUE;
}

static gboolean
nvls_across(const Shape *s, double *latency_s, double *rate)
{
  const RaCollectiveModel *m = s->model;
  double bus;

  if (!m->nvls || s->nodes <= 1 || s->r <= 1 || s->kind != RA_OP_ALL_REDUCE)
    return FALSE;
  bus = 2 * nvls_frac[m->generation] * s->link * (NODE_CHANNELS - 1) /
        NODE_CHANNELS;
  bus = MIN(bus, s->wire * (s->scale == 1 ? 2 : 1));
  bus = MIN(bus, s->channels * nvls_tree[m->generation][s->scale]);
  *rate = bus * s->n / s->steps;
  *latency_s =
      hop_s[HW_NVLINK][RA_ALGORITHM_NVLS_TREE][RA_PROTOCOL_SIMPLE] +
      2 * s->doublings * net_s(m, RA_ALGORITHM_NVLS_TREE, RA_PROTOCOL_SIMPLE);
  return TRUE;
}

static gboolean
sharp(const Shape *s, double *latency_s, double *rate)
{
  const RaCollectiveModel *m = s->model;
  double inside, net = net_s(m, RA_ALGORITHM_SHARP, RA_PROTOCOL_SIMPLE);

  if (!m->sharp || s->nodes <= 1 || s->kind == RA_OP_ALL_TO_ALL ||
      s->kind == RA_OP_BROADCAST)
    return FALSE;
  *rate = 0.9 * s->wire;
  *latency_s = net;
  if (s->r <= 1)
    return TRUE;
  inside = s->link * s->r / steps_of(s->kind, s->r);
  if (m->nvls)
    inside = MAX(inside, nvls_rate(s, s->r));
  *rate = MIN(*rate, inside);
  *latency_s =
      m->nvls
          ? NVLS_SHARP_S + 2 * m->net_latency_s
          : net + 2 * (hop_s[s->hw][RA_ALGORITHM_SHARP][RA_PROTOCOL_SIMPLE] +
                       (s->r - 1) * SHARP_RANK_S);
  return TRUE;
}

static gboolean
direct(const Shape *s, RaProtocol p, double *latency_s, double *rate)
{
  double out = s->r * (s->n - s->r) / s->n; /* of a node, a byte of a rank */

  if (s->kind != RA_OP_ALL_TO_ALL || p == RA_PROTOCOL_LL128)
    return FALSE;
  *rate = s->link * s->n / (s->n - 1);
  if (s->nodes > 1)
    *rate = s->r > 1 ? MIN(*rate, s->wire / out) : s->wire / out;
  if (p == RA_PROTOCOL_LL)
    *rate /= 2;
  *latency_s = base_s[RA_ALGORITHM_DIRECT][p] +
               log2_linear(s->n) * hop_s[s->hw][RA_ALGORITHM_DIRECT][p];
  if (s->nodes > 1)
    *latency_s += net_s(s->model, RA_ALGORITHM_DIRECT, p);
  return TRUE;
}

static gboolean
candidate(const Shape *s, RaAlgorithm a, RaProtocol p, double *latency_s,
          double *rate)
{
  switch (a) {
  case RA_ALGORITHM_RING:
    return ring(s, p, latency_s, rate);
  case RA_ALGORITHM_TREE:
    return tree(s, p, latency_s, rate);
  case RA_ALGORITHM_NVLS:
    return p == RA_PROTOCOL_SIMPLE && nvls(s, latency_s, rate);
  case RA_ALGORITHM_NVLS_TREE:
    return p == RA_PROTOCOL_SIMPLE && nvls_across(s, latency_s, rate);
  case RA_ALGORITHM_SHARP:
    return p == RA_PROTOCOL_SIMPLE && sharp(s, latency_s, rate);
  default:
    return direct(s, p, latency_s, rate);
  }
}

guint
ra_collective_model_candidates(const RaCollectiveModel *model, const RaOp *op,
                               RaCollectiveChoice *out_choices)
{
  guint n = 0;
  Shape s;

  g_return_val_if_fail(
      op->kind >= RA_OP_ALL_REDUCE && op->kind <= RA_OP_BROADCAST, 0);
  if (!shape_init(&s, model, op))
    return 0;
  for (guint a = 0; a < RA_N_ALGORITHMS; a++) {
    for (guint p = 0; p < RA_N_PROTOCOLS; p++) {
      RaCollectiveChoice *c = &out_choices[n];

      *c = (RaCollectiveChoice){.algorithm = (RaAlgorithm)a,
                                .protocol = (RaProtocol)p};
      if (!candidate(&s, c->algorithm, c->protocol, &c->latency_s,
                     &c->bytes_per_s) ||
          !(c->bytes_per_s > 0))
        continue;
      c->s = c->latency_s + s.bytes / c->bytes_per_s;
      n++;
    }
  }
  return n;
}

gboolean
ra_collective_model_choose(const RaCollectiveModel *model, const RaOp *op,
                           RaCollectiveChoice *out_choice)
{
  RaCollectiveChoice all[RA_COLLECTIVE_CHOICES];
  guint n = ra_collective_model_candidates(model, op, all), best = 0;

  for (guint i = 1; i < n; i++)
    if (all[i].s < all[best].s)
      best = i;
  if (n > 0)
    *out_choice = all[best];
  return n > 0;
}
