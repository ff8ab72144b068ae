/* Cutting the GPUs of a trace into lanes at every border of a row's ranks. */
#include "config.h"

#include "traces/trace_lanes.h"

/* The lanes of one set of ranks. */
typedef struct {
  guint begin; /* into `members` */
  guint n;     /* lanes */
} Cover;

struct _RaLanes {
  GArray *first;      /* uint32_t (n lanes) first GPU; UINT32_MAX: host */
  GArray *last;       /* uint32_t (n lanes) last GPU */
  GArray *members;    /* uint32_t: lanes, set by set */
  GArray *covers;     /* Cover, by number of the set */
  GHashTable *set_of; /* const char * (by address) -> number of the set + 1 */
};

static int
compare_numbers(const void *a, const void *b)
{
  uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;

  return p < q ? -1 : p > q;
}

/* The ranges of the rows' ranks are checked by the reader; a row that a program
 * added with others is taken to have none. */
static GArray *
parse_ranks(const char *ranks)
{
  GArray *ranges = g_array_new(FALSE, FALSE, sizeof(uint32_t));

  if (ranks[0] != '\0')
    ra_ranks_parse(ranks, ranges, NULL);
  return ranges;
}

/* Where a lane must begin: at the ends of @ranges and at nodes within them. */
static void
add_borders(const GArray *ranges, guint gpus_per_node, GArray *borders)
{
  for (guint i = 0; i < ranges->len; i += 2) {
    uint32_t first = g_array_index(ranges, uint32_t, i);
    uint32_t after = g_array_index(ranges, uint32_t, i + 1) + 1;

    /* Ranges that touch are one. */
    while (i + 2 < ranges->len &&
           g_array_index(ranges, uint32_t, i + 2) == after) {
      i += 2;
      after = g_array_index(ranges, uint32_t, i + 1) + 1;
    }
    g_array_append_val(borders, first);
    if (gpus_per_node > 0) {
      uint32_t at = first - first % gpus_per_node + gpus_per_node;

      for (; at < after; at += gpus_per_node)
        g_array_append_val(borders, at);
    }
    g_array_append_val(borders, after);
  }
}

static void
sort_unique(GArray *numbers)
{
  guint n = 0;

  g_array_sort(numbers, compare_numbers);
  for (guint i = 0; i < numbers->len; i++) {
    uint32_t value = g_array_index(numbers, uint32_t, i);

    if (n == 0 || g_array_index(numbers, uint32_t, n - 1) != value)
      g_array_index(numbers, uint32_t, n++) = value;
  }
  g_array_set_size(numbers, n);
}

