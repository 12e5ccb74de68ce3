/* SPDX-License-Identifier: Apache-2.0 */
/* Opens checkpoints and files of weights for inspection, and lists checkpoints: see contents.h. */
#include "format/contents.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "format/state.h"

/* ---- the contents of a checkpoint ---- */

/* Opens file `file` of dt_tensor_files and adds it to c->file. For a checkpoint it uses the
 * descriptor whose checksum was verified, since the file's name may refer to another file by now. A
 * file of weights is opened by its path. */
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

/* ---- suggestions ---- */

/* the most runs and checkpoints of a folder that are listed, and the most that a message names */
enum { MOST_SEEN = 1000, MOST_NAMED = 4 };

static bool is_checkpoint(const char *path) {
    DT_LOCAL char *state = dt_path_join(path, DT_STATE_FILE);
    return access(state, F_OK) == 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists the names of the runs and checkpoints in a folder ("": the current one) into
 * name[MOST_SEEN], sorted. Returns how many there are, at most MOST_SEEN; 0 if the folder cannot be
 * opened. Names that begin with a dot are left out. */
static int list(dt_arena *arena, const char *folder, const char **name) {
    int n = 0;
    DIR *dir = opendir(*folder ? folder : ".");
    if (!dir) return 0;
    for (const struct dirent *e = readdir(dir); e && n < MOST_SEEN; e = readdir(dir)) {
        DT_LOCAL char *path = dt_path_join(folder, e->d_name);
        if (*e->d_name != '.' && (dt_is_run(path) || is_checkpoint(path)))
            name[n++] = dt_arena_strdup(arena, e->d_name);
    }
    closedir(dir);
    if (n > 1) qsort(name, (size_t)n, sizeof *name, by_name);
    return n;
}

static dt_status *name_some(dt_status *s, const char *folder, const char *const *name, int n) {
    dt_local_str all = {0};
    for (int i = 0; i < n && i < MOST_NAMED; i++) {
        DT_LOCAL char *path = dt_path_join(folder, name[i]);
        dt_str_printf(&all, "%s%.200s", i ? ", " : "", path);
    }
    if (n > MOST_NAMED) dt_str_printf(&all, " and %d more", n - MOST_NAMED);
    return dt_suggest(s, "name one of these: %s", dt_str_text(&all));
}

static dt_status *suggest_one(dt_status *s, const char *folder, const char *name) {
    DT_LOCAL char *path = dt_path_join(folder, name);
    return dt_suggest(s, "did you mean '%.200s'?", path);
}

static dt_status *suggest_runs(dt_status *s, dt_arena *arena, const char *path) {
    struct stat st;
    const char **name = dt_arena_array(arena, const char *, MOST_SEEN), *nearest = NULL;
    const bool is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    DT_LOCAL char *above = dt_path_dir(path);
    const char *folder = is_folder ? path : above, *slash = strrchr(path, '/');
    const int n = list(arena, folder, name);
    if (n == 1) nearest = name[0];
    else if (!is_folder) nearest = dt_nearest(slash ? slash + 1 : path, name, n);
    if (is_folder && *above && dt_is_run(above)) s = dt_suggest(s, "did you mean '%.200s'?", above);
    else if (nearest) s = suggest_one(s, folder, nearest);
    else if (n > 0) s = name_some(s, folder, name, n);
    else if (is_folder)
        s = dt_suggest(s,
                       "name a run, which is its job's output.dir, or a checkpoint in its ckpt/");
    return s;
}

dt_status *dt_no_run(const char *path, const char *fault) {
    dt_local_arena arena = dt_arena_create();
    dt_status *s = access(path, F_OK) != 0 ? dt_fail_errno(DT_E_NO_INPUT, path)
                                           : dt_fail(DT_E_NO_INPUT, NULL, "%s: is %s", path, fault);
    return suggest_runs(s, arena, dt_path_trimmed(arena, path));
}
