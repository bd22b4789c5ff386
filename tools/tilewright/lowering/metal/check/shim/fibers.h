// Runs a launch: one fiber a thread of a threadgroup, threadgroups one after another. Compiled without sanitizers; it
// tells them about fibers and about the order that barriers make. Copies nothing by memcpy, which TSan would see.
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "buffers.h"
#include "tw_runtime.h"

#define WEAK extern "C" __attribute__((weak))
WEAK void *__tsan_create_fiber(unsigned);
WEAK void *__tsan_get_current_fiber();
WEAK void __tsan_switch_to_fiber(void *, unsigned);
WEAK void __tsan_acquire(void *);
WEAK void __tsan_release(void *);
WEAK void __sanitizer_start_switch_fiber(void **, const void *, size_t);
WEAK void __sanitizer_finish_switch_fiber(void *, const void **, size_t *);
extern "C" decltype(_setjmp) _setjmp __attribute__((returns_twice));  // -fno-builtin makes clang forget it

namespace {

constexpr size_t STACK = 256 * 1024, THREADGROUP_BYTES = 32768;
enum class State { ready, waiting, done };

struct Fiber {
  ucontext_t context;
  jmp_buf jump;
  bool started;
  unsigned char *stack;
  void *tsan, *fake;
  State state;
  tw::Scope scope;
  const char *what;
  int line;
  unsigned exchanges, met[2];
  tw::Place place;
};

struct Block { unsigned key; size_t bytes; unsigned char *memory; };
struct Slots { alignas(16) unsigned char lane[2][32][64]; };

// The threads of the threadgroup that runs, in memory of its own: instrumented code reads places from it.
struct Fibers {
  Fiber *first = nullptr;
  size_t count = 0;
  Fiber &operator[](size_t at) { return first[at]; }
  Fiber *begin() { return first; }
  Fiber *end() { return first + count; }
};

Fibers fibers;
std::vector<unsigned char *> stacks;
std::vector<Block> blocks, spare;
std::vector<Slots> exchanged;
char *tokens;
char launch_token, end_token;
Fiber *current;
ucontext_t scheduler;
jmp_buf scheduler_jump;
void *scheduler_tsan, *scheduler_fake;
const void *scheduler_stack;
size_t scheduler_size;
void **kernel_slots;
int kernel_number;
unsigned chosen_seed;
bool multiply_reading, has_tsan, watched;

void copy(void *to, const void *from, size_t bytes) {
  typedef unsigned __attribute__((may_alias, aligned(1))) Word;
  volatile unsigned char *target = static_cast<volatile unsigned char *>(to);
  const unsigned char *source = static_cast<const unsigned char *>(from);
  for (; bytes >= sizeof(Word); bytes -= sizeof(Word), target += sizeof(Word), source += sizeof(Word)) {
    *reinterpret_cast<volatile Word *>(target) = *reinterpret_cast<const Word *>(source);
  }
  for (size_t at = 0; at < bytes; ++at) { target[at] = source[at]; }
}

// Sanitizers want a switch of contexts. Without them a jump is enough, which makes no system call.
void leave(Fiber *self) {
  if (watched) {
    swapcontext(&self->context, &scheduler);
  } else if (_setjmp(self->jump) == 0) {
    _longjmp(scheduler_jump, 1);
  }
}

void enter(Fiber *fiber) {
  if (watched) {
    swapcontext(&scheduler, &fiber->context);
  } else if (_setjmp(scheduler_jump) == 0) {
    if (fiber->started) { _longjmp(fiber->jump, 1); }
    fiber->started = true;
    setcontext(&fiber->context);
  }
}

void entered(void *fake) {
  if (__sanitizer_finish_switch_fiber) { __sanitizer_finish_switch_fiber(fake, &scheduler_stack, &scheduler_size); }
}

void to_scheduler(bool ends) {
  Fiber *self = current;
  if (__sanitizer_start_switch_fiber) {
    __sanitizer_start_switch_fiber(ends ? nullptr : &self->fake, scheduler_stack, scheduler_size);
  }
  if (has_tsan) { __tsan_switch_to_fiber(scheduler_tsan, 1); }
  leave(self);
  entered(self->fake);
}

// Under a sanitizer a fiber has one thread; else the thread at the same place of the next threadgroup goes on in it.
void body() {
  entered(nullptr);
  for (;;) {
    if (has_tsan) { __tsan_acquire(&launch_token); }
    tw::call(kernel_number, kernel_slots);
    if (has_tsan) { __tsan_release(&end_token); }
    current->state = State::done;
    to_scheduler(true);
  }
}

void resume(Fiber &fiber) {
  current = &fiber;
  if (__sanitizer_start_switch_fiber) { __sanitizer_start_switch_fiber(&scheduler_fake, fiber.stack, STACK); }
  if (has_tsan) { __tsan_switch_to_fiber(fiber.tsan, 1); }
  enter(&fiber);
  if (__sanitizer_finish_switch_fiber) { __sanitizer_finish_switch_fiber(scheduler_fake, nullptr, nullptr); }
}

bool all_wait(size_t first, size_t count, tw::Scope scope) {
  const Fiber &head = fibers[first];
  for (size_t at = first; at < first + count; ++at) {
    const Fiber &each = fibers[at];
    if (each.state != State::waiting || each.scope != scope || each.line != head.line || each.what != head.what) {
      return false;
    }
  }
  return true;
}

void release(size_t first, size_t count) {
  for (size_t at = first; at < first + count; ++at) { fibers[at].state = State::ready; }
}

void stuck() {
  unsigned returned = 0, elsewhere = 0;
  const Fiber *waiting = nullptr;
  for (const Fiber &each : fibers) {
    if (each.state == State::done) { ++returned; }
    if (each.state == State::waiting && (!waiting || each.scope > waiting->scope)) { waiting = &each; }
  }
  for (const Fiber &each : fibers) {
    elsewhere += each.state == State::waiting && (each.line != waiting->line || each.what != waiting->what);
  }
  const char *reach = waiting->scope == tw::threadgroup_scope ? "every thread" : "every lane of its simdgroup";
  tw::fail("%s at line %d is not reached by %s (%u have returned, %u wait elsewhere)", waiting->what, waiting->line,
           reach, returned, elsewhere);
}

std::vector<unsigned> visit_order(unsigned count, unsigned order) {
  std::vector<unsigned> places(count);
  for (unsigned at = 0; at < count; ++at) { places[at] = order == 1 ? count - 1 - at : at; }
  unsigned state = 2654435769u * (chosen_seed + 1);
  for (unsigned at = count; order == 2 && at > 1; --at) {
    state = state * 1664525u + 1013904223u;
    std::swap(places[at - 1], places[(state >> 8) % at]);
  }
  return places;
}

void run_group(const unsigned *groups, const unsigned *threads, const unsigned *group, unsigned order) {
  const unsigned count = threads[0] * threads[1] * threads[2];
  const bool again = !watched && fibers.first;
  if (!again) {
    if (!has_tsan && fibers.first) { munmap(fibers.first, count * sizeof(Fiber)); }
    fibers = {reinterpret_cast<Fiber *>(mapped(count * sizeof(Fiber))), count};
  }
  if (has_tsan) { stacks.clear(); }
  while (stacks.size() < count) { stacks.push_back(mapped(STACK)); }
  exchanged.resize((count + 31) / 32);
  for (Block &each : blocks) {
    if (!has_tsan) { spare.push_back(each); }
  }
  blocks.clear();
  if (has_tsan || !tokens) { tokens = reinterpret_cast<char *>(mapped(PAGE)); }
  for (unsigned at = 0; at < count; ++at) {
    Fiber &fiber = fibers[at];
    fiber.stack = stacks[at];
    fiber.state = State::ready;
    fiber.exchanges = fiber.met[0] = fiber.met[1] = 0;
    tw::Place &place = fiber.place;
    for (int axis = 0; axis < 3; ++axis) {
      place.groups[axis] = groups[axis];
      place.threads[axis] = threads[axis];
      place.group[axis] = group[axis];
    }
    place.local[0] = at % threads[0];
    place.local[1] = at / threads[0] % threads[1];
    place.local[2] = at / threads[0] / threads[1];
    place.linear = at;
    place.lane = at % 32;
    place.subgroup = at / 32;
    place.subgroups = (count + 31) / 32;
    place.lanes = count - at / 32 * 32 < 32 ? count - at / 32 * 32 : 32;
    if (again) { continue; }
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, body, 0);
    if (has_tsan) { fiber.tsan = __tsan_create_fiber(0); }  // never destroyed: TSan would forget what it did
  }
  const std::vector<unsigned> visited = visit_order(count, order);
  for (;;) {
    for (unsigned at : visited) {
      if (fibers[at].state == State::ready) { resume(fibers[at]); }
    }
    size_t done = 0;
    for (const Fiber &each : fibers) { done += each.state == State::done; }
    if (done == count) { break; }
    bool released = false;
    for (unsigned first = 0; first < count; first += 32) {
      const unsigned lanes = fibers[first].place.lanes;
      if (all_wait(first, lanes, tw::simdgroup_scope)) {
        release(first, lanes);
        released = true;
      }
    }
    if (!released && all_wait(0, count, tw::threadgroup_scope)) {
      release(0, count);
      released = true;
    }
    if (!released) { stuck(); }
  }
}

}  // namespace

