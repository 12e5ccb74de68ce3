/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema of job files, JSON Schema 2020-12: the field tables in a form that editors and other
 * programs read.
 *
 *     # yaml-language-server: $schema=dtrain.schema.json
 *
 * It is as strict as the reader where a schema can be: types, limits, names, and no unknown keys.
 * It also allows what the reader allows in addition: null for a key that may be left out, and, in
 * place of any value, a text with a "{word}" of `let` or `Repeat`. It does not check values against
 * each other (shapes, files, metrics that fit no loss): `dtrain validate` does.
 *
 * A job that `extends` another one may leave out any key. Objects of sections therefore require
 * none of their keys; required keys are listed once, at the top, for jobs without `extends`.
 */
#include <string.h>

#include "job/partition.h"
#include "job/keys.h"

/* ---- kinds ---- */

static bool is_bare(const dt_kind *k) {
    for (const dt_field *f = k->fields; f && f->kind != DT_FIELD_END; f++)
        if (f->required) return false;
    return true;
}

static const char *ref_text(const dt_key_table *s, const dt_kind *k, dt_str *out) {
    out->size = 0;
    dt_str_printf(out, "#/$defs/%s.%s", s->noun, k->name);
    return dt_str_text(out);
}

static void put_ref(dt_json *j, const char *key, const char *ref) {
    dt_json_open(j, key, '{');
    dt_json_string(j, "$ref", ref);
    dt_json_close(j, '}');
}

/* Writes a mapping from one name to its arguments. */
static void put_mapping(dt_json *j, const dt_key_table *s) {
    dt_local_str ref = {0};
    dt_json_open(j, NULL, '{');
    dt_schema_type(j, "object", false, false);
    dt_json_int(j, "minProperties", 1);
    dt_json_int(j, "maxProperties", 1);
    dt_json_open(j, "properties", '{');
    for (int i = 0; s->at(i); i++) {
        const dt_kind *k = s->at(i);
        ref_text(s, k, &ref);
        put_ref(j, k->name, dt_str_text(&ref));
        for (const char *const *a = k->aliases; a && *a; a++) put_ref(j, *a, dt_str_text(&ref));
    }
    dt_json_close(j, '}');
    dt_json_bool(j, "additionalProperties", false);
    dt_json_close(j, '}');
}

static void put_sort(dt_json *j, const dt_key_table *s) {
    dt_json_open(j, s->noun, '{');
    dt_json_open(j, "anyOf", '[');
    /* Lists names that need no mapping: of kinds without required arguments, or whose arguments are
     * beside the key that names the kind. */
    bool any = false;
    for (int i = 0; s->at(i); i++) {
        const dt_kind *k = s->at(i);
        if (!is_bare(k) && !s->beside) continue;
        if (!any) {
            dt_json_open(j, NULL, '{');
            dt_json_open(j, "enum", '[');
        }
        any = true;
        dt_json_string(j, NULL, k->name);
        for (const char *const *a = k->aliases; a && *a; a++) dt_json_string(j, NULL, *a);
    }
    if (any) {
        dt_json_close(j, ']');
        dt_json_close(j, '}');
    }
    if (!s->beside) put_mapping(j, s);
    dt_schema_word(j);
    dt_json_close(j, ']');
    dt_json_close(j, '}');
}

/* ---- arguments of a kind ---- */

static const dt_field *field_named(const dt_field *fields, const char *name) {
    while (fields->kind != DT_FIELD_END && strcmp(fields->name, name) != 0) fields++;
    return fields;
}

/* Writes the short form: {height, width} as [32, 32], a single argument as its value. */
static void put_brief(dt_json *j, const dt_kind *k, const char *const *brief) {
    int n = 0;
    if (!brief[1]) {
        dt_schema_form(j, field_named(k->fields, brief[0]));
        return;
    }
    dt_json_open(j, NULL, '{');
    dt_schema_type(j, "array", false, false);
    dt_json_open(j, "prefixItems", '[');
    for (; brief[n]; n++) dt_schema_form(j, field_named(k->fields, brief[n]));
    dt_json_close(j, ']');
    dt_json_int(j, "minItems", n);
    dt_json_int(j, "maxItems", n);
    dt_json_close(j, '}');
}

