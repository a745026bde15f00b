//! Structs that calls write are written on every error; configurations come from streams, text and words, and
//! become text and words, bit for bit.

use crate::support::capi::{config, expect, ok, text};
use factz::capi::compress::factz_compress_host;
use factz::capi::config::*;
use factz::capi::decompress::factz_decompress_host;
use factz::capi::encoding::*;
use factz::capi::inspect::*;
use factz::capi::report::factz_report;
use factz::capi::sizes::*;
use factz::capi::status::*;
use factz::capi::version::*;
use factz::{config_text, BoundKind, Coder, Config, Mode, Predictor, Preserve, Ties};
use proptest::prelude::*;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

const N: usize = 40 * 30;

/// Whatever is wrong, a struct that can be written is written, and one that cannot is left alone.
#[test]
fn outputs_are_written_on_errors() {
    let (argument, bad) = (FACTZ_ERROR_INVALID_ARGUMENT, FACTZ_ERROR_INVALID_CONFIG);
    unsafe {
        type Call<'a> = &'a dyn Fn(*mut factz_config) -> factz_status;
        let failed = factz_info { status: 5, ..Default::default() };
        let cases: [(Call, factz_status, &str); 7] = [
            (&|c| factz_config_init(c, 1, 1, 9, 0.0), bad, "bound_kind = 9"),
            (&|c| factz_config_from_info(null(), c), argument, "info is null"),
            (&|c| factz_config_from_info(&failed, c), argument, "info: status = 5"),
            (&|c| factz_config_from_string(null(), c), argument, "text is null"),
            (&|c| factz_config_from_string(c"abs=1,x=2".as_ptr(), c), bad, "no key `x`"),
            (&|c| factz_config_from_words(null(), 24, c), argument, "words is null"),
            (&|c| factz_config_from_words([9; 24].as_ptr(), 24, c), FACTZ_ERROR_UNSUPPORTED, "words[0] = 9"),
        ];
        for (call, status, text) in cases {
            let mut c = factz_config { struct_size: 256, nx: 99, ..config() };
            expect(call(&mut c), status, text);
            assert_eq!(std::mem::transmute::<factz_config, [u64; 32]>(c), [0; 32], "{text}");
            expect(factz_compress_sizes(&c, &mut std::mem::zeroed()), bad, "call factz_config_init first");
        }
        let s = factz_config_from_string(c"abs=\xff".as_ptr(), &mut config());
        expect(s, bad, "text is not UTF-8 from byte 4 on");

        let ones = [u64::MAX; 8];
        for call in [factz_compress_sizes, factz_decompress_sizes, factz_decompress_planes_sizes] {
            let mut sizes: factz_sizes = std::mem::transmute(ones);
            expect(call(null(), &mut sizes), argument, "config is null");
            assert_eq!(std::mem::transmute::<factz_sizes, [u64; 8]>(sizes), [0; 8]);
            let mut sizes: factz_sizes = std::mem::transmute(ones);
            let c = factz_config { nx: 0, ..config() };
            expect(call(&c, &mut sizes), bad, "nx is 0");
            assert_eq!(std::mem::transmute::<factz_sizes, [u64; 8]>(sizes), [0; 8]);
            let c = config();
            expect(call(&c, null_mut()), argument, "sizes is null");
            expect(call(&c, (&raw const c).cast_mut().cast()), argument, "sizes at");
            assert_eq!(c.struct_size, 256, "the input was written");
        }

        let (mut first, mut last) = (7, 7);
        expect(factz_readable_formats(null_mut(), &mut last), argument, "first is null");
        assert_eq!(last, 0);
        expect(factz_readable_formats(&mut first, null_mut()), argument, "last is null");
        assert_eq!(first, 0);
        ok(factz_readable_formats(&mut first, &mut last));
        assert_eq!((first, last), (1, factz_format_version()));

        // A report in the configuration, and where u or the stream begins, is refused and not written.
        let (u, c) = (vec![7f32; N], config());
        for place in [(&raw const c).cast::<u8>(), u.as_ptr().cast()] {
            let (u, report) = (u.as_ptr().cast(), place.cast_mut().cast());
            expect(factz_compress_host(u, u, N + 1, &c, null_mut(), 0, report, 1), argument, "report at");
            expect(factz_decompress_host(u, 4, &c, u as _, u as _, N + 1, report, 1), argument, "report at");
        }
        assert!(c.struct_size == 256 && u.iter().all(|&x| x == 7.0));
    }
}

