/* SPDX-License-Identifier: Apache-2.0 */
/* NPZ files as files of named arrays. Each member NAME.npy is read twice: once for its type, and
 * again for its values, including its checksum. */
#include <string.h>
#include <zlib.h>

#include "file/array.h"
#include "file/file.h"
#include "file/zip.h"
#include "format/format.h"
#include "format/contents.h"

static bool ends_in(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* Returns the name of a member without .npy, in the arena; NULL: the member is not an array. */
static const char *array_name(dt_arena *arena, const char *member) {
    return ends_in(member, ".npy")
               ? dt_arena_printf(arena, "%.*s", (int)(strlen(member) - 4), member)
               : NULL;
}

static dt_status *open_array(const dt_stored_arrays *s, const dt_zip_member *m, dt_inflow **in,
                             dt_header *h) {
    DT_TRY(dt_zip_open(in, s->path, m));
    dt_local_str name = {0};
    dt_str_printf(&name, "%s/%.200s", s->path, m->name);
    return dt_npy_header(*in, dt_str_text(&name), h);
}

static dt_status *read_type(const dt_stored_arrays *s, const dt_zip_member *m, dt_stored_array *a) {
    dt_header h = {0};
    dt_inflow *in = NULL;
    dt_status *bad = open_array(s, m, &in, &h);
    dt_inflow_close(in);
    if (bad) return bad;
    a->type = h.type;
    a->known = h.wire == DT_WIRE_SAME && !h.swap && (!h.fortran || h.type.rank < 2);
    a->dtype = a->known ? dt_dtype_name(h.type.dtype) : "of another type or order";
    a->member = m;
    return NULL;
}

static dt_status *read_values(const dt_stored_arrays *s, const dt_stored_array *a, void *data) {
    dt_header h = {0};
    dt_inflow *in = NULL;
    int64_t wanted = dt_type_bytes(&a->type), got = 0;
    char end;
    dt_status *bad = open_array(s, a->member, &in, &h);
    if (!bad && !dt_type_equal(&h.type, &a->type))
        bad = dt_fail(DT_E_FILE_CHANGED, NULL, "%s: '%.200s' changed while it was read", s->path,
                      a->name);
    if (!bad) bad = dt_inflow_read(in, data, wanted, &got);
    if (!bad && got < wanted)
        bad = dt_fail(DT_E_CHECKPOINT, NULL, "%s: '%.200s' has %lld of %lld bytes", s->path,
                      a->name, (long long)got, (long long)wanted);
    if (!bad) /* Reading to the end of the member verifies its checksum. */
        bad = dt_inflow_read(in, &end, 1, &got);
    dt_inflow_close(in);
    return bad;
}

/* Checks the size that a header claims before memory is allocated: deflated data expands at most
 * about 1,032 times. */
static dt_status *check_size(const dt_stored_arrays *s, const dt_stored_array *a,
                             const dt_zip_member *m) {
    int64_t bytes = dt_type_bytes(&a->type);
    if (bytes <= m->size && m->size / 1100 <= m->packed) return NULL;
    return dt_fail(DT_E_CHECKPOINT, NULL,
                   "%s: '%.200s' cannot hold the %lld bytes that its header declares", s->path,
                   a->name, (long long)bytes);
}

/* Refuses members that overlap, which could make a small file expand to a huge amount of data. */
static dt_status *check_room(const dt_stored_arrays *s, const dt_zip *zip) {
    int64_t bytes = 0;
    for (int i = 0; i < zip->n; i++)
        if (!dt_add_fits(bytes, zip->member[i].packed, &bytes) || bytes > s->size)
            return dt_fail(DT_E_CHECKPOINT, NULL, "%s: its members overlap", s->path);
    return NULL;
}

/* Returns the error for an archive without arrays, which names the kind of the archive if it is
 * known, and says how to convert it. */
static dt_status *no_arrays(const dt_stored_arrays *s, const dt_zip *zip) {
    static const struct {
        const char *end, *what, *hint;
    } rows[] = {
        {"model.weights.h5", "a .keras file, whose weights are HDF5", DT_CONVERT_HDF5},
        {"data.pkl", "a PyTorch file, whose weights are pickled", DT_SAVE_WEIGHTS},
    };
    const char *what = "an archive without arrays (.npy)", *hint = DT_SAVE_WEIGHTS;
    for (int i = 0; i < zip->n; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            if (strcmp(zip->member[i].name, rows[k].end) == 0 ||
                ends_in(zip->member[i].name, rows[k].end)) {
                what = rows[k].what;
                hint = rows[k].hint;
            }
    return dt_note(dt_fail(DT_E_CHECKPOINT, NULL, "%s: is %s; refused", s->path, what), "%s", hint);
}

dt_status *dt_stored_npz(dt_stored_arrays *s) {
    dt_zip zip;
    DT_TRY(dt_zip_read(s->arena, s->path, &zip));
    DT_TRY(check_room(s, &zip));
    s->array = dt_arena_array(s->arena, dt_stored_array, zip.n + 1);
    s->read = read_values;
    for (int i = 0; i < zip.n; i++) {
        const char *name = array_name(s->arena, zip.member[i].name);
        dt_stored_array *a = &s->array[s->n];
        if (!name) continue;
        *a = (dt_stored_array){.name = name, .bytes = zip.member[i].packed};
        DT_TRY(read_type(s, &zip.member[i], a));
        DT_TRY(check_size(s, a, &zip.member[i]));
        s->n++;
    }
    return s->n > 0 ? NULL : no_arrays(s, &zip);
}

/* ---- writing ---- */

/* Returns the CRC-32 of a member: of the NPY header and then the array's data. crc32 accepts
 * lengths of 32 bits, so the data is processed in parts. */
static uint32_t crc_of(const dt_str *header, const dt_named_view *a) {
    int64_t n = dt_type_bytes(&a->type), step = 1 << 30;
    uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)header->data, (uInt)header->size);
    for (int64_t at = 0; at < n; at += step)
        crc = crc32(crc, (const Bytef *)a->data + at, (uInt)(n - at < step ? n - at : step));
    return (uint32_t)crc;
}

static dt_status *put_member(dt_archive *a, const dt_named_view *x) {
    dt_local_str name = {0}, header = {0};
    dt_str_printf(&name, "%s.npy", x->name);
    dt_npy_print_header(&x->type, 0, &header);
    const int64_t bytes = dt_type_bytes(&x->type);
    DT_TRY(
        dt_archive_begin(a, dt_str_text(&name), crc_of(&header, x), (int64_t)header.size + bytes));
    DT_TRY(dt_archive_put(a, header.data, header.size));
    return dt_archive_put(a, x->data, (size_t)bytes);
}

static dt_status *put_all(dt_archive *a, const dt_arrays *x) {
    for (int i = 0; i < x->n; i++) DT_TRY(put_member(a, &x->array[i]));
    return dt_archive_put_directory(a);
}

dt_status *dt_npz_write(const char *path, const dt_arrays *x) {
    dt_output o = {0};
    dt_archive a = {.file = &o.file};
    dt_status *s = dt_output_open(&o, path);
    if (!s) s = put_all(&a, x);
    if (!s) s = dt_output_finish(&o);
    dt_archive_release(&a);
    dt_output_close(&o);
    return s;
}
