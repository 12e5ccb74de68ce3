/* SPDX-License-Identifier: Apache-2.0 */
/* .lock of a run directory, as one reads it who did not get the lock; then the lock is taken over
 * such a text, and refused to a second one. */
#include <string.h>

#include "format/format.h"
#include "fuzz.h"

FUZZ_TARGET(lock) {
    fuzz_done(dt_lock_refusal("run", fuzz_string(data, size)));
    const char *folder = fuzz_folder(".lock", data, size);
    dt_writer first = {.fd = -1}, second = {.fd = -1};
    dt_status *s = dt_lock_take(&first, folder),
              *refused = s ? NULL : dt_lock_take(&second, folder);
    FUZZ_CHECK(s || (refused && dt_status_code(refused) == 73), "a lock that two have");
    fuzz_done(s);
    fuzz_done(refused);
    dt_writer_abandon(&first);
    return 0;
}
