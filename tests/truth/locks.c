/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: a fix of satlock, convoy, twolock (lock_n), rwlock and the rest must shorten the code
 * inside the contended lock. Work outside is free; halving flip's work_a makes flip slower.
 *
 * Patterns in which threads meet at a lock and nowhere else. The comment above each says which
 * pieces matter and which trap it sets. Threads: all state but the locks is each thread's own.
 * Not here: conditions, semaphores, processes; a lock must be the only reason for a wait.
 */
#include "truth.h"

#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { SHARDS_MAX = 16 };

static pthread_mutex_t lock_m = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock_n = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin_lock;
static pthread_mutex_t nested_lock;

/*
 * flip: who comes first to the lock is an accident; with a shorter work_a it is the other
 * thread.
 */
static void *flip_long(void *unused UNUSED)
{
	work_a();
	pthread_mutex_lock(&lock_m);
	work_b();
	pthread_mutex_unlock(&lock_m);
	return NULL;
}

static void *flip_short(void *unused UNUSED)
{
	work_c();
	pthread_mutex_lock(&lock_m);
	work_d();
	pthread_mutex_unlock(&lock_m);
	work_e();
	return NULL;
}

static void flip(void)
{
	start(flip_long, 0);
	start(flip_short, 0);
	join_all();
}

/* satlock: work_a inside is all that counts, work_b outside is hidden behind the others' turns. */
static void *saturate(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		pthread_mutex_lock(&lock_m);
		work_a();
		pthread_mutex_unlock(&lock_m);
		work_b();
	}
	return NULL;
}

static void satlock(void)
{
	start_many(4, saturate);
	join_all();
}

/*
 * futexlock: the same with a lock that the program makes itself, of a futex. 0 = free, 1 = held,
 * 2 = held and waited for. It calls the kernel only to wait and to wake.
 */
enum { FUTEX_LOCKS = 8 };
static int futex_words[FUTEX_LOCKS];

static int swap_word(int *word, int value)
{
	return __atomic_exchange_n(word, value, __ATOMIC_ACQ_REL);
}

static void use_futex(int *word)
{
	int free = 0;

	if (!__atomic_compare_exchange_n(word, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		while (swap_word(word, 2) != 0)
			syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	work_a();
	if (swap_word(word, 0) == 2)
		syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *saturate_futex(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		use_futex(futex_words);
		work_b();
	}
	return NULL;
}

static void futexlock(void)
{
	start_many(4, saturate_futex);
	join_all();
}

/* futexlocks: several of them, as of the rows of a table. Each is seldom waited for. */
static void *use_futexes(void *rank)
{
	uint32_t state = (uint32_t)(uintptr_t)rank;

	for (long i = count_of("T_N"); i > 0; i--) {
		state = state * 1664525 + 1013904223;
		use_futex(&futex_words[(state >> 12) % FUTEX_LOCKS]);
		work_b();
	}
	return NULL;
}

static void futexlocks(void)
{
	start_many(6, use_futexes);
	join_all();
}

/*
 * wrapped: satlock, but both pieces sleep by way of one wrapper. The function that calls it under
 * the lock is all that counts, and the wrapper does not say which one that is.
 */
static NOINLINE void doze(const struct piece *piece)
{
	if (piece->what == PIECE_SLEEP)
		nanosleep(&piece->request, NULL);
	__asm__ volatile("");
}

static NOINLINE void render_page(void)
{
	doze(&work_a_piece);
	__asm__ volatile("");
}

static NOINLINE void write_log(void)
{
	doze(&work_b_piece);
	__asm__ volatile("");
}

static void *wrap(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		pthread_mutex_lock(&lock_m);
		render_page();
		pthread_mutex_unlock(&lock_m);
		write_log();
	}
	return NULL;
}

static void wrapped(void)
{
	start_many(4, wrap);
	join_all();
}

/* twolock: lock_m has the longer waits, lock_n (work_c, work_d) decides. */
static void *helper(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		pthread_mutex_lock(&lock_m);
		work_a();
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static void *decider(void *rank)
{
	for (long i = 3 * count_of("T_N"); i > 0; i--) {
		pthread_mutex_lock(&lock_n);
		if (rank)
			work_d();
		else
			work_c();
		pthread_mutex_unlock(&lock_n);
	}
	return NULL;
}

static void twolock(void)
{
	start_many(3, helper);
	start_many(2, decider);
	join_all();
}

/* convoy: many short holds (work_b) queue behind a few long ones (work_a). */
static void *short_holder(void *unused UNUSED)
{
	for (long i = 20 * count_of("T_N"); i > 0; i--) {
		pthread_mutex_lock(&lock_m);
		work_b();
		pthread_mutex_unlock(&lock_m);
		work_c();
	}
	return NULL;
}

static void *long_holder(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		pthread_mutex_lock(&lock_m);
		work_a();
		pthread_mutex_unlock(&lock_m);
		work_d();
	}
	return NULL;
}

static void convoy(void)
{
	start_many(3, short_holder);
	start(long_holder, 0);
	join_all();
}

/*
 * rwlock: readers (work_a) share, the writer (work_c) shuts them out and is kept waiting by
 * them.
 */
static void *reader(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		pthread_rwlock_rdlock(&table_lock);
		work_a();
		pthread_rwlock_unlock(&table_lock);
		work_b();
	}
	return NULL;
}

