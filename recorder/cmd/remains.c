/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arenas in shared memory: found, opened, checked, drained, removed.
 *
 * An arena that a dead process left is checked before it is read, to tell which part is damaged:
 * arena_fault() says how. Numbers are bounded again where they are used, as anybody may still have
 * the file mapped.
 *
 * One thread, whose robust list tells the kernel which arena it is draining.
 */
#include "remains.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
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
#include "grow.h"
#include "guard.h"
#include "procfs.h"

enum { PAGE_BYTES = 4096, BLOCK_BYTES = 512 };

/* --- One file --------------------------------------------------------------------------------- */

static int check_header(const struct arena *arena, uint64_t bytes)
{
	if (arena->magic == 0)
		return -EAGAIN;
	if (arena->magic != ARENA_MAGIC)
		return -EINVAL;
	if (arena->version != FORMAT_VERSION)
		return -EPROTO;
	return arena_header_fault(arena, bytes) || !arena_constants_are_valid(arena) ? -EINVAL : 0;
}

/* Every chunk that was made has its first page: a file that says more would have us fill memory. */
static uint32_t chunks_populated(const struct remains *remains)
{
	struct stat stat;
	uint64_t pages = 0;

	if (fstat(remains->fd, &stat) == 0)
		pages = (uint64_t)stat.st_blocks * BLOCK_BYTES / PAGE_BYTES;
	return pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX;
}

/* Takes the constants anew: what the process has written there since, all the same, is seen only
 * now. If they are not right any more, they stay as they were. */
int remains_renew(struct remains *remains)
{
	char before[ARENA_CONSTANT_BYTES];
	struct arena *arena = remains->arena;
	ssize_t got;
	int result;

	memcpy(before, arena, sizeof(before));
	got = pread(remains->fd, arena, sizeof(before), 0);
	result = got == (ssize_t)sizeof(before) ? check_header(arena, remains->bytes) : -ESTALE;
	if (result == 0) {
		uint32_t populated = chunks_populated(remains);

		if (arena->chunks_most > populated)
			arena->chunks_most = populated;
	} else {
		memcpy(arena, before, sizeof(before));
	}
	return result;
}

/* Private memory over the constants of the shared mapping. */
static int map(struct remains *remains, int protection)
{
	const int constants = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	void *mapping =
		mmap(NULL, remains->bytes, protection, MAP_SHARED | MAP_NORESERVE, remains->fd, 0);

	if (mapping == MAP_FAILED)
		return -errno;
	if (!guard_add(mapping, remains->bytes)) {
		munmap(mapping, remains->bytes);
		return -ENOMEM;
	}
	remains->arena = mapping;
	if (mmap(mapping, ARENA_CONSTANT_BYTES, PROT_READ | PROT_WRITE, constants, -1, 0) ==
	    MAP_FAILED)
		return -errno;
	return remains_renew(remains);
}

static int check_file(struct remains *remains)
{
	const struct stat *stat = &remains->stat;

	if (fstat(remains->fd, &remains->stat) != 0)
		return -errno;
	if (!S_ISREG(stat->st_mode) || stat->st_size < 0)
		return -EINVAL;
	if (geteuid() != 0 && stat->st_uid != geteuid())
		return -EPERM;
	remains->bytes = (uint64_t)stat->st_size;
	if (remains->bytes == 0 || stat->st_blocks == 0)
		return -EAGAIN;
	return remains->bytes <= ARENA_CHUNKS ? -EINVAL : 0;
}

