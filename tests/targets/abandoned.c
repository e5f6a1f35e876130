/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: calls that never return, or return on another thread, leave nothing behind: what
 * each thread does afterwards is recorded, ten writes each.
 */
#include "scenario.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucontext.h>

static ucontext_t fiber, first_loop, second_loop;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char stack[1 << 16];
static int ends[2];

static void write_ten(void)
{
	for (int i = 0; i < 10; i++)
		(void)!write(ends[1], "x", 1);
}

/* Leaves its first thread inside a call, which returns on the second one. */
static void change_threads(void)
{
	swapcontext(&fiber, &first_loop);
}

static void run_fiber(void)
{
	pthread_once(&once, change_threads);
	write_ten();
	setcontext(&second_loop);
}

static void resume(void)
{
	swapcontext(&second_loop, &fiber);
	write_ten();
}

static void fibers(void)
{
	struct helper helper;
	(void)!pipe(ends);
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = stack;
	fiber.uc_stack.ss_size = sizeof(stack);
	makecontext(&fiber, run_fiber, 0);
	swapcontext(&first_loop, &fiber);
	write_ten();
	helper_start(&helper, resume);
	helper_join(&helper);
	write_ten();
}

static jmp_buf back;

static void jump_out(void)
{
	longjmp(back, 1);
}

static void initialiser(void)
{
	pthread_once_t never = PTHREAD_ONCE_INIT;
	if (setjmp(back) == 0)
		pthread_once(&never, jump_out);
	write_ten();
}

static void leave(void)
{
	pthread_exit(NULL);
}

static void exit_inside(void)
{
	pthread_once_t never = PTHREAD_ONCE_INIT;
	pthread_once(&never, leave);
}

static void jumps(void)
{
	struct helper helper;
	(void)!pipe(ends);
	initialiser();
	helper_start(&helper, exit_inside);
	helper_join(&helper);
	write_ten();
}

static void read_for_ever(void)
{
	char byte;
	(void)!read(ends[0], &byte, 1);
}

/* The others are blocked, and gone with the image. */
static void execs(void)
{
	struct helper helper;
	(void)!pipe(ends);
	helper_start(&helper, read_for_ever);
	until_in_call(helper.tid, SYS_read);
	fflush(stdout);
	execl("/bin/true", "true", (char *)NULL);
}

/* --- A handler that jumps, out of each kind of wait --- */

static pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t held_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_once_t begun = PTHREAD_ONCE_INIT;

/* In two rounds, a thread would have more waits open than it may. libc notes who has come to a
 * barrier, or joins a thread. It takes a mutex again when a wait for a condition is left. So each
 * round has its own. */
enum { ROUNDS = 2 };
static pthread_mutex_t free_mutexes[ROUNDS] = { PTHREAD_MUTEX_INITIALIZER,
						PTHREAD_MUTEX_INITIALIZER };
static volatile int turn;
static pthread_barrier_t barriers[ROUNDS];
static pthread_t joined[ROUNDS];
static pid_t child;
static int word, listener, poll_fd, locked_file, quiet[2];

static int wait_for_condition(void)
{
	pthread_mutex_lock(&free_mutexes[turn]);
	return pthread_cond_wait(&condition, &free_mutexes[turn]);
}

