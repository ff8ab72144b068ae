/* Link graphs: reading their links, shortest paths. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "graph/input/link_graph.h"

enum { MAX_LINKS = 1000000, MAX_CARDS = 1000000, MAX_RANGE = 4096 };

RaLinkGraph *
ra_link_graph_new(uint32_t n_nodes, uint32_t nics_per_node)
{
  RaLinkGraph *graph = g_new0(RaLinkGraph, 1);

  graph->nics_per_node = nics_per_node;
  graph->n_cards = (uint32_t)MIN((uint64_t)n_nodes * nics_per_node, UINT32_MAX);
  graph->switches = g_ptr_array_new_with_free_func(g_free);
  graph->numbers = g_hash_table_new(g_str_hash, g_str_equal);
  graph->links = g_array_new(FALSE, FALSE, sizeof(RaGraphLink));
  return graph;
}

void
ra_link_graph_free(RaLinkGraph *graph)
{
  if (!graph)
    return;
  g_hash_table_unref(graph->numbers);
  g_ptr_array_unref(graph->switches);
  g_array_unref(graph->links);
  g_free(graph->begin);
  g_free(graph->ways);
  g_free(graph->part);
  g_free(graph);
}

static uint32_t
n_vertices(const RaLinkGraph *graph)
{
  return graph->n_cards + graph->switches->len;
}

char *
ra_link_graph_name(const RaLinkGraph *graph, uint32_t vertex)
{
  if (vertex >= graph->n_cards)
    return g_strdup(
        g_ptr_array_index(graph->switches, vertex - graph->n_cards));
  return g_strdup_printf("node%u/nic%u", vertex / graph->nics_per_node,
                         vertex % graph->nics_per_node);
}

/* ---- Names --------------------------------------------------------------- */

typedef struct {
  uint32_t first, last;
} Range;

static uint32_t
read_number(const char *text, char **out_end)
{
  guint64 value = g_ascii_strtoull(text, out_end, 10);

  return (uint32_t)MIN(value, UINT32_MAX);
}

/* "3", "[0-3]" or "*", which is all @n; NULL: something else stands there. */
static const char *
read_range(const char *text, uint32_t n, Range *out)
{
  gboolean bracket = *text == '[';
  char *end;

  if (*text == '*') {
    *out = (Range){0, MAX(n, 1u) - 1};
    return text + 1;
  }
  if (!g_ascii_isdigit(text[bracket]))
    return NULL;
  out->first = out->last = read_number(text + bracket, &end);
  if (!bracket)
    return end;
  if (*end == '-') {
    if (!g_ascii_isdigit(end[1]))
      return NULL;
    out->last = read_number(end + 1, &end);
  }
  return *end == ']' && out->first <= out->last ? end + 1 : NULL;
}

static uint32_t
find_switch(RaLinkGraph *graph, const char *name)
{
  void *known;

  if (!g_hash_table_lookup_extended(graph->numbers, name, NULL, &known)) {
    known = GUINT_TO_POINTER(graph->switches->len);
    g_ptr_array_add(graph->switches, g_strdup(name));
    g_hash_table_insert(
        graph->numbers,
        g_ptr_array_index(graph->switches, graph->switches->len - 1), known);
  }
  return graph->n_cards + GPOINTER_TO_UINT(known);
}

/* Why @word is no end; NULL: it is, and its vertices are appended. */
static const char *
list_cards(const RaLinkGraph *graph, const char *rest, GArray *vertices)
{
  uint32_t n_nodes = graph->n_cards / MAX(graph->nics_per_node, 1u);
  Range node, nic;

  if (graph->n_cards > MAX_CARDS)
    return "expected a cluster of at most 1000000 NICs";
  rest = read_range(rest, n_nodes, &node);
  if (!rest || !g_str_has_prefix(rest, "/nic"))
    return "expected as in node[0-3]/nic0";
  rest = read_range(rest + strlen("/nic"), graph->nics_per_node, &nic);
  if (!rest || *rest != '\0')
    return "expected as in node[0-3]/nic0";
  if (node.last >= n_nodes || nic.last >= graph->nics_per_node)
    return "expected a NIC that a node of the cluster has";
  for (uint32_t i = node.first; i <= node.last; i++)
    for (uint32_t k = nic.first; k <= nic.last; k++) {
      uint32_t vertex = i * graph->nics_per_node + k;

      g_array_append_val(vertices, vertex);
    }
  return NULL;
}

