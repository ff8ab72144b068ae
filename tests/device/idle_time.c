/* The clocks of the idle GPU and its host, and captured graphs. */
#include "config.h"

#include "tests/device/idle_time.h"

struct _RaBackendGraph {
  guint n_launches;
  double s;
};

static double host_s, device_s;
static RaBackendGraph *captured; /* owned; NULL: nothing is */
static const uint32_t *kept;
static gsize n_kept;

void
idle_take(guint n_launches, double s)
{
  if (captured) {
    captured->n_launches += n_launches;
    captured->s += s;
    return;
  }
  host_s += n_launches * IDLE_EAGER_S;
  device_s = MAX(device_s, host_s) + s;
}

void
idle_wait(void)
{
  g_assert(!captured);
  host_s = MAX(host_s, device_s);
}

double
idle_host_s(void)
{
  return host_s;
}

double
idle_device_s(void)
{
  return device_s;
}

guint
idle_words(const void *words)
{
  const uint32_t *at = words;
  gboolean is_kept = kept && at >= kept && at < kept + n_kept;

  g_assert(is_kept || !captured);
  return !is_kept;
}

static void
keep_words(gsize n, const uint32_t *words)
{
  idle_take(n > 0, 0);
  kept = n > 0 ? words : NULL;
  n_kept = n;
}

static void
begin_capture(gboolean anew)
{
  (void)anew;
  captured = g_new0(RaBackendGraph, 1);
}

static RaBackendGraph *
end_capture(void)
{
  return g_steal_pointer(&captured);
}

static gboolean
holds_graph(const RaBackendGraph *graph)
{
  return graph != NULL;
}

static void
begin_graph(RaBackendGraph *graph)
{
  host_s += IDLE_GRAPH_S;
  device_s = MAX(device_s, host_s) + graph->s + graph->n_launches * IDLE_GAP_S;
}

static void
free_graph(RaBackendGraph *graph)
{
  g_free(graph);
}

static uint32_t
odd(void)
{
  return 0;
}

void
idle_set_entries(RaBackend *table)
{
  table->keep_words = keep_words;
  table->begin_capture = begin_capture;
  table->end_capture = end_capture;
  table->holds_graph = holds_graph;
  table->begin_graph = begin_graph;
  table->free_graph = free_graph;
  table->odd = odd;
}
