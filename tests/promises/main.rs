//! Promises that are tested from outside, one in each file: see tests/README.md.

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

#[cfg(target_os = "linux")]
mod adios2;
mod bindings;
mod capi;
mod capi_analysis;
mod capi_volume_analysis;
#[cfg(feature = "cli")]
mod cli;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod cli_files;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod cli_halves;
#[cfg(feature = "cli")]
mod cli_points;
#[cfg(all(feature = "cli", unix))]
mod cli_region;
#[cfg(feature = "cli")]
mod cli_stacks;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod cli_steps;
#[cfg(all(feature = "cli", unix))]
mod cli_streams;
#[cfg(feature = "cli")]
mod cli_volume_points;
mod cli_volumes;
mod compare;
mod component;
mod configurations;
mod emulated;
mod enqueuing;
#[cfg(target_os = "linux")]
mod environment;
#[cfg(target_os = "linux")]
mod examples_c;
#[cfg(target_os = "linux")]
mod examples_fortran;
mod fill;
mod fuzz;
mod golden;
mod guarantee;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod hdf5;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod hdf5_examples;
mod header;
mod host;
#[cfg(target_os = "linux")]
mod install;
mod kernel_modes;
mod layout;
#[cfg(target_os = "linux")]
mod libpressio;
#[cfg(target_os = "linux")]
mod mpi;
#[cfg(target_os = "linux")]
mod mpi_volume;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod names;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod pack;
mod package;
mod packaging;
mod periodic;
#[cfg(feature = "cli")]
mod pictures;
mod protect;
mod protect_device;
mod protect_interfaces;
mod protect_volume_interfaces;
mod protect_volumes;
#[cfg(target_os = "linux")]
mod python;
mod region;
mod spacing;
mod stacks;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod sweep;
mod symbols;
mod textbook;
mod unwritten;
mod volume_analysis;
mod volume_blocks;
#[cfg(feature = "cli")]
mod volume_pictures;
mod volume_region;
mod volumes;
#[cfg(target_os = "linux")]
mod zarr;
