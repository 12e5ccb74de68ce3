/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue of bad data files (D01 to D36, D82, D83 and more of gzip), for both formats that
 * read files. */
#define HERE "build/tmp/data-bad-files"
#include "files.h"

#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>

typedef struct header_case {
    const char *id;
    int version;
    const char *dictionary;
    size_t payload; /* zero bytes behind the header */
    int number;     /* 0: opens */
    const char *text;
} header_case;

#define SHAPE(shape) "{'descr': '<f4', 'fortran_order': False, 'shape': " shape ", }"
static const header_case npy_cases[] = {
    {"good", 1, SHAPE("(64, 4)"), 1024, 0, NULL},
    {"version 2", 2, SHAPE("(64, 4)"), 1024, 0, NULL},
    {"version 3", 3, SHAPE("(64, 4)"), 1024, 0, NULL},
    {"version 4", 4, SHAPE("(64, 4)"), 1024, DT_E_DATA_FILE,
     "x.npy: NPY version 4.0; versions 1, 2 and 3 are read"},
    {"double quotes, other order", 1,
     "{\"shape\":(64,4),\"fortran_order\":False,\"descr\":\"<f4\"}", 1024, 0, NULL},
    {"Python 2 numbers", 1, SHAPE("(64L, 4L)"), 1024, 0, NULL},
    {"vector in Fortran order", 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (256,), }",
     1024, 0, NULL},
    {"D07 list", 1, "['descr', '<f4']", 1024, DT_E_DATA_FILE,
     "x.npy: header is not of the form {'descr':"},
    {"D07 empty", 1, "", 1024, DT_E_DATA_FILE, "x.npy: header is not of the form"},
    {"D07 open", 1, "{'descr': '<f4', ", 1024, DT_E_DATA_FILE, "header is not of the form"},
    {"D07 key missing", 1, "{'descr': '<f4', 'shape': (64, 4)}", 1024, DT_E_DATA_FILE,
     "header is not of the form"},
    {"D07 key twice", 1,
     "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (64, 4)}", 1024,
     DT_E_DATA_FILE, "not of the form"},
    {"D07 unknown key", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 4), 'a': 1}",
     1024, DT_E_DATA_FILE, "not of the form"},
    {"D07 text after it", 1, SHAPE("(64, 4)") " x", 1024, DT_E_DATA_FILE, "not of the form"},
    {"D07 no comma", 1, SHAPE("(64 4)"), 1024, DT_E_DATA_FILE, "not of the form"},
    {"D07 order", 1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (64, 4)}", 1024, DT_E_DATA_FILE,
     "not of the form"},
    {"D08", 1, "{'descr': '|O', 'fortran_order': False, 'shape': (64, 4), }", 1024, DT_E_DATA_TYPE,
     "x.npy: object arrays (pickle) are not supported"},
    {"D10", 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (64, 4), }", 1024, 0, NULL},
    {"D10 large", 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (262145, 1024), }", 1,
     DT_E_TOO_LARGE, "x.npy: Fortran order, and more than 268435456 bytes"},
    {"complex", 1, "{'descr': '<c8', 'fortran_order': False, 'shape': (64, 4), }", 2048,
     DT_E_DATA_TYPE, "x.npy: type '<c8' is not supported"},
    {"text", 1, "{'descr': '<U4', 'fortran_order': False, 'shape': (64,), }", 1024, DT_E_DATA_TYPE,
     "x.npy: type '<U4' is not supported"},
    {"no descr", 1, "{'descr': '', 'fortran_order': False, 'shape': (64,), }", 1024, DT_E_DATA_TYPE,
     "x.npy: type '' is not supported"},
    {"no byte order", 1, "{'descr': '=f4', 'fortran_order': False, 'shape': (64, 4), }", 1024,
     DT_E_DATA_TYPE, "type '=f4' has no byte order"},
    {"structured", 1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (64,), }", 256,
     DT_E_DATA_TYPE, "structured arrays are not supported"},
    {"D11", 1, SHAPE("(65536, 65536)"), 0, DT_E_DATA_SIZE,
     "x.npy: shape (65536, 65536) needs 17179869184 bytes, file has 0"},
    {"D12", 1, SHAPE("(8589934592, 8589934592)"), 0, DT_E_DATA_SIZE,
     "x.npy: shape (8589934592, 8589934592) overflows 64 bits"},
    {"D12 bytes", 1, SHAPE("(4611686018427387904,)"), 0, DT_E_DATA_SIZE,
     "x.npy: declares 4611686018427387904 values, file has 128 bytes"},
    {"D12 dimension", 1, SHAPE("(99999999999999999999, 4)"), 0, DT_E_DATA_SIZE,
     "x.npy: shape overflows: dimension 99999999999999999999"},
    {"D13", 1, SHAPE("(-1, 4)"), 0, DT_E_DATA_FILE, "x.npy: negative dimension -1"},
    {"D14", 1, SHAPE("(64, 4)"), 1019, DT_E_DATA_SIZE,
     "x.npy: 1019 of 1024 data bytes present (offset 128)"},
    {"D15", 1, SHAPE("(64, 4)"), 1031, DT_E_DATA_SIZE, "x.npy: 7 bytes after the end of the data"},
    {"D15 one", 1, SHAPE("(64, 4)"), 1025, DT_E_DATA_SIZE,
     "x.npy: 1 byte after the end of the data"},
    {"D20", 1, SHAPE("(0, 4)"), 0, DT_E_DATA_EMPTY, "x.npy: no examples"},
    {"single value", 1, SHAPE("()"), 4, DT_E_DATA_FILE,
     "x.npy: holds a single value, not rows of examples"},
    {"rows of nothing", 1, SHAPE("(4, 0)"), 0, DT_E_DATA_FILE,
     "x.npy: shape (4, 0) has empty rows"},
    {"nine dimensions", 1, SHAPE("(2, 1, 1, 1, 1, 1, 1, 1, 1)"), 8, DT_E_DATA_FILE,
     "x.npy: more than 8 dimensions"},
};

