// The peer of bench/sim: SimGrid's s4u on the same work.  Built and run by
// bench/sim where a C++ compiler and SimGrid are found; prints
// `tasks seconds makespan_s peak_KiB`.
// Fluid model without TCP's corrections (CM02, factors 1, no window), so that
// both answer the same question; its full solver where FULL is given, as its
// lazy one ends flows before the links' capacity allows.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <simgrid/s4u.hpp>
#include <string>
#include <sys/resource.h>
#include <unordered_map>
#include <vector>

#include "bench/traffic.h"

namespace sg4 = simgrid::s4u;

static std::vector<sg4::Host *> hosts;
static RaTraffic *traffic;
// What runs is kept here; what has ended is let go one event later, as SimGrid
// still uses it while it says so.
static std::unordered_map<uint32_t, sg4::ActivityPtr> running;
static sg4::ActivityPtr last;

static void
ended(sg4::Activity const &activity)
{
  uint32_t id = (uint32_t)strtoul(activity.get_cname(), nullptr, 16);
  auto found = running.find(id);

  last = found->second;
  running.erase(found);
  ra_traffic_end(traffic, id);
}

static void
send(void *, uint32_t id, uint32_t from, uint32_t to, double bytes)
{
  char name[16];

  snprintf(name, sizeof name, "%x", id);
  sg4::CommPtr comm = sg4::Comm::sendto_init(hosts[from], hosts[to]);
  comm->set_name(name)->set_payload_size((uint64_t)(bytes + 0.5));
  running.emplace(id, comm);
  comm->vetoable_start();
}

static void
compute(void *, uint32_t id, uint32_t host, double seconds)
{
  char name[16];

  snprintf(name, sizeof name, "%x", id);
  sg4::ExecPtr exec = sg4::Exec::init();
  exec->set_name(name)->set_flops_amount(seconds * 1e12)->set_host(hosts[host]);
  running.emplace(id, exec);
  exec->vetoable_start();
}

static void
build(RaNetKind kind, uint32_t n)
{
  sg4::NetZone *zone = sg4::create_star_zone("z");
  std::vector<sg4::Link *> links;

  for (uint32_t l = 0; l < ra_net_n_links(kind, n); l++) {
    sg4::Link *link =
        zone->create_link("l" + std::to_string(l), ra_net_capacity(kind, n, l));

    if (l < 2 * n)
      link->set_latency(RA_NET_LATENCY_S / 2);
    links.push_back(link->seal());
  }
  for (uint32_t h = 0; h < n; h++) {
    uint32_t route[RA_NET_MAX_ROUTE];
    uint32_t length = ra_net_route(kind, n, h, h, route);
    std::vector<sg4::LinkInRoute> up, down;

    hosts.push_back(zone->create_host("h" + std::to_string(h), 1e12)->seal());
    for (uint32_t i = 0; i + 1 < length; i++)
      (kind == RA_NET_FAT && i == 2 ? down : up)
          .push_back(sg4::LinkInRoute(links[route[i]]));
    down.push_back(sg4::LinkInRoute(links[route[length - 1]]));
    zone->add_route(hosts[h]->get_netpoint(), nullptr, nullptr, nullptr, up,
                    false);
    zone->add_route(nullptr, hosts[h]->get_netpoint(), nullptr, nullptr, down,
                    false);
  }
  zone->seal();
}

static int
find(const char *const *names, const char *name)
{
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], name) == 0)
      return i;
  fprintf(stderr, "simgrid_peer: unknown '%s'\n", name);
  exit(2);
}

int
main(int argc, char **argv)
{
  if (argc < 8) {
    fprintf(stderr, "usage: simgrid_peer TRAFFIC NET HOSTS FLOWS JITTER STEPS "
                    "lazy|full\n");
    return 2;
  }
  char program[] = "peer", contexts[] = "--cfg=contexts/factory:raw",
       quiet[] = "--log=root.thresh:error";
  char *own[] = {program, contexts, quiet, nullptr};
  int n_own = 3;
  sg4::Engine engine(&n_own, own);
  RaTrafficSink sink = {send, compute};
  uint32_t n = (uint32_t)strtoul(argv[3], nullptr, 10);

  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/TCP-gamma:0");
  sg4::Engine::set_config("network/crosstraffic:0");
  sg4::Engine::set_config("network/weight-S:0");
  sg4::Engine::set_config("network/latency-factor:1");
  sg4::Engine::set_config("network/bandwidth-factor:1");
  sg4::Engine::set_config("maxmin/precision:1e-9");
  sg4::Engine::set_config(std::string("network/optim:") +
                          (strcmp(argv[7], "full") == 0 ? "Full" : "Lazy"));
  build((RaNetKind)find(ra_net_names, argv[2]), n);
  sg4::Activity::on_completion_cb(ended);
  traffic = ra_traffic_new(
      (RaTrafficKind)find(ra_traffic_names, argv[1]), n,
      (uint32_t)strtoul(argv[4], nullptr, 10), strtod(argv[5], nullptr),
      (uint32_t)strtoul(argv[6], nullptr, 10), &sink, nullptr);
  struct timespec begin, end;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  ra_traffic_begin(traffic);
  engine.run();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  double took_s = (double)(end.tv_sec - begin.tv_sec) +
                  1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
  if (ra_traffic_n_ended(traffic) != ra_traffic_n_tasks(traffic)) {
    fprintf(stderr, "simgrid_peer: %llu of %llu ended\n",
            (unsigned long long)ra_traffic_n_ended(traffic),
            (unsigned long long)ra_traffic_n_tasks(traffic));
    return 1;
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%llu %.9g %.17g %ld\n",
         (unsigned long long)ra_traffic_n_tasks(traffic), took_s,
         sg4::Engine::get_clock(), usage.ru_maxrss);
  return 0;
}
