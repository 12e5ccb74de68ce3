/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines of C programs: converts between examples, which are lists of tensors in lib/data, and
 * named values, and calls the program's functions (filter, map, interleave), which see only named
 * values.
 */
#include "strategy/iterators.h"

#include <stdlib.h>
#include <string.h>

#include "data/pipeline/build.h"

/* ---- examples and values ---- */

dt_status *dt_values_of_example(const dt_example_spec *spec, const dt_example *example,
                                dt_values **out) {
    dt_values *v = NULL;
    dt_status *s = dt_values_create(&v);

    for (int i = 0; i < example->n && !s; i++)
        s = dt_values_set(v, spec->c[i].name, example->tensor[i]);
    if (s) {
        dt_values_unref(v);
        v = NULL;
    }
    *out = v;
    return s;
}

/* Returns a component of an element as a host tensor, as all tensors of examples are. */
static dt_status *tensor_of_value(const dt_values *v, const char *name, dt_tensor **out) {
    dt_tensor *t = (dt_tensor *)dt_values_local(v, name, 0);

    if (!t) return dt_fail(DT_E_PIPELINE, NULL, "the element has no component '%s'", name);
    if (dt_values_is_per_replica(v, name))
        return dt_fail(DT_E_PIPELINE, NULL,
                       "'%s' has a value per replica; a component of an element is one tensor",
                       name);
    *out = t->device ? dt_tensor_part(t, &t->type, 0) : dt_tensor_ref(t);
    return NULL;
}

static dt_status *example_of_values(const dt_example_spec *spec, const dt_values *v,
                                    dt_example *out) {
    dt_status *s = NULL;

    if (dt_values_count(v) != spec->n)
        return dt_fail(DT_E_PIPELINE, NULL, "the element has %d components, expected %d",
                       dt_values_count(v), spec->n);
    *out = dt_example_make(spec->n);
    for (int i = 0; i < spec->n && !s; i++)
        s = tensor_of_value(v, spec->c[i].name, &out->tensor[i]);
    if (s) dt_example_release(out);
    return s;
}

/* ---- specs ---- */

static dt_status *spec_of_values(const dt_values *v, dt_example_spec *out) {
    int n = v ? dt_values_count(v) : 0;

    if (n == 0) return dt_fail(DT_E_PIPELINE, NULL, "an element needs at least one component");
    *out = dt_spec_make(n);
    for (int i = 0; i < n; i++) {
        const char *name = dt_values_name(v, i);
        out->c[i] =
            (dt_element_spec){.name = dt_strdup(name), .type = dt_values_local(v, name, 0)->type};
    }
    return NULL;
}

static dt_status *check_spec(const dt_spec *s) {
    if (!s->name || !dt_dtype_is_known(s->dtype) || s->rank < 0 || s->rank > DT_MAX_RANK)
        return dt_fail(DT_E_PIPELINE, NULL,
                       "the spec of '%s' needs a name, a dtype and 0 to %d dimensions",
                       s->name ? s->name : "?", DT_MAX_RANK);
    for (int d = 0; d < s->rank; d++)
        if (s->shape[d] < DT_UNKNOWN_DIM)
            return dt_fail(DT_E_PIPELINE, NULL,
                           "dimension %d of the spec of '%s' is %lld; -1 is unknown", d, s->name,
                           (long long)s->shape[d]);
    return NULL;
}

static dt_status *read_specs(const dt_spec *spec, int n, dt_example_spec *out) {
    if (!spec || n < 1 || n > 4096)
        return dt_fail(DT_E_PIPELINE, NULL, "a spec must have 1 to 4096 components, got %d", n);
    for (int i = 0; i < n; i++) DT_TRY(check_spec(&spec[i]));
    *out = dt_spec_make(n);
    for (int i = 0; i < n; i++)
        out->c[i] =
            (dt_element_spec){.name = dt_strdup(spec[i].name),
                              .type = dt_type_of(spec[i].dtype, spec[i].rank, spec[i].shape)};
    return NULL;
}

/* ---- sources ---- */

typedef dt_status *builder(dt_dataset **out, dt_example *example, dt_example_spec spec);

