#include "answer.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "nvvm.h"

enum { MOST_RECORDS = 1 << 16, CODE_LIMIT = 2 };

/* One wanted symbol: where its name lies among all names, and the export that it is a size of. */
struct wanted {
    const char *symbol;
    size_t size;
    size_t record;
    const struct embedded_export *export;
};

/* Everything that an answer points to.  The module is what the assembler sees; it comes first. */
struct answer {
    abi_module module;
    abi_code code[CODE_LIMIT];
    struct text names;
    struct wanted *wanted;
    abi_call_symbol *call_symbols;
    abi_view *symbols; /* each once: those of the first code, then those of the second */
    unsigned char *compiled;
};

/* What the records ask for, as it is read. */
struct question {
    struct answer *answer;
    struct text arch;
    size_t *offsets;
};

/* `relu_any_impl__N128` of the parametric `relu_any_impl`, `relu_impl` of itself. */
static bool is_size_of(const char *base, bool parametric, const char *name) {
    size_t size = strlen(base);
    if (strncmp(name, base, size)) {
        return false;
    }
    const char *rest = name + size;
    if (!parametric) {
        return !*rest;
    }
    return !strncmp(rest, "__N", 3) && rest[3] && strspn(rest + 3, "0123456789") == strlen(rest + 3);
}

bool answer_name(const abi_declaration *declaration, struct text *name, struct text *fault) {
    abi_declaration copy;
    bool good = memory_read(&copy, declaration, sizeof copy) && memory_name(name, copy.name);
    if (!good) {
        text_format(fault, "a declaration has no readable name: the assembler speaks another ABI");
    } else if (name->failed) {
        text_format(fault, "out of memory");
    }
    return good && !name->failed;
}

const struct embedded_export *answer_export(const char *name, bool specialised) {
    for (size_t at = 0; at < embedded.export_count; at++) {
        const struct embedded_export *export = &embedded.exports[at];
        if (is_size_of(export->declaration, specialised && export->parametric, name)) {
            return export;
        }
    }
    return NULL;
}

/* The export that code is wanted for. */
static const struct embedded_export *wanted_export(const abi_declaration *declaration, struct text *fault) {
    struct text name = {0};
    const struct embedded_export *found = NULL;
    if (answer_name(declaration, &name, fault)) {
        found = answer_export(name.data, true);
        if (!found) {
            text_format(fault, "code is wanted for `%s`, which the library does not have", name.data);
        }
    }
    text_free(&name);
    return found;
}

/* "sm_90a" as libNVVM spells it, "compute_90a". */
static bool read_arch(abi_view view, struct text *arch, struct text *fault) {
    struct text name = {0};
    bool good = memory_name(&name, view) && !name.failed && !strncmp(name.data, "sm_", 3);
    if (good) {
        const char *number = name.data + 3;
        size_t digits = strspn(number, "0123456789");
        const char *suffix = number + digits;
        good = digits > 0 && digits < 8 && (!*suffix || (strchr("af", *suffix) && !suffix[1]));
        if (good) {
            text_format(arch, "compute_%s", number);
            good = !arch->failed;
        }
    }
    if (!good) {
        text_format(fault, "cannot tell the architecture to compile for (`%s`)", name.data ? name.data : "");
    }
    text_free(&name);
    return good;
}

static bool read_record(struct question *question, const abi_record *records, size_t at, struct text *fault) {
    abi_record record;
    abi_implementation implementation;
    if (!memory_read(&record, records + at, sizeof record) ||
        !memory_read(&implementation, record.implementation, sizeof implementation)) {
        text_format(fault, "question %zu for code is not readable: the assembler speaks another ABI", at);
        return false;
    }
    struct text arch = {0};
    bool good = read_arch(record.arch, &arch, fault);
    if (good && question->arch.data && strcmp(arch.data, question->arch.data)) {
        text_format(fault, "one compilation asks for %s and for %s", question->arch.data, arch.data);
        good = false;
    }
    if (good && !question->arch.data) {
        question->arch = arch;
    } else {
        text_free(&arch);
    }
    if (!good) {
        return false;
    }
    struct answer *answer = question->answer;
    struct wanted *wanted = &answer->wanted[at];
    wanted->record = at;
    wanted->export = wanted_export(record.declaration, fault);
    if (!wanted->export) {
        return false;
    }
    size_t start = answer->names.size;
    question->offsets[at] = start;
    if (!memory_name(&answer->names, implementation.symbol) || answer->names.failed ||
        !is_size_of(wanted->export->symbol, wanted->export->parametric, answer->names.data + start)) {
        bool readable = answer->names.data && answer->names.size > start && !answer->names.failed;
        text_format(fault, "`%s` is implemented by `%s`, and the assembler wants `%s`", wanted->export->declaration,
                    wanted->export->symbol, readable ? answer->names.data + start : "");
        return false;
    }
    wanted->size = answer->names.size - start;
    text_add(&answer->names, "", 1);
    return true;
}

static int by_symbol(const void *left, const void *right) {
    const struct wanted *a = left, *b = right;
    int order = strcmp(a->symbol, b->symbol);
    return order ? order : (a->record > b->record) - (a->record < b->record);
}

/* Bodies come from IR, or lie in LTOIR that is a code of its own. */
static bool is_in_first_code(const struct embedded_export *export) {
    return !embedded.ltoir || export->parametric;
}

