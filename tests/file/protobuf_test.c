/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that are written are read back, whatever is in them; bytes that are cut off or wrong are
 * refused, and never read beyond their end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "file/protobuf.h"

enum { MOST_FIELDS = 12, LONGEST = 40 };

typedef struct written {
    int number;
    dt_pb_type type;
    uint64_t value;
    char bytes[LONGEST];
    size_t n;
} written;

/* Of every size. */
static uint64_t random_value(dt_random *r) {
    const uint64_t x =
        (uint64_t)dt_random_below(r, UINT32_MAX) << 32 | dt_random_below(r, UINT32_MAX);
    return x >> dt_random_below(r, 64);
}

static void write_field(dt_random *r, dt_str *out, written *w) {
    static const dt_pb_type types[] = {DT_PB_VARINT, DT_PB_FIXED64, DT_PB_BYTES, DT_PB_GROUP};
    *w = (written){.number = 1 + (int)dt_random_below(r, 1 << dt_random_below(r, 28)),
                   .type = types[dt_random_below(r, 4)],
                   .value = random_value(r),
                   .n = dt_random_below(r, LONGEST)};
    const int tag = DT_PB_TAG(w->number, (int)w->type);
    for (size_t i = 0; i < w->n; i++) w->bytes[i] = (char)dt_random_below(r, 256);
    switch (w->type) {
    case DT_PB_VARINT: dt_pb_put_int(out, tag, (int64_t)w->value); break;
    case DT_PB_FIXED64:
        w->n = 8;
        memcpy(w->bytes, &(double){(double)w->value}, 8);
        dt_pb_put_double(out, tag, (double)w->value);
        break;
    case DT_PB_BYTES: dt_pb_put_bytes(out, tag, w->bytes, w->n); break;
    default: /* a group with one field in it */
        dt_pb_put_varint(out, (uint64_t)tag);
        w->n = out->size;
        dt_pb_put_int(out, DT_PB_TAG(1, DT_PB_VARINT), (int64_t)w->value);
        w->n = out->size - w->n;
        memcpy(w->bytes, out->data + out->size - w->n, w->n);
        dt_pb_put_varint(out, (uint64_t)DT_PB_TAG(w->number, DT_PB_END_GROUP));
    }
}

/* The number of fields, -1 if one is malformed. From a copy without room behind it, so that
 * sanitizers see what reads too far. */
static int read_all(const char *bytes, size_t n, const written *w, int fields) {
    unsigned char *copy = malloc(n + !n);
    memcpy(copy, bytes, n);
    dt_pb_span s = {copy, copy + n};
    const char *why = "";
    bool whole = true;
    int k = 0;
    for (dt_pb_field f; s.at < s.end && (whole = dt_pb_next(&s, &f, &why)); k++) {
        assert_in_range(k, 0, fields - 1);
        assert_int_equal(f.number, w[k].number);
        assert_int_equal(f.type, w[k].type);
        if (f.type == DT_PB_VARINT) assert_int_equal(f.value, w[k].value);
        else assert_int_equal(f.bytes.end - f.bytes.at, w[k].n);
        if (f.type != DT_PB_VARINT && w[k].n > 0)
            assert_memory_equal(f.bytes.at, w[k].bytes, w[k].n);
    }
    free(copy);
    return whole ? k : -1;
}

static void test_written_fields_are_read_back(void **state) {
    (void)state;
    const uint64_t seed = 20261123;
    print_message("seed %llu\n", (unsigned long long)seed);
    dt_random r = dt_random_stream(seed, "messages", 0);
    dt_str out = {0};
    for (int round = 0; round < 2000; round++) {
        written w[MOST_FIELDS];
        size_t whole[MOST_FIELDS + 1] = {0};
        const int n = (int)dt_random_below(&r, MOST_FIELDS + 1);
        dt_str_clear(&out);
        for (int i = 0; i < n; i++) {
            write_field(&r, &out, &w[i]);
            whole[i + 1] = out.size;
        }
        assert_int_equal(read_all(dt_str_text(&out), out.size, w, n), n);
        const size_t cut = n > 0 ? dt_random_below(&r, (uint32_t)out.size) : 0;
        int fields = 0;
        while (fields < n && whole[fields + 1] <= cut) fields++;
        if (n > 0)
            assert_int_equal(read_all(dt_str_text(&out), cut, w, fields + 1),
                             whole[fields] == cut ? fields : -1);
    }
    dt_str_release(&out);
}

static void test_message_in_place_is_the_message_beside(void **state) {
    (void)state;
    dt_str in_place = {0}, beside = {0}, inner = {0};
    const size_t mark = dt_pb_open(&in_place, DT_PB_TAG(3, DT_PB_BYTES));
    dt_pb_put_text(&in_place, DT_PB_TAG(1, DT_PB_BYTES), "dense/kernel");
    dt_pb_close(&in_place, mark);
    dt_pb_put_text(&inner, DT_PB_TAG(1, DT_PB_BYTES), "dense/kernel");
    dt_pb_move_message(&beside, DT_PB_TAG(3, DT_PB_BYTES), &inner);
    assert_int_equal(inner.size, 0);
    dt_pb_field f[2];
    const dt_str *text[] = {&in_place, &beside};
    for (int i = 0; i < 2; i++) {
        dt_pb_span s = {(const unsigned char *)text[i]->data,
                        (const unsigned char *)text[i]->data + text[i]->size};
        const char *why = "";
        assert_true(dt_pb_next(&s, &f[i], &why));
        assert_ptr_equal(s.at, s.end);
    }
    assert_int_equal(f[0].number, f[1].number);
    assert_int_equal(f[0].bytes.end - f[0].bytes.at, f[1].bytes.end - f[1].bytes.at);
    assert_memory_equal(f[0].bytes.at, f[1].bytes.at, (size_t)(f[0].bytes.end - f[0].bytes.at));
    dt_str_release(&in_place);
    dt_str_release(&beside);
}

static void test_wrong_bytes_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *name;
        unsigned char bytes[16];
        int n;
        const char *why;
    } cases[] = {
        {"field 0", {0x00, 0x01}, 2, ""},
        {"an end of a group alone", {0x0c}, 1, ""},
        {"the end of another group", {0x0b, 0x14}, 2, ""},
        {"wire type 6", {0x0e, 0x01}, 2, ""},
        {"a length beyond the end", {0x0a, 0x05, 'a'}, 3, ""},
        {"a huge length",
         {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
         11,
         ""},
        {"eleven bytes of a number",
         {0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01},
         12,
         "varint too long"},
        {"a tag of 33 bits", {0x88, 0x80, 0x80, 0x80, 0x10, 0x01}, 6, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_pb_span s = {cases[i].bytes, cases[i].bytes + cases[i].n};
        const char *why = "";
        dt_pb_field f;
        if (dt_pb_next(&s, &f, &why))
            fail_msg("%s: taken as field %llu", cases[i].name, (unsigned long long)f.number);
        assert_string_equal(why, cases[i].why);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_fields_are_read_back),
        cmocka_unit_test(test_message_in_place_is_the_message_beside),
        cmocka_unit_test(test_wrong_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
