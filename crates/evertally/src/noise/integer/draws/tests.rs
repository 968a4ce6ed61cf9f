use super::*;
use crate::noise::NoiseKey;
use crate::noise::integer::words::Words;

const LAWS: [IntegerLaw; 2] = [IntegerLaw::Gaussian, IntegerLaw::Laplace];
const SCALES: [u64; 5] = [1, 3, 1000, 1 << 44, IntegerNoise::SCALES - 1];

fn stream() -> StreamKey {
    NoiseKey::insecure_from_seed(1).stream(b"test")
}

fn noise(law: IntegerLaw) -> IntegerNoise {
    IntegerNoise::new(stream(), law)
}

fn lanes(noise: &IntegerNoise, count: u32) -> Vec<LaneTag> {
    (0..count).map(|i| noise.tag(&i.to_le_bytes())).collect()
}

#[test]
fn every_way_of_asking_agrees() {
    for noise in LAWS.map(noise) {
        for scale in SCALES {
            for (count, index) in
                [(1, 0), (2, 7), (16, 1), (17, (1 << 40) - 1), (131, 1 << 40), (3, (1 << 60) - 1)]
            {
                let lanes = lanes(&noise, count);
                let want: Vec<i64> = lanes.iter().map(|&lane| noise.draw(lane, index, scale)).collect();
                let mut row = vec![0; lanes.len()];
                noise.draw_each(&lanes, index, scale, &mut row);
                assert_eq!(row, want, "{noise:?}: {count} lanes at {index}, scale {scale}");
            }
        }
        let lane = noise.tag(b"lane");
        for (first, count) in
            [(0, 1), (5, 40), ((1 << 40) - 20, 37), ((7 << 40) - 16, 32), ((1 << 60) - 3, 3)]
        {
            let scales: Vec<u64> = SCALES.into_iter().cycle().take(count).collect();
            let mut steps = vec![0; count];
            noise.draw_steps(lane, first, &scales, &mut steps);
            let want = (first..).zip(&scales).map(|(index, &scale)| noise.draw(lane, index, scale));
            assert!(want.eq(steps), "{noise:?}: {count} from {first}");
        }
        noise.draw_each(&[], 0, 1, &mut []);
        noise.draw_steps(lane, IntegerNoise::DRAWS, &[], &mut []);
    }
}

/// The words of a draw, from the definition.
struct Defined {
    law: u8,
    tag: [u8; 11],
    index: u64,
    used: u64,
    block: [u32; BLOCK_WORDS],
}

impl Words for Defined {
    fn next(&mut self) -> u32 {
        if self.used.is_multiple_of(16) {
            let label = [
                b"evertally whole.".as_slice(),
                &[self.law],
                &(self.index / (1 << 40)).to_le_bytes(),
                &(self.used / 16).to_le_bytes(),
            ];
            let key = *blake3::keyed_hash(stream().bytes(), &label.concat()).as_bytes();
            // Sixteen bytes, little endian: five of the index, then eleven of the tag.
            let mut input = [0; 16];
            input[..5].copy_from_slice(&self.index.to_le_bytes()[..5]);
            input[5..].copy_from_slice(&self.tag);
            let input = std::array::from_fn(|i| u32::from_le_bytes(*input[4 * i..].first_chunk().unwrap()));
            make_block::<20>(&key, input, &mut self.block);
        }
        self.used += 1;
        self.block[(self.used - 1) as usize % 16]
    }
}

/// Some draws need a second block or more. The test counts words to prove that this occurred.
#[test]
fn draws_are_made_of_the_words_of_the_definition() {
    for (law, noise) in LAWS.into_iter().zip(LAWS.map(noise)) {
        let lane = noise.tag(b"name");
        let mut most_used = 0;
        for (scale, draws) in [(1, 3000), (1 << 44, 30_000)] {
            let scaled = ScaledLaw::new(law, scale);
            for index in (0..draws).flat_map(|i| [i, (1 << 40) + i, IntegerNoise::DRAWS - 1 - i]) {
                let (law, tag) = (u8::from(law == IntegerLaw::Laplace), lane.to_bytes());
                let mut words = Defined { law, tag, index, used: 0, block: [0; BLOCK_WORDS] };
                assert_eq!(noise.draw(lane, index, scale), scaled.draw(&mut words), "{noise:?} at {index}");
                most_used = most_used.max(words.used);
            }
        }
        assert!(most_used > 32, "{most_used} words");
    }
}

