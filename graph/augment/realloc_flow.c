/* Choice of senders: greedy, least loaded first, ties to the lowest GPU.
 *
 * Bundle by bundle of each zone, destination node by destination node.  If a
 * GPU of the node holds the bundle, GPUs of the node serve it; otherwise it
 * comes over the network from the least loaded of all that hold it, once for
 * the node if its GPUs relay, else once for each GPU.
 */
#include "config.h"

#include "graph/augment/realloc_impl.h"

/* GPUs of a node that need a bundle and do not hold it. */
typedef struct {
  uint32_t node;      /* of the cluster */
  uint32_t first;     /* in run->lacking */
  uint32_t n;         /* >= 1 */
  gboolean is_served; /* a GPU of the node holds it */
} Want;

/* Units of a zone that travel together. */
typedef struct {
  const uint32_t *units; /* (n_units) */
  uint32_t n_units;      /* >= 1 */
  uint64_t n_params;     /* > 0 */
} Segment;

typedef struct {
  const RaCut *cut;
  const RaSide *from;
  const RaSide *to;
  gboolean relay;
  RaTraffic *traffic;
  RaFlowFunc func;
  gpointer data;
  uint32_t *heaps;   /* shape of from->gpus: by class, least inter_out first */
  GArray *needing;   /* of uint32_t: GPUs that need the bundle, ascending */
  GArray *lacking;   /* of uint32_t: those that do not hold it */
  GArray *wants;     /* of Want */
  GArray *segments;  /* of Segment */
  uint32_t *holders; /* (gpus_per_node) of the node being served */
} Run;

static gboolean
is_before(const Run *run, uint32_t a, uint32_t b)
{
  const uint64_t *load = run->traffic->inter_out;

  return load[a] != load[b] ? load[a] < load[b] : a < b;
}

static void
sift_down(const Run *run, uint32_t *heap, uint32_t n, uint32_t i)
{
  for (;;) {
    uint32_t least = i;
    for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
      if (is_before(run, heap[child], heap[least]))
        least = child;
    if (least == i)
      return;
    uint32_t swap = heap[i];
    heap[i] = heap[least];
    heap[least] = swap;
    i = least;
  }
}

static void
make_heaps(Run *run)
{
  uint32_t n = run->from->n_replicas;
  uint32_t n_classes = run->from->pp * run->from->n_shards;

  run->heaps =
      g_memdup2(run->from->gpus, sizeof(uint32_t) * (gsize)n_classes * n);
  for (uint32_t c = 0; c < n_classes; c++)
    for (uint32_t i = n / 2; i-- > 0;)
      sift_down(run, run->heaps + (gsize)c * n, n, i);
}

/* TRUE if @gpu holds @bundle of the zone's units. */
static gboolean
holds(const Run *run, const RaZone *zone, const RaBundle *bundle, uint32_t gpu)
{
  uint32_t c = run->from->class_of[gpu];

  if (c == RA_NONE)
    return FALSE;
  uint32_t p = c / run->from->n_shards;
  uint32_t t = c % run->from->n_shards;
  return ra_tensor_shards_has(&bundle->from, t) &&
         (p == zone->from.at[0] ||
          (zone->from.n == 2 && p == zone->from.at[1]));
}

void
ra_traffic_add(RaTraffic *traffic, const RaFlow *flow)
{
  uint32_t width = traffic->gpus_per_node;
  gboolean intra = flow->from / width == flow->to / width;

  (intra ? traffic->intra_out : traffic->inter_out)[flow->from] +=
      flow->n_params;
  (intra ? traffic->intra_in : traffic->inter_in)[flow->to] += flow->n_params;
}

static void
send_segment(const Run *run, uint32_t from, uint32_t to, const Segment *segment,
             const RaBundle *bundle)
{
  RaFlow flow = {.from = from,
                 .to = to,
                 .n_params = segment->n_params,
                 .units = segment->units,
                 .n_units = segment->n_units,
                 .bundle = bundle,
                 .cut = run->cut};

  ra_traffic_add(run->traffic, &flow);
  run->func(&flow, run->data);
}

/* Sends to @to, of another node, from the least loaded GPU that holds it. */
static void
send_across(const Run *run, const RaZone *zone, const RaBundle *bundle,
            const Segment *segment, uint32_t to)
{
  uint32_t n = run->from->n_replicas;
  uint32_t *best = NULL;

  for (uint32_t i = 0; i < zone->from.n; i++)
    for (uint32_t t = bundle->from.begin; t < bundle->from.end;
         t = ra_tensor_shards_next(&bundle->from, t)) {
      gsize c = (gsize)zone->from.at[i] * run->from->n_shards + t;
      uint32_t *heap = run->heaps + c * n;
      if (!best || is_before(run, heap[0], best[0]))
        best = heap;
    }
  send_segment(run, best[0], to, segment, bundle);
  sift_down(run, best, n, 0);
}

