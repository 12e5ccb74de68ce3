/* SPDX-License-Identifier: Apache-2.0 */
/* Included once for each form of lists: T(Example) is the type, F(example, init) the function of
 * protobuf-c's. A spec becomes bytes. */

static T(Feature) * F(feature, build)(const feature *f, bool later) {
    T(Feature) *x = take(sizeof *x);
    F(feature, init)(x);
    x->has_later = later;
    x->later = 1.5F;
    if (f->kind == DT_FEATURE_BYTES) {
        x->bytes_list = take(sizeof *x->bytes_list);
        F(bytes_list, init)(x->bytes_list);
        x->bytes_list->n_value = (size_t)f->count;
        x->bytes_list->value = take((size_t)f->count * sizeof *x->bytes_list->value);
        for (int i = 0; i < f->count; i++)
            x->bytes_list->value[i] = (ProtobufCBinaryData){f->size[i], (uint8_t *)f->bytes[i]};
        x->bytes_list->has_later = later;
        x->bytes_list->later = -7;
    } else if (f->kind == DT_FEATURE_FLOAT) {
        x->float_list = take(sizeof *x->float_list);
        F(float_list, init)(x->float_list);
        x->float_list->n_value = (size_t)f->count;
        x->float_list->value = (float *)f->floats;
        x->float_list->has_later = later;
        x->float_list->later = (ProtobufCBinaryData){3, (uint8_t *)"\x0a\x01\x07"};
    } else if (f->kind == DT_FEATURE_INT64) {
        static uint64_t fixed[2] = {1, UINT64_MAX};
        x->int64_list = take(sizeof *x->int64_list);
        F(int64_list, init)(x->int64_list);
        x->int64_list->n_value = (size_t)f->count;
        x->int64_list->value = (int64_t *)f->integers;
        x->int64_list->n_later = later ? 2 : 0;
        x->int64_list->later = fixed;
    }
    return x;
}

static size_t F(example, build)(const spec *s, bool later, uint8_t **out) {
    static ProtobufCBinaryData text = {4, (uint8_t *)"what"};
    T(Example) x;
    T(Features) *all = take(sizeof *all);
    F(example, init)(&x);
    F(features, init)(all);
    x.features = all;
    x.later = later ? all : NULL;
    all->n_later = later;
    all->later = &text;
    all->n_feature = (size_t)s->n;
    all->feature = take((size_t)s->n * sizeof *all->feature);
    for (int i = 0; i < s->n; i++) {
        T(Entry) *e = all->feature[i] = take(sizeof *e);
        F(entry, init)(e);
        e->has_key = true;
        e->key = (ProtobufCBinaryData){strlen(s->feature[i].name), (uint8_t *)s->feature[i].name};
        e->value = F(feature, build)(&s->feature[i], later);
        e->has_later = later;
        e->later = -1;
    }
    *out = take(F(example, get_packed_size)(&x) + 1);
    return F(example, pack)(&x, *out);
}
