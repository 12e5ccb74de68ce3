/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf-c as the judge of our tf.Examples: random ones that it writes are read to the same
 * values, in either form of lists, with fields of later versions between ours and with features
 * that are not there; and what we write it reads.
 *
 *     oracle FIRST_SEED SEEDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "file/example.h"
#include "file/file.h"
#include "file/records.h"
#include "example.pb-c.h"

enum { MOST_FEATURES = 6, MOST_VALUES = 40, MOST_BYTES = 300 };

typedef struct feature {
    char name[16];
    dt_feature_kind kind;
    int count;
    int64_t integers[MOST_VALUES];
    float floats[MOST_VALUES];
    size_t size[MOST_VALUES];
    unsigned char bytes[MOST_VALUES][MOST_BYTES];
} feature;

typedef struct spec {
    int n;
    feature feature[MOST_FEATURES];
} spec;

static uint64_t seed; /* of the case at hand, for messages */

static void require(bool ok, const char *what) {
    if (ok) return;
    printf("seed %llu: %s\n", (unsigned long long)seed, what);
    exit(1);
}

/* Memory of a case, given back at its end. */
static void *taken[1024];
static int n_taken;

static void *take(size_t n) {
    require(n_taken < (int)(sizeof taken / sizeof *taken), "too many pieces of memory");
    return taken[n_taken++] = calloc(1, n + 1);
}

static void give_back(void) {
    while (n_taken > 0) free(taken[--n_taken]);
}

#define T(name) Packed##name
#define F(of, does) packed_##of##__##does
#include "build.h"
#undef T
#undef F
#define T(name) Loose##name
#define F(of, does) loose_##of##__##does
#include "build.h"

/* ---- random examples ---- */

static uint64_t draw64(dt_random *r) { return (uint64_t)dt_random_u32(r) << 32 | dt_random_u32(r); }

/* Integers of all lengths and both signs; floats of all bits. */
static void draw_feature(dt_random *r, int number, feature *f) {
    snprintf(f->name, sizeof f->name, "%c%d", 'a' + (char)dt_random_below(r, 26), number);
    f->kind = (dt_feature_kind)dt_random_below(r, 4);
    f->count = f->kind == DT_FEATURE_EMPTY
                   ? 0
                   : (int)dt_random_below(r, dt_random_below(r, 4) ? 5 : MOST_VALUES);
    for (int i = 0; i < f->count; i++) {
        const uint32_t bits = dt_random_u32(r);
        memcpy(&f->floats[i], &bits, sizeof bits);
        f->integers[i] =
            (int64_t)(draw64(r) >> dt_random_below(r, 64)) * (dt_random_below(r, 2) ? -1 : 1);
        f->size[i] = dt_random_below(r, dt_random_below(r, 8) ? 12 : MOST_BYTES);
        for (size_t k = 0; k < f->size[i]; k++) f->bytes[i][k] = (unsigned char)dt_random_u32(r);
    }
}

static void draw(dt_random *r, spec *s) {
    s->n = (int)dt_random_below(r, MOST_FEATURES + 1);
    for (int i = 0; i < s->n; i++) draw_feature(r, i, &s->feature[i]);
}

/* ---- what it writes, read ---- */

static void compare(const feature *f, const dt_feature *got) {
    int64_t integers[MOST_VALUES];
    float floats[MOST_VALUES];
    const size_t n = (size_t)f->count;
    require(got != NULL, "a feature is missing");
    require(got->kind == f->kind && got->count == f->count && !got->twice,
            "a feature has another kind, or another number of values");
    if (f->kind == DT_FEATURE_INT64) {
        dt_feature_int64s(got, integers);
        require(memcmp(integers, f->integers, n * sizeof *integers) == 0, "integers differ");
    } else if (f->kind == DT_FEATURE_FLOAT) {
        dt_feature_floats(got, floats);
        require(memcmp(floats, f->floats, n * sizeof *floats) == 0, "floats differ");
    }
    for (int i = 0; i < f->count && f->kind == DT_FEATURE_BYTES; i++) {
        const unsigned char *bytes;
        size_t size;
        dt_feature_bytes(got, i, &bytes, &size);
        require(size == f->size[i] && memcmp(bytes, f->bytes[i], size) == 0, "byte strings differ");
    }
}

