/* The laws of communication, made from a profile and a cluster. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "estimator/collective.h"
#include "estimator/resolve.h"

/* Rate of a cluster without NICs, bytes/s: no plan there crosses nodes; an op
 * that says it does gets a cost nobody can overlook, and a finite one. */
#define NO_NIC_BYTES_PER_S 1.0

static const char *const line_names[RA_LINES] = {"low", "mid", "high"};

/* The three lines with keys `low-latency-8-s`; @suffix "-8" or "". */
static void
resolve_lines(RaResolver *r, const char *suffix, double link_bytes_per_s,
              RaLines *out_lines)
{
  for (guint i = 0; i < RA_LINES; i++) {
    g_autofree char *latency =
        g_strdup_printf("%s-latency%s-s", line_names[i], suffix);
    g_autofree char *bandwidth =
        g_strdup_printf("%s-bandwidth%s-frac", line_names[i], suffix);

    out_lines->latency_s[i] = ra_resolve(r, latency);
    out_lines->s_per_byte[i] =
        ra_rate_s(link_bytes_per_s * ra_resolve(r, bandwidth));
  }
}

/* Between two numbers of ranks: latencies and rates linear in log2 n. */
static void
interpolate(const RaLines *a, const RaLines *b, double x, RaLines *out_lines)
{
  for (guint i = 0; i < RA_LINES; i++) {
    double harmonic = (1 - x) * b->s_per_byte[i] + x * a->s_per_byte[i];

    out_lines->latency_s[i] = (1 - x) * a->latency_s[i] + x * b->latency_s[i];
    out_lines->s_per_byte[i] =
        harmonic > 0 ? a->s_per_byte[i] * b->s_per_byte[i] / harmonic : 0;
  }
}

/* Geometric mean of t(b) / t(a) over the four octaves about each. */
static void
mean_ratios(const RaCollectiveLaw *law, guint kind, uint64_t a, uint64_t b,
            guint from, guint to, double *out_ratios)
{
  double ln[RA_OCTAVES];

  for (guint i = 0; i < RA_OCTAVES; i++) {
    RaOp op = {.kind = (uint8_t)kind,
               .dim = {UINT64_C(1) << CLAMP(i, from, to)}};

    ln[i] = ra_log(ra_collective_count_s(law, &op, b) /
                   ra_collective_count_s(law, &op, a));
  }
  for (guint i = 0; i < RA_OCTAVES; i++) {
    guint at = CLAMP(i, from, to), n = 0;
    double sum = 0;

    for (guint j = MAX(at, from + 2) - 2; j <= MIN(at + 2, to); j++, n++)
      sum += ln[j];
    out_ratios[i] = ra_exp(sum / n);
  }
}

/* The numbers of ranks that the table tells apart, and the steps between the
 * first two and the last two. */
static void
find_counts(RaCollectiveLaw *law, guint kind)
{
  const RaGrid *grid = law->residual.grid;
  guint from = 0, to = RA_OCTAVES - 1;

  for (guint a = 0; grid && a < grid->n_axes; a++) {
    const RaGridAxis *axis = &grid->axes[a];

    if (law->residual.feature[a] == RA_FEATURE_BYTES) {
      from = (guint)CLAMP(axis->x[0] + 0.999, 0, RA_OCTAVES - 1);
      to = (guint)CLAMP(axis->x[axis->n_knots - 1], from, RA_OCTAVES - 1);
    }
    if (law->residual.feature[a] != RA_FEATURE_RANKS)
      continue;
    for (guint k = 0; k < axis->n_knots && law->n_counts < RA_COUNTS; k++)
      if (axis->knots[k] >= 2)
        law->count[law->n_counts++] = (uint32_t)axis->knots[k];
  }
  if (law->n_counts < 2)
    return;
  mean_ratios(law, kind, law->count[0], law->count[1], from, to,
              law->first_ratio);
  mean_ratios(law, kind, law->count[law->n_counts - 2],
              law->count[law->n_counts - 1], from, to, law->last_ratio);
}

