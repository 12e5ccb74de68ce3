/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what text.h declares. The first bytes show whether a file is something else than text;
 * what follows is checked as UTF-8, eight bytes of ASCII at a time. */
#include "base/text.h"

#include <string.h>
#include <strings.h>

#include "base/file.h"

/* Recognizes kinds of files by their first bytes, so that an error can name the actual kind of a
 * file, instead of the first byte that a reader cannot use. */

/* ---- signatures: bytes at one offset ---- */

typedef struct signature {
    const char *bytes;
    unsigned short size, at;
    dt_file_sort sort;
} signature;

#define SORT(what_, ...)                                                                           \
    { .what = what_, .remedy = __VA_ARGS__ }
#define AT(place, bytes, ...)                                                                      \
    { bytes, sizeof(bytes) - 1, place, SORT(__VA_ARGS__) }
#define SIGN(bytes, ...) AT(0, bytes, __VA_ARGS__)
#define PANDAS(reader)                                                                             \
    "convert it to CSV, such as with pandas: " reader "(FILE).to_csv(OUT, index=False)"
#define PICKLE                                                                                     \
    "a pickle can run code when it is loaded, so it is never read; save the arrays with "          \
    "numpy.save or numpy.savez"
#define IMAGE "read it with dataset.format: image_folder"

static const signature signatures[] = {
    SIGN("PAR1", "a Parquet file", PANDAS("read_parquet")),
    SIGN("ARROW1", "an Arrow file", PANDAS("read_feather")),
    SIGN("FEA1", "a Feather file", PANDAS("read_feather")),
    SIGN("ORC", "an ORC file", PANDAS("read_orc")),
    SIGN("Obj\x01", "an Avro file", "convert it to CSV"),
    SIGN("\x1f\x8b", "a gzip file", "decompress it with gunzip"),
    SIGN("BZh", "a bzip2 file", "decompress it with bunzip2"),
    SIGN("\xfd"
         "7zX",
         "an xz file", "decompress it with unxz"),
    SIGN("\x28\xb5\x2f\xfd", "a zstd file", "decompress it with unzstd"),
    SIGN("\x04\x22\x4d\x18", "an LZ4 file", "decompress it with unlz4"),
    SIGN("\x1f\x9d", "a file of compress (.Z)", "decompress it with uncompress"),
    SIGN("7z\xbc\xaf", "a 7-Zip archive", "unpack it"),
    SIGN("Rar!", "a RAR archive", "unpack it"),
    AT(257, "ustar", "a tar archive", "unpack it with tar -xf"),
    SIGN("\xd0\xcf\x11\xe0", "an old Excel or Word file (.xls, .doc)", "save the table as CSV"),
    SIGN("\x89HDF", "an HDF5 file", "convert it: numpy.save(OUT, h5py.File(FILE)[NAME][:])"),
    SIGN("\x93NUM", "an NPY file", "read it with dataset.format: npy"),
    SIGN("\x80\x02", "a Python pickle", PICKLE),
    SIGN("\x80\x03", "a Python pickle", PICKLE),
    SIGN("\x80\x04", "a Python pickle", PICKLE),
    SIGN("\x80\x05", "a Python pickle", PICKLE),
    SIGN("SQLite format 3", "an SQLite database",
         "export the table: sqlite3 -csv -header FILE 'select * from TABLE'"),
    SIGN("GGUF", "a GGUF model", NULL),
    SIGN("MATLAB 5.0", "a MATLAB file", "convert it: numpy.save(OUT, scipy.io.loadmat(FILE)[NAME])",
         .as = DT_SORT_SURE),
    SIGN("RDX", "an R workspace", "write the table with write.csv"),
    SIGN("$FL2", "an SPSS file", PANDAS("read_spss")),
    SIGN("<stata_dta>", "a Stata file", PANDAS("read_stata"), .as = DT_SORT_SURE),
    SIGN("\x7f"
         "ELF",
         "a program", NULL),
    SIGN("\x89PNG", "a PNG image", IMAGE),
    SIGN("\xff\xd8\xff", "a JPEG image", IMAGE),
    SIGN("GIF8", "a GIF image", IMAGE),
    SIGN("II*\0", "a TIFF image", IMAGE),
    SIGN("MM\0*", "a TIFF image", IMAGE),
    SIGN("%PDF-", "a PDF document", NULL, .as = DT_SORT_SURE),
    SIGN("{\\rtf", "an RTF document", "save it as plain text", .as = DT_SORT_SURE),
    SIGN("version https://git-lfs", "a Git LFS pointer", "fetch the file: git lfs pull",
         .as = DT_SORT_SURE),
    SIGN("/annex/objects/", "a git-annex pointer", "fetch the file: git annex get",
         .as = DT_SORT_SURE),
};

