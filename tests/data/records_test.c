/* SPDX-License-Identifier: Apache-2.0 */
/* Records: checksums against published vectors, good files, and the catalogue of bad ones (D60 to
 * D67, D77 to D81). */
#define HERE "build/tmp/data-records"
#include "files.h"
#include "records.h"

#include "base/random.h"

/* RFC 3720, B.4, as 32-bit numbers. */
static void test_crc32c_matches_the_published_vectors(void **state) {
    unsigned char zeros[32] = {0}, ones[32], up[32], down[32];
    (void)state;
    for (int i = 0; i < 32; i++) {
        ones[i] = 0xff;
        up[i] = (unsigned char)i;
        down[i] = (unsigned char)(31 - i);
    }
    assert_int_equal(dt_crc32c(zeros, 32), 0x8a9136aau);
    assert_int_equal(dt_crc32c(ones, 32), 0x62a8ab43u);
    assert_int_equal(dt_crc32c(up, 32), 0x46dd794eu);
    assert_int_equal(dt_crc32c(down, 32), 0x113fdb5cu);
    assert_int_equal(dt_crc32c("123456789", 9), 0xe3069283u);
    assert_int_equal(dt_crc32c("", 0), 0);
    for (size_t n = 0; n < 32; n++) assert_int_equal(dt_crc32c_masked(up, n), masked_crc(up, n));
}

/* By bits, as RFC 3720 defines it: every length takes another way through stretches, words and
 * bytes, and so does every cut. */
static void test_checksums_of_every_length(void **state) {
    enum { MOST = 20000 };
    static unsigned char bytes[MOST];
    dt_random r = dt_random_stream(1, "checksums", 0);
    (void)state;
    for (int i = 0; i < MOST; i++) bytes[i] = (unsigned char)dt_random_u32(&r);
    uint32_t want = ~0u;
    for (int n = 0; n < MOST; n++) {
        if (n < 1000 || n % 97 == 0) assert_int_equal(dt_crc32c(bytes, (size_t)n), ~want);
        if (n % 97 == 0) {
            const size_t cut = dt_random_below(&r, (uint64_t)n + 1);
            assert_int_equal(dt_crc32c_more(dt_crc32c(bytes, cut), bytes + cut, (size_t)n - cut),
                             ~want);
        }
        want ^= bytes[n];
        for (int bit = 0; bit < 8; bit++) want = want >> 1 ^ (want & 1 ? 0x82f63b78u : 0);
    }
}

/* All records of a file, each followed by '|'. The status is the caller's. */
static dt_status *read_records(const char *name, const dt_record_options *o, dt_str *out) {
    char path[512];
    dt_records r;
    dt_str record = {0};
    bool more = true;
    snprintf(path, sizeof path, HERE "/%s", name);
    dt_status *s = dt_records_open(&r, path, o);
    while (!s && more) {
        s = dt_records_next(&r, &record, &more);
        if (!s && more) {
            dt_str_add(out, dt_str_text(&record), record.size);
            dt_str_putc(out, '|');
        }
    }
    dt_str_release(&record);
    dt_records_close(&r);
    return s;
}

static void reads(const char *name, const dt_record_options *o, const char *want) {
    dt_str all = {0};
    OK(read_records(name, o, &all));
    assert_string_equal(dt_str_text(&all), want);
    dt_str_release(&all);
}

static const dt_record_options tfrecord = {.kind = DT_TFRECORD}, lines = {.kind = DT_TEXT_LINES};

static dt_str three_records(void) {
    dt_str s = {0};
    add_record(&s, "one", 3);
    add_record(&s, "", 0);
    add_record(&s, "three", 5);
    return s;
}

static void test_tfrecords_plain_gzip_and_zlib(void **state) {
    dt_str plain = three_records(), gzip = {0};
    uLongf n = 1024;
    unsigned char z[1024];
    (void)state;
    add_gzip(&gzip, plain.data, plain.size);
    assert_int_equal(compress(z, &n, (Bytef *)plain.data, plain.size), Z_OK);
    write_file("z.tfrecord", z, n);
    write_str("g.tfrecord", &gzip);
    write_str("p.tfrecord", &plain);
    reads("p.tfrecord", &tfrecord, "one||three|");
    reads("g.tfrecord", &tfrecord, "one||three|");
    reads("z.tfrecord", &tfrecord, "one||three|");
    write_file("empty.tfrecord", "", 0);
    reads("empty.tfrecord", &tfrecord, "");
}

