//! Streams that no encoder writes: well-formed ones of arbitrary codes, which decode as the format says, and
//! arbitrary groups, which do no harm. Memory is in proportion to the field in either case.

use crate::support::counting::{alone, peak_of};
use crate::support::decoder::independently_decoded;
use crate::support::fields::{times, Random};
use crate::support::hostile::*;
use factz::decompress;
use factz::entropy::huffman::Lengths;
use factz::entropy::quantized_tile::{QuantizedTile, Shape, TileCoding, BOUND_SHIFTS};
use factz::entropy::rans::Frequencies;
use factz::entropy::tables::zero_counts;
use factz::entropy::tables::EntropyTable;
use factz::entropy::{groups, lists};
use factz::grid::masks::{row_mask, Masks};
use factz::grid::tiles::Grid;
use factz::predict::anchors;
use factz::stream::checksum::seal;
use factz::stream::header::{Content, Header, HEADER_BYTES};
use factz::stream::sections::{group_word, write_tables, GROUP_ALIGNMENT};
use factz::ViewMut;
use factz::{BoundKind, Config, Dtype, Error, Mode, Predictor, Preserve, Real, Ties};

/// A stream of the coder that the test chose.
fn arbitrary(coder: u64, nx: u64, ny: u64, dtype: Dtype, seed: u64) -> Vec<u8> {
    match coder {
        0 => arbitrary_stream::<Frequencies>(nx, ny, dtype, seed),
        _ => arbitrary_stream::<Lengths>(nx, ny, dtype, seed),
    }
}

