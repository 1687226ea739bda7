"""Draws the pictures of hash_tools.csv: gradients, shapes, noise, and near-variants of them, the same at each run."""
import os
import sys

import numpy
from PIL import Image, ImageDraw, ImageFilter

SIZE = 256
folder = sys.argv[1]
random = numpy.random.RandomState(58)


def grey(array):
    return Image.fromarray(numpy.clip(array, 0, 255).astype(numpy.uint8)).convert("RGB")


def shapes(seed, count):
    """Ellipses, boxes and lines in colours of their own, on a ground that is not plain."""
    state = numpy.random.RandomState(seed)
    image = Image.new("RGB", (SIZE, SIZE), tuple(int(c) for c in state.randint(0, 256, 3)))
    draw = ImageDraw.Draw(image)
    for _ in range(count):
        x, y = (int(c) for c in state.randint(-40, SIZE, 2))
        w, h = (int(c) for c in state.randint(20, 140, 2))
        colour = tuple(int(c) for c in state.randint(0, 256, 3))
        kind = state.randint(3)
        if kind == 0:
            draw.ellipse((x, y, x + w, y + h), fill=colour)
        elif kind == 1:
            draw.rectangle((x, y, x + w, y + h), fill=colour)
        else:
            draw.line((x, y, x + w, y + h), fill=colour, width=9)
    return image


y, x = numpy.mgrid[0:SIZE, 0:SIZE]
scene, other = shapes(1, 14), shapes(2, 14)
waves = 127 + 60 * numpy.sin(x / 17.0 + y / 41.0) + 50 * numpy.cos(y / 23.0 - x / 67.0)
coarse = numpy.kron(random.randint(0, 256, (16, 16)), numpy.ones((16, 16)))
pictures = {
    "gradient": grey(x * 0.7 + y * 0.3),
    "gradient_back": grey(255 - x * 0.7 - y * 0.3),
    "scene": scene,
    "scene_noise": Image.fromarray(
        numpy.clip(numpy.asarray(scene).astype(int) + random.randint(-25, 26, (SIZE, SIZE, 3)), 0, 255).astype(numpy.uint8)),
    "scene_bright": scene.point(lambda c: min(255, int(c * 1.2 + 12))),
    "scene_small": scene.resize((96, 96), Image.BILINEAR).resize((200, 200), Image.BILINEAR),
    "scene_crop": scene.crop((20, 12, 244, 236)),
    "other": other,
    "other_blur": other.filter(ImageFilter.GaussianBlur(4)),
    "waves": grey(waves),
    "mosaic": grey(coarse),
    "noise": Image.fromarray(random.randint(0, 256, (SIZE, SIZE, 3)).astype(numpy.uint8)),
}
for number, (name, image) in enumerate(pictures.items()):
    image.save(os.path.join(folder, f"{number:02d}_{name}.png"))
