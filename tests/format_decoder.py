#!/usr/bin/env python3
"""An independent decoder of factz streams, written from FORMAT.md alone: plain and slow.

    format_decoder.py STREAM OUTPUT [STREAM OUTPUT]...

Each OUTPUT gets the values of u, row by row, then those of v, in the stream's element type.
Section numbers in the comments are those of FORMAT.md. Needs numpy, for arithmetic that rounds
to the element type after every operation.
"""

import struct
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("format_decoder.py needs numpy: install it with 'python3 -m pip install numpy' "
             "(or name an interpreter that has it in FACTZ_PYTHON)")

U32 = 0xFFFFFFFF
LOW = 65536
ESCAPE = 255
STORED = 179
TILE = 32
BLOCKS = [(0, 64), (64, 256), (256, 1024)]
NONE, ALL, SOME = 0, 1, 2


class Corrupt(Exception):
    pass


def require(condition, message):
    if not condition:
        raise Corrupt(message)


# Section 2 ---------------------------------------------------------------------------------------


class Header:
    def __init__(self, data):
        require(len(data) >= 128, "shorter than a header")
        (magic, self.version, header_bytes, self.checksum, self.dtype, self.mode, self.coder, self.predictor,
         self.preserve, self.bound_kind, self.content, reserved, self.taper) = struct.unpack_from(
            "<4sHHI9B", data, 0)
        self.kernels = list(data[21:26])
        components, self.has_fill = data[26], data[27]
        (self.table_bytes, self.nx, self.ny, nz, self.bound, self.absolute_bound, self.quantum, self.dx,
         self.dy, fill_u, fill_v, self.stream_bytes, self.groups) = struct.unpack_from("<I3Q5d4Q", data, 28)
        self.fill = [fill_u, fill_v]
        require(magic == b"FCTZ", "no factz stream")
        require(self.version == 1, f"format version {self.version}, this decoder reads version 1")
        require(header_bytes == 128, "header_bytes")
        require(self.dtype < 2 and self.mode < 2 and self.coder < 2 and self.predictor < 2, "header choice")
        require(self.preserve < 3 and self.bound_kind < 2 and self.content < 2, "header choice")
        require(reserved == 0 and self.taper < 2 and max(self.kernels) < 6, "header choice")
        require(components == 2 and nz == 1, "reserved field")
        require(self.has_fill < 2, "header choice")
        require(self.nx >= 1 and self.ny >= 1 and self.nx * self.ny <= 1 << 48, "grid size")
        for x in (self.bound, self.absolute_bound, self.quantum, self.dx, self.dy):
            require(np.isfinite(x) and x >= 0, "bound or spacing")
        require(self.stream_bytes % 4 == 0 and 128 <= self.stream_bytes <= len(data), "stream_bytes")
        self.real = [np.float32, np.float64][self.dtype]
        self.bits = ["<u4", "<u8"][self.dtype]
        self.element_bytes = [4, 8][self.dtype]
        self.tiles_x = -(-self.nx // TILE)
        self.tiles = self.tiles_x * -(-self.ny // TILE)
        require(self.groups == 0 if self.content else -(-self.tiles // 256) <= self.groups <= self.tiles, "groups")


# Section 12 --------------------------------------------------------------------------------------


def checksum(data):
    total = 0
    for k, (word,) in enumerate(struct.iter_unpack("<I", data)):
        x = 0 if k == 2 else word
        x = (x + k * 0x9E3779B9) & U32
        x = ((x ^ x >> 16) * 0x85EBCA6B) & U32
        x = ((x ^ x >> 13) * 0xC2B2AE35) & U32
        total = (total + (x ^ x >> 16)) & U32
    return total


# Section 4 ---------------------------------------------------------------------------------------


def read_entries(data, read):
    """The entries of a stored table, as read(take, symbol); take(n) gives the next n bits."""
    number, at = int.from_bytes(data, "little"), 0

    def take(n):
        nonlocal at
        require(at + n <= 8 * len(data), "a table ends early")
        at += n
        return number >> (at - n) & ((1 << n) - 1)

    symbol = -1
    for _ in range(take(8) + 1):
        n = 0
        while take(1) == 0:
            n += 1
        symbol += 1 << n | take(n)
        require(symbol <= 255, "a table exceeds the alphabet")
        read(take, symbol)


class Frequencies:
    """Frequencies, first slots, and the symbol of every slot."""

    def __init__(self, data):
        self.frequency = [0] * 256
        if data:
            read_entries(data, self.read)
            require(sum(self.frequency) == 4096, "frequencies do not sum to 4096")
        self.start, self.slots = [0] * 256, []
        for symbol, frequency in enumerate(self.frequency):
            self.start[symbol] = len(self.slots)
            self.slots += [symbol] * frequency

    def read(self, take, symbol):
        m = take(4)
        self.frequency[symbol] = 1 << m | take(m)

    def empty(self):
        return not self.slots

    def next(self, x):
        """The symbol of a state, and the state behind it."""
        slot = x & 4095
        s = self.slots[slot]
        return s, (self.frequency[s] * (x >> 12) + slot - self.start[s]) & U32


class Lengths:
    """Canonical codes: a dictionary from (length, code) to symbol."""

    def __init__(self, data):
        self.length, self.symbols = {}, {}
        if data:
            read_entries(data, self.read)
            require(sum(2048 >> n for n in self.length.values()) == 2048, "codes do not fill their space")
        code, before = 0, 0
        for symbol, n in sorted(self.length.items(), key=lambda item: (item[1], item[0])):
            code <<= n - before
            self.symbols[n, code] = symbol
            code, before = code + 1, n

    def read(self, take, symbol):
        self.length[symbol] = take(4)
        require(self.length[symbol] <= 11, "a code of more than 11 bits")

    def empty(self):
        return not self.length

    def next(self, x):
        code, n = 0, 0
        while (n, code) not in self.symbols:
            code, n = code << 1 | x >> n & 1, n + 1
        return self.symbols[n, code], x >> n


# By coder: the kind of tables.
CODERS = [Frequencies, Lengths]


def table_of(position, class_):
    if position == 0:
        return 19
    if position < 4:
        return 20
    if position < 16:
        return 21
    return (21 if position < 64 else 28 if position < 256 else 35) + class_


# Section 5 ---------------------------------------------------------------------------------------


class Coder:
    def __init__(self, data):
        require(len(data) >= 128 and len(data) % 4 == 0, "size of a group")
        self.states = list(struct.unpack_from("<32I", data, 0))
        require(min(self.states) >= 65536, "a state below 65536")
        self.words = struct.unpack_from(f"<{len(data) // 2 - 64}H", data, 128)
        self.next = 0

    def refill(self, x):
        if x < LOW:
            x = x << 16 | (self.words[self.next] if self.next < len(self.words) else 0)
            self.next += 1
        return x

    def symbol(self, lane, table):
        if table.empty():
            return 0
        s, x = table.next(self.states[lane])
        self.states[lane] = self.refill(x)
        return s

    def raw(self, lane, n):
        x = self.states[lane]
        self.states[lane] = self.refill(x >> n)
        return x & ((1 << n) - 1)

    def step(self, active, table):
        """Symbols of the active lanes (ascending), as a dictionary."""
        s = {i: self.symbol(i, table(i)) for i in active}
        for i in active:
            if s[i] == ESCAPE:
                s[i] = self.raw(i, 8)
        return s

    def finish(self):
        require(all(x == LOW for x in self.states), "a lane does not end in its first state")
        require(-(-self.next // 2) * 2 == len(self.words), "a group is not used up")


# Sections 6, 7 and 7a ----------------------------------------------------------------------------


def make_positions():
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


class Tile:
    def __init__(self, header, number):
        self.tx, self.ty = number % header.tiles_x, number // header.tiles_x
        self.x0, self.y0 = TILE * self.tx, TILE * self.ty
        self.last_x = min(TILE, header.nx - 1 - self.x0)
        self.last_y = min(TILE, header.ny - 1 - self.y0)
        self.width, self.height = min(self.last_x + 1, TILE), min(self.last_y + 1, TILE)
        self.mode = self.tier = 0
        self.lorenzo = header.predictor == 1
        # With the Lorenzo predictor: the class of all vertices.
        self.class_ = 0
        self.classes = [0, 0, 0]
        # Entries of the sparse list of each block, and of the lists of the zero and the fill mask.
        self.entries, self.mask_entries = [0, 0, 0], [0, 0]
        # By position: symbol and raw value, and by vertex: under the zero or the fill mask.
        self.symbols, self.raw = [0] * 1024, [0] * 1024
        self.zero, self.fill = set(), set()

    def has_codes(self):
        return self.mode // 3 != ALL and self.mode % 3 != ALL

    def active(self, position):
        x, y = (position % 32, position // 32) if self.lorenzo else POSITIONS[position]
        return (x < self.width and y < self.height and (x, y) not in self.zero and (x, y) not in self.fill)

    def states(self):
        return [self.mode // 3, self.mode % 3]

    def owned(self):
        return {(x, y) for y in range(self.height) for x in range(self.width)}

    def columns(self):
        """Bytes of a row of a mask."""
        return -(-self.width // 8)

    def set_masks(self, byte_of):
        """The masks: byte_of(plane) gives the bytes of one that covers some vertices, by number."""
        masks = []
        for plane, state in enumerate(self.states()):
            mask = self.owned() if state == ALL else set()
            if state == SOME:
                byte = byte_of(plane)
                for b in range(self.columns()):
                    bits = 0
                    for y in range(self.height):
                        bits ^= byte.get(32 * b + y, 0)
                        mask |= {(8 * b + k, y) for k in range(8) if bits >> k & 1}
                mask &= self.owned()
            masks.append(mask)
        self.zero, self.fill = masks

    def check_mask_number(self, number):
        require(number < 32 * self.columns() and number % 32 < self.height, "a mask byte outside the tile")

    def vertex_lists(self):
        """The lists of the tile: class of the block, positions, and the number of entries if it is sparse."""
        for k, ((first, end), class_) in enumerate(zip(BLOCKS, self.classes)):
            if class_ > 0 and k == 0:
                yield class_, range(0, 16), None
            if class_ > 0:
                yield class_, range(max(first, 16), end), None if class_ == 7 else self.entries[k]


def raw_values(coder, bits):
    """Raw bits by lane, in pieces of 16."""
    raw, piece = {i: 0 for i in bits}, 0
    while any(n > 16 * piece for n in bits.values()):
        for i in sorted(bits):
            if bits[i] > 16 * piece:
                raw[i] |= coder.raw(i, min(16, bits[i] - 16 * piece)) << 16 * piece
        piece += 1
    return raw


def read_vertices(coder, tables, vertices, element_bytes):
    """A step of vertices, as a dictionary from lane to tile, position and table, and their raw bits."""
    step = coder.step(sorted(vertices), lambda i: tables[vertices[i][2]])
    bits = {}
    for i, (tile, p, _) in vertices.items():
        tile.symbols[p] = min(step[i], STORED)
        bits[i] = raw_bits(tile.symbols[p], tile.lorenzo or p == 0, element_bytes)
        require(not tile.lorenzo or bits[i] <= 16 * element_bytes, "too many raw bits")
    for i, value in raw_values(coder, bits).items():
        tile, p, _ = vertices[i]
        tile.raw[p] = value


def read_runs(coder, tables):
    """The runs in some lanes, by their tables."""
    runs = coder.step(sorted(tables), lambda i: tables[i])
    for i in sorted(runs):
        require(runs[i] < 28, "symbol of a run")
        if runs[i] >= 16:
            n = runs[i] // 2 - 5
            runs[i] = (2 + runs[i] % 2) << n | coder.raw(i, n)
    return runs


def read_rows(coder, tables, tile, element_bytes):
    """Section 7a: lane y is row y of the tile."""
    if tile.class_ == 0:
        return
    rows = [[x for x in range(tile.width) if tile.active(32 * y + x)] for y in range(tile.height)]
    if tile.class_ <= 7:
        present = [[] for _ in rows]
        coded = range(tile.height)
        if tile.class_ <= 3:
            some = coder.step(range(-(-tile.height // 8)), lambda _: tables[20])
            coded = [8 * k + i for k, byte in some.items() for i in range(8) if byte >> i & 1]
            require(all(y < tile.height for y in coded), "a row that is not there")
        for k in range(tile.columns()):
            for y, byte in coder.step(coded, lambda _: tables[27 + tile.class_]).items():
                present[y] += [8 * k + i for i in range(8) if byte >> i & 1]
        for active, columns in zip(rows, present):
            require(set(columns) <= set(active), "a symbol of a vertex that is not active")
        rows = present
    for j in range(max(len(columns) for columns in rows)):
        vertices = {}
        for y, columns in enumerate(rows):
            if j < len(columns):
                position = 32 * y + columns[j]
                vertices[y] = (tile, position, 34 + tile.class_ if position else 19)
        read_vertices(coder, tables, vertices, element_bytes)


def read_masks(coder, tables, batch):
    """Masks of a batch: a sequence of entries, 32 of which are coded at a time."""
    for plane in (0, 1):
        for i, tile in enumerate(batch):
            if tile.states()[plane] == SOME:
                tile.mask_entries[plane] = coder.raw(i, 8)
    sequence = [(i, plane, k) for i, tile in enumerate(batch) for plane in (0, 1)
                for k in range(tile.mask_entries[plane])]
    byte = {(i, plane): {} for i in range(len(batch)) for plane in (0, 1)}
    number = 0
    for at in range(0, len(sequence), 32):
        chunk = sequence[at:at + 32]
        runs = read_runs(coder, {lane: tables[49] for lane in range(len(chunk))})
        step = coder.step(range(len(chunk)), lambda _: tables[18])
        for lane, (i, plane, k) in enumerate(chunk):
            number = runs[lane] if k == 0 else number + 1 + runs[lane]
            batch[i].check_mask_number(number)
            byte[i, plane][number] = step[lane]
    for i, tile in enumerate(batch):
        tile.set_masks(lambda plane: byte[i, plane])


def read_lists(coder, tables, batch, element_bytes):
    """Vertices of a batch: another such sequence."""
    sequence = []
    for tile in batch:
        if tile.has_codes():
            for class_, positions, entries in tile.vertex_lists():
                sequence += [(tile, class_, positions, entries is not None, k)
                             for k in range(len(positions) if entries is None else entries)]
    position = 0
    for at in range(0, len(sequence), 32):
        chunk = dict(enumerate(sequence[at:at + 32]))
        runs = read_runs(coder, {lane: tables[42 + class_] for lane, (_, class_, _, sparse, _) in chunk.items()
                                 if sparse})
        vertices = {}
        for lane, (tile, class_, positions, sparse, k) in chunk.items():
            position = positions[0] - 1 if k == 0 else position
            position += 1 + (runs[lane] if sparse else 0)
            require(position in positions, "a position outside its list")
            if tile.active(position):
                vertices[lane] = (tile, position, table_of(position, class_))
            else:
                require(not sparse, "an entry that is not active")
        read_vertices(coder, tables, vertices, element_bytes)


def read_group(header, data, numbers, tables):
    coder, tiles = Coder(data), [Tile(header, k) for k in numbers]
    for first in range(0, len(tiles), 32):
        batch = tiles[first:first + 32]
        for i, mode in coder.step(range(len(batch)), lambda _: tables[0]).items():
            require(mode < [9, 72][header.predictor], "tile mode")
            batch[i].tier, batch[i].mode = divmod(mode, 9)
        coded = [i for i, tile in enumerate(batch) if tile.has_codes()]
        if header.predictor == 1:
            for i, class_ in coder.step(coded, lambda _: tables[1]).items():
                require(class_ <= 8, "class")
                batch[i].class_ = class_
            read_masks(coder, tables, batch)
            for i in coded:
                read_rows(coder, tables, batch[i], header.element_bytes)
            continue
        for block in range(3):
            context = [lambda i: 1, lambda i: 2 + batch[i].classes[0],
                       lambda i: 10 + batch[i].classes[1]][block]
            for i, class_ in coder.step(coded, lambda i: tables[context(i)]).items():
                require(class_ <= 7, "class")
                batch[i].classes[block] = class_
        for block in range(3):
            for i in coded:
                class_ = batch[i].classes[block]
                bits = class_ + (-1, 0, 2)[block]
                if 1 <= class_ <= 6 and bits > 0:
                    batch[i].entries[block] = coder.raw(i, bits)
        read_masks(coder, tables, batch)
        read_lists(coder, tables, batch, header.element_bytes)
    coder.finish()
    return tiles


# Section 8 ---------------------------------------------------------------------------------------


def shape_of(symbol):
    """Id, kind, and the widths a and b of a symbol other than 179."""
    if symbol < 25:
        return 0, "small", 0, 0
    if symbol < 74:
        return 0, "pair", (symbol - 25) // 7, (symbol - 25) % 7
    if symbol < 99:
        return 0, "wide", symbol - 67, 0
    if symbol < 115:
        return 1, "pair", (symbol - 99) // 4, (symbol - 99) % 4
    k = symbol - 115
    id_ = 1 + k // 8
    return id_, "wide", 31 if k % 8 == 7 else 2 * id_ - 2 + (0, 1, 2, 3, 4, 6, 10)[k % 8], 0


def table_raw_bits(symbol):
    _, kind, a, b = shape_of(symbol)
    return 2 * a + 2 if kind == "wide" else a + b


def raw_bits(symbol, has_digits, element_bytes):
    if symbol == STORED:
        return 16 * element_bytes
    return table_raw_bits(symbol) + (4 * shape_of(symbol)[0] if has_digits else 0)


def signed(z, a):
    if a == 0:
        return 0
    top = 1 << (a - 1)
    magnitude = top + (z & (top - 1))
    return -magnitude if z & top else magnitude


def code_of(symbol, raw):
    """Id and the two integers."""
    id_, kind, a, b = shape_of(symbol)
    if kind == "small":
        k = 12 if symbol == 0 else symbol - 1 if symbol <= 12 else symbol
        return id_, [k // 5 - 2, k % 5 - 2]
    if kind == "pair":
        return id_, [signed(raw, a), signed(raw >> a, b)]
    mask = (1 << (a + 1)) - 1
    return id_, [(raw & mask) - (1 << a), (raw >> (a + 1) & mask) - (1 << a)]


# Sections 9 to 11 --------------------------------------------------------------------------------


def wrap(z):
    """As 32 bits hold it."""
    return (z + (1 << 31)) % (1 << 32) - (1 << 31)


class Values:
    """Both components of one field as predictions see them, and the arithmetic on them."""

    def __init__(self, header):
        self.header = header
        self.real = header.real
        self.seen = np.zeros((2, header.ny, header.nx), self.real)
        self.half, self.quarter = self.real(0.5), self.real(0.25)
        self.width = self.widths()

    def widths(self):
        alpha, beta = [(1.0, 1.0), (1.5, 3.0)][self.header.taper]
        factor, width = 1.0, []
        for _ in range(6):
            w = (2.0 * self.header.quantum) / min(factor, beta)
            row = []
            for _ in range(9):
                row.append(self.real(w))
                w *= 0.25
            width.append(row)
            factor *= alpha
        return width

    def value(self, q, id_, level, prediction):
        return prediction + self.real(q) * self.width[level][id_]

    def stored(self, raw):
        bits = 8 * self.header.element_bytes
        parts = [raw & ((1 << bits) - 1), raw >> bits]
        return np.array(parts, self.header.bits).view(self.header.bits.replace("u", "f"))

    def visible(self, pair):
        """What predictions see of stored values."""
        bits = (1 << 8 * self.header.element_bytes) - 1
        filled = self.header.has_fill and (pair.view(self.header.bits) == self.header.fill[0] & bits).any()
        return pair if np.isfinite(pair).all() and not filled else [0, 0]

    def set(self, x, y, pair):
        self.seen[0, y, x], self.seen[1, y, x] = pair

    def vertex(self, tile, x, y, level, prediction):
        """Sets the vertex (x, y) of a tile; `prediction` gives that of a component."""
        position = POSITION_OF[x, y]
        symbol, raw = tile.symbols[position], tile.raw[position]
        at = (tile.x0 + x, tile.y0 + y)
        if (x, y) in tile.zero or (x, y) in tile.fill:
            self.set(*at, [0, 0])
        elif symbol == STORED:
            pair = self.stored(raw)
            self.set(*at, self.visible(pair))
        else:
            id_, q = code_of(symbol, raw)
            self.set(*at, [self.value(q[c], id_, level, prediction(c)) for c in (0, 1)])

    def anchors(self, tiles):
        first = [0, 0]
        for tile in tiles:
            if tile.tx == 0:
                base = first
            symbol, raw, at = tile.symbols[0], tile.raw[0], (tile.x0, tile.y0)
            if (0, 0) in tile.zero or (0, 0) in tile.fill:
                self.set(*at, [0, 0])
            elif symbol == STORED:
                pair = self.stored(raw)
                self.set(*at, self.visible(pair))
            else:
                below = table_raw_bits(symbol)
                id_, q = code_of(symbol, raw & ((1 << below) - 1))
                base = [wrap(base[c] + q[c]) for c in (0, 1)]
                integers = base
                if id_ > 0:
                    digits = raw >> below
                    digit = [digits & (4 ** id_ - 1), digits >> 2 * id_ & (4 ** id_ - 1)]
                    integers = [wrap(base[c] * 4 ** id_ + digit[c] - 4 ** id_ // 2) for c in (0, 1)]
                self.set(*at, [self.value(integers[c], id_, 5, self.real(0)) for c in (0, 1)])
            if tile.tx == 0:
                first = base

    def lorenzo(self, tile):
        """All vertices of a tile; the row and the column of base codes before it are zeros."""
        width = [self.real(2.0 * self.header.quantum * 0.5 ** tile.tier * 0.25 ** k) for k in range(9)]
        base = [[[0] * 33 for _ in range(33)] for _ in (0, 1)]
        for y in range(tile.height):
            for x in range(tile.width):
                symbol, raw, at = tile.symbols[32 * y + x], tile.raw[32 * y + x], (tile.x0 + x, tile.y0 + y)
                hidden = (x, y) in tile.zero or (x, y) in tile.fill
                coded = not hidden and symbol != STORED
                below = table_raw_bits(symbol) if coded else 0
                id_, q = code_of(symbol, raw & ((1 << below) - 1)) if coded else (0, [0, 0])
                for c in (0, 1):
                    k = base[c]
                    k[y + 1][x + 1] = q[c] + k[y + 1][x] + k[y][x + 1] - k[y][x]
                integers = [wrap(base[c][y + 1][x + 1]) for c in (0, 1)]
                if id_ > 0:
                    digits = raw >> below
                    digit = [digits & (4 ** id_ - 1), digits >> 2 * id_ & (4 ** id_ - 1)]
                    integers = [wrap(integers[c] * 4 ** id_ + digit[c] - 4 ** id_ // 2) for c in (0, 1)]
                if coded:
                    self.set(*at, [self.real(integers[c]) * width[id_] for c in (0, 1)])

    def along(self, line, level, k, last):
        """Prediction of number k of a line of values 0 to last."""
        s, c = 1 << level, self.header.kernels[level] % 3
        middle, side = [(self.real(m), self.real(t)) for m, t in ((1 / 16, 1 / 8), (1 / 32, 0), (0, 0))][c]
        b = line[k - s]
        has_a, has_c, has_d = k >= 3 * s, k + s <= last, k + 3 * s <= last
        if not has_c:
            return b + self.half * (b - line[k - 3 * s]) if has_a else b
        c = line[k + s]
        mean = self.half * (b + c)
        if has_a and has_d:
            a, d = line[k - 3 * s], line[k + 3 * s]
            return mean + middle * ((b - a) + (c - d))
        if has_a:
            a = line[k - 3 * s]
            return mean + side * ((b - a) - (c - b))
        if has_d:
            d = line[k + 3 * s]
            return mean + side * ((c - b) - (d - c))
        return mean

    def centre(self, p, level, x, y, last_x, last_y):
        s = 1 << level
        if self.header.kernels[level] >= 3 and x + s <= last_x and y + s <= last_y:
            across = self.half * (p[y, x - s] + p[y, x + s])
            down = self.half * (p[y - s, x] + p[y + s, x])
            corners = self.quarter * ((p[y - s, x - s] + p[y - s, x + s]) + (p[y + s, x - s] + p[y + s, x + s]))
            return (across + down) - corners
        return self.half * (self.along(p[y], level, x, last_x) + self.along(p[:, x], level, y, last_y))

    def closed(self, tile):
        """Views of both components on the closed tile."""
        rows = slice(tile.y0, tile.y0 + tile.last_y + 1)
        columns = slice(tile.x0, tile.x0 + tile.last_x + 1)
        return self.seen[:, rows, columns]

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

    def output(self, tiles):
        """Bits of all values, with those that predictions did not see."""
        bits = self.seen.view(self.header.bits).copy()
        for tile in tiles:
            for y in range(tile.height):
                for x in range(tile.width):
                    at = (slice(None), tile.y0 + y, tile.x0 + x)
                    position = 32 * y + x if tile.lorenzo else POSITION_OF[x, y]
                    if (x, y) in tile.zero:
                        bits[at] = 0
                    elif (x, y) in tile.fill:
                        bits[at] = np.array(self.header.fill, np.uint64)
                    elif tile.symbols[position] == STORED:
                        bits[at] = self.stored(tile.raw[position]).view(self.header.bits)
        return bits.tobytes()


def decode(data):
    """The bytes of u and v of a stream."""
    header = Header(data)
    data = data[:header.stream_bytes]
    require(checksum(data) == header.checksum, "checksum")
    if header.content == 1:
        require(len(data) == 128 + 2 * header.nx * header.ny * header.element_bytes, "stored size")
        return data[128:]
    groups = header.groups
    kind = CODERS[header.coder]
    require(len(data) >= 128 + max(header.table_bytes, 52) + 132 * groups, "stream_bytes")
    directory, at, tables = data[128:178], 180, []
    for size in directory:
        tables.append(kind(data[at:at + 4 * size]))
        at += 4 * size
    require(at == 128 + header.table_bytes, "table_bytes")
    sizes = struct.unpack_from(f"<{groups}I", data, at)
    at += 4 * groups
    tiles = []
    for word in sizes:
        size, end = word & 0xFFFFFF, len(tiles) + (word >> 24) + 1
        require(at + size <= len(data), "group size")
        require(end <= header.tiles, "tiles of a group")
        tiles += read_group(header, data[at:at + size], range(len(tiles), end), tables)
        at += size
    require(at == len(data), "the groups do not reach the end")
    require(len(tiles) == header.tiles, "the groups do not have all tiles")
    values = Values(header)
    if header.predictor == 1:
        for tile in tiles:
            values.lorenzo(tile)
        return values.output(tiles)
    values.anchors(tiles)
    values.lines(tiles, True)
    values.lines(tiles, False)
    for tile in tiles:
        values.interior(tile)
    return values.output(tiles)


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