/// A well-formed stream of arbitrary codes: every mask state, activity, symbol and digit, NaN among the
/// stored values, masks that overlap, codes that no encoder would write.
fn arbitrary_stream<E: EntropyTable>(nx: u64, ny: u64, dtype: Dtype, seed: u64) -> Vec<u8> {
    let predictor = [Predictor::Hierarchical, Predictor::Lorenzo][(seed / 12 % 2) as usize];
    let mut numbers = Random(seed);
    let mut random = |n| numbers.below(n);
    let grid = Grid::new(nx, ny);
    let mut header = Header {
        dtype,
        mode: Mode::BlockWise,
        coder: E::CODER,
        predictor,
        preserve: Preserve::None,
        bound_kind: BoundKind::Absolute,
        content: Content::Coded,
        ties: [Ties::All, Ties::Zeros, Ties::Sos][random(3) as usize],
        groups: 0,
        level_bound_scaling: random(2) as u8,
        interpolants: [0; 5].map(|_| random(6) as u8),
        nx,
        nz: 1,
        periodic: 0,
        ny,
        bound: 1.0,
        absolute_bound: 1.0,
        half_bin_width: [0.0, 1e-320, 1e-40, 0.37, 1e30, 1e308][random(6) as usize],
        dx: [1.0, -1.0][random(2) as usize],
        dy: [1.0, -1.0][random(2) as usize],
        has_fill: seed % 2 == 1,
        fill: [random(1 << 47), random(1 << 47)],
        component: None,
        stream_bytes: 0,
        table_bytes: 0,
        volume: None,
    };
    let coding = TileCoding::new(predictor, dtype.bytes() as usize);
    let alphabet = [3, 30, 191][random(3) as usize];
    let mut tiles = Vec::new();
    for t in 0..grid.tiles() {
        let shape = grid.tile(t);
        let (width, height) = shape.owned();
        let states = if random(3) == 0 { random(9) as u8 } else { 0 };
        let mask_state = states + 9 * random(if coding.by_rows() { BOUND_SHIFTS as u64 } else { 1 }) as u8;
        let mut codes = QuantizedTile { mask_state, ..Default::default() };
        if states != 0 {
            let mut masks = Masks::default();
            for y in 0..height {
                let all = row_mask(width);
                // A mask of some vertices is not empty.
                let first = (y == 0) as u32;
                masks.zero[y] = [0, all, random(1 << 32) as u32 & all | first][(states / 3) as usize];
                masks.fill[y] = [0, all, random(1 << 32) as u32 & all | first][(states % 3) as usize];
            }
            codes.masks = Some(Box::new(masks));
        }
        if QuantizedTile::has_codes(mask_state) {
            let active = shape.active(coding, codes.masks.as_deref());
            for (k, (block, activity)) in coding.blocks().iter().zip(&mut codes.activities).enumerate() {
                *activity = random(coding.activities() as u64) as u8;
                // Rows of any number of symbols, and as many entries as the activity allows a list.
                let zeros = if coding.by_rows() { random(6) } else { 0 };
                let listed = !coding.by_rows() && lists::is_list(*activity);
                let mut left = if listed { (1 << coding.count_bits(k, *activity)) - 1 } else { 0 };
                for position in block.clone() {
                    if *activity == 0 || active[position / 32] >> (position % 32) & 1 == 0 {
                        continue;
                    }
                    let most = if random(3) == 0 { alphabet } else { 2 };
                    let mut symbol = random(most) as u8;
                    if listed && lists::positions(block).contains(&position) {
                        symbol *= (left > 0) as u8;
                        left -= (symbol != 0) as u32;
                    }
                    symbol *= (coding.allows(symbol) && random(5) >= zeros) as u8;
                    codes.symbols.push(symbol);
                    let mut bits = coding.raw_bits(symbol, position);
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
    let (mut counts, mut lists) = (zero_counts().unwrap(), lists::Lists::default());
    for (shape, codes) in &tiles {
        let work = groups::count(coding, shape, codes, Some(&mut counts), &mut lists).unwrap();
        assert!(work.weight <= if coding.by_rows() { 1028 } else { 1540 }, "seed {seed}: {}", work.weight);
    }
    let models: Vec<E> = counts.iter().map(E::from_counts).collect();
    let tables = write_tables(|k, out| models[k].write(out)).unwrap();
    let coder = groups::encode_tables(&models).unwrap();
    let numbered = tiles.iter().enumerate().map(|(tile, (shape, codes))| (*shape, codes, lists.tile(tile)));
    let numbered: Vec<_> = numbered.collect();
    let all = groups::encode::<E, _>(coding, &numbered, &[], &coder).unwrap();
    let shapes: Vec<_> = tiles.iter().map(|tile| tile.0).collect();
    let decoder: Vec<_> = models.iter().map(|model| model.decode_table().unwrap()).collect();
    let decoded = |bytes: &[u8]| groups::decode::<E, _>(coding, bytes, &shapes, 0, &decoder);
    let same = decoded(&all).expect("intact").0.iter().eq(tiles.iter().map(|tile| &tile.1));
    assert!(same, "seed {seed}: other codes");
    for cut in (0..all.len()).step_by(all.len() / 16 + 1) {
        assert!(decoded(&all[..cut & !3]).is_err(), "seed {seed}: {cut} bytes of {}", all.len());
    }
    let (mut rest, mut words, mut groups) = (&numbered[..], Vec::new(), Vec::new());
    while !rest.is_empty() {
        let first = (numbered.len() - rest.len()) as u64;
        let (tiles, left) = rest.split_at(rest.len().min(1 + random(9) as usize));
        rest = left;
        let outer = if coding.by_rows() {
            0
        } else {
            anchors::outer(grid, first..first + tiles.len() as u64).count()
        };
        let mut coarse = || {
            let bits = random(31);
            random(1 << bits) as i32 * [1, -1][random(2) as usize]
        };
        let outer: Vec<_> = (0..outer).map(|_| [coarse(), coarse()]).collect();
        let mut out = groups::encode::<E, _>(coding, tiles, &outer, &coder).unwrap();
        words.extend(group_word(tiles.len() as u64, out.len()).to_le_bytes());
        out.resize(out.len().next_multiple_of(GROUP_ALIGNMENT), 0);
        groups.push(out);
    }
    header.groups = groups.len() as u64;
    header.table_bytes = tables.len() as u32;
    let body = [&tables[..], &words, &groups.concat()].concat();
    header.stream_bytes = (HEADER_BYTES + body.len()) as u64;
    let mut stream = [&header.write()[..], &body].concat();
    seal(&mut stream);
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
    let mut cases = Vec::new();
    for seed in 0..60u64 {
        let (nx, ny) = [(1, 1), (33, 31), (70, 65), (1, 150), (97, 2), (64, 64)][seed as usize % 6];
        let dtype = if seed % 4 < 2 { Dtype::F32 } else { Dtype::F64 };
        let stream = arbitrary(seed / 6 % 2, nx, ny, dtype, seed);
        let (result, bits) = decode(&config_of(&stream), &stream);
        result.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        cases.push((stream, dtype, bits));
    }
    let theirs = independently_decoded("arbitrary", cases.iter().map(|(stream, ..)| &stream[..]));
    for (seed, ((_, dtype, bits), theirs)) in cases.iter().zip(theirs).enumerate() {
        let size = dtype.bytes() as usize;
        for (k, (ours, theirs)) in bits.iter().flatten().zip(theirs.chunks_exact(size)).enumerate() {
            let mut wide = [0; 8];
            wide[..size].copy_from_slice(theirs);
            let theirs = u64::from_le_bytes(wide);
            // Arithmetic on infinities may make any NaN; encoders write nothing that leads there.
            let same = *ours == theirs || is_nan(*dtype, *ours) && is_nan(*dtype, theirs);
            assert!(same, "seed {seed}, value {k}: {ours:x} and {theirs:x}");
        }
    }
}

/// Groups of any bytes at all, behind tables that encoders write: nothing of a group can be relied on.
#[test]
fn arbitrary_groups_do_no_harm() {
    let _alone = alone();
    let names =
        "missing_block_f32 huffman_missing_speculative_f64 sparse_f32 huffman_sparse_f64 wind_tight_f64
                 lorenzo_missing_block_f64 lorenzo_huffman_missing_block_f32 lorenzo_sparse_f32
                 lorenzo_huffman_noise_block_f32";
    let streams: Vec<_> = names.split_whitespace().map(sample).collect();
    let mut numbers = Random(1);
    let mut random = |n| numbers.below(n);
    let mut refused = 0;
    let cases = times("FACTZ_ARBITRARY_CASES", 4000) as usize;
    for k in 0..cases {
        let mut stream = streams[k % streams.len()].clone();
        let tiles = 1 + random(80);
        let (nx, ny) = (32 * tiles - random(32), 1 + random(40));
        let (mut left, log2) = (tiles * ny.div_ceil(32), random(9));
        let mut groups = Vec::new();
        while left > 0 {
            let tiles = 1 + random(1 << log2);
            groups.push(tiles.min(left));
            left -= tiles.min(left);
        }
        stream[120..128].copy_from_slice(&(groups.len() as u64).to_le_bytes());
        stream[32..40].copy_from_slice(&nx.to_le_bytes());
        stream[40..48].copy_from_slice(&ny.to_le_bytes());
        stream.truncate(HEADER_BYTES + table_bytes(&stream));
        let most = 1 << random(12);
        let sizes: Vec<usize> = groups.iter().map(|_| 80 + 2 * random(most) as usize).collect();
        stream.extend(groups.iter().zip(&sizes).flat_map(|(&tiles, &n)| group_word(tiles, n).to_le_bytes()));
        // Words of many zeros make symbols of many kinds: the most frequent ones begin at 0.
        let sparse = random(2) == 0;
        for n in sizes {
            stream.extend((0..n.next_multiple_of(GROUP_ALIGNMENT)).map(|_| {
                if sparse && random(4) > 0 {
                    0
                } else {
                    random(256) as u8
                }
            }));
        }
        let length = stream.len() as u64;
        stream[112..120].copy_from_slice(&length.to_le_bytes());
        let config = Config { verify_checksum: false, ..config_of(&stream) };
        // What is refused is the content of a group, not how the parts lie.
        if let Err(error) = decode_cheaply(&config, &stream, "arbitrary groups") {
            assert!(error.message.contains("group of tiles"), "{error}");
            refused += 1;
        }
    }
    assert!(refused > cases * 9 / 10, "{refused} of {cases} were refused");
}

/// The answer for arrays without guards, and the memory that the call took.
fn decode_plainly<T: Real>(config: &Config, stream: &[u8]) -> (Result<(), Error>, usize) {
    let n = (config.nx * config.ny) as usize;
    let (mut u, mut v) = (vec![T::ZERO; n], vec![T::ZERO; n]);
    peak_of(|| {
        let (u, v) = (ViewMut::dense(&mut u, config.nx), ViewMut::dense(&mut v, config.nx));
        decompress(config, stream, u, v, ONE_THREAD).map(|_| ())
    })
}

/// A group of 256 tiles may have few bytes: what is reserved for them must be in proportion to the
/// field that the caller has room for, and the worst codes must not take more.
#[test]
fn memory_is_in_proportion_to_the_field() {
    let _alone = alone();
    let sizes = [(512, 512), (1, 8192), (8192, 1)];
    let names = ["example_f32", "lorenzo_constant_f32"];
    for (name, (nx, ny)) in names.into_iter().flat_map(|name| sizes.map(|s| (name, s))) {
        let mut bad = sample(name);
        let last_of_word = HEADER_BYTES + table_bytes(&bad) + 3;
        bad[last_of_word] = 255;
        bad[32..40].copy_from_slice(&u64::to_le_bytes(nx));
        bad[40..48].copy_from_slice(&u64::to_le_bytes(ny));
        seal(&mut bad);
        let config = config_of(&bad);
        let (result, peak) = decode_plainly::<f32>(&config, &bad);
        assert!(peak <= 8 * (2 * nx * ny * 4) as usize + CONSTANT_BYTES, "{nx} x {ny}: {peak} bytes");
        assert_refused(result, "a stream of another size");
    }
    for seed in 0..30 {
        let stream = arbitrary(seed % 2, 300, 200, Dtype::F64, seed);
        let config = config_of(&stream);
        let (result, peak) = decode_plainly::<f64>(&config, &stream);
        result.expect("well-formed");
        assert!(peak <= 4 * 16 * 60_000 + CONSTANT_BYTES, "seed {seed}: {peak} bytes");
    }
}
