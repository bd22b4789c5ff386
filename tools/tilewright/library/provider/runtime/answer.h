/* The second question of the assembler, for code: which symbols it wants, and the module that defines them. */
#ifndef TILEWRIGHT_ANSWER_H
#define TILEWRIGHT_ANSWER_H

#include "embedded.h"
#include "observed_abi.h"
#include "text.h"

/* The name of a declaration; false with the reason in `fault` when it cannot be read. */
bool answer_name(const abi_declaration *declaration, struct text *name, struct text *fault);

/* The export of that name, NULL for none.  A question about code names the size in it (`relu_any__N128`), one about
 * implementations does not. */
const struct embedded_export *answer_export(const char *name, bool specialised);

/* Code for all records, to be given back through `answer_free`; NULL with the reason in `fault`. */
abi_module *answer_records(const abi_record *records, size_t count, struct text *fault, struct text *log);

void answer_free(abi_module *module);

#endif
