/* SPDX-License-Identifier: Apache-2.0 */
/* Names of slices ("v4:4x4x8_twisted") and of devices ("/job:worker/task:1/device:TPU:3"), and what
 * Cloud TPU says in the environment: lines are the name that a job gives, TPU_NAME,
 * TPU_ACCELERATOR_TYPE and TPU_TOPOLOGY; of devices the first is a name, too, and all of them are a
 * list. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "fuzz.h"
#include "topo/topo.h"

enum { LINES = 4 };

/* All that is asked of one; cores as the chip shows them, or does not. */
static void ask(dt_resolver *r) {
    const dt_topology *t = NULL;
    fuzz_done(dt_tpu_connect(r));
    fuzz_done(dt_tpu_initialize(r, &t));
    fuzz_done(dt_tpu_shutdown(r));
    FUZZ_CHECK(t && dt_resolver_simulated(r) && dt_resolver_tasks(r) > 0 &&
                   dt_resolver_accelerators(r) > 0,
               "no system");
    FUZZ_CHECK(*dt_resolver_master(r) && *dt_resolver_task_type(r) && dt_resolver_task_id(r) == 0,
               "a resolver without answers");
    for (int cores = 1; cores <= 2; cores++) fuzz_done(dt_resolver_show_cores(r, cores, NULL));
}

/* Of a slice that was found, and of a cluster without TPUs. */
static void name_job(const dt_resolver *found, const char *job) {
    dt_resolver *r = NULL, *workers = dt_resolver_of_workers(2);
    fuzz_done(dt_tpu_resolver_of_topology(&r, job, found->topology));
    dt_resolver_unref(r);
    fuzz_done(dt_tpu_connect(workers));
    dt_resolver_unref(dt_resolver_ref(workers));
    dt_resolver_unref(workers);
}

static void resolve(const char *const line[LINES]) {
    static const char *const variables[LINES] = {NULL, "TPU_NAME", "TPU_ACCELERATOR_TYPE",
                                                 "TPU_TOPOLOGY"};
    dt_resolver *r = NULL;
    for (int i = 1; i < LINES; i++) setenv(variables[i], line[i], 1);
    dt_status *s = dt_tpu_resolver(&r, line[0]);
    if (!s) {
        ask(r);
        name_job(r, line[1]);
    }
    fuzz_done(s);
    for (int i = 1; i < LINES; i++) unsetenv(variables[i]);
    dt_resolver_unref(r);
}

/* What a name prints as is read as the same. */
static void name_device(const char *text) {
    dt_device_name d, again;
    dt_str out = {0};
    dt_status *s = dt_device_name_parse(text, NULL, &d);
    if (!s) {
        dt_device_name_print(&d, &out);
        FUZZ_CHECK(!dt_device_name_parse(dt_str_text(&out), NULL, &again) &&
                       dt_device_name_equal(&d, &again),
                   "a device with another name");
    }
    dt_str_release(&out);
    fuzz_done(s);
}

FUZZ_TARGET(topology) {
    const char *line[LINES] = {"", "", "", ""};
    char *rest;
    int n = 0;
    for (char *at = strtok_r(fuzz_copy(data, size), "\n", &rest); at && n < LINES;
         at = strtok_r(NULL, "\n", &rest))
        line[n++] = strcmp(at, "-") == 0 ? "" : at;
    dt_device_name devices[LINES];
    dt_slice slice;
    dt_status *s = dt_slice_find(line[0], DT_E_UNKNOWN_SLICE, NULL, &slice);
    if (!s) FUZZ_CHECK(dt_slice_chips(&slice) > 0, "a slice without chips");
    fuzz_done(s);
    name_device(line[0]);
    fuzz_done(dt_cpu_devices_parse(line, n, NULL, devices));
    resolve(line);
    return 0;
}
