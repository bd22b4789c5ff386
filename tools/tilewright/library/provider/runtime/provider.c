/* A tile library that answers while a kernel compiles.  Spec: The provider form.
 *
 * Nothing here is shared between two libraries or two threads but constants; nothing is written but memory of our own
 * and lines on standard error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "memory.h"

/* Given when there is no memory for another error; it is not freed. */
static const char NO_MEMORY[] = "out of memory";
static const abi_error NO_MEMORY_ERROR = {.code = 1, .message = {NO_MEMORY, sizeof NO_MEMORY - 1}};

static bool is_logging(void) {
    static const char *const VARIABLES[] = {"TILEWRIGHT_PROVIDER_LOG", "OXIDE_TILE_PROVIDER_LOG"};
    for (size_t at = 0; at < sizeof VARIABLES / sizeof *VARIABLES; at++) {
        const char *value = getenv(VARIABLES[at]);
        if (value && *value && strcmp(value, "0")) {
            return true;
        }
    }
    return false;
}

/* Every line of the text with the library's name in front, in one piece, so that threads do not mix. */
static void print(const char *word, const struct text *lines) {
    struct text all = {0};
    const char *at = lines->data;
    while (at && *at) {
        size_t size = strcspn(at, "\n");
        text_format(&all, "%s: %s: %.*s\n", embedded.name, word, (int)size, at);
        at += size + (at[size] == '\n');
    }
    if (all.data) {
        fputs(all.data, stderr);
    }
    text_free(&all);
}

/* Ends a callback: prints the log if one is wanted, turns a fault into the ABI's error.
 *
 * The assembler reads the error's text and prints none of it, so the text goes to standard error as well.
 */
static long finish(bool good, struct text *fault, struct text *log, abi_error **error) {
    if (is_logging()) {
        print("provider", log);
    }
    text_free(log);
    if (good) {
        text_free(fault);
        return 0;
    }
    if (!fault->data) {
        text_format(fault, "%s", NO_MEMORY);
    }
    print("provider: error", fault);
    if (error) {
        abi_error *made = fault->data ? calloc(1, sizeof *made) : NULL;
        if (made) {
            made->code = 1;
            made->message = (abi_view){fault->data, fault->size};
            *error = made; /* the text now belongs to it */
            return 1;
        }
        *error = (abi_error *)&NO_MEMORY_ERROR;
    }
    text_free(fault);
    return 1;
}

/* Which export the question is about; `found` stays NULL for a declaration of another library, since all libraries of
 * a compilation are asked about each call.  False when the question cannot be read. */
static bool read_question(const abi_request *request, const struct embedded_export **found, struct text *fault,
                          struct text *log) {
    abi_request copy;
    abi_call call;
    struct text name = {0}, arch = {0};
    bool good = memory_read(&copy, request, sizeof copy) && copy.call_count == 1 &&
                memory_read(&call, copy.calls, sizeof call);
    if (!good) {
        text_format(fault, "the question for implementations is not as it was observed: not one readable call");
    } else if ((good = answer_name(call.declaration, &name, fault))) {
        *found = answer_export(name.data, false);
        if (memory_name(&arch, copy.arch) && !arch.failed) {
            text_format(log, "asked for implementations of %s for %s: %s%s\n", name.data, arch.data,
                        *found ? (*found)->symbol : "none, it is not of this library",
                        *found && (*found)->parametric ? " at every size" : "");
        }
    }
    text_free(&name);
    text_free(&arch);
    return good;
}

static long provide_impls(void *self, const abi_request *request, const void **data, size_t *size,
                          abi_error **error) {
    (void)self;
    struct text fault = {0}, log = {0};
    const struct embedded_export *found = NULL;
    bool good = data && size;
    if (!good) {
        text_format(&fault, "there is no place for the answer");
    } else {
        good = read_question(request, &found, &fault, &log);
        *data = found ? found->catalog : NULL;
        *size = found ? found->catalog_size : 0;
    }
    return finish(good, &fault, &log, error);
}

static long filter_and_rank(void *self) {
    (void)self;
    return 1; /* its arguments are not known, and there is never more than one implementation to choose from */
}

static long instantiate(void *self, const abi_record *records, size_t count, abi_module **module,
                        abi_error **error) {
    (void)self;
    struct text fault = {0}, log = {0};
    abi_module *made = NULL;
    if (!module) {
        text_format(&fault, "there is no place for the answer");
    } else {
        made = *module = answer_records(records, count, &fault, &log);
    }
    return finish(made != NULL, &fault, &log, error);
}

static void free_impls(const void *data) {
    (void)data; /* catalogs are constants of this library */
}

static void free_error(abi_error *error) {
    if (error && error != &NO_MEMORY_ERROR) {
        free((void *)error->message.data);
        free(error);
    }
}

static void destroy(void *self) {
    (void)self; /* an instance has no state */
}

__attribute__((visibility("default"))) long tileir_create_linkage_provider(abi_version version, abi_instance *out);

long tileir_create_linkage_provider(abi_version version, abi_instance *out) {
    struct text fault = {0}, log = {0};
    bool known = version.major == ABI_MAJOR && version.minor == ABI_MINOR && version.patch == ABI_PATCH;
    if (!known) {
        text_format(&fault, "the assembler announces ABI %u.%u.%u of tile library providers; this library was built "
                            "with provider_abi=observed, which knows %u.%u.%u only",
                    version.major, version.minor, version.patch, ABI_MAJOR, ABI_MINOR, ABI_PATCH);
    } else if (out) {
        *out = (abi_instance){
            .self = (void *)&embedded,
            .version = version,
            .provide_impls = provide_impls,
            .filter_and_rank = filter_and_rank,
            .instantiate = instantiate,
            .free_impls = free_impls,
            .free_module = answer_free,
            .free_error = free_error,
            .destroy = destroy,
            .name = {embedded.name, strlen(embedded.name)},
        };
        text_format(&log, "loaded, %zu export(s), ABI %u.%u.%u\n", embedded.export_count, version.major, version.minor,
                    version.patch);
    } else {
        text_format(&fault, "there is no place for the instance");
    }
    return finish(known && out, &fault, &log, NULL);
}
