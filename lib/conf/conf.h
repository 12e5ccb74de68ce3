/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job files. libyaml's events become a tree whose nodes remember line and column; the schema, not
 * YAML, determines the types of scalars: the type of the field decides what `off`, `1e-4` or `010`
 * mean, or that they are refused. Reading continues after most faults, so that one run reports up
 * to DT_MAX_ERRORS of them; a syntax error or an exceeded limit ends it.
 *
 * A merge key (`<<: *base`, `<<: [*first, *second]`) adds the entries of the mappings that it
 * names; if keys are equal, the mapping's own entry is used, or else that of the first of these
 * mappings.
 *
 * Among others, these are refused while reading: more than 1 MiB, 64 levels or 10,000 nodes
 * (including copies made by aliases), duplicate keys, a second document, tags, keys that are lists,
 * mappings or nothing, control characters other than tabs and ends of lines, invalid UTF-8.
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

/* A node of a tree. It belongs to the arena that it was read into. Strings are NUL-terminated
 * UTF-8. */
struct dt_tree {
    dt_tree_kind kind;
    /* source location of the value; a mapping that an override made of null has that of a part of
     * the override's path */
    dt_location at;
    bool quoted;      /* whether a scalar is quoted or a block, so that it is always a string */
    const char *text; /* text of a scalar, with escapes resolved */
    /* For a scalar: the text that is printed instead of `text`; NULL: `text` is printed. */
    const char *recorded;
    bool is_default; /* dt_fields_read found that the value is the default of its key */
    int n;           /* number of items of a list or entries of a map */
    dt_tree **item;  /* [n] the items of a list */
    /* [n] the entries of a map, in the order of the file; those merged by `<<` come first */
    dt_entry *entry;
};

/* Parses `source`, which must outlive the tree, like the arena. The root may be a scalar, a list or
 * a map; without a root, or if it is null, fails with EMPTY_JOB. All errors are returned, but an
 * exceeded limit is returned alone. *out is NULL after an error that ends the reading, such as a
 * syntax error or an exceeded limit, and if something had to be left out (a key other than a
 * string, an alias without an anchor, a '<<' without mappings). After the others (a duplicate key,
 * of which the first entry is kept; a tag) it is the tree, so that the caller can read it and
 * report further errors in the same run:
 *
 *     dt_status *faults = dt_tree_read(arena, path, &source, &tree);
 *     if (tree)
 *         dt_status_append(&faults, dt_fields_read(arena, fields, tree, NULL, NULL, &job));
 *     return faults; */
dt_status *dt_tree_parse(dt_arena *arena, const dt_source *source, dt_tree **out) DT_MUST_USE;
/* Parses a part of a job that a program passes as text, like dt_tree_parse. Fails with MISUSE if
 * the text is empty or null. */
dt_status *dt_fragment_parse(dt_arena *arena, const dt_source *source, dt_tree **out) DT_MUST_USE;
/* Reads a file ("-": standard input) and parses it. The root must be a mapping. *source is in the
 * arena. Fails with NO_INPUT if the file does not exist. */
dt_status *dt_tree_read(dt_arena *arena, const char *path, const dt_source **source,
                        dt_tree **out) DT_MUST_USE;
/* Returns the value of a key. Returns NULL if the key is missing, or if t is NULL or not a map. */
dt_tree *dt_tree_get(const dt_tree *t, const char *key);
/* Returns t, or NULL if t is null: a key without a value is treated like a missing key. */
static inline const dt_tree *dt_given(const dt_tree *t) {
    return t && t->kind != DT_TREE_NULL ? t : NULL;
}
/* Returns the location of a key in a mapping or, if the key is missing, that of the mapping. */
const dt_location *dt_tree_key_at(const dt_tree *map, const char *key);
/* Returns the location of a key's value or, if the key is missing, that of the mapping. */
const dt_location *dt_tree_value_at(const dt_tree *map, const char *key);
/* Copies t and its nodes. The copy shares the strings and the source with t. */
dt_tree *dt_tree_copy(dt_arena *arena, const dt_tree *t);
/* Copies a mapping without the keys whose value is null. Returns t itself if it has no such keys or
 * is not a mapping. */
