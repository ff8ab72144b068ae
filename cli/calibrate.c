/* reallot calibrate: a profile from measurements: a folder of them, traces. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/backend.h"
#include "cli/calibrate_base.h"
#include "cli/calibrate_collectives.h"
#include "cli/calibrate_gpu.h"
#include "cli/calibrate_host.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "estimator/calibrate/calibrate.h"
#include "study/run/gpu_profile.h"
#include "study/run/log_compare.h"
#include "traces/kineto.h"
#include "traces/measured_overlap.h"
#include "traces/nccl_log.h"

#define SUFFIX ".profile"
#define PROFILE_BYTES_MAX (4u << 20) /* as of any key file */

/* `h100-sxm` of `/a/h100-sxm.profile`. */
static char *
gpu_of(const char *output, GError **error)
{
  char *name;

  if (!output) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "missing --gpu or --output, expected 'reallot calibrate --from "
                "DIR -o GPU%s'",
                SUFFIX);
    return NULL;
  }
  name = g_path_get_basename(output);
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
    g_autofree char *path = ra_share_find("profiles", names[i], NULL, error);
    g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, error) : NULL;
    RaProfile *profile = file ? ra_profile_load(file, error) : NULL;

    if (!profile)
      return NULL;
    g_ptr_array_add(bases, profile);
  }
  return g_steal_pointer(&bases);
}

/* Input of a calibration, as typed and as read. */
typedef struct {
  char **from;      /* of --from */
  char *gpu;        /* class of GPU; NULL until it is known */
  char **transfer;  /* profiles of other GPUs */
  char *merge;      /* a profile; NULL: none */
  char *refit;      /* a profile; NULL: none */
  GPtrArray *data;  /* (char *) folders among the sources, borrowed */
  GString *names;   /* of the traces */
  GArray *rows;     /* (RaMeasured) of the traces */
  GArray *beside;   /* (RaMeasuredOverlap) of them */
  GPtrArray *paths; /* (char *) of the traces, borrowed */
  GPtrArray *notes; /* (char *) of reading them */
} Sources;

static void
sources_clear(Sources *s)
{
  g_strfreev(s->from);
  g_free(s->gpu);
  g_strfreev(s->transfer);
  g_free(s->merge);
  g_free(s->refit);
  g_string_free(s->names, TRUE);
  g_array_unref(s->rows);
  g_array_unref(s->beside);
  g_ptr_array_unref(s->data);
  g_ptr_array_unref(s->paths);
  g_ptr_array_unref(s->notes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sources, sources_clear)

/* A folder, or a trace. */
static gboolean
read_source(Sources *s, const char *path, GError **error)
{
  g_autofree char *name = g_path_get_basename(path);

  if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
    g_ptr_array_add(s->data, (gpointer)path);
    return TRUE;
  }
  if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
    g_set_error(
        error, RA_ERROR, RA_ERROR_INPUT,
        "%s: neither a folder nor a trace, expected a folder of measurements",
        path);
    return FALSE;
  }
  g_string_append_printf(s->names, "%s%s", s->names->len > 0 ? ", " : "", name);
  g_ptr_array_add(s->paths, (gpointer)path);
  return ra_calibrate_trace_rows(path, s->rows, s->beside, s->notes, error);
}

static gboolean
read_sources(Sources *s, char **files, GError **error)
{
  for (guint i = 0; s->from[i]; i++)
    if (!read_source(s, s->from[i], error))
      return FALSE;
  for (guint i = 0; files && files[i]; i++)
    if (!read_source(s, files[i], error))
      return FALSE;
  if (s->data->len > 0 || s->merge || s->refit)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "--from: a trace has no data sheet and not every law, expected "
              "also a folder, --refit PROFILE or --merge PROFILE");
  return FALSE;
}

/* (transfer container): @names with NULL behind the last. */
static GPtrArray *
terminated(const GPtrArray *names)
{
  GPtrArray *out = g_ptr_array_new();

  for (guint i = 0; i < names->len; i++)
    g_ptr_array_add(out, g_ptr_array_index(names, i));
  g_ptr_array_add(out, NULL);
  return out;
}

