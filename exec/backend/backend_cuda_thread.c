/* State of a thread in the GPU's table: scratch buffers, kept words of the
 * host, the GEMM handle, marks, and captured graphs. */
#include "config.h"

#include <string.h>

#include "exec/backend/backend_cuda_impl.h"
#include "exec/backend/cuda_measure.h"
#include "exec/backend/cuda_queue.h"
#include "kernels/sums.h"

/* Bytes of a half of what words go through. */
#define STAGE_BYTES ((gsize)256 << 10)
#define STAGE_WORDS (STAGE_BYTES / sizeof(uint32_t))

/* Ops that a failure names: those begun last. */
#define N_BEGUN 32

/* Pinned memory through which words go to the device: from pageable memory a
 * copy may wait for the stream inside the driver.  Halves take turns; one is
 * written again when the device has read all that it had. */
typedef struct {
  char *memory; /* (2, STAGE_BYTES) owned; NULL: not yet */
  gsize at;     /* in the half at hand */
  guint half;
  RaDeviceEvent *is_read[2]; /* owned */
} Stage;

typedef struct {
  void *rooms[RA_CUDA_N_ROOMS]; /* device memory, owned */
  gsize sizes[RA_CUDA_N_ROOMS]; /* bytes */
  GSList *outgrown;             /* smaller ones that these replaced; owned */
  gsize n_outgrown;             /* their bytes */
  guint64 n_moves;              /* moves of any scratch buffer: graphs have
                                   their addresses */
  const uint32_t *kept;         /* (n_kept) of the host, in RA_CUDA_KEPT */
  gsize n_kept;
  gboolean captures;       /* ops are being captured */
  uint32_t n_looks;        /* that were captured */
  uint32_t *flag;          /* pinned, owned; NULL: not yet */
  void *pinned;            /* likewise */
  gsize n_pinned;          /* its bytes */
  GSList *outgrown_pinned; /* as outgrown */
  RaCudaGemm *gemm;        /* likewise */
  RaDeviceMarks *marks;
  Stage stage;
  const char *begun[N_BEGUN]; /* names: op i is at i % N_BEGUN */
  guint64 n_begun;            /* since the last wait for all of them */
} Mine;

struct _RaBackendGraph {
  RaDeviceGraph *device; /* owned */
  const Mine *of;        /* never looked into */
  guint64 n_moves;       /* as it was captured */
};

static void
mine_free(gpointer data)
{
  Mine *m = data;

  for (int i = 0; i < RA_CUDA_N_ROOMS; i++)
    if (m->rooms[i])
      ra_device_free(m->rooms[i]);
  g_slist_free_full(m->outgrown, ra_device_free);
  g_slist_free_full(m->outgrown_pinned, ra_device_free_host);
  if (m->pinned)
    ra_device_free_host(m->pinned);
  if (m->flag)
    ra_device_free_host(m->flag);
  if (m->stage.memory)
    ra_device_free_host(m->stage.memory);
  for (guint i = 0; i < 2; i++)
    if (m->stage.is_read[i])
      ra_device_event_free(m->stage.is_read[i]);
  ra_cuda_gemm_free(m->gemm);
  ra_device_marks_free(m->marks);
  g_free(m);
}

static Mine *
mine(void)
{
  static GPrivate of_thread = G_PRIVATE_INIT(mine_free);
  Mine *m = g_private_get(&of_thread);

  if (!m) {
    m = g_new0(Mine, 1);
    g_private_set(&of_thread, m);
  }
  return m;
}

/* --- failures --- */

static char *first_failure; /* first failure of the process, set once */

void
ra_cuda_fail(char *line)
{
  if (!g_atomic_pointer_compare_and_exchange(&first_failure, NULL, line))
    g_free(line);
}

/* A device tells of a kernel's fault when it is next asked, so the op at fault
 * may be any that the thread, or another rank's, has not waited for. */
static void
fail_at(int code, const char *what)
{
  const Mine *m = mine();
  guint64 first = m->n_begun > N_BEGUN ? m->n_begun - N_BEGUN : 0;
  g_autoptr(GString) line = g_string_new(NULL);

  g_string_printf(line, "%s failed on the device: %s", what,
                  ra_device_error(code));
  for (guint64 i = first; i < m->n_begun; i++)
    g_string_append_printf(
        line, "%s%s%s", i > first ? ", " : "; not waited for before: ",
        i == first && first > 0 ? "..., " : "", m->begun[i % N_BEGUN]);
  ra_cuda_fail(g_string_free(g_steal_pointer(&line), FALSE));
}

