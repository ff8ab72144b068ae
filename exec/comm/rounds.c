/* Rounds from slices: windows, messages and their order. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "exec/comm/rounds_impl.h"

static gboolean
overlaps(const RaSlice *a, const RaSlice *b)
{
  return a->row < b->row + b->n_rows && b->row < a->row + a->n_rows &&
         a->col < b->col + b->n_cols && b->col < a->col + a->n_cols;
}

/* Rounds of the window that are over when @rank has what @s is of. */
static uint32_t
depth_at(const RaRoundWork *w, uint32_t rank, const RaSlice *s)
{
  uint32_t depth = 0;

  for (guint i = 0; i < w->got[rank]->len; i++) {
    const RaRoundGot *got = &g_array_index(w->got[rank], RaRoundGot, i);

    if (overlaps(ra_round_slice_at(w, got->slice), s))
      depth = MAX(depth, got->depth);
  }
  return depth;
}

static void
add_message(RaRoundWork *w, uint32_t slice, uint32_t root, uint32_t to,
            const RaRoundTree *tree, const RaRoundWindow *window)
{
  const RaSlice *s = ra_round_slice_at(w, slice);
  uint32_t depth = depth_at(w, root, s);
  RaRoundMessage m = {.round = window->first_round + depth,
                      .from = root,
                      .to = to,
                      .set = tree ? tree->set : RA_NONE,
                      .first_piece = slice,
                      .n_pieces = 1,
                      .n_elements = ra_slice_n(s)};
  RaRoundGot got = {slice, depth + 1};

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
add_tensor(RaRoundWork *w, guint first, guint end, RaRoundWindow *window)
{
  g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(uint32_t[2]));
  guint before = w->messages->len;

  for (guint i = first; i < end; i++) {
    const RaRoundTree *tree = &g_array_index(w->trees, RaRoundTree, i);

    for (guint k = 0; k < (tree->set != RA_NONE ? 1 : tree->slices->len); k++) {
      uint32_t pair[2] = {g_array_index(tree->slices, uint32_t, k), i};

      g_array_append_val(order, pair);
    }
  }
  g_array_sort(order, compare_indices);
  for (guint i = 0; i < order->len; i++) {
    const uint32_t *pair =
        (const uint32_t *)(gconstpointer)order->data + 2 * (gsize)i;
    const RaRoundTree *tree = &g_array_index(w->trees, RaRoundTree, pair[1]);
    const RaSlice *s = ra_round_slice_at(w, pair[0]);

    if (tree->set != RA_NONE)
      add_message(w, pair[0], tree->root, RA_NONE, tree, window);
    else
      add_message(w, pair[0], ra_round_from_of(w, s), ra_round_to_of(w, s),
                  NULL, window);
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
add_load(RaRoundWork *w, guint first, guint end, uint64_t most)
{
  gboolean is_over = FALSE;

  for (guint i = first; i < end; i++) {
    const RaRoundTree *tree = &g_array_index(w->trees, RaRoundTree, i);

    for (guint k = 0; k < tree->slices->len; k++) {
      const RaSlice *s =
          ra_round_slice_at(w, g_array_index(tree->slices, uint32_t, k));
      uint32_t from = ra_round_from_of(w, s), to = ra_round_to_of(w, s);

      w->out[from] += ra_slice_n(s);
      w->in[to] += ra_slice_n(s);
      is_over = is_over || w->out[from] > most || w->in[to] > most;
    }
  }
  return is_over;
}

static void
add_windows(RaRoundWork *w, uint64_t most)
{
  RaRoundWindow window = {0};
  gboolean has_any = FALSE;

  for (guint first = 0, end; first < w->trees->len; first = end) {
    uint32_t tensor =
        ra_round_slice_at(w, g_array_index(w->trees, RaRoundTree, first).slice)
            ->tensor;

    for (end = first;
         end < w->trees->len &&
         ra_round_slice_at(w, g_array_index(w->trees, RaRoundTree, end).slice)
                 ->tensor == tensor;)
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
merge_messages(RaRoundWork *w, RaRounds *r)
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
  RaRoundWork w = {.slices = slices,
                   .rank_of_gpu = rank_of_gpu,
                   .n_ranks = n_ranks,
                   .trees = g_array_new(FALSE, FALSE, sizeof(RaRoundTree)),
                   .messages =
                       g_array_new(FALSE, FALSE, sizeof(RaRoundMessage)),
                   .windows = g_array_new(FALSE, FALSE, sizeof(RaRoundWindow)),
                   .got = g_new(GArray *, n_ranks),
                   .in = g_new0(uint64_t, n_ranks),
                   .out = g_new0(uint64_t, n_ranks)};

  r->n_ranks = n_ranks;
  for (uint32_t i = 0; i < n_ranks; i++)
    w.got[i] = g_array_new(FALSE, FALSE, sizeof(RaRoundGot));
  ra_rounds_grow_trees(&w);
  ra_rounds_pick_sets(&w, limits->most_sets, r);
  add_windows(&w, limits->most_elements);
  merge_messages(&w, r);
  order_messages(r);
  for (uint32_t i = 0; i < n_ranks; i++)
    g_array_unref(w.got[i]);
  for (guint i = 0; i < w.trees->len; i++) {
    g_array_unref(g_array_index(w.trees, RaRoundTree, i).ranks);
    g_array_unref(g_array_index(w.trees, RaRoundTree, i).slices);
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
