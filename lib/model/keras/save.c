/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a .keras archive, as Keras' model.save() does: metadata.json, config.json and
 * model.weights.h5. Or writes model.weights.h5 alone, as model.save_weights() does. The date is
 * left out, so that equal models give equal files. */
#include <zlib.h>

#include "file/file.h"
#include "file/zip.h"
#include "model/keras/keras_impl.h"

static const char metadata[] = "{\"keras_version\": \"3.15.1\", \"date_saved\": \"\"}";

/* ---- the weights ---- */

typedef struct member {
    uint32_t crc;
    int64_t bytes;
    dt_archive *to; /* archive to write to; NULL: the bytes are only counted */
} member;

/* crc32 accepts lengths of 32 bits, so bytes are processed in parts. */
static dt_status *put(void *user, const void *bytes, size_t n) {
    member *m = user;
    m->bytes += (int64_t)n;
    if (m->to) return dt_archive_put(m->to, bytes, n);
    for (size_t at = 0, step = 1 << 30; at < n; at += step)
        m->crc = (uint32_t)crc32(m->crc, (const Bytef *)bytes + at,
                                 (uInt)(n - at < step ? n - at : step));
    return NULL;
}

/* The checksum of a stored member precedes its bytes, so the file is generated twice. */
static dt_status *put_weights(dt_archive *a, const dt_hdf5_item *item, int n) {
    member m = {0};
    DT_TRY(dt_hdf5_write(item, n, &(dt_hdf5_sink){put, &m}));
    DT_TRY(dt_archive_begin(a, "model.weights.h5", m.crc, m.bytes));
    m.to = a;
    return dt_hdf5_write(item, n, &(dt_hdf5_sink){put, &m});
}

/* ---- the archive ---- */

static dt_status *put_text(dt_archive *a, const char *name, const char *text, size_t n) {
    DT_TRY(dt_archive_begin(a, name, (uint32_t)crc32(0, (const Bytef *)text, (uInt)n), (int64_t)n));
    return dt_archive_put(a, text, n);
}

static dt_status *put_all(dt_archive *a, const dt_str *config, const dt_hdf5_item *item, int n) {
    DT_TRY(put_text(a, "metadata.json", metadata, sizeof metadata - 1));
    DT_TRY(put_text(a, "config.json", dt_str_text(config), config->size));
    DT_TRY(put_weights(a, item, n));
    return dt_archive_put_directory(a);
}

dt_status *dt_keras_save(const dt_model *m, const dt_arrays *weights, const char *name,
                         const char *path) {
    dt_local_arena arena = dt_arena_create();
    dt_output o = {0};
    dt_archive a = {.file = &o.file};
    dt_local_str config = {0};
    dt_hdf5_item *item = NULL;
    int n = 0;
    dt_status *bad = dt_keras_config_print(arena, m, name, &config);
    if (!bad) bad = dt_keras_weights_list(arena, &m->spec, weights, &item, &n);
    if (!bad) bad = dt_output_open(&o, path);
    if (!bad) bad = put_all(&a, &config, item, n);
    if (!bad) bad = dt_output_finish(&o);
    dt_archive_release(&a);
    dt_output_close(&o);
    return bad;
}

static dt_status *put_in_file(void *user, const void *bytes, size_t n) {
    return dt_writer_put(&((dt_output *)user)->file, bytes, n);
}

dt_status *dt_keras_save_weights(const dt_model *m, const dt_arrays *weights, const char *path) {
    dt_local_arena arena = dt_arena_create();
    dt_output o = {0};
    dt_hdf5_item *item = NULL;
    int n = 0;
    dt_status *bad = dt_keras_weights_list(arena, &m->spec, weights, &item, &n);
    if (!bad) bad = dt_output_open(&o, path);
    if (!bad) bad = dt_hdf5_write(item, n, &(dt_hdf5_sink){put_in_file, &o});
    if (!bad) bad = dt_output_finish(&o);
    dt_output_close(&o);
    return bad;
}
