// Runs the kernels of the codec on a processor, thread by thread. Every part of the workspace, the stream
// and the output lies in memory of its own, fenced on both sides. Work that a device does in parallel is
// done one after the other here, in one of several orders, so that results that depend on the order show.
//
//   emulator compress ORDER DTYPE NX NY NZ PLANE_ROWS BOUND_KIND BOUND MODE PREDICTOR CODER PRESERVE TIES
//   HALO
//            PIN PERIODIC DX DY U V FIRST PITCH FILL STREAM
//   emulator decompress ORDER DTYPE NX NY NZ PLANE_ROWS STREAM U V FIRST
//   emulator compress_volume ORDER DTYPE NX NY NZ PLANE_ROWS BOUND_KIND BOUND CODER PRESERVE TIES HALO PIN
//            PERIODIC DX DY DZ U V W FIRST PITCH FILL STREAM
//   emulator decompress_volume ORDER DTYPE NX NY NZ STREAM U V W
//   emulator protect ORDER DTYPE COMPONENTS NX NY NZ PLANE_ROWS BOUND_KIND BOUND PRESERVE TIES HALO PIN
//   PERIODIC
//            DX DY DZ FILL U V W FIRST PITCH OTHER_U OTHER_V OTHER_W CAPACITY FIX
//   emulator apply ORDER DTYPE COMPONENTS NX NY NZ FIX U V W
//   emulator walk SEED
//   emulator analyze ORDER DTYPE NX NY NZ PERIODIC COLUMNS ROWS COLUMNS_BEFORE ROWS_BEFORE BOUND_KIND BOUND
//            HAS_FILL FILL DX DY TIES U V OTHER_U OTHER_V FIRST PITCH PLANE OTHER_PLANE RESULTS
//
// Numbers are those of kernels/device/shared.cuh; HALO has the sides of periodic axes too. FIRST is the
// element of U and V that is the first vertex, in decompression the first plane of NZ, or "-" for a stream of
// NZ planes. PLANE and OTHER_PLANE are the elements from a plane to the next, FILL the bits of the fill value
// or "-". Prints the status, and for a compression the counts of the report.
// RESULTS are the comparison, the range, and the number of critical points with the points. walk sums the
// differences of the anchors of an arbitrary group. With reads.cpp, FACTZ_COUNT_READS=1 lists how often each
// kernel reads, and FACTZ_LIST_DATA=1 which regions it uses.
#include <link.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

// Behind all others: it gives words a meaning that they use.
#include "cuda.hpp"

#include "factz.cu"

Index threadIdx, blockIdx, blockDim, gridDim;
alignas(256) unsigned char emulated_shared[256 << 10];