/* Name, the system call in which it blocks, and the call. */
#define WAITS(WAIT)                                                                         \
	WAIT(mutex, SYS_futex, pthread_mutex_lock(&held_mutex))                             \
	WAIT(read_lock, SYS_futex, pthread_rwlock_rdlock(&held_rwlock))                     \
	WAIT(write_lock, SYS_futex, pthread_rwlock_wrlock(&held_rwlock))                    \
	WAIT(condition, SYS_futex, wait_for_condition())                                    \
	WAIT(semaphore, SYS_futex, sem_wait(&semaphore))                                    \
	WAIT(barrier, SYS_futex, pthread_barrier_wait(&barriers[turn]))                     \
	WAIT(once, SYS_futex, pthread_once(&begun, abort))                                  \
	WAIT(join, SYS_futex, pthread_join(joined[turn], NULL))                             \
	WAIT(futex, SYS_futex, syscall(SYS_futex, &word, 128 /* wait, private */, 0, NULL)) \
	WAIT(child, SYS_wait4, waitpid(child, NULL, 0))                                     \
	WAIT(sleep, SYS_clock_nanosleep, sleep(1000))                                       \
	WAIT(read, SYS_read, read(quiet[0], (char[1]){ 0 }, 1))                             \
	WAIT(accept, SYS_accept, accept(listener, NULL, NULL))                              \
	WAIT(poll, SYS_poll, poll(&(struct pollfd){ quiet[0], POLLIN, 0 }, 1, -1))          \
	WAIT(epoll, SYS_epoll_wait, epoll_wait(poll_fd, &(struct epoll_event){ 0 }, 1, -1)) \
	WAIT(pause, SYS_pause, pause())                                                     \
	WAIT(file, SYS_flock, flock(locked_file, LOCK_EX))

#define WAIT(name, number, call)      \
	static void wait_##name(void) \
	{                             \
		(void)!(call);        \
	}
WAITS(WAIT)
#undef WAIT

static const struct wait {
	const char *name;
	long number;
	void (*run)(void);
} waits[] = {
#define WAIT(name, number, call) { #name, number, wait_##name },
	WAITS(WAIT)
};

enum { WAIT_COUNT = sizeof(waits) / sizeof(waits[0]), STEPS = ROUNDS * WAIT_COUNT };

static sigjmp_buf out;
static int waiting = -1;

static void jump(int number)
{
	(void)number;
	siglongjmp(out, 1);
}

static void wait_for_all(void)
{
	for (volatile int i = 0; i < STEPS; i++) {
		turn = i / WAIT_COUNT;
		if (sigsetjmp(out, 1) == 0) {
			__atomic_store_n(&waiting, i, __ATOMIC_RELEASE);
			waits[i % WAIT_COUNT].run();
			puts("returned");
		}
		printf("out of %s\n", waits[i % WAIT_COUNT].name);
		write_ten();
	}
}

static void hold_all(void)
{
	char path[] = "/tmp/wcprof-abandoned-XXXXXX";
	int holder = mkstemp(path);
	locked_file = open(path, O_RDWR);
	unlink(path);
	flock(holder, LOCK_EX);
	(void)!pipe(ends);
	(void)!pipe(quiet);
	poll_fd = epoll_create1(0);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(listener, &(struct sockaddr){ .sa_family = AF_UNIX }, sizeof(sa_family_t));
	listen(listener, 1);
	sem_init(&semaphore, 0, 0);
	for (int i = 0; i < ROUNDS; i++)
		pthread_barrier_init(&barriers[i], NULL, 2);
	pthread_mutex_lock(&held_mutex);
	pthread_rwlock_wrlock(&held_rwlock);
	joined[0] = pthread_self();
	fflush(stdout);
	child = fork();
	if (child == 0)
		for (;;)
			pause();
}

/* Runs the initialiser for ever. */
static void begin_for_ever(void)
{
	for (;;)
		pause();
}

static void initialise_for_ever(void)
{
	pthread_once(&begun, begin_for_ever);
}

static void handlers(void)
{
	struct sigaction action = { .sa_handler = jump };
	struct helper initialising, helper;
	sigaction(SIGUSR1, &action, NULL);
	hold_all();
	helper_start(&initialising, initialise_for_ever);
	until_in_call(initialising.tid, SYS_pause);
	joined[1] = initialising.thread;
	helper_start(&helper, wait_for_all);
	for (int i = 0; i < STEPS; i++) {
		while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) != i)
			sched_yield();
		until_in_call(helper.tid, waits[i % WAIT_COUNT].number);
		pthread_kill(helper.thread, SIGUSR1);
	}
	helper_join(&helper);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static const struct scenario scenarios[] = {
	{ "handlers", handlers },
	{ "fibers", fibers },
	{ "jumps", jumps },
	{ "execs", execs },
};

SCENARIOS_MAIN