/// The text and the words of a configuration in buffers of the caller.
#[test]
fn configurations_become_text_and_words() {
    let mut c = config();
    (c.mode, c.ties, c.pin) = (FACTZ_MODE_SPECULATIVE, FACTZ_TIES_ZEROS, 9);
    (c.has_fill_value, c.fill_value) = (1, -0.0);
    let expected =
        "abs=0.01,mode=speculative,coder=ans,predictor=hierarchical,preserve=types,ties=zeros,dx=1,\
                    dy=1,pin=xmin+ymax,fill=-0";
    let mut buffer = [0x55u8; FACTZ_CONFIG_STRING_BYTES];
    let room = buffer.as_mut_ptr().cast::<c_char>();
    unsafe {
        ok(factz_config_to_string(&c, room, buffer.len()));
        assert_eq!(text(room), expected);
        ok(factz_config_to_string(&c, room, expected.len() + 1));
        buffer.fill(0x55);
        let s = factz_config_to_string(&c, room, expected.len());
        expect(s, FACTZ_ERROR_BUFFER_TOO_SMALL, &format!("takes {} bytes", expected.len() + 1));
        assert!(buffer[0] == 0 && buffer[1..].iter().all(|&b| b == 0x55));
        let argument = FACTZ_ERROR_INVALID_ARGUMENT;
        expect(factz_config_to_string(&c, null_mut(), 9), argument, "text is null");
        let inside = (&raw mut c).cast::<c_char>();
        expect(factz_config_to_string(&c, inside, 64), argument, "overlaps config");
        buffer.fill(0x55);
        expect(factz_config_to_string(null(), room, 64), argument, "config is null");
        assert_eq!(buffer[0], 0);

        let mut words = [7u32; FACTZ_CONFIG_WORDS + 1];
        let s = factz_config_to_words(&c, words.as_mut_ptr(), FACTZ_CONFIG_WORDS - 1);
        expect(s, FACTZ_ERROR_BUFFER_TOO_SMALL, "count = 23 words are too few: it takes 24");
        expect(factz_config_to_words(&c, null_mut(), 24), argument, "words is null");
        let broken = factz_config { preserve: 8, ..c };
        let s = factz_config_to_words(&broken, words.as_mut_ptr(), 25);
        expect(s, FACTZ_ERROR_INVALID_CONFIG, "config: preserve = 8");
        assert_eq!(words[..24], [0; 24]);
        ok(factz_config_to_words(&c, words.as_mut_ptr(), 25));
        assert_eq!((words[0], words[24]), (1, 7));
        let mut back = MaybeUninit::<factz_config>::uninit();
        ok(factz_config_from_words(words.as_ptr(), 25, back.as_mut_ptr()));
        let back = back.assume_init();
        assert_eq!((back.nx, back.ny, back.nz, back.struct_size), (0, 0, 1, 256));
        ok(factz_config_to_string(&back, room, buffer.len()));
        assert_eq!(text(room), expected);
    }
}

#[test]
fn a_stream_tells_its_configuration() {
    let u: Vec<f32> = (0..N).map(|k| (0.3 * (k % 40) as f32).sin() + 0.01 * (k / 40) as f32).collect();
    let compress = |config: &factz_config| {
        let mut report = unsafe { std::mem::zeroed::<factz_report>() };
        let (mut dst, u) = (vec![0u8; 1 << 16], u.as_ptr().cast());
        ok(unsafe {
            factz_compress_host(u, u, N, config, dst.as_mut_ptr().cast(), dst.len(), &mut report, 1)
        });
        dst.truncate(report.stream_bytes as usize);
        dst
    };
    let mut made = config();
    (made.coder, made.preserve, made.dx) = (FACTZ_CODER_HUFFMAN, FACTZ_PRESERVE_POINTS, 0.25);
    made.ties = FACTZ_TIES_ZEROS;
    let stream = compress(&made);
    let mut info = factz_info::default();
    ok(unsafe { factz_inspect_host(stream.as_ptr().cast(), stream.len(), &mut info) });
    let mut c = config();
    ok(unsafe { factz_config_from_info(&info, &mut c) });
    assert_eq!((c.nx, c.ny, c.dtype, c.coder, c.preserve), (40, 30, made.dtype, made.coder, made.preserve));
    assert_eq!((info.ties, c.ties), (FACTZ_TIES_ZEROS, FACTZ_TIES_ZEROS));
    info.ties = 3;
    expect(unsafe { factz_config_from_info(&info, &mut c) }, FACTZ_ERROR_INVALID_CONFIG, "info: ties = 3");
    info.ties = FACTZ_TIES_ZEROS;
    ok(unsafe { factz_config_from_info(&info, &mut c) });
    assert_eq!((c.bound, c.bound_kind, c.dx, c.dy), (made.bound, made.bound_kind, 0.25, 1.0));
    assert!(compress(&c) == stream, "the same field gives the same stream");
    let inside = (&raw mut c).cast::<factz_info>();
    expect(unsafe { factz_config_from_info(inside, &mut c) }, FACTZ_ERROR_INVALID_ARGUMENT, "overlaps info");
    assert_eq!(c.struct_size, 256);
}

