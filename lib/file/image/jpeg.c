/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes JPEG with libjpeg-turbo. The library's errors come back by longjmp. It accepts a file
 * that is cut off and fills the picture with grey; here that is an error. The coefficients of a
 * picture with several scans (such as a progressive one) are kept until the last scan; the number
 * of bytes that they take follows from the header. A scan can pass over all coefficients, however
 * few bytes it has in the file, so the number of scans is limited by the picture's size.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/arena.h"
#include "file/image/image.h"

/* Encoders write about 10 scans. A picture may always have LEAST_SCANS scans, and more, up to
 * MOST_SCANS, only if all scans together pass over at most SCANNED pixels. */
enum { LEAST_SCANS = 32, MOST_SCANS = 500, SCANNED = 1 << 30 };

typedef struct reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    const dt_image *want;
    const uint8_t *bytes;
    size_t n;
    uint8_t *out;  /* receives the pixels; NULL: only the header is read */
    uint8_t *inks; /* a row of a picture in cyan, magenta, yellow and black */
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

/* Receives libjpeg's messages; level -1 is a warning. Three warnings are errors here: the file ends
 * too early, the data of a segment end too early, or a Huffman code is invalid. All other messages
 * are ignored, also those about other damage, such as a wrong restart marker. */
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

/* ---- pixels, the header, and the format ---- */

static J_COLOR_SPACE colours_of(const dt_image *want) {
    return want->channels == 1 ? JCS_GRAYSCALE : want->channels == 3 ? JCS_RGB : JCS_EXT_RGBA;
}

/* Computes a * b / 255, rounded. */
static int product(int a, int b) {
    const int x = a * b + 128;
    return ((x >> 8) + x) >> 8;
}

/* Converts a row of cyan, magenta, yellow and black to the wanted channels, as Pillow's
 * convert("RGB") does. Like Pillow, it takes the stored values to be inverted, as those of Adobe's
 * programs are. */
static void put_inks(reading *r, uint8_t *to) {
    uint8_t *p = r->inks;
    for (int64_t x = 0; x < r->want->width; x++, p += 4) {
        const int light = p[3];
        for (int c = 0; c < 3; c++) {
            const int left = light - product(255 - p[c], light);
            p[c] = (uint8_t)(left > 0 ? left : 0);
        }
        p[3] = 255;
    }
    dt_image_put(r->want, r->inks, r->want->width, to);
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
    if (r->bad) return;
    const bool inks = j->num_components == 4;
    if (inks && !(r->inks = dt_try_alloc((size_t)j->image_width * 4))) {
        r->bad = dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for its pixels", r->want->path);
        return;
    }
    j->out_color_space = inks ? JCS_CMYK : colours_of(r->want);
    jpeg_start_decompress(j);
    while (j->output_scanline < j->output_height) {
        JSAMPROW to = r->out + (size_t)j->output_scanline * (size_t)r->want->width *
                                   (size_t)r->want->channels,
                 row = inks ? r->inks : to;
        jpeg_read_scanlines(j, &row, 1);
        if (inks) put_inks(r, to);
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

static dt_status *decode(const dt_image *want, const uint8_t *bytes, size_t n, uint8_t *out) {
    reading r = {.want = want, .bytes = bytes, .n = n, .out = out};
    if (want->numbers)
        return dt_suggest(dt_fail(DT_E_DATA_FILE, NULL,
                                  "%s: is a JPEG image, which does not keep class numbers exactly",
                                  want->path),
                          "save masks as PNG");
    begin(&r);
    jpeg_destroy_decompress(&r.jpeg);
    free(r.inks);
    return r.bad;
}

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Returns the number of bytes of the coefficients of all components, in whole sampling units, as
 * jdcoefct.c allocates them; 0 if libjpeg expects a single scan. */
static int64_t coefficient_bytes(struct jpeg_decompress_struct *j) {
    int64_t blocks = 0;
    for (int i = 0; jpeg_has_multiple_scans(j) && i < j->num_components; i++) {
        const jpeg_component_info *c = &j->comp_info[i];
        blocks += round_up(c->width_in_blocks, c->h_samp_factor) *
                  round_up(c->height_in_blocks, c->v_samp_factor);
    }
    return blocks * (int64_t)sizeof(JBLOCK);
}

/* Returns the orientation in the first segment of Exif data; 1 if there is none. A segment has a
 * marker, its length, which includes itself, and data; the first scan (SOS) ends the header. */
static int orientation_of(const uint8_t *bytes, size_t n) {
    enum { APP1 = 0xe1, SOS = 0xda };
    for (size_t at = 2; at + 4 <= n && bytes[at] == 0xff && bytes[at + 1] != SOS;) {
        const size_t size = (size_t)bytes[at + 2] << 8 | bytes[at + 3], left = n - at - 2;
        if (bytes[at + 1] == 0xff) {
            at++; /* skips a fill byte */
            continue;
        }
        if (size < 2 || size > left) break;
        if (bytes[at + 1] == APP1 && size >= 8 && memcmp(bytes + at + 4, "Exif\0", 6) == 0)
            return dt_exif_orientation(bytes + at + 4, size - 2);
        at += 2 + size;
    }
    return 1;
}

static dt_status *read_header(const char *path, const uint8_t *bytes, size_t n,
                              dt_image_header *out) {
    const dt_image want = {.path = path};
    reading r = {.want = &want, .bytes = bytes, .n = n};
    begin(&r);
    if (!r.bad)
        *out = (dt_image_header){.height = r.jpeg.image_height,
                                 .width = r.jpeg.image_width,
                                 .working = coefficient_bytes(&r.jpeg),
                                 .orientation = orientation_of(bytes, n)};
    jpeg_destroy_decompress(&r.jpeg);
    return r.bad;
}

const dt_image_format dt_image_jpeg = {.name = "JPEG",
                                       .suffix = {".jpg", ".jpeg", ".jfif"},
                                       .first = "\xff\xd8\xff",
                                       .first_size = 3,
                                       .read_header = read_header,
                                       .decode = decode};
