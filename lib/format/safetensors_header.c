/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors: u64 length of the header, little-endian; the header, JSON; the data.
 *
 *     {"dense/kernel": {"dtype": "F32", "shape": [784, 128], "data_offsets": [0, 401408]}, ...,
 *      "__metadata__": {...}}
 *
 * The format is small so that a reader can check all of it: every byte of the data belongs to
 * exactly one tensor, and each tensor has as many bytes as its shape needs. Sizes are compared with
 * the file before anything is allocated, and products are checked for overflow.
 */
#include "format/safetensors_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "file/json_read.h"
#include "format/contents.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "data go to the file as they lie in memory, which must be little-endian");

enum {
    LENGTH_BYTES = 8,
    LONGEST_HEADER = 16 << 20, /* most bytes of a header; enough for about 100,000 tensors */
    LONGEST_NAME = 80,         /* most characters of a tensor's name that a message shows */
};

static const dt_stored_type types[] = {
    {"BOOL", 1, DT_BOOL}, {"U8", 1, DT_UINT8},  {"I8", 1, DT_INT8},     {"I16", 2, DT_INT16},
    {"I32", 4, DT_INT32}, {"I64", 8, DT_INT64}, {"F32", 4, DT_FLOAT32}, {"F64", 8, DT_FLOAT64},
    {"F16", 2, -1},       {"BF16", 2, -1},      {"U16", 2, -1},         {"U32", 4, -1},
    {"U64", 8, -1},       {"C64", 8, -1},       {"F8_E4M3", 1, -1},     {"F8_E5M2", 1, -1},
};
enum { N_TYPES = sizeof types / sizeof *types };

