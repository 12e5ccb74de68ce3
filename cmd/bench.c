/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain bench: published numbers against what the simulator predicts. */
#include "simulator.h"
#include "verb.h"

struct bench {
    struct common common;
    const char *simulator, *configs;
    bool json;
};

static dt_status *bench(const struct call *call, char **text) {
    const struct bench *my = call->settings;
    dt_status *s = take_no_operands(call);
    if (s) return s;
    if (!my->simulator) return usage_error(call, "--simulator ROWS.json is missing");
    return simulator_compare(my->simulator, my->configs, my->json, text);
}

static int run(const struct call *call) {
    char *text = NULL;
    dt_status *s = bench(call, &text);
    return out_result(call->out, s, text);
}

static const struct option options[] = {
    PATH(struct bench, simulator, "simulator", "ROWS.json",
         "predict published steps, operations and estimates, and compare"),
    PATH(struct bench, configs, "configs", "DIR",
         "directory of the published models' jobs; default: configs/published"),
    FLAG(struct bench, json, "json", "print one JSON object per row"), OPTIONS_END};
const struct verb verb_bench = {
    .name = "bench",
    .group = "Other",
    .line = "compare the simulator with published measurements",
    .operands = "",
    .examples = "  dtrain bench --simulator rows.json           predicted, published, error; "
                "median and worst of each kind\n"
                "  dtrain bench --simulator rows.json --json    one JSON object per row\n",
    .more = "A row without enough information for a prediction is listed with what is missing; in "
            "JSON, its \"predicted\" is\n"
            "null. docs/simulator.md describes the kinds of rows and the errors to expect.\n",
    .options = options,
    .size = sizeof(struct bench),
    .run = run,
};
