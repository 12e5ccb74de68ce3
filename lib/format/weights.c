/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights by their names, from a file of any program: safetensors or NPZ, recognized by its
 * contents.
 *
 * All arrays of the file and all weights of the model are compared before anything is read. Errors
 * are reported for weights that are missing (with the most similar name in the file) or have
 * another shape or type, and for extra arrays. With `skip_mismatch`, Keras' option, these are
 * warnings, and such weights keep the values that they have. A file with no weight of the model is
 * always an error. Counters of random numbers are not reported: missing ones keep their values,
 * extra ones are ignored.
 *
 * Values of float16 and bfloat16 in safetensors files are read as float32.
 *
 * Keras puts a model's own name before the paths of its variables (sequential/dense/kernel). If the
 * file lacks the model's first weight, but has it behind such a name, with which all arrays of the
 * file begin, the name is removed.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/half.h"
#include "file/zip.h"
#include "format/contents.h"
#include "format/safetensors_header.h"

/* ---- weights_sha256 ---- */

/*
 * weights_sha256, the hash of the weights that a run reports. Files and their checksums can be
 * replaced together, so readers of a run's weights compare this hash as well.
 */

enum { BLOCK = 1 << 20 };

static dt_str head_of(const char *name, const dt_type *type) {
    dt_str head = {0};
    dt_str_printf(&head, "%s\n%s\n", name, dt_dtype_name(type->dtype));
    for (int d = 0; d < type->rank; d++)
        dt_str_printf(&head, "%s%" PRId64, d ? "," : "", type->dim[d]);
    dt_str_putc(&head, '\n');
    return head;
}

static void hash_type(dt_sha256 *h, const char *name, const dt_type *type) {
    dt_str head = head_of(name, type);
    dt_sha256_add(h, head.data, head.size);
    dt_str_release(&head);
}

void dt_hash_array(dt_sha256 *h, const dt_named_view *a) {
    hash_type(h, a->name, &a->type);
    dt_sha256_add(h, a->data, (size_t)dt_type_bytes(&a->type));
}

static int array_by_name(const void *a, const void *b) {
    return strcmp((*(const dt_named_view *const *)a)->name,
                  (*(const dt_named_view *const *)b)->name);
}

dt_hash_thread *dt_weights_hash(const dt_arrays *a, dt_arena *arena) {
    const dt_named_view **sorted = dt_arena_array(arena, const dt_named_view *, a->n + 1);
    dt_hash_thread *h = dt_hash_begin();
    for (int i = 0; i < a->n; i++) sorted[i] = &a->array[i];
    qsort(sorted, (size_t)a->n, sizeof *sorted, array_by_name);
    for (int i = 0; i < a->n; i++) {
        dt_str head = head_of(sorted[i]->name, &sorted[i]->type);
        dt_hash_put(h, dt_arena_copy(arena, head.data, head.size), head.size);
        dt_hash_put(h, sorted[i]->data, (size_t)dt_type_bytes(&sorted[i]->type));
        dt_str_release(&head);
    }
    return h;
}

/* Hashes a tensor of a safetensors file block by block, since it may be large. */
static dt_status *hash_stored(const dt_stored_arrays *s, const dt_stored_array *a, char *block,
                              dt_sha256 *h) {
    hash_type(h, a->name, &a->type);
    for (int64_t at = 0; at < a->bytes; at += BLOCK) {
        const size_t part = a->bytes - at < BLOCK ? (size_t)(a->bytes - at) : BLOCK;
        DT_TRY(dt_file_pread(s->fd, s->path, block, part, a->offset + at));
        dt_sha256_add(h, block, part);
    }
    return NULL;
}

/* Hashes the stored weights in the order of their names, as train/weights.c hashes a model's
 * weights. */