static void put_arguments(dt_json *j, const dt_kind *k) {
    static const dt_field none[] = {DT_END};
    dt_schema_type(j, "object", true, is_bare(k));
    dt_schema_properties(j, k->fields ? k->fields : none, NULL);
    dt_schema_required(j, k->fields);
}

/* Writes the arguments, or their short form. */
static void put_kind(dt_json *j, const dt_key_table *s, const dt_kind *k) {
    bool list = false;
    const char *const *brief = s->brief ? s->brief(k, &list) : NULL;
    dt_json_string(j, "description", k->about);
    if (!brief || !brief[0]) {
        put_arguments(j, k);
        return;
    }
    dt_json_open(j, "anyOf", '[');
    dt_json_open(j, NULL, '{');
    put_arguments(j, k);
    dt_json_close(j, '}');
    put_brief(j, k, brief);
    dt_json_close(j, ']');
}

/* Writes a kind whose keys are in the same mapping as the keys common to all kinds. */
static void put_beside(dt_json *j, const dt_field *common, const dt_kind *k) {
    dt_json_string(j, "description", k->about);
    dt_json_open(j, "properties", '{');
    dt_schema_fields(j, common);
    dt_schema_fields(j, k->fields);
    dt_json_close(j, '}');
    dt_json_bool(j, "additionalProperties", false);
}

/* ---- sections ---- */

static const dt_section *section_named(const char *name) {
    int n;
    const dt_section *sections = dt_sections(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(sections[i].name, name) == 0) return &sections[i];
    return NULL;
}

/* Returns the table of kinds whose keys are in this section, beside the section's own keys. */
static const dt_key_table *sort_beside(const char *section) {
    int n;
    const dt_key_table *sorts = dt_key_tables(&n);
    for (int i = 0; i < n; i++)
        if (sorts[i].beside && strcmp(sorts[i].stem, section) == 0) return &sorts[i];
    return NULL;
}

static void put_defs(dt_json *j) {
    int n;
    dt_local_str name = {0};
    const dt_key_table *sorts = dt_key_tables(&n);
    dt_json_open(j, "$defs", '{');
    for (int i = 0; i < n; i++) {
        put_sort(j, &sorts[i]);
        for (int k = 0; sorts[i].at(k); k++) {
            const dt_kind *kind = sorts[i].at(k);
            dt_json_open(j, ref_text(&sorts[i], kind, &name) + strlen("#/$defs/"), '{');
            if (sorts[i].beside) put_beside(j, section_named(sorts[i].stem)->fields(), kind);
            else put_kind(j, &sorts[i], kind);
            dt_json_close(j, '}');
        }
    }
    dt_json_close(j, '}');
}

/* Begins an object that says: if the section's key names this kind, then the following holds. The
 * caller closes the object. */
static void open_if(dt_json *j, const dt_key_table *s, const dt_kind *k) {
    const char *key = strrchr(s->key, '.') + 1;
    dt_json_open(j, NULL, '{');
    dt_json_open(j, "if", '{');
    dt_json_open(j, "properties", '{');
    dt_json_open(j, key, '{');
    dt_json_string(j, "const", k->name);
    dt_json_close(j, '}');
    dt_json_close(j, '}');
    dt_json_open(j, "required", '[');
    dt_json_string(j, NULL, key);
    dt_json_close(j, ']');
    dt_json_close(j, '}');
    dt_json_open(j, "then", '{');
}

static void close_if(dt_json *j) {
    dt_json_close(j, '}');
    dt_json_close(j, '}');
}

static void put_by_kind(dt_json *j, const dt_key_table *s, const dt_field *common) {
    dt_local_str ref = {0};
    dt_json_open(j, "properties", '{');
    dt_schema_fields(j, common);
    dt_json_close(j, '}');
    dt_json_open(j, "allOf", '[');
    for (int i = 0; s->at(i); i++) {
        const dt_kind *k = s->at(i);
        open_if(j, s, k);
        dt_json_string(j, "$ref", ref_text(s, k, &ref));
        close_if(j);
    }
    dt_json_close(j, ']');
}

