//! The arguments of the HDF5 filter (plugins/hdf5) for the programs that create datasets.

use crate::args::{ChunkLayout, H5Format, H5args};
use crate::array::Dims;
use crate::commands::{check, chosen, required_bound};
use crate::failure::{failure, Failure};
use crate::say::print_result;
use crate::{volume, Verdict};
use factz::{config_text, BoundKind, Config, Mode};
use serde_json::json;

/// The number of the filter, as the plugin has it.
const FILTER: u32 = match option_env!("FACTZ_HDF5_FILTER_ID") {
    Some(digits) => number(digits.as_bytes(), 0),
    None => defined(include_str!("../../../plugins/hdf5/filter_id.h"), "FACTZ_HDF5_FILTER_ID"),
};

const CHUNK_HEADER: &str = include_str!("../../../plugins/hdf5/chunk.h");

/// Version of the words of a chunk.
const CHUNK_WORDS_VERSION: u32 = defined(CHUNK_HEADER, "WORDS_VERSION");

/// Mark of the short form.
const SHORT_FORM: u32 = defined(CHUNK_HEADER, "SHORT_FORM");

/// Mark of the short form of a volume.
const SHORT_FORM_OF_VOLUME: u32 = defined(CHUNK_HEADER, "SHORT_FORM_OF_VOLUME");

/// The layout of chunks of a volume in the words.
const LAYOUT_VOLUME: u32 = 4;

/// Mark of --allow-wide-range.
const ALLOW_WIDE_RANGE: u32 = defined(CHUNK_HEADER, "ALLOW_WIDE_RANGE");

/// The filter takes no larger chunks.
const MOST_CHUNK_BYTES: u64 = u32::MAX as u64;

/// Values of a filter that h5repack passes on.
const H5REPACK_WORDS: usize = 20;

/// The number in the line `#define name number` of a header; without one the program does not compile.
const fn defined(header: &str, name: &str) -> u32 {
    let (text, name, directive) = (header.as_bytes(), name.as_bytes(), b"#define ");
    let mut at = 0;
    loop {
        let end = at + directive.len() + name.len();
        if begins(text, at, directive) && begins(text, at + directive.len(), name) && text[end] == b' ' {
            return number(text, end + 1);
        }
        at += 1;
    }
}

/// Whether the text from `at` on begins with a part.
const fn begins(text: &[u8], at: usize, part: &[u8]) -> bool {
    let mut k = 0;
    while k < part.len() && text[at + k] == part[k] {
        k += 1;
    }
    k == part.len()
}

/// The number whose first digit is at `at`.
const fn number(text: &[u8], mut at: usize) -> u32 {
    assert!(text[at].is_ascii_digit());
    let mut number = 0;
    while at < text.len() && text[at].is_ascii_digit() {
        number = 10 * number + (text[at] - b'0') as u32;
        at += 1;
    }
    number
}

pub fn h5args(a: &H5args) -> Result<Verdict, Failure> {
    let bound = required_bound(&a.bound)?;
    check(&a.choices)?;
    check_shape(a)?;
    let parts_of_fields = a.field.is_none() || a.chunk.is_some_and(|chunk| Some(chunk) != a.field);
    if bound.0 == BoundKind::Relative && parts_of_fields {
        return Err(failure!(
            "--rel needs --field {}, and chunks of that size: the range is that of a chunk, which must be a whole \
             field; or give --abs E",
            if is_volume(a) { "NXxNYxNZ" } else { "NXxNY" }
        ));
    }
    if a.allow_wide_range && bound.0 != BoundKind::Relative {
        return Err(failure!("--allow-wide-range is for --rel: leave it out"));
    }
    let config = config_text::to_words(&config(a, bound)?)?;
    let list = |words: &[u32]| words.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let text = match a.format {
        H5Format::H5py => {
            json!({ "compression": FILTER, "compression_opts": words(a, &config)? }).to_string()
        }
        H5Format::Netcdf => format!("{FILTER},{}", list(&words(a, &config)?)),
        H5Format::H5repack => {
            let words = short_words(a, &config)?;
            // 0: the filter is mandatory.
            format!("UD={FILTER},0,{},{}", words.len(), list(&words))
        }
    };
    print_result(format!("{text}\n").as_bytes())?;
    Ok(Verdict::Good)
}

/// Chunks are volumes in the mode of volumes.
fn is_volume(a: &H5args) -> bool {
    a.choices.mode == Some(Mode::Repair)
}

