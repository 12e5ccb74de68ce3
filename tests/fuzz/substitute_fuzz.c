/* SPDX-License-Identifier: Apache-2.0 */
/* Substitution in a job's texts: {name}, {run_dir}, ${VARIABLE:-default}, words of `let`. Lines are
 * the name, output.dir, a text, and a word's value. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "dtrain.h"
#include "fuzz.h"
#include "tiny.h"

enum { TEXTS = 4 };

static void split(char *text, const char *part[TEXTS]) {
    for (int i = 0; i < TEXTS; i++) {
        part[i] = text;
        text += strcspn(text, "\n");
        if (*text) *text++ = '\0';
    }
}

/* YAML takes JSON's strings. */
static void put(dt_str *out, const char *key, const char *text) {
    dt_json j = {.out = out};
    dt_str_puts(out, key);
    dt_json_string(&j, NULL, text);
    dt_str_putc(out, '\n');
}

FUZZ_TARGET(substitute) {
    dt_job *job = NULL;
    dt_str text = {0};
    const char *part[TEXTS];
    split((char *)(uintptr_t)fuzz_string(data, size), part);
    setenv("DTRAIN_FUZZ", part[3], 1);
    put(&text, TINY_BODY "name: ", part[0]);
    put(&text, "output: {dir: ", part[1]);
    text.size--;
    dt_str_puts(&text, "}\nlet:\n  units: 4\n");
    put(&text, "  word: ", part[3]);
    put(&text, "  other: ", part[2]);
    dt_str_puts(&text,
                "model:\n  type: sequential\n  layers:\n    - Input: {name: image, shape: [8]}\n"
                "    - Repeat: {for: {i: 2}, layers: [Dense: {units: '{units}', name: 'h_{i}'}]}\n"
                "    - Dense: {units: 3, name: 'o{other}{word}'}\n");
    dt_job_source source = {.path = fuzz_file(dt_str_text(&text), text.size)};
    dt_status *s = dt_job_open(&job, &source);
    FUZZ_CHECK(!s || strcmp(part[0], "n") != 0 || strcmp(part[1], "d") != 0 || *part[2] || *part[3],
               "the job is wrong without substitutions");
    fuzz_done(s);
    dt_job_unref(job);
    dt_str_release(&text);
    return 0;
}