/* The place of @value among sorted @numbers, which have it. */
static guint
find_number(const GArray *numbers, uint32_t value)
{
  guint low = 0, high = numbers->len;

  while (high - low > 1) {
    guint middle = low + (high - low) / 2;

    if (g_array_index(numbers, uint32_t, middle) <= value)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Marks the cells (from one border to the next) of @ranges, or lists them. */
static void
visit_cells(const GArray *ranges, const GArray *borders, guint8 *used,
            const guint *lane_of_cell, GArray *out_lanes)
{
  for (guint i = 0; i < ranges->len; i += 2) {
    uint32_t last = g_array_index(ranges, uint32_t, i + 1);
    guint cell = find_number(borders, g_array_index(ranges, uint32_t, i));

    for (; g_array_index(borders, uint32_t, cell) <= last; cell++) {
      if (used)
        used[cell] = 1;
      else
        g_array_append_val(out_lanes, lane_of_cell[cell]);
    }
  }
}

/* Numbers the different sets of ranks; gives back their ranges. */
static GPtrArray *
collect_sets(RaTraceLanes *lanes, const RaTrace *trace)
{
  GPtrArray *sets =
      g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  const char *last = NULL;

  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const char *ranks = ra_trace_row(trace, i)->ranks;

    if (ranks == last || g_hash_table_contains(lanes->set_of, ranks))
      continue;
    last = ranks;
    g_ptr_array_add(sets, parse_ranks(ranks));
    g_hash_table_insert(lanes->set_of, (char *)ranks,
                        GUINT_TO_POINTER(sets->len));
  }
  return sets;
}

/* Numbers the cells that some row uses: those are the lanes. */
static guint *
make_lanes(RaTraceLanes *lanes, const GPtrArray *sets, const GArray *borders)
{
  g_autofree guint8 *used = g_new0(guint8, borders->len + 1);
  guint *lane_of_cell = g_new0(guint, borders->len + 1);
  const uint32_t host = UINT32_MAX;
  gboolean has_host = FALSE;

  for (guint i = 0; i < sets->len; i++) {
    const GArray *ranges = g_ptr_array_index(sets, i);

    visit_cells(ranges, borders, used, NULL, NULL);
    has_host = has_host || ranges->len == 0;
  }
  for (guint cell = 0; cell + 1 < borders->len; cell++) {
    uint32_t last = g_array_index(borders, uint32_t, cell + 1) - 1;

    lane_of_cell[cell] = lanes->first->len;
    if (!used[cell])
      continue;
    g_array_append_val(lanes->first, g_array_index(borders, uint32_t, cell));
    g_array_append_val(lanes->last, last);
  }
  if (has_host) {
    g_array_append_val(lanes->first, host);
    g_array_append_val(lanes->last, host);
  }
  return lane_of_cell;
}

RaTraceLanes *
ra_trace_lanes_new(const RaTrace *trace, guint gpus_per_node)
{
  g_return_val_if_fail(trace != NULL, NULL);

  RaTraceLanes *lanes = g_new0(RaTraceLanes, 1);
  g_autoptr(GArray) borders = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  g_autoptr(GPtrArray) sets = NULL;
  g_autofree guint *lane_of_cell = NULL;
  uint32_t host;

  lanes->first = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  lanes->last = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  lanes->members = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  lanes->covers = g_array_new(FALSE, FALSE, sizeof(Cover));
  lanes->set_of = g_hash_table_new(g_direct_hash, g_direct_equal);
  sets = collect_sets(lanes, trace);
  for (guint i = 0; i < sets->len; i++)
    add_borders(g_ptr_array_index(sets, i), gpus_per_node, borders);
  sort_unique(borders);
  lane_of_cell = make_lanes(lanes, sets, borders);
  host = lanes->first->len - 1;
  for (guint i = 0; i < sets->len; i++) {
    const GArray *ranges = g_ptr_array_index(sets, i);
    Cover cover = {.begin = lanes->members->len};

    visit_cells(ranges, borders, NULL, lane_of_cell, lanes->members);
    if (ranges->len == 0)
      g_array_append_val(lanes->members, host);
    cover.n = lanes->members->len - cover.begin;
    g_array_append_val(lanes->covers, cover);
  }
  return lanes;
}

void
ra_trace_lanes_free(RaTraceLanes *lanes)
{
  if (lanes == NULL)
    return;
  g_array_free(lanes->first, TRUE);
  g_array_free(lanes->last, TRUE);
  g_array_free(lanes->members, TRUE);
  g_array_free(lanes->covers, TRUE);
  g_hash_table_unref(lanes->set_of);
  g_free(lanes);
}

guint
ra_trace_lanes_n(const RaTraceLanes *lanes)
{
  g_return_val_if_fail(lanes != NULL, 0);

  return lanes->first->len;
}

gboolean
ra_trace_lanes_gpus(const RaTraceLanes *lanes, guint lane, uint32_t *out_first,
                    uint32_t *out_last)
{
  g_return_val_if_fail(lanes != NULL && lane < lanes->first->len, FALSE);

  if (g_array_index(lanes->first, uint32_t, lane) == UINT32_MAX)
    return FALSE;
  *out_first = g_array_index(lanes->first, uint32_t, lane);
  *out_last = g_array_index(lanes->last, uint32_t, lane);
  return TRUE;
}

const uint32_t *
ra_trace_lanes_of(const RaTraceLanes *lanes, const char *ranks, guint *out_n)
{
  g_return_val_if_fail(lanes != NULL && out_n != NULL, NULL);

  guint set = GPOINTER_TO_UINT(g_hash_table_lookup(lanes->set_of, ranks));
  const Cover *cover;

  g_return_val_if_fail(set > 0, NULL);
  cover = &g_array_index(lanes->covers, Cover, set - 1);
  *out_n = cover->n;
  return &g_array_index(lanes->members, uint32_t, cover->begin);
}
