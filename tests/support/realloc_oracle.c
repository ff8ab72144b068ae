/* The oracle for reallocations, element by element. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/realloc_oracle.h"

enum { HELD = 1, NEEDED = 2, ARRIVED = 4 };

/* Mixed radix, axis[0] fastest. */
static uint32_t
coord(const RaCallPlan *plan, uint32_t rank, RaAxis axis)
{
  for (int i = 0; i < RA_N_AXES; i++) {
    uint32_t degree = plan->axis[i] == RA_AXIS_TP   ? plan->tp
                      : plan->axis[i] == RA_AXIS_CP ? plan->cp
                      : plan->axis[i] == RA_AXIS_DP ? plan->dp
                                                    : plan->pp;
    if (plan->axis[i] == axis)
      return rank % degree;
    rank /= degree;
  }
  abort();
}

/* The pipeline rank of a layer, by walking the virtual stages. */
static uint32_t
stage_of_layer(const RaCallPlan *plan, uint32_t layer)
{
  uint32_t v = 0;

  while (layer >= plan->stage_layers[v])
    layer -= plan->stage_layers[v++];
  return v % plan->pp;
}

static gboolean
on_stage(const RaModel *model, const RaCallPlan *plan, uint32_t index,
         const RaTensor *t, uint32_t p)
{
  gboolean tied = model->tied_embeddings && model->head == RA_HEAD_LM;

  if (t->layer >= 0)
    return stage_of_layer(plan, (uint32_t)t->layer) == p;
  if (t->kind == RA_TENSOR_EMBEDDING)
    return p == 0 || (tied && p == plan->pp - 1);
  /* a norm among the first three tensors is the embedding's */
  if (t->kind == RA_TENSOR_POSITION || (t->kind == RA_TENSOR_NORM && index < 3))
    return p == 0;
  return p == plan->pp - 1;
}

/* TRUE if tp rank @rank of @tp holds unit @unit of @n. The owner of a unit is
 * the only i with floor(i n / tp) <= unit < floor((i + 1) n / tp), that is the
 * largest i with i n < (unit + 1) tp. */
static gboolean
owns(uint64_t unit, uint64_t n, uint32_t tp, uint32_t rank, gboolean kv)
{
  if (kv && n < tp)
    return rank / (tp / n) == unit;
  return ((unit + 1) * tp - 1) / n == rank;
}

/* The number of a rank among those of its tp and pp coordinates: count the
 * lower ones. */
static uint32_t
data_rank(const RaCallPlan *plan, uint32_t rank)
{
  uint32_t n = 0;

  for (uint32_t lower = 0; lower < rank; lower++)
    n += coord(plan, lower, RA_AXIS_TP) == coord(plan, rank, RA_AXIS_TP) &&
         coord(plan, lower, RA_AXIS_PP) == coord(plan, rank, RA_AXIS_PP);
  return n;
}

/* A rank as experts count it: in Megatron-Core's order, expert-tp x ep x the
 * rest, of a stage's ranks one tp group after the other. */
typedef struct {
  uint32_t tp; /* < expert-tp */
  uint32_t ep; /* < ep */
  uint32_t dp; /* replica of the experts */
} Expert;

static Expert
expert_rank(const RaCallPlan *plan, uint32_t rank)
{
  uint32_t n_tp = plan->expert_tp ? plan->expert_tp : plan->tp;
  uint32_t n_ep = MAX(plan->ep, 1);
  Expert e = {0};

  for (uint32_t n =
           data_rank(plan, rank) * plan->tp + coord(plan, rank, RA_AXIS_TP);
       n > 0; n--)
    if (++e.tp == n_tp) {
      e.tp = 0;
      if (++e.ep == n_ep) {
        e.ep = 0;
        e.dp++;
      }
    }
  return e;
}

/* TRUE if rank @tp_rank of @tp has row (column, if split by ROW) @line. */
static gboolean
tp_owns(const RaTensor *t, uint32_t tp, uint32_t tp_rank, uint64_t line)
{
  switch (t->split) {
  case RA_SPLIT_COLUMN:
    return owns(line / t->grain, t->rows / t->grain, tp, tp_rank,
                t->kind == RA_TENSOR_K || t->kind == RA_TENSOR_V);
  case RA_SPLIT_ROW:
    return owns(line / t->grain, t->cols / t->grain, tp, tp_rank, FALSE);
  case RA_SPLIT_VOCAB: /* padded to a multiple of tp, then evenly */
    return line / ((t->rows + tp - 1) / tp) == tp_rank;
  default:
    return TRUE;
  }
}

