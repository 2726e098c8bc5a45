// Preloaded into a crawl: counts its changes to files below FAULT_DIR, and lets change number FAULT_AT
// fail with the error FAULT_ERRNO; with FAULT_LASTS all later ones too, but for removals. FAULT_COUNT names a
// file that gets the number of changes so far. FAULT_CONTROL names a file to which orders are written, none
// of which reaches it:
//   fail N ERRNO MODE   change number N from now fails; mode 1: all later ones too; 2: removals as well
//   work                nothing fails
//   log 0|1             changes are not logged, or are
//   lie 0|1             syncs are not logged though they succeed, or are
// FAULT_LOG names a file that gets every change that was made, and what was written to standard output:
// kind u8, lengths of path, second path and data u32, offset u64, path, second path, data. Kinds: C create,
// W write, L set the length, S sync, R rename, U unlink, D make a directory, X remove one, M output.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long count;

#define REAL(name)                                                          \
  ({                                                                        \
    static __typeof__(&name) real;                                          \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);           \
    real;                                                                   \
  })

static int is_ours(const char *path) {
  const char *dir = getenv("FAULT_DIR");
  size_t length = dir ? strlen(dir) : 0;
  return dir && path && strncmp(path, dir, length) == 0 && (path[length] == '/' || !path[length]);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Paths of open files, so that not every write has to ask the system. A rename forgets them all.
static char *paths[4096];

static void forget_paths(void) {
  for (int fd = 0; fd < 4096; fd++) {
    free(paths[fd]);
    paths[fd] = NULL;
  }
}

static void keep_path(int fd, const char *path) {
  if (fd < 0 || fd >= 4096 || strstr(path, "/.tmp")) return;
  free(paths[fd]);
  paths[fd] = strdup(path);
}

static void path_of(int fd, char *path) {
  if (fd >= 0 && fd < 4096 && paths[fd]) {
    strcpy(path, paths[fd]);
    return;
  }
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = 0;
}

static void all(int fd, const void *from, size_t length) {
  if (length && REAL(write)(fd, from, length) != (ssize_t)length) abort();
}

static void note(char kind, const char *path, const char *second, uint64_t at, const void *data,
                 size_t length) {
  static int fd = -1;
  if (fd < 0) fd = REAL(open)(getenv("FAULT_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  uint32_t lengths[3] = {strlen(path), strlen(second), length};
  char head[21 + 4 * PATH_MAX];
  size_t end = 21;
  head[0] = kind;
  memcpy(head + 1, lengths, sizeof lengths);
  memcpy(head + 13, &at, sizeof at);
  memcpy(head + end, path, lengths[0]);
  memcpy(head + (end += lengths[0]), second, lengths[1]);
  all(fd, head, end + lengths[1]);
  all(fd, data, length);
}

// Temporary files that are renamed by system calls which no library sees. What became of one is noted
// before the next change.
static struct { char path[PATH_MAX]; ino_t inode; } temporary[64];
static int temporaries;

static void note_renames(void) {
  for (int one = 0; one < temporaries; one++) {
    char *path = temporary[one].path, to[2 * PATH_MAX] = "";
    struct stat found;
    if (stat(path, &found) == 0) continue;
    int length = strrchr(path, '/') - path;
    snprintf(to, sizeof to, "%.*s", length, path);
    DIR *dir = opendir(to);
    struct dirent *entry = NULL;
    while (dir && (entry = readdir(dir)) && entry->d_ino != temporary[one].inode) {}
    if (entry) snprintf(to, sizeof to, "%.*s/%s", length, path, entry->d_name);
    note(entry ? 'R' : 'U', path, entry ? to : "", 0, NULL, 0);
    if (dir) closedir(dir);
    temporary[one--] = temporary[--temporaries];
  }
}

static void watch_temporary(const char *path, int fd) {
  struct stat found;
  const char *name = strrchr(path, '/');
  if (!name || strncmp(name, "/.tmp", 5) != 0 || fstat(fd, &found) != 0) return;
  if (temporaries == 64) abort();
  snprintf(temporary[temporaries].path, PATH_MAX, "%s", path);
  temporary[temporaries++].inode = found.st_ino;
}

static long armed_at;
static int armed_error, armed_mode, is_muted, lies;

static int is_logged(void) { return !is_muted && getenv("FAULT_LOG") != NULL; }

static int is_control(const char *path) {
  const char *control = getenv("FAULT_CONTROL");
  return control && strcmp(path, control) == 0;
}

static void obey(const char *order, size_t length) {
  char text[128] = "";
  long number = 0;
  memcpy(text, order, length < sizeof text ? length : sizeof text - 1);
  if (sscanf(text, "fail %ld %d %d", &number, &armed_error, &armed_mode) == 3)
    armed_at = __atomic_load_n(&count, __ATOMIC_SEQ_CST) + number;
  else if (strncmp(text, "work", 4) == 0)
    armed_error = armed_mode = 0;
  else if (sscanf(text, "log %ld", &number) == 1)
    is_muted = !number;
  else if (sscanf(text, "lie %ld", &number) == 1)
    lies = number;
  else
    abort();
}

// Whether nothing can be removed either.
static int is_dead(void) {
  int dead = armed_error && armed_mode == 2 && __atomic_load_n(&count, __ATOMIC_SEQ_CST) >= armed_at;
  if (dead) errno = armed_error;
  return dead;
}

// Whether the change that comes now fails.
static int fails(void) {
  const char *at = getenv("FAULT_AT"), *error = getenv("FAULT_ERRNO"), *to = getenv("FAULT_COUNT");
  long now = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
  if (to) {
    char text[32];
    int length = snprintf(text, sizeof text, "%020ld\n", now);
    int fd = REAL(open)(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
      if (REAL(pwrite)(fd, text, length, 0) < 0) abort();
      REAL(close)(fd);
    }
  }
  if (armed_error && now >= armed_at && (now == armed_at || armed_mode)) {
    errno = armed_error;
    return 1;
  }
  if (!at || !error || now < atol(at)) return 0;
  if (now > atol(at) && !getenv("FAULT_LASTS")) return 0;
  errno = atoi(error);
  return 1;
}

// Before a change and after it: one change at a time, so that the log has their order.
static void enter(void) {
  pthread_mutex_lock(&lock);
  if (is_logged()) note_renames();
}

static void leave(void) {
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
}

static void note_if(int is_done, char kind, const char *path, const char *second, uint64_t at,
                    const void *data, size_t length) {
  int error = errno;
  if (is_done && is_logged()) note(kind, path, second, at, data, length);
  errno = error;
}

static ssize_t put_now(int fd, const void *from, size_t length, off64_t at, int is_at) {
  char path[PATH_MAX];
  path_of(fd, path);
  if (is_control(path)) {
    obey(from, length);
    return length;
  }
  int is_output = fd == 1 && is_logged();
  if (!is_output && is_ours(path) && fails()) return -1;
  off64_t place = at;
  if (!is_at && !is_output) place = lseek64(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
  ssize_t done = is_at ? REAL(pwrite64)(fd, from, length, at) : REAL(write)(fd, from, length);
  if (is_output) note_if(done > 0, 'M', "", "", 0, from, done);
  else note_if(done > 0 && is_ours(path), 'W', path, "", place, from, done);
  return done;
}

static ssize_t put(int fd, const void *from, size_t length, off64_t at, int is_at) {
  enter();
  ssize_t done = put_now(fd, from, length, at, is_at);
  leave();
  return done;
}

ssize_t write(int fd, const void *from, size_t length) { return put(fd, from, length, 0, 0); }

// Writing less than all is allowed.
ssize_t writev(int fd, const struct iovec *from, int parts) {
  for (int part = 0; part < parts; part++)
    if (from[part].iov_len) return put(fd, from[part].iov_base, from[part].iov_len, 0, 0);
  return 0;
}

ssize_t pwrite(int fd, const void *from, size_t length, off_t at) { return put(fd, from, length, at, 1); }

ssize_t pwrite64(int fd, const void *from, size_t length, off64_t at) {
  return put(fd, from, length, at, 1);
}

// Nothing is really synced: the machine does not fail, and the disk need not be waited for.
static int sync_with(int fd, int (*real)(int)) {
  char path[PATH_MAX];
  enter();
  path_of(fd, path);
  int done = !is_ours(path) ? real(fd) : fails() ? -1 : 0;
  note_if(done == 0 && is_ours(path) && !lies, 'S', path, "", 0, NULL, 0);
  leave();
  return done;
}

int fsync(int fd) { return sync_with(fd, REAL(fsync)); }

int fdatasync(int fd) { return sync_with(fd, REAL(fdatasync)); }

int ftruncate64(int fd, off64_t length) {
  char path[PATH_MAX];
  enter();
  path_of(fd, path);
  int done = is_ours(path) && fails() ? -1 : REAL(ftruncate64)(fd, length);
  note_if(done == 0 && is_ours(path), 'L', path, "", length, NULL, 0);
  leave();
  return done;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int rename(const char *from, const char *to) {
  enter();
  int done = is_ours(to) && fails() ? -1 : REAL(rename)(from, to);
  note_if(done == 0 && is_ours(to), 'R', from, to, 0, NULL, 0);
  forget_paths();
  leave();
  return done;
}

int mkdir(const char *path, mode_t mode) {
  enter();
  int done = is_ours(path) && fails() ? -1 : REAL(mkdir)(path, mode);
  note_if(done == 0 && is_ours(path), 'D', path, "", 0, NULL, 0);
  leave();
  return done;
}

// Removals do not fail: they need no room, and what they leave behind is seen by the kills.
int unlink(const char *path) {
  enter();
  int done = is_ours(path) && is_dead() ? -1 : REAL(unlink)(path);
  note_if(done == 0 && is_ours(path), 'U', path, "", 0, NULL, 0);
  leave();
  return done;
}

int rmdir(const char *path) {
  enter();
  int done = is_ours(path) && is_dead() ? -1 : REAL(rmdir)(path);
  note_if(done == 0 && is_ours(path), 'X', path, "", 0, NULL, 0);
  leave();
  return done;
}

int unlinkat(int fd, const char *name, int flags) {
  char path[PATH_MAX] = "", whole[2 * PATH_MAX];
  enter();
  if (fd != AT_FDCWD) path_of(fd, path);
  snprintf(whole, sizeof whole, "%s%s%s", path, *path ? "/" : "", name);
  int done = is_ours(whole) && is_dead() ? -1 : REAL(unlinkat)(fd, name, flags);
  note_if(done == 0 && is_ours(whole), flags & AT_REMOVEDIR ? 'X' : 'U', whole, "", 0, NULL, 0);
  leave();
  return done;
}

static int open_now(const char *path, int flags, mode_t mode) {
  struct stat found;
  if (!is_ours(path)) return REAL(open64)(path, flags, mode);
  int is_new = (flags & O_CREAT) && stat(path, &found) != 0;
  if (is_new && fails()) return -1;
  int fd = REAL(open64)(path, flags, mode);
  note_if(fd >= 0 && (is_new || (flags & O_TRUNC)), is_new ? 'C' : 'L', path, "", 0, NULL, 0);
  if (is_new && fd >= 0 && is_logged()) watch_temporary(path, fd);
  if (fd >= 0 && (flags & O_ACCMODE) != O_RDONLY) keep_path(fd, path);
  return fd;
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  enter();
  int fd = open_now(path, flags, mode);
  leave();
  return fd;
}

int close(int fd) {
  enter();
  if (fd >= 0 && fd < 4096) {
    free(paths[fd]);
    paths[fd] = NULL;
  }
  int done = REAL(close)(fd);
  leave();
  return done;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open64(path, flags, mode);
}
