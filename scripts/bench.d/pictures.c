/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures to feed a network of W3's size with: N JPEG files of 28 x 28 grey pixels, a folder a class, and the same files as byte strings of a TFRecord.
 *
 *     pictures N FOLDER FILE.tfrecord
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jpeglib.h>

enum { SIDE = 28, CLASSES = 10 };

static void require(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

/* A bar whose slope is the class, and noise. */
static void draw(int number, unsigned char *pixels)
{
    uint32_t r = (uint32_t)number * 2654435761u + 1;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            r = r * 1664525u + 1013904223u;
            const int off = abs(9 * (x - SIDE / 2) - (number % CLASSES - 5) * 2 * (y - SIDE / 2));
            pixels[y * SIDE + x] = (unsigned char)((off < 40 ? 200 : 20) + (r >> 27));
        }
}

static unsigned char *compress(const unsigned char *pixels, unsigned long *n)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out, n);
    c.image_width = c.image_height = SIDE;
    c.input_components = 1;
    c.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 90, TRUE);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < SIDE) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)&pixels[c.next_scanline * SIDE];
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return out;
}

/* ---- the TFRecord ---- */

static uint32_t masked_crc(const unsigned char *p, size_t n)
{
    uint32_t c = ~0u;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int b = 0; b < 8; b++)
            c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
    }
    c = ~c;
    return (c >> 15 | c << 17) + 0xa282ead8u;
}

typedef struct bytes {
    unsigned char v[8192];
    size_t n;
} bytes;

static void put(bytes *b, const void *p, size_t n)
{
    require(b->n + n <= sizeof b->v, "a picture is larger than the record");
    memcpy(b->v + b->n, p, n);
    b->n += n;
}

/* Field `number`, which holds these bytes. */
static void put_field(bytes *to, int number, const void *p, size_t n)
{
    unsigned char head[8] = {(unsigned char)(number << 3 | 2)};
    size_t at = 1, left = n;
    for (; left > 127; left >>= 7)
        head[at++] = (unsigned char)(left | 128);
    head[at++] = (unsigned char)left;
    put(to, head, at);
    put(to, p, n);
}

static void put_feature(bytes *features, const char *name, int kind, const bytes *list)
{
    static bytes feature, entry;
    feature.n = entry.n = 0;
    put_field(&feature, kind, list->v, list->n);
    put_field(&entry, 1, name, strlen(name));
    put_field(&entry, 2, feature.v, feature.n);
    put_field(features, 1, entry.v, entry.n);
}

static void write_record(FILE *f, const unsigned char *jpeg, size_t n, int label)
{
    static bytes list, features, example;
    unsigned char header[12] = {0};
    list.n = features.n = example.n = 0;
    put_field(&list, 1, jpeg, n);
    put_feature(&features, "image", 1, &list);
    list.n = 0;
    put_field(&list, 1, &(unsigned char){(unsigned char)label}, 1);
    put_feature(&features, "label", 3, &list);
    put_field(&example, 1, features.v, features.n);
    const uint64_t length = example.n;
    memcpy(header, &length, 8);
    memcpy(header + 8, &(uint32_t){masked_crc(header, 8)}, 4);
    require(fwrite(header, 12, 1, f) == 1 && fwrite(example.v, example.n, 1, f) == 1 &&
            fwrite(&(uint32_t){masked_crc(example.v, example.n)}, 4, 1, f) == 1, "write");
}

int main(int argc, char **argv)
{
    unsigned char pixels[SIDE * SIDE];
    char path[4096];
    if (argc != 4)
        return 64;
    FILE *records = fopen(argv[3], "wb");
    require(records != NULL, argv[3]);
    mkdir(argv[2], 0777);
    for (int i = 0; i < atoi(argv[1]); i++) {
        unsigned long n = 0;
        draw(i, pixels);
        unsigned char *jpeg = compress(pixels, &n);
        snprintf(path, sizeof path, "%s/%d", argv[2], i % CLASSES);
        mkdir(path, 0777);
        snprintf(path, sizeof path, "%s/%d/%06d.jpg", argv[2], i % CLASSES, i);
        FILE *f = fopen(path, "wb");
        require(f && fwrite(jpeg, n, 1, f) == 1 && fclose(f) == 0, path);
        write_record(records, jpeg, n, i % CLASSES);
        free(jpeg);
    }
    require(fclose(records) == 0, argv[3]);
    return 0;
}
