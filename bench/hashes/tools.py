"""Hashes of the pictures by the tools of Python, as they print them, and their own distances, as lines of hash_tools.csv.

Called by run.sh with the folder of pictures. Each line has the distances to the pictures before it.
"""
import csv
import importlib.metadata
import itertools
import os
import subprocess
import sys
import tempfile
import types

import numpy
from PIL import Image

folder = sys.argv[1]
names = sorted(os.listdir(folder))
paths = [os.path.join(folder, name) for name in names]
images = [Image.open(path).convert("RGB") for path in paths]
out = csv.writer(sys.stdout, lineterminator="\n")
texts = ["The quick brown fox jumps over the lazy dog and runs into the dark wood",
         "The quick brown fox jumped over the lazy dog and runs into the dark wood",
         "A quick brown fox jumps over the lazy dog and runs into the wood",
         "Nothing in this sentence is like one of the others at all",
         "Nothing in that sentence is like any of the others at all", "short text"]


def emit(tool, package, of, show, distance):
    """`of` makes the tool's own objects of all pictures, `show` prints one, `distance` is the tool's."""
    version = package if package[0].isdigit() else importlib.metadata.version(package)
    hashes = of()
    for i, one in enumerate(hashes):
        before = ",".join(str(int(distance(one, two))) for two in hashes[:i])
        label = names[i][3:-4] if len(hashes) == len(names) else f"text{i + 1}"
        out.writerow([tool, version, label, show(one), "{%s}" % before])


def modern():
    import cv2
    import dhash
    import floc_simhash
    import imagehash
    import imgdd
    import imghash
    import imha
    import iscc_core
    import iscc_lib
    import libphash
    import lomboksimhash
    import pdqhash
    import simhash
    from perception import hashers

    each = lambda function: lambda: [function(image) for image in images]
    minus = lambda a, b: a - b
    for name in ["average_hash", "phash", "phash_simple", "dhash", "dhash_vertical", "whash"]:
        emit(f"imagehash.{name}", "imagehash", each(getattr(imagehash, name)), str, minus)
    emit("imagehash.whash db4", "imagehash", each(lambda i: imagehash.whash(i, mode="db4")), str, minus)
    for size in [5, 7, 9, 14, 16]:
        emit(f"imagehash.dhash {size}", "imagehash", each(lambda i: imagehash.dhash(i, hash_size=size)), str, minus)
    emit("imagehash.phash 16", "imagehash", each(lambda i: imagehash.phash(i, hash_size=16)), str, minus)
    for bits in [3, 4]:
        emit(f"imagehash.colorhash {bits}", "imagehash", each(lambda i: imagehash.colorhash(i, binbits=bits)), str, minus)
    nearest = lambda a, b: min(s - t for s in a.segment_hashes for t in b.segment_hashes)
    emit("imagehash.crop_resistant_hash", "imagehash", each(imagehash.crop_resistant_hash), str, nearest)
    rows = lambda i: dhash.dhash_row_col(i)
    ints = lambda a, b: dhash.get_num_bits_different(a, b)
    emit("dhash.format_hex", "dhash", each(lambda i: (dhash.dhash_int(i), dhash.format_hex(*rows(i)))), lambda h: h[1],
         lambda a, b: ints(a[0], b[0]))
    emit("dhash.dhash_int", "dhash", each(dhash.dhash_int), str, ints)
    emit("dhash row", "dhash", each(lambda i: rows(i)[0]), str, ints)
    emit("dhash.dhash_int 16", "dhash", each(lambda i: dhash.dhash_int(i, size=16)), hex, ints)
    emit("imha.dhash", "imha", each(imha.dhash), str, minus)
    emit("imha.average_hash", "imha", each(imha.average_hash), lambda h: h.bin(), minus)
    of_folder = lambda algorithm: lambda: [imgdd.hash(path=folder, algo=algorithm)[path] for path in paths]
    count = lambda a, b: (int(a, 16) ^ int(b, 16)).bit_count()
    for algorithm in ["dHash", "pHash", "wHash"]:
        emit(f"imgdd {algorithm}", "imgdd", of_folder(algorithm), str, count)
    files = lambda function: lambda: [function(path) for path in paths]
    emit("imghash-rs average", "imghash-rs", files(imghash.average_hash), lambda h: h.encode(), lambda a, b: a.distance(b))
    emit("imghash-rs difference 10x6", "imghash-rs", files(lambda p: imghash.difference_hash(p, 10, 6)), lambda h: h.encode(),
         lambda a, b: a.distance(b))
    emit("imghash-rs perceptual 9x7", "imghash-rs", files(lambda p: imghash.perceptual_hash(p, 9, 7)), lambda h: h.encode(),
         lambda a, b: a.distance(b))
    pdq = lambda i: pdqhash.compute(numpy.asarray(i))[0]
    emit("pdqhash", "pdqhash", each(pdq), lambda v: numpy.packbits(v.astype(numpy.uint8)).tobytes().hex(), lambda a, b: (a != b).sum())

    # Perception: its base64, and its distance, which is a part of the bits (1 is all).
    for name, bits in [("PHash", 64), ("AverageHash", 64), ("DHash", 64), ("WaveletHash", 64), ("BlockMean", 968), ("MarrHildreth", 576),
                       ("PDQHash", 256)]:
        hasher = getattr(hashers, name)()
        emit(f"Perception {name}", "perception", lambda: [hasher.compute(path) for path in paths], str,
             lambda a, b: round(hasher.compute_distance(a, b) * bits))

    def opencv(name, *arguments):
        hasher = getattr(cv2.img_hash, name + "_create")(*arguments)
        emit(f"OpenCV {name}" + "".join(f" {a}" for a in arguments), "opencv-contrib-python-headless",
             files(lambda p: hasher.compute(cv2.imread(p))), lambda h: h.tobytes().hex(), hasher.compare)

    for kind in [("AverageHash",), ("PHash",), ("MarrHildrethHash",), ("BlockMeanHash", 0), ("BlockMeanHash", 1)]:
        opencv(*kind)

    # The pixels as the ISCC asks for them: grey, 32 by 32.
    pixels = [list(image.convert("L").resize((32, 32), Image.BICUBIC).tobytes()) for image in images]
    for bits in [64, 128, 256]:
        emit(f"ISCC Image-Code {bits}", "iscc-core", lambda: [iscc_core.gen_image_code(p, bits=bits)["iscc"] for p in pixels], str,
             iscc_core.iscc_distance)

    emit("iscc-lib Image-Code", "iscc-lib", lambda: [iscc_lib.gen_image_code_v0(bytes(p), bits=64).iscc for p in pixels], str,
         iscc_core.iscc_distance)

    for algorithm in libphash.Algorithm:
        def of(path):
            with libphash.ImageContext() as context:
                context.load_file(path)
                return context.hash(algorithm)
        one = of(paths[0])
        if isinstance(one, int):
            emit(f"libphash {algorithm}", "python-libphash", files(of), libphash.hash_to_hex, libphash.hamming_distance)
        elif algorithm.name in ("BMH", "MHASH"):
            emit(f"libphash {algorithm}", "python-libphash", files(of), lambda d: d.hex(), lambda a, b: a.hamming_distance(b))

    # imagededup's package asks for torch, which its bit hashes do not use: its folders without what they run on import.
    for part in ["imagededup", "imagededup.methods", "imagededup.utils"]:
        module = types.ModuleType(part)
        module.__path__ = [os.path.join(p, *part.split(".")) for p in sys.path if os.path.isdir(os.path.join(p, *part.split(".")))]
        sys.modules[part] = module
    from imagededup.methods import hashing
    for name in ["PHash", "AHash", "DHash", "WHash"]:
        hasher = getattr(hashing, name)(verbose=False)
        emit(f"imagededup {name}", "imagededup", files(lambda p: hasher.encode_image(image_file=p)), str, hasher.hamming_distance)

    of_texts = lambda function: lambda: [function(text) for text in texts]
    emit("simhash (Python)", "simhash", of_texts(simhash.Simhash), lambda s: str(s.value), lambda a, b: a.distance(b))
    emit("simhash f=128", "simhash", of_texts(lambda t: simhash.Simhash(t, f=128)), lambda s: str(s.value), lambda a, b: a.distance(b))
    emit("lomboksimhash", "lomboksimhash", of_texts(lomboksimhash.simhash64_text), str, lomboksimhash.hamming64)
    emit("floc-simhash", "floc-simhash", of_texts(lambda t: floc_simhash.SimHash(n_bits=64).hash(t)), str, count)

    # findimagedupes is a program; its fingerprints are 32 bytes, and its distance a number of bits.
    if os.path.exists("/usr/bin/findimagedupes"):
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "findimagedupes"], capture_output=True, text=True).stdout
        lines = subprocess.run(["findimagedupes", "-v=fp", *paths], capture_output=True, text=True).stdout.split("\n")
        hashes = [next(line.split()[0] for line in lines if line.endswith(path)) for path in paths]
        import base64
        number = lambda h: int.from_bytes(base64.b64decode(h), "big")
        emit("findimagedupes", version, lambda: hashes, str, lambda a, b: (number(a) ^ number(b)).bit_count())


