/* Writing and listing of checkpoints. */
#include "config.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/folder.h"
#include "exec/checkpoint.h"
#include "exec/run_impl.h"
#include "exec/weights/safetensors.h"

static const char prefix[] = "iteration-";
static const char beside[] = ".writing";
static const char *const array_names[] = {"", "first.", "second."};

/* ---- folders --------------------------------------------------------------*/

/* The number in the name of a checkpoint. */
static gboolean
read_name(const char *name, uint32_t *out)
{
  guint64 value;

  if (!g_str_has_prefix(name, prefix) ||
      !g_ascii_string_to_unsigned(name + strlen(prefix), 10, 0, UINT32_MAX,
                                  &value, NULL))
    return FALSE;
  *out = (uint32_t)value;
  return TRUE;
}

static int
compare_counts(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return (x > y) - (x < y);
}

/* (transfer full): of uint32_t, ascending. */
static GArray *
list(const char *folder)
{
  GArray *out = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;
  uint32_t n;

  while (dir && (name = g_dir_read_name(dir)))
    if (read_name(name, &n))
      g_array_append_val(out, n);
  if (dir)
    g_dir_close(dir);
  g_array_sort(out, compare_counts);
  return out;
}

static char *
path_of(const char *folder, uint32_t n_iterations)
{
  g_autofree char *name = g_strdup_printf("%s%06u", prefix, n_iterations);

  return g_build_filename(folder, name, NULL);
}

char *
ra_checkpoint_last(const char *folder, uint32_t *out_iterations)
{
  g_autoptr(GArray) all = list(folder);

  if (all->len == 0)
    return NULL;
  *out_iterations = g_array_index(all, uint32_t, all->len - 1);
  return path_of(folder, *out_iterations);
}

/* ---- parts of the ranks ---------------------------------------------------*/

uint32_t
ra_checkpoint_slot(const RaRankCall *c, uint32_t version, uint32_t n)
{
  if (version > n || n - version >= c->n_versions)
    return RA_NONE;
  if (!c->is_own)
    return version % c->n_versions;
  return version == n ? 0 : 1 + version % (c->n_versions - 1);
}

/* (transfer full): the parts of @version on all ranks of @call; none where it
 * does not keep that version. */
static GPtrArray *
parts_of(const RaRun *run, uint32_t call, uint32_t version, uint32_t n)
{
  GPtrArray *parts = g_ptr_array_new();

  for (uint32_t r = 0; r < run->n_ranks; r++) {
    const RaRankCall *c = &run->ranks[r].calls[call];
    uint32_t slot = c->is_in ? ra_checkpoint_slot(c, version, n) : RA_NONE;

    if (slot != RA_NONE && c->params[slot])
      g_ptr_array_add(parts, c->params[slot]);
  }
  return parts;
}

static gboolean
reads(const RaRun *run, uint32_t call, uint32_t model)
{
  const RaCall *c = &run->workload->calls[call];

  return c->kind != RA_CALL_HOST && c->model == model;
}

uint32_t
ra_checkpoint_most_lag(const RaRun *run)
{
  uint32_t most = 0;

  for (uint32_t r = 0; r < run->n_ranks; r++)
    for (uint32_t call = 0; call < run->workload->n_calls; call++)
      if (run->ranks[r].calls[call].is_in)
        most = MAX(most, run->ranks[r].calls[call].n_versions - 1);
  return most;
}

void
ra_checkpoint_keep(RaRun *run, uint32_t n)
{
  for (uint32_t m = 0; m < run->workload->n_models; m++) {
    uint32_t trainer = ra_workload_trainer(run->workload, m);
    g_autoptr(GPtrArray) parts = NULL;
    RaPast past = {m, n, NULL};

    if (trainer == RA_NONE)
      continue;
    ra_run_fetch(run, m);
    if (run->world && run->world->process > 0)
      continue; /* process 0 has all */
    parts = parts_of(run, trainer, n, n);
    past.parts = g_ptr_array_new_with_free_func((GDestroyNotify)ra_params_free);
    for (guint i = 0; i < parts->len; i++)
      g_ptr_array_add(past.parts, ra_params_copy(parts->pdata[i]));
    g_array_append_val(run->past, past);
    ra_run_drop(run, m);
  }
}

/* The parts of an older version: kept for this, or of whichever call reads
 * it. */
