/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrain devices and dtrain topology. The former lists what this machine can compute with, and why
 * the rest is not available. Each fact comes from the code that uses it: the instruction set comes
 * from the kernels, the libraries from the code that multiplies matrices, back ends from their
 * table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/isa.h"
#include "base/json.h"
#include "base/thread.h"
#include "job/job.h"

enum { MOST_BACKENDS = 8 };

/* What was looked for, a library or a back end: its name, whether it is here, and a text about
 * it. */
typedef dt_host_library found;

typedef struct machine {
    int cores;
    dt_host_facts host;
    found backend[MOST_BACKENDS];
    int backends;
    dt_resolver *tpu;
    dt_accelerators plugin;
    /* the error with which the plug-in fails to start; NULL: it starts, or no plug-in is named */
    dt_status *fault;
    /* the reason why the plug-in's devices are unknown; NULL: they are known, or no plug-in is
     * named */
    char *no_plugin;
} machine;

/* ---- looking for devices ---- */

static dt_status *inspect_machine(machine *m) {
    DT_TRY(dt_host_facts_find(&m->host));
    m->cores = dt_cores();
    int n;
    const dt_backend *const *rows = dt_backends(&n);
    for (int i = 0; i < n && m->backends < MOST_BACKENDS - 1; i++)
        m->backend[m->backends++] =
            (found){dt_backend_name(rows[i]), true, dt_strdup(dt_backend_about(rows[i]))};
    m->fault = dt_accelerators_find(NULL, NULL, &m->plugin);
    m->no_plugin = m->fault ? dt_strdup(dt_status_text(m->fault)) : NULL;
    return dt_resolver_open(&m->tpu, "", DT_E_UNKNOWN_SLICE, NULL);
}

static void forget(machine *m) {
    dt_host_facts_release(&m->host);
    for (int i = 0; i < m->backends; i++) free(m->backend[i].about);
    dt_accelerators_release(&m->plugin);
    free(m->no_plugin);
    dt_resolver_unref(m->tpu);
}

/* ---- the report ---- */

/* Prints a line for each library or back end; the first line begins with the heading. */
static void print_found(const char *heading, const found *f, int n, dt_str *out) {
    for (int i = 0; i < n; i++)
        dt_str_printf(out, "%-12s%-10s%s%s\n", i == 0 ? heading : "", f[i].name,
                      f[i].found ? "" : "not here: ", f[i].about);
}

/* Appends the smallest and the largest slice of each generation that have a name: "sim:A to B". */
static void list_slices(dt_str *out) {
    int n, slices;
    const dt_chip *const *chip = dt_chips(&n);
    for (int i = 0; i < n; i++) {
        DT_LOCAL dt_slice *all = dt_slices_of(chip[i], &slices);
        int last = slices - 1;
        while (strchr(all[last].name, ':')) last--;
        dt_str_printf(out, "%ssim:%s to %s", i ? ", " : "", all[0].name, all[last].name);
    }
}

static void print_coordinates(const dt_accelerator *d, dt_str *out) {
    for (int k = 0; k < d->n_coordinates; k++)
        dt_str_printf(out, "%s%lld", k ? ", " : ", at (", (long long)d->coordinate[k]);
    if (d->n_coordinates) dt_str_putc(out, ')');
}

/* Prints what the plug-in is, or why its devices are unknown, and a line for each device: its
 * number in device names such as TPU:0, kind, memory and coordinates, "0 TPU v4, 30.5 GiB, at (0,
 * 0, 0, 0)". */
static void print_plugin(const machine *m, dt_str *out) {
    if (m->no_plugin) dt_str_printf(out, "%-12snot here: %s\n", "plug-in", m->no_plugin);
    if (m->plugin.about) dt_str_printf(out, "%-12s%s\n", "plug-in", m->plugin.about);
    for (int i = 0; i < m->plugin.n; i++) {
        const dt_accelerator *d = &m->plugin.device[i];
        dt_str_printf(out, "%-12s%-10d%s", i ? "" : "  devices", i, d->kind);
        if (d->memory > 0) {
            dt_str_puts(out, ", ");
            dt_str_bytes(out, (double)d->memory);
        }
        print_coordinates(d, out);
        dt_str_putc(out, '\n');
    }
}

