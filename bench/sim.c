/* The network simulator and SimGrid on the same work, in the same run.
 *
 * Rings, pipelines and random flows (bench/traffic.h) on networks without, with
 * node-wide and with one shared link.  A row a case: tasks/s of both, their
 * ratio, how far their answers are apart, operations a task, the memory of
 * both, and how the cost of a task has grown since the row of a quarter of the
 * hosts.  No case may end before its links' capacity allows.  SimGrid comes as
 * a program that `make bench` builds where it finds SimGrid; without it its
 * columns are "-".  It is stopped where it has taken PEER_LEAST_S of a case and
 * PEER_RATIO times what we have, or 10 times that much with --long: then the
 * ratio is one that it does not reach.  A run takes a quarter of an hour, with
 * --quick half a minute, with --long hours.
 *
 *     bench/sim [--quick | --long] [TRAFFIC [NETWORK [HOSTS]]]  these cases
 */
#include "config.h"

#include <errno.h>
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/figure.h"
#include "bench/traffic.h"
#include "sim/network/network.h"

enum { MAX_RUNS = 3, PEER_LEAST_S = 20, PEER_RATIO = 16, LONG = 10 };

typedef struct {
  RaTrafficKind kind;
  RaNetKind net;
  uint32_t n_hosts, n_flows;
  double jitter;
  uint64_t max_tasks; /* rings are cut after so many messages */
} Case;

typedef struct {
  gboolean quick;
  rlim_t patience; /* times that the peer's limit is taken */
  const char *peer;
} Options;

typedef struct {
  RaNetwork *network;
  RaNetKind net;
  uint32_t n_hosts;
} Driver;

typedef struct {
  uint64_t n_tasks;
  double took_s;  /* CPU, median; NAN: not there */
  double clock_s; /* simulated */
  double visited; /* flows looked at a task */
  double solved;  /* solutions a task */
  double peak_bytes;
  gboolean stopped; /* took_s is when */
} Outcome;

static void
send(void *data, uint32_t id, uint32_t from, uint32_t to, double bytes)
{
  Driver *driver = data;
  uint32_t links[RA_NET_MAX_ROUTE];
  uint32_t n = ra_net_route(driver->net, driver->n_hosts, from, to, links);

  ra_network_start(driver->network, links, NULL, n, bytes, RA_NET_LATENCY_S,
                   id);
}

static void
compute(void *data, uint32_t id, uint32_t host, double seconds)
{
  Driver *driver = data;

  ra_network_at(driver->network, ra_network_now_s(driver->network) + seconds,
                id);
}

static RaNetwork *
network_of(const Case *c)
{
  uint32_t n = ra_net_n_links(c->net, c->n_hosts);
  g_autofree double *capacity = g_new(double, n);

  for (uint32_t l = 0; l < n; l++)
    capacity[l] = ra_net_capacity(c->net, c->n_hosts, l);
  return ra_network_new(capacity, n);
}

/* Steps of a ring so that the case has about max_tasks. */
static uint32_t
max_steps(const Case *c)
{
  uint32_t members = c->kind == RA_TRAFFIC_PIPE ? c->n_hosts / 8 : c->n_hosts;
  uint64_t a_step = c->n_hosts;

  return (uint32_t)MAX(1, MIN(c->max_tasks / a_step, 2 * (uint64_t)members));
}

static double
run_once(const Case *c, const RaTrafficSink *sink, Outcome *out)
{
  Driver driver = {network_of(c), c->net, c->n_hosts};
  RaTraffic *traffic = ra_traffic_new(c->kind, c->n_hosts, c->n_flows,
                                      c->jitter, max_steps(c), sink, &driver);
  double begin_s = bench_cpu_s(), took_s;

  ra_traffic_begin(traffic);
  while (ra_network_next_s(driver.network) < (double)INFINITY)
    ra_traffic_end(traffic, ra_network_pop(driver.network));
  took_s = bench_cpu_s() - begin_s;
  out->n_tasks = ra_traffic_n_tasks(traffic);
  if (ra_traffic_n_ended(traffic) != out->n_tasks)
    g_error("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " tasks ended",
            ra_traffic_n_ended(traffic), out->n_tasks);
  out->clock_s = ra_network_now_s(driver.network);
  out->visited =
      (double)ra_network_work(driver.network)->n_visited / (double)out->n_tasks;
  out->solved =
      (double)ra_network_work(driver.network)->n_solved / (double)out->n_tasks;
  ra_traffic_free(traffic);
  ra_network_free(driver.network);
  return took_s;
}