static const char *
list_switches(RaLinkGraph *graph, const char *word, GArray *vertices)
{
  gsize n = strspn(word, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_.");
  g_autofree char *stem = g_strndup(word, n);
  Range range = {0, 0};
  const char *rest = word + n;

  if (n > 0 && *rest == '[')
    rest = read_range(rest, 0, &range);
  else if (n == 0)
    rest = NULL;
  if (!rest || *rest != '\0')
    return "expected the name of a switch, as leaf0 or leaf[0-3]";
  if (range.last - range.first >= MAX_RANGE)
    return "expected at most 4096 switches";
  for (uint32_t i = range.first; i <= range.last; i++) {
    g_autofree char *name =
        word[n] ? g_strdup_printf("%s%u", stem, i) : g_strdup(stem);
    uint32_t vertex = find_switch(graph, name);

    g_array_append_val(vertices, vertex);
  }
  return NULL;
}

static const char *
list_ends(RaLinkGraph *graph, const char *word, GArray *vertices)
{
  if (g_str_has_prefix(word, "node") && strchr(word, '/'))
    return list_cards(graph, word + strlen("node"), vertices);
  return list_switches(graph, word, vertices);
}

/* ---- Links --------------------------------------------------------------- */

static const char *
add_links(RaLinkGraph *graph, const GArray *a, const GArray *b,
          RaGraphLink link)
{
  if ((uint64_t)a->len * b->len + graph->links->len > MAX_LINKS)
    return "expected at most 1000000 links";
  for (guint i = 0; i < a->len; i++)
    for (guint j = 0; j < b->len; j++) {
      link.ends[0] = g_array_index(a, uint32_t, i);
      link.ends[1] = g_array_index(b, uint32_t, j);
      if (link.ends[0] == link.ends[1])
        return "expected two different ends";
      g_array_append_val(graph->links, link);
    }
  return NULL;
}

gboolean
ra_link_graph_add(RaLinkGraph *graph, const RaKeyFile *file, guint group,
                  const char *ends, double bytes_per_s, double latency_s,
                  GError **error)
{
  g_auto(GStrv) words = g_strsplit_set(ends, " \t", -1);
  g_autoptr(GArray) from = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  g_autoptr(GArray) to = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  RaGraphLink link = {{0, 0}, bytes_per_s, latency_s, group};
  const char *wrong = NULL;
  guint n = 0;

  for (guint i = 0; words[i] && !wrong; i++) {
    if (*words[i] == '\0')
      continue;
    if (n < 2)
      wrong = list_ends(graph, words[i], n == 0 ? from : to);
    n++;
  }
  if (!wrong && n != 2)
    wrong = "expected two ends separated by a blank";
  if (!wrong)
    wrong = add_links(graph, from, to, link);
  return !wrong || ra_key_file_fail(file, group, "ends", error,
                                    "'ends' is '%s', %s", ends, wrong);
}

static uint64_t
pair_of(const RaGraphLink *link)
{
  uint32_t a = MIN(link->ends[0], link->ends[1]);

  return (uint64_t)a << 32 | MAX(link->ends[0], link->ends[1]);
}

/* Keeps the last one of links between the same ends. */
static void
drop_replaced(RaLinkGraph *graph)
{
  g_autoptr(GHashTable) last =
      g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  guint n = 0;

  for (guint i = 0; i < graph->links->len; i++) {
    uint64_t pair = pair_of(&g_array_index(graph->links, RaGraphLink, i));

    g_hash_table_replace(last, g_memdup2(&pair, sizeof pair),
                         GUINT_TO_POINTER(i));
  }
  for (guint i = 0; i < graph->links->len; i++) {
    RaGraphLink link = g_array_index(graph->links, RaGraphLink, i);
    uint64_t pair = pair_of(&link);

    if (GPOINTER_TO_UINT(g_hash_table_lookup(last, &pair)) == i)
      g_array_index(graph->links, RaGraphLink, n++) = link;
  }
  g_array_set_size(graph->links, n);
}

static void
list_ways(RaLinkGraph *graph)
{
  uint32_t n = n_vertices(graph);
  g_autofree uint32_t *at = g_new0(uint32_t, (gsize)n + 1);

  graph->begin = g_new0(uint32_t, (gsize)n + 1);
  graph->ways = g_new(RaGraphWay, 2 * (gsize)graph->links->len + 1);
  for (guint i = 0; i < graph->links->len; i++) {
    const RaGraphLink *link = &g_array_index(graph->links, RaGraphLink, i);

    for (guint k = 0; k < 2 && link->bytes_per_s > 0; k++)
      graph->begin[link->ends[k] + 1]++;
  }
  for (uint32_t v = 0; v < n; v++) {
    graph->begin[v + 1] += graph->begin[v];
    at[v] = graph->begin[v];
  }
  for (guint i = 0; i < graph->links->len; i++) {
    const RaGraphLink *link = &g_array_index(graph->links, RaGraphLink, i);

    for (guint k = 0; k < 2 && link->bytes_per_s > 0; k++)
      graph->ways[at[link->ends[k]]++] = (RaGraphWay){link->ends[1 - k], i};
  }
}

/* ---- Parts --------------------------------------------------------------- */

static void
mark_part(RaLinkGraph *graph, uint32_t first, uint32_t part, GArray *todo)
{
  graph->part[first] = part;
  g_array_append_val(todo, first);
  while (todo->len > 0) {
    uint32_t v = g_array_index(todo, uint32_t, todo->len - 1);

    g_array_set_size(todo, todo->len - 1);
    for (uint32_t i = graph->begin[v]; i < graph->begin[v + 1]; i++) {
      uint32_t to = graph->ways[i].to;

      if (graph->part[to] != UINT32_MAX)
        continue;
      graph->part[to] = part;
      g_array_append_val(todo, to);
    }
  }
}

/* Nodes of each part are counted card by card; the part with most. */
static uint32_t
widest_part(const RaLinkGraph *graph, uint32_t n_parts)
{
  g_autofree uint32_t *n_nodes = g_new0(uint32_t, (gsize)n_parts + 1);
  g_autofree uint32_t *last = g_new0(uint32_t, (gsize)n_parts + 1);
  uint32_t widest = 0;

  for (uint32_t v = 0; v < graph->n_cards; v++) {
    uint32_t node = v / graph->nics_per_node + 1, part = graph->part[v];

    n_nodes[part] += last[part] != node;
    last[part] = node;
  }
  for (uint32_t part = 1; part < n_parts; part++)
    if (n_nodes[part] > n_nodes[widest])
      widest = part;
  return widest;
}

static gboolean
fail_node(const RaLinkGraph *graph, const RaKeyFile *file, guint group,
          uint32_t node, GError **error)
{
  const char *key = "fabric";

  for (guint i = 0; i < graph->links->len; i++) {
    const RaGraphLink *link = &g_array_index(graph->links, RaGraphLink, i);
    gboolean reaches = FALSE;

    for (guint k = 0; k < 2; k++)
      reaches = reaches || (link->ends[k] < graph->n_cards &&
                            link->ends[k] / graph->nics_per_node == node);
    if (!(link->bytes_per_s > 0) && reaches) {
      group = link->group;
      key = "rate";
      break;
    }
  }
  return ra_key_file_fail(file, group, key, error,
                          "node %u is cut off, expected a path of working "
                          "links from one of its NICs to all nodes",
                          node);
}

gboolean
ra_link_graph_finish(RaLinkGraph *graph, const RaKeyFile *file, guint group,
                     GError **error)
{
  uint32_t n = n_vertices(graph), n_parts = 0, node = 0;
  g_autoptr(GArray) todo = g_array_new(FALSE, FALSE, sizeof(uint32_t));

  if (graph->n_cards > MAX_CARDS)
    return ra_key_file_fail(
        file, group, "fabric", error,
        "'fabric' is graph with %u NICs, expected at most 1000000",
        graph->n_cards);
  drop_replaced(graph);
  list_ways(graph);
  graph->part = g_new(uint32_t, (gsize)n + 1);
  memset(graph->part, 0xff, ((gsize)n + 1) * sizeof *graph->part);
  for (uint32_t v = 0; v < n; v++)
    if (graph->part[v] == UINT32_MAX)
      mark_part(graph, v, n_parts++, todo);
  if (graph->n_cards == 0)
    return TRUE;
  graph->whole = widest_part(graph, n_parts);
  for (uint32_t v = 0; v < graph->n_cards; v++) {
    if (graph->part[v] == graph->whole && v / graph->nics_per_node == node)
      node++;
  }
  return node == graph->n_cards / graph->nics_per_node ||
         fail_node(graph, file, group, node, error);
}

/* ---- Ways ---------------------------------------------------------------- */

uint16_t *
ra_link_graph_distances(const RaLinkGraph *graph, uint32_t to)
{
  uint32_t n = n_vertices(graph), head = 0, tail = 0;
  uint16_t *distance = g_new(uint16_t, (gsize)n + 1);
  g_autofree uint32_t *queue = g_new(uint32_t, (gsize)n + 1);

  memset(distance, 0xff, ((gsize)n + 1) * sizeof *distance);
  distance[to] = 0;
  queue[tail++] = to;
  while (head < tail) {
    uint32_t v = queue[head++];

    for (uint32_t i = graph->begin[v]; i < graph->begin[v + 1]; i++) {
      uint32_t next = graph->ways[i].to;

      if (distance[next] != UINT16_MAX || distance[v] >= UINT16_MAX - 1)
        continue;
      distance[next] = (uint16_t)(distance[v] + 1);
      queue[tail++] = next;
    }
  }
  return distance;
}

RaGraphWay
ra_link_graph_next(const RaLinkGraph *graph, uint32_t from,
                   const uint16_t *distance, uint64_t flow)
{
  uint32_t n = 0, chosen;

  g_return_val_if_fail(distance[from] > 0 && distance[from] < UINT16_MAX,
                       ((RaGraphWay){from, 0}));
  for (uint32_t i = graph->begin[from]; i < graph->begin[from + 1]; i++)
    n += distance[graph->ways[i].to] + 1 == distance[from];
  chosen = (uint32_t)(ra_hash_u64(ra_hash_u64(RA_HASH_INIT, flow), from) % n);
  for (uint32_t i = graph->begin[from];; i++)
    if (distance[graph->ways[i].to] + 1 == distance[from] && chosen-- == 0)
      return graph->ways[i];
}
