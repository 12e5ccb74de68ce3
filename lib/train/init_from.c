/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `init_from`: starts training with weights of another run or program, which are matched by name
 * and shape. Nothing else of a checkpoint is taken over: not its job, optimizer or step.
 *
 * With names: torch, the file's tensors are matched with those that PyTorch would have for the
 * model (model/torch.h), and converted to the model's weights.
 */
#include <string.h>

#include "base/pattern.h"
#include "format/contents.h"
#include "model/torch.h"
#include "train/train.h"

/* Regular expressions over names, compiled. */
typedef struct patterns {
    int n;
    dt_pattern **p;
} patterns;

typedef struct names {
    dt_arena *arena;
    bool torch;
    patterns map, skip;
    const char *const *by; /* [map.n] the texts that replace the matches of `map` */
} names;

static dt_status *open_names(names *out, const dt_init_from *from, dt_arena *arena) {
    const dt_items *map = &from->map, *skip = &from->skip;
    *out = (names){.arena = arena, .torch = from->names == DT_NAMES_TORCH};
    out->map.p = dt_arena_array(arena, dt_pattern *, map->n);
    out->by = map->v;
    out->skip.p = dt_arena_array(arena, dt_pattern *, skip->n);
    for (int i = 0; i < map->n; i++)
        DT_TRY(dt_pattern_create(&out->map.p[out->map.n++], map->entry[i].key));
    for (int i = 0; i < skip->n; i++)
        DT_TRY(dt_pattern_create(&out->skip.p[out->skip.n++], skip->entry[i].value->text));
    return NULL;
}

static void close_patterns(patterns *all) {
    for (int i = 0; i < all->n; i++) dt_pattern_destroy(all->p[i]);
}

static void close_names(names *n) {
    close_patterns(&n->map);
    close_patterns(&n->skip);
}

static bool skipped(const names *n, const char *name) {
    for (int i = 0; i < n->skip.n; i++)
        if (dt_pattern_finds(n->skip.p[i], name)) return true;
    return false;
}

static const char *renamed(const names *n, const char *name) {
    for (int i = 0; i < n->map.n; i++)
        name = dt_pattern_replace(n->map.p[i], n->arena, name, n->by[i]);
    if (!n->torch || !strchr(name, '/')) return name;
    char *dots = dt_arena_strdup(n->arena, name);
    for (char *p = dots; (p = strchr(p, '/'));) *p = '.';
    return dots;
}

/* Whether the tensor is PyTorch's num_batches_tracked, a counter of batch normalization that dtrain
 * does not use. */
static bool counts_batches(const char *name) {
    static const char end[] = "num_batches_tracked";
    const size_t n = strlen(name);
    return n >= sizeof end - 1 && strcmp(name + n - (sizeof end - 1), end) == 0;
}

static void rename_all(const void *user, dt_stored_arrays *s) {
    const names *n = user;
    int kept = 0;
    for (int i = 0; i < s->n; i++) {
        dt_stored_array a = s->array[i];
        a.name = renamed(n, a.name);
        if (skipped(n, a.name) || (n->torch && counts_batches(a.name))) continue;
        s->array[kept++] = a;
    }
    s->n = kept;
}

/* Returns the arrays whose names are not skipped. */
static dt_arrays wanted(const names *n, const dt_arrays *all) {
    dt_named_view *array = dt_arena_array(n->arena, dt_named_view, all->n + 1);
    dt_arrays out = {.array = array};
    for (int i = 0; i < all->n; i++)
        if (!skipped(n, all->array[i].name)) array[out.n++] = all->array[i];
    return out;
}

typedef struct first_weights {
    dt_saved checkpoint;
    dt_arrays weights; /* the model's weights */
    dt_torch torch;
    names names;
    bool only_compared;
} first_weights;

