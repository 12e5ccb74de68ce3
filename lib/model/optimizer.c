/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: reading, the handle, its configuration and its state. optimizer_emit.c emits updates
 * of variables. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "model/model.h"

/* ---- arguments ---- */

/* Prints the limits that are given: "clipnorm 1, clipvalue 0.5". */
static void print_clips(const dt_optimizer_head *head, dt_str *out) {
    const struct {
        bool given;
        const char *name;
        double value;
    } clips[] = {
        {head->has_clipnorm, "clipnorm", head->clipnorm},
        {head->has_clipvalue, "clipvalue", head->clipvalue},
        {head->has_global_clipnorm, "global_clipnorm", head->global_clipnorm},
    };
    for (size_t i = 0; i < sizeof clips / sizeof *clips; i++)
        if (clips[i].given)
            dt_str_printf(out, "%s%s %.17g", out->size ? ", " : "", clips[i].name, clips[i].value);
}

static dt_status *check_clips(const dt_optimizer_head *head, const dt_location *at) {
    if (head->has_clipvalue + head->has_clipnorm + head->has_global_clipnorm <= 1) return NULL;
    dt_local_str given = {0};
    print_clips(head, &given);
    return dt_fail(DT_E_RANGE, at,
                   "only one of clipnorm, clipvalue and global_clipnorm can be set, got %s",
                   dt_str_text(&given));
}

static dt_status *check_steps(const dt_optimizer_head *head, const dt_location *at) {
    if (head->gradient_accumulation_steps != 0 && head->gradient_accumulation_steps < 2)
        return dt_fail(DT_E_RANGE, at, "gradient_accumulation_steps must be at least 2, got %lld",
                       (long long)head->gradient_accumulation_steps);
    if (head->use_ema && (head->ema_momentum < 0 || head->ema_momentum > 1))
        return dt_fail(DT_E_RANGE, at, "ema_momentum must be in [0, 1], got %.17g",
                       head->ema_momentum);
    if (head->use_ema && head->ema_overwrite_frequency < 0)
        return dt_fail(DT_E_RANGE, at, "ema_overwrite_frequency must be at least 1, got %lld",
                       (long long)head->ema_overwrite_frequency);
    return NULL;
}

bool dt_optimizer_excludes(const dt_optimizer_head *head, const char *path) {
    const char *last = strrchr(path, '/'), *name = last ? last + 1 : path;
    bool is = false;
    for (int i = 0; i < head->exclude_from_weight_decay.n; i++) {
        const char *word = head->exclude_from_weight_decay.v[i];
        is |= strstr(strchr(word, '/') ? path : name, word) != NULL;
    }
    return is;
}

dt_status *dt_optimizer_read(dt_arena *arena, const dt_tree *t, dt_named *out) {
    int n;
    const dt_kind *const *rows = dt_optimizers(&n);
    dt_status *s = dt_named_read(arena, rows, n, "optimizer", t, out);
    const dt_optimizer_row *row = (const dt_optimizer_row *)out->kind;
    dt_optimizer_head *head = out->args;
    if (!head) return s;
    if (!head->has_rate) head->rate = row->rate;
    dt_status_append(&s, check_clips(head, &out->at));
    dt_status_append(&s, check_steps(head, &out->at));
    if (row->check && !s) dt_status_append(&s, row->check(out->args, &out->at));
    return s;
}

/* ---- the handle ---- */

/* Creates an optimizer. The memory of named->args must outlive it. */
static dt_optimizer *optimizer_over(const dt_named *named) {
    dt_optimizer *o = dt_alloc(sizeof *o);
    *o = (dt_optimizer){.refs = 1, .named = *named};
    return o;
}

dt_optimizer *dt_optimizer_compiled(const dt_compile_spec *c) {
    dt_optimizer *o = optimizer_over(&c->optimizer);
    o->scaling = c->scaling;
    return o;
}

static dt_status *read_handle(dt_optimizer *o, const char *format, va_list args) {
    dt_tree *tree;
    DT_TRY(dt_fragment_read(o->arena, "optimizer", format, args, &tree));
    return dt_optimizer_read(o->arena, tree, &o->named);
}

dt_status *dt_optimizer_create(dt_optimizer **out, const char *format, ...) {
    DT_REQUIRE({out, "place for the optimizer"});
    dt_optimizer *o = optimizer_over(&(dt_named){0});
    o->arena = dt_arena_create();
    va_list args;
    va_start(args, format);
    dt_status *s = read_handle(o, format, args);
    va_end(args);
    if (s) {
        dt_optimizer_unref(o);
        return s;
    }
    dt_optimizer_unref(*out);
    *out = o;
    return NULL;
}

