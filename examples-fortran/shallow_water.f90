! A shallow-water solver that writes compressed snapshots of its velocity while it runs, and reads them back.
!
!     gfortran factz.f90 shallow_water.f90 -lfactz -o shallow_water && ./shallow_water
!
! Rotating shallow water on a doubly periodic plane, in depth h and momentum (hu, hv), by central differences
! and the third-order Runge-Kutta method of Shu and Osher, with a little viscosity. Eddies of random strength
! turn, radiate gravity waves and merge. Every `snapshot_steps` steps the velocity is compressed within 0.1 %
! of its range and appended to shallow_water.fzs:
!
!     per snapshot: time (real64), bytes (int64), the stream (bytes)
!
! The domain is its own neighbour, so its ghost layers are handed over as halos: critical points in the cells
! of the periodic seam are kept as well. Exit status 0 when mass is conserved and every snapshot read back has
! every critical point and keeps the bound.
program shallow_water
  use factz
  implicit none
  integer, parameter :: wp = real64
  integer, parameter :: nx = 187, ny = 141, steps = 240, snapshot_steps = 40
  integer, parameter :: snapshots = steps / snapshot_steps
  real(wp), parameter :: gravity = 1.0_wp, coriolis = 0.6_wp, viscosity = 2e-3_wp
  real(wp), parameter :: dx = 0.1_wp, dy = 0.1_wp, dt = 0.02_wp
  real(wp), parameter :: bound = 1e-3_wp
  character(*), parameter :: path = 'shallow_water.fzs'

  type :: state
    real(wp), dimension(0:nx + 1, 0:ny + 1) :: h, hu, hv   ! one ghost layer
  end type state

  ! The velocity, with its ghost layer, as it was when each snapshot was taken.
  real(wp), dimension(0:nx + 1, 0:ny + 1) :: u, v
  real(wp), allocatable :: taken_u(:, :, :), taken_v(:, :, :)
  type(state), allocatable :: q
  type(factz_config) :: config
  integer :: step, unit
  real(wp) :: mass

  allocate (q, taken_u(0:nx + 1, 0:ny + 1, snapshots), taken_v(0:nx + 1, 0:ny + 1, snapshots))
  call set_eddies(q)
  mass = sum(q%h(1:nx, 1:ny))

  config = factz_relative_bound(bound)
  config%halo = FACTZ_SIDES_ALL
  config%dx = dx
  config%dy = dy

  open (newunit=unit, file=path, access='stream', form='unformatted', status='replace', action='write')
  do step = 1, steps
    call advance(q)
    if (modulo(step, snapshot_steps) == 0) then
      u = q%hu / q%h
      v = q%hv / q%h
      call write_snapshot(unit, step * dt)
      taken_u(:, :, step / snapshot_steps) = u
      taken_v(:, :, step / snapshot_steps) = v
    end if
  end do
  close (unit)

  if (abs(sum(q%h(1:nx, 1:ny)) - mass) > 1e-9_wp * mass) error stop 'mass is not conserved'
  call read_snapshots()
  print '(a)', 'everything holds'