static void check(const char *id, dt_status *s, int number, const char *text) {
    if (number == 0) OK(s);
    else expect_fault(id, s, number, dt_error_find(number)->exit_code, text);
}

/* Returns the next file descriptor, which rises while files stay open. */
static int next_descriptor(void) {
    const int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}

static void test_npy_headers(void **state) {
    (void)state;
    const int next = next_descriptor();
    for (size_t i = 0; i < sizeof npy_cases / sizeof *npy_cases; i++) {
        const header_case *c = &npy_cases[i];
        dt_str s = npy_header(c->version, c->dictionary);
        for (size_t k = 0; k < c->payload; k++) dt_str_putc(&s, 0);
        write_str("x.npy", &s);
        check(c->id, open_one("npy", HERE "/x.npy"), c->number, c->text);
    }
    assert_int_equal(next_descriptor(), next);
}

typedef struct raw_case {
    const char *id, *format;
    const char *bytes;
    size_t n;
    int number;
    const char *text;
} raw_case;

#define RAW(text) text, sizeof text - 1
#define IDX16                                                                                      \
    "\0\0\0\0"                                                                                     \
    "\0\0\0\0"                                                                                     \
    "\0\0\0\0"                                                                                     \
    "\0\0\0\0"
static const raw_case raw_cases[] = {
    {"D03", "npy", RAW(""), DT_E_DATA_FILE, "x: file is empty"},
    {"D04", "npy", RAW("this is text\n"), DT_E_DATA_FILE,
     "x: not an NPY file (first bytes 74 68 69 73)"},
    {"D04 one byte", "npy", RAW("\x93"), DT_E_DATA_FILE, "x: not an NPY file (first bytes 93)"},
    {"D05", "npy", RAW("\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_orde"), DT_E_DATA_FILE,
     "x: header cut at byte 40 of 128"},
    {"D05 length", "npy", RAW("\x93NUMPY\1\0\x76"), DT_E_DATA_FILE,
     "x: header cut at byte 9 of 10"},
    {"D05 version", "npy", RAW("\x93NUMPY\1"), DT_E_DATA_FILE, "x: header cut at byte 7 of 8"},
    {"D06", "npy", RAW("\x93NUMPY\2\0\xff\xff\xff\xff{'descr': "), DT_E_DATA_FILE,
     "x: header of 4294967295 bytes exceeds the limit of 65536"},
    {"D27", "npy", RAW("\x89HDF\r\n\x1a\n\0\0\0\0"), DT_E_DATA_FILE,
     "x: is an HDF5 file, not an NPY file"},
    {"NPZ", "npy", RAW("PK\3\4\x14\0\0\0\0\0"), DT_E_DATA_FILE,
     "x: damaged ZIP archive: its end record is missing, so it was truncated"},
    {"NPZ for IDX", "idx", RAW("PK\3\4\x14\0\0\0\0\0"), DT_E_DATA_FILE,
     "x: is a ZIP archive (as .xlsx, .npz and .keras files are), not an IDX file"},
    {"pickle", "npy", RAW("\x80\4\x95\0\0\0\0\0\0"), DT_E_DATA_FILE,
     "x: is a Python pickle, not an NPY file"},
    {"IDX for NPY", "npy", RAW("\0\0\x08\1\0\0\0\2ab"), DT_E_DATA_FILE,
     "x: is an IDX file, not an NPY file"},
    {"NPY for IDX", "idx", RAW("\x93NUMPY\1\0\x76\0{"), DT_E_DATA_FILE,
     "x: is an NPY file, not an IDX file"},
    {"empty IDX", "idx", RAW(""), DT_E_DATA_FILE, "x: file is empty"},
    {"D30", "idx", RAW("\1\2\3\4\0\0\0\2ab"), DT_E_DATA_FILE,
     "x: not an IDX file (first bytes 01 02 03 04)"},
    {"D31", "idx",
     RAW("\0\0\x08\2\xff\xff\xff\xff\xff\xff\xff\xff"
         "abcd"),
     DT_E_DATA_SIZE, "x: declares 18446744065119617025 values, file has 16 bytes"},
    {"D31 three", "idx", RAW("\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
     DT_E_DATA_SIZE, "overflows 64 bits"},
    {"D32", "idx", RAW("\0\0\x08\2\0\0\0\4\0\0\0\5" IDX16), DT_E_DATA_SIZE,
     "x: 16 of 20 data bytes present (offset 12)"},
    {"D32 none", "idx", RAW("\0\0\x08\2\0\0\0\4\0\0\0\5"), DT_E_DATA_SIZE,
     "x: shape (4, 5) needs 20 bytes, file has 0"},
    {"trailing", "idx", RAW("\0\0\x08\2\0\0\0\3\0\0\0\5" IDX16), DT_E_DATA_SIZE,
     "x: 1 byte after the end of the data"},
    {"D33", "idx", RAW("\0\0\x0a\1\0\0\0\2ab"), DT_E_DATA_FILE, "x: unknown type code 0x0a"},
    {"D34", "idx", RAW("\0\0\x08\xff\0\0\0\2ab"), DT_E_DATA_FILE,
     "x: 255 dimensions; at least 1, at most 8"},
    {"no dimensions", "idx", RAW("\0\0\x08\0a"), DT_E_DATA_FILE,
     "x: 0 dimensions; at least 1, at most 8"},
    {"cut magic", "idx", RAW("\0\0\x08"), DT_E_DATA_FILE, "x: header cut at byte 3 of 4"},
    {"cut sizes", "idx", RAW("\0\0\x08\3\0\0\0\2ab"), DT_E_DATA_FILE,
     "x: header cut at byte 10 of 16"},
    {"no examples", "idx", RAW("\0\0\x08\1\0\0\0\0"), DT_E_DATA_EMPTY, "x: no examples"},
};

static void test_raw_files(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof raw_cases / sizeof *raw_cases; i++) {
        const raw_case *c = &raw_cases[i];
        write_file("x", c->bytes, c->n);
        check(c->id, open_one(c->format, HERE "/x"), c->number, c->text);
    }
}