static void read_back(const spec *s, const uint8_t *bytes, size_t n) {
    dt_parsed_example x = {0};
    const char *why = "";
    const bool ok = dt_parsed_example_read(&x, bytes, n, &why);
    require(ok, *why ? why : "is not taken for a tf.Example");
    require(x.n == s->n, "another number of features");
    require(!dt_parsed_example_find(&x, "nowhere"), "a feature that is not there is found");
    for (int i = 0; i < s->n; i++)
        compare(&s->feature[i], dt_parsed_example_find(&x, s->feature[i].name));
    dt_parsed_example_release(&x);
}

/* ---- what we write, read by it ---- */

static dt_element_spec column_of(const feature *f) {
    const int64_t n = f->kind == DT_FEATURE_BYTES ? (int64_t)f->size[0] : f->count;
    const dt_dtype d = f->kind == DT_FEATURE_BYTES   ? DT_UINT8
                       : f->kind == DT_FEATURE_FLOAT ? DT_FLOAT32
                                                     : DT_INT64;
    return (dt_element_spec){.name = f->name, .type = dt_type_of(d, 1, &n)};
}

static void compare_theirs(const feature *f, const PackedEntry *e) {
    const PackedFeature *v = e->value;
    require(e->key.len == strlen(f->name) && memcmp(e->key.data, f->name, e->key.len) == 0,
            "another name");
    if (f->kind == DT_FEATURE_INT64)
        require(v->int64_list && v->int64_list->n_value == (size_t)f->count &&
                    memcmp(v->int64_list->value, f->integers,
                           (size_t)f->count * sizeof *f->integers) == 0,
                "it reads other integers");
    else if (f->kind == DT_FEATURE_FLOAT)
        require(v->float_list && v->float_list->n_value == (size_t)f->count &&
                    memcmp(v->float_list->value, f->floats, (size_t)f->count * sizeof *f->floats) ==
                        0,
                "it reads other floats");
    else
        require(v->bytes_list && v->bytes_list->n_value == 1 &&
                    v->bytes_list->value[0].len == f->size[0] &&
                    memcmp(v->bytes_list->value[0].data, f->bytes[0], f->size[0]) == 0,
                "it reads another byte string");
}

/* Arrays of values, as data sets have them: none is empty. */
static int choose_arrays(const spec *s, const feature *chosen[MOST_FEATURES],
                         dt_element_spec *column, const void **row) {
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        const feature *f = &s->feature[i];
        if (f->count == 0 || (f->kind == DT_FEATURE_BYTES && f->size[0] == 0)) continue;
        column[n] = column_of(f);
        row[n] = f->kind == DT_FEATURE_BYTES   ? (const void *)f->bytes[0]
                 : f->kind == DT_FEATURE_FLOAT ? (const void *)f->floats
                                               : f->integers;
        chosen[n++] = f;
    }
    return n;
}

static void write_theirs(const spec *s) {
    const feature *chosen[MOST_FEATURES];
    dt_element_spec column[MOST_FEATURES];
    const void *row[MOST_FEATURES];
    dt_output out = {.column = column};
    const int n = out.n = choose_arrays(s, chosen, column, row);
    require(!dt_format_tfrecord.writer->put(&out, row), "it is not written");
    const uint8_t *data = (const uint8_t *)out.text.data + DT_TFRECORD_HEADER;
    const size_t size = out.text.size - DT_TFRECORD_HEADER - DT_TFRECORD_FOOTER;
    PackedExample *x = packed_example__unpack(NULL, size, data);
    require(x != NULL, "it does not take what we wrote");
    require((x->features ? x->features->n_feature : 0) == (size_t)n,
            "it reads another number of features");
    for (int i = 0; i < n; i++) compare_theirs(chosen[i], x->features->feature[i]);
    packed_example__free_unpacked(x, NULL);
    dt_str_release(&out.text);
}

int main(int argc, char **argv) {
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
                   n = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
    static spec s;
    for (seed = first; seed < first + n; seed++) {
        dt_random r = dt_random_stream(seed, "example", 0);
        uint8_t *bytes;
        draw(&r, &s);
        for (int form = 0; form < 4; form++) {
            const size_t size =
                (form & 1 ? packed_example__build : loose_example__build)(&s, form & 2, &bytes);
            read_back(&s, bytes, size);
        }
        write_theirs(&s);
        give_back();
    }
    printf("seeds %llu to %llu: protobuf-c and dtrain agree\n", (unsigned long long)first,
           (unsigned long long)(first + n - 1));
    return 0;
}
