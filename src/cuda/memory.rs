//! Where memory lies, as the driver answers for an address.

use std::ffi::c_int;

/// Where an address lies.
pub(super) enum Place {
    Unknown,
    PinnedHost,
    Device,
    Managed,
}

/// Kind of memory and device of an address.
pub(super) struct Memory {
    pub(super) place: Place,
    pub(super) device: c_int,
}
