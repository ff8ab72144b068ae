/* A team: the threads that work for one rank.
 *
 * The thread that makes a team leads it.  Work is a loop over parts.  Any
 * thread may run any part, so the result of a part may depend on its number
 * only.  A part should be at least some 10 us of work.
 *
 *     g_autoptr(RaTeam) team = ra_team_new(4, TRUE);
 *     ra_team_lead(team);
 *     ra_team_for(n_parts, add_part, &sum);     on up to four threads
 *     ra_team_lead(NULL);
 *
 * A thread that leads no team runs the loop by itself, in order.
 */
#ifndef RA_EXEC_BACKEND_TEAM_H
#define RA_EXEC_BACKEND_TEAM_H

#include <glib.h>
#include <stdint.h>

typedef struct _RaTeam RaTeam;

typedef void (*RaTeamFunc)(uint32_t part, gpointer data);

/**
 * ra_team_new:
 * @n_threads: >= 1, including the leader
 * @spins: every thread has a core, so spin-waiting for a few microseconds
 *   delays no other thread
 *
 * Returns: (transfer full): free with ra_team_free()
 */
RaTeam *ra_team_new(uint32_t n_threads, gboolean spins);
void ra_team_free(RaTeam *team);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTeam, ra_team_free)

/* Makes @team (nullable) the team of the calling thread; a team has one
 * leader. */
void ra_team_lead(RaTeam *team);

/* Threads of the calling thread's team, 1 without one. */
uint32_t ra_team_n_threads(void);

/**
 * ra_team_for:
 * @n_parts: < 2^20
 * @func: called once per part, on any thread of the team; must not lead a team
 *
 * Returns when all parts are done.
 * Cost: a lock and a wake-up of the team, some microseconds; nothing for one
 * part.
 */
void ra_team_for(uint32_t n_parts, RaTeamFunc func, gpointer data);

#endif
