/* Plays the assembler: loads a provider, asks it, checks what it answers, gives everything back.
 *
 *   player LIBRARY ask ARCH NAME=SYMBOL...       one question a name, then the code of all
 *   player LIBRARY threads COUNT ARCH NAME=SYMBOL...
 *   player LIBRARY fuzz SEED COUNT               requests with arbitrary pointers, numbers and names
 *   player LIBRARY version MAJOR MINOR PATCH
 *   player - memory ARCH NAME=SYMBOL...          the first allocation fails, then the second, until none does
 *
 * LIBRARY "-" is the provider that this program was linked with, which takes its memory from here.  Exit code 1 when a rule of the ABI is broken.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "observed_abi.h"

typedef long (*create_function)(abi_version, abi_instance *);

#ifdef LINKED
long tileir_create_linkage_provider(abi_version version, abi_instance *out);

static long left = -1; /* allocations until one fails; below 0: none does */

static bool fails(void) { return left >= 0 && left-- == 0; }
void *failing_malloc(size_t size) { return fails() ? NULL : malloc(size); }
void *failing_calloc(size_t count, size_t size) { return fails() ? NULL : calloc(count, size); }
void *failing_realloc(void *old, size_t size) { return fails() ? NULL : realloc(old, size); }
#endif

enum { MOST = 64 };

static void broken(const char *rule) {
    printf("BROKEN: %s\n", rule);
    exit(1);
}

static void rule(bool kept, const char *text) {
    if (!kept) {
        broken(text);
    }
}

static abi_view view(const char *text) { return (abi_view){text, strlen(text)}; }

/* Takes an error as the assembler does: reads its text, gives it back. */
static void take_error(const abi_instance *instance, abi_error *error, bool shown) {
    rule(error != NULL, "a failed callback gives an error");
    rule(error->message.size > 0 && error->message.data, "an error has a text");
    rule(error->kind == 0 && error->list_size == 0 && error->more.size == 0, "an error is a plain one");
    if (shown) {
        printf("error: %.*s\n", (int)error->message.size, error->message.data);
    }
    instance->free_error(error);
}

/* True when there are implementations. */
static bool ask_implementations(const abi_instance *instance, const abi_request *request, bool shown) {
    const void *data = (void *)1;
    size_t size = 1;
    abi_error *error = NULL;
    if (instance->provide_impls(instance->self, request, &data, &size, &error)) {
        rule(!data && !size, "a failed question leaves no answer");
        take_error(instance, error, shown);
        return false;
    }
    rule(!error, "an answered question gives no error");
    if (!size) {
        rule(!data, "no answer is no pointer");
        if (shown) {
            printf("catalog: none\n");
        }
        return false;
    }
    rule(size > 8 && !memcmp(data, "\x7fTileIR", 8), "the answer is Tile IR bytecode");
    if (shown) {
        printf("catalog: %zu bytes\n", size);
    }
    instance->free_impls(data);
    return true;
}

static bool ask_code(const abi_instance *instance, const abi_record *records, size_t count, bool shown) {
    abi_module *module = (void *)1;
    abi_error *error = NULL;
    if (instance->instantiate(instance->self, records, count, &module, &error)) {
        rule(!module, "a failed question leaves no answer");
        take_error(instance, error, shown);
        return false;
    }
    rule(!error, "an answered question gives no error");
    rule(module->call_symbol_count == count, "every call has its symbol");
    for (size_t at = 0; at < count; at++) {
        rule(module->call_symbols[at].call == at, "calls are numbered");
        rule(module->call_symbols[at].symbol.size > 0, "a call has a symbol");
    }
    rule((module->code_count > 0) == (count > 0), "there is code for whoever wants it");
    for (size_t at = 0; at < module->code_count; at++) {
        const abi_code *code = &module->code[at];
        rule(code->size > 16 && code->type == ABI_CODE_LTOIR && code->name.size, "code is named LTOIR");
        if (shown) {
            printf("code %zu: magic %02x%02x,", at, ((const unsigned char *)code->data)[0],
                   ((const unsigned char *)code->data)[1]);
            for (size_t each = 0; each < code->symbol_count; each++) {
                printf(" %.*s", (int)code->symbols[each].size, code->symbols[each].data);
            }
            printf("\n");
        }
    }
    instance->free_module(module);
    return true;
}

