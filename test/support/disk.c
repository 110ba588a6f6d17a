#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Stands between a program and its syncs; what it does is in the environment:
 *
 * DISK_HOME      only files below this folder are looked at; without it all are
 * DISK_DELAY_MS  each sync takes so much longer, or only those of a path that ends in DISK_DELAY_ON
 * DISK_RANDOM    the delay is a random part of that
 * DISK_LOG       each sync is a line of this file: `main` or `thread`, microseconds (monotonic) of its start and end, path
 * DISK_SHADOW    folder for what is durable: of each file its bytes as its last sync began, of each folder its names. The
 *                disk itself is not asked, since nothing takes its power away
 * DISK_FAIL      while this file exists, the next sync of a file whose path ends in DISK_FAIL_ON fails with EIO, once
 */
static const char *home, *log_path, *shadow, *fail, *fail_on, *delay_on;
static int delay_ms, is_random;
static __thread unsigned seed;

__attribute__((constructor)) static void read_environment(void) {
  home = getenv("DISK_HOME");
  log_path = getenv("DISK_LOG");
  shadow = getenv("DISK_SHADOW");
  fail = getenv("DISK_FAIL");
  fail_on = getenv("DISK_FAIL_ON");
  delay_on = getenv("DISK_DELAY_ON");
  const char *ms = getenv("DISK_DELAY_MS");
  delay_ms = ms ? atoi(ms) : 0;
  is_random = getenv("DISK_RANDOM") != NULL;
}

static long long microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* Inodes are used again: with the time of birth it is one file for good. */
static int identify(int folder, const char *path, int flags, char *id, size_t size, int *is_folder) {
  struct statx about;
  if (statx(folder, path, flags, STATX_INO | STATX_BTIME | STATX_TYPE, &about) != 0) return -1;
  snprintf(id, size, "%llu-%lld", (unsigned long long)about.stx_ino,
           about.stx_btime.tv_sec * 1000000000LL + about.stx_btime.tv_nsec);
  *is_folder = S_ISDIR(about.stx_mode);
  return 0;
}

static int write_all(int to, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t done = write(to, bytes, length);
    if (done <= 0) return -1;
    bytes += done;
    length -= done;
  }
  return 0;
}

static void keep_names(const char *path, int to) {
  DIR *folder = opendir(path);
  if (folder == NULL) return;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char id[64], line[400];
    int is_folder;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (identify(dirfd(folder), entry->d_name, AT_SYMLINK_NOFOLLOW, id, sizeof id, &is_folder) != 0) continue;
    int length = snprintf(line, sizeof line, "%s\t%s\n", id, entry->d_name);
    write_all(to, line, length);
  }
  closedir(folder);
}

static void keep_bytes(int fd, int to) {
  static __thread char block[1 << 16];
  int from = fd;
  char own[64];
  snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
  /* SQLite's files are open for reading too: closing another descriptor of one would drop SQLite's locks. */
  if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) from = open(own, O_RDONLY | O_CLOEXEC);
  for (off_t at = 0;;) {
    ssize_t length = pread(from, block, sizeof block, at);
    if (length <= 0 || write_all(to, block, length) != 0) break;
    at += length;
  }
  if (from != fd) close(from);
}

static int ends_in(const char *path, const char *end) {
  size_t length = strlen(path), tail = end == NULL ? 0 : strlen(end);
  return length >= tail && strcmp(path + length - tail, end == NULL ? "" : end) == 0;
}

static int through(int fd, int (*real)(int)) {
  char own[64], path[4096];
  snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(own, path, sizeof path - 1);
  if (length < 0) return real(fd);
  path[length] = 0;
  if (home != NULL && strncmp(path, home, strlen(home)) != 0) return real(fd);
  long long began = microseconds();
  char id[64], partial[4200] = "", kept[4200];
  int is_folder = 0;
  if (shadow != NULL && identify(fd, "", AT_EMPTY_PATH, id, sizeof id, &is_folder) == 0) {
    snprintf(kept, sizeof kept, "%s/%s", shadow, id);
    snprintf(partial, sizeof partial, "%s/%s.%ld.tmp", shadow, id, syscall(SYS_gettid));
    int to = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (is_folder) keep_names(path, to);
    else keep_bytes(fd, to);
    close(to);
  }
  if (delay_ms > 0 && ends_in(path, delay_on)) {
    if (seed == 0) seed = (unsigned)began ^ (unsigned)syscall(SYS_gettid);
    long us = is_random ? rand_r(&seed) % (delay_ms * 1000L) : delay_ms * 1000L;
    struct timespec wait = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&wait, NULL);
  }
  int result = 0;
  if (fail != NULL && ends_in(path, fail_on) && unlink(fail) == 0) {
    errno = EIO;
    result = -1;
  } else if (shadow == NULL) {
    result = real(fd);
  } else if (partial[0] != 0) {
    rename(partial, kept);
  }
  int error = errno;
  if (log_path != NULL) {
    char line[4300];
    int to = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int size = snprintf(line, sizeof line, "%s %lld %lld %s\n", syscall(SYS_gettid) == getpid() ? "main" : "thread",
                        began, microseconds(), path);
    write_all(to, line, size);
    close(to);
  }
  errno = error;
  return result;
}

int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fsync");
  return through(fd, real);
}

int fdatasync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
  return through(fd, real);
}
