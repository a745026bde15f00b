! factz: error-bounded compression of 2D and 3D vector fields that keeps every critical point.
!
! The Fortran interface, as source in Fortran 2018: compile this file with your own compiler before the files
! that use it, and link libfactz (CMake: factz::fortran; pkg-config: the variable fortran_source). factz.h is
! the reference manual of the types, constants and functions of the same names; this module adds procedures
! for arrays:
!
!     use factz
!     type(factz_config) :: config
!     integer(int8), allocatable :: stream(:)
!     config = factz_relative_bound(1e-3_real64)
!     call factz_compress(u, v, config, stream)
!     call factz_decompress(stream, u2, v2)
!
! Arrays. u(nx, ny) and v(nx, ny) are real32 or real64, both of one kind, x first (the order of memory: what
! factz.h calls "x fastest"). Sections with positive strides are read and written in place, without a copy.
! Arrays with ghost layers are passed whole, with ghosts = the width of the layers on every side:
!
!     real(real64) :: u(0:nx+1, 0:ny+1), v(0:nx+1, 0:ny+1)
!     config%halo = FACTZ_SIDES_ALL          ! sides with values of a neighbour beside the block
!     call factz_compress(u, v, config, stream, ghosts=1)
!
! A stack of planes, such as times or levels, is u(nx, ny, nz) and v(nx, ny, nz): nz fields of their own in one
! stream, with one bound. Ghost layers lie around each plane.
!
! A volume is u(nx, ny, nz), v(nx, ny, nz) and w(nx, ny, nz). Ghost layers lie on all six sides. The default mode
! of a configuration becomes FACTZ_MODE_REPAIR, which is that of volumes:
!
!     call factz_compress(u, v, w, config, stream)
!     call factz_decompress(stream, u2, v2, w2)
!
! A part of a field, or some planes of a stack, is decompressed alone into arrays of its size. first has the
! indices of its first vertex, counted from 1: u2 of shape (64, 32) becomes columns 101 to 164 and rows 41 to 72
! of the field, and u3 of shape (nx, ny, 2) planes 5 and 6:
!
!     call factz_decompress_region(stream, [101, 41], u2, v2)
!     call factz_decompress_region(stream, [1, 1, 5], u3, v3)
!
! nx, ny, nz, dtype, pitches, strides and plane_rows of the configuration follow from the arrays; where nx or ny
! of the configuration is not 0 it must agree.
!
! Errors follow the standard's STAT= and ERRMSG=: with stat the procedure returns a FACTZ_* status there and
! the reason, and what to do, in errmsg; without stat an error stops the program with that text. stat, ghosts
! and threads are integers of any kind; ghosts and threads of other types are errors like all others.
!
! Device memory. The functions with _device in their name are those of factz.h: fields, streams, workspaces
! and reports in device memory are type(c_ptr), and so is the CUDA stream.
module factz
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_pointer, c_funptr, c_int, c_int32_t, &
      c_int64_t, c_intptr_t, c_loc, c_null_char, c_null_ptr, c_ptr, c_size_t
  use, intrinsic :: ieee_arithmetic, only: ieee_negative_inf, ieee_positive_inf, ieee_value
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  implicit none
  private

  ! Kinds that callers need.
  public :: c_funptr, c_int32_t, c_int64_t, c_loc, c_null_ptr, c_ptr, c_size_t, int8, int64, real32, real64

  integer(c_int32_t), parameter, public :: FACTZ_DTYPE_F32 = 0, FACTZ_DTYPE_F64 = 1
  integer(c_int32_t), parameter, public :: FACTZ_BOUND_ABSOLUTE = 0, FACTZ_BOUND_RELATIVE = 1
  integer(c_int32_t), parameter, public :: FACTZ_MODE_BLOCK_WISE = 0, FACTZ_MODE_SPECULATIVE = 1, &
      FACTZ_MODE_REPAIR = 2
  integer(c_int32_t), parameter, public :: FACTZ_CODER_ANS = 0, FACTZ_CODER_HUFFMAN = 1
  integer(c_int32_t), parameter, public :: FACTZ_PREDICTOR_HIERARCHICAL = 0, FACTZ_PREDICTOR_LORENZO = 1
  integer(c_int32_t), parameter, public :: FACTZ_PRESERVE_NONE = 0, FACTZ_PRESERVE_POINTS = 1, &
      FACTZ_PRESERVE_TYPES = 2
  integer(c_int32_t), parameter, public :: FACTZ_TIES_ALL = 0, FACTZ_TIES_ZEROS = 1, FACTZ_TIES_SOS = 2
  integer(c_int32_t), parameter, public :: FACTZ_SIDE_X_MIN = 1, FACTZ_SIDE_X_MAX = 2, FACTZ_SIDE_Y_MIN = 4, &
      FACTZ_SIDE_Y_MAX = 8, FACTZ_SIDES_ALL = 15, FACTZ_SIDE_Z_MIN = 16, FACTZ_SIDE_Z_MAX = 32, &
      FACTZ_SIDES_ALL_OF_VOLUME = 63
  integer(c_int32_t), parameter, public :: FACTZ_PERIODIC_X = 1, FACTZ_PERIODIC_Y = 2, FACTZ_PERIODIC_Z = 4
  integer(c_int32_t), parameter, public :: FACTZ_COMPONENT_BOTH = 0, FACTZ_COMPONENT_U = 1, &
      FACTZ_COMPONENT_V = 2, FACTZ_COMPONENT_VOLUME = 3
  integer(c_int32_t), parameter, public :: FACTZ_INSPECT_BYTES = 128, &
      FACTZ_VOLUME_INSPECT_BYTES = 176, FACTZ_CONFIG_STRING_BYTES = 512, FACTZ_CONFIG_WORDS = 24
  integer(c_int32_t), parameter, public :: FACTZ_WARNING_WIDE_RANGE = 1
  integer(c_int32_t), parameter, public :: FACTZ_POINT_SADDLE = 0, FACTZ_POINT_ATTRACTING_NODE = 1, &
      FACTZ_POINT_REPELLING_NODE = 2, FACTZ_POINT_ATTRACTING_FOCUS = 3, FACTZ_POINT_REPELLING_FOCUS = 4, &
      FACTZ_POINT_CENTER = 5, FACTZ_POINT_VERTEX_ZERO = 6, FACTZ_POINT_EDGE_ZERO = 7
  integer(c_int32_t), parameter, public :: FACTZ_SIMPLEX_LOWER = 0, FACTZ_SIMPLEX_UPPER = 1, &
      FACTZ_SIMPLEX_EDGE_X = 2, FACTZ_SIMPLEX_EDGE_Y = 3, FACTZ_SIMPLEX_DIAGONAL = 4, FACTZ_SIMPLEX_VERTEX = 5
  integer(c_int32_t), parameter, public :: FACTZ_VOLUME_POINT_REPELLING_NODE = 0, &
      FACTZ_VOLUME_POINT_REPELLING_NODE_SADDLE = 1, FACTZ_VOLUME_POINT_ATTRACTING_NODE_SADDLE = 2, &
      FACTZ_VOLUME_POINT_ATTRACTING_NODE = 3, FACTZ_VOLUME_POINT_REPELLING_FOCUS = 4, &
      FACTZ_VOLUME_POINT_REPELLING_FOCUS_SADDLE = 5, FACTZ_VOLUME_POINT_ATTRACTING_FOCUS_SADDLE = 6, &
      FACTZ_VOLUME_POINT_ATTRACTING_FOCUS = 7, FACTZ_VOLUME_POINT_REPELLING_CENTER = 8, &
      FACTZ_VOLUME_POINT_ATTRACTING_CENTER = 9, FACTZ_VOLUME_POINT_VERTEX_ZERO = 10, &
      FACTZ_VOLUME_POINT_EDGE_ZERO = 11, FACTZ_VOLUME_POINT_FACE_ZERO = 12
  integer(c_int32_t), parameter, public :: FACTZ_VOLUME_SIMPLEX_TETRAHEDRON = 0, FACTZ_VOLUME_SIMPLEX_FACE = 6, &
      FACTZ_VOLUME_SIMPLEX_EDGE = 18, FACTZ_VOLUME_SIMPLEX_VERTEX = 25
  integer(c_int32_t), parameter, public :: FACTZ_INDEX_UNDEFINED = -100
  integer(c_int32_t), parameter, public :: FACTZ_LOG_ERROR = 1, FACTZ_LOG_WARN = 2, FACTZ_LOG_INFO = 3, &
      FACTZ_LOG_DEBUG = 4, FACTZ_LOG_TRACE = 5
  integer(c_int32_t), parameter, public :: FACTZ_VERSION_MAJOR = 0, FACTZ_VERSION_MINOR = 1, FACTZ_VERSION_PATCH = 0
  integer(c_int32_t), parameter, public :: FACTZ_OK = 0, FACTZ_ERROR_INVALID_ARGUMENT = 1, &
      FACTZ_ERROR_INVALID_CONFIG = 2, FACTZ_ERROR_BUFFER_TOO_SMALL = 3, FACTZ_ERROR_WORKSPACE_TOO_SMALL = 4, &
      FACTZ_ERROR_CORRUPT_STREAM = 5, FACTZ_ERROR_UNSUPPORTED_VERSION = 6, FACTZ_ERROR_NO_DEVICE = 7, &
      FACTZ_ERROR_CUDA = 8, FACTZ_ERROR_OUT_OF_MEMORY = 9, FACTZ_ERROR_UNSUPPORTED = 10, FACTZ_ERROR_INTERNAL = 11, &
      FACTZ_ERROR_READ = 12

  ! The structs of factz.h, field by field.

  type, bind(c), public :: factz_config
    integer(c_int64_t) :: struct_size
    integer(c_int64_t) :: nx
    integer(c_int64_t) :: ny
    integer(c_int64_t) :: nz
    integer(c_int64_t) :: u_pitch
    integer(c_int64_t) :: u_stride
    integer(c_int64_t) :: v_pitch
    integer(c_int64_t) :: v_stride
    integer(c_int64_t) :: w_pitch
    integer(c_int64_t) :: w_stride
    real(c_double) :: dx
    real(c_double) :: dy
    real(c_double) :: dz
    real(c_double) :: bound
    integer(c_int32_t) :: bound_kind
    integer(c_int32_t) :: dtype
    integer(c_int32_t) :: mode
    integer(c_int32_t) :: coder
    integer(c_int32_t) :: predictor
    integer(c_int32_t) :: preserve
    integer(c_int32_t) :: halo
    integer(c_int32_t) :: pin
    integer(c_int32_t) :: verify_checksum
    integer(c_int32_t) :: has_fill_value
    real(c_double) :: fill_value
    integer(c_int32_t) :: ties
    integer(c_int32_t) :: periodic
    integer(c_int64_t) :: plane_rows
    integer(c_int32_t) :: components
    integer(c_int32_t) :: reserved_32
    integer(c_int64_t) :: reserved(9)
  end type factz_config

  type, bind(c), public :: factz_sizes
    integer(c_int64_t) :: max_stream_bytes
    integer(c_int64_t) :: workspace_bytes
    integer(c_int64_t) :: alignment
    integer(c_int64_t) :: analysis_workspace_bytes
    integer(c_int64_t) :: reserved(4)
  end type factz_sizes

  type, bind(c), public :: factz_info
    integer(c_int32_t) :: status
    integer(c_int32_t) :: format_version
    integer(c_int64_t) :: stream_bytes
    integer(c_int64_t) :: nx
    integer(c_int64_t) :: ny
    integer(c_int64_t) :: nz
    real(c_double) :: dx
    real(c_double) :: dy
    real(c_double) :: dz
    real(c_double) :: bound
    real(c_double) :: absolute_bound
    integer(c_int32_t) :: bound_kind
    integer(c_int32_t) :: dtype
    integer(c_int32_t) :: mode
    integer(c_int32_t) :: coder
    integer(c_int32_t) :: predictor
    integer(c_int32_t) :: preserve
    real(c_double) :: fill_value
    integer(c_int32_t) :: has_fill_value
    integer(c_int32_t) :: ties
    integer(c_int32_t) :: periodic
    integer(c_int32_t) :: component
  end type factz_info

  type, bind(c), public :: factz_report
    integer(c_int32_t) :: status
    integer(c_int32_t) :: reserved_status
    integer(c_int64_t) :: stream_bytes
    integer(c_int64_t) :: required_bytes
    integer(c_int64_t) :: exact_vertices
    integer(c_int64_t) :: nonfinite_vertices
    integer(c_int64_t) :: zero_vertices
    integer(c_int64_t) :: points_in_triangles
    real(c_double) :: bound
    real(c_double) :: max_error
    integer(c_int64_t) :: filled_vertices
    integer(c_int32_t) :: warnings
    integer(c_int32_t) :: reserved_flags
    integer(c_int64_t) :: reserved(5)
  end type factz_report

  type, bind(c), public :: factz_range
    integer(c_int32_t) :: status
    integer(c_int32_t) :: reserved_status
    real(c_double) :: low
    real(c_double) :: high
    integer(c_int64_t) :: nonfinite_vertices
    integer(c_int64_t) :: filled_vertices
    integer(c_int64_t) :: zero_vertices
    integer(c_int64_t) :: reserved(2)
  end type factz_range

  ! Cells count from 0, as in C: cell (0, 0) is between u(1, 1) and u(2, 2), and is that of the vertex u(1, 1).
  type, bind(c), public :: factz_critical_point
    integer(c_int64_t) :: cell_x
    integer(c_int64_t) :: cell_y
    integer(c_int64_t) :: cell_z
    real(c_double) :: x
    real(c_double) :: y
    integer(c_int32_t) :: simplex
    integer(c_int32_t) :: point_type
    integer(c_int32_t) :: index
    integer(c_int32_t) :: rounding_divergence
    real(c_double) :: eigenvalues_real(2)
    real(c_double) :: eigenvalues_imaginary(2)
  end type factz_critical_point

  ! points_by_type(k + 1) counts the points of type k.
  type, bind(c), public :: factz_comparison
    integer(c_int32_t) :: status
    integer(c_int32_t) :: reserved_status
    integer(c_int64_t) :: violations
    integer(c_int64_t) :: critical_points
    integer(c_int64_t) :: other_critical_points
    integer(c_int64_t) :: lost_points
    integer(c_int64_t) :: spurious_points
    integer(c_int64_t) :: changed_types
    integer(c_int64_t) :: ties
    integer(c_int64_t) :: changed_ties
    integer(c_int64_t) :: new_ties
    integer(c_int64_t) :: nonfinite_vertices
    integer(c_int64_t) :: changed_missing
    integer(c_int64_t) :: zero_vertices
    integer(c_int64_t) :: changed_zero_vertices
    integer(c_int64_t) :: bound_exceeded
    real(c_double) :: bound
    real(c_double) :: max_error
    real(c_double) :: psnr
    integer(c_int64_t) :: points_by_type(8)
    integer(c_int64_t) :: filled_vertices
    integer(c_int64_t) :: lost_zeros
    integer(c_int64_t) :: spurious_zeros
    integer(c_int64_t) :: changed_indices
    integer(c_int64_t) :: reserved(2)
  end type factz_comparison

  ! Cells count from 0, as in C: that of the vertex u(1, 1, 1) is (0, 0, 0).
  type, bind(c), public :: factz_volume_point
    integer(c_int64_t) :: cell_x
    integer(c_int64_t) :: cell_y
    integer(c_int64_t) :: cell_z
    real(c_double) :: x
    real(c_double) :: y
    real(c_double) :: z
    integer(c_int32_t) :: simplex
    integer(c_int32_t) :: dimension
    integer(c_int32_t) :: point_type
    integer(c_int32_t) :: index
    integer(c_int64_t) :: reserved(6)
  end type factz_volume_point

  ! points_by_type(k + 1) counts the points of type k.
  type, bind(c), public :: factz_volume_comparison
    integer(c_int32_t) :: status
    integer(c_int32_t) :: reserved_status
    integer(c_int64_t) :: violations
    integer(c_int64_t) :: critical_points
    integer(c_int64_t) :: other_critical_points
    integer(c_int64_t) :: lost_points
    integer(c_int64_t) :: spurious_points
    integer(c_int64_t) :: changed_types
    integer(c_int64_t) :: ties
    integer(c_int64_t) :: changed_ties
    integer(c_int64_t) :: new_ties
    integer(c_int64_t) :: nonfinite_vertices
    integer(c_int64_t) :: changed_missing
    integer(c_int64_t) :: zero_vertices
    integer(c_int64_t) :: changed_zero_vertices
    integer(c_int64_t) :: bound_exceeded
    real(c_double) :: bound
    real(c_double) :: max_error
    real(c_double) :: psnr
    integer(c_int64_t) :: points_by_type(16)
    integer(c_int64_t) :: filled_vertices
    integer(c_int64_t) :: lost_zeros
    integer(c_int64_t) :: spurious_zeros
    integer(c_int64_t) :: changed_indices
    integer(c_int64_t) :: reserved(2)
  end type factz_volume_comparison

  type, bind(c), public :: factz_fix_report
    integer(c_int32_t) :: status
    integer(c_int32_t) :: reserved_status
    integer(c_int64_t) :: fix_bytes
    integer(c_int64_t) :: required_bytes
    integer(c_int64_t) :: repaired_vertices
    integer(c_int64_t) :: exact_vertices
    integer(c_int64_t) :: violated_triangles
    integer(c_int64_t) :: rounds
    real(c_double) :: bound
    real(c_double) :: max_error
    integer(c_int64_t) :: vertices_outside
    integer(c_int64_t) :: first_outside
    integer(c_int64_t) :: reserved(5)
  end type factz_fix_report

  type, bind(c), public :: factz_fix_info
    integer(c_int32_t) :: status
    integer(c_int32_t) :: format_version
    integer(c_int64_t) :: fix_bytes
    integer(c_int64_t) :: nx
    integer(c_int64_t) :: ny
    integer(c_int64_t) :: nz
    real(c_double) :: dx
    real(c_double) :: dy
    real(c_double) :: dz
    real(c_double) :: bound
    real(c_double) :: absolute_bound
    real(c_double) :: max_error
    integer(c_int64_t) :: repaired_vertices
    integer(c_int64_t) :: exact_vertices
    real(c_double) :: fill_value
    integer(c_int32_t) :: bound_kind
    integer(c_int32_t) :: dtype
    integer(c_int32_t) :: preserve
    integer(c_int32_t) :: ties
    integer(c_int32_t) :: has_fill_value
    integer(c_int32_t) :: periodic
    integer(c_int32_t) :: reconstruction_checksum
    integer(c_int32_t) :: components
    integer(c_int64_t) :: reserved(6)
  end type factz_fix_info

  ! ---------------------------------------------------------------- arrays in host memory

  ! call factz_compress(u, v, config, stream [, report] [, ghosts] [, threads] [, stat] [, errmsg])
  ! call factz_compress(u, v, w, config, stream [, report] [, ghosts] [, threads] [, stat] [, errmsg])
  ! The array stream is allocated with exactly the length of the compressed stream.
  interface factz_compress
    module procedure compress_real32, compress_real64, compress_stack_real32, compress_stack_real64, &
        compress_volume_real32, compress_volume_real64
  end interface factz_compress

  ! call factz_decompress(stream, u, v [, report] [, ghosts] [, threads] [, verify_checksum] [, stat]
  !                       [, errmsg])
  ! call factz_decompress(stream, u, v, w [, report] [, ghosts] [, threads] [, verify_checksum] [, stat]
  !                       [, errmsg])
  ! The array stream may be longer than the compressed stream. Ghost layers stay as they are.
  ! verify_checksum=.false. does not compare the checksum.
  interface factz_decompress
    module procedure decompress_real32, decompress_real64, decompress_stack_real32, decompress_stack_real64, &
        decompress_volume_real32, decompress_volume_real64
  end interface factz_decompress

  ! call factz_decompress_region(stream, first, u, v [, report] [, ghosts] [, threads] [, verify_checksum]
  !                              [, stat] [, errmsg])
  ! The vertices of the field from first on, as many as u and v have: first is an array of integers of any kind,
  ! [column, row] or [column, row, plane], counted from 1. Only the part of the stream that holds them is decoded,
  ! and the checksum is compared only if that is all of it. With three arrays u, v and w of rank 3 a box of a volume.
  interface factz_decompress_region
    module procedure decompress_region_real32, decompress_region_real64, decompress_region_stack_real32, &
        decompress_region_stack_real64, decompress_region_volume_real32, decompress_region_volume_real64
  end interface factz_decompress_region

  ! call factz_compare(u, v, other_u, other_v, config, comparison [, ghosts] [, other_ghosts] [, threads]
  !                    [, stat] [, errmsg])
  ! call factz_compare(u, v, w, other_u, other_v, other_w, config, comparison [, ghosts] [, other_ghosts]
  !                    [, threads] [, stat] [, errmsg])
  ! Both fields need ghosts on the sides in config%halo. The comparison of volumes is a factz_volume_comparison.
  interface factz_compare
    module procedure compare_real32, compare_real64, compare_stack_real32, compare_stack_real64, &
        compare_volume_real32, compare_volume_real64
  end interface factz_compare

  ! call factz_protect(u, v, other_u, other_v, config, fix [, report] [, ghosts] [, other_ghosts] [, threads]
  !                    [, stat] [, errmsg])
  ! call factz_protect(u, v, w, other_u, other_v, other_w, config, fix [, report] [, ghosts] [, other_ghosts]
  !                    [, threads] [, stat] [, errmsg])
  ! The array fix is allocated with exactly the length of the fix. Ghosts of the reconstruction are not read.
  interface factz_protect
    module procedure protect_real32, protect_real64, protect_stack_real32, protect_stack_real64, &
        protect_volume_real32, protect_volume_real64
  end interface factz_protect

  ! call factz_apply(fix, u, v [, report] [, ghosts] [, threads] [, stat] [, errmsg])
  ! call factz_apply(fix, u, v, w [, report] [, ghosts] [, threads] [, stat] [, errmsg])
  ! u and v, and w of a volume, are the reconstruction and become the repaired field. If the call fails, they keep
  ! their values.
  interface factz_apply
    module procedure apply_real32, apply_real64, apply_stack_real32, apply_stack_real64, apply_volume_real32, &
        apply_volume_real64
  end interface factz_apply

  ! call factz_critical_points(u, v, config, points [, ghosts] [, threads] [, stat] [, errmsg])
  ! call factz_critical_points(u, v, w, config, points [, ghosts] [, threads] [, stat] [, errmsg])
  ! The ghosts on the sides in config%halo are read. The points of a volume are of the type factz_volume_point.
  interface factz_critical_points
    module procedure critical_points_real32, critical_points_real64, critical_points_stack_real32, &
        critical_points_stack_real64, critical_points_volume_real32, critical_points_volume_real64
  end interface factz_critical_points

  ! config = factz_relative_bound(fraction)
  ! bound = factz_relative_bound(fraction, low, high), as in factz.h
  interface factz_relative_bound
    procedure configured_relative_bound, c_relative_bound
  end interface factz_relative_bound

  ! call factz_find_range(u, v, config, range [, ghosts] [, threads] [, stat] [, errmsg])
  ! call factz_find_range(u, v, w, config, range [, ghosts] [, threads] [, stat] [, errmsg])
  ! Ranks share a relative bound: with low the MPI_MIN of range%low and high the MPI_MAX of range%high,
  ! config = factz_absolute_bound(factz_relative_bound(fraction, low, high)).
  interface factz_find_range
    module procedure find_range_real32, find_range_real64, find_range_stack_real32, find_range_stack_real64, &
        find_range_volume_real32, find_range_volume_real64
  end interface factz_find_range

  public :: factz_find_range
  public :: factz_absolute_bound, factz_relative_bound, factz_compress, factz_decompress, &
      factz_decompress_region, factz_compare, factz_protect, factz_apply, &
      factz_critical_points, factz_inspect, factz_config_from_string, &
      factz_config_to_string, factz_status_string, &
      factz_last_error, factz_version

  ! ---------------------------------------------------------------- the functions of factz.h

  public :: factz_config_init_volume, factz_volume_stream_bytes, factz_compress_volume_host, &
      factz_decompress_volume_host, factz_decompress_volume_region_host, factz_read_volume_region_host, &
      factz_compress_volume_sizes, factz_compress_volume_device, &
      factz_decompress_volume_sizes, factz_decompress_volume_device, &
      factz_critical_points_volume_host, factz_compare_volume_host, factz_range_volume_host
  public :: factz_config_init, factz_config_from_info, factz_config_to_words, factz_config_from_words, &
      factz_readable_formats, factz_compress_sizes, factz_decompress_sizes, factz_inspect_host, &
      factz_compress_host, factz_decompress_host, factz_critical_points_host, factz_compare_host, factz_range_host, &
      factz_prepare_device, factz_compress_device, factz_decompress_device, factz_inspect_device, &
      factz_critical_points_device, factz_compare_device, factz_range_device, factz_set_log_callback, factz_format_version, &
      factz_decompress_region_host, factz_decompress_planes_host, factz_read_region_host, factz_split_host, &
      factz_join_host, factz_decompress_planes_device, factz_decompress_planes_sizes, &
      factz_protect_host, factz_apply_host, factz_inspect_fix_host, factz_protect_volume_host, &
      factz_apply_volume_host
  public :: factz_protect_sizes, factz_protect_device, factz_apply_sizes, factz_apply_device, &
      factz_protect_volume_sizes, factz_protect_volume_device, factz_apply_volume_sizes, factz_apply_volume_device

  interface
    integer(c_int32_t) function factz_config_init(config, nx, ny, bound_kind, bound) bind(c)
      import :: c_double, c_int32_t, c_int64_t, factz_config
      type(factz_config), intent(out) :: config
      integer(c_int64_t), value :: nx, ny
      integer(c_int32_t), value :: bound_kind
      real(c_double), value :: bound
    end function factz_config_init

    integer(c_int32_t) function factz_config_init_volume(config, nx, ny, nz, bound_kind, bound) bind(c)
      import :: c_double, c_int32_t, c_int64_t, factz_config
      type(factz_config), intent(out) :: config
      integer(c_int64_t), value :: nx, ny, nz
      integer(c_int32_t), value :: bound_kind
      real(c_double), value :: bound
    end function factz_config_init_volume
    integer(c_int32_t) function factz_volume_stream_bytes(config, max_stream_bytes) bind(c)
      import :: c_int32_t, c_int64_t, factz_config
      type(factz_config), intent(in) :: config
      integer(c_int64_t), intent(out) :: max_stream_bytes
    end function factz_volume_stream_bytes
    integer(c_int32_t) function factz_compress_volume_host(u, v, w, n, config, dst, dst_bytes, report, threads) &
        bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_config, factz_report
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: dst
      integer(c_size_t), value :: dst_bytes
      type(factz_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_compress_volume_host
    integer(c_int32_t) function factz_decompress_volume_host(src, src_bytes, config, u, v, w, n, report, threads) &
        bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_config, factz_report
      type(c_ptr), value :: src
      integer(c_size_t), value :: src_bytes
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(factz_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_decompress_volume_host
    ! nx, ny and nz of config are those of the box, whose first vertex is (x0, y0, z0), counted from 0.
    integer(c_int32_t) function factz_decompress_volume_region_host(src, src_bytes, config, x0, y0, z0, u, v, w, n, &
        report, threads) bind(c)
      import :: c_int, c_int32_t, c_int64_t, c_ptr, c_size_t, factz_config, factz_report
      type(c_ptr), value :: src
      integer(c_size_t), value :: src_bytes
      type(factz_config), intent(in) :: config
      integer(c_int64_t), value :: x0, y0, z0
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(factz_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_decompress_volume_region_host
    ! The function read is that of factz_read_region_host.
    integer(c_int32_t) function factz_read_volume_region_host(read, user, src_bytes, config, x0, y0, z0, u, v, w, n, &
        report, threads) bind(c)
      import :: c_funptr, c_int, c_int32_t, c_int64_t, c_ptr, c_size_t, factz_config, factz_report
      type(c_funptr), value :: read
      type(c_ptr), value :: user
      integer(c_int64_t), value :: src_bytes
      type(factz_config), intent(in) :: config
      integer(c_int64_t), value :: x0, y0, z0
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(factz_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_read_volume_region_host
    integer(c_int32_t) function factz_compress_volume_sizes(config, sizes) bind(c)
      import :: c_int32_t, factz_config, factz_sizes
      type(factz_config), intent(in) :: config
      type(factz_sizes), intent(out) :: sizes
    end function factz_compress_volume_sizes
    integer(c_int32_t) function factz_compress_volume_device(u, v, w, n, config, dst, dst_bytes, workspace, &
        workspace_bytes, report, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: dst
      integer(c_size_t), value :: dst_bytes
      type(c_ptr), value :: workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: report, stream
    end function factz_compress_volume_device
    integer(c_int32_t) function factz_decompress_volume_sizes(config, sizes) bind(c)
      import :: c_int32_t, factz_config, factz_sizes
      type(factz_config), intent(in) :: config
      type(factz_sizes), intent(out) :: sizes
    end function factz_decompress_volume_sizes
    integer(c_int32_t) function factz_decompress_volume_device(src, src_bytes, config, u, v, w, n, workspace, &
        workspace_bytes, report, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: src
      integer(c_size_t), value :: src_bytes
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(c_ptr), value :: workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: report, stream
    end function factz_decompress_volume_device

    ! points is the address of type(factz_volume_point) :: points(capacity), or c_null_ptr.
    integer(c_int32_t) function factz_critical_points_volume_host(u, v, w, n, config, points, capacity, count, &
        threads) bind(c)
      import :: c_int, c_int32_t, c_int64_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: points
      integer(c_size_t), value :: capacity
      integer(c_int64_t), intent(out) :: count
      integer(c_int), value :: threads
    end function factz_critical_points_volume_host

    ! other_config may be left out: it is config then.
    integer(c_int32_t) function factz_compare_volume_host(u, v, w, n, config, other_u, other_v, other_w, &
        other_config, comparison, threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_config, factz_volume_comparison
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: other_u, other_v, other_w
      type(factz_config), intent(in), optional :: other_config
      type(factz_volume_comparison), intent(out) :: comparison
      integer(c_int), value :: threads
    end function factz_compare_volume_host

    integer(c_int32_t) function factz_range_volume_host(u, v, w, n, config, range, threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_config, factz_range
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(factz_range), intent(out) :: range
      integer(c_int), value :: threads
    end function factz_range_volume_host

    integer(c_int32_t) function factz_compress_sizes(config, sizes) bind(c)
      import :: c_int32_t, factz_config, factz_sizes
      type(factz_config), intent(in) :: config
      type(factz_sizes), intent(out) :: sizes
    end function factz_compress_sizes

    integer(c_int32_t) function factz_config_from_info(info, config) bind(c)
      import :: c_int32_t, factz_config, factz_info
      type(factz_info), intent(in) :: info
      type(factz_config), intent(out) :: config
    end function factz_config_from_info

    integer(c_int32_t) function factz_config_to_words(config, words, count) bind(c)
      import :: c_int32_t, c_size_t, factz_config
      type(factz_config), intent(in) :: config
      integer(c_int32_t), intent(out) :: words(*)
      integer(c_size_t), value :: count
    end function factz_config_to_words

    integer(c_int32_t) function factz_config_from_words(words, count, config) bind(c)
      import :: c_int32_t, c_size_t, factz_config
      integer(c_int32_t), intent(in) :: words(*)
      integer(c_size_t), value :: count
      type(factz_config), intent(out) :: config
    end function factz_config_from_words

    integer(c_int32_t) function factz_readable_formats(first, last) bind(c)
      import :: c_int32_t
      integer(c_int32_t), intent(out) :: first, last
    end function factz_readable_formats

    integer(c_int32_t) function factz_decompress_sizes(config, sizes) bind(c)
      import :: c_int32_t, factz_config, factz_sizes
      type(factz_config), intent(in) :: config
      type(factz_sizes), intent(out) :: sizes
    end function factz_decompress_sizes

    ! For factz_decompress_planes_device: nz of config is the number of planes of a call.
    integer(c_int32_t) function factz_decompress_planes_sizes(config, sizes) bind(c)
      import :: c_int32_t, factz_config, factz_sizes
      type(factz_config), intent(in) :: config
      type(factz_sizes), intent(out) :: sizes
    end function factz_decompress_planes_sizes

    integer(c_int32_t) function factz_inspect_host(src, src_bytes, info) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_info
      type(c_ptr), value :: src
      integer(c_size_t), value :: src_bytes
      type(factz_info), intent(out) :: info
    end function factz_inspect_host

    integer(c_int32_t) function factz_compress_host(u, v, n, config, dst, dst_bytes, report, threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_config, factz_report
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: dst
      integer(c_size_t), value :: dst_bytes
      type(factz_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_compress_host

    integer(c_int32_t) function factz_decompress_host(src, src_bytes, config, u, v, n, report, threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_config, factz_report
      type(c_ptr), value :: src
      integer(c_size_t), value :: src_bytes
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_decompress_host

    ! nx, ny and nz of config are those of the region, whose first vertex is (x0, y0) of plane z0, counted from 0.
    integer(c_int32_t) function factz_decompress_region_host(src, src_bytes, config, x0, y0, z0, u, v, n, report, &
        threads) bind(c)
      import :: c_int, c_int32_t, c_int64_t, c_ptr, c_size_t, factz_config, factz_report
      type(c_ptr), value :: src
      integer(c_size_t), value :: src_bytes
      type(factz_config), intent(in) :: config
      integer(c_int64_t), value :: x0, y0, z0
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_decompress_region_host

    ! reports is the address of an array of two, of u and of v.
    integer(c_int32_t) function factz_split_host(src, src_bytes, dst_u, dst_u_bytes, dst_v, dst_v_bytes, &
        reports, threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: src, dst_u, dst_v, reports
      integer(c_size_t), value :: src_bytes, dst_u_bytes, dst_v_bytes
      integer(c_int), value :: threads
    end function factz_split_host

    integer(c_int32_t) function factz_join_host(src_u, src_u_bytes, src_v, src_v_bytes, dst, dst_bytes, &
        report, threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_report
      type(c_ptr), value :: src_u, src_v, dst
      integer(c_size_t), value :: src_u_bytes, src_v_bytes, dst_bytes
      type(factz_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_join_host

    ! nz of config is the number of planes, of which `first` is the first one, counted from 0.
    integer(c_int32_t) function factz_decompress_planes_host(src, src_bytes, config, first, u, v, n, report, &
        threads) bind(c)
      import :: c_int, c_int32_t, c_int64_t, c_ptr, c_size_t, factz_config, factz_report
      type(c_ptr), value :: src
      integer(c_size_t), value :: src_bytes
      type(factz_config), intent(in) :: config
      integer(c_int64_t), value :: first
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_decompress_planes_host

    ! read is c_funloc of a bind(c) integer(c_int) function (type(c_ptr), value :: user, to; integer(c_int64_t),
    ! value :: offset, bytes), with the arguments user, offset, bytes, to.
    integer(c_int32_t) function factz_read_region_host(read, user, src_bytes, config, x0, y0, z0, u, v, n, &
        report, threads) bind(c)
      import :: c_funptr, c_int, c_int32_t, c_int64_t, c_ptr, c_size_t, factz_config, factz_report
      type(c_funptr), value :: read
      type(c_ptr), value :: user
      integer(c_int64_t), value :: src_bytes
      type(factz_config), intent(in) :: config
      integer(c_int64_t), value :: x0, y0, z0
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_read_region_host

    ! points is the address of type(factz_critical_point) :: points(capacity), or c_null_ptr.
    integer(c_int32_t) function factz_critical_points_host(u, v, n, config, points, capacity, count, threads) bind(c)
      import :: c_int, c_int32_t, c_int64_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: points
      integer(c_size_t), value :: capacity
      integer(c_int64_t), intent(out) :: count
      integer(c_int), value :: threads
    end function factz_critical_points_host

    ! other_config may be left out: it is config then.
    integer(c_int32_t) function factz_compare_host(u, v, n, config, other_u, other_v, other_config, comparison, &
        threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_comparison, factz_config
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: other_u, other_v
      type(factz_config), intent(in), optional :: other_config
      type(factz_comparison), intent(out) :: comparison
      integer(c_int), value :: threads
    end function factz_compare_host

    ! other_config may be left out: it is config then.
    integer(c_int32_t) function factz_protect_host(u, v, n, config, other_u, other_v, other_config, dst, dst_bytes, &
        report, threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_config, factz_fix_report
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: other_u, other_v
      type(factz_config), intent(in), optional :: other_config
      type(c_ptr), value :: dst
      integer(c_size_t), value :: dst_bytes
      type(factz_fix_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_protect_host

    integer(c_int32_t) function factz_apply_host(fix, fix_bytes, config, u, v, n, report, threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_config, factz_fix_report
      type(c_ptr), value :: fix
      integer(c_size_t), value :: fix_bytes
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_fix_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_apply_host

    ! other_config may be left out: it is config then.
    integer(c_int32_t) function factz_protect_volume_host(u, v, w, n, config, other_u, other_v, other_w, &
        other_config, dst, dst_bytes, report, threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_config, factz_fix_report
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: other_u, other_v, other_w
      type(factz_config), intent(in), optional :: other_config
      type(c_ptr), value :: dst
      integer(c_size_t), value :: dst_bytes
      type(factz_fix_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_protect_volume_host

    integer(c_int32_t) function factz_apply_volume_host(fix, fix_bytes, config, u, v, w, n, report, threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_config, factz_fix_report
      type(c_ptr), value :: fix
      integer(c_size_t), value :: fix_bytes
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(factz_fix_report), intent(out) :: report
      integer(c_int), value :: threads
    end function factz_apply_volume_host

    integer(c_int32_t) function factz_protect_sizes(config, sizes) bind(c)
      import :: c_int32_t, factz_config, factz_sizes
      type(factz_config), intent(in) :: config
      type(factz_sizes), intent(out) :: sizes
    end function factz_protect_sizes

    integer(c_int32_t) function factz_apply_sizes(config, sizes) bind(c)
      import :: c_int32_t, factz_config, factz_sizes
      type(factz_config), intent(in) :: config
      type(factz_sizes), intent(out) :: sizes
    end function factz_apply_sizes

    integer(c_int32_t) function factz_protect_volume_sizes(config, sizes) bind(c)
      import :: c_int32_t, factz_config, factz_sizes
      type(factz_config), intent(in) :: config
      type(factz_sizes), intent(out) :: sizes
    end function factz_protect_volume_sizes

    integer(c_int32_t) function factz_apply_volume_sizes(config, sizes) bind(c)
      import :: c_int32_t, factz_config, factz_sizes
      type(factz_config), intent(in) :: config
      type(factz_sizes), intent(out) :: sizes
    end function factz_apply_volume_sizes

    ! other_config may be left out: it is config then.
    integer(c_int32_t) function factz_protect_device(u, v, n, config, other_u, other_v, other_config, dst, &
        dst_bytes, workspace, workspace_bytes, report, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: other_u, other_v
      type(factz_config), intent(in), optional :: other_config
      type(c_ptr), value :: dst
      integer(c_size_t), value :: dst_bytes
      type(c_ptr), value :: workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: report, stream
    end function factz_protect_device

    integer(c_int32_t) function factz_apply_device(fix, fix_bytes, config, u, v, n, workspace, &
        workspace_bytes, report, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: fix
      integer(c_size_t), value :: fix_bytes
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(c_ptr), value :: workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: report, stream
    end function factz_apply_device

    ! other_config may be left out: it is config then.
    integer(c_int32_t) function factz_protect_volume_device(u, v, w, n, config, other_u, other_v, other_w, other_config, dst, &
        dst_bytes, workspace, workspace_bytes, report, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: other_u, other_v, other_w
      type(factz_config), intent(in), optional :: other_config
      type(c_ptr), value :: dst
      integer(c_size_t), value :: dst_bytes
      type(c_ptr), value :: workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: report, stream
    end function factz_protect_volume_device

    integer(c_int32_t) function factz_apply_volume_device(fix, fix_bytes, config, u, v, w, n, workspace, &
        workspace_bytes, report, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: fix
      integer(c_size_t), value :: fix_bytes
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: u, v, w
      integer(c_size_t), value :: n
      type(c_ptr), value :: workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: report, stream
    end function factz_apply_volume_device

    integer(c_int32_t) function factz_inspect_fix_host(fix, fix_bytes, info) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_fix_info
      type(c_ptr), value :: fix
      integer(c_size_t), value :: fix_bytes
      type(factz_fix_info), intent(out) :: info
    end function factz_inspect_fix_host

    integer(c_int32_t) function factz_range_host(u, v, n, config, range, threads) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_size_t, factz_config, factz_range
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(factz_range), intent(out) :: range
      integer(c_int), value :: threads
    end function factz_range_host

    integer(c_int32_t) function factz_prepare_device(stream) bind(c)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: stream
    end function factz_prepare_device

    ! report is the address of a factz_report in device or mapped pinned memory: it is written later.
    integer(c_int32_t) function factz_compress_device(u, v, n, config, dst, dst_bytes, workspace, workspace_bytes, &
        report, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: dst
      integer(c_size_t), value :: dst_bytes
      type(c_ptr), value :: workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: report, stream
    end function factz_compress_device

    integer(c_int32_t) function factz_decompress_device(src, src_bytes, config, u, v, n, workspace, workspace_bytes, &
        report, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: src
      integer(c_size_t), value :: src_bytes
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(c_ptr), value :: workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: report, stream
    end function factz_decompress_device

    ! nz of config is the number of planes, of which `first` is the first one, counted from 0.
    integer(c_int32_t) function factz_decompress_planes_device(src, src_bytes, config, first, u, v, n, workspace, &
        workspace_bytes, report, stream) bind(c)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: src
      integer(c_size_t), value :: src_bytes
      type(factz_config), intent(in) :: config
      integer(c_int64_t), value :: first
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(c_ptr), value :: workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: report, stream
    end function factz_decompress_planes_device

    integer(c_int32_t) function factz_inspect_device(src, src_bytes, info, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: src
      integer(c_size_t), value :: src_bytes
      type(c_ptr), value :: info, stream
    end function factz_inspect_device

    integer(c_int32_t) function factz_range_device(u, v, n, config, workspace, workspace_bytes, range, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: range, stream
    end function factz_range_device

    integer(c_int32_t) function factz_critical_points_device(u, v, n, config, points, capacity, count, workspace, &
        workspace_bytes, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: points
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: count, workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: stream
    end function factz_critical_points_device

    integer(c_int32_t) function factz_compare_device(u, v, n, config, other_u, other_v, other_config, workspace, &
        workspace_bytes, comparison, stream) bind(c)
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(c_ptr), value :: u, v
      integer(c_size_t), value :: n
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: other_u, other_v
      type(factz_config), intent(in), optional :: other_config
      type(c_ptr), value :: workspace
      integer(c_size_t), value :: workspace_bytes
      type(c_ptr), value :: comparison, stream
    end function factz_compare_device

    ! callback is c_funloc of a bind(c) procedure (integer(c_int), value :: level; type(c_ptr), value ::
    ! target, message, user), or c_null_funptr.
    integer(c_int32_t) function factz_set_log_callback(callback, user) bind(c)
      import :: c_funptr, c_int32_t, c_ptr
      type(c_funptr), value :: callback
      type(c_ptr), value :: user
    end function factz_set_log_callback

    integer(c_int32_t) function factz_format_version() bind(c)
      import :: c_int32_t
    end function factz_format_version

    ! These take or return C strings; the procedures without c_ have Fortran strings.
    integer(c_int32_t) function c_config_from_string(text, config) bind(c, name="factz_config_from_string")
      import :: c_int32_t, c_ptr, factz_config
      type(c_ptr), value :: text
      type(factz_config), intent(out) :: config
    end function c_config_from_string

    integer(c_int32_t) function c_config_to_string(config, text, text_bytes) &
        bind(c, name="factz_config_to_string")
      import :: c_int32_t, c_ptr, c_size_t, factz_config
      type(factz_config), intent(in) :: config
      type(c_ptr), value :: text
      integer(c_size_t), value :: text_bytes
    end function c_config_to_string

    type(c_ptr) function c_status_string(status) bind(c, name="factz_status_string")
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: status
    end function c_status_string

    type(c_ptr) function c_last_error() bind(c, name="factz_last_error")
      import :: c_ptr
    end function c_last_error

    real(c_double) function c_relative_bound(relative, low, high) bind(c, name="factz_relative_bound")
      import :: c_double
      real(c_double), value :: relative, low, high
    end function c_relative_bound

    type(c_ptr) function c_version() bind(c, name="factz_version")
      import :: c_ptr
    end function c_version
  end interface

  character(*), parameter :: EMPTY_STREAM = &
      'stream has no elements: give the whole stream, as factz_compress allocated it or as it was read'

  ! Where the values of a component lie, or why they cannot be used.
  type :: component
    character(7) :: name = ''                    ! of the argument
    type(c_ptr) :: first = c_null_ptr            ! vertex (1, 1) of the block, inside the ghost layers
    integer(c_int64_t) :: nx = 0, ny = 0, nz = 1
    integer(c_int64_t) :: plane_rows = 0         ! from a plane to the next; 0 of a single one
    integer(c_int64_t) :: pitch = 0, stride = 1  ! in elements
    integer(c_int64_t) :: ghosts = 0
    integer(c_int32_t) :: dtype = FACTZ_DTYPE_F32
    character(:), allocatable :: refusal
  end type component

contains

  ! The default configuration with a bound in the unit of the field.
  type(factz_config) function factz_absolute_bound(bound) result(config)
    real(real64), intent(in) :: bound
    if (factz_config_init(config, 0_c_int64_t, 0_c_int64_t, FACTZ_BOUND_ABSOLUTE, bound) /= FACTZ_OK) &
        error stop 'factz_absolute_bound: the library refuses its own constant'
  end function factz_absolute_bound

  ! The default configuration with a bound as a fraction of the joint range of u and v, and of w of a volume.
  type(factz_config) function configured_relative_bound(bound) result(config)
    real(real64), intent(in) :: bound
    if (factz_config_init(config, 0_c_int64_t, 0_c_int64_t, FACTZ_BOUND_RELATIVE, bound) /= FACTZ_OK) &
        error stop 'factz_relative_bound: the library refuses its own constant'
  end function configured_relative_bound

  ! Makes a configuration from text such as "rel=1e-3,mode=speculative". Shape and layout follow from the
  ! arrays.
  subroutine factz_config_from_string(text, config, stat, errmsg)
    character(*), intent(in) :: text
    type(factz_config), intent(out) :: config
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), target :: characters(len(text) + 1)
    integer(c_int32_t) :: status
    integer :: k
    do k = 1, len(text)
      characters(k) = text(k:k)
    end do
    characters(len(text) + 1) = c_null_char
    status = c_config_from_string(c_loc(characters), config)
    call conclude('factz_config_from_string', status, library_reason(status), stat, errmsg)
  end subroutine factz_config_from_string

  ! The text that factz_config_from_string reads back as the same choices.
  subroutine factz_config_to_string(config, text, stat, errmsg)
    type(factz_config), intent(in) :: config
    character(:), allocatable, intent(out) :: text
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), target :: characters(FACTZ_CONFIG_STRING_BYTES)
    integer(c_int32_t) :: status
    status = c_config_to_string(config, c_loc(characters), size(characters, kind=c_size_t))
    text = fortran_string(c_loc(characters))
    call conclude('factz_config_to_string', status, library_reason(status), stat, errmsg)
  end subroutine factz_config_to_string

  ! Reads the header of a stream.
  subroutine factz_inspect(stream, info, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    type(factz_info), intent(out) :: info
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    character(:), allocatable :: reason
    status = factz_inspect_host(address(stream), size(stream, kind=c_size_t), info)
    reason = library_reason(status)
    if (size(stream) == 0) reason = EMPTY_STREAM
    call conclude('factz_inspect', status, reason, stat, errmsg)
  end subroutine factz_inspect

  ! A short name of a status, such as "corrupt stream".
  function factz_status_string(status) result(text)
    integer(c_int32_t), intent(in) :: status
    character(:), allocatable :: text
    text = fortran_string(c_status_string(status))
  end function factz_status_string

  ! What was wrong in the calling thread's latest call of a function of factz.h.
  function factz_last_error() result(text)
    character(:), allocatable :: text
    text = fortran_string(c_last_error())
  end function factz_last_error

  ! The version of the library at run time, such as "0.1.0".
  function factz_version() result(text)
    character(:), allocatable :: text
    text = fortran_string(c_version())
  end function factz_version

  ! ---------------------------------------------------------------- one procedure per kind

  subroutine compress_real32(u, v, config, stream, report, ghosts, threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :), v(:, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: stream(:)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compress(component_real32('u', u, ghosts), component_real32('v', v, ghosts), config, stream, report, &
        threads, stat, errmsg)
  end subroutine compress_real32

  subroutine compress_real64(u, v, config, stream, report, ghosts, threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :), v(:, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: stream(:)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compress(component_real64('u', u, ghosts), component_real64('v', v, ghosts), config, stream, report, &
        threads, stat, errmsg)
  end subroutine compress_real64

  ! u and v are inout: ghost layers keep their values.
  subroutine decompress_real32(stream, u, v, report, ghosts, threads, verify_checksum, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    real(real32), intent(inout), target :: u(:, :), v(:, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, component_real32('u', u, ghosts), component_real32('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg)
  end subroutine decompress_real32

  subroutine decompress_region_real32(stream, first, u, v, report, ghosts, threads, verify_checksum, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    class(*), intent(in) :: first(:)
    real(real32), intent(inout), target :: u(:, :), v(:, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, component_real32('u', u, ghosts), component_real32('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg, first)
  end subroutine decompress_region_real32

  subroutine decompress_real64(stream, u, v, report, ghosts, threads, verify_checksum, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    real(real64), intent(inout), target :: u(:, :), v(:, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, component_real64('u', u, ghosts), component_real64('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg)
  end subroutine decompress_real64

  subroutine decompress_region_real64(stream, first, u, v, report, ghosts, threads, verify_checksum, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    class(*), intent(in) :: first(:)
    real(real64), intent(inout), target :: u(:, :), v(:, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, component_real64('u', u, ghosts), component_real64('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg, first)
  end subroutine decompress_region_real64

  subroutine compare_real32(u, v, other_u, other_v, config, comparison, ghosts, other_ghosts, threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :), v(:, :), other_u(:, :), other_v(:, :)
    type(factz_config), intent(in) :: config
    type(factz_comparison), intent(out) :: comparison
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compare(component_real32('u', u, ghosts), component_real32('v', v, ghosts), &
        component_real32('other_u', other_u, other_ghosts), component_real32('other_v', other_v, other_ghosts), &
        config, comparison, threads, stat, errmsg)
  end subroutine compare_real32

  subroutine compare_real64(u, v, other_u, other_v, config, comparison, ghosts, other_ghosts, threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :), v(:, :), other_u(:, :), other_v(:, :)
    type(factz_config), intent(in) :: config
    type(factz_comparison), intent(out) :: comparison
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compare(component_real64('u', u, ghosts), component_real64('v', v, ghosts), &
        component_real64('other_u', other_u, other_ghosts), component_real64('other_v', other_v, other_ghosts), &
        config, comparison, threads, stat, errmsg)
  end subroutine compare_real64

  subroutine protect_real32(u, v, other_u, other_v, config, fix, report, ghosts, other_ghosts, threads, stat, &
      errmsg)
    real(real32), intent(in), target :: u(:, :), v(:, :), other_u(:, :), other_v(:, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: fix(:)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call protect(component_real32('u', u, ghosts), component_real32('v', v, ghosts), &
        component_real32('other_u', other_u, other_ghosts), component_real32('other_v', other_v, other_ghosts), &
        config, fix, report, threads, stat, errmsg)
  end subroutine protect_real32

  subroutine protect_real64(u, v, other_u, other_v, config, fix, report, ghosts, other_ghosts, threads, stat, &
      errmsg)
    real(real64), intent(in), target :: u(:, :), v(:, :), other_u(:, :), other_v(:, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: fix(:)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call protect(component_real64('u', u, ghosts), component_real64('v', v, ghosts), &
        component_real64('other_u', other_u, other_ghosts), component_real64('other_v', other_v, other_ghosts), &
        config, fix, report, threads, stat, errmsg)
  end subroutine protect_real64

  subroutine apply_real32(fix, u, v, report, ghosts, threads, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: fix(:)
    real(real32), intent(inout), target :: u(:, :), v(:, :)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call apply(fix, component_real32('u', u, ghosts), component_real32('v', v, ghosts), report, threads, stat, errmsg)
  end subroutine apply_real32

  subroutine apply_real64(fix, u, v, report, ghosts, threads, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: fix(:)
    real(real64), intent(inout), target :: u(:, :), v(:, :)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call apply(fix, component_real64('u', u, ghosts), component_real64('v', v, ghosts), report, threads, stat, errmsg)
  end subroutine apply_real64

  subroutine find_range_real32(u, v, config, range, ghosts, threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :), v(:, :)
    type(factz_config), intent(in) :: config
    type(factz_range), intent(out) :: range
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call find_range(component_real32('u', u, ghosts), component_real32('v', v, ghosts), config, range, threads, &
        stat, errmsg)
  end subroutine find_range_real32

  subroutine find_range_real64(u, v, config, range, ghosts, threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :), v(:, :)
    type(factz_config), intent(in) :: config
    type(factz_range), intent(out) :: range
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call find_range(component_real64('u', u, ghosts), component_real64('v', v, ghosts), config, range, threads, &
        stat, errmsg)
  end subroutine find_range_real64

  subroutine critical_points_real32(u, v, config, points, ghosts, threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :), v(:, :)
    type(factz_config), intent(in) :: config
    type(factz_critical_point), allocatable, intent(out) :: points(:)
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call critical_points(component_real32('u', u, ghosts), component_real32('v', v, ghosts), config, points, &
        threads, stat, errmsg)
  end subroutine critical_points_real32

  subroutine critical_points_real64(u, v, config, points, ghosts, threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :), v(:, :)
    type(factz_config), intent(in) :: config
    type(factz_critical_point), allocatable, intent(out) :: points(:)
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call critical_points(component_real64('u', u, ghosts), component_real64('v', v, ghosts), config, points, &
        threads, stat, errmsg)
  end subroutine critical_points_real64

  subroutine compress_stack_real32(u, v, config, stream, report, ghosts, threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :, :), v(:, :, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: stream(:)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compress(stack_real32('u', u, ghosts), stack_real32('v', v, ghosts), config, stream, report, &
        threads, stat, errmsg)
  end subroutine compress_stack_real32

  subroutine compress_stack_real64(u, v, config, stream, report, ghosts, threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :, :), v(:, :, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: stream(:)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compress(stack_real64('u', u, ghosts), stack_real64('v', v, ghosts), config, stream, report, &
        threads, stat, errmsg)
  end subroutine compress_stack_real64

  ! u and v are inout: ghost layers keep their values.
  subroutine decompress_stack_real32(stream, u, v, report, ghosts, threads, verify_checksum, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    real(real32), intent(inout), target :: u(:, :, :), v(:, :, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, stack_real32('u', u, ghosts), stack_real32('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg)
  end subroutine decompress_stack_real32

  subroutine decompress_region_stack_real32(stream, first, u, v, report, ghosts, threads, verify_checksum, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    class(*), intent(in) :: first(:)
    real(real32), intent(inout), target :: u(:, :, :), v(:, :, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, stack_real32('u', u, ghosts), stack_real32('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg, first)
  end subroutine decompress_region_stack_real32

  subroutine decompress_stack_real64(stream, u, v, report, ghosts, threads, verify_checksum, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    real(real64), intent(inout), target :: u(:, :, :), v(:, :, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, stack_real64('u', u, ghosts), stack_real64('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg)
  end subroutine decompress_stack_real64

  subroutine decompress_region_stack_real64(stream, first, u, v, report, ghosts, threads, verify_checksum, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    class(*), intent(in) :: first(:)
    real(real64), intent(inout), target :: u(:, :, :), v(:, :, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, stack_real64('u', u, ghosts), stack_real64('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg, first)
  end subroutine decompress_region_stack_real64

  subroutine compare_stack_real32(u, v, other_u, other_v, config, comparison, ghosts, other_ghosts, threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :, :), v(:, :, :), other_u(:, :, :), other_v(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_comparison), intent(out) :: comparison
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compare(stack_real32('u', u, ghosts), stack_real32('v', v, ghosts), &
        stack_real32('other_u', other_u, other_ghosts), stack_real32('other_v', other_v, other_ghosts), &
        config, comparison, threads, stat, errmsg)
  end subroutine compare_stack_real32

  subroutine compare_stack_real64(u, v, other_u, other_v, config, comparison, ghosts, other_ghosts, threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :, :), v(:, :, :), other_u(:, :, :), other_v(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_comparison), intent(out) :: comparison
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compare(stack_real64('u', u, ghosts), stack_real64('v', v, ghosts), &
        stack_real64('other_u', other_u, other_ghosts), stack_real64('other_v', other_v, other_ghosts), &
        config, comparison, threads, stat, errmsg)
  end subroutine compare_stack_real64

  subroutine protect_stack_real32(u, v, other_u, other_v, config, fix, report, ghosts, other_ghosts, threads, stat, &
      errmsg)
    real(real32), intent(in), target :: u(:, :, :), v(:, :, :), other_u(:, :, :), other_v(:, :, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: fix(:)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call protect(stack_real32('u', u, ghosts), stack_real32('v', v, ghosts), &
        stack_real32('other_u', other_u, other_ghosts), stack_real32('other_v', other_v, other_ghosts), &
        config, fix, report, threads, stat, errmsg)
  end subroutine protect_stack_real32

  subroutine protect_stack_real64(u, v, other_u, other_v, config, fix, report, ghosts, other_ghosts, threads, stat, &
      errmsg)
    real(real64), intent(in), target :: u(:, :, :), v(:, :, :), other_u(:, :, :), other_v(:, :, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: fix(:)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call protect(stack_real64('u', u, ghosts), stack_real64('v', v, ghosts), &
        stack_real64('other_u', other_u, other_ghosts), stack_real64('other_v', other_v, other_ghosts), &
        config, fix, report, threads, stat, errmsg)
  end subroutine protect_stack_real64

  subroutine apply_stack_real32(fix, u, v, report, ghosts, threads, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: fix(:)
    real(real32), intent(inout), target :: u(:, :, :), v(:, :, :)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call apply(fix, stack_real32('u', u, ghosts), stack_real32('v', v, ghosts), report, threads, stat, errmsg)
  end subroutine apply_stack_real32

  subroutine apply_stack_real64(fix, u, v, report, ghosts, threads, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: fix(:)
    real(real64), intent(inout), target :: u(:, :, :), v(:, :, :)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call apply(fix, stack_real64('u', u, ghosts), stack_real64('v', v, ghosts), report, threads, stat, errmsg)
  end subroutine apply_stack_real64

  subroutine find_range_stack_real32(u, v, config, range, ghosts, threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :, :), v(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_range), intent(out) :: range
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call find_range(stack_real32('u', u, ghosts), stack_real32('v', v, ghosts), config, range, threads, &
        stat, errmsg)
  end subroutine find_range_stack_real32

  subroutine find_range_stack_real64(u, v, config, range, ghosts, threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :, :), v(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_range), intent(out) :: range
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call find_range(stack_real64('u', u, ghosts), stack_real64('v', v, ghosts), config, range, threads, &
        stat, errmsg)
  end subroutine find_range_stack_real64

  subroutine critical_points_stack_real32(u, v, config, points, ghosts, threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :, :), v(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_critical_point), allocatable, intent(out) :: points(:)
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call critical_points(stack_real32('u', u, ghosts), stack_real32('v', v, ghosts), config, points, &
        threads, stat, errmsg)
  end subroutine critical_points_stack_real32

  subroutine critical_points_stack_real64(u, v, config, points, ghosts, threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :, :), v(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_critical_point), allocatable, intent(out) :: points(:)
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call critical_points(stack_real64('u', u, ghosts), stack_real64('v', v, ghosts), config, points, &
        threads, stat, errmsg)
  end subroutine critical_points_stack_real64

  subroutine compress_volume_real32(u, v, w, config, stream, report, ghosts, threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: stream(:)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compress(volume_real32('u', u, ghosts), volume_real32('v', v, ghosts), config, stream, report, threads, stat, &
        errmsg, volume_real32('w', w, ghosts))
  end subroutine compress_volume_real32

  subroutine compress_volume_real64(u, v, w, config, stream, report, ghosts, threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: stream(:)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compress(volume_real64('u', u, ghosts), volume_real64('v', v, ghosts), config, stream, report, threads, stat, &
        errmsg, volume_real64('w', w, ghosts))
  end subroutine compress_volume_real64

  subroutine decompress_volume_real32(stream, u, v, w, report, ghosts, threads, verify_checksum, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    real(real32), intent(inout), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, volume_real32('u', u, ghosts), volume_real32('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg, w=volume_real32('w', w, ghosts))
  end subroutine decompress_volume_real32

  subroutine decompress_region_volume_real32(stream, first, u, v, w, report, ghosts, threads, verify_checksum, stat, &
      errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    class(*), intent(in) :: first(:)
    real(real32), intent(inout), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, volume_real32('u', u, ghosts), volume_real32('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg, first, volume_real32('w', w, ghosts))
  end subroutine decompress_region_volume_real32

  subroutine decompress_volume_real64(stream, u, v, w, report, ghosts, threads, verify_checksum, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    real(real64), intent(inout), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, volume_real64('u', u, ghosts), volume_real64('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg, w=volume_real64('w', w, ghosts))
  end subroutine decompress_volume_real64

  subroutine decompress_region_volume_real64(stream, first, u, v, w, report, ghosts, threads, verify_checksum, stat, &
      errmsg)
    integer(int8), contiguous, intent(in), target :: stream(:)
    class(*), intent(in) :: first(:)
    real(real64), intent(inout), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call decompress(stream, volume_real64('u', u, ghosts), volume_real64('v', v, ghosts), report, threads, &
        verify_checksum, stat, errmsg, first, volume_real64('w', w, ghosts))
  end subroutine decompress_region_volume_real64

  subroutine protect_volume_real32(u, v, w, other_u, other_v, other_w, config, fix, report, ghosts, other_ghosts, &
      threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    real(real32), intent(in), target :: other_u(:, :, :), other_v(:, :, :), other_w(:, :, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: fix(:)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call protect(volume_real32('u', u, ghosts), volume_real32('v', v, ghosts), &
        volume_real32('other_u', other_u, other_ghosts), volume_real32('other_v', other_v, other_ghosts), &
        config, fix, report, threads, stat, errmsg, volume_real32('w', w, ghosts), &
        volume_real32('other_w', other_w, other_ghosts))
  end subroutine protect_volume_real32

  subroutine protect_volume_real64(u, v, w, other_u, other_v, other_w, config, fix, report, ghosts, other_ghosts, &
      threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    real(real64), intent(in), target :: other_u(:, :, :), other_v(:, :, :), other_w(:, :, :)
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: fix(:)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call protect(volume_real64('u', u, ghosts), volume_real64('v', v, ghosts), &
        volume_real64('other_u', other_u, other_ghosts), volume_real64('other_v', other_v, other_ghosts), &
        config, fix, report, threads, stat, errmsg, volume_real64('w', w, ghosts), &
        volume_real64('other_w', other_w, other_ghosts))
  end subroutine protect_volume_real64

  subroutine apply_volume_real32(fix, u, v, w, report, ghosts, threads, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: fix(:)
    real(real32), intent(inout), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call apply(fix, volume_real32('u', u, ghosts), volume_real32('v', v, ghosts), report, threads, stat, errmsg, &
        volume_real32('w', w, ghosts))
  end subroutine apply_volume_real32

  subroutine apply_volume_real64(fix, u, v, w, report, ghosts, threads, stat, errmsg)
    integer(int8), contiguous, intent(in), target :: fix(:)
    real(real64), intent(inout), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call apply(fix, volume_real64('u', u, ghosts), volume_real64('v', v, ghosts), report, threads, stat, errmsg, &
        volume_real64('w', w, ghosts))
  end subroutine apply_volume_real64

  subroutine compare_volume_real32(u, v, w, other_u, other_v, other_w, config, comparison, ghosts, other_ghosts, &
      threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    real(real32), intent(in), target :: other_u(:, :, :), other_v(:, :, :), other_w(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_volume_comparison), intent(out) :: comparison
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compare(volume_real32('u', u, ghosts), volume_real32('v', v, ghosts), &
        volume_real32('other_u', other_u, other_ghosts), volume_real32('other_v', other_v, other_ghosts), config, &
        threads=threads, stat=stat, errmsg=errmsg, w=volume_real32('w', w, ghosts), &
        other_w=volume_real32('other_w', other_w, other_ghosts), of_volume=comparison)
  end subroutine compare_volume_real32

  subroutine compare_volume_real64(u, v, w, other_u, other_v, other_w, config, comparison, ghosts, other_ghosts, &
      threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    real(real64), intent(in), target :: other_u(:, :, :), other_v(:, :, :), other_w(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_volume_comparison), intent(out) :: comparison
    class(*), intent(in), optional :: ghosts, other_ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call compare(volume_real64('u', u, ghosts), volume_real64('v', v, ghosts), &
        volume_real64('other_u', other_u, other_ghosts), volume_real64('other_v', other_v, other_ghosts), config, &
        threads=threads, stat=stat, errmsg=errmsg, w=volume_real64('w', w, ghosts), &
        other_w=volume_real64('other_w', other_w, other_ghosts), of_volume=comparison)
  end subroutine compare_volume_real64

  subroutine find_range_volume_real32(u, v, w, config, range, ghosts, threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_range), intent(out) :: range
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call find_range(volume_real32('u', u, ghosts), volume_real32('v', v, ghosts), config, range, threads, stat, errmsg, &
        volume_real32('w', w, ghosts))
  end subroutine find_range_volume_real32

  subroutine find_range_volume_real64(u, v, w, config, range, ghosts, threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_range), intent(out) :: range
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call find_range(volume_real64('u', u, ghosts), volume_real64('v', v, ghosts), config, range, threads, stat, errmsg, &
        volume_real64('w', w, ghosts))
  end subroutine find_range_volume_real64

  subroutine critical_points_volume_real32(u, v, w, config, points, ghosts, threads, stat, errmsg)
    real(real32), intent(in), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_volume_point), allocatable, intent(out) :: points(:)
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call critical_points(volume_real32('u', u, ghosts), volume_real32('v', v, ghosts), config, threads=threads, &
        stat=stat, errmsg=errmsg, w=volume_real32('w', w, ghosts), of_volume=points)
  end subroutine critical_points_volume_real32

  subroutine critical_points_volume_real64(u, v, w, config, points, ghosts, threads, stat, errmsg)
    real(real64), intent(in), target :: u(:, :, :), v(:, :, :), w(:, :, :)
    type(factz_config), intent(in) :: config
    type(factz_volume_point), allocatable, intent(out) :: points(:)
    class(*), intent(in), optional :: ghosts, threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call critical_points(volume_real64('u', u, ghosts), volume_real64('v', v, ghosts), config, threads=threads, &
        stat=stat, errmsg=errmsg, w=volume_real64('w', w, ghosts), of_volume=points)
  end subroutine critical_points_volume_real64

  function component_real32(name, values, ghosts) result(c)
    character(*), intent(in) :: name
    real(real32), intent(in), target :: values(:, :)
    class(*), intent(in), optional :: ghosts
    type(component) :: c
    integer :: g
    c = component_of(name, shape(values, int64), ghosts)
    if (allocated(c%refusal)) return
    g = int(c%ghosts)
    c%dtype = FACTZ_DTYPE_F32
    c%first = c_loc(values(1 + g, 1 + g))
    if (size(values, 1) > 1) call set_distance(name, c%stride, c_loc(values(1, 1)), c_loc(values(2, 1)), 4, c%refusal)
    if (size(values, 2) > 1) call set_distance(name, c%pitch, c_loc(values(1, 1)), c_loc(values(1, 2)), 4, c%refusal)
    call check_rows(c, size(values, 1, int64))
  end function component_real32

  function component_real64(name, values, ghosts) result(c)
    character(*), intent(in) :: name
    real(real64), intent(in), target :: values(:, :)
    class(*), intent(in), optional :: ghosts
    type(component) :: c
    integer :: g
    c = component_of(name, shape(values, int64), ghosts)
    if (allocated(c%refusal)) return
    g = int(c%ghosts)
    c%dtype = FACTZ_DTYPE_F64
    c%first = c_loc(values(1 + g, 1 + g))
    if (size(values, 1) > 1) call set_distance(name, c%stride, c_loc(values(1, 1)), c_loc(values(2, 1)), 8, c%refusal)
    if (size(values, 2) > 1) call set_distance(name, c%pitch, c_loc(values(1, 1)), c_loc(values(1, 2)), 8, c%refusal)
    call check_rows(c, size(values, 1, int64))
  end function component_real64

  function stack_real32(name, values, ghosts) result(c)
    character(*), intent(in) :: name
    real(real32), intent(in), target :: values(:, :, :)
    class(*), intent(in), optional :: ghosts
    type(component) :: c
    if (size(values, 3) < 1) then
      c%refusal = name//' has no planes: its third extent is 0'
      return
    end if
    c = component_real32(name, values(:, :, 1), ghosts)
    if (size(values, 3) > 1) call set_planes(c, shape(values, int64), c_loc(values(1, 1, 1)), c_loc(values(1, 1, 2)), 4)
  end function stack_real32

  function stack_real64(name, values, ghosts) result(c)
    character(*), intent(in) :: name
    real(real64), intent(in), target :: values(:, :, :)
    class(*), intent(in), optional :: ghosts
    type(component) :: c
    if (size(values, 3) < 1) then
      c%refusal = name//' has no planes: its third extent is 0'
      return
    end if
    c = component_real64(name, values(:, :, 1), ghosts)
    if (size(values, 3) > 1) call set_planes(c, shape(values, int64), c_loc(values(1, 1, 1)), c_loc(values(1, 1, 2)), 8)
  end function stack_real64

  function volume_real32(name, values, ghosts) result(c)
    character(*), intent(in) :: name
    real(real32), intent(in), target :: values(:, :, :)
    class(*), intent(in), optional :: ghosts
    type(component) :: c
    integer :: g
    c = stack_real32(name, values, ghosts)
    call take_ghost_planes(c)
    if (allocated(c%refusal)) return
    g = int(c%ghosts)
    c%first = c_loc(values(1 + g, 1 + g, 1 + g))
  end function volume_real32

  function volume_real64(name, values, ghosts) result(c)
    character(*), intent(in) :: name
    real(real64), intent(in), target :: values(:, :, :)
    class(*), intent(in), optional :: ghosts
    type(component) :: c
    integer :: g
    c = stack_real64(name, values, ghosts)
    call take_ghost_planes(c)
    if (allocated(c%refusal)) return
    g = int(c%ghosts)
    c%first = c_loc(values(1 + g, 1 + g, 1 + g))
  end function volume_real64

  ! ---------------------------------------------------------------- what both kinds share

  ! The size of the block inside the ghost layers.
  function component_of(name, extents, ghosts) result(c)
    character(*), intent(in) :: name
    integer(int64), intent(in) :: extents(2)
    class(*), intent(in), optional :: ghosts
    type(component) :: c
    c%name = name
    if (present(ghosts)) call take_integer(ghosts, ghosts_name(c), c%ghosts, c%refusal)
    if (allocated(c%refusal)) return
    c%nx = extents(1) - 2 * min(c%ghosts, extents(1))
    c%ny = extents(2) - 2 * min(c%ghosts, extents(2))
    if (c%ghosts < 0) then
      c%refusal = ghosts_of(c)//' must not be negative: it is the width of the ghost layers'
    else if (c%nx < 1 .or. c%ny < 1) then
      c%refusal = name//' has the shape ('//decimal(extents(1))//', '//decimal(extents(2))//'), which leaves no '// &
          'vertex inside ghost layers of width '//decimal(c%ghosts)//': pass the whole array with its ghost layers'
    end if
  end function component_of

  ! The argument with the width of the ghost layers: "ghosts", or "other_ghosts".
  function ghosts_name(c) result(text)
    type(component), intent(in) :: c
    character(:), allocatable :: text
    text = 'ghosts'
    if (index(c%name, 'other_') == 1) text = 'other_'//text
  end function ghosts_name

  ! "ghosts = 1".
  function ghosts_of(c) result(text)
    type(component), intent(in) :: c
    character(:), allocatable :: text
    text = ghosts_name(c)//' = '//decimal(c%ghosts)
  end function ghosts_of

  ! "20 x 10", without the ghost layers; "20 x 10 x 3" of a stack.
  function size_of(c) result(text)
    type(component), intent(in) :: c
    character(:), allocatable :: text
    text = decimal(c%nx)//' x '//decimal(c%ny)
    if (c%nz > 1) text = text//' x '//decimal(c%nz)
  end function size_of

  ! The distance of two neighbours, in elements.
  subroutine set_distance(name, distance, first, second, bytes, refusal)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(inout) :: distance
    type(c_ptr), intent(in) :: first, second
    integer, intent(in) :: bytes
    character(:), allocatable, intent(inout) :: refusal
    integer(c_intptr_t) :: apart
    apart = transfer(second, apart) - transfer(first, apart)
    if (apart <= 0 .or. modulo(apart, int(bytes, c_intptr_t)) /= 0) then
      refusal = name//' is a section whose neighbours are '//decimal(int(apart, int64))//' bytes apart: strides must '// &
          'be positive multiples of the size of an element; pass the array the other way round, or a copy of the section'
    else
      distance = apart / bytes
    end if
  end subroutine set_distance

  ! The distance of two planes, in rows. Planes of one row are a pitch apart.
  subroutine set_planes(c, extents, first, second, bytes)
    type(component), intent(inout) :: c
    integer(int64), intent(in) :: extents(3)
    type(c_ptr), intent(in) :: first, second
    integer, intent(in) :: bytes
    integer(c_int64_t) :: apart
    if (allocated(c%refusal)) return
    c%nz = extents(3)
    call set_distance(trim(c%name), apart, first, second, bytes, c%refusal)
    if (allocated(c%refusal)) return
    if (extents(2) == 1) c%pitch = apart
    c%plane_rows = apart / c%pitch
    if (modulo(apart, c%pitch) /= 0 .or. c%plane_rows < extents(2)) c%refusal = trim(c%name)// &
        ' is a section whose planes are '//decimal(apart)//' elements apart and whose rows are '//decimal(c%pitch)// &
        ': the planes must be whole rows apart and end before the next one begins; pass a copy of it'
  end subroutine set_planes

  ! The ghost layers of a volume below its first plane and above its last one.
  subroutine take_ghost_planes(c)
    type(component), intent(inout) :: c
    if (allocated(c%refusal)) return
    if (c%nz <= 2 * c%ghosts) then
      c%refusal = trim(c%name)//' has '//decimal(c%nz)//' planes, which leave no vertex inside ghost layers of width '// &
          decimal(c%ghosts)//': pass the whole array with its ghost layers on all six sides'
    else
      c%nz = c%nz - 2 * c%ghosts
    end if
  end subroutine take_ghost_planes

  ! A row ends before the next one begins.
  subroutine check_rows(c, columns)
    type(component), intent(inout) :: c
    integer(int64), intent(in) :: columns
    if (allocated(c%refusal) .or. c%pitch == 0 .or. c%pitch > (columns - 1) * c%stride) return
    c%refusal = trim(c%name)//' is a transposed array, whose neighbours along x are '//decimal(c%stride)// &
        ' elements apart and those along y '//decimal(c%pitch)//': pass a copy of it'
  end subroutine check_rows

  ! Puts what the arrays say into a configuration. refusal stays unallocated where all fits.
  subroutine describe(u, v, config, n, refusal)
    type(component), intent(in) :: u, v
    type(factz_config), intent(inout) :: config
    integer(c_size_t), intent(out) :: n
    character(:), allocatable, intent(out) :: refusal
    n = int(u%nx * u%ny * u%nz, c_size_t)
    if (allocated(u%refusal)) then
      refusal = u%refusal
    else if (allocated(v%refusal)) then
      refusal = v%refusal
    else if (u%nx /= v%nx .or. u%ny /= v%ny .or. u%nz /= v%nz) then
      refusal = trim(u%name)//' has '//size_of(u)//' vertices but '//trim(v%name)//' has '//size_of(v)// &
          ': all components must lie at the same vertices'
    else if (u%plane_rows /= v%plane_rows) then
      refusal = trim(u%name)//' has '//decimal(u%plane_rows)//' rows from a plane to the next but '//trim(v%name)// &
          ' has '//decimal(v%plane_rows)//': pass a copy of one of them'
    else if ((config%nx /= 0 .and. config%nx /= u%nx) .or. (config%ny /= 0 .and. config%ny /= u%ny)) then
      refusal = 'the configuration is for '//decimal(config%nx)//' x '//decimal(config%ny)//' vertices but '// &
          trim(u%name)//' has '//size_of(u)//' with '//ghosts_of(u)// &
          ': set nx = ny = 0 to take them from the arrays, or pass the whole arrays and the width of their ghost layers'
    else if (config%halo /= 0 .and. u%ghosts < 1) then
      refusal = 'config%halo = '//decimal(int(config%halo, int64))//' names sides with ghost vertices but '// &
          ghosts_of(u)//': pass the whole arrays with their ghost layers and the width of the layers, or set '// &
          'config%halo = 0 and config%pin'
    end if
    config%nx = u%nx
    config%ny = u%ny
    config%nz = u%nz
    config%plane_rows = u%plane_rows
    config%dtype = u%dtype
    config%u_pitch = u%pitch
    config%u_stride = u%stride
    config%v_pitch = v%pitch
    config%v_stride = v%stride
  end subroutine describe

  ! Puts what the arrays of a field say into a configuration, or with w what those of a volume say.
  subroutine describe_all(u, v, w, config, n, refusal)
    type(component), intent(in) :: u, v
    type(component), intent(in), optional :: w
    type(factz_config), intent(inout) :: config
    integer(c_size_t), intent(out) :: n
    character(:), allocatable, intent(out) :: refusal
    call describe(u, v, config, n, refusal)
    if (.not. present(w)) return
    if (.not. allocated(refusal)) call describe(u, w, config, n, refusal)
    config%components = 3
    if (config%mode == FACTZ_MODE_BLOCK_WISE) config%mode = FACTZ_MODE_REPAIR
    config%v_pitch = v%pitch
    config%v_stride = v%stride
    config%w_pitch = w%pitch
    config%w_stride = w%stride
  end subroutine describe_all

  ! Bytes that always suffice for a stream, and for a fix.
  integer(c_int32_t) function find_largest_stream(config, bytes) result(status)
    type(factz_config), intent(in) :: config
    integer(c_int64_t), intent(out) :: bytes
    type(factz_sizes) :: sizes
    if (config%components == 3) then
      status = factz_volume_stream_bytes(config, bytes)
    else
      status = factz_compress_sizes(config, sizes)
      bytes = sizes%max_stream_bytes
    end if
  end function find_largest_stream

  ! Compresses a field, or with w a volume.
  subroutine compress(u, v, config, stream, report, threads, stat, errmsg, w)
    type(component), intent(in) :: u, v
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: stream(:)
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(component), intent(in), optional :: w
    type(factz_config) :: c
    type(factz_report) :: r
    integer(int8), allocatable, target :: buffer(:)
    character(:), allocatable :: reason
    integer(c_int64_t) :: most
    integer(c_size_t) :: n
    integer(c_int32_t) :: status
    integer(c_int) :: threads_used
    integer :: failed
    r = failed_report(FACTZ_ERROR_INVALID_ARGUMENT)
    c = config
    call describe_all(u, v, w, c, n, reason)
    call take_threads(threads, threads_used, reason)
    if (allocated(reason)) then
      status = FACTZ_ERROR_INVALID_ARGUMENT
    else
      status = find_largest_stream(c, most)
      if (status == FACTZ_OK) then
        allocate (buffer(most), stat=failed)
        if (failed /= 0) then
          status = FACTZ_ERROR_OUT_OF_MEMORY
          reason = 'no memory for '//decimal(most)//' bytes, the largest that the stream may be'
        else
          if (present(w)) then
            status = factz_compress_volume_host(u%first, v%first, w%first, n, c, c_loc(buffer), &
                size(buffer, kind=c_size_t), r, threads_used)
          else
            status = factz_compress_host(u%first, v%first, n, c, c_loc(buffer), size(buffer, kind=c_size_t), r, &
                threads_used)
          end if
          if (status == FACTZ_OK) call keep(buffer, r%stream_bytes, 'the stream', stream, status, reason)
        end if
      end if
      r%status = status
      if (.not. allocated(reason)) reason = library_reason(status)
    end if
    if (present(report)) report = r
    call conclude('factz_compress', status, reason, stat, errmsg)
  end subroutine compress

  ! Copies the beginning of a buffer to an array of its own. Without memory for it status and reason tell.
  subroutine keep(buffer, length, name, kept, status, reason)
    integer(int8), intent(in) :: buffer(:)
    integer(c_int64_t), intent(in) :: length
    character(*), intent(in) :: name
    integer(int8), allocatable, intent(out) :: kept(:)
    integer(c_int32_t), intent(inout) :: status
    character(:), allocatable, intent(inout) :: reason
    integer :: failed
    allocate (kept(length), stat=failed)
    if (failed /= 0) then
      status = FACTZ_ERROR_OUT_OF_MEMORY
      reason = 'no memory for '//decimal(length)//' bytes, '//name
    else
      kept(:) = buffer(:length)
    end if
  end subroutine keep

  ! Decompresses all of a field, the part that begins at first, or with w a volume.
  subroutine decompress(stream, u, v, report, threads, verify_checksum, stat, errmsg, first, w)
    integer(int8), contiguous, intent(in), target :: stream(:)
    type(component), intent(in) :: u, v
    type(factz_report), intent(out), optional :: report
    class(*), intent(in), optional :: threads
    logical, intent(in), optional :: verify_checksum
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    class(*), intent(in), optional :: first(:)
    type(component), intent(in), optional :: w
    type(factz_config) :: c
    type(factz_report) :: r
    character(:), allocatable :: reason, name, told
    integer(c_int64_t) :: origin(3)
    integer(c_size_t) :: n
    integer(c_int32_t) :: status
    integer(c_int) :: threads_used
    r = failed_report(FACTZ_ERROR_INVALID_ARGUMENT)
    c = factz_absolute_bound(0.0_real64)
    name = 'factz_decompress'
    told = ''
    if (present(verify_checksum)) c%verify_checksum = merge(1_c_int32_t, 0_c_int32_t, verify_checksum)
    call describe_all(u, v, w, c, n, reason)
    if (present(first)) then
      call take_first(first, origin, reason)
      name = name//'_region'
    end if
    call take_threads(threads, threads_used, reason)
    if (.not. allocated(reason) .and. size(stream) == 0) reason = EMPTY_STREAM
    if (allocated(reason)) then
      status = FACTZ_ERROR_INVALID_ARGUMENT
    else
      if (present(first) .and. present(w)) then
        status = factz_decompress_volume_region_host(address(stream), size(stream, kind=c_size_t), c, origin(1), &
            origin(2), origin(3), u%first, v%first, w%first, n, r, threads_used)
      else if (present(first)) then
        status = factz_decompress_region_host(address(stream), size(stream, kind=c_size_t), c, origin(1), origin(2), &
            origin(3), u%first, v%first, n, r, threads_used)
      else if (present(w)) then
        status = factz_decompress_volume_host(address(stream), size(stream, kind=c_size_t), c, u%first, v%first, &
            w%first, n, r, threads_used)
      else
        status = factz_decompress_host(address(stream), size(stream, kind=c_size_t), c, u%first, v%first, n, r, &
            threads_used)
      end if
      if (present(first) .and. status == FACTZ_ERROR_INVALID_ARGUMENT) &
          told = ' (x0, y0 and z0 are counted from 0: first - 1)'
      reason = library_reason(status)//told
    end if
    if (present(report)) report = r
    call conclude(name, status, reason, stat, errmsg)
  end subroutine decompress

  ! The first vertex of a part, counted from 0.
  subroutine take_first(first, origin, refusal)
    class(*), intent(in) :: first(:)
    integer(int64), intent(out) :: origin(3)
    character(:), allocatable, intent(inout) :: refusal
    integer :: k
    origin = 1
    if (allocated(refusal)) return
    if (size(first) /= 2 .and. size(first) /= 3) then
      refusal = 'first has '//decimal(size(first, kind=int64))//' elements: pass [column, row] or [column, row, plane]'
      return
    end if
    do k = 1, size(first)
      call take_integer(first(k), 'first', origin(k), refusal)
      if (allocated(refusal)) return
      if (origin(k) < 1) then
        refusal = 'first has the element '//decimal(origin(k))//': columns, rows and planes are counted from 1'
        return
      end if
    end do
    origin = origin - 1
  end subroutine take_first

  ! Compares fields, or with w, other_w and of_volume volumes.
  subroutine compare(u, v, other_u, other_v, config, comparison, threads, stat, errmsg, w, other_w, of_volume)
    type(component), intent(in) :: u, v, other_u, other_v
    type(factz_config), intent(in) :: config
    type(factz_comparison), intent(out), optional :: comparison
    class(*), intent(in), optional :: threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(component), intent(in), optional :: w, other_w
    type(factz_volume_comparison), intent(out), optional :: of_volume
    type(factz_config) :: c, other
    character(:), allocatable :: reason
    integer(c_size_t) :: n
    integer(c_int32_t) :: status
    integer(c_int) :: threads_used
    c = config
    other = c
    call describe_all(u, v, w, c, n, reason)
    call take_threads(threads, threads_used, reason)
    if (.not. allocated(reason)) call describe_all(other_u, other_v, other_w, other, n, reason)
    if (.not. allocated(reason) .and. any([u%nx, u%ny, u%nz] /= [other_u%nx, other_u%ny, other_u%nz])) then
      reason = 'u has '//size_of(u)//' vertices with '//ghosts_of(u)//' but other_u has '//size_of(other_u)//' with '// &
          ghosts_of(other_u)//': both fields must lie at the same vertices; arrays with ghost layers are passed whole, '// &
          'with the width of their layers'
    end if
    if (allocated(reason)) then
      status = FACTZ_ERROR_INVALID_ARGUMENT
      if (present(comparison)) comparison%status = status
      if (present(of_volume)) of_volume%status = status
    else
      if (present(w)) then
        status = factz_compare_volume_host(u%first, v%first, w%first, n, c, other_u%first, other_v%first, &
            other_w%first, other, of_volume, threads_used)
      else
        status = factz_compare_host(u%first, v%first, n, c, other_u%first, other_v%first, other, comparison, &
            threads_used)
      end if
      reason = library_reason(status)
    end if
    call conclude('factz_compare', status, reason, stat, errmsg)
  end subroutine compare

  ! Makes the fix of a field, or with w and other_w that of a volume.
  subroutine protect(u, v, other_u, other_v, config, fix, report, threads, stat, errmsg, w, other_w)
    type(component), intent(in) :: u, v, other_u, other_v
    type(factz_config), intent(in) :: config
    integer(int8), allocatable, intent(out) :: fix(:)
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(component), intent(in), optional :: w, other_w
    type(factz_config) :: c, other
    type(factz_fix_report) :: r
    integer(int8), allocatable, target :: buffer(:)
    character(:), allocatable :: reason
    integer(c_int64_t) :: most
    integer(c_size_t) :: n
    integer(c_int32_t) :: status
    integer(c_int) :: threads_used
    integer :: failed
    r = failed_fix_report(FACTZ_ERROR_INVALID_ARGUMENT)
    c = config
    other = c
    other%halo = 0
    call describe_all(u, v, w, c, n, reason)
    call take_threads(threads, threads_used, reason)
    if (.not. allocated(reason)) call describe_all(other_u, other_v, other_w, other, n, reason)
    if (allocated(reason)) then
      status = FACTZ_ERROR_INVALID_ARGUMENT
    else
      status = find_largest_stream(c, most)
      if (status == FACTZ_OK) then
        allocate (buffer(most), stat=failed)
        if (failed /= 0) then
          status = FACTZ_ERROR_OUT_OF_MEMORY
          reason = 'no memory for '//decimal(most)//' bytes, the largest that the fix may be'
        else
          n = int(c%nx * c%ny * c%nz, c_size_t)
          if (present(w)) then
            status = factz_protect_volume_host(u%first, v%first, w%first, n, c, other_u%first, other_v%first, &
                other_w%first, other, c_loc(buffer), size(buffer, kind=c_size_t), r, threads_used)
          else
            status = factz_protect_host(u%first, v%first, n, c, other_u%first, other_v%first, other, c_loc(buffer), &
                size(buffer, kind=c_size_t), r, threads_used)
          end if
          if (status == FACTZ_OK) call keep(buffer, r%fix_bytes, 'the fix', fix, status, reason)
        end if
      end if
      r%status = status
      if (.not. allocated(reason)) reason = library_reason(status)
    end if
    if (present(report)) report = r
    call conclude('factz_protect', status, reason, stat, errmsg)
  end subroutine protect

  ! Applies a fix to a field, or with w to a volume.
  subroutine apply(fix, u, v, report, threads, stat, errmsg, w)
    integer(int8), contiguous, intent(in), target :: fix(:)
    type(component), intent(in) :: u, v
    type(factz_fix_report), intent(out), optional :: report
    class(*), intent(in), optional :: threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(component), intent(in), optional :: w
    type(factz_config) :: c
    type(factz_fix_report) :: r
    character(:), allocatable :: reason
    integer(c_size_t) :: n
    integer(c_int32_t) :: status
    integer(c_int) :: threads_used
    r = failed_fix_report(FACTZ_ERROR_INVALID_ARGUMENT)
    c = factz_absolute_bound(0.0_real64)
    call describe_all(u, v, w, c, n, reason)
    call take_threads(threads, threads_used, reason)
    if (.not. allocated(reason) .and. size(fix) == 0) reason = 'the array fix has no elements'
    if (allocated(reason)) then
      status = FACTZ_ERROR_INVALID_ARGUMENT
    else
      if (present(w)) then
        status = factz_apply_volume_host(address(fix), size(fix, kind=c_size_t), c, u%first, v%first, w%first, n, r, &
            threads_used)
      else
        status = factz_apply_host(address(fix), size(fix, kind=c_size_t), c, u%first, v%first, n, r, threads_used)
      end if
      reason = library_reason(status)
    end if
    if (present(report)) report = r
    call conclude('factz_apply', status, reason, stat, errmsg)
  end subroutine apply

  ! Finds the range of a field, or with w that of a volume.
  subroutine find_range(u, v, config, range, threads, stat, errmsg, w)
    type(component), intent(in) :: u, v
    type(factz_config), intent(in) :: config
    type(factz_range), intent(out) :: range
    class(*), intent(in), optional :: threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(component), intent(in), optional :: w
    type(factz_config) :: c
    character(:), allocatable :: reason
    integer(c_size_t) :: n
    integer(c_int32_t) :: status
    integer(c_int) :: threads_used
    c = config
    c%halo = 0     ! ghost vertices are not looked at
    call describe_all(u, v, w, c, n, reason)
    call take_threads(threads, threads_used, reason)
    if (allocated(reason)) then
      status = FACTZ_ERROR_INVALID_ARGUMENT
      range = factz_range(status, 0, ieee_value(1.0_c_double, ieee_positive_inf), &
          ieee_value(1.0_c_double, ieee_negative_inf), 0, 0, 0, 0)
    else
      if (present(w)) then
        status = factz_range_volume_host(u%first, v%first, w%first, n, c, range, threads_used)
      else
        status = factz_range_host(u%first, v%first, n, c, range, threads_used)
      end if
      reason = library_reason(status)
    end if
    call conclude('factz_find_range', status, reason, stat, errmsg)
  end subroutine find_range

  ! Lists the critical points of a field, or with w and of_volume those of a volume.
  subroutine critical_points(u, v, config, points, threads, stat, errmsg, w, of_volume)
    type(component), intent(in) :: u, v
    type(factz_config), intent(in) :: config
    type(factz_critical_point), allocatable, intent(out), optional, target :: points(:)
    class(*), intent(in), optional :: threads
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(component), intent(in), optional :: w
    type(factz_volume_point), allocatable, intent(out), optional, target :: of_volume(:)
    type(factz_config) :: c
    character(:), allocatable :: reason
    integer(c_size_t) :: n
    integer(c_int64_t) :: count
    integer(c_int32_t) :: status
    integer(c_int) :: threads_used
    c = config
    call describe_all(u, v, w, c, n, reason)
    call take_threads(threads, threads_used, reason)
    if (allocated(reason)) then
      status = FACTZ_ERROR_INVALID_ARGUMENT
    else
      ! The number first; a capacity of 0 needs no array.
      call list(c_null_ptr, 0_c_size_t)
      if (status == FACTZ_OK .or. status == FACTZ_ERROR_BUFFER_TOO_SMALL) call list_all(int(count, c_size_t))
      if (.not. allocated(reason)) reason = library_reason(status)
    end if
    call conclude('factz_critical_points', status, reason, stat, errmsg)
  contains
    subroutine list_all(capacity)
      integer(c_size_t), intent(in) :: capacity
      integer :: failed
      if (present(points)) then
        allocate (points(capacity), stat=failed)
      else
        allocate (of_volume(capacity), stat=failed)
      end if
      if (failed /= 0) then
        status = FACTZ_ERROR_OUT_OF_MEMORY
        reason = 'no memory for '//decimal(int(capacity, int64))//' critical points'
      else if (capacity > 0 .and. present(points)) then
        call list(c_loc(points), capacity)
      else if (capacity > 0) then
        call list(c_loc(of_volume), capacity)
      end if
    end subroutine list_all

    subroutine list(found, room)
      type(c_ptr), intent(in) :: found
      integer(c_size_t), intent(in) :: room
      if (present(w)) then
        status = factz_critical_points_volume_host(u%first, v%first, w%first, n, c, found, room, count, threads_used)
      else
        status = factz_critical_points_host(u%first, v%first, n, c, found, room, count, threads_used)
      end if
    end subroutine list
  end subroutine critical_points

  ! ---------------------------------------------------------------- small things

  ! What STAT= and ERRMSG= promise.
  subroutine conclude(procedure_name, status, reason, stat, errmsg)
    character(*), intent(in) :: procedure_name, reason
    integer(c_int32_t), intent(in) :: status
    class(*), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: text
    if (present(stat)) call set_integer(stat, status)
    if (status == FACTZ_OK) return
    text = procedure_name//': '//factz_status_string(status)//': '//reason
    if (present(errmsg)) errmsg = text
    if (.not. present(stat)) error stop text
  end subroutine conclude

  ! The standard's STAT= has any kind too.
  subroutine set_integer(stat, status)
    class(*), intent(out) :: stat
    integer(c_int32_t), intent(in) :: status
    select type (stat)
    type is (integer(int8))
      stat = int(status, int8)
    type is (integer(int16))
      stat = int(status, int16)
    type is (integer(int32))
      stat = int(status, int32)
    type is (integer(int64))
      stat = int(status, int64)
    class default
      error stop 'factz: the argument stat is no integer'
    end select
  end subroutine set_integer

  ! The value of an integer of any kind. Another argument is refused, unless there is a reason already.
  subroutine take_integer(argument, name, value, refusal)
    class(*), intent(in) :: argument
    character(*), intent(in) :: name
    integer(int64), intent(inout) :: value
    character(:), allocatable, intent(inout) :: refusal
    select type (argument)
    type is (integer(int8))
      value = int(argument, int64)
    type is (integer(int16))
      value = int(argument, int64)
    type is (integer(int32))
      value = int(argument, int64)
    type is (integer(int64))
      value = argument
    class default
      if (.not. allocated(refusal)) &
          refusal = name//' is no integer: pass an integer of kind int8, int16, int32 or int64'
    end select
  end subroutine take_integer

  function library_reason(status) result(text)
    integer(c_int32_t), intent(in) :: status
    character(:), allocatable :: text
    if (status == FACTZ_OK) then
      text = ''
    else
      text = factz_last_error()
    end if
  end function library_reason

  type(factz_report) function failed_report(status) result(r)
    integer(c_int32_t), intent(in) :: status
    r = factz_report(status, 0, 0, 0, 0, 0, 0, 0, 0.0_c_double, 0.0_c_double, 0, 0, 0, 0)
  end function failed_report

  type(factz_fix_report) function failed_fix_report(status) result(r)
    integer(c_int32_t), intent(in) :: status
    r = factz_fix_report(status, 0, 0, 0, 0, 0, 0, 0, 0.0_c_double, 0.0_c_double, 0, 0, 0)
  end function failed_fix_report

  ! The number of threads, 0 where it is not given.
  subroutine take_threads(threads, count, refusal)
    class(*), intent(in), optional :: threads
    integer(c_int), intent(out) :: count
    character(:), allocatable, intent(inout) :: refusal
    integer(int64) :: value
    value = 0
    if (present(threads)) call take_integer(threads, 'threads', value, refusal)
    ! In the range of c_int: more than 1024 count as 1024.
    count = int(max(-1024_int64, min(1024_int64, value)), c_int)
  end subroutine take_threads

  ! c_loc wants an array that is not empty.
  type(c_ptr) function address(stream)
    integer(int8), contiguous, intent(in), target :: stream(:)
    address = c_null_ptr
    if (size(stream) > 0) address = c_loc(stream)
  end function address

  function decimal(number) result(text)
    integer(int64), intent(in) :: number
    character(:), allocatable :: text
    character(20) :: digits
    write (digits, '(i0)') number
    text = trim(digits)
  end function decimal

  function fortran_string(string) result(text)
    type(c_ptr), intent(in) :: string
    character(:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: length, k
    if (.not. c_associated(string)) then
      text = ''
      return
    end if
    length = 0
    do
      call c_f_pointer(string, characters, [length + 1])
      if (characters(length + 1) == c_null_char) exit
      length = length + 1
    end do
    allocate (character(length) :: text)
    do k = 1, length
      text(k:k) = characters(k)
    end do
  end function fortran_string
end module factz
