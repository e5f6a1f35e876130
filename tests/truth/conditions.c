/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: a queue's slower side decides (bq, pipeline, latch, drain). A computation that others
 * wait for counts once (sflight), a job counts on whichever worker takes it (jobpool, herd).
 *
 * Patterns in which threads hand things over by a mutex and condition variables. All counters
 * belong to the mutex beside them. The comment above each says which pieces matter and which trap
 * it sets. Not here: semaphores, pipes; the condition must be what carries the hand-over.
 */
#include "truth.h"

#include <stdatomic.h>
#include <stdbool.h>

enum {
	KEYS = 12,
	LATCH_ROUNDS_MAX = 256,
	LATCH_PARTIES = 4,
	QUEUE_CAPACITY = 8,
	SLOW_JOB_EVERY = 7
};

static pthread_mutex_t lock_m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;

/*
 * sflight: the first thread computes (work_a), the others wait for its result and use it
 * (work_b).
 */
static enum { KEY_NEW, KEY_BUSY, KEY_DONE } keys[KEYS];

static void compute(int key)
{
	keys[key] = KEY_BUSY;
	pthread_mutex_unlock(&lock_m);
	work_a();
	pthread_mutex_lock(&lock_m);
	keys[key] = KEY_DONE;
	pthread_cond_broadcast(&ready);
}

static void *look_up_all(void *unused UNUSED)
{
	for (int key = 0; key < KEYS; key++) {
		pthread_mutex_lock(&lock_m);
		if (keys[key] == KEY_NEW)
			compute(key);
		while (keys[key] != KEY_DONE)
			pthread_cond_wait(&ready, &lock_m);
		pthread_mutex_unlock(&lock_m);
		work_b();
	}
	return NULL;
}

static void sflight(void)
{
	start_many(4, look_up_all);
	join_all();
}

/* jobpool, herd: one queue without a limit, its end announced by a broadcast. */
static long jobs_taken, jobs_given;
static bool closed;

static long take_job(void)
{
	long job = -1;

	pthread_mutex_lock(&lock_m);
	while (jobs_taken == jobs_given && !closed)
		pthread_cond_wait(&ready, &lock_m);
	if (jobs_taken < jobs_given)
		job = jobs_taken++;
	pthread_mutex_unlock(&lock_m);
	return job;
}

static void give_jobs(int (*announce)(pthread_cond_t *))
{
	for (long i = count_of("T_N"); i > 0; i--) {
		work_c();
		pthread_mutex_lock(&lock_m);
		jobs_given++;
		announce(&ready);
		pthread_mutex_unlock(&lock_m);
	}
	pthread_mutex_lock(&lock_m);
	closed = true;
	pthread_cond_broadcast(&ready);
	pthread_mutex_unlock(&lock_m);
}

static void *worker(void *unused UNUSED)
{
	for (long job = take_job(); job >= 0; job = take_job()) {
		if (job % SLOW_JOB_EVERY == 3)
			work_b();
		else
			work_a();
	}
	return NULL;
}

/* jobpool: which worker gets a slow job (work_b) changes with every change of the others. */
static void jobpool(void)
{
	start_many(4, worker);
	give_jobs(pthread_cond_signal);
	join_all();
}

/* widepool: the same with T_W workers, to see what others would bring. */
static void widepool(void)
{
	start_many(count_of("T_W"), worker);
	give_jobs(pthread_cond_signal);
	join_all();
}

/*
 * herd: every job wakes all workers, one gets it; the false wake-ups are no hand-overs but cost
 * CPU.
 */
static void herd(void)
{
	start_many(8, worker);
	give_jobs(pthread_cond_broadcast);
	join_all();
}

/*
 * stolen: a job is put into its place (work_c) under the lock, where workers come by meanwhile. One
 * that was woken for the job may find it taken: then it leaves the queue, and comes back.
 */
static long pop_job(bool *is_over)
{
	long job = -1;

	pthread_mutex_lock(&lock_m);
	if (jobs_taken == jobs_given && !closed)
		pthread_cond_wait(&ready, &lock_m);
	if (jobs_taken < jobs_given)
		job = jobs_taken++;
	*is_over = job < 0 && closed;
	pthread_mutex_unlock(&lock_m);
	return job;
}

static void *popper(void *unused UNUSED)
{
	bool is_over = false;

	while (!is_over) {
		long job = pop_job(&is_over);

		if (job >= 0 && job % SLOW_JOB_EVERY == 3)
			work_b();
		else if (job >= 0)
			work_a();
	}
	return NULL;
}

