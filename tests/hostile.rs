//! Damaged and hostile streams end in an error or in values of the right shape: never in a panic, an
//! endless loop, a write outside the output, or memory that only the header asks for.

#[path = "support/counting.rs"]
mod counting;

use std::fs;
use std::path::PathBuf;

use counting::{alone, peak_of};
use factz::backend::{decompress, inspect, Execution};
use factz::error::Status;
use factz::field::{Layout, ViewMut};
use factz::geometry::Grid;
use factz::real::Real;
use factz::stage::codes::{row_mask, Masks, Scheme, TileCodes};
use factz::stage::container::{self, Content, Header, HEADER_BYTES, VERSION};
use factz::stage::entropy::huffman::Lengths;
use factz::stage::entropy::table::{zero_counts, Frequencies, BLOCKS};
use factz::stage::entropy::{group, list, Model};
use factz::{BoundKind, Config, Dtype, Error, Mode, Predictor, Preserve};
use proptest::prelude::*;

const ONE_THREAD: Execution = Execution { threads: 1, progress: None };
/// Streams of arbitrary groups.
const GROUPS: usize = 4000;
/// Memory that a call may take whatever the size of the field: tables, buffers of a thread.
const CONSTANT_BYTES: usize = 1 << 20;

/// Streams with masks, fill patterns, stored values, ids, several tiles and groups, both types, of both
/// versions of the format.
const SAMPLES: [&str; 22] = [
    "v2/example_f32",
    "v2/one_vertex_f64",
    "v2/two_by_two_f32",
    "v2/stored_f64",
    "v2/row_f32",
    "v2/ties_speculative_f64",
    "v2/grid_32x64_f32",
    "v2/spacing_block_f64",
    "v2/missing_block_f32",
    "v2/groups_f32",
    "v2/huffman_one_vertex_f32",
    "v2/huffman_row_f64",
    "v2/huffman_missing_speculative_f32",
    "v2/lorenzo_one_vertex_f64",
    "v2/lorenzo_row_f32",
    "v2/lorenzo_huffman_missing_block_f32",
    "v1/example_f32",
    "v1/ties_speculative_f64",
    "v1/missing_block_f32",
    "v1/huffman_row_f64",
    "v1/huffman_missing_speculative_f32",
    "v1/lorenzo_huffman_missing_block_f32",
];

fn sample(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.fctz"));
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Those that are decoded thousands of times.
fn small_samples() -> Vec<(&'static str, Vec<u8>)> {
    let all = SAMPLES.iter().map(|&name| (name, sample(name)));
    all.filter(|(_, stream)| stream.len() < 1000).collect()
}

/// The configuration of a caller who expects the field of this stream.
fn config_of(stream: &[u8]) -> Config {
    let info = inspect(stream).expect("a header");
    Config { dtype: info.dtype, ..Config::new(info.nx, info.ny, BoundKind::Absolute, 0.0) }
}

const SENTINEL: u64 = 0x5a5a_a5a5_5a5a_a5a5;

/// An output array with gaps between elements and rows, and with guard zones around it.
struct Output<T> {
    values: Vec<T>,
    layout: Layout,
    nx: usize,
    ny: usize,
}

const GUARD: usize = 64;

impl<T: Real> Output<T> {
    fn new(nx: u64, ny: u64, stride: u64) -> Self {
        let pitch = nx * stride + 3;
        let n = GUARD + (pitch * ny) as usize + GUARD;
        let values = vec![T::from_bits64(SENTINEL); n];
        Output { values, layout: Layout { pitch, stride }, nx: nx as usize, ny: ny as usize }
    }
    fn view(&mut self) -> ViewMut<'_, T> {
        // SAFETY: the array holds pitch * ny elements behind the guard.
        unsafe { ViewMut::new(self.values.as_mut_ptr().add(GUARD), self.layout) }
    }
    /// The bits of the vertices, or None if anything else was written to.
    fn bits(&self) -> Option<Vec<u64>> {
        let untouched = T::from_bits64(SENTINEL).to_bits64();
        let (pitch, stride) = (self.layout.pitch as usize, self.layout.stride as usize);
        let mut bits = Vec::with_capacity(self.nx * self.ny);
        for (k, value) in self.values.iter().enumerate() {
            let at = k.wrapping_sub(GUARD);
            let (x, y) = (at % pitch, at / pitch);
            if k >= GUARD && y < self.ny && x % stride == 0 && x / stride < self.nx {
                bits.push(value.to_bits64());
            } else if value.to_bits64() != untouched {
                return None;
            }
        }
        Some(bits)
    }
}

