/* Rounds from slices: trees of slices, in which ranks forward a rectangle to
 * each other, windows, messages and their order. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "exec/comm/rounds.h"

/* A tree under construction: slices that spread one rectangle from one rank. */
typedef struct {
  uint32_t slice; /* first slice */
  uint32_t root;  /* rank that has the rectangle */
  GArray *ranks;  /* uint32_t: the root and the ranks that receive it; NULL:
                     merged into another tree */
  GArray *slices; /* uint32_t, in their order */
  uint32_t set;   /* set of its broadcast; RA_NONE: sent slice by slice */
  uint64_t n;     /* elements of the rectangle */
} Tree;

/* A slice that a rank receives of the current tensor. */
typedef struct {
  uint32_t slice;
  uint32_t depth; /* rounds of the window after which it has arrived */
} Got;

typedef struct {
  const GArray *slices;
  const uint32_t *rank_of_gpu;
  uint32_t n_ranks;
  GArray *trees;      /* Tree, by tensor */
  GArray *messages;   /* RaRoundMessage, one per slice or tree; first_piece
                         is the slice */
  GArray *windows;    /* RaRoundWindow */
  GArray **got;       /* (n_ranks) of Got, for the current tensor */
  uint64_t *in, *out; /* (n_ranks) elements into and out of each rank, in the
                         current window */
} Work;

static const RaSlice *
slice_at(const Work *w, uint32_t i)
{
  return &g_array_index(w->slices, RaSlice, i);
}

static uint64_t
slice_n(const RaSlice *s)
{
  return s->n_rows * s->n_cols;
}

static uint32_t
from_of(const Work *w, const RaSlice *s)
{
  return w->rank_of_gpu[s->from];
}

static uint32_t
to_of(const Work *w, const RaSlice *s)
{
  return w->rank_of_gpu[s->to];
}

/* A set of ranks that a broadcast could go to. */
typedef struct {
  GArray *ranks;   /* ascending, borrowed */
  uint64_t n;      /* elements that go to it */
  uint32_t number; /* number of the set, RA_NONE: not chosen */
} Candidate;

static gboolean
is_same(const RaSlice *a, const RaSlice *b)
{
  return a->tensor == b->tensor && a->row == b->row && a->col == b->col &&
         a->n_rows == b->n_rows && a->n_cols == b->n_cols;
}

static guint
rect_hash(gconstpointer key)
{
  const RaSlice *s = key;

  return (guint)((s->row * 31 + s->n_rows) * 31 + s->col * 17 + s->n_cols) ^
         s->tensor * 2654435761u;
}

static gboolean
rect_equal(gconstpointer a, gconstpointer b)
{
  return is_same(a, b);
}

static gboolean
has_rank(const GArray *ranks, uint32_t rank)
{
  for (guint i = 0; i < ranks->len; i++)
    if (g_array_index(ranks, uint32_t, i) == rank)
      return TRUE;
  return FALSE;
}

/* The tree among @of (of indices) in which @rank has the rectangle; a rank is
 * in one only: no other brings it again. */
static Tree *
tree_with(const Work *w, const GArray *of, uint32_t rank)
{
  for (guint i = 0; i < of->len; i++) {
    Tree *tree = &g_array_index(w->trees, Tree, g_array_index(of, uint32_t, i));

    if (has_rank(tree->ranks, rank))
      return tree;
  }
  return NULL;
}

/* Makes the trees of all slices. */
static void
grow_trees(Work *w)
{
  g_autoptr(GHashTable) by_rect = g_hash_table_new_full(
      rect_hash, rect_equal, NULL, (GDestroyNotify)g_array_unref);

  for (guint i = 0; i < w->slices->len; i++) {
    const RaSlice *s = slice_at(w, i);
    uint32_t from = from_of(w, s), to = to_of(w, s);
    GArray *of = g_hash_table_lookup(by_rect, s);
    Tree *tree;

    if (!of) {
      of = g_array_new(FALSE, FALSE, sizeof(uint32_t));
      g_hash_table_insert(by_rect, (gpointer)(guintptr)s, of);
    }
    tree = tree_with(w, of, from);
    if (!tree) {
      Tree new = {.slice = i, .root = from, .set = RA_NONE, .n = slice_n(s)};
      uint32_t index = w->trees->len;

      new.ranks = g_array_new(FALSE, FALSE, sizeof(uint32_t));
      new.slices = g_array_new(FALSE, FALSE, sizeof(uint32_t));
      g_array_append_val(new.ranks, from);
      g_array_append_val(w->trees, new);
      g_array_append_val(of, index);
      tree = &g_array_index(w->trees, Tree, index);
    }
    g_array_append_val(tree->slices, i);
    if (!has_rank(tree->ranks, to))
      g_array_append_val(tree->ranks, to);
  }
}

