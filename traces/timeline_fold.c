/* Folding: lanes that look the same become one, and get a label. */
#include "config.h"

#include <string.h>

#include "traces/timeline_impl.h"

#define WIDE_COLUMN_PX 8 /* of a lane seen from afar */
#define LABEL_BYTES 26   /* longer lists are cut */

/* A lane as it will look: the styles of its columns, upper then lower. */
static uint16_t *
look_of(const RaTimeline *timeline, const RaTimelineLane *lane, guint n_columns)
{
  uint16_t *look = g_new(uint16_t, 2 * (gsize)n_columns);

  ra_timeline_raster(timeline, lane->upper, n_columns, look);
  ra_timeline_raster(timeline, lane->lower, n_columns, look + n_columns);
  return look;
}

/* A lane from afar: which call has it, in wide columns.  Micro-batches and
 * communication of replicas never fall on the same pixels, and need not. */
static uint16_t *
shape_of(const RaTimeline *timeline, const RaTimelineLane *lane,
         guint n_columns)
{
  double column_s = (timeline->to_s - timeline->from_s) / n_columns;
  uint16_t *shape = g_new(uint16_t, n_columns);
  g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(RaTimelineBox));

  for (guint i = 0; i < lane->upper->len; i++) {
    RaTimelineBox box = g_array_index(lane->upper, RaTimelineBox, i);
    RaTimelineBox *last = NULL;

    if (ra_timeline_call(timeline, box.style))
      box.style = (uint16_t)(box.style / RA_N_SHADES * RA_N_SHADES);
    if (runs->len > 0)
      last = &g_array_index(runs, RaTimelineBox, runs->len - 1);
    if (last && last->style == box.style &&
        box.begin_s - last->end_s < column_s)
      last->end_s = MAX(last->end_s, box.end_s);
    else
      g_array_append_val(runs, box);
  }
  ra_timeline_raster(timeline, runs, n_columns, shape);
  return shape;
}

/* Columns in which two lanes differ, counted up to @max + 1. */
static guint
distance(const uint16_t *a, const uint16_t *b, gsize n, guint max)
{
  guint n_differ = 0;

  for (gsize i = 0; i < n && n_differ <= max; i++)
    n_differ += a[i] != b[i];
  return n_differ;
}

/* Styles by which lanes are compared. */
typedef struct {
  uint16_t *const *looks; /* (lanes) */
  gsize n;                /* styles in each */
  guint max;              /* of these that may differ */
  guint side_gpus;        /* of each of two runs; 0: one run */
  gboolean anywhere;      /* equal lanes need not be neighbours */
} Rule;

static gboolean
is_same_side(const RaTimelineLane *a, const RaTimelineLane *b, guint side_gpus)
{
  if (side_gpus == 0 || a->gpus->len == 0 || b->gpus->len == 0)
    return TRUE;
  return (g_array_index(a->gpus, uint32_t, 0) < side_gpus) ==
         (g_array_index(b->gpus, uint32_t, 0) < side_gpus);
}

/* Gives every lane the first one that it may be drawn as; how many are left.
 * Lanes that look equal are one wherever they are; those that differ a little
 * only with their neighbours, so that labels stay ranges. */
static guint
group(GPtrArray *lanes, const Rule *rule, guint *out_first)
{
  guint n_groups = 0;
  guint above = 0;

  for (guint i = 0; i < lanes->len; i++) {
    const RaTimelineLane *lane = g_ptr_array_index(lanes, i);

    out_first[i] = i;
    for (guint j = rule->anywhere ? 0 : above; j < i && out_first[i] == i;
         j++) {
      const RaTimelineLane *other = g_ptr_array_index(lanes, j);

      if (out_first[j] == j && (lane->n_gpus == 0) == (other->n_gpus == 0) &&
          is_same_side(lane, other, rule->side_gpus) &&
          distance(rule->looks[i], rule->looks[j], rule->n, rule->max) <=
              rule->max)
        out_first[i] = j;
    }
    above = out_first[i];
    n_groups += out_first[i] == i;
  }
  return n_groups;
}

/* The lanes that are left, with the GPUs of all that they stand for. */
static void
join(RaTimeline *timeline, const guint *first)
{
  GPtrArray *lanes = timeline->lanes;
  guint n = 0;

  for (guint i = 0; i < lanes->len; i++) {
    RaTimelineLane *lane = g_ptr_array_index(lanes, i);
    RaTimelineLane *into = g_ptr_array_index(lanes, first[i]);

    if (first[i] == i)
      continue;
    g_array_append_vals(into->gpus, lane->gpus->data, lane->gpus->len);
    into->n_gpus += lane->n_gpus;
  }
  for (guint i = 0; i < lanes->len; i++) {
    if (first[i] != i)
      continue;
    /* Lanes before the place have gone or moved: swap, so none is lost. */
    gpointer kept = lanes->pdata[i];

    lanes->pdata[i] = lanes->pdata[n];
    lanes->pdata[n++] = kept;
  }
  g_ptr_array_set_size(lanes, (gint)n);
}

static void
append_list(GString *out, const char *noun, const GArray *ranges)
{
  gsize start = out->len;

  g_string_append_printf(out, "%s%s ", start ? " " : "", noun);
  ra_ranks_format((const uint32_t *)(const void *)ranges->data, ranges->len,
                  out);
  if (out->len - start > LABEL_BYTES) {
    char *comma = g_strrstr_len(out->str, (gssize)(start + LABEL_BYTES), ",");

    if (comma) {
      g_string_truncate(out, (gsize)(comma - out->str));
      g_string_append(out, ",...");
    }
  }
}