/* Ranks to which zero 3 hands out what a tp rank has, and the number of @rank
 * among them: a group of neighbours along dp, the cp ranks of each in turn.
 * Where experts are spread they are all data ranks in their order, and of an
 * expert its replicas. */
static uint32_t
shard_of(const RaCallPlan *plan, uint32_t rank, gboolean is_expert,
         uint32_t *out_n)
{
  uint32_t n_tp = plan->expert_tp ? plan->expert_tp : plan->tp;
  uint32_t n_ep = MAX(plan->ep, 1);
  gboolean spreads = n_ep > 1 || n_tp < plan->tp;

  *out_n = plan->zero_group * plan->cp;
  if (!spreads)
    return coord(plan, rank, RA_AXIS_DP) % plan->zero_group * plan->cp +
           coord(plan, rank, RA_AXIS_CP);
  if (!is_expert)
    return data_rank(plan, rank);
  *out_n = plan->tp * plan->dp * plan->cp / (n_tp * n_ep);
  return expert_rank(plan, rank).dp;
}

/* Zero 3: the lines that a tp rank has are numbered and handed out evenly. */
gboolean
ra_oracle_holds(const RaModel *model, const RaCallPlan *plan, uint32_t rank,
                uint32_t index, const RaTensor *t, uint64_t row, uint64_t col)
{
  uint32_t tp = plan->tp, tp_rank = coord(plan, rank, RA_AXIS_TP);
  uint64_t line = t->split == RA_SPLIT_ROW ? col : row;
  uint64_t n_lines = t->split == RA_SPLIT_ROW ? t->cols : t->rows;
  uint64_t n_before = 0, n = 0;
  uint32_t shard, n_shards;

  if (t->expert >= 0) {
    Expert e = expert_rank(plan, rank);

    if ((uint32_t)t->expert / (model->n_experts / MAX(plan->ep, 1)) != e.ep)
      return FALSE;
    tp = plan->expert_tp ? plan->expert_tp : plan->tp;
    tp_rank = e.tp;
  }
  if (!on_stage(model, plan, index, t, coord(plan, rank, RA_AXIS_PP)) ||
      !tp_owns(t, tp, tp_rank, line))
    return FALSE;
  if (plan->zero < 3)
    return TRUE;
  for (uint64_t i = 0; i < n_lines; i++) {
    gboolean own = tp_owns(t, tp, tp_rank, i);
    n += own;
    n_before += own && i < line;
  }
  shard = shard_of(plan, rank, t->expert >= 0, &n_shards);
  return owns(n_before, n, n_shards, shard, FALSE);
}

/* Every tensor of every GPU, one byte an element. */
typedef struct {
  uint32_t n_tensors;
  uint64_t *first;  /* (n_tensors + 1) element of a GPU's row */
  uint64_t *n_cols; /* (n_tensors) */
  uint8_t *state;   /* (GPUs, first[n_tensors]) HELD | NEEDED | ARRIVED */
  uint64_t *flow;   /* (GPUs, GPUs) elements */
  uint32_t *group;  /* (GPUs) that serve each other; RA_NONE: served by all */
  uint32_t n_gpus;  /* of the cluster */
  uint32_t width;   /* GPUs of a node */
  RaReallocScheme scheme;
} World;

static uint8_t *
element(const World *w, uint32_t gpu, uint32_t tensor, uint64_t row,
        uint64_t col)
{
  return w->state + gpu * w->first[w->n_tensors] + w->first[tensor] +
         row * w->n_cols[tensor] + col;
}

/* TRUE if @gpu is in @mesh. */
static gboolean
is_in(const World *w, const RaMesh *mesh, uint32_t gpu)
{
  uint32_t node = gpu / w->width;
  uint32_t slot = gpu % w->width;

  for (uint32_t i = 0; i < mesh->n_runs; i++)
    if (node >= mesh->runs[i].first &&
        node - mesh->runs[i].first < mesh->runs[i].n &&
        slot >= mesh->first_gpu && slot - mesh->first_gpu < mesh->gpus_per_node)
      return TRUE;
  return FALSE;
}

/* Sets @flag on all elements of GPU @gpu that @rank of @plan holds, or on
 * all. */