static dt_status *build_held(dt_dataset **out, const dt_values *v, builder *build) {
    dt_example_spec spec;
    dt_example example;

    DT_TRY(dt_status_kept());
    DT_TRY(spec_of_values(v, &spec));
    dt_status *s = example_of_values(&spec, v, &example);
    if (s) {
        dt_spec_release(&spec);
        return s;
    }
    return build(out, &example, spec);
}

dt_status *dt_dataset_from_tensors(dt_dataset **out, const dt_values *v) {
    DT_LIVE(v);
    return build_held(out, v, dt_dataset_build_tensors);
}

dt_status *dt_dataset_from_tensor_slices(dt_dataset **out, const dt_values *v) {
    DT_LIVE(v);
    return build_held(out, v, dt_dataset_build_slices);
}

/* ---- calling the program's functions ---- */

typedef struct caller {
    dt_example_spec in, out;
    dt_filter_fn filter;
    dt_map_fn map;
    dt_expand_fn expand;
    void *user;
} caller;

static caller *caller_of(const dt_dataset *in, void *user) {
    caller *c = dt_alloc(sizeof *c);
    *c = (caller){.in = dt_spec_copy(&in->spec), .user = user};
    return c;
}

static void release_caller(void *user) {
    caller *c = user;
    dt_spec_release(&c->in);
    dt_spec_release(&c->out);
    free(c);
}

static dt_status *call_filter(const dt_example *example, void *user, bool *keep) {
    const caller *c = user;
    dt_values *v;

    DT_TRY(dt_values_of_example(&c->in, example, &v));
    dt_status *s = c->filter(v, c->user, keep);
    dt_values_unref(v);
    return s;
}

static dt_status *call_map(const dt_example *example, void *user, dt_example *out) {
    const caller *c = user;
    dt_values *v = NULL, *result = NULL;
    dt_status *s = NULL;

    DT_GO(s, dt_values_of_example(&c->in, example, &v));
    DT_GO(s, dt_values_create(&result));
    DT_GO(s, c->map(v, c->user, result));
    DT_GO(s, example_of_values(&c->out, result, out));
out:
    dt_values_unref(result);
    dt_values_unref(v);
    return s;
}

static dt_status *call_expand(const dt_example *example, void *user, dt_dataset **out) {
    const caller *c = user;
    dt_dataset *d = NULL;
    dt_values *v;

    DT_TRY(dt_values_of_example(&c->in, example, &v));
    dt_status *s = c->expand(v, c->user, &d);
    dt_values_unref(v);
    if (!s) s = dt_dataset_check_input(d, "interleave");
    if (!s && d->spec.n != c->out.n)
        s = dt_fail(DT_E_PIPELINE, NULL,
                    "interleave: the function's data set has %d components, but the spec has %d",
                    d->spec.n, c->out.n);
    if (!s) return dt_dataset_replace(out, d);
    dt_dataset_unref(d);
    return s;
}

dt_status *dt_dataset_filter(dt_dataset **out, const dt_dataset *in, dt_filter_fn fn, void *user) {
    DT_LIVE(in);
    DT_TRY(dt_dataset_check_input(in, "filter"));
    if (!fn) return dt_fail(DT_E_PIPELINE, NULL, "filter: no function was given");
    caller *c = caller_of(in, user);
    c->filter = fn;
    return dt_dataset_build_filter(
        out, in,
        &(dt_example_function){.filter = call_filter, .user = c, .release = release_caller});
}

dt_status *dt_dataset_map(dt_dataset **out, const dt_dataset *in, const dt_map_options *options) {
    DT_LIVE(in);
    dt_example_spec spec;

    DT_TRY(dt_dataset_check_input(in, "map"));
    if (!options || !options->fn) return dt_fail(DT_E_PIPELINE, NULL, "map: no function was given");
    if (options->spec) DT_TRY(read_specs(options->spec, options->n_spec, &spec));
    else spec = dt_spec_copy(&in->spec);
    caller *c = caller_of(in, options->user);
    c->map = options->fn;
    c->out = dt_spec_copy(&spec);
    return dt_dataset_build_map(
        out, in, &(dt_example_function){.map = call_map, .user = c, .release = release_caller},
        spec);
}

