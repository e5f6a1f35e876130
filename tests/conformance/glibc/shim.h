/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for the support library of glibc's own tests: they build against the installed libc.
 * Each header name of that library leads here, those of its test drivers to driver.h.
 * A test that needs more than this does not build, and is left out.
 */
#ifndef GLIBC_SHIM_H
#define GLIBC_SHIM_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHIM static inline __attribute__((unused))

/* The two that libc keeps for itself, and the limit of a test that sets none. */
#define SIGCANCEL       __SIGRTMIN
#define SIGSETXID       (__SIGRTMIN + 1)
#define DEFAULT_TIMEOUT 20

#define SHIM_SAY(...) (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), puts(""))

/* Failures that do not end the test; a child of the test counts here too. */
extern int *shim_failures;
extern const char *test_dir;
extern unsigned int test_verbose;

#define EXIT_UNSUPPORTED    77
#define verbose_printf(...) (test_verbose ? (void)printf(__VA_ARGS__) : (void)0)

#define SHIM_COUNT(...)           (SHIM_SAY(__VA_ARGS__), support_record_failure())
#define SHIM_DIE(status, ...)     (SHIM_SAY(__VA_ARGS__), exit(status))
#define FAIL(...)                 SHIM_COUNT(__VA_ARGS__)
#define FAIL_RET(...)             return (SHIM_COUNT(__VA_ARGS__), 1)
#define FAIL_EXIT(status, ...)    SHIM_DIE(status, __VA_ARGS__)
#define FAIL_EXIT1(...)           SHIM_DIE(1, __VA_ARGS__)
#define FAIL_UNSUPPORTED(...)     SHIM_DIE(EXIT_UNSUPPORTED, __VA_ARGS__)
#define TEST_VERIFY(is_true)      ((is_true) ? (void)0 : SHIM_COUNT("not true: %s", #is_true))
#define TEST_VERIFY_EXIT(is_true) ((is_true) ? (void)0 : FAIL_EXIT1("not true: %s", #is_true))
#define TEST_COMPARE(left, right)                                                                 \
	({                                                                                        \
		__typeof__(+(left)) shim_left = (left);                                           \
		__typeof__(+(right)) shim_right = (right);                                        \
		if (shim_left != shim_right)                                                      \
			SHIM_COUNT("%s is %lld, %s is %lld", #left, (long long)shim_left, #right, \
				   (long long)shim_right);                                        \
	})
#define TEST_COMPARE_STRING(left, right) TEST_VERIFY(strcmp(left, right) == 0)
#define TEST_COMPARE_BLOB(left, left_size, right, right_size) \
	TEST_VERIFY((left_size) == (right_size) && memcmp(left, right, left_size) == 0)
#define array_length(array) (sizeof(array) / sizeof((array)[0]))
#define array_end(array)    (&(array)[array_length(array)])

#define DIAG_PUSH_NEEDS_COMMENT _Pragma("GCC diagnostic push")
#define DIAG_POP_NEEDS_COMMENT  _Pragma("GCC diagnostic pop")
#define DIAG_IGNORE_NEEDS_COMMENT(version, option)
#define DIAG_IGNORE_Os_NEEDS_COMMENT(version, option)

/* Locks are elided nowhere unless asked for. */
#define TUNABLE_GET_FULL(...) 0

SHIM void support_record_failure(void)
{
	__atomic_add_fetch(shim_failures, 1, __ATOMIC_RELAXED);
}

