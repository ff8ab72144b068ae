/* Rows of messages: collectives in a node and across nodes, sends, expert
 * exchanges. */
#include "config.h"

#include <string.h>

#include "traces/grid.h"
#include "traces/measured_impl.h"

static const char *const collective_columns[] = {
    "gpu",      "?nccl_dir", "collective", "?dtype",
    "num_gpus", "bytes",     "time_us",    NULL};

/* By the numbers between its points: 2.27.3 is newer than 2.5. */
static int
compare_versions(const char *a, const char *b)
{
  while (*a && *b) {
    char *end_a, *end_b;
    guint64 x = g_ascii_strtoull(a, &end_a, 10);
    guint64 y = g_ascii_strtoull(b, &end_b, 10);

    if (x != y)
      return x < y ? -1 : 1;
    if (end_a == a || end_b == b)
      return strcmp(a, b);
    a = end_a + (*end_a == '.');
    b = end_b + (*end_b == '.');
  }
  return (*a != '\0') - (*b != '\0');
}

/* TRUE if a row under @version counts: only those of the newest NCCL do, and
 * rows of older ones that were read are dropped. */
static gboolean
is_newest(RaMeasuredReader *r, const char *version)
{
  int order = r->version ? compare_versions(version, r->version) : 1;

  if (order > 0) {
    r->version = g_intern_string(version);
    g_array_set_size(r->rows, 0);
  }
  return order >= 0;
}

static const struct {
  const char *source, *name;
  RaOpKind kind;
} kinds[] = {{"all-reduce", "all_reduce", RA_OP_ALL_REDUCE},
             {"all-gather", "all_gather", RA_OP_ALL_GATHER},
             {"reduce-scatter", "reduce_scatter", RA_OP_REDUCE_SCATTER},
             {"all-to-all", "alltoall", RA_OP_ALL_TO_ALL},
             {"send.pairs", "alltoall", RA_OP_SEND}};

/* Nodes of cards that meet over PCIe have no nccl-tests of their own.  Eight
 * L40S in one box have, but their peer paths are poor (comm_nccl/SOURCE.md):
 * over 4 and 8 they move 5 and 1.6 GB/s.  Their pairs, and their messages that
 * are latency alone, are any such node's. */
#define PCIE_GPU "a100-pcie"
#define PCIE_LATENCY "l40s"
#define PCIE_LATENCY_BYTES 32768.0

/* TRUE if a row of @gpu over @n GPUs is one of the reader's. */
static gboolean
is_wanted(const RaMeasuredReader *r, const char *gpu, double n, double bytes)
{
  if (strcmp(r->gpu, PCIE_GPU) != 0)
    return strcmp(r->gpu, gpu) == 0;
  return strcmp(gpu, PCIE_LATENCY) == 0 &&
         (n <= 2 || bytes <= PCIE_LATENCY_BYTES);
}

/* Half precision, the newest NCCL that the source has of the GPU. */
static gboolean
read_collective(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  const char *const *f = line->field;
  double v[3];

  if (!ra_csv_numbers(line, 4, 3, v, error))
    return FALSE;
  if (!is_wanted(r, f[0], v[0], v[1]) || (*f[3] && strcmp(f[3], "half") != 0) ||
      v[0] < 2 || v[1] < 1 || !is_newest(r, f[1]))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    uint64_t n = ra_measured_whole(v[0]), bytes = ra_measured_whole(v[1]);
    RaOp op = {.kind = (uint8_t)kinds[i].kind, .dim = {bytes, n, n, 1}};

    if (strcmp(kinds[i].source, r->source) != 0 ||
        strcmp(kinds[i].name, f[2]) != 0)
      continue;
    /* A pair of an all-to-all of two ranks is a send of half its bytes. */
    if (op.kind == RA_OP_SEND) {
      if (n != 2)
        continue;
      op = (RaOp){.kind = RA_OP_SEND, .dim = {bytes / 2}};
    }
    ra_measured_add(r, op, v[2], bytes, n);
  }
  return TRUE;
}

static const char *const own_sum_columns[] = {
    "gpu", "kernel", "num_gpus", "message_size_elems", "time_us", NULL};

/* BF16 all-reduces of an engine's own kernels, of all its releases.  In graphs,
 * as eager ones are the host's time. */
