# SPDX-License-Identifier: Apache-2.0
"""Records pictures.json: small files in each format of pictures and in many forms, and the pixels that
Pillow decodes them to. Files that Pillow cannot write are made here.

    python -m venv v && v/bin/pip install pillow==13.0.0
    v/bin/python tests/golden/record_pictures.py > tests/golden/pictures.json
"""
import io
import json
import struct

import PIL
from PIL import Image, ImageOps

ROWS, COLUMNS = 5, 7
cases = []


def draw(mode, rows=ROWS, columns=COLUMNS):
    bands = len(Image.new(mode, (1, 1)).getbands())
    data = bytes((40 * y + 17 * x + 60 * c) % 256 for y in range(rows) for x in range(columns) for c in range(bands))
    return Image.frombytes(mode, (columns, rows), data)


def smooth(mode):
    """Colours that survive lossy compression."""
    return draw(mode).resize((COLUMNS, ROWS)).point(lambda v: 100 + v // 4)


def add(name, file, near=0, alpha=False, turns=False):
    image = Image.open(io.BytesIO(file))
    if turns:
        image = ImageOps.exif_transpose(image)
    out = image.convert("RGBA" if alpha else "RGB")
    cases.append({"id": name, "rows": out.height, "columns": out.width, "channels": 4 if alpha else 3,
                  "near": near, "turns": turns, "file": file.hex(), "out": out.tobytes().hex()})


def save(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


# ---- GIF ----

palette = draw("RGB").quantize(16)
add("gif", save(palette, "GIF", interlace=0))
add("gif interlaced", save(draw("L", 19, 11), "GIF", interlace=1))
large = Image.frombytes("L", (90, 70), bytes((x * x + 3 * x * y + y * 7) % 251 for y in range(70) for x in range(90)))
add("gif of 256 colours, which fills the table of codes", save(large, "GIF"))
add("gif of two colours", save(draw("1").convert("1"), "GIF"))
add("gif with a transparent colour", save(palette, "GIF", transparency=3), alpha=True)
add("gif with a transparent colour as rgb", save(palette, "GIF", transparency=3))
add("gif of two frames", save(palette, "GIF", save_all=True, append_images=[palette.rotate(180)], duration=100))
for transparent in None, 2:
    file = bytearray(save(palette, "GIF", **({} if transparent is None else {"transparency": transparent})))
    struct.pack_into("<HH", file, 6, COLUMNS + 3, ROWS + 2)
    at = file.index(b"\x2c\0\0\0\0" + struct.pack("<HH", COLUMNS, ROWS))
    struct.pack_into("<HH", file, at + 1, 2, 1)
    add("gif whose frame is smaller than its screen, transparent %s" % transparent, bytes(file))

# ---- BMP ----

add("bmp of 1 bit", save(draw("L").convert("1"), "BMP"))
add("bmp of grey", save(draw("L"), "BMP"))
add("bmp of a palette", save(palette, "BMP"))
add("bmp of 24 bits", save(draw("RGB"), "BMP"))
add("bmp of 32 bits with alpha", save(draw("RGBA"), "BMP"), alpha=True)


def bmp(bits, rows, height=ROWS, masks=(), colours=b"", old=False):
    """rows: top-down if height is negative, else bottom-up."""
    pixels = b"".join(row + bytes(-len(row) % 4) for row in rows)
    if old:
        info = struct.pack("<IHHHH", 12, COLUMNS, height, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", 40, COLUMNS, height, 1, bits, 3 if masks else 0, len(pixels), 0, 0, 0, 0)
    info += struct.pack("<%dI" % len(masks), *masks) + colours
    start = 14 + len(info)
    return b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + info + pixels


grey = draw("L").tobytes()
lines = [grey[i:i + COLUMNS] for i in range(0, len(grey), COLUMNS)]
halves = [bytes((line[x] >> 4) << 4 | (line[x + 1] >> 4 if x + 1 < COLUMNS else 0) for x in range(0, COLUMNS, 2))
          for line in lines]
sixteen = b"".join(bytes((i * 13 % 256, i * 7 % 256, i * 5 % 256)) + b"\0" for i in range(16))
add("bmp of 4 bits", bmp(4, halves, colours=sixteen))
add("bmp of 4 bits for OS/2", bmp(4, halves, old=True, colours=b"".join(sixteen[4 * i:4 * i + 3] for i in range(16))))
rgb = draw("RGB").tobytes()
add("bmp, top-down", bmp(24, [rgb[i:i + 3 * COLUMNS] for i in range(0, len(rgb), 3 * COLUMNS)], height=-ROWS))
words = [struct.pack("<%dH" % COLUMNS, *[(v * 257 + x * 911) % 65536 for x, v in enumerate(line)]) for line in lines]
add("bmp of 16 bits", bmp(16, words))
add("bmp of 16 bits with masks", bmp(16, words, masks=(0xf800, 0x7e0, 0x1f)))
four = draw("RGBA").tobytes()
add("bmp of 32 bits", bmp(32, [four[i:i + 4 * COLUMNS] for i in range(0, len(four), 4 * COLUMNS)]))
add("bmp of 32 bits with masks", bmp(32, [four[i:i + 4 * COLUMNS] for i in range(0, len(four), 4 * COLUMNS)],
                                     masks=(0xff000000, 0xff0000, 0xff00)))

# ---- WebP ----

add("webp, lossless", save(draw("RGB"), "WEBP", lossless=True))
add("webp", save(smooth("RGB"), "WEBP", quality=90), near=1)
opaque = draw("RGBA")
opaque.putalpha(opaque.getchannel("A").point(lambda v: v | 1))
add("webp, lossless, with alpha", save(opaque, "WEBP", lossless=True, exact=True), alpha=True)

# ---- TIFF ----

for form in None, "tiff_lzw", "tiff_adobe_deflate", "packbits":
    add("tiff, %s" % form, save(draw("RGB"), "TIFF", compression=form))
add("tiff, jpeg", save(smooth("RGB").resize((16, 16)), "TIFF", compression="jpeg", quality=95), near=4)
add("tiff, fax", save(draw("L").convert("1"), "TIFF", compression="group4"))
add("tiff, grey", save(draw("L"), "TIFF"))
add("tiff, palette", save(palette, "TIFF"))
add("tiff with alpha", save(draw("RGBA"), "TIFF"), alpha=True)
add("tiff with alpha as rgb", save(draw("RGBA"), "TIFF", compression="tiff_lzw"))
add("tiff, big-endian", save(draw("RGB"), "TIFF", big_endian=True))

tile = b"".join(rgb[i:i + 3 * COLUMNS].ljust(48, b"\0") for i in range(0, len(rgb), 3 * COLUMNS)).ljust(16 * 48, b"\0")
tags = ((256, COLUMNS), (257, ROWS), (258, 8), (259, 1), (262, 2), (277, 3), (322, 16), (323, 16), (324, 134), (325, len(tile)))
add("tiff of a tile", struct.pack("<2sHIH", b"II", 42, 8, len(tags)) +
    b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags) + bytes(4) + tile)

# ---- JPEG of four inks ----

add("jpeg, cmyk", save(smooth("CMYK"), "JPEG", quality=95), near=2)
add("jpeg, cmyk, progressive", save(smooth("CMYK"), "JPEG", quality=95, progressive=True), near=2)

# ---- orientations ----


def exif(orientation):
    out = Image.Exif()
    out[274] = orientation
    return out


for orientation in range(1, 9):
    add("png, orientation %d" % orientation, save(draw("RGB"), "PNG", exif=exif(orientation)), turns=True)
    if orientation in (3, 6, 7):
        add("jpeg, orientation %d" % orientation, save(smooth("RGB"), "JPEG", quality=95, exif=exif(orientation)),
            near=2, turns=True)
        add("webp, orientation %d" % orientation,
            save(draw("RGB"), "WEBP", lossless=True, exif=exif(orientation)), turns=True)
        add("tiff, orientation %d" % orientation, save(draw("RGB"), "TIFF", exif=exif(orientation)), turns=True)

for orientation in 0, 9:
    add("tiff, orientation %d, which is none" % orientation, save(draw("RGB"), "TIFF", exif=exif(orientation)))

print('{"format": 1, "program": "tests/file/picture_formats_test", "pillow": "%s", "cases": [' % PIL.__version__)
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
