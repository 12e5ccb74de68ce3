/* SPDX-License-Identifier: Apache-2.0 */
/* From what a row says to overrides. Each reader below takes one group of keys, and says what is
 * missing. */
#include "train_job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "architectures.h"
#include "device.h"

enum { MOST_SLICES = 65536 };

typedef struct reading {
    const dt_row *row;
    dt_train_job *job;
} reading;

static bool miss(reading *r, const char *format, ...) DT_PRINTF(2, 3);
/* The first thing that is missing; false. */
static bool miss(reading *r, const char *format, ...) {
    dt_str text = {0};
    va_list args;
    if (r->job->missing) return false;
    va_start(args, format);
    dt_str_vprintf(&text, format, args);
    va_end(args);
    r->job->missing = dt_arena_strdup(r->job->arena, dt_str_text(&text));
    dt_str_release(&text);
    return false;
}

static void put(dt_train_job *j, const char *format, ...) DT_PRINTF(2, 3);
static void put(dt_train_job *j, const char *format, ...) {
    dt_str text = {0};
    va_list args;
    va_start(args, format);
    dt_str_vprintf(&text, format, args);
    va_end(args);
    if (j->n < DT_ROW_OVERRIDES)
        j->override[j->n++] = dt_arena_strdup(j->arena, dt_str_text(&text));
    dt_str_release(&text);
}

/* ---- where ---- */

/* "v4-128"; a shape beside it is the slice's ("4x8x8"), which a number of cores need not say. */
static bool read_slice(reading *r) {
    char name[96];
    const char *type = dt_row_text(r->row, "accelerator"), *shape = dt_row_text(r->row, "topology");
    if (!*type)
        return miss(r, "it does not name the chips%s",
                    *shape ? ", only the shape of the slice" : "");
    if (!dt_slice_read(type, &r->job->slice)) return miss(r, "there is no slice '%.40s'", type);
    if (*shape) {
        snprintf(name, sizeof name, "%s:%.40s", r->job->slice.chip->generation, shape);
        dt_status_free(dt_slice_find(name, DT_E_UNKNOWN_SLICE, NULL, &r->job->slice));
    }
    const dt_chip *chip = r->job->slice.chip;
    double slices = dt_row_number(r->row, "slices");
    if (slices > MOST_SLICES) return miss(r, "%g slices are impossible", slices);
    r->job->slices = slices > 1 ? (int)slices : 1;
    r->job->chips = dt_slice_chips(&r->job->slice);
    r->job->devices = r->job->chips * chip->devices;
    return true;
}

/* ---- what ---- */

static double size_of(reading *r, const json_t *dims, const char *key) {
    double size = json_number_value(json_object_get(dims, key));
    if (size < 1) miss(r, "it does not say the model's size %s", key);
    return size;
}

static void read_dims(reading *r, const json_t *dims) {
    dt_train_job *j = r->job;
    j->width = size_of(r, dims, "D");
    j->ff = size_of(r, dims, "F");
    j->heads = size_of(r, dims, "heads");
    j->kv_heads = size_of(r, dims, "kv_heads");
    j->head_dim = size_of(r, dims, "head_dim");
    j->layers = size_of(r, dims, "layers");
    j->vocab = size_of(r, dims, "vocab");
    j->gated = json_is_true(json_object_get(dims, "gated_mlp"));
    if (json_object_get(dims, "experts"))
        miss(r, "experts are not modelled: how evenly tokens go to them is not said");
    if (json_object_get(dims, "sliding_window"))
        miss(r, "it does not say how wide the window of local attention is");
}

static void take_architecture(dt_train_job *j, const dt_architecture *a) {
    j->width = (double)a->width;
    j->ff = (double)a->ff;
    j->heads = (double)a->heads;
    j->kv_heads = (double)a->kv_heads;
    j->head_dim = (double)a->head_dim;
    j->layers = (double)a->layers;
    j->vocab = (double)a->vocab;
    j->gated = a->gated;
}

static bool read_model(reading *r) {
    const json_t *dims = json_object_get(r->row->config, "dims");
    const dt_architecture *a = dt_architecture_in(dt_row_text(r->row, "model"));
    if (json_is_object(dims)) read_dims(r, dims);
    else if (a) take_architecture(r->job, a);
    else
        miss(r, "it does not say the sizes of %.60s, and no table of ours has them",
             *dt_row_text(r->row, "model") ? dt_row_text(r->row, "model") : "its model");
    return !r->job->missing;
}

/* ---- how much ---- */

/* MaxText counts sequences per device, which is a chip wherever rows say it. */
static bool read_batch(reading *r) {
    dt_train_job *j = r->job;
    double each = dt_row_number(r->row, "per_device_batch"),
           all = dt_row_number(r->row, "global_batch"),
           tokens = dt_row_number(r->row, "tokens_per_step");
    j->sequence = dt_row_number(r->row, "seq");
    if (j->sequence < 1) return miss(r, "it does not say the length of sequences");
    j->batch = each > 0  ? each * j->devices
               : all > 0 ? all / j->slices
                         : tokens / j->sequence / j->slices;
    if (j->batch < 1) return miss(r, "it does not say the batch");
    return fmod(j->batch, 1) > 0
               ? miss(r, "its batch of %g sequences on a slice is not a whole number", j->batch)
               : true;
}

