/* SPDX-License-Identifier: Apache-2.0 */
/* The rule for texts in all formats: they are UTF-8 without NUL, and at most as long as the element
 * allows. */
#include "file/text_cell.h"

#include <string.h>

#include "base/str.h"

const char *dt_text_fault(const char *text, size_t n) {
    uint32_t code;
    for (size_t at = 0, step; at < n; at += step) {
        step = dt_utf8_next(text + at, n - at, &code);
        if (step == 0 || code == 0) return step ? "holds a NUL" : "is not UTF-8";
    }
    return NULL;
}

const char *dt_text_put(const char *text, size_t n, const dt_type *type, void *out) {
    const char *why = dt_text_fault(text, n);
    if (why) return why;
    if ((int64_t)n >= type->dim[0]) return "is longer than the element's max_bytes";
    if (n > 0) memcpy(out, text, n);
    ((char *)out)[n] = '\0';
    return NULL;
}