/* ---- what a path may name ---- */

static void test_paths(void **state) {
    (void)state;
    OK(dt_dir_make(HERE "/directory"));
    unlink(HERE "/fifo");
    unlink(HERE "/loop");
    assert_int_equal(mkfifo(HERE "/fifo", 0600), 0);
    assert_int_equal(symlink("loop", HERE "/loop"), 0);
    for (int i = 0; i < 2; i++) {
        const char *format = i ? "npy" : "idx";
        expect_fault("D01", open_one(format, HERE "/nope"), DT_E_NO_INPUT, 66,
                     HERE "/nope: no such file");
        expect_fault("D02", open_one(format, HERE "/directory"), DT_E_NOT_REGULAR, 66,
                     "directory: is a directory");
        expect_fault("D22", open_one(format, HERE "/fifo"), DT_E_NOT_REGULAR, 66,
                     "fifo: not a regular file");
        expect_fault("D23", open_one(format, "/dev/zero"), DT_E_NOT_REGULAR, 66,
                     "/dev/zero: not a regular file");
        expect_fault("D24", open_one(format, HERE "/loop"), DT_E_NOT_REGULAR, 66,
                     "loop: too many levels of symbolic links");
    }
}

static void test_unreadable_file(void **state) {
    (void)state;
    if (geteuid() == 0) {
        print_message("root may read every file\n");
        skip();
    }
    write_file("secret", "x", 1);
    assert_int_equal(chmod(HERE "/secret", 0), 0);
    expect_fault("D25", open_one("npy", HERE "/secret"), DT_E_PERMISSION, 77, "permission denied");
    chmod(HERE "/secret", 0600);
}