/* The GPU with the least @load, of @n. */
static uint32_t
least(const uint64_t *load, const uint32_t *gpus, uint32_t n)
{
  uint32_t best = gpus[0];

  for (uint32_t i = 1; i < n; i++)
    if (load[gpus[i]] < load[best])
      best = gpus[i];
  return best;
}

/* One segment to the GPUs of a node; the first @n_holders of run->holders
 * hold it. */
static void
serve_segment(const Run *run, const RaZone *zone, const RaBundle *bundle,
              const Segment *segment, const Want *want, uint32_t n_holders)
{
  const uint32_t *gpus = &g_array_index(run->lacking, uint32_t, want->first);
  uint32_t landed = RA_NONE;

  if (n_holders == 0 && run->relay) {
    landed = least(run->traffic->inter_in, gpus, want->n);
    send_across(run, zone, bundle, segment, landed);
    run->holders[n_holders++] = landed;
  }
  for (uint32_t i = 0; i < want->n; i++) {
    if (gpus[i] == landed)
      continue;
    if (n_holders == 0) {
      send_across(run, zone, bundle, segment, gpus[i]);
      continue;
    }
    send_segment(run, least(run->traffic->intra_out, run->holders, n_holders),
                 gpus[i], segment, bundle);
    if (run->relay)
      run->holders[n_holders++] = gpus[i];
  }
}

static void
serve_node(const Run *run, const RaZone *zone, const RaBundle *bundle,
           const Want *want)
{
  uint32_t width = run->traffic->gpus_per_node;
  uint32_t n_holders = 0;

  if (want->is_served)
    for (uint32_t g = want->node * width; g < (want->node + 1) * width; g++)
      if (holds(run, zone, bundle, g))
        run->holders[n_holders++] = g;
  for (guint i = 0; i < run->segments->len; i++)
    serve_segment(run, zone, bundle, &g_array_index(run->segments, Segment, i),
                  want, n_holders);
}

static int
compare_u32(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;

  return x < y ? -1 : x > y;
}

/* GPUs that need @bundle of the zone's units; a class's are in order. */
static void
find_needing(Run *run, const RaZone *zone, const RaBundle *bundle)
{
  uint32_t n = run->to->n_replicas;

  g_array_set_size(run->needing, 0);
  for (uint32_t i = 0; i < zone->to.n; i++)
    for (uint32_t t = bundle->to.begin; t < bundle->to.end;
         t = ra_tensor_shards_next(&bundle->to, t)) {
      gsize c = (gsize)zone->to.at[i] * run->to->n_shards + t;
      g_array_append_vals(run->needing, run->to->gpus + c * n, n);
    }
  if (zone->to.n * ra_tensor_shards_n(&bundle->to) > 1)
    qsort(run->needing->data, run->needing->len, sizeof(uint32_t), compare_u32);
}

/* Sorts the GPUs that need the bundle into those that hold it, whose number
 * it returns, and wants, node by node. */
static uint32_t
find_wants(Run *run, const RaZone *zone, const RaBundle *bundle)
{
  uint32_t width = run->traffic->gpus_per_node;
  uint32_t n_held = 0;

  g_array_set_size(run->lacking, 0);
  g_array_set_size(run->wants, 0);
  for (guint i = 0; i < run->needing->len;) {
    uint32_t node = g_array_index(run->needing, uint32_t, i) / width;
    Want want = {.node = node, .first = run->lacking->len};
    for (; i < run->needing->len; i++) {
      uint32_t gpu = g_array_index(run->needing, uint32_t, i);
      if (gpu / width != node)
        break;
      if (holds(run, zone, bundle, gpu))
        n_held++;
      else
        g_array_append_val(run->lacking, gpu);
    }
    want.n = run->lacking->len - want.first;
    if (want.n == 0)
      continue;
    for (uint32_t g = node * width; g < (node + 1) * width; g++)
      want.is_served = want.is_served || holds(run, zone, bundle, g);
    g_array_append_val(run->wants, want);
  }
  return n_held;
}

/* Into how many segments the zone is worth dividing, so that every source
 * has its share of what crosses nodes and, with relays, every GPU of a node
 * lands its share. */