static int
compare_ranks(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return (x > y) - (x < y);
}

static int
compare_sets(const void *a, const void *b)
{
  const Candidate *x = a, *y = b;
  guint n = MIN(x->ranks->len, y->ranks->len);

  for (guint i = 0; i < n; i++) {
    int order = compare_ranks(&g_array_index(x->ranks, uint32_t, i),
                              &g_array_index(y->ranks, uint32_t, i));

    if (order)
      return order;
  }
  return (x->ranks->len > y->ranks->len) - (x->ranks->len < y->ranks->len);
}

/* Most elements first. */
static int
compare_worth(const void *a, const void *b)
{
  const Candidate *x = a, *y = b;

  if (x->n != y->n)
    return x->n > y->n ? -1 : 1;
  return compare_sets(a, b);
}

/* Candidates that are the same set become one. */
static void
merge_candidates(GArray *all)
{
  guint n = 0;

  g_array_sort(all, compare_sets);
  for (guint i = 0; i < all->len; i++) {
    Candidate *c = &g_array_index(all, Candidate, i);
    Candidate *last = n ? &g_array_index(all, Candidate, n - 1) : NULL;

    if (last && compare_sets(last, c) == 0)
      last->n += c->n;
    else
      g_array_index(all, Candidate, n++) = *c;
  }
  g_array_set_size(all, n);
}

/* Chooses the sets that have a communicator, and stores them in the trees. */
static void
pick_sets(Work *w, uint32_t most, RaRounds *r)
{
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Candidate));
  g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(uint32_t));

  for (guint i = 0; i < w->trees->len; i++) {
    Tree *tree = &g_array_index(w->trees, Tree, i);
    Candidate c = {tree->ranks, tree->n, RA_NONE};

    g_array_sort(tree->ranks, compare_ranks);
    if (tree->ranks->len > 2 && most > 0)
      g_array_append_val(all, c);
  }
  merge_candidates(all);
  g_array_sort(all, compare_worth);
  g_array_set_size(all, MIN(all->len, most));
  g_array_sort(all, compare_sets);
  r->n_sets = all->len;
  r->set_begin = g_new0(uint32_t, all->len + 1);
  for (guint i = 0; i < all->len; i++) {
    const GArray *set = g_array_index(all, Candidate, i).ranks;

    g_array_append_vals(ranks, set->data, set->len);
    r->set_begin[i + 1] = ranks->len;
  }
  r->set_ranks = g_memdup2(ranks->data, MAX(ranks->len, 1) * sizeof(uint32_t));
  for (guint i = 0; i < w->trees->len; i++) {
    Tree *tree = &g_array_index(w->trees, Tree, i);
    Candidate c = {tree->ranks, 0, RA_NONE};
    const Candidate *found =
        tree->ranks->len > 2 && all->len > 0
            ? bsearch(&c, all->data, all->len, sizeof c, compare_sets)
            : NULL;

    if (found)
      tree->set =
          (uint32_t)(found - (const Candidate *)(gconstpointer)all->data);
  }
}

static gboolean
overlaps(const RaSlice *a, const RaSlice *b)
{
  return a->row < b->row + b->n_rows && b->row < a->row + a->n_rows &&
         a->col < b->col + b->n_cols && b->col < a->col + a->n_cols;
}

/* Rounds of the window that are over when @rank has what @s is of. */
static uint32_t
depth_at(const Work *w, uint32_t rank, const RaSlice *s)
{
  uint32_t depth = 0;

  for (guint i = 0; i < w->got[rank]->len; i++) {
    const Got *got = &g_array_index(w->got[rank], Got, i);

    if (overlaps(slice_at(w, got->slice), s))
      depth = MAX(depth, got->depth);
  }
  return depth;
}

static void
add_message(Work *w, uint32_t slice, uint32_t root, uint32_t to,
            const Tree *tree, const RaRoundWindow *window)
{
  const RaSlice *s = slice_at(w, slice);
  uint32_t depth = depth_at(w, root, s);
  RaRoundMessage m = {.round = window->first_round + depth,
                      .from = root,
                      .to = to,
                      .set = tree ? tree->set : RA_NONE,
                      .first_piece = slice,
                      .n_pieces = 1,
                      .n_elements = slice_n(s)};
  Got got = {slice, depth + 1};

  g_array_append_val(w->messages, m);
  if (!tree)
    g_array_append_val(w->got[to], got);
  for (guint i = 0; tree && i < tree->ranks->len; i++) {
    uint32_t rank = g_array_index(tree->ranks, uint32_t, i);

    if (rank != root)
      g_array_append_val(w->got[rank], got);
  }
}

