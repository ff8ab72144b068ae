/* Addresses of this machine, and TCP connections. */
#include "config.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec/comm/tcp_connect.h"

#define MOST_BYTES 256 /* limit for all addresses */

void
ra_tcp_addresses(GString *out)
{
  struct ifaddrs *all = NULL;

  if (getifaddrs(&all) != 0)
    all = NULL;
  for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
    char text[INET_ADDRSTRLEN];
    const struct sockaddr_in *in = (const void *)i->ifa_addr;

    if (!in || in->sin_family != AF_INET || (i->ifa_flags & IFF_LOOPBACK) ||
        !(i->ifa_flags & IFF_UP) || out->len > MOST_BYTES)
      continue;
    g_string_append_printf(
        out, " %s", inet_ntop(AF_INET, &in->sin_addr, text, sizeof text));
  }
  if (all)
    freeifaddrs(all);
  g_string_append(out, " 127.0.0.1");
}

int
ra_tcp_connect(const char *address, guint port)
{
  struct sockaddr_in in = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port)};
  struct timeval patience = {.tv_sec = 2}, forever = {0};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (fd < 0 || inet_pton(AF_INET, address, &in.sin_addr) != 1) {
    if (fd >= 0)
      close(fd);
    return -1;
  }
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(fd, (const void *)&in, sizeof in) != 0) {
    close(fd);
    return -1;
  }
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &forever, sizeof forever);
  return fd;
}