static void put_section(dt_json *j, const dt_field *f, const dt_section *section) {
    const dt_key_table *sort = sort_beside(section->name);
    const dt_field *others = NULL;
    if (strcmp(section->name, "partition") == 0) dt_partition_fields(&others);
    dt_json_open(j, f->name, '{');
    dt_json_string(j, "description", f->help);
    dt_schema_type(j, "object", true, !dt_job_needs(f->name, DT_FOR_FIT));
    if (sort) put_by_kind(j, sort, section->fields());
    else dt_schema_properties(j, section->fields(), others);
    dt_json_close(j, '}');
}

/* ---- required keys ---- */

/* Sections that must have exactly one key of a group. */
static const struct {
    const char *section, *one, *other;
} alternatives[] = {
    {"dataset", "global_batch_size", "per_replica_batch_size"},
    {"fit", "epochs", "steps"},
};

static void put_alternatives(dt_json *j, const char *section) {
    for (size_t i = 0; i < sizeof alternatives / sizeof *alternatives; i++) {
        if (strcmp(alternatives[i].section, section) != 0) continue;
        const char *const keys[] = {alternatives[i].one, alternatives[i].other};
        dt_json_open(j, "oneOf", '[');
        for (int k = 0; k < 2; k++) {
            dt_json_open(j, NULL, '{');
            dt_json_open(j, "required", '[');
            dt_json_string(j, NULL, keys[k]);
            dt_json_close(j, ']');
            dt_json_open(j, "properties", '{');
            dt_json_raw(j, keys[k], "{\"not\": {\"type\": \"null\"}}");
            dt_json_close(j, '}');
            dt_json_close(j, '}');
        }
        dt_json_close(j, ']');
    }
}

static void put_needs(dt_json *j, const dt_section *section) {
    const dt_key_table *s = sort_beside(section->name);
    dt_json_open(j, section->name, '{');
    dt_schema_required(j, section->fields());
    put_alternatives(j, section->name);
    if (s) dt_json_open(j, "allOf", '[');
    for (int i = 0; s && s->at(i); i++) {
        const dt_kind *k = s->at(i);
        open_if(j, s, k);
        dt_schema_required(j, k->fields);
        close_if(j);
    }
    if (s) dt_json_close(j, ']');
    dt_json_close(j, '}');
}

static void put_all_needs(dt_json *j) {
    int n;
    const dt_section *sections = dt_sections(&n);
    dt_json_raw(j, "if",
                "{\"not\": {\"required\": [\"extends\"], \"properties\": {\"extends\": {\"type\": "
                "\"string\"}}}}");
    dt_json_open(j, "then", '{');
    dt_json_open(j, "required", '[');
    for (const dt_field *f = dt_job_fields(); f->kind != DT_FIELD_END; f++)
        if (f->required || dt_job_needs(f->name, DT_FOR_FIT)) dt_json_string(j, NULL, f->name);
    dt_json_close(j, ']');
    dt_json_open(j, "properties", '{');
    for (int i = 0; i < n; i++) put_needs(j, &sections[i]);
    dt_json_close(j, '}');
    dt_json_close(j, '}');
}

/* ---- the schema ---- */

static void put_top(dt_json *j) {
    dt_json_open(j, "properties", '{');
    for (const dt_field *f = dt_job_fields(); f->kind != DT_FIELD_END; f++) {
        const dt_section *section = section_named(f->name);
        const dt_field one[] = {*f, DT_END};
        if (section) put_section(j, f, section);
        else dt_schema_fields(j, one);
    }
    dt_json_close(j, '}');
    dt_json_raw(j, "patternProperties",
                "{\"^x-\": {\"description\": \"definitions for aliases; no part of the job\"}}");
    dt_json_bool(j, "additionalProperties", false);
}

dt_status *dt_job_schema(char **json) {
    dt_str text = {0};
    dt_json j = {.out = &text};
    DT_REQUIRE({json, "place for the text"});
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
    dt_json_string(&j, "title", "dtrain job file");
    dt_json_string(&j, "type", "object");
    put_top(&j);
    put_all_needs(&j);
    put_defs(&j);
    dt_json_close(&j, '}');
    *json = dt_str_take(&text);
    return NULL;
}
