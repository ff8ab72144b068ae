/* The costs of collectives, sends, reallocations and host copies. */
#include "config.h"

#include "base/rng.h"
#include "estimator/collective.h"
#include "estimator/resolve.h"

/* How much of a message's time counts as latency, in multiples of the law's:
 * the later protocols have larger ones.  MEASURED: held-out errors over the
 * number of GPUs differ by 0.3 % between 1 and 4 (reallot validate --cross). */
#define LATENCY_WEIGHT 2

/* Bytes of the vector that pass a rank whatever the number of ranks, in bytes
 * of a ring's traffic: what each does with its own part and with the whole
 * vector in its memory.  All-to-all: doublings in place of traffic.
 *
 * MEASURED: comm_nccl, half, 512 MiB on H100, of us: all-reduce 1675, 2306 on 2
 * and 4 (8 reduce in the switch); all-gather 1040, 1399 and reduce-scatter
 * 1075, 1400 on 2 and 8; all-to-all 965, 1480 on 2 and 8. */
static const double whole_share[] = {0.32, 0.74, 0.59, 2.7, 0.59};

/* log2, linear between powers of two: exact where it was fitted, and the same
 * on every machine. */
static double
log2_linear(uint64_t n)
{
  guint bits = n > 0 ? 63 - (guint)__builtin_clzll(n) : 0;
  double low = (double)(UINT64_C(1) << bits);

  return n > 0 ? bits + ((double)n - low) / low : 0;
}

static double
lines_s(const RaLines *lines, double bytes)
{
  double least = lines->latency_s[0] + bytes * lines->s_per_byte[0];

  for (guint i = 1; i < RA_LINES; i++) {
    double s = lines->latency_s[i] + bytes * lines->s_per_byte[i];

    least = MIN(least, s);
  }
  return least;
}

/* f(n): bytes on the bus for each byte of the vector. */
static double
ring_factor(guint kind, double n)
{
  switch (kind) {
  case RA_OP_ALL_REDUCE:
    return 2 * (n - 1) / n;
  case RA_OP_BROADCAST:
    return n > 1 ? 1 : 0;
  default:
    return (n - 1) / n;
  }
}

double
ra_collective_count_s(const RaCollectiveLaw *law, const RaOp *op, uint64_t n)
{
  double bus_bytes = (double)op->dim[0] * ring_factor(op->kind, (double)n);
  RaOp inside = *op;

  inside.dim[1] = n;
  return lines_s(&law->ranks[MIN(n, RA_NODE_RANKS) - 2], bus_bytes) *
         ra_residual_factor(&law->residual, &inside);
}

/* Cost of large messages at @n ranks, up to scale and offset. */
static double
large_at(guint kind, uint64_t n)
{
  return kind == RA_OP_ALL_TO_ALL ? log2_linear(n)
                                  : ((double)n - 1) / (double)n;
}

/* The ratio at @bytes, linear between octaves. */
static double
ratio_at(const double *ratios, double bytes)
{
  double at = log2_linear((uint64_t)bytes), frac;
  guint i = (guint)MIN(at, RA_OCTAVES - 2);

  frac = MIN(at - i, 1);
  return (1 - frac) * ratios[i] + frac * ratios[i + 1];
}

static double
least_latency_s(const RaCollectiveLaw *law, uint64_t n)
{
  const double *s = law->ranks[MIN(n, RA_NODE_RANKS) - 2].latency_s;

  return MIN(MIN(s[0], s[1]), s[2]);
}

static double
n_steps(guint kind, uint64_t n)
{
  if (kind == RA_OP_ALL_TO_ALL)
    return log2_linear(n);
  return (double)(n - 1) * (kind == RA_OP_ALL_REDUCE ? 2 : 1);
}

