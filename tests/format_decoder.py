#!/usr/bin/env python3
"""An independent decoder of factz streams, written from FORMAT.md alone: plain and slow.

    format_decoder.py STREAM OUTPUT [STREAM OUTPUT]...

Each OUTPUT gets the values of u, plane by plane and row by row, then those of v, in the stream's element
type; of the stream of one component its values. The section numbers are those of FORMAT.md. Needs numpy, for
arithmetic that rounds to the element type after every operation.
"""

import struct
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("format_decoder.py needs numpy: install it with 'python3 -m pip install numpy' "
             "(or name an interpreter that has it in FACTZ_PYTHON)")

# Section 1: conventions ---------------------------------------------------------------------------

U32 = 0xFFFFFFFF


class Corrupt(Exception):
    pass


def require(condition, message):
    if not condition:
        raise Corrupt(message)


def ceil_div(a, b):
    return -(-a // b)


def wrap(z):
    """As a 32-bit integer."""
    return (z + (1 << 31)) % (1 << 32) - (1 << 31)


# Section 2: container -----------------------------------------------------------------------------

HEADER_BYTES, LEAST_DIRECTORY_BYTES, TABLES = 128, 8, 50


class Header:
    """Section 2.1."""

    def __init__(self, data):
        require(len(data) >= HEADER_BYTES, "shorter than a header")
        (magic, version, header_bytes, self.checksum, dtype, mode, self.coder, self.predictor, preserve,
         bound_kind, self.content, ties, self.level_bound_scaling) = struct.unpack_from("<4sHHI9B", data, 0)
        self.interpolants = list(data[21:26])
        self.components, self.has_fill = data[26], data[27]
        (self.table_bytes, self.nx, self.ny, self.nz, periodic, component, reserved, bound, absolute_bound,
         self.half_bin_width, dx, dy, fill_u, fill_v, self.stream_bytes,
         self.groups) = struct.unpack_from("<I2QIBBH5d4Q", data, 28)
        self.fill = [fill_u, fill_v][:self.components]
        require(magic == b"FCTZ", "no factz stream")
        require(version == 1, f"format version {version}, this decoder reads version 1")
        require(header_bytes == HEADER_BYTES, "header_bytes")
        for value, choices in ((dtype, 2), (mode, 2), (self.coder, 2), (self.predictor, 2), (preserve, 3),
                               (bound_kind, 2), (self.content, 2), (ties, 3), (self.has_fill, 2),
                               (self.level_bound_scaling, 2), (max(self.interpolants), 6), (periodic, 4),
                               (component, 3 - self.components), (reserved, 1)):
            require(value < choices, "a choice of the header")
        require(self.components in (1, 2), "components")
        require(1 <= self.nx * self.ny * self.nz <= 1 << 48, "grid size")
        for bit, n in ((1, self.nx), (2, self.ny)):
            require(not periodic & bit or n >= 3, "a periodic axis")
        for x in (bound, absolute_bound, self.half_bin_width):
            require(np.isfinite(x) and x >= 0, "bound")
        for x in (dx, dy):
            require(np.isfinite(x) and x != 0, "spacing")
        require(self.stream_bytes % 4 == 0, "stream_bytes")
        require(HEADER_BYTES <= self.stream_bytes <= len(data), "stream_bytes")
        self.real = [np.float32, np.float64][dtype]
        self.bits = ["<u4", "<u8"][dtype]
        self.element_bytes = [4, 8][dtype]
        self.tiles_x = ceil_div(self.nx, TILE)
        self.tiles_y = ceil_div(self.ny, TILE)
        self.tiles = self.tiles_x * self.tiles_y * self.nz
        fewest = ceil_div(self.tiles, 256)
        require(self.groups == 0 if self.content else fewest <= self.groups <= self.tiles, "groups")


def read_entries(data, shift_bits, read):
    """Section 2.3: calls read(take, symbol, shift) for each entry of a stored table; take(n) gives n bits."""
    number, at = int.from_bytes(data, "little"), 0

    def take(n):
        nonlocal at
        require(at + n <= 8 * len(data), "a table ends early")
        at += n
        return number >> (at - n) & ((1 << n) - 1)

    symbol, entries, shift = -1, take(8) + 1, take(shift_bits)
    for _ in range(entries):
        n = 0
        while take(1) == 0:
            n += 1
        symbol += 1 << n | take(n)
        require(symbol <= 255, "a table exceeds the alphabet")
        read(take, symbol, shift)


def sections(header, data):
    """Sections 2.3 and 2.4: the stored tables, and the tiles and bytes of each group."""
    least = HEADER_BYTES + max(header.table_bytes, LEAST_DIRECTORY_BYTES) + 84 * header.groups
    require(len(data) >= least, "stream_bytes")
    present = int.from_bytes(data[HEADER_BYTES:HEADER_BYTES + 8], "little")
    require(present >> TABLES == 0, "a table above 49")
    sizes = HEADER_BYTES + 8
    at, tables, groups, tiles = sizes + ceil_div(present.bit_count(), 4) * 4, [], [], 0
    for k in range(TABLES):
        size = 0
        if present >> k & 1:
            size, sizes = data[sizes], sizes + 1
        tables.append(data[at:at + 4 * size])
        at += 4 * size
    require(at == HEADER_BYTES + header.table_bytes, "table_bytes")
    words = struct.unpack_from(f"<{header.groups}I", data, at)
    at += 4 * header.groups
    for word in words:
        size, count = word & 0xFFFFFF, (word >> 24) + 1
        require(at + size <= len(data) and tiles + count <= header.tiles, "a group word")
        groups.append((range(tiles, tiles + count), data[at:at + size]))
        at, tiles = at + 4 * ceil_div(size, 4), tiles + count
    require(at == len(data) and tiles == header.tiles, "the groups do not add up")
    return tables, groups


def checksum(data):
    """Section 2.5."""
    total = 0
    for k, (word,) in enumerate(struct.iter_unpack("<I", data)):
        x = 0 if k == 2 else word
        x = (x + k * 0x9E3779B9) & U32
        x = ((x ^ x >> 16) * 0x85EBCA6B) & U32
        x = ((x ^ x >> 13) * 0xC2B2AE35) & U32
        total = (total + (x ^ x >> 16)) & U32
    return total


# Section 3: entropy coding ------------------------------------------------------------------------

LOW = 65536
ESCAPE = 255


class Frequencies:
    """A table of rANS: frequencies, first slots, and the symbol of every slot."""

    def __init__(self, data):
        self.frequency = [0] * 255 + [0 if data else 4096]
        if data:
            read_entries(data, 3, self.read)
            require(sum(self.frequency) == 4096, "frequencies do not sum to 4096")
        self.start, self.slots = [0] * 256, []
        for symbol, frequency in enumerate(self.frequency):
            self.start[symbol] = len(self.slots)
            self.slots += [symbol] * frequency

    def read(self, take, symbol, shift):
        m = take(4)
        self.frequency[symbol] = (1 << m | take(m)) << shift

    def next(self, x):
        """The symbol of a state, and the next state."""
        if x < 4096:
            return self.next_small(x)
        slot = x & 4095
        s = self.slots[slot]
        return s, (self.frequency[s] * (x >> 12) + slot - self.start[s]) & U32

    def next_small(self, x):
        slot = int(f"{x:012b}"[::-1], 2)
        s = self.slots[slot]
        f, m = self.frequency[s], 13 - x.bit_length()
        if f == 4096:
            return s, x
        a = 4096 - self.start[s]
        b = a - f
        return s, (a >> m) - (b >> m) + (4096 - slot >> m) - (b + (1 << m - 1) >> m)


class Lengths:
    """A table of canonical Huffman codes: a dictionary from (length, code) to symbol."""

    def __init__(self, data):
        self.length, self.symbols = {} if data else {ESCAPE: 0}, {}
        if data:
            read_entries(data, 0, self.read)
            require(sum(2048 >> n for n in self.length.values()) == 2048, "codes do not fill their space")
        code, before = 0, 0
        for symbol, n in sorted(self.length.items(), key=lambda item: (item[1], item[0])):
            code <<= n - before
            self.symbols[n, code] = symbol
            code, before = code + 1, n

    def read(self, take, symbol, _):
        self.length[symbol] = take(4)
        require(self.length[symbol] <= 11, "a code of more than 11 bits")

    def next(self, x):
        code, n = 0, 0
        while (n, code) not in self.symbols:
            code, n = code << 1 | x >> n & 1, n + 1
        return self.symbols[n, code], x >> n


class Lanes:
    """Sections 3.1 and 3.2: the states and words of a group."""

    def __init__(self, data):
        require(len(data) >= 80 and len(data) % 2 == 0, "size of a group")
        octaves = [data[i // 2] >> 4 * (i % 2) & 15 for i in range(32)]
        first = 80 + 4 * ceil_div(sum(octaves), 32)
        require(len(data) >= first, "a group ends in its states")
        bits, self.states = int.from_bytes(data[80:first], "little"), []
        for n, half in zip(octaves, struct.unpack_from("<32H", data, 16)):
            self.states.append((1 << n | bits & ((1 << n) - 1)) << 16 | half)
            bits >>= n
        self.words = struct.unpack_from(f"<{(len(data) - first) // 2}H", data, first)
        self.next, self.in_tail = 0, False

    def begin_operation(self, lanes):
        """Begins an operation of so many lanes."""
        if self.next == len(self.words):
            if not self.in_tail:
                self.in_tail = True
                self.states = [x - LOW for x in self.states]
            if lanes > 0:
                self.states = [self.states[(i - 19) % 32] for i in range(32)]

    def refill(self, lane, x):
        if x < LOW and not self.in_tail:
            x = x << 16 | (self.words[self.next] if self.next < len(self.words) else 0)
            self.next += 1
        self.states[lane] = x

    def symbol(self, lane, table):
        s, x = table.next(self.states[lane])
        self.refill(lane, x)
        return s

    def raw(self, bits):
        """Raw bits by lane, as a dictionary."""
        values = {}
        self.begin_operation(len(bits))
        for i in sorted(bits):
            x = self.states[i]
            self.refill(i, x >> bits[i])
            values[i] = x & ((1 << bits[i]) - 1)
        return values

    def step(self, active, table):
        """Symbols of the active lanes (ascending), as a dictionary."""
        self.begin_operation(len(active))
        s = {i: self.symbol(i, table(i)) for i in active}
        s.update(self.raw({i: 8 for i in active if s[i] == ESCAPE}))
        return s

    def raw_values(self, bits):
        """Raw values by lane, in pieces of 16 bits."""
        values, done = {i: 0 for i in bits}, 0
        while any(n > done for n in bits.values()):
            piece = self.raw({i: min(16, bits[i] - done) for i in bits if bits[i] > done})
            for i in piece:
                values[i] |= piece[i] << done
            done += 16
        return values

    def runs(self, tables, symbols=28):
        """Section 3.4: the runs in some lanes, by their tables."""
        runs = self.step(sorted(tables), lambda i: tables[i])
        require(all(symbol < symbols for symbol in runs.values()), "symbol of a run")
        bits = {i: runs[i] // 2 - 5 for i in runs if runs[i] >= 16}
        for i, value in self.raw(bits).items():
            runs[i] = (2 + runs[i] % 2) << bits[i] | value
        return runs

    def finish(self):
        self.begin_operation(0)
        require(self.in_tail, "a group is not used up, or too short")
        require(self.states == 4 * [1] + 28 * [0], "a lane does not end in its state")


def twos_complement(z, bits):
    return z - (1 << bits) if bits and z >> (bits - 1) else z


def followed(header, tile):
    """Section 5.2: the tile whose anchor that of a tile follows."""
    columns = ceil_div(header.nx, 32)
    if tile % columns:
        return tile - 1
    return tile - columns if tile else None


def outer_anchors(header, numbers):
    """Section 5.2: the tiles of the outer anchors of a group."""
    columns, first = ceil_div(header.nx, 32), numbers[0]
    row = first - first % columns
    outer = [followed(header, first)] if first else []
    if first - row >= 2 and numbers[-1] >= row + columns:
        outer.append(row)
    return outer


class Group:
    """Sections 3.3 to 3.7: the tiles of a group."""

    def __init__(self, header, tables, numbers, data):
        self.header, self.tables, self.lanes = header, tables, Lanes(data)
        self.tiles = [Tile(header, k) for k in numbers]
        if header.predictor == 0:
            outer = self.read_outer_anchors(outer_anchors(header, numbers))
            for tile in self.tiles:
                tile.first_of_group, tile.outer = numbers[0], outer
        for first in range(0, len(self.tiles), 32):
            self.read_batch(self.tiles[first:first + 32])
        self.lanes.finish()

    def read_outer_anchors(self, outer):
        """The coarse integers of outer anchors, by tile."""
        sizes, each = self.lanes.raw({i: 5 for i in range(len(outer))}), range(self.header.components)
        values = self.lanes.raw_values({2 * i + c: sizes[i] for i in sizes for c in each if sizes[i]})
        return {tile: [twos_complement(values.get(2 * i + c, 0), sizes[i]) for c in each]
                for i, tile in enumerate(outer)}

    def table(self, number):
        return lambda _: self.tables[number]

    def read_batch(self, batch):
        for i, state in self.lanes.step(range(len(batch)), self.table(0)).items():
            require(state < [9, 72][self.header.predictor], "mask state")
            batch[i].bound_shift, state = divmod(state, 9)
            batch[i].covered = list(divmod(state, 3))
        coded = [i for i, tile in enumerate(batch) if ALL not in batch[i].covered]
        if self.header.predictor == LORENZO:
            for i, activity in self.lanes.step(coded, self.table(1)).items():
                require(activity <= 8, "activity")
                batch[i].activities = [activity]
        else:
            self.read_activities(batch, coded)
        self.read_masks(batch)
        if self.header.predictor == LORENZO:
            for i in coded:
                self.read_rows(batch[i])
        else:
            self.read_lists([batch[i] for i in coded])

    def read_activities(self, batch, coded):
        for block, first in enumerate((1, 2, 10)):
            def table(i):
                return self.tables[first + (batch[i].activities[block - 1] if block else 0)]
            for i, activity in self.lanes.step(coded, table).items():
                require(activity <= 7, "activity")
                batch[i].activities[block] = activity
        for block in range(3):
            activities = {i: batch[i].activities[block] for i in coded}
            bits = {i: a + (-1, 0, 2)[block] for i, a in activities.items() if 1 <= a <= 6}
            for i, entries in self.lanes.raw({i: n for i, n in bits.items() if n > 0}).items():
                batch[i].entries[block] = entries

    def read_masks(self, batch):
        """Section 3.5."""
        masks = {}
        for plane in (0, 1):
            some = {i: 8 for i, tile in enumerate(batch) if tile.covered[plane] == SOME}
            for i, size in self.lanes.raw(some).items():
                by_columns, entries = divmod(size, 128)
                masks[i, plane] = MaskList(entries + 1, by_columns, batch[i].width, batch[i].height)
        sequence = [(i, plane, k) for i, plane in sorted(masks) for k in range(masks[i, plane].entries)]
        number = 0
        for at in range(0, len(sequence), 32):
            chunk = sequence[at:at + 32]
            runs = self.lanes.runs({lane: self.tables[49] for lane in range(len(chunk))})
            step = self.lanes.step(range(len(chunk)), self.table(18))
            for lane, (i, plane, k) in enumerate(chunk):
                number = runs[lane] if k == 0 else number + 1 + runs[lane]
                masks[i, plane].put(number, step[lane] + 1)
        for i, tile in enumerate(batch):
            tile.masks = [tile.mask(plane, masks.get((i, plane))) for plane in (0, 1)]

    def read_symbols(self, vertices):
        """A step: a dictionary from lane to tile, position and table; then the raw values."""
        step = self.lanes.step(sorted(vertices), lambda i: self.tables[vertices[i][2]])
        bits = {}
        for i, (tile, position, _) in vertices.items():
            last = HIDDEN if self.header.components == 1 else LAST_DIFFERENCE
            tile.symbols[position] = step[i] if step[i] <= last else STORED
            coarse = tile.lorenzo or position == 0
            bits[i] = raw_bits(tile.symbols[position], coarse, self.header)
            require(not tile.lorenzo or bits[i] <= 16 * self.header.element_bytes, "too many raw bits")
        for i, value in self.lanes.raw_values(bits).items():
            tile, position, _ = vertices[i]
            tile.raw[position] = value

    def read_lists(self, tiles):
        """Section 3.6."""
        sequence = []
        for tile in tiles:
            for activity, positions, entries in tile.lists():
                sequence += [(tile, activity, positions, entries is not None, k)
                             for k in range(len(positions) if entries is None else entries)]
        position = 0
        for at in range(0, len(sequence), 32):
            chunk = dict(enumerate(sequence[at:at + 32]))
            runs = self.lanes.runs({lane: self.tables[42 + activity]
                                    for lane, (_, activity, _, sparse, _) in chunk.items() if sparse})
            vertices = {}
            for lane, (tile, activity, positions, sparse, k) in chunk.items():
                position = positions[0] - 1 if k == 0 else position
                position += 1 + (runs[lane] if sparse else 0)
                require(position in positions, "a position outside its list")
                if tile.active(position):
                    vertices[lane] = (tile, position, table_of(position, activity))
                else:
                    require(not sparse, "an entry that is not active")
            self.read_symbols(vertices)

    def read_rows(self, tile):
        """Section 3.7."""
        activity = tile.activities[0]
        if activity == 0:
            return
        rows = [[x for x in range(tile.width) if tile.active(32 * y + x)] for y in range(tile.height)]
        if activity <= 7:
            patterns, coded = [[] for _ in rows], range(tile.height)
            if activity <= 3:
                some = self.lanes.step(range(ceil_div(tile.height, 8)), self.table(20))
                coded = [8 * k + i for k, byte in some.items() for i in range(8) if byte >> i & 1]
                require(all(y < tile.height for y in coded), "a row outside the tile")
            for k in range(tile.columns):
                for y, byte in self.lanes.step(coded, self.table(27 + activity)).items():
                    patterns[y] += [8 * k + i for i in range(8) if byte >> i & 1]
            for active, columns in zip(rows, patterns):
                require(set(columns) <= set(active), "a symbol of a vertex that is not active")
            rows = patterns
        for j in range(max(len(columns) for columns in rows)):
            vertices = {}
            for y, columns in enumerate(rows):
                if j < len(columns):
                    position = 32 * y + columns[j]
                    vertices[y] = (tile, position, 34 + activity if position else 19)
            self.read_symbols(vertices)


def table_of(position, activity):
    """The table of a position (section 3.3)."""
    if position < 16:
        return 19 if position == 0 else 20 if position < 4 else 21
    return (21 if position < 64 else 28 if position < 256 else 35) + activity


# Section 4: tiles ---------------------------------------------------------------------------------

TILE = 32
BLOCKS = [(0, 64), (64, 256), (256, 1024)]
ALL, SOME = 1, 2
LORENZO = 1
STORED, FIRST_DIFFERENCE, LAST_DIFFERENCE, HIDDEN = 179, 180, 190, 191


def make_positions():
    """Section 4.2: the vertices by position."""
    positions = [(0, 0)] * 1024
    for level in range(5):
        s, n = 1 << level, 16 >> level
        for j in range(n):
            for i in range(n):
                positions[n * n + j * n + i] = ((2 * i + 1) * s, 2 * j * s)
                positions[2 * n * n + j * n + i] = (2 * i * s, (2 * j + 1) * s)
                positions[3 * n * n + j * n + i] = ((2 * i + 1) * s, (2 * j + 1) * s)
    return positions


POSITIONS = make_positions()
POSITION_OF = {vertex: position for position, vertex in enumerate(POSITIONS)}


class MaskList:
    """Section 3.5: the list of a mask that covers some vertices of a tile."""

    def __init__(self, entries, by_columns, width, height):
        self.entries, self.by_columns = entries, by_columns
        self.width, self.height = (height, width) if by_columns else (width, height)
        self.differences = set()

    def put(self, number, block):
        x, y = number // 8 * 2, number % 8 * 4
        require(block < 256 and x < self.width and y < self.height, "a block of a mask")
        self.differences |= {(x + k % 2, y + k // 2) for k in range(8) if block >> k & 1}

    def vertices(self):
        mask = set()
        for y in range(self.height):
            for x in range(self.width):
                before = (x, y - 1) if y else (x - 1, 0)
                if ((x, y) in self.differences) != (before in mask):
                    mask.add((x, y))
        return {(y, x) for x, y in mask} if self.by_columns else mask


class Tile:
    def __init__(self, header, number):
        row, tx = divmod(number, header.tiles_x)
        self.z, ty = divmod(row, header.tiles_y)
        self.x0, self.y0 = TILE * tx, TILE * ty
        self.last_x = min(TILE, header.nx - 1 - self.x0)
        self.last_y = min(TILE, header.ny - 1 - self.y0)
        self.width, self.height = min(self.last_x + 1, TILE), min(self.last_y + 1, TILE)
        # Bytes of a row of a mask.
        self.columns = ceil_div(self.width, 8)
        self.lorenzo = header.predictor == LORENZO
        # How much the zero and the fill mask cover, and the vertices under them.
        self.bound_shift, self.covered, self.masks = 0, [0, 0], [set(), set()]
        # Activities, and entries of the sparse lists, by block.
        self.activities, self.entries = [0, 0, 0], [0, 0, 0]
        # Symbols and raw values by position; row by row with the Lorenzo predictor.
        self.symbols, self.raw = [0] * 1024, [0] * 1024

    def position(self, x, y):
        return 32 * y + x if self.lorenzo else POSITION_OF[x, y]

    def is_masked(self, x, y):
        return (x, y) in self.masks[0] or (x, y) in self.masks[1]

    def active(self, position):
        x, y = (position % 32, position // 32) if self.lorenzo else POSITIONS[position]
        return x < self.width and y < self.height and not self.is_masked(x, y)

    def mask(self, plane, coded):
        """The vertices under a mask, from its list if it covers some."""
        owned = {(x, y) for y in range(self.height) for x in range(self.width)}
        if self.covered[plane] != SOME:
            return owned if self.covered[plane] == ALL else set()
        return coded.vertices() & owned

    def lists(self):
        """Activity of the block, positions, and the number of entries of a sparse list, for each list."""
        for k, ((first, end), activity) in enumerate(zip(BLOCKS, self.activities)):
            if activity > 0 and k == 0:
                yield activity, range(0, 16), None
            if activity > 0:
                yield activity, range(max(first, 16), end), None if activity == 7 else self.entries[k]


def shape_of(symbol):
    """Section 4.5: refinement, kind, and the widths a and b of a symbol below 179."""
    if symbol < 25:
        return 0, "small", 0, 0
    if symbol < 74:
        return 0, "pair", (symbol - 25) // 7, (symbol - 25) % 7
    if symbol < 99:
        return 0, "wide", symbol - 67, 0
    if symbol < 115:
        return 1, "pair", (symbol - 99) // 4, (symbol - 99) % 4
    k = symbol - 115
    refinement = 1 + k // 8
    return refinement, "wide", 31 if k % 8 == 7 else 2 * refinement - 2 + (0, 1, 2, 3, 4, 6, 10)[k % 8], 0


def table_raw_bits(symbol, components):
    _, kind, a, b = shape_of(symbol)
    if components == 1:
        return a + 1 if kind == "wide" else a
    return 2 * a + 2 if kind == "wide" else a + b


def difference_bits(symbol, element_bytes):
    return 7 * element_bytes - 20 + 2 * (symbol - FIRST_DIFFERENCE)


def raw_bits(symbol, coarse, header):
    if symbol in (STORED, HIDDEN):
        return 8 * header.components * header.element_bytes
    if symbol > STORED:
        return header.components * difference_bits(symbol, header.element_bytes)
    refinement_bits = 2 * header.components * shape_of(symbol)[0]
    return table_raw_bits(symbol, header.components) + (refinement_bits if coarse else 0)


def signed(z, a):
    if a == 0:
        return 0
    top = 1 << (a - 1)
    magnitude = top + (z & (top - 1))
    return -magnitude if z & top else magnitude


def code_of(symbol, raw, components):
    """The refinement, and by component the integers and, for coarse codes, the refinement bits."""
    refinement, kind, a, b = shape_of(symbol)
    if kind == "small":
        k = 12 if symbol == 0 else symbol - 1 if symbol <= 12 else symbol
        q = [k // 5 - 2, k % 5 - 2]
    elif kind == "pair":
        q = [signed(raw, a), signed(raw >> a, b)]
    else:
        mask = (1 << (a + 1)) - 1
        q = [(raw & mask) - (1 << a), (raw >> (a + 1) & mask) - (1 << a)]
    rest, low = raw >> table_raw_bits(symbol, components), 4 ** refinement - 1
    return refinement, q[:components], [rest & low, rest >> 2 * refinement & low][:components]


def key(bits, size):
    """Section 4.5: the key of a value of so many bits, and the bits of a key."""
    return bits ^ (1 << (size - 1)) - 1 if bits >> (size - 1) else bits


def refined(n, refinement, bits):
    return wrap(n * 4 ** refinement + bits - 4 ** refinement // 2) if refinement > 0 else n


def widths(real, w):
    """Sections 5.1 and 6.1: the widths of the refinements 0 to 8."""
    out = []
    for _ in range(9):
        out.append(real(w))
        w *= 0.25
    return out


class Field:
    """The components as predictions see them (section 4.6), and the arithmetic on them."""

    def __init__(self, header):
        self.header, self.each = header, range(header.components)
        self.seen = np.zeros((header.components, header.nz, header.ny, header.nx), header.real)

    def stored(self, raw):
        bits = 8 * self.header.element_bytes
        parts = [raw >> bits * c & ((1 << bits) - 1) for c in self.each]
        return np.array(parts, self.header.bits).view(self.header.bits.replace("u", "f"))

    def visible(self, symbol, raw):
        """A stored vertex as predictions see it."""
        pair = self.stored(raw)
        bits = (1 << 8 * self.header.element_bytes) - 1
        filled = self.header.has_fill and (pair.view(self.header.bits) == self.header.fill[0] & bits).any()
        return pair if np.isfinite(pair).all() and not filled and symbol == STORED else [0] * len(pair)

    def near(self, symbol, raw, predictions):
        """Section 4.5: the values of differences to the predictions."""
        size, w = 8 * self.header.element_bytes, difference_bits(symbol, self.header.element_bytes)
        pair = np.zeros(len(predictions), self.header.bits)
        for c, prediction in enumerate(predictions):
            p = 0
            if np.isfinite(prediction):
                p = int((self.header.real(prediction) + self.header.real(0)).view(self.header.bits))
                if size == 64:
                    p = p >> 32 << 32 | 1 << 31
            difference = raw >> w * c & ((1 << w) - 1)
            difference -= difference >> (w - 1) << w
            pair[c] = key(key(p, size) + difference & ((1 << size) - 1), size)
        pair = pair.view(self.header.real)
        return pair if np.isfinite(pair).all() else [0] * len(pair)

    def set(self, tile, x, y, pair):
        self.seen[:, tile.z, tile.y0 + y, tile.x0 + x] = pair

    def output(self, tiles):
        """The bits of all values, with those that predictions did not see."""
        bits = self.seen.view(self.header.bits).copy()
        for tile in tiles:
            for y in range(tile.height):
                for x in range(tile.width):
                    at = (slice(None), tile.z, tile.y0 + y, tile.x0 + x)
                    position = tile.position(x, y)
                    if (x, y) in tile.masks[0]:
                        bits[at] = 0
                    elif (x, y) in tile.masks[1]:
                        bits[at] = np.array(self.header.fill, np.uint64)
                    elif tile.symbols[position] in (STORED, HIDDEN):
                        bits[at] = self.stored(tile.raw[position]).view(self.header.bits)
        return bits.tobytes()


# Section 5: the hierarchical predictor ------------------------------------------------------------


class Hierarchical(Field):
    def __init__(self, header):
        super().__init__(header)
        real = header.real
        self.half, self.quarter = real(0.5), real(0.25)
        alpha, beta = [(1.0, 1.0), (1.5, 3.0)][header.level_bound_scaling]
        factor, self.width = 1.0, []
        for _ in range(6):
            self.width.append(widths(real, 2.0 * header.half_bin_width / min(factor, beta)))
            factor *= alpha

    def reconstruct(self, tiles):
        """Section 5.3."""
        self.anchors(tiles)
        self.lines(tiles, True)
        self.lines(tiles, False)
        for tile in tiles:
            self.interior(tile)

    def value(self, q, refinement, level, prediction):
        return prediction + self.header.real(q) * self.width[level][refinement]

    def anchors(self, tiles):
        """Section 5.2."""
        coarse = []
        for number, tile in enumerate(tiles):
            before, n = followed(self.header, number), [0 for _ in self.each]
            symbol, raw = tile.symbols[0], tile.raw[0]
            if tile.is_masked(0, 0):
                self.set(tile, 0, 0, n)
            elif symbol in (STORED, HIDDEN):
                self.set(tile, 0, 0, self.visible(symbol, raw))
            elif symbol > STORED:
                self.set(tile, 0, 0, self.near(symbol, raw, [self.header.real(0) for _ in self.each]))
            else:
                refinement, q, bits = code_of(symbol, raw, self.header.components)
                if before is not None:
                    n = coarse[before] if before >= tile.first_of_group else tile.outer[before]
                n = [wrap(n[c] + q[c]) for c in self.each]
                integers = [refined(n[c], refinement, bits[c]) for c in self.each]
                self.set(tile, 0, 0, [self.value(i, refinement, 5, self.header.real(0)) for i in integers])
            coarse.append(n)

    def vertex(self, tile, x, y, level, prediction):
        """Sets the vertex (x, y) of a tile; `prediction` gives that of a component."""
        position = POSITION_OF[x, y]
        symbol, raw = tile.symbols[position], tile.raw[position]
        if tile.is_masked(x, y):
            self.set(tile, x, y, [0 for _ in self.each])
        elif symbol in (STORED, HIDDEN):
            self.set(tile, x, y, self.visible(symbol, raw))
        elif symbol > STORED:
            self.set(tile, x, y, self.near(symbol, raw, [prediction(c) for c in self.each]))
        else:
            refinement, q, _ = code_of(symbol, raw, self.header.components)
            self.set(tile, x, y, [self.value(q[c], refinement, level, prediction(c)) for c in self.each])

    def closed(self, tile):
        """Views of the components on the closed tile."""
        rows = slice(tile.y0, tile.y0 + tile.last_y + 1)
        columns = slice(tile.x0, tile.x0 + tile.last_x + 1)
        return self.seen[:, tile.z, rows, columns]

    def lines(self, tiles, horizontal):
        for tile in tiles:
            closed = self.closed(tile)
            last = tile.last_x if horizontal else tile.last_y
            for level in (4, 3, 2, 1, 0):
                for k in range(1 << level, min(last, 31) + 1, 2 << level):
                    if horizontal:
                        self.vertex(tile, k, 0, level, lambda c: self.along(closed[c, 0], level, k, last))
                    else:
                        self.vertex(tile, 0, k, level, lambda c: self.along(closed[c, :, 0], level, k, last))

    def interior(self, tile):
        closed, last_x, last_y = self.closed(tile), tile.last_x, tile.last_y
        for level in (4, 3, 2, 1, 0):
            s = 1 << level
            for phase in (0, 1, 2):
                for y in range(2 * s if phase == 0 else s, min(last_y, 31) + 1, 2 * s):
                    for x in range(2 * s if phase == 1 else s, min(last_x, 31) + 1, 2 * s):
                        self.vertex(tile, x, y, level, [
                            lambda c: self.along(closed[c, y], level, x, last_x),
                            lambda c: self.along(closed[c, :, x], level, y, last_y),
                            lambda c: self.centre(closed[c], level, x, y, last_x, last_y),
                        ][phase])

    def along(self, line, level, k, last):
        """Section 5.4: the prediction of number k of a line of values 0 to last."""
        s = 1 << level
        weights = ((1 / 16, 1 / 8), (1 / 32, 0), (0, 0))[self.header.interpolants[level] % 3]
        middle, side = (self.header.real(weight) for weight in weights)
        b = line[k - s]
        has_a, has_c, has_d = k >= 3 * s, k + s <= last, k + 3 * s <= last
        if not has_c:
            return b + self.half * (b - line[k - 3 * s]) if has_a else b
        c = line[k + s]
        mean = self.half * (b + c)
        if has_a and has_d:
            return mean + middle * ((b - line[k - 3 * s]) + (c - line[k + 3 * s]))
        if has_a:
            return mean + side * ((b - line[k - 3 * s]) - (c - b))
        if has_d:
            return mean + side * ((c - b) - (line[k + 3 * s] - c))
        return mean

    def centre(self, p, level, x, y, last_x, last_y):
        s = 1 << level
        if self.header.interpolants[level] >= 3 and x + s <= last_x and y + s <= last_y:
            row = self.half * (p[y, x - s] + p[y, x + s])
            column = self.half * (p[y - s, x] + p[y + s, x])
            corners = self.quarter * ((p[y - s, x - s] + p[y - s, x + s]) + (p[y + s, x - s] + p[y + s, x + s]))
            return (row + column) - corners
        on_row, on_column = self.along(p[y], level, x, last_x), self.along(p[:, x], level, y, last_y)
        if (x + s <= last_x) != (y + s <= last_y):
            return on_row if x + s <= last_x else on_column
        return self.half * (on_row + on_column)


# Section 6: the Lorenzo predictor -----------------------------------------------------------------


class Lorenzo(Field):
    def reconstruct(self, tiles):
        for tile in tiles:
            w = 2.0 * self.header.half_bin_width
            for _ in range(tile.bound_shift):
                w *= 0.5
            width = widths(self.header.real, w)
            # A row and a column of zeros come first.
            n = [[[0] * 33 for _ in range(33)] for _ in self.each]
            zeros = [0 for _ in self.each]
            for y in range(tile.height):
                for x in range(tile.width):
                    symbol, raw = tile.symbols[32 * y + x], tile.raw[32 * y + x]
                    coded = symbol < STORED and not tile.is_masked(x, y)
                    code = code_of(symbol, raw, self.header.components) if coded else (0, zeros, zeros)
                    refinement, q, bits = code
                    for k, difference in zip(n, q):
                        k[y + 1][x + 1] = wrap(difference + k[y + 1][x] + k[y][x + 1] - k[y][x])
                    if coded:
                        integers = [refined(n[c][y + 1][x + 1], refinement, bits[c]) for c in self.each]
                        self.set(tile, x, y, [self.header.real(i) * width[refinement] for i in integers])
                    elif STORED < symbol < HIDDEN and not tile.is_masked(x, y):
                        predictions = [self.header.real(n[c][y + 1][x + 1]) * width[0] for c in self.each]
                        self.set(tile, x, y, self.near(symbol, raw, predictions))


# Section 8.2: decoders ----------------------------------------------------------------------------


def decode(data):
    """The bytes of the components of a stream."""
    header = Header(data)
    data = data[:header.stream_bytes]
    require(checksum(data) == header.checksum, "checksum")
    if header.content == 1:
        values = header.components * header.nx * header.ny * header.nz
        require(len(data) == HEADER_BYTES + values * header.element_bytes, "stored size")
        return data[HEADER_BYTES:]
    stored_tables, groups = sections(header, data)
    tables = [[Frequencies, Lengths][header.coder](stored) for stored in stored_tables]
    tiles = [tile for numbers, group in groups for tile in Group(header, tables, numbers, group).tiles]
    field = [Hierarchical, Lorenzo][header.predictor](header)
    field.reconstruct(tiles)
    return field.output(tiles)


def main():
    paths = sys.argv[1:]
    if not paths or len(paths) % 2:
        sys.exit(__doc__)
    # Overflow is part of the arithmetic, not an event.
    np.seterr(all="ignore")
    for source, target in zip(paths[::2], paths[1::2]):
        with open(source, "rb") as f:
            data = f.read()
        try:
            out = decode(data)
        except Corrupt as error:
            sys.exit(f"{source}: corrupt stream: {error}")
        with open(target, "wb") as f:
            f.write(out)


if __name__ == "__main__":
    main()
