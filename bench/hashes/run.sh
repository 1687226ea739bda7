#!/bin/bash
# Makes pg_test/data/hash_tools.csv: draws the pictures, installs the tools into a temporary folder, and writes what they print.
# bench/hashes/run.sh > values.csv; it needs python3 (3.11), node (20), cargo, and findimagedupes if that is to be in it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
installed() { "$work/$1/bin/pip" install -q "${@:2}" >&2; }
# Without what they ask for: imagededup wants torch, the films' two a downloader, and those do not touch the bits.
alone() { "$work/$1/bin/pip" install -q --no-deps "${@:2}" >&2; }

for environment in modern older namesake; do python3 -m venv "$work/$environment"; done
installed modern pillow==13.0.0 imagehash==4.3.2 dhash==1.4 imha==0.2.0 imgdd==0.1.5 imghash-rs==0.4.0 pdqhash==0.2.8 perception==0.9.3 \
	opencv-contrib-python-headless==4.14.0.94 iscc-core==1.5.0 iscc-lib==0.7.0 python-libphash==2.0.2.0 cffi simhash==2.1.2 \
	lomboksimhash==0.1.0 scikit-learn tqdm
alone modern imagededup==0.3.3.post2 floc-simhash==0.1.0
installed older pillow==9.5.0 'numpy<2' imagehash==4.3.2 dhashpy==1.0.2 imageio-ffmpeg==0.8.1 imagedominantcolor imagedominantcolour yt-dlp
alone older videohash==3.0.1 videohash2==3.2.2
installed namesake pillow==13.0.0 numpy python-simhash==0.1.0

mkdir "$work/pictures" "$work/js" "$work/rust"
"$work/modern/bin/python" "$here/pictures.py" "$work/pictures"
cp "$here/tools.js" "$work/js"
cd "$work/js"
npm install --no-audit --no-fund blockhash@0.2.0 blockhash-core@0.1.0 image-hash@7.0.1 imghash@1.1.4 sharp@0.35.5 sharp-phash@2.2.0 \
	jimp@1.6.1 @alttiri/image-hash@0.0.2-20241214 simhash-js@1.0.0 simhash@0.1.0 >&2
cp -r "$here/rust/." "$work/rust"
(cd "$work/rust" && cargo build -q --release --locked >&2)

echo tool,version,picture,hash,distances
for environment in modern older namesake; do
	"$work/$environment/bin/python" "$here/tools.py" "$work/pictures" $environment
done
node tools.js "$work/pictures"
"$work/rust/target/release/hash_tools" "$work/pictures"