static gboolean
read_own_sum(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  const char *engine = strchr(r->source, '.') + 1;
  const char *kernel = line->field[1];
  gsize n = strlen(engine);
  double v[3];

  if (!ra_csv_numbers(line, 2, 3, v, error))
    return FALSE;
  if (strcmp(line->field[0], r->gpu) != 0 || v[0] < 2 || v[1] < 1 ||
      g_ascii_strncasecmp(kernel, engine, n) != 0 ||
      g_str_has_suffix(kernel, "_eager"))
    return TRUE;
  uint64_t ranks = ra_measured_whole(v[0]), bytes = ra_measured_whole(2 * v[1]);
  RaOp op = {.kind = RA_OP_ALL_REDUCE, .dim = {bytes, ranks, ranks, 1}};

  ra_measured_add(r, op, v[2], bytes, ranks);
  return TRUE;
}

static const char *const lut_columns[] = {"gpu", "num_gpus", "bytes",
                                          "oop_time_us", NULL};

/* All-reduces of floats by another NCCL in another node. */
static gboolean
read_lut(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  double v[3];

  if (!ra_csv_numbers(line, 1, 3, v, error))
    return FALSE;
  if (strcmp(line->field[0], r->gpu) != 0 || v[0] < 2 || v[1] < 1)
    return TRUE;
  uint64_t n = ra_measured_whole(v[0]), bytes = ra_measured_whole(v[1]);
  RaOp op = {.kind = RA_OP_ALL_REDUCE, .dim = {bytes, n, n, 1}};

  ra_measured_add(r, op, v[2], bytes, n);
  return TRUE;
}

/* The rate of all NICs of a node that @text names: "4x100Gb/s", "200Gb/s per
 * GPU" (of 8), "8x CX-7 NDR 400Gb/s"; eight of the last where it names none. */
static double
nic_rate(const char *text)
{
  const char *unit = strstr(text, "Gb/s"), *digits = unit, *times;
  double gbit_per_s = 400, n = 8;

  if (unit) {
    while (digits > text && g_ascii_isdigit(digits[-1]))
      digits--;
    if (digits < unit)
      gbit_per_s = g_ascii_strtod(digits, NULL);
    for (times = digits; times > text; times--)
      if (*times == 'x' && g_ascii_isdigit(times[-1]))
        break;
    while (times > text && g_ascii_isdigit(times[-1]))
      times--;
    if (g_ascii_isdigit(*times) && times < digits)
      n = g_ascii_strtod(times, NULL);
  }
  return n * gbit_per_s / 8 * 1e9;
}

/* Latency of EFA's messages beyond InfiniBand's, as its plug-in gives it to
 * NCCL (aws-ofi-nccl, src/platform-aws.c, p4d and p4de: latency 75) and as its
 * tuner of P5 counts (the same, nccl_ofi_param.h: TUNER_NET_LATENCY 20). */
static double
efa_latency_s(const char *gpu)
{
  return g_str_has_prefix(gpu, "a100") ? 75e-6 : 20e-6;
}

static const char *const table_columns[] = {"table_id", "collective",    "gpu",
                                            "nodes",    "?interconnect", NULL};

/* Machine and conditions of a table. */
typedef struct {
  const char *id, *collective, *gpu, *fabric;
  double nodes;
} Table;

/* The table @t, with the rate of a node's NICs; 0: it is of another source.
 * EFA's latencies are twice InfiniBand's: its tables are a source of their own,
 * which no law is fitted on; so are those in a node. */
static const RaMeasuredFound *
find_table(RaMeasuredReader *r, const Table *t)
{
  g_autofree char *gpu = g_ascii_strdown(t->gpu, -1);
  gboolean efa = strcmp(r->source, "inter-node.efa") == 0;
  gboolean node = strcmp(r->source, "inter-node.one") == 0;
  RaMeasuredFound *found = g_hash_table_lookup(r->found, t->id);

  if (found)
    return found;
  found = ra_measured_found(r, t->id);
  if (strcmp(t->collective, "all_reduce") == 0 && (t->nodes > 1) != node &&
      g_str_has_prefix(gpu, r->gpu) &&
      (node || (strstr(t->fabric, "EFA") != NULL) == efa)) {
    found->value[0] = nic_rate(t->fabric);
    found->value[1] = efa ? efa_latency_s(gpu) : 0;
  }
  return found;
}

