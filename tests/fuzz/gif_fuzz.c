/* SPDX-License-Identifier: Apache-2.0 */
/* GIF pictures. */
#include "image.h"

FUZZ_TARGET(gif) {
    fuzz_picture(data, size);
    return 0;
}