static void test_lines_end_with_newline_or_the_file(void **state) {
    dt_str s = {0};
    (void)state;
    write_file("a.txt", "one\r\n\ntwo", 9);
    reads("a.txt", &lines, "one||two|");
    write_file("a.txt", "one\n", 4);
    reads("a.txt", &lines, "one|");
    write_file("a.txt", "", 0);
    reads("a.txt", &lines, "");
    for (int i = 0; i < 100000; i++) /* longer than any window */
        dt_str_putc(&s, 'x');
    dt_str_puts(&s, "\nend");
    write_str("a.txt", &s);
    dt_str all = {0};
    OK(read_records("a.txt", &lines, &all));
    assert_int_equal(all.size, 100005);
    assert_string_equal(all.data + 100000, "|end|");
    dt_str_release(&all);
}

static void test_fixed_records_between_header_and_footer(void **state) {
    (void)state;
    write_file("f.bin", "HHaabbccF", 9);
    reads("f.bin",
          &(dt_record_options){
              .kind = DT_FIXED_LENGTH, .record_bytes = 2, .header_bytes = 2, .footer_bytes = 1},
          "aa|bb|cc|");
    dt_str all = {0};
    expect_fault("uneven",
                 read_records("f.bin",
                              &(dt_record_options){.kind = DT_FIXED_LENGTH,
                                                   .record_bytes = 4,
                                                   .header_bytes = 2,
                                                   .footer_bytes = 1},
                              &all),
                 DT_E_DATA_SIZE, 65, "are not a multiple of the record size");
    expect_fault("too short",
                 read_records("f.bin",
                              &(dt_record_options){.kind = DT_FIXED_LENGTH,
                                                   .record_bytes = 1,
                                                   .header_bytes = 9,
                                                   .footer_bytes = 9},
                              &all),
                 DT_E_DATA_SIZE, 65, "are not a multiple of the record size");
    expect_fault("zero",
                 read_records("f.bin",
                              &(dt_record_options){.kind = DT_FIXED_LENGTH,
                                                   .record_bytes = 0,
                                                   .header_bytes = 0,
                                                   .footer_bytes = 0},
                              &all),
                 DT_E_PIPELINE, 78, "0 bytes");
    dt_str_release(&all);
}

typedef struct bad {
    const char *id;
    size_t cut;      /* bytes kept; 0: all */
    size_t flip;     /* byte that is changed; 0: none */
    const char *add; /* behind it */
    const char *text;
} bad;

/* Records of 3, 0 and 5 bytes begin at 0, 19 and 35. */
static const bad bad_files[] = {
    {"D60", 5, 0, "", "x.tfrecord: cut inside the header of record 0 at offset 0"},
    {"D61", 35 + 12 + 2, 0, "", "x.tfrecord: record 2 at offset 35 cut: has 2 of 5 bytes"},
    {"footer cut", 35 + 12 + 5 + 3, 0, "",
     "x.tfrecord: record 2 at offset 35 cut inside its checksum"},
    {"D62", 0, 35 + 9, "", "x.tfrecord: record 2 at offset 35: length checksum mismatch"},
    {"length", 0, 35 + 1, "", "x.tfrecord: record 2 at offset 35: length checksum mismatch"},
    {"D63", 0, 35 + 12, "", "x.tfrecord: record 2 at offset 35: data checksum mismatch"},
    {"D67", 0, 0, "abc", "x.tfrecord: 3 bytes after the last record, at offset 56"},
    {"D81", 0, 1, "",
     "x.tfrecord: not a TFRecord (record 0 at offset 0: length checksum mismatch)"},
};

static void test_bad_tfrecords_name_record_and_offset(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        const bad *b = &bad_files[i];
        dt_str s = three_records(), all = {0};
        if (b->flip) s.data[b->flip] ^= 16;
        if (b->cut) s.size = b->cut;
        dt_str_puts(&s, b->add);
        write_str("x.tfrecord", &s);
        expect_fault(b->id, read_records("x.tfrecord", &tfrecord, &all), DT_E_RECORD, 65, b->text);
        dt_str_release(&all);
    }
}

