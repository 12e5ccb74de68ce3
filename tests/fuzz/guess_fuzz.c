/* SPDX-License-Identifier: Apache-2.0 */
/* `dtrain data inspect FILE`: what a file is and has in it, seen by its contents alone; two files
 * where a line of dashes is between them. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtrain.h"
#include "fuzz.h"
#include "repair.h"

static void inspect(const char *const *files, int n, bool json) {
    char *text = NULL;
    fuzz_done(
        dt_data_inspect(&(dt_data_request){.files = files, .n_files = n, .json = json}, 2, &text));
    free(text);
}

/* The first has a name, as elements of arrays have. */
static void inspect_two(const uint8_t *data, size_t size, const uint8_t *cut, size_t between) {
    char first[256], second[256];
    const size_t before = (size_t)(cut - data) + 1, after = before - 1 + between;
    const char *folder = fuzz_folder("a", data, before);
    fuzz_folder_add("b", data + after, size - after);
    snprintf(first, sizeof first, "x=%s/a", folder);
    snprintf(second, sizeof second, "%s/b", folder);
    inspect((const char *const[]){first, second}, 2, false);
}

FUZZ_TARGET(guess) {
    static const char between[] = "\n-----\n";
    const char *path = fuzz_file(data, size);
    const uint8_t *cut = memmem(data, size, between, strlen(between));
    inspect(&path, 1, size % 2);
    if (cut) inspect_two(data, size, cut, strlen(between));
    return 0;
}

FUZZ_REPAIRED_BY(repair_any)
