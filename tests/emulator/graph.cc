/* Capture and replay of ops on the emulated device. */
#include "config.h"

#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#include "exec/backend/cuda_measure.h"
#include "tests/emulator/graph.h"
#include "tests/emulator/queue.h"

struct Entry {
  std::function<void()> run;
  bool is_call; /* as the graph begins; else an op */
};

struct RaDeviceGraph {
  std::vector<Entry> entries;
};

static thread_local RaDeviceGraph *captured; /* nullptr: nothing is */
static thread_local uint64_t n_captures;

static thread_local size_t n_ops;

size_t
ra_emu_n_ops(void)
{
  return n_ops;
}

bool
ra_emu_note(const std::function<void()> &op)
{
  if (ra_emu_is_making()) /* what was noted, on a thread that may capture */
    return false;
  n_ops += !captured;
  if (!captured)
    return ra_emu_give(op);
  captured->entries.push_back({op, false});
  return true;
}

int
ra_emu_note_call(void (*op)(const void *data), const void *data, size_t n_bytes)
{
  const char *bytes = static_cast<const char *>(data);
  std::vector<char> copy(bytes, bytes + n_bytes);

  ra_emu_load();
  return ra_emu_note([op, copy] { op(copy.data()); });
}

uint64_t
ra_emu_capture(void)
{
  return captured ? n_captures : 0;
}

void
ra_emu_note_begin(void (*call)(void *data), void *data,
                  void (*free_data)(void *data))
{
  std::shared_ptr<void> owned(data, free_data);

  captured->entries.push_back({[call, owned] { call(owned.get()); }, true});
}

void
ra_emu_no_capture(const char *what)
{
  if (!captured || ra_emu_is_making())
    return;
  fprintf(stderr, "emulator: %s while ops are captured\n", what);
  abort();
}

int
ra_device_capture_begin(void)
{
  ra_emu_no_capture("a capture");
  captured = new RaDeviceGraph();
  n_captures++;
  return 0;
}

int
ra_device_capture_end(RaDeviceGraph **out_graph)
{
  *out_graph = captured;
  captured = nullptr;
  return *out_graph ? 0 : 1;
}

void
ra_device_graph_free(RaDeviceGraph *graph)
{
  delete graph;
}

int
ra_device_graph_begin(RaDeviceGraph *graph)
{
  size_t n_after = n_ops;

  ra_emu_no_capture("a graph");
  for (const Entry &entry : graph->entries) {
    n_after += !entry.is_call;
    if (entry.is_call || !ra_emu_give(entry.run))
      entry.run();
  }
  n_ops = n_after;
  return 0;
}