static dt_status *read_first(first_weights *w, const dt_init_from *from, dt_status **warnings) {
    const bool is_checkpoint = !w->checkpoint.only_weights;
    const dt_held_file held =
        is_checkpoint ? dt_saved_held(&w->checkpoint, 0) : (dt_held_file){.fd = -1};
    const dt_arrays arrays = wanted(&w->names, w->names.torch ? &w->torch.tensors : &w->weights);
    const dt_weights_request q = {.path = dt_saved_weights(&w->checkpoint),
                                  .held = is_checkpoint ? &held : NULL,
                                  .arrays = &arrays,
                                  .only_compared = w->only_compared,
                                  .skip_mismatch = from->skip_mismatch,
                                  .warnings = warnings,
                                  .rename = rename_all,
                                  .user = &w->names};
    if (w->names.torch && !w->only_compared) dt_torch_put(&w->torch);
    DT_TRY(dt_weights_read(&q));
    if (w->only_compared) return NULL;
    if (w->names.torch) dt_torch_take(&w->torch);
    DT_TRY(dt_saved_check_weights(&w->checkpoint));
    return dt_check_finite(&w->weights, DT_E_CHECKPOINT_NOT_FINITE, "%s", q.path);
}

static dt_status *find(first_weights *w, const dt_model *m, const dt_init_from *from,
                       dt_status **warnings) {
    dt_arena *arena = w->names.arena;
    DT_TRY(open_names(&w->names, from, arena));
    if (w->names.torch) DT_TRY(dt_torch_open(&w->torch, &m->spec, &w->weights, arena));
    return dt_saved_find(&w->checkpoint, from->path, warnings);
}

static dt_status *find_and_take(const dt_model *m, bool only_compared, const dt_init_from *from,
                                dt_status **warnings) {
    dt_local_arena arena = dt_arena_create();
    first_weights w = {.weights = dt_model_arrays_to_fill(m, arena),
                       .names = {.arena = arena},
                       .only_compared = only_compared};
    dt_status *bad = find(&w, m, from, warnings);
    if (!bad) bad = read_first(&w, from, warnings);
    dt_saved_release(&w.checkpoint);
    close_names(&w.names);
    if (!bad) return NULL;
    dt_status_free(*warnings); /* If there is an error, the warnings before it are not printed. */
    *warnings = NULL;
    return from->at.source ? dt_at(bad, &from->at) : dt_note(bad, "in init_from");
}

dt_status *dt_init_weights(dt_model *m, const dt_init_from *from, dt_status **warnings) {
    return find_and_take(m, false, from, warnings);
}

dt_status *dt_init_check(const dt_model *outline, const dt_init_from *from) {
    dt_status *warnings = NULL;
    dt_status *bad = find_and_take(outline, true, from, &warnings);
    dt_status_free(warnings);
    return bad;
}

/* Gives tensors the names that they have in the file. `map` only converts names in the file to
 * names in the model. So this converts every name in the file and looks for the tensor's name among
 * the results. */
static dt_status *original_names(const dt_stored_arrays *s, const names *n, dt_arrays *tensors,
                                 dt_named_view *array) {
    for (int i = 0; i < s->n; i++) {
        const char *name = renamed(n, s->array[i].name);
        for (int k = 0; k < tensors->n; k++)
            if (strcmp(tensors->array[k].name, name) == 0)
                array[k].name = dt_arena_strdup(n->arena, s->array[i].name);
    }
    return NULL;
}

static dt_status *name_as_before(const dt_init_from *from, dt_arrays *tensors, dt_arena *arena) {
    names n = {0};
    dt_stored_arrays s;
    dt_named_view *array = dt_arena_array(arena, dt_named_view, tensors->n + 1);
    memcpy(array, tensors->array, (size_t)tensors->n * sizeof *array);
    dt_status *bad = open_names(&n, from, arena);
    if (!bad) bad = dt_stored_open(&s, from->path);
    if (!bad) {
        bad = original_names(&s, &n, tensors, array);
        dt_stored_close(&s);
    }
    close_names(&n);
    tensors->array = array;
    return bad ? dt_note(bad, "the names that init_from.map changed are read from its file") : NULL;
}

dt_status *dt_torch_arrays(const dt_model *m, const dt_init_from *from, dt_arena *arena,
                           dt_arrays *out) {
    dt_arrays weights;
    dt_torch torch;
    DT_TRY(dt_model_arrays(m, arena, &weights));
    DT_TRY(dt_torch_open(&torch, &m->spec, &weights, arena));
    dt_torch_put(&torch);
    *out = torch.tensors;
    if (!from->path || !from->map.n || from->names != DT_NAMES_TORCH) return NULL;
    return name_as_before(from, out, arena);
}
