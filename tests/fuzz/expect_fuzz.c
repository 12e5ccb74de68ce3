/* --expect: a gate on a metric. */
#include "../../cmd/expect.h"
#include "fuzz.h"

FUZZ_TARGET(expect)
{
    static struct expectations e;
    static const struct verb fit = {.name = "fit"};
    const struct call call = {.verb = &fit};
    const char *text = fuzz_string(data, size);
    fuzz_done(expect_parse(&call, (struct words){&text, 1}, &e));
    return 0;
}
