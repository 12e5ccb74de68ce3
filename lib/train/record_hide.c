/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a record must not contain. Paths may come from the environment, where secrets are, and
 * warnings, errors and file names repeat them. A long value is replaced wherever it appears; a
 * short one, which might match by chance, only as a whole word.
 */
#include <ctype.h>
#include <string.h>

#include "train/record.h"

enum { SHORT = 4 };

static bool is_in_word(const char *text, const char *at) {
    return at >= text && *at && (isalnum((unsigned char)*at) || *at == '_');
}

static bool stands_at(const char *text, const char *at, const char *value) {
    const size_t n = strlen(value);
    if (strncmp(at, value, n) != 0) return false;
    return n >= SHORT || !(is_in_word(text, at - 1) || is_in_word(text, at + n));
}

/* The longest hidden value at this position, since one value may contain another. */
static const dt_pair *hidden_at(const run *r, const char *text, const char *at) {
    const dt_pair *found = NULL;
    for (int i = 0; i < r->q->n_hidden; i++) {
        const dt_pair *p = &r->q->hidden[i];
        if (stands_at(text, at, p->value) && (!found || strlen(p->value) > strlen(found->value)))
            found = p;
    }
    return found;
}

char *dt_record_shown(const run *r, const char *text) {
    dt_str shown = {0};
    for (const char *at = text; text && *at;) {
        const dt_pair *p = hidden_at(r, text, at);
        if (p) dt_str_puts(&shown, p->key);
        else dt_str_putc(&shown, *at);
        at += p ? strlen(p->value) : 1;
    }
    return text ? dt_str_take(&shown) : NULL;
}
