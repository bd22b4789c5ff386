#include "text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool grow(struct text *text, size_t more) {
    if (text->failed || more >= SIZE_MAX / 4 - text->size) {
        text->failed = true;
        return false;
    }
    size_t wanted = text->size + more + 1;
    if (wanted <= text->room) {
        return true;
    }
    size_t room = wanted < 256 ? 256 : wanted + wanted / 2;
    char *data = realloc(text->data, room);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->room = room;
    return true;
}

void text_add(struct text *text, const char *data, size_t size) {
    if (grow(text, size)) {
        if (size) {
            memcpy(text->data + text->size, data, size);
        }
        text->size += size;
        text->data[text->size] = '\0';
    }
}

void text_format(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0) {
        text->failed = true;
        return;
    }
    if (grow(text, (size_t)size)) {
        va_start(arguments, format);
        vsnprintf(text->data + text->size, (size_t)size + 1, format, arguments);
        va_end(arguments);
        text->size += (size_t)size;
    }
}

void text_free(struct text *text) {
    free(text->data);
    *text = (struct text){0};
}
