//! The C interface: the only `extern "C"` in the crate.
//!
//! One module per C object. The doc comments of the public items are the manual: `include/factz.h` is
//! generated from them (`tests/promises/header.rs`; `FACTZ_BLESS=1` rewrites it). Every export runs inside
//! [`status::guard`]: it catches panics, keeps the message for `factz_last_error` and never prints.
//! What a caller promises about pointers is stated once, at the top of the header (`cbindgen.toml`).

// The names are those of the C header.
#![allow(non_camel_case_types)]
// The promises of the caller are in the doc comment of each export, in C terms.
#![allow(clippy::missing_safety_doc)]
// The exports have the arguments that the C interface needs.
#![allow(clippy::too_many_arguments)]

/// Asserts the layout of a struct of the interface: its bytes, its alignment of 8, and where each field is.
macro_rules! assert_layout {
    ($name:ident, $bytes:literal bytes: $($field:ident $offset:literal),+) => {
        const _: () = {
            assert!(std::mem::size_of::<$name>() == $bytes && std::mem::align_of::<$name>() == 8);
            $(assert!(std::mem::offset_of!($name, $field) == $offset);)+
        };
    };
}

pub mod analysis;
mod arguments;
pub mod component;
pub mod compress;
pub mod config;
pub mod decompress;
pub mod device;
pub mod encoding;
pub mod enumerations;
pub mod inspect;
mod linking;
pub mod log;
pub mod protect;
pub mod protect_device;
pub mod protect_volume;
pub mod range;
pub mod region;
pub mod report;
pub mod sizes;
pub mod status;
pub mod version;
pub mod volume;
pub mod volume_analysis;
pub mod volume_device;
pub mod volume_region;