static uint32_t
count_segments(const Run *run, const RaZone *zone, const RaBundle *bundle)
{
  uint32_t n_sources =
      run->from->n_replicas * zone->from.n * ra_tensor_shards_n(&bundle->from);
  uint32_t n_crossing = 0;
  uint32_t n_landing = 1;

  for (guint i = 0; i < run->wants->len; i++) {
    const Want *want = &g_array_index(run->wants, Want, i);
    if (want->is_served)
      continue;
    n_crossing += run->relay ? 1 : want->n;
    if (run->relay)
      n_landing = MAX(n_landing, want->n);
  }
  if (n_crossing == 0)
    return 1;
  return MAX(n_landing, (n_sources + n_crossing - 1) / n_crossing);
}

static uint64_t
unit_params(const Run *run, const RaBundle *bundle, uint32_t unit)
{
  return bundle->n_params[run->cut->table->unit_kind[unit]];
}

static uint64_t
zone_params(const Run *run, const RaZone *zone, const RaBundle *bundle)
{
  uint64_t n_params = 0;

  for (uint32_t i = 0; i < zone->n_units; i++)
    n_params += unit_params(run, bundle, zone->units[i]);
  return n_params;
}

/* At most @n runs of whole units with about equal parameters: run k ends
 * where the parameters so far reach (k + 1) / n of @total. */
static void
divide_zone(Run *run, const RaZone *zone, const RaBundle *bundle, uint32_t n,
            uint64_t total)
{
  Segment segment = {.units = zone->units};
  uint64_t so_far = 0;

  g_array_set_size(run->segments, 0);
  for (uint32_t i = 0; i < zone->n_units; i++) {
    uint64_t n_params = unit_params(run, bundle, zone->units[i]);
    segment.n_units++;
    segment.n_params += n_params;
    so_far += n_params;
    if (segment.n_params == 0 ||
        (so_far < total && so_far < total / n * (run->segments->len + 1)))
      continue;
    g_array_append_val(run->segments, segment);
    segment = (Segment){.units = zone->units + i + 1};
  }
}

/* @max_params: of the zone's largest bundle: smaller ones are divided less,
 * so that all segments are about as large and norms do not cost messages. */
static void
serve_bundle(Run *run, const RaZone *zone, const RaBundle *bundle,
             uint64_t max_params)
{
  uint64_t total = zone_params(run, zone, bundle);

  if (total == 0)
    return;
  find_needing(run, zone, bundle);
  run->traffic->held += total * find_wants(run, zone, bundle);
  if (run->wants->len == 0)
    return;
  double share_frac = (double)total / (double)max_params;
  uint32_t n = count_segments(run, zone, bundle);
  n = MIN(n, zone->n_units);
  n = (uint32_t)MAX(1.0, (double)n * share_frac);
  divide_zone(run, zone, bundle, n, total);
  for (guint i = 0; i < run->wants->len; i++)
    serve_node(run, zone, bundle, &g_array_index(run->wants, Want, i));
}

static void
serve_zone(Run *run, const RaZone *zone)
{
  const GArray *bundles = run->cut->bundles;
  uint64_t max_params = 0;

  for (guint i = 0; i < bundles->len; i++) {
    const RaBundle *bundle = &g_array_index(bundles, RaBundle, i);
    max_params = MAX(max_params, zone_params(run, zone, bundle));
  }
  for (guint i = 0; i < bundles->len; i++)
    serve_bundle(run, zone, &g_array_index(bundles, RaBundle, i), max_params);
}

void
ra_realloc_flows_run(const RaCut *cut, const RaSide *from, const RaSide *to,
                     gboolean relay, RaTraffic *traffic, RaFlowFunc func,
                     gpointer data)
{
  Run run = {.cut = cut,
             .from = from,
             .to = to,
             .relay = relay,
             .traffic = traffic,
             .func = func,
             .data = data,
             .needing = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
             .lacking = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
             .wants = g_array_new(FALSE, FALSE, sizeof(Want)),
             .segments = g_array_new(FALSE, FALSE, sizeof(Segment)),
             .holders = g_new(uint32_t, traffic->gpus_per_node)};

  make_heaps(&run);
  for (guint i = 0; i < cut->zones->len; i++)
    serve_zone(&run, &g_array_index(cut->zones, RaZone, i));
  g_free(run.heaps);
  g_free(run.holders);
  g_array_free(run.needing, TRUE);
  g_array_free(run.lacking, TRUE);
  g_array_free(run.wants, TRUE);
  g_array_free(run.segments, TRUE);
}
