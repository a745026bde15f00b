! Compress and decompress arrays of both kinds: whole arrays, arrays with ghost layers, sections, stacks of planes,
! and volumes; fix what another method made of them; decompress parts alone; list the critical points; and see what a
! wrong call is told.
!
!     gfortran factz.f90 roundtrip.f90 -lfactz -o roundtrip && ./roundtrip
!
! Exit status 0 when everything holds.
program roundtrip
  use factz
  implicit none
  integer, parameter :: nx = 150, ny = 97, ghosts = 2
  real(real64), parameter :: bound = 1e-2_real64

  print '(a,a,a,i0)', 'factz ', factz_version(), ', format ', factz_format_version()
  call whole_arrays()
  call ghost_layers()
  call sections()
  call stack()
  call volume()
  call volume_analysis()
  call fixes()
  call volume_fixes()
  call parts()
  call options()
  call wrong_calls()
  print '(a)', 'everything holds'

contains

  ! A lattice of vortices, disturbed by waves: saddles and foci.
  elemental subroutine velocity(x, y, u, v)
    integer, intent(in) :: x, y
    real(real64), intent(out) :: u, v
    u = sin(0.11_real64 * x) * cos(0.13_real64 * y) + 0.02_real64 * cos(0.0527_real64 * x + 0.2_real64)
    v = -cos(0.11_real64 * x) * sin(0.13_real64 * y) + 0.05_real64 * sin(0.07_real64 * x + 0.05_real64 * y)
  end subroutine velocity

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print '(a,a)', 'failed: ', what
    error stop 1
  end subroutine require

  ! Single precision, dense arrays, a bound relative to the range, critical points.
  subroutine whole_arrays()
    real(real32), allocatable, dimension(:, :) :: u, v, u2, v2
    real(real64) :: a, b
    integer(int8), allocatable :: stream(:)
    type(factz_config) :: config
    type(factz_report) :: report
    type(factz_info) :: info
    type(factz_comparison) :: comparison
    type(factz_critical_point), allocatable :: points(:)
    integer :: x, y
    allocate (u(nx, ny), v(nx, ny), u2(nx, ny), v2(nx, ny))
    do y = 1, ny
      do x = 1, nx
        call velocity(x, y, a, b)
        u(x, y) = real(a, real32)
        v(x, y) = real(b, real32)
      end do
    end do

    config = factz_relative_bound(1e-3_real64)
    config%mode = FACTZ_MODE_SPECULATIVE
    call factz_compress(u, v, config, stream, report)
    call factz_inspect(stream, info)
    call require(info%nx == nx .and. info%ny == ny .and. info%dtype == FACTZ_DTYPE_F32, 'the header of the stream')
    call factz_decompress(stream, u2, v2)

    ! Check against the bound that was applied.
    config = factz_absolute_bound(report%bound)
    call factz_compare(u, v, u2, v2, config, comparison)
    call require(comparison%violations == 0, 'bound and critical points')
    call factz_critical_points(u2, v2, config, points)
    call require(size(points) == report%points_in_triangles .and. size(points) > 0, &
      'the number of critical points')
    call show('whole arrays, real32', size(stream), 2 * 4 * nx * ny, comparison)
  end subroutine whole_arrays

  ! Double precision, ghost layers with values of the neighbours: critical points between blocks are kept too.
  subroutine ghost_layers()
    real(real64), allocatable, dimension(:, :) :: u, v, u2, v2
    integer(int8), allocatable :: stream(:)
    type(factz_config) :: config
    type(factz_comparison) :: comparison
    integer :: x, y
    allocate (u(1 - ghosts:nx + ghosts, 1 - ghosts:ny + ghosts))
    allocate (v, u2, v2, mold=u)
    do y = 1 - ghosts, ny + ghosts
      do x = 1 - ghosts, nx + ghosts
        call velocity(x, y, u(x, y), v(x, y))
      end do
    end do
    config = factz_absolute_bound(bound)
    config%halo = FACTZ_SIDES_ALL
    call factz_compress(u, v, config, stream, ghosts=ghosts)
    u2 = -777
    v2 = -777
    call factz_decompress(stream, u2, v2, ghosts=ghosts)
    config%halo = 0     ! the ghost layers of the output hold no values: the cells of the block itself
    call factz_compare(u, v, u2, v2, config, comparison, ghosts=ghosts, other_ghosts=ghosts)
    call require(comparison%violations == 0 .and. comparison%max_error <= bound, 'bound and critical points')
    u2(1:nx, 1:ny) = -777
    v2(1:nx, 1:ny) = -777
    call require(all(nint(u2) == -777) .and. all(nint(v2) == -777), 'ghost layers untouched')
    call show('ghost layers, real64', size(stream), 2 * 8 * nx * ny, comparison)
  end subroutine ghost_layers

  ! Both components in one array, and a window of a larger one: no copy is made.
  subroutine sections()
    real(real64), allocatable :: uv(:, :, :), window(:, :, :)
    integer(int8), allocatable :: stream(:)
    type(factz_config) :: config
    type(factz_comparison) :: comparison
    integer :: x, y
    allocate (uv(2, nx, ny), window(0:nx + 7, 0:ny + 3, 2))
    do y = 1, ny
      do x = 1, nx
        call velocity(x, y, uv(1, x, y), uv(2, x, y))
      end do
    end do
    config = factz_absolute_bound(bound)
    call factz_compress(uv(1, :, :), uv(2, :, :), config, stream)
    window = 0
    call factz_decompress(stream, window(5:nx + 4, 3:ny + 2, 1), window(5:nx + 4, 3:ny + 2, 2))
    call factz_compare(uv(1, :, :), uv(2, :, :), window(5:nx + 4, 3:ny + 2, 1), window(5:nx + 4, 3:ny + 2, 2), &
        config, comparison)
    call require(comparison%violations == 0, 'bound and critical points')
    call show('sections, real64', size(stream), 2 * 8 * nx * ny, comparison)
  end subroutine sections

  ! Planes in one stream, with ghost layers around each, and around a periodic axis; one of them alone.
  subroutine stack()
    integer, parameter :: nz = 3
    real(real32), allocatable, target :: u(:, :, :), v(:, :, :), u2(:, :, :), v2(:, :, :), plane(:, :, :)
    integer(int8), allocatable, target :: stream(:)
    type(factz_config) :: config
    type(factz_report) :: report
    type(factz_info) :: info
    type(factz_comparison) :: comparison
    type(factz_critical_point), allocatable :: points(:)
    real(real64) :: a, b
    integer :: x, y, z
    allocate (u(0:nx + 1, 0:ny + 1, nz), v(0:nx + 1, 0:ny + 1, nz), u2(nx, ny, nz), v2(nx, ny, nz), plane(nx, ny, 2))
    do z = 1, nz
      do y = 0, ny + 1
        do x = 0, nx + 1
          call velocity(x, y, a, b)
          u(x, y, z) = real(z * a, real32)
          v(x, y, z) = real(z * b, real32)
        end do
      end do
    end do
    config = factz_absolute_bound(bound)
    config%halo = FACTZ_SIDES_ALL
    call factz_compress(u, v, config, stream, ghosts=1)
    config%halo = 0
    config%periodic = FACTZ_PERIODIC_Y
    call factz_compress(u(1:nx, 1:ny, :), v(1:nx, 1:ny, :), config, stream)
    call factz_inspect(stream, info)
    call require(info%nz == nz .and. info%periodic == FACTZ_PERIODIC_Y, 'the header of a stack')
    call factz_decompress(stream, u2, v2)
    call factz_compare(u(1:nx, 1:ny, :), v(1:nx, 1:ny, :), u2, v2, config, comparison)
    call require(comparison%violations == 0, 'bound and critical points of a stack')
    call factz_critical_points(u2, v2, config, points)
    call require(size(points) == comparison%critical_points .and. maxval(points%cell_z) == nz - 1, 'planes count from 0')
    ! The second plane alone by a function of factz.h, with planes counted from 0.
    config%nx = nx
    config%ny = ny
    call require(factz_decompress_planes_host(c_loc(stream), size(stream, kind=c_size_t), config, 1_c_int64_t, &
        c_loc(plane(1, 1, 1)), c_loc(plane(1, 1, 2)), int(nx * ny, c_size_t), report, 0) == FACTZ_OK, 'a plane alone')
    call require(all(plane(:, :, 1) <= u2(:, :, 2)) .and. all(plane(:, :, 1) >= u2(:, :, 2)), 'the values of a plane')
    call show('stack, real32', size(stream), 2 * 4 * nx * ny * nz, comparison)
  end subroutine stack

  ! Volumes of both kinds, in whole arrays and in sections.
  subroutine volume()
    integer, parameter :: n(3) = [20, 17, 18]
    real(real32), allocatable, dimension(:, :, :, :) :: whole, after, box
    real(real64), allocatable :: u(:, :, :), v(:, :, :), w(:, :, :), found(:, :, :, :)
    integer(int8), allocatable :: stream(:), again(:)
    type(factz_config) :: config
    type(factz_info) :: info
    type(factz_report) :: report
    integer(c_int32_t) :: status
    character(500) :: reason
    integer :: x, y, z
    allocate (u(n(1), n(2), n(3)), found(3, n(1), n(2), n(3)), whole(0:n(1) + 1, 0:n(2), n(3), 3))
    allocate (v, w, mold=u)
    do z = 1, n(3)
      do y = 1, n(2)
        do x = 1, n(1)
          u(x, y, z) = sin(0.31_real64 * x + 0.2_real64 * y + 0.11_real64 * z)
          v(x, y, z) = sin(0.13_real64 * x - 0.27_real64 * y + 0.33_real64 * z)
          w(x, y, z) = sin(0.29_real64 * z + 0.17_real64 * y - 0.21_real64 * x)
        end do
      end do
    end do
    config = factz_absolute_bound(bound)
    call factz_compress(u, v, w, config, stream, report, threads=2)
    call factz_inspect(stream, info)
    call require(info%component == FACTZ_COMPONENT_VOLUME .and. info%nz == n(3) .and. &
        report%points_in_triangles > 0, 'the header of a volume')
    found = 0
    call factz_decompress(stream, found(1, :, :, :), found(2, :, :, :), found(3, :, :, :), report)
    call require(report%stream_bytes == size(stream), 'the report of a volume')
    call require(maxval(abs(found(1, :, :, :) - u)) <= bound .and. maxval(abs(found(2, :, :, :) - v)) <= bound &
        .and. maxval(abs(found(3, :, :, :) - w)) <= bound, 'the bound of a volume')

    whole = 7
    whole(1:n(1), 1:n(2), :, 1) = real(u, real32)
    whole(1:n(1), 1:n(2), :, 2) = real(v, real32)
    whole(1:n(1), 1:n(2), :, 3) = real(w, real32)
    after = whole(1:n(1), 1:n(2), :, :)
    config%pin = FACTZ_SIDE_Z_MIN
    call factz_compress(whole(1:n(1), 1:n(2), :, 1), whole(1:n(1), 1:n(2), :, 2), whole(1:n(1), 1:n(2), :, 3), &
        config, stream)
    call factz_compress(after(:, :, :, 1), after(:, :, :, 2), after(:, :, :, 3), config, again)
    call require(size(again) == size(stream), 'the length of a stream of sections')
    call require(all(again == stream), 'a section and its copy give one stream')
    call factz_decompress(stream, after(:, :, :, 1), after(:, :, :, 2), after(:, :, :, 3), verify_checksum=.false.)
    call require(maxval(abs(after - whole(1:n(1), 1:n(2), :, :))) <= real(bound, real32), 'the bound of sections')
    call require(.not. any(abs(after(:, :, 1, :) - whole(1:n(1), 1:n(2), 1, :)) > 0), 'the side z = 1 is pinned')

    ! A box and a plane of the volume.
    call factz_decompress(stream, after(:, :, :, 1), after(:, :, :, 2), after(:, :, :, 3))
    do z = 1, 4, 3
      allocate (box(n(1) - 3, n(2) - 4, z, 3))
      call factz_decompress_region(stream, [3, 5, 14], box(:, :, :, 1), box(:, :, :, 2), box(:, :, :, 3), report)
      call require(.not. any(abs(box - after(3:n(1) - 1, 5:, 14:13 + z, :)) > 0), 'a box of a volume')
      call require(report%required_bytes == size(stream), 'the length of the stream of a box')
      deallocate (box)
    end do
    call factz_decompress_region(stream, [3, 5, 14], u, v, w, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'first - 1')

    call factz_compress(u, v, w(:, :, :n(3) - 1), config, stream, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'u has 20 x 17 x 18 vertices but w has 20 x 17 x 17')
    call factz_compress(u(:, :, :1), v(:, :, :1), w(:, :, :1), config, stream, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_CONFIG, reason, 'nz = 1')
    config%mode = FACTZ_MODE_SPECULATIVE
    call factz_compress(u, v, w, config, stream, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_CONFIG, reason, 'mode = speculative')
    call factz_decompress(again, u, v, w, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'F32')
    call factz_decompress(again, after(:, :, :, 1), after(:, :, :, 2), stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'volume')
    print '(a,i0,a)', 'a volume: ', size(again), ' bytes'
  end subroutine volume

  ! A volume with one zero, in both kinds and inside ghost layers: its place and type, the range, and how it differs
  ! from volumes with another zero.
  subroutine volume_analysis()
    integer, parameter :: n(3) = [20, 17, 18]
    real(real64), allocatable :: u(:, :, :), v(:, :, :), w(:, :, :)
    real(real32), allocatable :: whole(:, :, :, :)
    type(factz_config) :: config
    type(factz_volume_point), allocatable :: points(:), again(:)
    type(factz_volume_comparison) :: comparison
    type(factz_range) :: range
    integer(c_int32_t) :: status
    character(500) :: reason
    integer :: x, y, z
    allocate (u(n(1), n(2), n(3)), whole(0:n(1) + 1, 0:n(2) + 1, 0:n(3) + 1, 3))
    allocate (v, w, mold=u)
    whole = 1e9
    do z = 1, n(3)
      do y = 1, n(2)
        do x = 1, n(1)
          u(x, y, z) = x - 6.25_real64
          v(x, y, z) = y - 7.5_real64
          w(x, y, z) = z - 8.125_real64
          whole(x, y, z, :) = real([u(x, y, z), v(x, y, z), w(x, y, z)], real32)
        end do
      end do
    end do
    config = factz_absolute_bound(0.5_real64)
    config%dz = -2
    call factz_critical_points(u, v, w, config, points, threads=2)
    call require(size(points) == 1, 'one critical point of a volume')
    call require(all([points(1)%cell_x, points(1)%cell_y, points(1)%cell_z] == [5, 6, 7]), 'cells count from 0')
    call require(all(abs([points(1)%x - 5.25, points(1)%y - 6.5, points(1)%z + 14.25]) <= 0), 'the place of the point')
    call require(points(1)%point_type == FACTZ_VOLUME_POINT_REPELLING_NODE_SADDLE .and. points(1)%index == -1, &
        'the type of the point, of an axis that runs backwards')
    call require(points(1)%simplex == FACTZ_VOLUME_SIMPLEX_TETRAHEDRON + 2 .and. points(1)%dimension == 3, &
        'the tetrahedron with the steps y, x, z')
    call factz_critical_points(whole(:, :, :, 1), whole(:, :, :, 2), whole(:, :, :, 3), config, again, ghosts=1)
    call require(size(again) == 1, 'ghost layers hold no points')
    call require(again(1)%simplex == points(1)%simplex .and. again(1)%cell_z == 7, 'the point inside ghost layers')

    call factz_compare(u, v, w, u, v - 0.75_real64, w, config, comparison, threads=1)
    call require(comparison%lost_points == 1 .and. comparison%spurious_points == 1 .and. &
        comparison%changed_types == 0, 'a moved point')
    call require(comparison%bound_exceeded == product(n) .and. abs(comparison%max_error - 0.75) <= 0, 'the bound')
    call factz_compare(-whole(:, :, :, 1), whole(:, :, :, 2), whole(:, :, :, 3), real(u, real32), real(v, real32), &
        real(w, real32), config, comparison, ghosts=1, other_ghosts=0)
    call require(comparison%changed_types == 1 .and. comparison%lost_points == 0, 'a point of another type')
    call require(comparison%points_by_type(FACTZ_VOLUME_POINT_ATTRACTING_NODE_SADDLE + 1) == 1, 'the types of points')

    config%halo = FACTZ_SIDES_ALL_OF_VOLUME     ! no part of the range
    call factz_find_range(whole(:, :, :, 1), whole(:, :, :, 2), whole(:, :, :, 3), config, range, ghosts=1)
    call require(abs(range%low + 7.125) <= 0 .and. abs(range%high - 13.75) <= 0, 'the range of a volume')
    call factz_find_range(u, v, w(:, :, 8:), config, range, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'u has 20 x 17 x 18 vertices but w has 20 x 17 x 11')
    call require(range%status == status .and. range%low > range%high, 'a range without values')
    call factz_critical_points(u, v, w, config, again, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'config%halo = 63 names sides with ghost vertices')
    call require(.not. allocated(again), 'no points of a call that failed')
    ! Two blocks, between whose planes 8 and 9 the zero lies: the first has it, and without a halo none.
    config%halo = FACTZ_SIDE_Z_MAX
    call factz_critical_points(whole(:, :, :9, 1), whole(:, :, :9, 2), whole(:, :, :9, 3), config, again, ghosts=1)
    call factz_compare(whole(:, :, :9, 1), whole(:, :, :9, 2), whole(:, :, :9, 3), -whole(:, :, :9, 1), &
        whole(:, :, :9, 2), whole(:, :, :9, 3), config, comparison, ghosts=1, other_ghosts=1)
    call require(size(again) == 1 .and. comparison%changed_types == 1, 'a point between two blocks')
    config%halo = FACTZ_SIDE_Z_MIN
    call factz_critical_points(whole(:, :, 8:, 1), whole(:, :, 8:, 2), whole(:, :, 8:, 3), config, again, ghosts=1)
    call require(size(again) == 0, 'a point of another block')
    config%halo = 0
    call factz_critical_points(whole(:, :, :9, 1), whole(:, :, :9, 2), whole(:, :, :9, 3), config, again, ghosts=1)
    call require(size(again) == 0, 'a point between blocks without a halo')
    call factz_compare(u, v, w, u(:, :, 2:), v(:, :, 2:), w(:, :, 2:), config, comparison, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'u has 20 x 17 x 18 vertices with ghosts = 0 but other_u has')
    call require(comparison%status == status, 'the status of a comparison')
    u = 1
    call factz_critical_points(u, v, w, config, points)
    call require(size(points) == 0, 'a volume without points')
    print '(a)', 'a volume, analysed, real32 and real64'
  end subroutine volume_analysis

  ! A reconstruction that another method made, and its fix: then all critical points are there.
  subroutine fixes()
    real(real32), parameter :: step = 0.19
    real(real32), allocatable, dimension(:, :) :: u, v, u2, v2
    integer(int8), allocatable :: fix(:)
    type(factz_config) :: config
    type(factz_fix_report) :: report
    type(factz_comparison) :: comparison
    real(real64) :: a, b
    integer :: x, y, status
    allocate (u(nx, ny), v(nx, ny))
    do y = 1, ny
      do x = 1, nx
        call velocity(x, y, a, b)
        u(x, y) = real(a, real32)
        v(x, y) = real(b, real32)
      end do
    end do
    u2 = step * anint(u / step)
    v2 = step * anint(v / step)
    config = factz_absolute_bound(0.1_real64)
    call factz_compare(u, v, u2, v2, config, comparison)
    call require(comparison%violations > 0, 'rounding changes critical points')
    call factz_protect(u, v, u2, v2, config, fix, report)
    call require(report%violated_triangles > 0 .and. report%fix_bytes == size(fix), 'the fix')
    call factz_apply(fix, u2, v2, report)
    call factz_compare(u, v, u2, v2, config, comparison)
    call require(comparison%violations == 0 .and. report%repaired_vertices > 0, 'critical points with the fix')
    print '(a,i0,a)', 'a fix: ', size(fix), ' bytes'
    call factz_apply(fix, u2, v2, stat=status)
    call require(status == FACTZ_ERROR_INVALID_ARGUMENT, 'a fix is applied once')
  end subroutine fixes

  ! The violations in a volume that is to keep what config says.
  integer(int64) function violations(before, after, config)
    real(real32), intent(in) :: before(:, :, :, :), after(:, :, :, :)
    type(factz_config), intent(in) :: config
    type(factz_config) :: without_ghosts
    type(factz_volume_comparison) :: comparison
    without_ghosts = config
    without_ghosts%halo = 0
    call factz_compare(before(:, :, :, 1), before(:, :, :, 2), before(:, :, :, 3), after(:, :, :, 1), &
        after(:, :, :, 2), after(:, :, :, 3), without_ghosts, comparison)
    violations = comparison%violations
  end function violations

  ! Fixes of volumes of both kinds, and two blocks with ghost layers between which no critical point is lost.
  subroutine volume_fixes()
    integer, parameter :: n(3) = [16, 15, 22], half = 11
    real(real32), parameter :: step = 0.19
    real(real32), allocatable, dimension(:, :, :, :) :: before, after, ghosted, kept
    real(real64), allocatable :: a(:, :, :, :), b(:, :, :, :)
    integer(int8), allocatable :: fix(:), stream(:)
    type(factz_config) :: config
    type(factz_fix_report) :: report
    type(factz_fix_info) :: info
    integer(c_int32_t) :: status
    character(500) :: reason
    integer :: x, y, z, block
    ! Ghost layers outside of the domain are never read.
    allocate (before(n(1), n(2), n(3), 3), ghosted(0:n(1) + 1, 0:n(2) + 1, 0:n(3) + 1, 3))
    do z = 1, n(3)
      do y = 1, n(2)
        do x = 1, n(1)
          before(x, y, z, 1) = real(sin(0.31_real64 * x + 0.4_real64 * y + 0.21_real64 * z), real32)
          before(x, y, z, 2) = real(sin(0.43_real64 * x - 0.27_real64 * y + 0.33_real64 * z), real32)
          before(x, y, z, 3) = real(sin(0.49_real64 * z + 0.37_real64 * y - 0.51_real64 * x), real32)
        end do
      end do
    end do
    after = step * anint(before / step)
    kept = after
    config = factz_absolute_bound(0.1_real64)
    call require(violations(before, after, config) > 0, 'rounding changes critical points of a volume')
    call factz_protect(before(:, :, :, 1), before(:, :, :, 2), before(:, :, :, 3), after(:, :, :, 1), after(:, :, :, 2), &
        after(:, :, :, 3), config, fix, report)
    status = factz_inspect_fix_host(c_loc_of(fix), size(fix, kind=c_size_t), info)
    call require(status == FACTZ_OK .and. info%components == 3 .and. info%nz == n(3), 'the fix of a volume')
    call require(report%violated_triangles > 0 .and. report%fix_bytes == size(fix), 'the report of a fix')
    call factz_apply(fix, after(:, :, :, 1), after(:, :, :, 2), after(:, :, :, 3), report)
    call require(violations(before, after, config) == 0 .and. report%repaired_vertices > 0, &
        'critical points of a volume with the fix')
    print '(a,i0,a)', 'a fix of a volume: ', size(fix), ' bytes'
    call factz_apply(fix, after(:, :, :, 1), after(:, :, :, 2), after(:, :, :, 3), stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'another reconstruction')
    call factz_apply(fix, after(:, :, :, 1), after(:, :, :, 2), stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'volume')

    ! The other kind.
    a = real(before, real64)
    b = step * anint(a / step)
    call factz_protect(a(:, :, :, 1), a(:, :, :, 2), a(:, :, :, 3), b(:, :, :, 1), b(:, :, :, 2), b(:, :, :, 3), config, &
        fix, threads=2)
    call factz_apply(fix, b(:, :, :, 1), b(:, :, :, 2), b(:, :, :, 3), threads=1)
    call require(maxval(abs(a - b)) <= 0.1_real64, 'the bound with the fix of a volume of doubles')

    ! Two blocks, one upon the other: planes 1 to 11 and 12 to 22.
    ghosted = 1e30
    ghosted(1:n(1), 1:n(2), 1:n(3), :) = before
    do block = 0, 1
      z = block * half
      config%halo = merge(FACTZ_SIDE_Z_MAX, FACTZ_SIDE_Z_MIN, block == 0)
      call factz_protect(ghosted(:, :, z:z + half + 1, 1), ghosted(:, :, z:z + half + 1, 2), &
          ghosted(:, :, z:z + half + 1, 3), kept(:, :, z + 1:z + half, 1), kept(:, :, z + 1:z + half, 2), &
          kept(:, :, z + 1:z + half, 3), config, fix, ghosts=1, other_ghosts=0)
      call factz_compress(ghosted(:, :, z:z + half + 1, 1), ghosted(:, :, z:z + half + 1, 2), &
          ghosted(:, :, z:z + half + 1, 3), config, stream, ghosts=1)
      call factz_decompress(stream, after(:, :, z + 1:z + half, 1), after(:, :, z + 1:z + half, 2), &
          after(:, :, z + 1:z + half, 3))
      call factz_apply(fix, kept(:, :, z + 1:z + half, 1), kept(:, :, z + 1:z + half, 2), kept(:, :, z + 1:z + half, 3), &
          report)
    end do
    call require(violations(before, kept, config) == 0, 'critical points between blocks with fixes')
    call require(violations(before, after, config) == 0, 'critical points between compressed blocks')
    ! Ghost layers stay as they are.
    call factz_decompress(stream, ghosted(:, :, half:, 1), ghosted(:, :, half:, 2), ghosted(:, :, half:, 3), ghosts=1)
    call require(.not. any(abs(ghosted(1:n(1), 1:n(2), half + 1:n(3), :) - after(:, :, half + 1:, :)) > 0), &
        'a block inside ghost layers')
    call require(all(ghosted(:, :, n(3) + 1, :) > 1e29) .and. all(ghosted(0, :, :, :) > 1e29), 'ghost layers of a volume')

    call factz_compress(before(:, :, :, 1), before(:, :, :, 2), before(:, :, :, 3), config, stream, stat=status, &
        errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'config%halo = 16 names sides with ghost vertices')
    call factz_protect(ghosted(:, :, :1, 1), ghosted(:, :, :1, 2), ghosted(:, :, :1, 3), kept(:, :, :2, 1), &
        kept(:, :, :2, 2), kept(:, :, :2, 3), config, fix, ghosts=1, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'u has 2 planes, which leave no vertex inside')
    call factz_protect(before(:, :, :, 1), before(:, :, :, 2), before(:, :, :, 3), kept(:, :, :9, 1), kept(:, :, :9, 2), &
        kept(:, :, :8, 3), factz_absolute_bound(0.1_real64), fix, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'other_u has 16 x 15 x 9 vertices but other_w has 16 x 15 x 8')
  end subroutine volume_fixes

  type(c_ptr) function c_loc_of(bytes)
    integer(int8), contiguous, intent(in), target :: bytes(:)
    c_loc_of = c_loc(bytes)
  end function c_loc_of

  ! A rectangle of a field, some planes of a stack, and a rectangle of these: with the values of the whole
  ! decompression. Indices count from 1.
  subroutine parts()
    integer, parameter :: nz = 4
    real(real64), allocatable :: u(:, :, :), v(:, :, :), u2(:, :, :), v2(:, :, :), planes(:, :, :, :)
    real(real64) :: window(0:41, 0:31, 2), both(20, 10, 3, 2)
    integer(int8), allocatable :: stream(:)
    type(factz_report) :: report
    integer(c_int32_t) :: status
    character(500) :: reason
    integer :: x, y, z
    allocate (u(nx, ny, nz), v(nx, ny, nz), u2(nx, ny, nz), v2(nx, ny, nz), planes(nx, ny, 2, 2))
    do z = 1, nz
      do y = 1, ny
        do x = 1, nx
          call velocity(x + 3 * z, y, u(x, y, z), v(x, y, z))
        end do
      end do
    end do
    call factz_compress(u(:, :, 1), v(:, :, 1), factz_absolute_bound(bound), stream)
    call factz_decompress(stream, u2(:, :, 1), v2(:, :, 1))
    window = -777
    call factz_decompress_region(stream, [100_int64, 51_int64], window(:, :, 1), window(:, :, 2), report, ghosts=1)
    call require(same(window(1:40, 1:30, 1), u2(100:139, 51:80, 1)), 'u of a rectangle')
    call require(same(window(1:40, 1:30, 2), v2(100:139, 51:80, 1)), 'v of a rectangle')
    call require(nint(window(0, 0, 1)) == -777 .and. report%required_bytes == size(stream), 'ghost layers, the report')

    call factz_compress(u, v, factz_absolute_bound(bound), stream)
    call factz_decompress(stream, u2, v2)
    call factz_decompress_region(stream, [1, 1, 3], planes(:, :, :, 1), planes(:, :, :, 2))
    call factz_decompress_region(stream, [7, 8, 2], both(:, :, :, 1), both(:, :, :, 2))
    do z = 1, 2
      call require(same(planes(:, :, z, 1), u2(:, :, z + 2)), 'u of planes')
      call require(same(planes(:, :, z, 2), v2(:, :, z + 2)), 'v of planes')
    end do
    do z = 1, 3
      call require(same(both(:, :, z, 1), u2(7:26, 8:17, z + 1)), 'a rectangle of planes')
    end do

    reason = ''
    call factz_decompress_region(stream, [1, 1, 4], planes(:, :, :, 1), planes(:, :, :, 2), stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'z0 are counted from 0: first - 1')
    call factz_decompress_region(stream, [0, 1], window(:, :, 1), window(:, :, 2), stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'first has the element 0')
    call factz_decompress_region(stream, [1], window(:, :, 1), window(:, :, 2), stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'first has 1 elements')
    call factz_decompress_region(stream, [0.5, 1.0], window(:, :, 1), window(:, :, 2), stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'first is no integer')
    print '(a)', 'parts, real64'
  end subroutine parts

  pure logical function same(a, b)
    real(real64), intent(in) :: a(:, :), b(:, :)
    same = all(a <= b) .and. all(a >= b)
  end function same

  ! A configuration as text, as words and from a stream, and a checksum that is not compared.
  subroutine options()
    real(real32), allocatable, dimension(:, :) :: u, v
    integer(int8), allocatable :: stream(:)
    integer(c_int32_t) :: words(FACTZ_CONFIG_WORDS), first, last, status
    character(:), allocatable :: text, again
    character(500) :: reason
    type(factz_config) :: config, other
    type(factz_info) :: info
    type(factz_report) :: report
    call factz_config_from_string('abs=1e-2,coder=huffman,ties=zeros,pin=xmin+ymax,fill=9.96921e36', config)
    call factz_config_to_string(config, text)
    status = factz_config_to_words(config, words, size(words, kind=c_size_t))
    call require(status == FACTZ_OK .and. words(1) == 1, 'words')
    status = factz_config_from_words(words, size(words, kind=c_size_t), other)
    call factz_config_to_string(other, again)
    call require(status == FACTZ_OK .and. text == again, 'words and text')
    call require(config%ties == FACTZ_TIES_ZEROS .and. other%ties == FACTZ_TIES_ZEROS, 'ties')
    call factz_config_from_string('abs=1,mode=fast', config, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_CONFIG, reason, 'block, speculative')

    allocate (u(nx, ny), v(nx, ny))
    u = 1
    v = 2
    config = factz_absolute_bound(bound)
    config%ties = 3
    call factz_compress(u, v, config, stream, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_CONFIG, reason, 'ties = 3')
    config%ties = FACTZ_TIES_ZEROS
    call factz_compress(u, v, config, stream)
    call factz_inspect(stream, info)
    call require(info%ties == FACTZ_TIES_ZEROS, 'ties of a stream')
    status = factz_readable_formats(first, last)
    call require(status == FACTZ_OK .and. first <= info%format_version .and. info%format_version <= last, 'formats')
    status = factz_config_from_info(info, config)
    call require(status == FACTZ_OK .and. config%nx == nx .and. config%bound >= bound, 'the configuration of a stream')
    stream(9) = ieor(stream(9), 1_int8)     ! of the checksum
    call factz_decompress(stream, u, v, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_CORRUPT_STREAM, reason, 'checksum')
    call factz_decompress(stream, u, v, report, threads=2, verify_checksum=.false.)
    call require(report%required_bytes == size(stream), 'the report')
  end subroutine options

  ! With stat= and errmsg= the program goes on; without them an error stops it with the same text.
  subroutine wrong_calls()
    real(real32), allocatable, dimension(:, :) :: u, v, narrow
    integer(int8), allocatable :: stream(:)
    type(factz_config) :: config
    integer(c_int32_t) :: status
    character(500) :: reason
    allocate (u(nx, ny), v(nx, ny), narrow(nx - 1, ny))
    u = 1
    v = 2
    narrow = 3
    config = factz_absolute_bound(bound)

    reason = ''
    call factz_compress(u, narrow, config, stream, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'all components must lie at the same vertices')
    call factz_compress(u(nx:1:-1, :), v(nx:1:-1, :), config, stream, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'a copy of the section')
    config%halo = FACTZ_SIDE_X_MIN
    call factz_compress(u, v, config, stream, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'with their ghost layers')
    config%halo = 0
    config%nx = nx + 1
    call factz_compress(u, v, config, stream, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'set nx = ny = 0')
    config%nx = 0
    call factz_compress(u, v, config, stream, ghosts=ny, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'leaves no vertex')
    call factz_compress(u, v, config, stream, ghosts=0.5, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'ghosts is no integer')
    config%bound = -1
    call factz_compress(u, v, config, stream, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_CONFIG, reason, 'bound = -1')
    config%bound = bound
    call factz_compress(u, v, config, stream)
    call factz_decompress(stream(:size(stream) - 1), u, v, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_CORRUPT_STREAM, reason, 'factz_decompress: ')
    call factz_decompress(stream(:0), u, v, stat=status, errmsg=reason)
    call told(status, FACTZ_ERROR_INVALID_ARGUMENT, reason, 'stream has no elements')
  end subroutine wrong_calls

  subroutine told(status, expected, reason, part)
    integer(c_int32_t), intent(in) :: status, expected
    character(*), intent(inout) :: reason
    character(*), intent(in) :: part
    call require(status == expected .and. index(reason, part) > 0, 'the error says: '//trim(reason))
    print '(a,a)', '  refused: ', trim(reason)
    reason = ''
  end subroutine told

  subroutine show(name, bytes, field_bytes, comparison)
    character(*), intent(in) :: name
    integer, intent(in) :: bytes, field_bytes
    type(factz_comparison), intent(in) :: comparison
    print '(a,t24,i8,a,f6.1,i6,a,es9.2)', name, bytes, ' bytes, ratio', real(field_bytes) / real(bytes), &
        comparison%critical_points, ' critical points, largest error', comparison%max_error
  end subroutine show
end program roundtrip
