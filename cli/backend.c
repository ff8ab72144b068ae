/* Option --backend: the device that runs ops, or the program that has it. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/backend.h"
#include "cli/helper.h"
#include "cli/options.h"

#define CUDA "cuda"

/* The last @flag of the command line, as its command will read it. */
static const char *
wanted(char **argv, const char *flag)
{
  const char *value = NULL;
  gsize n = strlen(flag);

  for (guint i = 1; argv[i] && strcmp(argv[i], "--") != 0; i++) {
    if (g_str_has_prefix(argv[i], flag) && argv[i][n] == '=')
      value = argv[i] + n + 1;
    else if (strcmp(argv[i], flag) == 0 && argv[i + 1])
      value = argv[++i];
  }
  return value;
}

gboolean
ra_cli_backend_wants_nccl(char **argv)
{
  return g_strcmp0(wanted(argv, "--communicator"), RA_COMMUNICATOR_NCCL) == 0;
}

static gboolean
has_backend(const char *command)
{
  return strcmp(command, "run") == 0 || strcmp(command, "calibrate") == 0;
}

/* A plan of what would be measured wants no device. */
static gboolean
only_plans(char **argv)
{
  return strcmp(argv[1], "calibrate") == 0 &&
         g_strv_contains((const char *const *)argv, "--dry-run");
}

gboolean
ra_cli_backend_begin(char **argv, GError **error)
{
  if (!has_backend(argv[1]) || only_plans(argv) || ra_accelerator_backend() ||
      g_strcmp0(wanted(argv, "--backend"), CUDA) != 0)
    return TRUE;
  return ra_helper_run("reallot-cuda", argv, "which --backend=" CUDA " needs",
                       RA_ERROR_NO_DEVICE, error);
}

gboolean
ra_cli_backend_option(const char *flag, const char *text,
                      const RaAccelerator **out_device, GError **error)
{
  static const char *const names[] = {"host", CUDA, NULL};
  int index = 0;

  if (text && !ra_option_word(flag, text, names, &index, error))
    return FALSE;
  *out_device = index == 0 ? NULL : ra_accelerator_open(error);
  return index == 0 || *out_device;
}
