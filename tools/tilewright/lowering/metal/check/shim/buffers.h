// Buffers of a launch: memory that ends where the buffer does, filled from a file and written back to it.
#pragma once
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tw_runtime.h"

namespace {

constexpr size_t PAGE = 4096;

unsigned char *mapped(size_t bytes) {
  long address = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address < 0 && address > -4096) { tw::fail("no memory for %zu bytes", bytes); }
  return reinterpret_cast<unsigned char *>(address);
}

void outside(int) {
  static const char text[] = "msl-check: access outside a buffer (guard page)\n";
  if (write(2, text, sizeof text - 1) < 0) { _exit(98); }
  _exit(97);
}

// An access to an inaccessible page ends the program with a message.
void catch_faults() {
  static unsigned char handler_stack[65536];
  stack_t alternate{};
  alternate.ss_sp = handler_stack;
  alternate.ss_size = sizeof handler_stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = outside;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
}

struct Buffer { unsigned char *memory; size_t bytes; const char *file; };

// The contents of a file in memory that ends at an inaccessible page, or exactly sized for the address sanitizer.
Buffer loaded(const char *file, bool guarded) {
  FILE *stream = fopen(file, "rb");
  if (!stream) { tw::fail("no file %s", file); }
  fseek(stream, 0, SEEK_END);
  const size_t bytes = size_t(ftell(stream));
  rewind(stream);
  unsigned char *memory;
  if (guarded) {
    const size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
    unsigned char *base = mapped(pages + 2 * PAGE);
    mprotect(base, PAGE, PROT_NONE);
    mprotect(base + PAGE + pages, PAGE, PROT_NONE);
    memory = base + PAGE + pages - bytes;
  } else {
    memory = static_cast<unsigned char *>(malloc(bytes));
  }
  if (fread(memory, 1, bytes, stream) != bytes) { tw::fail("cannot read %s", file); }
  fclose(stream);
  return {memory, bytes, file};
}

void store(const Buffer &each) {
  FILE *stream = fopen(each.file, "wb");
  if (!stream || fwrite(each.memory, 1, each.bytes, stream) != each.bytes) { tw::fail("cannot write %s", each.file); }
  fclose(stream);
}

}  // namespace