struct questions {
    const abi_instance *instance;
    const char *arch;
    char *const *names;
    int count;
    bool shown;
};

/* The declaration's own name is what stands before its size. */
static void *ask(void *given) {
    const struct questions *questions = given;
    abi_declaration plain[MOST], specialised[MOST];
    abi_implementation implementations[MOST];
    abi_record records[MOST];
    memset(records, 0, sizeof records);
    size_t count = 0;
    for (int at = 0; at < questions->count && at < MOST; at++) {
        const char *name = questions->names[at];
        const char *equals = strchr(name, '=');
        rule(equals != NULL, "a question is NAME=SYMBOL");
        size_t size = (size_t)(equals - name);
        const char *extent = memmem(name, size, "__N", 3);
        plain[at].name = (abi_view){name, extent ? (size_t)(extent - name) : size};
        specialised[at].name = (abi_view){name, size};
        implementations[at] = (abi_implementation){view(equals + 1), specialised[at].name};
        abi_call call = {0, 0, &plain[at]};
        abi_request request = {1, &call, 1, view(questions->arch)};
        ask_implementations(questions->instance, &request, questions->shown);
        records[at].declaration = &specialised[at];
        records[at].implementation = &implementations[at];
        records[at].arch = view(questions->arch);
        count++;
    }
    bool answered = ask_code(questions->instance, records, count, questions->shown);
    return answered ? given : NULL;
}

static uint64_t state;

