// Twin of src/stream/sections.rs: the sections behind the header of a coded stream.
#pragma once
#include "entropy/tables.cuh"

// Bytes of the directory: the stored size of each table in units of 4 bytes.
constexpr u32 DIRECTORY_BYTES = (TABLES + 3) / 4 * 4;
// The word of a group: its bytes, and above them its tiles less one.
constexpr u32 GROUP_BYTES_BITS = 24;
constexpr u64 GROUP_BYTES_MASK = (1 << GROUP_BYTES_BITS) - 1;