/* Seconds at @n ranks from those at the one number that was measured. */
static double
from_one_s(const RaCollectiveLaw *law, const RaOp *op, uint64_t n)
{
  uint64_t m = law->count[0];
  guint kind = op->kind;
  double t = ra_collective_count_s(law, op, m);
  double latency_s = MIN(t, least_latency_s(law, m));
  double c = whole_share[kind - RA_OP_ALL_REDUCE];
  double small = (law->base_s + n_steps(kind, n) * law->hop_s) /
                 (law->base_s + n_steps(kind, m) * law->hop_s);
  double large;

  if (kind == RA_OP_ALL_TO_ALL)
    large = (c + log2_linear(n)) / (c + log2_linear(m));
  else
    large =
        (c + ring_factor(kind, (double)n)) / (c + ring_factor(kind, (double)m));
  return latency_s * small + (t - latency_s) * large;
}

/* Seconds at @n ranks from those at two measured numbers of them. */
static double
between_s(const RaCollectiveLaw *law, const RaOp *op, uint64_t n)
{
  guint i = 0, last = law->n_counts - 1, kind = op->kind;
  double ta, tb, x, small, large, least;
  uint64_t a, b;

  while (i + 2 <= last && n > law->count[i + 1])
    i++;
  a = law->count[i];
  b = law->count[i + 1];
  if (n < a) {
    ta = ra_collective_count_s(law, op, a);
    tb = ta * ratio_at(law->first_ratio, (double)op->dim[0]);
  } else {
    tb = ra_collective_count_s(law, op, b);
    ta = n > b ? tb / ratio_at(law->last_ratio, (double)op->dim[0])
               : ra_collective_count_s(law, op, a);
  }
  if (law->is_power)
    return ta * ra_exp(ra_log(tb / ta) * (log2_linear(n) - log2_linear(a)) /
                       (log2_linear(b) - log2_linear(a)));
  least = least_latency_s(law, a);
  x = MIN(1, LATENCY_WEIGHT * least / ta);
  small = ((double)n - (double)a) / ((double)b - (double)a);
  large = (large_at(kind, n) - large_at(kind, a)) /
          (large_at(kind, b) - large_at(kind, a));
  return MAX(ta + (tb - ta) * (x * small + (1 - x) * large), n < a ? 0.5 * ta
                                                             : n > b
                                                                 ? 0.5 * tb
                                                                 : MIN(ta, tb));
}

/* TRUE if lines and table have @n ranks, or there is no table. */
static gboolean
is_measured(const RaCollectiveLaw *law, uint64_t n)
{
  for (guint i = 0; i < law->n_counts; i++)
    if (law->count[i] == n)
      return TRUE;
  return law->n_counts == 0 || (law->n_counts == 1 && !(law->hop_s > 0));
}

/* The law of @op in a node: the engine's own, or NCCL's. */
static const RaCollectiveLaw *
node_law(const RaLinkLaws *laws, const RaOp *op, RaKernels kernels)
{
  return op->kind == RA_OP_ALL_REDUCE && op->dim[1] <= op->dim[2] &&
                 op->dim[1] <= laws->sum_ranks[kernels]
             ? &laws->sums[kernels]
             : &laws->collective[op->kind - RA_OP_ALL_REDUCE];
}

/* In one node; @n ranks, >= 2. */
static double
node_s(const RaCollectiveLaw *law, const RaOp *op, uint64_t n)
{
  if (is_measured(law, n))
    return ra_collective_count_s(law, op, n);
  return law->n_counts == 1 ? from_one_s(law, op, n) : between_s(law, op, n);
}

/* An all-to-all of which a GPU's share of @link_s seconds at the NICs' full
 * rate crosses @doublings doublings of nodes. */
static double
exchange_s(const RaInterExchangeLaw *law, double link_s, double doublings)
{
  double x = CLAMP((doublings - 1) / 2, 0, 1), s[2]; /* 2 nodes to 8 */

  for (guint j = 0; j < 2; j++) {
    double frac = (1 - x) * law->frac[0][j] + x * law->frac[1][j];

    s[j] = (1 - x) * law->latency_s[0][j] + x * law->latency_s[1][j] +
           link_s * ra_rate_s(frac);
  }
  return MIN(s[0], s[1]) + law->net_s;
}

