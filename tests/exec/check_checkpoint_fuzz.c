/* Damaged checkpoints: read or refused in one line, whatever is in them. */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/rng.h"
#include "exec/checkpoint.h"
#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

enum { N_INPUTS = 100000 / RA_CHECK_SHARE, N_CHANGES = 4 };

static const RunSpec spec = {.algorithm = "sft",
                             .config = "run-tied.json",
                             .all = "mesh = node0:gpu[0]\n",
                             .n_iterations = 2,
                             .seed = 7};

/* A checkpoint's file, and as it was. */
typedef struct {
  char *folder;
  char *path;
  char *bytes;
  gsize n;
  gsize n_head; /* of them before the arrays */
  int fd;
} Target;

static void
write_at(const Target *t, gsize at, const void *bytes, gsize n)
{
  ck_assert_int_eq(pwrite(t->fd, bytes, n, (off_t)at), (ssize_t)n);
}

/* Some bytes of the head, most of them digits and quotes as those that are
 * there, or of the arrays; or the end is cut off. */
static void
damage(const Target *t, RaRng *rng)
{
  static const char likely[] = "0123456789\"{}[]:,-.eF\\n";

  if (ra_rng_below(rng, 20) == 0) {
    ck_assert_int_eq(ftruncate(t->fd, (off_t)ra_rng_below(rng, t->n)), 0);
    return;
  }
  for (guint i = 0; i < 1 + ra_rng_below(rng, N_CHANGES); i++) {
    gsize limit = ra_rng_below(rng, 20) == 0 ? t->n : t->n_head;
    char byte = ra_rng_below(rng, 4) == 0
                    ? (char)ra_rng_below(rng, 256)
                    : likely[ra_rng_below(rng, sizeof likely - 1)];

    write_at(t, ra_rng_below(rng, limit), &byte, 1);
  }
}

static void
mend(const Target *t)
{
  off_t n = lseek(t->fd, 0, SEEK_END);

  if (n < (off_t)t->n)
    write_at(t, (gsize)n, t->bytes + n, t->n - (gsize)n);
  write_at(t, 0, t->bytes, MIN(t->n_head, t->n));
}

static void
open_target(Target *t, const char *folder)
{
  uint32_t n = 0;
  uint64_t head;
  g_autofree char *last = ra_checkpoint_last(folder, &n);

  ck_assert_ptr_nonnull(last);
  t->folder = g_strdup(folder);
  t->path = g_build_filename(last, "actor.safetensors", NULL);
  ck_assert(g_file_get_contents(t->path, &t->bytes, &t->n, NULL));
  memcpy(&head, t->bytes, sizeof head);
  t->n_head = 8 + head;
  t->fd = open(t->path, O_RDWR | O_CLOEXEC);
  ck_assert_int_ge(t->fd, 0);
}

START_TEST(test_damaged)
{
  g_autofree char *folder = g_dir_make_tmp("checkpoint-XXXXXX", NULL);
  RunSpec first = spec;
  RunFixture *f;
  RaRng rng = ra_rng_init(1, 2);
  Target t;
  guint n_read = 0, n_refused = 0;

  first.n_iterations = 1;
  f = run_fixture_new(&first);
  f->options.checkpoint = folder;
  run_fixture_go(f);
  run_fixture_free(f);
  open_target(&t, folder);
  f = run_fixture_new(&spec);
  f->run = ra_run_new(f->graph, &f->options, NULL);
  ck_assert(ra_checkpoint_load(f->run, folder, NULL));
  for (guint i = 0; i < N_INPUTS; i++) {
    g_autoptr(GError) error = NULL;

    damage(&t, &rng);
    if (ra_checkpoint_load(f->run, folder, &error)) {
      ck_assert(error == NULL);
      n_read++;
    } else {
      ck_assert_ptr_nonnull(strstr(error->message, "actor.safetensors"));
      ck_assert(!strpbrk(error->message, "\n\r"));
      n_refused++;
    }
    mend(&t);
  }
  /* Changed numbers and names of no meaning are read, most of the rest not. */
  ck_assert_uint_gt(n_read, N_INPUTS / 1000);
  ck_assert_uint_gt(n_refused, N_INPUTS / 2);
  ck_assert(ra_checkpoint_load(f->run, folder, NULL));
  run_fixture_free(f);
  close(t.fd);
  g_free(t.folder);
  g_free(t.path);
  g_free(t.bytes);
  ra_folder_remove(folder);
}
END_TEST

static Suite *
checkpoint_fuzz_suite(void)
{
  Suite *suite = suite_create("checkpoint_fuzz");
  TCase *tcase = tcase_create("checkpoint_fuzz");

  /* Beside other load; a sanitizer takes a hundred times as long. */
  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_damaged);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(checkpoint_fuzz_suite)