contains

  subroutine write_snapshot(unit, time)
    integer, intent(in) :: unit
    real(wp), intent(in) :: time
    integer(int8), allocatable :: stream(:)
    type(factz_report) :: report
    call factz_compress(u, v, config, stream, report, ghosts=1)
    write (unit) time, size(stream, kind=int64), stream
    print '(a,f6.2,a,i8,a,f6.1,a,i5,a,es9.2)', 'time', time, ': ', size(stream), ' bytes, ratio', &
        2 * nx * ny * storage_size(u) / 8 / real(size(stream), wp), ',', report%points_in_triangles, &
        ' critical points, largest error', report%max_error
  end subroutine write_snapshot

  ! Reads every snapshot back, and compares it with what was taken.
  subroutine read_snapshots()
    real(wp), allocatable :: u2(:, :), v2(:, :)
    integer(int8), allocatable :: stream(:)
    real(wp) :: time
    integer(int64) :: bytes
    type(factz_info) :: info
    type(factz_config) :: check
    type(factz_comparison) :: comparison
    integer :: unit, k
    allocate (u2(nx, ny), v2(nx, ny))
    open (newunit=unit, file=path, access='stream', form='unformatted', status='old', action='read')
    do k = 1, snapshots
      read (unit) time, bytes
      if (allocated(stream)) deallocate (stream)
      allocate (stream(bytes))
      read (unit) stream
      if (abs(time - k * snapshot_steps * dt) > 1e-12_wp) error stop 'the snapshots are out of order'
      call factz_decompress(stream, u2, v2)
      call factz_inspect(stream, info)
      ! The same configuration, with the bound that the relative one came to.
      check = config
      check%bound_kind = FACTZ_BOUND_ABSOLUTE
      check%bound = info%absolute_bound
      check%halo = 0     ! what was read back has no ghost layers
      call factz_compare(taken_u(:, :, k), taken_v(:, :, k), u2, v2, check, comparison, ghosts=1)
      if (comparison%violations /= 0) error stop 'a snapshot lost a critical point or left the bound'
      if (comparison%critical_points == 0) error stop 'eddies without critical points'
    end do
    close (unit, status='delete')
    print '(i0,a)', snapshots, ' snapshots read back: no critical point lost, new or of another type'
  end subroutine read_snapshots

  ! Depth 1 with bumps and hollows, and the velocity that balances them (geostrophic).
  subroutine set_eddies(q)
    type(state), intent(inout) :: q
    integer, parameter :: eddies = 40
    real(wp) :: place(3, eddies), distance(2), scale, size_of(2)
    integer :: x, y, k
    integer(int64) :: seed
    size_of = [nx * dx, ny * dy]
    seed = 20240501_int64
    do k = 1, eddies
      do x = 1, 3
        seed = modulo(seed * 16807_int64, 2147483647_int64)
        place(x, k) = real(seed, wp) / 2147483647.0_wp
      end do
    end do
    q%h = 1
    do k = 1, eddies
      scale = 0.5_wp + 0.5_wp * modulo(place(3, k) * 7, 1.0_wp)
      do y = 1, ny
        do x = 1, nx
          distance = [x * dx, y * dy] - place(1:2, k) * size_of
          distance = distance - size_of * anint(distance / size_of)
          q%h(x, y) = q%h(x, y) + 0.2_wp * (place(3, k) - 0.5_wp) * exp(-sum(distance**2) / scale**2)
        end do
      end do
    end do
    call fill_ghosts(q%h)
    do y = 1, ny
      do x = 1, nx
        q%hu(x, y) = -q%h(x, y) * gravity / coriolis * (q%h(x, y + 1) - q%h(x, y - 1)) / (2 * dy)
        q%hv(x, y) = q%h(x, y) * gravity / coriolis * (q%h(x + 1, y) - q%h(x - 1, y)) / (2 * dx)
      end do
    end do
    call fill_ghosts(q%hu)
    call fill_ghosts(q%hv)
  end subroutine set_eddies

  ! Copies the opposite border into every ghost layer; corners come with the second axis.
  subroutine fill_ghosts(a)
    real(wp), intent(inout) :: a(0:, 0:)
    a(0, :) = a(nx, :)
    a(nx + 1, :) = a(1, :)
    a(:, 0) = a(:, ny)
    a(:, ny + 1) = a(:, 1)
  end subroutine fill_ghosts

  subroutine advance(q)
    type(state), intent(inout) :: q
    type(state), allocatable :: stage
    allocate (stage)
    stage = q
    call add_tendency(stage, q, 0.0_wp, 1.0_wp)
    call add_tendency(stage, q, 0.75_wp, 0.25_wp)
    call add_tendency(stage, q, 1.0_wp / 3, 2.0_wp / 3)
    q = stage
  end subroutine advance

  ! s <- a * q + b * (s + dt * ds/dt)
  subroutine add_tendency(s, q, a, b)
    type(state), intent(inout) :: s
    type(state), intent(in) :: q
    real(wp), intent(in) :: a, b
    real(wp), allocatable, dimension(:, :) :: fxx, fxy, fyy, dh, dhu, dhv
    integer :: x, y
    allocate (fxx(0:nx + 1, 0:ny + 1), fxy(0:nx + 1, 0:ny + 1), fyy(0:nx + 1, 0:ny + 1))
    allocate (dh(nx, ny), dhu(nx, ny), dhv(nx, ny))
    ! Fluxes of momentum; those of mass are hu and hv.
    fxx(:, :) = s%hu**2 / s%h + 0.5_wp * gravity * s%h**2
    fxy(:, :) = s%hu * s%hv / s%h
    fyy(:, :) = s%hv**2 / s%h + 0.5_wp * gravity * s%h**2
    do y = 1, ny
      do x = 1, nx
        dh(x, y) = -(s%hu(x + 1, y) - s%hu(x - 1, y)) / (2 * dx) - (s%hv(x, y + 1) - s%hv(x, y - 1)) / (2 * dy)
        dhu(x, y) = -(fxx(x + 1, y) - fxx(x - 1, y)) / (2 * dx) - (fxy(x, y + 1) - fxy(x, y - 1)) / (2 * dy) &
            + coriolis * s%hv(x, y) + viscosity * laplacian(s%hu, x, y)
        dhv(x, y) = -(fxy(x + 1, y) - fxy(x - 1, y)) / (2 * dx) - (fyy(x, y + 1) - fyy(x, y - 1)) / (2 * dy) &
            - coriolis * s%hu(x, y) + viscosity * laplacian(s%hv, x, y)
      end do
    end do
    s%h(1:nx, 1:ny) = a * q%h(1:nx, 1:ny) + b * (s%h(1:nx, 1:ny) + dt * dh)
    s%hu(1:nx, 1:ny) = a * q%hu(1:nx, 1:ny) + b * (s%hu(1:nx, 1:ny) + dt * dhu)
    s%hv(1:nx, 1:ny) = a * q%hv(1:nx, 1:ny) + b * (s%hv(1:nx, 1:ny) + dt * dhv)
    call fill_ghosts(s%h)
    call fill_ghosts(s%hu)
    call fill_ghosts(s%hv)
  end subroutine add_tendency

  pure real(wp) function laplacian(a, x, y)
    real(wp), intent(in) :: a(0:, 0:)
    integer, intent(in) :: x, y
    laplacian = (a(x + 1, y) - 2 * a(x, y) + a(x - 1, y)) / dx**2 + (a(x, y + 1) - 2 * a(x, y) + a(x, y - 1)) / dy**2
  end function laplacian
end program shallow_water
