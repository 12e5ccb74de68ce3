/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain devices: what this machine has to compute with. */
#include "verb.h"

struct devices {
    struct common common;
    bool json;
};

static int run(const struct call *call)
{
    const struct devices *my = call->settings;
    char *text = NULL;
    dt_status *s = take_no_operands(call);
    if (!s)
        s = dt_devices_text(my->json, &text);
    return out_result(call->out, s, text);
}

static const struct option options[] = {
    FLAG(struct devices, json, "json", "print one JSON object"),
    OPTIONS_END
};
const struct verb verb_devices = {
    .name = "devices",
    .group = "Inspect",
    .line = "back ends, devices and kernel libraries that were found, and why others were not",
    .operands = "",
    .examples = "  dtrain devices\n  dtrain devices --json\n  DTRAIN_INSTRUCTIONS=avx2 dtrain devices     as if the processor had no more\n",
    .more = "Our own loops are compiled for several instruction sets; the best that the processor has is taken. DTRAIN_INSTRUCTIONS=base, avx2 or\n"
            "avx512, for every verb and every program on the library, takes it for one without more: loops and kernel libraries keep to that.\n"
            "The loops give the same bits with every set; the libraries' matrix products and convolutions do not.\n",
    .options = options,
    .size = sizeof(struct devices),
    .run = run,
};
