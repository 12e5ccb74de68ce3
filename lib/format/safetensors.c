/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and reads safetensors files; safetensors_header.c describes the format.
 *
 * Tensors are ordered by the size of their elements, the largest first, after a header padded to a
 * multiple of 8, so that every tensor is aligned for readers that map the file. If a hash is
 * wanted, another thread computes it while bytes are written or read.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "format/format.h"
#include "format/safetensors_header.h"

/* the most bytes that are read or compared at a time, or written while another thread hashes them;
 * they fit into the cache of a core */
static const size_t block = 1 << 18;

/* ---- writing ---- */

/* Returns the arrays in the order of their data in the file: those with the largest elements first,
 * otherwise as given. The caller frees the list. */
static const dt_named_view **file_order(const dt_arrays *a) {
    const dt_named_view **order = dt_alloc(dt_size_mul((size_t)a->n, sizeof *order));
    int k = 0;
    for (size_t size = 8; size > 0; size /= 2)
        for (int i = 0; i < a->n; i++)
            if (dt_dtype_size(a->array[i].type.dtype) == size) order[k++] = &a->array[i];
    return order;
}

static void put_entry(dt_json *j, const dt_named_view *a, int64_t begin) {
    dt_json_open(j, a->name, '{');
    dt_json_string(j, "dtype", dt_stored_type_of(a->type.dtype)->name);
    dt_json_ints(j, "shape", a->type.dim, a->type.rank);
    dt_json_open(j, "data_offsets", '[');
    dt_json_int(j, NULL, begin);
    dt_json_int(j, NULL, begin + dt_type_bytes(&a->type));
    dt_json_close(j, ']');
    dt_json_close(j, '}');
}

/* The pairs of the header's member `__metadata__`; n 0: the header does not have it. */
typedef struct metadata {
    const dt_pair *pair;
    int n;
} metadata;

static void put_metadata(dt_json *j, const metadata *m) {
    dt_json_open(j, "__metadata__", '{');
    for (int i = 0; i < m->n; i++) dt_json_string(j, m->pair[i].key, m->pair[i].value);
    dt_json_close(j, '}');
}

static void put_header(dt_str *out, const dt_named_view *const *order, int n, const metadata *m) {
    int64_t at = 0;
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    if (m->n > 0) put_metadata(&j, m);
    for (int i = 0; i < n; i++) {
        put_entry(&j, order[i], at);
        at += dt_type_bytes(&order[i]->type);
    }
    dt_json_close(&j, '}');
    while (out->size % 8) dt_str_putc(out, ' ');
}

/* A file being written, and the hash of the bytes so far. */
typedef struct hashed_writer {
    dt_writer file;
    dt_hash_thread *hash;
} hashed_writer;

static dt_status *put(hashed_writer *w, const void *bytes, size_t n) {
    dt_hash_put(w->hash, bytes, n);
    for (const char *p = bytes; n > 0;) {
        size_t part = n < block ? n : block;
        DT_TRY(dt_writer_put(&w->file, p, part));
        p += part;
        n -= part;
    }
    return NULL;
}

static dt_status *put_all(hashed_writer *w, const dt_str *header, const dt_named_view *const *order,
                          int n) {
    uint64_t length = header->size;
    DT_TRY(put(w, &length, sizeof length));
    DT_TRY(put(w, header->data, header->size));
    /* Waits, since the length and the header are freed after this function. */
    dt_hash_wait(w->hash);
    for (int i = 0; i < n; i++)
        DT_TRY(put(w, order[i]->data, (size_t)dt_type_bytes(&order[i]->type)));
    DT_TRY(dt_writer_sync(&w->file));
    return dt_writer_close(&w->file);
}

static dt_status *write_file(const char *path, const dt_arrays *a, const metadata *m,
                             dt_hash_thread **hash) {
    hashed_writer w;
    *hash = NULL;
    DT_TRY(dt_writer_open(&w.file, path));
    w.hash = dt_hash_begin();
    DT_LOCAL const dt_named_view **order = file_order(a);
    dt_local_str header = {0};
    put_header(&header, order, a->n, m);
    dt_status *s = put_all(&w, &header, order, a->n);
    if (s) {
        dt_hash_end(w.hash);
        dt_writer_abandon(&w.file);
    } else {
        *hash = w.hash;
    }
    return s;
}

dt_status *dt_safetensors_put(dt_writer *w, const dt_arrays *a) {
    DT_LOCAL const dt_named_view **order = file_order(a);
    dt_local_str header = {0};
    put_header(&header, order, a->n, &(metadata){0});
    const uint64_t length = header.size;
    dt_status *s = dt_writer_put(w, &length, sizeof length);
    if (!s) s = dt_writer_put(w, header.data, header.size);
    for (int i = 0; i < a->n && !s; i++)
        s = dt_writer_put(w, order[i]->data, (size_t)dt_type_bytes(&order[i]->type));
    return s;
}

