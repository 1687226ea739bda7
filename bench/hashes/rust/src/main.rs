//! Hashes of the pictures by the crates of Rust, as they print them, and their own distances, as lines of hash_tools.csv.
//! Called by run.sh with the folder of pictures.
use std::path::{Path, PathBuf};

fn main() {
    let folder = std::env::args().nth(1).expect("the folder of pictures");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    image_hasher(&paths);
    img_hash(&paths);
    blockhash(&paths);
    pdqhash(&paths);
    let dhashes = paths.iter().map(|path| dhash::get_dhash(&image021::open(path).unwrap())).collect::<Vec<_>>();
    emit("dhash (Rust)", "0.1.0", &paths, &dhashes, u64::to_string, |a, b| dhash::hamming_distance(*a, *b));
}

fn emit<T>(tool: &str, version: &str, paths: &[PathBuf], hashes: &[T], show: impl Fn(&T) -> String, distance: impl Fn(&T, &T) -> u32) {
    for (i, one) in hashes.iter().enumerate() {
        let label = &paths[i].file_stem().unwrap().to_str().unwrap()[3..];
        let before = hashes[..i].iter().map(|two| distance(one, two).to_string()).collect::<Vec<_>>().join(",");
        let quote = if i > 1 { "\"" } else { "" };
        println!("{tool},{version},{label},{},{quote}{{{before}}}{quote}", show(one));
    }
}

fn open(path: &Path) -> image025::DynamicImage {
    image025::open(path).unwrap()
}

fn image_hasher(paths: &[PathBuf]) {
    use image_hasher::{HashAlg, HasherConfig, ImageHash};
    let kinds: [(&str, HashAlg, u32, bool); 10] = [
        ("Mean 8", HashAlg::Mean, 8, false),
        ("Mean 8 DCT", HashAlg::Mean, 8, true),
        ("Median 8 DCT", HashAlg::Median, 8, true),
        ("Gradient 8", HashAlg::Gradient, 8, false),
        ("VertGradient 8", HashAlg::VertGradient, 8, false),
        ("DoubleGradient 8", HashAlg::DoubleGradient, 8, false),
        ("Blockhash 8", HashAlg::Blockhash, 8, false),
        ("Gradient 16", HashAlg::Gradient, 16, false),
        ("Gradient 32", HashAlg::Gradient, 32, false),
        ("Gradient 64", HashAlg::Gradient, 64, false),
    ];
    for (name, algorithm, size, dct) in kinds {
        let mut config = HasherConfig::new().hash_alg(algorithm).hash_size(size, size);
        if dct {
            config = config.preproc_dct();
        }
        let hasher = config.to_hasher();
        let hashes = paths.iter().map(|path| hasher.hash_image(&open(path))).collect::<Vec<ImageHash>>();
        emit(&format!("image_hasher {name}"), "3.1.1", paths, &hashes, ImageHash::to_base64, ImageHash::dist);
    }
}

fn img_hash(paths: &[PathBuf]) {
    let hasher = img_hash::HasherConfig::new().to_hasher();
    let hashes = paths.iter().map(|path| hasher.hash_image(&img_hash::image::open(path).unwrap())).collect::<Vec<img_hash::ImageHash>>();
    emit("img_hash", "3.2.0", paths, &hashes, |hash| hash.to_base64(), |a, b| a.dist(b));
}

fn blockhash(paths: &[PathBuf]) {
    macro_rules! of {
        ($name:literal, $function:ident) => {
            let hashes = paths.iter().map(|path| blockhash::$function(&open(path))).collect::<Vec<_>>();
            emit($name, "1.0.0", paths, &hashes, |hash| hash.to_string(), |a, b| a.distance(b));
        };
    }
    of!("blockhash (Rust) 16", blockhash16);
    of!("blockhash (Rust) 64", blockhash64);
    of!("blockhash (Rust) 144", blockhash144);
    of!("blockhash (Rust) 256", blockhash256);
}

fn pdqhash(paths: &[PathBuf]) {
    let hashes = paths.iter().map(|path| pdqhash::generate_pdq(&pdqhash::image::open(path).unwrap()).unwrap().0).collect::<Vec<_>>();
    // It has no distance of its own.
    let distance = |a: &[u8; 32], b: &[u8; 32]| a.iter().zip(b).map(|(x, y)| (x ^ y).count_ones()).sum();
    emit("pdqhash (Rust)", "0.1.1", paths, &hashes, |hash| hash.iter().map(|byte| format!("{byte:02x}")).collect(), distance);
}
