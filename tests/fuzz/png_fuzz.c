/* SPDX-License-Identifier: Apache-2.0 */
/* PNG pictures. */
#include "image.h"
#include "repair.h"

FUZZ_TARGET(png) {
    fuzz_picture(data, size);
    return 0;
}

FUZZ_REPAIRED_BY(repair_picture)