static void stolen(void)
{
	start_many(4, popper);
	for (long i = count_of("T_N"); i > 0; i--) {
		pthread_mutex_lock(&lock_m);
		jobs_given++;
		pthread_cond_signal(&ready);
		work_c();
		pthread_mutex_unlock(&lock_m);
		work_d();
	}
	pthread_mutex_lock(&lock_m);
	closed = true;
	pthread_cond_broadcast(&ready);
	pthread_mutex_unlock(&lock_m);
	join_all();
}

/* A bounded queue: its capacity is nowhere to be read, it shows in who waits when. */
struct queue {
	pthread_mutex_t *lock;
	pthread_cond_t not_empty, not_full;
	int length, room;
};

#define QUEUE_INITIALIZER(mutex)                                                                \
	{                                                                                       \
		&(mutex), PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, QUEUE_CAPACITY \
	}

static pthread_mutex_t lock_n = PTHREAD_MUTEX_INITIALIZER;
static struct queue first_queue = QUEUE_INITIALIZER(lock_m);
static struct queue second_queue = QUEUE_INITIALIZER(lock_n);
static struct queue same_lock_queue = QUEUE_INITIALIZER(lock_m);

static void queue_put(struct queue *queue)
{
	pthread_mutex_lock(queue->lock);
	while (queue->length == queue->room)
		pthread_cond_wait(&queue->not_full, queue->lock);
	queue->length++;
	pthread_cond_signal(&queue->not_empty);
	pthread_mutex_unlock(queue->lock);
}

static void queue_take(struct queue *queue)
{
	pthread_mutex_lock(queue->lock);
	while (queue->length == 0)
		pthread_cond_wait(&queue->not_empty, queue->lock);
	queue->length--;
	pthread_cond_signal(&queue->not_full);
	pthread_mutex_unlock(queue->lock);
}

static void *first_stage(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		queue_put(&first_queue);
	}
	return NULL;
}

static void *last_stage(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		queue_take(&first_queue);
		work_b();
	}
	return NULL;
}

/* bq: the producer (work_a) waits most and is not to blame; halving work_b meets it, then it is. */
static void bq(void)
{
	start(first_stage, 0);
	start(last_stage, 0);
	join_all();
}

/*
 * bursts: work_a, then so many items at once; T_W workers take work_b for each. With less room
 * than a burst has items, work_a begins late and the workers have nothing to do in it.
 */
static void *burst_worker(void *unused UNUSED)
{
	static atomic_long taken;

	for (;;) {
		queue_take(&first_queue);
		if (atomic_fetch_add(&taken, 1) >= count_of("T_N"))
			return NULL;
		work_b();
	}
}

static void bursts(void)
{
	first_queue.room = (int)count_of("T_Q");
	start_many(count_of("T_W"), burst_worker);
	for (long i = 0; i < count_of("T_N"); i++) {
		if (i % count_of("T_M") == 0)
			work_a();
		queue_put(&first_queue);
	}
	for (long i = count_of("T_W"); i > 0; i--)
		queue_put(&first_queue);
	join_all();
}

static void *middle_stage(void *next)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		queue_take(&first_queue);
		work_b();
		queue_put(next);
	}
	return NULL;
}

static void *third_stage(void *previous)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		queue_take(previous);
		work_c();
	}
	return NULL;
}

/*
 * pipeline: three stages on two CPUs; work_b is the slowest, but the CPUs limit what its fix
 * gives.
 */
static void pipeline(void)
{
	start(first_stage, 0);
	start(middle_stage, (long)&second_queue);
	start(third_stage, (long)&second_queue);
	join_all();
}

/*
 * twoqueues: as pipeline, but both queues live under one mutex and behind the same two
 * functions.
 */
static void twoqueues(void)
{
	start(first_stage, 0);
	start(middle_stage, (long)&same_lock_queue);
	start(third_stage, (long)&same_lock_queue);
	join_all();
}

/*
 * latch: a round is over when the last of four is done: work_a (one of them), then work_b
 * (three).
 */
static int arrived[LATCH_ROUNDS_MAX];

static void *party(void *rank)
{
	long rounds = count_of("T_N");

	for (long i = 0; i < rounds; i++) {
		if (rank)
			work_b();
		else
			work_a();
		pthread_mutex_lock(&lock_m);
		if (++arrived[i] == LATCH_PARTIES)
			pthread_cond_signal(&ready);
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static void latch(void)
{
	long rounds = count_of("T_N");

	if (rounds > LATCH_ROUNDS_MAX)
		die("is above 256", "T_N");
	start_many(LATCH_PARTIES, party);
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock_m);
		while (arrived[i] < LATCH_PARTIES)
			pthread_cond_wait(&ready, &lock_m);
		pthread_mutex_unlock(&lock_m);
		work_c();
	}
	join_all();
}