/// Decompresses into guarded arrays; the answer, and the bits of u and v.
fn decode_as<T: Real>(config: &Config, stream: &[u8]) -> (Result<(), Error>, [Vec<u64>; 2]) {
    let mut u = Output::<T>::new(config.nx, config.ny, 2);
    let mut v = Output::<T>::new(config.nx, config.ny, 1);
    let result = decompress(config, stream, u.view(), v.view(), ONE_THREAD).map(|_| ());
    let bits = [u.bits().expect("gaps of u are unchanged"), v.bits().expect("gaps of v are unchanged")];
    (result, bits)
}

fn decode(config: &Config, stream: &[u8]) -> (Result<(), Error>, [Vec<u64>; 2]) {
    match config.dtype {
        Dtype::F32 => decode_as::<f32>(config, stream),
        Dtype::F64 => decode_as::<f64>(config, stream),
    }
}

fn assert_refused(result: Result<(), Error>, what: &str) {
    let error = match result {
        Err(error) => error,
        Ok(()) => panic!("{what} was taken for a stream"),
    };
    assert!(
        matches!(error.status, Status::CorruptStream | Status::UnsupportedVersion | Status::InvalidArgument),
        "{what}: {:?}: {error}",
        error.status
    );
    assert!(!error.message.is_empty());
}

