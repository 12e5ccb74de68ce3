/* SPDX-License-Identifier: Apache-2.0 */
/* See size.h. */
#include "base/size.h"

#include <string.h>

#include "base/str.h"

bool dt_parse_bytes(const char *text, int64_t *bytes) {
    static const struct {
        const char *name;
        double size;
    } units[] = {{"", 1},         {"B", 1},        {"KiB", 0x1p10},
                 {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
    size_t n = strspn(text, "0123456789.");
    char number[32];
    double x;

    if (n == 0 || n >= sizeof number) return false;
    memcpy(number, text, n);
    number[n] = '\0';
    const char *unit = text + n + (text[n] == ' ' && text[n + 1]);
    if (!dt_parse_double(number, &x)) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0 && x * units[i].size >= 1 &&
            x * units[i].size < 0x1p62) {
            *bytes = (int64_t)(x * units[i].size);
            return true;
        }
    return false;
}
