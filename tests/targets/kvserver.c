/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: `table_lock` is what to make faster; `stats_lock`, taken three times as often,
 * is harmless.
 *
 * A small key-value server on 127.0.0.1 that speaks get, set and delete of memcached's text
 * protocol, one thread per connection. Values live in pages of 256 KiB. A page's checksum is made
 * anew after each change and verified before each read. All of it is done while `table_lock` is
 * held: that is the planted fault. The counters behind `stats_lock` are a few additions each.
 *
 *	kvserver PORT [LOG [PAGE_KIB]]      PORT 0: a free one; prints `listening on 127.0.0.1:PORT`
 *
 * With smaller pages there is less work under the lock: what a prediction can be held against.
 *
 * Threads: main accepts; each connection has a thread that owns its `struct client`. SIGTERM and
 * SIGINT are blocked everywhere and read from a signalfd by main. It then lets every client
 * finish the request it is in, joins all threads, and returns 0.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PAGES = 16,
	PAGE_KIB_MAX = 256,
	KEY_BYTES = 56,   /* with the NUL */
	VALUE_BYTES = 64, /* at most; a slot is 128 bytes */
	SLOTS_MAX = PAGE_KIB_MAX * 1024 / 128,
	CLIENTS_MAX = 64,
	LINE_BYTES = 256,
};

struct slot {
	char key[KEY_BYTES]; /* empty: the slot is free */
	uint64_t value_bytes;
	char value[VALUE_BYTES];
};

struct page {
	struct slot slots[SLOTS_MAX];
	uint64_t checksum;
};

_Static_assert(sizeof(struct slot) == 128, "a page has a whole number of slots");

