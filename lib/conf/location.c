/* SPDX-License-Identifier: Apache-2.0 */
/* Makes source locations of libyaml's marks, which count characters from 0, and of byte offsets. */
#include <string.h>

#include "conf/conf_impl.h"

static bool begins_char(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

/* Returns the byte offset of the character after the one at `i`. */
static size_t next_char(const dt_source *s, size_t i) {
    do i++;
    while (i < s->size && !begins_char(s->text[i]));
    return i;
}

static size_t line_start(const dt_source *s, size_t i) {
    while (i > 0 && s->text[i - 1] != '\n') i--;
    return i;
}

/* Whether the source begins with a byte order mark, which does not count as a character of its
 * line. */
static bool has_bom(const dt_source *s) {
    return s->size >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0;
}

dt_yaml dt_yaml_open(const dt_source *source, size_t from) {
    if (from == 0 && has_bom(source)) return (dt_yaml){.source = source, .from = 3, .offset = 3};
    size_t start = line_start(source, from);
    return (dt_yaml){.source = source,
                     .from = from,
                     .offset = from,
                     .before = (int)dt_utf8_count(source->text + start, from - start)};
}

size_t dt_yaml_offset(dt_yaml *y, yaml_mark_t mark) {
    if (mark.index < y->index) {
        y->index = 0;
        y->offset = y->from;
    }
    for (; y->index < mark.index && y->offset < y->source->size; y->index++)
        y->offset = next_char(y->source, y->offset);
    return y->offset;
}

dt_location dt_yaml_place(dt_yaml *y, yaml_mark_t start, yaml_mark_t end) {
    return (dt_location){
        .source = y->source,
        .line = (int)start.line + 1,
        .col = (int)start.column + 1 + (start.line == 0 ? y->before : 0),
        .width = start.line == end.line ? (int)(end.column - start.column) : 0,
        .offset = dt_yaml_offset(y, start),
    };
}

dt_location dt_yaml_place_at(const dt_yaml *y, size_t offset) {
    dt_location at = {.source = y->source, .line = 1, .col = 1 + y->before, .offset = offset};
    for (size_t i = y->from; i < offset; i = next_char(y->source, i)) {
        bool end = y->source->text[i] == '\n';
        at.line += end;
        at.col = end ? 1 : at.col + 1;
    }
    return at;
}

void dt_yaml_skip_properties(dt_location *at) {
    const dt_source *s = at->source;
    size_t i = at->offset;
    while (i < s->size && (s->text[i] == '&' || s->text[i] == '!')) {
        while (i < s->size && (unsigned char)s->text[i] > ' ') i++;
        while (i < s->size && s->text[i] == ' ') i++;
    }
    if (i >= s->size || strchr("\r\n#", s->text[i])) return;
    int skipped = (int)dt_utf8_count(s->text + at->offset, i - at->offset);
    at->col += skipped;
    at->width = at->width > skipped ? at->width - skipped : 0;
    at->offset = i;
}
