// What the shim asks of the program that runs it: where a thread stands, meeting points, exchange, storage.
#pragma once

namespace tw {

typedef unsigned long size;

struct Place {
  unsigned groups[3], threads[3];  // of the launch: threadgroups, threads of one
  unsigned group[3], local[3];     // this thread's threadgroup, its place in it
  unsigned linear, lane, subgroup, subgroups, lanes;
};

enum Scope { simdgroup_scope, threadgroup_scope };

const Place &here();
void meet(Scope scope, const char *what, bool orders_memory, int line);
void exchange(const void *mine, unsigned bytes, void *all, const char *what, int line);
void *storage(unsigned key, size bytes, int line);
[[noreturn]] void fail(const char *format, ...);
unsigned seed();
bool multiply_adds();
void call(int kernel, void **slots);

}  // namespace tw
