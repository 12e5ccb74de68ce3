/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights_sha256, the hash of the weights that a run reports. Files and their checksums can be
 * replaced together, so readers of a run's weights compare this hash as well.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "format/contents.h"

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

static int by_name(const void *a, const void *b) {
    return strcmp((*(const dt_named_view *const *)a)->name,
                  (*(const dt_named_view *const *)b)->name);
}

dt_hash_thread *dt_weights_hash(const dt_arrays *a, dt_arena *arena) {
    const dt_named_view **sorted = dt_arena_array(arena, const dt_named_view *, a->n + 1);
    dt_hash_thread *h = dt_hash_begin();
    for (int i = 0; i < a->n; i++) sorted[i] = &a->array[i];
    qsort(sorted, (size_t)a->n, sizeof *sorted, by_name);
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
