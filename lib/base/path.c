/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths as users write them. To the kernel every text is a file name: `s3://bucket/run` would
 * create a folder "s3:" in the working directory, and the output would be lost with the machine.
 * So texts that are not local paths are refused before anything is opened.
 */
#include <ctype.h>
#include <string.h>

#include "base/environment.h"
#include "base/file.h"

/* Whether a path begins with a scheme, a host or a drive: a letter and perhaps further letters,
 * digits, '+', '.' or '-', then a colon and a slash, as in "s3://bucket", "dbfs:/run",
 * "host:/home/me"; after a single letter also a colon and a backslash, as in "C:\\run". */
static bool has_scheme(const char *path) {
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-";
    const size_t n = isalpha((unsigned char)*path) ? strspn(path, rest) : 0;
    return n > 0 && path[n] == ':' && (path[n + 1] == '/' || (n == 1 && path[n + 1] == '\\'));
}

/* Whether a path begins with a user and a host, as in scp's "me@host:runs". */
static bool has_host(const char *path) {
    const size_t n = strcspn(path, "/:");
    return path[n] == ':' && memchr(path, '@', n);
}

/* Returns the first part of a path that a shell would have replaced, of *n bytes: $(date), ${NAME},
 * `date`; at the beginning and behind a slash also $NAME, %NAME%. Returns NULL if the path has no
 * such part. */
static const char *unexpanded(const char *path, size_t *n) {
    for (const char *p = path; *p; p++) {
        const char *end = p + 1;
        if (*p == '`' || (*p == '$' && (p[1] == '(' || p[1] == '{')))
            end += strcspn(end, *p == '`' ? "`" : p[1] == '(' ? ")" : "}"), end += *end != '\0';
        else if ((*p == '$' || *p == '%') && (p == path || p[-1] == '/') &&
                 (isalpha((unsigned char)p[1]) || p[1] == '_'))
            while (isalnum((unsigned char)*end) || *end == '_') end++;
        const bool is = *p == '%' ? end > p + 1 && *end == '%' : end > p + 1;
        *n = (size_t)(end - p) + (*p == '%');
        if (is) return p;
    }
    return NULL;
}

DT_API dt_status *dt_path_check(const char *path) {
    DT_TRY(dt_want(path, "dt_path_check", "path"));
    if (strncmp(path, "file://", 7) == 0)
        return dt_suggest(dt_fail(DT_E_NOT_LOCAL, NULL, "%s: is a URL, not a path", path),
                          "write %s", path + 7);
    if (isalpha((unsigned char)path[0]) && path[1] == ':' && has_scheme(path))
        return dt_suggest(dt_fail(DT_E_NOT_LOCAL, NULL, "%s: a path of Windows", path),
                          "write the path as this machine has it, such as /mnt/c/... in WSL");
    if (has_scheme(path) || has_host(path))
        return dt_suggest(
            dt_fail(DT_E_NOT_LOCAL, NULL,
                    "%s: not a path on this machine; dtrain reads and writes local files", path),
            "copy the files, or mount the storage and write the path of the mount");
    if (path[0] == '~' && (path[1] == '/' || path[1] == '\0'))
        return dt_suggest(dt_fail(DT_E_NOT_LOCAL, NULL, "%s: the shell has not replaced '~'", path),
                          "write the path as a word of its own (--input ~/x), or the whole path");
    return NULL;
}

static dt_status *expand_home(const char *written, char **path) {
    const char *home = dt_environment("HOME");
    /* The home directory of another user, as in ~name/x, is not expanded. */
    if (written[1] && written[1] != '/')
        return dt_suggest(dt_fail(DT_E_NOT_LOCAL, NULL,
                                  "%s: only ~/ is replaced, by your home directory", written),
                          "write the whole path, or ./%s for a folder of that name", written);
    if (!home || *home != '/')
        return dt_fail(DT_E_NOT_LOCAL, NULL,
                       "%s: the environment variable HOME is not set to a path", written);
    *path = written[1] ? dt_path_join(home, written + 2) : dt_strdup(home);
    return NULL;
}

dt_status *dt_path_local(const char *written, char **path) {
    size_t n = 0;
    *path = NULL;
    if (*written == '~' && (written[1] == '\0' || strchr(written, '/')))
        return expand_home(written, path);
    DT_TRY(dt_path_check(written));
    const char *shell = unexpanded(written, &n);
    if (!shell) return NULL;
    dt_status *s = dt_fail(DT_E_NOT_LOCAL, NULL, "%s: '%.*s' is not replaced in a job", written,
                           (int)n, shell);
    const int name = n > 2 && *shell == '%' ? (int)n - 2 : (int)n - 1;
    const bool is_name = *shell != '`' && shell[1] != '(' && shell[1] != '{';
    return is_name ? dt_suggest(s, "write ${%.*s}", name, shell + 1)
                   : dt_suggest(s, "have the shell replace it: dtrain fit JOB key.path=\"$(...)\"");
}

const char *dt_path_trimmed(dt_arena *arena, const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    return dt_arena_printf(arena, "%.*s", (int)n, path);
}