#[test]
fn intact_streams_write_the_vertices_and_nothing_else() {
    let _alone = alone();
    for name in SAMPLES {
        let stream = sample(name);
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
    for name in SAMPLES {
        let stream = sample(name);
        for verify_checksum in [true, false] {
            let config = Config { verify_checksum, ..config_of(&stream) };
            let step = if stream.len() > 4000 { 61 } else { 1 };
            for length in (0..stream.len()).step_by(step) {
                assert_refused(decode(&config, &stream[..length]).0, &format!("{name} cut at {length}"));
            }
            // The same with a header that knows of it.
            for length in (HEADER_BYTES..stream.len()).step_by(4 * step) {
                let mut cut = stream[..length].to_vec();
                cut[112..120].copy_from_slice(&(length as u64).to_le_bytes());
                container::seal(&mut cut);
                assert_refused(decode(&config, &cut).0, &format!("{name} sealed at {length}"));
            }
        }
    }
}

#[test]
fn a_flipped_bit_is_always_noticed_by_the_checksum() {
    let _alone = alone();
    for (name, stream) in small_samples() {
        let config = config_of(&stream);
        for bit in 0..8 * stream.len() {
            let mut bad = stream.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_refused(decode(&config, &bad).0, &format!("{name} with bit {bit} flipped"));
        }
    }
}

#[test]
fn a_flipped_bit_does_no_harm_without_the_checksum() {
    let _alone = alone();
    for (name, stream) in small_samples() {
        let config = Config { verify_checksum: false, ..config_of(&stream) };
        for bit in 0..8 * stream.len() {
            let mut bad = stream.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let (result, _) = decode(&config, &bad);
            if result.is_err() {
                assert_refused(result, &format!("{name} with bit {bit} flipped"));
            }
        }
    }
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
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    let word = prop_oneof![any::<u32>(), Just(0), Just(1), Just(0x7fff_ffff), Just(u32::MAX)];
    prop_oneof![
        4 => (index(), any::<u8>()).prop_map(|(at, b)| Damage::Byte(at, b)),
        2 => (index(), word).prop_map(|(at, w)| Damage::Word(at, w)),
        1 => (index(), index(), index(), 1..200usize).prop_map(|(a, s, b, n)| Damage::Splice(a, s, b, n)),
        1 => (index(), 1..64usize).prop_map(|(at, n)| Damage::Remove(at, n)),
        1 => (index(), prop::collection::vec(any::<u8>(), 1..64)).prop_map(|(at, b)| Damage::Insert(at, b)),
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
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// With `heal`, the header fits again and the seal is right, so that the inner parsers see it.
    #[test]
    fn random_damage_does_no_harm(
        which in any::<prop::sample::Index>(),
        pieces in prop::collection::vec(damage(), 1..6),
        heal in 0..4u8,
        verify_checksum in any::<bool>(),
    ) {
        let _alone = alone();
        let streams: Vec<Vec<u8>> = SAMPLES.iter().map(|name| sample(name)).collect();
        let mut stream = streams[which.index(streams.len())].clone();
        let original = stream.clone();
        let config = Config { verify_checksum, ..config_of(&original) };
        for piece in &pieces {
            apply(&mut stream, &streams, piece);
        }
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
            container::seal(&mut stream);
        }
        let field = (2 * config.nx * config.ny * config.dtype.bytes()) as usize;
        let ((result, _), peak) = peak_of(|| decode(&config, &stream));
        // The guarded arrays and the bits that are read from them are in the count.
        prop_assert!(peak <= 16 * field + CONSTANT_BYTES, "{peak} bytes for a field of {field}");
        if result.is_err() {
            assert_refused(result, "a damaged stream");
        }
    }
}

/// A well-formed stream of arbitrary codes: every mode, class, symbol and digit, NaN among the stored
/// values, masks that overlap, codes that no encoder would write.
fn arbitrary_stream<M: Model>(nx: u64, ny: u64, dtype: Dtype, seed: u64) -> Vec<u8> {
    let predictor = [Predictor::Hierarchical, Predictor::Lorenzo][(seed / 12 % 2) as usize];
    let mut state = seed;
    let mut random = move |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mixed = (state ^ state >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 16) % n
    };
    let grid = Grid::new(nx, ny);
    let mut header = Header {
        version: VERSION,
        dtype,
        mode: Mode::BlockWise,
        coder: M::CODER,
        predictor,
        preserve: Preserve::None,
        bound_kind: BoundKind::Absolute,
        content: Content::Coded,
        group_log2: 0,
        groups: 0,
        taper: random(2) as u8,
        kernels: [0; 5].map(|_| random(6) as u8),
        nx,
        ny,
        bound: 1.0,
        absolute_bound: 1.0,
        quantum: [0.0, 1e-320, 1e-40, 0.37, 1e30, 1e308][random(6) as usize],
        dx: 1.0,
        dy: 1.0,
        fill: [random(1 << 47), random(1 << 47)],
        stream_bytes: 0,
        table_bytes: 0,
    };
    let scheme = Scheme { predictor, element_bytes: dtype.bytes() as usize };
    let alphabet = [3, 30, 180][random(3) as usize];
    let mut tiles = Vec::new();
    for t in 0..grid.tiles() {
        let shape = grid.tile(t);
        let (width, height) = shape.owned();
        let states = if random(3) == 0 { random(9) as u8 } else { 0 };
        let mode = states + 9 * random(scheme.modes() as u64 / 9) as u8;
        let mut codes = TileCodes { mode, ..Default::default() };
        if states != 0 {
            let mut masks = Masks::default();
            for y in 0..height {
                let all = row_mask(width);
                masks.zero[y] = [0, all, random(1 << 32) as u32 & all][(states / 3) as usize];
                masks.fill[y] = [0, all, random(1 << 32) as u32 & all][(states % 3) as usize];
            }
            codes.masks = Some(Box::new(masks));
        }
        if TileCodes::has_codes(mode) {
            let active = scheme.active(&shape, codes.masks.as_deref());
            for (k, (block, class)) in BLOCKS.iter().zip(&mut codes.classes).enumerate() {
                *class = random(8) as u8;
                // As many entries as the class allows a list.
                let listed = list::is_list(*class);
                let mut left = if listed { (1 << list::count_bits(k, *class)) - 1 } else { 0 };
                for position in block.clone() {
                    if *class == 0 || active[position / 32] >> (position % 32) & 1 == 0 {
                        continue;
                    }
                    let most = if random(3) == 0 { alphabet } else { 2 };
                    let mut symbol = random(most) as u8;
                    if listed && list::positions(k).contains(&position) {
                        symbol *= (left > 0) as u8;
                        left -= (symbol != 0) as u32;
                    }
                    symbol *= scheme.allows(symbol) as u8;
                    codes.symbols.push(symbol);
                    let mut bits = scheme.raw_bits(symbol, position);
                    while bits > 0 {
                        let n = bits.min(64);
                        codes.raw.push((random(1 << 32) << 32 | random(1 << 32)) >> (64 - n));
                        bits -= n;
                    }
                }
            }
        }
        tiles.push((shape, codes));
    }
    let (mut counts, mut lists) = (zero_counts(), list::Lists::default());
    for (shape, codes) in &tiles {
        group::count(scheme, shape, codes, &mut counts, &mut lists);
    }
    let models: Vec<M> = counts.iter().map(M::from_counts).collect();
    let tables = container::write_tables(&models);
    let coder = group::encode_tables(&models);
    let numbered = tiles.iter().enumerate().map(|(tile, (shape, codes))| (*shape, codes, lists.tile(tile)));
    let numbered: Vec<_> = numbered.collect();
    let (mut rest, mut words, mut groups) = (&numbered[..], Vec::new(), Vec::new());
    while !rest.is_empty() {
        let (tiles, left) = rest.split_at(rest.len().min(1 + random(9) as usize));
        rest = left;
        let mut out = Vec::new();
        group::encode::<M>(scheme, tiles, &coder, &mut out);
        words.extend(container::group_word(tiles.len() as u64, out.len()).to_le_bytes());
        groups.push(out);
    }
    header.groups = groups.len() as u64;
    header.table_bytes = tables.len() as u32;
    let body = [&tables[..], &words, &groups.concat()].concat();
    header.stream_bytes = (HEADER_BYTES + body.len()) as u64;
    let mut stream = [&header.write()[..], &body].concat();
    container::seal(&mut stream);
    stream
}