static void print_text(const machine *m, dt_str *out) {
    dt_local_str slices = {0};
    list_slices(&slices);
    dt_str_printf(out,
                  "%-12s%d core%s; CPU:0 and as many more virtual CPU devices as a job asks for\n",
                  "cpu", m->cores, m->cores == 1 ? "" : "s");
    /* prints a line such as "loops avx512, of avx512, avx2, base": the set in use, and those that
     * DTRAIN_INSTRUCTIONS may name */
    dt_str_printf(out, "%-12s%s, of ", "loops", m->host.instructions);
    for (int i = 0; i < m->host.sets; i++)
        dt_str_printf(out, "%s%s", i ? ", " : "", m->host.set[i]);
    dt_str_printf(out, "%s\n", m->host.limited ? " (" DT_INSTRUCTIONS_ENV ")" : "");
    dt_str_printf(out, "%-12s%s, %s\n", "tpu", m->tpu->slice->name,
                  m->tpu->why ? m->tpu->why : "simulated");
    print_found("kernels", m->host.library, DT_HOST_LIBRARIES, out);
    print_found("back ends", m->backend, m->backends, out);
    print_plugin(m, out);
    dt_str_printf(out, "%-12s%s\n", "slices", dt_str_text(&slices));
}

static void put_found(dt_json *j, const char *key, const found *f, int n) {
    dt_json_open(j, key, '[');
    for (int i = 0; i < n; i++) {
        dt_json_open(j, NULL, '{');
        dt_json_string(j, "name", f[i].name);
        dt_json_bool(j, "found", f[i].found);
        dt_json_string(j, f[i].found ? "about" : "why", f[i].about);
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
}

/* Writes the names of slices. Only shapes that have a name are written; users write other shapes
 * out, such as v4:4x4x16. */
static void put_slices(dt_json *j) {
    int n, slices;
    const dt_chip *const *chip = dt_chips(&n);
    dt_json_open(j, "slices", '[');
    for (int i = 0; i < n; i++) {
        DT_LOCAL dt_slice *all = dt_slices_of(chip[i], &slices);
        for (int k = 0; k < slices; k++)
            if (!strchr(all[k].name, ':')) dt_json_string(j, NULL, all[k].name);
    }
    dt_json_close(j, ']');
}

static void put_plugin(dt_json *j, const machine *m) {
    if (!m->plugin.about && !m->no_plugin) return;
    dt_json_open(j, "plugin", '{');
    dt_json_string(j, m->no_plugin ? "why" : "about",
                   m->no_plugin ? m->no_plugin : m->plugin.about);
    dt_json_string(j, "platform", m->plugin.platform);
    dt_json_open(j, "devices", '[');
    for (int i = 0; i < m->plugin.n; i++) {
        const dt_accelerator *d = &m->plugin.device[i];
        dt_json_open(j, NULL, '{');
        dt_json_int(j, "id", d->id);
        dt_json_string(j, "kind", d->kind);
        dt_json_int(j, "memory", d->memory);
        dt_json_open(j, "coordinates", '[');
        for (int k = 0; k < d->n_coordinates; k++) dt_json_int(j, NULL, d->coordinate[k]);
        dt_json_close(j, ']');
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
    dt_json_close(j, '}');
}

static void print_json(const machine *m, dt_str *out) {
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "cores", m->cores);
    dt_json_string(&j, "instructions", m->host.instructions);
    dt_json_open(&j, "instruction_sets", '[');
    for (int i = 0; i < m->host.sets; i++) dt_json_string(&j, NULL, m->host.set[i]);
    dt_json_close(&j, ']');
    dt_json_open(&j, "tpu", '{');
    dt_json_string(&j, "type", m->tpu->slice->name);
    dt_json_bool(&j, "simulated", m->tpu->simulated);
    dt_json_string(&j, "why", m->tpu->why);
    dt_json_close(&j, '}');
    put_found(&j, "kernels", m->host.library, DT_HOST_LIBRARIES);
    put_found(&j, "backends", m->backend, m->backends);
    put_plugin(&j, m);
    put_slices(&j);
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

DT_API dt_status *dt_devices_text(bool json, char **text) {
    machine m = {0};
    dt_str out = {0};
    DT_REQUIRE({text, "place for the text"});
    dt_status *s = inspect_machine(&m);
    if (!s) {
        (json ? print_json : print_text)(&m, &out);
        *text = dt_str_take(&out);
        s = m.fault;
        m.fault = NULL;
    }
    dt_status_free(m.fault);
    forget(&m);
    return s;
}

/* ---- slices ---- */

enum { MOST_LOGICAL = 1 << 16 };

static dt_status *no_slice(const dt_job *j) {
    return dt_suggest(
        dt_fail(DT_E_NO_SLICE, &j->strategy.at,
                "strategy %s has no slice to draw its replicas on; only tpu has",
                j->strategy.row->kind.name),
        "strategy: {type: multi_worker_mirrored, cluster: ...} describes other machines");
}

/* Replaces *r by another resolver of the same slice with `cores` devices per chip, since the job's
 * own must not change. 0, or the number that the slice has: *r stays. */
static dt_status *show_cores(dt_resolver **r, int64_t cores) {
    const char *name = (*r)->slice->name;
    dt_resolver *own = NULL;
    if (cores == 0 || cores == (*r)->topology->mesh[3]) return NULL;
    if ((*r)->slice->chip->is_host)
        return dt_fail(DT_E_USAGE, NULL,
                       "--cores-per-chip: a cluster has no chips; strategy.replicas says how many "
                       "devices a host has");
    DT_TRY(dt_resolver_open(&own, name, DT_E_UNKNOWN_SLICE_OPTION, NULL));
    dt_status *s = dt_resolver_show_cores(own, cores, NULL);
    if (s) {
        dt_status *usage = dt_fail(DT_E_USAGE, NULL, "--cores-per-chip: %s", dt_status_text(s));
        dt_status_free(s);
        dt_resolver_unref(own);
        return usage;
    }
    own->why = (*r)->why ? dt_strdup((*r)->why) : NULL;
    dt_resolver_unref(*r);
    *r = own;
    return NULL;
}

/* Returns the number of devices per chip that the request gives, or else that of the job if it is
 * not the default and the slice r supports it; 0: the default. */
static int64_t cores_of(const dt_topology_request *q, const dt_resolver *r) {
    const dt_resolver *own = q->job ? q->job->strategy.resolver : NULL;
    const dt_chip *chip = r->slice->chip;
    if (q->cores_per_chip || !own || own->topology->mesh[3] == own->slice->chip->devices)
        return q->cores_per_chip;
    return own->topology->mesh[3] >= chip->devices && own->topology->mesh[3] <= chip->cores
               ? own->topology->mesh[3]
               : 0;
}

/* Opens the requested slice, or else the job's cluster or slice. *out stays NULL for --fit without
 * a slice and without a job. */
static dt_status *open_slice(const dt_topology_request *q, dt_resolver **out) {
    if (q->tpu) DT_TRY(dt_resolver_open(out, q->tpu, DT_E_UNKNOWN_SLICE_OPTION, NULL));
    else if (q->job && q->job->strategy.cluster)
        DT_TRY(dt_tpu_resolver_of_topology(out, "worker", q->job->strategy.cluster));
    else if (q->job)
        *out = dt_resolver_ref(
            /* the cast removes const, because the reference count may change */
            (dt_resolver *)q->job->strategy.resolver);
    else if (!q->fit) return dt_fail(DT_E_NO_SLICE, NULL, "neither a slice nor a job was given");
    return *out ? show_cores(out, cores_of(q, *out)) : NULL;
}

/* Places the job's replicas: without an assignment of devices, one on each device. On another slice
 * than the job's, places blocks of the same shape. */
static dt_status *place(const dt_job *j, const dt_topology *t, dt_assignment **out) {
    const dt_assignment *own = j->strategy.assignment;
    if (!own) *out = dt_assignment_each_core(t);
    else if (own->topology == t) *out = dt_assignment_ref(own);
    else
        return dt_device_assignment_build(
            out, t,
            &(dt_device_assignment_options){
                .computation_shape =
                    (int64_t[]){own->shape[0], own->shape[1], own->shape[2], own->shape[3]},
                .shape_rank = 4,
                .computation_stride =
                    (int64_t[]){own->stride[0], own->stride[1], own->stride[2], own->stride[3]},
                .stride_rank = 4,
                .num_replicas = own->replicas,
                .device_order_mode = own->order});
    return NULL;
}

static void draw(const dt_topology_request *q, const dt_resolver *r, const dt_assignment *a,
                 dt_str *out) {
    const dt_topology_picture p = {.topology = r->topology,
                                   .assignment = a,
                                   .why = r->why,
                                   .simulated = r->simulated,
                                   .utf8 = q->utf8,
                                   .columns = q->columns};
    (q->json ? dt_topology_json : q->svg ? dt_topology_svg : dt_topology_draw)(&p, out);
}

/* Reads a shape such as "1,2,2,2". */
static dt_status *read_shape(const char *text, int64_t shape[4]) {
    char side[32];
    int64_t devices = 1;
    for (int axis = 0; axis < 4; axis++) {
        size_t n = strcspn(text, ",");
        snprintf(side, sizeof side, "%.*s", (int)n, text);
        bool last = text[n] == '\0';
        if (last != (axis == 3) || n >= sizeof side || !dt_parse_int64(side, &shape[axis]) ||
            shape[axis] < 1 || !dt_mul_fits(devices, shape[axis], &devices) ||
            devices > MOST_LOGICAL)
            return dt_fail(
                DT_E_USAGE, NULL,
                "--fit must be 4 positive numbers, x,y,z,core, with a product of at most %d",
                MOST_LOGICAL);
        text += n + !last;
    }
    return NULL;
}

static dt_status *fit(const dt_topology_request *q, const dt_resolver *r, dt_str *out) {
    int64_t shape[4];
    if (r && r->slice->chip->is_host)
        return dt_fail(DT_E_USAGE, NULL,
                       "--fit: replicas of a cluster are single devices, which fit anywhere; name "
                       "a slice with --tpu");
    DT_TRY(read_shape(q->fit, shape));
    if (q->json) dt_topology_fit_json(r ? r->topology : NULL, shape, out);
    else dt_topology_fit(r ? r->topology : NULL, shape, q->columns, out);
    return NULL;
}

static dt_status *show(const dt_topology_request *q, const dt_resolver *r, dt_str *out) {
    dt_assignment *a = NULL;
    if (q->fit) return fit(q, r, out);
    if (q->job) DT_TRY(place(q->job, r->topology, &a));
    draw(q, r, a, out);
    dt_device_assignment_unref(a);
    if (!q->svg || strcmp(q->svg, "-") == 0) return NULL;
    dt_status *s = dt_file_output(q->svg, dt_str_text(out), out->size);
    dt_str_clear(out);
    return s;
}

DT_API dt_status *dt_topology_text(const dt_topology_request *request, char **text) {
    dt_resolver *r = NULL;
    dt_str out = {0};
    DT_REQUIRE({request, "request"}, {text, "place for the text"});
    DT_TRY(dt_want_live(request->job, "dt_topology_text", "job"));
    if (request->job && !dt_strategy_spec_topology(&request->job->strategy))
        return no_slice(request->job);
    dt_status *s = open_slice(request, &r);
    if (!s) s = show(request, r, &out);
    if (s) dt_str_release(&out);
    else *text = dt_str_take(&out);
    dt_resolver_unref(r);
    return s;
}

/* Writes the names of a chip's slices, one on each line. Slices that are named by their shape
 * (v4:4x4x16) are left out. If accelerator types begin with another word than the generation's name
 * (v5litepod-16), a line with the generation follows (v5e-16). */
static void put_names(const dt_chip *c, dt_str *out) {
    int n;
    DT_LOCAL dt_slice *all = dt_slices_of(c, &n);
    for (int i = 0; i < n; i++) {
        const char *count = strchr(all[i].name, '-');
        if (!strchr(all[i].name, ':')) dt_str_printf(out, "%s\n", all[i].name);
        if (!strchr(all[i].name, ':') && c->type)
            dt_str_printf(out, "%s%s\n", c->generation, count);
    }
}

DT_API dt_status *dt_slice_names(char **text) {
    int n;
    dt_str out = {0};
    DT_REQUIRE({text, "place for the text"});
    const dt_chip *const *chip = dt_chips(&n);
    for (int i = 0; i < n; i++) put_names(chip[i], &out);
    *text = dt_str_take(&out);
    return NULL;
}
