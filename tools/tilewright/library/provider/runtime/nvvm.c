#define _GNU_SOURCE
#include "nvvm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *nvvm_program;

struct nvvm {
    void *handle;
    int (*create)(nvvm_program *);
    int (*destroy)(nvvm_program *);
    int (*add)(nvvm_program, const char *, size_t, const char *);
    int (*add_lazily)(nvvm_program, const char *, size_t, const char *);
    int (*verify)(nvvm_program, int, const char **);
    int (*compile)(nvvm_program, int, const char **);
    int (*result_size)(nvvm_program, size_t *);
    int (*result)(nvvm_program, char *);
    int (*log_size)(nvvm_program, size_t *);
    int (*log)(nvvm_program, char *);
    const char *(*status_text)(int);
};

static const char *const ROOT_VARIABLES[] = {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"};
static const char *const LIBRARIES[] = {"nvvm/lib64/libnvvm.so", "lib/libnvvm.so.4"};
static const char LIBDEVICE[] = "nvvm/libdevice/libdevice.10.bc";
enum { VARIABLE_COUNT = 3, ROOT_COUNT = 4, LIBRARY_COUNT = 2, LONGEST_PATH = 4096 };

/* A place to look in: false for a variable that is not set, or without /proc. */
static bool root_folder(int number, struct text *root) {
    if (number < VARIABLE_COUNT) {
        const char *value = getenv(ROOT_VARIABLES[number]);
        if (!value || !*value) {
            return false;
        }
        text_add(root, value, strlen(value));
        return !root->failed;
    }
    char path[LONGEST_PATH];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size <= 0) {
        return false;
    }
    path[size] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (!slash) {
            return false;
        }
        *slash = '\0';
    }
    text_add(root, path, strlen(path));
    return !root->failed;
}

static bool entry(void *handle, const char *name, void *to, struct text *fault) {
    void *found = dlsym(handle, name);
    if (!found) {
        text_format(fault, "it has no %s; ", name);
        return false;
    }
    memcpy(to, &found, sizeof found);
    return true;
}

static bool open_library(const char *path, struct nvvm *nvvm, struct text *fault) {
    /* It stays in the process: the assembler is about to load it too, and its unloading leaves memory behind. */
    nvvm->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!nvvm->handle) {
        const char *reason = dlerror();
        text_format(fault, "%s; ", reason ? reason : "it does not open");
        return false;
    }
    void *handle = nvvm->handle;
    if (entry(handle, "nvvmCreateProgram", &nvvm->create, fault) &&
        entry(handle, "nvvmDestroyProgram", &nvvm->destroy, fault) &&
        entry(handle, "nvvmAddModuleToProgram", &nvvm->add, fault) &&
        entry(handle, "nvvmLazyAddModuleToProgram", &nvvm->add_lazily, fault) &&
        entry(handle, "nvvmVerifyProgram", &nvvm->verify, fault) &&
        entry(handle, "nvvmCompileProgram", &nvvm->compile, fault) &&
        entry(handle, "nvvmGetCompiledResultSize", &nvvm->result_size, fault) &&
        entry(handle, "nvvmGetCompiledResult", &nvvm->result, fault) &&
        entry(handle, "nvvmGetProgramLogSize", &nvvm->log_size, fault) &&
        entry(handle, "nvvmGetProgramLog", &nvvm->log, fault) &&
        entry(handle, "nvvmGetErrorString", &nvvm->status_text, fault)) {
        return true;
    }
    dlclose(handle);
    nvvm->handle = NULL;
    return false;
}

/* The first library that opens; `root` is then the toolkit it was found in. */
static bool find_library(struct nvvm *nvvm, struct text *root, struct text *fault, struct text *log) {
    struct text tried = {0};
    for (int number = 0; number < ROOT_COUNT && !nvvm->handle; number++) {
        text_free(root);
        if (!root_folder(number, root)) {
            continue;
        }
        bool there = false;
        for (int at = 0; at < LIBRARY_COUNT && !nvvm->handle; at++) {
            struct text path = {0};
            text_format(&path, "%s/%s", root->data, LIBRARIES[at]);
            if (!path.failed && access(path.data, R_OK) == 0) {
                there = true;
                text_format(&tried, "%s: ", path.data);
                if (open_library(path.data, nvvm, &tried)) {
                    text_format(log, "libNVVM is %s\n", path.data);
                }
            }
            text_free(&path);
        }
        if (!there) {
            text_format(&tried, "nothing in %s; ", root->data);
        }
    }
    if (!nvvm->handle) {
        text_format(fault, "libNVVM was not found: %sset CUDA_HOME to the CUDA toolkit", tried.data ? tried.data : "");
    }
    text_free(&tried);
    return nvvm->handle != NULL;
}

