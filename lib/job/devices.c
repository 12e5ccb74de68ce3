/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrain devices: lists what this machine can compute with, and why the rest is not available. Each
 * fact comes from the code that uses it: the instruction set comes from the kernels, the libraries
 * from the code that multiplies matrices, back ends from their table, slices from the resolver.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/isa.h"
#include "base/json.h"
#include "base/thread.h"
#include "job/job.h"

enum { MOST_BACKENDS = 8 };

/* A library that may be installed. */
typedef dt_host_library found;

typedef struct machine {
    int cores;
    dt_host_facts host;
    found backend[MOST_BACKENDS];
    int backends;
    dt_resolver *tpu;
    dt_accelerators plugin;
    dt_status *fault; /* error of the plug-in; NULL: it starts, or no plug-in was named */
    char
        *no_plugin; /* why its devices are unknown; NULL: they are known, or no plug-in was named */
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

/* Prints a line for each device; the first one begins with the heading. */
static void print_found(const char *heading, const found *f, int n, dt_str *out) {
    for (int i = 0; i < n; i++)
        dt_str_printf(out, "%-12s%-10s%s%s\n", i == 0 ? heading : "", f[i].name,
                      f[i].found ? "" : "not here: ", f[i].about);
}

/* Lists slices from the smallest to the largest of each generation. */
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

/* Prints a line for each device of the plug-in: "pjrt 0 TPU v4, 30.5 GiB, at (0, 0, 0, 0)". The
 * numbers are those of device names such as GPU:0. */
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
    /* prints "avx512, of avx512, avx2, base"; DTRAIN_INSTRUCTIONS may choose any of the three */
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