static const dt_stored_type *find_type(const char *name) {
    for (int i = 0; i < N_TYPES; i++)
        if (strcmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

const dt_stored_type *dt_stored_type_of(dt_dtype dtype) {
    for (int i = 0; i < N_TYPES; i++)
        if (types[i].dtype == (int)dtype) return &types[i];
    return NULL;
}

/* ---- the length ---- */

enum { HDF5 }; /* index in `others` */
/* Kinds of files that users pass as safetensors by mistake. If their first bytes are read as a
 * length, it usually exceeds that of any header. */
static const struct {
    const char *bytes;
    size_t n;
    const char *what;
} others[] = {
    [HDF5] = {"\x89HDF\r\n\x1a\n", 8, "an HDF5 file"},
    {"\x80\x02", 2, "a pickle"},
    {"\x80\x03", 2, "a pickle"},
    {"\x80\x04", 2, "a pickle"},
    {"\x80\x05", 2, "a pickle"},
    {"PK\x03\x04", 4, "a zip archive (PyTorch, Keras or NPZ)"},
    {"\x93NUMPY", 6, "an NPY file"},
    {"GGUF", 4, "a GGUF file"},
    {"\x1f\x8b", 2, "gzip data"},
};

/* Whether the first eight bytes are printable ASCII characters, tabs or line breaks. As a length
 * these would exceed the size of any file. */
static bool is_text(const char *bytes) {
    bool is = true;
    for (int i = 0; i < LENGTH_BYTES; i++)
        is = is && ((bytes[i] >= ' ' && bytes[i] <= '~') || bytes[i] == '\n' || bytes[i] == '\r' ||
                    bytes[i] == '\t');
    return is;
}

/* Whether the file looks like a protobuf model (ONNX): a small format version, then another field
 * of the message. */
static bool is_onnx(const char *bytes) {
    return bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 64 && bytes[2] != 0 &&
           strchr("\x12\x1a\x22\x28\x32\x3a\x42", bytes[2]);
}

/* Returns the error about a length that no header has, which names the kind of the file if it is
 * known. first: the first byte of the header, which is '{' in every safetensors file; -1: the file
 * is shorter. */
static dt_status *refuse_length(const char *path, const char *bytes, int first, uint64_t length,
                                int64_t size) {
    const bool no_header = first >= 0 && first != '{';
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (length > LONGEST_HEADER && memcmp(bytes, others[i].bytes, others[i].n) == 0)
            return dt_note(
                dt_fail(DT_E_CHECKPOINT, NULL, "%s: is %s; refused", path, others[i].what), "%s",
                *bytes == others[HDF5].bytes[0] ? DT_CONVERT_HDF5 : DT_SAVE_WEIGHTS);
    if (length > LONGEST_HEADER && is_text(bytes))
        return dt_fail(DT_E_CHECKPOINT, NULL,
                       "%s: is text, not weights; expected a .safetensors or .npz file, or the "
                       "folder of a run",
                       path);
    if (no_header)
        return dt_fail(DT_E_CHECKPOINT, NULL,
                       "%s: is %s; expected a .safetensors or .npz file, or the folder of a run",
                       path, is_onnx(bytes) ? "an ONNX model, not weights" : "no safetensors file");
    if (length > (uint64_t)size - LENGTH_BYTES)
        return dt_fail(DT_E_CHECKPOINT, NULL, "%s: header of %" PRIu64 " bytes, file has %" PRId64,
                       path, length, size);
    return dt_fail(DT_E_CHECKPOINT, NULL, "%s: header of %" PRIu64 " bytes, the limit is %d", path,
                   length, LONGEST_HEADER);
}

static dt_status *read_bytes(dt_safetensors_header *h, int fd, const char *path, int64_t size) {
    unsigned char start[LENGTH_BYTES], first = 0;
    uint64_t length;
    if (size < LENGTH_BYTES)
        return dt_fail(DT_E_CHECKPOINT, NULL,
                       "%s: cut inside the header length: %" PRId64 " of %d bytes", path, size,
                       LENGTH_BYTES);
    DT_TRY(dt_file_pread(fd, path, start, sizeof start, 0));
    memcpy(&length, start, sizeof length);
    if (length > LONGEST_HEADER || length > (uint64_t)size - LENGTH_BYTES) {
        if (size > LENGTH_BYTES) DT_TRY(dt_file_pread(fd, path, &first, 1, LENGTH_BYTES));
        return refuse_length(path, (const char *)start, size > LENGTH_BYTES ? first : -1, length,
                             size);
    }
    h->size = LENGTH_BYTES + (int64_t)length;
    h->bytes = dt_alloc((size_t)h->size);
    return dt_file_pread(fd, path, h->bytes, (size_t)h->size, 0);
}

/* ---- one tensor ---- */

/* The state while a header is checked. */
typedef struct check {
    const char *path;
    int64_t data; /* number of bytes of the file after the header */
    const char *name;
} check;

static dt_status *bad(const check *c, const char *format, ...) DT_PRINTF(2, 3);
static dt_status *bad(const check *c, const char *format, ...) {
    DT_FORMATTED(what, format);
    dt_local_str name = {0};
    dt_str_escaped(&name, c->name, strlen(c->name), LONGEST_NAME);
    return dt_fail(DT_E_CHECKPOINT, NULL, "%s: tensor '%s': %s", c->path, dt_str_text(&name),
                   dt_str_text(&what));
}

static dt_status *read_type(const check *c, const json_t *value, dt_stored_tensor *t) {
    const char *name = json_string_value(value);
    if (!name) return bad(c, "'dtype' must be a string");
    t->type = find_type(name);
    return t->type ? NULL : bad(c, "unknown dtype '%.20s'", name);
}

static dt_status *read_shape(const check *c, const json_t *list, dt_stored_tensor *t) {
    size_t rank = json_array_size(list);
    if (!json_is_array(list)) return bad(c, "'shape' must be a list of sizes");
    if (rank > DT_MAX_RANK)
        return bad(c, "has %zu dimensions, at most %d are possible", rank, DT_MAX_RANK);
    t->rank = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_integer(value)) return bad(c, "'shape' must be a list of sizes");
        t->dim[i] = json_integer_value(value);
        if (t->dim[i] < 0) return bad(c, "size %" PRId64 " in 'shape' is negative", t->dim[i]);
    }
    return NULL;
}

