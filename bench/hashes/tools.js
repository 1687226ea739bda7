// Hashes of the pictures by the tools of npm, as they print them, and their distances, as lines of hash_tools.csv.
// Called by run.sh with the folder of pictures. A tool without a distance of its own has its bits compared here.
const fs = require('fs');
const path = require('path');
const { promisify } = require('util');
const sharp = require('sharp');

const folder = process.argv[2];
const names = fs.readdirSync(folder).sort();
const paths = names.map((name) => path.join(folder, name));
const texts = ['The quick brown fox jumps over the lazy dog and runs into the dark wood',
  'The quick brown fox jumped over the lazy dog and runs into the dark wood',
  'A quick brown fox jumps over the lazy dog and runs into the wood',
  'Nothing in this sentence is like one of the others at all',
  'Nothing in that sentence is like any of the others at all', 'short text'];

const version = (name) => JSON.parse(fs.readFileSync(path.join('node_modules', name, 'package.json'))).version;
const bits = (hex) => [...hex].map((c) => parseInt(c, 16).toString(2).padStart(4, '0')).join('');
const differing = (a, b) => [...a].filter((c, i) => c !== b[i]).length;
const ofHex = (a, b) => differing(bits(a), bits(b));

function emit(tool, name, hashes, show, distance) {
  hashes.forEach((one, i) => {
    const before = hashes.slice(0, i).map((two) => Math.round(distance(one, two))).join(',');
    const label = hashes.length === names.length ? names[i].slice(3, -4) : `text${i + 1}`;
    const quote = i > 1 ? '"' : '';
    console.log(`${tool},${version(name)},${label},${show(one)},${quote}{${before}}${quote}`);
  });
}

(async () => {
  const each = (hash) => Promise.all(paths.map(hash));
  const raw = await each(async (file) => {
    const { data, info } = await sharp(file).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
    return { data: new Uint8ClampedArray(data), width: info.width, height: info.height, colorSpace: 'srgb' };
  });
  const same = (hash) => hash;

  const core = require('blockhash-core');
  emit('blockhash-core 8', 'blockhash-core', raw.map((image) => core.bmvbhash(image, 8)), same, ofHex);
  emit('blockhash-core 12', 'blockhash-core', raw.map((image) => core.bmvbhash(image, 12)), same, ofHex);
  emit('blockhash-core 16', 'blockhash-core', raw.map((image) => core.bmvbhash(image, 16)), same, ofHex);

  const blockhash = require('blockhash');
  emit('blockhash (npm) 8', 'blockhash', raw.map((image) => blockhash.blockhashData(image, 8, 2)), same, blockhash.hammingDistance);
  emit('blockhash (npm) 16', 'blockhash', raw.map((image) => blockhash.blockhashData(image, 16, 2)), same, blockhash.hammingDistance);

  const { imageHash } = require('image-hash');
  emit('image-hash 8', 'image-hash', await each((file) => promisify(imageHash)(file, 8, true)), same, ofHex);
  emit('image-hash 16', 'image-hash', await each((file) => promisify(imageHash)(file, 16, true)), same, ofHex);

  const imghash = require('imghash');
  emit('imghash (npm) 8', 'imghash', await each((file) => imghash.hash(file)), same, ofHex);
  emit('imghash (npm) 16', 'imghash', await each((file) => imghash.hash(file, 16)), same, ofHex);

  const phash = require('sharp-phash');
  emit('sharp-phash', 'sharp-phash', await each((file) => phash(fs.readFileSync(file))), same, require('sharp-phash/distance'));

  const { Jimp, compareHashes } = require('jimp');
  const jimp = await each((file) => Jimp.read(file));
  // Its distance is a part of the 64 bits.
  const ofJimp = jimp.map((image) => ({ binary: image.pHash(), 16: image.hash(16), 64: image.hash() }));
  for (const form of ['binary', 16, 64]) {
    emit(`jimp ${form}`, 'jimp', ofJimp, (hash) => hash[form], (a, b) => 64 * compareHashes(a.binary, b.binary));
  }

  const alt = await import('@alttiri/image-hash');
  for (const name of ['dHash', 'aHash', 'mHash', 'bHash']) {
    emit(`@alttiri/image-hash ${name}`, '@alttiri/image-hash', raw.map((image) => alt[name](image)), (hash) => hash.hex, (a, b) => a.diff(b));
  }

  const { SimHash } = require('simhash-js');
  const popcount = (a, b) => ((a ^ b) >>> 0).toString(2).replace(/0/g, '').length;
  emit('simhash-js', 'simhash-js', texts.map((text) => new SimHash().hash(text)), String, popcount);
  const words = texts.map((text) => text.split(' '));
  for (const kind of ['crc32', 'md5']) {
    emit(`simhash (npm) ${kind}`, 'simhash', words.map(require('simhash')(kind)), (hash) => `"${JSON.stringify(hash)}"`, differing);
  }
})();
