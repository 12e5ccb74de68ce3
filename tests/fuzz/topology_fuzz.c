/* Names of slices ("v4:4x4x8_twisted") and of devices ("/job:worker/task:1/device:TPU:3"), and what Cloud TPU says in the environment. */
#include <stdlib.h>

#include "base/str.h"
#include "fuzz.h"
#include "topo/topo.h"

static void resolve(const char *text)
{
    static const char *const variables[] = {"TPU_NAME", "TPU_ACCELERATOR_TYPE", "TPU_TOPOLOGY"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        dt_resolver *r = NULL;
        setenv(variables[i], text, 1);
        fuzz_done(dt_resolver_open(&r, "", DT_E_UNKNOWN_SLICE, NULL));
        dt_resolver_unref(r);
    }
    unsetenv("TPU_NAME");
    unsetenv("TPU_ACCELERATOR_TYPE");
    setenv("TPU_ACCELERATOR_TYPE", "v4-512", 1);
    dt_resolver *r = NULL;
    fuzz_done(dt_resolver_open(&r, "", DT_E_UNKNOWN_SLICE, NULL));
    dt_resolver_unref(r);
    unsetenv("TPU_ACCELERATOR_TYPE");
    unsetenv("TPU_TOPOLOGY");
}

/* What a name prints as is read as the same. */
static void name_device(const char *text)
{
    dt_device_name d, again;
    dt_str out = {0};
    dt_status *s = dt_device_name_parse(text, NULL, &d);
    if (!s) {
        dt_device_name_print(&d, &out);
        FUZZ_CHECK(!dt_device_name_parse(dt_str_text(&out), NULL, &again) && dt_device_name_equal(&d, &again), "a device with another name");
    }
    dt_str_release(&out);
    fuzz_done(s);
}

FUZZ_TARGET(topology)
{
    const char *text = fuzz_string(data, size);
    dt_slice slice;
    dt_status *s = dt_slice_find(text, DT_E_UNKNOWN_SLICE, NULL, &slice);
    if (!s)
        FUZZ_CHECK(dt_slice_chips(&slice) > 0 && dt_slice_hosts(&slice) > 0, "a slice without chips");
    fuzz_done(s);
    name_device(text);
    resolve(text);
    return 0;
}