static void test_lengths_that_cannot_be_allocate_nothing(void **state) {
    const uint64_t lengths[] = {(uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 3, 1 << 20};
    (void)state;
    for (int i = 0; i < 4; i++) {
        dt_str s = {0}, all = {0};
        char text[80];
        add_header(&s, lengths[i]);
        write_str("x.tfrecord", &s);
        snprintf(text, sizeof text, "record 0 at offset 0 claims %llu bytes, file has 12",
                 (unsigned long long)lengths[i]);
        expect_fault("D64, D65", read_records("x.tfrecord", &tfrecord, &all), DT_E_RECORD, 65,
                     text);
        dt_str_release(&all);
    }
}

static void test_damaged_compression_is_told(void **state) {
    dt_str plain = three_records(), gzip = {0}, all = {0};
    (void)state;
    add_gzip(&gzip, plain.data, plain.size);
    write_file("x.tfrecord", gzip.data, gzip.size / 2);
    expect_fault("D78", read_records("x.tfrecord", &tfrecord, &all), DT_E_GZIP_DAMAGED, 65,
                 "x.tfrecord: gzip stream ends early");
    gzip.data[gzip.size - 7] ^= 1;
    write_file("x.tfrecord", gzip.data, gzip.size);
    expect_fault("D80", read_records("x.tfrecord", &tfrecord, &all), DT_E_GZIP_DAMAGED, 65,
                 "x.tfrecord: gzip checksum mismatch");
    dt_str_release(&plain);
    dt_str_release(&gzip);
    dt_str_release(&all);
}

/* Whatever is done to a file, reading it ends, and gives a prefix of its records or an error. */
static void test_truncations_and_flips_never_invent_records(void **state) {
    dt_str good = three_records();
    (void)state;
    for (size_t i = 0; i < good.size * 9; i++) {
        dt_str s = {0}, all = {0};
        size_t at = i / 9;
        dt_str_add(&s, good.data, i % 9 == 8 ? at : good.size);
        if (i % 9 < 8) s.data[at] = (char)(s.data[at] ^ 1 << i % 9);
        write_str("x.tfrecord", &s);
        dt_status *bad_status = read_records("x.tfrecord", &tfrecord, &all);
        assert_true(bad_status || strcmp(dt_str_text(&all), "one||three|") != 0);
        assert_true(strncmp("one||three|", dt_str_text(&all), all.size) == 0);
        dt_status_free(bad_status);
        dt_str_release(&all);
    }
    dt_str_release(&good);
}

static void test_patterns_and_sets_of_shards(void **state) {
    dt_paths paths = {0};
    (void)state;
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "t-%05d-of-00004", i);
        write_file(name, "", 0);
    }
    OK(dt_paths_match(&paths, HERE, "t-*-of-00004"));
    assert_int_equal(paths.n, 4);
    assert_string_equal(paths.v[2], HERE "/t-00002-of-00004");
    dt_paths_release(&paths);
    unlink(HERE "/t-00002-of-00004");
    expect_fault("D75", dt_paths_match(&paths, HERE, "t-*"), DT_E_NO_INPUT, 66,
                 "t-00002-of-00004: missing; 3 of 4 shards present");
    dt_paths_release(&paths);
    write_file("t-00002-of-00004", "", 0);
    write_file("t-00000-of-00001", "", 0);
    expect_fault("D84", dt_paths_match(&paths, HERE, "t-*"), DT_E_RECORD, 65,
                 "t-*: two sets of shards match, of 1 and of 4");
    dt_paths_release(&paths);
    unlink(HERE "/t-00000-of-00001");
    expect_fault("D76", dt_paths_match(&paths, HERE, "nope-*.tfrecord"), DT_E_NO_INPUT, 66,
                 "no file matches '" HERE "/nope-*.tfrecord'");
    dt_paths_release(&paths);
}

/* Only the pattern has wildcards, not the folder that it is looked for in, and not where a file has
 * that very name. */
static void test_names_that_look_like_patterns(void **state) {
    static const char *const folders[] = {"exp[1]", "exp*", "exp?", "exp\\1"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        dt_paths paths = {0};
        char folder[64], name[96];
        snprintf(folder, sizeof folder, HERE "/%s", folders[i]);
        OK(dt_dir_make(folder));
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "%s/bag-of-words-0000%d-of-00002.csv", folders[i], k);
            write_file(name, "", 0);
        }
        snprintf(name, sizeof name, "%s/a[1].csv", folders[i]);
        write_file(name, "", 0);
        OK(dt_paths_match(&paths, folder, "a[1].csv"));
        OK(dt_paths_match(&paths, folder, "b*.csv"));
        assert_int_equal(paths.n, 3);
        snprintf(name, sizeof name, "%s/a[1].csv", folder);
        assert_string_equal(paths.v[0], name);
        snprintf(name, sizeof name, "%s/bag-of-words-00001-of-00002.csv", folder);
        assert_string_equal(paths.v[2], name);
        unlink(name);
        expect_fault("missing", dt_paths_match(&paths, folder, "b*.csv"), DT_E_NO_INPUT, 66,
                     "bag-of-words-00001-of-00002.csv: missing; 1 of 2 shards present");
        dt_paths_release(&paths);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc32c_matches_the_published_vectors),
        cmocka_unit_test(test_checksums_of_every_length),
        cmocka_unit_test(test_tfrecords_plain_gzip_and_zlib),
        cmocka_unit_test(test_lines_end_with_newline_or_the_file),
        cmocka_unit_test(test_fixed_records_between_header_and_footer),
        cmocka_unit_test(test_bad_tfrecords_name_record_and_offset),
        cmocka_unit_test(test_lengths_that_cannot_be_allocate_nothing),
        cmocka_unit_test(test_damaged_compression_is_told),
        cmocka_unit_test(test_truncations_and_flips_never_invent_records),
        cmocka_unit_test(test_patterns_and_sets_of_shards),
        cmocka_unit_test(test_names_that_look_like_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