dt_status *dt_dataset_interleave(dt_dataset **out, const dt_dataset *in,
                                 const dt_interleave_options *options) {
    DT_LIVE(in);
    dt_example_spec spec;

    DT_TRY(dt_dataset_check_input(in, "interleave"));
    if (!options || !options->fn)
        return dt_fail(DT_E_PIPELINE, NULL, "interleave: no function was given");
    DT_TRY(read_specs(options->spec, options->n_spec, &spec));
    caller *c = caller_of(in, options->user);
    c->expand = options->fn;
    c->out = dt_spec_copy(&spec);
    return dt_dataset_build_interleave(
        out, in,
        &(dt_example_function){.expand = call_expand,
                               .user = c,
                               .release = release_caller,
                               .cycle_length = options->cycle_length ? options->cycle_length : 1,
                               .block_length = options->block_length ? options->block_length : 1},
        false, spec);
}

/* ---- into memory ---- */

static dt_status *read_all(dt_dataset *d, dt_example_list *examples) {
    dt_iterator *it;
    dt_example example;
    dt_status *s = NULL;

    DT_TRY(dt_iterator_open(&it, d, d->iterations++, 0));
    while (!(s = dt_iterator_next_example(it, &example)) && example.n > 0)
        dt_example_list_push(examples, &example);
    dt_iterator_close(it);
    return s;
}

static dt_status *hold(dt_dataset **out, const dt_example_spec *spec,
                       const dt_example_list *examples, const char *format, va_list args) {
    dt_example all;

    if (examples->n == 0) return dt_fail(DT_E_DATA_EMPTY, NULL, "the pipeline has no elements");
    DT_TRY(dt_examples_join(examples->v, examples->n, &all));
    return dt_dataset_hold(out, spec, &all, format, args);
}

dt_status *dt_dataset_collect(dt_dataset **out, dt_dataset *in, const char *format, ...) {
    DT_LIVE(in);
    dt_example_list examples = {0};
    int64_t rows;
    va_list args;

    DT_TRY(dt_want(out, "dt_dataset_collect", "place for the data set"));
    DT_TRY(dt_dataset_check_input(in, "collect"));
    DT_TRY(dt_spec_rows(&in->spec, &rows));
    if (dt_dataset_cardinality(in) == DT_ENDLESS)
        return dt_fail(DT_E_PIPELINE, NULL,
                       "collect: the pipeline is endless; limit it with dt_dataset_take");
    /* The reference is kept, because *out may be the variable that `in` comes from. */
    dt_dataset *kept = dt_dataset_ref(in);
    va_start(args, format);
    dt_status *s = read_all(in, &examples);
    if (!s) s = hold(out, &kept->spec, &examples, format, args);
    va_end(args);
    dt_example_list_clear(&examples);
    dt_dataset_unref(kept);
    return s;
}

/* ---- tensors that a program provides ---- */

static dt_status *check_whole(const dt_values *v) {
    for (int i = 0; i < v->n; i++)
        if (dt_entry_is_distributed(&v->entry[i]))
            return dt_fail(DT_E_ARGUMENT, NULL,
                           "'%s' has a value per replica; give the examples as one tensor",
                           v->entry[i].name);
    return NULL;
}

dt_status *dt_dataset_from_values(dt_dataset **out, const dt_values *examples, const char *format,
                                  ...) {
    DT_LIVE(examples);
    va_list args;

    DT_TRY(dt_status_kept());
    if (!out || !examples || !format)
        return dt_fail(DT_E_ARGUMENT, NULL,
                       "dt_dataset_from_values needs values, keys and a handle to fill");
    DT_TRY(check_whole(examples));
    dt_example_spec spec = dt_spec_make(examples->n);
    dt_example all = dt_example_make(examples->n);
    for (int i = 0; i < examples->n; i++) {
        const dt_value_entry *e = &examples->entry[i];
        all.tensor[i] = dt_tensor_ref(dt_entry_local(e, 0));
        spec.c[i] = (dt_element_spec){.name = dt_strdup(e->name), .type = all.tensor[i]->type};
    }
    va_start(args, format);
    dt_status *s = dt_dataset_hold(out, &spec, &all, format, args);
    va_end(args);
    dt_spec_release(&spec);
    return s;
}
