/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a job's `strategy` mapping. `type` selects a row of the table of strategies. The row's keys
 * appear next to it, so its fields are joined with the common ones before the mapping is read. A
 * key that belongs only to another strategy is refused with the name of that type, so that a user
 * who changes the strategy learns where the key belongs.
 */
#include "strategy/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/hash.h"

static const dt_strategy_row *const rows[] = {
#define DT_STRATEGY_ROW(name) &dt_strategy_##name,
#include "strategy/strategies.h"
#undef DT_STRATEGY_ROW
};

enum {
    ROWS = sizeof rows / sizeof *rows,
    MOST_FIELDS = 48,
};

struct common {
    const dt_tree *type;
    bool verify_replicas;
};

static const dt_field common[] = {
    DT_TREE(struct common, type, .forms = DT_FORMS(DT_NAMED("strategy")), .preset = "default",
            .help =
                "default, one_device, mirrored, multi_worker_mirrored, parameter_server or tpu; "
                "mirrored if you give only replicas or devices, multi_worker_mirrored if several "
                "processes were started"),
    DT_FLAG(struct common, verify_replicas,
            .help = "compare the weights of workers in separate processes every 100 steps; "
                    "replicas of one process share theirs"),
    DT_END};

/* ---- the type ---- */

static bool names_any(const dt_tree *t, const dt_field *fields) {
    for (const dt_field *f = fields; f->kind != DT_FIELD_END; f++)
        if (!f->instead && dt_tree_get(t, f->name)) return true;
    return false;
}

/* Whether a launcher has started this process as one of several workers. Errors in its variables
 * are not reported here, but by dt_launched_alone when work starts. */
static bool is_worker(void) {
    dt_launch l;
    dt_status *bad = dt_launch_find(&l, &(dt_rank_option){0});
    if (bad) {
        dt_status_free(bad);
        return false;
    }
    dt_launch_release(&l);
    return l.workers > 0 && l.ps == 0;
}

const dt_strategy_row *dt_strategy_unnamed(const dt_tree *t) {
    if (t && t->kind == DT_TREE_MAP && names_any(t, dt_strategy_mirrored.kind.fields))
        return &dt_strategy_mirrored;
    return is_worker() ? &dt_strategy_multi_worker_mirrored : &dt_strategy_default_;
}

static int index_of(const dt_strategy_row *row) {
    int i = 0;
    while (rows[i] != row) i++;
    return i;
}

/* Finds the row that `type` names. Sets *row to its index in `rows`, to that of dt_strategy_unnamed
 * if there is no type, or to -1 if the type is invalid. */
static dt_status *read_type(dt_arena *arena, const dt_tree *t, int *row) {
    /* Names of strategies without their fields, since the fields are read from the mapping that
     * contains `type`. */
    dt_kind kinds[ROWS];
    const dt_kind *names[ROWS];
    const dt_tree *type = dt_tree_get(t, "type");
    dt_named named;

    *row = index_of(dt_strategy_unnamed(t));
    if (!type || type->kind == DT_TREE_NULL) return NULL;
    *row = -1;
    DT_TRY(dt_tree_expect(type, DT_TREE_SCALAR, "type"));
    for (int i = 0; i < ROWS; i++) {
        kinds[i] = (dt_kind){.name = rows[i]->kind.name};
        names[i] = &kinds[i];
    }
    DT_TRY(dt_named_read(arena, names, ROWS, "strategy", type, &named));
    *row = named.row;
    return NULL;
}

/* ---- the table of keys ---- */

typedef struct table {
    dt_field field[MOST_FIELDS + 1];
    int n;
} table;

static bool has(const table *t, const char *key) {
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->field[i].name, key) == 0) return true;
    return false;
}

static void add(table *t, const dt_field *f) {
    if (t->n < MOST_FIELDS && !has(t, f->name)) t->field[t->n++] = *f;
    t->field[t->n] = (dt_field)DT_END;
}

/* Adds the fields of a struct, which begins `base` bytes into the joined struct, to the joined
 * table. With `required` false no key is required, because the strategy's type is unknown. */