static void
mark_gpu(const World *w, const RaModel *model, const RaCallPlan *plan,
         uint32_t rank, uint32_t gpu, uint8_t flag, gboolean all)
{
  for (uint32_t i = 0; i < w->n_tensors; i++) {
    RaTensor t;
    ra_model_tensor(model, i, &t);
    for (uint64_t k = 0; k < t.rows * t.cols; k++) {
      uint64_t row = k / t.cols, col = k % t.cols;
      if (all || ra_oracle_holds(model, plan, rank, i, &t, row, col))
        *element(w, gpu, i, row, col) |= flag;
    }
  }
}

static void
mark(const World *w, const RaOracleCase *c, const RaCallPlan *plan,
     uint8_t flag, gboolean all)
{
  uint32_t rank = 0;

  for (uint32_t gpu = 0; gpu < w->n_gpus; gpu++) {
    if (!is_in(w, &plan->mesh, gpu))
      continue;
    mark_gpu(w, c->model, plan, rank, gpu, flag, all);
    rank++;
  }
}

/* Data ranks from which on all tp ranks hold the experts that they hold at data
 * rank 0 again: those of a group that gathers. */
static uint32_t
n_gathering(const RaCallPlan *plan)
{
  uint32_t n = 1, tp = plan->expert_tp ? plan->expert_tp : plan->tp;

  while (n * plan->tp % (tp * MAX(plan->ep, 1)) != 0)
    n++;
  return n;
}

/* A gather's groups are the replicas of the source, (dp, cp): some together
 * hold the experts. */
static void
mark_groups(const World *w, const RaOracleCase *c)
{
  uint32_t rank = 0;

  for (uint32_t gpu = 0; gpu < w->n_gpus; gpu++) {
    w->group[gpu] = RA_NONE;
    if (w->scheme != RA_REALLOC_ALL_GATHER || !is_in(w, &c->from.mesh, gpu))
      continue;
    w->group[gpu] = data_rank(&c->from, rank) / n_gathering(&c->from);
    rank++;
  }
}

static void
world_init(World *w, const RaOracleCase *c, RaReallocScheme scheme)
{
  w->n_tensors = ra_model_n_tensors(c->model);
  w->first = g_new0(uint64_t, w->n_tensors + 1);
  w->n_cols = g_new0(uint64_t, w->n_tensors);
  for (uint32_t i = 0; i < w->n_tensors; i++) {
    RaTensor t;
    ra_model_tensor(c->model, i, &t);
    w->n_cols[i] = t.cols;
    w->first[i + 1] = w->first[i] + t.rows * t.cols;
  }
  w->n_gpus = c->cluster.n_nodes * c->cluster.gpus_per_node;
  w->width = c->cluster.gpus_per_node;
  w->scheme = scheme;
  w->group = g_new0(uint32_t, w->n_gpus);
  mark_groups(w, c);
  w->state = g_new0(uint8_t, w->n_gpus * w->first[w->n_tensors]);
  w->flow = g_new0(uint64_t, w->n_gpus * w->n_gpus);
  mark(w, c, &c->from, HELD, FALSE);
  mark(w, c, &c->to, NEEDED, FALSE);
  if (scheme == RA_REALLOC_ALL_GATHER)
    mark(w, c, &c->from, NEEDED, TRUE);
}

static void
world_clear(World *w)
{
  g_free(w->first);
  g_free(w->n_cols);
  g_free(w->state);
  g_free(w->flow);
  g_free(w->group);
}

/* TRUE if a GPU of @to's node could have given it the element: any that held
 * it, and where GPUs relay, any that has it by now. */
static gboolean
is_near(const World *w, uint32_t to, uint32_t tensor, uint64_t row,
        uint64_t col)
{
  uint8_t has = w->scheme == RA_REALLOC_P2P ? HELD : HELD | ARRIVED;
  uint32_t node = to / w->width;

  for (uint32_t gpu = node * w->width; gpu < (node + 1) * w->width; gpu++)
    if ((w->group[to] == RA_NONE || w->group[gpu] == w->group[to]) &&
        *element(w, gpu, tensor, row, col) & has)
      return TRUE;
  return FALSE;
}

static const char *
copy_slice(World *w, const RaSlice *s)
{
  for (uint64_t row = s->row; row < s->row + s->n_rows; row++)
    for (uint64_t col = s->col; col < s->col + s->n_cols; col++) {
      uint8_t *to = element(w, s->to, s->tensor, row, col);
      if (!(*element(w, s->from, s->tensor, row, col) & (HELD | ARRIVED)))
        return "the sender does not hold it";
      if (*to & HELD)
        return "the receiver held it";
      if (*to & ARRIVED)
        return "it arrives twice";
      if (!(*to & NEEDED))
        return "nobody needs it";
      if (s->from / w->width != s->to / w->width &&
          is_near(w, s->to, s->tensor, row, col))
        return "it crosses the network though the node has it";
      *to |= ARRIVED;
      w->flow[s->from * w->n_gpus + s->to]++;
    }
  return NULL;
}