namespace tw {

const Place &here() { return current->place; }
unsigned seed() { return chosen_seed; }
bool multiply_adds() { return multiply_reading; }

// Two tokens in turn: with one, a thread that leaves late would also be ordered after what others did up to the next.
void meet(Scope scope, const char *what, bool orders_memory, int line) {
  const unsigned turn = current->met[scope]++ & 1;
  char *token = tokens + 8 * (scope == threadgroup_scope ? turn : 2 + 2 * current->place.subgroup + turn);
  if (has_tsan && orders_memory) { __tsan_release(token); }
  current->state = State::waiting;
  current->scope = scope;
  current->what = what;
  current->line = line;
  to_scheduler(false);
  if (has_tsan && orders_memory) { __tsan_acquire(token); }
}

void exchange(const void *mine, unsigned bytes, void *all, const char *what, int line) {
  if (bytes > 64) { fail("%s at line %d exchanges %u bytes", what, line, bytes); }
  Fiber *self = current;
  if (self->place.lanes != 32) { fail("%s at line %d in a simdgroup of %u lanes", what, line, self->place.lanes); }
  auto &slots = exchanged[self->place.subgroup].lane[self->exchanges++ & 1];
  copy(slots[self->place.lane], mine, bytes);
  meet(simdgroup_scope, what, false, line);
  for (unsigned lane = 0; lane < 32; ++lane) { copy(static_cast<char *>(all) + lane * bytes, slots[lane], bytes); }
}

void *storage(unsigned key, size bytes, int line) {
  size_t total = bytes;
  for (const Block &each : blocks) {
    if (each.key == key) { return each.memory; }
    total += each.bytes;
  }
  if (total > THREADGROUP_BYTES) { fail("threadgroup storage at line %d makes %zu bytes of 32768", line, total); }
  Block found{key, bytes, nullptr};
  for (Block &each : spare) {
    if (each.memory && each.bytes == bytes) {
      found.memory = each.memory;
      each.memory = nullptr;
      break;
    }
  }
  if (!found.memory) { found.memory = mapped(bytes); }
  for (size_t at = 0; at < bytes; ++at) { static_cast<volatile unsigned char *>(found.memory)[at] = 0xff; }
  blocks.push_back(found);
  return found.memory;
}

void fail(const char *format, ...) {
  va_list words;
  va_start(words, format);
  fputs("msl-check: ", stderr);
  vfprintf(stderr, format, words);
  fputs("\n", stderr);
  va_end(words);
  fflush(stderr);
  _exit(96);
}

}  // namespace tw

