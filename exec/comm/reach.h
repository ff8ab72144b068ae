/* How processes of one run reach each other over TCP.
 *
 *     ra_reach_addresses(where);                  " 10.0.0.1 127.0.0.1"
 *     fd = ra_reach_connect("10.0.0.1", port);    by another
 */
#ifndef RA_EXEC_COMM_REACH_H
#define RA_EXEC_COMM_REACH_H

#include <glib.h>

/* Appends the IPv4 addresses that others may reach this machine at, a space
 * before each, the loopback last. */
void ra_reach_addresses(GString *out);

/* Returns: a connection that was made within 2 s, to be closed, or -1. */
int ra_reach_connect(const char *address, guint port);

#endif
