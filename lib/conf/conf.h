/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job files. libyaml's events become a tree in which every node remembers line and column; the
 * schema, not YAML, gives scalars their types, so the type of the field decides what `off`, `1e-4`
 * or `010` mean, or refuses them. Reading continues after a fault, so all faults of a file are
 * reported in one run.
 *
 * Merge keys (`<<: *base`, `<<: [*first, *second]`) are entries of the mappings that they name; a
 * mapping's own keys win, then the first mapping's.
 *
 * Refused while reading: more than 1 MiB, 64 levels, 10,000 nodes (copies made by aliases count),
 * duplicate keys, a second document, tags, keys that are not strings, control characters, invalid
 * UTF-8.
 */
#ifndef DT_CONF_CONF_H
#define DT_CONF_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

typedef enum dt_tree_kind { DT_TREE_NULL, DT_TREE_SCALAR, DT_TREE_LIST, DT_TREE_MAP } dt_tree_kind;

typedef struct dt_tree dt_tree;
typedef struct dt_entry {
    const char *key;
    dt_location key_at;
    dt_tree *value;
} dt_entry;

/* A node. Lives in the arena it was read into; strings are NUL-terminated UTF-8. */
struct dt_tree {
    dt_tree_kind kind;
    dt_location at;   /* source location of the value; width is the scalar's length */
    bool quoted;      /* a quoted or block scalar: always a string */
    const char *text; /* scalar as written (escapes resolved) */
    /* scalar: printed instead of `text`; NULL: text itself */
    const char *recorded;
    int n;           /* items of a list, entries of a map */
    dt_tree **item;  /* list */
    dt_entry *entry; /* map, in the order of the file */
};

/* Parses `source` (which must outlive the tree, like everything in the arena); the root may be of
 * any kind, but there must be one. All faults are returned. *out is NULL after a syntax error or a
 * limit; after faults that leave a sensible tree (a duplicate key, a tag) it is that tree without
 * the refused entries, so that the caller may read on and report the rest in the same run:
 *
 *     dt_status *faults = dt_tree_read(arena, path, &source, &tree);
 *     if (tree)
 *         dt_status_append(&faults, dt_fields_read(arena, fields, tree, NULL, NULL, &job));
 *     return faults; */
dt_status *dt_tree_parse(dt_arena *arena, const dt_source *source, dt_tree **out) DT_MUST_USE;
/* dt_tree_parse for a part of a job that a program passes as text. MISUSE: the text is NULL. */
dt_status *dt_fragment_parse(dt_arena *arena, const dt_source *source, dt_tree **out) DT_MUST_USE;
/* Reads a file ("-": standard input) and parses it; the root must be a mapping. The dt_source is
 * made in the arena. Missing: NO_INPUT. */
dt_status *dt_tree_read(dt_arena *arena, const char *path, const dt_source **source,
                        dt_tree **out) DT_MUST_USE;
/* The value of a key, or NULL (also if t is NULL or not a map). */
dt_tree *dt_tree_get(const dt_tree *t, const char *key);
/* t, or NULL if it is null: a key without a value counts as missing. */
static inline const dt_tree *dt_given(const dt_tree *t) {
    return t && t->kind != DT_TREE_NULL ? t : NULL;
}
/* The location of a key in a mapping; that of the mapping if it lacks the key. */
const dt_location *dt_tree_key_at(const dt_tree *map, const char *key);
/* The location of the key's value; that of the mapping if it lacks the key. */
const dt_location *dt_tree_value_at(const dt_tree *map, const char *key);
/* A copy that shares only strings with t. */
dt_tree *dt_tree_copy(dt_arena *arena, const dt_tree *t);
/* A mapping without the keys whose value is null; t itself where there are none. */
const dt_tree *dt_tree_without_nulls(dt_arena *arena, const dt_tree *t);
/* Sets `a.b.c` to the value parsed from `value` (YAML flow syntax); maps on the way are made; list
 * items are addressed by index ("model.layers.1.Dense.units=64"), a bare name becomes a mapping
 * when its arguments are meant (`optimizer: Adam` and "compile.optimizer.Adam.learning_rate=0.01").
 * "seed=" sets null, the default. Faults point into "override N". */
dt_status *dt_tree_override(dt_arena *arena, dt_tree *root, int number,
                            const char *assignment) DT_MUST_USE;
/* The tree as canonical JSON text, for hashes of jobs: keys in byte order,
 * scalars typed by their looks, numbers in one spelling, quoted scalars as strings. */
