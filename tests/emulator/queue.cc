/* exec/backend/cuda_queue.h where there is no GPU.
 *
 * The ops of a thread are over when they return, unless a test has them late:
 * then they are noted and are a queue too, the thread's own.  What a queue was
 * given is made when somebody waits for it or, unless a test has queues late,
 * now and then as an op is begun; of several queues a draw says which goes on.
 * So a copy that nobody waits for comes late, one into what is still used
 * early, and two that are not ordered in either order: what no event orders is
 * wrong with some seed.
 *
 * Where ops are not late, that a copy is behind them is held by their number:
 * it must follow an event of all that its thread has begun.
 *
 * Any thread makes what any queue has next, with the device's lock; who waits
 * gives that up between looks, as a queue may wait for what is made elsewhere.
 */
#include "config.h"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "exec/backend/cuda_device.h"
#include "exec/backend/cuda_queue.h"
#include "tests/emulator/graph.h"
#include "tests/emulator/measure.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/queue.h"

namespace
{

struct Event {
  uint64_t n_recorded = 0,
           n_reached = 0; /* times that it was asked for, made */
  uint64_t n_begun = 0;   /* by its thread at the last record */
  bool of_ops = false;
  pthread_t thread;               /* that asked for the last record */
  RaDeviceQueue *queue = nullptr; /* that was asked for it last */
  double s = 0;
};

enum Kind { OP, RECORD, FOLLOW };

struct Step {
  Kind kind;
  std::function<void()> op;
  std::shared_ptr<Event> event;     /* NULL: nobody's here */
  uint64_t n;                       /* its record */
  std::function<bool()> is_reached; /* in place of the event */
};

/* Entries of which one lets a queue go on. */
const uint64_t SELDOM = 16;

/* With the device's lock, as all here; never freed, as those of threads are
 * not: a sanitizer looks for them behind the end of main(). */
std::vector<RaDeviceQueue *> &queues = *new std::vector<RaDeviceQueue *>;
uint64_t random_state = 1;
uint64_t n_follows[RA_EMU_N_FOLLOWS];
uint64_t forgotten[RA_EMU_N_FOLLOWS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
bool is_late;
std::atomic<bool> ops_are_late;
std::atomic<void (*)()> load_late;
thread_local RaDeviceQueue *own; /* the thread's ops; NULL: none was late.  It
                                     stays when the thread ends: what is freed
                                     behind its end looks at it again */
thread_local RaDeviceLook look;  /* as exec/backend/cuda_device.h has it */
thread_local void *look_data;
thread_local bool is_making; /* something that a queue has */

} // namespace

struct RaDeviceEvent {
  std::shared_ptr<Event> is; /* queues may have it when it is freed */
};

struct RaDeviceQueue {
  std::deque<Step> steps;
  uint64_t n_behind = 0; /* ops of its thread that its next copy is behind */
};

namespace
{

struct Opened {
  Opened() { ra_emu_open(); }
  ~Opened() { ra_emu_leave(); }
};

[[noreturn]] void
die(const char *why)
{
  fprintf(stderr, "emulator: %s\n", why);
  abort();
}

/* xorshift64* of Vigna (arXiv 1402.6246). */
uint64_t
draw()
{
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return random_state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

bool
is_reached(const Step &follow)
{
  return follow.is_reached ? follow.is_reached()
                           : follow.event->n_reached >= follow.n;
}

bool
can_go_on(const RaDeviceQueue *queue)
{
  return !queue->steps.empty() && (queue->steps.front().kind != FOLLOW ||
                                   is_reached(queue->steps.front()));
}

/* TRUE if a queue waits for data that are made elsewhere. */
bool
waits_outside()
{
  for (const RaDeviceQueue *queue : queues)
    if (!queue->steps.empty() && queue->steps.front().is_reached)
      return true;
  return false;
}

/* One step of one queue that can go on, of @first if it is one (nullable);
 * false: of none. */
bool
step(RaDeviceQueue *first = nullptr)
{
  std::vector<RaDeviceQueue *> ready;

  for (RaDeviceQueue *queue : queues)
    if (can_go_on(queue))
      ready.push_back(queue);
  if (ready.empty())
    return false;
  RaDeviceQueue *queue =
      first && can_go_on(first) ? first : ready[draw() % ready.size()];
  Step s = queue->steps.front();

  queue->steps.pop_front();
  is_making = true;
  if (s.kind == OP)
    s.op();
  is_making = false;
  if (s.kind == RECORD && s.n > s.event->n_reached) {
    s.event->n_reached = s.n;
    s.event->s = ra_emu_now_s();
  }
  return true;
}

/* TRUE if @is_over, when queues can make no more. */
template <typename F>
bool
make_while_can(F is_over)
{
  Opened opened;

  while (!is_over())
    if (!step()) {
      if (!waits_outside())
        die("a queue waits for an event that nobody reaches");
      return false;
    }
  return true;
}

/* Until @is_over, by making what queues have, and by looking, unlocked. */
template <typename F>
void
make_until(F is_over)
{
  while (!make_while_can(is_over)) {
    if (look)
      look(look_data, 0);
    sched_yield();
  }
  if (look)
    look(look_data, 1);
}

void
reach(const RaDeviceEvent *event)
{
  make_until([=] { return event->is->n_reached >= event->is->n_recorded; });
}

/* The queue of the thread's ops. */
RaDeviceQueue *
ops()
{
  if (!own) {
    own = new RaDeviceQueue();
    queues.push_back(own);
  }
  return own;
}

} // namespace

void
ra_emu_seed_queues(uint64_t seed, int late)
{
  Opened opened;

  random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  is_late = late != 0;
  for (int kind = 0; kind < RA_EMU_N_FOLLOWS; kind++) {
    n_follows[kind] = 0;
    forgotten[kind] = UINT64_MAX;
  }
}

void
ra_emu_forget_follow(RaEmuFollow kind, uint64_t n)
{
  Opened opened;

  forgotten[kind] = n_follows[kind] + n;
}

uint64_t
ra_emu_n_follows(RaEmuFollow kind)
{
  Opened opened;

  return n_follows[kind];
}

void
ra_emu_late_ops(int late)
{
  Opened opened;

  ra_emu_queues_end();
  ops_are_late = late != 0;
}

bool
ra_emu_is_making(void)
{
  return is_making;
}

void
ra_emu_load_late(void (*load)(void))
{
  load_late = load;
}

void
ra_emu_load(void)
{
  void (*load)() = load_late;

  if (load && !is_making && !ra_emu_capture())
    load();
}

bool
ra_emu_give(const std::function<void()> &op)
{
  if (!ops_are_late)
    return false;
  Opened opened;

  ra_emu_queues_go_on();
  ops()->steps.push_back({OP, op, nullptr, 0, nullptr});
  return true;
}

int
ra_emu_go_on(const RaDeviceEvent *towards)
{
  Opened opened;

  return step(towards->is->queue);
}

int
ra_emu_is_reached(const RaDeviceEvent *event)
{
  Opened opened;

  return event->is->n_reached >= event->is->n_recorded;
}

int
ra_emu_follow_outside(int (*is_reached)(const void *data), const void *data,
                      size_t n_bytes)
{
  const char *bytes = static_cast<const char *>(data);
  std::vector<char> copy(bytes, bytes + n_bytes);
  Opened opened;

  if (!ops_are_late)
    return false;
  ops()->steps.push_back({FOLLOW, nullptr, nullptr, 0,
                          [=] { return is_reached(copy.data()) != 0; }});
  return true;
}

void
ra_device_look_with(RaDeviceLook with, void *data)
{
  look = with;
  look_data = data;
}

void
ra_emu_ops_end(void)
{
  if (own)
    make_until([] { return own->steps.empty(); });
}

void
ra_emu_queues_go_on(void)
{
  if (!queues.empty() && !is_late && !is_making && draw() % SELDOM == 0)
    step();
}

void
ra_emu_queues_end(void)
{
  while (step())
    ;
}

RaDeviceQueue *
ra_device_queue_new(void)
{
  Opened opened;

  queues.push_back(new RaDeviceQueue());
  return queues.back();
}

void
ra_device_queue_free(RaDeviceQueue *queue)
{
  if (!queue)
    return;
  make_until([=] { return queue->steps.empty(); });
  Opened opened;

  for (size_t i = 0; i < queues.size(); i++)
    if (queues[i] == queue)
      queues.erase(queues.begin() + (ptrdiff_t)i);
  delete queue;
}

int
ra_device_queue_copy(RaDeviceQueue *queue, void *to, const void *from,
                     size_t n_bytes, int to_host)
{
  Opened opened;

  if (n_bytes == 0)
    return 0;
  if (!ra_emu_is_device(to_host ? from : to, n_bytes) ||
      !ra_emu_is_pinned(to_host ? to : from))
    return 1;
  if (!ops_are_late && queue->n_behind != ra_emu_n_begun())
    die("a copy beside ops is not behind what its thread has begun");
  queue->steps.push_back(
      {OP, [=] { memcpy(to, from, n_bytes); }, nullptr, 0, nullptr});
  return 0;
}

RaDeviceEvent *
ra_device_event_new(void)
{
  return new RaDeviceEvent{std::make_shared<Event>()};
}

void
ra_device_event_free(RaDeviceEvent *event)
{
  delete event;
}

int
ra_device_event_record(RaDeviceEvent *event, RaDeviceQueue *queue)
{
  if (!queue)
    ra_emu_no_capture("an event");
  Opened opened;
  Event *e = event->is.get();

  e->n_recorded++;
  e->of_ops = !queue;
  e->thread = pthread_self();
  e->n_begun = ra_emu_n_begun();
  if (queue || ops_are_late) {
    e->queue = queue ? queue : ops();
    e->queue->steps.push_back(
        {RECORD, nullptr, event->is, e->n_recorded, nullptr});
  } else {
    e->n_reached = e->n_recorded;
    e->s = ra_emu_now_s();
  }
  return 0;
}

int
ra_device_queue_follow(RaDeviceQueue *queue, const RaDeviceEvent *event)
{
  Opened opened;
  const Event *e = event->is.get();
  RaEmuFollow kind = !queue      ? RA_EMU_OPS_AFTER_COPY
                     : e->of_ops ? RA_EMU_COPIES_AFTER_OPS
                                 : RA_EMU_COPIES_AFTER_COPY;

  if (n_follows[kind]++ == forgotten[kind])
    return 0;
  if (!queue && !ops_are_late) {
    reach(event);
    return 0;
  }
  if (!queue)
    queue = ops();
  if (e->of_ops)
    queue->n_behind = e->n_begun;
  queue->steps.push_back({FOLLOW, nullptr, event->is, e->n_recorded, nullptr});
  return 0;
}

int
ra_device_event_wait(const RaDeviceEvent *event)
{
  const Event *e = event->is.get();

  reach(event);
  if (e->n_recorded > 0 && e->of_ops &&
      pthread_equal(e->thread, pthread_self()))
    ra_emu_end_reads(e->n_begun);
  return 0;
}

/* As CUDA, of such as have been recorded and reached. */
int
ra_device_event_s(const RaDeviceEvent *from, const RaDeviceEvent *to,
                  double *out_s)
{
  Opened opened;

  for (const Event *e : {from->is.get(), to->is.get()})
    if (e->n_recorded == 0 || e->n_reached < e->n_recorded)
      return 1;
  *out_s = to->is->s - from->is->s;
  return 0;
}