static gboolean
read_table(const RaCsvLine *line, gpointer data, GError **error)
{
  const char *const *f = line->field;
  Table t = {.id = f[0], .collective = f[1], .gpu = f[2], .fabric = f[4]};

  if (!ra_csv_number(line, 3, &t.nodes, error))
    return FALSE;
  find_table(data, &t);
  return TRUE;
}

static const char *const inter_node_columns[] = {
    "table_id",    "num_gpus",    "nodes", "bytes",
    "oop_time_us", "?collective", "?gpu",  NULL};

/* A row of a table that nobody lists is of what its own columns say. */
static gboolean
read_inter_node(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  const char *const *f = line->field;
  Table t = {.id = f[0], .collective = f[5], .gpu = f[6], .fabric = ""};
  const RaMeasuredFound *table;
  double v[4];
  RaOp op = {.kind = RA_OP_ALL_REDUCE, .dim = {0, 0, 0, 1}};
  guint before = r->rows->len;

  if (!ra_csv_numbers(line, 1, 4, v, error))
    return FALSE;
  t.nodes = v[1];
  table = find_table(r, &t);
  if (!(table->value[0] > 0))
    return TRUE;
  op.dim[0] = ra_measured_whole(v[2]);
  op.dim[1] = ra_measured_whole(v[0]);
  op.dim[2] = ra_measured_whole(v[0] / MAX(v[1], 1));
  ra_measured_add(r, op, v[3], table->number, op.dim[0]);
  if (r->rows->len > before) {
    RaMeasured *row = &g_array_index(r->rows, RaMeasured, before);

    row->nic_bytes_per_s = table->value[0];
    row->nic_latency_s = table->value[1];
  }
  return TRUE;
}

static const char *const exchange_columns[] = {
    "gpu",  "nodes",   "hidden",     "tokens_per_rank",
    "topk", "experts", "combine_us", "?combine_notify_us",
    NULL};

/* BF16 combines over nodes, 8 GPUs each: of each number of nodes and tokens the
 * quickest number of multiprocessors, which a tuned system takes. */
static gboolean
read_exchange(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  double v[7], us, remote;
  uint64_t bytes, ranks;

  if (!ra_csv_numbers(line, 1, 7, v, error))
    return FALSE;
  if (strcmp(line->field[0], r->gpu) != 0 || v[0] < 2)
    return TRUE;
  us = v[5] + v[6];
  ranks = ra_measured_whole(v[0] * 8);
  remote = ra_experts_parts_met(v[4], v[3], v[0]) * (v[0] - 1) / v[0];
  bytes = ra_measured_whole(v[2] * v[1] * 2 * remote);
  RaOp op = {.kind = RA_OP_ALL_TO_ALL, .dim = {bytes, ranks, 8, 1, bytes}};
  for (guint i = 0; i < r->rows->len; i++) {
    RaMeasured *row = &g_array_index(r->rows, RaMeasured, i);

    if (row->line[0] != ra_measured_whole(v[2]) || row->op.dim[1] != ranks)
      continue;
    if (us > 0 && us * 1e-6 < row->measured_s)
      row->measured_s = us * 1e-6;
    return TRUE;
  }
  ra_measured_add(r, op, us, ra_measured_whole(v[2]), ranks);
  return TRUE;
}

static const char *const token_columns[] = {
    "ep",         "hidden",  "topk",  "experts",   "tokens_per_rank", "sms",
    "latency_us", "backend", "phase", "framework", "dtype",           NULL};

/* Bytes of @n values of a token: 16 bits, fp8 or NVFP4 with a scale for 128 and
 * for 16 of them.  What is sent is fp8 where the rows do not say. */
static double
token_bytes(const char *dtype, double n)
{
  if (strcmp(dtype, "bfloat16") == 0)
    return 2 * n;
  return strcmp(dtype, "nvfp4") == 0 ? n / 2 + n / 16 : n + 4 * n / 128;
}

/* Adds a phase of a dispatch in an NVLink domain, the tokens or the counts that
 * go before them: one row of both. */
