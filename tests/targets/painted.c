/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of its stack a program has lost after a call. The stack is painted before it, and the
 * paint that is left is counted. Each call is made in a process of its own, which may end by it.
 *
 * usage: painted thread|coroutine|handler
 *
 * Prints a line for each call: its name, and the bytes used below its caller. They
 * differ with the library, so it is no scenario: safety/test_stack_budget compares.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 17 };

#include "stack_kinds.h"

/* The process that makes a call and the one that waits for it share this. */
static struct shared {
	char *here; /* painted from here downwards */
	size_t used;
} * shared;
static void (*the_call)(void);
static char true_name[] = "true";
static char *true_arguments[] = { true_name, NULL };

/* --- The calls -------------------------------------------------------------------------------- */

/* The child of a fork, which runs on a copy of the painted stack. No hook sees it end. */
static void end_at_once(void)
{
	__asm__ volatile("syscall" ::"a"(SYS_exit_group), "D"(0));
}

static void wait_for(pid_t pid)
{
	if (pid == 0)
		end_at_once();
	while (syscall(SYS_wait4, pid, NULL, 0, NULL) < 0 && errno == EINTR)
		;
}

static void call_write(void)
{
	(void)!write(open("/dev/null", O_WRONLY), "x", 1);
}

static void call_poll(void)
{
	struct pollfd set = { .fd = 0, .events = POLLIN };

	poll(&set, 1, 1);
}

static void call_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/nonexistent/socket" };

	connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof(address));
}

static void call_accept(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(listener, (struct sockaddr *)&address, size);
	listen(listener, 1);
	getsockname(listener, (struct sockaddr *)&address, &size);
	connect(client, (struct sockaddr *)&address, size);
	(void)!write(accept(listener, NULL, NULL), "x", 1);
}

static void call_mutex(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec past = { 1, 0 };

	pthread_mutex_lock(&mutex);
	pthread_mutex_timedlock(&mutex, &past);
	pthread_mutex_unlock(&mutex);
}

static void call_semaphore(void)
{
	struct timespec past = { 1, 0 };
	sem_t semaphore;

	sem_init(&semaphore, 0, 0);
	sem_timedwait(&semaphore, &past);
}

static void call_sleep(void)
{
	struct timespec pause = { 0, 1000 };

	nanosleep(&pause, NULL);
}

static void call_syscall(void)
{
	syscall(SYS_write, open("/dev/null", O_WRONLY), "x", 1);
}

static void call_exit(void)
{
	exit(0);
}

static void call__exit(void)
{
	_exit(0);
}

static void call__Exit(void)
{
	_Exit(0);
}

static void call_quick_exit(void)
{
	quick_exit(0);
}

static void call_abort(void)
{
	abort();
}

static void call_execve(void)
{
	execve("/bin/true", true_arguments, environ);
}

static void call_execve_cleared(void)
{
	char *none[] = { NULL };

	execve("/bin/true", true_arguments, none);
}

static void call_execve_fails(void)
{
	execve("/nonexistent/program", true_arguments, environ);
}

static void call_execve_script(void)
{
	execve("/usr/bin/ldd", true_arguments, environ);
}

static void call_execv(void)
{
	execv("/bin/true", true_arguments);
}

static void call_execvp(void)
{
	execvp("true", true_arguments);
}

static void call_execvpe(void)
{
	execvpe("true", true_arguments, environ);
}

static void call_execl(void)
{
	execl("/bin/true", "true", (char *)NULL);
}

static void call_execlp(void)
{
	execlp("true", "true", (char *)NULL);
}

static void call_execle(void)
{
	execle("/bin/true", "true", (char *)NULL, environ);
}

static void call_fexecve(void)
{
	fexecve(open("/bin/true", O_RDONLY), true_arguments, environ);
}

static void call_execveat(void)
{
	execveat(AT_FDCWD, "/bin/true", true_arguments, environ, 0);
}

static void call_fork(void)
{
	wait_for(fork());
}

static void call__Fork(void)
{
	wait_for(_Fork());
}

static void call_raw_fork(void)
{
	wait_for((pid_t)syscall(SYS_fork));
}

static void call_vfork(void)
{
	wait_for(vfork());
}

