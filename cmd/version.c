/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain version: prints the version. */
#include "print.h"
#include "verb.h"

struct version {
    struct common common;
    bool json;
};

/* Prints the version as JSON for scripts: its numbers, and how this program was compiled. */
static void print_json(struct out *out) {
    struct json j;
    json_open_event(&j, "version");
    dt_json_string(&j.to, "version", dt_version());
    dt_json_int(&j.to, "major", DTRAIN_VERSION_MAJOR);
    dt_json_int(&j.to, "minor", DTRAIN_VERSION_MINOR);
    dt_json_int(&j.to, "patch", DTRAIN_VERSION_PATCH);
    dt_json_string(&j.to, "compiler", __VERSION__);
    json_print(&j, out);
}

static int run(const struct call *call) {
    const struct version *my = call->settings;
    dt_status *s = take_no_operands(call);
    if (s) return out_error(call->out, s);
    if (my->json) print_json(call->out);
    else out_line(call->out, "dtrain %s", dt_version());
    return 0;
}

static const struct option options[] = {FLAG(struct version, json, "json", "print one JSON object"),
                                        OPTIONS_END};
const struct verb verb_version = {
    .name = "version",
    .group = "Other",
    .line = "print the version",
    .operands = "",
    .examples = "  dtrain version\n  dtrain version --json\n  dtrain --version\n",
    .options = options,
    .size = sizeof(struct version),
    .run = run,
};
