//! The device functions of fixes check their arguments, with and without a device.

use crate::support::capi::{config_of, expect, ok};
use factz::capi::config::*;
use factz::capi::protect_device::*;
use factz::capi::sizes::factz_sizes;
use factz::capi::status::*;
use std::ptr::{null, null_mut};

/// Arguments that the device functions refuse before they ask for a device.
#[test]
fn device_functions_of_fixes_check_their_arguments() {
    let planes = config_of(40, 30, FACTZ_BOUND_ABSOLUTE, 0.1);
    let mut volume = planes;
    // SAFETY: the pointers below are null or numbers that nobody follows: the calls end before.
    ok(unsafe { factz_config_init_volume(&mut volume, 40, 6, 5, FACTZ_BOUND_ABSOLUTE, 0.1) });
    let n = 1200;
    let at = |k: usize| 0x10_0000 * k;
    let (work, report) = (at(16), at(32));
    let argument = FACTZ_ERROR_INVALID_ARGUMENT;
    let has_device = factz::device::available().is_ok();
    let enqueued = |status: factz_status| match has_device {
        true => assert_ne!(status, FACTZ_OK),
        false => expect(status, FACTZ_ERROR_NO_DEVICE, "the processor can do the work"),
    };
    let sizes_of = |tell: unsafe extern "C" fn(*const factz_config, *mut factz_sizes) -> factz_status, c| {
        let mut sizes = factz_sizes::default();
        ok(unsafe { tell(c, &mut sizes) });
        assert_eq!((sizes.alignment, sizes.analysis_workspace_bytes), (256, 0));
        (sizes.max_stream_bytes, sizes.workspace_bytes as usize)
    };
    let (most, bytes) = sizes_of(factz_protect_sizes, &planes);
    assert_eq!((most, sizes_of(factz_apply_sizes, &planes).0), (128 + 2 * 4 * 1200, most));
    // The arguments are other_u, n, dst_bytes, the workspace and its bytes.
    let protect = |other: usize, n: usize, room: usize, work: usize, bytes: usize| unsafe {
        let (u, v, other, b, dst) = (at(1) as _, at(2) as _, other as _, at(5) as _, at(7) as _);
        let (c, work, report) = (&planes, work as _, report as _);
        factz_protect_device(u, v, n, c, other, b, null(), dst, room, work, bytes, report, null_mut())
    };
    enqueued(protect(at(4), n, 1 << 16, work, bytes));
    expect(protect(0, n, 1 << 16, work, bytes), argument, "other_u is null");
    expect(protect(at(4) + 1, n, 1 << 16, work, bytes), argument, "other_u = 0x400001 is not aligned to 4");
    expect(protect(at(4), n - 1, 1 << 16, work, bytes), argument, "n = 1199");
    expect(protect(at(4), n, 127, work, bytes), argument, "dst_bytes = 127 is less than the header of a fix");
    expect(protect(at(4), n, 1 << 16, work + 8, bytes), argument, "workspace = 0x1000008 is not aligned");
    expect(protect(at(4), n, 1 << 16, at(4), bytes), argument, "overlaps");
    expect(protect(at(7), n, 1 << 16, work, bytes), argument, "overlaps");
    let too_small = FACTZ_ERROR_WORKSPACE_TOO_SMALL;
    expect(protect(at(4), n, 1 << 16, work, bytes - 1), too_small, "workspace_bytes = ");
    let bytes = sizes_of(factz_apply_sizes, &planes).1;
    let apply = |fix: usize, v: usize, work: usize, bytes: usize| unsafe {
        let (fix, u, v, c, work) = (fix as _, at(1) as _, v as _, &planes, work as _);
        factz_apply_device(fix, 1 << 16, c, u, v, n, work, bytes, report as _, null_mut())
    };
    enqueued(apply(at(7), at(2), work, bytes));
    expect(apply(0, at(2), work, bytes), argument, "fix is null");
    expect(apply(at(7) + 8, at(2), work, bytes), argument, "fix = 0x700008 is not aligned to 256");
    expect(apply(at(7), at(1), work, bytes), argument, "share");
    expect(apply(at(1), at(2), work, bytes), argument, "overlaps");
    expect(apply(at(7), at(2), work, bytes - 1), too_small, "workspace_bytes = ");
    let (most, bytes) = sizes_of(factz_protect_volume_sizes, &volume);
    assert_eq!((most, sizes_of(factz_apply_volume_sizes, &volume).0), (136 + 3 * 4 * 1200, most));
    let protect = |w: usize, other: usize, room: usize, bytes: usize| unsafe {
        let [u, v, w] = [at(1) as _, at(2) as _, w as _];
        let [a, b, d] = [at(4) as _, at(5) as _, other as _];
        let (c, dst, work, to) = (&volume, at(7) as _, work as _, null_mut());
        factz_protect_volume_device(u, v, w, n, c, a, b, d, null(), dst, room, work, bytes, report as _, to)
    };
    enqueued(protect(at(3), at(6), 1 << 16, bytes));
    expect(protect(0, at(6), 1 << 16, bytes), argument, "w is null");
    expect(protect(at(3), 0, 1 << 16, bytes), argument, "other_w is null");
    expect(protect(at(3), at(6), 135, bytes), argument, "dst_bytes = 135 is less than the header of a fix");
    expect(protect(at(3), at(6), 1 << 16, bytes - 1), too_small, "workspace_bytes = ");
    let bytes = sizes_of(factz_apply_volume_sizes, &volume).1;
    let apply = |w: usize, n: usize, bytes: usize| unsafe {
        let (fix, u, v, w, c, work) = (at(7) as _, at(1) as _, at(2) as _, w as _, &volume, work as _);
        factz_apply_volume_device(fix, 1 << 16, c, u, v, w, n, work, bytes, report as _, null_mut())
    };
    enqueued(apply(at(3), n, bytes));
    expect(apply(at(2), n, bytes), argument, "share");
    expect(apply(at(3), n + 1, bytes), argument, "n = 1201");
    expect(apply(at(3), n, bytes - 1), too_small, "workspace_bytes = ");
    // A configuration of planes is none of a volume.
    let mut sizes = factz_sizes::default();
    for tell in [factz_protect_volume_sizes, factz_apply_volume_sizes] {
        expect(unsafe { tell(&planes, &mut sizes) }, FACTZ_ERROR_INVALID_CONFIG, "components = 2");
    }
}
