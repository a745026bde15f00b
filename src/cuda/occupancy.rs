//! Test of what the compiler reports of each kernel: a multiprocessor of every architecture has the shared
//! memory and the registers for it, and holds as many of its blocks as the table of launches says.

use super::launch::Launch;
use super::schedule::LAUNCHES;

/// The report of ptxas on the kernels of this build; empty where nothing was compiled.
const REPORT: &str = include_str!(concat!(env!("OUT_DIR"), "/ptxas.txt"));

/// Quantities of a multiprocessor: CUDA C++ Programming Guide, technical specifications per compute
/// capability.
struct Multiprocessor {
    architecture: u32,
    threads: u32,
    blocks: u32,
    shared_bytes: u32,
    /// Of a block, at most.
    block_shared_bytes: u32,
    /// Taken by the system from what a multiprocessor has, for each block.
    reserved_shared_bytes: u32,
}

const fn multiprocessor(architecture: u32, threads: u32, blocks: u32, shared_kib: u32) -> Multiprocessor {
    let reserved_shared_bytes = if architecture < 80 { 0 } else { 1024 };
    let shared_bytes = shared_kib << 10;
    let block_shared_bytes = shared_bytes - reserved_shared_bytes;
    Multiprocessor { architecture, threads, blocks, shared_bytes, block_shared_bytes, reserved_shared_bytes }
}

const MULTIPROCESSORS: [Multiprocessor; 7] = [
    multiprocessor(75, 1024, 16, 64),
    multiprocessor(80, 2048, 32, 164),
    multiprocessor(86, 1536, 16, 100),
    multiprocessor(89, 1536, 24, 100),
    multiprocessor(90, 2048, 32, 228),
    multiprocessor(100, 2048, 32, 228),
    multiprocessor(120, 1536, 24, 100),
];
const REGISTERS: u32 = 65536;
/// Registers are given to a warp in units of this many.
const REGISTER_UNIT: u32 = 256;
const SHARED_UNIT: u32 = 128;

/// A kernel as the compiler made it.
#[derive(Debug)]
struct Compiled<'a> {
    architecture: u32,
    symbol: &'a str,
    registers: u32,
    /// Static.
    shared_bytes: u32,
}

/// The number before some words: in `Used 40 registers, 512 bytes smem` 40 before ` registers`.
fn number_before(line: &str, words: &str) -> Option<u32> {
    let (before, _) = line.split_once(words)?;
    before.rsplit([' ', ',']).next()?.parse().ok()
}

fn compiled(report: &str) -> Vec<Compiled<'_>> {
    let (mut kernels, mut current) = (Vec::new(), None);
    for line in report.lines() {
        if let Some((_, entry)) = line.split_once("Compiling entry function '") {
            assert!(current.is_none(), "two reports are mixed: {line}");
            let (symbol, architecture) = entry.split_once("' for 'sm_").expect("an architecture");
            let digits = architecture.trim_end_matches(|c: char| !c.is_ascii_digit());
            current = Some((symbol, digits.parse().expect("a number")));
        } else if let Some(registers) = number_before(line, " registers") {
            let Some((symbol, architecture)) = current.take() else { continue };
            let shared_bytes = number_before(line, " bytes smem").unwrap_or(0);
            kernels.push(Compiled { architecture, symbol, registers, shared_bytes });
        }
    }
    kernels
}

impl Multiprocessor {
    /// Blocks of a kernel that it holds at a time.
    fn resident(&self, kernel: &Compiled, launch: &Launch, dtype: usize) -> u32 {
        let small = self.architecture < 80;
        let warps = launch.block_on(small, dtype).div_ceil(32);
        let registers = warps * (32 * kernel.registers).next_multiple_of(REGISTER_UNIT);
        let shared = (kernel.shared_bytes + launch.shared_bytes_on(small) + self.reserved_shared_bytes)
            .next_multiple_of(SHARED_UNIT);
        let by_shared = self.shared_bytes.checked_div(shared).unwrap_or(u32::MAX);
        self.blocks.min(self.threads / (32 * warps)).min(REGISTERS / registers).min(by_shared)
    }

    fn check(&self, kernel: &Compiled, launch: &Launch, dtype: usize) -> String {
        let small = self.architecture < 80;
        let shared = kernel.shared_bytes + launch.shared_bytes_on(small);
        let name = format!("{} on sm_{}", kernel.symbol, self.architecture);
        assert!(shared <= self.block_shared_bytes, "{name}: {shared} bytes of shared memory");
        let resident = self.resident(kernel, launch, dtype);
        assert!(resident > 0, "{name}: no block fits");
        // Blocks that wait for each other run at the same time; such kernels have no variant for small devices.
        let promised = if launch.together && !small { launch.resident[dtype] } else { 1 };
        assert!(resident >= promised, "{name}: {resident} blocks instead of {promised}");
        let warps = resident * launch.block_on(small, dtype).div_ceil(32);
        format!(
            "{name}: {} registers, {shared} shared bytes, {resident} blocks, {warps} warps of {}\n",
            kernel.registers,
            self.threads / 32
        )
    }
}

/// Prints a line for each kernel and architecture of this build:
/// cargo test --lib cuda::occupancy -- --nocapture.
#[test]
fn every_kernel_fits_its_multiprocessors() {
    let kernels = compiled(REPORT);
    let mut text = String::new();
    for multiprocessor in &MULTIPROCESSORS {
        let of_this: Vec<_> =
            kernels.iter().filter(|kernel| kernel.architecture == multiprocessor.architecture).collect();
        if of_this.is_empty() {
            continue;
        }
        for (launch, dtype) in LAUNCHES.iter().flat_map(|launch| [(launch, 0), (launch, 1)]) {
            let symbol = launch.symbol(dtype);
            let kernel = of_this.iter().find(|kernel| kernel.symbol == symbol);
            let kernel = kernel.unwrap_or_else(|| panic!("the report does not mention {symbol}"));
            text += &multiprocessor.check(kernel, launch, dtype);
        }
    }
    print!("{text}");
    assert!(!text.is_empty(), "the report names no kernel of a known architecture: {REPORT:.200}");
}

#[test]
fn reports_are_read() {
    let text = "\
ptxas info    : Compiling entry function 'factz_a_f32' for 'sm_90a'
ptxas info    : Function properties for factz_a_f32
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 512 bytes smem
ptxas info    : Compiling entry function 'factz_b' for 'sm_75'
ptxas info    : Used 128 registers, used 0 barriers
";
    let kernels = compiled(text);
    let told: Vec<_> =
        kernels.iter().map(|k| (k.symbol, k.architecture, k.registers, k.shared_bytes)).collect();
    assert_eq!(told, [("factz_a_f32", 90, 40, 512), ("factz_b", 75, 128, 0)]);
}

/// Values of NVIDIA's occupancy calculator.
#[test]
fn blocks_are_limited_by_what_runs_out_first() {
    let launch = LAUNCHES.iter().find(|launch| launch.name == "tune").expect("a launch");
    let threads = launch.block_on(false, 0);
    let sm_90 = MULTIPROCESSORS.iter().find(|m| m.architecture == 90).expect("known");
    let with = |registers, shared_bytes| Compiled { architecture: 90, symbol: "", registers, shared_bytes };
    let dynamic = launch.shared_bytes_on(false);
    let by_shared = (228 << 10) / (100_000 + dynamic + 1024).next_multiple_of(128);
    assert_eq!(sm_90.resident(&with(16, 100_000), launch, 0), by_shared);
    assert_eq!(sm_90.resident(&with(255, 0), launch, 0), 65536 / (256 * threads));
}