static void
add_domain_dispatch(RaMeasuredReader *r, const RaOp *op, double us)
{
  for (guint i = 0; i < r->rows->len; i++) {
    RaMeasured *row = &g_array_index(r->rows, RaMeasured, i);

    if (memcmp(&row->op.dim, &op->dim, sizeof op->dim) == 0) {
      row->measured_s += us * 1e-6;
      return;
    }
  }
  ra_measured_add(r, *op, us, op->dim[5], op->dim[1]);
}

/* A row of kernels that reach a domain wider than a node; what comes back in
 * fewer than 16 bits is left out. */
static void
add_domain(RaMeasuredReader *r, const RaOp *op, const char *phase, double us)
{
  gboolean combine = (op->flags & RA_OP_ROUTED) != 0;

  if (op->dim[1] <= RA_OP_NVLINK_PEERS)
    return;
  if (combine && strcmp(phase, "combine") == 0)
    ra_measured_add(r, *op, us, op->dim[5], op->dim[1]);
  else if (!combine &&
           (strcmp(phase, "dispatch") == 0 || strcmp(phase, "prepare") == 0))
    add_domain_dispatch(r, op, us);
}

/* Exchanges of tokens over NVLink, BF16 back: DeepEP's kernels as SGLang calls
 * them, in a node, once to each rank, or, by kernels of low latency, which have
 * no number of multiprocessors, to each expert; TensorRT-LLM's in a domain. */
static gboolean
read_tokens(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  gboolean low = g_str_has_suffix(r->source, "-low");
  gboolean combine = g_str_has_prefix(r->source, "tokens.combine");
  const char *const *f = line->field;
  RaOp op = {.kind = RA_OP_ALL_TO_ALL, .flags = combine ? RA_OP_ROUTED : 0};
  gboolean domain = g_str_has_suffix(r->source, "-domain");
  double v[7], row, copies;

  if (!ra_csv_numbers(line, 0, 7, v, error))
    return FALSE;
  row = token_bytes(combine ? "bfloat16" : f[10], v[1]);
  copies = low ? v[2] : ra_experts_parts_met(v[3], v[2], v[0]);
  op.dim[0] = ra_measured_whole(v[4] * row * copies);
  op.dim[1] = op.dim[2] = ra_measured_whole(v[0]);
  op.dim[3] = 1;
  op.dim[4] = ra_measured_whole(row);
  op.dim[5] = ra_measured_whole(v[4]);
  op.dim[6] = domain ? RA_OP_EXCHANGE_SMS : ra_measured_whole(v[5]);
  if (domain) {
    if (strcmp(f[7], "NVLinkTwoSided") == 0)
      add_domain(r, &op, f[8], v[6]);
    return TRUE;
  }
  if (strcmp(f[7], low ? "deepep_ll" : "deepep_ht") != 0 ||
      strcmp(f[8], combine ? "combine" : "dispatch") != 0 ||
      strcmp(f[9], "sglang") != 0)
    return TRUE;
  ra_measured_add(r, op, v[6], op.dim[5], ra_measured_whole(v[1] * 64 + v[2]));
  return TRUE;
}

static const char *const pair_columns[] = {
    "system",    "collective", "devices_per_node", "bytes",
    "median_us", "?std_us",    "num_workers",      NULL};

/* NICs' bytes/s of a node, as RaMeasured has it, of the systems that say it: a
 * DGX H100 has eight of 400 Gbit/s (NVIDIA, DGX H100 user guide).  What joined
 * the A100s is slower than any DGX A100's and nowhere published. */
static double
pair_nics(const char *gpu)
{
  return strcmp(gpu, "h100") == 0 ? 400e9 : 0;
}

/* Sends between two GPUs of a DGX node, or of two nodes, or all-reduces in such
 * a node.
 * Hundreds of sizes: a line is a quarter of an octave of them. */
