/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlockall() without what is ours: a real-time program locks its memory, and not a recording that
 * may be larger than all the rest of it.
 *
 * The kernel locks every mapping, populates it, and counts all of them against RLIMIT_MEMLOCK. So
 * while there is an arena, or if the call fails for want of memory, the program's mappings are
 * locked one by one. MCL_FUTURE is the kernel's: our later mappings unlock themselves (mapping.h).
 * Opens /proc/self/maps meanwhile. Any thread; of several at once one does it, others ask the
 * kernel.
 */
#include "recorder.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "arena.h"
#include "gate.h"
#include "maps.h"
#include "mapping.h"
#include "syscalls.h"

#include "in_target.h"

/* Addresses above are the kernel's. */
static const uint64_t addresses_end = UINT64_C(1) << 47;

/* Of the user name space that the system began with: the number that its file has. */
enum { INITIAL_USER_NAMESPACE = 0xeffffffd };

static uint32_t busy; /* 1 = somebody uses `maps` */
static struct maps maps;
static uint32_t locks_future; /* 1 = the program wants what it maps later to be locked */

/* --- Whose memory it is ----------------------------------------------------------------------- */

/* The library, from its first byte to its last. */
extern const char __ehdr_start[] HIDDEN;
extern const char _end[] HIDDEN;

struct range {
	uint64_t start;
	uint64_t end;
};

static void narrow(struct range *first, uint64_t from, const void *start, uint64_t bytes)
{
	struct range own = { (uint64_t)(uintptr_t)start, (uint64_t)(uintptr_t)start + bytes };

	if (bytes > 0 && own.end > from && own.start < first->start)
		*first = own;
}

/* The first of our ranges that ends behind the address. */
static struct range own_after(uint64_t from)
{
	struct range first = { UINT64_MAX, UINT64_MAX };
	const struct arena *arena = load_acquire(&recorder_arena);
	uint64_t part, end;
	size_t bytes;

	narrow(&first, from, __ehdr_start, (uint64_t)(_end - __ehdr_start));
	for (uint32_t i = 0; arena && (end = arena_part(arena, i, &part)) > 0; i++)
		narrow(&first, from, arena_at(arena, part), end - part);
	for (uint32_t i = 0; i < MAPPINGS_MAX; i++) {
		const void *start = mapping_made(i, &bytes);

		narrow(&first, from, start, bytes);
	}
	return first;
}

/* Calls the function for each part of a mapping that is not ours; the sum of what it returns. */
static uint64_t each_part(const struct mapping *mapping, uint64_t (*take)(uint64_t, uint64_t, int),
			  int flags)
{
	uint64_t at = mapping->start, sum = 0;

	while (at < mapping->end && at < addresses_end) {
		struct range own = own_after(at);
		uint64_t end = own.start < mapping->end ? own.start : mapping->end;

		if (end > at)
			sum += take(at, end - at, flags);
		at = own.end > end && own.start < mapping->end ? own.end : mapping->end;
	}
	return sum;
}

static bool each_mapping(uint64_t (*take)(uint64_t, uint64_t, int), int flags, uint64_t *sum)
{
	struct mapping mapping;

	*sum = 0;
	if (!maps_open(&maps))
		return false;
	while (maps_next(&maps, &mapping))
		*sum += each_part(&mapping, take, flags);
	maps_close(&maps);
	return true;
}

/* --- Locking ---------------------------------------------------------------------------------- */

static uint64_t count(uint64_t start, uint64_t bytes, int flags)
{
	(void)start;
	(void)flags;
	return bytes;
}

/* mlockall() passes over what cannot be locked, and so does this. */
static uint64_t lock(uint64_t start, uint64_t bytes, int flags)
{
	if (flags & MCL_ONFAULT)
		(void)SYS3(mlock2, start, bytes, MLOCK_ONFAULT);
	else
		(void)SYS3(mlock, start, bytes, 0);
	return 0;
}

/* The kernel asks for the capability in the first user name space, whatever a later one gives. */
static bool may_lock_any(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	struct stat namespace;

	return SYS3(capget, &header, sets, 0) == 0 &&
	       (sets[0].effective >> CAP_IPC_LOCK & 1) != 0 &&
	       SYS3(stat, "/proc/self/ns/user", &namespace, 0) == 0 &&
	       namespace.st_ino == INITIAL_USER_NAMESPACE;
}

/* Whether the kernel would lock all of the program, if nothing of ours were there. */
static bool is_allowed(void)
{
	struct rlimit limit = { 0, 0 };
	uint64_t bytes;

	if (may_lock_any())
		return true;
	if (sys_call(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, (long)&limit, 0, 0) != 0 ||
	    limit.rlim_cur == 0)
		return false;
	return each_mapping(count, 0, &bytes) && bytes <= limit.rlim_cur;
}

static int lock_each(int flags, int (*lock_all)(int))
{
	uint64_t sum;

	if (!is_allowed())
		return lock_all(flags);
	if ((flags & MCL_FUTURE) && lock_all(flags & ~MCL_CURRENT) != 0)
		return -1;
	/* Without that flag the call ends what an earlier one has asked for. */
	if (!(flags & MCL_FUTURE) && load_relaxed(&locks_future))
		(void)SYS3(munlockall, 0, 0, 0);
	return each_mapping(lock, flags, &sum) ? 0 : lock_all(flags);
}

/* The kernel has locked ours with the program's. */
static void unlock_own(void)
{
	for (struct range own = own_after(0); own.end != UINT64_MAX; own = own_after(own.end))
		(void)SYS3(munlock, own.start, own.end - own.start, 0);
}

static int lock_but_own(int flags, int (*lock_all)(int))
{
	const int known = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT;
	uint32_t nobody = 0;
	int result = -1;

	if (!(flags & MCL_CURRENT) || (flags & ~known) || gate_is_confined() ||
	    load_relaxed(&recorder_gate.present) == 0 || recorder_in_vfork_child())
		return lock_all(flags);
	if (!load_acquire(&recorder_arena)) {
		result = lock_all(flags);
		if (result == 0)
			unlock_own();
		if (result == 0 || errno != ENOMEM)
			return result;
	}
	if (!cas_acq_rel(&busy, &nobody, 1))
		return lock_all(flags);
	result = lock_each(flags, lock_all);
	store_release(&busy, 0);
	return result;
}

int recorder_lock_all(int flags, int (*lock_all)(int))
{
	int result = lock_but_own(flags, lock_all);

	if (result == 0 && !recorder_in_vfork_child())
		store_relaxed(&locks_future, (flags & MCL_FUTURE) != 0);
	return result;
}
