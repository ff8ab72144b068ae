/* A team: the threads that work for one rank.
 *
 * The thread that makes a team leads it.  Work is a loop over parts; who does
 * which part is not told, so what a part computes may depend on its number
 * only.  A part is no smaller than some 10 us of work, or it does not pay.
 *
 *     g_autoptr(RaTeam) team = ra_team_new(4, TRUE);
 *     ra_team_lead(team);
 *     ra_team_for(n_parts, add_part, &sum);     on up to four threads
 *     ra_team_lead(NULL);
 *
 * Where nobody leads the loop runs on its thread, in order.
 */
#ifndef RA_EXEC_BACKEND_TEAM_H
#define RA_EXEC_BACKEND_TEAM_H

#include <glib.h>
#include <stdint.h>

typedef struct _RaTeam RaTeam;

typedef void (*RaTeamFunc)(uint32_t part, gpointer data);

/**
 * ra_team_new:
 * @n_threads: >= 1, the leader among them
 * @spins: whether every thread has a core, so that waiting a few microseconds
 *   for work or for the others costs nobody anything
 *
 * Returns: (transfer full): ra_team_free() it
 */
RaTeam *ra_team_new(uint32_t n_threads, gboolean spins);
void ra_team_free(RaTeam *team);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTeam, ra_team_free)

/* @team (nullable): the calling thread's from now on, and no other's. */
void ra_team_lead(RaTeam *team);

/* Threads of the calling thread's team, 1 without one. */
uint32_t ra_team_n_threads(void);

/**
 * ra_team_for:
 * @n_parts: < 2^20
 * @func: called once for each part, on any thread of the team; leads none
 *
 * Returns when all parts are done.
 * Cost: one lock and a wake up of the team, some microseconds, beyond one part;
 * nothing for one.
 */
void ra_team_for(uint32_t n_parts, RaTeamFunc func, gpointer data);

#endif
