/* How processes of one run reach each other over TCP.
 *
 *     ra_tcp_addresses(where);                  " 10.0.0.1 127.0.0.1"
 *     fd = ra_tcp_connect("10.0.0.1", port);    by another
 */
#ifndef RA_EXEC_COMM_TCP_CONNECT_H
#define RA_EXEC_COMM_TCP_CONNECT_H

#include <glib.h>

/* Appends the IPv4 addresses that others may reach this machine at, a space
 * before each, the loopback last. */
void ra_tcp_addresses(GString *out);

/* Returns: a connection that was made within 2 s, to be closed, or -1. */
int ra_tcp_connect(const char *address, guint port);

#endif