static gboolean
collective_init(RaCollectiveLaw *law, const RaProfile *profile, guint kind,
                const char *name, double link_bytes_per_s, GError **error)
{
  RaLines *n = law->ranks;
  RaResolver r;

  ra_resolver_init(&r, profile, name, error);
  resolve_lines(&r, "-2", link_bytes_per_s, &n[0]);
  resolve_lines(&r, "-4", link_bytes_per_s, &n[2]);
  resolve_lines(&r, "-8", link_bytes_per_s, &n[6]);
  if (!ra_resolver_ok(&r))
    return FALSE;
  interpolate(&n[0], &n[2], 0.5, &n[1]);  /* 3 of 2..4 */
  interpolate(&n[2], &n[6], 0.25, &n[3]); /* 5, 6, 7 of 4..8 */
  interpolate(&n[2], &n[6], 0.5, &n[4]);
  interpolate(&n[2], &n[6], 0.75, &n[5]);
  if (!ra_residual_init(&law->residual, profile, name, error))
    return FALSE;
  find_counts(law, kind);
  return TRUE;
}

static gboolean
inter_node_init(RaInterNodeLaw *law, const RaProfile *profile, GError **error)
{
  RaResolver r;

  ra_resolver_init(&r, profile, "inter-node", error);
  law->latency_s[0] = ra_resolve(&r, "low-latency-s");
  law->hop_s[0] = ra_resolve(&r, "low-latency-hop-s");
  law->per_frac[0] = ra_rate_s(ra_resolve(&r, "low-bandwidth-frac"));
  law->latency_s[1] = ra_resolve(&r, "high-latency-s");
  law->hop_s[1] = ra_resolve(&r, "high-latency-hop-s");
  law->per_frac[1] = ra_rate_s(ra_resolve(&r, "high-bandwidth-frac"));
  law->hierarchical_frac = ra_resolve(&r, "hierarchical-frac");
  return ra_resolver_ok(&r) &&
         ra_residual_init(&law->residual, profile, "inter-node", error);
}

/* Optional: without it an all-to-all follows the law of the others. */
static gboolean
exchange_init(RaInterExchangeLaw *law, const RaProfile *profile, GError **error)
{
  static const char name[] = "inter-node.all-to-all";
  RaResolver r;

  law->measured = ra_profile_law(profile, name) != NULL;
  if (!law->measured)
    return TRUE;
  ra_resolver_init(&r, profile, name, error);
  for (guint i = 0; i < 2; i++) {
    const char *nodes = i == 0 ? "2" : "8";

    for (guint j = 0; j < 2; j++) {
      const char *line = j == 0 ? "low" : "high";
      g_autofree char *latency =
          g_strdup_printf("%s-latency-%s-s", line, nodes);
      g_autofree char *share =
          g_strdup_printf("%s-bandwidth-%s-frac", line, nodes);

      law->latency_s[i][j] = ra_resolve(&r, latency);
      law->frac[i][j] = ra_resolve(&r, share);
    }
  }
  return ra_resolver_ok(&r);
}