static void add_table(table *t, const dt_field *fields, size_t base, bool required) {
    for (const dt_field *f = fields; f && f->kind != DT_FIELD_END; f++) {
        dt_field moved = dt_field_moved(f, base);
        moved.required &= required;
        add(t, &moved);
    }
}

static void refuse(dt_arena *arena, table *t, const char *key, const char *type) {
    add(t, &(dt_field)DT_INSTEAD(key, dt_arena_printf(arena, "only valid for type: %s", type)));
}

/* Returns the names of all strategies with this key: "multi_worker_mirrored, tpu". */
static const char *types_with(dt_arena *arena, const char *key) {
    const char *all = "";
    for (int i = 0; i < ROWS; i++)
        for (const dt_field *f = rows[i]->kind.fields; f && f->kind != DT_FIELD_END; f++)
            if (!f->instead && strcmp(f->name, key) == 0)
                all = dt_arena_printf(arena, "%s%s%s", all, *all ? ", " : "", rows[i]->kind.name);
    return all;
}

static void refuse_others(dt_arena *arena, table *t) {
    for (int i = 0; i < ROWS; i++)
        for (const dt_field *f = rows[i]->kind.fields; f && f->kind != DT_FIELD_END; f++)
            if (!f->instead && !has(t, f->name))
                refuse(arena, t, f->name, types_with(arena, f->name));
}

/* ---- the mapping ---- */

static size_t aligned(size_t bytes) {
    const size_t align = _Alignof(max_align_t);
    return (bytes + align - 1) / align * align;
}

static dt_status *read_row(dt_arena *arena, const dt_strategy_row *row, const dt_tree *t,
                           dt_strategy_spec *out) {
    const size_t base = aligned(sizeof(struct common));
    char *both = dt_arena_alloc(arena, base + row->kind.size);
    table *all = dt_arena_new(arena, table);

    out->row = row;
    add_table(all, common, 0, true);
    add_table(all, row->kind.fields, base, true);
    refuse_others(arena, all);
    dt_status *faults = dt_fields_read(arena, all->field, t, &t->at, "strategy", both);
    out->verify_replicas = !faults && ((const struct common *)(const void *)both)->verify_replicas;
    if (!faults && row->read) faults = row->read(arena, both + base, t, out);
    return faults;
}

/* Reads the mapping when the type is not known. The keys of all strategies are accepted, and
 * only their values are checked. */
static dt_status *read_any(dt_arena *arena, const dt_tree *t) {
    size_t base = aligned(sizeof(struct common));
    table *all = dt_arena_new(arena, table);

    add_table(all, common, 0, true);
    for (int i = 0; i < ROWS; i++) {
        add_table(all, rows[i]->kind.fields, base, false);
        base += aligned(rows[i]->kind.size);
    }
    return dt_fields_read(arena, all->field, t, &t->at, "strategy", dt_arena_alloc(arena, base));
}

dt_status *dt_strategy_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                            dt_strategy_spec *out) {
    int row;

    *out = (dt_strategy_spec){.at = t ? t->at : *at,
                              .backend = out->backend,
                              .plugin = out->plugin,
                              .settings = out->settings,
                              .sealed = out->sealed,
                              .rank = out->rank};
    dt_status *s = dt_tree_expect(t, DT_TREE_MAP, "strategy");
    if (s) return dt_at(s, at);
    s = read_type(arena, t, &row);
    if (row < 0) dt_status_append(&s, read_any(arena, t));
    return row < 0 ? s : read_row(arena, rows[row], t, out);
}

const dt_topology *dt_strategy_spec_topology(const dt_strategy_spec *spec) {
    return spec->cluster ? spec->cluster : dt_resolver_slice(spec->resolver);
}

void dt_strategy_spec_release(dt_strategy_spec *spec) {
    /* This releases the spec's own reference, so the cast drops const. */
    dt_resolver_unref((dt_resolver *)spec->resolver);
    dt_device_assignment_unref((dt_device_assignment *)spec->assignment);
    dt_launch_release(&spec->launch);
    dt_topology_unref(spec->cluster);
    spec->cluster = NULL;
    spec->resolver = NULL;
    spec->assignment = NULL;
}

