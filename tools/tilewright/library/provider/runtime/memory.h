/* Reading memory that somebody else laid out, in a way that cannot crash when the layout is not what we think. */
#ifndef TILEWRIGHT_MEMORY_H
#define TILEWRIGHT_MEMORY_H

#include "observed_abi.h"
#include "text.h"

enum { LONGEST_NAME = 4096 };

/* Copies `size` bytes; false when they are not all readable. */
bool memory_read(void *to, const void *from, size_t size);

/* Appends the name that `view` shows; false when it is empty, too long, not readable, or not made of the characters
 * of a symbol (letters, digits, `_`, `.`, `$`).  A name that passes can be put into IR and messages as it is. */
bool memory_name(struct text *to, abi_view view);

#endif