void
ra_cuda_check(int code, const char *what)
{
  Mine *m = mine();

  if (code != 0)
    fail_at(code, what);
  else
    m->begun[m->n_begun++ % N_BEGUN] = what;
}

void
ra_cuda_check_event(int code)
{
  if (code != 0)
    fail_at(code, "an event");
}

void
ra_cuda_check_wait(int code, const char *what)
{
  if (code != 0)
    fail_at(code, what);
  else
    mine()->n_begun = 0;
}

const char *
ra_cuda_failure(void)
{
  return g_atomic_pointer_get(&first_failure);
}

/* --- rooms --- */

/* A buffer that is too small stays until the thread ends: to free it waits for
 * every stream of the device, so also for a receive whose sender may wait for
 * this rank.  Sizes at least double, so all that stay are smaller than it. */
void *
ra_cuda_scratch(RaCudaRoom which, gsize n_bytes)
{
  Mine *m = mine();

  if (n_bytes > m->sizes[which]) {
    ra_cuda_spill();
    if (m->rooms[which])
      m->outgrown = g_slist_prepend(m->outgrown, m->rooms[which]);
    m->n_outgrown += m->sizes[which];
    m->sizes[which] = MAX(2 * n_bytes, 4096);
    m->rooms[which] = ra_backend_cuda()->alloc(m->sizes[which]);
    if (which == RA_CUDA_COUNTS)
      ra_backend_cuda()->zero(m->rooms[which], m->sizes[which]);
    m->n_moves++;
  }
  return m->rooms[which];
}

void *
ra_cuda_pinned(gsize n_bytes)
{
  Mine *m = mine();

  if (n_bytes > m->n_pinned) {
    if (m->pinned)
      m->outgrown_pinned = g_slist_prepend(m->outgrown_pinned, m->pinned);
    m->n_pinned = MAX(2 * n_bytes, 4096);
    m->pinned = ra_backend_cuda()->alloc_host(m->n_pinned);
  }
  return m->pinned;
}

static gboolean
stage_open(Stage *s)
{
  if (s->memory)
    return TRUE;
  for (guint i = 0; i < 2; i++)
    s->is_read[i] = s->is_read[i] ? s->is_read[i] : ra_device_event_new();
  if (s->is_read[0] && s->is_read[1])
    s->memory = ra_device_alloc_host(2 * STAGE_BYTES);
  return s->memory != NULL;
}

/* (@n_bytes <= STAGE_BYTES) @numbers in pinned memory, until the copy that is
 * begun next has read them; as they are where there is no such memory. */
static const uint32_t *
staged(Stage *s, gsize n_bytes, const uint32_t *numbers)
{
  char *to;

  if (!stage_open(s))
    return numbers;
  if (s->at + n_bytes > STAGE_BYTES) {
    ra_cuda_check_event(ra_device_event_record(s->is_read[s->half], NULL));
    s->half ^= 1;
    s->at = 0;
    ra_cuda_check_event(ra_device_event_wait(s->is_read[s->half]));
  }
  to = s->memory + s->half * STAGE_BYTES + s->at;
  s->at += n_bytes;
  memcpy(to, numbers, n_bytes);
  return (const uint32_t *)(gconstpointer)to;
}

/* Kept words are on the device already. */
const uint32_t *
ra_cuda_upload(RaCudaRoom which, gsize n, const uint32_t *numbers)
{
  Mine *m = mine();
  uint32_t *room;

  if (m->kept && numbers >= m->kept && numbers + n <= m->kept + m->n_kept)
    return (const uint32_t *)m->rooms[RA_CUDA_KEPT] + (numbers - m->kept);
  room = ra_cuda_scratch(which, n * sizeof *room);
  ra_cuda_spill();
  for (gsize at = 0; at < n; at += STAGE_WORDS) {
    gsize n_bytes = MIN(n - at, STAGE_WORDS) * sizeof *room;

    ra_cuda_check(ra_device_write(room + at,
                                  staged(&m->stage, n_bytes, numbers + at),
                                  n_bytes),
                  "a copy from the host");
  }
  return room;
}

void
ra_cuda_keep_words(gsize n, const uint32_t *words)
{
  Mine *m = mine();

  m->kept = NULL;
  ra_cuda_upload(RA_CUDA_KEPT, n, words);
  m->kept = n > 0 ? words : NULL;
  m->n_kept = n;
}