void dt_tree_print(const dt_tree *t, dt_str *out);
/* Whether both have the same canonical text. */
bool dt_tree_same(const dt_tree *a, const dt_tree *b);

/* ---- field tables ---- */

/*
 * A table describes a struct; reading fills the struct and reports every unknown key, wrong type
 * and value out of range. Scalars: integers are [+-]?[0-9]+ without leading zeros, or an exact 1e3;
 * reals are finite; booleans are true and false only; any scalar is a string, quoted or not, but a
 * quoted one is nothing else. null (`null`, `~`, nothing) means: the default.
 *
 *     struct dense { int64_t units; int activation; };
 *     static const dt_field fields[] = {
 *         DT_INT(struct dense, units, .min = 1, .required = true, .help = "number of outputs"),
 *         DT_ENUM(struct dense, activation, dt_activations, .help = "activation function"),
 *         DT_END
 *     };
 */
typedef enum dt_field_kind {
    DT_FIELD_END,
    DT_FIELD_INT /* int64_t */,
    DT_FIELD_REAL /* double */,
    DT_FIELD_BOOL /* bool */,
    DT_FIELD_TEXT /* const char * */,
    DT_FIELD_ENUM /* int */,
    DT_FIELD_INTS /* dt_ints */,
    DT_FIELD_REALS /* dt_reals */,
    DT_FIELD_TEXTS /* dt_texts */,
    DT_FIELD_TREE /* const dt_tree *: read by code instead of a table */,
    DT_FIELD_TABLE /* a struct inside, with its own table */,
    DT_FIELD_SECONDS /* double: a time as text, 30s, 10m or 2h */,
    DT_FIELD_ONE_OF /* one of `forms`, each of which reads into its own member */,
    DT_FIELD_INSTEAD /* no field: a key that users try, and what to write instead */,
    /* in `forms` alone: */
    DT_FIELD_WORDS /* one of `choices`, which keep the defaults of the other forms */,
    DT_FIELD_LIST /* of items that are one of `forms` */,
    DT_FIELD_MAP /* of any keys, whose values are */,
    DT_FIELD_NAMED /* a thing of a job file: its name, or a mapping of its name to its arguments */
} dt_field_kind;

typedef struct dt_ints {
    int n;
    int64_t *v;
    bool lone; /* a single number, where the field takes one for a list */
} dt_ints;
/* A list of numbers. It may be written as a single number. */
typedef struct dt_reals {
    int n;
    double *v;
    bool alone; /* written as one number */
    dt_location at;
} dt_reals;
typedef struct dt_texts {
    int n;
    const char **v;
} dt_texts;

typedef struct dt_field {
    dt_field_kind kind;
    const char *name;
    size_t offset;
    const char *help;
    bool required;
    bool above_min, below_max; /* the limits themselves are excluded */
    /* INT, REAL, elements of INTS and REALS; characters of TEXT and elements of TEXTS. Both 0:
     * no limit. max alone: min is set too; .max = INFINITY (or above_min): only min is, and may
     * be 0 */
    double min, max;
    bool lone; /* INTS: a number in place of a list is accepted */
    bool some; /* REALS; INTS that are axes: an empty list is refused */
    /* the default, written as in a job file; NULL: zero / NULL / empty / first choice */
    const char *preset;
    const char *const *choices; /* ENUM: names, NULL-terminated; the value is the index */
    /* ENUM: what they are, for "unknown strategy 'x'"; NULL: the field's name */
    const char *noun;
    /* TABLE: the fields of the struct. If the key is left out, its required fields are not reported
     * as missing. noun: its name in messages, NULL: the field's name */
    const struct dt_field *table;
    dt_tree_kind as;   /* TREE, ONE_OF: the kind it must have; DT_TREE_NULL: any */
    const char *means; /* as MAP: the key that a lone text probably belongs to: "type" */
    /* the key is refused with this explanation: "write 'units'"; with a preset, that value alone
     * is taken */
    const char *instead;
    int set; /* 1 + offset of a `bool` that is set when the key is given; 0: none */
    /* 1 + offset of a `dt_location`: of the value, or of the mapping where the key is not given;
     * 0: none */
    int at;
    bool narrow; /* for INT: the member is an `int` */
    /*
     * A table of fields without names, one for each form that a value may have.
     *   ONE_OF     a value that is a word of a form is read by that form, others by the first form
     *              whose type fits. Offsets of forms count from the field's offset.
     *   TREE       for lists of keys and for the schema only, since code reads the value. An empty
     *              table: the key can only be left out. NULL: any value.
     *   LIST, MAP  the forms of an item
     *   TABLE      the forms of keys that the table lacks
     */
    const struct dt_field *forms;
    bool otherwise; /* a form: reads, and refuses, values that fit no form; default: the first */
    /* ONE_OF: names the expected values for the message if a value fits no form; NULL: the form's
     * own message is used */
    const char *expected;
    /* MAP of forms: its keys are names that users give; an entry that is null is ignored */
    bool by_name;
    const char *pattern; /* TEXT of forms: a regular expression of JSON Schema that it matches */
} dt_field;