const dt_tree *dt_tree_without_nulls(dt_arena *arena, const dt_tree *t);
/* Sets `a.b.c` to the value parsed from `value` (YAML flow syntax); missing maps on the path are
 * created. List items are addressed by index, from 0 ("model.layers.1.Dense.units=64"). A bare name
 * becomes a mapping if the path continues with its arguments (`optimizer: Adam` and
 * "compile.optimizer.Adam.learning_rate=0.01"). "seed=" sets null, the default. Errors are located
 * in "override N". */
dt_status *dt_tree_override(dt_arena *arena, dt_tree *root, int number,
                            const char *assignment) DT_MUST_USE;
/* Prints the tree as canonical JSON text, for hashes of jobs: keys in byte order, types of unquoted
 * scalars as they look, numbers in one spelling, quoted scalars as strings. */
void dt_tree_print(const dt_tree *t, dt_str *out);
/* Whether both trees have the same canonical text. */
bool dt_tree_same(const dt_tree *a, const dt_tree *b);

/* ---- field tables and single values ---- */

/*
 * A table of fields describes a struct. Reading fills the struct and reports every unknown key,
 * wrong type and value out of range. Integers are [+-]?[0-9]+ without leading zeros, or an exact
 * number such as 1e3. Reals are finite. Booleans are true and false only. Any scalar can be read as
 * a string; a quoted scalar is never a number or a boolean. null (`null`, `~`, or no value) means
 * the default; for a required key it is an error.
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
    DT_FIELD_INT,   /* the member is an int64_t unless `narrow` or `lone` is set */
    DT_FIELD_REAL,  /* the member is a double */
    DT_FIELD_BOOL,  /* the member is a bool */
    DT_FIELD_TEXT,  /* the member is a const char * unless `lone` is set */
    DT_FIELD_ENUM,  /* the member is an int, the index of the choice */
    DT_FIELD_INTS,  /* the member is a dt_ints */
    DT_FIELD_REALS, /* the member is a dt_reals */
    DT_FIELD_TEXTS, /* the member is a dt_texts */
    DT_FIELD_TREE,  /* the member is a const dt_tree *, whose value C code reads */
    DT_FIELD_TABLE, /* the member is a struct, which has its own table */
    /* the member is a double in seconds; a job writes a time such as 30s, 10m or 2h */
    DT_FIELD_SECONDS,
    DT_FIELD_ONE_OF, /* the value has one of `forms`, which write to their own members */
    /* the field has no member: it is a key that users try, and `instead` explains it */
    DT_FIELD_INSTEAD,
    /* The following kinds occur only in `forms`. */
    /* the value is one of `choices`; members of the other forms keep their defaults */
    DT_FIELD_WORDS,
    /* the member is a dt_items; the value is a list of items, each of which has one of `forms` */
    DT_FIELD_LIST,
    /* the member is a dt_items; the value is a mapping with any keys to such items */
    DT_FIELD_MAP,
    /* the member is a dt_named: a kind (dt_kind) that a job gives by its name alone, or by a
     * mapping of the name to its arguments */
    DT_FIELD_NAMED
} dt_field_kind;

typedef struct dt_ints {
    int n;
    int64_t *v;
    bool lone; /* whether it was written as a single number, not a list */
} dt_ints;
/* A list of numbers. It may be written as a single number. */
typedef struct dt_reals {
    int n;
    double *v;
    bool alone; /* whether it was written as a single number, not a list */
    dt_location at;
} dt_reals;
/* Texts; those that have faults are left out. */
typedef struct dt_texts {
    int n;
    const char **v;
    /* [n] where each text of v is written; NULL: there are none, or they were not read by a table
     * of fields */
    const dt_location *at;
} dt_texts;
/* The items of a list, or the values of a mapping, without those that have faults. */
typedef struct dt_items {
    int n;
    void *v; /* [n] structs of the field's `size` */
    /* [n] each as written, with its key (a list has none); NULL: there is no such list or
     * mapping */
    dt_entry *entry;
} dt_items;
struct dt_named;