/* Functions that return an error number, or -1; each ends the test where it fails. */
#define SHIM_CHECKED(function, parameters, arguments)                                         \
	SHIM void x##function parameters                                                      \
	{                                                                                     \
		int error = function arguments;                                               \
		if (error != 0)                                                               \
			FAIL_EXIT1("%s: %s", #function, strerror(error < 0 ? errno : error)); \
	}
#define SHIM_VALUE(type, is_wrong, function, parameters, arguments)       \
	SHIM type x##function parameters                                  \
	{                                                                 \
		type value = function arguments;                          \
		if (is_wrong)                                             \
			FAIL_EXIT1("%s: %s", #function, strerror(errno)); \
		return value;                                             \
	}
#define SHIM_OBJECT(noun, function) \
	SHIM_CHECKED(pthread_##noun##_##function, (pthread_##noun##_t * object), (object))
#define SHIM_OBJECT_INT(noun, function)                                                     \
	SHIM_CHECKED(pthread_##noun##_##function, (pthread_##noun##_t * object, int value), \
		     (object, value))
#define SHIM_INIT(noun)                                                                       \
	SHIM_CHECKED(pthread_##noun##_init,                                                   \
		     (pthread_##noun##_t * object, const pthread_##noun##attr_t *attributes), \
		     (object, attributes))

SHIM_OBJECT(attr, init)
SHIM_OBJECT(attr, destroy)
SHIM_OBJECT_INT(attr, setdetachstate)
SHIM_CHECKED(pthread_attr_setstacksize, (pthread_attr_t * a, size_t n), (a, n))
SHIM_CHECKED(pthread_attr_setguardsize, (pthread_attr_t * a, size_t n), (a, n))
SHIM_CHECKED(pthread_attr_setstack, (pthread_attr_t * a, void *s, size_t n), (a, s, n))
SHIM_CHECKED(pthread_attr_setaffinity_np, (pthread_attr_t * a, size_t n, const cpu_set_t *s),
	     (a, n, s))
SHIM_OBJECT(mutexattr, init)
SHIM_OBJECT(mutexattr, destroy)
SHIM_OBJECT_INT(mutexattr, settype)
SHIM_OBJECT_INT(mutexattr, setrobust)
SHIM_OBJECT_INT(mutexattr, setpshared)
SHIM_OBJECT_INT(mutexattr, setprotocol)
SHIM_INIT(mutex)
SHIM_OBJECT(mutex, destroy)
SHIM_OBJECT(mutex, lock)
SHIM_OBJECT(mutex, unlock)
SHIM_OBJECT(mutex, consistent)
SHIM_CHECKED(pthread_spin_lock, (pthread_spinlock_t * s), (s))
SHIM_CHECKED(pthread_spin_unlock, (pthread_spinlock_t * s), (s))
SHIM_OBJECT(cond, signal)
SHIM_CHECKED(pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
SHIM_OBJECT(rwlockattr, init)
SHIM_OBJECT_INT(rwlockattr, setkind_np)
SHIM_INIT(rwlock)
SHIM_OBJECT(rwlock, destroy)
SHIM_OBJECT(rwlock, rdlock)
SHIM_OBJECT(rwlock, wrlock)
SHIM_OBJECT(rwlock, unlock)
SHIM_OBJECT(barrierattr, init)
SHIM_OBJECT(barrierattr, destroy)
SHIM_OBJECT_INT(barrierattr, setpshared)
SHIM_OBJECT(barrier, destroy)
SHIM_CHECKED(pthread_barrier_init,
	     (pthread_barrier_t * b, const pthread_barrierattr_t *a, unsigned int n), (b, a, n))
SHIM_CHECKED(pthread_detach, (pthread_t thread), (thread))
SHIM_CHECKED(pthread_cancel, (pthread_t thread), (thread))
SHIM_CHECKED(pthread_kill, (pthread_t thread, int number), (thread, number))
SHIM_CHECKED(pthread_once, (pthread_once_t * once, void (*function)(void)), (once, function))
SHIM_CHECKED(pthread_key_delete, (pthread_key_t key), (key))
SHIM_CHECKED(pthread_sigmask, (int how, const sigset_t *new, sigset_t *old), (how, new, old))
SHIM_CHECKED(sigaction, (int n, const struct sigaction *new, struct sigaction *old), (n, new, old))
SHIM_CHECKED(raise, (int number), (number))
SHIM_CHECKED(clock_gettime, (clockid_t clock, struct timespec *now), (clock, now))
SHIM_CHECKED(close, (int fd), (fd))
SHIM_CHECKED(pipe, (int fds[2]), (fds))
SHIM_CHECKED(unlink, (const char *path), (path))
SHIM_CHECKED(munmap, (void *address, size_t size), (address, size))
SHIM_CHECKED(mprotect, (void *address, size_t size, int rights), (address, size, rights))
SHIM_CHECKED(ftruncate, (int fd, off_t size), (fd, size))
SHIM_CHECKED(dlclose, (void *handle), (handle))
SHIM_CHECKED(fclose, (FILE * file), (file))
SHIM_VALUE(sighandler_t, value == SIG_ERR, signal, (int n, sighandler_t handler), (n, handler))
SHIM_VALUE(pid_t, value < 0, fork, (void), ())
SHIM_VALUE(pid_t, value < 0, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
SHIM_VALUE(int, value < 0, open, (const char *path, int flags, mode_t mode), (path, flags, mode))
SHIM_VALUE(int, value < 0, dup, (int fd), (fd))
SHIM_VALUE(int, value < 0, dup2, (int fd, int to), (fd, to))
SHIM_VALUE(off_t, value < 0, lseek, (int fd, off_t at, int from), (fd, at, from))
SHIM_VALUE(long, value < 0, sysconf, (int name), (name))
SHIM_VALUE(void *, !value, malloc, (size_t size), (size))
SHIM_VALUE(void *, !value, calloc, (size_t count, size_t size), (count, size))
SHIM_VALUE(void *, !value, realloc, (void *old, size_t size), (old, size))
SHIM_VALUE(char *, !value, strdup, (const char *text), (text))
SHIM_VALUE(FILE *, !value, fopen, (const char *path, const char *mode), (path, mode))
SHIM_VALUE(void *, !value, dlopen, (const char *path, int flags), (path, flags))
SHIM_VALUE(void *, !value, dlsym, (void *handle, const char *name), (handle, name))

SHIM int xpthread_barrier_wait(pthread_barrier_t *barrier)
{
	int result = pthread_barrier_wait(barrier);
	if (result != 0 && result != PTHREAD_BARRIER_SERIAL_THREAD)
		FAIL_EXIT1("pthread_barrier_wait: %s", strerror(result));
	return result == PTHREAD_BARRIER_SERIAL_THREAD;
}

SHIM pthread_t xpthread_create(pthread_attr_t *attributes, void *(*function)(void *),
			       void *argument)
{
	pthread_t thread;
	int error = pthread_create(&thread, attributes, function, argument);
	if (error != 0)
		FAIL_EXIT1("pthread_create: %s", strerror(error));
	return thread;
}

SHIM void *xpthread_join(pthread_t thread)
{
	void *result;
	int error = pthread_join(thread, &result);
	if (error != 0)
		FAIL_EXIT1("pthread_join: %s", strerror(error));
	return result;
}

SHIM pthread_key_t xpthread_key_create(void (*destroy)(void *))
{
	pthread_key_t key;
	int error = pthread_key_create(&key, destroy);
	if (error != 0)
		FAIL_EXIT1("pthread_key_create: %s", strerror(error));
	return key;
}

SHIM void xpthread_check_return(const char *function, int error)
{
	if (error != 0)
		FAIL_EXIT1("%s: %s", function, strerror(error));
}

SHIM size_t support_small_thread_stack_size(void)
{
	return MAX((size_t)PTHREAD_STACK_MIN, 128 * 1024);
}

SHIM void support_set_small_thread_stack_size(pthread_attr_t *attributes)
{
	xpthread_attr_setstacksize(attributes, support_small_thread_stack_size());
}

SHIM bool support_mutex_pi_monotonic(void)
{
	return true;
}

/* A test that does not end by itself ends well, so many seconds later. */
SHIM void *shim_exit_later(void *seconds)
{
	sleep((unsigned int)(uintptr_t)seconds);
	exit(0);
}

SHIM void delayed_exit(int seconds)
{
	sigset_t all, old;
	sigfillset(&all);
	xpthread_sigmask(SIG_SETMASK, &all, &old);
	xpthread_detach(xpthread_create(NULL, shim_exit_later, (void *)(uintptr_t)seconds));
	xpthread_sigmask(SIG_SETMASK, &old, NULL);
}

SHIM void *xmmap(void *address, size_t size, int rights, int flags, int fd)
{
	void *memory = mmap(address, size, rights, flags, fd, 0);
	if (memory == MAP_FAILED)
		FAIL_EXIT1("mmap: %s", strerror(errno));
	return memory;
}

SHIM void *support_shared_allocate(size_t size)
{
	return xmmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
}

SHIM void xwrite(int fd, const void *bytes, size_t size)
{
	for (const char *at = bytes; size > 0;) {
		ssize_t written = write(fd, at, size);
		if (written <= 0)
			FAIL_EXIT1("write: %s", strerror(errno));
		at += written;
		size -= (size_t)written;
	}
}

SHIM char *xasprintf(const char *format, ...)
{
	char *text;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		FAIL_EXIT1("vasprintf");
	return text;
}

/* Name and descriptor of a new file, in the row's own directory, which is removed. */
SHIM int create_temp_file(const char *base, char **name)
{
	char *path = xasprintf("%s/%sXXXXXX", test_dir, base);
	int fd = mkstemp(path);
	if (name)
		*name = path;
	return fd;
}

SHIM void add_temp_file(const char *name)
{
	(void)name;
}

SHIM void write_message(const char *text)
{
	ssize_t written = write(STDOUT_FILENO, text, strlen(text));
	(void)written;
}

SHIM void ignore_stderr(void)
{
	int fd = open("/dev/null", O_WRONLY);
	dup2(fd, STDERR_FILENO);
}

/* A page before the stack that faults, and one behind. */
SHIM void *xalloc_sigstack(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t whole = (MAX(size, (size_t)sysconf(_SC_MINSIGSTKSZ)) + page - 1) / page * page;
	char *memory = xmmap(NULL, whole + 2 * page, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1);
	xmprotect(memory + page, whole, PROT_READ | PROT_WRITE);
	stack_t stack = { .ss_sp = memory + page, .ss_size = whole };
	if (sigaltstack(&stack, NULL) != 0)
		FAIL_EXIT1("sigaltstack: %s", strerror(errno));
	return memory;
}

SHIM void xfree_sigstack(void *memory)
{
	stack_t stack = { .ss_flags = SS_DISABLE };
	(void)memory;
	if (sigaltstack(&stack, NULL) != 0)
		FAIL_EXIT1("sigaltstack: %s", strerror(errno));
}

SHIM struct timespec make_timespec(time_t seconds, long nanoseconds)
{
	return (struct timespec){ .tv_sec = seconds, .tv_nsec = nanoseconds };
}

SHIM struct timespec xclock_now(clockid_t clock)
{
	struct timespec now;
	xclock_gettime(clock, &now);
	return now;
}

enum { TIMESPEC_HZ = 1000000000 };

SHIM struct timespec timespec_add(struct timespec a, struct timespec b)
{
	long sum = a.tv_nsec + b.tv_nsec;
	return make_timespec(a.tv_sec + b.tv_sec + sum / TIMESPEC_HZ, sum % TIMESPEC_HZ);
}

SHIM struct timespec timespec_sub(struct timespec a, struct timespec b)
{
	bool borrows = a.tv_nsec < b.tv_nsec;
	return make_timespec(a.tv_sec - b.tv_sec - borrows,
			     a.tv_nsec - b.tv_nsec + (borrows ? TIMESPEC_HZ : 0));
}

SHIM bool shim_is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

#define TEST_TIMESPEC_BEFORE(left, right)         TEST_VERIFY(shim_is_before(left, right))
#define TEST_TIMESPEC_EQUAL_OR_AFTER(left, right) TEST_VERIFY(!shim_is_before(left, right))
#define TEST_TIMESPEC_BEFORE_NOW(left, clock)     TEST_TIMESPEC_BEFORE(left, xclock_now(clock))
#define TEST_TIMESPEC_NOW_OR_AFTER(clock, right) \
	TEST_TIMESPEC_EQUAL_OR_AFTER(xclock_now(clock), right)

SHIM timer_t support_create_timer(uint64_t seconds, long nanoseconds, bool repeats,
				  void (*handler)(int))
{
	struct itimerspec times = { .it_value = make_timespec((time_t)seconds, nanoseconds) };
	timer_t timer;
	if (repeats)
		times.it_interval = times.it_value;
	if (handler)
		xsignal(SIGALRM, handler);
	if (timer_create(CLOCK_REALTIME, NULL, &timer) != 0 ||
	    timer_settime(timer, 0, &times, NULL) != 0)
		FAIL_EXIT1("timer: %s", strerror(errno));
	return timer;
}

SHIM void support_delete_timer(timer_t timer)
{
	if (timer_delete(timer) != 0)
		FAIL_EXIT1("timer_delete: %s", strerror(errno));
}

SHIM void support_wait_for_thread_exit(void)
{
	while (access("/proc/self/task", R_OK) == 0) {
		struct stat status;
		/* Two links, and one for each thread. */
		if (stat("/proc/self/task", &status) != 0 || status.st_nlink <= 3)
			return;
		usleep(1000);
	}
}

#endif
