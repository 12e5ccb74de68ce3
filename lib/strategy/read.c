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

enum { ROWS = sizeof rows / sizeof *rows };

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
static const dt_kind common_kind = {.fields = common, .size = sizeof(struct common)};

/* ---- the type ---- */

static bool names_any(const dt_tree *t, const dt_field *fields) {
    for (const dt_field *f = fields; f->kind != DT_FIELD_END; f++)
        if (!f->instead && dt_tree_get(t, f->name)) return true;
    return false;
}

/* Whether a launcher has started this process as one of several workers, without tasks of type ps.
 * Errors in its variables are not reported here, but by dt_launched_alone when work starts. */
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
    const dt_kind *names[ROWS];
    const dt_tree *type = dt_tree_get(t, "type");
    dt_named named;

    *row = index_of(dt_strategy_unnamed(t));
    if (!type || type->kind == DT_TREE_NULL) return NULL;
    *row = -1;
    DT_TRY(dt_tree_expect(type, DT_TREE_SCALAR, "type"));
    for (int i = 0; i < ROWS; i++) names[i] = &rows[i]->kind;
    DT_TRY(dt_named_read_name(arena, names, ROWS, "strategy", type, &named));
    *row = named.row;
    return NULL;
}

/* ---- the table of keys ---- */

/* Returns the names of all strategies with this key: "multi_worker_mirrored, tpu". */
static const char *types_with(dt_arena *arena, const char *key) {
    const char *all = "";
    for (int i = 0; i < ROWS; i++)
        for (const dt_field *f = rows[i]->kind.fields; f && f->kind != DT_FIELD_END; f++)
            if (!f->instead && strcmp(f->name, key) == 0)
                all = dt_arena_printf(arena, "%s%s%s", all, *all ? ", " : "", rows[i]->kind.name);
    return all;
}

/* Returns a kind whose fields refuse the keys of all strategies. Joined to the table of one, it
 * refuses those of the others. */
static dt_kind refuse_all(dt_arena *arena) {
    int n = 0, most = 0;
    for (int i = 0; i < ROWS; i++)
        for (const dt_field *f = rows[i]->kind.fields; f && f->kind != DT_FIELD_END; f++) most++;
    dt_field *refused = dt_arena_array(arena, dt_field, most + 1);
    for (int i = 0; i < ROWS; i++)
        for (const dt_field *f = rows[i]->kind.fields; f && f->kind != DT_FIELD_END; f++)
            if (!f->instead)
                refused[n++] =
                    (dt_field)DT_INSTEAD(f->name, dt_arena_printf(arena, "only valid for type: %s",
                                                                  types_with(arena, f->name)));
    refused[n] = (dt_field)DT_END;
    return (dt_kind){.fields = refused};
}

/* ---- the mapping ---- */

static dt_status *read_row(dt_arena *arena, const dt_strategy_row *row, const dt_tree *t,
                           dt_strategy_spec *out) {
    const dt_kind others = refuse_all(arena);
    size_t size = 0;
    const dt_field *table = dt_fields_join(arena, NULL, &common_kind, true, &size);
    const size_t base = size;
    table = dt_fields_join(arena, table, &row->kind, true, &size);
    table = dt_fields_join(arena, table, &others, true, &size);
    char *both = dt_arena_alloc(arena, size);
    out->row = row;
    dt_status *faults = dt_fields_read(arena, table, t, &t->at, "strategy", both);
    out->verify_replicas = !faults && ((const struct common *)(const void *)both)->verify_replicas;
    if (!faults && row->read) faults = row->read(arena, both + base, t, out);
    return faults;
}

/* Reads the mapping when the type is not known. The keys of all strategies are accepted, and
 * only their values are checked. */
static dt_status *read_any(dt_arena *arena, const dt_tree *t) {
    size_t size = 0;
    const dt_field *table = dt_fields_join(arena, NULL, &common_kind, true, &size);
    for (int i = 0; i < ROWS; i++)
        table = dt_fields_join(arena, table, &rows[i]->kind, false, &size);
    return dt_fields_read(arena, table, t, &t->at, "strategy", dt_arena_alloc(arena, size));
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

/* ---- devices, and the tables ---- */

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