void dt_optimizer_unref(dt_optimizer *o) {
    if (!DT_LAST(o)) return;
    for (int i = 0; i < o->n; i++)
        for (int k = 0; k < o->slot[i].n; k++) dt_variable_unref(o->slot[i].slot[k]);
    dt_variable_unref(o->examples);
    dt_variable_unref(o->scale);
    dt_variable_unref(o->good_steps);
    dt_variable_unref(o->iteration);
    dt_variable_unref(o->rate);
    free(o->slot);
    free(o->all);
    dt_hash_index_release(&o->slots_at);
    dt_hash_index_release(&o->all_at);
    dt_arena_destroy(o->arena);
    DT_RETIRE(o);
}

/* ---- the optimizer's configuration ---- */

/* Prints a schedule as a Keras object: class and arguments. */
static void print_schedule(const dt_named *schedule, dt_json *j) {
    dt_json_open(j, "learning_rate", '{');
    dt_json_string(j, "module", "keras.optimizers.schedules");
    dt_json_string(j, "class_name", schedule->kind->name);
    dt_config_print(schedule, j, "config");
    dt_json_null(j, "registered_name");
    dt_json_close(j, '}');
}

dt_status *dt_optimizer_config(const dt_optimizer *o, char **json) {
    DT_REQUIRE({DT_LIVE(o), "optimizer"}, {json, "place for the text"});
    const dt_optimizer_head *head = o->named.args;
    dt_str text = {0};
    dt_json j = {.out = &text};
    dt_json_open(&j, NULL, '{');
    if (head->schedule.kind) print_schedule(&head->schedule, &j);
    else dt_json_double(&j, "learning_rate", head->rate);
    dt_config_fields(&o->named, &j);
    dt_json_close(&j, '}');
    *json = dt_str_take(&text);
    return NULL;
}

/* ---- state ---- */

static const dt_optimizer_row *row_of(const dt_optimizer *o) {
    return (const dt_optimizer_row *)o->named.kind;
}

static uint64_t hash_of(const dt_variable *v) { return dt_hash_bytes(0, &v, sizeof v); }

struct dt_optimizer_slot *dt_optimizer_find(const dt_optimizer *o, const dt_variable *v) {
    for (int i = dt_hash_index_first(&o->slots_at, hash_of(v)); i >= 0;
         i = dt_hash_index_next(&o->slots_at, i))
        if (o->slot[i].of == v) return &o->slot[i];
    return NULL;
}

static void fill(dt_variable *v, double value) {
    void *data = dt_host_edit(v);
    /* 0 is not written, since callers pass zeroed memory. */
    for (int64_t i = 0, n = value == 0 ? 0 : dt_type_elements(&v->type); i < n; i++)
        if (v->type.dtype == DT_FLOAT64) ((double *)data)[i] = value;
        else ((float *)data)[i] = (float)value;
}

/* Creates a slot and fills it with spec->initial. outline: the slot gets no memory, because its
 * variable has none. */
static dt_status *create_slot(dt_variable **out, const char *path, const dt_slot_spec *spec,
                              bool outline) {
    if (outline) *out = dt_variable_declare(path, &spec->type, false);
    else DT_TRY(dt_variable_alloc(out, path, &spec->type, false));
    (*out)->slot = true;
    (*out)->lacks = spec->lacks;
    if (!outline) fill(*out, spec->initial);
    return NULL;
}

/* Lists the slots of the row, and those that options common to all optimizers need. Returns the
 * number of all, and sets *own to that of the row's, which come first. */
static int list_slots(const dt_optimizer *o, const dt_variable *of, int *own, dt_slot_spec *slot) {
    const dt_optimizer_head *head = o->named.args;
    const dt_optimizer_row *row = row_of(o);
    const dt_type *type = &of->type;
    for (int k = 0; k < DT_ALL_SLOTS; k++) slot[k] = (dt_slot_spec){.type = *type};
    int n = *own = row->slots ? row->slots(head, of, slot) : 0;
    if (head->use_ema) slot[n++] = (dt_slot_spec){.name = "average", .type = *type};
    if (head->gradient_accumulation_steps || o->accumulates)
        slot[n++] = (dt_slot_spec){.name = "gradient_accumulator", .type = *type};
    return n;
}

static bool is_named(const dt_optimizer *o, const char *path) {
    for (int i = dt_hash_index_first(&o->all_at, dt_name_hash(path)); i >= 0;
         i = dt_hash_index_next(&o->all_at, i))
        if (strcmp(o->all[i]->path, path) == 0) return true;
    return false;
}