static void test_names_are_printed_escaped(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_status *s = dt_dataset_open(&d, "{format: npy, train: {x: \"%s\"}, global_batch_size: 8}",
                                   "a\\n\\e[2Jb");
    assert_int_equal(dt_status_code(s), 66);
    char *text = dt_status_format(s);
    assert_null(strchr(text, '\x1b'));
    assert_non_null(strstr(text, "\\x0a\\x1b[2Jb: no such file"));
    free(text);
    dt_status_free(s);
}

/* Places point at the path in the job file. */
static void test_faults_have_places(void **state) {
    (void)state;
    write_file("x", "\0\0\x0a\1\0\0\0\2ab", 10);
    dt_dataset *d = NULL;
    dt_status *s = dt_dataset_open(&d, "format: idx\ntrain:\n  image: " HERE "/x\n  label: " HERE
                                       "/nope\nglobal_batch_size: 8\n");
    /* both files, the missing one first: exit codes 66 before 65 */
    assert_int_equal(dt_status_count(s), 2);
    assert_int_equal(dt_status_code(s), 66);
    assert_int_equal(dt_status_line(s), 4);
    assert_int_equal(dt_status_column(s), 10);
    const dt_status *next = dt_status_next(s);
    assert_int_equal(dt_status_code(next), 65);
    assert_int_equal(dt_status_line(next), 3);
    dt_status_free(s);
}

/* ---- several files ---- */

static void test_counts_differ(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    static const float zero[256];
    write_npy("x.npy", "<f4", "(64, 4)", zero, sizeof zero);
    write_npy("y.npy", "<f4", "(60,)", zero, 240);
    expect_fault("D16",
                 dt_dataset_open(&d, "{format: npy, train: {x: " HERE "/x.npy, y: " HERE
                                     "/y.npy}, global_batch_size: 8}"),
                 DT_E_DATA_ROWS, 65, HERE "/x.npy has 64 rows, " HERE "/y.npy has 60");
    write_idx("x.idx", 2, (uint32_t[]){64, 4});
    write_idx("y.idx", 1, (uint32_t[]){60});
    expect_fault("D35",
                 dt_dataset_open(&d, "{format: idx, train: {x: " HERE "/x.idx, y: " HERE
                                     "/y.idx}, global_batch_size: 8}"),
                 DT_E_DATA_ROWS, 65, HERE "/x.idx has 64 rows, " HERE "/y.idx has 60");
}

static void test_parts_differ(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    write_idx("a.idx", 3, (uint32_t[]){4, 2, 3});
    write_idx("b.idx", 3, (uint32_t[]){4, 3, 2});
    expect_fault(
        "shape",
        dt_dataset_open(&d, "{format: idx, train: {x: " HERE "/a.idx}, validation: {x: " HERE
                            "/b.idx}, global_batch_size: 2}"),
        DT_E_DATA_SHAPE, 65, HERE "/b.idx: examples of 'x' are ui8[3,2], those of train ui8[2,3]");
}

