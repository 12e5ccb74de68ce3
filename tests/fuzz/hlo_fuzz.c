/* SPDX-License-Identifier: Apache-2.0 */
/* Optimized HLO modules, as compilers behind PJRT give them; and options that are written for
 * those. */
#include "fuzz.h"
#include "pjrt/pjrt.h"

FUZZ_TARGET(hlo) {
    dt_pjrt_report report = {0};
    dt_str options = {0};
    const int64_t device[] = {size > 0 ? data[0] : 0, (int64_t)size};
    fuzz_done(dt_pjrt_read_hlo(data, size, &report));
    dt_pjrt_write_options(device, 2, &options);
    dt_str_release(&options);
    return 0;
}