/* Returns the path of a slot: "optimizer/dense/kernel/momentum"; for another model's variable with
 * the same path "optimizer/dense/kernel_1/momentum", since slots are distinguished by name only. */
static char *slot_path(const dt_optimizer *o, const dt_variable *v, const char *slot) {
    dt_str path = {0};
    dt_str_printf(&path, "optimizer/%s/%s", v->path, slot);
    for (int k = 1; is_named(o, dt_str_text(&path)); k++) {
        dt_str_clear(&path);
        dt_str_printf(&path, "optimizer/%s_%d/%s", v->path, k, slot);
    }
    return dt_str_take(&path);
}

static dt_status *add_slots(dt_optimizer *o, const dt_variable *v) {
    const dt_optimizer_head *head = o->named.args;
    dt_slot_spec spec[DT_ALL_SLOTS];
    int own, n = list_slots(o, v, &own, spec);
    DT_GROW(o->slot, o->cap, o->n + 1);
    struct dt_optimizer_slot *s = &o->slot[o->n++];
    dt_hash_index_add(&o->slots_at, hash_of(v));
    *s = (struct dt_optimizer_slot){.of = v, .own = own};
    for (int k = 0; k < n; k++) {
        char *path = slot_path(o, v, spec[k].name);
        dt_status *fault = create_slot(&s->slot[k], path, &spec[k], dt_variable_is_outline(v));
        free(path);
        DT_TRY(fault);
        s->slot[k]->of = v;
        s->n++;
        DT_GROW(o->all, o->cap_all, o->n_all + 1);
        o->all[o->n_all++] = s->slot[k];
        dt_hash_index_add(&o->all_at, dt_name_hash(s->slot[k]->path));
    }
    s->average = head->use_ema ? s->slot[own] : NULL;
    if (s->average) s->average->on_all = true;
    s->sum = head->gradient_accumulation_steps || o->accumulates ? s->slot[n - 1] : NULL;
    return NULL;
}

/* Checks that the slots that are to be created fit into memory. Slots of outlines need none. */
static dt_status *check_room(const dt_optimizer *o, const dt_variables *v) {
    dt_slot_spec spec[DT_ALL_SLOTS];
    int64_t all = 0;
    for (int i = 0; i < v->n; i++)
        for (int own, k = !dt_variable_is_outline(v->v[i]) && !dt_optimizer_find(o, v->v[i])
                              ? list_slots(o, v->v[i], &own, spec)
                              : 0;
             k-- > 0;)
            all = dt_add_fits(all, dt_type_bytes(&spec[k].type), &all) ? all : INT64_MAX;
    dt_status *s = all ? dt_memory_check_room(all, "the state of the optimizer needs") : NULL;
    return s ? dt_note(s, "%s keeps state for every weight; SGD without momentum keeps none",
                       o->named.kind->name)
             : NULL;
}

static dt_status *create_scale(dt_optimizer *o) {
    const dt_slot_spec scale = {.type = dt_scalar_type(DT_FLOAT32), .initial = o->scaling.initial},
                       steps = {.type = dt_scalar_type(DT_INT64)};
    if (!o->scaling.growth || o->scale) return NULL;
    DT_TRY(create_slot(&o->scale, "optimizer/dynamic_scale", &scale, false));
    return create_slot(&o->good_steps, "optimizer/step_counter", &steps, false);
}

static dt_status *prepare_accumulation(dt_optimizer *o) {
    const dt_optimizer_head *head = o->named.args;
    const dt_slot_spec examples = {.type = dt_scalar_type(DT_FLOAT32)};
    if (!o->accumulates || o->examples) return NULL;
    if (head->gradient_accumulation_steps)
        return dt_fail(DT_E_RANGE, &o->named.at,
                       "gradients are accumulated by the optimizer's gradient_accumulation_steps "
                       "and by fit's: only one can be set");
    if (o->n > 0)
        return dt_fail(
            DT_E_RANGE, &o->named.at,
            "the optimizer has state without accumulated gradients: compile the model again");
    return create_slot(&o->examples, "optimizer/accumulated_examples", &examples, false);
}

/* The rate is not listed by dt_optimizer_variables: checkpoints store it separately, since the same
 * job may run with callbacks and without. */
dt_status *dt_optimizer_vary_rate(dt_optimizer *o) {
    const dt_type scalar = dt_scalar_type(DT_FLOAT32);
    const dt_optimizer_head *head = o->named.args;
    if (o->rate || head->schedule.kind) return NULL;
    DT_TRY(dt_variable_alloc(&o->rate, "optimizer/learning_rate", &scalar, false));
    fill(o->rate, head->rate);
    return NULL;
}