/* ---- labels ---- */

static void check_labels(const char *id, const char *descr, const void *values, size_t n,
                         int64_t classes, int number, const char *text) {
    dt_dataset *d = NULL;
    write_npy("y.npy", descr, "(8,)", values, n);
    OK(dt_dataset_open(&d, "{format: npy, train: {y: " HERE "/y.npy}, global_batch_size: 4}"));
    check(id, dt_dataset_check_labels(d, 0, classes), number, text);
    dt_dataset_unref(d);
}

static void test_labels_out_of_range(void **state) {
    (void)state;
    const int32_t large[8] = {0, 1, 2, 0, 1, 2, 0, 99}, small[8] = {0, 1, 2, 0, 1, 2, 0, -1},
                  two[8] = {0, 1, 2, 0, 1, 2, 0, 1};
    const float real[8] = {0, 1, 1.5F, 0, 0, 0, 0, 0}, whole[8] = {0, 1, 1, 0, 0, 0, 0, 1},
                far[8] = {0, 1, 1, 0, 0, 0, 0, 2e10F};
    const double not_one[8] = {0, 1, (double)NAN, 0};
    const uint8_t bytes[8] = {0, 1, 2, 3, 4, 5, 6, 200};
    check_labels("good", "<i4", two, sizeof two, 3, 0, NULL);
    check_labels("D17", "<i4", large, sizeof large, 3, DT_E_LABEL_RANGE,
                 "y.npy: label 99 at row 7 is outside [0, 3)");
    check_labels("D18", "<i4", small, sizeof small, 3, DT_E_LABEL_RANGE,
                 "y.npy: label -1 at row 7 is outside [0, 3)");
    check_labels("M08", "<i4", two, sizeof two, 2, DT_E_LABEL_RANGE,
                 "y.npy: label 2 at row 2 is outside [0, 2)");
    check_labels("D19", "<f4", real, sizeof real, 2, DT_E_LABEL_RANGE,
                 "y.npy: label 1.5 at row 2 is no whole number in [0, 2)");
    check_labels("whole", "<f4", whole, sizeof whole, 2, 0, NULL);
    check_labels("far", "<f4", far, sizeof far, 2, DT_E_LABEL_RANGE,
                 "y.npy: label 20000000000 at row 7 is outside [0, 2)");
    check_labels("nan", "<f8", not_one, sizeof not_one, 2, DT_E_LABEL_RANGE,
                 "y.npy: label nan at row 2 is no whole number in [0, 2)");
    check_labels("bytes", "|u1", bytes, sizeof bytes, 10, DT_E_LABEL_RANGE,
                 "y.npy: label 200 at row 7 is outside [0, 10)");
}

/* Rows are counted in the file, also where they are validation's by split; one_hot looks when the
 * data is opened. */
static void test_one_hot_checks_all_rows(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    const int64_t labels[8] = {0, 1, 2, 0, 1, 2, 0, 3};
    const float real[8] = {0};
    write_npy("y.npy", "<i8", "(8,)", labels, sizeof labels);
    expect_fault(
        "split",
        dt_dataset_open(
            &d, "{format: npy, train: {y: " HERE
                "/y.npy}, validation_split: 0.25, map: {y: [one_hot: 3]}, global_batch_size: 4}"),
        DT_E_LABEL_RANGE, 65, "y.npy: label 3 at row 7 is outside [0, 3)");
    write_npy("y.npy", "<f4", "(8,)", real, sizeof real);
    expect_fault("reals",
                 dt_dataset_open(&d, "{format: npy, train: {y: " HERE
                                     "/y.npy}, map: {y: [one_hot: 3]}, global_batch_size: 4}"),
                 DT_E_DATA_TYPE, 65, "y.npy: one_hot needs integers, got float32");
}

/* A value above int64 is refused, not wrapped. */
static void test_unsigned_values_too_large(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    const uint64_t values[8] = {1, 2, 3, 4, 5, UINT64_C(1) << 63, 7, 8};
    write_npy("y.npy", "<u8", "(4, 2)", values, sizeof values);
    OK(dt_dataset_open(&d, "{format: npy, train: {y: " HERE "/y.npy}, global_batch_size: 4}"));
    expect_fault("uint64", dt_dataset_check_labels(d, 0, 10), DT_E_DATA_TYPE, 65,
                 "y.npy: a value of row 2 does not fit int64");
    dt_dataset_unref(d);
}

