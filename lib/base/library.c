/* See library.h. The loader tells why it could not in words only. */
#include "base/library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"

static int is_memory(const char *why)
{
    return !why || strstr(why, "emory") != NULL; /* NULL: it had none for the words either */
}

void *dt_library_open(const char *const *names, int flags)
{
    void *library = NULL;
    for (; !library && *names; names++) {
        library = dlopen(*names, flags);
        if (!library && is_memory(dlerror()))
            dt_out_of_memory();
    }
    return library;
}
