//! Damaged and hostile streams end in an error or in values of the right shape: never in a panic, an
//! endless loop, a write outside the output, or memory that only the header asks for.

use crate::support::counting::{alone, peak_of};
use crate::support::fields::times;
use crate::support::hostile::*;
use factz::grid::tiles::Grid;
use factz::stream::checksum::seal;
use factz::stream::header::{Header, HEADER_BYTES};
use factz::stream::sections::TABLES;
use factz::{decompress, inspect};
use factz::{Config, Dtype, Error};
use factz::{Extent, Layout, ViewMut};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Streams with masks, fill patterns, stored values, refinements, several tiles and groups, both types.
const SAMPLES: &str = "
    example_f32 one_vertex_f64 two_by_two_f32 stored_f64 row_f32 ties_speculative_f64 grid_32x64_f32
    spacing_block_f64 missing_block_f32 groups_f32 huffman_one_vertex_f32 huffman_row_f64
    lorenzo_one_vertex_f64 lorenzo_row_f32 lorenzo_missing_block_f64 lorenzo_huffman_missing_block_f32
    lorenzo_constant_f32";

/// Golden streams by their names, which blanks separate.
fn samples(names: &str) -> Vec<(&str, Vec<u8>)> {
    names.split_whitespace().map(|name| (name, sample(name))).collect()
}

/// Those that are decoded thousands of times.
fn small_samples() -> Vec<(&'static str, Vec<u8>)> {
    let mut all = samples(SAMPLES);
    all.retain(|(_, stream)| stream.len() < 1000);
    all
}

#[test]
fn intact_streams_write_the_vertices_and_nothing_else() {
    let _alone = alone();
    for (name, stream) in samples(SAMPLES) {
        let config = config_of(&stream);
        let (result, bits) = decode(&config, &stream);
        result.expect("intact");
        // Bytes behind a stream are not part of it.
        let longer = [&stream[..], &[0xff; 77]].concat();
        assert_eq!(decode(&config, &longer).1, bits, "{name}");
    }
}

#[test]
fn a_truncated_stream_is_refused_at_every_length() {
    let _alone = alone();
    for (name, stream) in samples(SAMPLES) {
        for verify_checksum in [true, false] {
            let config = Config { verify_checksum, ..config_of(&stream) };
            let step = if stream.len() > 4000 { 61 } else { 1 };
            for length in (0..stream.len()).step_by(step) {
                assert_refused(decode(&config, &stream[..length]).0, &format!("{name} cut at {length}"));
            }
            // The same with a header that knows of it.
            for length in (HEADER_BYTES..stream.len()).step_by(4 * step) {
                let cut = with_u64(&stream[..length], 112, length as u64);
                assert_refused(decode(&config, &cut).0, &format!("{name} sealed at {length}"));
            }
        }
    }
}