/* Samples of a GPU, alone: what `calibrate --backend=cuda` made of them, to the
 * bit.  NULL without an error: they are something else. */
static RaCalibration *
profile_of_samples(const Sources *s, const char *base, const char *text,
                   RaCalibrateProgress progress, GError **error)
{
  const char *path = s->paths->len == 1 && s->data->len == 0 && s->refit
                         ? g_ptr_array_index(s->paths, 0)
                         : NULL;
  g_autoptr(RaTrace) samples = NULL;

  if (!path || ra_nccl_log_is(path))
    return NULL;
  samples = ra_trace_load_any(path, error);
  if (!samples || !ra_trace_is_from(samples, RA_TRACE_SOURCE_GPU))
    return NULL;
  return ra_gpu_profile(samples, path, base, text, progress, error);
}

/* Into a profile that is there, or of one. */
static RaCalibration *
change_profile(Sources *s, RaCalibrateProgress progress, GError **error)
{
  g_autofree char *path =
      ra_share_find("profiles", s->merge ? s->merge : s->refit, NULL, error);
  g_autoptr(GPtrArray) folders = terminated(s->data);
  g_autofree char *text = NULL;
  RaCalibration *of_samples;
  GError *failure = NULL;
  gsize n_bytes;

  if (!path)
    return NULL;
  for (guint i = 0; i + 1 < folders->len; i++)
    g_string_append_printf(s->names, "%s%s", s->names->len > 0 ? ", " : "",
                           (const char *)g_ptr_array_index(folders, i));
  if (folders->len > 1 &&
      !ra_calibrate_folder_rows((const char *const *)folders->pdata, s->gpu,
                                s->rows, error))
    return NULL;
  if (!ra_file_read(path, PROFILE_BYTES_MAX, &text, &n_bytes, error))
    return NULL;
  for (guint i = 0; i < s->paths->len; i++)
    if (!ra_calibrate_check_host(g_ptr_array_index(s->paths, i), path, text,
                                 error))
      return NULL;
  of_samples = profile_of_samples(s, path, text, progress, &failure);
  if (failure)
    g_propagate_error(error, failure);
  if (of_samples || failure)
    return of_samples;
  return s->merge ? ra_calibrate_merge_rows(path, text, s->rows, s->names->str,
                                            error)
                  : ra_calibrate_rows(path, text, NULL, s->rows, s->beside,
                                      s->names->str, progress, error);
}

static gboolean
calibrate(Sources *s, const RaOptions *options, GError **error)
{
  g_autoptr(GPtrArray) bases = load_bases(s->transfer, error);
  gboolean watched = isatty(STDERR_FILENO);
  g_autoptr(RaCalibration) calibration = NULL;
  g_autoptr(GPtrArray) folders = NULL;

  if (!bases || !read_sources(s, options->files, error))
    return FALSE;
  if (!s->gpu && s->data->len > 0)
    s->gpu = gpu_of(options->output, error);
  if (!s->gpu && s->data->len > 0)
    return FALSE;
  folders = terminated(s->data);
  calibration =
      s->merge || s->refit
          ? change_profile(s, watched ? ra_calibrate_show_law : NULL, error)
          : ra_calibrate((const char *const *)folders->pdata, s->gpu,
                         (RaProfile *const *)bases->pdata, bases->len, s->rows,
                         watched ? ra_calibrate_show_law : NULL, error);
  if (watched)
    fprintf(stderr, "\r\033[K");
  if (!calibration)
    return FALSE;
  ra_calibrate_print_notes(s->notes);
  ra_calibrate_print_notes(calibration->notes);
  return ra_output_write(options->output, calibration->text->str,
                         calibration->text->len, error);
}

/* Flags that exclude each other, or that another needs. */
static gboolean
check_flags(const Sources *s, char **files, GError **error)
{
  gboolean has_from = s->from && s->from[0] && *s->from[0];

  if (!has_from && files && files[0])
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "unexpected argument '%s', expected --from before it",
                files[0]);
  else if (!has_from)
    g_set_error(
        error, RA_ERROR, RA_ERROR_INPUT,
        "missing --from, expected 'reallot calibrate --from DIR -o GPU%s'",
        SUFFIX);
  else if (s->merge && s->refit)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--merge and --refit exclude each other, expected one of them");
  else if (s->transfer && (s->merge || s->refit))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--transfer: the laws come from the profile of %s, expected "
                "one of the two",
                s->merge ? "--merge" : "--refit");
  else
    return ra_option_file("--merge", s->merge, error) &&
           ra_option_file("--refit", s->refit, error);
  return FALSE;
}

