/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NPY, written by numpy.save: a magic string, a version, the length of the header, and the header,
 * which is the text of a Python dictionary with type, order and shape (numpy/lib/format.py). The
 * three versions differ in the width of the length and in the encoding of the text.
 *
 *     \x93NUMPY 01 00 76 00 {'descr': '<f4', 'fortran_order': False, 'shape': (64, 4), }   \n
 *
 * The text is read by a reader for this form of dictionary only; nothing in it is evaluated. Object
 * arrays contain pickles and are refused. NPZ is a ZIP archive of NPY files (numpy.savez): `train:
 * {x: data.npz, y: data.npz/labels}`.
 */
#include <string.h>

#include "file/array.h"
#include "file/examples.h"

enum { MAGIC = 6, LONGEST_HEADER = 65536, LONGEST_DESCR = 32 };

typedef struct reader {
    const char *path, *at, *end;
    dt_header *out;
    bool has_descr, has_order, has_shape;
} reader;

/* ---- the dictionary ---- */

static dt_status *not_a_dictionary(const reader *r) {
    return dt_fail(
        DT_E_DATA_FILE, NULL,
        "%s: header is not of the form {'descr': '<f4', 'fortran_order': False, 'shape': (64, 4)}",
        r->path);
}

static void skip_blanks(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t')) r->at++;
}