static dt_status *hash_weights(const dt_stored_arrays *s, dt_digest *out) {
    dt_sha256 *h = dt_sha256_create();
    char *block = dt_alloc(BLOCK);
    dt_status *bad = NULL;
    for (int i = 0; i < s->n && !bad; i++)
        if (s->array[i].known) bad = hash_stored(s, &s->array[i], block, h);
    free(block);
    *out = dt_sha256_end(h);
    return bad;
}

dt_status *dt_weights_compare(const dt_saved *c, const dt_digest *found) {
    const char *saved = c->state.weights_sha256;
    if (c->only_weights || !saved || strcmp(saved, found->hex) == 0) return NULL;
    dt_status *s =
        dt_fail(DT_E_CHECKPOINT, NULL, "%s: the weights have sha %.12s, but state.json says %.12s",
                c->path, found->hex, saved);
    return dt_suggest(s, "the files were changed after they were saved: use an older checkpoint, "
                         "or train again with --fresh");
}

dt_status *dt_weights_check(const dt_contents *c) {
    dt_digest found;
    if (c->checkpoint.only_weights) return NULL;
    DT_TRY(hash_weights(&c->file[0].arrays, &found));
    return dt_weights_compare(&c->checkpoint, &found);
}

dt_status *dt_saved_check_weights(const dt_saved *c) {
    dt_stored_arrays weights = {0};
    dt_digest found;
    if (c->only_weights) return NULL;
    const dt_held_file held = dt_saved_held(c, 0);
    DT_TRY(dt_stored_open_held(&weights, &held));
    dt_status *s = hash_weights(&weights, &found);
    dt_stored_close(&weights);
    return s ? s : dt_weights_compare(c, &found);
}

/* ---- comparing ---- */

static int by_name(const void *pa, const void *pb) {
    const dt_stored_array *a = pa, *b = pb;
    return strcmp(a->name, b->name);
}

static dt_stored_array *find(const dt_stored_arrays *s, const char *name) {
    dt_stored_array key = {.name = name};
    return s->n > 0 ? bsearch(&key, s->array, (size_t)s->n, sizeof key, by_name) : NULL;
}

static dt_status *missing(const char *path, const dt_stored_arrays *s, const char *name) {
    DT_LOCAL const char **names = dt_alloc(dt_size_mul((size_t)s->n + 1, sizeof *names));
    for (int i = 0; i < s->n; i++) names[i] = s->array[i].name;
    return dt_suggest_nearest(
        dt_fail(DT_E_CHECKPOINT_MODEL, NULL, "%s: has no '%.200s'", path, name), name, names, s->n);
}

static dt_status *other_type(const char *path, const dt_stored_array *s, const dt_named_view *a) {
    return dt_fail(DT_E_CHECKPOINT_MODEL, NULL, "%s: '%.200s' is %s %s, the model's is %s %s", path,
                   a->name, s->dtype, dt_text_of_shape(&s->type).s, dt_dtype_name(a->type.dtype),
                   dt_text_of_shape(&a->type).s);
}

/* Sets wanted[i] to the array of the file for weight i of the model; NULL: there is none. Returns
 * all differences. */
static dt_status *compare(const char *path, const dt_stored_arrays *s, const dt_arrays *a,
                          dt_stored_array **wanted) {
    dt_status *differences = NULL;
    for (int i = 0; i < a->n; i++) {
        dt_stored_array *found = find(s, a->array[i].name);
        if (!found && dt_is_seed_counter(a->array[i].name)) continue;
        if (!found) dt_status_append(&differences, missing(path, s, a->array[i].name));
        else if (!found->known || !dt_type_equal(&found->type, &a->array[i].type))
            dt_status_append(&differences, other_type(path, found, &a->array[i]));
        else wanted[i] = found;
        if (found) found->named = true;
    }
    for (int i = 0; i < s->n; i++)
        if (!s->array[i].named && !dt_is_seed_counter(s->array[i].name))
            dt_status_append(&differences, dt_fail(DT_E_CHECKPOINT_MODEL, NULL,
                                                   "%s: '%.200s' is not a weight of the model",
                                                   path, s->array[i].name));
    return differences;
}

