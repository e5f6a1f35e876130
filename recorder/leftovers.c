/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arenas of dead processes. See leftovers.h.
 *
 * A process is dead if the kernel knows no process of its number, and the number is of this pid
 * name space. So times play no part, which differ between time name spaces, and a number that was
 * given out again only keeps an arena for longer. An image that exec replaced in this very process
 * is dead, too.
 *
 * Several processes may do this at once. Whoever removes a file has it locked, as has whoever
 * recovers it (remains.c), and finds its name still there. wcprof record has the files locked that
 * it follows; when it is killed they are leftovers, too.
 */
#include "leftovers.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "gate.h"
#include "identity.h"
#include "options.h"
#include "room.h"
#include "syscalls.h"

#include "in_target.h"

enum { BATCH = 64, LOOKS_MOST = 16, NAME_BYTES = 64, DIRECTORY_BYTES = 4096 };

static const uint64_t usual_pause_ns = 10000000000; /* between two looks */
static const uint64_t short_pause_ns = 1000000000;  /* when the last one left more to do */
/* wcprof record has come to each of its arenas after so long, and holds it as long as it lives. */
static const uint64_t followed_ns = 3600000000000;

struct leftover {
	uint64_t made_ns; /* CLOCK_REALTIME */
	uint64_t bytes;
	uint32_t pid;
	char name[NAME_BYTES];
};

/* The control thread's own. */
static struct {
	const struct arena *arena; /* of this process; NULL: it has none */
	uint64_t pid_namespace;
	uint64_t due_ns;
	uint64_t removed;   /* and not counted yet */
	uint64_t bytes;     /* of all */
	uint64_t newest_ns; /* when the newest of all was made */
	uint32_t count;     /* of the oldest, in order of age */
	struct leftover oldest[BATCH];
} seen;

/* --- Finding ---------------------------------------------------------------------------------- */

/* An earlier image of this process has the same start. */
static bool is_own(uint64_t pid, uint64_t start, uint64_t generation)
{
	return seen.arena && pid == seen.arena->pid && start == seen.arena->start_ticks &&
	       generation < seen.arena->generation;
}

static bool is_gone(uint64_t pid)
{
	return pid > 0 && pid <= INT32_MAX && SYS3(kill, pid, 0, 0) == -ESRCH;
}

/* Keeps the oldest. */
static void keep(const struct leftover *found)
{
	uint32_t at = seen.count;

	seen.bytes += found->bytes;
	if (found->made_ns > seen.newest_ns)
		seen.newest_ns = found->made_ns;
	while (at > 0 && seen.oldest[at - 1].made_ns > found->made_ns)
		at--;
	if (at == BATCH)
		return;
	if (seen.count < BATCH)
		seen.count++;
	memmove(&seen.oldest[at + 1], &seen.oldest[at],
		(seen.count - at - 1) * sizeof(seen.oldest[0]));
	seen.oldest[at] = *found;
}

static uint64_t made_ns(const struct stat *stat)
{
	return (uint64_t)stat->st_mtim.tv_sec * 1000000000 + (uint64_t)stat->st_mtim.tv_nsec;
}

static bool is_a_users(const struct stat *stat)
{
	return S_ISREG(stat->st_mode) && stat->st_uid == (uid_t)sys_geteuid() &&
	       stat->st_nlink == 1;
}

static bool may_be_followed(const struct arena_head *head, const struct stat *stat)
{
	return head->is_kept && made_ns(stat) + followed_ns > recorder_clock_ns(CLOCK_REALTIME);
}

/* The file may be anything, and of any version. */
static bool is_removable(int fd, const struct stat *stat, uint64_t pid)
{
	struct arena_head head = { 0 };

	return sys_pread(fd, &head, sizeof(head), 0) == (long)sizeof(head) &&
	       head.magic == ARENA_MAGIC && head.version >= FORMAT_HEAD_VERSION &&
	       head.pid == pid && head.pid_namespace != 0 &&
	       head.pid_namespace == seen.pid_namespace && !may_be_followed(&head, stat);
}