/* Skips blanks, and the character c if it follows them. Returns whether c followed. */
static bool skip_char(reader *r, char c) {
    skip_blanks(r);
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

static bool take_word(reader *r, const char *word) {
    size_t n = strlen(word);
    skip_blanks(r);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

/* Reads 'text' or "text" without escapes, shorter than `room`. */
static bool take_string(reader *r, char *out, size_t room) {
    char quote = skip_char(r, '\'') ? '\'' : skip_char(r, '"') ? '"' : '\0';
    if (!quote) return false;
    const char *close = memchr(r->at, quote, (size_t)(r->end - r->at));
    if (!close || (size_t)(close - r->at) >= room) return false;
    memcpy(out, r->at, (size_t)(close - r->at));
    out[close - r->at] = '\0';
    r->at = close + 1;
    return true;
}

typedef struct descr_row {
    const char *text;
    dt_dtype dtype;
    dt_wire wire;
} descr_row;

static const descr_row descrs[] = {
    {"b1", DT_BOOL, DT_WIRE_BOOL},    {"u1", DT_UINT8, DT_WIRE_SAME},
    {"i1", DT_INT8, DT_WIRE_SAME},    {"i2", DT_INT16, DT_WIRE_SAME},
    {"u2", DT_INT32, DT_WIRE_U16},    {"i4", DT_INT32, DT_WIRE_SAME},
    {"u4", DT_INT64, DT_WIRE_U32},    {"i8", DT_INT64, DT_WIRE_SAME},
    {"u8", DT_INT64, DT_WIRE_U64},    {"f2", DT_FLOAT32, DT_WIRE_F16},
    {"f4", DT_FLOAT32, DT_WIRE_SAME}, {"f8", DT_FLOAT64, DT_WIRE_SAME},
};

static const descr_row *find_descr(const char *text) {
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++)
        if (strcmp(descrs[i].text, text) == 0) return &descrs[i];
    return NULL;
}

static dt_status *set_descr(reader *r, const char *text) {
    if (text[0] != '\0' && text[1] == 'O')
        return dt_fail(DT_E_DATA_TYPE, NULL, "%s: object arrays (pickle) are not supported",
                       r->path);
    const descr_row *row = text[0] != '\0' ? find_descr(text + 1) : NULL;
    if (!row || !strchr("<>|=", text[0]))
        return dt_fail(DT_E_DATA_TYPE, NULL,
                       "%s: type '%s' is not supported; bool, integers of 8 to 64 bits and floats "
                       "of 16 to 64 bits are",
                       r->path, text);
    int size = dt_wire_size(row->dtype, row->wire);
    if (size > 1 && text[0] != '<' && text[0] != '>')
        return dt_fail(DT_E_DATA_TYPE, NULL, "%s: type '%s' has no byte order", r->path, text);
    r->out->type.dtype = row->dtype;
    r->out->wire = row->wire;
    r->out->swap = size > 1 && (text[0] == '<') != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return NULL;
}

static dt_status *read_descr(reader *r) {
    char text[LONGEST_DESCR];
    if (skip_char(r, '['))
        return dt_fail(
            DT_E_DATA_TYPE, NULL,
            "%s: structured arrays are not supported; save each field as a separate array",
            r->path);
    if (!take_string(r, text, sizeof text)) return not_a_dictionary(r);
    return set_descr(r, text);
}

static dt_status *read_order(reader *r, bool *fortran) {
    *fortran = take_word(r, "True");
    return *fortran || take_word(r, "False") ? NULL : not_a_dictionary(r);
}

static dt_status *read_dim(reader *r, int64_t *out) {
    char digits[32];
    size_t n = 0;
    skip_blanks(r);
    bool negative = skip_char(r, '-');
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9' && n < sizeof digits - 1)
        digits[n++] = *r->at++;
    digits[n] = '\0';
    if (n == 0) return not_a_dictionary(r);
    if (negative)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: negative dimension -%s", r->path, digits);
    if (!dt_parse_int64(digits, out))
        return dt_fail(DT_E_DATA_SIZE, NULL, "%s: shape overflows: dimension %s", r->path, digits);
    skip_char(r, 'L'); /* Python 2 wrote an L after long integers */
    return NULL;
}

static dt_status *read_shape(reader *r) {
    dt_type *t = &r->out->type;
    if (!skip_char(r, '(')) return not_a_dictionary(r);
    while (!skip_char(r, ')')) {
        if (t->rank == DT_MAX_RANK)
            return dt_fail(DT_E_DATA_FILE, NULL, "%s: more than %d dimensions", r->path,
                           DT_MAX_RANK);
        DT_TRY(read_dim(r, &t->dim[t->rank++]));
        bool comma = skip_char(r, ',');
        if (!comma && !(r->at < r->end && *r->at == ')')) return not_a_dictionary(r);
    }
    return NULL;
}

static dt_status *read_entry(reader *r, bool *fortran) {
    char key[16];
    bool *seen;
    if (!take_string(r, key, sizeof key) || !skip_char(r, ':')) return not_a_dictionary(r);
    seen = strcmp(key, "descr") == 0           ? &r->has_descr
           : strcmp(key, "fortran_order") == 0 ? &r->has_order
           : strcmp(key, "shape") == 0         ? &r->has_shape
                                               : NULL;
    if (!seen || *seen) return not_a_dictionary(r);
    *seen = true;
    return seen == &r->has_descr   ? read_descr(r)
           : seen == &r->has_order ? read_order(r, fortran)
                                   : read_shape(r);
}

static dt_status *read_dictionary(reader *r) {
    bool fortran = false;
    if (!skip_char(r, '{')) return not_a_dictionary(r);
    while (!skip_char(r, '}')) {
        DT_TRY(read_entry(r, &fortran));
        bool comma = skip_char(r, ',');
        if (!comma && !(r->at < r->end && *r->at == '}')) return not_a_dictionary(r);
    }
    skip_blanks(r);
    if (r->at != r->end || !r->has_descr || !r->has_order || !r->has_shape)
        return not_a_dictionary(r);
    r->out->fortran = fortran && r->out->type.rank > 1; /* the order does not matter for vectors */
    return NULL;
}

/* ---- the header around the dictionary ---- */

static dt_status *read_magic(dt_inflow *f, const char *path, int *version, int64_t *at) {
    unsigned char magic[MAGIC + 2], first[DT_PEEK];
    int64_t got, n;
    DT_TRY(dt_inflow_peek(f, first, DT_PEEK, &n));
    DT_TRY(dt_inflow_read(f, magic, sizeof magic, &got));
    *at = got;
    if (got < MAGIC || memcmp(magic, "\x93NUMPY", MAGIC) != 0)
        return dt_not_this_file(path, "an NPY file", first, n);
    if (got < (int64_t)sizeof magic)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: header cut at byte %lld of %d", path,
                       (long long)got, MAGIC + 2);
    *version = magic[MAGIC];
    if (*version < 1 || *version > 3)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: NPY version %d.%d; versions 1, 2 and 3 are read",
                       path, *version, magic[MAGIC + 1]);
    return NULL;
}

static dt_status *read_length(dt_inflow *f, const char *path, int version, int64_t *at,
                              int64_t *length) {
    unsigned char b[4] = {0};
    DT_TRY(dt_header_bytes(f, path, b, version == 1 ? 2 : 4, at));
    *length = b[0] | b[1] << 8 | b[2] << 16 | (int64_t)b[3] << 24;
    if (*length > LONGEST_HEADER)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: header of %lld bytes exceeds the limit of %d",
                       path, (long long)*length, LONGEST_HEADER);
    return NULL;
}

dt_status *dt_npy_header(dt_inflow *f, const char *path, dt_header *out) {
    int version = 0;
    int64_t at = 0, length = 0;
    *out = (dt_header){.wire = DT_WIRE_SAME};
    DT_TRY(read_magic(f, path, &version, &at));
    DT_TRY(read_length(f, path, version, &at, &length));
    DT_LOCAL char *text = dt_alloc((size_t)length + 1);
    dt_status *s = dt_header_bytes(f, path, text, length, &at);
    out->offset = at;
    if (!s)
        s = read_dictionary(&(reader){.path = path, .at = text, .end = text + length, .out = out});
    return s;
}

