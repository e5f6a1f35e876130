/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is busy in one way, until its standard input ends, and into which the library is
 * loaded meanwhile. It says "ready", and at the end "well", or what went wrong: a call that failed,
 * or was interrupted, which without the library none is.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, PAUSE_US = 200 };

static atomic_bool ends;
static atomic_int faults;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	faults++;
}

static void *take_locks(void *unused)
{
	while (!ends) {
		pthread_mutex_lock(&lock);
		if (usleep(PAUSE_US) != 0)
			fail("usleep");
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void *allocate(void *unused)
{
	unsigned seed = 1;

	while (!ends) {
		void *blocks[64];

		for (int i = 0; i < 64; i++)
			blocks[i] = malloc(16 + (size_t)(rand_r(&seed) % 100000));
		for (int i = 0; i < 64; i++)
			free(blocks[i]);
		if (rand_r(&seed) % 64 == 0 && usleep(1) != 0)
			fail("usleep");
	}
	return unused;
}

/* Each wakes the next one; a wait that is interrupted is a fault. */
static int rings[WORKERS][2];

static void *wait_for_events(void *argument)
{
	int own = (int)(intptr_t)argument, set = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	char byte;

	epoll_ctl(set, EPOLL_CTL_ADD, rings[own][0], &event);
	while (!ends) {
		if (epoll_wait(set, &event, 1, -1) != 1)
			fail("epoll_wait");
		if (read(rings[own][0], &byte, 1) != 1)
			fail("read");
		if (!ends && usleep(PAUSE_US) != 0)
			fail("usleep");
		if (write(rings[(own + 1) % WORKERS][1], &byte, 1) != 1)
			fail("write");
	}
	close(set);
	return NULL;
}

static void *fork_often(void *unused)
{
	while (!ends) {
		int status = 0;
		pid_t child = fork();

		if (child == 0) {
			free(malloc(1000));
			_exit(usleep(1) == 0 && dlopen("libm.so.6", RTLD_NOW) ? 7 : 8);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status != 7 << 8)
			fail("fork");
	}
	return unused;
}

static void *load_often(void *unused)
{
	while (!ends) {
		void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
		void *other = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);

		if (!library || !other)
			fail("dlopen");
		dlclose(other);
		dlclose(library);
		if (usleep(1) != 0)
			fail("usleep");
	}
	return unused;
}

/* The first one has the loader's lock until a byte comes. */
static atomic_bool may_load;
static atomic_int holders;

static int hold_loader(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	char byte;

	(void)info, (void)bytes, (void)unused;
	(void)!read(STDIN_FILENO, &byte, 1);
	may_load = true;
	return 1;
}

static void *wait_for_loader(void *unused)
{
	if (holders++ == 0)
		dl_iterate_phdr(hold_loader, NULL);
	return take_locks(unused);
}

static void *end_at_once(void *unused)
{
	usleep(1);
	return unused;
}

static void *make_threads(void *unused)
{
	while (!ends) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, end_at_once, NULL) != 0)
			fail("pthread_create");
		pthread_join(thread, NULL);
	}
	return unused;
}

static atomic_long signals;

static void count_signal(int number)
{
	int before = errno;

	(void)number;
	signals++;
	(void)!write(-1, "", 1);
	errno = before;
}

static void *send_signals(void *unused)
{
	while (!ends) {
		kill(getpid(), SIGUSR1);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		free(malloc(100));
	}
	return unused;
}

static void *sleep_long(void *unused)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

static const struct {
	const char *name;
	void *(*worker)(void *);
} scenarios[] = {
	{ "locks", take_locks },     { "mallocs", allocate },  { "events", wait_for_events },
	{ "forks", fork_often },     { "loads", load_often },  { "threads", make_threads },
	{ "signals", send_signals }, { "asleep", sleep_long }, { "loader", wait_for_loader },
};

/* --- The only thread sleeps, for as long as it says, and then ends --- */

enum { SLEEP_MS = 5000 };

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool sleep_in_poll(void)
{
	return poll(NULL, 0, SLEEP_MS) == 0;
}

static bool sleep_in_nanosleep(void)
{
	return nanosleep(&(struct timespec){ SLEEP_MS / 1000, 0 }, NULL) == 0;
}

static bool sleep_in_select(void)
{
	return select(0, NULL, NULL, NULL, &(struct timeval){ SLEEP_MS / 1000, 0 }) == 0;
}

static bool sleep_in_cond(void)
{
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += SLEEP_MS / 1000;
	pthread_mutex_lock(&lock);
	return pthread_cond_timedwait(&cond, &lock, &until) == ETIMEDOUT;
}

/* The end of a child that is waited for by another one is what wakes it. */
static bool sleep_in_epoll(void)
{
	int ends_of_pipe[2], set = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLHUP };

	if (pipe(ends_of_pipe) != 0)
		return false;
	epoll_ctl(set, EPOLL_CTL_ADD, ends_of_pipe[0], &event);
	if (fork() == 0) {
		sleep_in_nanosleep();
		_exit(0);
	}
	close(ends_of_pipe[1]);
	return epoll_wait(set, &event, 1, -1) == 1;
}

/* As a server's first process waits. */
static bool sleep_in_sigsuspend(void)
{
	sigset_t none, usr1;

	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = count_signal }, NULL);
	if (fork() == 0) {
		sleep_in_nanosleep();
		_exit(kill(getppid(), SIGUSR1));
	}
	sigsuspend(&none);
	sigprocmask(SIG_BLOCK, NULL, &none);
	return signals == 1 && sigismember(&none, SIGUSR1);
}

