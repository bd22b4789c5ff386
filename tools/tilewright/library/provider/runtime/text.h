/* Text that grows, and names in it.  A text that could not grow is `failed` from then on and keeps what it has. */
#ifndef TILEWRIGHT_TEXT_H
#define TILEWRIGHT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *data; /* terminated, NULL while empty */
    size_t size;
    size_t room;
    bool failed;
};

void text_add(struct text *text, const char *data, size_t size);
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *text);

#endif
