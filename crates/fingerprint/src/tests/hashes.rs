//! Values of feature hashes that other implementations give, and fingerprints of 128 bits.

use proptest::prelude::*;

use crate::builder::{Content, FingerprintBuilder};
use crate::hash::{FeatureHash, S1_SEED, Width, bkdr, mix, murmur3, murmur64a};
use crate::options::text_options::TextOptions;
use crate::options::{plan, presets};

/// Text, both halves of MurmurHash3 (x64, 128 bits, seed 0), XXH3 of 64 bits, XXH3 of 128 bits:
/// from the reference code, through its Python wrappers mmh3 and xxhash.
const VECTORS: [(&str, u64, u64, u64, u128); 6] = [
    (
        "",
        0,
        0,
        0x2d06_8005_38d3_94c2,
        0x99aa_06d3_0147_98d8_6001_c324_468d_497f,
    ),
    (
        "a",
        0x8555_5565_f659_7889,
        0xe6b5_3a48_510e_895a,
        0xe6c6_32b6_1e96_4e1f,
        0xa96f_af70_5af1_6834_e6c6_32b6_1e96_4e1f,
    ),
    (
        "中国",
        0xa574_b840_9f78_b52e,
        0xfd52_613b_8000_f089,
        0x884f_a07d_2830_d4cf,
        0xde4d_7494_763e_3a86_3306_599a_98a5_6c97,
    ),
    (
        "hello world",
        0x533f_6046_eb7f_610e,
        0xab97_467d_60eb_63b1,
        0xd447_b1ea_40e6_988b,
        0xdf8d_09e9_3f87_4900_a99b_8775_cc15_b6c7,
    ),
    (
        "abcdefghijklmnop",
        0xc4ca_3ca3_224c_b723,
        0x4333_d695_b331_eb1a,
        0x3d3c_cac9_af14_d8a8,
        0x1f58_fc80_9b1b_8c4b_3e8e_153f_f12f_6330,
    ),
    (
        "The quick brown fox jumps over the lazy dog",
        0xe34b_bc7b_bc07_1b6c,
        0x7a43_3ca9_c49a_9347,
        0xce7d_19a5_418f_b365,
        0xddd6_5020_5ca3_e7fa_24a1_cc2e_3a8a_7651,
    ),
];

#[test]
fn murmur3_and_xxh3_as_the_reference_has_them() {
    for (text, low, high, xxh64, xxh128) in VECTORS {
        let bytes = text.as_bytes();
        assert_eq!(
            murmur3(bytes),
            u128::from(high) << 64 | u128::from(low),
            "{text}"
        );
        for (hash, narrow, wide) in [
            (FeatureHash::Murmur3, low, murmur3(bytes)),
            (FeatureHash::Xxh3, xxh64, xxh128),
        ] {
            assert_eq!(hash.hash(Width::W64, bytes), narrow, "{text}");
            assert_eq!(hash.hash(Width::W32, bytes), narrow & 0xffff_ffff, "{text}");
            assert_eq!(hash.hash128(bytes), wide, "{text}");
        }
    }
    let long = "0123456789".repeat(30);
    let long = long.as_bytes();
    assert_eq!(
        FeatureHash::Murmur3.hash(Width::W64, long),
        0xb85b_975b_292b_c433
    );
    assert_eq!(
        FeatureHash::Xxh3.hash128(long),
        0x7dda_db70_cbb4_3a63_0568_1ea1_b2e3_086b
    );
}

/// Values of CityHash128 v1.1 from its Python wrapper cityhash.
#[test]
fn city128_as_the_reference_has_it() {
    for (text, hash) in [
        ("", 0x3df0_9dfc_64c0_9a2b_3cb5_40c3_92e5_1e29),
        ("a", 0x6e97_d6bb_dfc0_a0c4_52a7_1e38_f43b_e561),
        ("中国", 0xf1a1_ade4_275d_b035_5758_2308_628a_2e3c),
        ("hello world", 0x2869_0d39_7005_14ed_6119_6fad_0243_1508),
        (
            "abcdefghijklmnop",
            0x43c9_d056_b707_1aff_acb1_d53a_4065_94f3,
        ),
        (
            "The quick brown fox jumps over the lazy dog",
            0xa7f9_a86a_2d60_c968_bf14_98f8_76db_e279,
        ),
        (
            &"0123456789".repeat(30),
            0x78fb_692b_9522_cbdd_52fe_6166_d4b8_b16c,
        ),
    ] {
        assert_eq!(FeatureHash::City.hash128(text.as_bytes()), hash, "{text}");
    }
}

#[test]
fn families_without_a_hash_of_128_bits() {
    let seed = u64::from(S1_SEED);
    let two = [murmur64a(b"a", seed), murmur64a(b"a", seed + 1)];
    assert_eq!(FeatureHash::Murmur.words(Width::W64, b"a"), two);
    let two = [bkdr(b"a"), mix(!bkdr(b"a"))];
    assert_eq!(FeatureHash::Bkdr.words(Width::W64, b"a"), two);
}

proptest! {
    /// Each of the 128 sums by itself, over words counted apart.
    #[test]
    fn fingerprints_of_128_bits_equal_their_definition(
        words in prop::collection::vec("[a-d]{1,2}", 1..30),
        hash in prop::sample::select(FeatureHash::NAMES.to_vec()),
    ) {
        let options = TextOptions { hash: Some(hash.1), ..TextOptions::default() };
        let plan = plan::text(presets::find(Some("plain")).unwrap(), &options).unwrap();
        let mut builder = FingerprintBuilder::<2>::new(Width::W64);
        builder.begin();
        builder.column(&plan, Content::Text(&words.join(" ")), &mut || {}).unwrap();
        let sum = |bit: u32| -> i32 {
            let sign = |word: &String| match hash.1.hash128(word.as_bytes()) >> bit & 1 {
                1 => 1,
                _ => -1,
            };
            words.iter().map(sign).sum()
        };
        let expected: u128 = (0..128).filter(|&bit| sum(bit) > 0).map(|bit| 1 << bit).sum();
        let [low, high] = builder.fingerprint().unwrap();
        prop_assert_eq!(u128::from(high) << 64 | u128::from(low), expected);
    }
}
