# SPDX-License-Identifier: Apache-2.0
"""The colours of runs in a report: far apart for readers with and without colour vision deficiencies, and visible on both
grounds. Prints what is too close.

    palette.py lib/report/page.css
"""
import itertools
import re
import sys

FIRST, ALL = (5, 25), (10, 15)  # so many of the first colours differ by at least so much, in CIELAB
CONTRAST = 3                    # WCAG 2.1, 1.4.11: graphical objects

# Machado, Oliveira and Fernandes 2009, complete deficiencies; linear RGB.
SEEN = {
    "normal vision": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))


def linear(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def times(matrix, v):
    return [sum(a * b for a, b in zip(row, v)) for row in matrix]


def lab(rgb):
    def f(t):
        return t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116
    x, y, z = (f(c / sum(row)) for c, row in zip(times(XYZ, rgb), XYZ))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(a, b, seen):
    pair = [lab([min(1, max(0, c)) for c in times(seen, linear(colour))]) for colour in (a, b)]
    return sum((x - y) ** 2 for x, y in zip(*pair)) ** 0.5


def contrast(a, b):
    light, dark = sorted((times(XYZ, linear(c))[1] + 0.05 for c in (a, b)), reverse=True)
    return light / dark


with open(sys.argv[1]) as f:
    css = f.read()
colours = re.findall(r"--c\d+: #([0-9a-f]{6});", css)
grounds = re.search(r"--card: light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)", css).groups()
if len(colours) != ALL[0]:
    print(f"{len(colours)} colours")
for n, least in (FIRST, ALL):
    for name, seen in SEEN.items():
        for a, b in itertools.combinations(colours[:n], 2):
            if distance(a, b, seen) < least:
                print(f"{name}: #{a} and #{b} are {distance(a, b, seen):.1f} apart")
for colour, ground in itertools.product(colours, grounds):
    if contrast(colour, ground) < CONTRAST:
        print(f"#{colour} on #{ground}: contrast {contrast(colour, ground):.2f}")
