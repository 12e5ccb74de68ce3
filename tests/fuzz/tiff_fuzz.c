/* SPDX-License-Identifier: Apache-2.0 */
/* TIFF pictures, if libtiff is installed. */
#include "image.h"

FUZZ_TARGET(tiff) {
    fuzz_picture(data, size);
    return 0;
}