def older():
    """Tools that need a Pillow before 10."""
    import dhashpy
    import imageio_ffmpeg
    emit("dhashpy", "dhashpy", lambda: [dhashpy.DHash(path) for path in paths], lambda h: h.hash, lambda a, b: a - b)
    emit("dhashpy hash_hex", "dhashpy", lambda: [dhashpy.DHash(path) for path in paths], lambda h: h.hash_hex, lambda a, b: a - b)

    # Films of three seconds, each of one picture that moves.
    with tempfile.TemporaryDirectory() as work:
        os.symlink(imageio_ffmpeg.get_ffmpeg_exe(), os.path.join(work, "ffmpeg"))
        os.environ["PATH"] = work + ":" + os.environ["PATH"]
        import videohash
        import videohash2
        films = []
        for i, image in enumerate(images):
            frames = os.path.join(work, f"frames{i}")
            os.mkdir(frames)
            for j in range(6):
                image.rotate(4 * j).resize((192, 192)).save(f"{frames}/{j}.png")
            films.append(os.path.join(work, f"{i}.mp4"))
            subprocess.run(["ffmpeg", "-loglevel", "error", "-y", "-framerate", "2", "-i", f"{frames}/%d.png", "-pix_fmt", "yuv420p", films[-1]],
                           check=True)
        hashes = [videohash.VideoHash(path=film) for film in films]
        emit("videohash", "videohash", lambda: hashes, str, lambda a, b: a - b)
        emit("videohash hash_hex", "videohash", lambda: hashes, lambda h: h.hash_hex, lambda a, b: a - b)
        emit("videohash2", "videohash2", lambda: [videohash2.VideoHash(path=film) for film in films], str, lambda a, b: a - b)


def namesake():
    """A package whose module has the name of another's."""
    import simhash
    emit("python-simhash", "python-simhash", lambda: [simhash.simhash(text.split()) for text in texts], str, simhash.hamming_distance)


{"older": older, "namesake": namesake}.get(sys.argv[2], modern)()
