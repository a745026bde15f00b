from pathlib import Path

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:  # before Spack 1.0 they are part of spack.package
    pass
from spack.package import *


class Factz(CMakePackage, CudaPackage):
    """Error-bounded compression of 2D and 3D vector fields that keeps every critical point."""

    # The clone that this recipe lies in. A recipe elsewhere names the address of the sources.
    git = Path(__file__).resolve().parents[4].as_uri()

    license("MIT OR Apache-2.0")

    version("main", branch="main")

    variant("hdf5", default=True, description="The HDF5 filter plugin")
    variant("adios2", default=False, description="The operator plugin of ADIOS2")
    variant("fortran", default=False, description="See that the Fortran module compiles with this compiler")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.86:", type="build")
    depends_on("cmake@3.20:", type="build")
    # nvcc compiles the kernels, which the library carries; at run time it needs the driver alone.
    depends_on("cuda@13:", type="build", when="+cuda")
    # The plugin is compiled with the headers of ADIOS2, which loads it.
    depends_on("adios2@2.12:", type="build", when="+adios2")

    # A cdylib is no crate that cargo installs: CMake drives cargo, and installs.
    root_cmakelists_dir = "cmake"

    def cmake_args(self):
        args = [
            self.define("CMAKE_INSTALL_LIBDIR", "lib"),
            self.define_from_variant("FACTZ_CUDA", "cuda"),
            self.define_from_variant("FACTZ_HDF5", "hdf5"),
            self.define_from_variant("FACTZ_ADIOS2", "adios2"),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("FACTZ_NVCC", self.spec["cuda"].prefix.bin.nvcc))
            archs = self.spec.variants["cuda_arch"].value
            args.append(self.define("FACTZ_CUDA_ARCHS", "all" if "none" in archs else ",".join(archs)))
        return args

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.lib.python3.join("site-packages"))
        if self.spec.satisfies("+hdf5"):
            env.prepend_path("HDF5_PLUGIN_PATH", self.prefix.lib.hdf5.plugin)
        if self.spec.satisfies("+adios2"):
            env.prepend_path("ADIOS2_PLUGIN_PATH", self.prefix.lib.adios2.plugin)

    @run_after("install")
    @when("+fortran")
    def check_module(self):
        with working_dir(self.build_directory):
            Executable(self.compiler.fc)("-c", join_path(self.prefix.include, "factz.f90"))

    def test_demo(self):
        """compress a field of wind, decompress it and verify its critical points"""
        Executable(self.prefix.bin.factz)("demo")