/* Names the symbols of each record and, once each, of each code. */
static void list_symbols(struct answer *answer, size_t count) {
    for (size_t at = 0; at < count; at++) {
        const struct wanted *wanted = &answer->wanted[at];
        answer->call_symbols[at] = (abi_call_symbol){at, {wanted->symbol, wanted->size}};
    }
    qsort(answer->wanted, count, sizeof *answer->wanted, by_symbol);
    size_t listed = 0;
    for (int code = 0; code < CODE_LIMIT; code++) {
        answer->code[code].symbols = answer->symbols + listed;
        size_t start = listed;
        for (size_t at = 0; at < count; at++) {
            const struct wanted *wanted = &answer->wanted[at];
            bool repeated = at && !strcmp(wanted->symbol, answer->wanted[at - 1].symbol);
            if (!repeated && is_in_first_code(wanted->export) == (code == 0)) {
                answer->symbols[listed++] = (abi_view){wanted->symbol, wanted->size};
            }
        }
        answer->code[code].symbol_count = listed - start;
    }
}

/* The IR of the library, and one function a wanted size around the body. */
static void write_ir(const struct answer *answer, size_t count, struct text *ir, struct text *log) {
    text_add(ir, (const char *)embedded.ir, embedded.ir_size);
    text_add(ir, "\n", 1);
    for (size_t at = 0; at < count; at++) {
        const struct wanted *wanted = &answer->wanted[at];
        const struct embedded_export *export = wanted->export;
        if (!export->parametric || (at && !strcmp(wanted->symbol, answer->wanted[at - 1].symbol))) {
            continue;
        }
        text_format(ir, "define void @%s(%s) convergent nounwind {\n  call void @%s(%s) convergent\n  ret void\n}\n",
                    wanted->symbol, export->parameters, export->symbol, export->parameters);
        text_format(log, "wrapper %s around %s\n", wanted->symbol, export->symbol);
    }
}

/* The linker refuses LTOIR for a newer architecture than the kernel's; here the reason can be said. */
static bool is_new_enough(const char *arch, struct text *fault) {
    unsigned long number = strtoul(arch + strlen("compute_"), NULL, 10);
    if (embedded.ltoir && number < embedded.ltoir_arch) {
        text_format(fault, "the device code was compiled for sm_%u, and the kernel is for sm_%s", embedded.ltoir_arch,
                    arch + strlen("compute_"));
        return false;
    }
    return true;
}

/* The codes that are needed, the compiled one first. */
static bool make_code(struct answer *answer, size_t count, const char *arch, struct text *fault, struct text *log) {
    abi_code *code = answer->code;
    abi_view name = {embedded.name, strlen(embedded.name)};
    size_t codes = 0;
    if (code[0].symbol_count) {
        struct text ir = {0};
        size_t size = 0;
        write_ir(answer, count, &ir, log);
        if (ir.failed) {
            text_format(fault, "out of memory");
        } else {
            answer->compiled = nvvm_compile(&ir, arch, embedded.needs_libdevice, &size, fault, log);
        }
        text_free(&ir);
        if (!answer->compiled) {
            return false;
        }
        text_format(log, "compiled for %s: %zu bytes of LTOIR, %zu symbol(s)\n", arch, size, code[0].symbol_count);
        code[0] = (abi_code){answer->compiled, size, ABI_CODE_LTOIR, code[0].symbols, code[0].symbol_count, name};
        codes = 1;
    }
    if (embedded.ltoir) {
        code[codes] = (abi_code){embedded.ltoir, embedded.ltoir_size, ABI_CODE_LTOIR, code[1].symbols,
                                 code[1].symbol_count, name};
        text_format(log, "embedded LTOIR: %zu bytes\n", embedded.ltoir_size);
        codes++;
    }
    answer->module = (abi_module){code, codes, answer->call_symbols, count};
    return true;
}

static bool fill(struct question *question, const abi_record *records, size_t count, struct text *fault,
                 struct text *log) {
    struct answer *answer = question->answer;
    answer->wanted = calloc(count, sizeof *answer->wanted);
    answer->call_symbols = calloc(count, sizeof *answer->call_symbols);
    answer->symbols = calloc(count, sizeof *answer->symbols);
    question->offsets = calloc(count, sizeof *question->offsets);
    if (!answer->wanted || !answer->call_symbols || !answer->symbols || !question->offsets) {
        text_format(fault, "out of memory");
        return false;
    }
    for (size_t at = 0; at < count; at++) {
        if (!read_record(question, records, at, fault)) {
            return false;
        }
    }
    if (answer->names.failed) {
        text_format(fault, "out of memory");
        return false;
    }
    for (size_t at = 0; at < count; at++) { /* only now do the names stay where they are */
        answer->wanted[at].symbol = answer->names.data + question->offsets[at];
        text_format(log, "wants %s\n", answer->wanted[at].symbol);
    }
    list_symbols(answer, count);
    return is_new_enough(question->arch.data, fault) && make_code(answer, count, question->arch.data, fault, log);
}

abi_module *answer_records(const abi_record *records, size_t count, struct text *fault, struct text *log) {
    if (count > MOST_RECORDS) {
        text_format(fault, "the assembler asks for the code of %zu calls", count);
        return NULL;
    }
    struct question question = {.answer = calloc(1, sizeof *question.answer)};
    if (!question.answer) {
        text_format(fault, "out of memory");
        return NULL;
    }
    /* A library that no call was given to is asked as well, for nothing. */
    bool good = !count || fill(&question, records, count, fault, log);
    text_free(&question.arch);
    free(question.offsets);
    if (!good) {
        answer_free(&question.answer->module);
        return NULL;
    }
    return &question.answer->module;
}

void answer_free(abi_module *module) {
    if (!module) {
        return;
    }
    struct answer *answer = (struct answer *)module;
    text_free(&answer->names);
    free(answer->wanted);
    free(answer->call_symbols);
    free(answer->symbols);
    free(answer->compiled);
    free(answer);
}