/* ---- writing ---- */

enum { FRONT = 10, BLOCK = 64 }; /* the data begins at a multiple of 64 bytes */

static const char *const printed[] = {
    [DT_BOOL] = "|b1",     [DT_UINT8] = "|u1",  [DT_INT8] = "|i1",    [DT_INT16] = "<i2",
    [DT_INT32] = "<i4",    [DT_INT64] = "<i8",  [DT_FLOAT32] = "<f4", [DT_FLOAT64] = "<f8",
    [DT_UINT16] = "<u2",   [DT_UINT32] = "<u4", [DT_UINT64] = "<u8",  [DT_FLOAT16] = "<f2",
    [DT_BFLOAT16] = "<V2", /* the form of ml_dtypes, because NumPy has no name for bfloat16 */
};

void dt_npy_print_header(const dt_type *t, size_t bytes, dt_str *out) {
    dt_local_str text = {0};
    dt_str_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", printed[t->dtype]);
    for (int d = 0; d < t->rank; d++)
        dt_str_printf(&text, "%lld%s", (long long)t->dim[d],
                      d + 1 < t->rank ? ", "
                      : t->rank == 1  ? ","
                                      : "");
    dt_str_puts(&text, "), }");
    size_t all = (FRONT + text.size + BLOCK) / BLOCK * BLOCK;
    dt_str_pad(&text, 0, (int)((all < bytes ? bytes : all) - FRONT - 1));
    dt_str_putc(&text, '\n');
    dt_str_add(out, "\x93NUMPY\x01\x00", 8);
    dt_str_add(out, (const unsigned char[]){text.size & 255, text.size >> 8}, 2);
    dt_str_add(out, text.data, text.size);
}

dt_type dt_output_type(const dt_element_spec *c, int64_t rows) {
    dt_type t = dt_type_of(c->type.dtype, c->type.rank + 1, (const int64_t[DT_MAX_RANK]){0});
    memcpy(t.dim + 1, c->type.dim, (size_t)c->type.rank * sizeof *t.dim);
    t.dim[0] = rows;
    return t;
}

static dt_status *begin_npy(dt_output *o) {
    if (o->of < 0 && !o->temporary)
        return dt_fail(DT_E_ROW_FORMAT, NULL,
                       "an NPY file begins with the number of rows, which is not known in advance: "
                       "write to a file, "
                       "or csv or jsonl");
    const dt_type t = dt_output_type(&o->column[0], o->of >= 0 ? o->of : DT_MOST_ROWS);
    dt_npy_print_header(&t, 0, &o->text);
    return NULL;
}

static dt_status *put_npy(dt_output *o, const void *const *row) {
    dt_str_add(&o->text, row[0], (size_t)dt_type_bytes(&o->column[0].type));
    return NULL;
}

static dt_status *finish_npy(dt_output *o) {
    dt_local_str room = {0}, head = {0};
    const dt_type was = dt_output_type(&o->column[0], DT_MOST_ROWS),
                  is = dt_output_type(&o->column[0], o->rows);
    if (o->of == o->rows) return NULL;
    if (!o->temporary)
        return dt_fail(DT_E_INTERNAL, NULL, "expected %lld rows, got %lld", (long long)o->of,
                       (long long)o->rows);
    dt_npy_print_header(&was, 0, &room);
    dt_npy_print_header(&is, room.size, &head);
    DT_TRY(dt_writer_seek(&o->file, 0));
    return dt_writer_put(&o->file, head.data, head.size);
}

/* ---- the format ---- */

static bool sniff(const unsigned char *first, int64_t n) {
    return n >= MAGIC && memcmp(first, "\x93NUMPY", MAGIC) == 0;
}

static dt_status *open_npy(dt_row_source *s) { return dt_array_source_open(s, dt_npy_header); }

static dt_status *open_part(const dt_format_request *r, dt_examples **out) {
    return dt_arrays_open_part(r, dt_npy_header, true, out);
}

static const dt_format_writer writer = {.begin = begin_npy, .put = put_npy, .finish = finish_npy};

const dt_format dt_format_npy = {
    .kind = {.name = "npy",
             .about = "NPY files, as numpy.save writes them, or members of an NPZ: one array per "
                      "element, one row per example; may be gzipped",
             .aliases = (const char *const[]){"npz", NULL}},
    .suffix = {".npy"},
    .content = DT_CONTENT_ARRAY,
    .sniff = sniff,
    .open = open_npy,
    .check = dt_arrays_check,
    .open_part = open_part,
    .writer = &writer,
};
