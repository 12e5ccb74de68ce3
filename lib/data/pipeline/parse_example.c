/* SPDX-License-Identifier: Apache-2.0 */
/* parse_example(features): parses each element, a serialized tf.Example, into the values of the
 * named features. It is a map whose spec follows from the features. */
#include <stdlib.h>
#include <string.h>

#include "file/example.h"
#include "data/pipeline/build.h"

/* Sets *out to the type of a feature's value: an unknown dimension becomes the number of values
 * that the tf.Example has for the feature. */
static dt_status *type_of(const dt_parsed_example *x, const dt_element_spec *c, dt_type *out) {
    *out = c->type;
    if (!dt_type_has_batch(out)) return NULL;
    return dt_feature_values(x, c->name, out->dtype, &out->dim[0]);
}

static dt_status *read_component(const dt_parsed_example *x, const dt_element_spec *c,
                                 dt_tensor **out) {
    dt_type type;
    DT_TRY(type_of(x, c, &type));
    DT_TRY(dt_tensor_new(out, &type));
    return dt_feature_read(x, c->name, &type, (*out)->data);
}

static dt_status *parse(const dt_example *example, void *user, dt_example *out) {
    const dt_example_spec *spec = user;
    const dt_tensor *record = example->tensor[0];
    dt_parsed_example x = {0};
    const char *why;
    dt_status *s = NULL;
    if (!dt_parsed_example_read(&x, record->data, (size_t)record->type.dim[0], &why))
        s = dt_fail(DT_E_EXAMPLE, NULL, "an element is not a tf.Example%s%s%s", *why ? " (" : "",
                    why, *why ? ")" : "");
    if (!s) *out = dt_example_make(spec->n);
    for (int i = 0; i < spec->n && !s; i++) s = read_component(&x, &spec->c[i], &out->tensor[i]);
    if (s) dt_example_release(out);
    dt_parsed_example_release(&x);
    return s;
}

static void release(void *user) {
    dt_spec_release(user);
    free(user);
}

static dt_status *check(const dt_spec *f) {
    bool unknown = false;
    if (!f->name || (int)f->dtype < DT_BOOL || f->dtype > DT_FLOAT64 || f->rank < 0 ||
        f->rank > DT_MAX_RANK)
        return dt_fail(DT_E_PIPELINE, NULL,
                       "parse_example: a feature needs a name, a dtype and 0 to %d dimensions",
                       DT_MAX_RANK);
    for (int i = 0; i < f->rank; i++) {
        unknown |= f->shape[i] < 0;
        if (f->shape[i] < DT_UNKNOWN_DIM || f->shape[i] > INT32_MAX)
            return dt_fail(DT_E_PIPELINE, NULL, "parse_example: dimension %d of '%s' is %lld", i,
                           f->name, (long long)f->shape[i]);
    }
    if (unknown && f->rank != 1)
        return dt_fail(DT_E_PIPELINE, NULL,
                       "parse_example: '%s' has an unknown dimension and others; only a vector may "
                       "have any length",
                       f->name);
    return NULL;
}

dt_status *dt_dataset_parse_example(dt_dataset **out, const dt_dataset *in, const dt_spec *features,
                                    int n) {
    DT_LIVE(in);
    DT_TRY(dt_dataset_check_input(in, "parse_example"));
    const dt_example_spec *from = &in->spec;
    if (from->n != 1 || from->c[0].type.dtype != DT_UINT8 || from->c[0].type.rank != 1)
        return dt_fail(DT_E_PIPELINE, NULL,
                       "parse_example: elements must be records, vectors of uint8 as "
                       "dt_dataset_tfrecord gives them");
    if (!features) return dt_fail(DT_E_PIPELINE, NULL, "parse_example: no features given");
    if (n < 1 || n > 4096)
        return dt_fail(DT_E_PIPELINE, NULL, "parse_example: 1 to 4096 features, got %d", n);
    for (int i = 0; i < n; i++) DT_TRY(check(&features[i]));
    dt_example_spec *spec = dt_alloc(sizeof *spec);
    *spec = dt_spec_make(n);
    for (int i = 0; i < n; i++)
        spec->c[i] = (dt_element_spec){
            .name = dt_strdup(features[i].name),
            .type = dt_type_of(features[i].dtype, features[i].rank, features[i].shape)};
    return dt_dataset_build_map(
        out, in, &(dt_example_function){.map = parse, .user = spec, .release = release},
        dt_spec_copy(spec));
}