/// Whether these are the bits of a NaN of this type.
fn is_nan(dtype: Dtype, bits: u64) -> bool {
    match dtype {
        Dtype::F32 => f32::from_bits(bits as u32).is_nan(),
        Dtype::F64 => f64::from_bits(bits).is_nan(),
    }
}

#[test]
fn codes_that_no_encoder_writes_decode_as_the_format_says() {
    let _alone = alone();
    let python = std::env::var("FACTZ_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/format_decoder.py");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let mut command = std::process::Command::new(&python);
    command.arg("-B").arg(script);
    let mut decoded = Vec::new();
    for seed in 0..60u64 {
        let (nx, ny) = [(1, 1), (33, 31), (70, 65), (1, 150), (97, 2), (64, 64)][seed as usize % 6];
        let dtype = if seed % 4 < 2 { Dtype::F32 } else { Dtype::F64 };
        let stream = match seed / 6 % 2 {
            0 => arbitrary_stream::<Frequencies>(nx, ny, dtype, seed),
            _ => arbitrary_stream::<Lengths>(nx, ny, dtype, seed),
        };
        let (result, bits) = decode(&config_of(&stream), &stream);
        result.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let (input, output) = (folder.join(format!("{seed}.fctz")), folder.join(format!("{seed}.raw")));
        fs::write(&input, stream).expect("the folder is writable");
        command.arg(input).arg(&output);
        decoded.push((seed, dtype, bits, output));
    }
    let run = command.output().unwrap_or_else(|e| {
        panic!("cannot run {python} ({e}): install Python 3 with numpy, or name it in FACTZ_PYTHON")
    });
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    for (seed, dtype, bits, output) in decoded {
        let theirs = fs::read(output).expect("an output");
        let size = dtype.bytes() as usize;
        for (k, (ours, theirs)) in bits.iter().flatten().zip(theirs.chunks_exact(size)).enumerate() {
            let mut wide = [0; 8];
            wide[..size].copy_from_slice(theirs);
            let theirs = u64::from_le_bytes(wide);
            // Arithmetic on infinities may make any NaN; encoders write nothing that leads there.
            let same = *ours == theirs || is_nan(dtype, *ours) && is_nan(dtype, theirs);
            assert!(same, "seed {seed}, value {k}: {ours:x} and {theirs:x}");
        }
    }
    fs::remove_dir_all(&folder).expect("the temporary folder can go");
}

