/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of control groups, read from files as the kernel shows them: both versions, the group and
 * those above it, containers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/memory.h"

#define ROOT "build/tmp/base-memory"
#define V1 "4:memory:/a/b\n1:cpu:/other\n0::/\n"
#define V1_MOUNT                                                                                   \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 / "                     \
    "/sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
#define V2 "0::/a/b\n"
#define V2_MOUNT "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

typedef struct text_file {
    const char *path, *text;
} text_file;

static void write_file(const text_file *f) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", ROOT, f->path);
    for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        dt_status_free(dt_dir_make(path));
        *slash = '/';
    }
    assert_null(dt_file_commit(path, f->text, strlen(f->text)));
}

static void test_the_least_limit_is_found(void **state) {
    (void)state;
    static const struct {
        text_file file[6];
        int64_t bytes;
        const char *path;
    } cases[] = {
        {{{"proc/self/cgroup", V2},
          {"proc/self/mountinfo", V2_MOUNT},
          {"sys/fs/cgroup/a/b/memory.max", "1048576\n"}},
         1048576,
         "/sys/fs/cgroup/a/b/memory.max"},
        {{{"proc/self/cgroup", V2},
          {"proc/self/mountinfo", V2_MOUNT},
          {"sys/fs/cgroup/a/b/memory.max", "max\n"}},
         0,
         ""},
        {{{"proc/self/cgroup", V2},
          {"proc/self/mountinfo", V2_MOUNT},
          {"sys/fs/cgroup/a/b/memory.max", "max\n"},
          {"sys/fs/cgroup/a/memory.max", "4096\n"}},
         4096,
         "/sys/fs/cgroup/a/memory.max"},
        {{{"proc/self/cgroup", V2},
          {"proc/self/mountinfo", V2_MOUNT},
          {"sys/fs/cgroup/a/b/memory.max", "4096\n"},
          {"sys/fs/cgroup/a/memory.max", "8192\n"}},
         4096,
         "/sys/fs/cgroup/a/b/memory.max"},
        /* a container sees its own group as the root */
        {{{"proc/self/cgroup", "0::/\n"},
          {"proc/self/mountinfo", V2_MOUNT},
          {"sys/fs/cgroup/memory.max", "12288\n"}},
         12288,
         "/sys/fs/cgroup/memory.max"},
        {{{"proc/self/cgroup", "0::/../other\n"},
          {"proc/self/mountinfo", V2_MOUNT},
          {"sys/fs/cgroup/memory.max", "12288\n"}},
         12288,
         "/sys/fs/cgroup/memory.max"},
        {{{"proc/self/cgroup", "4:memory:/docker/x\n"},
          {"proc/self/mountinfo",
           "35 31 0:32 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"},
          {"sys/fs/cgroup/memory/memory.limit_in_bytes", "65536\n"}},
         65536,
         "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
        /* swap may hold more, unless the group says how much */
        {{{"proc/self/cgroup", V2},
          {"proc/self/mountinfo", V2_MOUNT},
          {"sys/fs/cgroup/a/b/memory.max", "4096\n"},
          {"proc/meminfo", "MemTotal: 9 kB\nSwapTotal: 8 kB\n"}},
         4096 + 8192,
         "/sys/fs/cgroup/a/b/memory.max"},
        {{{"proc/self/cgroup", V2},
          {"proc/self/mountinfo", V2_MOUNT},
          {"sys/fs/cgroup/a/b/memory.max", "4096\n"},
          {"proc/meminfo", "SwapTotal: 8 kB\n"},
          {"sys/fs/cgroup/a/b/memory.swap.max", "0\n"}},
         4096,
         "/sys/fs/cgroup/a/b/memory.max"},
        /* version 1 */
        {{{"proc/self/cgroup", V1},
          {"proc/self/mountinfo", V1_MOUNT},
          {"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "62914560\n"}},
         62914560,
         "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes"},
        {{{"proc/self/cgroup", V1},
          {"proc/self/mountinfo", V1_MOUNT},
          {"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"},
          {"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n"}},
         0,
         ""},
        {{{"proc/self/cgroup", V1},
          {"proc/self/mountinfo", V1_MOUNT},
          {"sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n"}},
         4096,
         "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
        {{{"proc/self/cgroup", V1},
          {"proc/self/mountinfo", V1_MOUNT},
          {"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "8192\n"},
          {"proc/meminfo", "SwapTotal: 8 kB\n"},
          {"sys/fs/cgroup/memory/a/b/memory.memsw.limit_in_bytes", "12288\n"}},
         12288,
         "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes"},
        /* nothing, and nonsense */
        {{{"proc/self/cgroup", ""}}, 0, ""},
        {{{"proc/self/cgroup", V2}, {"proc/self/mountinfo", "x - y\n- - -\n"}}, 0, ""},
        {{{"proc/self/cgroup", "0\n::\n:::::\n0:::\n"}, {"proc/self/mountinfo", V2_MOUNT}}, 0, ""},
        {{{"proc/self/cgroup", V2},
          {"proc/self/mountinfo", V2_MOUNT},
          {"sys/fs/cgroup/a/b/memory.max", "-1\n"}},
         0,
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(system("rm -rf " ROOT), 0);
        for (int k = 0; k < 6 && cases[i].file[k].path; k++) write_file(&cases[i].file[k]);
        dt_memory_limit l;
        const bool found = dt_memory_limit_of_group(ROOT, &l);
        if (found != (cases[i].bytes > 0) || (found && l.bytes != cases[i].bytes) ||
            strcmp(l.path, cases[i].path) != 0)
            fail_msg("case %zu: %s %lld '%s'", i, found ? "found" : "none", (long long)l.bytes,
                     l.path);
    }
}

static void test_what_this_process_has(void **state) {
    (void)state;
    dt_memory_limit l;
    assert_true(dt_memory_limit_find(&l));
    assert_true(l.bytes > (16 << 20));
    assert_in_range(dt_memory_resident(), 1 << 18, l.bytes);
    assert_null(dt_memory_check_room(1 << 20, "this needs"));
    assert_null(dt_try_alloc((size_t)l.bytes + 1));
    assert_null(dt_try_alloc_dense((size_t)l.bytes + 1));
    dt_status *s = dt_memory_check_room(l.bytes, "this needs");
    assert_non_null(s);
    assert_int_equal(dt_status_code(s), 78);
    dt_status_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_least_limit_is_found),
        cmocka_unit_test(test_what_this_process_has),
    };
    return cmocka_run_group_tests_name("base/memory", tests, NULL, NULL);
}