static void *writer(void *unused UNUSED)
{
	for (long i = count_of("T_N") * 6 / 10; i > 0; i--) {
		pthread_rwlock_wrlock(&table_lock);
		work_c();
		pthread_rwlock_unlock(&table_lock);
		work_d();
	}
	return NULL;
}

static void rwlock(void)
{
	start_many(2, reader);
	start(writer, 0);
	join_all();
}

/*
 * inversion: the niced holder (work_a) is kept off the CPU by bystander (work_c), urgent waits
 * for it.
 */
static void *niced_holder(void *unused UNUSED)
{
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
	return helper(NULL);
}

static void *bystander(void *unused UNUSED)
{
	work_c();
	return NULL;
}

static void *urgent(void *unused UNUSED)
{
	long rounds = count_of("T_N");
	uint64_t taken_ns[256], begin_ns;

	if (rounds > 256)
		die("is above 256", "T_N");
	for (long i = 0; i < rounds; i++) {
		work_b();
		begin_ns = now_ns();
		pthread_mutex_lock(&lock_m);
		taken_ns[i] = now_ns() - begin_ns;
		pthread_mutex_unlock(&lock_m);
	}
	report_latencies(taken_ns, (size_t)rounds);
	return NULL;
}

static void inversion(void)
{
	start(niced_holder, 0);
	start(urgent, 0);
	start(bystander, 0);
	join_all();
}

/* recursive: only the outermost release lets another in, so work_a and work_b are one hold. */
static void nested_work(void)
{
	pthread_mutex_lock(&nested_lock);
	work_b();
	pthread_mutex_unlock(&nested_lock);
}

static void *recurse(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		pthread_mutex_lock(&nested_lock);
		work_a();
		nested_work();
		pthread_mutex_unlock(&nested_lock);
		work_c();
	}
	return NULL;
}

static void recursive(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&nested_lock, &attributes);
	start_many(3, recurse);
	join_all();
}

/* trylock: never blocks, backs off by work_b; what it waits for all the same is work_a. */
static void *trier(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		while (pthread_mutex_trylock(&lock_m))
			work_b();
		work_c();
		pthread_mutex_unlock(&lock_m);
		work_d();
	}
	return NULL;
}

static void trylock(void)
{
	start(long_holder, 0);
	start(trier, 0);
	join_all();
}

/*
 * timedlock: gives up after work_e's length and does work_c instead, a path that a fix can
 * change.
 */
static void *impatient(void *unused UNUSED)
{
	struct timespec deadline;

	for (long i = count_of("T_N"); i > 0; i--) {
		clock_gettime(CLOCK_REALTIME, &deadline);
		deadline = to_timespec((uint64_t)deadline.tv_sec * NS_PER_S +
				       (uint64_t)deadline.tv_nsec +
				       (uint64_t)work_e_piece.request.tv_nsec);
		if (pthread_mutex_timedlock(&lock_m, &deadline)) {
			work_c();
			continue;
		}
		work_b();
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static void timedlock(void)
{
	start(long_holder, 0);
	start(impatient, 0);
	join_all();
}

/* spinlock: waiting burns a CPU, so it looks like work; work_a inside decides, as in satlock. */
static void *spinner(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		pthread_spin_lock(&spin_lock);
		work_a();
		pthread_spin_unlock(&spin_lock);
		work_b();
	}
	return NULL;
}

static void spinlock(void)
{
	pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
	start_many(2, spinner);
	join_all();
}

/*
 * lockstep: two locks taken one after the other, never together; the slower (work_a or work_b)
 * rules.
 */
static void *stepper(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		pthread_mutex_lock(&lock_m);
		work_a();
		pthread_mutex_unlock(&lock_m);
		pthread_mutex_lock(&lock_n);
		work_b();
		pthread_mutex_unlock(&lock_n);
	}
	return NULL;
}

static void lockstep(void)
{
	start_many(4, stepper);
	join_all();
}

/* sharded: T_M locks for one table, by key; with one of them it is satlock. */
static pthread_mutex_t shard_locks[SHARDS_MAX];

/* Keys come as they come: xorshift64 from another start in each thread. */
static void *scatter(void *rank)
{
	uint64_t shards = (uint64_t)count_of("T_M");
	uint64_t key = 0x9e3779b97f4a7c15 * ((uint64_t)(long)rank + 1);

	for (long i = count_of("T_N"); i > 0; i--) {
		key ^= key << 13;
		key ^= key >> 7;
		key ^= key << 17;
		pthread_mutex_t *lock = &shard_locks[(key >> 32) % shards];

		pthread_mutex_lock(lock);
		work_a();
		pthread_mutex_unlock(lock);
		work_b();
	}
	return NULL;
}

static void sharded(void)
{
	if (count_of("T_M") > SHARDS_MAX)
		die("is above 16", "T_M");
	for (int i = 0; i < SHARDS_MAX; i++)
		pthread_mutex_init(&shard_locks[i], NULL);
	start_many(4, scatter);
	join_all();
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = {
		{ "sharded", sharded },       { "flip", flip },
		{ "satlock", satlock },       { "wrapped", wrapped },
		{ "twolock", twolock },       { "convoy", convoy },
		{ "rwlock", rwlock },         { "inversion", inversion },
		{ "recursive", recursive },   { "trylock", trylock },
		{ "timedlock", timedlock },   { "spinlock", spinlock },
		{ "lockstep", lockstep },     { "futexlock", futexlock },
		{ "futexlocks", futexlocks }, { NULL, NULL }
	};

	return truth_main(argc, argv, patterns);
}
