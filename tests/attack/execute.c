/* Running a program within limits. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/attack/execute.h"

#define MAX_ERROR_BYTES (1 << 20)
#define MAX_FILE_BYTES (1 << 28)

const char *const ra_environment_names[RA_N_ENVIRONMENTS] = {
    [RA_ENVIRONMENT_PLAIN] = "plain",
    [RA_ENVIRONMENT_CLOSED] = "closed descriptors",
    [RA_ENVIRONMENT_SMALL_STACK] = "small stack",
    [RA_ENVIRONMENT_SMALL_MEMORY] = "small address space",
    [RA_ENVIRONMENT_FEW_FILES] = "few descriptors",
    [RA_ENVIRONMENT_FULL] = "short files",
    [RA_ENVIRONMENT_GNUPLOT] = "bad gnuplot",
};

static void
limit(int resource, rlim_t value)
{
  struct rlimit l = {value, value};

  if (setrlimit(resource, &l) != 0)
    _exit(126);
}

/* In the child: what the program meets. */
static void
become(const RaExecution *e)
{
  guint d = e->degree;

  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, e->cpu_s);
  alarm(15 * e->cpu_s); /* it survives execv() */
  limit(RLIMIT_FSIZE, MAX_FILE_BYTES);
  switch (e->environment) {
  case RA_ENVIRONMENT_CLOSED:
    for (int fd = 0; fd < 3; fd++)
      if ((d % 7 + 1) >> fd & 1)
        close(fd);
    break;
  case RA_ENVIRONMENT_SMALL_STACK:
    limit(RLIMIT_STACK, (rlim_t)65536 << d % 3);
    break;
  case RA_ENVIRONMENT_SMALL_MEMORY:
    limit(RLIMIT_AS, (rlim_t)1 << (25 + d % 4));
    break;
  case RA_ENVIRONMENT_FEW_FILES:
    limit(RLIMIT_NOFILE, 3 + d % 13);
    break;
  case RA_ENVIRONMENT_FULL:
    signal(SIGXFSZ, SIG_IGN);
    limit(RLIMIT_FSIZE, (rlim_t)(d % 4) * 1024);
    break;
  default:
    break;
  }
}

static G_GNUC_NORETURN void
child(const RaExecution *e)
{
  g_autofree char *out = g_build_filename(e->folder, "out", NULL);
  g_autofree char *err = g_build_filename(e->folder, "err", NULL);
  const char *const paths[] = {"/dev/null", out, err};

  for (int fd = 0; fd < 3; fd++) {
    int opened =
        open(paths[fd], fd == 0 ? O_RDONLY : O_CREAT | O_TRUNC | O_RDWR, 0600);

    if (opened < 0 || dup2(opened, fd) < 0)
      _exit(126);
    if (opened > 2)
      close(opened);
  }
  if (e->environment == RA_ENVIRONMENT_GNUPLOT && e->doubles) {
    g_autofree char *own = g_strdup_printf("%s/%u", e->doubles, e->degree % 4);
    g_autofree char *path = g_strdup_printf("%s:%s", own, g_getenv("PATH"));

    g_setenv("PATH", path, TRUE);
  }
  if (chdir(e->folder) != 0)
    _exit(126);
  become(e);
  execv(e->argv[0], e->argv);
  _exit(126);
}

static char *
read_error(const RaExecution *e)
{
  g_autofree char *path = g_build_filename(e->folder, "err", NULL);
  char *text = NULL;
  gsize n = 0;

  if (!g_file_get_contents(path, &text, &n, NULL))
    return g_strdup("");
  n = MIN(n, MAX_ERROR_BYTES);
  for (gsize i = 0; i < n; i++)
    if (text[i] == '\0')
      text[i] = '?';
  text[n] = '\0';
  return text;
}

static double
seconds(struct timeval t)
{
  return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

void
ra_execute(RaExecution *e)
{
  struct rusage use;
  int status = 0;
  pid_t pid = fork();

  if (pid == 0)
    child(e);
  g_assert(pid > 0);
  while (wait4(pid, &status, 0, &use) < 0 && errno == EINTR)
    ;
  e->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  e->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  e->s = seconds(use.ru_utime) + seconds(use.ru_stime);
  e->mib = (double)use.ru_maxrss / 1024;
  e->error = read_error(e);
}
