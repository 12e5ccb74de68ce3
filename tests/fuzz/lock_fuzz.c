/* .lock of a run directory, as one reads it who did not get the lock. */
#include "format/lock.h"
#include "fuzz.h"

FUZZ_TARGET(lock)
{
    fuzz_done(dt_lock_refusal("run", fuzz_string(data, size)));
    return 0;
}
