//! The bytes of a stream (FORMAT.md, section 2): where its parts lie and what its header says. No other
//! module knows an offset; what the bytes of tables and groups mean is `entropy`'s concern.

pub mod checksum;
pub mod header;
pub mod region;
pub mod sections;