/* ---- flipped bits ---- */

/* D29: every header with one bit flipped opens or is refused in an orderly way, and what opens can
 * be read. */
static void test_flipped_bits(void **state) {
    (void)state;
    int opened = 0;
    dt_str good = npy_header(1, SHAPE("(8, 4)"));
    for (int i = 0; i < 128; i++) dt_str_putc(&good, (char)i);
    for (size_t at = 0; at < 128; at++)
        for (int bit = 0; bit < 8; bit++) {
            dt_dataset *d = NULL;
            good.data[at] = (char)(good.data[at] ^ 1 << bit);
            write_file("x.npy", good.data, good.size);
            good.data[at] = (char)(good.data[at] ^ 1 << bit);
            dt_status *s = dt_dataset_open(&d, "{format: npy, train: {x: " HERE
                                               "/x.npy}, global_batch_size: 8}");
            if (s) {
                assert_int_equal(dt_status_code(s), 65);
                dt_status_free(s);
                continue;
            }
            dt_type type;
            free(read_all(d, 0, &type));
            dt_dataset_unref(d);
            opened++;
        }
    dt_str_release(&good);
    assert_in_range(opened, 1, 1023);
}

/* ---- files that change ---- */

/* D82: a plain file is read when its rows are first wanted; if it has become shorter, that is
 * said. */
static void test_file_cut_while_in_use(void **state) {
    (void)state;
    static const float zero[256];
    dt_dataset *d = NULL;
    dt_iterator *f = NULL;
    dt_example b;
    write_npy("x.npy", "<f4", "(64, 4)", zero, sizeof zero);
    OK(dt_dataset_open(&d, "{format: npy, train: {x: " HERE "/x.npy}, global_batch_size: 8}"));
    assert_int_equal(truncate(HERE "/x.npy", 200), 0);
    OK(dt_iterator_open_batches(&f, d, &(dt_batch_options){.batch = 8}));
    dt_status *s = dt_iterator_next_batch(f, &b);
    assert_int_equal(b.rows, 0);
    expect_fault("D82", s, DT_E_FILE_CHANGED, 65, "x.npy");
    OK(dt_iterator_next_batch(f, &b)); /* reported once; then the data ends */
    assert_int_equal(b.rows, 0);
    dt_iterator_close(f);
    dt_dataset_unref(d);
}

/* Once read, a file may go. */
static void test_file_cut_after_reading(void **state) {
    (void)state;
    static const float zero[256];
    dt_dataset *d = NULL;
    dt_type t;
    write_npy("x.npy", "<f4", "(64, 4)", zero, sizeof zero);
    OK(dt_dataset_open(&d, "{format: npy, train: {x: " HERE "/x.npy}, global_batch_size: 8}"));
    free(read_all(d, 0, &t));
    assert_int_equal(truncate(HERE "/x.npy", 200), 0);
    free(read_all(d, 0, &t));
    dt_dataset_unref(d);
}

/* ---- gzip ---- */

static dt_str idx_64x4(void) {
    dt_str s = idx_header(8, 2, (uint32_t[]){64, 4});
    for (int i = 0; i < 256; i++) dt_str_putc(&s, (char)i);
    return s;
}

