#!/usr/bin/env bash
# PyPI Perception 0.9.3: its BlockMean and MarrHildreth are OpenCV's with red and blue exchanged.
# OpenCV's functions expect the channels as its imread() gives them, blue first. Perception passes red first.
# Expected: the hash of a file is the one that OpenCV 4.14 gives. Seen: 61 to 140 bits off it for three pictures of
# random colours, and no bit off what OpenCV gives when red and blue are exchanged. A grey copy of a picture is as far.
# Affected: programs that mix hashes of OpenCV and of Perception, and searches for grey copies.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --no-compile --root-user-action ignore --target "$dir/lib" \
    Perception==0.9.3 opencv-contrib-python-headless==4.14.0.94 pillow==13.0.0 numpy==2.4.6
cat >"$dir/run.py" <<'EOF'
import sys, warnings
warnings.simplefilter("ignore")
import cv2, numpy
from PIL import Image
from perception import hashers

file = sys.argv[1]
def bits_off(opencv, pixels, hash):
    bits = numpy.unpackbits(opencv.compute(pixels).ravel())[:len(hash)]
    return int((bits != hash).sum())

for seed in (1, 2, 3):
    cells = numpy.random.default_rng(seed).integers(0, 256, (12, 16, 3), dtype=numpy.uint8)
    Image.fromarray(cells).resize((512, 384), Image.Resampling.BICUBIC).save(file)
    pixels = cv2.imread(file)
    exchanged = numpy.ascontiguousarray(pixels[:, :, ::-1])
    for hasher, opencv in ((hashers.BlockMean(), cv2.img_hash.BlockMeanHash_create(1)),
                           (hashers.MarrHildreth(), cv2.img_hash.MarrHildrethHash_create())):
        hash = numpy.asarray(hasher.compute(file, hash_format="vector")).astype(int)
        print(f"{type(hasher).__name__}, {len(hash)} bits: {bits_off(opencv, pixels, hash)} off OpenCV's,",
              f"{bits_off(opencv, exchanged, hash)} off it with red and blue exchanged")
EOF
PYTHONPATH="$dir/lib" python3 "$dir/run.py" "$dir/picture.png" >"$dir/seen"
diff -u - "$dir/seen" <<'EOF'
BlockMean, 968 bits: 118 off OpenCV's, 0 off it with red and blue exchanged
MarrHildreth, 576 bits: 79 off OpenCV's, 0 off it with red and blue exchanged
BlockMean, 968 bits: 140 off OpenCV's, 0 off it with red and blue exchanged
MarrHildreth, 576 bits: 61 off OpenCV's, 0 off it with red and blue exchanged
BlockMean, 968 bits: 125 off OpenCV's, 0 off it with red and blue exchanged
MarrHildreth, 576 bits: 68 off OpenCV's, 0 off it with red and blue exchanged
EOF
echo 'as when it was found'