static gboolean
read_pair(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  g_autofree char *system = g_strdup_printf("%s_dgx", r->gpu);
  gboolean across = strcmp(r->source, "p2p.nodes") == 0;
  gboolean reduce = strcmp(r->source, "all-reduce.dgx") == 0;
  guint before = r->rows->len;
  double v[5];

  if (!ra_csv_numbers(line, 2, 5, v, error))
    return FALSE;
  if (strcmp(line->field[0], system) != 0 || v[1] < 1 ||
      strcmp(line->field[1], reduce ? "all_reduce" : "send_recv") != 0 ||
      (reduce ? v[4] < 2 || v[0] < v[4] : (v[0] < 2) != across))
    return TRUE;
  RaOp op = {.kind = RA_OP_SEND, .dim = {ra_measured_whole(v[1]), across, 1}};
  if (reduce) {
    op.kind = RA_OP_ALL_REDUCE;
    op.dim[1] = op.dim[2] = ra_measured_whole(v[4]);
    op.dim[3] = 1;
  }
  ra_measured_add(r, op, v[2], (uint64_t)(4 * ra_log2_linear(v[1])), 0);
  if (r->rows->len > before)
    g_array_index(r->rows, RaMeasured, before).deviation_frac = v[3] / v[2];
  if (r->rows->len > before && across)
    g_array_index(r->rows, RaMeasured, before).nic_bytes_per_s =
        pair_nics(r->gpu);
  return TRUE;
}

/* All-reduces over four A100 cards, two pairs that meet over PCIe.  Its slowest
 * hop has the rate of a ring, so that the same bytes on the bus take the same
 * time over 8, in 6/7 of the vector; a ring gathers, or scatters, in half the
 * time of both, and an all-to-all has no more to send through a card's slot. */
static gboolean
read_pcie(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  double v[5];
  uint64_t octave;

  if (!ra_csv_numbers(line, 2, 5, v, error))
    return FALSE;
  if (strcmp(line->field[0], "a100_pairwise_nvlink") != 0 ||
      strcmp(line->field[1], "all_reduce") != 0 || v[4] < 4 || v[0] < 4 ||
      v[1] < PCIE_LATENCY_BYTES)
    return TRUE;
  octave = (uint64_t)(4 * ra_log2_linear(v[1]));
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    double us = kinds[i].kind == RA_OP_ALL_REDUCE ? v[2] : v[2] / 2;
    uint64_t four = ra_measured_whole(v[1]);
    uint64_t eight = ra_measured_whole(v[1] * 6 / 7);

    if (strcmp(kinds[i].source, r->source) != 0 || kinds[i].kind == RA_OP_SEND)
      continue;
    ra_measured_add(
        r, (RaOp){.kind = (uint8_t)kinds[i].kind, .dim = {four, 4, 4, 1}}, us,
        octave, 4);
    ra_measured_add(
        r, (RaOp){.kind = (uint8_t)kinds[i].kind, .dim = {eight, 8, 8, 1}}, us,
        octave, 8);
  }
  return TRUE;
}

gboolean
ra_measured_messages(RaMeasuredReader *r, const char *const *data,
                     GError **error)
{
  const char *folder, *prefix, *column;

  ra_measured_place(r->source, &folder, &prefix, &column);
  if (strcmp(r->source, "all-reduce.lut") == 0)
    return ra_measured_files(data, folder, prefix, r, lut_columns, read_lut,
                             error);
  if (strcmp(folder, "comm_nccltests") == 0)
    return ra_measured_files(data, folder, "tables", r, table_columns,
                             read_table, error) &&
           ra_measured_files(data, folder, "rows", r, inter_node_columns,
                             read_inter_node, error);
  if (strcmp(folder, "comm_deepep") == 0)
    return ra_measured_files(data, folder, prefix, r, exchange_columns,
                             read_exchange, error);
  if (strcmp(folder, "comm_moe_a2a") == 0) {
    g_autofree char *of_gpu = g_strconcat(prefix, r->gpu, NULL);
    return ra_measured_files(data, folder, of_gpu, r, token_columns,
                             read_tokens, error);
  }
  if (strcmp(folder, "comm_vidur") == 0)
    return ra_measured_files(data, folder, prefix, r, pair_columns, read_pair,
                             error);
  if (strcmp(prefix, "aic_custom_allreduce") == 0)
    return ra_measured_files(data, folder, prefix, r, own_sum_columns,
                             read_own_sum, error);
  return ra_measured_files(data, folder, prefix, r, collective_columns,
                           read_collective, error) &&
         (strcmp(r->gpu, PCIE_GPU) != 0 ||
          ra_measured_files(data, "comm_vidur", "network", r, pair_columns,
                            read_pcie, error));
}
