/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG pictures. */
#include "image.h"

FUZZ_TARGET(jpeg) {
    fuzz_picture(data, size);
    return 0;
}
