//! The choices of a configuration as one line of text and as words: everything but the shape, the element
//! type and the layout, which come from the field. The mode tells whether it is of planes or of a volume.

use crate::error::{Error, Result, Status};
use crate::grid::field::Layout;
use crate::request::{BoundKind, Coder, Config, Mode, Predictor, Preserve, Request, Ties, VolumeRequest};
use crate::request::{
    PERIODIC_X, PERIODIC_Y, PERIODIC_Z, SIDES_ALL, SIDES_ALL_OF_VOLUME, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX,
    SIDE_Y_MIN, SIDE_Z_MAX, SIDE_Z_MIN,
};
use std::fmt::Write;

const KEYS: [&str; 14] = [
    "abs",
    "rel",
    "mode",
    "coder",
    "predictor",
    "preserve",
    "ties",
    "dx",
    "dy",
    "dz",
    "pin",
    "periodic",
    "fill",
    "verify",
];
/// The periodic axes in text.
pub const PERIODIC: [(&str, u32); 8] = [
    ("none", 0),
    ("x", PERIODIC_X),
    ("y", PERIODIC_Y),
    ("xy", PERIODIC_X | PERIODIC_Y),
    ("z", PERIODIC_Z),
    ("xz", PERIODIC_X | PERIODIC_Z),
    ("yz", PERIODIC_Y | PERIODIC_Z),
    ("xyz", PERIODIC_X | PERIODIC_Y | PERIODIC_Z),
];
const SIDES: [(&str, u32); 6] = [
    ("xmin", SIDE_X_MIN),
    ("xmax", SIDE_X_MAX),
    ("ymin", SIDE_Y_MIN),
    ("ymax", SIDE_Y_MAX),
    ("zmin", SIDE_Z_MIN),
    ("zmax", SIDE_Z_MAX),
];
const NO_YES: [(&str, bool); 2] = [("no", false), ("yes", true)];

/// Reads "abs=1e-3,mode=speculative". The shape of the result is 0 x 0.
pub fn parse(text: &str) -> Result<Config> {
    let items = items(text)?;
    let given = |name: &str| items.iter().any(|&(key, _)| key == name);
    // The mode goes first: it tells whether there are z sides.
    let mode = items.iter().find(|item| item.0 == "mode").map(|item| named("mode", item.1, &Mode::NAMES));
    let mut config = of_mode(mode.transpose()?.unwrap_or(Mode::BlockWise), BoundKind::Absolute, 0.0);
    for (key, value) in &items {
        set(&mut config, key, value)?;
    }
    if given("dz") && config.components == 2 {
        return Err(Error::config("dz is the spacing of volumes, mode=repair: planes have dx and dy"));
    }
    match (given("abs"), given("rel")) {
        (false, false) => Err(Error::config("there is no bound: give abs=NUMBER or rel=NUMBER")),
        (true, true) => Err(Error::config("abs and rel are both given: a field has one bound")),
        _ => check(config),
    }
}

/// The keys and values of a text, each key once.
fn items(text: &str) -> Result<Vec<(&str, &str)>> {
    let mut items: Vec<(&str, &str)> = Vec::new();
    for item in text.split(',') {
        let Some((key, value)) = item.split_once('=') else {
            return Err(Error::config(format!("`{}` is not key=value, such as abs=1e-3", item.trim())));
        };
        let (key, value) = (key.trim(), value.trim());
        if items.iter().any(|item| item.0 == key) {
            return Err(Error::config(format!("{key} is given twice")));
        }
        items.push((key, value));
    }
    Ok(items)
}

/// A configuration without a shape: that of a volume where the mode is repair.
fn of_mode(mode: Mode, bound_kind: BoundKind, bound: f64) -> Config {
    match mode {
        Mode::Repair => Config::volume([0; 3], bound_kind, bound),
        mode => Config { mode, ..Config::new(0, 0, bound_kind, bound) },
    }
}

