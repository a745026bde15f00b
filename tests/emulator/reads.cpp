// Finds reads of memory that nobody wrote, as compute-sanitizer's initcheck does on a device. The emulator is
// compiled with the calls of a thread sanitizer for each read and write, and linked with these in place of
// that one's library.
#include <cstdint>
#include <vector>

// Of emulator.cpp: says which kernel it is, and ends.
extern "C" void unwritten_read(uint64_t offset, uint64_t bytes);

namespace {

struct Part {
    uintptr_t start;
    std::vector<unsigned char> written;
};
std::vector<Part> parts;
uint64_t reads = 0;

void read(const void* at, uint64_t bytes) {
    reads++;
    const uintptr_t first = (uintptr_t)at;
    for (const Part& part : parts)
        if (first - part.start < part.written.size())
            for (uint64_t i = first - part.start; i < first - part.start + bytes && i < part.written.size();
                 i++)
                if (!part.written[i]) unwritten_read(i, part.written.size());
}

void write(const void* at, uint64_t bytes) {
    const uintptr_t first = (uintptr_t)at;
    for (Part& part : parts)
        if (first - part.start < part.written.size())
            for (uint64_t i = first - part.start; i < first - part.start + bytes && i < part.written.size();
                 i++)
                part.written[i] = true;
}

}  // namespace

extern "C" {

void watch_part(const void* at, uint64_t bytes, bool written) {
    parts.push_back({(uintptr_t)at, std::vector<unsigned char>(bytes, written)});
}
void watch_read(const void* at, uint64_t bytes) { read(at, bytes); }
uint64_t reads_seen() { return reads; }

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
