/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "did you mean": the nearest of some names by optimal string alignment: insertions, deletions,
 * replacements and swaps of neighbours cost 1. A name is near if at most about a third of its
 * letters are wrong; then a suggestion helps more often than it misleads. The first letter is
 * rarely mistyped: a name that does not begin alike (begins_alike) is near only at a distance of 1,
 * so `shell` does not mean `help`. Abbreviations come first: `acc` means accuracy, not auc. Without
 * a near name the last word counts: `roc_auc` means auc.
 */
#include <ctype.h>
#include <string.h>

#include "base/size.h"
#include "base/str.h"

enum { LONGEST = 63 }; /* names with more bytes than this get no suggestion */

static bool same(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

/* Whether two names have the same first letter, or the first letter of one is the second letter of
 * the other, as in `edns` and `dens`, whose first two letters are exchanged. */
static bool begins_alike(const char *a, const char *b) {
    return same(a[0], b[0]) || (a[1] && same(a[1], b[0])) || (b[0] && same(a[0], b[1]));
}

/* Returns the distance of two names. Keeps three rows of the table: the current one, the one above,
 * and the one above that for swaps. */
static int distance(const char *a, int m, const char *b, int n) {
    int rows[3][LONGEST + 1];
    int *above2 = rows[0], *above = rows[1], *row = rows[2];
    for (int j = 0; j <= n; j++) above[j] = j;
    for (int i = 1; i <= m; i++) {
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            row[j] =
                dt_min(above[j - 1] + !same(a[i - 1], b[j - 1]), dt_min(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = dt_min(row[j], above2[j - 2] + 1);
        }
        int *oldest = above2;
        above2 = above;
        above = row;
        row = oldest;
    }
    return above[n];
}

/* Whether a name begins with `with`. Underscores do not count: F1Score and f1_score are forms of
 * one name. */
static bool begins(const char *name, const char *with) {
    for (; *with; name++, with++) {
        name += *name == '_';
        with += *with == '_';
        if (!*with || !same(*name, *with)) return !*with;
    }
    return true;
}

/* Returns the shortest name that begins with `start`, if all other names that begin with `start`
 * begin with that name, too; else NULL. So `conv` is not completed to conv_0 if there is conv_1. A
 * single letter is not completed. */
static const char *find_longer(const char *start, size_t length, const char *const *names, int n) {
    const char *found = NULL;
    for (int i = 0; i < n && length > 1; i++)
        if (names[i] && begins(names[i], start) &&
            (!found || (begins(found, names[i]) && !begins(names[i], found))))
            found = names[i];
    for (int i = 0; i < n && found; i++)
        if (names[i] && begins(names[i], start) && !begins(names[i], found)) return NULL;
    return found;
}

static const char *find_last_word(const char *name, const char *const *names, int n) {
    const char *last = name + strlen(name);
    while (last > name && last[-1] != '_' && last[-1] != '-') last--;
    for (int i = 0; i < n && last > name; i++)
        if (names[i] && begins(names[i], last) && strlen(names[i]) == strlen(last)) return names[i];
    return NULL;
}

DT_API const char *dt_nearest(const char *name, const char *const *names, int n) {
    size_t length = name && names ? strlen(name) : 0;
    if (length == 0 || length > LONGEST) return NULL;
    /* This is one more than the largest distance that counts as near. */
    int best = (int)(length + 1) / 3 + 1;
    const char *nearest = NULL;
    for (int i = 0; i < n; i++) {
        size_t other = names[i] ? strlen(names[i]) : LONGEST + 1;
        /* The edit distance is at least the difference of the lengths. */
        const int apart = (int)other - (int)length;
        if (other > LONGEST || apart >= best || -apart >= best) continue;
        int d = distance(name, (int)length, names[i], (int)other);
        if (d < best && (d < 2 || begins_alike(name, names[i]))) {
            best = d;
            nearest = names[i];
        }
    }
    const char *longer = best == 0 ? NULL : find_longer(name, length, names, n);
    if (longer) return longer;
    return nearest ? nearest : find_last_word(name, names, n);
}

dt_status *dt_suggest_names(dt_status *s, const char *nearest, const char *const *names, int n,
                            const char *label) {
    if (nearest) return dt_suggest(s, "did you mean '%.200s'?", nearest);
    dt_local_str all = {0};
    for (int i = 0; i < n; i++) dt_str_printf(&all, "%s%s", i ? ", " : "", names[i]);
    return dt_suggest(s, "%s %s", label, n ? dt_str_text(&all) : "none");
}

dt_status *dt_suggest_nearest(dt_status *s, const char *name, const char *const *names, int n) {
    const char *nearest = dt_nearest(name, names, n);
    return nearest ? dt_suggest_names(s, nearest, NULL, 0, NULL) : s;
}
