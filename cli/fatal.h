/* Errors from which no function returns: memory or threads that the machine
 * does not give.  They end the program with one line and exit status 2, where
 * GLib would end it by a signal.
 */
#ifndef RA_CLI_FATAL_H
#define RA_CLI_FATAL_H

/* From now on; call it before any thread is created.  Warnings that G_DEBUG
 * makes fatal still end the program by a signal. */
void ra_fatal_watch(void);

#endif
