/* Flows summed by sender and receiver. */
#include "config.h"

#include "graph/augment/realloc_impl.h"

/* Above this a table of all pairs of a node takes more than it saves. */
#define WIDTH_MAX 64

/* Open addressing; an empty slot has no elements, a flow always has some. */
typedef struct {
  uint32_t from;     /* GPU */
  uint32_t to;       /* GPU */
  uint64_t n_params; /* so far; 0: an empty slot */
} Pair;

struct _RaMerge {
  uint32_t n_gpus;  /* of the cluster */
  uint32_t width;   /* GPUs of a node; 0: too many, all pairs are hashed */
  uint64_t *intra;  /* (n_gpus, width) elements to a GPU from its node's */
  Pair *pairs;      /* (n_slots) the others */
  uint32_t n_slots; /* power of two */
  uint32_t n_pairs; /* at most half the slots */
};

RaMerge *
ra_merge_new(uint32_t n_gpus, uint32_t gpus_per_node)
{
  RaMerge *merge = g_new0(RaMerge, 1);

  merge->n_gpus = n_gpus;
  merge->width = gpus_per_node <= WIDTH_MAX ? gpus_per_node : 0;
  merge->intra = g_new0(uint64_t, (gsize)n_gpus * merge->width);
  merge->n_slots = 1024;
  merge->pairs = g_new0(Pair, merge->n_slots);
  return merge;
}

void
ra_merge_free(RaMerge *merge)
{
  if (!merge)
    return;
  g_free(merge->intra);
  g_free(merge->pairs);
  g_free(merge);
}

static Pair *
find_slot(const RaMerge *merge, uint32_t from, uint32_t to)
{
  /* Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high bits are the best */
  uint64_t key = ((uint64_t)to << 32 | from) * UINT64_C(0x9e3779b97f4a7c15);
  uint32_t i = (uint32_t)(key >> 32) & (merge->n_slots - 1);

  while (merge->pairs[i].n_params > 0 &&
         (merge->pairs[i].from != from || merge->pairs[i].to != to))
    i = (i + 1) & (merge->n_slots - 1);
  return &merge->pairs[i];
}

static void
double_slots(RaMerge *merge)
{
  Pair *old = merge->pairs;
  uint32_t n_old = merge->n_slots;

  merge->n_slots *= 2;
  merge->pairs = g_new0(Pair, merge->n_slots);
  for (uint32_t i = 0; i < n_old; i++)
    if (old[i].n_params > 0)
      *find_slot(merge, old[i].from, old[i].to) = old[i];
  g_free(old);
}

void
ra_merge_flow(const RaFlow *flow, gpointer data)
{
  RaMerge *merge = data;
  uint32_t width = merge->width;

  if (width > 0 && flow->from / width == flow->to / width) {
    merge->intra[(gsize)flow->to * width + flow->from % width] +=
        flow->n_params;
    return;
  }
  Pair *pair = find_slot(merge, flow->from, flow->to);
  if (pair->n_params == 0) {
    pair->from = flow->from;
    pair->to = flow->to;
    merge->n_pairs++;
  }
  pair->n_params += flow->n_params;
  if (merge->n_pairs > merge->n_slots / 2)
    double_slots(merge);
}

/* Appends what the tables hold, in no order that matters. */
static GArray *
collect(const RaMerge *merge, guint element_bytes)
{
  GArray *moves = g_array_new(FALSE, FALSE, sizeof(RaMove));

  for (uint32_t i = 0; i < merge->n_slots; i++) {
    const Pair *p = &merge->pairs[i];
    RaMove move = {p->from, p->to, p->n_params * element_bytes};
    if (p->n_params > 0)
      g_array_append_val(moves, move);
  }
  for (gsize i = 0; i < (gsize)merge->n_gpus * merge->width; i++) {
    uint32_t to = (uint32_t)(i / merge->width);
    uint32_t from = to - to % merge->width + (uint32_t)(i % merge->width);
    RaMove move = {from, to, merge->intra[i] * element_bytes};
    if (move.bytes > 0)
      g_array_append_val(moves, move);
  }
  return moves;
}

/* One stable counting pass by `from` or `to`; returns the most of one GPU. */
static uint32_t
counting_pass(const RaMove *moves, gsize n, uint32_t n_gpus, gboolean by_from,
              RaMove *out)
{
  g_autofree gsize *place = g_new0(gsize, (gsize)n_gpus + 1);
  gsize most = 0;

  for (gsize i = 0; i < n; i++)
    place[(by_from ? moves[i].from : moves[i].to) + 1]++;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) {
    most = MAX(most, place[gpu + 1]);
    place[gpu + 1] += place[gpu];
  }
  for (gsize i = 0; i < n; i++)
    out[place[by_from ? moves[i].from : moves[i].to]++] = moves[i];
  return (uint32_t)most;
}

void
ra_merge_take(const RaMerge *merge, guint element_bytes, RaRealloc *realloc)
{
  GArray *moves = collect(merge, element_bytes);
  gsize n = moves->len;
  RaMove *first = (RaMove *)(void *)g_array_free(moves, FALSE);
  g_autofree RaMove *second = g_new(RaMove, n);
  uint32_t n_in = counting_pass(first, n, merge->n_gpus, FALSE, second);
  uint32_t n_out = counting_pass(second, n, merge->n_gpus, TRUE, first);

  realloc->moves = first;
  realloc->n_moves = n;
  realloc->load.n_steps = MAX(n_in, n_out);
  for (gsize i = 0; i < n; i++)
    realloc->load.total_bytes += first[i].bytes;
}
