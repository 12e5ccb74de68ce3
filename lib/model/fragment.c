/* SPDX-License-Identifier: Apache-2.0 */
/* Reads fragments of job files, and derives names from class names as Keras does. */
#include <ctype.h>
#include <string.h>

#include "model/model.h"

dt_status *dt_fragment_read(dt_arena *arena, const char *name, const char *format, va_list args,
                            dt_tree **out) {
    dt_local_str text = {0};

    if (!format) return dt_fail(DT_E_MISUSE, NULL, "%s: no text was given", name);
    dt_str_vprintf(&text, format, args);
    dt_source source = {
        .name = name, .text = dt_arena_strdup(arena, dt_str_text(&text)), .size = text.size};
    return dt_fragment_parse(arena, dt_arena_copy(arena, &source, sizeof source), out);
}

/* Whether Keras puts a "_" before s[i]: before a capital that is not the first character, if a
 * lower-case letter follows or precedes it: "Max_Pooling", "RM_Sprop". */
static bool begins_word(const char *s, size_t i) {
    if (i == 0 || !isupper((unsigned char)s[i])) return false;
    return islower((unsigned char)s[i + 1]) || islower((unsigned char)s[i - 1]);
}

char *dt_snake_case(dt_arena *arena, const char *class_name) {
    char *out = dt_arena_alloc(arena, 2 * strlen(class_name) + 1), *p = out;
    for (size_t i = 0; class_name[i]; i++) {
        if (begins_word(class_name, i)) *p++ = '_';
        *p++ = (char)tolower((unsigned char)class_name[i]);
    }
    return out;
}