typedef struct dt_field {
    dt_field_kind kind;
    const char *name;
    size_t offset;
    const char *help;
    bool required;
    bool above_min, below_max; /* whether the limits themselves are refused as values */
    /* Limits of the values of INT and REAL and of elements of INTS and REALS; for TEXT and elements
     * of TEXTS, of the number of characters. If both are 0, there is no limit. If only max is
     * given, min is 0. With .max = INFINITY, or with above_min and no max, there is only a minimum,
     * which may be 0. */
    double min, max;
    /* For INTS: whether a single number is accepted instead of a list. For a TEXT among forms: the
     * member is a dt_texts, which becomes a list of that one text. For an INT among forms: the
     * member is a const char *, which becomes the number as written. */
    bool lone;
    bool some; /* for REALS, and INTS that are axes: whether an empty list is refused */
    /* The default as a job file would write it. NULL: zero, NULL, an empty list, the first choice,
     * or what the fields of `table` or `forms` have. For INSTEAD: the value that is accepted. */
    const char *preset;
    /* for ENUM and WORDS: the names, of which a NULL ends the list; the member of an ENUM becomes
     * the index of the name */
    const char *const *choices;
    /* For ENUM: the noun in messages such as "unknown strategy 'x'"; NULL: the name of the field.
     * For NAMED: the word for the things that can be named, such as "layer", in lists of keys and
     * in the schema.
     * For lists, and for MAP: the name of an item in messages; NULL: "name[i]" in lists of numbers
     * and texts, the item's key in a mapping by name, otherwise the name of the field. */
    const char *noun;
    /* For TABLE: the fields of the struct. If the key is left out, its required fields are not
     * reported as missing. `noun` is the table's name in messages; NULL: the name of the field. */
    const struct dt_field *table;
    /* for TREE and ONE_OF: the kind that the value must have; DT_TREE_NULL: any kind */
    dt_tree_kind as;
    /* For a TREE that must be a map: the key to which a single text in its place probably belongs,
     * such as "type". */
    const char *means;
    /* The key is refused with this explanation, such as "write 'units'". If the field has a preset,
     * that value and null are accepted, and the error for another value says that the key is not
     * implemented. */
    const char *instead;
    /* 1 + offset of a `bool` that is set to whether the key is given and not null, or of a form,
     * whether the value has it; 0: no such member */
    int set;
    /* 1 + offset of a `dt_location` that becomes the location of the value or, if the key is
     * missing or null, of the mapping; 0: no such member. */
    int at;
    bool narrow; /* for INT: whether the member is an `int` */
    /*
     * A table of fields without names, one for each form that a value may have.
     *   ONE_OF     a value that is a word of a form is read by that form, others by the first form
     *              whose type fits. Offsets of forms count from the field's offset.
     *   TREE       for lists of keys and for the schema only, since code reads the value: its form
     *              depends on other keys (a loss for each output, files by the format), or it has a
     *              grammar or messages of its own (a Repeat's variables). scripts/check-size counts
     *              most of these fields. An empty table: the key can only be left out. NULL: any
     *              value.
     *   LIST, MAP  the forms of an item; their offsets count from the item's struct, whose size is
     *              `size`
     *   TABLE      the forms of keys that the table lacks
     */
    const struct dt_field *forms;
    /* Of a form: whether it refuses the values whose kind (scalar, list, mapping) no form takes,
     * with its own message. If no form is marked so, the first one other than a list of words does
     * that. */
    bool otherwise;
    size_t size; /* for LIST and MAP: bytes of an item's struct */
    /* For NAMED: reads the kind and its arguments. */
    dt_status *(*read)(dt_arena *arena, const dt_tree *t, struct dt_named *out);
    /* For ONE_OF: the expected values, named in the message if a value fits no form. NULL: the
     * message of a form is used. */
    const char *expected;
    /* For ONE_OF, instead of `expected`: returns the error for a value that fits no form. */
    dt_status *(*refuse)(const dt_tree *t);
    /* For a MAP among forms: whether its keys are names that users choose. An entry that is null is
     * then ignored. */
    bool by_name;
    /* For a TEXT among forms, and for SECONDS: a regular expression for the text in the JSON Schema
     * of jobs. Reading does not check it. */
    const char *pattern;
} dt_field;

/* DT_KEY: a field whose key differs from the name of its member. */
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
/* DT_ENUM(type, member, choices, ...): the third argument is the list of names. */
#define DT_ENUM(type, member, ...) DT_FIELD(ENUM, type, member, .choices = __VA_ARGS__)
#define DT_INTS(type, member, ...) DT_FIELD(INTS, type, member, __VA_ARGS__)
#define DT_REALS(type, member, ...) DT_FIELD(REALS, type, member, __VA_ARGS__)
#define DT_TEXTS(type, member, ...) DT_FIELD(TEXTS, type, member, __VA_ARGS__)
#define DT_TREE(type, member, ...) DT_FIELD(TREE, type, member, __VA_ARGS__)
/* DT_TABLE(type, member, table, ...): the third argument is the table. */
#define DT_TABLE(type, member, ...) DT_FIELD(TABLE, type, member, .table = __VA_ARGS__)
#define DT_SECONDS(type, member) DT_FIELD(SECONDS, type, member, .pattern = "^[0-9.eE+-]+[smh]$")
/* A key with several forms: DT_ONE_OF(shuffle, DT_FORMS(DT_FLAG(...), DT_TABLE(...)), .help =
 * "..."). */
