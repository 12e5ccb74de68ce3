/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values and mappings of the schema of job files; see keys.h. A kind of field is a case of
 * put_value; the forms of a TREE are in its table.
 */
#include <math.h>
#include <string.h>

#include "job/keys.h"

#define WORD "\\{[A-Za-z_][A-Za-z0-9_]*\\}"

static void put_value(dt_json *j, const dt_field *f, bool null);

void dt_schema_type(dt_json *j, const char *type, bool words, bool null) {
    if (words || null) dt_json_open(j, "type", '[');
    dt_json_string(j, words || null ? NULL : "type", type);
    if (words) dt_json_string(j, NULL, "string");
    if (null) dt_json_string(j, NULL, "null");
    if (words || null) dt_json_close(j, ']');
    if (words) dt_json_string(j, "pattern", WORD);
}

static void put_number(dt_json *j, const char *key, double x) {
    if (fabs(x) < 0x1p62 && x == floor(x)) dt_json_int(j, key, (int64_t)x);
    else dt_json_double(j, key, x);
}

/* Writes the limits of a number. Integers have 64 bits. */
static void put_limits(dt_json *j, const dt_field *f) {
    bool integer = f->kind == DT_FIELD_INT || f->kind == DT_FIELD_INTS;
    if (dt_field_has_min(f)) put_number(j, f->above_min ? "exclusiveMinimum" : "minimum", f->min);
    else if (integer) dt_json_int(j, "minimum", INT64_MIN);
    if (dt_field_has_max(f)) put_number(j, f->below_max ? "exclusiveMaximum" : "maximum", f->max);
    else if (integer) dt_json_int(j, "maximum", INT64_MAX);
}

static void put_numbers(dt_json *j, const dt_field *f, const char *type, bool lone, bool null) {
    dt_json_open(j, "type", '[');
    dt_json_string(j, NULL, "array");
    if (lone) dt_json_string(j, NULL, type);
    dt_json_string(j, NULL, "string");
    if (null) dt_json_string(j, NULL, "null");
    dt_json_close(j, ']');
    dt_json_string(j, "pattern", WORD);
    if (lone) put_limits(j, f);
    if (f->some) dt_json_int(j, "minItems", 1);
    dt_json_open(j, "items", '{');
    dt_schema_type(j, type, true, false);
    put_limits(j, f);
    dt_json_close(j, '}');
}

/* Writes the type of a text, as which numbers and booleans are read, too. */
static void put_text(dt_json *j, const dt_field *f, bool null) {
    dt_json_open(j, "type", '[');
    dt_json_string(j, NULL, "string");
    dt_json_string(j, NULL, "number");
    dt_json_string(j, NULL, "boolean");
    if (null) dt_json_string(j, NULL, "null");
    dt_json_close(j, ']');
    if (dt_field_has_min(f) && f->min > 0) put_number(j, "minLength", f->min);
    if (dt_field_has_max(f)) put_number(j, "maxLength", f->max);
    if (f->pattern) dt_json_string(j, "pattern", f->pattern);
}

static void put_texts(dt_json *j, const dt_field *f, bool null) {
    dt_schema_type(j, "array", true, null);
    dt_json_open(j, "items", '{');
    put_text(j, f, false);
    dt_json_close(j, '}');
}

void dt_schema_word(dt_json *j) {
    dt_json_open(j, NULL, '{');
    dt_schema_type(j, "string", false, false);
    dt_json_string(j, "pattern", WORD);
    dt_json_close(j, '}');
}

static void put_names(dt_json *j, const char *const *names, bool null) {
    dt_json_open(j, "enum", '[');
    for (int i = 0; names[i]; i++) dt_json_string(j, NULL, names[i]);
    if (null) dt_json_null(j, NULL);
    dt_json_close(j, ']');
}

static void put_choice(dt_json *j, const dt_field *f, bool null) {
    dt_json_open(j, "anyOf", '[');
    dt_json_open(j, NULL, '{');
    put_names(j, f->choices, null);
    dt_json_close(j, '}');
    dt_schema_word(j);
    dt_json_close(j, ']');
}

void dt_schema_form(dt_json *j, const dt_field *f) {
    dt_json_open(j, NULL, '{');
    put_value(j, f, false);
    dt_json_close(j, '}');
}

/* Writes alternatives, one for each form; `key` is the keyword that contains them, or NULL. */
static void put_forms(dt_json *j, const char *key, const dt_field *forms, bool null) {
    if (key) dt_json_open(j, key, '{');
    if (forms->kind != DT_FIELD_END) dt_json_open(j, "anyOf", '[');
    for (const dt_field *f = forms; f->kind != DT_FIELD_END; f++) dt_schema_form(j, f);
    if (forms->kind != DT_FIELD_END) {
        dt_schema_word(j);
        if (null) dt_json_raw(j, NULL, "{\"type\": \"null\"}");
        dt_json_close(j, ']');
    } else {
        dt_json_string(j, "type", "null");
    }
    if (key) dt_json_close(j, '}');
}