/* ---- formats that take more than a signature ---- */

static bool has(const char *first, size_t n, size_t at, const char *bytes, size_t size) {
    return n >= at + size && memcmp(first + at, bytes, size) == 0;
}
#define HAS(at, bytes) has(first, n, at, bytes, sizeof(bytes) - 1)

/* Tells kinds of ZIP archives apart by the name of their first member, at byte 30: Office documents
 * and archives of arrays are ZIP archives, too. */
static const dt_file_sort *zip_sort(const char *first, size_t n) {
    static const dt_file_sort zip = SORT("a ZIP archive (as .xlsx, .npz and .keras files are)",
                                         "unpack it, or save a table as CSV"),
                              office = SORT("an Office document (.xlsx, .docx)",
                                            "save the table as CSV"),
                              open_document = SORT("an OpenDocument file (.ods, .odt)",
                                                   "save the table as CSV"),
                              npz = SORT("an NPZ archive", "read it with dataset.format: npy");
    if (!HAS(0, "PK\x03\x04") && !HAS(0, "PK\x05\x06")) return NULL;
    if (HAS(30, "[Content_Types].xml") || HAS(30, "_rels/") || HAS(30, "docProps/") ||
        HAS(30, "xl/"))
        return &office;
    if (HAS(30, "mimetypeapplication/vnd.oasis")) return &open_document;
    const size_t length =
        n > 30 ? (unsigned char)first[26] | (size_t)(unsigned char)first[27] << 8 : 0;
    return length > 4 && has(first, n, 30 + length - 4, ".npy", 4) ? &npz : &zip;
}

static const dt_file_sort *riff_sort(const char *first, size_t n) {
    static const dt_file_sort webp = SORT("a WebP image", IMAGE), sound = SORT("a WAV file", NULL),
                              other = SORT("a RIFF file", NULL);
    if (!HAS(0, "RIFF") || n < 12) return NULL;
    return HAS(8, "WEBP") ? &webp : HAS(8, "WAVE") ? &sound : &other;
}

/* Recognizes formats by zero bytes or lengths near the beginning, which prove that the file is not
 * text. Their other bytes there, such as "BM", could also begin a text. */
static const dt_file_sort *framed_sort(const char *first, size_t n) {
    static const dt_file_sort bmp = SORT("a BMP image", IMAGE),
                              media =
                                  SORT("a HEIC, AVIF or MP4 file", "convert images to PNG or JPEG"),
                              idx = SORT("an IDX file", "read it with dataset.format: idx"),
                              safetensors = SORT("a safetensors file",
                                                 "it holds weights, for model.init_from"),
                              records =
                                  SORT("a TFRecord file", "read it with dataset.format: tfrecord");
    if (HAS(0, "BM") && HAS(6, "\0\0\0\0")) return &bmp;
    if (HAS(0, "\0\0\0") && HAS(4, "ftyp")) return &media;
    if (HAS(0, "\0\0") && n >= 4 && first[2] >= 0x08 && first[2] <= 0x0e && first[3] >= 1 &&
        first[3] <= 8)
        return &idx;
    if (HAS(4, "\0\0\0\0{\"")) /* safetensors: 8 bytes of length, then JSON */
        return &safetensors;
    const bool has_length = HAS(4, "\0\0\0\0") && !HAS(0, "\0\0\0\0");
    /* TFRecord: the length and its checksum, then a tf.Example */
    return has_length && HAS(12, "\n") ? &records : NULL;
}

static const dt_file_sort *markup_sort(const char *first, size_t n) {
    static const struct {
        const char *word;
        dt_file_sort sort;
    } words[] = {
        {"<!doctype html", SORT("an HTML page", "was the file downloaded from its raw address?",
                                .as = DT_SORT_MARKUP)},
        {"<html", SORT("an HTML page", "was the file downloaded from its raw address?",
                       .as = DT_SORT_MARKUP)},
        {"<?xml", SORT("an XML file", NULL, .as = DT_SORT_MARKUP)},
        {"<!doctype", SORT("an XML file", NULL, .as = DT_SORT_MARKUP)},
        {"@relation", SORT("an ARFF file (Weka)", "convert it to CSV", .as = DT_SORT_MARKUP)},
    };
    const size_t mark = HAS(0, "\xef\xbb\xbf") ? 3 : 0;
    size_t at = mark;
    while (at < n && strchr(" \t\r\n", first[at]) && first[at]) at++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n - at >= strlen(words[i].word) &&
            strncasecmp(first + at, words[i].word, strlen(words[i].word)) == 0)
            return &words[i].sort;
    return NULL;
}