/* A word in pinned memory, initially 0. */
static uint32_t *
spin_flag(void)
{
  Mine *m = mine();

  if (!m->flag) {
    ra_cuda_spill();
    m->flag = ra_backend_cuda()->alloc_host(sizeof *m->flag);
    *m->flag = 0;
  }
  return m->flag;
}

RaCudaGemm *
ra_cuda_thread_gemm(void)
{
  Mine *m = mine();
  g_autoptr(GError) error = NULL;

  if (!m->gemm) {
    ra_cuda_spill();
    m->gemm = ra_cuda_gemm_new(&error);
  }
  if (!m->gemm)
    ra_cuda_fail(g_strdup_printf("a GEMM: %s", error->message));
  return m->gemm;
}

gsize
ra_cuda_held_bytes(void)
{
  const Mine *m = mine();
  gsize n_bytes =
      m->n_outgrown + (m->gemm ? ra_cuda_gemm_workspace_bytes() : 0);

  for (int i = 0; i < RA_CUDA_N_ROOMS; i++)
    n_bytes += m->sizes[i];
  return n_bytes;
}

/* --- marks --- */

uint32_t
ra_cuda_mark(void)
{
  Mine *m = mine();
  unsigned mark = 0;

  ra_cuda_spill();
  if (!m->marks)
    m->marks = ra_device_marks_new(RA_CUDA_MARKS);
  if (!m->marks)
    g_error("no memory for %d marks", RA_CUDA_MARKS);
  ra_cuda_check_event(ra_device_mark(m->marks, &mark));
  return mark;
}

void
ra_cuda_read_marks(double *out_s)
{
  if (mine()->marks)
    ra_cuda_check_event(ra_device_marks_read(mine()->marks, out_s));
}

/* --- what is not a number --- */

/* The kernel sets a word in host memory, which the host reads without waiting:
 * a failed check can be reported for a later op. */
gboolean
ra_cuda_look(gsize n, const void *x, gboolean f32)
{
  Mine *m = mine();
  volatile uint32_t *flag = spin_flag();
  uint32_t code = m->captures ? ++m->n_looks : 1;

  ra_cuda_check(ra_k_find_odd(n, x, f32, code, (uint32_t *)(gpointer)flag,
                              ra_device_stream()),
                "a check of results");
  return m->captures || ra_cuda_odd() == 0;
}

uint32_t
ra_cuda_odd(void)
{
  volatile uint32_t *flag = spin_flag();
  uint32_t code = *flag;

  if (code)
    *flag = 0;
  return code;
}

/* --- graphs --- */

void
ra_cuda_begin_capture(gboolean anew)
{
  Mine *m = mine();
  int code;

  spin_flag();
  if (anew)
    m->n_looks = 0;
  code = ra_device_capture_begin();
  ra_cuda_check(code, "a capture");
  m->captures = code == 0;
}

/* (transfer full) (nullable) */
static RaDeviceGraph *
captured(Mine *m)
{
  RaDeviceGraph *device = NULL;

  if (m->captures)
    ra_cuda_check(ra_device_capture_end(&device), "a capture");
  m->captures = FALSE;
  return device;
}

RaBackendGraph *
ra_cuda_end_capture(void)
{
  Mine *m = mine();
  RaDeviceGraph *device = captured(m);
  RaBackendGraph *g;

  if (!device)
    return NULL;
  g = g_new(RaBackendGraph, 1);
  *g = (RaBackendGraph){device, m, m->n_moves};
  return g;
}

/* So that what cannot be captured comes behind it. */
void
ra_cuda_spill(void)
{
  Mine *m = mine();
  RaDeviceGraph *device;

  if (!m->captures)
    return;
  device = captured(m);
  if (!device)
    return;
  ra_cuda_check(ra_device_graph_begin(device), "a graph");
  ra_cuda_check_wait(ra_device_wait(), "a graph");
  ra_device_graph_free(device);
}

gboolean
ra_cuda_holds_graph(const RaBackendGraph *graph)
{
  const Mine *m = mine();

  return graph->of == m && graph->n_moves == m->n_moves;
}

void
ra_cuda_begin_graph(RaBackendGraph *graph)
{
  ra_cuda_check(ra_device_graph_begin(graph->device), "a graph");
}

void
ra_cuda_free_graph(RaBackendGraph *graph)
{
  if (!graph)
    return;
  ra_cuda_check_wait(ra_device_wait(), "a graph");
  ra_device_graph_free(graph->device);
  g_free(graph);
}