static Outcome
run_here(const Case *c, guint n_runs)
{
  static const RaTrafficSink sink = {send, compute};
  Outcome out = {0};
  double runs_s[MAX_RUNS];

  for (guint r = 0; r < n_runs; r++)
    runs_s[r] = run_once(c, &sink, &out);
  out.took_s = bench_median(runs_s, n_runs);
  return out;
}

/* In a process of its own, so that the peak memory is this case's. */
static Outcome
run_ours(const Case *c, guint n_runs)
{
  Outcome out = {0};
  struct rusage usage;
  int ends[2], status = 0;
  pid_t child;

  if (pipe(ends) != 0)
    g_error("pipe: %s", g_strerror(errno));
  fflush(stdout);
  child = fork();
  if (child == 0) {
    out = run_here(c, n_runs);
    _exit(write(ends[1], &out, sizeof out) != (ssize_t)sizeof out);
  }
  close(ends[1]);
  if (child < 0 || read(ends[0], &out, sizeof out) != (ssize_t)sizeof out ||
      wait4(child, &status, 0, &usage) != child || status != 0)
    g_error("a case has failed");
  close(ends[0]);
  out.peak_bytes = 1024.0 * (double)usage.ru_maxrss;
  return out;
}

static void
limit_peer(gpointer data)
{
  rlim_t seconds = *(const rlim_t *)data;
  struct rlimit limit = {seconds, seconds};

  setrlimit(RLIMIT_CPU, &limit);
}

static Outcome
run_peer(const Case *c, const char *peer, const char *solver, rlim_t limit_s)
{
  const double none = (double)NAN;
  Outcome out = {.took_s = none, .clock_s = none, .peak_bytes = none};
  g_autofree char *line =
      g_strdup_printf("%s %s %s %u %u %.17g %u %s", peer,
                      ra_traffic_names[c->kind], ra_net_names[c->net],
                      c->n_hosts, c->n_flows, c->jitter, max_steps(c), solver);
  g_auto(GStrv) words = g_strsplit(line, " ", 0);
  g_autofree char *text = NULL;
  char *rest;
  int status = 0;

  if (!g_spawn_sync(NULL, words, NULL, G_SPAWN_SEARCH_PATH, limit_peer,
                    &limit_s, &text, NULL, &status, NULL))
    return out;
  if (WIFSIGNALED(status)) {
    out.stopped = TRUE;
    out.took_s = (double)limit_s;
  }
  if (status != 0)
    return out;
  out.n_tasks = g_ascii_strtoull(text, &rest, 10);
  out.took_s = g_ascii_strtod(rest, &rest);
  out.clock_s = g_ascii_strtod(rest, &rest);
  out.peak_bytes = 1024 * g_ascii_strtod(rest, NULL);
  return out;
}

/* Bytes of every link over its capacity: no schedule is quicker. */
typedef struct {
  const Case *c;
  double *bytes; /* by link */
  GQueue ids;    /* given out, not ended */
} Bound;

static void
count(void *data, uint32_t id, uint32_t from, uint32_t to, double bytes)
{
  Bound *bound = data;
  uint32_t links[RA_NET_MAX_ROUTE];
  uint32_t n = ra_net_route(bound->c->net, bound->c->n_hosts, from, to, links);

  for (uint32_t i = 0; i < n; i++)
    bound->bytes[links[i]] += bytes;
  g_queue_push_tail(&bound->ids, GUINT_TO_POINTER(id));
}

static void
count_compute(void *data, uint32_t id, uint32_t host, double seconds)
{
  Bound *bound = data;

  (void)host;
  (void)seconds;
  g_queue_push_tail(&bound->ids, GUINT_TO_POINTER(id));
}

static double
capacity_bound_s(const Case *c)
{
  static const RaTrafficSink sink = {count, count_compute};
  uint32_t n = ra_net_n_links(c->net, c->n_hosts);
  g_autofree double *bytes = g_new0(double, n);
  Bound bound = {c, bytes, G_QUEUE_INIT};
  RaTraffic *traffic = ra_traffic_new(c->kind, c->n_hosts, c->n_flows,
                                      c->jitter, max_steps(c), &sink, &bound);
  double most_s = 0;

  ra_traffic_begin(traffic);
  while (bound.ids.length > 0)
    ra_traffic_end(traffic, GPOINTER_TO_UINT(g_queue_pop_head(&bound.ids)));
  for (uint32_t l = 0; l < n; l++)
    most_s = MAX(most_s, bytes[l] / ra_net_capacity(c->net, c->n_hosts, l));
  ra_traffic_free(traffic);
  return most_s + RA_NET_LATENCY_S;
}

