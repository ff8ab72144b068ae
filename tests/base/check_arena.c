#include "config.h"

#include <glib.h>
#include <signal.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "tests/support/check_main.h"

/* Every block is at 16 bytes, zeroed, and counted by what was asked for:
 * 3 x 5 + 0 + 1 = 16 bytes. */
START_TEST(test_alloc)
{
  g_autoptr(RaArena) arena = ra_arena_new(0);
  unsigned char *a = ra_arena_alloc(arena, 3, 5);
  void *nothing = ra_arena_alloc(arena, 0, 8);
  unsigned char *b = ra_arena_alloc(arena, 1, 1);

  ck_assert_ptr_nonnull(nothing);
  ck_assert_uint_eq((guintptr)a % 16, 0);
  ck_assert_uint_eq((guintptr)b % 16, 0);
  for (int i = 0; i < 15; i++)
    ck_assert_uint_eq(a[i], 0);
  ck_assert_uint_eq(ra_arena_used_bytes(arena), 16);
}
END_TEST

START_TEST(test_text)
{
  g_autoptr(RaArena) arena = ra_arena_new(16);

  ck_assert_str_eq(ra_arena_strdup(arena, "abc"), "abc");
  ck_assert_ptr_null(ra_arena_strdup(arena, NULL));
  /* "abc" with its NUL. */
  ck_assert_uint_eq(ra_arena_used_bytes(arena), 4);
}
END_TEST

#define N_LIVE 4000

typedef struct {
  unsigned char *bytes; /* filled with its own index */
  gsize n_bytes;
} Live;

/* TRUE if every block still holds its pattern. */
static gboolean
all_intact(const Live *live, guint n)
{
  for (guint i = 0; i < n; i++) {
    for (gsize j = 0; j < live[i].n_bytes; j++) {
      if (live[i].bytes[j] != (unsigned char)(i + 1))
        return FALSE;
    }
  }
  return TRUE;
}

/* Random blocks of 0 to 999 bytes, zeroed, never overlap, nor does a block
 * larger than any chunk before it; a block that is one byte too long, the
 * deliberate fault, would be seen. */
START_TEST(test_overlap)
{
  g_autoptr(RaArena) arena = ra_arena_new(64);
  g_autofree Live *live = g_new(Live, N_LIVE);
  RaRng rng = ra_rng_init(5, 0);
  gsize sum = 0;

  for (guint n = 0; n < N_LIVE; n++) {
    gsize n_bytes = n == N_LIVE / 2 ? 10000000 : ra_rng_below(&rng, 1000);
    unsigned char *block = ra_arena_alloc(arena, n_bytes, 1);

    for (gsize i = 0; i < n_bytes; i++)
      if (block[i] != 0)
        ck_abort_msg("byte %zu of block %u is not 0", i, n);
    memset(block, (int)(n + 1), n_bytes);
    live[n] = (Live){block, n_bytes};
    sum += n_bytes;
  }
  ck_assert_uint_eq(ra_arena_used_bytes(arena), sum);
  ck_assert(all_intact(live, N_LIVE));
  live[0].bytes = ra_arena_alloc(arena, 15, 1);
  live[1].bytes = ra_arena_alloc(arena, 15, 1);
  live[0].n_bytes = live[1].n_bytes = 15;
  memset(live[1].bytes, 2, 15);
  memset(live[0].bytes, 1, 15);
  ck_assert(all_intact(live, 2));
  live[1].bytes[0] = 1;
  ck_assert(!all_intact(live, 2));
}
END_TEST

START_TEST(test_overflow)
{
  ra_arena_alloc(ra_arena_new(0), G_MAXSIZE / 2, 3);
}
END_TEST

static Suite *
arena_suite(void)
{
  Suite *suite = suite_create("arena");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_alloc);
  tcase_add_test(tcase, test_text);
  tcase_add_test(tcase, test_overlap);
  /* g_error() traps, which needs a process of its own. */
  if (g_strcmp0(g_getenv("CK_FORK"), "no") != 0)
    tcase_add_test_raise_signal(tcase, test_overflow, SIGTRAP);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(arena_suite)