dt_status *dt_safetensors_write_hashing(const char *path, const dt_arrays *a,
                                        dt_hash_thread **hash) {
    return write_file(path, a, &(metadata){0}, hash);
}

dt_status *dt_safetensors_write(const char *path, const dt_arrays *a, dt_digest *digest) {
    dt_hash_thread *hash;
    DT_TRY(dt_safetensors_write_hashing(path, a, &hash));
    *digest = dt_hash_end(hash);
    return NULL;
}

dt_status *dt_safetensors_export(const char *path, const dt_arrays *a, const dt_pair *pair, int n) {
    dt_hash_thread *hash;
    dt_local_str temporary = {0};
    char *target;
    DT_TRY(dt_file_target(path, &target));
    dt_str_printf(&temporary, "%s.tmp", target);
    dt_status *s = write_file(dt_str_text(&temporary), a, &(metadata){pair, n}, &hash);
    if (hash) dt_hash_end(hash);
    if (!s) s = dt_file_adopt(dt_str_text(&temporary), target);
    free(target);
    return s;
}

/* ---- comparing ---- */

/* A file whose tensors are compared with arrays, and the position in the file. */
typedef struct comparing {
    int fd;
    const char *path;
    char *buffer; /* [block] bytes of the file */
    int64_t at;
} comparing;

static dt_status *compare_bytes(comparing *c, const void *bytes, size_t n) {
    for (const char *p = bytes; n > 0;) {
        size_t part = n < block ? n : block;
        DT_TRY(dt_file_pread(c->fd, c->path, c->buffer, part, c->at));
        if (memcmp(c->buffer, p, part) != 0)
            return dt_fail(DT_E_CHECKPOINT, NULL, "%s: other bytes within %zu from %" PRId64,
                           c->path, part, c->at);
        c->at += (int64_t)part;
        p += part;
        n -= part;
    }
    return NULL;
}

static dt_status *compare_all(comparing *c, int64_t size, const dt_str *header,
                              const dt_named_view *const *order, int n) {
    uint64_t length = header->size;
    DT_TRY(compare_bytes(c, &length, sizeof length));
    DT_TRY(compare_bytes(c, header->data, header->size));
    for (int i = 0; i < n; i++)
        DT_TRY(compare_bytes(c, order[i]->data, (size_t)dt_type_bytes(&order[i]->type)));
    return c->at == size ? NULL
                         : dt_fail(DT_E_CHECKPOINT, NULL, "%s: has %" PRId64 " bytes, not %" PRId64,
                                   c->path, size, c->at);
}

dt_status *dt_safetensors_compare(const char *path, const dt_arrays *a) {
    int64_t size;
    comparing c = {.path = path};
    DT_TRY(dt_file_open(path, &c.fd, &size));
    c.buffer = dt_alloc(block);
    DT_LOCAL const dt_named_view **order = file_order(a);
    dt_local_str header = {0};
    put_header(&header, order, a->n, &(metadata){0});
    dt_status *s = compare_all(&c, size, &header, order, a->n);
    free(c.buffer);
    close(c.fd);
    return s;
}

/* ---- reading: finding the array for each tensor ---- */

typedef struct reading {
    int fd;
    const char *path;
    dt_hash_thread *hash; /* the hash of the bytes read so far; NULL: no hash is wanted */
    bool some;            /* whether the file may have tensors that are not among the arrays */
    /* whether only weights are loaded, so that counters of random numbers may be missing or
     * extra */
    bool weights;
} reading;

static int by_name(const void *pa, const void *pb) {
    const dt_named_view *const *a = pa, *const *b = pb;
    return strcmp((*a)->name, (*b)->name);
}

/* Returns the arrays sorted by name. The caller frees the list. */
static const dt_named_view **name_order(const dt_arrays *a) {
    const dt_named_view **order = dt_alloc(dt_size_mul((size_t)a->n, sizeof *order));
    for (int i = 0; i < a->n; i++) order[i] = &a->array[i];
    qsort(order, (size_t)a->n, sizeof *order, by_name);
    return order;
}

static int find(const dt_named_view *const *order, int n, const char *name) {
    dt_named_view key = {.name = name};
    const dt_named_view *wanted = &key, *const *found = NULL;
    if (n > 0) found = bsearch(&wanted, order, (size_t)n, sizeof *order, by_name);
    return found ? (int)(found - order) : -1;
}

static dt_status *other_shape(const char *path, const dt_stored_tensor *t, const dt_type *wanted) {
    dt_type stored = dt_type_of(wanted->dtype, t->rank, t->dim);
    return dt_fail(DT_E_CHECKPOINT_MODEL, NULL, "%s: tensor '%s': checkpoint has %s, model has %s",
                   path, t->name, dt_text_of_shape(&stored).s, dt_text_of_shape(wanted).s);
}

