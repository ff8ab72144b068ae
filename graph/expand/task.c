/* Task graphs: names, hashes, the ops of a work, GPUs of lanes. */
#include "config.h"

#include "base/hash.h"
#include "graph/expand/task.h"

/* clang-format off */
static const char *const kind_names[RA_N_TASK_KINDS] = {
  [RA_TASK_FORWARD] = "fwd",
  [RA_TASK_BACKWARD] = "bwd",
  [RA_TASK_SEND] = "send",
  [RA_TASK_GRAD_REDUCE] = "grad_reduce",
  [RA_TASK_CLIP] = "clip",
  [RA_TASK_OPTIMIZER] = "optimizer",
  [RA_TASK_PARAM_GATHER] = "param_gather",
  [RA_TASK_DECODE] = "decode",
  [RA_TASK_HOST] = "host",
  [RA_TASK_REALLOC] = "realloc",
  [RA_TASK_TRANSFER] = "transfer",
  [RA_TASK_CALL] = "call",
  [RA_TASK_JOIN] = "end",
  [RA_TASK_OFFLOAD] = "offload",
  [RA_TASK_RELOAD] = "reload",
  [RA_TASK_EMBEDDING_REDUCE] = "embedding_reduce",
  [RA_TASK_MIGRATE] = "migrate",
};

static const char *const stream_names[RA_N_STREAMS] = {
  [RA_STREAM_COMPUTE] = "compute",
  [RA_STREAM_TP] = "tp",
  [RA_STREAM_DP] = "dp",
  [RA_STREAM_PP_SEND] = "pp_send",
  [RA_STREAM_PP_RECV] = "pp_recv",
  [RA_STREAM_PP_SEND_BACK] = "pp_send_back",
  [RA_STREAM_PP_RECV_BACK] = "pp_recv_back",
  [RA_STREAM_REALLOC] = "realloc",
  [RA_STREAM_TRANSFER] = "transfer",
  [RA_STREAM_COPY_IN] = "copy_in",
  [RA_STREAM_COPY_OUT] = "copy_out",
  [RA_STREAM_HOST] = "host",
  [RA_STREAM_NONE] = "none",
};
/* clang-format on */

const char *
ra_task_kind_name(RaTaskKind kind)
{
  g_return_val_if_fail(kind < RA_N_TASK_KINDS, "?");
  return kind_names[kind];
}

const char *
ra_stream_name(RaStream stream)
{
  g_return_val_if_fail(stream < RA_N_STREAMS, "?");
  return stream_names[stream];
}

uint64_t
ra_task_graph_n_unfolded(const RaTaskGraph *graph)
{
  uint64_t n = 0;

  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    n += ra_task_weight(graph, t);
  return n;
}

guint
ra_work_ops(const RaTaskGraph *graph, uint32_t work, RaOp *out_ops)
{
  const RaWork *w = &graph->works[work];

  if (w->shard == RA_NONE) {
    out_ops[0] = w->op;
    return 1;
  }
  return ra_op_list(&graph->shards[w->shard], &w->piece, (RaPhase)w->phase,
                    &w->batch, out_ops);
}

/* Which numbers a kind's name shows. */
enum { SHOW_STAGE = 1, SHOW_MINI = 2, SHOW_MICRO = 4, SHOW_BUCKET = 8 };

static guint
shown(RaTaskKind kind, int zero)
{
  switch (kind) {
  case RA_TASK_FORWARD:
    return SHOW_STAGE | SHOW_MINI | SHOW_MICRO | (zero == 3 ? SHOW_BUCKET : 0);
  case RA_TASK_SEND:
    return SHOW_STAGE | SHOW_MINI | SHOW_MICRO;
  case RA_TASK_BACKWARD:
    return SHOW_STAGE | SHOW_MINI | SHOW_MICRO | SHOW_BUCKET;
  case RA_TASK_GRAD_REDUCE:
    return SHOW_STAGE | SHOW_MINI | (zero >= 2 ? SHOW_MICRO : 0) | SHOW_BUCKET;
  case RA_TASK_PARAM_GATHER:
    return SHOW_STAGE | SHOW_MINI | (zero == 3 ? SHOW_MICRO | SHOW_BUCKET : 0);
  case RA_TASK_OPTIMIZER:
    return SHOW_STAGE | SHOW_MINI;
  case RA_TASK_CLIP:
  case RA_TASK_EMBEDDING_REDUCE:
  case RA_TASK_DECODE:
  case RA_TASK_MIGRATE:
    return SHOW_MINI;
  default:
    return 0;
  }
}

/* ZeRO stage of the call of @t. */
static int
zero_of(const RaTaskGraph *g, RaTaskId t)
{
  const RaCallPlan *calls = g->augmented->plan->calls;

  return calls ? calls[g->augmented->nodes[g->node[t]].call].zero : 0;
}

/* Gradients travel on a stream of their own, so their sends are named apart. */
static const char *
shown_kind(const RaTaskGraph *g, RaTaskId t)
{
  return g->kind[t] == RA_TASK_SEND && g->stream[t] == RA_STREAM_PP_SEND_BACK
             ? "send_back"
             : kind_names[g->kind[t]];
}