static GPtrArray *
find_parts(const RaRun *run, uint32_t model, uint32_t version, uint32_t n)
{
  for (guint i = 0; i < run->past->len; i++) {
    const RaPast *past = &g_array_index(run->past, RaPast, i);

    if (past->model == model && past->version == version)
      return g_ptr_array_ref(past->parts);
  }
  for (uint32_t call = 0; call < run->workload->n_calls; call++)
    if (reads(run, call, model)) {
      GPtrArray *parts = parts_of(run, call, version, n);

      if (parts->len > 0)
        return parts;
      g_ptr_array_unref(parts);
    }
  return g_ptr_array_new();
}

/* Step count of AdamW, which is equal on all ranks of the call. */
static uint64_t *
steps_of(const RaRun *run, uint32_t call, uint32_t rank)
{
  RaRankCall *c = &run->ranks[rank].calls[call];

  return c->is_in ? &c->n_steps : NULL;
}

/* ---- saving ---------------------------------------------------------------*/

/* The arrays of one file, in their order. */
typedef struct {
  GPtrArray *parts; /* owned by the writer's list */
  RaParamsArray which;
  uint32_t index; /* index of the tensor */
} Piece;

typedef struct {
  const RaModel *model;
  GArray *heads;   /* RaSafetensor, names owned */
  GArray *pieces;  /* Piece */
  GPtrArray *sets; /* sets of parts, owned */
  uint64_t most;   /* elements of the largest tensor */
} Writer;

/* All tensors of @parts as arrays named NAME behind @lead; takes @parts. */
static void
add_arrays(Writer *w, GPtrArray *parts, RaParamsArray which, const char *lead)
{
  g_ptr_array_add(w->sets, parts);
  for (uint32_t i = 0; i < ra_model_n_tensors(w->model); i++) {
    Piece piece = {parts, which, i};
    RaSafetensor head = {.type = RA_SAFETENSOR_F32, .n_dims = 2};
    RaTensor tensor;

    ra_model_tensor(w->model, i, &tensor);
    head.name = g_strconcat(lead, tensor.name, NULL);
    head.dims[0] = tensor.rows;
    head.dims[1] = tensor.cols;
    w->most = MAX(w->most, tensor.rows * tensor.cols);
    g_array_append_val(w->heads, head);
    g_array_append_val(w->pieces, piece);
  }
}

static gboolean
write_arrays(const Writer *w, const char *path, const char *const *metadata,
             GError **error)
{
  g_autofree float *buffer = g_new0(float, w->most + 1);
  g_autoptr(GBytes) head = ra_safetensors_head(
      (RaSafetensor *)(gpointer)w->heads->data, w->heads->len, metadata);
  RaAtomicFile *aside = ra_atomic_file_new(path);

  ra_atomic_file_put(aside, g_bytes_get_data(head, NULL),
                     g_bytes_get_size(head));
  for (guint i = 0; i < w->pieces->len; i++) {
    const Piece *p = &g_array_index(w->pieces, Piece, i);

    ra_params_gather((const RaParams *const *)(gpointer)p->parts->pdata,
                     p->parts->len, p->index, p->which, buffer);
    ra_atomic_file_put(aside, buffer,
                       g_array_index(w->heads, RaSafetensor, i).n_bytes);
  }
  return ra_atomic_file_end(aside, error);
}

char *
ra_checkpoint_frozen_sum(const RaRun *run, uint32_t model)
{
  g_autoptr(GPtrArray) parts = find_parts(run, model, 0, 0);
  const RaModel *m = run->workload->models[model].model;
  g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);

  for (uint32_t i = 0; parts->len > 0 && i < ra_model_n_tensors(m); i++) {
    g_autofree float *buffer = NULL;
    RaTensor t;

    ra_model_tensor(m, i, &t);
    buffer = g_new0(float, t.rows *t.cols + 1);
    ra_params_gather((const RaParams *const *)(gpointer)parts->pdata,
                     parts->len, i, RA_PARAMS_WEIGHTS, buffer);
    for (uint64_t row = 0; row < t.rows; row++)
      g_checksum_update(sum, (const guchar *)(buffer + row * t.cols),
                        (gssize)(t.cols * sizeof(float)));
  }
  return g_strdup(g_checksum_get_string(sum));
}