/* "node 0-3": whole nodes, "node 0-3 gpu 0-3": one slice of some, else
 * "gpu 3-9".  The slice is of the first node; @ranges are joined. */
static char *
make_label(const GArray *ranges, guint gpus_per_node, gboolean many_nodes)
{
  g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  g_autoptr(GArray) slice = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  GString *out = g_string_new(NULL);
  gboolean regular = gpus_per_node > 0;

  if (ranges->len == 0) {
    g_string_append(out, "host");
    return g_string_free(out, FALSE);
  }
  for (guint i = 0; i < ranges->len && regular; i += 2) {
    uint32_t first = g_array_index(ranges, uint32_t, i);
    uint32_t last = g_array_index(ranges, uint32_t, i + 1);
    uint32_t node[2] = {first / gpus_per_node, last / gpus_per_node};
    uint32_t gpus[2] = {first % gpus_per_node, last % gpus_per_node};

    if (slice->len == 0)
      g_array_append_vals(slice, gpus, 2);
    regular =
        memcmp(slice->data, gpus, sizeof gpus) == 0 &&
        (node[0] == node[1] || (gpus[0] == 0 && gpus[1] == gpus_per_node - 1));
    g_array_append_vals(nodes, node, 2);
  }
  if (!regular || !many_nodes) {
    append_list(out, "gpu", ranges);
    return g_string_free(out, FALSE);
  }
  append_list(out, "node", nodes);
  if (g_array_index(slice, uint32_t, 0) != 0 ||
      g_array_index(slice, uint32_t, 1) != gpus_per_node - 1)
    append_list(out, "gpu", slice);
  return g_string_free(out, FALSE);
}

/* "simulated gpu 0-3" */
static char *
make_side_label(const RaTimeline *timeline, GArray *ranges, guint side_gpus)
{
  guint side =
      ranges->len > 0 && g_array_index(ranges, uint32_t, 0) >= side_gpus;
  g_autofree char *label = NULL;

  for (guint i = 0; i < ranges->len; i++)
    g_array_index(ranges, uint32_t, i) -= side * side_gpus;
  label = make_label(ranges, 0, FALSE);
  return g_strconcat(timeline->sides[side], " ", label, NULL);
}

/* Ranges that touch are one. */
static void
join_ranges(GArray *ranges)
{
  guint n = 0;

  for (guint i = 0; i < ranges->len; i += 2) {
    uint32_t *at = &g_array_index(ranges, uint32_t, i);
    uint32_t *last = &g_array_index(ranges, uint32_t, n);

    if (n > 0 && last[-1] + 1 == at[0]) {
      last[-1] = at[1];
      continue;
    }
    memmove(last, at, 2 * sizeof *at);
    n += 2;
  }
  g_array_set_size(ranges, n);
}

static void
label_lanes(RaTimeline *timeline, guint gpus_per_node)
{
  uint32_t last_gpu = 0;

  for (guint i = 0; i < timeline->lanes->len; i++) {
    RaTimelineLane *lane = g_ptr_array_index(timeline->lanes, i);

    join_ranges(lane->gpus);
    if (lane->gpus->len > 0)
      last_gpu = MAX(last_gpu,
                     g_array_index(lane->gpus, uint32_t, lane->gpus->len - 1));
  }
  for (guint i = 0; i < timeline->lanes->len; i++) {
    RaTimelineLane *lane = g_ptr_array_index(timeline->lanes, i);

    lane->label =
        timeline->sides
            ? make_side_label(timeline, lane->gpus, gpus_per_node)
            : make_label(lane->gpus, gpus_per_node,
                         gpus_per_node > 0 && last_gpu >= gpus_per_node);
  }
}

void
ra_timeline_fold(RaTimeline *timeline, guint n_columns, guint max_lanes,
                 guint gpus_per_node)
{
  GPtrArray *lanes = timeline->lanes;
  guint n_lanes = lanes->len;
  guint n_wide = MAX(n_columns / WIDE_COLUMN_PX, 1);
  g_autofree guint *first = g_new(guint, n_lanes + 1);
  g_autofree uint16_t **looks = g_new(uint16_t *, n_lanes + 1);
  g_autofree uint16_t **shapes = g_new(uint16_t *, n_lanes + 1);
  guint side_gpus = timeline->sides ? gpus_per_node : 0;
  Rule rule = {looks, 2 * (gsize)n_columns, 0, side_gpus, TRUE};

  for (guint i = 0; i < n_lanes; i++) {
    looks[i] = look_of(timeline, g_ptr_array_index(lanes, i), n_columns);
    shapes[i] = shape_of(timeline, g_ptr_array_index(lanes, i), n_wide);
  }
  max_lanes = MAX(max_lanes, 2); /* the host's cannot go */
  if (group(lanes, &rule, first) > max_lanes) {
    rule = (Rule){shapes, n_wide, 0, side_gpus, FALSE};
    while (group(lanes, &rule, first) > max_lanes && rule.max < n_wide)
      rule.max = rule.max ? 2 * rule.max : 1;
    timeline->fold_frac = MIN((rule.max + 1.0) / n_wide, 1);
  }
  join(timeline, first);
  for (guint i = 0; i < n_lanes; i++) {
    g_free(looks[i]);
    g_free(shapes[i]);
  }
  label_lanes(timeline, gpus_per_node);
}