const dt_file_sort *dt_file_sort_of(const void *bytes, size_t n) {
    static const dt_file_sort *(*const more[])(const char *, size_t) = {zip_sort, riff_sort,
                                                                        framed_sort, markup_sort};
    const char *first = bytes;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (has(first, n, signatures[i].at, signatures[i].bytes, signatures[i].size))
            return &signatures[i].sort;
    const dt_file_sort *found = NULL;
    for (size_t i = 0; i < sizeof more / sizeof *more && !found; i++) found = more[i](first, n);
    return found;
}

/* ---- files that are not text ---- */

/* Recognizes UTF-16 and UTF-32 by a byte order mark, and UTF-16 without one if the first two
 * characters are from U+0001 to U+00FF. Returns the name of the encoding; NULL: it is neither. */
static const char *wide_encoding(const unsigned char *b, size_t n) {
    if (n >= 4 && (memcmp(b, "\xff\xfe\0\0", 4) == 0 || memcmp(b, "\0\0\xfe\xff", 4) == 0))
        return "UTF-32";
    if (n >= 2 && (memcmp(b, "\xff\xfe", 2) == 0 || memcmp(b, "\xfe\xff", 2) == 0)) return "UTF-16";
    const bool little = n >= 4 && b[0] && !b[1] && b[2] && !b[3],
               big = n >= 4 && !b[0] && b[1] && !b[2] && b[3];
    return little ? "UTF-16LE" : big ? "UTF-16BE" : NULL;
}

/* Whether all bytes are valid UTF-8 without control characters other than tab to carriage return (9
 * to 13). The last character may be incomplete. */
static bool is_plain(const unsigned char *b, size_t n) {
    size_t valid = dt_text_valid((const char *)b, n);
    for (size_t i = 0; i < valid; i++)
        if ((b[i] < ' ' && !(b[i] >= '\t' && b[i] <= '\r')) || b[i] == 0x7f) return false;
    return valid == n || (n - valid < 4 && b[valid] >= 0x80);
}

dt_status *dt_text_look(const dt_text_file *f, const void *first, size_t n, size_t *skip) {
    const char *wide = wide_encoding(first, n);
    *skip = n >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const dt_file_sort *sort = dt_file_sort_of(first, n);
    if (sort && ((sort->as == DT_SORT_BINARY && is_plain(first, n)) ||
                 (sort->as == DT_SORT_MARKUP && f->any_text)))
        sort = NULL;
    if (sort) {
        dt_status *s = dt_fail(f->fault, NULL, "%s: is %s, not %s", f->path, sort->what, f->wanted);
        return sort->remedy ? dt_suggest(s, "%s", sort->remedy) : s;
    }
    if (!wide) return NULL;
    return dt_suggest(
        dt_fail(f->fault, NULL, "%s: %s text is not supported; save it as UTF-8", f->path, wide),
        "iconv -f %s -t UTF-8 FILE > OUT", wide);
}

/* ---- UTF-8 ---- */

size_t dt_text_valid(const char *text, size_t n) {
    static const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
    uint64_t eight;
    uint32_t code;
    for (size_t at = 0, step; at < n; at += step) {
        step = 8;
        if (n - at >= 8 && (memcpy(&eight, text + at, 8), ((eight | (eight - ones)) & highs) == 0))
            continue; /* This skips eight bytes of which none is 0 or above 0x7f. */
        step = dt_utf8_next(text + at, n - at, &code);
        if (step == 0 || code == 0) return at;
    }
    return n;
}

dt_status *dt_text_check(const dt_text_file *f, const char *text, size_t n, int64_t line) {
    const size_t at = dt_text_valid(text, n);
    size_t begin = 0;
    if (at == n) return NULL;
    for (size_t i = 0; i < at; i++)
        if (text[i] == '\n') {
            line++;
            begin = i + 1;
        }
    const size_t col = dt_utf8_count(text + begin, at - begin) + 1;
    if (text[at] == '\0')
        return dt_suggest(
            dt_fail(f->fault, NULL, "%s:%lld:%zu: NUL byte", f->path, (long long)line, col),
            "the file is binary, not %s", f->wanted);
    return dt_suggest(dt_fail(f->fault, NULL, "%s:%lld:%zu: byte 0x%02x is not UTF-8", f->path,
                              (long long)line, col, (unsigned char)text[at]),
                      "save the file as UTF-8; of Latin-1: iconv -f latin1 -t utf-8 FILE > OUT");
}

dt_status *dt_text_read(const dt_text_file *f, size_t limit, dt_str *out) {
    size_t skip;
    DT_TRY(dt_file_read(f->path, limit, out));
    DT_TRY(dt_text_look(f, dt_str_text(out), out->size, &skip));
    if (skip > 0) {
        out->size -= skip;
        memmove(out->data, out->data + skip, out->size + 1);
    }
    return dt_text_check(f, dt_str_text(out), out->size, 1);
}