/* ---- devices ---- */

/* Parses all names separately, so that each error has the location of its device. */
static dt_status *parse_names(const dt_texts *devices, dt_device_name *out) {
    dt_status *faults = NULL;
    for (int i = 0; i < devices->n; i++)
        dt_status_append(&faults, dt_device_name_parse(devices->v[i], &devices->at[i], &out[i]));
    return faults;
}

static uint64_t hash_of(const dt_device_name *d) {
    return dt_name_hash(d->job) ^ ((uint64_t)(unsigned)d->replica << 40) ^
           ((uint64_t)(unsigned)d->task << 20) ^ ((uint64_t)d->type << 60) ^
           ((uint64_t)(unsigned)d->index * 0x9e3779b97f4a7c15u);
}

/* Reports devices that are listed twice. Uses a hash table with twice as many slots as devices,
 * because job files may list thousands. */
static dt_status *find_twice(dt_arena *arena, const dt_texts *devices, const dt_device_name *name) {
    uint64_t slots = 2 * (uint64_t)devices->n;
    const dt_device_name **slot = dt_arena_array(arena, const dt_device_name *, slots);
    dt_status *faults = NULL;

    for (int i = 0; i < devices->n; i++) {
        uint64_t at = hash_of(&name[i]) % slots;
        while (slot[at] && !dt_device_name_equal(slot[at], &name[i])) at = (at + 1) % slots;
        if (slot[at])
            dt_status_append(&faults, dt_fail(DT_E_DEVICE_TWICE, &devices->at[i],
                                              "devices: '%.80s' is listed twice", devices->v[i]));
        slot[at] = &name[i];
    }
    return faults;
}

static dt_status *find_absent(dt_arena *arena, const dt_texts *devices,
                              const dt_strategy_spec *spec) {
    const char *plugin = dt_environment(DT_PJRT_PLUGIN_ENV);
    dt_device_name *one = dt_arena_new(arena, dt_device_name);

    if (spec->backend ? dt_backend_takes_plugin(spec->backend) : plugin != NULL)
        return NULL; /* The plug-in checks its devices when it is opened. */

    dt_status *faults = NULL;
    for (int i = 0; i < devices->n; i++)
        dt_status_append(&faults, dt_cpu_devices_parse(&devices->v[i], 1, &devices->at[i], one));
    return faults;
}

dt_status *dt_strategy_devices(dt_arena *arena, const dt_texts *devices, const dt_location *at,
                               dt_strategy_spec *out) {
    dt_device_name *name = dt_arena_array(arena, dt_device_name, devices->n);

    if (devices->n == 0) return dt_fail(DT_E_REPLICAS, at, "devices must name at least one device");
    DT_TRY(parse_names(devices, name));
    DT_TRY(find_twice(arena, devices, name));
    DT_TRY(find_absent(arena, devices, out));
    out->devices = devices->v;
    out->n_devices = devices->n;
    return NULL;
}

const dt_field *dt_strategy_fields(void) { return common; }

const dt_strategy_row *const *dt_strategy_rows(int *n) {
    *n = ROWS;
    return rows;
}

/* ---- cluster_resolver ---- */

const dt_field dt_addresses_fields[] = {
    DT_TEXTS(dt_addresses, workers, .required = true, .min = 3, .max = 300,
             .help = "HOST:PORT of each worker, the first one being the chief"),
    DT_TEXT(dt_addresses, secret_file, .min = 1, .max = 4096,
            .help = "file with the run's secret on each machine; or set DTRAIN_SECRET_FILE"),
    DT_END};

dt_status *dt_addresses_launch(const dt_addresses *a, const dt_rank_option *own, dt_launch *out) {
    if (!a->given) return NULL;
    if (a->workers.n < 2)
        return dt_fail(DT_E_LAUNCH, &a->at, "cluster_resolver: name at least two workers");
    DT_TRY(dt_launch_resolve(out, &a->at, &a->workers, own));
    out->secret_file = a->secret_file;
    return NULL;
}
