/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arenas in shared memory: found, opened, checked, drained, removed.
 *
 * An arena that a dead process left is checked before it is read: arena_fault() says how.
 *
 * One thread, whose robust list tells the kernel which arena it is draining.
 */
#include "remains.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arena.h"
#include "chunk.h"
#include "clock.h"
#include "dump.h"
#include "procfs.h"

/* --- One file --------------------------------------------------------------------------------- */

/* The part that is written once, before the arena is used. */
static int check_header(const struct arena *arena, uint64_t bytes)
{
	if (load_acquire(&arena->magic) == 0)
		return -EAGAIN;
	if (arena->magic != ARENA_MAGIC)
		return -EINVAL;
	if (arena->version != FORMAT_VERSION)
		return -EPROTO;
	return arena_header_fault(arena, bytes) ? -EINVAL : 0;
}

static int map(struct remains *remains)
{
	struct stat stat;
	void *mapping;

	if (fstat(remains->fd, &stat) != 0)
		return -errno;
	if (!S_ISREG(stat.st_mode) || stat.st_size < 0)
		return -EINVAL;
	if (geteuid() != 0 && stat.st_uid != geteuid())
		return -EPERM;
	remains->uid = stat.st_uid;
	remains->bytes = (uint64_t)stat.st_size;
	if (remains->bytes == 0 || stat.st_blocks == 0)
		return -EAGAIN;
	if (remains->bytes <= ARENA_CHUNKS)
		return -EINVAL;
	mapping = mmap(NULL, remains->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		       remains->fd, 0);
	if (mapping == MAP_FAILED)
		return -errno;
	remains->arena = mapping;
	return check_header(mapping, remains->bytes);
}

int remains_open(struct remains *remains, const char *path)
{
	int result;

	*remains = (struct remains){ .fd = -1 };
	if (strlen(path) >= sizeof(remains->path))
		return -ENAMETOOLONG;
	memcpy(remains->path, path, strlen(path) + 1);
	remains->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (remains->fd < 0)
		return errno == EACCES ? -EPERM : -errno;
	result = map(remains);
	if (result != 0)
		remains_close(remains);
	return result;
}

void remains_close(struct remains *remains)
{
	if (remains->arena)
		munmap(remains->arena, remains->bytes);
	if (remains->fd >= 0)
		close(remains->fd);
	remains->arena = NULL;
	remains->fd = -1;
}

pid_t remains_pid(struct remains *remains)
{
	const struct arena *arena = remains->arena;

	assert(arena && remains->fd >= 0);
	if (remains->pid <= 0 || !procfs_lives(remains->pid, arena->start_ticks))
		remains->pid =
			procfs_find(arena->pid_namespace, (pid_t)arena->pid, arena->start_ticks);
	return remains->pid;
}

enum remains_state remains_state(struct remains *remains)
{
	pid_t pid = remains_pid(remains);

	if (pid <= 0)
		return pid == 0 ? REMAINS_DEAD : REMAINS_UNCLEAR;
	switch (procfs_maps_file(pid, remains->arena->path)) {
	case 0:
		return REMAINS_DEAD;
	case 1:
		return REMAINS_LIVE;
	default:
		/* It may have gone since we looked. */
		return remains_pid(remains) == 0 ? REMAINS_DEAD : REMAINS_UNCLEAR;
	}
}

static uint32_t chunks_made(const struct arena *arena)
{
	uint32_t made = load_acquire(&arena->chunks.made);

	return made < arena->chunks.max ? made : arena->chunks.max;
}

uint64_t remains_pending(const struct remains *remains)
{
	uint64_t sum = 0;

	assert(remains->arena);
	for (uint32_t i = 0; i < chunks_made(remains->arena); i++) {
		const struct chunk *chunk = chunk_at(remains->arena, i);
		uint32_t published = load_acquire(&chunk->published);
		uint32_t drained = load_relaxed(&chunk->drained);

		sum += published > drained ? published - drained : 0;
	}
	return sum;
}

uint64_t remains_memory(const struct remains *remains)
{
	struct stat stat;

	return fstat(remains->fd, &stat) == 0 ? (uint64_t)stat.st_blocks * 512 : 0;
}