/* (transfer full): what stands in the head of a file of @model. */
static GPtrArray *
metadata_of(const RaRun *run, uint32_t model, uint32_t trainer, uint32_t n)
{
  GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
  uint64_t n_steps = 0;

  for (uint32_t r = 0; trainer != RA_NONE && r < run->n_ranks; r++)
    if (steps_of(run, trainer, r))
      n_steps = *steps_of(run, trainer, r);
  g_ptr_array_add(out, g_strdup("iterations"));
  g_ptr_array_add(out, g_strdup_printf("%u", n));
  g_ptr_array_add(out, g_strdup("seed"));
  g_ptr_array_add(out,
                  g_strdup_printf("%" G_GUINT64_FORMAT, run->options.seed));
  g_ptr_array_add(out, g_strdup("workload"));
  g_ptr_array_add(out, g_strdup_printf("%016" G_GINT64_MODIFIER "x",
                                       ra_workload_hash(run->workload)));
  g_ptr_array_add(out, g_strdup("steps"));
  g_ptr_array_add(out, g_strdup_printf("%" G_GUINT64_FORMAT, n_steps));
  if (trainer == RA_NONE) {
    g_ptr_array_add(out, g_strdup("sha256"));
    g_ptr_array_add(out, ra_checkpoint_frozen_sum(run, model));
  }
  g_ptr_array_add(out, NULL);
  return out;
}

static void
clear_head(gpointer head)
{
  g_free(((RaSafetensor *)head)->name);
}

static gboolean
save_model(const RaRun *run, const char *folder, uint32_t model, uint32_t n,
           GError **error)
{
  uint32_t trainer = ra_workload_trainer(run->workload, model);
  g_autofree char *name =
      g_strconcat(run->workload->models[model].name, ".safetensors", NULL);
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autoptr(GPtrArray) metadata = metadata_of(run, model, trainer, n);
  Writer w = {run->workload->models[model].model,
              g_array_new(FALSE, FALSE, sizeof(RaSafetensor)),
              g_array_new(FALSE, FALSE, sizeof(Piece)),
              g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref),
              0};
  gboolean ok;

  g_array_set_clear_func(w.heads, clear_head);
  for (uint32_t a = 0; trainer != RA_NONE && a < RA_N_PARAMS_ARRAYS; a++)
    add_arrays(&w, parts_of(run, trainer, n, n), (RaParamsArray)a,
               array_names[a]);
  for (uint32_t lag = 1;
       trainer != RA_NONE && lag <= MIN(n, ra_checkpoint_most_lag(run));
       lag++) {
    g_autofree char *lead = g_strdup_printf("behind-%u.", lag);
    GPtrArray *parts = find_parts(run, model, n - lag, n);

    if (parts->len == 0) {
      g_ptr_array_unref(parts);
      break;
    }
    add_arrays(&w, parts, RA_PARAMS_WEIGHTS, lead);
  }
  ok = write_arrays(&w, path, (const char *const *)metadata->pdata, error);
  g_array_unref(w.heads);
  g_array_unref(w.pieces);
  g_ptr_array_unref(w.sets);
  return ok;
}

/* Process 0 writes what the others have. */
static void
give_models(RaRun *run)
{
  for (uint32_t m = 0; m < run->workload->n_models; m++)
    ra_run_fetch(run, m);
}

gboolean
ra_checkpoint_save(RaRun *run, uint32_t n_iterations, GError **error)
{
  const char *folder = run->options.checkpoint;
  g_autofree char *path = path_of(folder, n_iterations);
  g_autofree char *writing = g_strconcat(path, beside, NULL);
  g_autoptr(GArray) all = NULL;
  gboolean ok = TRUE;

  if (run->world && run->world->process > 0) {
    give_models(run);
    return TRUE;
  }
  ra_folder_remove(writing); /* left by a run that was killed */
  if (g_mkdir_with_parents(writing, 0777) != 0)
    return ra_error_file(error, writing, errno, TRUE);
  for (uint32_t m = 0; ok && m < run->workload->n_models; m++) {
    ra_run_fetch(run, m);
    ok = save_model(run, writing, m, n_iterations, error);
    ra_run_drop(run, m);
  }
  if (ok && g_rename(writing, path) != 0) {
    gboolean is_there = errno == ENOTEMPTY || errno == EEXIST;

    g_set_error(error, RA_ERROR, RA_ERROR_IO, "%s: %s", path,
                is_there ? "it is there: another run writes to this folder, "
                           "expected one of its own"
                         : g_strerror(errno));
    ok = FALSE;
  }
  if (!ok)
    ra_folder_remove(writing);
  all = list(folder);
  for (guint i = 0; ok && i + run->options.keep < all->len; i++) {
    g_autofree char *old = path_of(folder, g_array_index(all, uint32_t, i));

    ra_folder_remove(old);
  }
  return ok;
}
