/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain doctor: prints facts about this machine for a bug report. */
#include "verb.h"

struct doctor {
    struct common common;
    bool json;
};

static int run(const struct call *call) {
    const struct doctor *my = call->settings;
    char *text = NULL;
    dt_status *s = take_no_operands(call);
    if (!s) s = dt_doctor_text(my->json, &text);
    return out_result(call->out, s, text);
}

static const struct option options[] = {FLAG(struct doctor, json, "json", "print one JSON object"),
                                        OPTIONS_END};
const struct verb verb_doctor = {
    .name = "doctor",
    .group = "Other",
    .line = "print versions, machine, devices and variables for a bug report",
    .operands = "",
    .examples = "  dtrain doctor\n  dtrain doctor --json\n",
    .more = "Shows only environment variables that dtrain or its libraries use. Problems are "
            "listed at the end.\n",
    .options = options,
    .size = sizeof(struct doctor),
    .run = run,
};