/* Bytes that the @r ranks of a node send out, or that a ring moves over it. */
static double
crossing_bytes(const RaLinkLaws *laws, const RaOp *op, uint64_t r,
               uint64_t nodes)
{
  double n = (double)op->dim[1], h = laws->inter.hierarchical_frac;
  double bytes = (double)op->dim[0];

  if (op->kind == RA_OP_ALL_TO_ALL && op->dim[4] > 0)
    return (double)r * (double)op->dim[4];
  if (op->kind == RA_OP_ALL_TO_ALL)
    return (double)r * (n - (double)r) / n * bytes;
  return (h * ring_factor(op->kind, (double)nodes) +
          (1 - h) * ring_factor(op->kind, n)) *
         bytes;
}

/* TRUE if @op crosses another fabric than the law's own. All-to-alls have a law
 * of their own, which is a share of the NICs. */
static gboolean
is_foreign(const RaLinkLaws *laws, const RaOp *op)
{
  return laws->is_foreign &&
         !(op->kind == RA_OP_ALL_TO_ALL && laws->exchange.measured);
}

/* The closed form's time here over that on the law's own fabric. */
static double
fabric_factor(const RaLinkLaws *laws, const RaOp *op)
{
  RaCollectiveChoice here, own;

  if (!ra_collective_model_choose(&laws->here, op, &here) ||
      !ra_collective_model_choose(&laws->own, op, &own))
    return 1;
  return here.s / own.s;
}

/* Seconds of a byte that a node's @r ranks send out, at the NICs' full rate.
 * Where a factor then leads from the law's own fabric to this one, they are
 * those of that fabric. */
static double
s_per_byte(const RaLinkLaws *laws, const RaOp *op, uint64_t r)
{
  double groups = (double)MAX(op->dim[3], 1);

  if (is_foreign(laws, op))
    return MAX(groups * laws->own_s_per_node_byte,
               laws->own_s_per_share_byte / (double)r);
  return MAX(groups * laws->s_per_node_byte,
             laws->s_per_share_byte / (double)r);
}

/* The part that crosses nodes; @r of the ranks on each of @nodes. */
static double
across_s(const RaLinkLaws *laws, const RaOp *op, uint64_t r, uint64_t nodes)
{
  const RaInterNodeLaw *law = &laws->inter;
  double factor = is_foreign(laws, op) ? fabric_factor(laws, op) : 1;
  double link_s = crossing_bytes(laws, op, r, nodes) * s_per_byte(laws, op, r);
  double doublings = log2_linear(nodes), s[2];

  if (op->kind == RA_OP_ALL_TO_ALL && laws->exchange.measured)
    return exchange_s(&laws->exchange, link_s, doublings);
  for (guint i = 0; i < 2; i++)
    s[i] = law->latency_s[i] + law->hop_s[i] * doublings +
           link_s * law->per_frac[i];
  return MIN(s[0], s[1]) * factor * ra_residual_factor(&law->residual, op);
}

RaTokenKernels
ra_collective_token_kernels(const RaOp *op)
{
  if (op->dim[1] > RA_OP_NVLINK_PEERS)
    return RA_TOKENS_DOMAIN;
  return op->dim[6] == 0 ? RA_TOKENS_LOW : RA_TOKENS_NORMAL;
}

const char *
ra_collective_token_law(gboolean combine, RaTokenKernels kernels)
{
  static const char *const names[2][RA_N_TOKEN_KERNELS] = {
      {"tokens.dispatch", "tokens.dispatch-low", "tokens.dispatch-domain"},
      {"tokens.combine", "tokens.combine-low", "tokens.combine-domain"}};

  return names[combine ? 1 : 0][kernels];
}