/* Optional, too. */
static gboolean
tokens_init(RaLinkLaws *laws, const RaProfile *profile, double link_bytes_per_s,
            GError **error)
{
  for (guint i = 0; i < 2 * RA_N_TOKEN_KERNELS; i++) {
    gboolean combine = i >= RA_N_TOKEN_KERNELS;
    RaTokenKernels kernels = (RaTokenKernels)(i % RA_N_TOKEN_KERNELS);
    RaTokenLaw *law = &laws->tokens[combine][kernels];
    const char *name = ra_collective_token_law(combine, kernels);
    RaResolver r;

    law->measured = ra_profile_law(profile, name) != NULL;
    if (!law->measured)
      continue;
    ra_resolver_init(&r, profile, name, error);
    law->floor_s = ra_resolve(&r, "floor-s");
    law->token_s = ra_resolve(&r, "token-s");
    law->s_per_byte =
        ra_rate_s(link_bytes_per_s * ra_resolve(&r, "bandwidth-frac"));
    law->row_frac = ra_resolve(&r, "row-frac");
    if (!ra_resolver_ok(&r) ||
        !ra_residual_init(&law->residual, profile, name, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
send_init(RaSendLaw *law, const RaProfile *profile, double link_bytes_per_s,
          GError **error)
{
  RaResolver r;

  ra_resolver_init(&r, profile, "send", error);
  resolve_lines(&r, "", link_bytes_per_s, &law->intra);
  law->latency_s = ra_resolve(&r, "inter-latency-s");
  law->per_frac = ra_rate_s(ra_resolve(&r, "inter-bandwidth-frac"));
  return ra_resolver_ok(&r) &&
         ra_residual_init(&law->residual, profile, "send", error);
}

static gboolean
realloc_init(RaReallocLaw *law, const RaProfile *profile,
             double link_bytes_per_s, double nic_bytes_per_s, GError **error)
{
  RaResolver r;

  ra_resolver_init(&r, profile, "realloc", error);
  law->step_s = ra_resolve(&r, "step-s");
  law->s_per_intra_byte =
      ra_rate_s(link_bytes_per_s * ra_resolve(&r, "intra-bandwidth-frac"));
  law->s_per_inter_byte =
      ra_rate_s(nic_bytes_per_s * ra_resolve(&r, "inter-bandwidth-frac"));
  return ra_resolver_ok(&r);
}

static gboolean
host_copy_init(RaHostCopyLaw *law, const RaProfile *profile,
               double link_bytes_per_s, GError **error)
{
  RaResolver r;

  ra_resolver_init(&r, profile, "host-copy", error);
  law->latency_s = ra_resolve(&r, "latency-s");
  law->s_per_byte =
      ra_rate_s(link_bytes_per_s * ra_resolve(&r, "bandwidth-frac"));
  return ra_resolver_ok(&r);
}

/* Optional: the all-reduces of engines, up to the ranks that their tables
 * have. */
static gboolean
sums_init(RaLinkLaws *laws, const RaProfile *profile, double link_bytes_per_s,
          GError **error)
{
  for (RaKernels k = RA_KERNELS_COMMON + 1; k < RA_N_KERNELS; k++) {
    const RaLaw *own = ra_profile_law_of(profile, "all-reduce", k);
    RaCollectiveLaw *law = &laws->sums[k];

    laws->sum_ranks[k] = 0;
    if (!own)
      continue;
    if (!collective_init(law, profile, RA_OP_ALL_REDUCE, own->name,
                         link_bytes_per_s, error))
      return FALSE;
    law->is_power = !laws->here.nvlink;
    laws->sum_ranks[k] =
        law->n_counts > 0 ? law->count[law->n_counts - 1] : RA_NODE_RANKS;
  }
  return TRUE;
}

/* Cost of a message without bytes, and of each of its steps, in laws that know
 * one number of ranks m: an all-reduce takes m - 1 steps more than a gather or
 * a scatter, which differ in nothing else. The lines of m alone give both:
 * those of other numbers are not read. */
static void
find_steps(RaLinkLaws *laws)
{
  RaCollectiveLaw *all = laws->collective;
  double least[3];

  for (guint i = 0; i < G_N_ELEMENTS(laws->collective); i++) {
    uint32_t m = all[i].count[0];
    double hop, base;

    if (all[i].n_counts != 1)
      continue;
    for (guint k = 0; k < G_N_ELEMENTS(least); k++) {
      const double *s = all[k].ranks[MIN(m, RA_NODE_RANKS) - 2].latency_s;

      least[k] = MIN(MIN(s[0], s[1]), s[2]);
    }
    hop = (least[0] - (least[1] + least[2]) / 2) / (m - 1);
    base = (least[1] + least[2]) / 2 - (m - 1) * hop;
    if (hop > 0 && base > 0) {
      all[i].hop_s = hop;
      all[i].base_s = base;
    }
  }
}

/* Values of the optional law inter-node.fabric. */
typedef struct {
  double node, link, host; /* bytes/s of its NICs, to peers, to the host */
  double path_frac;        /* of the links to the host */
} Fabric;

static gboolean
fabric_init(Fabric *fabric, const RaProfile *profile, GError **error)
{
  static const char name[] = "inter-node.fabric";
  RaResolver r;

  *fabric = (Fabric){0};
  if (!ra_profile_law(profile, name))
    return TRUE;
  ra_resolver_init(&r, profile, name, error);
  fabric->node = ra_resolve(&r, "node-bytes-per-s");
  fabric->link = ra_resolve(&r, "link-bytes-per-s");
  fabric->host = ra_resolve(&r, "host-bytes-per-s");
  fabric->path_frac = ra_resolve(&r, "path-frac");
  return ra_resolver_ok(&r);
}

static gboolean
is_near(double a, double b)
{
  return fabs(a / b - 1) <= 1e-3;
}

/* TRUE if two nodes and their networks are alike. Where they are not, a factor
 * leads from one to the other, so that no time jumps where its NICs alone
 * become others. */
static gboolean
is_like(const RaCollectiveModel *a, const RaCollectiveModel *b)
{
  return a->sharp == b->sharp && a->nvlink == b->nvlink && a->nvls == b->nvls &&
         a->generation == b->generation &&
         is_near(a->node_bytes_per_s, b->node_bytes_per_s) &&
         is_near(a->ring_bytes_per_s, b->ring_bytes_per_s) &&
         is_near(a->path_bytes_per_s, b->path_bytes_per_s) &&
         !(a->net_latency_s > b->net_latency_s) &&
         a->gpus_per_node == b->gpus_per_node;
}

/* The closed forms here and on the nodes that inter-node was fitted on. */
static gboolean
models_init(RaLinkLaws *laws, const RaProfile *profile,
            const RaCluster *cluster, GError **error)
{
  const RaDevice *device = &cluster->device;
  double node = cluster->nics_per_node * cluster->nic_bytes_per_s;
  RaCollectiveModel *here = &laws->here, *own = &laws->own;
  Fabric fabric;

  if (!fabric_init(&fabric, profile, error))
    return FALSE;
  ra_collective_model_init(here, cluster->gpus_per_node,
                           device->intra_bytes_per_s, device->host_bytes_per_s);
  here->node_bytes_per_s = MAX(node, NO_NIC_BYTES_PER_S);
  here->nics_per_node = cluster->nics_per_node;
  *own = *here;
  here->sharp = cluster->sharp;
  here->net_latency_s = cluster->nic_latency_s;
  if (fabric.node > 0 && fabric.host > 0) {
    here->path_bytes_per_s =
        fabric.path_frac * device->host_bytes_per_s * here->gpus_per_node;
    ra_collective_model_init(own, RA_NODE_RANKS, fabric.link, fabric.host);
    own->node_bytes_per_s = fabric.node;
    own->nics_per_node = RA_NODE_RANKS;
    own->path_bytes_per_s = fabric.path_frac * fabric.host * RA_NODE_RANKS;
  }
  laws->own_s_per_node_byte = ra_rate_s(own->node_bytes_per_s);
  laws->own_s_per_share_byte =
      ra_rate_s(own->node_bytes_per_s / own->gpus_per_node);
  laws->is_foreign = node > 0 && !is_like(here, own);
  return TRUE;
}

gboolean
ra_link_laws_init(RaLinkLaws *laws, const RaProfile *profile,
                  const RaCluster *cluster, GError **error)
{
  /* In the order of the op kinds. */
  static const char *const names[] = {"all-reduce", "reduce-scatter",
                                      "all-gather", "all-to-all", "broadcast"};
  double link = cluster->device.intra_bytes_per_s;

  double nics = MAX(cluster->nics_per_node * cluster->nic_bytes_per_s,
                    NO_NIC_BYTES_PER_S);
  double share = nics / MAX(cluster->gpus_per_node, 1);

  laws->s_per_node_byte = ra_rate_s(nics);
  laws->s_per_share_byte = ra_rate_s(share);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    if (!collective_init(&laws->collective[i], profile, RA_OP_ALL_REDUCE + i,
                         names[i], link, error))
      return FALSE;
  find_steps(laws);
  if (!inter_node_init(&laws->inter, profile, error) ||
      !models_init(laws, profile, cluster, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    laws->collective[i].is_power = !laws->here.nvlink;
  if (!sums_init(laws, profile, link, error) ||
      !exchange_init(&laws->exchange, profile, error) ||
      !tokens_init(laws, profile, link, error) ||
      !send_init(&laws->send, profile, link, error) ||
      !realloc_init(&laws->realloc, profile, link, share, error))
    return FALSE;
  laws->exchange.net_s = cluster->nic_latency_s;
  laws->send.latency_s += cluster->nic_latency_s;
  laws->realloc.net_s = cluster->nic_latency_s;
  return host_copy_init(&laws->host_copy, profile,
                        cluster->device.host_bytes_per_s, error);
}