static void test_gzip_damaged(void **state) {
    (void)state;
    dt_str plain = idx_64x4(), z = {0};
    add_gzip(&z, plain.data, plain.size);
    write_file("x.gz", z.data, z.size);
    OK(open_one("idx", HERE "/x.gz"));
    write_file("x.gz", z.data, z.size / 2);
    expect_fault("cut", open_one("idx", HERE "/x.gz"), DT_E_GZIP_DAMAGED, 65,
                 "x.gz: gzip stream ends early");
    write_file("x.gz", z.data, z.size - 1);
    expect_fault("cut by a byte", open_one("idx", HERE "/x.gz"), DT_E_GZIP_DAMAGED, 65,
                 "x.gz: gzip stream ends early");
    z.data[z.size - 8] ^= 1;
    write_file("x.gz", z.data, z.size);
    expect_fault("D80", open_one("idx", HERE "/x.gz"), DT_E_GZIP_DAMAGED, 65,
                 "x.gz: gzip checksum mismatch");
    z.data[z.size - 8] ^= 1;
    z.data[z.size - 1] ^= 1;
    write_file("x.gz", z.data, z.size);
    expect_fault("length", open_one("idx", HERE "/x.gz"), DT_E_GZIP_DAMAGED, 65,
                 "x.gz: gzip length mismatch");
    z.data[z.size - 1] ^= 1;
    z.data[10] = (char)0xff;
    write_file("x.gz", z.data, z.size);
    expect_fault("block", open_one("idx", HERE "/x.gz"), DT_E_GZIP_DAMAGED, 65,
                 "x.gz: gzip data is damaged");
    dt_str_release(&plain);
    dt_str_release(&z);
}

static void test_gzip_ends_elsewhere(void **state) {
    (void)state;
    dt_str plain = idx_64x4(), z = {0};
    add_gzip(&z, plain.data, plain.size);
    dt_str_puts(&z, "garbage");
    write_str("x.gz", &z);
    expect_fault("garbage", open_one("idx", HERE "/x.gz"), DT_E_GZIP_DAMAGED, 65,
                 "x.gz: something that is not gzip follows");
    add_gzip(&z, plain.data, plain.size - 6);
    write_str("x.gz", &z);
    expect_fault("short", open_one("idx", HERE "/x.gz"), DT_E_DATA_SIZE, 65,
                 "x.gz: 250 of 256 data bytes present (offset 12)");
    dt_str_puts(&plain, "more");
    add_gzip(&z, plain.data, plain.size);
    write_str("x.gz", &z);
    expect_fault("long", open_one("idx", HERE "/x.gz"), DT_E_DATA_SIZE, 65,
                 "x.gz: 4 bytes after the end of the data");
    dt_str_release(&plain);
}

static int64_t peak_kib(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/*
 * 16 MiB of zeros in 16 KiB: what is after the data is counted to a limit and never kept; a header
 * that declares more than any file of that size can hold is refused before anything is allocated.
 */
static void test_gzip_bombs(void **state) {
    (void)state;
    int64_t before = peak_kib();
    dt_str plain = idx_64x4(), z = {0};
    void *zeros = calloc(1, 16 << 20);
    assert_non_null(zeros);
    add_gzip(&z, plain.data, plain.size);
    add_gzip(&z, zeros, 16 << 20);
    write_str("x.gz", &z);
    expect_fault("tail", open_one("idx", HERE "/x.gz"), DT_E_DATA_SIZE, 65,
                 "x.gz: at least 65536 bytes after the end of the data");
    dt_str head = idx_header(8, 2, (uint32_t[]){1 << 20, 1 << 20});
    add_gzip(&z, head.data, head.size);
    write_str("x.gz", &z);
    expect_fault("declared", open_one("idx", HERE "/x.gz"), DT_E_DATA_SIZE, 65,
                 "x.gz: declares 1099511627776 bytes, more than");
    dt_str_release(&plain);
    dt_str_release(&head);
    free(zeros);
    assert_in_range(peak_kib() - before, 0, 200 << 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_headers),
        cmocka_unit_test(test_raw_files),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_unreadable_file),
        cmocka_unit_test(test_names_are_printed_escaped),
        cmocka_unit_test(test_faults_have_places),
        cmocka_unit_test(test_counts_differ),
        cmocka_unit_test(test_parts_differ),
        cmocka_unit_test(test_labels_out_of_range),
        cmocka_unit_test(test_one_hot_checks_all_rows),
        cmocka_unit_test(test_unsigned_values_too_large),
        cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_file_cut_while_in_use),
        cmocka_unit_test(test_file_cut_after_reading),
        cmocka_unit_test(test_gzip_damaged),
        cmocka_unit_test(test_gzip_ends_elsewhere),
        cmocka_unit_test(test_gzip_bombs),
    };
    return cmocka_run_group_tests_name("bad files", tests, NULL, NULL);
}
