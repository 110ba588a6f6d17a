#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * A file system that turns read-only under a running program, as the kernel does after an error of the disk: while the
 * file DISK_READ_ONLY exists, whatever changes something below DISK_HOME fails with EROFS, also through descriptors that
 * were opened for writing before. What was written before stays and can be synced.
 */
static const char *home, *trigger;

__attribute__((constructor)) static void read_environment(void) {
  home = getenv("DISK_HOME");
  trigger = getenv("DISK_READ_ONLY");
}

static int is_read_only(const char *path) {
  if (home == NULL || trigger == NULL || path == NULL) return 0;
  if (strncmp(path, home, strlen(home)) != 0 || access(trigger, F_OK) != 0) return 0;
  errno = EROFS;
  return 1;
}

static int is_read_only_file(int fd) {
  if (home == NULL || trigger == NULL || access(trigger, F_OK) != 0) return 0;
  char own[64], path[4096];
  int error = errno;
  snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(own, path, sizeof path - 1);
  errno = error;
  if (length < 0) return 0;
  path[length] = 0;
  return is_read_only(path);
}

#define UNLESS(refused, type, name, parameters, arguments)   \
  type name parameters {                                      \
    static type(*real) parameters;                            \
    if (real == NULL) real = dlsym(RTLD_NEXT, #name);         \
    return refused ? -1 : real arguments;                     \
  }

#define FILE_UNLESS(type, name, parameters, arguments) UNLESS(is_read_only_file(fd), type, name, parameters, arguments)
#define PATH_UNLESS(name, parameters, arguments) UNLESS(is_read_only(path), int, name, parameters, arguments)

FILE_UNLESS(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
FILE_UNLESS(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
FILE_UNLESS(ssize_t, pwrite64, (int fd, const void *bytes, size_t size, off64_t at), (fd, bytes, size, at))
FILE_UNLESS(ssize_t, writev, (int fd, const struct iovec *pieces, int count), (fd, pieces, count))
FILE_UNLESS(ssize_t, pwritev, (int fd, const struct iovec *pieces, int count, off_t at), (fd, pieces, count, at))
FILE_UNLESS(ssize_t, pwritev64, (int fd, const struct iovec *pieces, int count, off64_t at), (fd, pieces, count, at))
FILE_UNLESS(int, ftruncate, (int fd, off_t size), (fd, size))
FILE_UNLESS(int, ftruncate64, (int fd, off64_t size), (fd, size))
FILE_UNLESS(int, fchmod, (int fd, mode_t mode), (fd, mode))
PATH_UNLESS(mkdir, (const char *path, mode_t mode), (path, mode))
PATH_UNLESS(rmdir, (const char *path), (path))
PATH_UNLESS(unlink, (const char *path), (path))
PATH_UNLESS(chmod, (const char *path, mode_t mode), (path, mode))
PATH_UNLESS(rename, (const char *path, const char *to), (path, to))
PATH_UNLESS(utimensat, (int folder, const char *path, const struct timespec times[2], int flags), (folder, path, times, flags))

static int is_refused(const char *path, int flags) {
  return (flags & (O_WRONLY | O_RDWR | O_TRUNC | O_CREAT)) != 0 && is_read_only(path);
}

#define OPEN(name)                                    \
  int name(const char *path, int flags, ...) {        \
    static int (*real)(const char *, int, ...);       \
    if (real == NULL) real = dlsym(RTLD_NEXT, #name); \
    va_list more;                                     \
    va_start(more, flags);                            \
    mode_t mode = va_arg(more, mode_t);               \
    va_end(more);                                     \
    return is_refused(path, flags) ? -1 : real(path, flags, mode); \
  }

OPEN(open)
OPEN(open64)
