/* SPDX-License-Identifier: Apache-2.0 */
/* WebP pictures, if libwebp is installed. */
#include "image.h"

FUZZ_TARGET(webp) {
    fuzz_picture(data, size);
    return 0;
}
