/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of file names, and sets of shards that must be whole: the first line is the pattern, the
 * others are files and folders to choose from. */
#include <string.h>

#include "file/records.h"
#include "fuzz.h"

FUZZ_TARGET(paths) {
    char *pattern = fuzz_copy(data, size), *names = pattern + strcspn(pattern, "\n");
    dt_paths found = {0};
    if (*names) *names++ = '\0';
    /* What else lies on this machine is nobody's input; `.*` is the folder above, too. */
    if (*pattern == '/' || *pattern == '.' || strstr(pattern, "/.") || strstr(pattern, ".."))
        return 0;
    const char *folder = fuzz_tree(names, "x", 1);
    dt_status *s = dt_paths_match(&found, folder, pattern);
    for (int i = 0; i < found.n; i++)
        FUZZ_CHECK(strncmp(found.v[i], folder, strlen(folder)) == 0, "found outside the folder");
    fuzz_done(s);
    if (found.n > 0) {
        dt_paths inside = {0};
        fuzz_done(dt_paths_list(&inside, found.v[0]));
        dt_paths_release(&inside);
    }
    dt_paths_release(&found);
    return 0;
}