static bool sleep_limited(void)
{
	struct epoll_event event;

	return epoll_wait(epoll_create1(0), &event, 1, 100 * SLEEP_MS) == 0;
}

static const struct {
	const char *name;
	bool (*sleep)(void);
} sleeps[] = {
	{ "poll", sleep_in_poll },
	{ "nanosleep", sleep_in_nanosleep },
	{ "select", sleep_in_select },
	{ "cond", sleep_in_cond },
	{ "epoll", sleep_in_epoll },
	{ "limited", sleep_limited },
	{ "sigsuspend", sleep_in_sigsuspend },
};

static int sleep_alone(const char *name)
{
	for (size_t i = 0; i < sizeof(sleeps) / sizeof(sleeps[0]); i++) {
		uint64_t begin_ms = now_ms();

		if (strcmp(name, sleeps[i].name) != 0)
			continue;
		puts("ready");
		fflush(stdout);
		if (!sleeps[i].sleep() || now_ms() - begin_ms < SLEEP_MS - 1)
			fail(name);
		puts(faults == 0 ? "well" : "not well");
		return faults != 0;
	}
	return 2;
}

/* --- The only thread is busy until its input ends, or idle --- */

static int await_input(int limit_ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, limit_ms);
}

static bool has_input_ended(void)
{
	return await_input(0) != 0;
}

static bool be_idle(void)
{
	return await_input(-1) == 1;
}

enum { TICK_MS = 5, LATE_S = 1, READS = 1000, UNKNOWN_CALL = 100000 };

static bool tick(void)
{
	struct epoll_event event;
	int set = epoll_create1(0);

	while (!has_input_ended())
		if (epoll_wait(set, &event, 1, TICK_MS) != 0)
			return false;
	return true;
}

static bool read_often(void)
{
	int zeros = open("/dev/zero", O_RDONLY);
	char bytes[64];

	while (!has_input_ended())
		for (int i = 0; i < READS; i++)
			if (read(zeros, bytes, sizeof(bytes)) != sizeof(bytes))
				return false;
	return true;
}

/* At nearly none of its calls may the library be loaded; the kernel does not know half of them. */
static bool look_often(void)
{
	char bytes[64];

	while (!has_input_ended())
		for (int i = 0; i < READS; i++)
			if (readlink("/proc/self/exe", bytes, sizeof(bytes)) <= 0 ||
			    syscall(UNKNOWN_CALL) != -1 || errno != ENOSYS)
				return false;
	return true;
}

/* It cannot be taken while it waits for the semaphore, and sleeps for good right after. */
static bool sleep_late(void)
{
	int set = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf take = { .sem_op = -1 };
	bool is_late = semtimedop(set, &take, 1, &(struct timespec){ LATE_S, 0 }) != 0;
	char byte;

	semctl(set, 0, IPC_RMID);
	return is_late && errno == EAGAIN && read(STDIN_FILENO, &byte, 1) == 0;
}

/* The child has this process's memory until it ends. */
static bool wait_for_child(void)
{
	char byte;
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		(void)!read(STDIN_FILENO, &byte, 1);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static int be_busy_alone(bool (*work)(void))
{
	bool is_well;

	puts("ready");
	fflush(stdout);
	is_well = work();
	puts(is_well ? "well" : "not well");
	return !is_well;
}

static void prepare(void)
{
	struct sigaction action = { .sa_handler = count_signal, .sa_flags = SA_RESTART };

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGTRAP, &action, NULL);
	for (int i = 0; i < WORKERS; i++)
		if (pipe(rings[i]) != 0)
			fail("pipe");
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS];
	void *(*worker)(void *) = NULL;
	char byte;

	if (argc > 1 && strcmp(argv[1], "ticks") == 0)
		return be_busy_alone(tick);
	if (argc > 1 && strcmp(argv[1], "reads") == 0)
		return be_busy_alone(read_often);
	if (argc > 1 && strcmp(argv[1], "looks") == 0)
		return be_busy_alone(look_often);
	if (argc > 1 && strcmp(argv[1], "idle") == 0)
		return be_busy_alone(be_idle);
	if (argc > 1 && strcmp(argv[1], "vfork") == 0)
		return be_busy_alone(wait_for_child);
	if (argc > 1 && strcmp(argv[1], "late") == 0)
		return be_busy_alone(sleep_late);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (argc > 1 && strcmp(argv[1], scenarios[i].name) == 0)
			worker = scenarios[i].worker;
	if (!worker)
		return sleep_alone(argc > 1 ? argv[1] : "");
	prepare();
	if (worker == sleep_long)
		pthread_mutex_lock(&lock);
	for (intptr_t i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, (void *)i);
	if (worker == wait_for_events)
		(void)!write(rings[0][1], "", 1);
	puts("ready");
	fflush(stdout);
	while (worker == wait_for_loader && !may_load)
		usleep(PAUSE_US);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	ends = true;
	if (worker == sleep_long)
		pthread_mutex_unlock(&lock);
	for (int i = 0; i < WORKERS; i++)
		if (worker == wait_for_events)
			(void)!write(rings[i][1], "", 1);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	puts(faults == 0 ? "well" : "not well");
	return faults != 0;
}