/// Decodes the small samples with each of their bits flipped, and shows the answers.
fn flip_each_bit(verify_checksum: bool, check: impl Fn(Result<(), Error>, &str)) {
    for (name, mut stream) in small_samples() {
        let config = Config { verify_checksum, ..config_of(&stream) };
        for bit in 0..8 * stream.len() {
            stream[bit / 8] ^= 1 << (bit % 8);
            check(decode(&config, &stream).0, &format!("{name} with bit {bit} flipped"));
            stream[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn a_flipped_bit_is_always_noticed_by_the_checksum() {
    let _alone = alone();
    flip_each_bit(true, assert_refused);
}

#[test]
fn a_flipped_bit_does_no_harm_without_the_checksum() {
    let _alone = alone();
    flip_each_bit(false, |result, what| {
        if result.is_err() {
            assert_refused(result, what);
        }
    });
}

/// One piece of damage.
#[derive(Clone, Debug)]
enum Damage {
    Byte(prop::sample::Index, u8),
    Word(prop::sample::Index, u32),
    /// Bytes from elsewhere in the same or another stream.
    Splice(prop::sample::Index, prop::sample::Index, prop::sample::Index, usize),
    Remove(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
    /// A number of the header: dimensions, bounds, the fill pattern, lengths, groups.
    Number(usize, u64),
    /// A choice of the header: versions, types, flags.
    Choice(usize, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    let sizes = (0..64u32, -1i64..=1).prop_map(|(bit, more)| (1u64 << bit).wrapping_add_signed(more));
    let size = prop_oneof![any::<u64>(), sizes];
    let word = prop_oneof![any::<u32>(), Just(0), Just(1), Just(0x7fff_ffff), Just(u32::MAX)];
    prop_oneof![
        4 => (index(), any::<u8>()).prop_map(|(at, b)| Damage::Byte(at, b)),
        2 => (index(), word).prop_map(|(at, w)| Damage::Word(at, w)),
        1 => (index(), index(), index(), 1..200usize).prop_map(|(a, s, b, n)| Damage::Splice(a, s, b, n)),
        1 => (index(), 1..64usize).prop_map(|(at, n)| Damage::Remove(at, n)),
        1 => (index(), prop::collection::vec(any::<u8>(), 1..64)).prop_map(|(at, b)| Damage::Insert(at, b)),
        1 => (0..12usize, size).prop_map(|(k, n)| Damage::Number(k, n)),
        1 => (4..32usize, any::<u8>()).prop_map(|(at, b)| Damage::Choice(at, b)),
    ]
}

fn apply(stream: &mut Vec<u8>, others: &[Vec<u8>], damage: &Damage) {
    if stream.is_empty() {
        return;
    }
    match damage {
        Damage::Byte(at, b) => {
            let at = at.index(stream.len());
            stream[at] = *b;
        }
        Damage::Word(at, w) => {
            let at = at.index(stream.len()) & !3;
            let end = stream.len().min(at + 4);
            stream[at..end].copy_from_slice(&w.to_le_bytes()[..end - at]);
        }
        Damage::Splice(to, which, from, n) => {
            let other = &others[which.index(others.len())];
            let (to, from) = (to.index(stream.len()), from.index(other.len()));
            let n = (*n).min(stream.len() - to).min(other.len() - from);
            stream[to..to + n].copy_from_slice(&other[from..from + n]);
        }
        Damage::Remove(at, n) => {
            let at = at.index(stream.len());
            let end = stream.len().min(at + n);
            stream.drain(at..end);
        }
        Damage::Insert(at, bytes) => {
            let at = at.index(stream.len());
            stream.splice(at..at, bytes.iter().copied());
        }
        Damage::Number(k, n) => {
            if let Some(number) = stream.get_mut(32 + 8 * k..40 + 8 * k) {
                number.copy_from_slice(&n.to_le_bytes());
            }
        }
        Damage::Choice(at, b) => {
            if let Some(choice) = stream.get_mut(*at) {
                *choice = *b;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: times("FACTZ_HOSTILE_CASES", 3000), failure_persistence: None, ..ProptestConfig::default() })]

    /// With `heal`, the header fits again and the seal is right, so that the inner parsers see it.
    #[test]
    fn random_damage_does_no_harm(
        which in any::<prop::sample::Index>(),
        pieces in prop::collection::vec(damage(), 1..6),
        heal in 0..4u8,
        verify_checksum in any::<bool>(),
    ) {
        let _alone = alone();
        let streams: Vec<Vec<u8>> = samples(SAMPLES).into_iter().map(|(_, stream)| stream).collect();
        let mut stream = streams[which.index(streams.len())].clone();
        let original = stream.clone();
        let config = Config { verify_checksum, ..config_of(&original) };
        for piece in &pieces {
            apply(&mut stream, &streams, piece);
        }
        let begin = Instant::now();
        if heal > 0 && stream.len() >= HEADER_BYTES {
            if heal > 1 {
                // Choices about decoding may stay damaged.
                let range = if heal == 2 { 20 } else { 26 };
                stream[..range].copy_from_slice(&original[..range]);
                stream[26..28].copy_from_slice(&original[26..28]);
                stream[32..HEADER_BYTES].copy_from_slice(&original[32..HEADER_BYTES]);
            }
            stream.truncate(stream.len() & !3);
            let length = stream.len() as u64;
            stream[112..120].copy_from_slice(&length.to_le_bytes());
            seal(&mut stream);
        }
        let result = decode_cheaply(&config, &stream, "a damaged stream");
        // Small fields take milliseconds, whatever the stream says; machines may be busy.
        prop_assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
        if result.is_err() {
            assert_refused(result, "a damaged stream");
        }
    }
}

/// A stream with other words in place of those of its groups, sealed again.
fn with_words(stream: &[u8], words: &[u32]) -> Vec<u8> {
    let mut bad = stream.to_vec();
    for (to, word) in bad[HEADER_BYTES + table_bytes(stream)..].chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    seal(&mut bad);
    bad
}

/// A stream with other bytes somewhere, sealed again.
fn with_bytes<const N: usize>(stream: &[u8], at: usize, bytes: [u8; N]) -> Vec<u8> {
    let mut bad = stream.to_vec();
    bad[at..at + N].copy_from_slice(&bytes);
    seal(&mut bad);
    bad
}

fn with_u64(stream: &[u8], at: usize, value: u64) -> Vec<u8> {
    with_bytes(stream, at, value.to_le_bytes())
}

/// Refused with the checksum compared and without, and in little memory.
fn assert_refused_cheaply(config: &Config, bad: &[u8], what: &str) {
    for verify_checksum in [true, false] {
        let config = Config { verify_checksum, ..*config };
        assert_refused(decode_cheaply(&config, bad, what), what);
    }
}

/// Groups must have all tiles between them and all bytes up to the end of the stream.
#[test]
fn groups_that_do_not_add_up_are_refused() {
    let _alone = alone();
    let names = "example_f32 groups_f32 sparse_f64 huffman_sparse_f32 batches_f32 huffman_batches_f64
                 lorenzo_land_block_f32 lorenzo_huffman_batches_f32";
    for (name, original) in samples(names) {
        let (config, header) = (config_of(&original), Header::read(&original).expect("a header"));
        let (tiles, first_word) = (header.grid().tiles(), HEADER_BYTES + header.table_bytes as usize);
        let words: Vec<u32> = original[first_word..]
            .chunks_exact(4)
            .take(header.groups as usize)
            .map(|w| u32::from_le_bytes(w.try_into().expect("four bytes")))
            .collect();
        assert_eq!(with_words(&original, &words), original);
        // Of its bytes, and of its tiles.
        let changes = [-128, -4, -2, -1, 1, 2, 4, 128, 1 << 23, 1 << 24, -(1 << 24), 2 << 24, 128i64 << 24];
        for (k, &word) in words.iter().enumerate() {
            let next = (k + 1) % words.len();
            for change in changes {
                let mut other = words.clone();
                other[k] = (word as i64 + change) as u32;
                let what = format!("{name} with {change} added to word {k}");
                assert_refused_cheaply(&config, &with_words(&original, &other), &what);
                if next != k {
                    // The sums stay right, or overflow into the other part of a word.
                    other[next] = (words[next] as i64 - change) as u32;
                    let what = format!("{what} and taken from word {next}");
                    assert_refused_cheaply(&config, &with_words(&original, &other), &what);
                }
            }
            let whole = [0, 1, 76, 79, 80, 82, 128, 0x00ff_ffff, 0x0100_0000, 0xff00_0000, u32::MAX];
            for whole in whole.into_iter().filter(|&whole| whole != word) {
                let mut other = words.clone();
                other[k] = whole;
                let what = format!("{name} with {whole:#x} as word {k}");
                assert_refused_cheaply(&config, &with_words(&original, &other), &what);
            }
        }
        let full = vec![words[0] | 0xff00_0000; words.len()];
        assert_refused_cheaply(&config, &with_words(&original, &full), &format!("{name}, full groups"));
        let groups = header.groups;
        for other in [0, groups - 1, groups + 1, tiles, tiles + 1, 1 << 32, 1 << 61, 1 << 63, u64::MAX] {
            if other != groups {
                let what = format!("{name} with {other} groups");
                assert_refused_cheaply(&config, &with_u64(&original, 120, other), &what);
            }
        }
    }
    // Stored content has no groups.
    for groups in [1, u64::MAX] {
        let stream = sample("stored_f64");
        let bad = with_u64(&stream, 120, groups);
        assert_refused_cheaply(&config_of(&stream), &bad, &format!("a stored one with {groups} groups"));
    }
}

/// The answer to a caller who believes a header that claims too much, with arrays that nothing may touch, and
/// the memory that the call took.
fn decode_into_nothing(config: &Config, bad: &[u8]) -> (Result<(), Error>, usize) {
    let mut nothing = [0f64; 1];
    let base = nothing.as_mut_ptr();
    let layout = Layout { pitch: config.nx, stride: 1, plane: 0 };
    let nothing_fits = Extent { before: 0, after: 1 };
    let extent = Extent::of(Grid::new(config.nx, config.ny), layout, 0).unwrap_or(nothing_fits);
    // SAFETY: the sizes do not fit the stream, so that nothing is written.
    let view = || unsafe { ViewMut::new(base.cast::<f32>(), layout, extent) };
    let wide = || unsafe { ViewMut::new(base, layout, extent) };
    let answer = peak_of(|| match config.dtype {
        Dtype::F32 => decompress(config, bad, view(), view(), ONE_THREAD).map(|_| ()),
        Dtype::F64 => decompress(config, bad, wide(), wide(), ONE_THREAD).map(|_| ()),
    });
    assert_eq!(nothing[0].to_bits(), 0);
    answer
}

#[test]
fn sizes_are_not_believed_before_they_are_checked() {
    let _alone = alone();
    let huge = [1u64 << 20, 1 << 31, 1 << 32, (1 << 40) + 4, 1 << 48, 1 << 62, u64::MAX - 3, u64::MAX];
    for (name, original) in samples("example_f32 stored_f64 groups_f32 lorenzo_groups_f32") {
        let config = config_of(&original);
        let check = |bad: Vec<u8>, claimed: Option<[u64; 2]>, what: String| {
            let ((), peak) = peak_of(|| {
                let _ = inspect(&bad);
            });
            assert!(peak <= 1 << 12, "{what}: inspecting took {peak} bytes");
            assert_refused_cheaply(&config, &bad, &what);
            if let Some([nx, ny]) = claimed {
                for verify_checksum in [true, false] {
                    let config = Config { nx, ny, verify_checksum, ..config };
                    let (result, peak) = decode_into_nothing(&config, &bad);
                    assert!(peak <= CONSTANT_BYTES, "{what}: {peak} bytes");
                    assert_refused(result, &what);
                }
            }
        };
        for value in huge {
            for (at, claimed) in [(32, [value, config.ny]), (40, [config.nx, value])] {
                check(with_u64(&original, at, value), Some(claimed), format!("{name} with {value} at {at}"));
            }
            check(with_u64(&original, 112, value), None, format!("{name} with {value} stream bytes"));
            check(with_u64(&original, 120, value), None, format!("{name} with {value} groups"));
            if original[18] == 0 {
                for at in [28, HEADER_BYTES + table_bytes(&original)] {
                    let bad = with_bytes(&original, at, (value as u32 | 0x8000_0000).to_le_bytes());
                    check(bad, None, format!("{name} with {value} at {at}"));
                }
            }
        }
        if original[18] == 0 {
            let tables: [u8; 8] = original[HEADER_BYTES..][..8].try_into().expect("eight bytes");
            let tables = u64::from_le_bytes(tables);
            for size in 0..tables.count_ones() as usize {
                let bad = with_bytes(&original, HEADER_BYTES + 8 + size, [255]);
                check(bad, None, format!("{name} with 255 as the size {size} of a table"));
            }
            for table in TABLES..64 {
                let bad = with_u64(&original, HEADER_BYTES, tables | 1 << table);
                check(bad, None, format!("{name} with a table {table}"));
            }
        }
    }
}
