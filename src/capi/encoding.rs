//! A configuration as text and as words, for parameter files and for the filters of file formats.

use super::arguments::{check_buffer, check_outputs, check_struct, Output, Span};
use super::config::{choices, factz_config};
use super::status::{factz_status, guard};
use crate::config_text;
use crate::error::{Error, Result, Status};
use std::ffi::{c_char, CStr};
use std::mem::size_of;

/// Bytes that hold any text of `factz_config_to_string`, with its terminating zero.
pub const FACTZ_CONFIG_STRING_BYTES: usize = 512;

/// Words that `factz_config_to_words` writes.
pub const FACTZ_CONFIG_WORDS: usize = 24;
const _: () = assert!(FACTZ_CONFIG_WORDS == config_text::WORDS);

/// Makes a configuration from text such as "rel=1e-3,mode=speculative,pin=xmin+ymax".
///
/// The text is a list of key=value with commas between; spaces around each part do not count. `abs` or `rel`,
/// the bound, is required, the others have the defaults of `factz_config_init`:
///
///    abs=NUMBER  rel=NUMBER            the bound and its kind
///    mode=block | speculative | repair
///    coder=ans | huffman
///    predictor=hierarchical | lorenzo
///    preserve=none | points | types
///    ties=all | zeros | sos
///    dx=NUMBER  dy=NUMBER  dz=NUMBER   the grid spacing; dy=-1: rows run from north to south
///    pin=none | all | SIDES            sides joined by +: xmin (column 0), xmax, ymin (row 0), ymax, zmin, zmax
///    periodic=none | AXES              axes in the order x, y, z, such as xy
///    fill=none | NUMBER                the fill value; also inf, nan, or nan(0x7ff8000000000001) bit for bit
///    verify=yes | no                   whether decompression compares the checksum
///
/// mode=repair makes the configuration of a volume (`factz_config_init_volume`); dz, the sides along z and the
/// axis z are those of volumes alone.
///
/// Numbers are those of C with a decimal point, whatever the locale. Shape, type, layout and halo are not
/// part of the text: nx, ny and of a volume nz of the result are 0, dtype, pitches, strides and halo have their defaults. Set
/// them before you use the configuration. Host only, does not block. Thread-safe.
///
/// @param text    the text, terminated by a zero
/// @param config  written; all zero if the call fails: every function refuses such a configuration
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or config overlaps text);
///         FACTZ_ERROR_INVALID_CONFIG (the message names the item and the choices)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_config_from_string(
    text: *const c_char,
    config: *mut factz_config,
) -> factz_status {
    guard(|| {
        // SAFETY: the caller gave a whole struct.
        let mut output = unsafe { Output::new("config", config, factz_config::BLANK) }?;
        if text.is_null() {
            return Err(Error::argument("text is null"));
        }
        // SAFETY: not null, and the caller promised a terminated string.
        let text = unsafe { CStr::from_ptr(text) };
        output.check_apart(&[&check_buffer("text", text.as_ptr().cast(), text.count_bytes() + 1)?])?;
        let text = text
            .to_str()
            .map_err(|e| Error::config(format!("text is not UTF-8 from byte {} on", e.valid_up_to())))?;
        output.set(factz_config::from(&config_text::parse(text)?));
        Ok(())
    })
}