fn config(a: &H5args, bound: (BoundKind, f64)) -> Result<Config, Failure> {
    match is_volume(a) {
        true => volume::chosen(&a.choices, &a.fill, a.depth.dz.unwrap_or(1.0), bound),
        false => chosen(&a.choices, &a.fill, bound),
    }
}

/// A field of planes has two lengths and one of a volume three, as have the chunks of the latter.
fn check_shape(a: &H5args) -> Result<(), Failure> {
    if !is_volume(a) {
        return match a.field.filter(|dims| dims.nz > 1) {
            Some(dims) => Err(failure!(
                "--field {dims}: give NXxNY, columns and rows of a plane, for example 360x181, or --mode repair for a \
                 volume"
            )),
            None => a.depth.refuse_for_planes("--mode repair for a volume"),
        };
    }
    if a.layout == ChunkLayout::Interleaved {
        return Err(failure!(
            "--layout interleaved is one of planes: a chunk of a volume is (3, nz, ny, nx)"
        ));
    }
    for (option, dims) in [("--field", a.field), ("--chunk", a.chunk)] {
        if let Some(dims) = dims.filter(|dims| dims.nx.min(dims.ny).min(dims.nz) < 2) {
            return Err(failure!(
                "{option} {dims}: give NXxNYxNZ of a volume, with 2 vertices or more along each axis"
            ));
        }
    }
    Ok(())
}

/// The words of the configuration, and of field and chunk where they are given.
fn words(a: &H5args, config: &[u32]) -> Result<Vec<u32>, Failure> {
    let mut words = config.to_vec();
    if a.field.is_some() || a.chunk.is_some() {
        words.push(CHUNK_WORDS_VERSION + wide_range(a));
        words.extend(field(a)?);
    }
    if let Some(dims) = a.chunk {
        let [nx, ny, nz] = small("--chunk", dims)?;
        let components = if is_volume(a) { 3 } else { 2 };
        if components * a.dtype.bytes() * dims.count() > MOST_CHUNK_BYTES {
            let all = if is_volume(a) { "u, v and w" } else { "u and v" };
            return Err(failure!("--chunk {dims}: {all} of a chunk take less than 4 GiB"));
        }
        let layout = match a.layout {
            _ if is_volume(a) => LAYOUT_VOLUME,
            layout => (layout == ChunkLayout::Interleaved) as u32,
        };
        // The third length of a volume comes last.
        let nz_of_field = is_volume(a).then(|| words.pop()).flatten();
        let big_endian = cfg!(target_endian = "big");
        words.extend([a.dtype as u32, layout, nx, ny, big_endian as u32]);
        // The dataset has no fill value.
        words.extend([0, 0, 0]);
        words.push(nz);
        words.extend(nz_of_field);
    }
    Ok(words)
}

/// A short form for h5repack, which takes few words: without the zeros at the end of the configuration.
fn short_words(a: &H5args, config: &[u32]) -> Result<Vec<u32>, Failure> {
    if a.chunk.is_some() {
        return Err(failure!(
            "--chunk is not for h5repack, which lets the filter look at the chunks: leave it out"
        ));
    }
    let used = config.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    let form = SHORT_FORM + if is_volume(a) { SHORT_FORM_OF_VOLUME } else { 0 };
    let words = [&[form + config[0] + wide_range(a)], &field(a)?[..], &config[1..used]].concat();
    match words.len() {
        0..=H5REPACK_WORDS => Ok(words),
        n => {
            Err(failure!("h5repack takes {H5REPACK_WORDS} values, and this configuration has {n}: use h5py"))
        }
    }
}

fn wide_range(a: &H5args) -> u32 {
    a.allow_wide_range as u32 * ALLOW_WIDE_RANGE
}

/// Columns and rows of the field, and of a volume planes; 0 where they are unknown.
fn field(a: &H5args) -> Result<Vec<u32>, Failure> {
    let mut field = a.field.map_or(Ok([0; 3]), |dims| small("--field", dims))?.to_vec();
    field.truncate(if is_volume(a) { 3 } else { 2 });
    Ok(field)
}

fn small(option: &str, dims: Dims) -> Result<[u32; 3], Failure> {
    match [dims.nx, dims.ny, dims.nz].map(u32::try_from) {
        [Ok(nx), Ok(ny), Ok(nz)] => Ok([nx, ny, nz]),
        _ => Err(failure!("{option} {dims}: there are less than 2^32 columns and rows")),
    }
}