/* Operands of products that are quantised to 8 bits go through the matrix units at the chip's rate
 * of these, if that is higher. */
static bool read_precision(reading *r) {
    const dt_chip *chip = r->job->slice.chip;
    const char *word = *dt_row_text(r->row, "quantization") ? dt_row_text(r->row, "quantization")
                                                            : dt_row_text(r->row, "precision");
    double rate = strcmp(word, "fp8") == 0    ? chip->core_fp8_flops
                  : strcmp(word, "int8") == 0 ? chip->core_int8_ops
                                              : chip->core_flops;
    if (rate <= 0) return miss(r, "the rate of %s on %s is not known", word, chip->generation);
    r->job->product_rate = fmax(1, rate / chip->core_flops);
    return true;
}

/* What is kept of a block. Policies that offload activations are taken for "full" where a block's
 * products are made again. */
static const struct {
    const char *word, *value;
} policies[] = {
    {"full", "full"},
    {"minimal", "none"},
    {"", "full"},
};

static bool read_remat(reading *r) {
    const char *word = dt_row_text(r->row, "remat"), *value = "full";
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i].word, word) == 0) value = policies[i].value;
    put(r->job, "model.rematerialize=%s", value);
    return true;
}

/* Axis of the slice, the last one that it divides: as many devices side by side as the parts of a
 * tensor. */
static bool put_block(reading *r) {
    dt_train_job *j = r->job;
    int parts = (int)j->tensor, block[4] = {1, 1, 1, 1}, cores = j->slice.chip->devices;
    if (parts > 1 && cores == 2) {
        block[3] = 2;
        parts /= 2;
    }
    for (int axis = 2; axis >= 0 && parts > 1; axis--)
        if (j->slice.chips[axis] % parts == 0) {
            block[axis] = parts;
            parts = 1;
        }
    if (parts > 1) return miss(r, "%g devices side by side are on no axis of the slice", j->tensor);
    put(j, "let.block=[%d, %d, %d, %d]", block[0], block[1], block[2], block[3]);
    return true;
}

static bool read_split(reading *r) {
    dt_train_job *j = r->job;
    double tensor = dt_row_number(r->row, "ici_tensor"), fsdp = dt_row_number(r->row, "ici_fsdp");
    j->tensor = tensor > 1 ? tensor : 1;
    double replicas = j->devices / j->tensor;
    if (j->tensor > j->devices || (fsdp > 0 && fabs(fsdp - replicas) > 0))
        return miss(r, "its %g x %g parts are not the %g devices of the slice", fsdp, j->tensor,
                    j->devices);
    if (!put_block(r)) return false;
    put(j, "let.replicas=%.0f", replicas);
    put(j, "let.tensor=%.0f", j->tensor);
    put(j, "let.kv_parts=%.0f", fmin(j->tensor, j->kv_heads));
    put(j, "let.shared=%s", replicas > 1 ? "weights" : "none");
    return true;
}

/* ---- all of it ---- */

static void put_sizes(dt_train_job *j) {
    const struct {
        const char *name;
        double value;
    } sizes[] = {
        {"width", j->width},
        {"intermediate", j->ff},
        {"heads", j->heads},
        {"kv_heads", j->kv_heads},
        {"head_dim", j->head_dim},
        {"layers", j->layers},
        {"vocabulary", j->vocab},
        {"sequence", j->sequence},
        {"batch", j->batch * j->slices},
        {"examples", j->batch * j->slices},
    };
    put(j, "let.slice=sim:%s", j->slice.name);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        put(j, "let.%s=%.0f", sizes[i].name, sizes[i].value);
    put(j, "let.gated=%s", j->gated ? "true" : "false");
    put(j, "compile.precision=mixed_bfloat16");
    if (j->slices > 1) put(j, "strategy.cluster_resolver.num_slices=%d", j->slices);
}

dt_train_job dt_train_job_of(const dt_rows *rows, const dt_row *row) {
    dt_train_job job = {.arena = rows->arena, .base = "decoder.yaml"};
    static bool (*const readers[])(reading *) = {read_slice,     read_model, read_batch,
                                                 read_precision, read_split, read_remat};
    reading r = {.row = row, .job = &job};
    for (size_t i = 0; i < sizeof readers / sizeof *readers && readers[i](&r); i++)
        ;
    if (!job.missing) put_sizes(&job);
    return job;
}

double dt_train_job_weights(const dt_train_job *j) {
    double attention = 2 * j->width * (j->heads + j->kv_heads) * j->head_dim,
           second = (j->gated ? 3 : 2) * j->width * j->ff;
    return j->layers * (attention + second) + j->width * j->vocab;
}

double dt_train_job_flops(const dt_train_job *j) {
    double tokens = j->batch * j->sequence;
    return (6 * dt_train_job_weights(j) + 12 * j->layers * j->sequence * j->heads * j->head_dim) *
           tokens;
}
