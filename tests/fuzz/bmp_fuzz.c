/* SPDX-License-Identifier: Apache-2.0 */
/* BMP pictures. */
#include "image.h"

FUZZ_TARGET(bmp) {
    fuzz_picture(data, size);
    return 0;
}
