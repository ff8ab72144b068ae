/* Pages of keys and values, and the tail of a region that they lie in. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "exec/model/cache.h"
#include "tests/support/check_main.h"

/* A line of the slabs is 64 bytes. */
enum { LINE = 64, ROOM = 64 * LINE, CACHE_ROOM = 128 * LINE };

/* --- tails --- */

typedef struct {
  RaSlabs *slabs;
  char *memory; /* of the region, on a line, in @room */
  gpointer room;
  RaRegion *region;
} Fixture;

static Fixture
fixture_new(gsize n_bytes)
{
  Fixture f = {.slabs = ra_slabs_new(ra_backend_host(NULL))};

  f.room = g_malloc(n_bytes + LINE);
  f.memory = (char *)f.room + LINE - (guintptr)f.room % LINE;
  f.region = ra_slabs_open(f.slabs, f.memory, n_bytes);
  ra_slabs_enter(f.slabs, f.region);
  return f;
}

static void
fixture_clear(Fixture *f)
{
  ra_slabs_close(f->slabs, f->region);
  ra_slabs_unref(f->slabs);
  g_free(f->room);
}

/* With 64 lines a tail of 16 at most holds 4: an array of 50 lines has room,
 * and of 56 it had before it held any. Behind the one of 50, from line 50 on,
 * it can hold 14, not 15; when that is given back, all. What is out is what is
 * held. */
START_TEST(test_tail)
{
  Fixture f = fixture_new(ROOM);
  RaSlabTail *tail = ra_slabs_open_tail(f.slabs, 16 * LINE);
  char *array = ra_slabs_take(f.slabs, 56 * LINE);

  ck_assert_ptr_eq(ra_slab_tail_memory(tail), f.memory + 48 * LINE);
  ck_assert_ptr_eq(array, f.memory);
  ck_assert(!ra_slab_tail_hold(tail, 9 * LINE));
  ra_slabs_give(f.slabs, array);
  ck_assert(ra_slab_tail_hold(tail, 4 * LINE));
  array = ra_slabs_take(f.slabs, 50 * LINE);
  ck_assert_ptr_eq(array, f.memory);
  ck_assert(ra_slab_tail_hold(tail, 14 * LINE));
  ck_assert(!ra_slab_tail_hold(tail, 15 * LINE));
  ck_assert_uint_eq(ra_slabs_most_bytes(f.slabs), 64 * LINE);
  ra_slabs_give(f.slabs, array);
  ck_assert(ra_slab_tail_hold(tail, 16 * LINE));
  array = ra_slabs_take(f.slabs, 48 * LINE);
  ck_assert_ptr_eq(array, f.memory);
  ra_slabs_give(f.slabs, array);
  ck_assert_uint_eq(ra_slabs_bytes(f.slabs), 0);
  ra_slab_tail_close(tail);
  array = ra_slabs_take(f.slabs, ROOM);
  ck_assert_ptr_eq(array, f.memory);
  ra_slabs_give(f.slabs, array);
  fixture_clear(&f);
}
END_TEST

/* One that the region has no room for, and one apart, are of the system's. */
START_TEST(test_apart)
{
  Fixture f = fixture_new(ROOM);
  RaSlabTail *tail = ra_slabs_open_tail(f.slabs, ROOM + LINE), *other;
  char *array = ra_slabs_take(f.slabs, ROOM);

  ck_assert(ra_slab_tail_hold(tail, ROOM + LINE));
  memset(ra_slab_tail_memory(tail), 1, ROOM + LINE);
  ck_assert_uint_ge(ra_slabs_bytes(f.slabs), ROOM + LINE);
  other = ra_slab_tail_new_apart(tail);
  memset(ra_slab_tail_memory(other), 2, ROOM + LINE);
  ck_assert_int_eq(*(char *)ra_slab_tail_memory(tail), 1);
  ra_slab_tail_close(other);
  ra_slab_tail_close(tail);
  ra_slabs_give(f.slabs, array);
  fixture_clear(&f);
}
END_TEST

/* --- caches --- */

enum { LAYERS = 3, SLOTS = 5, POSITIONS = 21, PAGE = 4, WIDTH = 2 };

/* Any number of its own for what is in the cache. */
static float
number(uint32_t slot, uint32_t position, uint32_t part, uint32_t version)
{
  return (float)(((version * SLOTS + slot) * POSITIONS + position) * 2 *
                     LAYERS +
                 part);
}

static float *
at(const RaCache *c, uint32_t slot, uint32_t position, uint32_t part)
{
  RaElem *first =
      part % 2 ? ra_cache_values(c, part / 2) : ra_cache_keys(c, part / 2);

  return ra_host_floats(first) + (gsize)ra_cache_row(c, slot, position) * WIDTH;
}

/* State of a sequence: its length, and which of those that were at its slot. */
typedef struct {
  uint32_t n, version;
} Sequence;

static void
grow(RaCache *c, Sequence *s, uint32_t slot, uint32_t n)
{
  ra_cache_reserve(c, slot, n);
  for (; s->n < n; s->n++)
    for (uint32_t part = 0; part < 2 * LAYERS; part++)
      at(c, slot, s->n, part)[0] = at(c, slot, s->n, part)[1] =
          number(slot, s->n, part, s->version);
}