/* Options of this machine's calibration, as typed. */
typedef struct {
  char *backend, *ranks;
  char *communicator, *cluster, *largest; /* of collectives */
  gboolean quick, dry_run;
} Machine;

static gboolean
is_typed(const Machine *m)
{
  return m->backend || m->ranks || m->communicator || m->cluster ||
         m->largest || m->quick || m->dry_run;
}

/* Collectives are between GPUs, and the rest is of a GPU or a host alone. */
static gboolean
check_communicator(const Machine *m, gboolean is_cuda, GError **error)
{
  static const char *const names[] = {RA_COMMUNICATOR_NCCL, NULL};
  int index;

  if (m->communicator &&
      !ra_option_word("--communicator", m->communicator, names, &index, error))
    return FALSE;
  if (m->communicator && (!is_cuda || m->dry_run))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--communicator: 'nccl' connects GPUs, expected --backend=cuda "
                "and no --dry-run");
  else if (!m->communicator && (m->cluster || m->largest))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--cluster and --largest are for collectives, expected "
                "--communicator=nccl");
  else
    return TRUE;
  return FALSE;
}

/* --backend takes no measurements of others. */
static gboolean
check_backend(const Machine *m, const Sources *s, char **files, GError **error)
{
  gboolean is_cuda = g_strcmp0(m->backend, "cuda") == 0;

  if (!m->backend)
    g_set_error(
        error, RA_ERROR, RA_ERROR_INPUT,
        "--ranks, --quick, --dry-run, --communicator, --cluster and --largest "
        "need a device, expected --backend=host or --backend=cuda");
  else if (files && files[0])
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--backend: unexpected argument '%s', expected none", files[0]);
  else if (s->from || s->merge || s->transfer || (s->refit && !is_cuda))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--backend measures this machine, expected no --from, --merge "
                "or --transfer, and --refit only with --backend=cuda");
  else if (is_cuda && m->ranks && !m->communicator)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--ranks: one rank measures a GPU, expected --backend=host or "
                "--communicator=nccl");
  else if (m->dry_run && !is_cuda)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--dry-run is not supported here, expected --backend=cuda");
  else
    return check_communicator(m, is_cuda, error);
  return FALSE;
}

static void
calibrate_collectives(const Machine *m, const Sources *s,
                      const RaAccelerator *device, const char *output,
                      GError **error)
{
  const RaCalibrateCollectives what = {.device = device,
                                       .gpu = s->gpu,
                                       .refit = s->refit,
                                       .cluster = m->cluster,
                                       .ranks = m->ranks,
                                       .largest = m->largest,
                                       .quick = m->quick,
                                       .output = output};

  ra_calibrate_collectives(&what, error);
}

static void
calibrate_backend(const Machine *m, const Sources *s, const char *output,
                  GError **error)
{
  RaCalibrateGpu what = {
      .quick = m->quick, .gpu = s->gpu, .refit = s->refit, .output = output};
  g_autofree char *device = NULL;

  if (m->dry_run) {
    ra_calibrate_gpu(&what, error);
    return;
  }
  if (!ra_cli_backend_option("--backend", m->backend, &what.device, error))
    return;
  if (m->communicator) {
    calibrate_collectives(m, s, what.device, output, error);
    return;
  }
  if (what.device) {
    ra_calibrate_gpu(&what, error);
    return;
  }
  if (s->gpu)
    device = g_strdup(s->gpu);
  else
    device = output ? gpu_of(output, error) : g_strdup("host");
  if (device)
    ra_calibrate_host(m->ranks, m->quick, device, output, error);
}

static void
machine_clear(Machine *m)
{
  g_free(m->backend);
  g_free(m->ranks);
  g_free(m->communicator);
  g_free(m->cluster);
  g_free(m->largest);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Machine, machine_clear)

