/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Globs with groups. fnmatch does not support {a,b}, so groups are expanded first, from the left:
 *
 *     x/{a,b{1,2}}/y   ->   x/a/y   x/b1/y   x/b2/y
 */
#include "base/glob.h"

#include <fnmatch.h>
#include <string.h>

typedef struct expansion {
    dt_arena *arena;
    const char **pattern; /* [most] the patterns found so far */
    int n, most;
} expansion;

/* Returns the ',' or '}' that ends the alternative which begins at p; NULL: the group is never
 * closed. */
static const char *end_of(const char *p) {
    for (int depth = 0; *p; p++) {
        if (depth == 0 && (*p == ',' || *p == '}')) return p;
        depth += (*p == '{') - (*p == '}');
    }
    return NULL;
}

/* Returns the position after the '}' of the group whose first alternative begins at p; NULL: the
 * group is never closed. */
static const char *behind(const char *p) {
    const char *end = end_of(p);
    while (end && *end == ',') end = end_of(end + 1);
    return end ? end + 1 : NULL;
}

/* Expands the groups in a glob. Returns 0, or an error of dt_glob_expand. */
static int expand(expansion *e, const char *glob) {
    const char *open = strchr(glob, '{'), *rest = open ? behind(open + 1) : NULL;
    if (open && !rest) return DT_GLOB_OPEN;
    if (!open) {
        if (e->n == e->most) return DT_GLOB_MANY;
        e->pattern[e->n++] = glob;
        return 0;
    }
    for (const char *p = open + 1; p < rest; p = end_of(p) + 1) {
        int bad = expand(e, dt_arena_printf(e->arena, "%.*s%.*s%s", (int)(open - glob), glob,
                                            (int)(end_of(p) - p), p, rest));
        if (bad) return bad;
    }
    return 0;
}

int dt_glob_expand(dt_arena *arena, const char *glob, int most, const char *const **out) {
    expansion e = {
        .arena = arena, .pattern = dt_arena_array(arena, const char *, most), .most = most};
    int bad = expand(&e, dt_arena_strdup(arena, glob));

    *out = e.pattern;
    return bad ? bad : e.n;
}

bool dt_glob_matches(const char *const *pattern, int n, const char *text) {
    for (int i = 0; i < n; i++)
        if (fnmatch(pattern[i], text, 0) == 0) return true;
    return false;
}
