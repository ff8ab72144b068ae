/* Trees of slices: a rectangle that ranks forward to each other. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "exec/comm/rounds_impl.h"

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
static RaRoundTree *
tree_with(const RaRoundWork *w, const GArray *of, uint32_t rank)
{
  for (guint i = 0; i < of->len; i++) {
    RaRoundTree *tree =
        &g_array_index(w->trees, RaRoundTree, g_array_index(of, uint32_t, i));

    if (has_rank(tree->ranks, rank))
      return tree;
  }
  return NULL;
}

void
ra_rounds_grow_trees(RaRoundWork *w)
{
  g_autoptr(GHashTable) by_rect = g_hash_table_new_full(
      rect_hash, rect_equal, NULL, (GDestroyNotify)g_array_unref);

  for (guint i = 0; i < w->slices->len; i++) {
    const RaSlice *s = ra_round_slice_at(w, i);
    uint32_t from = ra_round_from_of(w, s), to = ra_round_to_of(w, s);
    GArray *of = g_hash_table_lookup(by_rect, s);
    RaRoundTree *tree;

    if (!of) {
      of = g_array_new(FALSE, FALSE, sizeof(uint32_t));
      g_hash_table_insert(by_rect, (gpointer)(guintptr)s, of);
    }
    tree = tree_with(w, of, from);
    if (!tree) {
      RaRoundTree new = {
          .slice = i, .root = from, .set = RA_NONE, .n = ra_slice_n(s)};
      uint32_t index = w->trees->len;

      new.ranks = g_array_new(FALSE, FALSE, sizeof(uint32_t));
      new.slices = g_array_new(FALSE, FALSE, sizeof(uint32_t));
      g_array_append_val(new.ranks, from);
      g_array_append_val(w->trees, new);
      g_array_append_val(of, index);
      tree = &g_array_index(w->trees, RaRoundTree, index);
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

void
ra_rounds_pick_sets(RaRoundWork *w, uint32_t most, RaRounds *r)
{
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Candidate));
  g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(uint32_t));

  for (guint i = 0; i < w->trees->len; i++) {
    RaRoundTree *tree = &g_array_index(w->trees, RaRoundTree, i);
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
    RaRoundTree *tree = &g_array_index(w->trees, RaRoundTree, i);
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