namespace {

// ---- The threads of a block

enum class State { READY, AT_COLLECTIVE, AT_BLOCK_BARRIER, AT_NAMED_BARRIER, AT_COUNTER, ENDED };

struct Thread {
    ucontext_t context;  // where it begins
    jmp_buf jump;        // where it goes on: without the system calls of contexts
    bool has_begun;
    std::unique_ptr<char[]> stack;
    State state;
    Collective kind;
    uint64_t value;  // of the collective or the barrier
    int barrier, barrier_threads;
    const volatile unsigned* counter;
    unsigned awaited;  // of the counter
};

// A block whose shared memory is kept apart while others are at work.
struct Block {
    std::vector<Thread> threads{1024};  // as many as a block can have; contexts must not move
    std::vector<uint64_t> collected;    // by warp and lane
    std::vector<uint64_t> static_shared, launched_shared;
};

constexpr size_t STACK_BYTES = 128 << 10;
std::vector<std::unique_ptr<Block>> resident;  // blocks that run at the same time
Block* block;                                  // that which is at work
size_t block_threads;
jmp_buf scheduler;
size_t current;
bool barrier_value, backwards;
const char* kernel_name = "";
std::function<void()> kernel_body;

[[noreturn]] void fail(const char* why) {
    std::fprintf(stderr, "factz_%s: %s (block %u)\n", kernel_name, why, blockIdx.x);
    std::exit(3);
}

void wait_as(State state) {
    Thread& me = block->threads[current];
    me.state = state;
    if (_setjmp(me.jump) == 0) _longjmp(scheduler, 1);
}

// Until it waits.
__attribute__((noinline)) void go_on(size_t t) {
    current = t;
    threadIdx = {(unsigned)t, 0, 0};
    if (_setjmp(scheduler) != 0) return;
    if (block->threads[t].has_begun) _longjmp(block->threads[t].jump, 1);
    block->threads[t].has_begun = true;
    setcontext(&block->threads[t].context);
}

void run_thread() {
    kernel_body();
    wait_as(State::ENDED);
}

std::vector<Thread>::iterator block_begin() { return block->threads.begin(); }
std::vector<Thread>::iterator block_end() { return block->threads.begin() + (std::ptrdiff_t)block_threads; }

size_t in_order(size_t k, size_t n) { return backwards ? n - 1 - k : k; }

// Lets the threads of a warp that can go on do so. Whether any could.
bool run_warp(size_t warp) {
    bool any = false;
    for (size_t k = 0; k < 32; k++) {
        const size_t t = 32 * warp + in_order(k, 32);
        if (block->threads[t].state != State::READY) continue;
        go_on(t);
        any = true;
    }
    size_t waiting = 0;
    for (size_t t = 32 * warp; t < 32 * warp + 32; t++)
        waiting += block->threads[t].state == State::AT_COLLECTIVE;
    if (waiting == 0) return any;
    if (waiting < 32) fail("some lanes of a warp are at a collective, others are not");
    for (size_t t = 32 * warp; t < 32 * warp + 32; t++) {
        if (block->threads[t].kind != block->threads[32 * warp].kind)
            fail("lanes of a warp are at different collectives");
        block->collected[t] = block->threads[t].value;
        block->threads[t].state = State::READY;
    }
    return true;
}

// Opens barriers where all are there. Whether there was one.
bool open_barriers() {
    bool any = false;
    for (size_t k = 0; k < block_threads; k++) {
        const Thread& one = block->threads[k];
        if (one.state != State::AT_NAMED_BARRIER) continue;
        const int barrier = one.barrier;
        auto at_it = [&](const Thread& t) {
            return t.state == State::AT_NAMED_BARRIER && t.barrier == barrier;
        };
        const auto there = std::count_if(block_begin(), block_end(), at_it);
        if (there < one.barrier_threads) continue;
        if (there > one.barrier_threads) fail("more threads are at a barrier than it is for");
        std::for_each(block_begin(), block_end(), [&](Thread& t) {
            if (at_it(t)) t.state = State::READY;
        });
        any = true;
    }
    size_t there = 0, ended = 0;
    barrier_value = false;
    for (size_t k = 0; k < block_threads; k++) {
        const Thread& t = block->threads[k];
        ended += t.state == State::ENDED;
        if (t.state != State::AT_BLOCK_BARRIER) continue;
        there++;
        barrier_value |= t.value != 0;
    }
    if (there == 0 || there + ended < block_threads) return any;
    if (ended) fail("threads have ended that others wait for");
    std::for_each(block_begin(), block_end(), [](Thread& t) { t.state = State::READY; });
    return true;
}

// Makes the threads of the block ready to begin.
void begin_block(size_t n) {
    block_threads = n;
    block->collected.assign(n, 0);
    for (size_t k = 0; k < n; k++) {
        Thread& t = block->threads[k];
        if (!t.stack) {
            t.stack.reset(new char[STACK_BYTES]);
            getcontext(&t.context);
        }
        t.has_begun = false;
        t.state = State::READY;
        t.context.uc_stack.ss_sp = t.stack.get();
        t.context.uc_stack.ss_size = STACK_BYTES;
        t.context.uc_link = nullptr;
        makecontext(&t.context, run_thread, 0);
    }
}

bool has_ended() {
    return std::all_of(block_begin(), block_end(), [](const Thread& t) { return t.state == State::ENDED; });
}

// Lets every thread of the block go on until it waits. Whether any could.
bool advance_block() {
    bool any = false;
    std::for_each(block_begin(), block_end(), [](Thread& t) {
        if (t.state == State::AT_COUNTER && *t.counter >= t.awaited) t.state = State::READY;
    });
    for (size_t k = 0; k < block_threads / 32; k++) any |= run_warp(in_order(k, block_threads / 32));
    return any | open_barriers();
}

// Static shared memory: all variables of the thread.
int find_static_shared(dl_phdr_info* program, size_t, void* found) {
    auto& words = *static_cast<std::vector<uint64_t*>*>(found);
    for (int k = 0; k < program->dlpi_phnum; k++) {
        if (program->dlpi_phdr[k].p_type != PT_TLS) continue;
        words = {static_cast<uint64_t*>(program->dlpi_tls_data)};
        words.push_back(words[0] + program->dlpi_phdr[k].p_memsz / sizeof(uint64_t));
    }
    return 1;
}

const std::vector<uint64_t*>& static_shared() {
    static const std::vector<uint64_t*> shared = [] {
        std::vector<uint64_t*> words;
        dl_iterate_phdr(find_static_shared, &words);
        if (words.empty()) fail("no shared memory was found");
        return words;
    }();
    return shared;
}

// Fills shared memory before a block begins, since a device leaves in it whatever earlier blocks wrote: with
// infinities of both signs, as doubles or floats, so that a value nobody wrote shows in the results.
void forget_shared(uint64_t block) {
    const auto& shared = static_shared();
    std::memset(emulated_shared, 0xa5, sizeof emulated_shared);
    uint64_t random = block;
    for (uint64_t* word = shared[0]; word < shared[1]; word++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        *word = block % 2 ? 0x7f8000007f800000ull | (random & 0x8000000080000000ull)
                          : 0x7ff0000000000000ull | (random & 0x8000000000000000ull);
    }
}

void run_block(size_t n) {
    begin_block(n);
    while (!has_ended())
        if (!advance_block()) fail("all threads wait for others");
}

// Lets a block go on for a turn. Its shared memory is there meanwhile. Whether any thread could.
bool take_turn(Block& turn, unsigned index) {
    constexpr int STEPS_OF_TURN = 16;
    uint64_t *const statics = static_shared()[0], *const end = static_shared()[1];
    uint64_t* const launched = reinterpret_cast<uint64_t*>(emulated_shared);
    block = &turn;
    blockIdx = {index, 0, 0};
    std::copy(turn.static_shared.begin(), turn.static_shared.end(), statics);
    std::copy(turn.launched_shared.begin(), turn.launched_shared.end(), launched);
    bool any = false;
    for (int k = 0; k < STEPS_OF_TURN && advance_block(); k++) any = true;
    turn.static_shared.assign(statics, end);
    turn.launched_shared.assign(launched, launched + sizeof emulated_shared / sizeof *launched);
    return any;
}

// Runs blocks at the same time, in turns.
void run_together(uint64_t blocks, size_t n) {
    while (resident.size() < blocks) resident.emplace_back(new Block);
    for (size_t k = 0; k < blocks; k++) {
        block = resident[k].get();
        forget_shared(k);
        block->static_shared.assign(static_shared()[0], static_shared()[1]);
        block->launched_shared.clear();
        begin_block(n);
    }
    for (bool all_ended = false; !all_ended;) {
        all_ended = true;
        bool any = false;
        for (size_t k = 0; k < blocks; k++) {
            const size_t index = in_order(k, blocks);
            any |= take_turn(*resident[index], (unsigned)index);
            all_ended &= has_ended();
        }
        if (!any && !all_ended) fail("all blocks wait for others");
    }
    block = resident[0].get();
}

template <typename Argument>
void launch(const char* name, void (*kernel)(const Argument), const Argument& job, uint64_t blocks,
    unsigned threads_of_block, bool together = false) {
    kernel_name = name;
#ifdef FACTZ_WATCH_READS
    const uint64_t reads_before = reads_seen();
#endif
    kernel_begins(name);
    gridDim = {(unsigned)blocks, 1, 1};
    blockDim = {threads_of_block, 1, 1};
    kernel_body = [&] { kernel(job); };
    if (together) run_together(blocks, threads_of_block);
    for (size_t k = 0; k < blocks && !together; k++) {
        blockIdx = {(unsigned)in_order(k, blocks), 0, 0};
        forget_shared(k);
        run_block(threads_of_block);
    }
    kernel_ends();
#ifdef FACTZ_WATCH_READS
    if (std::getenv("FACTZ_COUNT_READS"))
        std::fprintf(stderr, "%s %llu\n", name, (unsigned long long)(reads_seen() - reads_before));
#endif
}

// ---- Memory

// Memory that ends at a page which cannot be touched, and begins less than 256 bytes and a page after
// another.
unsigned char* fenced(uint64_t bytes) {
    const uint64_t page = 4096, padded = (bytes + 255) / 256 * 256, pages = (padded + page - 1) / page * page;
    void* const all =
        mmap(nullptr, pages + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) fail("out of memory");
    unsigned char* const start = static_cast<unsigned char*>(all);
    mprotect(start, page, PROT_NONE);
    mprotect(start + page + pages, page, PROT_NONE);
    std::memset(start + page, 0xa5, pages);
    return start + page + pages - padded;
}
// A region of the workspace or a buffer of the caller, under the name that the table of launches has.
template <typename T>
T* fenced_as(const char* region, uint64_t bytes, bool zero = false) {
    unsigned char* const at = fenced(bytes);
    if (zero) std::memset(at, 0, bytes);
    watch_part(region, at, bytes, zero);
    return reinterpret_cast<T*>(at);
}

// A file in memory of its own.
unsigned char* fenced_file(const char* region, const char* path, uint64_t* size = nullptr) {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail("cannot open an input");
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    unsigned char* const at = fenced(bytes.size());
    std::memcpy(at, bytes.data(), bytes.size());
    watch_part(region, at, bytes.size(), true);
    if (size) *size = bytes.size();
    return at;
}
void write_file(const char* path, const void* bytes, size_t n) {
    std::FILE* const file = std::fopen(path, "wb");
    if (!file || std::fwrite(bytes, 1, n, file) != n || std::fclose(file) != 0)
        fail("cannot write an output");
}

// The parts of the workspace, as src/cuda/workspace.rs has them, with places for so many tiles and groups.
void carve(Job& job, bool compress, uint64_t tiles, uint64_t groups) {
    const uint64_t pair = job.dtype ? 16 : 8;
    job.control = fenced_as<u8>("control", CONTROL_BYTES);
    job.symbols = fenced_as<u8>("symbols", tiles * TILE_VERTICES);
    job.tile_headers = fenced_as<u32>("tile_headers", tiles * 4);
    job.masks = fenced_as<u32>("masks", tiles * 2 * 32 * 4);
    job.anchors = fenced_as<u8>("anchors", tiles * pair);
    job.group_sizes = fenced_as<u64>("group_sizes", groups * 8);
    job.group_offsets = fenced_as<u64>("group_offsets", groups * 8);
    if (compress) {
        job.coding_tables = fenced_as<u32>("coding_tables", CODING_TABLE_BYTES);
        job.symbol_counts = fenced_as<u64>("symbol_counts", (uint64_t)TABLES * ALPHABET * 8);
        job.origin_distances = fenced_as<u8>("origin_distances", tiles * ORIGIN_DISTANCE_BYTES);
        job.anchor_codes = fenced_as<i32>("anchor_codes", tiles * 16);
        if (job.predictor == PREDICTOR_HIERARCHICAL && job.mode == SPECULATIVE) {
            job.row_lines = fenced_as<u8>("row_lines", job.tiles_y * job.nx * pair);
            job.column_lines = fenced_as<u8>("column_lines", job.tiles_x * column_line_length(job) * pair);
        }
        job.stored_tables = fenced_as<u8>("stored_tables", TABLE_SECTION_BYTES);
        job.slots =
            fenced_as<u8>("slots", tiles * (job.dtype ? slot_bytes<double>(job) : slot_bytes<float>(job)));
    } else {
        job.coding_tables = fenced_as<u32>("coding_tables", (uint64_t)TABLES * ALPHABET * 4);
        job.raw_bits = fenced_as<u8>("raw_bits", tiles * TILE_VERTICES * pair);
        job.written_steps = fenced_as<u32>("written_steps", tiles * 4);
        job.slot_starts = fenced_as<u8>("slot_starts", (uint64_t)TABLES * ALPHABET);
        job.huffman_codes = fenced_as<u16>("huffman_codes", (uint64_t)TABLES * 2048 * 2);
        job.outer_anchors = fenced_as<i32>("outer_anchors", groups * 16);
    }
}

// As Job::planes of src/cuda/kernel_args.rs: the planes of the job follow `first` others in the stream.
void take_planes(Job& job, uint32_t first) {
    const uint64_t element = job.dtype ? 8 : 4, others = MAX_GROUP_TILES - 1, taken = job.tiles();
    const long long before = (long long)(job.tiles_x * job.plane_tile_rows * first) - (long long)others;
    job.first_plane = first;
    job.takes_planes = 1;
    job.verify_checksum = 0;
    job.nz += first;
    job.tiles_y = job.plane_tile_rows * job.nz;
    uint64_t groups = 1;
    while (groups < taken + 2 * others) groups *= 2;
    job.group_mask = (u32)groups - 1;
    carve(job, false, taken + 2 * others, groups);
    const uint64_t values = first * job.plane_rows * job.u_layout.pitch * element;
    job.u = static_cast<u8*>(job.u) - values;
    job.v = static_cast<u8*>(job.v) - values;
    job.symbols -= before * TILE_VERTICES;
    job.raw_bits -= before * TILE_VERTICES * 2 * (long long)element;
    job.tile_headers -= before;
    job.written_steps -= before;
    job.masks -= before * 2 * TILE;
    job.anchors -= before * 2 * (long long)element;
}

// ---- The kernels, with few blocks where any number does

#define RUN(name, blocks, threads) \
    launch(#name, job.dtype ? factz_##name##_f64 : factz_##name##_f32, job, blocks, threads)
constexpr uint64_t FEW = 2;

void compress(const Job& job) {
    const uint64_t tiles = job.tiles();
    const bool is_hierarchical = job.predictor == PREDICTOR_HIERARCHICAL;
    if (has_few_strips(job) && job.has_fill)
        RUN(few_filled_statistics, statistics_blocks(job), 32 * STRIP_PARTS);
    else if (job.has_fill)
        RUN(filled_statistics, statistics_blocks(job), 32 * STATISTICS_WARPS);
    else if (has_few_strips(job))
        RUN(few_statistics, statistics_blocks(job), 32 * STRIP_PARTS);
    else
        RUN(statistics, statistics_blocks(job), 32 * STATISTICS_WARPS);
    RUN(sort, 1 + (tiles + 32 * SORT_WARPS - 1) / (32 * SORT_WARPS), 32 * SORT_WARPS);
    if (is_hierarchical) RUN(tune, tuning_samples(tiles) * 12, 32 * TUNE_WARPS);
    const bool signatures = job.mode == SPECULATIVE && job.preserve != PRESERVE_NONE;
    if (signatures) {
        RUN(constrained_vertices, FEW, 32 * CONSTRAINED_VERTEX_WARPS);
        RUN(list_tiles, FEW, 128);
    } else {
        RUN(cheap_bounds, FEW, 64);
        RUN(determinant_bounds, FEW, 128);
    }
    const uint64_t weighed = TABLE_BLOCKS + (tiles + WEIGHED_TILES - 1) / WEIGHED_TILES;
    if (is_hierarchical) {
        const unsigned plain_warps = job.dtype ? INTERIOR_WARPS<double, false> : INTERIOR_WARPS<float, false>,
                       bounded_threads =
                           32 * (job.dtype ? INTERIOR_WARPS<double, true> : INTERIOR_WARPS<float, true>);
        RUN(anchors, (tiles + 127) / 128, 128);
        if (signatures) RUN(row_lines, FEW, 128);
        RUN(unconstrained_tiles, (tiles + 2 * plain_warps - 1) / (2 * plain_warps), 32 * plain_warps);
        if (signatures) {
            RUN(column_lines, FEW, 128);
            RUN(speculative_border, FEW, 32 * SPECULATIVE_WARPS);
            RUN(speculative_masked, FEW, 32 * SPECULATIVE_WARPS);
            RUN(speculative_interior, FEW, 32 * SPECULATIVE_WARPS);
        } else {
            RUN(masked_tiles, FEW, bounded_threads);
            RUN(border_tiles, FEW, 32 * BORDER_WARPS);
        }
        RUN(constrained_tiles, FEW, bounded_threads);
        RUN(count, FEW, 32 * COUNT_WARPS);
    } else {
        const uint64_t blocks = (tiles + 4 * LORENZO_INTERIOR_WARPS - 1) / (4 * LORENZO_INTERIOR_WARPS);
        RUN(lorenzo_unconstrained, blocks, 32 * LORENZO_INTERIOR_WARPS);
        RUN(lorenzo_constrained, blocks, 32 * LORENZO_INTERIOR_WARPS);
        RUN(lorenzo_border, FEW, 32 * LORENZO_BORDER_WARPS);
        RUN(count_lorenzo, FEW, 32 * ROW_COUNT_WARPS);
    }
    if (job.periodic && job.preserve != PRESERVE_NONE) RUN(seam, FEW, SEAM_THREADS);
    if (job.coder == CODER_ANS) {
        RUN(rans_tables, weighed, TABLE_THREADS);
        if (is_hierarchical)
            RUN(encode_rans, FEW, 32 * ENCODE_WARPS);
        else
            RUN(encode_lorenzo_rans, FEW, 32 * ROW_CODE_WARPS);
    } else {
        RUN(huffman_tables, weighed, TABLE_THREADS);
        if (is_hierarchical)
            RUN(encode_huffman, FEW, 32 * ENCODE_WARPS);
        else
            RUN(encode_lorenzo_huffman, FEW, 32 * ROW_CODE_WARPS);
    }
    RUN(assemble, FEW, 32 * ASSEMBLE_WARPS);
}

void decompress(const Job& job) {
    const uint64_t tiles = job.tiles() - job.first_tile();
    RUN(begin, FEW, 256);
    RUN(parse, TABLES + 1 + FEW, PARSE_THREADS);
    RUN(check, FEW, 256);
    RUN(decode_rans, FEW, 32 * DECODE_WARPS);
    RUN(decode_huffman, FEW, 32 * DECODE_WARPS);
    const uint64_t blocks = (tiles + 4 * LORENZO_RECONSTRUCT_WARPS - 1) / (4 * LORENZO_RECONSTRUCT_WARPS);
    if (job.predictor == PREDICTOR_LORENZO) RUN(reconstruct_lorenzo, blocks, 32 * LORENZO_RECONSTRUCT_WARPS);
    RUN(anchor_values, FEW, 32 * ANCHOR_WARPS);
    RUN(reconstruct_border, FEW, 32 * RECONSTRUCT_BORDER_WARPS);
    if (job.predictor == PREDICTOR_LORENZO) return;
    RUN(reconstruct, (tiles + 3) / 4, 64);
    RUN(reconstruct_other_lorenzo, FEW, 32 * LORENZO_RECONSTRUCT_WARPS);
}

// The parts of the workspace for a volume, as src/cuda/workspace.rs has them.
void carve_volume(Job& job) {
    const uint64_t tiles = job.tiles(), vertices = job.vertices();
    job.control = fenced_as<u8>("control", CONTROL_BYTES);
    job.raw_bits = fenced_as<u8>("raw_bits", tiles * VOLUME_TILE_VERTICES * 8);
    job.values = fenced_as<u8>("values", tiles * 3 * VOLUME_COARSE_VERTICES * (job.dtype ? 8ull : 4ull));
    job.symbols = fenced_as<u8>("symbols", tiles * VOLUME_TILE_VERTICES);
    job.tile_headers = fenced_as<u32>("tile_headers", tiles * 4);
    job.group_sizes = fenced_as<u64>("group_sizes", tiles * 8);
    job.group_offsets = fenced_as<u64>("group_offsets", tiles * 8);
    job.coding_tables = fenced_as<u32>("coding_tables", (uint64_t)TABLES * ALPHABET * 4);
    job.slot_starts = fenced_as<u8>("slot_starts", (uint64_t)TABLES * ALPHABET);
    job.huffman_codes = fenced_as<u16>("huffman_codes", (uint64_t)TABLES * 2048 * 2);
    job.hidden = fenced_as<u32>("hidden", 2 * ((vertices + 31) / 32) * 4);
    job.chunks = fenced_as<u64>("chunks", (2 * vertices / LIST_CHUNK + LIST_KINDS) * 16);
}

// As Workspace::compress_volume.
void carve_volume_to_compress(Job& job) {
    const uint64_t tiles = job.tiles(), of_tile = tiles * VOLUME_TILE_VERTICES,
                   chunks = job.vertices() / LIST_CHUNK + LIST_KINDS,
                   values = job.dtype ? VOLUME_VALUES_F64 * 8ull : VOLUME_VALUES_F32 * 4ull;
    job.control = fenced_as<u8>("control", CONTROL_BYTES);
    job.symbol_counts = fenced_as<u64>("symbol_counts", (uint64_t)TABLES * ALPHABET * 8);
    job.values = fenced_as<u8>("values", tiles * 3 * values);
    job.slots = fenced_as<u8>("slots", tiles * VOLUME_SLOT_BYTES);
    job.levels = fenced_as<u8>("levels", of_tile);
    job.positions = fenced_as<u16>("positions", tiles * VOLUME_COARSE_ENTRIES * 2);
    job.listed = fenced_as<u32>("listed", of_tile / 8);
    job.tile_headers = fenced_as<u32>("tile_headers", tiles * 4);
    job.origin_distances = fenced_as<u8>("origin_distances", tiles * ORIGIN_DISTANCE_BYTES);
    job.group_sizes = fenced_as<u64>("group_sizes", tiles * 8);
    job.group_offsets = fenced_as<u64>("group_offsets", tiles * 8);
    job.list_ranks = fenced_as<u64>("list_ranks", tiles * LIST_KINDS * 8);
    job.coding_tables = fenced_as<u32>("coding_tables", CODING_TABLE_BYTES);
    job.stored_tables = fenced_as<u8>("stored_tables", TABLE_SECTION_BYTES);
    job.chunks = fenced_as<u64>("chunks", chunks * 16);
    job.chunk_places = fenced_as<u64>("chunk_places", chunks * 8);
}

void compress_volume(const Job& job) {
    const uint64_t tiles = job.tiles(), weighed = TABLE_BLOCKS + (tiles + WEIGHED_TILES - 1) / WEIGHED_TILES;
    const bool keeps_points = job.preserve != PRESERVE_NONE;
    RUN(begin_compression, FEW, 256);
    RUN(volume_statistics, FEW, 256);
    RUN(prepare_tiles, (tiles + VOLUME_THREADS / 32 - 1) / (VOLUME_THREADS / 32), VOLUME_THREADS);
    RUN(tune_volume, volume_samples(tiles) * (job.dtype ? 1 : VOLUME_OPTIONS), VOLUME_THREADS);
    RUN(quantize_coarse_volume, tiles, COARSE_THREADS);
    RUN(quantize_volume, tiles, VOLUME_THREADS);
    if (keeps_points && job.halo) RUN(keep_border, tiles, VOLUME_THREADS);
    if (keeps_points) {
        RUN(verify, FEW, VOLUME_THREADS);
        launch("repair", job.dtype ? factz_repair_f64 : factz_repair_f32, job, 3, REPAIR_THREADS, true);
    }
    RUN(list_vertices, tiles, VOLUME_THREADS);
    RUN(rank_vertices, 1, LIST_THREADS);
    RUN(plan_chunks, FEW, 32 * CHUNK_WARPS);
    RUN(place_list, 1, LIST_THREADS);
    RUN(count_volume, FEW, 32 * VOLUME_COUNT_WARPS);
    if (job.coder == CODER_ANS) {
        RUN(rans_tables, weighed, TABLE_THREADS);
        RUN(encode_volume_rans, FEW, 32 * VOLUME_ENCODE_WARPS);
    } else {
        RUN(huffman_tables, weighed, TABLE_THREADS);
        RUN(encode_volume_huffman, FEW, 32 * VOLUME_ENCODE_WARPS);
    }
    RUN(assemble_volume, FEW, 32 * ASSEMBLE_WARPS);
    RUN(write_list, FEW, 32 * CHUNK_WARPS);
}

void decompress_volume(const Job& job) {
    RUN(begin_volume, FEW, 256);
    RUN(parse_volume, TABLES + 1 + FEW, PARSE_THREADS);
    RUN(check, FEW, 256);
    RUN(place_chunks, 1, LIST_THREADS);
    RUN(mark_chunks, FEW, 32 * LIST_WARPS);
    RUN(decode_volume_rans, FEW, 32 * VOLUME_DECODE_WARPS);
    RUN(decode_volume_huffman, FEW, 32 * VOLUME_DECODE_WARPS);
    RUN(reconstruct_coarse_volume, job.tiles(), COARSE_THREADS);
    RUN(reconstruct_volume, job.tiles(), VOLUME_THREADS);
    RUN(put_chunks, FEW, 32 * LIST_WARPS);
}

// As Workspace::protect and Workspace::protect_volume.
void carve_to_protect(Job& job) {
    const uint64_t tiles = job.tiles(),
                   of_tile = job.components == 3 ? (uint64_t)VOLUME_TILE_VERTICES : (uint64_t)TILE_VERTICES,
                   chunks = job.vertices() / LIST_CHUNK + LIST_KINDS;
    job.control = fenced_as<u8>("control", CONTROL_BYTES);
    job.levels = fenced_as<u8>("levels", tiles * of_tile);
    job.listed = fenced_as<u32>("listed", tiles * of_tile / 8);
    job.slots = fenced_as<u8>("slots", tiles * 2 * of_tile);
    job.group_sizes = fenced_as<u64>("group_sizes", tiles * 8);
    job.group_offsets = fenced_as<u64>("group_offsets", tiles * 8);
    job.list_ranks = fenced_as<u64>("list_ranks", tiles * LIST_KINDS * 8);
    job.chunks = fenced_as<u64>("chunks", chunks * 16);
    job.chunk_places = fenced_as<u64>("chunk_places", chunks * 8);
}

void protect(const Job& job) {
    const uint64_t tiles = job.tiles();
    const bool keeps_points = job.preserve != PRESERVE_NONE, is_volume = job.components == 3;
    RUN(begin, FEW, 256);
    if (job.bound_kind == BOUND_RELATIVE) RUN(find_bound, FEW, 256);
    if (is_volume) {
        RUN(survey_volume, FEW, VOLUME_THREADS);
        if (keeps_points && job.halo) RUN(keep_volume_border, tiles, VOLUME_THREADS);
        if (keeps_points) {
            RUN(verify_volume, tiles, VOLUME_THREADS);
            launch("repair_volume", job.dtype ? factz_repair_volume_f64 : factz_repair_volume_f32, job, 3,
                REPAIR_THREADS, true);
        }
        RUN(list_volume, tiles, VOLUME_THREADS);
    } else {
        RUN(survey_planes, FEW, VOLUME_THREADS);
        if (keeps_points && job.halo) RUN(keep_planes_border, tiles, VOLUME_THREADS);
        if (keeps_points) {
            RUN(verify_planes, tiles, VOLUME_THREADS);
            launch("repair_planes", job.dtype ? factz_repair_planes_f64 : factz_repair_planes_f32, job, 3,
                REPAIR_THREADS, true);
        }
        RUN(list_planes, tiles, VOLUME_THREADS);
    }
    RUN(rank_repaired, 1, LIST_THREADS);
    if (is_volume)
        RUN(plan_volume, FEW, 32 * CHUNK_WARPS);
    else
        RUN(plan_planes, FEW, 32 * CHUNK_WARPS);
    RUN(place_repaired, 1, LIST_THREADS);
    if (is_volume)
        RUN(write_volume_fix, FEW, 32 * CHUNK_WARPS);
    else
        RUN(write_planes_fix, FEW, 32 * CHUNK_WARPS);
}

// As Workspace::apply and Workspace::apply_volume.
void carve_to_apply(Job& job) {
    job.control = fenced_as<u8>("control", CONTROL_BYTES);
    job.chunks = fenced_as<u64>("chunks", (job.vertices() / LIST_CHUNK + LIST_KINDS) * 16);
}

void apply_fix(const Job& job) {
    RUN(begin, FEW, 256);
    RUN(parse_fix, 1, 32);
    RUN(check, FEW, 256);
    RUN(sum_values, FEW, 256);
    RUN(place_chunks, 1, LIST_THREADS);
    if (job.components == 3) {
        RUN(check_volume_fix, FEW, 32 * LIST_WARPS);
        RUN(put_volume_levels, FEW, 32 * LIST_WARPS);
        RUN(put_volume_zeros, FEW, 32 * LIST_WARPS);
    } else {
        RUN(check_planes_fix, FEW, 32 * LIST_WARPS);
        RUN(put_planes_levels, FEW, 32 * LIST_WARPS);
        RUN(put_planes_zeros, FEW, 32 * LIST_WARPS);
    }
}

// ---- Walking along the anchors of a group

struct {
    u64 first, end;
    GroupAnchors anchors;
} group;

void walk(const Job job) {
    const int4 outer = OuterAnchorsView(job).codes()[0];
    sum_group(job, group.anchors, outer, group.first, (u32)(group.end - group.first));
}

// Whether a group gets the coarse codes that its anchors have in the grid, whatever its first tile is.
bool walks(uint64_t seed) {
    uint64_t state = seed;
    auto random = [&] { return (u32)((state = state * 6364136223846793005u + 1442695040888963407u) >> 32); };
    const u32 widths[] = {1, 2, 3, 31, 32, 33, 100, 255, 256, 300}, tiles = 1 + random() % 700;
    Job job;
    std::memset(&job, 0, sizeof job);
    job.tiles_x = widths[seed % 10];
    // The last row may have tiles that nothing asks for.
    job.tiles_y = (tiles + job.tiles_x - 1) / job.tiles_x;
    job.outer_anchors = fenced_as<i32>("outer_anchors", 16);
    const u32 uncoded = 2 + random() % 40;
    std::vector<uint2> differences, coarse;
    std::vector<bool> coded;
    for (u32 tile = 0; tile < tiles; tile++) {
        differences.push_back(make_uint2(random(), random()));
        coded.push_back(random() % uncoded != 0);
        const u32 followed = followed_tile(tile, (u32)job.tiles_x);
        const uint2 before = followed == tile ? make_uint2(0, 0) : coarse[followed], own = differences[tile];
        coarse.push_back(coded[tile] ? make_uint2(before.x + own.x, before.y + own.y) : make_uint2(0, 0));
    }
    group.first = random() % tiles;
    group.end = std::min<u64>(group.first + 1 + random() % MAX_GROUP_TILES, tiles);
    const OuterAnchors outer(job, group.first, group.end);
    const u32 outer_tiles[] = {outer.before_first, outer.first_of_row};
    for (u32 i = 0; i < 2; i++) {
        const uint2 code = i < outer.count ? coarse[outer_tiles[i]] : make_uint2(0, 0);
        job.outer_anchors[2 * i] = (i32)code.x, job.outer_anchors[2 * i + 1] = (i32)code.y;
    }
    for (u64 tile = group.first; tile < group.end; tile++) {
        const u32 at = (u32)(tile - group.first), bit = 1u << at % 32;
        group.anchors.codes[at] = differences[tile];
        group.anchors.coded[at / 32] = (group.anchors.coded[at / 32] & ~bit) | (coded[tile] ? bit : 0);
    }
    launch("walk", walk, job, 1, 32);
    return std::memcmp(
               group.anchors.codes, &coarse[group.first], (group.end - group.first) * sizeof(uint2)) == 0;
}

// ---- The analysis

#define RUN_ANALYSIS(name, blocks, threads) \
    launch(#name, dtype ? factz_##name##_f64 : factz_##name##_f32, job, blocks, threads)

void analyze(Analysis& job, uint32_t dtype, const char* results) {
    const uint64_t strip = 32 * (dtype ? 2 : 4), strips = (job.nx + strip - 1) / strip;
    const uint64_t bands = analysis::all_bands(job);
    job.counts = fenced_as<u64>("counts", ANALYSIS_COUNT_BYTES, true);
    job.parts = fenced_as<double>("parts", strips * bands * PART * 8);
    job.open_triangles = fenced_as<u32>("open_triangles", strips * bands * ANALYSIS_ROWS * 32);
    job.comparison = fenced_as<Comparison>("comparison", sizeof(Comparison));
    const bool is_stack = job.nz > 1;
    auto find_range = [&] {
        if (is_stack)
            RUN_ANALYSIS(find_range_stack, FEW, 256);
        else
            RUN_ANALYSIS(find_range, FEW, 256);
    };
    if (job.bound_is_relative) find_range();
    if (is_stack)
        RUN_ANALYSIS(compare_stack, FEW, 256);
    else
        RUN_ANALYSIS(compare, FEW, 256);
    RUN_ANALYSIS(compare_triangles, FEW, 128);
    RUN_ANALYSIS(compare_end, 1, 1024);
    job.counts = fenced_as<u64>("counts", ANALYSIS_COUNT_BYTES, true);
    job.range = fenced_as<ValueRange>("range", sizeof(ValueRange));
    find_range();
    RUN_ANALYSIS(range_end, 1, 32);
    // A triangle has one point at most, on its boundary or inside.
    job.capacity = 2 * (job.columns + 1) * (job.rows + 1) * job.nz;
    job.points = fenced_as<CriticalPoint>("points", job.capacity * sizeof(CriticalPoint));
    job.count = fenced_as<u64>("count", 8);
    const uint64_t segments = job.ny * job.nz * strips;
    job.point_parts = fenced_as<u64>("point_parts", ((segments + POINT_PART - 1) / POINT_PART + 1) * 8, true);
    job.segments = fenced_as<u16>("segments", segments * 2);
    if (is_stack)
        RUN_ANALYSIS(find_points_stack, FEW, 256);
    else
        RUN_ANALYSIS(find_points, FEW, 256);
    RUN_ANALYSIS(place_points, 1, 1024);
    RUN_ANALYSIS(write_points, FEW, 256);
    std::vector<char> all;
    auto add = [&](const void* from, size_t bytes) {
        all.insert(all.end(), static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    };
    add(job.comparison, sizeof(Comparison));
    add(job.range, sizeof(ValueRange));
    add(job.count, 8);
    add(job.points, *job.count * sizeof(CriticalPoint));
    write_file(results, all.data(), all.size());
}

}  // namespace

// Called by reads.cpp, which is not to be called again while all is taken down.
extern "C" void unwritten_read(const char* region, uint64_t offset, uint64_t bytes) {
    std::fprintf(stderr, "factz_%s: reads byte %llu of %llu of %s, which nobody wrote (block %u)\n",
        kernel_name, (unsigned long long)offset, (unsigned long long)bytes, region, blockIdx.x);
    std::_Exit(3);
}

const uint64_t* collective(Collective kind, uint64_t value) {
    block->threads[current].kind = kind;
    block->threads[current].value = value;
    const size_t warp = current / 32;
    wait_as(State::AT_COLLECTIVE);
    return &block->collected[32 * warp];
}
bool block_barrier(bool value) {
    block->threads[current].value = value;
    wait_as(State::AT_BLOCK_BARRIER);
    return barrier_value;
}
void named_barrier(int number, int of_threads) {
    block->threads[current].barrier = number;
    block->threads[current].barrier_threads = of_threads;
    wait_as(State::AT_NAMED_BARRIER);
}
void wait_for_count(const unsigned& counter, unsigned number) {
    block->threads[current].counter = &counter;
    block->threads[current].awaited = number;
    wait_as(State::AT_COUNTER);
}

void shape_volume(Job& job) {
    auto tiles = [](uint64_t n) { return (n + VOLUME_SIDE - 1) / VOLUME_SIDE; };
    job.components = 3;
    job.plane_rows = job.ny;
    job.tiles_x = tiles(job.nx);
    job.plane_tile_rows = (u32)tiles(job.ny);
    job.tiles_y = tiles(job.ny) * tiles(job.nz);
}

void print_counts(const Report& r) {
    for (uint64_t count : {r.exact_vertices, r.nonfinite_vertices, r.zero_vertices, r.points_in_triangles,
             r.filled_vertices, (uint64_t)r.warnings})
        std::printf(" %llu", (unsigned long long)count);
}

void run_volume_compression(Job& job, char** argv) {
    auto number = [&](int k) { return std::strtoull(argv[k], nullptr, 10); };
    auto real = [&](int k) { return std::strtod(argv[k], nullptr); };
    shape_volume(job);
    job.plane_rows = number(7);
    job.mode = MODE_REPAIR;
    job.bound_kind = (u32)number(8);
    job.bound = real(9);
    job.coder = (u32)number(10);
    job.preserve = (u32)number(11);
    job.ties = (u32)number(12);
    job.halo = (u32)number(13);
    job.pin = (u32)number(14);
    job.periodic = (u32)number(15);
    job.dx = real(16), job.dy = real(17), job.dz = real(18);
    const uint64_t element = job.dtype ? 8 : 4, first = number(22) * element, pitch = number(23);
    job.has_fill = argv[24][0] != '-';
    job.fill = job.has_fill ? number(24) : job.dtype ? no_fill<double>() : no_fill<float>();
    job.u = fenced_file("field", argv[19]) + first;
    job.v = fenced_file("field", argv[20]) + first;
    job.w = fenced_file("field", argv[21]) + first;
    job.u_layout = job.v_layout = job.w_layout = {pitch, 1};
    job.stream_bytes = 3 * job.vertices() * element + VOLUME_HEADER_BYTES;
    job.stream = fenced_as<u8>("stream", job.stream_bytes);
    carve_volume_to_compress(job);
    compress_volume(job);
    std::printf("%d", job.report->status);
    print_counts(*job.report);
    std::printf("\n");
    if (job.report->status == STATUS_OK) write_file(argv[25], job.stream, job.report->stream_bytes);
}

void run_volume(Job& job, char** argv) {
    shape_volume(job);
    job.stream = fenced_file("stream", argv[7], &job.stream_bytes);
    const uint64_t bytes = job.vertices() * (job.dtype ? 8 : 4);
    job.u = fenced_as<u8>("field", bytes);
    job.v = fenced_as<u8>("field", bytes);
    job.w = fenced_as<u8>("field", bytes);
    job.u_layout = job.v_layout = job.w_layout = {job.nx, 1};
    carve_volume(job);
    decompress_volume(job);
    std::printf("%d\n", job.report->status);
    if (job.report->status != STATUS_OK) return;
    const void* const components[3] = {job.u, job.v, job.w};
    for (int k = 0; k < 3; k++) write_file(argv[8 + k], components[k], bytes);
}

// The shape of planes, or of a volume.
void shape_field(Job& job, uint32_t components) {
    if (components == 3) return shape_volume(job);
    job.components = components;
    job.plane_rows = job.ny;
    job.tiles_x = (job.nx + TILE - 1) / TILE;
    job.plane_tile_rows = (u32)((job.ny + TILE - 1) / TILE);
    job.tiles_y = job.plane_tile_rows * job.nz;
}

void print_fix_report(const FixReport& r) {
    const uint64_t reals[2] = {bits_as<uint64_t>(r.bound), bits_as<uint64_t>(r.max_error)};
    std::printf("%d %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu\n", r.status,
        (unsigned long long)r.fix_bytes, (unsigned long long)r.required_bytes,
        (unsigned long long)r.repaired_vertices, (unsigned long long)r.exact_vertices,
        (unsigned long long)r.violated_triangles, (unsigned long long)r.rounds, (unsigned long long)reals[0],
        (unsigned long long)reals[1], (unsigned long long)r.vertices_outside,
        (unsigned long long)r.first_outside);
}

void run_apply(char** argv) {
    auto number = [&](int k) { return std::strtoull(argv[k], nullptr, 10); };
    Job job;
    std::memset(&job, 0, sizeof job);
    job.dtype = (u32)number(3);
    job.nx = number(5), job.ny = number(6), job.nz = number(7);
    job.verify_checksum = 1;
    shape_field(job, (u32)number(4));
    job.stream = fenced_file("stream", argv[8], &job.stream_bytes);
    const uint64_t bytes = job.vertices() * (job.dtype ? 8 : 4);
    void** const components[3] = {&job.u, &job.v, &job.w};
    for (u32 k = 0; k < job.components; k++) *components[k] = fenced_file("field", argv[9 + k]);
    job.u_layout = job.v_layout = job.w_layout = {job.nx, 1};
    job.fix_report = fenced_as<FixReport>("report", sizeof(FixReport));
    carve_to_apply(job);
    apply_fix(job);
    print_fix_report(*job.fix_report);
    for (u32 k = 0; k < job.components; k++) write_file(argv[9 + k], *components[k], bytes);
}

void run_protect(char** argv) {
    auto number = [&](int k) { return std::strtoull(argv[k], nullptr, 10); };
    auto real = [&](int k) { return std::strtod(argv[k], nullptr); };
    Job job;
    std::memset(&job, 0, sizeof job);
    job.dtype = (u32)number(3);
    job.nx = number(5), job.ny = number(6), job.nz = number(7);
    shape_field(job, (u32)number(4));
    job.plane_rows = number(8);
    job.other_plane_rows = job.ny;
    job.bound_kind = (u32)number(9);
    job.bound = real(10);
    job.preserve = (u32)number(11);
    job.ties = (u32)number(12);
    job.halo = (u32)number(13);
    job.pin = (u32)number(14);
    job.periodic = (u32)number(15);
    job.dx = real(16), job.dy = real(17), job.dz = real(18);
    job.has_fill = argv[19][0] != '-';
    job.fill = job.has_fill ? number(19) : job.dtype ? no_fill<double>() : no_fill<float>();
    const uint64_t element = job.dtype ? 8 : 4, first = number(23) * element, pitch = number(24);
    void** const components[3] = {&job.u, &job.v, &job.w};
    for (u32 k = 0; k < job.components; k++) {
        *components[k] = fenced_file("field", argv[20 + k]) + first;
        job.other[k] = fenced_file("other_field", argv[25 + k]);
        job.other_layouts[k] = {job.nx, 1};
    }
    job.u_layout = job.v_layout = job.w_layout = {pitch, 1};
    job.stream_bytes = number(28);
    job.stream = fenced_as<u8>("stream", job.stream_bytes);
    job.fix_report = fenced_as<FixReport>("report", sizeof(FixReport));
    carve_to_protect(job);
    protect(job);
    print_fix_report(*job.fix_report);
    if (job.fix_report->status == STATUS_OK) write_file(argv[29], job.stream, job.fix_report->fix_bytes);
}

int main(int argc, char** argv) {
    resident.emplace_back(new Block);
    block = resident[0].get();
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "walk" && argc == 3) {
        std::printf("%d\n", walks(std::strtoull(argv[2], nullptr, 10)) ? 0 : 1);
        return 0;
    }
    if (!(what == "compress" && argc == 26) && !(what == "decompress" && argc == 12) &&
        !(what == "analyze" && argc == 28) && !(what == "decompress_volume" && argc == 11) &&
        !(what == "compress_volume" && argc == 26) && !(what == "apply" && argc == 12) &&
        !(what == "protect" && argc == 30)) {
        std::fprintf(stderr, "usage: see the head of emulator.cpp\n");
        return 2;
    }
    auto number = [&](int k) { return std::strtoull(argv[k], nullptr, 10); };
    backwards = number(2) != 0;
    if (what == "analyze") {
        Analysis job;
        std::memset(&job, 0, sizeof job);
        const uint32_t dtype = (uint32_t)number(3);
        job.nx = number(4);
        job.ny = number(5);
        job.nz = number(6);
        job.periodic = (u32)number(7);
        job.columns = number(8);
        job.rows = number(9);
        job.columns_before = (i32)number(10);
        job.rows_before = (i32)number(11);
        job.bound_is_relative = (u32)number(12);
        job.bound = std::strtod(argv[13], nullptr);
        job.has_fill = (u32)number(14);
        job.fill = number(15);
        job.dx = std::strtod(argv[16], nullptr);
        job.dy = std::strtod(argv[17], nullptr);
        job.ties = (u32)number(18);
        const uint64_t first = number(23) * (dtype ? 8 : 4);
        for (int k = 0; k < 4; k++) {
            Component& component = k % 2 ? job.fields[k / 2].v : job.fields[k / 2].u;
            const unsigned char* values = fenced_file(k < 2 ? "field" : "other_field", argv[19 + k]);
            component = {values + first, {number(24), 1}, number(25 + k / 2)};
        }
        analyze(job, dtype, argv[27]);
        std::printf("%d\n", job.comparison->status);
        return 0;
    }
    if (what == "protect") {
        run_protect(argv);
        return 0;
    }
    if (what == "apply") {
        run_apply(argv);
        return 0;
    }
    Job job;
    std::memset(&job, 0, sizeof job);
    job.dtype = (u32)number(3);
    job.nx = number(4);
    job.ny = number(5);
    job.nz = number(6);
    job.verify_checksum = 1;
    job.group_mask = UINT32_MAX;
    job.report = fenced_as<Report>("report", sizeof(Report));
    if (what == "compress_volume") {
        run_volume_compression(job, argv);
        return 0;
    }
    if (what == "decompress_volume") {
        run_volume(job, argv);
        return 0;
    }
    job.components = 2;
    job.plane_rows = number(7);
    job.tiles_x = (job.nx + 31) / 32;
    job.plane_tile_rows = (u32)((job.ny + 31) / 32);
    job.plane_reciprocal = UINT32_MAX / job.plane_tile_rows;
    job.tiles_y = job.plane_tile_rows * job.nz;
    const uint64_t element = job.dtype ? 8 : 4, field_bytes = job.vertices() * element;
    if (what == "compress") {
        job.bound_kind = (u32)number(8);
        job.bound = std::strtod(argv[9], nullptr);
        job.mode = (u32)number(10);
        job.predictor = (u32)number(11);
        job.coder = (u32)number(12);
        job.preserve = (u32)number(13);
        job.ties = (u32)number(14);
        job.halo = (u32)number(15);
        job.pin = (u32)number(16);
        job.periodic = (u32)number(17);
        job.dx = std::strtod(argv[18], nullptr);
        job.dy = std::strtod(argv[19], nullptr);
        const uint64_t first = number(22), pitch = number(23);
        job.has_fill = argv[24][0] != '-';
        job.fill = job.has_fill ? number(24) : job.dtype ? no_fill<double>() : no_fill<float>();
        job.u = fenced_file("field", argv[20]) + first * element;
        job.v = fenced_file("field", argv[21]) + first * element;
        job.u_layout = job.v_layout = {pitch, 1};
        job.stream_bytes = 2 * field_bytes + 128;
        job.stream = fenced_as<u8>("stream", job.stream_bytes);
        carve(job, true, job.tiles(), job.tiles());
        compress(job);
        if (job.report->status == STATUS_OK) write_file(argv[25], job.stream, job.report->stream_bytes);
    } else {
        // Each order of blocks comes with another predictor that the call expects: streams of both are
        // restored whichever it is.
        job.predictor = backwards ? PREDICTOR_LORENZO : PREDICTOR_HIERARCHICAL;
        job.stream = fenced_file("stream", argv[8], &job.stream_bytes);
        const uint64_t bytes = job.nx * job.plane_rows * job.nz * element;
        job.u = fenced_as<u8>("field", bytes);
        job.v = fenced_as<u8>("field", bytes);
        job.u_layout = job.v_layout = {job.nx, 1};
        const void *const u = job.u, *const v = job.v;
        if (argv[11][0] == '-')
            carve(job, false, job.tiles(), job.tiles());
        else
            take_planes(job, (u32)number(11));
        decompress(job);
        write_file(argv[9], u, bytes);
        write_file(argv[10], v, bytes);
    }
    const Report& r = *job.report;
    std::printf("%d", r.status);
    if (what == "compress") print_counts(r);
    std::printf("\n");
    return 0;
}