static void
print_number(double value, char end)
{
  if (isnan(value))
    printf("-%c", end);
  else
    printf("%.6g%c", value, end);
}

/* Figures of the bars, over all cases. */
typedef struct {
  double star, star_jitter, star_ratio, shared_ratio; /* least */
  double flows_64_s, flows_1024_s, flows_ratio;
  double apart, shared_apart, below_bound; /* most */
} Totals;

static void
least(double *value, double with)
{
  if (!isnan(with))
    *value = isnan(*value) ? with : MIN(*value, with);
}

static void
most(double *value, double with)
{
  if (!isnan(with))
    *value = isnan(*value) ? with : MAX(*value, with);
}

static void
judge(const Case *c, const Outcome *ours, double ratio, double apart,
      Totals *totals)
{
  double rate = (double)ours->n_tasks / ours->took_s;
  gboolean star = c->net == RA_NET_STAR;
  double below = capacity_bound_s(c) / ours->clock_s - 1;

  g_assert(below < 1e-9);
  most(&totals->below_bound, below);
  if (c->kind == RA_TRAFFIC_FLOWS) {
    if (c->n_flows >= 3000 && !star)
      least(&totals->shared_ratio, ratio);
    if (c->n_flows == 3000 && star)
      least(&totals->flows_ratio, ratio);
    if (c->n_flows == 10000)
      most(c->n_hosts == 64 ? &totals->flows_64_s : &totals->flows_1024_s,
           ours->took_s);
  } else if (star) {
    if (c->n_hosts <= 4096)
      least(c->jitter > 0 ? &totals->star_jitter : &totals->star, rate);
    if (c->n_hosts >= 256)
      least(&totals->star_ratio, ratio);
  } else {
    least(&totals->shared_ratio, ratio);
  }
  if (star && c->jitter == 0)
    most(&totals->apart, apart);
  else if (!star)
    most(&totals->shared_apart, apart);
}

/* Prints the row of a case; @last_s: seconds of a task with a quarter of the
 * hosts, 0: not there, and is set to those of this one. */
static void
run_case(const Case *c, const Options *options, double *last_s, Totals *totals)
{
  Outcome ours = run_ours(c, options->quick ? 1 : MAX_RUNS);
  rlim_t limit_s = options->patience *
                   MAX(PEER_LEAST_S, (rlim_t)ceil(PEER_RATIO * ours.took_s));
  Outcome theirs = run_peer(c, options->peer, "full", limit_s);
  double task_s = ours.took_s / (double)ours.n_tasks;
  double ratio = theirs.took_s / ours.took_s;
  double apart = fabs(ours.clock_s / theirs.clock_s - 1);

  judge(c, &ours, ratio, apart, totals);
  printf("%s\t%s\t%u\t%g\t%" G_GUINT64_FORMAT "\t", ra_traffic_names[c->kind],
         ra_net_names[c->net], c->n_hosts, c->jitter, ours.n_tasks);
  print_number(ours.took_s, '\t');
  print_number(1 / task_s, '\t');
  print_number(theirs.took_s, '\t');
  printf("%s\t", theirs.stopped ? "yes" : "no");
  print_number(ratio, '\t');
  print_number(ours.visited, '\t');
  print_number(ours.solved, '\t');
  print_number(*last_s > 0 ? task_s / *last_s : (double)NAN, '\t');
  print_number(ours.peak_bytes, '\t');
  print_number(theirs.peak_bytes, '\t');
  print_number(ours.clock_s, '\t');
  print_number(apart, '\n');
  fflush(stdout);
  *last_s = task_s;
}

/* TRUE if the words of the command line name it. */
static gboolean
is_asked(const Case *c, char **words)
{
  g_autofree char *hosts = g_strdup_printf("%u", c->n_hosts);
  const char *const own[] = {ra_traffic_names[c->kind], ra_net_names[c->net],
                             hosts};

  for (guint i = 0; i < G_N_ELEMENTS(own) && words[i]; i++)
    if (!g_str_equal(words[i], own[i]))
      return FALSE;
  return TRUE;
}