/// Released noise may be derived again years later, so these values may never change.
#[test]
fn draws_are_frozen() {
    for (noise, frozen) in LAWS.map(noise).iter().zip(FROZEN) {
        let lane = noise.tag(b"name");
        let got = SCALES.map(|scale| {
            [0, 1, 1000, 1 << 40, IntegerNoise::DRAWS - 1].map(|index| noise.draw(lane, index, scale))
        });
        assert!(got == frozen, "{noise:?}: {got:?}");
    }
}

const FROZEN: [[[i64; 5]; 5]; 2] = [
    [
        [0, 1, 0, 1, 1],
        [0, 1, -4, 2, -2],
        [141, 461, -223, 584, -673],
        [2_481_998_608_169, 8_114_143_121_538, -3_934_266_186_969, 10_289_424_200_395, -11_842_276_017_682],
        [
            635_391_643_691_427,
            2_077_220_639_113_753,
            -1_007_172_143_864_119,
            2_634_092_595_301_357,
            -3_031_622_660_526_761,
        ],
    ],
    [
        [0, 0, -1, 0, 2],
        [0, 0, -4, 0, 2],
        [156, 143, -697, 879, 458],
        [2_749_369_724_971, 2_520_212_388_233, -12_222_698_019_587, 15_401_487_410_616, 8_026_791_772_162],
        [
            703_838_649_592_543,
            645_174_371_387_540,
            -3_129_010_693_013_340,
            3_942_780_777_116_414,
            2_054_858_693_672_884,
        ],
    ],
];

#[test]
fn lanes_indices_laws_and_streams_are_separate() {
    let other = IntegerNoise::new(NoiseKey::insecure_from_seed(1).stream(b"other"), IntegerLaw::Gaussian);
    let [gaussian, laplace] = LAWS.map(noise);
    assert_eq!(gaussian.tag(b"a"), laplace.tag(b"a"));
    assert_ne!(gaussian.tag(b"a"), gaussian.tag(b"b"));
    assert_ne!(gaussian.tag(b"a"), other.tag(b"a"));
    assert_eq!(gaussian.tagger().tag(b"a"), gaussian.tag(b"a"));
    let [a, b] = [gaussian.tag(b"a"), gaussian.tag(b"b")];
    // A scale at which two draws are almost never equal.
    let scale = 1 << 50;
    let mut seen = Vec::new();
    for index in (0..20).flat_map(|i| [i, (1 << 40) + i, (1 << 41) + i, (1 << 59) + i]) {
        for noise in [&gaussian, &laplace, &other] {
            seen.extend([noise.draw(a, index, scale), noise.draw(b, index, scale)]);
        }
    }
    // A scale twice as large does not just double the draw's uncertainty: it gives another number.
    seen.extend((0..20).map(|index| gaussian.draw(a, index, 2 * scale - 1)));
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count);
    assert_eq!(count, 500);
}

#[test]
fn debug_shows_no_key() {
    assert_eq!(
        LAWS.map(noise).map(|noise| format!("{noise:?}")),
        ["IntegerNoise(Gaussian, ..)", "IntegerNoise(Laplace, ..)"]
    );
}

#[test]
#[should_panic(expected = "passes the last index of a lane")]
fn an_index_past_the_end_is_refused() {
    let noise = noise(IntegerLaw::Gaussian);
    let _ = noise.draw(noise.tag(b"a"), IntegerNoise::DRAWS, 1);
}

#[test]
#[should_panic(expected = "passes the last index of a lane")]
fn steps_past_the_end_are_refused() {
    let noise = noise(IntegerLaw::Gaussian);
    noise.draw_steps(noise.tag(b"a"), IntegerNoise::DRAWS - 1, &[1; 2], &mut [0; 2]);
}

#[test]
fn scales_out_of_range_are_refused() {
    let noise = noise(IntegerLaw::Laplace);
    for scale in [0, 1 << 52, u64::MAX] {
        assert!(std::panic::catch_unwind(|| noise.draw(noise.tag(b"a"), 0, scale)).is_err(), "{scale}");
    }
}

#[test]
#[should_panic(expected = "one place for each lane")]
fn a_row_too_short_is_refused() {
    let noise = noise(IntegerLaw::Gaussian);
    noise.draw_each(&lanes(&noise, 2), 0, 1, &mut [0]);
}
