"""The text of ``python -m factz.pack --help`` and of unpack."""

DESCRIPTION = """\
Compresses pairs of variables of a netCDF-4 file, such as u10 and v10, within an error bound, and keeps every
critical point of each field: sources, sinks, saddles and vortex centres stay in their triangle of the grid
with their type, and none appears. Everything else is copied as it is.

OUT has the variables of IN and no others. xarray, netCDF4, h5py, ncdump, CDO and other programs that read
netCDF-4 read u10 and v10 as before, if HDF5 finds the filter (see Reading)."""

APPENDIX = """\
Pairs:
  The last two axes of u and v are rows and columns, as (time, level, lat, lon); both have the same axes, type
  and fill value. The first axis may be unlimited, the others have a fixed length. Without --pair the standard
  names decide: eastward_* and northward_*, x_wind and y_wind, sea_water_x_velocity and sea_water_y_velocity.

Layout:
  virtual: u10 and v10 are virtual datasets on the halves of one compressed dataset in the group `factz`.
  Files are smallest. Some programs know no virtual datasets (NCO for netCDF-4 output, kerchunk, netCDF-Java).
  separate: u10 and v10 have compressed chunks of their own, which take 5 to 12 % more on wind. What programs
  write into them is stored exactly and takes several times the space.

Bound:
  --abs E is in the unit of the values. It is kept in the attribute factz_abs_error of both variables.
  --rel T is turned into an absolute bound by the range of all fields of the pair.

Grid:
  The types of critical points depend on the direction of rows and columns. Pack takes it from the coordinates
  and prints it: a latitude that falls from row to row makes dy negative. On curvilinear grids give --spacing.
  A longitude is periodic if its steps add up to 360 degrees. Critical points between its last and its first
  value are kept then. --periodic none does without.

Packed integers:
  Variables with scale_factor or add_offset are unpacked to float32 (float64 for integers of 32 bits or more).
  scale_factor, add_offset and missing_value go, _FillValue becomes the default one of netCDF, and valid_min,
  valid_max and valid_range are turned into the unit of the values and widened by the bound. A bound below
  half of the scale asks for more accuracy than the integers had: pack warns.

Missing data:
  Points whose u or v is _FillValue or missing_value are kept exactly, and so are NaN and infinity. All values
  that mean missing become one: _FillValue if there is one, else missing_value.

Appending:
  --append adds the steps of IN to OUT along its unlimited dimension, for all variables that grow with it.
  Bound and options are those of OUT. New steps must follow the old ones; with --force they need not. Programs
  that append through netCDF or xarray cannot do it: virtual datasets grow only with the one that holds both,
  and one component does not tell what must be kept.

Reading:
  Python with h5py or h5netcdf: `import factz.hdf5`. Everything else, netCDF4-python included, finds the
  filter by the environment, which must be set before the program starts:
    export HDF5_PLUGIN_PATH=$(python -m factz.hdf5 --path)
  CDO and xarray write plain values when they copy; nccopy does so in the layout virtual, and else stores them
  exactly. `python -m factz.unpack` gives a plain file back.

Files:
  OUT appears under its name when it is complete and on the disk. An error or an interrupt leaves what was
  there before. An older OUT is replaced with --force alone. --append works in a copy that replaces OUT.

Exit status:
  0  done
  2  wrong usage, or a file that cannot be packed: OUT is untouched, and the message says what to do
  130, 143  interrupted, terminated

Examples:
  python -m factz.pack in.nc out.nc --pair u10,v10 --abs 0.05
  python -m factz.pack era5.nc small.nc --pair u10,v10 --pair u100,v100 --rel 1e-3 --mode speculative
  python -m factz.pack model.nc out.nc --pair ocean/uo,ocean/vo --abs 0.01 --chunk 1024x1024
  python -m factz.pack --append next_month.nc out.nc"""

UNPACK_DESCRIPTION = """\
Writes a copy of a file of factz.pack in which the variables of pairs are plain ones, with the chunks and
filters (deflate, shuffle, fletcher32) that they had before. Everything else is copied as it is.

Values keep the error of the compression: the attribute factz_abs_error stays and tells it. Integers that pack
unpacked stay floats."""

UNPACK_APPENDIX = """\
Exit status:
  0  done
  2  wrong usage, or a file that cannot be unpacked: OUT is untouched, and the message says what to do
  130, 143  interrupted, terminated

Examples:
  python -m factz.unpack out.nc plain.nc
  python -m factz.unpack out.nc plain.nc && nccopy -k classic plain.nc classic.nc"""
