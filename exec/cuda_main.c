#include "config.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdio.h>

#include "base/error.h"
#include "exec/cuda_selftest.h"

/* The program that links CUDA.  `reallot` runs it when a device is wanted, as
 * git runs its helpers, and it can be run by hand to see whether a machine is
 * fit: reallot-cuda --selftest.
 */

typedef struct {
  gboolean selftest;
  gboolean version;
  int seed; /* of the self test's inputs */
} Options;

static gboolean
parse(Options *options, int *argc, char ***argv, GError **error)
{
  const GOptionEntry entries[] = {
      {"selftest", 0, 0, G_OPTION_ARG_NONE, &options->selftest,
       "check the device against CPU references", NULL},
      {"seed", 0, 0, G_OPTION_ARG_INT, &options->seed,
       "seed of the random inputs (default 0)", "N"},
      {"version", 0, 0, G_OPTION_ARG_NONE, &options->version,
       "print the versions of Reallot and of the libraries", NULL},
      {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
  };
  g_autoptr(GOptionContext) context =
      g_option_context_new("- CUDA back end of reallot");

  g_option_context_set_description(
      context, "Exit status: 0 ok, 1 a check found a difference, 2 usage, 3 no "
               "device or driver,\n4 the device failed.\n");
  g_option_context_add_main_entries(context, entries, NULL);
  if (!g_option_context_parse(context, argc, argv, error))
    return FALSE;
  if (*argc > 1) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "unexpected argument '%s', expected options only", (*argv)[1]);
    return FALSE;
  }
  if (!options->selftest && !options->version) {
    g_set_error_literal(error, RA_ERROR, RA_ERROR_INPUT,
                        "nothing to do, expected '--selftest' or '--version'");
    return FALSE;
  }
  return TRUE;
}

static gboolean
selftest(int seed, GError **error)
{
  static const struct {
    const char *name;
    RaCudaCheck check;
  } checks[] = {
      {"rmsnorm", ra_cuda_check_rmsnorm},
      {"gemm", ra_cuda_check_gemm},
      {"allreduce", ra_cuda_check_allreduce},
  };

  if (!ra_cuda_open(error))
    return FALSE;
  for (size_t i = 0; i < G_N_ELEMENTS(checks); i++) {
    g_autofree char *detail = NULL;

    if (!checks[i].check((guint32)seed, &detail, error))
      return FALSE;
    printf("%-10s ok: %s\n", checks[i].name, detail);
  }
  return TRUE;
}

static void
print_version(void)
{
  int nccl = 0;

  ncclGetVersion(&nccl);
  printf("reallot-cuda %s (CUDA %d, cuBLAS %zu, NCCL %d)\n", PACKAGE_VERSION,
         CUDART_VERSION, cublasGetCudartVersion(), nccl);
}

int
main(int argc, char **argv)
{
  Options options = {0};
  g_autoptr(GError) error = NULL;
  int status;

  if (parse(&options, &argc, &argv, &error)) {
    if (options.version)
      print_version();
    if (options.selftest)
      selftest(options.seed, &error);
  }
  status = ra_error_exit_status(error);
  if (error)
    fprintf(stderr, "reallot-cuda: %s\n", error->message);
  return status;
}
