/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the arguments of a layer, loss, optimizer and so on as JSON, under Keras' names. The field
 * table that reads them from jobs determines how. An argument without a default whose field notes
 * whether it was given is null if it was not.
 */
#include "model/model.h"

static const void *member(const dt_field *f, const void *args) {
    return (const char *)args + f->offset;
}

static bool is_unset(const dt_field *f, const void *args) {
    return f->set && !f->preset && !*(const bool *)((const char *)args + f->set - 1);
}

static void print_ints(dt_json *j, const char *key, const dt_ints *list) {
    dt_json_ints(j, key, list->v, list->n);
}

static void print_reals(dt_json *j, const char *key, const dt_reals *list) {
    if (list->alone) {
        dt_json_double(j, key, list->v[0]);
        return;
    }
    dt_json_doubles(j, key, list->v, list->n);
}

void dt_config_field(const dt_field *f, const void *args, dt_json *j) {
    const void *p = member(f, args);
    if (is_unset(f, args)) {
        dt_json_null(j, f->name);
        return;
    }
    switch (f->kind) {
    case DT_FIELD_INT:
        dt_json_int(j, f->name, f->narrow ? *(const int *)p : *(const int64_t *)p);
        break;
    case DT_FIELD_REAL: dt_json_double(j, f->name, *(const double *)p); break;
    case DT_FIELD_BOOL: dt_json_bool(j, f->name, *(const bool *)p); break;
    case DT_FIELD_TEXT: dt_json_string(j, f->name, *(const char *const *)p); break;
    case DT_FIELD_ENUM: dt_json_string(j, f->name, f->choices[*(const int *)p]); break;
    case DT_FIELD_INTS: print_ints(j, f->name, p); break;
    case DT_FIELD_REALS: print_reals(j, f->name, p); break;
    default: break; /* values of other kinds are not printed here */
    }
}

void dt_config_fields(const dt_named *named, dt_json *j) {
    for (const dt_field *f = named->kind->fields; f && f->kind != DT_FIELD_END; f++)
        dt_config_field(f, named->args, j);
}

void dt_config_print(const dt_named *named, dt_json *j, const char *key) {
    dt_json_open(j, key, '{');
    dt_config_fields(named, j);
    dt_json_close(j, '}');
}