struct client {
	pthread_t thread;
	int fd;
	bool in_use;        /* by main only: the thread is to be joined */
	_Atomic bool ended; /* by the thread, as its last act */
	size_t begin, end;  /* input not yet read: buffer[begin, end) */
	char buffer[4096];
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* guards pages */
static struct page pages[PAGES];
static size_t page_slots = SLOTS_MAX; /* in use; set before the first thread starts */

static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the counters below */
static uint64_t stats_requests, stats_bytes_in, stats_bytes_out;

static struct client clients[CLIENTS_MAX];
static _Atomic int log_fd = -1;

static void stats_add(uint64_t *counter, uint64_t amount)
{
	pthread_mutex_lock(&stats_lock);
	*counter += amount;
	pthread_mutex_unlock(&stats_lock);
}

/* --- The table -------------------------------------------------------------------------------- */

/* FNV-1a, a byte at a time: about 250 microseconds a page. */
static uint64_t __attribute__((noinline)) page_checksum(const struct page *page)
{
	const unsigned char *bytes = (const unsigned char *)page->slots;
	uint64_t hash = 0xcbf29ce484222325;
	for (size_t i = 0; i < page_slots * sizeof page->slots[0]; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

static struct page *page_of(const char *key)
{
	uint64_t hash = 5381;
	for (; *key; key++)
		hash = hash * 33 + (unsigned char)*key;
	return &pages[(hash ^ hash >> 17) % PAGES];
}

/* The slot of a key, or a free one, or NULL when the page is full. */
static struct slot *slot_find(struct page *page, const char *key)
{
	struct slot *free_slot = NULL;
	for (size_t i = 0; i < page_slots; i++) {
		struct slot *slot = &page->slots[i];
		if (strcmp(slot->key, key) == 0)
			return slot;
		if (!slot->key[0] && !free_slot)
			free_slot = slot;
	}
	return free_slot;
}

static bool table_set(const char *key, const char *value, size_t value_bytes)
{
	pthread_mutex_lock(&table_lock);
	struct page *page = page_of(key);
	struct slot *slot = slot_find(page, key);
	if (slot) {
		memset(slot, 0, sizeof *slot);
		memcpy(slot->key, key, strlen(key));
		memcpy(slot->value, value, value_bytes);
		slot->value_bytes = value_bytes;
		page->checksum = page_checksum(page);
	}
	pthread_mutex_unlock(&table_lock);
	return slot;
}

/* Returns the number of bytes copied to `value`, -1 when there is no such key. */
static ssize_t table_get(const char *key, char value[static VALUE_BYTES])
{
	ssize_t value_bytes = -1;
	pthread_mutex_lock(&table_lock);
	struct page *page = page_of(key);
	struct slot *slot = slot_find(page, key);
	if (slot && slot->key[0]) {
		if (page_checksum(page) != page->checksum)
			abort();
		value_bytes = (ssize_t)slot->value_bytes;
		memcpy(value, slot->value, slot->value_bytes);
	}
	pthread_mutex_unlock(&table_lock);
	return value_bytes;
}

static bool table_delete(const char *key)
{
	pthread_mutex_lock(&table_lock);
	struct page *page = page_of(key);
	struct slot *slot = slot_find(page, key);
	bool found = slot && slot->key[0];
	if (found) {
		memset(slot, 0, sizeof *slot);
		page->checksum = page_checksum(page);
	}
	pthread_mutex_unlock(&table_lock);
	return found;
}

/* --- One connection -----------------------------------------------------------------------------
 */

/* Reads more input; false at its end. */
static bool client_fill(struct client *client)
{
	memmove(client->buffer, client->buffer + client->begin, client->end - client->begin);
	client->end -= client->begin;
	client->begin = 0;
	ssize_t got =
		read(client->fd, client->buffer + client->end, sizeof client->buffer - client->end);
	if (got <= 0)
		return false;
	client->end += (size_t)got;
	return true;
}

/* A line without its end; false at the end of input or when it is too long. */
static bool client_line(struct client *client, char line[static LINE_BYTES])
{
	for (;;) {
		char *begin = client->buffer + client->begin;
		char *newline = memchr(begin, '\n', client->end - client->begin);
		if (newline) {
			size_t bytes = (size_t)(newline - begin);
			client->begin += bytes + 1;
			if (bytes && begin[bytes - 1] == '\r')
				bytes--;
			if (bytes >= LINE_BYTES)
				return false;
			memcpy(line, begin, bytes);
			line[bytes] = '\0';
			return true;
		}
		if (client->end - client->begin >= LINE_BYTES || !client_fill(client))
			return false;
	}
}

/* The data block of a set and its line end. */
static bool client_block(struct client *client, char *block, size_t block_bytes)
{
	while (client->end - client->begin < block_bytes + 2)
		if (!client_fill(client))
			return false;
	memcpy(block, client->buffer + client->begin, block_bytes);
	client->begin += block_bytes + 2;
	return true;
}

static bool client_answer(struct client *client, const char *answer, size_t answer_bytes)
{
	stats_add(&stats_bytes_out, answer_bytes);
	return send(client->fd, answer, answer_bytes, MSG_NOSIGNAL) == (ssize_t)answer_bytes;
}

static bool client_say(struct client *client, const char *answer)
{
	return client_answer(client, answer, strlen(answer));
}

static void log_set(const char *key, size_t value_bytes)
{
	char line[LINE_BYTES];
	int bytes = snprintf(line, sizeof line, "set %s %zu\n", key, value_bytes);
	if (log_fd >= 0 && write(log_fd, line, (size_t)bytes) != bytes)
		log_fd = -1;
}

static bool serve_set(struct client *client, const char *key, size_t value_bytes)
{
	char value[VALUE_BYTES];
	if (value_bytes > VALUE_BYTES || !client_block(client, value, value_bytes))
		return false;
	if (!table_set(key, value, value_bytes))
		return client_say(client, "SERVER_ERROR page is full\r\n");
	log_set(key, value_bytes);
	return client_say(client, "STORED\r\n");
}

static bool serve_get(struct client *client, const char *key)
{
	char value[VALUE_BYTES], answer[LINE_BYTES + VALUE_BYTES];
	ssize_t value_bytes = table_get(key, value);
	if (value_bytes < 0)
		return client_say(client, "END\r\n");
	int head_bytes = snprintf(answer, LINE_BYTES, "VALUE %s 0 %zd\r\n", key, value_bytes);
	char *end = mempcpy(answer + head_bytes, value, (size_t)value_bytes);
	end = mempcpy(end, "\r\nEND\r\n", 7);
	return client_answer(client, answer, (size_t)(end - answer));
}

static bool serve_stats(struct client *client)
{
	char answer[LINE_BYTES];
	pthread_mutex_lock(&stats_lock);
	int bytes = snprintf(answer, sizeof answer,
			     "STAT requests %ju\r\nSTAT in %ju\r\nSTAT out %ju\r\nEND\r\n",
			     (uintmax_t)stats_requests, (uintmax_t)stats_bytes_in,
			     (uintmax_t)stats_bytes_out);
	pthread_mutex_unlock(&stats_lock);
	return client_answer(client, answer, (size_t)bytes);
}

/* Serves one request; false when the connection is to be closed. */
static bool serve(struct client *client, const char *line)
{
	char key[KEY_BYTES];
	size_t value_bytes;
	stats_add(&stats_requests, 1);
	stats_add(&stats_bytes_in, strlen(line));
	if (sscanf(line, "get %55s", key) == 1)
		return serve_get(client, key);
	if (sscanf(line, "set %55s %*u %*u %zu", key, &value_bytes) == 2)
		return serve_set(client, key, value_bytes);
	if (sscanf(line, "delete %55s", key) == 1)
		return client_say(client, table_delete(key) ? "DELETED\r\n" : "NOT_FOUND\r\n");
	if (strcmp(line, "stats") == 0)
		return serve_stats(client);
	return strcmp(line, "quit") != 0 && client_say(client, "ERROR\r\n");
}

static void *client_main(void *argument)
{
	struct client *client = argument;
	char line[LINE_BYTES];
	while (client_line(client, line) && serve(client, line))
		;
	shutdown(client->fd, SHUT_RDWR);
	client->ended = true;
	return NULL;
}

/* --- The server ---------------------------------------------------------------------------------
 */

static void client_reap(struct client *client)
{
	pthread_join(client->thread, NULL);
	close(client->fd);
	client->in_use = false;
}

static void client_start(int fd)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &clients[i];
		if (client->in_use && client->ended)
			client_reap(client);
		if (client->in_use)
			continue;
		client->fd = fd;
		client->ended = false;
		client->begin = client->end = 0;
		if (pthread_create(&client->thread, NULL, client_main, client) != 0)
			break;
		client->in_use = true;
		return;
	}
	close(fd);
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t address_bytes = sizeof address;
	int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(fd, CLIENTS_MAX) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &address_bytes) != 0) {
		perror("kvserver: listen");
		return -1;
	}
	printf("listening on 127.0.0.1:%u\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

/* Accepts until a signal arrives. */
static void accept_clients(int listen_fd, int signal_fd)
{
	struct pollfd ready[] = { { .fd = signal_fd, .events = POLLIN },
				  { .fd = listen_fd, .events = POLLIN } };
	for (;;) {
		if (poll(ready, 2, -1) < 0 && errno != EINTR)
			return;
		if (ready[0].revents)
			return;
		if (!ready[1].revents)
			continue;
		int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			client_start(fd);
	}
}

int main(int argc, char **argv)
{
	int port = argc >= 2 ? atoi(argv[1]) : -1,
	    page_kib = argc == 4 ? atoi(argv[3]) : PAGE_KIB_MAX;
	if (argc > 4 || port < 0 || port > UINT16_MAX || page_kib < 1 || page_kib > PAGE_KIB_MAX) {
		fprintf(stderr, "usage: kvserver PORT [LOG [PAGE_KIB]]\n");
		return 2;
	}
	page_slots = (size_t)page_kib * 1024 / sizeof(struct slot);
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (argc >= 3)
		log_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	for (size_t i = 0; i < PAGES; i++)
		pages[i].checksum = page_checksum(&pages[i]);
	int listen_fd = listen_on((uint16_t)port);
	if (listen_fd < 0 || signal_fd < 0)
		return 1;

	accept_clients(listen_fd, signal_fd);
	close(listen_fd);
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (!clients[i].in_use)
			continue;
		shutdown(clients[i].fd, SHUT_RD);
		client_reap(&clients[i]);
	}
	return 0;
}