/// Groups of any bytes at all, behind tables that encoders write: nothing of a group can be relied on.
#[test]
fn arbitrary_groups_do_no_harm() {
    let _alone = alone();
    let names = [
        "v2/missing_block_f32",
        "v2/huffman_missing_speculative_f32",
        "v2/lorenzo_missing_block_f64",
        "v2/lorenzo_huffman_missing_block_f32",
        "v2/sparse_f32",
        "v2/huffman_sparse_f64",
        "v2/wind_tight_f64",
        "v2/lorenzo_huffman_noise_block_f32",
        "v1/missing_block_f32",
        "v1/huffman_missing_speculative_f32",
        "v1/lorenzo_huffman_missing_block_f32",
    ];
    let streams = names.map(sample);
    let mut state = 1u64;
    let mut random = move |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state ^ state >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16) % n
    };
    let mut refused = 0;
    for k in 0..GROUPS {
        let mut stream = streams[k % streams.len()].clone();
        let tiles = 1 + random(80);
        let (nx, ny) = (32 * tiles - random(32), 1 + random(40));
        let (mut left, log2) = (tiles * ny.div_ceil(32), random(9));
        let mut groups = Vec::new();
        while left > 0 {
            // All groups of version 1 but the last have as many tiles.
            let tiles = if stream[4] == 1 { 1 << log2 } else { 1 + random(1 << log2) };
            groups.push(tiles.min(left));
            left -= tiles.min(left);
        }
        if stream[4] == 1 {
            stream[19] = log2 as u8;
        } else {
            stream[120..128].copy_from_slice(&(groups.len() as u64).to_le_bytes());
        }
        stream[32..40].copy_from_slice(&nx.to_le_bytes());
        stream[40..48].copy_from_slice(&ny.to_le_bytes());
        let table_bytes = u32::from_le_bytes(stream[28..32].try_into().expect("four bytes"));
        stream.truncate(HEADER_BYTES + table_bytes as usize);
        let most = 1 << random(12);
        let sizes: Vec<usize> = groups.iter().map(|_| 128 + 4 * random(most) as usize).collect();
        let version_1 = stream[4] == 1;
        stream.extend(groups.iter().zip(&sizes).flat_map(|(&tiles, &n)| {
            if version_1 { n as u32 } else { container::group_word(tiles, n) }.to_le_bytes()
        }));
        // Words of many zeros make symbols of many kinds: the most frequent ones begin at 0.
        let sparse = random(2) == 0;
        for n in sizes {
            stream.extend((0..n).map(|_| if sparse && random(4) > 0 { 0 } else { random(256) as u8 }));
        }
        let length = stream.len() as u64;
        stream[112..120].copy_from_slice(&length.to_le_bytes());
        let config = Config { verify_checksum: false, ..config_of(&stream) };
        let field = (2 * nx * ny * config.dtype.bytes()) as usize;
        let ((result, _), peak) = peak_of(|| decode(&config, &stream));
        assert!(peak <= 16 * field + CONSTANT_BYTES, "{peak} bytes for a field of {field}");
        // What is refused is the content of a group, not how the parts lie.
        if let Err(error) = result {
            assert!(error.message.contains("group of tiles"), "{error}");
            refused += 1;
        }
    }
    assert!(refused > GROUPS * 9 / 10, "{refused} of {GROUPS} were refused");
}

/// A stream of version 1 or 2 with other words in place of those of its groups, sealed again.
fn with_words(stream: &[u8], words: &[u32]) -> Vec<u8> {
    let table_bytes = u32::from_le_bytes(stream[28..32].try_into().expect("four bytes")) as usize;
    let mut bad = stream.to_vec();
    for (to, word) in bad[HEADER_BYTES + table_bytes..].chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    container::seal(&mut bad);
    bad
}

fn with_u64(stream: &[u8], at: usize, value: u64) -> Vec<u8> {
    let mut bad = stream.to_vec();
    bad[at..at + 8].copy_from_slice(&value.to_le_bytes());
    container::seal(&mut bad);
    bad
}

/// Refused with the checksum compared and without, and in little memory.
fn assert_refused_cheaply(config: &Config, bad: &[u8], what: &str) {
    let field = (2 * config.nx * config.ny * config.dtype.bytes()) as usize;
    for verify_checksum in [true, false] {
        let config = Config { verify_checksum, ..*config };
        let ((result, _), peak) = peak_of(|| decode(&config, bad));
        assert!(peak <= 16 * field + CONSTANT_BYTES, "{what}: {peak} bytes for a field of {field}");
        assert_refused(result, what);
    }
}