int remains_remove(const struct remains *remains)
{
	return unlink(remains->path) == 0 ? 0 : -errno;
}

/* --- What a dead process left ----------------------------------------------------------------- */

static int write_dump(struct dump *dump, client_sink *sink, void *context)
{
	int result = 0;

	while (result == 0 && dump_fill(dump))
		result = sink(context, dump->text.bytes, dump->text.used);
	return result == 0 ? sink(context, NULL, 0) : result;
}

static int drain(struct arena *arena, client_sink *sink, void *context)
{
	struct dump dump;
	char *buffer = malloc(DUMP_BUFFER_BYTES);
	int result = buffer ? 0 : -ENOMEM;

	if (result == 0)
		result = dump_begin(&dump, arena, buffer, DUMP_BUFFER_BYTES, DUMP_DEAD);
	if (result == 0) {
		result = write_dump(&dump, sink, context);
		dump_end(&dump, result == 0);
	}
	free(buffer);
	return result;
}

int remains_recover(struct remains *remains, client_sink *sink, void *context)
{
	int result = 0;

	assert(remains_state(remains) != REMAINS_LIVE);
	/* One at a time: who holds the file may take the dead drainer's place. */
	if (flock(remains->fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	remains->fault = arena_fault(remains->arena, remains->bytes);
	if (remains->fault)
		result = -EINVAL;
	if (result == 0) {
		store_release(&remains->arena->drain_owner, 0);
		result = drain(remains->arena, sink, context);
	}
	flock(remains->fd, LOCK_UN);
	return result;
}

/*
 * While this thread drains a living process's arena it may be killed at any moment. The kernel then
 * says so in drain_owner, and the process goes on. This thread has no other robust futex of the
 * kind that list_op_pending is for: one that is being locked.
 */
static void set_deathbed(struct robust_list_head *list, uint32_t *owner)
{
	*list = (struct robust_list_head){ .list.next = &list->list };
	list->list_op_pending = (struct robust_list *)owner;
	syscall(SYS_set_robust_list, list, sizeof(*list));
}

int remains_drain_living(struct remains *remains, client_sink *sink, void *context)
{
	struct robust_list_head *before = NULL, list;
	size_t bytes = 0;
	int result;

	syscall(SYS_get_robust_list, 0, &before, &bytes);
	set_deathbed(&list, &remains->arena->drain_owner);
	result = drain(remains->arena, sink, context);
	syscall(SYS_set_robust_list, before, sizeof(*before));
	return result;
}

/* --- All of them ------------------------------------------------------------------------------ */

/* "wcprof-UID-PID-START-GENERATION" */
static bool read_name(const char *name, struct remains_name *to)
{
	unsigned uid, pid, generation;
	unsigned long long start;
	int end = 0;

	if (sscanf(name, "wcprof-%u-%u-%llu-%u%n", &uid, &pid, &start, &generation, &end) != 4 ||
	    name[end] != '\0' || (geteuid() != 0 && uid != geteuid()))
		return false;
	snprintf(to->path, sizeof(to->path), "%s/%.100s", ARENA_DIRECTORY, name);
	to->pid = (pid_t)pid;
	to->start_ticks = start;
	to->generation = generation;
	return true;
}

static int compare_names(const void *a, const void *b)
{
	const struct remains_name *left = a;
	const struct remains_name *right = b;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	if (left->start_ticks != right->start_ticks)
		return left->start_ticks < right->start_ticks ? -1 : 1;
	return left->generation < right->generation ? -1 : left->generation > right->generation;
}

struct remains_name *remains_list(size_t *count)
{
	DIR *directory = opendir(ARENA_DIRECTORY);
	struct remains_name *names = NULL, *grown, name;
	size_t room = 0;
	const struct dirent *entry;

	*count = 0;
	while (directory && (entry = readdir(directory))) {
		if (!read_name(entry->d_name, &name))
			continue;
		if (*count == room) {
			room = room ? 2 * room : 64;
			grown = realloc(names, room * sizeof(*names));
			if (!grown)
				break;
			names = grown;
		}
		names[(*count)++] = name;
	}
	if (directory)
		closedir(directory);
	if (*count > 0)
		qsort(names, *count, sizeof(*names), compare_names);
	return names;
}
