/* What a system does only at times, for a program that is started with LD_PRELOAD.
 *
 * BURNFORMER_PLACE is a folder. A read or a write on its files transfers at most BURNFORMER_MOST
 * bytes. After BURNFORMER_WRITES writes on its files, no more memory is given. The file
 * BURNFORMER_MARK is made when one of these happens for the first time. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static const char *place;
static const char *mark;
static size_t most = SIZE_MAX;
static long writes = LONG_MAX;
static atomic_long written;
static atomic_int is_marked;

__attribute__((constructor)) static void start(void) {
    const char *text = getenv("BURNFORMER_MOST");
    if (text != NULL)
        most = strtoull(text, NULL, 10);
    text = getenv("BURNFORMER_WRITES");
    if (text != NULL)
        writes = strtol(text, NULL, 10);
    mark = getenv("BURNFORMER_MARK");
    place = getenv("BURNFORMER_PLACE");
}

static void happened(void) {
    if (mark != NULL && atomic_exchange(&is_marked, 1) == 0)
        syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0600));
}

static int is_in_place(int file) {
    char name[32];
    char path[PATH_MAX];
    if (place == NULL)
        return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    size_t length = strlen(place);
    return readlink(name, path, sizeof path) > (ssize_t)length && memcmp(path, place, length) == 0;
}

static size_t share(int file, size_t bytes) {
    if (bytes <= most || !is_in_place(file))
        return bytes;
    happened();
    return most;
}

static size_t share_of_write(int file, size_t bytes) {
    if (writes != LONG_MAX && is_in_place(file))
        written++;
    return share(file, bytes);
}

ssize_t read(int file, void *bytes, size_t count) {
    return syscall(SYS_read, file, bytes, share(file, count));
}

ssize_t pread64(int file, void *bytes, size_t count, off64_t offset) {
    return syscall(SYS_pread64, file, bytes, share(file, count), offset);
}

/* The first part that is not empty; NULL if all are to be transferred at once. */
static const struct iovec *single(int file, const struct iovec *parts, int count) {
    if (most == SIZE_MAX || !is_in_place(file))
        return NULL;
    for (int part = 0; part < count; part++)
        if (parts[part].iov_len > 0)
            return &parts[part];
    return NULL;
}

ssize_t readv(int file, const struct iovec *parts, int count) {
    const struct iovec *part = single(file, parts, count);
    if (part == NULL)
        return syscall(SYS_readv, file, parts, count);
    return read(file, part->iov_base, part->iov_len);
}

ssize_t write(int file, const void *bytes, size_t count) {
    return syscall(SYS_write, file, bytes, share_of_write(file, count));
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    return syscall(SYS_pwrite64, file, bytes, share_of_write(file, count), offset);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    const struct iovec *part = single(file, parts, count);
    if (part == NULL)
        return syscall(SYS_writev, file, parts, count);
    return write(file, part->iov_base, part->iov_len);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *to_at, size_t count,
                        unsigned flags) {
    return syscall(SYS_copy_file_range, from, at, to, to_at, share_of_write(to, count), flags);
}

static int is_without_memory(void) {
    if (written < writes)
        return 0;
    happened();
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) {
    return is_without_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return is_without_memory() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    return is_without_memory() ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return is_without_memory() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (is_without_memory())
        return ENOMEM;
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}
