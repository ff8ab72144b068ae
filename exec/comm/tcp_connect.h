/* TCP connections between the processes of a run.
 *
 *     ra_tcp_addresses(where);                  " 10.0.0.1 127.0.0.1"
 *     fd = ra_tcp_connect("10.0.0.1", port);    in another process
 */
#ifndef RA_EXEC_COMM_TCP_CONNECT_H
#define RA_EXEC_COMM_TCP_CONNECT_H

#include <glib.h>

/* Appends the IPv4 addresses of this machine, a space before each, the loopback
 * last. */
void ra_tcp_addresses(GString *out);

/* Connects within 2 s.  Returns: the socket, to be closed, or -1. */
int ra_tcp_connect(const char *address, guint port);

#endif
