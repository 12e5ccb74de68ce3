/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain devices: lists the devices of this machine, back ends and kernel libraries. */
#include <stdlib.h>

#include "base/arena.h"
#include "verb.h"

struct devices {
    struct common common;
    bool json;
    const char *plugin;
};

static int run(const struct call *call) {
    const struct devices *my = call->settings;
    DT_LOCAL char *text = NULL;
    dt_status *s = take_no_operands(call);
    if (my->plugin) setenv("DTRAIN_PJRT_PLUGIN", my->plugin, 1);
    if (!s) s = dt_devices_text(my->json, &text);
    /* The library returns the devices that it found even when it also returns an error. */
    if (text) out_text(call->out, text);
    return out_error(call->out, s);
}

static const struct option options[] = {
    FLAG(struct devices, json, "json", "print one JSON object"),
    PATH(struct devices, plugin, "plugin", "PATH",
         "list the devices of this PJRT plug-in; default: DTRAIN_PJRT_PLUGIN"),
    OPTIONS_END};
const struct verb verb_devices = {
    .name = "devices",
    .group = "Inspect",
    .line = "list back ends, devices and kernel libraries, and why others are not available",
    .operands = "",
    .examples = "  dtrain devices\n  dtrain devices --json\n  DTRAIN_INSTRUCTIONS=avx2 dtrain "
                "devices     act as if the processor had only AVX2\n",
    .more =
        "dtrain's own loops are compiled for several instruction sets and use the best one that "
        "the processor has.\n"
        "DTRAIN_INSTRUCTIONS=base, avx2 or avx512 limits dtrain and the kernel libraries to that "
        "set, for every verb and\n"
        "for programs that use the library. The loops give the same bits with every set; matrix "
        "products and convolutions\n"
        "of the libraries do not.\n\n"
        "Exits with 69 if the plug-in that --plugin or DTRAIN_PJRT_PLUGIN names does not start.\n",
    .options = options,
    .size = sizeof(struct devices),
    .run = run,
};
