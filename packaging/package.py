# For Spack. From a checkout: spack repo create mine; copy this file to packages/tabane/ there;
# spack dev-build tabane@0.1.0
from spack.package import *


class Tabane(CMakePackage):
    """Measures and tunes parallel machines and the programs that run on them."""

    license("MIT")
    version("0.1.0")

    variant("mpi", default=True, description="MPI of Spack, not one of the system")
    variant("opencl", default=False, description="Coprocessors")
    variant("figures", default=True, description="Reports with drawings")
    variant("tests", default=False, description="Build the tests")

    generator("ninja")
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("hwloc@2:")
    depends_on("highway")
    depends_on("fmt@9:")
    depends_on("xxhash")
    depends_on("openssl@3:")
    # One with threads of its own starts them before teams can fork.
    depends_on("openblas threads=none")
    depends_on("libpng")
    depends_on("libzip")
    depends_on("pugixml")
    depends_on("libdeflate")
    depends_on("zlib-api")
    depends_on("gmp")
    depends_on("mpfr")
    depends_on("mpi", when="+mpi")
    depends_on("opencl", when="+opencl")
    depends_on("opencl-clhpp", when="+opencl")
    depends_on("gnuplot", type="run", when="+figures")
    depends_on("googletest", type="build", when="+tests")
    conflicts("%gcc@:11")
    conflicts("%clang@:13")

    def cmake_args(self):
        return [
            self.define_from_variant("TABANE_TESTS", "tests"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_OpenCL", "~opencl" in self.spec),
        ]