/// Groups must have all tiles between them and all bytes up to the end of the stream.
#[test]
fn groups_that_do_not_add_up_are_refused() {
    let _alone = alone();
    let names = [
        "v2/example_f32",
        "v2/groups_f32",
        "v2/sparse_f64",
        "v2/huffman_sparse_f32",
        "v2/lorenzo_land_block_f32",
        "v2/batches_f32",
        "v2/huffman_batches_f64",
        "v1/example_f32",
        "v1/groups_f32",
        "v1/huffman_groups_f64",
        "v1/lorenzo_groups_f32",
    ];
    for name in names {
        let original = sample(name);
        let (config, header) = (config_of(&original), Header::read(&original).expect("a header"));
        let (tiles, first_word) = (header.grid().tiles(), HEADER_BYTES + header.table_bytes as usize);
        let words: Vec<u32> = original[first_word..]
            .chunks_exact(4)
            .take(header.groups as usize)
            .map(|w| u32::from_le_bytes(w.try_into().expect("four bytes")))
            .collect();
        assert_eq!(with_words(&original, &words), original);
        let version_1 = header.version == 1;
        // Bytes, and tiles in version 2.
        let changes: &[i64] = match version_1 {
            true => &[-128, -4, -2, -1, 1, 2, 4, 128, 1 << 31],
            false => &[-128, -4, -2, -1, 1, 2, 4, 128, 1 << 23, 1 << 24, -(1 << 24), 2 << 24, 128 << 24],
        };
        for (k, &word) in words.iter().enumerate() {
            let next = (k + 1) % words.len();
            for &change in changes {
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
            for whole in [0, 1, 124, 127, 128, 0x00ff_ffff, 0x0100_0000, 0xff00_0000, u32::MAX] {
                let mut other = words.clone();
                other[k] = whole;
                let what = format!("{name} with {whole:#x} as word {k}");
                assert_refused_cheaply(&config, &with_words(&original, &other), &what);
            }
        }
        let full = vec![if version_1 { u32::MAX } else { words[0] | 0xff00_0000 }; words.len()];
        assert_refused_cheaply(&config, &with_words(&original, &full), &format!("{name}, full groups"));
        let groups = header.groups;
        for other in [0, groups - 1, groups + 1, tiles, tiles + 1, 1 << 32, 1 << 61, 1 << 63, u64::MAX] {
            // The reserved field of version 1 holds 0.
            if other != if version_1 { 0 } else { groups } {
                let what = format!("{name} with {other} groups");
                assert_refused_cheaply(&config, &with_u64(&original, 120, other), &what);
            }
        }
        for log2 in 0..=255 {
            if log2 != header.group_log2 {
                let mut bad = original.clone();
                bad[19] = log2;
                container::seal(&mut bad);
                // With one tile any group will do.
                if version_1 && tiles == 1 && log2 <= 8 {
                    decode(&config, &bad).0.expect("one tile in a group of more");
                } else {
                    assert_refused_cheaply(&config, &bad, &format!("{name} with {log2} in byte 19"));
                }
            }
        }
    }
    // Stored content has no groups.
    for (name, groups) in [("v2/stored_f64", 1), ("v2/stored_f64", u64::MAX), ("v1/stored_f64", 1)] {
        let stream = sample(name);
        let bad = with_u64(&stream, 120, groups);
        assert_refused_cheaply(&config_of(&stream), &bad, &format!("{name} with {groups} groups"));
    }
}

#[test]
fn sizes_are_not_believed_before_they_are_checked() {
    let _alone = alone();
    let huge = [1u64 << 20, 1 << 31, 1 << 32, (1 << 40) + 4, 1 << 48, 1 << 62, u64::MAX - 3, u64::MAX];
    for name in ["v2/example_f32", "v1/example_f32", "v2/stored_f64", "v2/groups_f32"] {
        let original = sample(name);
        let config = config_of(&original);
        let check = |mut bad: Vec<u8>, claimed: Option<[u64; 2]>, what: String| {
            container::seal(&mut bad);
            let ((), peak) = peak_of(|| {
                let _ = inspect(&bad);
            });
            assert!(peak <= 1 << 12, "{what}: inspecting took {peak} bytes");
            let field = (2 * config.nx * config.ny * config.dtype.bytes()) as usize;
            for verify_checksum in [true, false] {
                let config = Config { verify_checksum, ..config };
                let ((result, _), peak) = peak_of(|| decode(&config, &bad));
                assert!(peak <= 16 * field + CONSTANT_BYTES, "{what}: {peak} bytes for a field of {field}");
                assert_refused(result, &what);
                // A caller who believes the header, with arrays that nothing may touch.
                if let Some([nx, ny]) = claimed {
                    let config = Config { nx, ny, ..config };
                    let mut nothing = [0f64; 1];
                    let base = nothing.as_mut_ptr();
                    // SAFETY: the sizes do not fit the stream, so that nothing is written.
                    let view =
                        || unsafe { ViewMut::new(base.cast::<f32>(), Layout { pitch: nx, stride: 1 }) };
                    let wide = || unsafe { ViewMut::new(base, Layout { pitch: nx, stride: 1 }) };
                    let (result, peak) = peak_of(|| match config.dtype {
                        Dtype::F32 => decompress(&config, &bad, view(), view(), ONE_THREAD).map(|_| ()),
                        Dtype::F64 => decompress(&config, &bad, wide(), wide(), ONE_THREAD).map(|_| ()),
                    });
                    assert!(peak <= CONSTANT_BYTES, "{what}: {peak} bytes");
                    assert_refused(result, &what);
                    assert_eq!(nothing[0].to_bits(), 0);
                }
            }
        };
        for value in huge {
            for at in [32, 40] {
                let mut bad = original.clone();
                bad[at..at + 8].copy_from_slice(&value.to_le_bytes());
                let mut claimed = [config.nx, config.ny];
                claimed[(at - 32) / 8] = value;
                check(bad, Some(claimed), format!("{name} with {value} at {at}"));
            }
            let mut bad = original.clone();
            bad[112..120].copy_from_slice(&value.to_le_bytes());
            check(bad, None, format!("{name} with {value} stream bytes"));
            check(with_u64(&original, 120, value), None, format!("{name} with {value} groups"));
            if original[18] == 0 {
                let table_bytes = u32::from_le_bytes(original[28..32].try_into().expect("four bytes"));
                for at in [28, HEADER_BYTES + table_bytes as usize] {
                    let mut bad = original.clone();
                    bad[at..at + 4].copy_from_slice(&(value as u32 | 0x8000_0000).to_le_bytes());
                    check(bad, None, format!("{name} with {value} at {at}"));
                }
            }
        }
        if original[18] == 0 {
            for table in 0..if original[4] == 1 && original[14] == 0 { 43 } else { 50 } {
                let mut bad = original.clone();
                if bad[HEADER_BYTES + table] < 255 {
                    bad[HEADER_BYTES + table] = 255;
                    check(bad, None, format!("{name} with a large table {table}"));
                }
            }
        }
    }
}

/// A group of 256 tiles may have few bytes: what is reserved for them must be in proportion to the
/// field that the caller has room for, and the worst codes must not take more.
#[test]
fn memory_is_in_proportion_to_the_field() {
    let _alone = alone();
    let sizes = [(512, 512), (1, 8192), (8192, 1)];
    for (version, (nx, ny)) in [1, 2].into_iter().flat_map(|v| sizes.map(|s| (v, s))) {
        let mut bad = sample(&format!("v{version}/example_f32"));
        let table_bytes = u32::from_le_bytes(bad[28..32].try_into().expect("four bytes")) as usize;
        match version {
            1 => bad[19] = 8,
            _ => bad[HEADER_BYTES + table_bytes + 3] = 255,
        }
        bad[32..40].copy_from_slice(&u64::to_le_bytes(nx));
        bad[40..48].copy_from_slice(&u64::to_le_bytes(ny));
        container::seal(&mut bad);
        let config = config_of(&bad);
        let field = (2 * nx * ny * 4) as usize;
        let (mut u, mut v) = (vec![0f32; (nx * ny) as usize], vec![0f32; (nx * ny) as usize]);
        let (result, peak) = peak_of(|| {
            let (u, v) = (ViewMut::dense(&mut u, nx), ViewMut::dense(&mut v, nx));
            decompress(&config, &bad, u, v, ONE_THREAD).map(|_| ())
        });
        assert!(peak <= 8 * field + CONSTANT_BYTES, "{nx} x {ny}: {peak} bytes");
        assert_refused(result, "a stream of another size");
    }
    for seed in 0..30 {
        let stream = match seed % 2 {
            0 => arbitrary_stream::<Frequencies>(300, 200, Dtype::F64, seed),
            _ => arbitrary_stream::<Lengths>(300, 200, Dtype::F64, seed),
        };
        let config = config_of(&stream);
        let (mut u, mut v) = (vec![0f64; 60_000], vec![0f64; 60_000]);
        let (result, peak) = peak_of(|| {
            let (u, v) = (ViewMut::dense(&mut u, 300), ViewMut::dense(&mut v, 300));
            decompress(&config, &stream, u, v, ONE_THREAD)
        });
        result.expect("well-formed");
        assert!(peak <= 4 * 16 * 60_000 + CONSTANT_BYTES, "seed {seed}: {peak} bytes");
    }
}