static void
run_rings(const Options *options, char **words, Totals *totals)
{
  static const uint32_t hosts[] = {64, 256, 1024, 4096, 16384};
  guint n_hosts = options->quick ? 2 : G_N_ELEMENTS(hosts);

  for (int kind = RA_TRAFFIC_RING; kind <= RA_TRAFFIC_PIPE; kind++)
    for (int net = RA_NET_STAR; net <= RA_NET_BUS; net++) {
      double last_s[2] = {0, 0};

      for (guint h = 0; h < n_hosts; h++)
        for (int jitter = 0; jitter < 2; jitter++) {
          Case c = {(RaTrafficKind)kind,
                    (RaNetKind)net,
                    hosts[h],
                    0,
                    jitter ? 0.05 : 0,
                    net == RA_NET_STAR ? 1000000 : 100000};

          if (is_asked(&c, words))
            run_case(&c, options, &last_s[jitter], totals);
        }
    }
}

static void
run_flows(const Options *options, char **words, Totals *totals)
{
  static const uint32_t flows[] = {1000, 3000, 10000};
  guint n_flows = options->quick ? 2 : G_N_ELEMENTS(flows);

  for (int net = RA_NET_STAR; net <= RA_NET_BUS; net++)
    for (guint f = 0; f < n_flows; f++)
      for (int h = 0; h < 2; h++) {
        Case c = {
            RA_TRAFFIC_FLOWS, (RaNetKind)net, h ? 1024 : 64, flows[f], 0, 0};
        double last_s = 0;

        if (is_asked(&c, words))
          run_case(&c, options, &last_s, totals);
      }
}

int
main(int argc, char **argv)
{
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  gboolean is_long = argc > 1 && strcmp(argv[1], "--long") == 0;
  Options options = {quick, is_long ? LONG : 1, g_getenv("RA_SIMGRID_PEER")};
  char **words = argv + (quick || is_long ? 2 : 1);
  const double none = (double)NAN;
  Totals t = {none, none, none, none, none, none, none, none, none, none};

  printf("# one core; CPU seconds, median of the runs; SimGrid: its full "
         "solver, one run of the same work, stopped after %d s or, where that "
         "is more, %d times ours%s\n",
         PEER_LEAST_S, PEER_RATIO, is_long ? ", 10 times over" : "");
  printf("# visited, solved: flows looked at and solutions a task; growth: of "
         "the seconds of a task over a quarter of the hosts\n");
  if (!options.peer || !g_file_test(options.peer, G_FILE_TEST_IS_EXECUTABLE)) {
    printf("# no SimGrid: RA_SIMGRID_PEER names no program (make bench builds "
           "it where libsimgrid-dev and c++ are installed)\n");
    options.peer = "false";
  }
  printf("traffic\tnetwork\tn_hosts\tjitter_frac\tn_tasks\tcpu_s\ttasks_per_s"
         "\tsimgrid_cpu_s\tsimgrid_stopped\tratio\tvisited_per_task"
         "\tsolved_per_task\tgrowth\tpeak_bytes\tsimgrid_peak_bytes"
         "\tsimulated_s\tapart_frac\n");
  run_rings(&options, words, &t);
  run_flows(&options, words, &t);
  bench_bar("star_tasks_per_s", t.star, BENCH_AT_LEAST, 8e6);
  bench_bar("star_jittered_tasks_per_s", t.star_jitter, BENCH_AT_LEAST, 4e6);
  bench_bar("star_over_simgrid", t.star_ratio, BENCH_AT_LEAST, 15);
  bench_bar("fat_bus_over_simgrid", t.shared_ratio, BENCH_AT_LEAST, 5);
  bench_bar("flows_10000_64_hosts_s", t.flows_64_s, BENCH_AT_MOST, 1);
  bench_bar("flows_10000_1024_hosts_s", t.flows_1024_s, BENCH_AT_MOST, 2);
  bench_bar("flows_3000_over_simgrid", t.flows_ratio, BENCH_AT_LEAST, 8);
  bench_bar("star_apart_from_simgrid", t.apart, BENCH_AT_MOST, 1e-6);
  bench_bar("fat_bus_apart_from_simgrid", t.shared_apart, BENCH_AT_MOST, 0.02);
  bench_bar("below_capacity_bound", t.below_bound, BENCH_AT_MOST, 1e-9);
  return 0;
}
