/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of one directory, followed from their first arena to their last event.
 *
 * An image is an arena that is kept mapped. Each tick looks for new images, drains those that need
 * it and collects the dead. One thread.
 */
#include "follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "private.h"
#include "procfs.h"
#include "remains.h"
#include "visible.h"

enum {
	/* An image is drained when it has filled this part of its room, or of the memory that is
	 * left. Also when so many events would be lost to the file if it could not be written
	 * whole. */
	FULL_PART = 8,
	MEMORY_PART = 4,
	EVENTS_MOST = 524288,
	/* Else so often; less often while it records little, for each dump repeats its names
	 * and stacks. */
	DRAIN_PERIOD_MS = 1000,
	DRAIN_PERIOD_MS_MOST = 10000,
	EVENT_BYTES = 100,
	/* Looking through a process's memory map is not free. */
	MAPS_PERIOD_MS = 1000,
	/* A process that records into private memory is asked for its events often: they are lost
	 * when it ends. */
	PRIVATES_PERIOD_MS = 200
};

struct image {
	struct remains remains;
	uint64_t drained_ms;
	uint64_t looked_ms;    /* at its memory map */
	uint64_t header_bytes; /* of its last dump */
	uint64_t pending;      /* as of the last tick */
	uint64_t pending_bytes;
	bool is_held;
};

/* An arena that the last look at the shared memory directory found. */
struct seen {
	struct remains_name name;
	bool is_known; /* ours and in images, or not ours: need not be looked at again */
};

struct follow {
	char directory[128];
	uint64_t session;
	struct output *output;
	void (*between)(void *);
	void *context;
	struct image *images;
	size_t image_count;
	size_t total; /* images ever */
	struct seen *seen;
	size_t seen_count;
	struct private_list privates;
	uint64_t privates_ms; /* when they were looked for last */
	int error;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct follow *follow_start(const char *directory, uint64_t session, struct output *output,
			    void (*between)(void *), void *context)
{
	struct follow *follow = calloc(1, sizeof(*follow));

	if (!follow)
		return NULL;
	snprintf(follow->directory, sizeof(follow->directory), "%s", directory);
	follow->session = session;
	follow->output = output;
	follow->between = between;
	follow->context = context;
	return follow;
}

void follow_free(struct follow *follow)
{
	for (size_t i = 0; i < follow->image_count; i++)
		remains_close(&follow->images[i].remains);
	free(follow->images);
	free(follow->seen);
	private_free(&follow->privates);
	free(follow);
}

size_t follow_living(const struct follow *follow)
{
	return follow->image_count + follow->privates.count;
}

size_t follow_count(const struct follow *follow)
{
	return follow->total + follow->privates.total;
}

uint64_t follow_pending(const struct follow *follow)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < follow->image_count; i++)
		sum += follow->images[i].pending;
	return sum;
}

/* --- Who is new ------------------------------------------------------------------------------- */

static bool is_same(const struct remains_name *a, const struct remains_name *b)
{
	return a->pid == b->pid && a->start_ticks == b->start_ticks &&
	       a->generation == b->generation && strcmp(a->path, b->path) == 0;
}

static bool was_known(const struct follow *follow, const struct remains_name *name)
{
	/* Both lists are in order of pid. */
	size_t low = 0, high = follow->seen_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (follow->seen[middle].name.pid < name->pid)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < follow->seen_count && follow->seen[low].name.pid == name->pid; low++)
		if (is_same(&follow->seen[low].name, name))
			return follow->seen[low].is_known;
	return false;
}

/* A new image of the same process may get the name of one that has been removed. */
static void forget_name(struct follow *follow, const char *path)
{
	for (size_t i = 0; i < follow->seen_count; i++)
		if (strcmp(follow->seen[i].name.path, path) == 0)
			follow->seen[i].is_known = false;
}

static bool add_image(struct follow *follow, const struct remains *remains)
{
	struct image *grown =
		realloc(follow->images, (follow->image_count + 1) * sizeof(*follow->images));

	if (!grown)
		return false;
	follow->images = grown;
	grown[follow->image_count++] = (struct image){
		.remains = *remains,
		.drained_ms = now_ms(),
		.looked_ms = now_ms(),
		.is_held = remains_hold(remains),
	};
	follow->total++;
	return true;
}

/* True: it need not be looked at again. */
static bool look_at(struct follow *follow, const struct remains_name *name)
{
	struct remains remains;
	int result = remains_open(&remains, name->path);

	if (result != 0)
		return result != -EAGAIN;
	if (remains_is_of_session(&remains, follow->directory, follow->session)) {
		if (add_image(follow, &remains))
			return true;
		remains_close(&remains);
		return false;
	}
	/* The first op is the last thing that its process writes before it begins. */
	result = load_acquire(&remains.arena->process_op.type) == RECORD_OP;
	remains_close(&remains);
	return result;
}