static void call_vfork_exec(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execve("/bin/true", true_arguments, environ);
		_exit(1);
	}
	wait_for(pid);
}

static int clone_child(void *unused)
{
	(void)unused;
	return 0;
}

static void call_clone(void)
{
	static char child_stack[1 << 16];

	wait_for(clone(clone_child, child_stack + sizeof(child_stack), SIGCHLD, NULL));
}

static void call_fork_waitpid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		end_at_once();
	waitpid(pid, NULL, 0);
}

static void call_posix_spawn(void)
{
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, true_arguments, environ) == 0)
		waitpid(pid, NULL, 0);
}

static void call_posix_spawnp(void)
{
	pid_t pid;

	if (posix_spawnp(&pid, "true", NULL, NULL, true_arguments, environ) == 0)
		waitpid(pid, NULL, 0);
}

static void call_system(void)
{
	(void)!system("true");
}

static void call_popen(void)
{
	pclose(popen("true", "r"));
}

static void call_forkpty(void)
{
	int master;

	wait_for(forkpty(&master, NULL, NULL, NULL));
}

/* Its parent ends by it. */
static void call_daemon(void)
{
	(void)!daemon(1, 1);
}

static void *thread_main(void *unused)
{
	return unused;
}

static void call_pthread_create(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL);
}

static void call_dlopen(void)
{
	dlclose(dlopen("libutil.so.1", RTLD_NOW));
}

static void call_dlmopen(void)
{
	dlmopen(LM_ID_NEWLM, "libutil.so.1", RTLD_NOW);
}

static void call_setuid(void)
{
	(void)!setuid(getuid());
}

static void call_unshare(void)
{
	unshare(CLONE_NEWUSER);
}

/* Also before a child has been seen by any hook: `is_first`. */
static const struct call {
	const char *name;
	void (*run)(void);
	bool is_last; /* the process ends by it */
	bool is_first;
} calls[] = {
	{ "write", call_write, false, false },
	{ "write", call_write, false, true },
	{ "poll", call_poll, false, false },
	{ "poll", call_poll, false, true },
	{ "connect", call_connect, false, false },
	{ "accept", call_accept, false, false },
	{ "pthread_mutex_lock", call_mutex, false, false },
	{ "pthread_mutex_lock", call_mutex, false, true },
	{ "sem_timedwait", call_semaphore, false, false },
	{ "nanosleep", call_sleep, false, false },
	{ "syscall", call_syscall, false, false },
	{ "syscall", call_syscall, false, true },
	{ "exit", call_exit, true, false },
	{ "exit", call_exit, true, true },
	{ "_exit", call__exit, true, false },
	{ "_exit", call__exit, true, true },
	{ "_Exit", call__Exit, true, false },
	{ "quick_exit", call_quick_exit, true, false },
	{ "abort", call_abort, true, false },
	{ "abort", call_abort, true, true },
	{ "execve", call_execve, true, false },
	{ "execve", call_execve, true, true },
	{ "execve, empty environment", call_execve_cleared, true, false },
	{ "execve, no file", call_execve_fails, false, false },
	{ "execve, a script", call_execve_script, true, false },
	{ "execv", call_execv, true, false },
	{ "execvp", call_execvp, true, false },
	{ "execvpe", call_execvpe, true, false },
	{ "execl", call_execl, true, false },
	{ "execlp", call_execlp, true, false },
	{ "execle", call_execle, true, false },
	{ "fexecve", call_fexecve, true, false },
	{ "execveat", call_execveat, true, false },
	{ "fork", call_fork, false, false },
	{ "fork", call_fork, false, true },
	{ "fork, waitpid", call_fork_waitpid, false, false },
	{ "_Fork", call__Fork, false, false },
	{ "raw fork", call_raw_fork, false, false },
	{ "vfork", call_vfork, false, false },
	{ "vfork", call_vfork, false, true },
	{ "vfork, execve", call_vfork_exec, false, false },
	{ "clone", call_clone, false, false },
	{ "forkpty", call_forkpty, false, false },
	{ "daemon", call_daemon, false, false },
	{ "posix_spawn", call_posix_spawn, false, false },
	{ "posix_spawn", call_posix_spawn, false, true },
	{ "posix_spawnp", call_posix_spawnp, false, false },
	{ "system", call_system, false, false },
	{ "popen", call_popen, false, false },
	{ "pthread_create", call_pthread_create, false, false },
	{ "pthread_create", call_pthread_create, false, true },
	{ "dlopen", call_dlopen, false, false },
	{ "dlmopen", call_dlmopen, false, false },
	{ "setuid", call_setuid, false, false },
	{ "unshare", call_unshare, false, false },
};

