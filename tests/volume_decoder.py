#!/usr/bin/env python3
"""An independent decoder of streams of volumes, written from FORMAT.md, section 11, alone: plain and slow.

    volume_decoder.py STREAM OUTPUT [STREAM OUTPUT]...

Each OUTPUT gets the values of u, then v, then w, x fastest, in the stream's element type. What volumes have in
common with planes comes from format_decoder.py, and the bits of chunks from fix_decoder.py.
"""

import struct
import sys

import numpy as np
from fix_decoder import Bits
from format_decoder import Frequencies, Lanes, Lengths, ceil_div, checksum, require

HEADER_BYTES, SIDE, ANCHOR_LEVEL = 176, 16, 4
BLOCKS = [(0, 64), (64, 512), (512, 4096)]
CLASSES = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)]


class Header:
    """Section 11.1."""

    def __init__(self, data):
        require(len(data) >= HEADER_BYTES, "shorter than a header")
        (magic, version, header_bytes, self.checksum, dtype, mode, self.coder, predictor, _, _, self.content,
         ties, self.scaling) = struct.unpack_from("<4sHHI9B", data, 0)
        self.interpolants, components, has_fill = list(data[21:25]), data[26], data[27]
        (self.table_bytes, self.nx, self.ny, self.nz, periodic, component, reserved, _, _, self.half_bin_width,
         dx, dy, fill_u, fill_v, self.stream_bytes,
         self.groups) = struct.unpack_from("<I2QIBBH5d4Q", data, 28)
        dz, fill_w, self.list_bytes, self.chunks, self.vertices, self.exact = struct.unpack_from("<d5Q", data, 128)
        require(magic == b"FCTZ" and version == 1 and header_bytes == HEADER_BYTES, "no volume")
        require((components, mode, predictor, component, reserved) == (3, 2, 0, 0, 0), "a choice")
        require(ties < 2 and periodic < 8 and has_fill < 2 and max(self.interpolants) < 6, "a choice")
        require(all(np.isfinite(d) and d != 0 for d in (dx, dy, dz)), "spacing")
        self.fill = [fill_u, fill_v, fill_w]
        self.real, self.bits = [(np.float32, np.uint32), (np.float64, np.uint64)][dtype]
        self.bytes = [4, 8][dtype]
        self.sizes = [self.nx, self.ny, self.nz]
        self.tiles = [ceil_div(n, SIDE) for n in self.sizes]


