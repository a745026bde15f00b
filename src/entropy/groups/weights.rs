//! Sizes and weights of groups of tiles: constants of both backends.

use crate::entropy::tables::ROW_ACTIVITIES;

/// A group of tiles is made large enough that its coder states are a small part of it.
pub const GROUP_BYTES: u64 = 1024;
/// Where there would be more groups than this, many times what a GPU decodes at once, they are larger, up to
/// so many KiB each.
pub const MANY_GROUPS: u64 = 32768;
pub const MOST_GROUP_KIB: u64 = 8;
/// No limit of the weight of groups is lower; it is more than a tile can weigh.
pub const LEAST_GROUP_WEIGHT: u64 = 1600;
pub const LEAST_GROUP_WEIGHT_OF_VOLUMES: u64 = 4200;
/// No limit is higher: what is added up of all tiles of the largest field fits 64 bits.
pub const MOST_GROUP_WEIGHT: u64 = 1 << 28;

/// Weight of a tile without entries.
pub const TILE_WEIGHT: u16 = 4;
/// Weight of a step, and of the list of a mask: what takes a GPU about as long as so many entries of lists.
pub const STEP_WEIGHT: u16 = 28;
pub const MASK_LIST_WEIGHT: u16 = 64;
/// The steps of a tile by its activity, about.
pub const STEPS: [u16; ROW_ACTIVITIES] = [0, 6, 7, 8, 10, 13, 18, 25, 32];

/// So many tiles of a large field, or up to twice as many, are counted.
pub const SAMPLED_TILES: u64 = 4096;