fn set(config: &mut Config, key: &str, value: &str) -> Result<()> {
    match key {
        "abs" => (config.bound_kind, config.bound) = (BoundKind::Absolute, number(key, value)?),
        "rel" => (config.bound_kind, config.bound) = (BoundKind::Relative, number(key, value)?),
        // Of the configuration from the beginning.
        "mode" => {}
        "coder" => config.coder = named(key, value, &Coder::NAMES)?,
        "predictor" => config.predictor = named(key, value, &Predictor::NAMES)?,
        "preserve" => config.preserve = named(key, value, &Preserve::NAMES)?,
        "ties" => config.ties = named(key, value, &Ties::NAMES)?,
        "dx" => config.dx = number(key, value)?,
        "dy" => config.dy = number(key, value)?,
        "dz" => config.dz = number(key, value)?,
        "pin" => config.pin = sides(value, config.components)?,
        "periodic" => config.periodic = named(key, value, &PERIODIC)?,
        "fill" => config.fill_value = if value == "none" { None } else { Some(number(key, value)?) },
        "verify" => config.verify_checksum = named(key, value, &NO_YES)?,
        _ => return Err(Error::config(format!("there is no key `{key}`: the keys are {}", KEYS.join(", ")))),
    }
    Ok(())
}

fn named<T: Copy>(key: &str, value: &str, names: &[(&str, T)]) -> Result<T> {
    names.iter().find(|n| n.0 == value).map(|n| n.1).ok_or_else(|| {
        let all: Vec<_> = names.iter().map(|n| n.0).collect();
        Error::config(format!("{key}={value} is none of {}", all.join(", ")))
    })
}

fn sides(value: &str, components: u32) -> Result<u32> {
    match value {
        "none" => Ok(0),
        "all" if components == 3 => Ok(SIDES_ALL_OF_VOLUME),
        "all" => Ok(SIDES_ALL),
        _ => value.split('+').try_fold(0, |bits, side| match SIDES.iter().find(|s| s.0 == side.trim()) {
            Some(s) => Ok(bits | s.1),
            None => Err(Error::config(format!(
                "pin={value} is none, all, or sides joined by +: xmin, xmax, ymin, ymax, of volumes also zmin, zmax"
            ))),
        }),
    }
}

/// A number in decimal, or a NaN with all its bits: nan(0x7ff8000000000001).
fn number(key: &str, value: &str) -> Result<f64> {
    let bits = value.strip_prefix("nan(0x").and_then(|v| v.strip_suffix(')'));
    let parsed = match bits {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(f64::from_bits).filter(|x| x.is_nan()),
        None if value == "nan" => Some(f64::from_bits(QUIET_NAN)),
        None => value.parse().ok().filter(|x: &f64| !x.is_nan()),
    };
    parsed.ok_or_else(|| Error::config(format!("{key}={value} is no number, such as 1e-3")))
}

const QUIET_NAN: u64 = 0x7ff8 << 48;