/* Returns an error if the file has no weight of the model (counters of random numbers do not
 * count), so that one error is reported instead of all differences. wanted NULL: types were not
 * compared yet, so only names are compared, and the error contains a name of the model and one of
 * the file. */
static dt_status *check_some(const dt_weights_request *q, const dt_stored_arrays *s,
                             dt_stored_array *const *wanted) {
    const char *first = NULL;
    int found = 0, weights = 0;
    for (int i = 0; i < q->arrays->n; i++) {
        const char *name = q->arrays->array[i].name;
        if (dt_is_seed_counter(name)) continue;
        if (!first) first = name;
        weights++;
        found += wanted ? wanted[i] != NULL : find(s, name) != NULL;
    }
    if (found > 0 || weights == 0) return NULL;
    if (wanted || s->n == 0)
        return dt_fail(DT_E_CHECKPOINT_MODEL, NULL, "%s: has none of the model's %d weights",
                       q->path, weights);
    return dt_note(dt_fail(DT_E_CHECKPOINT_MODEL, NULL, "%s: has no '%.200s'", q->path, first),
                   "nor another of the model's %d weights; it has '%.200s'. Names and shapes must "
                   "be Keras' (docs/coming-from-keras.md#weights), or PyTorch's with names: torch",
                   weights, s->array[0].name);
}

/* ---- the name of a whole model ---- */

/* Returns the length of a prefix such as "sequential/" if the name of an array is the prefix
 * followed by `name`; 0: no array has such a name. */
static size_t find_prefix(const dt_stored_arrays *s, const char *name) {
    const size_t n = strlen(name);
    for (int i = 0; i < s->n; i++) {
        const size_t whole = strlen(s->array[i].name);
        const char *end = s->array[i].name + whole - (whole > n ? n : 0);
        if (whole > n + 1 && end[-1] == '/' && strcmp(end, name) == 0) return whole - n;
    }
    return 0;
}

/* If the file lacks the model's first weight, but has it behind a prefix such as "sequential/" with
 * which all names begin, removes the prefix from all names. Their order does not change. */
static void drop_prefix(dt_stored_arrays *s, const dt_arrays *a) {
    int first = 0;
    while (first < a->n && dt_is_seed_counter(a->array[first].name)) first++;
    if (first == a->n || find(s, a->array[first].name)) return;
    const size_t n = find_prefix(s, a->array[first].name);
    for (int i = 0; i < s->n; i++)
        if (strncmp(s->array[i].name, s->array[0].name, n) != 0) return;
    for (int i = 0; i < s->n; i++) s->array[i].name += n;
}

/* ---- safetensors ---- */

static bool is_half(const char *dtype) { return strcmp(dtype, "F16") == 0; }

static bool is_narrow(const char *dtype) { return is_half(dtype) || strcmp(dtype, "BF16") == 0; }

/* Reads the values of an array. Floats of 16 bits are read into the second half of the array's
 * memory and converted from the front. This overwrites only values that have been converted. */
static dt_status *read_plain(const dt_stored_arrays *s, const dt_stored_array *a, void *data) {
    const bool narrow = is_narrow(a->dtype), half = is_half(a->dtype);
    char *from = (char *)data + (narrow ? a->bytes : 0);
    DT_TRY(dt_file_pread(s->fd, s->path, from, (size_t)a->bytes, a->offset));
    for (int64_t i = 0; narrow && 2 * i < a->bytes; i++) {
        uint16_t bits;
        memcpy(&bits, from + 2 * i, sizeof bits);
        ((float *)data)[i] = (float)(half ? dt_half_to_double(bits) : dt_bfloat_to_double(bits));
    }
    return NULL;
}