/* drain, sigempty, unwaited: signal only when the queue was empty; few signals, many items. */
static long backlog;

static void give_item(void)
{
	pthread_mutex_lock(&lock_m);
	if (backlog++ == 0)
		pthread_cond_signal(&ready);
	pthread_mutex_unlock(&lock_m);
}

static void *item_giver(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		give_item();
	}
	pthread_mutex_lock(&lock_m);
	closed = true;
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&lock_m);
	return NULL;
}

/* drain: the consumer takes all there is at once: work_c a batch, work_b an item. */
static long take_batch(void)
{
	long batch;

	pthread_mutex_lock(&lock_m);
	while (backlog == 0 && !closed)
		pthread_cond_wait(&ready, &lock_m);
	batch = backlog;
	backlog = 0;
	pthread_mutex_unlock(&lock_m);
	return batch;
}

static void drain(void)
{
	start(item_giver, 0);
	for (long batch = take_batch(); batch > 0; batch = take_batch()) {
		work_c();
		while (batch-- > 0)
			work_b();
	}
	join_all();
}

/* sigempty: one item at a time. unwaited: the same with a consumer so slow that it never waits. */
static void sigempty(void)
{
	start(item_giver, 0);
	for (long i = count_of("T_N"); i > 0; i--) {
		pthread_mutex_lock(&lock_m);
		while (backlog == 0)
			pthread_cond_wait(&ready, &lock_m);
		backlog--;
		pthread_mutex_unlock(&lock_m);
		work_b();
	}
	join_all();
}

/* unwaited: two items are there before the consumer comes, and it is slower than its producer. */
static void unwaited(void)
{
	give_item();
	give_item();
	sigempty();
}

/*
 * pingpong: request (work_a), service (work_b), and after the answer what nobody waits for
 * (work_c).
 */
static long requests, answers;

static void *client(void *unused UNUSED)
{
	long rounds = count_of("T_N");

	for (long i = 0; i < rounds; i++) {
		work_a();
		pthread_mutex_lock(&lock_m);
		requests++;
		pthread_cond_signal(&ready);
		while (answers <= i)
			pthread_cond_wait(&answered, &lock_m);
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static void pingpong(void)
{
	long rounds = count_of("T_N");

	start(client, 0);
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock_m);
		while (requests <= i)
			pthread_cond_wait(&ready, &lock_m);
		pthread_mutex_unlock(&lock_m);
		work_b();
		pthread_mutex_lock(&lock_m);
		answers++;
		pthread_cond_signal(&answered);
		pthread_mutex_unlock(&lock_m);
		work_c();
	}
	join_all();
}

/*
 * flusher: a consumer that waits no longer than work_e's length, then does its housekeeping
 * (work_c). With T_E long the time never runs out and this is sigempty; with T_E short it runs
 * out mostly.
 */
static bool wait_for_item(void)
{
	uint64_t patience_ns = (uint64_t)work_e_piece.request.tv_sec * NS_PER_S +
			       (uint64_t)work_e_piece.request.tv_nsec;
	struct timespec now, deadline;

	clock_gettime(CLOCK_REALTIME, &now);
	deadline =
		to_timespec((uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec + patience_ns);
	while (backlog == 0 && !closed)
		if (pthread_cond_timedwait(&ready, &lock_m, &deadline) == ETIMEDOUT)
			return false;
	return true;
}

static bool flush_once(void)
{
	bool over = false, has_item = false;

	pthread_mutex_lock(&lock_m);
	if (wait_for_item()) {
		has_item = backlog > 0;
		over = !has_item;
		backlog -= has_item;
	}
	pthread_mutex_unlock(&lock_m);
	if (has_item)
		work_b();
	else if (!over)
		work_c();
	return !over;
}

static void flusher(void)
{
	start(item_giver, 0);
	while (flush_once())
		;
	join_all();
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = {
		{ "sflight", sflight },     { "jobpool", jobpool },
		{ "widepool", widepool },   { "herd", herd },
		{ "stolen", stolen },       { "bq", bq },
		{ "bursts", bursts },       { "pipeline", pipeline },
		{ "twoqueues", twoqueues }, { "latch", latch },
		{ "drain", drain },         { "sigempty", sigempty },
		{ "unwaited", unwaited },   { "pingpong", pingpong },
		{ "flusher", flusher },     { NULL, NULL }
	};

	return truth_main(argc, argv, patterns);
}
