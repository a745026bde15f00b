//! NumPy's `.npy`: the header of an array.

use crate::array::Dims;
use crate::failure::{failure, Failure};
use crate::shell::{python, shell_name};
use factz::Dtype;
use std::io::Read;
use std::path::Path;

pub const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Of `.npz`, as of every zip archive.
pub const ARCHIVE_MAGIC: &[u8; 4] = b"PK\x03\x04";

/// The content of a header.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The shape, slowest first.
    pub sizes: Vec<u64>,
    pub dtype: Dtype,
    pub big_endian: bool,
}

/// How the components lie in one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// One component: (rows, columns) or (planes, rows, columns).
    Alone,
    /// u, then v: (2, rows, columns) or (2, planes, rows, columns); of a volume (3, planes, rows, columns).
    Stacked,
    /// u and v of each plane in turn: (planes, 2, rows, columns).
    Paired,
    /// The components of a vertex beside each other: (rows, columns, 2) or (planes, rows, columns, 2); of a volume
    /// (planes, rows, columns, 3).
    Interleaved,
}

fn shape_text(sizes: &[u64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("({})", sizes.join(", "))
}

impl Header {
    /// The shape of one component, leading axes of length 1 aside. Three axes with 2 as the last one are both
    /// components of a plane, or one of a volume.
    pub fn alone(&self, name: &str, of_volume: bool) -> Result<Dims, Failure> {
        let shape = shape_text(&self.sizes);
        match *without_leading_ones(&self.sizes, 2) {
            [ny, nx] => positive(name, &shape, [nx, ny, 1]),
            [_, _, 2] if !of_volume => Err(failure!(
                "{name}: has the shape {shape} and holds both components: give this file alone, in place of U and V"
            )),
            [nz, ny, nx] => positive(name, &shape, [nx, ny, nz]),
            [_] | [] => Err(failure!(
                "{name}: has the shape {shape}, and factz takes one component as an array (rows, columns) or \
                 (planes, rows, columns): save a.reshape(rows, columns)"
            )),
            [.., ny, nx] => Err(failure!(
                "{name}: has the shape {shape}, and factz takes one component as an array (rows, columns) or \
                 (planes, rows, columns): save all as planes: {}",
                reshaped(name, &format!("-1, {ny}, {nx}"))
            )),
        }
    }

    /// The shape of two components in one array, and how they lie.
    pub fn both(&self, name: &str, expected: Option<Dims>) -> Result<(Dims, Arrangement), Failure> {
        let axes = without_leading_ones(&self.sizes, 3);
        let shape = shape_text(&self.sizes);
        let wanted = "both components in one array have the shape (2, rows, columns) or (rows, columns, 2), or with \
                      planes (planes, 2, rows, columns), (2, planes, rows, columns) or (planes, rows, columns, 2)";
        let possible: Vec<(u64, [u64; 3], Arrangement)> = match *axes {
            [_, _] | [1, _, 1 | 3..] => {
                return Err(failure!(
                    "{name}: has the shape {shape}, which is one component: give the file of the other one too; \
                     {wanted}"
                ));
            }
            [_] | [] => return Err(failure!("{name}: has the shape {shape}; {wanted}")),
            [a, b, c] => vec![(a, [c, b, 1], Arrangement::Stacked), (c, [b, a, 1], Arrangement::Interleaved)],
            [a, b, c, d] => vec![
                (a, [d, c, b], Arrangement::Stacked),
                (b, [d, c, a], Arrangement::Paired),
                (d, [c, b, a], Arrangement::Interleaved),
            ],
            [.., a, b, c] => {
                let advice = reshaped(name, &format!("-1, {a}, {b}, {c}"));
                return Err(failure!("{name}: has the shape {shape}; {wanted}: {advice}"));
            }
        };
        let possible: Vec<_> = possible.iter().filter(|p| p.0 == 2).map(|p| (p.1, p.2)).collect();
        let (sizes, arrangement) = match possible[..] {
            [] => return Err(failure!("{name}: has the shape {shape}; {wanted}: {}", no_pair(name, axes))),
            [only] => only,
            _ => chosen(name, &shape, &possible, 2, expected)?,
        };
        Ok((positive(name, &shape, sizes)?, arrangement))
    }

    /// Whether the array holds the three components of a volume. A shape that two components of a stack may
    /// have too is that of a stack, unless the expected one says otherwise.
    pub fn is_volume(&self, expected: Option<Dims>) -> bool {
        let &[a, b, c, d] = without_leading_ones(&self.sizes, 4) else { return false };
        let may_be_stack = [a, b, d].contains(&2);
        [(a, [d, c, b]), (d, [c, b, a])].into_iter().any(|(components, [nx, ny, nz])| {
            let dims = Dims { nx, ny, nz };
            components == 3 && dims.has_cubes() && (!may_be_stack || expected == Some(dims))
        })
    }

    /// Whether the array, if it is alone, holds two components and cannot hold those of a volume.
    pub fn is_pair(&self) -> bool {
        match *without_leading_ones(&self.sizes, 3) {
            [a, _, b] => a == 2 || b == 2,
            [a, b, _, c] => [a, b, c].contains(&2) && a != 3 && c != 3,
            _ => false,
        }
    }

    /// The shape of the three components of a volume in one array, and how they lie.
    pub fn volume(&self, name: &str, expected: Option<Dims>) -> Result<(Dims, Arrangement), Failure> {
        let shape = shape_text(&self.sizes);
        let wanted =
            "all components of a volume in one array have the shape (3, planes, rows, columns) or (planes, \
                      rows, columns, 3)";
        let (sizes, arrangement) = match *without_leading_ones(&self.sizes, 4) {
            [3, nz, ny, 3] => {
                let possible = [([3, ny, nz], Arrangement::Stacked), ([ny, nz, 3], Arrangement::Interleaved)];
                chosen(name, &shape, &possible, 3, expected)?
            }
            [3, nz, ny, nx] => ([nx, ny, nz], Arrangement::Stacked),
            [nz, ny, nx, 3] => ([nx, ny, nz], Arrangement::Interleaved),
            [_, _, _] => {
                return Err(failure!(
                    "{name}: has the shape {shape}, which is one component: give U, V and W; {wanted}"
                ));
            }
            _ => return Err(failure!("{name}: has the shape {shape}; {wanted}")),
        };
        Ok((positive(name, &shape, sizes)?, arrangement))
    }
}

/// The arrangement that --dims tells, of several that a shape may have.
fn chosen(
    name: &str,
    shape: &str,
    possible: &[([u64; 3], Arrangement)],
    components: u32,
    expected: Option<Dims>,
) -> Result<([u64; 3], Arrangement), Failure> {
    let as_expected = |sizes: [u64; 3]| expected.is_some_and(|d| [d.nx, d.ny, d.nz] == sizes);
    let fitting: Vec<_> = possible.iter().filter(|(sizes, _)| as_expected(*sizes)).collect();
    let all: Vec<String> =
        possible.iter().filter_map(|(sizes, _)| Dims::checked(*sizes)).map(|d| d.to_string()).collect();
    let alike = possible.iter().enumerate().any(|(k, a)| possible[..k].iter().any(|b| a.0 == b.0));
    let (arrangements, files) = match components {
        2 => (
            "u and then v, or u and v side by side",
            "as two files, a[0] and a[1], or else a[..., 0] and a[..., 1]",
        ),
        _ => (
            "u, then v, then w, or u, v and w side by side",
            "as three files, a[0], a[1] and a[2], or else a[..., 0], a[..., 1] and a[..., 2]",
        ),
    };
    match fitting[..] {
        [one] => Ok(*one),
        _ if alike => Err(failure!(
            "{name}: has the shape {shape}, which may be {arrangements}, and --dims cannot tell: save the components \
             {files}: {}",
            part(name, "0")
        )),
        _ => Err(failure!(
            "{name}: has the shape {shape}, which may be {arrangements}: say which with --dims {}",
            all.join(" or --dims ")
        )),
    }
}

/// The command that saves a part of an array.
fn part(name: &str, part: &str) -> String {
    saved(name, &format!("[{part}]"))
}

/// The command that saves an array in another shape.
fn reshaped(name: &str, shape: &str) -> String {
    saved(name, &format!(".reshape({shape})"))
}

fn saved(name: &str, what: &str) -> String {
    let file = shell_name(Path::new(name));
    python(&format!("import numpy; numpy.save('NEW.npy', numpy.load('{file}', mmap_mode='r'){what})"))
}

/// Advice where an array may be a volume.
const OF_VOLUME: &str =
    "; for a volume give `factz compress` --mode repair; other commands compare a volume with volumes alone";

/// Advice on axes of which none has the length 2 of a pair.
fn no_pair(name: &str, axes: &[u64]) -> String {
    match *axes {
        [.., 3] => {
            let two = format!("save the first two of three components: {}", part(name, "..., :2"));
            two + if axes.len() == 4 { OF_VOLUME } else { "" }
        }
        [3, ..] => {
            let two = format!("save the first two of three components: {}", part(name, ":2"));
            two + if axes.len() == 4 { OF_VOLUME } else { "; if it is u of three planes, give the file of v as well" }
        }
        _ => "if it is one component in planes (steps, levels), give it together with the file of the other one".into(),
    }
}

fn without_leading_ones(sizes: &[u64], keep: usize) -> &[u64] {
    let ones = sizes.iter().take_while(|&&n| n == 1).count();
    &sizes[ones.min(sizes.len().saturating_sub(keep))..]
}

fn positive(name: &str, shape: &str, sizes: [u64; 3]) -> Result<Dims, Failure> {
    match sizes.contains(&0) {
        true => Err(failure!("{name}: has the shape {shape}; all sizes must be positive")),
        false => Dims::checked(sizes).ok_or_else(|| {
            failure!("{name}: has the shape {shape}: more than 2^48 values, the most that a field may have")
        }),
    }
}

/// Reads a header and leaves the reader at the first value.
pub fn read_header(name: &str, reader: &mut impl Read) -> Result<Header, Failure> {
    let text = read_text(name, reader)?;
    let entry = |key: &str| {
        [format!("'{key}':"), format!("\"{key}\":")]
            .iter()
            .find_map(|k| text.split_once(k.as_str()))
            .map(|(_, rest)| rest.trim_start())
            .ok_or_else(|| failure!("{name}: the .npy header has no '{key}'"))
    };
    let descr = entry("descr")?;
    let descr = match descr.chars().next() {
        Some(quote @ ('\'' | '"')) => descr[1..].split(quote).next().unwrap_or(""),
        _ => return Err(failure!("{name}: holds records, not plain numbers: save u and v as two arrays")),
    };
    let (dtype, big_endian) = match descr {
        "<f4" | "=f4" => (Dtype::F32, false),
        "<f8" | "=f8" => (Dtype::F64, false),
        ">f4" => (Dtype::F32, true),
        ">f8" => (Dtype::F64, true),
        _ => {
            return Err(failure!(
                "{name}: has the type '{descr}'; factz takes 32- and 64-bit floats: save a.astype('<f4') or \
                 a.astype('<f8')"
            ));
        }
    };
    let inside = entry("shape")?.strip_prefix('(').and_then(|s| s.split_once(')')).map(|(s, _)| s);
    let sizes = inside.and_then(|s| {
        s.split(',')
            .map(str::trim)
            .filter(|s| !s.is_empty())
            .map(|s| s.parse().ok())
            .collect::<Option<Vec<u64>>>()
    });
    let sizes = sizes.ok_or_else(|| failure!("{name}: the .npy header has no readable shape"))?;
    // Along a single axis both orders are the same.
    if entry("fortran_order")?.starts_with("True") && sizes.iter().filter(|&&n| n > 1).count() > 1 {
        return Err(failure!(
            "{name}: is in Fortran order: save np.ascontiguousarray(a), or a.T if x is its first index"
        ));
    }
    Ok(Header { sizes, dtype, big_endian })
}

/// The dictionary of a header.
fn read_text(name: &str, reader: &mut impl Read) -> Result<String, Failure> {
    let damaged = |_| failure!("{name}: is not a NumPy .npy file (the header is incomplete)");
    let mut start = [0u8; 8];
    reader.read_exact(&mut start).map_err(damaged)?;
    if &start[..6] != MAGIC {
        return Err(failure!(
            "{name}: is not a NumPy .npy file (no \\x93NUMPY at its start); rename it if it is raw"
        ));
    }
    let length = match start[6] {
        1 => {
            let mut n = [0u8; 2];
            reader.read_exact(&mut n).map_err(damaged)?;
            u16::from_le_bytes(n) as usize
        }
        2 | 3 => {
            let mut n = [0u8; 4];
            reader.read_exact(&mut n).map_err(damaged)?;
            u32::from_le_bytes(n) as usize
        }
        version => {
            return Err(failure!(
                "{name}: version {version} of the .npy format is not known here (1 to 3 are)"
            ));
        }
    };
    if length > 1 << 20 {
        return Err(failure!("{name}: the .npy header claims {length} bytes: the file is damaged"));
    }
    let mut text = vec![0u8; length];
    reader.read_exact(&mut text).map_err(damaged)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The header of an array of this shape, slowest first.
pub fn header(sizes: &[u64], dtype: Dtype) -> Vec<u8> {
    let shape = shape_text(sizes);
    let mut text = format!("{{'descr': '<f{}', 'fortran_order': False, 'shape': {shape}, }}", dtype.bytes());
    // The values begin at a multiple of 64 bytes, after magic, version, length and this text.
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend((text.len() as u16).to_le_bytes());
    header.extend(text.as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sizes: &[u64]) -> Header {
        Header { sizes: sizes.to_vec(), dtype: Dtype::F32, big_endian: false }
    }

    #[test]
    fn headers_are_read_as_written() {
        for (sizes, dtype) in [(vec![3, 4], Dtype::F32), (vec![2, 181, 360], Dtype::F64)] {
            let bytes = header(&sizes, dtype);
            assert_eq!(bytes.len() % 64, 0);
            let mut rest = &bytes[..];
            assert_eq!(read_header("a", &mut rest).unwrap(), Header { sizes, dtype, big_endian: false });
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn shapes_tell_volumes_from_planes() {
        let stack = |nx, ny, nz| Some(Dims { nx, ny, nz });
        for (sizes, expected, is_volume) in [
            (&[3, 6, 5, 4][..], None, true),
            (&[6, 5, 4, 3], None, true),
            (&[1, 1, 3, 6, 5, 4], None, true),
            (&[3, 6, 5, 3], None, true),
            (&[2, 6, 5, 4], None, false),
            (&[3, 6, 5], None, false),
            (&[6, 3, 5, 4], None, false),
            (&[3, 1, 5, 4], None, false),
            // Three planes of two components, or three components in two planes, rows or columns.
            (&[3, 2, 5, 4], None, false),
            (&[3, 2, 5, 4], stack(4, 5, 3), false),
            (&[3, 2, 5, 4], stack(4, 5, 2), true),
            (&[3, 6, 5, 2], None, false),
            (&[3, 6, 5, 2], stack(2, 5, 6), true),
            (&[3, 6, 2, 4], None, true),
            (&[2, 6, 5, 3], None, false),
            (&[2, 6, 5, 3], stack(3, 5, 6), false),
            (&[2, 6, 5, 3], stack(5, 6, 2), true),
        ] {
            assert_eq!(of(sizes).is_volume(expected), is_volume, "{sizes:?} {expected:?}");
        }
    }

    #[test]
    fn shapes_tell_how_components_lie() {
        let (dims, stack) = (Dims::plane, |nx, ny, nz| Dims { nx, ny, nz });
        assert_eq!(of(&[3, 4]).alone("a", false).unwrap(), dims(4, 3));
        assert_eq!(of(&[1, 1, 3, 4]).alone("a", false).unwrap(), dims(4, 3));
        assert_eq!(of(&[1, 4]).alone("a", false).unwrap(), dims(4, 1));
        assert_eq!(of(&[2, 3, 4]).alone("a", false).unwrap(), stack(4, 3, 2));
        assert_eq!(of(&[1, 5, 3, 4]).alone("a", false).unwrap(), stack(4, 3, 5));
        let axes = of(&[2, 5, 3, 4]).alone("a", false).unwrap_err().message;
        assert!(axes.contains(".reshape(-1, 3, 4)"), "{axes}");
        assert_eq!(of(&[2, 3, 4]).both("a", None).unwrap(), (dims(4, 3), Arrangement::Stacked));
        assert_eq!(of(&[1, 3, 4, 2]).both("a", None).unwrap(), (dims(4, 3), Arrangement::Interleaved));
        assert_eq!(of(&[5, 2, 3, 4]).both("a", None).unwrap(), (stack(4, 3, 5), Arrangement::Paired));
        assert_eq!(of(&[2, 5, 3, 4]).both("a", None).unwrap(), (stack(4, 3, 5), Arrangement::Stacked));
        assert_eq!(of(&[5, 3, 4, 2]).both("a", None).unwrap(), (stack(4, 3, 5), Arrangement::Interleaved));
        let unclear = of(&[2, 5, 2]);
        assert!(unclear.both("a", None).unwrap_err().message.contains("--dims 2x5 or --dims 5x2"));
        assert_eq!(unclear.both("a", Some(dims(2, 5))).unwrap().1, Arrangement::Stacked);
        assert_eq!(unclear.both("a", Some(dims(5, 2))).unwrap().1, Arrangement::Interleaved);
        let unclear = of(&[2, 3, 4, 2]);
        assert!(unclear.both("a", None).unwrap_err().message.contains("--dims 2x4x3 or --dims 4x3x2"));
        assert_eq!(unclear.both("a", Some(stack(4, 3, 2))).unwrap().1, Arrangement::Interleaved);
        // Of 2 x 2 values, and of two planes of pairs, no option can tell.
        for (sizes, dims) in [(&[2, 2, 2][..], dims(2, 2)), (&[2, 2, 3, 4], stack(4, 3, 2))] {
            let message = of(sizes).both("a", Some(dims)).unwrap_err().message;
            assert!(
                message.contains("a[0] and a[1], or else") && !message.contains("or --dims"),
                "{message}"
            );
        }
        let (volume, wide) = (of(&[3, 5, 6, 7]).volume("a", None), of(&[5, 6, 7, 3]).volume("a", None));
        assert_eq!(volume.unwrap(), (stack(7, 6, 5), Arrangement::Stacked));
        assert_eq!(wide.unwrap(), (stack(7, 6, 5), Arrangement::Interleaved));
        let unclear = of(&[3, 5, 6, 3]);
        assert!(
            unclear.volume("a", None).unwrap_err().message.contains("--dims 3x6x5 or --dims 6x5x3"),
            "{:?}",
            unclear.volume("a", None)
        );
        assert_eq!(unclear.volume("a", Some(stack(6, 5, 3))).unwrap().1, Arrangement::Interleaved);
        for sizes in [&[3, 4][..], &[3, 4, 5], &[2, 3, 4, 5], &[3, 4, 5, 6, 7], &[3, 0, 4, 5]] {
            assert!(of(sizes).volume("a", None).is_err(), "{sizes:?}");
        }
        for sizes in [&[3, 4][..], &[3, 4, 5], &[3, 3, 4, 5], &[2, 0, 4], &[2, 1 << 40, 1 << 40]] {
            assert!(of(sizes).both("a", None).is_err(), "{sizes:?}");
        }
    }
}