/* Reads the header of an open safetensors file into s->array. */
static dt_status *stored_safetensors(dt_stored_arrays *s) {
    dt_safetensors_header *h = dt_arena_new(s->arena, dt_safetensors_header);
    s->header = h;
    DT_TRY(dt_header_read(h, s->fd, s->path, s->size));
    s->n = h->n;
    s->array = dt_arena_array(s->arena, dt_stored_array, s->n);
    s->read = read_plain;
    for (int i = 0; i < s->n; i++) {
        const dt_stored_tensor *t = &h->tensor[i];
        const bool known = t->type->dtype >= 0, narrow = is_narrow(t->type->name);
        const dt_dtype dtype = known ? (dt_dtype)t->type->dtype : narrow ? DT_FLOAT32 : DT_UINT8;
        s->array[i] = (dt_stored_array){.name = t->name,
                                        .known = known || narrow,
                                        .dtype = t->type->name,
                                        .type = dt_type_of(dtype, t->rank, t->dim),
                                        .offset = h->size + t->begin,
                                        .bytes = t->end - t->begin};
    }
    return NULL;
}

/* ---- files of weights ---- */

static dt_status *fill(const dt_weights_request *q, const dt_stored_arrays *s,
                       dt_stored_array *const *wanted) {
    for (int i = 0; i < q->arrays->n; i++)
        if (wanted[i]) DT_TRY(s->read(s, wanted[i], q->arrays->array[i].data));
    return NULL;
}

static dt_status *sort(dt_stored_arrays *s) {
    if (s->n > 1) qsort(s->array, (size_t)s->n, sizeof *s->array, by_name);
    for (int i = 1; i < s->n; i++)
        if (strcmp(s->array[i - 1].name, s->array[i].name) == 0)
            return dt_fail(DT_E_CHECKPOINT, NULL, "%s: has '%.200s' twice", s->path,
                           s->array[i].name);
    return NULL;
}

static dt_status *read_arrays(const dt_weights_request *q, dt_stored_arrays *s) {
    if (q->rename) {
        q->rename(q->user, s);
        DT_TRY(sort(s));
    }
    drop_prefix(s, q->arrays);
    if (!q->skip_mismatch) DT_TRY(check_some(q, s, NULL));
    DT_LOCAL dt_stored_array **wanted =
        dt_alloc(dt_size_mul((size_t)q->arrays->n + 1, sizeof *wanted));
    dt_status *bad = compare(q->path, s, q->arrays, wanted);
    if (bad && q->skip_mismatch) {
        dt_status_append(q->warnings, bad);
        bad = NULL;
    }
    if (!bad) bad = check_some(q, s, wanted);
    if (!bad && !q->only_compared) bad = fill(q, s, wanted);
    return bad;
}

dt_status *dt_stored_open_held(dt_stored_arrays *s, const dt_held_file *f) {
    *s = (dt_stored_arrays){
        .path = f->path, .fd = dup(f->fd), .size = f->size, .arena = dt_arena_create()};
    dt_status *bad = s->fd < 0 ? dt_fail_errno(DT_E_IO, f->path) : stored_safetensors(s);
    if (!bad) bad = sort(s);
    if (bad) dt_stored_close(s);
    return bad;
}

dt_status *dt_stored_open(dt_stored_arrays *s, const char *path) {
    *s = (dt_stored_arrays){.path = path, .fd = -1, .arena = dt_arena_create()};
    dt_status *bad = dt_file_open(path, &s->fd, &s->size);
    if (bad) s->fd = -1;
    else bad = dt_zip_is(path) ? dt_stored_npz(s) : stored_safetensors(s);
    if (!bad) bad = sort(s);
    if (bad) dt_stored_close(s);
    return bad;
}

void dt_stored_close(dt_stored_arrays *s) {
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
    if (s->header) dt_header_release(s->header);
    dt_arena_destroy(s->arena);
    *s = (dt_stored_arrays){.fd = -1};
}

dt_status *dt_weights_read(const dt_weights_request *q) {
    dt_stored_arrays s;
    DT_TRY(q->held ? dt_stored_open_held(&s, q->held) : dt_stored_open(&s, q->path));
    dt_status *bad = read_arrays(q, &s);
    dt_stored_close(&s);
    return bad;
}