/// Writes the choices of a configuration as text that `factz_config_from_string` reads back exactly, numbers
/// with the fewest digits that give the same bits.
///
/// nx, ny, dtype, layout and halo are neither checked nor part of the text. Host only, does not block.
/// Thread-safe.
///
/// @param config      the configuration
/// @param text        receives the text and its terminating zero; an empty text where the call fails. Must
///                    not overlap config
/// @param text_bytes  writable bytes at text; FACTZ_CONFIG_STRING_BYTES always suffice
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
///         FACTZ_ERROR_BUFFER_TOO_SMALL (the message says how many bytes it takes)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_config_to_string(
    config: *const factz_config,
    text: *mut c_char,
    text_bytes: usize,
) -> factz_status {
    guard(|| {
        let target = check_buffer("text", text.cast(), text_bytes)?;
        check_apart_from_config(&target, config)?;
        if text_bytes > 0 {
            // SAFETY: not null, and the caller promised text_bytes writable bytes.
            unsafe { text.write(0) };
        }
        // SAFETY: the caller gave a whole struct.
        let line = config_text::format(&unsafe { choices(config) }?)?;
        if line.len() + 1 > text_bytes {
            let need = line.len() + 1;
            return Err(Error::new(
                Status::BufferTooSmall,
                format!("text_bytes = {text_bytes} is too small: the text takes {need} bytes"),
            ));
        }
        // SAFETY: the text and its zero fit, and the line is the library's own.
        unsafe {
            std::ptr::copy_nonoverlapping(line.as_ptr(), text.cast(), line.len());
            text.add(line.len()).write(0);
        }
        Ok(())
    })
}

/// Writes the choices of a configuration as 32-bit words, as the filters of file formats store them (the
/// cd_values of HDF5).
///
/// The first word is the version of the encoding, 1. The bound is stored as the bits of the double. Later
/// versions of the library read these words as this one does. nx, ny, dtype, layout and halo are neither
/// checked nor part of the words: a filter that needs them appends words of its own. Host only, does not
/// block. Thread-safe.
///
/// @param config  the configuration
/// @param words   receives FACTZ_CONFIG_WORDS words; all zero where the call fails and count suffices. Must
///                not overlap config
/// @param count   writable words at words, at least FACTZ_CONFIG_WORDS
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
///         FACTZ_ERROR_BUFFER_TOO_SMALL (count is below FACTZ_CONFIG_WORDS)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_config_to_words(
    config: *const factz_config,
    words: *mut u32,
    count: usize,
) -> factz_status {
    guard(|| {
        check_struct("words", words)?;
        if count < FACTZ_CONFIG_WORDS {
            return Err(Error::new(
                Status::BufferTooSmall,
                format!("count = {count} words are too few: it takes {FACTZ_CONFIG_WORDS}"),
            ));
        }
        let target = words.cast::<[u32; FACTZ_CONFIG_WORDS]>();
        check_apart_from_config(&Span::of("words", target), config)?;
        // SAFETY: not null and aligned, and the caller promised `count` writable words.
        unsafe { target.write([0; FACTZ_CONFIG_WORDS]) };
        // SAFETY: the caller gave a whole struct.
        let made = config_text::to_words(&unsafe { choices(config) }?)?;
        // SAFETY: as above.
        unsafe { target.write(made) };
        Ok(())
    })
}

/// Makes a configuration from words of `factz_config_to_words`, bit for bit. Shape, type, layout and halo are
/// set as by `factz_config_from_string`. Host only, does not block. Thread-safe.
///
/// @param words   the words; words behind the first FACTZ_CONFIG_WORDS are the caller's own
/// @param count   readable words at words, at least FACTZ_CONFIG_WORDS
/// @param config  written; all zero if the call fails: every function refuses such a configuration
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED (a
///         later version of the encoding)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_config_from_words(
    words: *const u32,
    count: usize,
    config: *mut factz_config,
) -> factz_status {
    guard(|| {
        // SAFETY: the caller gave a whole struct.
        let mut output = unsafe { Output::new("config", config, factz_config::BLANK) }?;
        check_struct("words", words)?;
        let bytes = count.min(FACTZ_CONFIG_WORDS) * size_of::<u32>();
        output.check_apart(&[&check_buffer("words", words.cast(), bytes)?])?;
        // SAFETY: not null and aligned, and the caller promised `count` readable words; no more are looked
        // at.
        let words = unsafe { std::slice::from_raw_parts(words, count.min(FACTZ_CONFIG_WORDS)) };
        output.set(factz_config::from(&config_text::from_words(words)?));
        Ok(())
    })
}

fn check_apart_from_config(target: &Span, config: *const factz_config) -> Result<()> {
    check_outputs(&[target], &[&Span::of("config", config)])
}
