/* reallot calibrate: a profile from a folder of measurements. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/calibrate_host.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "study/calibrate.h"

#define SUFFIX ".profile"

/* The law being fitted, where a person watches. */
static void
show_law(const char *law)
{
  fprintf(stderr, "\r\033[Kfitting %s ...", law);
}

/* `h100-sxm` of `/a/h100-sxm.profile`. */
static char *
gpu_of(const char *output, GError **error)
{
  char *name = g_path_get_basename(output);

  if (g_str_has_suffix(name, SUFFIX)) {
    name[strlen(name) - strlen(SUFFIX)] = '\0';
    return name;
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "--output: '%s' does not name a GPU, expected GPU%s, or --gpu",
              output, SUFFIX);
  g_free(name);
  return NULL;
}

/* The profiles called @names, (element-type RaProfile). */
static GPtrArray *
load_bases(char **names, GError **error)
{
  g_autoptr(GPtrArray) bases =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_profile_free);

  for (guint i = 0; names && names[i]; i++) {
    g_autofree char *path = ra_data_find("profiles", names[i], NULL, error);
    g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, error) : NULL;
    RaProfile *profile = file ? ra_profile_load(file, error) : NULL;

    if (!profile)
      return NULL;
    g_ptr_array_add(bases, profile);
  }
  return g_steal_pointer(&bases);
}

static gboolean
calibrate(const char *from, const char *gpu, char **transfer, const char *merge,
          const char *output, GError **error)
{
  g_autoptr(GPtrArray) bases = load_bases(transfer, error);
  gboolean watched = isatty(STDERR_FILENO);
  g_autoptr(RaCalibration) calibration = NULL;

  if (!bases)
    return FALSE;
  calibration =
      merge ? ra_calibrate_merge(merge, from, gpu, error)
            : ra_calibrate(from, gpu, (RaProfile *const *)bases->pdata,
                           bases->len, watched ? show_law : NULL, error);

  if (watched)
    fprintf(stderr, "\r\033[K");
  if (!calibration)
    return FALSE;
  for (guint i = 0; i < calibration->notes->len; i++)
    fprintf(stderr, "reallot: %s\n",
            (char *)g_ptr_array_index(calibration->notes, i));
  return ra_output_write(output, calibration->text->str, calibration->text->len,
                         error);
}

/* --backend takes no measurements of others. */
static gboolean
check_backend(const char *backend, const char *from, const char *merge,
              char **transfer, GError **error)
{
  if (!backend)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--ranks, --quick: they are of --backend, expected "
                "--backend=host");
  else if (strcmp(backend, "host") != 0)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--backend: '%s' is unknown, expected host", backend);
  else if (from || merge || transfer)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--backend: it measures, expected it without --from, --merge "
                "and --transfer");
  else
    return TRUE;
  return FALSE;
}

static void
calibrate_backend(const char *ranks, gboolean quick, const char *gpu,
                  const char *output, GError **error)
{
  g_autofree char *device = NULL;

  if (gpu)
    device = g_strdup(gpu);
  else
    device = output ? gpu_of(output, error) : g_strdup("host");
  if (device)
    ra_calibrate_host(ranks, quick, device, output, error);
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_autofree char *from = NULL, *gpu = NULL, *merge = NULL;
  g_autofree char *backend = NULL, *ranks = NULL;
  g_auto(GStrv) transfer = NULL;
  gboolean quick = FALSE;
  const GOptionEntry own[] = {
      {"from", 0, 0, G_OPTION_ARG_FILENAME, &from,
       "Folder of measurements, laid out like the project's", "DIR"},
      {"gpu", 0, 0, G_OPTION_ARG_FILENAME, &gpu,
       "Class of GPU; else what FILE is called", "GPU"},
      {"transfer", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &transfer,
       "Laws without rows by data sheet, from this profile of another GPU; "
       "repeatable",
       "PROFILE"},
      {"merge", 0, 0, G_OPTION_ARG_FILENAME, &merge,
       "Only add the rows to the tables of this profile", "PROFILE"},
      {"backend", 0, 0, G_OPTION_ARG_FILENAME, &backend,
       "Measure this machine: host, its cores", "NAME"},
      {"ranks", 0, 0, G_OPTION_ARG_FILENAME, &ranks,
       "With --backend: threads that run at the same time (default: as many as "
       "cores)",
       "N"},
      {"quick", 0, 0, G_OPTION_ARG_NONE, &quick, "With --backend: fewer shapes",
       NULL},
      {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_calibrate, own, argc, argv,
                        error) ||
      options.help || !ra_option_file("--merge", merge, error))
    return 0;
  if (backend || ranks || quick) {
    if (check_backend(backend, from, merge, transfer, error))
      calibrate_backend(ranks, quick, gpu, options.output, error);
    return 0;
  }
  if (!from || *from == '\0') {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "there is no --from, expected 'reallot calibrate --from DIR -o "
                "GPU%s'",
                SUFFIX);
    return 0;
  }
  if (!gpu && options.output)
    gpu = gpu_of(options.output, error);
  else if (!gpu)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "there is neither --gpu nor --output, expected 'reallot "
                "calibrate --from DIR -o GPU%s'",
                SUFFIX);
  if (gpu)
    calibrate(from, gpu, transfer, merge, options.output, error);
  return 0;
}

const RaCommand ra_command_calibrate = {
    .name = "calibrate",
    .arguments = "--from DIR|--backend=host -o GPU.profile",
    .summary = "Fit a profile on measurements",
    .details =
        "DIR has kernels_gemm/gemm_h100_bf16*.csv and the like; files and\n"
        "columns that are not known are left alone.  Rows far from their law\n"
        "are kept, counted in the profile and told of on standard error.\n"
        "\n"
        "--backend=host measures every op and collective of `reallot run` on "
        "this\n"
        "machine, all ranks at the same time, in 2 minutes (--quick: 20 s), "
        "and says\n"
        "when the machine is too noisy. Samples are kept beside FILE as a "
        "trace: a\n"
        "second start goes on where the first was stopped.\n"
        "\n"
        "Examples:\n"
        "  reallot calibrate --backend=host -o host.profile\n"
        "  reallot calibrate --from measurements -o h100-sxm.profile\n"
        "  reallot calibrate --from measurements --gpu a100-sxm > my.profile\n"
        "  reallot calibrate --from measurements --transfer h100-sxm.profile "
        "-o b200-sxm.profile\n"
        "  reallot calibrate --from mine --merge h100-sxm.profile "
        "--gpu h100-sxm -o mine.profile\n",
    .groups = RA_OPTIONS_OUTPUT,
    .n_files = 0,
    .run = run,
};
