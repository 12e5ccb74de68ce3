/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that only the files of lib/conf use. */
#ifndef DT_CONF_CONF_IMPL_H
#define DT_CONF_CONF_IMPL_H

#include <yaml.h>

#include "conf/conf.h"

enum {
    DT_JOB_BYTES = 1 << 20,
    /* the most bytes of all keys and scalars together, counting copies made by aliases */
    DT_JOB_TEXT = 4 << 20,
    DT_JOB_DEPTH = 64,
    DT_JOB_NODES = 10000, /* the most nodes; a key belongs to its entry and is not counted */
};

/* ---- source locations ---- */

/* The part of a source that libyaml reads: text[from, size). libyaml counts its marks in
 * characters; messages also need bytes. */
typedef struct dt_yaml {
    const dt_source *source;
    size_t from;
    int before; /* number of characters before `from` in its line */
    /* The last mark that was converted, and its byte offset. Marks nearly always increase, so bytes
     * are passed once; for a smaller mark counting begins at `from` again. */
    size_t index, offset;
} dt_yaml;

dt_yaml dt_yaml_open(const dt_source *source, size_t from);
/* Returns the byte offset of a mark. */
size_t dt_yaml_offset(dt_yaml *y, yaml_mark_t mark);
/* Returns the location from start to end. It has no width if the two are on different lines. */
dt_location dt_yaml_place(dt_yaml *y, yaml_mark_t start, yaml_mark_t end);
/* Returns the location of a byte at or after `from`. Reads all the text before it. */
dt_location dt_yaml_place_at(const dt_yaml *y, size_t offset);
/* Moves a location to its value. If the value has an anchor or a tag, libyaml's mark is that of the
 * anchor or tag; the location moves only if the value is on the same line. */
void dt_yaml_skip_properties(dt_location *at);

/* ---- reading ---- */

/* Refuses a source that is too large. Uses only its size, so that its text need not be read
 * before. */
dt_status *dt_yaml_check_size(const dt_source *source) DT_MUST_USE;
/* Refuses a text that libyaml should not read (syntax.c). */
dt_status *dt_yaml_check(const dt_yaml *y) DT_MUST_USE;
/* Parses text[from, size) like dt_tree_parse. */
dt_status *dt_yaml_parse(dt_arena *arena, dt_yaml y, dt_tree **out) DT_MUST_USE;

/* What precedes a syntax error and is often its cause: the last scalar, and the open bracket. */
typedef struct dt_yaml_before {
    bool quoted; /* whether the last scalar is quoted or a block */
    yaml_mark_t start, end;
    const dt_location *bracket; /* the innermost bracket that is open; NULL: no bracket is open */
} dt_yaml_before;
/* Returns the error for a syntax error, which explains where and why libyaml stopped. */
dt_status *dt_yaml_syntax(dt_yaml *y, const yaml_parser_t *yaml,
                          const dt_yaml_before *before) DT_MUST_USE;

/* ---- values, names and hints ---- */

/* A value as messages show it: its first 80 characters, with invisible ones escaped; a longer text
 * is followed by its length in characters. The struct is small enough to be passed by value. */
typedef struct dt_quoted {
    char text[512];
} dt_quoted;
dt_quoted dt_quote_text(const char *text); /* returns a text in quotes: 'ten' */
dt_quoted dt_quote(const dt_tree *t);      /* returns the value as text: 'ten', 1.5, null, a list */

/* The type that a scalar seems to have, judging by its text. A quoted scalar, and a value that is
 * not a scalar, looks like TEXT. */
typedef enum dt_look {
    DT_LOOKS_TEXT,
    DT_LOOKS_INT,
    DT_LOOKS_AMBIGUOUS, /* an ambiguous number such as 010, which may be ten or, in octal, eight */
    DT_LOOKS_REAL,
    DT_LOOKS_NOT_FINITE,
} dt_look;
dt_look dt_look_at(const dt_tree *t);

typedef struct dt_limits {
    double min, max;
    bool above_min, below_max;
} dt_limits;
dt_status *dt_tree_int_in(const dt_tree *t, const char *what, const dt_limits *limits,
                          int64_t *out) DT_MUST_USE;
dt_status *dt_tree_real_in(const dt_tree *t, const char *what, const dt_limits *limits,
                           double *out) DT_MUST_USE;
dt_status *dt_tree_text_in(const dt_tree *t, const char *what, const dt_limits *limits,
                           const char **out) DT_MUST_USE;
dt_status *dt_wrong_type(const dt_tree *t, const char *what, const char *expected) DT_MUST_USE;

/* Adds to the error the advice to write YAML's null, if `text` is Python's None. */
dt_status *dt_suggest_null(dt_status *s, const char *text) DT_MUST_USE;
/* Returns a hint for a name that another program uses; NULL: the name is unknown. noun: what the
 * name is, such as "layer". */
const char *dt_foreign_name(const char *noun, const char *name);
/* Returns a hint for a key that another program uses in a section or a kind; NULL: the key is
 * unknown. what: the section or kind; NULL: the top level of a job. */
const char *dt_foreign_key(const char *what, const char *key);
/* Adds to the error a hint, if one is known, after a single value was given in place of a mapping
 * or a list. */
dt_status *dt_suggest_lone(dt_status *s, const char *what, const char *value);
/* Returns the part of a name after the last dot: `Adam` of torch.optim.Adam. */
const char *dt_name_last(const char *name);

#endif
