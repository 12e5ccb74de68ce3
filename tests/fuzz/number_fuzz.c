/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text: what is read, printed and read again is the same; and UTF-8. */
#include <string.h>

#include "base/str.h"
#include "fuzz.h"

enum { WIDTH = 8 };

static void read_integer(const char *text) {
    int64_t n;
    dt_str out = {0};
    if (dt_parse_int64(text, &n)) {
        dt_str_grouped(&out, n);
        FUZZ_CHECK(out.size < 27, "a longer number than there is");
    }
    dt_str_release(&out);
}

static void read_double(const char *text) {
    double x, again;
    dt_str out = {0};
    if (dt_parse_double(text, &x)) {
        dt_str_double(&out, x);
        FUZZ_CHECK(dt_parse_double(dt_str_text(&out), &again) && memcmp(&x, &again, sizeof x) == 0,
                   "another number");
        dt_str_float(&out, (float)x);
        dt_str_bytes(&out, x);
    }
    dt_str_release(&out);
}

static void read_utf8(const char *text, size_t n) {
    dt_str out = {0};
    uint32_t code;
    size_t size;
    for (size_t i = 0; i < n && (size = dt_utf8_next(text + i, n - i, &code)) > 0; i += size) {
        dt_str_clear(&out);
        dt_str_utf8(&out, code);
        FUZZ_CHECK(out.size == size && memcmp(out.data, text + i, size) == 0, "another character");
    }
    dt_str_escaped(&out, text, n, 40);
    const size_t from = out.size;
    dt_str_add(&out, text, n);
    dt_str_pad(&out, from, WIDTH);
    FUZZ_CHECK(dt_utf8_count(out.data + from, out.size - from) >= WIDTH, "narrower than asked for");
    dt_str_release(&out);
}

FUZZ_TARGET(number) {
    const char *text = fuzz_string(data, size);
    read_double(text);
    read_integer(text);
    read_utf8((const char *)data, size);
    return 0;
}