/// The choices of a configuration; the numbers are what a caller would have to give.
fn any_choices() -> impl Strategy<Value = Config> {
    let distance = || any::<f64>().prop_filter("finite, not 0", |d| d.is_finite() && *d != 0.0);
    let bound = any::<f64>().prop_filter("finite", |b| b.is_finite()).prop_map(f64::abs);
    let names = (0..2usize, 0..3usize, 0..2usize, 0..3usize);
    let fill = prop::option::of(any::<u64>().prop_map(f64::from_bits));
    let rest = (0..16u32, fill, any::<bool>(), 0..3usize);
    // Sides along z and the spacing of a volume.
    let z = prop::option::of((0..4u32, distance()));
    (bound, distance(), distance(), z, names, rest).prop_map(|(bound, dx, dy, z, names, rest)| {
        let (kind, method, coder, preserve) = names;
        let kind = BoundKind::NAMES[kind].1;
        let [mode, predictor] = [[0, 0], [1, 0], [0, 1]][method];
        let of_planes = Config {
            mode: Mode::NAMES[mode].1,
            predictor: Predictor::NAMES[predictor].1,
            pin: rest.0,
            ties: Ties::NAMES[rest.3].1,
            ..Config::new(0, 0, kind, bound)
        };
        let of_volume = |(sides, dz): (u32, f64)| Config {
            dz,
            pin: rest.0 | sides << 4,
            ties: Ties::NAMES[rest.3 % 2].1,
            ..Config::volume([0; 3], kind, bound)
        };
        Config {
            coder: Coder::NAMES[coder].1,
            preserve: Preserve::NAMES[preserve].1,
            dx,
            dy,
            fill_value: rest.1,
            verify_checksum: rest.2,
            ..z.map_or(of_planes, of_volume)
        }
    })
}

fn bits(c: &Config) -> (Config, [u64; 5]) {
    let bits = [c.bound, c.dx, c.dy, c.dz, c.fill_value.unwrap_or(0.0)].map(f64::to_bits);
    (Config { fill_value: c.fill_value.map(|_| 0.0), ..*c }, bits)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn text_and_words_round_trip_bit_for_bit(config in any_choices()) {
        // A fill value that a configuration may not have is refused by both.
        let Ok(text) = config_text::format(&config) else {
            prop_assert!(config_text::to_words(&config).is_err() && config.fill_value.is_some());
            return Ok(());
        };
        prop_assert!(text.len() < FACTZ_CONFIG_STRING_BYTES);
        prop_assert_eq!(bits(&config_text::parse(&text).unwrap()), bits(&config));
        let words = config_text::to_words(&config).unwrap();
        prop_assert_eq!(bits(&config_text::from_words(&words).unwrap()), bits(&config));
    }

    /// Whatever comes in, the answer is a configuration that holds, or an error with a message.
    #[test]
    fn any_words_are_read_or_refused(
        words in prop::collection::vec(prop_oneof![0..4u32, any::<u32>()], 0..30),
        version in prop::option::of(Just(1u32)),
    ) {
        let mut words = words;
        if let (Some(version), Some(first)) = (version, words.first_mut()) {
            *first = version;
        }
        match config_text::from_words(&words) {
            Ok(config) => {
                let again = config_text::from_words(&config_text::to_words(&config).unwrap()).unwrap();
                prop_assert_eq!(bits(&again), bits(&config));
            }
            Err(e) => prop_assert!(!e.message.is_empty()),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(
        text in "((abs|rel|mode|coder|predictor|preserve|ties|dx|dy|dz|pin|fill|verify|x)=(1e-3|all|block|repair|ans|lorenzo|xmin\\+ymax|nan|.{0,5}),?){0,4}",
    ) {
        match config_text::parse(&text) {
            Ok(config) => {
                let again = config_text::parse(&config_text::format(&config).unwrap()).unwrap();
                prop_assert_eq!(bits(&again), bits(&config));
            }
            Err(e) => prop_assert!(!e.message.is_empty()),
        }
    }
}
