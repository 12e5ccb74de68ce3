/* SPDX-License-Identifier: Apache-2.0 */
#include "base/environment.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *dt_environment(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

enum { SHORT = 4 };

static bool is_in_word(const char *text, const char *at) {
    return at >= text && *at && (isalnum((unsigned char)*at) || *at == '_');
}

static bool stands_at(const char *text, const char *at, const char *value) {
    const size_t n = strlen(value);
    if (n == 0 || strncmp(at, value, n) != 0) return false;
    return n >= SHORT || !(is_in_word(text, at - 1) || is_in_word(text, at + n));
}

/* Returns the pair of `hidden` whose value is in the text at `at`; of several, the one with the
 * longest value. Returns NULL if no hidden value begins there. */
static const dt_pair *hidden_at(const dt_pair *hidden, int n, const char *text, const char *at) {
    const dt_pair *found = NULL;
    for (int i = 0; i < n; i++)
        if (stands_at(text, at, hidden[i].value) &&
            (!found || strlen(hidden[i].value) > strlen(found->value)))
            found = &hidden[i];
    return found;
}

char *dt_hidden_back(const dt_pair *hidden, int n, const char *text) {
    dt_str shown = {0};
    for (const char *at = text; text && *at;) {
        const dt_pair *p = hidden_at(hidden, n, text, at);
        if (p) dt_str_puts(&shown, p->key);
        else dt_str_putc(&shown, *at);
        at += p ? strlen(p->value) : 1;
    }
    return text ? dt_str_take(&shown) : NULL;
}