static int open_as(struct remains *remains, const char *path, int access, int protection)
{
	int result;

	*remains = (struct remains){ .fd = -1 };
	if (strlen(path) >= sizeof(remains->path))
		return -ENAMETOOLONG;
	memcpy(remains->path, path, strlen(path) + 1);
	remains->fd = open(path, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (remains->fd < 0)
		return errno == EACCES ? -EPERM : -errno;
	result = check_file(remains);
	if (result == 0)
		result = map(remains, protection);
	if (result != 0)
		remains_close(remains);
	return result;
}

int remains_open(struct remains *remains, const char *path)
{
	return open_as(remains, path, O_RDWR, PROT_READ | PROT_WRITE);
}

int remains_open_to_read(struct remains *remains, const char *path)
{
	return open_as(remains, path, O_RDONLY, PROT_READ);
}

void remains_close(struct remains *remains)
{
	if (remains->arena) {
		guard_remove(remains->arena);
		munmap(remains->arena, remains->bytes);
	}
	if (remains->fd >= 0)
		close(remains->fd);
	remains->arena = NULL;
	remains->fd = -1;
}

pid_t remains_pid(struct remains *remains)
{
	const struct arena *arena = remains->arena;

	assert(arena && remains->fd >= 0);
	(void)remains_renew(remains);
	if (remains->pid <= 0 || !procfs_lives(remains->pid, arena->start_ticks)) {
		const struct procfs_owner owner = {
			.pid_namespace = arena->pid_namespace,
			.pid = (pid_t)arena->pid,
			.start_ticks = arena->start_ticks,
			.path = remains->path,
			.file = remains->stat,
		};

		remains->pid = procfs_find(&owner);
	}
	return remains->pid;
}

enum remains_state remains_state(struct remains *remains)
{
	pid_t pid = remains_pid(remains);

	if (pid <= 0)
		return pid == 0 ? REMAINS_DEAD : REMAINS_UNCLEAR;
	switch (procfs_maps_file(pid, remains->path, &remains->stat)) {
	case 0:
		return REMAINS_DEAD;
	case 1:
		return REMAINS_LIVE;
	default:
		/* It may have gone since we looked. */
		return remains_pid(remains) == 0 ? REMAINS_DEAD : REMAINS_UNCLEAR;
	}
}

bool remains_hold(const struct remains *remains)
{
	return flock(remains->fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

bool remains_is_of_session(const struct remains *remains, const char *directory, uint64_t session)
{
	const struct arena *arena = remains->arena;
	size_t length = strlen(directory);

	return strncmp(arena->socket, directory, length) == 0 && arena->socket[length] == '/' &&
	       !strchr(arena->socket + length + 1, '/') &&
	       (remains->stat.st_uid == geteuid() || arena->session == session);
}

uint64_t remains_pending(const struct remains *remains)
{
	assert(remains->arena);
	return snapshot_pending(remains->arena);
}

uint64_t remains_pending_bytes(const struct remains *remains)
{
	assert(remains->arena);
	return snapshot_pending_bytes(remains->arena);
}

uint64_t remains_room(const struct remains *remains)
{
	uint64_t chunks = load_relaxed(&remains->arena->room_bytes) / CHUNK_BYTES;
	uint32_t most = remains->arena->chunks.max;

	return (chunks < most ? chunks : most) * sizeof(uint64_t) * CHUNK_WORDS;
}

uint64_t remains_memory(const struct remains *remains)
{
	struct stat stat;

	return fstat(remains->fd, &stat) == 0 ? (uint64_t)stat.st_blocks * BLOCK_BYTES : 0;
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

/* The clock's rate, for all dumps to come: the one that was measured is in our copy. */
static void keep_rate(const struct remains *remains)
{
	const size_t at = offsetof(struct arena, clock.mult);
	uint64_t rate = 0;

	if (pread(remains->fd, &rate, sizeof(rate), at) == (ssize_t)sizeof(rate) && rate == 0)
		(void)!pwrite(remains->fd, &remains->arena->clock.mult, sizeof(rate), at);
}

static int drain(struct remains *remains, client_sink *sink, void *context, bool keep)
{
	struct dump dump;
	char *buffer = malloc(DUMP_BUFFER_BYTES);
	int result = buffer ? 0 : -ENOMEM;

	if (result == 0)
		result = dump_begin(&dump, remains->arena, buffer, DUMP_BUFFER_BYTES, DUMP_DEAD);
	if (result == 0) {
		keep_rate(remains);
		result = write_dump(&dump, sink, context);
		dump_end(&dump, result == 0 && !keep);
	}
	if (result == 0 && guard_is_torn(remains->arena))
		result = -ESTALE;
	free(buffer);
	return result;
}

int remains_recover(struct remains *remains, client_sink *sink, void *context, bool keep)
{
	int result = 0;

	assert(remains_state(remains) != REMAINS_LIVE);
	/* One at a time: who holds the file may take the dead drainer's place. */
	if (flock(remains->fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	result = remains_renew(remains);
	if (result == 0)
		remains->fault = arena_fault(remains->arena, remains->bytes);
	if (remains->fault)
		result = guard_is_torn(remains->arena) ? -ESTALE : -EINVAL;
	if (result == 0) {
		store_release(&remains->arena->drain_owner, 0);
		result = drain(remains, sink, context, keep);
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
	int result = remains_renew(remains);

	if (result != 0)
		return result;
	syscall(SYS_get_robust_list, 0, &before, &bytes);
	set_deathbed(&list, &remains->arena->drain_owner);
	result = drain(remains, sink, context, false);
	syscall(SYS_set_robust_list, before, sizeof(*before));
	return result;
}

uint64_t remains_namespace(const char *path)
{
	struct arena_head head = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return 0;
	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    head.magic != ARENA_MAGIC || head.version < FORMAT_HEAD_VERSION)
		head.pid_namespace = 0;
	close(fd);
	return head.pid_namespace;
}

/* --- All of them ------------------------------------------------------------------------------ */

static bool read_name(const char *name, struct remains_name *to)
{
	enum { UID, PID, START, GENERATION };
	uint64_t numbers[ARENA_NAME_NUMBERS];
	size_t size = sizeof(to->path);

	if (!arena_parse_name(name, numbers) || numbers[UID] > UINT32_MAX ||
	    numbers[PID] > INT32_MAX || numbers[GENERATION] > UINT32_MAX ||
	    (geteuid() != 0 && numbers[UID] != geteuid()) ||
	    (size_t)snprintf(to->path, size, "%s/%s", ARENA_DIRECTORY, name) >= size)
		return false;
	to->pid = (pid_t)numbers[PID];
	to->start_ticks = numbers[START];
	to->generation = (uint32_t)numbers[GENERATION];
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

/* Whether it is there to be listed: a file, and of whom. */
static bool is_listed(DIR *directory, const char *name, struct remains_name *to, bool others)
{
	struct stat stat;

	if (!read_name(name, to) ||
	    fstatat(dirfd(directory), name, &stat, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(stat.st_mode))
		return false;
	to->is_own = stat.st_uid == geteuid();
	return to->is_own || (others && geteuid() == 0);
}

struct remains_name *remains_list(size_t *count, bool others)
{
	DIR *directory = opendir(ARENA_DIRECTORY);
	struct remains_name *names = NULL, *grown, name;
	size_t room = 0;
	const struct dirent *entry;

	*count = 0;
	while (directory && (entry = readdir(directory))) {
		if (!is_listed(directory, entry->d_name, &name, others))
			continue;
		grown = grow_for_one(names, &room, *count, sizeof(*names));
		if (!grown)
			break;
		names = grown;
		names[(*count)++] = name;
	}
	if (directory)
		closedir(directory);
	if (*count > 0)
		qsort(names, *count, sizeof(*names), compare_names);
	return names;
}
