/* SPDX-License-Identifier: Apache-2.0 */
/* What a run's record says about the machine: facts that explain a time or a difference in the last
 * bit. What the system does not report is left out. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/thread.h"
#include "train/record.h"

/* Looks for the first "model name : ..." in the first 8 KiB of /proc/cpuinfo, whose size is unknown
 * before reading. */
bool dt_host_processor(dt_str *out) {
    static const char key[] = "model name";
    char text[8192], *line, *end;
    FILE *f = fopen("/proc/cpuinfo", "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    line = strstr(text, key);
    line = line ? strchr(line, ':') : NULL;
    end = line ? strchr(line, '\n') : NULL;
    if (end) {
        line += 1 + strspn(line + 1, " ");
        dt_str_add(out, line, (size_t)(end - line));
    }
    if (f) fclose(f);
    return end;
}

/* Writes the processor's name. If it is unknown, the key `machine` still has the architecture. */
static void put_processor(dt_json *j) {
    dt_local_str name = {0};
    if (dt_host_processor(&name)) dt_json_string(j, "processor", dt_str_text(&name));
}

static void put_system(dt_json *j) {
    struct utsname u;
    if (uname(&u) != 0) return;
    dt_json_string(j, "name", u.nodename);
    dt_json_string(j, "system", u.sysname);
    dt_json_string(j, "release", u.release);
    dt_json_string(j, "machine", u.machine);
}

void dt_record_host(dt_json *j) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    dt_json_open(j, "host", '{');
    put_system(j);
    put_processor(j);
    dt_json_int(j, "cores", dt_cores());
    if (pages > 0 && page > 0) dt_json_int(j, "memory_bytes", (int64_t)pages * page);
    if (*dt_host_instructions()) /* The text is empty if the instruction set is unknown. */
        dt_json_string(j, "instructions", dt_host_instructions());
    dt_json_close(j, '}');
}

int64_t dt_record_peak_bytes(void) {
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (int64_t)u.ru_maxrss * 1024 : 0;
}