/* --- Measuring -------------------------------------------------------------------------------- */

static size_t count_used(void)
{
	size_t all = (size_t)(shared->here - stack), untouched = 0;

	while (untouched < all && stack[untouched] == PAINT)
		untouched++;
	return all - untouched;
}

/* From here downwards; one that is called is within the margin. */
static inline __attribute__((always_inline)) void paint(void)
{
	char *here;

	__asm__ volatile("mov %%rsp, %0" : "=r"(here));
	shared->here = here - MARGIN_BYTES;
	memset(stack, PAINT, (size_t)(shared->here - stack));
}

static __attribute__((noinline)) void run(void)
{
	paint();
	the_call();
	shared->used = count_used();
}

static void on_thread(void)
{
	pthread_join(start_thread(), NULL);
}

static void make_call(const struct call *call, void (*on_stack_of_kind)(void))
{
	const int private_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	struct timespec pause = { 0, 1000 };

	/* A process that forks must not share its stack with the child. */
	if (!call->is_last)
		mmap(stack, STACK_BYTES, PROT_READ | PROT_WRITE, private_flags, -1, 0);
	if (!call->is_first)
		nanosleep(&pause, NULL);
	the_call = call->run;
	on_stack_of_kind();
	end_at_once();
}

static void measure(const struct call *call, void (*on_stack_of_kind)(void))
{
	pid_t pid;

	*shared = (struct shared){ NULL, 0 };
	pid = fork();
	if (pid == 0)
		make_call(call, on_stack_of_kind);
	/* Also for the one that goes on when its parent has ended, as after daemon(). */
	while (waitpid(-1, NULL, 0) > 0)
		;
	printf("%zu %s%s\n", call->is_last ? count_used() : shared->used, call->name,
	       call->is_first ? ", first in a child" : "");
}

/* --- Threads ---------------------------------------------------------------------------------- */

static size_t used_by_start, storage;

/* The loaded libraries' storage of a thread lies at the upper end of a thread's stack. */
static int add_storage(struct dl_phdr_info *info, size_t size, void *sum)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)sum += info->dlpi_phdr[i].p_memsz;
	return 0;
}

static void *begin(void *how)
{
	shared->here = stack + STACK_BYTES;
	used_by_start = count_used();
	paint();
	if (strcmp(how, "pthread_exit") == 0)
		pthread_exit(NULL);
	return NULL;
}

static void measure_thread(const char *how)
{
	pthread_attr_t attributes;
	pthread_t thread;

	memset(stack, PAINT, STACK_BYTES);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, STACK_BYTES);
	if (pthread_create(&thread, &attributes, begin, (void *)how) != 0)
		return;
	pthread_join(thread, NULL);
	printf("%zu thread start, %s\n", used_by_start - storage, how);
	printf("%zu thread end, %s\n", count_used(), how);
}

int main(int count, char **arguments)
{
	const int flags = MAP_SHARED | MAP_ANONYMOUS;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, flags, -1, 0);
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	/* Children of children become its own. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* The programs that are started are not recorded: they would leave something behind. */
	setenv("WCPROF_ENABLE", "0", 1);
	for (size_t k = 0; count > 1 && k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (strcmp(arguments[1], kinds[k].name) != 0)
			continue;
		for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
			if (!getenv("NO_CALLS"))
				measure(&calls[i], kinds[k].run);
		dl_iterate_phdr(add_storage, &storage);
		printf("%zu thread-local storage\n", storage);
		measure_thread("return");
		measure_thread("pthread_exit");
		return 0;
	}
	fprintf(stderr, "usage: %s thread|coroutine|handler\n", arguments[0]);
	return 2;
}