/* Measures, or reads what was measured. */
static void
obey(const Machine *m, Sources *s, const RaOptions *options, GError **error)
{
  if (is_typed(m)) {
    if (check_backend(m, s, options->files, error))
      calibrate_backend(m, s, options->output, error);
  } else if (check_flags(s, options->files, error)) {
    calibrate(s, options, error);
  }
}

/* Flags of --log; owned, nullable. */
typedef struct {
  char *log, *plan;
  gboolean anyway;
} LogFlags;

/* Constants of a system from a trainer's log. */
static gboolean
calibrate_log(const LogFlags *flags, const RaOptions *options, GError **error)
{
  g_autoptr(RaStepLog) log = NULL;
  g_autoptr(RaTable) later = NULL;
  g_autoptr(GPtrArray) tables = g_ptr_array_new();
  g_autofree char *text = NULL, *name = NULL;

  if (!flags->plan || !options->output) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--log: expected --plan PLAN and -o NAME.system beside it");
    return FALSE;
  }
  if (!g_str_has_suffix(options->output, ".system")) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--output: '%s' is no system, expected NAME.system",
                options->output);
    return FALSE;
  }
  name = g_path_get_basename(options->output);
  name[strlen(name) - strlen(".system")] = '\0';
  log = ra_step_log_load(flags->log, error);
  if (log)
    text =
        ra_step_log_fit(flags->plan, log, name, flags->anyway, &later, error);
  if (!text || !ra_output_write(options->output, text, strlen(text), error))
    return FALSE;
  g_ptr_array_add(tables, later);
  return ra_output_tables(tables, options->format, error);
}

/* FALSE: nothing to do, or @error is set. */
static gboolean
take_flags(Machine *m, Sources *s, LogFlags *f, RaOptions *options, int argc,
           char **argv, GError **error)
{
  const GOptionEntry own[] = {
      {"from", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &s->from,
       "Folder of measurements laid out like the project's, trace with ops, or "
       "log of nccl-tests; repeatable",
       "DIR|TRACE|LOG"},
      {"gpu", 0, 0, G_OPTION_ARG_FILENAME, &s->gpu,
       "GPU class (default: the name of FILE)", "GPU"},
      {"transfer", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &s->transfer,
       "Profile of another GPU, whose laws are scaled by data sheet where rows "
       "are missing; repeatable",
       "PROFILE"},
      {"merge", 0, 0, G_OPTION_ARG_FILENAME, &s->merge,
       "Profile whose tables get the new rows; no law is refitted", "PROFILE"},
      {"refit", 0, 0, G_OPTION_ARG_FILENAME, &s->refit,
       "Profile to refit: laws without rows and the data sheet stay as they "
       "are",
       "PROFILE"},
      {"backend", 0, 0, G_OPTION_ARG_FILENAME, &m->backend,
       "Device to measure: host, this machine's cores, or cuda, its GPU",
       "NAME"},
      {"ranks", 0, 0, G_OPTION_ARG_FILENAME, &m->ranks,
       "Concurrent threads, with --backend=host (default: one per core); GPUs "
       "of all processes, with --communicator (default: all)",
       "N"},
      {"communicator", 0, 0, G_OPTION_ARG_FILENAME, &m->communicator,
       "nccl: measure collectives between the GPUs of all processes and fit "
       "their links; with --backend=cuda",
       "NAME"},
      {"cluster", 0, 0, G_OPTION_ARG_FILENAME, &m->cluster,
       "Cluster whose NICs connect the nodes, with --communicator", "FILE"},
      {"largest", 0, 0, G_OPTION_ARG_FILENAME, &m->largest,
       "Largest message, with --communicator (default: 1 GiB; 16 MiB with "
       "--quick)",
       "SIZE"},
      {"quick", 0, 0, G_OPTION_ARG_NONE, &m->quick,
       "Fewer shapes, with --backend", NULL},
      {"dry-run", 0, 0, G_OPTION_ARG_NONE, &m->dry_run,
       "List what would be measured and how long that takes, with "
       "--backend=cuda",
       NULL},
      {"log", 0, 0, G_OPTION_ARG_FILENAME, &f->log,
       "Trainer's log, whose first steps tell the constants of a system",
       "LOG"},
      {"plan", 0, 0, G_OPTION_ARG_FILENAME, &f->plan, "Its plan, with --log",
       "PLAN"},
      {"anyway", 0, 0, G_OPTION_ARG_NONE, &f->anyway,
       "Take a log of other GPUs or another batch too, with --log", NULL},
      {.long_name = NULL}};

  return ra_options_parse(options, &ra_command_calibrate, own, argc, argv,
                          error) &&
         !options->help;
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_auto(Machine) m = {0};
  g_auto(Sources) s = {
      .names = g_string_new(NULL),
      .rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured)),
      .beside = g_array_new(FALSE, FALSE, sizeof(RaMeasuredOverlap)),
      .data = g_ptr_array_new(),
      .paths = g_ptr_array_new(),
      .notes = g_ptr_array_new_with_free_func(g_free),
  };
  LogFlags flags = {NULL, NULL, FALSE};

  if (take_flags(&m, &s, &flags, &options, argc, argv, error)) {
    if (flags.log)
      calibrate_log(&flags, &options, error);
    else
      obey(&m, &s, &options, error);
  }
  g_free(flags.log);
  g_free(flags.plan);
  return 0;
}