const RaTokenLaw *
ra_collective_tokens(const RaLinkLaws *laws, const RaOp *op)
{
  const RaTokenLaw *by_kernels = laws->tokens[op->flags & RA_OP_ROUTED ? 1 : 0];
  const RaTokenLaw *law = &by_kernels[ra_collective_token_kernels(op)];
  gboolean of_tokens = op->kind == RA_OP_ALL_TO_ALL && op->dim[5] > 0 &&
                       op->dim[2] >= op->dim[1];

  if (!law->measured) /* a node of more than 8 that is no NVL72 */
    law = &by_kernels[RA_TOKENS_NORMAL];
  return of_tokens && law->measured ? law : NULL;
}

/* Part of token_s() that grows with the tokens. */
static double
token_link_s(const RaTokenLaw *law, const RaOp *op)
{
  double sms = op->dim[6] > 0 ? (double)op->dim[6] : RA_OP_EXCHANGE_SMS;
  double row_bytes = law->row_frac * (double)op->dim[4];

  return (((double)op->dim[0] + (double)op->dim[5] * row_bytes) *
              law->s_per_byte +
          (double)op->dim[5] * law->token_s) *
         RA_OP_EXCHANGE_SMS / sms;
}

static double
token_s(const RaTokenLaw *law, const RaOp *op)
{
  return (law->floor_s + token_link_s(law, op)) *
         ra_residual_factor(&law->residual, op);
}

double
ra_collective_s(const RaLinkLaws *laws, const RaOp *op, RaKernels kernels)
{
  uint64_t n = op->dim[1], r = CLAMP(op->dim[2], 1, MAX(n, 1));
  const RaTokenLaw *tokens = ra_collective_tokens(laws, op);
  double inside_s, outside_s;

  if (n < 2 || op->dim[0] == 0)
    return 0;
  if (tokens)
    return token_s(tokens, op);
  inside_s = r > 1 ? node_s(node_law(laws, op, kernels), op, r) : 0;
  if (r == n)
    return inside_s;
  outside_s = across_s(laws, op, r, n / r + (n % r != 0));
  return MAX(inside_s, outside_s);
}

gboolean
ra_collective_formula(const RaLinkLaws *laws, const RaOp *op,
                      RaCollectiveChoice *out_choice)
{
  uint64_t n = op->dim[1], r = CLAMP(op->dim[2], 1, MAX(n, 1));
  RaOp inside = *op;

  if (op->kind < RA_OP_ALL_REDUCE || op->kind > RA_OP_BROADCAST || n < 2 ||
      ra_collective_tokens(laws, op))
    return FALSE;
  if (r < n && is_foreign(laws, op))
    return ra_collective_model_choose(&laws->here, op, out_choice);
  if (r < 2 || is_measured(&laws->collective[op->kind - RA_OP_ALL_REDUCE], r))
    return FALSE;
  inside.dim[1] = r;
  return ra_collective_model_choose(&laws->here, &inside, out_choice);
}

double
ra_send_s(const RaLinkLaws *laws, const RaOp *op)
{
  double bytes = (double)op->dim[0], shared, s_per_byte;

  if (op->dim[0] == 0)
    return 0;
  if (!op->dim[1])
    return lines_s(&laws->send.intra, bytes) *
           ra_residual_factor(&laws->send.residual, op);
  shared = laws->s_per_node_byte * (double)MAX(op->dim[2], 1);
  s_per_byte = MAX(laws->s_per_share_byte, shared);
  return laws->send.latency_s + bytes * s_per_byte * laws->send.per_frac;
}

double
ra_realloc_s(const RaLinkLaws *laws, const RaOp *op)
{
  double intra_s = (double)op->dim[0] * laws->realloc.s_per_intra_byte;
  double inter_s = (double)op->dim[1] * laws->realloc.s_per_inter_byte;
  double step_s = laws->realloc.step_s;

  if (op->dim[0] == 0 && op->dim[1] == 0)
    return 0;
  if (op->dim[1] > 0)
    step_s += laws->realloc.net_s;
  return (double)op->dim[2] * step_s + MAX(intra_s, inter_s);
}

double
ra_host_copy_s(const RaLinkLaws *laws, double bytes)
{
  return bytes > 0
             ? laws->host_copy.latency_s + bytes * laws->host_copy.s_per_byte
             : 0;
}

