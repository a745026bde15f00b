//! A step of the encoder: what its lanes code at a time.

use crate::entropy::lanes::{lanes_down, Encode, Encoder, LANES, MISSING, PIECE_BITS};
use crate::entropy::lists;
use crate::entropy::symbols::ESCAPE;
use crate::grid::masks::row_mask;

/// At most a symbol in each lane, some with raw bits.
pub(super) struct Step {
    active: u32,
    with_raw: u32,
    symbol: [u8; LANES],
    table: [u8; LANES],
    /// How many raw bits, and which, where there are some.
    bits: [u8; LANES],
    raw: [[u64; 2]; LANES],
}

impl Step {
    pub(super) fn new() -> Self {
        Step {
            active: 0,
            with_raw: 0,
            symbol: [0; LANES],
            table: [0; LANES],
            bits: [0; LANES],
            raw: [[0; 2]; LANES],
        }
    }

    #[inline(always)]
    pub(super) fn put(&mut self, lane: usize, table: usize, symbol: u8) {
        (self.symbol[lane], self.table[lane]) = (symbol, table as u8);
        self.active |= 1 << lane;
    }

    /// Adds symbols of one table in successive lanes.
    pub(super) fn put_list(&mut self, lane: usize, table: u8, symbols: &[u8]) {
        let end = lane + symbols.len();
        self.active |= row_mask(end) & !row_mask(lane);
        self.table[lane..end].fill(table);
        self.symbol[lane..end].copy_from_slice(symbols);
    }

    /// Adds symbols of one table in some lanes.
    pub(super) fn put_lanes(&mut self, active: u32, table: usize, symbols: &[u8; LANES]) {
        (self.active, self.table, self.symbol) = (active, [table as u8; LANES], *symbols);
    }

    /// Gives the symbol of a lane raw bits.
    #[inline(always)]
    pub(super) fn put_raw(&mut self, lane: usize, bits: u32, raw: [u64; 2]) {
        (self.bits[lane], self.raw[lane]) = (bits as u8, raw);
        self.with_raw |= ((bits > 0) as u32) << lane;
    }

    #[inline(always)]
    pub(super) fn put_run(&mut self, lane: usize, table: usize, run: u16) {
        let (symbol, value, bits) = lists::encode_run(run as u32);
        self.put(lane, table, symbol);
        if bits > 0 {
            self.put_raw(lane, bits, [value as u64, 0]);
        }
    }

    /// Encodes what the decoder reads as: all symbols, the escapes, the raw bits.
    pub(super) fn encode<E: Encode>(&mut self, encoder: &mut Encoder, tables: &[E]) {
        if self.active == 0 {
            return;
        }
        if self.with_raw != 0 {
            self.encode_raw(encoder);
        }
        let lane = |lane: usize| (lane, &tables[self.table[lane] as usize], self.symbol[lane]);
        let plain = if self.active == u32::MAX {
            encoder.symbols((0..LANES).rev().map(lane))
        } else {
            encoder.symbols(lanes_down(self.active).map(lane))
        };
        if !plain {
            let escapes = |&(_, table, symbol): &(usize, &E, u8)| table.flags(symbol) & MISSING != 0;
            let items = lanes_down(self.active).map(lane);
            encoder.raw(items.clone().filter(escapes).map(|(lane, _, symbol)| (lane, symbol as u32, 8)));
            encoder.put(items.map(|item| (item.0, item.1, if escapes(&item) { ESCAPE } else { item.2 })));
        }
        (self.active, self.with_raw) = (0, 0);
    }

    /// [`Step::encode`] for symbols of one table in all lanes, which have their raw bits already.
    #[inline(always)]
    pub(super) fn encode_all<E: Encode>(
        &mut self,
        encoder: &mut Encoder,
        tables: &[E],
        table: u8,
        symbols: &[u8; LANES],
    ) {
        if self.with_raw != 0 {
            self.encode_raw(encoder);
            self.with_raw = 0;
        }
        let of = &tables[table as usize];
        if !encoder.symbols((0..LANES).rev().map(|lane| (lane, of, symbols[lane]))) {
            self.put_list(0, table, symbols);
            self.encode(encoder, tables);
        }
    }

    /// [`Step::encode`] for symbols of one table in some lanes.
    #[inline(always)]
    pub(super) fn encode_lanes<E: Encode>(
        &mut self,
        encoder: &mut Encoder,
        tables: &[E],
        active: u32,
        table: usize,
        symbols: &[u8; LANES],
    ) {
        if active == u32::MAX {
            return self.encode_all(encoder, tables, table as u8, symbols);
        }
        if self.with_raw != 0 {
            self.encode_raw(encoder);
            self.with_raw = 0;
        }
        let of = &tables[table];
        if !encoder.symbols(lanes_down(active).map(|lane| (lane, of, symbols[lane]))) {
            self.put_lanes(active, table, symbols);
            self.encode(encoder, tables);
        }
    }

    fn encode_raw(&self, encoder: &mut Encoder) {
        let most = lanes_down(self.with_raw).map(|lane| self.bits[lane] as u32).max().unwrap_or(0);
        for piece in (0..most.div_ceil(PIECE_BITS)).rev() {
            let done = piece * PIECE_BITS;
            let some = lanes_down(self.with_raw).filter(|&lane| self.bits[lane] as u32 > done);
            encoder.raw(some.map(|lane| {
                let n = (self.bits[lane] as u32 - done).min(PIECE_BITS);
                let piece = (self.raw[lane][(done / 64) as usize] >> (done % 64)) as u32;
                (lane, piece & ((1 << n) - 1), n)
            }));
        }
    }
}