void
ra_task_name(const RaTaskGraph *g, RaTaskId t, char *out, gsize n_bytes)
{
  guint show = shown(g->kind[t], zero_of(g, t));
  g_autofree char *node = ra_node_name(g->augmented, g->node[t]);
  gsize n = (gsize)g_snprintf(out, n_bytes, "%s", node);

#define APPEND(...)                                                            \
  do {                                                                         \
    if (n < n_bytes)                                                           \
      n += (gsize)g_snprintf(out + n, n_bytes - n, __VA_ARGS__);               \
  } while (0)
  if (g->augmented->nodes[g->node[t]].kind != RA_NODE_CALL ||
      g->kind[t] == RA_TASK_CALL || g->kind[t] == RA_TASK_HOST)
    return;
  if (g->replica[t] != RA_NONE)
    APPEND("/d%u", g->replica[t]);
  if (show & SHOW_STAGE)
    APPEND("/s%u", g->stage[t]);
  if (show & SHOW_MINI)
    APPEND("/b%u", g->mini_batch[t]);
  if (show & SHOW_MICRO)
    APPEND("/m%u", g->micro_batch[t]);
  if (show & SHOW_BUCKET ||
      (g->kind[t] == RA_TASK_PARAM_GATHER && g->bucket[t] > 0))
    APPEND("/k%u", g->bucket[t]);
  APPEND("/%s", shown_kind(g, t));
#undef APPEND
}

uint64_t
ra_task_name_hash(const RaTaskGraph *g, RaTaskId t)
{
  const RaNode *node = &g->augmented->nodes[g->node[t]];
  uint64_t h = RA_HASH_INIT;

  h = ra_hash_u64(h, (uint64_t)node->kind | (uint64_t)node->iteration << 8 |
                         (uint64_t)node->part << 40);
  h = ra_hash_u64(h, (uint64_t)node->call | (uint64_t)node->source << 32);
  if (node->trip > 0)
    h = ra_hash_u64(h, node->trip);
  h = ra_hash_u64(h, (uint64_t)g->kind[t] | (uint64_t)g->stream[t] << 8 |
                         (uint64_t)g->stage[t] << 16 |
                         (uint64_t)g->replica[t] << 32);
  return ra_hash_u64(h, (uint64_t)g->mini_batch[t] |
                            (uint64_t)g->micro_batch[t] << 16 |
                            (uint64_t)g->bucket[t] << 32);
}

const char *
ra_fidelity_name(RaFidelity fidelity)
{
  static const char *const names[] = {"call", "stage", "op"};

  g_return_val_if_fail((guint)fidelity < G_N_ELEMENTS(names), "?");
  return names[fidelity];
}

static void
append_range(GString *text, uint32_t first, uint32_t last)
{
  if (text->len)
    g_string_append_c(text, ',');
  g_string_append_printf(text, "%u", first);
  if (last > first)
    g_string_append_printf(text, "-%u", last);
}

char *
ra_group_ranks(const RaTaskGraph *g, uint32_t group)
{
  GString *text = g_string_new(NULL);
  g_autofree uint8_t *in_group = g_new0(uint8_t, MAX(g->n_lanes, 1u));
  uint32_t n_gpus = ra_cluster_n_gpus(g->augmented->plan->cluster);
  uint32_t first = RA_NONE;

  for (uint32_t i = g->group_begin[group]; i < g->group_begin[group + 1]; i++)
    in_group[g->group_lane[i]] = 1;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) {
    uint32_t lane = g->lane_of_gpu[gpu];
    gboolean in = lane != RA_NONE && in_group[lane];
    if (in && first == RA_NONE)
      first = gpu;
    if (!in && first != RA_NONE) {
      append_range(text, first, gpu - 1);
      first = RA_NONE;
    }
  }
  if (first != RA_NONE)
    append_range(text, first, n_gpus - 1);
  if (!text->len)
    g_string_append_c(text, '-');
  return g_string_free(text, FALSE);
}

uint32_t *
ra_task_graph_gpus(const RaTaskGraph *graph, uint32_t n_gpus,
                   uint32_t **out_begin)
{
  /* One place ahead: filling moves each lane's begin to its end. */
  uint32_t *begin = g_new0(uint32_t, (gsize)graph->n_lanes + 2);
  uint32_t *gpu = g_new(uint32_t, MAX(n_gpus, 1u));

  for (uint32_t i = 0; i < n_gpus; i++)
    if (graph->lane_of_gpu[i] != RA_NONE)
      begin[graph->lane_of_gpu[i] + 2]++;
  for (uint32_t lane = 0; lane < graph->n_lanes; lane++)
    begin[lane + 2] += begin[lane + 1];
  for (uint32_t i = 0; i < n_gpus; i++)
    if (graph->lane_of_gpu[i] != RA_NONE)
      gpu[begin[graph->lane_of_gpu[i] + 1]++] = i;
  *out_begin = begin;
  return gpu;
}

void
ra_task_graph_free(RaTaskGraph *graph)
{
  if (!graph)
    return;
  ra_arena_free(graph->arena);
  g_free(graph);
}