static int open_file(int directory, const char *name)
{
	return (int)sys_call(SYS_openat, directory, (long)name,
			     O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
}

static void look_into(int fd, const char *name, uint64_t pid)
{
	struct leftover found = { .pid = (uint32_t)pid };
	struct stat stat;

	if (sys_fstat(fd, &stat) != 0 || !is_a_users(&stat) || !is_removable(fd, &stat, pid))
		return;
	found.made_ns = made_ns(&stat);
	found.bytes = (uint64_t)stat.st_blocks * 512;
	memcpy(found.name, name, strlen(name));
	keep(&found);
}

static void look_at(int directory, const char *name)
{
	uint64_t numbers[ARENA_NAME_NUMBERS];
	int fd;

	if (strlen(name) >= NAME_BYTES || !arena_parse_name(name, numbers) ||
	    numbers[0] != (uint64_t)sys_geteuid() ||
	    !(is_gone(numbers[1]) || is_own(numbers[1], numbers[2], numbers[3])))
		return;
	fd = open_file(directory, name);
	if (fd < 0)
		return;
	look_into(fd, name, numbers[1]);
	sys_close(fd);
}

static void look(int directory)
{
	_Alignas(struct directory_entry) static char names[DIRECTORY_BYTES];
	long got;

	seen.bytes = seen.newest_ns = seen.count = 0;
	while ((got = sys_getdents(directory, names, sizeof(names))) > 0) {
		const struct directory_entry *entry;

		for (long at = 0; at < got; at += entry->bytes) {
			entry = (const struct directory_entry *)(names + at);
			look_at(directory, entry->name);
		}
	}
}

/* --- Removing --------------------------------------------------------------------------------- */

/* Whether it is there no more. */
static bool remove_one(int directory, const struct leftover *leftover)
{
	int fd = open_file(directory, leftover->name);
	struct stat stat;
	bool is_removed;

	if (fd < 0)
		return fd == -ENOENT; /* somebody else was faster */
	is_removed = SYS3(flock, fd, LOCK_EX | LOCK_NB, 0) == 0 && sys_fstat(fd, &stat) == 0 &&
		     is_a_users(&stat) && is_removable(fd, &stat, leftover->pid) &&
		     SYS3(unlinkat, directory, leftover->name, 0) == 0;
	sys_close(fd);
	return is_removed;
}

static void remove_oldest(int directory, uint64_t bytes_most)
{
	for (uint32_t i = 0; i < seen.count && seen.bytes > bytes_most; i++) {
		const struct leftover *leftover = &seen.oldest[i];

		if (leftover->made_ns >= seen.newest_ns || !remove_one(directory, leftover))
			continue;
		seen.bytes -= leftover->bytes;
		seen.removed++;
	}
}

bool leftovers_remove(struct arena *arena, uint64_t bytes_most)
{
	int directory = sys_open(ARENA_DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	bool is_full;

	if (directory < 0)
		return true;
	seen.arena = arena;
	seen.pid_namespace = arena ? arena->pid_namespace : identity_pid_namespace();
	look(directory);
	is_full = seen.count == BATCH;
	remove_oldest(directory, bytes_most);
	sys_close(directory);
	if (arena) {
		add_relaxed(&arena->counters[COUNTER_removed_leftovers], seen.removed);
		seen.removed = 0;
	}
	return !is_full || seen.bytes <= bytes_most;
}

/* --- When ------------------------------------------------------------------------------------- */

/* Small machines and containers have less for them. */
static uint64_t bytes_most(void)
{
	uint64_t bytes = recorder_options.leftover_mb << 20;
	uint64_t share = room_limit() / 8;

	return bytes < share ? bytes : share;
}

bool leftovers_make_room(void)
{
	bool is_done = false;

	if (load_acquire(&recorder_arena))
		return false;
	for (int looks = 0; looks < LOOKS_MOST && !is_done; looks++)
		is_done = leftovers_remove(NULL, bytes_most());
	return seen.removed > 0;
}

/* Children are many, as are programs that wcprof record follows: one that is short-lived leaves it
 * to whoever lives longer. */
void leftovers_tick(struct arena *arena, uint64_t now_ns)
{
	bool is_done;

	if (seen.due_ns == 0 && (gate_is_child() || recorder_options.keep))
		seen.due_ns = now_ns + usual_pause_ns;
	if (now_ns < seen.due_ns)
		return;
	is_done = leftovers_remove(arena, bytes_most());
	seen.due_ns = now_ns + (is_done ? usual_pause_ns : short_pause_ns);
}

void leftovers_forget(void)
{
	seen.due_ns = 0;
	seen.removed = 0;
}