/* At the best of the lines' rates. */
static double
lines_link_s(const RaLines *lines, double bytes)
{
  double least = lines->s_per_byte[0];

  for (guint i = 1; i < RA_LINES; i++)
    least = MIN(least, lines->s_per_byte[i]);
  return bytes * least;
}

static double
node_link_s(const RaCollectiveLaw *law, const RaOp *op, uint64_t n)
{
  double bus_bytes = (double)op->dim[0] * ring_factor(op->kind, (double)n);
  RaOp inside = *op;

  inside.dim[1] = n;
  return lines_link_s(&law->ranks[MIN(n, RA_NODE_RANKS) - 2], bus_bytes) *
         ra_residual_factor(&law->residual, &inside);
}

static double
across_link_s(const RaLinkLaws *laws, const RaOp *op, uint64_t r,
              uint64_t nodes)
{
  const RaInterNodeLaw *law = &laws->inter;
  double factor = is_foreign(laws, op) ? fabric_factor(laws, op) : 1;
  double link_s = crossing_bytes(laws, op, r, nodes) * s_per_byte(laws, op, r);
  double x = CLAMP((log2_linear(nodes) - 1) / 2, 0, 1), frac = 0;

  if (op->kind != RA_OP_ALL_TO_ALL || !laws->exchange.measured)
    return link_s * factor * MIN(law->per_frac[0], law->per_frac[1]) *
           ra_residual_factor(&law->residual, op);
  for (guint j = 0; j < 2; j++)
    frac = MAX(frac, (1 - x) * laws->exchange.frac[0][j] +
                         x * laws->exchange.frac[1][j]);
  return link_s * ra_rate_s(frac);
}

static void
collective_use(const RaLinkLaws *laws, const RaOp *op, RaKernels kernels,
               RaLinkUse *use)
{
  uint64_t n = op->dim[1], r = CLAMP(op->dim[2], 1, MAX(n, 1));
  const RaTokenLaw *tokens = ra_collective_tokens(laws, op);

  use->total_s = ra_collective_s(laws, op, kernels);
  if (n < 2 || op->dim[0] == 0)
    return;
  if (tokens)
    use->intra_s = token_link_s(tokens, op);
  else if (r > 1)
    use->intra_s = node_link_s(node_law(laws, op, kernels), op, r);
  if (r < n)
    use->inter_s = across_link_s(laws, op, r, n / r + (n % r != 0));
}

static void
send_use(const RaLinkLaws *laws, const RaOp *op, RaLinkUse *use)
{
  double shared = laws->s_per_node_byte * (double)MAX(op->dim[2], 1);
  double bytes = (double)op->dim[0];

  use->total_s = ra_send_s(laws, op);
  if (op->dim[1])
    use->inter_s =
        bytes * MAX(laws->s_per_share_byte, shared) * laws->send.per_frac;
  else
    use->intra_s = lines_link_s(&laws->send.intra, bytes) *
                   ra_residual_factor(&laws->send.residual, op);
}

void
ra_link_use(const RaLinkLaws *laws, const RaOp *op, RaKernels kernels,
            RaLinkUse *out_use)
{
  *out_use = (RaLinkUse){0};
  switch ((RaOpKind)op->kind) {
  case RA_OP_SEND:
    send_use(laws, op, out_use);
    return;
  case RA_OP_REALLOC:
    out_use->total_s = ra_realloc_s(laws, op);
    out_use->intra_s = (double)op->dim[0] * laws->realloc.s_per_intra_byte;
    out_use->inter_s = (double)op->dim[1] * laws->realloc.s_per_inter_byte;
    return;
  case RA_OP_OFFLOAD:
  case RA_OP_RELOAD:
    out_use->total_s = ra_host_copy_s(laws, (double)op->dim[0]);
    out_use->host_s = (double)op->dim[0] * laws->host_copy.s_per_byte;
    return;
  default:
    collective_use(laws, op, kernels, out_use);
  }
}