static void find_new(struct follow *follow)
{
	size_t count;
	struct remains_name *names = remains_list(&count, true); /* children become others */
	struct seen *seen = count > 0 ? calloc(count, sizeof(*seen)) : NULL;

	for (size_t i = 0; i < count && seen; i++)
		seen[i] = (struct seen){ names[i], was_known(follow, &names[i]) ||
							   look_at(follow, &names[i]) };
	free(names);
	free(follow->seen);
	follow->seen = seen;
	follow->seen_count = seen ? count : 0;
}

/* --- Dumps ------------------------------------------------------------------------------------ */

static int take_bytes(void *context, const char *bytes, size_t count)
{
	struct follow *follow = context;

	follow->between(follow->context);
	return output_write(follow->output, bytes, count);
}

/* 0, or an error of the file; whatever else goes wrong is for the next tick. */
static int end_dump(struct follow *follow, struct image *image, int result)
{
	int error = output_settle(follow->output, result);

	image->drained_ms = now_ms();
	if (result == 0) {
		image->header_bytes = output_header_bytes(follow->output);
		image->pending = 0;
	}
	return error;
}

/* In pid name spaces of their own several processes may have the same pid, and the same socket. */
static bool listens_at(struct image *image, const char *socket)
{
	pid_t pid = 0;
	int fd = access(socket, F_OK) == 0 ? client_connect(socket, &pid) : -1;

	if (fd < 0)
		return false;
	close(fd);
	return pid == 0 || pid == remains_pid(&image->remains);
}

static int drain(struct follow *follow, struct image *image)
{
	const char *socket = image->remains.arena->socket;
	uint32_t dumps_before = load_acquire(&image->remains.arena->dump_count);
	struct procfs_status status;
	int result = -ENOTCONN;

	/* One that is stopped would keep us waiting. */
	output_begin(follow->output);
	if (procfs_read(remains_pid(&image->remains), &status) && !status.is_stopped &&
	    listens_at(image, socket)) {
		result = client_dump(socket, true, take_bytes, follow);
		/* Its own count says whether it knows. */
		if (result == 0 && load_acquire(&image->remains.arena->dump_count) == dumps_before)
			result = -EPIPE;
	} else if (image->pending_bytes >= remains_room(&image->remains) / 2) {
		result = remains_drain_living(&image->remains, take_bytes, follow);
	}
	return end_dump(follow, image, result);
}

static bool has_news(const struct image *image)
{
	const struct arena *arena = image->remains.arena;
	return remains_pending(&image->remains) > 0 || arena->dump_count == 0 ||
	       (arena->process_op.end != 0 && arena->process_op.flags == 0);
}

/* The rest of a dead image; -EAGAIN: another process is at it. No fsync(): the program's own would
 * wait for it, and what ends the machine ends the arena, too. */
static int collect(struct follow *follow, struct image *image)
{
	int result = 0;
	if (has_news(image)) {
		output_begin(follow->output);
		result = remains_recover(&image->remains, take_bytes, follow, false);
		if (result == -EBUSY) {
			output_abandon(follow->output);
			return -EAGAIN;
		}
		if (end_dump(follow, image, result) != 0)
			return result;
	}
	if (result == 0)
		result = remains_remove(&image->remains);
	if (result == 0 || result == -ENOENT)
		forget_name(follow, image->remains.path);
	else
		fprintf(stderr, "wcprof: %s: %s; it stays there\n", visible(image->remains.path),
			result == -EINVAL ? "damaged" : strerror(-result));
	remains_close(&image->remains);
	return 0;
}

/* --- The tick --------------------------------------------------------------------------------- */

/* Whether there is a later image of the same process: then exec has ended this one. */
static bool is_replaced(const struct follow *follow, const struct image *image)
{
	const struct arena *arena = image->remains.arena;

	for (size_t i = 0; i < follow->image_count; i++) {
		const struct arena *other = follow->images[i].remains.arena;

		/* Those that were collected in this tick have none any more. */
		if (other && other != arena && other->pid == arena->pid &&
		    other->pid_namespace == arena->pid_namespace &&
		    other->start_ticks == arena->start_ticks &&
		    other->clock.base.ticks > arena->clock.base.ticks)
			return true;
	}
	return false;
}

static bool is_dead(const struct follow *follow, struct image *image, uint64_t now)
{
	if (remains_pid(&image->remains) == 0)
		return true;
	if (!is_replaced(follow, image) && now < image->looked_ms + MAPS_PERIOD_MS)
		return false;
	image->looked_ms = now;
	return remains_state(&image->remains) == REMAINS_DEAD;
}

