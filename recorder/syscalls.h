/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls without libc: no errno, no cancellation point, no hook, nothing that a program can
 * replace.
 *
 * All return what the kernel returns: -errno on failure.
 */
#ifndef WCPROF_SYSCALLS_H
#define WCPROF_SYSCALLS_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#ifndef __x86_64__
#error "syscalls.h knows x86-64 only"
#endif

static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Of this process, or another one; false where a load would fault. */
static inline bool sys_read_memory(uint32_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = { to, bytes };
	struct iovec remote = { (void *)(uintptr_t)address, bytes };

	return sys_call(SYS_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1, 0) ==
	       (long)bytes;
}

#define SYS3(name, a, b, c) sys_call(SYS_##name, (long)(a), (long)(b), (long)(c), 0, 0, 0)

static inline int sys_open(const char *path, int flags, int mode)
{
	return (int)SYS3(open, path, flags, mode);
}
static inline int sys_close(int fd)
{
	return (int)SYS3(close, fd, 0, 0);
}
static inline int sys_clock_time(int clock, struct timespec *now)
{
	return (int)SYS3(clock_gettime, clock, now, 0);
}
static inline long sys_read(int fd, void *to, size_t bytes)
{
	return SYS3(read, fd, to, bytes);
}
static inline long sys_pread(int fd, void *to, size_t bytes, uint64_t offset)
{
	return sys_call(SYS_pread64, fd, (long)to, (long)bytes, (long)offset, 0, 0);
}
static inline long sys_write(int fd, const void *from, size_t bytes)
{
	return SYS3(write, fd, from, bytes);
}
static inline int sys_ftruncate(int fd, uint64_t bytes)
{
	return (int)SYS3(ftruncate, fd, bytes, 0);
}
static inline int sys_unlink(const char *path)
{
	return (int)SYS3(unlink, path, 0, 0);
}
static inline int sys_mkdir(const char *path, int mode)
{
	return (int)SYS3(mkdir, path, mode, 0);
}
static inline int sys_lstat(const char *path, struct stat *out)
{
	return (int)SYS3(lstat, path, out, 0);
}
static inline int sys_fstat(int fd, struct stat *out)
{
	return (int)SYS3(fstat, fd, out, 0);
}
static inline long sys_readlink(const char *path, char *to, size_t bytes)
{
	return SYS3(readlink, path, to, bytes);
}

/*
 * No handler of the program comes in between the two: it may call us, or jump away. One signal
 * stays open, by which setuid() reaches all threads (glibc's 33). It waits for each, with a lock of
 * libc's that may be wanted here, and its handler calls nothing of ours.
 */
static inline uint64_t sys_block_signals(void)
{
	const uint64_t all = ~(UINT64_C(1) << 32);
	uint64_t before = 0;

	sys_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, sizeof(all), 0, 0);
	return before;
}
static inline void sys_restore_signals(uint64_t before)
{
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before), 0, 0);
}

/* As getdents64() writes them. */
struct directory_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};
static inline long sys_getdents(int fd, void *to, size_t bytes)
{
	return SYS3(getdents64, fd, to, bytes);
}

static inline int sys_getpid(void)
{
	return (int)SYS3(getpid, 0, 0, 0);
}
static inline int sys_getppid(void)
{
	return (int)SYS3(getppid, 0, 0, 0);
}
static inline int sys_gettid(void)
{
	return (int)SYS3(gettid, 0, 0, 0);
}
static inline int sys_geteuid(void)
{
	return (int)SYS3(geteuid, 0, 0, 0);
}
static inline int sys_tgkill(int pid, int tid, int sig)
{
	return (int)SYS3(tgkill, pid, tid, sig);
}

static inline void *sys_mmap(void *at, size_t bytes, int protection, int flags, int fd)
{
	return (void *)sys_call(SYS_mmap, (long)at, (long)bytes, protection, flags, fd, 0);
}
static inline int sys_munmap(void *at, size_t bytes)
{
	return (int)SYS3(munmap, at, bytes, 0);
}
static inline int sys_madvise(void *at, size_t bytes, int advice)
{
	return (int)SYS3(madvise, at, bytes, advice);
}
/* mmap's error values are the last page of addresses. */
static inline int sys_is_error(const void *result)
{
	return (unsigned long)result > -4096UL;
}

static inline int sys_poll(struct pollfd *fds, unsigned int count, int timeout_ms)
{
	return (int)SYS3(poll, fds, count, timeout_ms);
}
static inline void sys_pause_ns(long wait_ns)
{
	struct timespec wait = { 0, wait_ns };
	sys_call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&wait, 0, 0, 0);
}
static inline void sys_yield(void)
{
	SYS3(sched_yield, 0, 0, 0);
}

static inline int sys_socket(int domain, int type)
{
	return (int)SYS3(socket, domain, type, 0);
}
static inline int sys_bind(int fd, const void *address, size_t bytes)
{
	return (int)SYS3(bind, fd, address, bytes);
}
static inline int sys_connect(int fd, const void *address, size_t bytes)
{
	return (int)SYS3(connect, fd, address, bytes);
}
static inline int sys_listen(int fd, int backlog)
{
	return (int)SYS3(listen, fd, backlog, 0);
}
static inline int sys_accept(int fd, int flags)
{
	return (int)sys_call(SYS_accept4, fd, 0, 0, flags, 0, 0);
}
static inline int sys_shutdown(int fd, int how)
{
	return (int)SYS3(shutdown, fd, how, 0);
}
static inline long sys_send(int fd, const void *from, size_t bytes, int flags)
{
	return sys_call(SYS_sendto, fd, (long)from, (long)bytes, flags, 0, 0);
}
static inline long sys_recv(int fd, void *to, size_t bytes, int flags)
{
	return sys_call(SYS_recvfrom, fd, (long)to, (long)bytes, flags, 0, 0);
}
static inline int sys_getsockopt(int fd, int level, int option, void *to, socklen_t *bytes)
{
	return (int)sys_call(SYS_getsockopt, fd, level, option, (long)to, (long)bytes, 0);
}
static inline int sys_ioctl(int fd, unsigned long request, void *argument)
{
	return (int)SYS3(ioctl, fd, request, argument);
}

#endif