def make_positions():
    """Section 11.2: coordinates and level by position."""
    positions = [((0, 0, 0), ANCHOR_LEVEL)] * 4096
    for level in range(4):
        s, n = 1 << level, 8 >> level
        for c, odd in enumerate(CLASSES):
            for k in range(n**3):
                at = (k % n, k // n % n, k // n**2)
                vertex = tuple((2 * a + o) * s for a, o in zip(at, odd))
                positions[n**3 * (1 + c) + k] = (vertex, level)
    return positions


POSITIONS = make_positions()


def table_of(position, activity):
    if position < 8:
        return 19 if position == 0 else 21
    return (21 if position < 64 else 28 if position < 512 else 35) + activity


# Section 11.4: the symbols.
SMALL = [(0, 0, 0)]
for most in (1, 2):
    span = range(-2, 3)
    SMALL += [(a, b, c) for a in span for b in span for c in span if max(abs(a), abs(b), abs(c)) == most]
WAYS = [(a, b, c) for a in range(3) for b in range(3) for c in range(3) if 0 in (a, b, c)]


def widths_of(symbol):
    """The raw bits of each component."""
    if symbol < 125:
        return [0, 0, 0]
    if symbol < 239:
        length, way = 2 + (symbol - 125) // 19, WAYS[(symbol - 125) % 19]
        return [length - w if w < 2 else (length - 1 if length > 2 else 0) for w in way]
    return [symbol - 239 + 8 + 1] * 3 if symbol < 252 else [0, 0, 0]


def integers(symbol, raw):
    if symbol < 125:
        return SMALL[symbol]
    parts = []
    for bits in widths_of(symbol):
        parts.append(raw & ((1 << bits) - 1))
        raw >>= bits
    if symbol >= 239:
        return tuple(z - (1 << (symbol - 239 + 8)) for z in parts)
    length, way, found = 2 + (symbol - 125) // 19, WAYS[(symbol - 125) % 19], []
    for z, shorter in zip(parts, way):
        bits = length - shorter
        if shorter == 2:
            found.append(z - (1 << bits) if length > 2 else 0)
        elif bits == 0:
            found.append(0)
        else:
            magnitude = 1 << (bits - 1) | z & ((1 << (bits - 1)) - 1)
            found.append(-magnitude if z >> (bits - 1) else magnitude)
    return tuple(found)


class Tile:
    def __init__(self, header, number):
        nx, ny, _ = header.tiles
        self.first = [SIDE * k for k in (number % nx, number // nx % ny, number // nx // ny)]
        self.last = [min(SIDE, n - 1 - first) for n, first in zip(header.sizes, self.first)]
        self.owned = [min(SIDE, last + 1) for last in self.last]
        self.shift, self.activities, self.entries = 0, [0, 0, 0], [0, 0, 0]
        self.symbols, self.raw = [0] * 4096, [0] * 4096

    def has(self, position):
        return all(k < n for k, n in zip(POSITIONS[position][0], self.owned))

    def lists(self):
        for k, ((first, end), activity) in enumerate(zip(BLOCKS, self.activities)):
            if activity > 0 and k == 0:
                yield activity, range(16), None
            if activity > 0:
                yield activity, range(max(first, 16), end), None if activity == 7 else self.entries[k]


class Group:
    def __init__(self, tables, tiles, data):
        self.tables, self.lanes = tables, Lanes(data)
        for first in range(0, len(tiles), 32):
            self.batch(tiles[first : first + 32])
        self.lanes.finish()

    def batch(self, tiles):
        # No group has outer anchors, and no tile has masks: two operations without lanes.
        for i, state in self.lanes.step(range(len(tiles)), lambda _: self.tables[0]).items():
            tiles[i].shift, masks = divmod(state, 9)
            require(masks == 0 and tiles[i].shift < 8, "mask state")
        for block, first in enumerate((1, 2, 10)):
            def table(i):
                return self.tables[first + (tiles[i].activities[block - 1] if block else 0)]
            for i, activity in self.lanes.step(range(len(tiles)), table).items():
                require(activity <= 7, "activity")
                tiles[i].activities[block] = activity
        for block in range(3):
            bits = {i: t.activities[block] + (-1, 2, 5)[block] for i, t in enumerate(tiles)
                    if 1 <= t.activities[block] <= 6}
            for i, entries in self.lanes.raw({i: n for i, n in bits.items() if n > 0}).items():
                tiles[i].entries[block] = entries
        for _ in range(2):
            self.lanes.raw({})
        self.vertices(tiles)

    def vertices(self, tiles):
        sequence = [(tile, activity, positions, entries is not None, k)
                    for tile in tiles for activity, positions, entries in tile.lists()
                    for k in range(len(positions) if entries is None else entries)]
        position = 0
        for at in range(0, len(sequence), 32):
            chunk = dict(enumerate(sequence[at : at + 32]))
            sparse = {i: self.tables[42 + one[1]] for i, one in chunk.items() if one[3]}
            runs, here = self.lanes.runs(sparse, 32), {}
            for i, (tile, activity, positions, is_sparse, k) in chunk.items():
                position = positions[0] - 1 if k == 0 else position
                position += 1 + (runs[i] if is_sparse else 0)
                require(position in positions, "a position outside its list")
                if tile.has(position):
                    here[i] = (tile, position, table_of(position, activity))
                else:
                    require(not is_sparse, "an entry that the tile does not own")
            step = self.lanes.step(sorted(here), lambda i: self.tables[here[i][2]])
            bits = {}
            for i, (tile, place, _) in here.items():
                tile.symbols[place] = step[i]
                bits[i] = sum(widths_of(step[i]))
            for i, value in self.lanes.raw_values(bits).items():
                tile, place, _ = here[i]
                tile.raw[place] = value


class Volume:
    """Section 11.3."""

    def __init__(self, header, hidden):
        self.header, self.hidden = header, hidden
        self.values = np.zeros((3, header.nz, header.ny, header.nx), header.real)
        alpha, beta = [(1.0, 1.0), (1.5, 3.0)][header.scaling]
        self.factors, factor = [], 1.0
        for _ in range(5):
            self.factors.append(min(factor, beta))
            factor *= alpha

    def width(self, level, shift):
        return self.header.real(2.0 * (self.header.half_bin_width * 2.0**-shift) / self.factors[level])

    def reconstruct(self, tiles):
        order = sorted(range(4096), key=lambda p: sum(k > 0 for k in POSITIONS[p][0]))
        for stage in range(4):
            for tile in tiles:
                for position in (p for p in order if sum(k > 0 for k in POSITIONS[p][0]) == stage):
                    if tile.has(position):
                        self.vertex(tile, position)

    def vertex(self, tile, position):
        local, level = POSITIONS[position]
        x, y, z = (f + k for f, k in zip(tile.first, local))
        if self.hidden[z, y, x]:
            return
        q = integers(tile.symbols[position], tile.raw[position])
        for c in range(3):
            prediction = self.header.real(0)
            if level < ANCHOR_LEVEL:
                prediction = self.predict(self.values[c], (x, y, z), local, tile.last, level)
            self.values[c, z, y, x] = prediction + self.header.real(q[c]) * self.width(level, tile.shift)

    def predict(self, v, at, local, last, level):
        step, real, choice = 1 << level, self.header.real, self.header.interpolants[level]
        odd = [k for k in range(3) if local[k] & step]
        has_next = [k for k in odd if local[k] + step <= last[k]]

        def get(*moves):
            place = list(at)
            for axis, by in moves:
                place[axis] += by * step
            return v[place[2], place[1], place[0]]

        def pair(axis, *moves):
            return get((axis, -1), *moves) + get((axis, 1), *moves)

        def four(d, f, *moves):
            return pair(d, (f, -1), *moves) + pair(d, (f, 1), *moves)

        half, quarter = real(0.5), real(0.25)
        if choice >= 3 and len(odd) > 1 and has_next == odd:
            if len(odd) == 2:
                a, b = odd
                return half * (pair(a) + pair(b)) - quarter * four(a, b)
            a, b, c = odd
            faces, edges = (pair(a) + pair(b)) + pair(c), (four(a, b) + four(a, c)) + four(b, c)
            corners = four(a, b, (c, -1)) + four(a, b, (c, 1))
            return (half * faces - quarter * edges) + half * quarter * corners
        found = [self.along(get, k, local[k], last[k], step, choice % 3) for k in (has_next or odd)]
        if len(found) == 1:
            return found[0]
        if len(found) == 2:
            return half * (found[0] + found[1])
        return real(1.0 / 3.0) * ((found[0] + found[1]) + found[2])

    def along(self, get, axis, position, last, step, weights):
        """Section 5.4."""
        real = self.header.real
        middle, side = [(1 / 16, 1 / 8), (1 / 32, 0), (0, 0)][weights]
        half, b = real(0.5), get((axis, -1))
        has_a = position >= 3 * step
        if position + step > last:
            return b + half * (b - get((axis, -3))) if has_a else b
        c, has_d = get((axis, 1)), position + 3 * step <= last
        if has_a and has_d:
            a, d = get((axis, -3)), get((axis, 3))
            return half * (b + c) + real(middle) * ((b - a) + (c - d))
        if has_a:
            return half * (b + c) + real(side) * ((b - get((axis, -3))) - (c - b))
        if has_d:
            return half * (b + c) + real(side) * ((c - b) - (get((axis, 3)) - c))
        return half * (b + c)


def read_list(header, data):
    """Section 11.5: position, level and data of each vertex, by kind."""
    kinds, at = {255: [], 254: [], 0: []}, 16 * header.chunks
    for number in range(header.chunks):
        first, size, count, gaps, levels = struct.unpack_from("<QIHBB", data, 16 * number)
        bits, position, left = Bits(data[at : at + size]), first, 0
        at += size
        for k in range(count):
            if left == 0:
                if k > 0:
                    position += 1 + bits.golomb(gaps & 127) + (gaps >= 128)
                left = 1 + bits.golomb(0) if gaps >= 128 else 1
            else:
                position += 1
            left -= 1
            level, cells = levels, []
            if levels < 254:
                level = 1 + bits.golomb(levels)
                require(level <= 17, "a level")
                cells = [bits.get(8 * header.bytes if level == 17 else level) for _ in range(3)]
            kinds[levels if levels >= 254 else 0].append((vertex_at(header, position), level, cells))
    require(at == len(data) and sum(map(len, kinds.values())) == header.vertices, "the list")
    return kinds


def vertex_at(header, position):
    tile, place = divmod(position, 4096)
    local = [sum((place >> (3 * bit + axis) & 1) << bit for bit in range(4)) for axis in range(3)]
    nx, ny, _ = header.tiles
    at = [SIDE * t + k for t, k in zip((tile % nx, tile // nx % ny, tile // nx // ny), local)]
    require(all(k < n for k, n in zip(at, header.sizes)), "a vertex outside the volume")
    return tuple(at)


def sections(header, data):
    """Sections 2.3 and 2.4: the stored tables, and the tiles and bytes of each group."""
    present = int.from_bytes(data[HEADER_BYTES : HEADER_BYTES + 8], "little")
    sizes = HEADER_BYTES + 8
    at, tables, groups, first = sizes + ceil_div(present.bit_count(), 4) * 4, [], [], 0
    for k in range(50):
        size = 0
        if present >> k & 1:
            size, sizes = data[sizes], sizes + 1
        tables.append(data[at : at + 4 * size])
        at += 4 * size
    require(at == HEADER_BYTES + header.table_bytes, "table_bytes")
    words = struct.unpack_from("<%dI" % header.groups, data, at)
    at += 4 * header.groups
    for word in words:
        size, count = word & 0xFFFFFF, (word >> 24) + 1
        groups.append((range(first, first + count), data[at : at + size]))
        at, first = at + 4 * ceil_div(size, 4), first + count
    require(at == header.stream_bytes - header.list_bytes and first == np.prod(header.tiles), "groups")
    return tables, groups, data[at : at + header.list_bytes]


def decode(data):
    header = Header(data)
    data = data[: header.stream_bytes]
    require(checksum(data) == header.checksum, "the checksum")
    count = 3 * header.nx * header.ny * header.nz * header.bytes
    if header.content == 1:
        return data[HEADER_BYTES : HEADER_BYTES + count]
    tables, groups, chunks = sections(header, data)
    tables = [[Frequencies, Lengths][header.coder](table) for table in tables]
    tiles = [Tile(header, number) for number in range(int(np.prod(header.tiles)))]
    for numbers, group in groups:
        Group(tables, [tiles[number] for number in numbers], group)
    listed = read_list(header, chunks)
    hidden = np.zeros((header.nz, header.ny, header.nx), bool)
    for x, y, z in (one[0] for kind in (255, 254) for one in listed[kind]):
        hidden[z, y, x] = True
    volume = Volume(header, hidden)
    with np.errstate(over="ignore", invalid="ignore"):
        volume.reconstruct(tiles)
        return finish(header, volume, tiles, listed)


def finish(header, volume, tiles, listed):
    out = volume.values.view(header.bits).copy()
    for (x, y, z), level, cells in listed[0]:
        for c in range(3):
            if level == 17:
                out[c, z, y, x] = cells[c]
                continue
            tile = (z // SIDE * header.tiles[1] + y // SIDE) * header.tiles[0] + x // SIDE
            low = x | y | z
            own = min((low & -low).bit_length() - 1 if low else ANCHOR_LEVEL, ANCHOR_LEVEL)
            radius = float(volume.width(own, tiles[tile].shift)) * 0.5
            middle = cells[c] - 2.0 ** (level - 1) + 0.5
            value = float(volume.values[c, z, y, x]) + middle * (radius * 2.0 ** (1 - level))
            out[c, z, y, x] = header.real(value).view(header.bits)
    for (x, y, z), _, _ in listed[254]:
        out[:, z, y, x] = np.array(header.fill, np.uint64).astype(header.bits)
    for (x, y, z), _, _ in listed[255]:
        out[:, z, y, x] = 0
    return out.tobytes()


if __name__ == "__main__":
    names = sys.argv[1:]
    for source, target in zip(names[::2], names[1::2]):
        with open(source, "rb") as stream, open(target, "wb") as output:
            output.write(decode(stream.read()))