static uint64_t free_memory_bytes(void)
{
	struct statvfs info;

	return statvfs(ARENA_DIRECTORY, &info) == 0 ? (uint64_t)info.f_bavail * info.f_frsize
						    : UINT64_MAX;
}

static bool is_due(const struct image *image, uint64_t now, uint64_t memory)
{
	uint64_t since_ms = now - image->drained_ms;

	if (image->pending == 0)
		return false;
	if (image->pending >= EVENTS_MOST ||
	    image->pending_bytes >= remains_room(&image->remains) / FULL_PART ||
	    image->pending_bytes > memory / MEMORY_PART)
		return true;
	if (since_ms < DRAIN_PERIOD_MS)
		return false;
	return since_ms >= DRAIN_PERIOD_MS_MOST ||
	       image->pending * EVENT_BYTES >= image->header_bytes;
}

/* Turns recording off everywhere, so that programs do not fill memory for nobody. */
static void give_up(struct follow *follow, int error)
{
	struct client_answer answer;

	follow->error = error;
	for (size_t i = 0; i < follow->image_count; i++)
		(void)client_ask(follow->images[i].remains.arena->socket, "DISABLE", &answer);
}

/* Drains or collects the image; *gone: it is no more. */
static int serve(struct follow *follow, struct image *image, uint64_t memory, bool *gone)
{
	uint64_t now = now_ms();
	int result = 0;

	image->is_held |= remains_hold(&image->remains);
	*gone = is_dead(follow, image, now);
	if (*gone) {
		if (follow->error)
			remains_close(&image->remains);
		else
			result = collect(follow, image);
		*gone = result == 0;
		return result == -EAGAIN ? 0 : result;
	}
	image->pending = remains_pending(&image->remains);
	image->pending_bytes = remains_pending_bytes(&image->remains);
	if (!follow->error && is_due(image, now, memory))
		result = drain(follow, image);
	return result;
}

static bool has_image(const void *context, pid_t pid)
{
	const struct follow *follow = context;

	for (size_t i = 0; i < follow->image_count; i++)
		if ((pid_t)follow->images[i].remains.arena->pid == pid ||
		    follow->images[i].remains.pid == pid)
			return true;
	return false;
}

/* An arena tells where its process listens. */
static bool has_image_at(const void *context, const char *socket)
{
	const struct follow *follow = context;

	for (size_t i = 0; i < follow->image_count; i++)
		if (strcmp(follow->images[i].remains.arena->socket, socket) == 0)
			return true;
	return false;
}

/* All that record into private memory; 0, or an error of the file. */
static int drain_privates(struct follow *follow)
{
	int result = 0;

	for (size_t i = 0; i < follow->privates.count && result == 0; i++) {
		output_begin(follow->output);
		result =
			client_dump(follow->privates.processes[i].socket, true, take_bytes, follow);
		result = output_settle(follow->output, result);
	}
	return result;
}

static int serve_privates(struct follow *follow)
{
	uint64_t now = now_ms();

	if (follow->error || now < follow->privates_ms + PRIVATES_PERIOD_MS)
		return 0;
	follow->privates_ms = now;
	if (private_find(&follow->privates, follow->directory, has_image_at, follow))
		fputs("wcprof: a process has no shared memory for its recording: its last "
		      "events are lost when it ends (wcprof check)\n",
		      stderr);
	return drain_privates(follow);
}

int follow_tick(struct follow *follow)
{
	uint64_t memory = free_memory_bytes();
	size_t kept = 0;
	int result = 0;

	find_new(follow);
	for (size_t i = 0; i < follow->image_count; i++) {
		bool gone = false;

		if (result == 0)
			result = serve(follow, &follow->images[i], memory, &gone);
		if (!gone)
			follow->images[kept++] = follow->images[i];
	}
	follow->image_count = kept;
	if (result == 0)
		result = serve_privates(follow);
	if (result != 0)
		give_up(follow, result);
	return result;
}

static bool is_unknown(const void *context, pid_t pid)
{
	return pid != getpid() && !has_image(context, pid);
}

size_t follow_unknown(const struct follow *follow)
{
	char variable[sizeof("WCPROF_DIR=") + sizeof(follow->directory)];

	snprintf(variable, sizeof(variable), "WCPROF_DIR=%s", follow->directory);
	return procfs_count_having(variable, is_unknown, follow);
}

int follow_leave(struct follow *follow)
{
	struct client_answer answer;
	int result = 0;

	for (size_t i = 0; i < follow->image_count && result == 0 && !follow->error; i++) {
		(void)client_ask(follow->images[i].remains.arena->socket, "DISABLE", &answer);
		result = drain(follow, &follow->images[i]);
	}
	if (result == 0 && !follow->error)
		result = drain_privates(follow);
	if (result != 0)
		give_up(follow, result);
	return result;
}
