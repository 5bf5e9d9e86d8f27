// Linked into what the tarball holds, in the place of two functions that glibc 2.35 and GCC 12's
// libstdc++ gave a new version: these call the old ones, which older systems have, too.
// See make.sh.
#ifdef __aarch64__
#define OLDEST_GLIBC "GLIBC_2.17"
#else
#define OLDEST_GLIBC "GLIBC_2.2.5"
#endif
extern "C" {

__asm__(".symver tabane_old_hypot, hypot@" OLDEST_GLIBC);
double tabane_old_hypot(double x, double y);
double __wrap_hypot(double x, double y) { return tabane_old_hypot(x, y); }

// std::condition_variable::wait(std::unique_lock<std::mutex>&); the new one differs in noexcept.
__asm__(
    ".symver tabane_old_wait, "
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
void tabane_old_wait(void* variable, void* lock);
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(void* variable, void* lock) {
  tabane_old_wait(variable, lock);
}
}