static int
compare_indices(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return (x > y) - (x < y);
}

/* The messages of trees @first to @end - 1, all of one tensor. */
static void
add_tensor(Work *w, guint first, guint end, RaRoundWindow *window)
{
  g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(uint32_t[2]));
  guint before = w->messages->len;

  for (guint i = first; i < end; i++) {
    const Tree *tree = &g_array_index(w->trees, Tree, i);

    for (guint k = 0; k < (tree->set != RA_NONE ? 1 : tree->slices->len); k++) {
      uint32_t pair[2] = {g_array_index(tree->slices, uint32_t, k), i};

      g_array_append_val(order, pair);
    }
  }
  g_array_sort(order, compare_indices);
  for (guint i = 0; i < order->len; i++) {
    const uint32_t *pair =
        (const uint32_t *)(gconstpointer)order->data + 2 * (gsize)i;
    const Tree *tree = &g_array_index(w->trees, Tree, pair[1]);
    const RaSlice *s = slice_at(w, pair[0]);

    if (tree->set != RA_NONE)
      add_message(w, pair[0], tree->root, RA_NONE, tree, window);
    else
      add_message(w, pair[0], from_of(w, s), to_of(w, s), NULL, window);
  }
  for (guint i = before; i < w->messages->len; i++)
    window->end_round =
        MAX(window->end_round,
            g_array_index(w->messages, RaRoundMessage, i).round + 1);
  for (uint32_t rank = 0; rank < w->n_ranks; rank++)
    g_array_set_size(w->got[rank], 0);
}

/* Adds what trees @first to @end - 1 bring to the loads of the window; whether
 * some rank has more than @most then. */
static gboolean
add_load(Work *w, guint first, guint end, uint64_t most)
{
  gboolean is_over = FALSE;

  for (guint i = first; i < end; i++) {
    const Tree *tree = &g_array_index(w->trees, Tree, i);

    for (guint k = 0; k < tree->slices->len; k++) {
      const RaSlice *s = slice_at(w, g_array_index(tree->slices, uint32_t, k));
      uint32_t from = from_of(w, s), to = to_of(w, s);

      w->out[from] += slice_n(s);
      w->in[to] += slice_n(s);
      is_over = is_over || w->out[from] > most || w->in[to] > most;
    }
  }
  return is_over;
}

static void
add_windows(Work *w, uint64_t most)
{
  RaRoundWindow window = {0};
  gboolean has_any = FALSE;

  for (guint first = 0, end; first < w->trees->len; first = end) {
    uint32_t tensor =
        slice_at(w, g_array_index(w->trees, Tree, first).slice)->tensor;

    for (end = first;
         end < w->trees->len &&
         slice_at(w, g_array_index(w->trees, Tree, end).slice)->tensor ==
             tensor;)
      end++;
    if (add_load(w, first, end, most) && has_any) {
      g_array_append_val(w->windows, window);
      window.first_tensor = tensor;
      window.first_round = window.end_round;
      memset(w->in, 0, w->n_ranks * sizeof *w->in);
      memset(w->out, 0, w->n_ranks * sizeof *w->out);
      add_load(w, first, end, most);
    }
    if (!has_any)
      window.first_tensor = tensor;
    has_any = TRUE;
    window.end_tensor = tensor + 1;
    add_tensor(w, first, end, &window);
  }
  if (has_any)
    g_array_append_val(w->windows, window);
}

/* ---- the result -----------------------------------------------------------*/

