//! Promises about memory: what untrusted streams may take, and what fields do. They count what this process
//! allocates.

mod amounts;
mod arbitrary;
mod hostile;
mod region;
#[path = "../support"]
mod support {
    pub mod counting;
    pub mod decoder;
    pub mod fields;
    pub mod guarded;
    pub mod hostile;
}