static uint64_t number(uint64_t below) { /* xorshift: the same requests for the same seed everywhere */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static const char *const NAMES[] = {
    "relu_any", "relu_any__N128", "relu_any__N", "relu_any__N99999999999999999999999", "relu_any__N12x", "relu",
    "relu__N128", "relu_any_impl", "relu_any_impl__N128", "relu_impl", "", "%s%n", "x\nrelu", "@evil() {", "sm_90",
    "sm_90a", "sm_", "sm_90z", "sm_999999999999", "compute_90", "\xff\xfe",
};
static unsigned char *closed; /* a page that nobody may touch */

static const void *pointer(const void *right) {
    switch (number(24)) {
    case 0: return NULL;
    case 1: return closed + number(4096);
    case 2: return closed - number(64);
    case 3: return (void *)(uintptr_t)number(UINT64_MAX);
    case 4: return (void *)(uintptr_t)number(4096);
    default: return right;
    }
}

static abi_view any_view(const char *right) {
    if (number(4)) {
        return view(right);
    }
    const char *name = NAMES[number(sizeof NAMES / sizeof *NAMES)];
    size_t size = strlen(name);
    switch (number(10)) {
    case 0: size = 0; break;
    case 1: size = number(UINT64_MAX); break;
    case 2: size = SIZE_MAX; break;
    case 3: size = number(1 << 16); break;
    default: break;
    }
    return (abi_view){pointer(name), size};
}

static void fuzz(const abi_instance *instance, long count) {
    long answered = 0;
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    rule(pages != MAP_FAILED && !mprotect(pages + 4096, 4096, PROT_NONE), "a closed page");
    closed = (unsigned char *)pages + 4096;
    for (long at = 0; at < count; at++) {
        abi_declaration declarations[4];
        abi_implementation implementations[4];
        abi_record records[4];
        for (int each = 0; each < 4; each++) {
            declarations[each].name = any_view(each ? "relu" : "relu_any__N128");
            implementations[each] = (abi_implementation){
                any_view(each ? "relu_impl" : "relu_any_impl__N128"), any_view("")};
            memset(&records[each], (int)number(256), sizeof records[each]);
            records[each].declaration = pointer(&declarations[each]);
            records[each].implementation = pointer(&implementations[each]);
            records[each].arch = any_view("sm_90a");
        }
        abi_call call = {number(9), number(9), pointer(&declarations[0])};
        abi_request request = {number(8) ? 1 : number(UINT64_MAX), pointer(&call), number(9), any_view("sm_90")};
        answered += ask_implementations(instance, pointer(&request), false);
        size_t records_count = number(8) ? 1 + number(4) : number(UINT64_MAX);
        answered += ask_code(instance, pointer(records), records_count, false);
    }
    munmap(pages, 3 * 4096);
    printf("fuzzed %ld, answered %s\n", count, answered ? "some" : "none");
}

#ifdef LINKED
static void without_memory(struct questions questions) {
    long failed = 0;
    for (;; failed++) {
        left = failed;
        bool answered = ask(&questions) != NULL;
        if (left >= 0) { /* nothing failed any more */
            rule(answered, "with memory there is an answer");
            break;
        }
    }
    left = -1;
    rule(failed > 10, "allocations are counted");
    printf("memory: every allocation failed once\n");
}
#endif

static create_function loaded(const char *path, void **handle) {
#ifdef LINKED
    if (!strcmp(path, "-")) {
        return tileir_create_linkage_provider;
    }
#endif
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found = *handle ? dlsym(*handle, "tileir_create_linkage_provider") : NULL;
    if (!found) {
        printf("cannot load: %s\n", dlerror());
        exit(2);
    }
    create_function create;
    memcpy(&create, &found, sizeof create);
    return create;
}

static void in_threads(struct questions questions, int threads) {
    pthread_t started[MOST];
    for (int at = 0; at < threads; at++) {
        rule(!pthread_create(&started[at], NULL, ask, &questions), "a thread");
    }
    int answered = 0;
    for (int at = 0; at < threads; at++) {
        void *good = NULL;
        pthread_join(started[at], &good);
        answered += good != NULL;
    }
    printf("threads: %d of %d answered\n", answered, threads);
}

int main(int argc, char **argv) {
    rule(argc > 3, "player LIBRARY MODE ...");
    void *handle = NULL;
    create_function create = loaded(argv[1], &handle);
    abi_instance instance;
    memset(&instance, 0, sizeof instance);
    abi_version version = {ABI_MAJOR, ABI_MINOR, ABI_PATCH};
    const char *mode = argv[2];
    if (!strcmp(mode, "version")) {
        version = (abi_version){(uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]), (uint32_t)atoi(argv[5])};
    }
    long refused = create(version, &instance);
    printf("create: %s\n", refused ? "refused" : "ok");
    if (!refused) {
        rule(instance.provide_impls && instance.filter_and_rank && instance.instantiate && instance.free_impls &&
                 instance.free_module && instance.free_error && instance.destroy && instance.name.size,
             "every callback is there");
        rule(instance.self && !memcmp(&instance.version, &version, sizeof version), "the version is answered");
        if (!strcmp(mode, "ask")) {
            struct questions questions = {&instance, argv[3], argv + 4, argc - 4, true};
            ask(&questions);
        } else if (!strcmp(mode, "threads")) {
            struct questions questions = {&instance, argv[4], argv + 5, argc - 5, false};
            in_threads(questions, atoi(argv[3]));
#ifdef LINKED
        } else if (!strcmp(mode, "memory")) {
            struct questions questions = {&instance, argv[3], argv + 4, argc - 4, false};
            without_memory(questions);
#endif
        } else if (!strcmp(mode, "fuzz")) {
            state = strtoull(argv[3], NULL, 10) * 2654435761u + 88172645463325252u;
            fuzz(&instance, atol(argv[4]));
        }
        instance.destroy(instance.self);
    }
    if (handle) {
        dlclose(handle);
    }
    return 0;
}