// Words: kernel, thread order (0 forward, 1 backward, 2 permuted), seed, reading of multiply (0 overwrites), three
// counts of threadgroups, three of threads, how many threadgroups run (0 all, else the first ones and the last one),
// then a file and an offset in bytes for each slot. A file named twice is one buffer.
int main(int count, char **words) {
  if (count < 12) { return 95; }
  unsigned numbers[11];
  for (int at = 0; at < 11; ++at) { numbers[at] = unsigned(strtoul(words[1 + at], nullptr, 10)); }
  kernel_number = int(numbers[0]);
  chosen_seed = numbers[2];
  multiply_reading = numbers[3] != 0;
  has_tsan = __tsan_create_fiber != nullptr;
  watched = has_tsan || __sanitizer_start_switch_fiber;
  const bool has_asan = __sanitizer_start_switch_fiber != nullptr && !has_tsan;
  if (!has_asan) { catch_faults(); }
  std::vector<Buffer> buffers;
  std::vector<void *> slots;
  for (int at = 12; at + 1 < count; at += 2) {
    size_t found = 0;
    while (found < buffers.size() && strcmp(buffers[found].file, words[at]) != 0) { ++found; }
    if (found == buffers.size()) { buffers.push_back(loaded(words[at], !has_asan)); }
    slots.push_back(buffers[found].memory + strtoul(words[at + 1], nullptr, 10));
  }
  kernel_slots = slots.data();
  if (has_tsan) {
    scheduler_tsan = __tsan_get_current_fiber();
    __tsan_release(&launch_token);
  }
  const unsigned *groups = numbers + 4, *threads = numbers + 7;
  const unsigned total = groups[0] * groups[1] * groups[2];
  const unsigned part = numbers[10] && numbers[10] < total ? numbers[10] : total;
  for (unsigned at : visit_order(part, numbers[1])) {
    const unsigned linear = at && at + 1 == part ? total - 1 : at;
    const unsigned group[3] = {linear % groups[0], linear / groups[0] % groups[1], linear / groups[0] / groups[1]};
    run_group(groups, threads, group, numbers[1]);
  }
  if (has_tsan) { __tsan_acquire(&end_token); }
  for (const Buffer &each : buffers) { store(each); }
  return 0;
}