const RaCommand ra_command_calibrate = {
    .name = "calibrate",
    .arguments = "--from DIR|TRACE|LOG...|--backend=NAME -o GPU.profile",
    .summary = "Fit a profile to measurements",
    .details =
        "DIR has kernels_gemm/gemm_h100_bf16*.csv and the like; unknown files "
        "and\n"
        "columns are ignored.  Outliers are kept, counted in the profile and "
        "reported\n"
        "on standard error.\n"
        "A TRACE has op rows, as simulate --fidelity=op writes them.  Without "
        "a DIR the\n"
        "data sheet and the other laws come from --refit or --merge.\n"
        "A LOG is the output of all_reduce_perf or another program of "
        "nccl-tests.\n\n"
        "--backend=host measures every op and collective of `reallot run` on "
        "this\n"
        "machine, on all ranks at once, in 2 minutes (--quick: 20 s).  It "
        "warns when\n"
        "the machine is too noisy.  Samples are saved next to FILE as a trace, "
        "and an\n"
        "interrupted measurement resumes from there.\n"
        "--backend=cuda does the same for a GPU, in 3 minutes.  It refits a "
        "base\n"
        "profile: --refit's, or the one of the GPU's class.  What one GPU "
        "cannot tell\n"
        "(links, the data sheet) stays as in the base.  --dry-run works on any "
        "machine.\n"
        "With --communicator=nccl it measures collectives instead, between the "
        "GPUs of\n"
        "all processes started by mpirun or srun: pairs, nodes and all nodes.  "
        "It fits\n"
        "the laws of the links within and between nodes.\n\n"
        "Examples:\n"
        "  reallot calibrate --backend=host -o host.profile\n"
        "  reallot calibrate --backend=cuda -o mine.profile\n"
        "  reallot calibrate --backend=cuda --dry-run\n"
        "  mpirun -n 16 reallot calibrate --backend=cuda --communicator=nccl "
        "\\\n"
        "    --refit mine.profile -o mine-linked.profile\n"
        "  reallot calibrate --from measurements -o h100-sxm.profile\n"
        "  reallot calibrate --from measurements --gpu a100-sxm > my.profile\n"
        "  reallot calibrate --from measurements --transfer h100-sxm.profile "
        "-o b200-sxm.profile\n"
        "  reallot calibrate --from mine --merge h100-sxm.profile --gpu "
        "h100-sxm -o mine.profile\n"
        "  reallot calibrate --from a.trace.tsv b.trace.tsv --refit "
        "h100-sxm.profile -o mine.profile\n"
        "  reallot calibrate --from all_reduce_perf.log --merge "
        "h100-sxm.profile -o mine.profile\n",
    .groups = RA_OPTIONS_OUTPUT,
    .n_files = 0,
    .n_optional = G_MAXUINT,
    .run = run,
};
