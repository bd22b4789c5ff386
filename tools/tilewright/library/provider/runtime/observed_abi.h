/* How the assembler talks to a provider: ABI 0.0.1 as it was observed on tileiras 13.5.37.
 *
 * This is our own declaration.  The vendor publishes none with the toolkit, so everything here was found by watching
 * the assembler read and write memory, and it may be otherwise in any other release.  Fields whose meaning is not
 * known are called `unknown`; they are neither read nor relied on.  All sizes and offsets are those of a 64-bit host.
 *
 * What is called when: every library of a compilation gets `provide_impls` for every call site until one has an
 * implementation, with the plain name of the declaration (`relu_any`) and "sm_90"; no data and size 0 means that it has
 * none.  Then every library gets `instantiate` once, with one record for each distinct symbol it is to define, which may
 * be none; declarations there name their size (`relu_any__N128`), and the architecture is "sm_90a".  The result of a
 * callback is 0 or else an error, whose text is read and, by that assembler, not printed.
 */
#ifndef TILEWRIGHT_OBSERVED_ABI_H
#define TILEWRIGHT_OBSERVED_ABI_H

#include <stddef.h>
#include <stdint.h>

#define ABI_MAJOR 0u
#define ABI_MINOR 0u
#define ABI_PATCH 1u

typedef struct {
    uint32_t major, minor, patch;
} abi_version;

typedef struct {
    const char *data; /* not terminated */
    size_t size;
} abi_view;

/* What a callback gives beside a result that is not 0.  `kind` 1 makes the assembler read more than this. */
typedef struct {
    uint32_t code;
    uint32_t kind;
    abi_view message;
    abi_view more;
    const void *list;
    size_t list_size;
} abi_error;

/* The beginning of a declaration. */
typedef struct {
    abi_view name;
} abi_declaration;

/* The beginning of a call. */
typedef struct {
    uint64_t index;
    uint64_t unknown;
    const abi_declaration *declaration;
} abi_call;

/* One question: which implementations are there? */
typedef struct {
    size_t call_count;
    const abi_call *calls;
    uint64_t unknown;
    abi_view arch;
} abi_request;

/* The beginning of a chosen implementation: the symbol the assembler will link against, the specialised declaration. */
typedef struct {
    abi_view symbol;
    abi_view specialised;
} abi_implementation;

typedef struct {
    const abi_declaration *declaration;
    const abi_implementation *implementation;
    uint32_t unknown[4];
    int64_t unknown_index;
    abi_view arch;
    const void *const_args;
    size_t const_arg_count;
    const void *arg_types;
    size_t arg_type_count;
} abi_record;

enum { ABI_CODE_LTOIR = 1 };

typedef struct {
    const void *data;
    size_t size;
    uint32_t type;
    const abi_view *symbols;
    size_t symbol_count;
    abi_view name; /* not empty */
} abi_code;

typedef struct {
    uint64_t call;
    abi_view symbol;
} abi_call_symbol;

typedef struct {
    const abi_code *code;
    size_t code_count;
    const abi_call_symbol *call_symbols;
    size_t call_symbol_count;
} abi_module;

typedef struct {
    void *self;
    abi_version version;
    long (*provide_impls)(void *self, const abi_request *request, const void **data, size_t *size, abi_error **error);
    long (*filter_and_rank)(void *self); /* never called as far as was seen; its other arguments are not known */
    long (*instantiate)(void *self, const abi_record *records, size_t count, abi_module **module, abi_error **error);
    void (*free_impls)(const void *data);
    void (*free_module)(abi_module *module);
    void (*free_error)(abi_error *error);
    void (*destroy)(void *self);
    abi_view name; /* not empty */
} abi_instance;

_Static_assert(sizeof(void *) == 8, "the observed ABI is that of a 64-bit host");
_Static_assert(sizeof(abi_version) == 12, "three numbers by value");
_Static_assert(sizeof(abi_request) == 40, "request");
_Static_assert(sizeof(abi_record) == 88, "record");
_Static_assert(offsetof(abi_record, arch) == 40, "record");
_Static_assert(sizeof(abi_code) == 56, "code");
_Static_assert(sizeof(abi_call_symbol) == 24, "call symbol");
_Static_assert(sizeof(abi_instance) == 96, "instance");
_Static_assert(offsetof(abi_instance, provide_impls) == 24, "instance");
_Static_assert(offsetof(abi_error, list_size) == 48, "error");

#endif
