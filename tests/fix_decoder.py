"""A decoder of fixes, written from FORMAT.md, sections 10 and 11.6, alone.

    python3 fix_decoder.py FIX BEFORE AFTER [FIX BEFORE AFTER ...]

BEFORE holds the values of u, then those of v, of a volume then those of w, of the reconstruction; AFTER receives
the repaired ones. Needs numpy for the arithmetic of the element type.
"""

import struct
import sys

import numpy as np


class Corrupt(Exception):
    pass


def demand(condition, what):
    if not condition:
        raise Corrupt(what)


def checksum(words, skipped=None):
    """Sections 2.5 and 10.2; `words` is an array of u32."""
    with np.errstate(over="ignore"):
        x = words.astype(np.uint32).copy()
        if skipped is not None:
            x[skipped] = 0
        x += np.arange(len(x), dtype=np.uint64).astype(np.uint32) * np.uint32(0x9E3779B9)
        x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        x = (x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        x ^= x >> np.uint32(16)
        return int(x.sum(dtype=np.uint64) & np.uint64(0xFFFFFFFF))


class Header:
    """Section 10.1."""

    def __init__(self, fix):
        demand(len(fix) >= 128 and fix[:4] == b"FCTR", "no fix")
        version, header_bytes, self.checksum = struct.unpack_from("<HHI", fix, 4)
        (dtype, preserve, bound_kind, ties, self.components, has_fill, periodic, self.content) = fix[12:20]
        demand(self.components in (2, 3), "components")
        volume = self.components == 3
        self.bytes = 136 if volume else 128
        demand(version == 1 and header_bytes == self.bytes <= len(fix), "version")
        demand(dtype < 2 and preserve < 3 and bound_kind < 2 and ties < (2 if volume else 3), "choices")
        demand(has_fill < 2 and periodic < (8 if volume else 4) and self.content < 2, "choices")
        self.reconstruction, self.exact_vertices = struct.unpack_from("<IQ", fix, 20)
        self.nx, self.ny, self.nz, reserved = struct.unpack_from("<QQII", fix, 32)
        self.bound, self.absolute_bound, self.radius, dx, dy = struct.unpack_from("<5d", fix, 56)
        fill, self.repaired_vertices, self.fix_bytes, self.chunks = struct.unpack_from("<4Q", fix, 96)
        demand(reserved == 0 and self.nx > 0 and self.ny > 0 and self.nz > 0, "sizes")
        if volume:
            (dz,) = struct.unpack_from("<d", fix, 128)
            demand(np.isfinite(dz) and dz != 0 and min(self.nx, self.ny, self.nz) > 1, "a volume")
        demand(self.fix_bytes % 4 == 0 and self.fix_bytes <= len(fix), "length")
        self.type = np.dtype(["<f4", "<f8"][dtype])
        self.vertices = self.nx * self.ny * self.nz


class Bits:
    def __init__(self, data):
        self.value, self.left = int.from_bytes(data, "little"), 8 * len(data)

    def get(self, bits):
        demand(bits <= self.left, "the end of a chunk")
        found = self.value & ((1 << bits) - 1)
        self.value >>= bits
        self.left -= bits
        return found

    def golomb(self, order):
        """Section 10.3."""
        length = 0
        while self.get(1) == 0:
            length += 1
        demand(length <= 61, "a code")
        quotient = (1 << length | self.get(length)) - 1
        return quotient << order | self.get(order)


def vertex_of_volume(header, position):
    """The index of the vertex at a position of a volume (section 11.5)."""
    tile, place = divmod(position, 4096)
    x, y, z = (sum((place >> (3 * k + axis) & 1) << k for k in range(4)) for axis in range(3))
    across, down = -(-header.nx // 16), -(-header.ny // 16)
    rest, tx = divmod(tile, across)
    tz, ty = divmod(rest, down)
    x, y, z = 16 * tx + x, 16 * ty + y, 16 * tz + z
    demand(z < header.nz and x < header.nx and y < header.ny, "a vertex outside the volume")
    return (z * header.ny + y) * header.nx + x


def vertex_at(header, position):
    """The index of the vertex at a position (section 10.4)."""
    if header.components == 3:
        return vertex_of_volume(header, position)
    tile, place = divmod(position, 1024)
    x = sum((place >> (2 * k) & 1) << k for k in range(5))
    y = sum((place >> (2 * k + 1) & 1) << k for k in range(5))
    across, down = -(-header.nx // 32), -(-header.ny // 32)
    row, tx = divmod(tile, across)
    z, ty = divmod(row, down)
    x, y = 32 * tx + x, 32 * ty + y
    demand(z < header.nz and x < header.nx and y < header.ny, "a vertex outside the grid")
    return (z * header.ny + y) * header.nx + x


def refined(header, k, before, cell):
    """Section 10.5."""
    width = header.radius * 2.0 ** (1 - k)
    return header.type.type(float(before) + (cell - 2 ** (k - 1) + 0.5) * width)


def chunk(header, entry, data, before, after):
    """Section 10.4."""
    first, _, vertices, gaps, levels = struct.unpack("<QIHBB", entry)
    runs, order = gaps >= 128, gaps & 127
    most = 16384 if levels == 255 else 512
    demand(1 <= vertices <= most and order <= 40 and (levels <= 4 or levels == 255), "a chunk")
    bits, position, left = Bits(data), first, 0
    value_bits = 8 * header.type.itemsize
    for number in range(vertices):
        if left == 0:
            if number > 0:
                position += 1 + bits.golomb(order) + runs
            left = 1 + bits.golomb(0) if runs else 1
            demand(left <= vertices - number, "a run")
        else:
            position += 1
        left -= 1
        at = vertex_at(header, position)
        if levels == 255:
            for values in after:
                values[at] = 0
            continue
        level = 1 + bits.golomb(levels)
        demand(level <= 17, "a level")
        for component in range(header.components):
            if level == 17:
                raw = bits.get(value_bits).to_bytes(header.type.itemsize, "little")
                after[component][at] = np.frombuffer(raw, header.type)[0]
            else:
                after[component][at] = refined(header, level, before[component][at], bits.get(level))
    demand(bits.left < 32 and bits.value == 0, "the padding of a chunk")


def apply(fix, values):
    header = Header(fix)
    fix = fix[: header.fix_bytes]
    demand(checksum(np.frombuffer(fix, "<u4"), skipped=2) == header.checksum, "the checksum")
    demand(checksum(np.frombuffer(values, "<u4")) == header.reconstruction, "another reconstruction")
    if header.content == 1:
        return fix[header.bytes :][: len(values)]
    before = np.frombuffer(values, header.type).reshape(header.components, header.vertices)
    after = before.copy()
    at, chunks = header.bytes + 16 * header.chunks, []
    for number in range(header.chunks):
        entry = fix[header.bytes + 16 * number :][:16]
        size = struct.unpack_from("<I", entry, 8)[0]
        chunks.append((entry, fix[at : at + size]))
        at += size
    demand(at == header.fix_bytes, "the chunks and the length")
    # Zero vertices come last: they become zero, whatever other chunks say.
    for entry, data in sorted(chunks, key=lambda one: one[0][15] == 255):
        chunk(header, entry, data, before, after)
    return after.tobytes()


if __name__ == "__main__":
    names = sys.argv[1:]
    for fix, before, after in zip(names[::3], names[1::3], names[2::3]):
        with open(fix, "rb") as a, open(before, "rb") as b, open(after, "wb") as out:
            out.write(apply(a.read(), b.read()))