/* DT_KEY: a key whose name differs from its member's. */
#define DT_KEY(kind_, key_, type_, member_, ...)                                                   \
    {                                                                                              \
        .kind = DT_FIELD_##kind_, .name = (key_), .offset = offsetof(type_, member_),              \
        .narrow = sizeof(((type_ *)0)->member_) == sizeof(int), __VA_ARGS__                        \
    }
#define DT_FIELD(kind, type, member, ...) DT_KEY(kind, #member, type, member, __VA_ARGS__)
/* A field without further members: DT_PLAIN(TEXT, struct model, name). */
#define DT_PLAIN(kind, type, member) DT_FIELD(kind, type, member, )
#define DT_INT(type, member, ...) DT_FIELD(INT, type, member, __VA_ARGS__)
#define DT_REAL(type, member, ...) DT_FIELD(REAL, type, member, __VA_ARGS__)
#define DT_FLAG(type, member, ...) DT_FIELD(BOOL, type, member, __VA_ARGS__)
#define DT_TEXT(type, member, ...) DT_FIELD(TEXT, type, member, __VA_ARGS__)
/* The first of `...` is the list of names. */
#define DT_ENUM(type, member, ...) DT_FIELD(ENUM, type, member, .choices = __VA_ARGS__)
#define DT_INTS(type, member, ...) DT_FIELD(INTS, type, member, __VA_ARGS__)
#define DT_REALS(type, member, ...) DT_FIELD(REALS, type, member, __VA_ARGS__)
#define DT_TEXTS(type, member, ...) DT_FIELD(TEXTS, type, member, __VA_ARGS__)
#define DT_TREE(type, member, ...) DT_FIELD(TREE, type, member, __VA_ARGS__)
/* The first of `...` is the table. */
#define DT_TABLE(type, member, ...) DT_FIELD(TABLE, type, member, .table = __VA_ARGS__)
#define DT_SECONDS(type, member) DT_FIELD(SECONDS, type, member, .pattern = "^[0-9.eE+-]+[smh]$")
/* DT_ONE_OF(shuffle, DT_FORMS(DT_FLAG(...), DT_TABLE(...)), .help = "...") */
#define DT_ONE_OF(key_, ...)                                                                       \
    { .kind = DT_FIELD_ONE_OF, .name = #key_, .forms = __VA_ARGS__ }
#define DT_AT(type, member) .at = 1 + offsetof(type, member)
#define DT_SET(type, member) .set = 1 + offsetof(type, member)
#define DT_INSTEAD(key_, instead_)                                                                 \
    { .kind = DT_FIELD_INSTEAD, .name = (key_), .instead = (instead_) }
/* A key of which only the default is accepted: `stateful: false`. */
#define DT_ONLY(key_, value_)                                                                      \
    {                                                                                              \
        .kind = DT_FIELD_INSTEAD, .name = (key_), .preset = (value_),                              \
        .instead = "only " value_ ", the default, is implemented"                                  \
    }
/* An argument of Keras that dtrain does not have yet. It is in the table so that the message can be
 * more helpful than "unknown key"; null is accepted. */
#define DT_NOT_YET(key_)                                                                           \
    { .kind = DT_FIELD_INSTEAD, .name = (key_), .preset = "null", .instead = "not implemented yet" }
/* DT_NOT_YET for a key of which only the default is accepted. */
#define DT_NOT_YET_BUT(key_, value_)                                                               \
    {                                                                                              \
        .kind = DT_FIELD_INSTEAD, .name = (key_), .preset = (value_),                              \
        .instead = "not implemented yet"                                                           \
    }
#define DT_END                                                                                     \
    { .kind = DT_FIELD_END }
/* Forms: DT_FORM(DT_FIELD_INT, .min = 1), DT_WORDS(choices), DT_FORM(DT_FIELD_TABLE, .table =
 * fields), DT_NAMED("layer"), by its sort. */
#define DT_FORM(...)                                                                               \
    { .name = "", .kind = __VA_ARGS__ }
#define DT_WORDS(...)                                                                              \
    { .name = "", .kind = DT_FIELD_WORDS, .choices = __VA_ARGS__ }
#define DT_NAMED(noun_) DT_FORM(DT_FIELD_NAMED, .noun = (noun_))
#define DT_LIST_OF(...) DT_FORM(DT_FIELD_LIST, .forms = DT_FORMS(__VA_ARGS__))
#define DT_MAP_OF(...) DT_FORM(DT_FIELD_MAP, .forms = DT_FORMS(__VA_ARGS__))
/* A mapping whose keys are names that users give. */
#define DT_MAP_BY_NAME(...) DT_FORM(DT_FIELD_MAP, .by_name = true, .forms = DT_FORMS(__VA_ARGS__))
#define DT_ANY DT_FORM(DT_FIELD_TREE)
#define DT_NOTHING                                                                                 \
    DT_FORM(DT_FIELD_TREE,                                                                         \
            .forms = dt_no_forms) /* accepts no value: the key can only be left out */
extern const dt_field dt_no_forms[];
/* clang-format off */
#define DT_FORMS(...) ((const dt_field[]){__VA_ARGS__, DT_END})
/* clang-format on */

/* The field of a table whose struct is at offset `base` of another one. */
dt_field dt_field_moved(const dt_field *f, size_t base);

/* Fills `out` (defaults first) from a map; t NULL or null: defaults only (required fields are then
 * reported at `at`). `what` names the mapping in messages ("model", "Dense"); NULL at the top.
 * Arrays and strings go into the arena. All faults are returned: UNKNOWN_KEY, placed at the key;
 * MISSING_KEY, placed at the mapping, unless an unknown key is near to the missing one; WRONG_TYPE,
 * RANGE, AMBIGUOUS and UNKNOWN_NAME, placed at the value. */
dt_status *dt_fields_read(dt_arena *arena, const dt_field *fields, const dt_tree *t,
                          const dt_location *at, const char *what, void *out) DT_MUST_USE;

/* Single values that tables cannot describe. `what` is the key's name in messages. */
dt_status *dt_tree_int(const dt_tree *t, const char *what, double min, double max,
                       int64_t *out) DT_MUST_USE;
dt_status *dt_tree_real(const dt_tree *t, const char *what, double *out) DT_MUST_USE;
dt_status *dt_tree_bool(const dt_tree *t, const char *what, bool *out) DT_MUST_USE;
dt_status *dt_tree_text(const dt_tree *t, const char *what, const char **out) DT_MUST_USE;
/* "fit: expected a mapping, got a list" when the kind differs; `what` may be NULL. */
dt_status *dt_tree_expect(const dt_tree *t, dt_tree_kind kind, const char *what) DT_MUST_USE;
const char *dt_tree_kind_name(dt_tree_kind kind); /* "a mapping" */

/* ---- kinds: things a job file can name ---- */

/* The head of every row that a job file can name: layers, optimizers, losses, formats, strategies,
 * back ends. */
typedef struct dt_kind {
    const char *name;           /* "Dense": Keras' class name or the job file's word */
    const char *about;          /* one line for help and the reference pages */
    const dt_field *fields;     /* its arguments; NULL: none */
    size_t size;                /* bytes of the struct that the fields fill */
    const char *const *aliases; /* Keras' lower-case identifiers, NULL-terminated; may be NULL */
} dt_kind;

/* A kind as written: a bare name (`Flatten`, `adam`) or a one-key mapping (`{Adam: {learning_rate:
 * 0.001}}`). */
typedef struct dt_named {
    const dt_kind *kind; /* lent */
    int row;             /* its index in the table */
    bool alias;          /* written with a lower-case identifier */
    const char *written; /* the name as the user wrote it */
    void *args;          /* its struct, filled, in the arena */
    dt_location at;      /* source location of the name */
    const dt_tree *tree; /* tree of the arguments; NULL: none given */
} dt_named;

/* Reads one. `noun` is its kind ("layer"); an unknown name lists or suggests the known ones.
 * rows[n] point to structs that begin with a dt_kind. */
dt_status *dt_named_read(dt_arena *arena, const dt_kind *const *rows, int n, const char *noun,
                         const dt_tree *t, dt_named *out) DT_MUST_USE;

#endif
