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
  ck_assert_str_eq(ra_arena_printf(arena, "%s-%d", "x", 12), "x-12");
  /* "abc" and "x-12" with their NULs: 4 + 5. */
  ck_assert_uint_eq(ra_arena_used_bytes(arena), 9);
}
END_TEST

/* After a rewind the same addresses come again, zeroed, also across chunks:
 * 100 blocks of 64 bytes do not fit in a first chunk of 256. */
START_TEST(test_rewind)
{
  g_autoptr(RaArena) arena = ra_arena_new(256);
  RaArenaMark empty = ra_arena_mark(arena);
  RaArenaMark mark;
  unsigned char *blocks[100];

  ra_arena_alloc(arena, 1, 100);
  mark = ra_arena_mark(arena);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 100; i++) {
      unsigned char *block = ra_arena_alloc(arena, 64, 1);

      if (round > 0)
        ck_assert_ptr_eq(block, blocks[i]);
      blocks[i] = block;
      for (int j = 0; j < 64; j++)
        ck_assert_uint_eq(block[j], 0);
      memset(block, 0xff, 64);
    }
    ck_assert_uint_eq(ra_arena_used_bytes(arena), 6500);
    ra_arena_rewind(arena, mark);
    ck_assert_uint_eq(ra_arena_used_bytes(arena), 100);
  }
  ra_arena_rewind(arena, empty);
  ck_assert_uint_eq(ra_arena_used_bytes(arena), 0);
  /* Larger than any spare chunk. */
  memset(ra_arena_alloc(arena, 1, 100000), 1, 100000);
}
END_TEST

#define N_LIVE 4000

typedef struct {
  unsigned char *bytes; /* filled with its own index */
  gsize n_bytes;
} Live;

/* Whether every block still holds its pattern. */
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

/* Random blocks of 0 to 999 bytes with random rewinds never overlap; a block
 * that is one byte too long, the deliberate fault, would be seen. */
START_TEST(test_overlap)
{
  g_autoptr(RaArena) arena = ra_arena_new(64);
  g_autofree Live *live = g_new(Live, N_LIVE);
  RaRng rng = ra_rng_init(5, 0);

  for (int round = 0; round < 5; round++) {
    RaArenaMark marks[N_LIVE / 500];
    guint n = 0, keep;
    gsize sum = ra_arena_used_bytes(arena);

    ck_assert_uint_eq(sum, 0);
    for (; n < N_LIVE; n++) {
      if (n % 500 == 0)
        marks[n / 500] = ra_arena_mark(arena);
      live[n].n_bytes = ra_rng_below(&rng, 1000);
      live[n].bytes = ra_arena_alloc(arena, live[n].n_bytes, 1);
      memset(live[n].bytes, (int)(n + 1), live[n].n_bytes);
      sum += live[n].n_bytes;
    }
    ck_assert_uint_eq(ra_arena_used_bytes(arena), sum);
    keep = 500 * (guint)ra_rng_below(&rng, N_LIVE / 500);
    ra_arena_rewind(arena, marks[keep / 500]);
    memset(ra_arena_alloc(arena, 1, 50000), 0, 50000);
    ck_assert(all_intact(live, keep));
    ra_arena_rewind(arena, marks[0]);
  }
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
  tcase_add_test(tcase, test_rewind);
  tcase_add_test(tcase, test_overlap);
  /* g_error() traps, which needs a process of its own. */
  if (g_strcmp0(g_getenv("CK_FORK"), "no") != 0)
    tcase_add_test_raise_signal(tcase, test_overflow, SIGTRAP);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(arena_suite)
