/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: the tail is what few requests do while the others wait: a miss, a scan, a flush, a
 * compaction.
 *
 * Servers with a thread for each connection, which share something. The comment above each service
 * says what, and which piece is work on it. Not here: other ways to read and answer.
 */
#include "serving.h"

#include <semaphore.h>

enum { DATABASE_CONNECTIONS_MAX = 8, COMPACT_EVERY_NS = 50 * NS_PER_US * 1000 };

/* cached: readers share the cache (work_a). A miss fetches (work_b) and stores as the only one
 * (work_c). */
static pthread_rwlock_t cache_lock = PTHREAD_RWLOCK_INITIALIZER;

static void cached_serve(const struct request *request)
{
	pthread_rwlock_rdlock(&cache_lock);
	work_a();
	pthread_rwlock_unlock(&cache_lock);
	if (!is_slow(request))
		return;
	work_b();
	pthread_rwlock_wrlock(&cache_lock);
	work_c();
	pthread_rwlock_unlock(&cache_lock);
}

static void cached(void)
{
	serve_threaded(cached_serve);
}

/* planted: few requests keep the index for longer (work_b) than all others (work_a); rest is
 * work_c. */
static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void index_scan(void)
{
	pthread_mutex_lock(&index_lock);
	work_b();
	pthread_mutex_unlock(&index_lock);
}

static NOINLINE void index_find(void)
{
	pthread_mutex_lock(&index_lock);
	work_a();
	pthread_mutex_unlock(&index_lock);
}

static void planted_serve(const struct request *request)
{
	if (is_slow(request))
		index_scan();
	else
		index_find();
	work_c();
}

static void planted(void)
{
	serve_threaded(planted_serve);
}

/* committed: the first commit that finds no flush under way flushes (work_b) for all that wait. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t log_flushed = PTHREAD_COND_INITIALIZER;
static long log_end, log_safe;
static bool is_flushing;

static void committed_serve(const struct request *request UNUSED)
{
	long mine;

	work_a();
	pthread_mutex_lock(&log_lock);
	mine = ++log_end;
	while (log_safe < mine) {
		long until = log_end;

		if (is_flushing) {
			pthread_cond_wait(&log_flushed, &log_lock);
			continue;
		}
		is_flushing = true;
		pthread_mutex_unlock(&log_lock);
		work_b();
		pthread_mutex_lock(&log_lock);
		is_flushing = false;
		log_safe = until;
		pthread_cond_broadcast(&log_flushed);
	}
	pthread_mutex_unlock(&log_lock);
}

static void committed(void)
{
	serve_threaded(committed_serve);
}

/* connected: T_W connections to a database, whose threads answer after work_b, of the slow kind
 * work_c. */
static sem_t free_connections;
static pthread_mutex_t connections_lock = PTHREAD_MUTEX_INITIALIZER;
static int connections[DATABASE_CONNECTIONS_MAX];
static long connections_free;

static void *database(void *argument)
{
	int fd = (int)(long)argument;
	struct request request;

	while (request_read(fd, &request)) {
		if (is_slow(&request))
			work_c();
		else
			work_b();
		answer(fd);
	}
	return NULL;
}

static int connection_borrow(void)
{
	int fd;

	while (sem_wait(&free_connections))
		;
	pthread_mutex_lock(&connections_lock);
	fd = connections[--connections_free];
	pthread_mutex_unlock(&connections_lock);
	return fd;
}

static void connection_return(int fd)
{
	pthread_mutex_lock(&connections_lock);
	connections[connections_free++] = fd;
	pthread_mutex_unlock(&connections_lock);
	sem_post(&free_connections);
}

static void connected_serve(const struct request *request)
{
	char rows[ANSWER_BYTES];
	int fd;

	work_a();
	fd = connection_borrow();
	write_all(fd, request, sizeof(*request));
	if (!read_all(fd, rows, sizeof(rows)))
		die("the database is gone", "read");
	connection_return(fd);
}

static void connected(void)
{
	for (long i = 0; i < count_of("T_W"); i++) {
		int ends[2];

		die_if(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
		start_detached(database, ends[1]);
		connections[connections_free++] = ends[0];
	}
	sem_init(&free_connections, 0, (unsigned)count_of("T_W"));
	serve_threaded(connected_serve);
}

/* compacting: requests hold the table (work_a) briefly; every 50 ms a thread holds it for work_b.
 * */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static void *compactor(void *unused UNUSED)
{
	const struct timespec pause = to_timespec(COMPACT_EVERY_NS);

	for (;;) {
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&table_lock);
		work_b();
		pthread_mutex_unlock(&table_lock);
	}
	return NULL;
}

static void compacting_serve(const struct request *request UNUSED)
{
	pthread_mutex_lock(&table_lock);
	work_a();
	pthread_mutex_unlock(&table_lock);
	work_c();
}

static void compacting(void)
{
	start_detached(compactor, 0);
	serve_threaded(compacting_serve);
}

/* collected: requests allocate; whoever finds the heap full stops all others, and collects
 * (work_b). */
static pthread_rwlock_t world_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static long heap_used;

static void collected_serve(const struct request *request UNUSED)
{
	bool is_full;

	pthread_rwlock_rdlock(&world_lock);
	work_a();
	pthread_mutex_lock(&heap_lock);
	is_full = ++heap_used % count_of("T_HEAP") == 0;
	pthread_mutex_unlock(&heap_lock);
	pthread_rwlock_unlock(&world_lock);
	if (!is_full)
		return;
	pthread_rwlock_wrlock(&world_lock);
	work_b();
	pthread_rwlock_unlock(&world_lock);
}

static void collected(void)
{
	serve_threaded(collected_serve);
}

int main(int argc, char **argv)
{
	static const struct service services[] = { { "cached", cached, 0, NULL },
						   { "planted", planted, 0, NULL },
						   { "committed", committed, 0, NULL },
						   { "connected", connected, 0, NULL },
						   { "compacting", compacting, 0, NULL },
						   { "collected", collected, 0, NULL },
						   { NULL, NULL, 0, NULL } };

	return serving_main(argc, argv, services);
}
