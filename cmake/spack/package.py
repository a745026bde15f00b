# Draft of a Spack recipe: put it into a repository of your own as packages/factz/package.py, with the address
# of the release and its checksum (`spack checksum factz`), then `spack install factz` or `spack install factz
# +cuda cuda_arch=90`.
from spack.package import *


class Factz(CMakePackage, CudaPackage):
    """Error-bounded compression of 2D vector fields that keeps every critical point."""

    license("MIT OR Apache-2.0")

    version("main", branch="main")

    variant("fortran", default=False, description="See that the Fortran module compiles with this compiler")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.86:", type="build")
    depends_on("cmake@3.20:", type="build")
    # nvcc compiles the kernels, which the library carries; at run time it needs the driver alone.
    depends_on("cuda@13:", type="build", when="+cuda")

    # A cdylib is no cargo-installable crate, so CMake drives cargo and installs.
    root_cmakelists_dir = "cmake"

    def cmake_args(self):
        args = [
            self.define("FACTZ_CUDA", self.spec.satisfies("+cuda")),
            self.define("FACTZ_INSTALL", True),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("FACTZ_NVCC", self.spec["cuda"].prefix.bin.nvcc))
        if self.spec.satisfies("+cuda") and "none" not in self.spec.variants["cuda_arch"].value:
            args.append(self.define("FACTZ_CUDA_ARCHS", ",".join(self.spec.variants["cuda_arch"].value)))
        return args

    @run_after("install")
    @when("+fortran")
    def check_module(self):
        with working_dir(self.build_directory):
            Executable(self.compiler.fc)("-c", join_path(self.prefix.include, "factz.f90"))