static dt_status *read_offsets(const check *c, const json_t *list, dt_stored_tensor *t) {
    const json_t *begin = json_array_get(list, 0), *end = json_array_get(list, 1);
    if (json_array_size(list) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return bad(c, "'data_offsets' must be two numbers");
    t->begin = json_integer_value(begin);
    t->end = json_integer_value(end);
    if (t->begin < 0 || t->begin > t->end)
        return bad(c, "bytes %" PRId64 "..%" PRId64, t->begin, t->end);
    if (t->end > c->data)
        return bad(c, "bytes %" PRId64 "..%" PRId64 " of %" PRId64, t->begin, t->end, c->data);
    return NULL;
}

static dt_status *check_bytes(const check *c, const dt_stored_tensor *t) {
    int64_t bytes = t->type->size;
    for (int i = 0; i < t->rank; i++)
        if (!dt_mul_fits(bytes, t->dim[i], &bytes)) return bad(c, "shape overflows");
    if (bytes == t->end - t->begin) return NULL;
    dt_type shape = dt_type_of(DT_UINT8, t->rank, t->dim);
    return bad(c, "%s %s needs %" PRId64 " bytes, has %" PRId64, dt_text_of_shape(&shape).s,
               t->type->name, bytes, t->end - t->begin);
}

static dt_status *read_tensor(const check *c, const json_t *entry, dt_stored_tensor *t) {
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    if (!json_is_object(entry)) return bad(c, "must be an object");
    for (int i = 0; i < 3; i++)
        if (!json_object_get(entry, keys[i])) return bad(c, "has no '%s'", keys[i]);
    if (json_object_size(entry) != 3)
        return bad(c, "has keys besides 'dtype', 'shape' and 'data_offsets'");
    t->name = c->name;
    DT_TRY(read_type(c, json_object_get(entry, "dtype"), t));
    DT_TRY(read_shape(c, json_object_get(entry, "shape"), t));
    DT_TRY(read_offsets(c, json_object_get(entry, "data_offsets"), t));
    return check_bytes(c, t);
}

/* ---- all tensors ---- */

static dt_status *check_metadata(const char *path, json_t *metadata) {
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return dt_fail(DT_E_CHECKPOINT, NULL, "%s: '__metadata__' must be an object", path);
    json_object_foreach(metadata, key, value) if (!json_is_string(value)) return dt_fail(
        DT_E_CHECKPOINT, NULL, "%s: '__metadata__' must hold strings only", path);
    return NULL;
}

static dt_status *read_tensors(dt_safetensors_header *h, check *c) {
    json_t *entry;
    h->tensor = dt_alloc(dt_size_mul(json_object_size(h->root), sizeof *h->tensor));
    json_object_foreach(h->root, c->name, entry) {
        if (strcmp(c->name, "__metadata__") == 0) DT_TRY(check_metadata(c->path, entry));
        else DT_TRY(read_tensor(c, entry, &h->tensor[h->n++]));
    }
    return NULL;
}

static int by_begin(const void *pa, const void *pb) {
    const dt_stored_tensor *a = pa, *b = pb;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Checks that the first tensor begins with the data, each other one where the previous one ends,
 * and that the last one ends with the file. The tensors are sorted by their first byte. */
static dt_status *check_tiling(const dt_safetensors_header *h, const check *c) {
    int64_t at = 0;
    for (int i = 0; i < h->n; at = h->tensor[i++].end) {
        const dt_stored_tensor *t = &h->tensor[i];
        if (t->begin < at)
            return dt_fail(DT_E_CHECKPOINT, NULL, "%s: tensors '%.*s' and '%.*s' overlap", c->path,
                           LONGEST_NAME, t[-1].name, LONGEST_NAME, t->name);
        if (t->begin > at)
            return dt_fail(DT_E_CHECKPOINT, NULL,
                           "%s: bytes %" PRId64 "..%" PRId64 " belong to no tensor", c->path, at,
                           t->begin);
    }
    if (at < c->data)
        return dt_fail(DT_E_CHECKPOINT, NULL,
                       "%s: bytes %" PRId64 "..%" PRId64 " belong to no tensor", c->path, at,
                       c->data);
    return NULL;
}

dt_status *dt_header_read(dt_safetensors_header *h, int fd, const char *path, int64_t size) {
    *h = (dt_safetensors_header){0};
    DT_TRY(read_bytes(h, fd, path, size));
    if (h->size == LENGTH_BYTES || h->bytes[LENGTH_BYTES] != '{')
        return dt_fail(DT_E_CHECKPOINT, NULL,
                       "%s: header is not JSON (offset 0): it must begin with '{'", path);
    dt_json_text text = {
        path,           "header", "tensor", h->bytes + LENGTH_BYTES, (size_t)h->size - LENGTH_BYTES,
        DT_E_CHECKPOINT};
    DT_TRY(dt_json_parse(&text, &h->root));
    check c = {.path = path, .data = size - h->size};
    DT_TRY(read_tensors(h, &c));
    qsort(h->tensor, (size_t)h->n, sizeof *h->tensor, by_begin);
    return check_tiling(h, &c);
}

void dt_header_release(dt_safetensors_header *h) {
    json_decref(h->root);
    free(h->tensor);
    free(h->bytes);
    *h = (dt_safetensors_header){0};
}
