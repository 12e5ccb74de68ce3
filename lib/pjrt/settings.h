/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's settings for a plug-in, besides its path: options for its client, by the plug-in's own
 * names, how float32 products are computed, and the folder of compiled programs. Plug-ins differ in
 * the options that they take: GPU plug-ins refuse unknown names and values of another kind. XLA on
 * the CPU ignores all options.
 */
#ifndef DT_PJRT_SETTINGS_H
#define DT_PJRT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* The kinds of values that options have, with PJRT's numbers for them. */
typedef enum dt_pjrt_kind {
    DT_PJRT_STRING,
    DT_PJRT_INT64,
    DT_PJRT_INT64_LIST,
    DT_PJRT_FLOAT,
    DT_PJRT_BOOL
} dt_pjrt_kind;

typedef struct dt_pjrt_setting {
    const char *name; /* name of the option, such as "memory_fraction" */
    dt_pjrt_kind kind;
    /* the option's value: of the kind STRING `text`, INT64 `whole`, INT64_LIST `list`, FLOAT
     * `number`, BOOL `flag` */
    union {
        const char *text;
        int64_t whole;
        const int64_t *list;
        double number;
        bool flag;
    } value;
    int n; /* number of elements, if the value is a list */
} dt_pjrt_setting;

/* How products and convolutions of float32 are computed: with all digits, or with operands rounded
 * to the 10 bits of TensorFloat-32, which GPUs multiply several times faster. */
typedef enum dt_pjrt_products { DT_PJRT_FLOAT32, DT_PJRT_TENSORFLOAT32 } dt_pjrt_products;

typedef struct dt_pjrt_settings {
    int n;
    const dt_pjrt_setting *at; /* [n] the options, each name once */
    dt_pjrt_products products;
    const char *cache;      /* folder of compiled programs; NULL: the environment may name one */
    struct dt_arena *arena; /* arena of these settings, if they are a copy; NULL otherwise */
} dt_pjrt_settings;

/* Returns a copy that owns its texts and lists, for dt_pjrt_settings_destroy; NULL if s is NULL. */
dt_pjrt_settings *dt_pjrt_settings_copy(const dt_pjrt_settings *s);
void dt_pjrt_settings_destroy(dt_pjrt_settings *s); /* only for copies; s may be NULL */
/* Returns the setting of that name, or NULL. s may be NULL. */
const dt_pjrt_setting *dt_pjrt_settings_find(const dt_pjrt_settings *s, const char *name);
/* Whether GPU plug-ins have an option of this name; if so, sets *out to the kind of its value. */
bool dt_pjrt_kind_of(const char *name, dt_pjrt_kind *out);

#endif