static dt_status *compare(const char *path, const dt_stored_tensor *t, const dt_type *wanted) {
    if (t->type->dtype != (int)wanted->dtype)
        return dt_fail(DT_E_CHECKPOINT_MODEL, NULL,
                       "%s: tensor '%s': checkpoint has dtype %s, model has %s", path, t->name,
                       t->type->name, dt_stored_type_of(wanted->dtype)->name);
    if (t->rank != wanted->rank ||
        memcmp(t->dim, wanted->dim, sizeof *t->dim * (size_t)t->rank) != 0)
        return other_shape(path, t, wanted);
    return NULL;
}

/* Sets target[i] to the array for tensor i of the file; NULL if the tensor is not requested.
 * Reports all differences. */
static dt_status *match(const reading *r, const dt_safetensors_header *h, const dt_arrays *a,
                        const dt_named_view **target) {
    const char *path = r->path;
    dt_status *errors = NULL;
    DT_LOCAL const dt_named_view **order = name_order(a);
    DT_LOCAL bool *found = dt_alloc((size_t)a->n);
    for (int i = 0; i < h->n; i++) {
        const dt_stored_tensor *t = &h->tensor[i];
        int k = find(order, a->n, t->name);
        if (k < 0 && (r->some || (r->weights && dt_is_seed_counter(t->name)))) continue;
        if (k < 0) {
            dt_status_append(&errors,
                             dt_fail(DT_E_CHECKPOINT_MODEL, NULL,
                                     "%s: tensor '%.200s' is unknown to the model", path, t->name));
            continue;
        }
        found[k] = true;
        target[i] = order[k];
        dt_status_append(&errors, compare(path, t, &order[k]->type));
    }
    for (int k = 0; k < a->n; k++)
        if (!found[k] && !(r->weights && dt_is_seed_counter(order[k]->name)))
            dt_status_append(&errors, dt_fail(DT_E_CHECKPOINT_MODEL, NULL,
                                              "%s: tensor '%s' is missing", path, order[k]->name));
    return errors;
}

/* ---- reading: the data ---- */

static dt_status *read_data(const reading *r, char *data, int64_t n, int64_t offset) {
    for (int64_t at = 0; at < n; at += (int64_t)block) {
        size_t part = n - at < (int64_t)block ? (size_t)(n - at) : block;
        DT_TRY(dt_file_pread(r->fd, r->path, data + at, part, offset + at));
        if (r->hash) dt_hash_put(r->hash, data + at, part);
    }
    return NULL;
}

static dt_status *read_tensor(const reading *r, const dt_safetensors_header *h,
                              const dt_stored_tensor *t, const dt_named_view *target) {
    int64_t n = t->end - t->begin;
    if (!target && !r->hash) return NULL;
    /* A tensor that is not wanted is read as well, because the hash covers the whole file. */
    char *unwanted = target ? NULL : dt_alloc((size_t)n);
    dt_status *s = read_data(r, target ? target->data : unwanted, n, h->size + t->begin);
    if (unwanted && r->hash) dt_hash_wait(r->hash);
    free(unwanted);
    return s;
}

/* Reads the tensors that are wanted into their arrays. With r->hash, reads and hashes all tensors:
 * together they are all of the file after the header. */
static dt_status *fill(const reading *r, const dt_safetensors_header *h, const dt_arrays *a) {
    DT_LOCAL const dt_named_view **target = dt_alloc(dt_size_mul((size_t)h->n, sizeof *target));
    dt_status *s = match(r, h, a, target);
    for (int i = 0; i < h->n && !s; i++) s = read_tensor(r, h, &h->tensor[i], target[i]);
    return s;
}

static dt_status *read_whole(const reading *r, int64_t size, const dt_arrays *a) {
    dt_safetensors_header h;
    dt_status *s = dt_header_read(&h, r->fd, r->path, size);
    if (!s && r->hash) dt_hash_put(r->hash, h.bytes, (size_t)h.size);
    if (!s) s = fill(r, &h, a);
    if (r->hash) dt_hash_wait(r->hash);
    dt_header_release(&h);
    return s;
}

/* Reads an open file into the arrays. digest NULL: the hash is not checked. */
static dt_status *read_open(reading r, int64_t size, const dt_arrays *a, const char *digest) {
    r.hash = digest ? dt_hash_begin() : NULL;
    dt_status *s = read_whole(&r, size, a);
    if (!r.hash) return s;
    dt_digest found = dt_hash_end(r.hash);
    if (!s && strcmp(found.hex, digest) != 0)
        s = dt_fail(DT_E_CHECKPOINT, NULL, "%s: checksum mismatch", r.path);
    return s;
}

dt_status *dt_safetensors_read_held(const dt_held_file *f, const dt_arrays *a, const char *digest) {
    return read_open(
        (reading){.path = f->path, .fd = f->fd, .weights = f->only_weights, .some = f->some},
        f->size, a, digest);
}

dt_status *dt_safetensors_read(const char *path, const dt_arrays *a, const char *digest) {
    int64_t size;
    reading r = {.path = path};
    DT_TRY(dt_file_open(r.path, &r.fd, &size));
    dt_status *s = read_open(r, size, a, digest);
    close(r.fd);
    return s;
}