/* Load of the busiest GPU by the flows. */
static RaReallocLoad
sum_load(const World *w)
{
  RaReallocLoad load = {0};

  for (uint32_t a = 0; a < w->n_gpus; a++) {
    uint64_t sums[2][2] = {{0}}; /* (out, in) (intra, inter) elements */
    uint32_t n[2] = {0};         /* flows out, in */
    for (uint32_t b = 0; b < w->n_gpus; b++)
      for (uint32_t in = 0; in < 2; in++) {
        uint64_t x = w->flow[in ? b * w->n_gpus + a : a * w->n_gpus + b];
        sums[in][a / w->width != b / w->width] += x;
        n[in] += x > 0;
      }
    load.total_bytes += sums[0][0] + sums[0][1];
    load.n_steps = MAX(load.n_steps, MAX(n[0], n[1]));
    load.max_intra_bytes =
        MAX(load.max_intra_bytes, MAX(sums[0][0], sums[1][0]));
    load.max_inter_bytes =
        MAX(load.max_inter_bytes, MAX(sums[0][1], sums[1][1]));
  }
  load.total_bytes *= RA_ORACLE_ELEMENT_BYTES;
  load.max_intra_bytes *= RA_ORACLE_ELEMENT_BYTES;
  load.max_inter_bytes *= RA_ORACLE_ELEMENT_BYTES;
  return load;
}

static const char *
judge_moves(const World *w, const RaRealloc *realloc)
{
  gsize n = 0;

  for (uint32_t from = 0; from < w->n_gpus; from++)
    for (uint32_t to = 0; to < w->n_gpus; to++) {
      uint64_t bytes = w->flow[from * w->n_gpus + to] * RA_ORACLE_ELEMENT_BYTES;
      if (bytes == 0)
        continue;
      if (n >= realloc->n_moves || realloc->moves[n].from != from ||
          realloc->moves[n].to != to || realloc->moves[n].bytes != bytes)
        return "a move is not the sum of its slices";
      n++;
    }
  return n == realloc->n_moves ? NULL : "a move has no slices";
}

static const char *
judge_load(const World *w, const RaRealloc *realloc)
{
  RaReallocLoad load = sum_load(w);
  uint64_t n_held = 0, n_needed = 0;

  for (uint64_t i = 0; i < w->n_gpus * w->first[w->n_tensors]; i++) {
    if (!(w->state[i] & NEEDED))
      continue;
    n_needed++;
    if (w->state[i] & HELD)
      n_held++;
    else if (!(w->state[i] & ARRIVED))
      return "it never arrives";
  }
  load.held_bytes = n_held * RA_ORACLE_ELEMENT_BYTES;
  if (load.held_bytes + load.total_bytes != n_needed * RA_ORACLE_ELEMENT_BYTES)
    return "held and moved do not sum to needed";
  if (load.total_bytes != realloc->load.total_bytes ||
      load.held_bytes != realloc->load.held_bytes)
    return "the total is wrong";
  if (load.max_intra_bytes != realloc->load.max_intra_bytes ||
      load.max_inter_bytes != realloc->load.max_inter_bytes ||
      load.n_steps != realloc->load.n_steps)
    return "the busiest GPU is wrong";
  return NULL;
}

const char *
ra_oracle_judge(const RaOracleCase *c, RaReallocScheme scheme,
                const GArray *slices, const RaRealloc *realloc)
{
  World w;
  const char *fault = NULL;

  world_init(&w, c, scheme);
  for (guint i = 0; i < slices->len && !fault; i++)
    fault = copy_slice(&w, &g_array_index(slices, RaSlice, i));
  if (!fault)
    fault = judge_moves(&w, realloc);
  if (!fault)
    fault = judge_load(&w, realloc);
  world_clear(&w);
  return fault;
}

static void
add_slice(const RaSlice *slice, gpointer data)
{
  g_array_append_vals(data, slice, 1);
}

GArray *
ra_oracle_slices(const RaOracleCase *c, RaReallocScheme scheme)
{
  GArray *slices = g_array_new(FALSE, FALSE, sizeof(RaSlice));

  ra_realloc_slices(c->model, &c->from, &c->to, &c->cluster, scheme, add_slice,
                    slices);
  return slices;
}
