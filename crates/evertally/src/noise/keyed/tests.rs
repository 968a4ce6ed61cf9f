use super::*;
use crate::noise::keystream::make_block;
use crate::noise::law::{Gaussian, block_pair};
use crate::noise::{NoiseKey, WhiteNoise};

fn stream() -> StreamKey {
    NoiseKey::insecure_from_seed(1).stream(b"test")
}

fn all_kinds() -> [KeyedNoise; 3] {
    [KeyedNoise::gaussian(stream()), KeyedNoise::laplace(stream()), KeyedNoise::gaussian_chacha8(stream())]
}

fn tags(noise: &KeyedNoise, count: u32) -> Vec<LaneTag> {
    (0..count).map(|i| noise.tag(&i.to_le_bytes())).collect()
}

/// Draws key by key and step by step. Every form of the call must agree with it.
fn one_by_one(noise: &KeyedNoise, tags: &[LaneTag], first: u64, steps: usize) -> Vec<f64> {
    let mut rows = Vec::new();
    for step in 0..steps {
        for &tag in tags {
            let mut value = [0.0];
            noise.fill(tag, first + step as u64, &mut value);
            rows.push(value[0]);
        }
    }
    rows
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn every_way_of_asking_agrees() {
    for noise in all_kinds() {
        for (count, first, steps) in [
            (1, 0, 30),
            (3, 7, 2),
            (16, 1, 7),
            (17, 6, 12),
            (64, (1 << 35) - 3, 5),
            (131, 3, 17),
            (33, KeyedNoise::DRAWS - 9, 9),
        ] {
            let tags = tags(&noise, count);
            let want = bits(&one_by_one(&noise, &tags, first, steps));
            let context = format!("{noise:?}, {count} keys from {first}");

            let mut rows = vec![0.0; want.len()];
            noise.draw_steps(&tags, first, steps, &mut rows);
            assert_eq!(bits(&rows), want, "{context}");

            let mut singles = vec![0.0_f32; want.len()];
            noise.draw_steps(&tags, first, steps, &mut singles);
            let rounded: Vec<f32> = rows.iter().map(|&value| value as f32).collect();
            assert_eq!(singles, rounded, "{context}");

            for (step, want) in want.chunks(tags.len()).enumerate() {
                let mut row = vec![0.0; tags.len()];
                noise.draw_each(&tags, first + step as u64, &mut row);
                assert_eq!(bits(&row), want, "{context}");
            }
            for cut in [1, 2, 5, 8] {
                let mut pieces = vec![0.0; want.len()];
                for (i, piece) in pieces.chunks_mut(cut * tags.len()).enumerate() {
                    noise.draw_steps(&tags, first + (i * cut) as u64, piece.len() / tags.len(), piece);
                }
                assert_eq!(bits(&pieces), want, "{context} by {cut}");
            }
            for (i, &tag) in tags.iter().enumerate() {
                let mut column = vec![0.0; steps];
                noise.fill(tag, first, &mut column);
                let want: Vec<u64> = want.iter().skip(i).step_by(tags.len()).copied().collect();
                assert_eq!(bits(&column), want, "{context}");
            }
        }
    }
}

/// Recomputes draws from the definition: BLAKE3, the layout of the block input, the pair.
#[test]
fn draws_are_those_of_the_definition() {
    let noise = KeyedNoise::gaussian(stream());
    let hash = |context: &[u8], label: &[u8]| {
        *blake3::keyed_hash(stream().bytes(), &[context, label].concat()).as_bytes()
    };
    let key = hash(b"evertally lanes.", b"gaussian");
    let tag = hash(b"evertally lanetg", b"name");
    assert_eq!(noise.tag(b"name").to_bytes(), tag[..11]);
    let mut tagger = noise.tagger();
    for name in [&b"other"[..], b"name", &[7; 500], b"", b"name"] {
        assert_eq!(tagger.tag(name), noise.tag(name));
    }
    for index in [0, 1, 7, 8, 1 << 35, (1 << 40) + 5, KeyedNoise::DRAWS - 1] {
        let block = index / 8;
        // Sixteen bytes, little endian: five of the block number, then eleven of the tag.
        let mut bytes = [0; 16];
        bytes[..5].copy_from_slice(&block.to_le_bytes()[..5]);
        bytes[5..].copy_from_slice(&tag[..11]);
        let input: [u32; 4] =
            std::array::from_fn(|i| u32::from_le_bytes(*bytes[4 * i..].first_chunk().unwrap()));
        let mut words = [0; 16];
        make_block::<20>(&key, input, &mut words);
        let want = block_pair::<Gaussian>(&words, (index % 8) as usize / 2)[(index % 2) as usize];
        let mut got = [0.0_f64];
        noise.fill(noise.tag(b"name"), index, &mut got);
        assert_eq!(got[0].to_bits(), want.to_bits(), "{index}");
    }
}

/// Released noise may be derived again years later, so these values may never change.
#[test]
fn draws_are_frozen() {
    for (noise, frozen) in all_kinds().iter().zip(FROZEN) {
        let got = [0, 1, 1000, KeyedNoise::DRAWS - 1]
            .map(|index| one_by_one(noise, &[noise.tag(b"name")], index, 1)[0]);
        let got = got.map(f64::to_bits);
        assert!(got == frozen, "{noise:?}: {got:#018x?}");
    }
}

const FROZEN: [[u64; 4]; 3] = [
    [0x3fba_ba3e_0184_22fb, 0xbfe2_8280_aafa_9420, 0x3fe8_1cdc_2655_6d60, 0xc001_5801_1de0_7b73],
    [0x3ff6_13cc_3797_79a1, 0xbff4_3592_dffa_2822, 0xbfef_4c12_6422_33ab, 0x3fed_1cc6_2302_4b34],
    [0xbfe5_776a_bf0d_9beb, 0x3fdf_1297_8c96_f139, 0xbfd6_1137_6912_4f99, 0x3fe0_2d77_61f2_9242],
];

#[test]
fn names_kinds_and_streams_are_separate() {
    let other = KeyedNoise::gaussian(NoiseKey::insecure_from_seed(1).stream(b"other"));
    let [gaussian, laplace, quick] = all_kinds();
    assert_eq!(gaussian.tag(b"a"), laplace.tag(b"a"));
    assert_ne!(gaussian.tag(b"a"), gaussian.tag(b"b"));
    assert_ne!(gaussian.tag(b"a"), other.tag(b"a"));
    let tag = gaussian.tag(b"a");
    let mut seen: Vec<u64> = [&gaussian, &laplace, &quick, &other]
        .into_iter()
        .flat_map(|noise| [tag, noise.tag(b"b")].map(|tag| one_by_one(noise, &[tag], 0, 20)))
        .flatten()
        .chain((0..20).map(|i| WhiteNoise::gaussian(stream()).draw(i)))
        .map(f64::to_bits)
        .collect();
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count);
}