#define DT_ONE_OF(key_, ...)                                                                       \
    { .kind = DT_FIELD_ONE_OF, .name = #key_, .forms = __VA_ARGS__ }
#define DT_AT(type, member) .at = 1 + offsetof(type, member)
#define DT_SET(type, member) .set = 1 + offsetof(type, member)
#define DT_INSTEAD(key_, instead_)                                                                 \
    { .kind = DT_FIELD_INSTEAD, .name = (key_), .instead = (instead_) }
/* A key for which only the default is accepted, such as `stateful: false`. */
#define DT_ONLY(key_, value_)                                                                      \
    {                                                                                              \
        .kind = DT_FIELD_INSTEAD, .name = (key_), .preset = (value_),                              \
        .instead = "only " value_ ", the default, is implemented"                                  \
    }
/* A key of Keras that dtrain does not support yet. It is in the table so that the message is more
 * helpful than "unknown key". null is accepted. */
#define DT_NOT_YET(key_)                                                                           \
    { .kind = DT_FIELD_INSTEAD, .name = (key_), .preset = "null", .instead = "not implemented yet" }
/* A key of Keras that dtrain does not support yet, for which only the default is accepted. */
#define DT_NOT_YET_BUT(key_, value_)                                                               \
    {                                                                                              \
        .kind = DT_FIELD_INSTEAD, .name = (key_), .preset = (value_),                              \
        .instead = "not implemented yet"                                                           \
    }
#define DT_END                                                                                     \
    { .kind = DT_FIELD_END }
/* Forms of a value: DT_FORM(DT_FIELD_INT, .min = 1), DT_WORDS(choices), DT_FORM(DT_FIELD_TABLE,
 * .table = fields), and DT_NAMED("layer") for a layer by its name (dt_kind). No function reads a
 * DT_NAMED, so it may only occur in the forms of a TREE. */
#define DT_FORM(...)                                                                               \
    { .name = "", .kind = __VA_ARGS__ }
#define DT_WORDS(...)                                                                              \
    { .name = "", .kind = DT_FIELD_WORDS, .choices = __VA_ARGS__ }
#define DT_NAMED(noun_) DT_FORM(DT_FIELD_NAMED, .noun = (noun_))
/* A thing that a job names (dt_kind), and the function that reads its name and arguments into a
 * dt_named: DT_NAMED_BY("schedule", dt_rate_read). */
#define DT_NAMED_BY(noun_, read_) DT_FORM(DT_FIELD_NAMED, .noun = (noun_), .read = (read_))
/* A list of structs: DT_LIST_AS(struct rule, DT_FORM(DT_FIELD_TABLE, .table = rule_fields)). */
#define DT_LIST_AS(type, ...)                                                                      \
    DT_FORM(DT_FIELD_LIST, .size = sizeof(type), .forms = DT_FORMS(__VA_ARGS__))
#define DT_MAP_AS(type, ...)                                                                       \
    DT_FORM(DT_FIELD_MAP, .size = sizeof(type), .forms = DT_FORMS(__VA_ARGS__))
#define DT_LIST_OF(...) DT_FORM(DT_FIELD_LIST, .forms = DT_FORMS(__VA_ARGS__))
#define DT_MAP_OF(...) DT_FORM(DT_FIELD_MAP, .forms = DT_FORMS(__VA_ARGS__))
/* The form of a mapping whose keys are names that users choose. */
#define DT_MAP_BY_NAME(...) DT_FORM(DT_FIELD_MAP, .by_name = true, .forms = DT_FORMS(__VA_ARGS__))
#define DT_ANY DT_FORM(DT_FIELD_TREE)
/* The form that accepts no value, so that the key must be left out. */
#define DT_NOTHING DT_FORM(DT_FIELD_TREE, .forms = dt_no_forms)
extern const dt_field dt_no_forms[];
/* clang-format off */
#define DT_FORMS(...) ((const dt_field[]){__VA_ARGS__, DT_END})
/* clang-format on */

struct dt_kind;
/* Returns a table, in the arena, that has the fields of `table` (NULL: none) and those of the kind
 * `more`, except keys that `table` has. The struct that `table` fills has *size bytes; that of the
 * kind begins behind it, and its size, rounded up, is added. all: whether keys that the kind
 * requires stay required. */
const dt_field *dt_fields_join(dt_arena *arena, const dt_field *table, const struct dt_kind *more,
                               bool all, size_t *size);

/* Fills `out` with defaults and then from a map. If t is NULL or null, there are only defaults, and
 * required fields are reported at `at`, which may be NULL. `what` is the name of the mapping in
 * messages ("model", "Dense"); NULL: it is the whole job. Arrays are put into the arena; strings
 * are those of t and of the table. All errors are returned together, among them UNKNOWN_KEY, placed
 * at the key; MISSING_KEY, placed at the mapping, unless an unknown key is near to the missing one;
 * WRONG_TYPE, RANGE, AMBIGUOUS and UNKNOWN_NAME, placed at the value or a name in it. */
dt_status *dt_fields_read(dt_arena *arena, const dt_field *fields, const dt_tree *t,
                          const dt_location *at, const char *what, void *out) DT_MUST_USE;

/* Read single values that tables of fields cannot describe. what: the key's name in messages. min,
 * max: the limits, both included; max 0: no upper limit; both 0: no limits. After an error
 * (WRONG_TYPE, also for t NULL; RANGE; AMBIGUOUS), *out is unchanged. */
dt_status *dt_tree_int(const dt_tree *t, const char *what, double min, double max,
                       int64_t *out) DT_MUST_USE;
dt_status *dt_tree_real(const dt_tree *t, const char *what, double *out) DT_MUST_USE;
dt_status *dt_tree_bool(const dt_tree *t, const char *what, bool *out) DT_MUST_USE;
dt_status *dt_tree_text(const dt_tree *t, const char *what, const char **out) DT_MUST_USE;
/* Fails with WRONG_TYPE unless t is of that kind: "fit: expected a mapping, got a list". t NULL
 * fails, too. `what` may be NULL. */
dt_status *dt_tree_expect(const dt_tree *t, dt_tree_kind kind, const char *what) DT_MUST_USE;
/* Returns the kind in words, such as "a mapping". */
const char *dt_tree_kind_name(dt_tree_kind kind);

/* ---- kinds: things that a job file can name ---- */

/* A kind: a thing that a job file names, such as a layer, an optimizer, a loss, a format, a
 * strategy or a back end. The structs that describe these things begin with a dt_kind. */
typedef struct dt_kind {
    /* the kind's name: Keras' class name, such as "Dense", or the job file's word */
    const char *name;
    const char *about;      /* one line for help and the reference pages */
    const dt_field *fields; /* the fields of the kind's arguments; NULL: it has no arguments */
    size_t size;            /* number of bytes of the struct that the fields fill */
    /* other names of the kind, mostly Keras' lower-case identifiers, of which a NULL ends the list;
     * may be NULL */
    const char *const *aliases;
} dt_kind;

/* A kind as a job file writes it: a bare name (`Flatten`, `adam`) or a mapping with one key
 * (`{Adam: {learning_rate: 0.001}}`). */
typedef struct dt_named {
    const dt_kind *kind; /* the kind, lent */
    int row;             /* index of the kind in its table */
    bool alias;          /* whether the job used one of the aliases */
    const char *written; /* the name as the user wrote it */
    /* the struct of the kind's arguments, filled, in the arena; NULL: the kind has no such struct,
     * or only its name was read */
    void *args;
    dt_location at;      /* source location of the name */
    const dt_tree *tree; /* the tree of the arguments; NULL: the job gives no arguments */
} dt_named;

/* Reads a kind. noun: what messages call it ("layer"). The error for an unknown name suggests or
 * lists the known ones. rows[n] point to structs that begin with a dt_kind. */
dt_status *dt_named_read(dt_arena *arena, const dt_kind *const *rows, int n, const char *noun,
                         const dt_tree *t, dt_named *out) DT_MUST_USE;
/* Reads only the name of a kind, whose arguments are keys beside it. */
dt_status *dt_named_read_name(dt_arena *arena, const dt_kind *const *rows, int n, const char *noun,
                              const dt_tree *t, dt_named *out) DT_MUST_USE;

#endif