static guint
n_wrong(const RaCache *c, const Sequence *all)
{
  guint n = 0;

  for (uint32_t slot = 0; slot < SLOTS; slot++)
    for (uint32_t t = 0; t < all[slot].n; t++)
      for (uint32_t part = 0; part < 2 * LAYERS; part++)
        for (uint32_t i = 0; i < WIDTH; i++)
          n += at(c, slot, t, part)[i] !=
               number(slot, t, part, all[slot].version);
  return n;
}

static uint32_t
pages_of(uint32_t n)
{
  return (n + PAGE - 1) / PAGE;
}

/* Sequences that grow and end at random, with as many pages as they ever had at
 * a time: what was written stays, and what is held is that most.  In the middle
 * of half of the runs somebody takes the rest of the region, and the pages
 * move. */
START_TEST(test_cache)
{
  RaRng rng = ra_rng_init(24, (uint64_t)_i);
  Sequence all[SLOTS] = {{0}};
  uint32_t steps[200][2], now = 0, most = 0, held[SLOTS] = {0};
  RaCacheShape shape = {.n_layers = LAYERS,
                        .n_slots = SLOTS,
                        .n_positions = POSITIONS,
                        .page_tokens = PAGE,
                        .width = WIDTH};
  const gsize page_bytes = 2 * LAYERS * PAGE * WIDTH * sizeof(float);
  g_autoptr(RaCache) cache = NULL;
  Fixture f;
  void *array = NULL;

  for (guint k = 0; k < G_N_ELEMENTS(steps); k++) { /* rehearsed */
    uint32_t slot = (uint32_t)ra_rng_below(&rng, SLOTS);
    uint32_t n = (uint32_t)ra_rng_below(&rng, POSITIONS + 1);

    steps[k][0] = slot;
    steps[k][1] = n < held[slot] ? 0 : n;
    now += pages_of(steps[k][1]) - pages_of(held[slot]);
    held[slot] = steps[k][1];
    most = MAX(most, now);
  }
  f = fixture_new(CACHE_ROOM);
  shape.n_pages = most;
  cache = ra_cache_new(f.slabs, ra_backend_host(NULL), &shape);
  ck_assert_uint_eq(ra_cache_max_pages(cache), 6);
  ck_assert_uint_eq(ra_cache_page_rows(cache), 2 * LAYERS * PAGE);
  for (guint k = 0; k < G_N_ELEMENTS(steps); k++) {
    uint32_t slot = steps[k][0];

    if (_i % 2 && k == 5)
      array = ra_slabs_take(f.slabs, CACHE_ROOM - ra_cache_held_bytes(cache));
    if (steps[k][1] == 0) {
      ra_cache_drop(cache, slot);
      all[slot] = (Sequence){0, all[slot].version + 1};
    }
    grow(cache, &all[slot], slot, steps[k][1]);
    ck_assert_uint_eq(n_wrong(cache, all), 0);
  }
  ck_assert_uint_eq(ra_cache_held_bytes(cache), most * page_bytes);
  ck_assert_uint_eq(ra_slabs_bytes(f.slabs) > 0, _i % 2);
  /* The fault that the comparison must see. */
  for (uint32_t slot = 0; slot < SLOTS; slot++)
    if (all[slot].n > 0)
      at(cache, slot, 0, 1)[0] += 1;
  ck_assert_uint_gt(n_wrong(cache, all), 0);
  g_clear_pointer(&cache, ra_cache_free);
  ra_slabs_give(f.slabs, array);
  fixture_clear(&f);
}
END_TEST

/* Latents: a layer has one part of a page, which is its keys and its values.
 * Five tokens are two pages of three layers of four rows of two floats, 192
 * bytes; as keys and values (the fault) they would be twice that. */
START_TEST(test_latents)
{
  const RaCacheShape shape = {.n_layers = LAYERS,
                              .n_slots = SLOTS,
                              .n_positions = POSITIONS,
                              .page_tokens = PAGE,
                              .width = WIDTH,
                              .latent = TRUE};
  Fixture f = fixture_new(CACHE_ROOM);
  RaCache *cache = ra_cache_new(f.slabs, ra_backend_host(NULL), &shape);

  ra_cache_reserve(cache, 1, 5);
  ck_assert_uint_eq(ra_cache_page_rows(cache), LAYERS * PAGE);
  ck_assert_uint_eq(ra_cache_held_bytes(cache), 192);
  for (uint32_t layer = 0; layer < LAYERS; layer++) {
    const float *keys = ra_host_floats(ra_cache_keys(cache, layer));

    ck_assert_ptr_eq(keys, ra_host_floats(ra_cache_values(cache, layer)));
    ck_assert_ptr_eq(keys, ra_host_floats(ra_cache_keys(cache, 0)) +
                               layer * PAGE * WIDTH);
  }
  ra_cache_free(cache);
  fixture_clear(&f);
}
END_TEST

static Suite *
cache_suite(void)
{
  Suite *suite = suite_create("cache");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_tail);
  tcase_add_test(tcase, test_apart);
  tcase_add_loop_test(tcase, test_cache, 0, 20);
  tcase_add_test(tcase, test_latents);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(cache_suite)
