//! include/factz.h is what cbindgen makes of src/capi. `FACTZ_BLESS=1` rewrites it.

use crate::support::root;

/// The modules of the interface, in the order of the manual.
const MODULES: &str =
    "status enumerations config encoding report sizes inspect compress decompress region component range \
    analysis protect volume volume_region volume_analysis protect_volume device volume_device protect_device \
    log version";

#[test]
fn the_header_is_up_to_date() {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for module in MODULES.split(' ') {
        builder = builder.with_src(root().join(format!("src/capi/{module}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let text = String::from_utf8(text).unwrap();
    let path = root().join("include/factz.h");
    if std::env::var_os("FACTZ_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "include/factz.h is stale: run FACTZ_BLESS=1 cargo test --test promises header::");
}

#[test]
fn every_module_with_exports_is_in_the_manual() {
    for entry in std::fs::read_dir(root().join("src/capi")).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let exports = std::fs::read_to_string(&path).unwrap().contains("#[unsafe(no_mangle)]");
        assert!(!exports || MODULES.split(' ').any(|module| module == stem), "{stem} is missing in MODULES");
    }
}
