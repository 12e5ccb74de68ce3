/* SPDX-License-Identifier: Apache-2.0 */
/* Names of groups in Keras' files: a key and a name in each line, the number of arrays in the last.
 * The files themselves are read by libhdf5 in a process of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/hdf5.h"
#include "fuzz.h"

FUZZ_TARGET(hdf5_names) {
    static dt_hdf5_place at;
    const char *line = fuzz_string(data, size), *name = NULL;
    dt_arena *arena = dt_arena_create();
    for (at.n = 0; *line && at.n < DT_HDF5_DEPTH; line += strcspn(line, "\n"), at.n++) {
        line += *line == '\n';
        const int n = (int)strcspn(line, " \n"), rest = (int)strcspn(line, "\n");
        snprintf(at.key[at.n], DT_HDF5_NAME, "%.*s", n, line);
        snprintf(at.name[at.n], DT_HDF5_NAME, "%.*s", rest > n ? rest - n - 1 : n,
                 rest > n ? line + n + 1 : line);
    }
    if (at.n > 0) {
        const int count = atoi(at.name[--at.n]);
        if (at.n > 0) fuzz_done(dt_hdf5_name(&at, count, arena, &name));
        FUZZ_CHECK(!name || *name, "an empty name");
    }
    dt_arena_destroy(arena);
    return 0;
}
