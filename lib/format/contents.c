/* SPDX-License-Identifier: Apache-2.0 */
/* Opening checkpoints and files of weights for inspection: see contents.h. */
#include "format/contents.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "format/state.h"
#include "format/steps.h"

/* ---- the contents of a checkpoint ---- */

/* Opens a file of a checkpoint. It uses the descriptor whose checksum was verified, since the
 * file's name may refer to another file by now. */
static dt_status *open_file(dt_contents *c, int file) {
    const dt_saved *k = &c->checkpoint;
    dt_stored_arrays *arrays = &c->file[c->n].arrays;
    if (k->only_weights) {
        DT_TRY(dt_stored_open(arrays, k->path));
    } else {
        const dt_held_file held = dt_saved_held(k, file);
        DT_TRY(dt_stored_open_held(arrays, &held));
    }
    c->file[c->n++].title = dt_tensor_files[file].title;
    return NULL;
}

static dt_status *open_files(dt_contents *c) {
    dt_saved *k = &c->checkpoint;
    DT_TRY(open_file(c, 0));
    for (int i = 1; i < DT_TENSOR_FILES && !k->only_weights; i++)
        if (i < DT_REQUIRED_FILES || *dt_state_sha256(&k->state, i)) DT_TRY(open_file(c, i));
    return NULL;
}

dt_status *dt_contents_open(dt_contents *c, const char *path, dt_status **warnings) {
    dt_status *unheard = NULL;
    *c = (dt_contents){0};
    dt_status *s = dt_saved_find(&c->checkpoint, path, warnings ? warnings : &unheard);
    dt_status_free(unheard);
    if (!s) s = open_files(c);
    if (s) dt_contents_close(c);
    return s;
}

void dt_contents_close(dt_contents *c) {
    for (int i = 0; i < c->n; i++) dt_stored_close(&c->file[i].arrays);
    dt_saved_release(&c->checkpoint);
    *c = (dt_contents){0};
}

dt_status *dt_contents_read(const dt_stored_arrays *s, const dt_stored_array *a, void **data) {
    *data = NULL;
    if (!a->known) return NULL;
    int64_t bytes = dt_type_bytes(&a->type);
    *data = dt_try_alloc((size_t)(bytes > 0 ? bytes : 1));
    if (!*data)
        return dt_fail(DT_E_NO_MEMORY, NULL, "%s: no memory for the %lld bytes of '%.200s'",
                       s->path, (long long)bytes, a->name);
    dt_status *bad = s->read(s, a, *data);
    if (bad) {
        free(*data);
        *data = NULL;
    }
    return bad;
}

/* ---- the checkpoints of a run ---- */

bool dt_is_run(const char *path) {
    struct stat st;
    DT_LOCAL char *ckpt = dt_path_join(path, "ckpt");
    return stat(ckpt, &st) == 0 && S_ISDIR(st.st_mode);
}

static void measure(dt_arena *arena, dt_listed *x) {
    struct stat st;
    /* the last one is state.json, whose time of change is that of the checkpoint */
    for (int i = 0; i <= DT_TENSOR_FILES; i++)
        if (lstat(dt_arena_printf(arena, "%s/%s", x->path,
                                  i < DT_TENSOR_FILES ? dt_tensor_files[i].name : DT_STATE_FILE),
                  &st) == 0) {
            x->bytes += st.st_size;
            x->saved_s = st.st_mtime;
        }
}

static dt_status *read_item(dt_listing *l, const char *path) {
    dt_listed *x = &l->item[l->n++];
    dt_state_read r = {.arena = l->arena, .path = path};
    x->path = path;
    measure(l->arena, x);
    dt_status *s = dt_state_load(&r);
    x->state = r.state;
    if (s && !dt_state_is_damage(s)) return s;
    x->damage = s ? s : dt_step_match(path, x->state.step);
    return NULL;
}

static dt_status *read_items(dt_listing *l, const char *ckpt) {
    dt_step_list list;
    DT_TRY(dt_steps_list(l->arena, ckpt, false, &list, NULL));
    DT_TRY(dt_steps_rank(ckpt, &list, NULL));
    l->item = dt_arena_array(l->arena, dt_listed, list.n + 1);
    for (int i = 0; i < list.n; i++)
        DT_TRY(read_item(l, dt_arena_printf(l->arena, "%s/%s", ckpt, list.item[i].name)));
    return NULL;
}

dt_status *dt_listing_read(dt_listing *l, const char *run) {
    DT_LOCAL char *ckpt = dt_path_join(run, "ckpt");
    *l = (dt_listing){.arena = dt_arena_create()};
    dt_status *s = dt_is_run(run) ? read_items(l, ckpt)
                                  : dt_no_run(run, "not a run directory: it has no ckpt/");
    if (s) dt_listing_release(l);
    return s;
}

void dt_listing_release(dt_listing *l) {
    for (int i = 0; i < l->n; i++) dt_status_free(l->item[i].damage);
    dt_arena_destroy(l->arena);
    *l = (dt_listing){0};
}