/// The shortest digits that [`number`] reads back as the same bits.
fn digits(x: f64) -> String {
    if x.is_nan() {
        return if x.to_bits() == QUIET_NAN { "nan".into() } else { format!("nan(0x{:x})", x.to_bits()) };
    }
    let text = format!("{x:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The text that [`parse`] reads back as the same choices, bit for bit.
pub fn format(config: &Config) -> Result<String> {
    let c = check(*config)?;
    let bound = match c.bound_kind {
        BoundKind::Absolute => "abs",
        BoundKind::Relative => "rel",
    };
    let mut text = format!(
        "{bound}={},mode={},coder={},predictor={},preserve={},ties={},dx={},dy={}",
        digits(c.bound),
        c.mode.name(),
        c.coder.name(),
        c.predictor.name(),
        c.preserve.name(),
        c.ties.name(),
        digits(c.dx),
        digits(c.dy)
    );
    // Writing to a String cannot fail.
    if c.components == 3 {
        let _ = write!(text, ",dz={}", digits(c.dz));
    }
    if c.pin != 0 {
        let pinned: Vec<_> = SIDES.iter().filter(|s| c.pin & s.1 != 0).map(|s| s.0).collect();
        let _ = write!(text, ",pin={}", pinned.join("+"));
    }
    if c.periodic != 0 {
        let _ = write!(text, ",periodic={}", PERIODIC[c.periodic as usize].0);
    }
    if let Some(fill) = c.fill_value {
        let _ = write!(text, ",fill={}", digits(fill));
    }
    if !c.verify_checksum {
        text.push_str(",verify=no");
    }
    Ok(text)
}

/// Words of [`to_words`].
pub const WORDS: usize = 24;
const WORDS_VERSION: u32 = 1;
/// Words that mean something in this version; the rest are 0. Those of a volume have dz behind them,
/// where 0 stands for 1.
const USED: usize = 19;
const USED_OF_VOLUME: usize = USED + 2;

/// The choices as words, the version of this encoding first, doubles as the low and the high half of their
/// bits.
pub fn to_words(config: &Config) -> Result<[u32; WORDS]> {
    let c = check(*config)?;
    let halves = |x: f64| [x.to_bits() as u32, (x.to_bits() >> 32) as u32];
    let [[bound, bound_high], [fill, fill_high]] = [halves(c.bound), halves(c.fill_value.unwrap_or(0.0))];
    let [[dx, dx_high], [dy, dy_high]] = [halves(c.dx), halves(c.dy)];
    let mut words = [0; WORDS];
    words[..USED].copy_from_slice(&[
        WORDS_VERSION,
        c.bound_kind as u32,
        bound,
        bound_high,
        c.mode as u32,
        c.coder as u32,
        c.predictor as u32,
        c.preserve as u32,
        c.pin,
        c.verify_checksum as u32,
        dx,
        dx_high,
        dy,
        dy_high,
        c.fill_value.is_some() as u32,
        fill,
        fill_high,
        c.ties as u32,
        c.periodic,
    ]);
    if c.components == 3 && c.dz != 1.0 {
        words[USED..USED_OF_VOLUME].copy_from_slice(&halves(c.dz));
    }
    Ok(words)
}

/// Reads what [`to_words`] made; words behind it are the caller's own. The shape of the result is 0 x 0.
pub fn from_words(words: &[u32]) -> Result<Config> {
    let unsupported = |message| Err(Error::new(Status::Unsupported, message));
    match words.first() {
        Some(&WORDS_VERSION) => {}
        Some(version) => {
            return unsupported(format!(
                "words[0] = {version} is a version of the encoding that this library does not know; it knows \
                 {WORDS_VERSION}"
            ))
        }
        None => return Err(Error::argument(format!("count = 0 words: there are at least {WORDS}"))),
    }
    let Some(words) = words.first_chunk::<WORDS>() else {
        return Err(Error::argument(format!("count = {} words: there are at least {WORDS}", words.len())));
    };
    let mode = numbered(words, 4, "the mode", &Mode::NAMES)?;
    let used = if mode == Mode::Repair { USED_OF_VOLUME } else { USED };
    if let Some(k) = (used..WORDS).find(|&k| words[k] != 0) {
        return unsupported(format!(
            "words[{k}] = {:#x} is reserved and must be 0 in this version",
            words[k]
        ));
    }
    let double = |k: usize| f64::from_bits(words[k] as u64 | (words[k + 1] as u64) << 32);
    let bound_kind = numbered(words, 1, "the kind of the bound", &BoundKind::NAMES)?;
    let base = of_mode(mode, bound_kind, double(2));
    check(Config {
        coder: numbered(words, 5, "the coder", &Coder::NAMES)?,
        predictor: numbered(words, 6, "the predictor", &Predictor::NAMES)?,
        preserve: numbered(words, 7, "what to preserve", &Preserve::NAMES)?,
        pin: words[8],
        periodic: words[18],
        verify_checksum: numbered(words, 9, "whether the checksum is compared", &NO_YES)?,
        dx: double(10),
        dy: double(12),
        dz: if words[USED..USED_OF_VOLUME] == [0; 2] { base.dz } else { double(USED) },
        ties: numbered(words, 17, "which ties are kept", &Ties::NAMES)?,
        fill_value: numbered(words, 14, "whether there is a fill value", &NO_YES)?.then_some(double(15)),
        ..base
    })
}

fn numbered<T: Copy>(words: &[u32; WORDS], k: usize, what: &str, names: &[(&str, T)]) -> Result<T> {
    names.get(words[k] as usize).map(|n| n.1).ok_or_else(|| {
        let all: Vec<_> = names.iter().enumerate().map(|(number, n)| format!("{} ({number})", n.0)).collect();
        Error::config(format!("words[{k}] = {}, {what}, is none of {}", words[k], all.join(", ")))
    })
}

/// Checks the choices alone, and gives them back without shape and layout.
fn check(config: Config) -> Result<Config> {
    let dense = Layout { pitch: 0, stride: 1, plane: 0 };
    let one = Config { nx: 3, ny: 3, nz: 1, plane_rows: 0, u: dense, v: dense, w: dense, halo: 0, ..config };
    if config.components == 3 {
        VolumeRequest::new(Config { nz: 3, ..one })?;
        return Ok(Config { nx: 0, ny: 0, nz: 0, ..one });
    }
    // dz is none of their choices.
    let one = Config { dz: 1.0, ..one };
    Request::new(one)?;
    Ok(Config { nx: 0, ny: 0, ..one })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        let e = parse(text).unwrap_err();
        assert_eq!(e.status, Status::InvalidConfig);
        e.message.into_owned()
    }

    #[test]
    fn errors_list_the_choices() {
        for (text, part) in [
            ("", "`` is not key=value"),
            ("mode=block", "there is no bound"),
            ("abs=1,rel=1", "abs and rel are both given"),
            ("abs=1,abs=1", "abs is given twice"),
            ("abs=1,", "`` is not key=value"),
            ("abs=1,depth=3", "no key `depth`: the keys are abs, rel, mode"),
            ("abs=one", "abs=one is no number"),
            ("abs=nan", "bound = NaN must be finite"),
            ("abs=-1", "bound = -1 must be finite"),
            ("abs=1,mode=fast", "mode=fast is none of block, speculative"),
            ("abs=1,coder=zip", "coder=zip is none of ans, huffman"),
            ("abs=1,predictor=x", "predictor=x is none of hierarchical, lorenzo"),
            ("abs=1,preserve=x", "preserve=x is none of none, points, types"),
            ("abs=1,ties=none", "ties=none is none of all, zeros, sos"),
            ("abs=1,verify=1", "verify=1 is none of no, yes"),
            ("abs=1,pin=left", "pin=left is none, all, or sides joined by +: xmin, xmax, ymin, ymax"),
            ("abs=1,fill=nan(0x0)", "fill=nan(0x0) is no number"),
            ("abs=1,dx=0", "dx = 0 must be finite and not 0"),
            ("abs=1,dy=-inf", "dy = -inf must be finite and not 0"),
            ("abs=1,mode=speculative,predictor=lorenzo", "the Lorenzo predictor is block-wise"),
            ("abs=1,dz=2", "dz is the spacing of volumes"),
            ("abs=1,mode=repair,dz=0", "dz = 0 must be finite and not 0"),
            ("abs=1,pin=zmin", "pin = 0x10 has bits that are no side"),
            ("abs=1,periodic=z", "periodic = 0x4 has bits that are no axis"),
            ("abs=1,mode=repair,ties=sos", "ties = sos is a rule for triangles"),
            ("abs=1,mode=repair,predictor=lorenzo", "predictor = lorenzo is one of planes"),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
    }

    #[test]
    fn text_is_canonical() {
        let text = "rel=0.001,mode=speculative,coder=huffman,predictor=hierarchical,preserve=points,\
                    ties=zeros,dx=2,dy=-0.5,pin=xmin+ymax,fill=9.96921e36,verify=no";
        let spaced = " rel = 1e-3 , mode=speculative, coder=huffman,preserve=points,\
                      dx=2.0,dy=-.5,ties = zeros,pin=ymax + xmin,fill=996921e31,verify=no ";
        assert_eq!(format(&parse(spaced).unwrap()).unwrap(), text);
        let plain = "abs=0,mode=block,coder=ans,predictor=hierarchical,preserve=types,ties=all,dx=1,dy=1";
        assert_eq!(format(&parse("abs=0,pin=none,fill=none").unwrap()).unwrap(), plain);
        assert_eq!(parse("abs=0,pin=all").unwrap().pin, SIDES_ALL);
        for fill in ["-0", "nan", "nan(0xfff8000000000001)", "inf", "-inf", "5e-324"] {
            let again = format(&parse(&format!("abs=0,fill={fill}")).unwrap()).unwrap();
            assert_eq!(again, format!("{plain},fill={fill}"));
        }
    }

    #[test]
    fn repair_is_the_mode_of_volumes() {
        let text =
            "abs=0.5,mode=repair,coder=ans,predictor=hierarchical,preserve=types,ties=zeros,dx=1,dy=2,dz=-3,\
                    pin=xmin+zmax,periodic=y";
        let config = parse("pin=zmax+xmin,abs=.5,ties=zeros,dz=-3,dy=2,periodic=y,mode=repair").unwrap();
        assert_eq!((config.components, config.dz, config.pin), (3, -3.0, SIDE_X_MIN | SIDE_Z_MAX));
        assert_eq!(format(&config).unwrap(), text);
        assert_eq!(parse("pin=all,abs=1,mode=repair").unwrap().pin, SIDES_ALL_OF_VOLUME);

        let mut words = to_words(&config).unwrap();
        assert_eq!((words[4], words[8], words[18]), (2, 33, 2));
        assert_eq!(words[USED..], [0, 0xc008_0000, 0, 0, 0]);
        assert_eq!(from_words(&words), Ok(config));
        words[20] = 0;
        let config = from_words(&words).unwrap();
        assert_eq!(config.dz, 1.0);
        assert_eq!(to_words(&config), Ok(words));
        words[20] = 0x7ff0_0000;
        assert!(from_words(&words).unwrap_err().message.contains("dz = inf must be"));
        words[21] = 1;
        assert_eq!(from_words(&words).unwrap_err().status, Status::Unsupported);
    }

    /// The encoding is for ever: files hold it.
    #[test]
    fn words_are_pinned() {
        let config =
            parse("rel=1e-3,mode=speculative,coder=huffman,preserve=points,ties=zeros,dx=2,pin=ymax,periodic=x,fill=-1")
                .unwrap();
        let mut words = to_words(&config).unwrap();
        let [low, high] = [0xd2f1a9fc, 0x3f50624d];
        let pinned =
            [1, 1, low, high, 1, 1, 0, 1, 8, 1, 0, 0x4000_0000, 0, 0x3ff0_0000, 1, 0, 0xbff0_0000, 1, 1];
        assert_eq!(words[..USED], pinned);
        assert!(words[USED..].iter().all(|&w| w == 0));
        assert_eq!(from_words(&words), Ok(config));
        assert_eq!(from_words(&[&words[..], &[7; 9]].concat()), Ok(config), "words of the caller");

        let refused = |words: &[u32], status, part: &str| {
            let e = from_words(words).unwrap_err();
            assert!(e.status == status && e.message.contains(part), "{e:?}");
        };
        refused(&[], Status::InvalidArgument, "count = 0");
        refused(&words[..WORDS - 1], Status::InvalidArgument, "count = 23");
        for (k, value, status, part) in [
            (0, 2, Status::Unsupported, "words[0] = 2 is a version"),
            (1, 2, Status::InvalidConfig, "words[1] = 2, the kind of the bound, is none of abs (0), rel (1)"),
            (3, 0x7ff0_0000, Status::InvalidConfig, "bound"),
            (4, 7, Status::InvalidConfig, "block (0), speculative (1)"),
            (8, 16, Status::InvalidConfig, "pin = 0x10"),
            (14, 2, Status::InvalidConfig, "no (0), yes (1)"),
            (
                17,
                3,
                Status::InvalidConfig,
                "words[17] = 3, which ties are kept, is none of all (0), zeros (1), sos (2)",
            ),
            (18, 4, Status::InvalidConfig, "periodic = 0x4"),
            (USED, 1, Status::Unsupported, "words[19] = 0x1 is reserved"),
        ] {
            let before = std::mem::replace(&mut words[k], value);
            refused(&words, status, part);
            words[k] = before;
        }
    }
}
