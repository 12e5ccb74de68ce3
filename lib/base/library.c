/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what library.h declares. The loader reports its errors as text only. */
#define _GNU_SOURCE /* makes the headers declare MAP_ANONYMOUS */
#include "base/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

/* in bytes: more address space than any library needs that is opened here */
#define ROOM ((size_t)256 << 20)

static bool has_room(void) {
    void *at = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at != MAP_FAILED && munmap(at, ROOM) == 0;
}

/* Whether the loader failed for lack of memory. why: the loader's message; NULL: memory was lacking
 * for that, too. "cannot map segment" can also mean that the file system is mounted noexec, so this
 * tries to get memory. */
static bool is_memory(const char *why) {
    return !why || strstr(why, "emory") || (strstr(why, "map segment") && !has_room());
}

dt_status *dt_library_open(void **out, const char *const *names, int flags, const char **why) {
    for (*out = NULL; !*out && *names; names++) {
        *out = dlopen(*names, flags);
        const char *words = *out ? NULL : dlerror();
        if (!*out && is_memory(words))
            return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory to load %s", *names);
        if (why) *why = words;
    }
    return NULL;
}

const char *dt_library_bind(void *library, const dt_library_function *f, int n, void *out) {
    for (int i = 0; i < n; i++) {
        void *found = dlsym(library, f[i].name);
        if (!found) return f[i].name;
        /* ISO C has no conversion from object pointers to function pointers. POSIX has it: both
         * have the same representation. */
        memcpy((char *)out + f[i].offset, &found, sizeof found);
    }
    return NULL;
}
