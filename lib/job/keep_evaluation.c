/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the last evaluation of each part in evaluation.PART.json in output.dir, for reports. The
 * file names the checkpoint with its generation and the digest of its weights, so that a reader can
 * check whether it is still current. Evaluations of other files, or of only some batches of a part,
 * are not kept.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/json.h"
#include "job/session.h"

static void put_evaluation(dt_json *j, const dt_saved *c, const dt_event *e, const char *outputs) {
    dt_json_open(j, NULL, '{');
    dt_json_int(j, "v", 1);
    dt_json_string(j, "dtrain", DTRAIN_VERSION_STRING);
    dt_json_string(j, "split", e->split);
    dt_json_string(j, "checkpoint", strrchr(c->path, '/') + 1);
    dt_json_int(j, "generation", c->state.generation);
    dt_json_int(j, "step", e->step);
    dt_json_string(j, "weights_sha256", e->weights_sha256);
    dt_json_int(j, "examples", e->examples);
    dt_json_open(j, "metrics", '{');
    for (int i = 0; i < e->n_metrics; i++)
        dt_json_double(j, e->metrics[i].name, e->metrics[i].value);
    dt_json_close(j, '}');
    dt_json_raw(j, "outputs", outputs);
    dt_json_close(j, '}');
}

/* Returns a copy in which paths are written as in the job, with variables instead of their
 * values. */
static dt_evaluation hide_paths(const dt_job *job, const dt_evaluation *e, dt_arena *arena) {
    dt_output_explained *all = dt_arena_array(arena, dt_output_explained, e->n);
    for (int i = 0; i < e->n; i++) {
        all[i] = e->output[i];
        dt_worst_example *worst = dt_arena_array(arena, dt_worst_example, all[i].n_worst);
        for (int k = 0; k < all[i].n_worst; k++) {
            worst[k] = all[i].worst[k];
            DT_LOCAL char *where = dt_hidden_back(job->variable, job->n_variables, worst[k].where);
            worst[k].where = where ? dt_arena_strdup(arena, where) : NULL;
        }
        all[i].worst = worst;
    }
    return (dt_evaluation){.n = e->n, .output = all};
}

static dt_status *write_evaluation(const dt_job *job, const dt_saved *c, const dt_event *e,
                                   const char *directory) {
    static const dt_evaluation none = {0};
    dt_local_arena arena = dt_arena_create();
    dt_local_str text = {0};
    DT_LOCAL char *outputs = NULL;
    const dt_evaluation shown = hide_paths(job, e->evaluation ? e->evaluation : &none, arena);
    dt_status *s = dt_evaluation_json(&shown, &outputs);
    if (!s) {
        put_evaluation(&(dt_json){.out = &text, .compact = true}, c, e, outputs);
        dt_str_putc(&text, '\n');
        s = dt_file_commit(dt_arena_printf(arena, "%s/evaluation.%s.json", directory, e->split),
                           dt_str_text(&text), text.size);
    }
    return s;
}

/* Whether the checkpoint is in DIRECTORY/ckpt, even if its path is written in another way. */
static bool is_below(const dt_saved *c, const char *directory) {
    struct stat a, b;
    DT_LOCAL char *run = dt_path_join(c->path, "../..");
    return !c->only_weights && strrchr(c->path, '/') && stat(run, &a) == 0 &&
           stat(directory, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

dt_status *dt_job_keep_evaluation(const dt_job *j, const dt_saved *c, const dt_event *e) {
    DT_LOCAL char *directory = dt_job_output(j);
    const bool is_kept = j->strategy.launch.rank == 0 && is_below(c, directory);
    dt_status *s = is_kept ? write_evaluation(j, c, e, directory) : NULL;
    return s ? dt_note(s, "the evaluation is not kept for reports") : NULL;
}
