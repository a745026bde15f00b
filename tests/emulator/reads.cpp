// Watches the memory that kernels read and write. Finds reads of memory that nobody wrote, as
// compute-sanitizer's initcheck does on a device, and reads and writes that the table of launches does not
// declare (launches.hpp, generated from src/cuda/schedule.rs). The emulator is compiled with the calls of a
// thread sanitizer for each read and write, and linked with these in place of that one's library.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "launches.hpp"

// Of emulator.cpp: says which kernel it is, and ends.
extern "C" void unwritten_read(const char* region, uint64_t offset, uint64_t bytes);

namespace {

// Who wrote a byte last: nobody, the caller, or a kernel by its number, from FIRST_KERNEL on.
enum : unsigned char { NOBODY, CALLER, FIRST_KERNEL };

struct Part {
    std::string region;
    uintptr_t start;
    std::vector<unsigned char> writers;
    bool read_from[256], written;  // by the kernel that runs
};
std::vector<Part> parts;
std::vector<std::string> kernels;
// Uses of contents that were seen, as "KERNEL reads CONTENT" and "KERNEL writes CONTENT".
std::set<std::string> uses;
uint64_t reads = 0;

// The number of the kernel that runs, as a writer.
unsigned char writer() { return (unsigned char)(FIRST_KERNEL + kernels.size() - 1); }

void read(const void* at, uint64_t bytes) {
    reads++;
    const uintptr_t first = (uintptr_t)at;
    for (Part& part : parts)
        if (first - part.start < part.writers.size())
            for (uint64_t i = first - part.start; i < first - part.start + bytes && i < part.writers.size();
                 i++) {
                if (part.writers[i] == NOBODY) unwritten_read(part.region.c_str(), i, part.writers.size());
                part.read_from[part.writers[i]] = true;
            }
}

void write(const void* at, uint64_t bytes) {
    const uintptr_t first = (uintptr_t)at;
    for (Part& part : parts)
        if (first - part.start < part.writers.size()) {
            part.written = true;
            for (uint64_t i = first - part.start; i < first - part.start + bytes && i < part.writers.size();
                 i++)
                part.writers[i] = writer();
        }
}

// ---- What the table of launches declares

std::set<std::string> words(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
}
const LaunchData& declared(const std::string& kernel) {
    for (const LaunchData& launch : LAUNCH_DATA)
        if (launch.kernel == kernel) return launch;
    std::fprintf(stderr, "factz_%s is not in the table of launches\n", kernel.c_str());
    std::_Exit(3);
}
std::string region_of(const std::string& contents) {
    for (const Contents& c : CONTENTS)
        if (c.name == contents) return c.region;
    return contents;
}
// Of declared contents those in a region.
std::set<std::string> contents_in(const std::string& region, const std::string& declared) {
    std::set<std::string> found;
    for (const std::string& name : words(declared))
        if (region_of(name) == region) found.insert(name);
    return found;
}

std::set<std::string> common(const std::set<std::string>& a, const std::set<std::string>& b) {
    std::set<std::string> found;
    for (const std::string& name : a)
        if (b.count(name)) found.insert(name);
    return found;
}

// Notes the contents that the kernel has used. It has written the only content that it is declared to write
// in a region, and read those that it is declared to read and the writer to write. Of a writer of several
// contents in a region, each one counts as written when a later kernel reads it and no other of them.
void note_uses(const Part& part, const LaunchData& launch) {
    const std::string kernel = launch.kernel;
    const std::set<std::string> read = contents_in(part.region, launch.reads),
                                written = contents_in(part.region, launch.writes);
    if (part.written && written.size() == 1) uses.insert(kernel + " writes " + *written.begin());
    for (unsigned from = CALLER; from < 256; from++) {
        if (!part.read_from[from]) continue;
        const std::string by = from == CALLER ? "" : kernels[from - FIRST_KERNEL];
        const std::set<std::string> seen =
            by.empty() ? read : common(read, contents_in(part.region, declared(by).writes));
        for (const std::string& name : seen) uses.insert(kernel + " reads " + name);
        if (!by.empty() && by != kernel && seen.size() == 1) uses.insert(by + " writes " + *seen.begin());
    }
}

[[noreturn]] void undeclared(const char* what, const Part& part, const std::string& from) {
    std::fprintf(stderr, "factz_%s: %s %s%s, which src/cuda/schedule.rs does not say\n",
        kernels.back().c_str(), what, part.region.c_str(), from.c_str());
    std::_Exit(3);
}

// A kernel may read what it writes: an atomic does both.
void check_reads(const Part& part, const LaunchData& launch) {
    std::set<std::string> known = contents_in(part.region, launch.reads), own = known;
    own.merge(contents_in(part.region, launch.writes));
    for (unsigned from = CALLER; from < 256; from++) {
        if (!part.read_from[from]) continue;
        if (own.empty()) undeclared("reads", part, "");
        if (from == CALLER || from == writer()) continue;
        const std::string& kernel = kernels[from - FIRST_KERNEL];
        if (common(own, contents_in(part.region, declared(kernel).writes)).empty())
            undeclared("reads", part, " as " + kernel + " has left it");
    }
}

}  // namespace

