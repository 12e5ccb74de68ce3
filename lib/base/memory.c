/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See memory.h. /proc/self/cgroup names the group of the process, /proc/self/mountinfo where groups
 * are mounted and which of them is the mount's root:
 *
 *     version 2   0::/user/job               memory.max, memory.swap.max
 *     version 1   4:memory:/user/job         memory.limit_in_bytes, memory.memsw.limit_in_bytes
 *
 * Every group up to the root may have a limit, and each holds.
 */
#include "base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/size.h"

enum { LARGEST = 1 << 20 };
/* The value for "no limit". Version 1 of control groups writes a number of about 2^63 for that. */
static const int64_t none = INT64_C(1) << 60;

int64_t dt_memory_resident(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*s %ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* ---- files ---- */

/* Reads at most about 1 MiB of a file; *out becomes "" if the file does not exist. */
static void read_text(const char *path, dt_str *out) {
    char piece[4096];
    /* The length is not known before reading: files of the kernel report size 0. */
    FILE *f = fopen(path, "re");
    dt_str_clear(out);
    for (size_t n; f && out->size < LARGEST && (n = fread(piece, 1, sizeof piece, f)) > 0;)
        dt_str_add(out, piece, n);
    if (f) fclose(f);
}

/* Reads a limit in bytes from a file. Returns `none` if the file does not exist, says "max", or has
 * a number of at least `none`. */
static int64_t read_bytes(const char *folder, const char *name) {
    dt_local_str text = {0}, path = {0};
    dt_str_printf(&path, "%s/%s", folder, name);
    read_text(dt_str_text(&path), &text);
    char *end;
    const long long bytes = strtoll(dt_str_text(&text), &end, 10);
    const bool is = end != dt_str_text(&text) && bytes >= 0 && bytes < none;
    return is ? bytes : none;
}

/* Returns the bytes of the machine's swap (0: there is none, or it is unknown), from a line such as
 * "SwapTotal: 2097148 kB". */
static int64_t swap_of(const char *root) {
    dt_local_str text = {0}, path = {0};
    dt_str_printf(&path, "%s/proc/meminfo", root);
    read_text(dt_str_text(&path), &text);
    const char *at = strstr(dt_str_text(&text), "SwapTotal:");
    const long long kib = at ? strtoll(at + strlen("SwapTotal:"), NULL, 10) : 0;
    return kib > 0 && kib < none / 1024 ? kib * 1024 : 0;
}

/* ---- control groups, and the limit of the process ---- */

typedef struct hierarchy {
    bool unified; /* whether these are control groups of version 2, which have one hierarchy */
    /* The names of the files with limits. `swap` limits swap; in version 1 memory and swap
     * together. */
    const char *memory, *swap;
} hierarchy;
static const hierarchy hierarchies[] = {
    {true, "memory.max", "memory.swap.max"},
    {false, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"}};

/* Lowers *l to the limit of one control group, if that is smaller, and sets its path, which begins
 * after `skip` bytes of `folder`. The limit covers memory and swap: memory.max + min(`swap`,
 * memory.swap.max) in version 2, min(memory.limit_in_bytes + `swap`, memory.memsw.limit_in_bytes)
 * in version 1, where `swap` is the machine's swap in bytes. */
static void take_group(const hierarchy *h, const char *folder, size_t skip, int64_t swap,
                       dt_memory_limit *l) {
    const int64_t memory = read_bytes(folder, h->memory), also = read_bytes(folder, h->swap);
    if (memory == none) return;
    const int64_t bytes = h->unified ? memory + dt_min(swap, also) : dt_min(memory + swap, also);
    if (bytes >= l->bytes) return;
    l->bytes = bytes;
    snprintf(l->path, sizeof l->path, "%s/%s", folder + skip, h->memory);
}

/* Whether a list such as "rw,memory" contains a word. */
static bool lists(const char *list, const char *word) {
    const size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == '\0' || at[n] == ',')) return true;
    return false;
}

/* Sets `out` to the group of this process in a hierarchy, as the kernel names it; "" if it has
 * none. */
static void find_group(const hierarchy *h, char *groups, char *out, size_t size) {
    char *rest = NULL;
    *out = '\0';
    for (char *line = strtok_r(groups, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':'),
             *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        controllers++;
        if (h->unified ? strncmp(line, "0:", 2) == 0 && *controllers == '\0'
                       : lists(controllers, "memory"))
            snprintf(out, size, "%s", path);
    }
}

/* Sets `point` to the mount point of the hierarchy and `root` to the group that is its root there.
 * `mounts` is the text of mountinfo, which is changed. Returns false if the hierarchy is not
 * mounted, or the mount point has `size` bytes or more. */
static bool find_mount(const hierarchy *h, char *mounts, char *root, char *point, size_t size) {
    char *rest = NULL;
    for (char *line = strtok_r(mounts, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *tail = strstr(line, " - "), type[32], options[PATH_MAX];
        if (!tail || sscanf(tail, " - %31s %*s %4095s", type, options) != 2 ||
            sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2)
            continue;
        if (h->unified ? strcmp(type, "cgroup2") == 0
                       : strcmp(type, "cgroup") == 0 && lists(options, "memory"))
            return strlen(point) < size;
    }
    return false;
}

/* Returns the part of a group's name below the mount. Returns "", the mount itself, if the group is
 * outside of the mount, as when a container sees the name of its group on the host. */
static const char *below(const char *group, const char *root) {
    const size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
    const bool inside = strncmp(group, root, n) == 0 && (group[n] == '/' || group[n] == '\0') &&
                        !strstr(group, "/..");
    return inside && strcmp(group + n, "/") != 0 ? group + n : "";
}

static void read_limit(const hierarchy *h, const char *root, char *groups, char *mounts,
                       dt_memory_limit *l) {
    char group[PATH_MAX], of[PATH_MAX], point[PATH_MAX];
    find_group(h, groups, group, sizeof group);
    if (!*group || !find_mount(h, mounts, of, point, sizeof point)) return;
    dt_str folder = {0};
    dt_str_printf(&folder, "%s%s", root, point);
    const size_t top = folder.size;
    dt_str_printf(&folder, "%s", below(group, of));
    const int64_t swap = swap_of(root);
    DT_LOCAL char *path = dt_str_take(&folder);
    for (size_t n = strlen(path); n >= top; n--)
        if (n == top || path[n] == '/' || path[n] == '\0') {
            path[n] = '\0';
            take_group(h, path, strlen(root), swap, l);
        }
}

bool dt_memory_limit_of_group(const char *root, dt_memory_limit *l) {
    dt_local_str groups = {0}, mounts = {0}, path = {0};
    *l = (dt_memory_limit){.bytes = none};
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
        dt_str_clear(&path);
        dt_str_printf(&path, "%s/proc/self/cgroup", root);
        read_text(dt_str_text(&path), &groups);
        dt_str_clear(&path);
        dt_str_printf(&path, "%s/proc/self/mountinfo", root);
        read_text(dt_str_text(&path), &mounts);
        if (groups.size && mounts.size)
            read_limit(&hierarchies[i], root, groups.data, mounts.data, l);
    }
    return l->bytes < none;
}

bool dt_memory_limit_find(dt_memory_limit *l) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const bool grouped = dt_memory_limit_of_group("", l);
    const int64_t machine = pages > 0 && page > 0 ? (int64_t)pages * page + swap_of("") : none;
    if (machine < l->bytes) *l = (dt_memory_limit){.bytes = machine};
    return grouped || machine < none;
}

bool dt_memory_has_room(int64_t bytes, dt_memory_limit *l) {
    return !dt_memory_limit_find(l) || bytes <= l->bytes - dt_memory_resident();
}

dt_status *dt_memory_check_room(int64_t bytes, const char *who) {
    dt_memory_limit l;
    dt_local_str limit = {0};
    if (dt_memory_has_room(bytes, &l)) return NULL;
    const int64_t left = l.bytes - dt_memory_resident();
    dt_memory_limit_print(&l, &limit);
    return dt_fail(DT_E_DOES_NOT_FIT, NULL,
                   "%s %s of memory, but only %s are left of the limit of %s", who,
                   dt_text_of_bytes((double)bytes).s,
                   dt_text_of_bytes((double)(left > 0 ? left : 0)).s, dt_str_text(&limit));
}

void dt_memory_limit_print(const dt_memory_limit *l, dt_str *out) {
    dt_str_bytes(out, (double)l->bytes);
    if (*l->path) dt_str_printf(out, " (%s)", l->path);
    else dt_str_puts(out, " on this machine");
}