static void put_tree(dt_json *j, const dt_field *f, bool null) {
    static const char *const types[] = {[DT_TREE_LIST] = "array", [DT_TREE_MAP] = "object"};
    if (f->forms) put_forms(j, NULL, f->forms, null);
    else if (f->as == DT_TREE_LIST || f->as == DT_TREE_MAP)
        dt_schema_type(j, types[f->as], true, null);
}

void dt_schema_required(dt_json *j, const dt_field *fields) {
    bool any = false;
    for (const dt_field *f = fields; f && f->kind != DT_FIELD_END; f++) {
        if (f->required && !any) dt_json_open(j, "required", '[');
        if (f->required) dt_json_string(j, NULL, f->name);
        any |= f->required;
    }
    if (any) dt_json_close(j, ']');
}

/* Writes a default as JSON, or as a string if it is a word. */
static void put_preset(dt_json *j, const char *key, const char *preset) {
    static const char *const json[] = {"null", "true", "false"};
    bool raw = *preset && strchr("[{-0123456789", *preset);
    for (size_t i = 0; i < sizeof json / sizeof *json; i++) raw |= strcmp(preset, json[i]) == 0;
    if (raw) dt_json_raw(j, key, preset);
    else dt_json_string(j, key, preset);
}

/* Writes a key that the reader refuses, with the reason, which editors show. */
static void put_instead(dt_json *j, const dt_field *f) {
    dt_json_open(j, f->name, '{');
    dt_json_string(j, "description", f->instead);
    dt_json_bool(j, "deprecated", true);
    if (f->preset) {
        dt_json_open(j, "enum", '[');
        put_preset(j, NULL, f->preset);
        if (strcmp(f->preset, "null") != 0) dt_json_null(j, NULL);
        dt_json_close(j, ']');
    } else {
        dt_json_raw(j, "not", "{}");
    }
    dt_json_close(j, '}');
}

static void put_field(dt_json *j, const dt_field *f) {
    const char *preset = dt_field_default(f);
    dt_json_open(j, f->name, '{');
    if (f->help) dt_json_string(j, "description", f->help);
    if (preset && f->kind == DT_FIELD_TEXT) dt_json_string(j, "default", preset);
    else if (preset) put_preset(j, "default", preset);
    put_value(j, f, !f->required);
    dt_json_close(j, '}');
}

void dt_schema_fields(dt_json *j, const dt_field *fields) {
    for (const dt_field *f = fields; f && f->kind != DT_FIELD_END; f++)
        if (f->kind == DT_FIELD_INSTEAD) put_instead(j, f);
        else put_field(j, f);
}

void dt_schema_properties(dt_json *j, const dt_field *fields, const dt_field *others) {
    dt_json_open(j, "properties", '{');
    dt_schema_fields(j, fields);
    dt_json_close(j, '}');
    if (others) put_forms(j, "additionalProperties", others, true);
    else dt_json_bool(j, "additionalProperties", false);
}

static void put_table(dt_json *j, const dt_field *f, bool null) {
    dt_schema_type(j, "object", true, null);
    dt_schema_properties(j, f->table, f->forms);
    dt_schema_required(j, f->table);
}

static void put_list(dt_json *j, const dt_field *f, bool null) {
    bool list = f->kind == DT_FIELD_LIST;
    dt_schema_type(j, list ? "array" : "object", true, null);
    put_forms(j, list ? "items" : "additionalProperties", f->forms, f->by_name);
}

static void put_named(dt_json *j, const dt_field *f) {
    dt_local_str path = {0};
    dt_str_printf(&path, "#/$defs/%s", f->noun);
    dt_json_string(j, "$ref", dt_str_text(&path));
}

/* Writes the description of a value into its object. */
static void put_value(dt_json *j, const dt_field *f, bool null) {
    switch (f->kind) {
    case DT_FIELD_INT:
    case DT_FIELD_REAL:
        dt_schema_type(j, f->kind == DT_FIELD_INT ? "integer" : "number", true, null);
        put_limits(j, f);
        break;
    case DT_FIELD_BOOL: dt_schema_type(j, "boolean", true, null); break;
    case DT_FIELD_TEXT:
    case DT_FIELD_SECONDS: put_text(j, f, null); break;
    case DT_FIELD_WORDS:
    case DT_FIELD_ENUM: put_choice(j, f, null); break;
    case DT_FIELD_INTS:
    case DT_FIELD_REALS:
        put_numbers(j, f, f->kind == DT_FIELD_INTS ? "integer" : "number",
                    f->lone || f->kind == DT_FIELD_REALS, null);
        break;
    case DT_FIELD_TEXTS: put_texts(j, f, null); break;
    case DT_FIELD_ONE_OF:
    case DT_FIELD_TREE: put_tree(j, f, null); break;
    case DT_FIELD_TABLE: put_table(j, f, null); break;
    case DT_FIELD_LIST:
    case DT_FIELD_MAP: put_list(j, f, null); break;
    case DT_FIELD_NAMED: put_named(j, f); break;
    default: break;
    }
}