extern "C" {

void watch_part(const char* region, const void* at, uint64_t bytes, bool written) {
    parts.push_back(
        {region, (uintptr_t)at, std::vector<unsigned char>(bytes, written ? CALLER : NOBODY), {}, false});
}
void watch_read(const void* at, uint64_t bytes) { read(at, bytes); }
uint64_t reads_seen() { return reads; }

void kernel_begins(const char* name) {
    kernels.push_back(name);
    if (writer() < kernels.size()) std::abort();  // too many kernels for a byte
    for (Part& part : parts) {
        part.written = false;
        for (bool& from : part.read_from) from = false;
    }
}
// With FACTZ_LIST_DATA=1 lists the contents that kernels have used, and those that the kernel is declared to
// use.
void kernel_ends() {
    const LaunchData& launch = declared(kernels.back());
    const bool lists = std::getenv("FACTZ_LIST_DATA") != nullptr;
    const char* const kernel = launch.kernel;
    for (const Part& part : parts) {
        check_reads(part, launch);
        if (part.written && contents_in(part.region, launch.writes).empty()) undeclared("writes", part, "");
        note_uses(part, launch);
    }
    if (!lists) return;
    for (const std::string& use : uses) std::fprintf(stderr, "used %s\n", use.c_str());
    uses.clear();
    for (const std::string& name : words(launch.reads))
        std::fprintf(stderr, "declared %s reads %s\n", kernel, name.c_str());
    for (const std::string& name : words(launch.writes))
        std::fprintf(stderr, "declared %s writes %s\n", kernel, name.c_str());
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* at, uint64_t bytes) { read(at, bytes); }
void __tsan_write_range(void* at, uint64_t bytes) { write(at, bytes); }
unsigned char __tsan_atomic8_load(const volatile unsigned char* at, int) { return *at; }

#define OF_SIZE(bytes)                                                        \
    void __tsan_read##bytes(void* at) { read(at, bytes); }                    \
    void __tsan_write##bytes(void* at) { write(at, bytes); }                  \
    void __tsan_unaligned_read##bytes(void* at) { read(at, bytes); }          \
    void __tsan_unaligned_write##bytes(void* at) { write(at, bytes); }        \
    void __tsan_volatile_read##bytes(void* at) { read(at, bytes); }           \
    void __tsan_volatile_write##bytes(void* at) { write(at, bytes); }         \
    void __tsan_unaligned_volatile_read##bytes(void* at) { read(at, bytes); } \
    void __tsan_unaligned_volatile_write##bytes(void* at) { write(at, bytes); }
OF_SIZE(1)
OF_SIZE(2)
OF_SIZE(4)
OF_SIZE(8)
OF_SIZE(16)

}  // extern "C"
