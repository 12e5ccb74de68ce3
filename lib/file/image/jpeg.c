/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes JPEG with libjpeg-turbo. The library reports errors with longjmp, as in png.c. It accepts
 * a file that is cut off and fills the picture with grey; here that is an error. The coefficients
 * of a picture with several scans (such as a progressive one) are kept until the last scan; the
 * number of bytes follows from the header. Each scan passes over all coefficients, however few
 * bytes it has in the file, so the number of scans is limited by the picture's size.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>

#include "file/image/image.h"

/* Encoders write about 10 scans. Any picture may have LEAST_SCANS; more are allowed only if all
 * scans together pass over at most SCANNED pixels. */
enum { LEAST_SCANS = 32, MOST_SCANS = 500, SCANNED = 1 << 30 };

typedef struct reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    const dt_image *want;
    const uint8_t *bytes;
    size_t n;
    uint8_t *out; /* NULL: read only the header */
    jmp_buf jump;
    dt_status *bad;
} reading;

/* ---- what libjpeg calls ---- */

static reading *reading_of(j_common_ptr jpeg) { return jpeg->client_data; }

static void on_error(j_common_ptr jpeg) {
    reading *r = reading_of(jpeg);
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    r->bad = jpeg->err->msg_code == JERR_OUT_OF_MEMORY
                 ? dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for its pixels", r->want->path)
                 : dt_fail(DT_E_DATA_FILE, NULL, "%s: broken JPEG image: %s", r->want->path, text);
    longjmp(r->jump, 1);
}

/* libjpeg's messages. Level -1 means that data is missing or wrong. Warnings about bytes between
 * the parts of a picture are ignored. */
static void on_message(j_common_ptr jpeg, int level) {
    int code = jpeg->err->msg_code;
    if (level < 0 &&
        (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE))
        on_error(jpeg);
}

static int most_scans(const struct jpeg_decompress_struct *j) {
    const int64_t fit = SCANNED / ((int64_t)j->image_height * j->image_width);
    return fit < LEAST_SCANS ? LEAST_SCANS : fit < MOST_SCANS ? (int)fit : MOST_SCANS;
}

static void on_progress(j_common_ptr jpeg) {
    reading *r = reading_of(jpeg);
    if (!jpeg->is_decompressor || r->jpeg.input_scan_number <= most_scans(&r->jpeg)) return;
    r->bad =
        dt_fail(DT_E_DATA_FILE, NULL, "%s: broken JPEG image: more than %d scans of %u x %u pixels",
                r->want->path, most_scans(&r->jpeg), r->jpeg.image_height, r->jpeg.image_width);
    longjmp(r->jump, 1);
}

/* ---- pixels ---- */

static J_COLOR_SPACE colours_of(const dt_image *want) {
    return want->channels == 1 ? JCS_GRAYSCALE : want->channels == 3 ? JCS_RGB : JCS_EXT_RGBA;
}

static void read_picture(reading *r) {
    struct jpeg_decompress_struct *j = &r->jpeg;
    jpeg_create_decompress(j);
    j->client_data = r;
    j->progress = &r->progress;
    jpeg_mem_src(j, r->bytes, r->n);
    jpeg_read_header(j, TRUE);
    if (!r->out) return;
    r->bad = dt_image_check_size(r->want, j->image_height, j->image_width);
    if (!r->bad && j->num_components == 4)
        r->bad = dt_fail(DT_E_DATA_FILE, NULL, "%s: CMYK images are not supported; save it as RGB",
                         r->want->path);
    if (r->bad) return;
    j->out_color_space = colours_of(r->want);
    jpeg_start_decompress(j);
    while (j->output_scanline < j->output_height) {
        JSAMPROW row = r->out + (size_t)j->output_scanline * (size_t)r->want->width *
                                    (size_t)r->want->channels;
        jpeg_read_scanlines(j, &row, 1);
    }
    jpeg_finish_decompress(j);
}

/* Reads a picture; libjpeg's errors jump back to here. */
static void read_or_come_back(reading *r) {
    if (setjmp(r->jump) == 0) read_picture(r);
}

static void begin(reading *r) {
    r->jpeg.err = jpeg_std_error(&r->errors);
    r->jpeg.client_data = r;
    r->errors.error_exit = on_error;
    r->errors.emit_message = on_message;
    r->progress.progress_monitor = on_progress;
    read_or_come_back(r);
}

dt_status *dt_jpeg_decode(const dt_image *want, const void *bytes, size_t n, uint8_t *out) {
    reading r = {.want = want, .bytes = bytes, .n = n, .out = out};
    begin(&r);
    jpeg_destroy_decompress(&r.jpeg);
    return r.bad;
}

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Bytes of the coefficients of all components, in whole sampling units, as jdcoefct.c allocates
 * them. */
static int64_t coefficient_bytes(struct jpeg_decompress_struct *j) {
    int64_t blocks = 0;
    for (int i = 0; jpeg_has_multiple_scans(j) && i < j->num_components; i++) {
        const jpeg_component_info *c = &j->comp_info[i];
        blocks += round_up(c->width_in_blocks, c->h_samp_factor) *
                  round_up(c->height_in_blocks, c->v_samp_factor);
    }
    return blocks * (int64_t)sizeof(JBLOCK);
}

dt_status *dt_jpeg_read_header(const char *path, const void *bytes, size_t n,
                               dt_image_header *out) {
    const dt_image want = {.path = path};
    reading r = {.want = &want, .bytes = bytes, .n = n};
    begin(&r);
    if (!r.bad)
        *out =
            (dt_image_header){r.jpeg.image_height, r.jpeg.image_width, coefficient_bytes(&r.jpeg)};
    jpeg_destroy_decompress(&r.jpeg);
    return r.bad;
}