static int
compare_places(const RaRoundMessage *x, const RaRoundMessage *y)
{
  if (x->round != y->round)
    return x->round < y->round ? -1 : 1;
  if (x->set != y->set)
    return x->set < y->set ? -1 : 1;
  if (x->from != y->from)
    return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

static int
compare_messages(const void *a, const void *b)
{
  const RaRoundMessage *x = a, *y = b;
  int order = compare_places(x, y);

  return order ? order
               : (x->first_piece > y->first_piece) -
                     (x->first_piece < y->first_piece);
}

/* Sorted, with those between the same in a round as one. */
static void
merge_messages(Work *w, RaRounds *r)
{
  RaRoundMessage *all = (RaRoundMessage *)(gpointer)w->messages->data;
  uint32_t n = 0;

  g_array_sort(w->messages, compare_messages);
  r->pieces = g_new(uint32_t, w->messages->len + 1);
  for (guint i = 0; i < w->messages->len; i++) {
    RaRoundMessage m = all[i];

    r->pieces[i] = m.first_piece;
    if (n > 0 && compare_places(&all[n - 1], &m) == 0) {
      all[n - 1].n_pieces++;
      all[n - 1].n_elements += m.n_elements;
    } else {
      m.first_piece = i;
      all[n++] = m;
    }
  }
  r->n_messages = n;
  r->messages = g_memdup2(all, MAX(n, 1) * sizeof *all);
  r->n_windows = w->windows->len;
  r->windows =
      g_memdup2(w->windows->data, MAX(r->n_windows, 1) * sizeof *r->windows);
  r->n_rounds = r->n_windows ? r->windows[r->n_windows - 1].end_round : 0;
}

/* Ranks of a message, given one by one; whether there is an @i-th. */
static gboolean
rank_at(const RaRounds *r, const RaRoundMessage *m, uint32_t i, uint32_t *rank)
{
  if (m->set != RA_NONE) {
    if (i >= r->set_begin[m->set + 1] - r->set_begin[m->set])
      return FALSE;
    *rank = r->set_ranks[r->set_begin[m->set] + i];
    return TRUE;
  }
  *rank = i == 0 ? m->from : m->to;
  return i < 2;
}

static void
order_messages(RaRounds *r)
{
  g_autofree uint32_t *at = g_new0(uint32_t, r->n_ranks + 1);
  uint32_t rank;

  r->begin = g_new0(uint32_t, r->n_ranks + 1);
  for (uint32_t i = 0; i < r->n_messages; i++)
    for (uint32_t k = 0; rank_at(r, &r->messages[i], k, &rank); k++)
      r->begin[rank + 1]++;
  for (uint32_t i = 0; i < r->n_ranks; i++)
    at[i + 1] = r->begin[i + 1] += r->begin[i];
  r->order = g_new(uint32_t, r->begin[r->n_ranks] + 1);
  for (uint32_t i = 0; i < r->n_messages; i++)
    for (uint32_t k = 0; rank_at(r, &r->messages[i], k, &rank); k++)
      r->order[at[rank]++] = i;
}

RaRounds *
ra_rounds_new(const GArray *slices, const uint32_t *rank_of_gpu,
              uint32_t n_ranks, const RaRoundLimits *limits)
{
  RaRounds *r = g_new0(RaRounds, 1);
  Work w = {.slices = slices,
            .rank_of_gpu = rank_of_gpu,
            .n_ranks = n_ranks,
            .trees = g_array_new(FALSE, FALSE, sizeof(Tree)),
            .messages = g_array_new(FALSE, FALSE, sizeof(RaRoundMessage)),
            .windows = g_array_new(FALSE, FALSE, sizeof(RaRoundWindow)),
            .got = g_new(GArray *, n_ranks),
            .in = g_new0(uint64_t, n_ranks),
            .out = g_new0(uint64_t, n_ranks)};

  r->n_ranks = n_ranks;
  for (uint32_t i = 0; i < n_ranks; i++)
    w.got[i] = g_array_new(FALSE, FALSE, sizeof(Got));
  grow_trees(&w);
  pick_sets(&w, limits->most_sets, r);
  add_windows(&w, limits->most_elements);
  merge_messages(&w, r);
  order_messages(r);
  for (uint32_t i = 0; i < n_ranks; i++)
    g_array_unref(w.got[i]);
  for (guint i = 0; i < w.trees->len; i++) {
    g_array_unref(g_array_index(w.trees, Tree, i).ranks);
    g_array_unref(g_array_index(w.trees, Tree, i).slices);
  }
  g_array_unref(w.trees);
  g_array_unref(w.messages);
  g_array_unref(w.windows);
  g_free(w.got);
  g_free(w.in);
  g_free(w.out);
  return r;
}

void
ra_rounds_free(RaRounds *rounds)
{
  if (!rounds)
    return;
  g_free(rounds->messages);
  g_free(rounds->pieces);
  g_free(rounds->begin);
  g_free(rounds->order);
  g_free(rounds->windows);
  g_free(rounds->set_begin);
  g_free(rounds->set_ranks);
  g_free(rounds);
}

uint32_t
ra_rounds_in_set(const RaRounds *rounds, uint32_t set, uint32_t rank)
{
  for (uint32_t i = rounds->set_begin[set]; i < rounds->set_begin[set + 1]; i++)
    if (rounds->set_ranks[i] == rank)
      return i - rounds->set_begin[set];
  return RA_NONE;
}