dt_status *dt_optimizer_prepare(dt_optimizer *o, const dt_variables *v) {
    DT_TRY(prepare_accumulation(o));
    const dt_slot_spec iteration = {.type = dt_scalar_type(DT_INT64)};
    if (!o->iteration) DT_TRY(create_slot(&o->iteration, "optimizer/iteration", &iteration, false));
    DT_TRY(create_scale(o));
    DT_TRY(check_room(o, v));
    for (int i = 0; i < v->n; i++)
        if (!dt_optimizer_find(o, v->v[i])) DT_TRY(add_slots(o, v->v[i]));
    return NULL;
}

void dt_optimizer_reset(dt_optimizer *o) {
    dt_variable *const own[] = {o->iteration, o->scale, o->good_steps, o->examples};
    dt_slot_spec spec[DT_ALL_SLOTS];
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i]) memset(dt_host_edit(own[i]), 0, (size_t)dt_type_bytes(&own[i]->type));
    if (o->scale) fill(o->scale, o->scaling.initial);
    for (int i = 0, n; i < o->n; i++) {
        list_slots(o, o->slot[i].of, &n, spec);
        for (int k = 0; k < o->slot[i].n; k++) {
            memset(dt_host_edit(o->slot[i].slot[k]), 0,
                   (size_t)dt_type_bytes(&o->slot[i].slot[k]->type));
            fill(o->slot[i].slot[k], spec[k].initial);
        }
    }
}

dt_variable **dt_optimizer_variables(const dt_optimizer *o, dt_arena *arena, int *n) {
    dt_variable **all = dt_arena_array(arena, dt_variable *, 4 + DT_ALL_SLOTS * (size_t)o->n);
    dt_variable *const own[] = {o->iteration, o->scale, o->good_steps, o->examples};
    *n = 0;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i]) all[(*n)++] = own[i];
    for (int i = 0; i < o->n; i++)
        for (int k = 0; k < o->slot[i].n; k++) all[(*n)++] = o->slot[i].slot[k];
    return all;
}

/* Copies the running mean to all replicas' copies of v. */
static void copy_average(dt_variable *v, const dt_variable *average) {
    size_t bytes = (size_t)dt_type_bytes(&v->type);
    char *copies = dt_host_edit(v);
    for (int64_t r = 0, n = v->stack ? v->stack->type.dim[0] : 1; r < n; r++)
        memcpy(copies + (size_t)r * bytes, dt_host_data(average), bytes);
}

dt_status *dt_optimizer_take_averages(const dt_optimizer *o, const dt_variables *v, bool *any) {
    *any = false;
    for (int i = 0; i < v->n; i++) {
        const struct dt_optimizer_slot *s = dt_optimizer_find(o, v->v[i]);
        if (!s || !s->average) continue;
        DT_TRY(dt_variable_fetch(s->average));
        copy_average(v->v[i], s->average);
        *any = true;
    }
    return NULL;
}

dt_status *dt_optimizer_swap_averages(const dt_optimizer *o, const dt_variables *v) {
    for (int i = 0; i < v->n; i++) {
        const struct dt_optimizer_slot *s = dt_optimizer_find(o, v->v[i]);
        size_t bytes = s && s->average ? (size_t)dt_type_bytes(&v->v[i]->type) : 0;
        if (bytes == 0) continue;
        DT_TRY(dt_variable_fetch(v->v[i]));
        DT_TRY(dt_variable_fetch(s->average));
        DT_LOCAL void *weight = dt_alloc(bytes);
        memcpy(weight, dt_host_data(v->v[i]), bytes);
        copy_average(v->v[i], s->average);
        memcpy(dt_host_edit(s->average), weight, bytes);
    }
    return NULL;
}

/* ---- running means ---- */

int dt_moment_slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    (void)args, (void)of;
    slot[0].name = "momentum";
    slot[1].name = "velocity";
    return 2;
}

dt_value dt_moment_filled(const dt_update *u, double beta) {
    return dt_subtract(dt_like(u->t, 1), dt_power(dt_like(u->t, beta), u->t));
}

dt_value dt_moment_moved(dt_value mean, dt_value x, double share) {
    return dt_add(mean, dt_multiply(dt_subtract(x, mean), dt_like(mean, share)));
}

dt_value dt_moment_mixed(dt_value mean, dt_value x, double share) {
    return dt_add(dt_multiply(dt_like(mean, share), mean), dt_multiply(dt_like(x, 1 - share), x));
}
