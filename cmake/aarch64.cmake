# For aarch64 on any processor: Debian's compiler, the sysroot of cmake/aarch64_sysroot.sh, and
# QEMU, which runs the tests. QEMU_CPU in the environment says what it is: max,sve256=on.
get_filename_component(sysroot ${CMAKE_CURRENT_LIST_DIR}/../build-aarch64/sysroot ABSOLUTE)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT ${sysroot})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${sysroot})
set(ENV{PKG_CONFIG_LIBDIR}
    ${sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${sysroot}/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${sysroot})

# Tests that QEMU cannot run. It says that posix_spawn started what is not there, lets what madvise
# wants stay undone, has shorter cache lines than the files of the system say, and takes long: for
# what an idle rank may take, and for ChooseShape. Its own memory counts as that of a rank. It lets
# a load overtake a store on x86-64 where both are seq_cst (STLR, LDAR): a window's test sees that.
# It starts threads above RLIMIT_NPROC.
set(TABANE_LEFT_OUT HelperProcess.ThatCannotBeStartedIsNamed LockedMemory.Holds*
    CacheLineBytes.AreThoseOfTheFirstCache ChooseShape.IsWithin* ChooseShape.NineOfTen*
    Wait.AnIdleRank* SimulatedMachine.ForgetsMessagesThatHaveArrived
    Window.IsUsedByNobody* HiddenNames.*WhereTheSystemStartsFewerThreads)
