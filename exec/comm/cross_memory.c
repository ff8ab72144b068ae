/* Test whether a process may read another's memory. */
#include "config.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/comm/cross_memory.h"

gboolean
ra_cross_memory_allowed(void)
{
  int here = 0, there = 1;
  struct iovec to = {&here, sizeof here}, from = {&there, sizeof there};
  ssize_t n;
  pid_t child = fork();

  if (child < 0)
    return FALSE;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
      pause();
  }
  n = process_vm_readv(child, &to, 1, &from, 1, 0);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return n == sizeof here && here == 1;
}