#[test]
fn tags_are_kept_whole_and_show_nothing() {
    assert_eq!(size_of::<LaneTag>(), 12);
    let bytes = std::array::from_fn(|i| 0xa0 + i as u8);
    assert_eq!(LaneTag::from_bytes(bytes).to_bytes(), bytes);
    assert_eq!(LaneTag::from_bytes([0xff; 11]).lane().counter, u64::MAX << BLOCK_BITS);
    assert_eq!(
        format!("{:?} {:?}", LaneTag::from_bytes(bytes), all_kinds()[0]),
        "LaneTag(..) KeyedNoise(Gaussian, ..)"
    );
}

#[test]
#[should_panic(expected = "passes the last index of a key")]
fn a_range_past_the_end_is_refused() {
    let [noise, ..] = all_kinds();
    noise.fill(noise.tag(b"a"), KeyedNoise::DRAWS - 1, &mut [0.0; 2]);
}

#[test]
#[should_panic(expected = "passes the last index of a key")]
fn steps_past_the_end_are_refused() {
    let [noise, ..] = all_kinds();
    noise.draw_each(&[noise.tag(b"a")], KeyedNoise::DRAWS, &mut [0.0]);
}

#[test]
#[should_panic(expected = "one place for each step and tag")]
fn a_row_too_short_is_refused() {
    let [noise, ..] = all_kinds();
    noise.draw_each(&[noise.tag(b"a"), noise.tag(b"b")], 0, &mut [0.0]);
}

#[test]
fn nothing_is_drawn_for_nobody() {
    let [noise, ..] = all_kinds();
    noise.draw_steps::<f64>(&[], 0, 5, &mut []);
    noise.draw_steps::<f64>(&[noise.tag(b"a")], 3, 0, &mut []);
    noise.fill::<f64>(noise.tag(b"a"), KeyedNoise::DRAWS, &mut []);
}