static bool read_file(const char *path, struct text *content) {
    FILE *file = fopen(path, "rbe");
    if (!file) {
        return false;
    }
    char block[1 << 14];
    size_t size;
    while ((size = fread(block, 1, sizeof block, file)) > 0 && !content->failed) {
        text_add(content, block, size);
    }
    bool whole = !ferror(file) && !content->failed && content->size > 0;
    fclose(file);
    return whole;
}

static bool checked(const struct nvvm *nvvm, nvvm_program program, int status, const char *step, struct text *fault) {
    if (!status) {
        return true;
    }
    const char *said = nvvm->status_text(status);
    text_format(fault, "libNVVM, %s: %s", step, said ? said : "unknown status");
    size_t size = 0;
    if (program && !nvvm->log_size(program, &size) && size > 1) {
        char *log = calloc(1, size + 1);
        if (log && !nvvm->log(program, log)) {
            text_format(fault, "\n%s", log);
        }
        free(log);
    }
    return false;
}

static bool add_libdevice(const struct nvvm *nvvm, nvvm_program program, const char *root, struct text *library,
                          struct text *fault) {
    struct text path = {0};
    text_format(&path, "%s/%s", root, LIBDEVICE);
    bool read = !path.failed && read_file(path.data, library);
    if (!read) {
        text_format(fault, "cannot read libdevice, which the device code calls: %s", path.data ? path.data : "");
    }
    text_free(&path);
    return read && checked(nvvm, program, nvvm->add_lazily(program, library->data, library->size, "libdevice"),
                           "adding libdevice", fault);
}

static unsigned char *compile(const struct nvvm *nvvm, const char *root, const struct text *ir, const char *arch,
                              bool needs_libdevice, size_t *size, struct text *fault) {
    struct text option = {0}, libdevice = {0};
    text_format(&option, "-arch=%s", arch);
    const char *options[] = {"-gen-lto", option.data};
    nvvm_program program = NULL;
    unsigned char *result = NULL;
    size_t made = 0;
    if (option.failed) {
        text_format(fault, "out of memory");
    } else if (checked(nvvm, program, nvvm->create(&program), "making a program", fault) &&
               checked(nvvm, program, nvvm->add(program, ir->data, ir->size, "tilewright"), "reading", fault) &&
               (!needs_libdevice || add_libdevice(nvvm, program, root, &libdevice, fault)) &&
               checked(nvvm, program, nvvm->verify(program, 2, options), "verifying", fault) &&
               checked(nvvm, program, nvvm->compile(program, 2, options), "compiling", fault) &&
               checked(nvvm, program, nvvm->result_size(program, &made), "giving the result", fault)) {
        result = made ? malloc(made) : NULL;
        if (!result) {
            text_format(fault, made ? "out of memory" : "libNVVM made nothing");
        } else if (!checked(nvvm, program, nvvm->result(program, (char *)result), "giving the result", fault)) {
            free(result);
            result = NULL;
        }
    }
    if (program) {
        nvvm->destroy(&program);
    }
    text_free(&option);
    text_free(&libdevice);
    *size = made;
    return result;
}

unsigned char *nvvm_compile(const struct text *ir, const char *arch, bool needs_libdevice, size_t *size,
                            struct text *fault, struct text *log) {
    struct nvvm nvvm = {0};
    struct text root = {0};
    unsigned char *result = NULL;
    if (find_library(&nvvm, &root, fault, log)) {
        result = compile(&nvvm, root.data, ir, arch, needs_libdevice, size, fault);
        dlclose(nvvm.handle);
    }
    text_free(&root);
    return result;
}
