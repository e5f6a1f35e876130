/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of the program's descriptors. See descriptors.h; recorder.h has the hooks' view.
 *
 * Known race: a descriptor that one thread uses while another one closes it may keep its old
 * description. It does so until the number is given out again by a call that is hooked. So does one
 * of the parent's that a child describes whose vfork came by no hook.
 */
#include "descriptors.h"

#include <assert.h>
#include <string.h>

#include "description.h"
#include "destinations.h"
#include "gate.h"
#include "mapping.h"
#include "peers.h"
#include "spare.h"
#include "strings.h"

#include "in_target.h"

void *descriptors_table;

/* One more than the largest that was ever noted. Relaxed: a range that is closed now, without
 * what another thread is just describing, is the race said above. */
static uint32_t used_end;

_Static_assert(STRINGS_MAX <= UINT32_MAX, "a string id is the lower half of a word");
_Static_assert(RECORD_ACCEPTED < 256, "flags are the next eight bits");

bool descriptors_start(void)
{
	return mapping_ensure(&descriptors_table, 2 * DESCRIPTORS_MAX * sizeof(uint64_t));
}

/*
 * Which eventfd a descriptor is, 0 = not known or none: description_next_origin(). A forked child
 * has a copy of it, and so calls them what its parent does. Relaxed, as the range is. Known race:
 * what a forked child copies over another eventfd before its first call that is recorded.
 */
static uint64_t *origin_of(int fd)
{
	return descriptors_word(fd) + DESCRIPTORS_MAX;
}

/* A child of vfork() has this table but descriptors of its own. Most opened files come by here, and
 * pay for no system call. */
static bool is_childs(void)
{
	return UNLIKELY(gate_is_in_vfork()) && recorder_in_vfork_child();
}

/* --- Forgetting ----------------------------------------------------------------------------- */

static void forget_word(int fd)
{
	uint64_t word = load_relaxed(descriptors_word(fd)), next;

	do
		next = (word & -DESCRIPTOR_GENERATION) + DESCRIPTOR_GENERATION;
	while (!cas_acq_rel(descriptors_word(fd), &word, next));
}

void descriptor_forget(int fd)
{
	if ((uint32_t)fd >= DESCRIPTORS_MAX || !descriptors_table)
		return;
	if (UNLIKELY(load_relaxed(origin_of(fd)) != 0) && !is_childs())
		store_relaxed(origin_of(fd), 0);
	forget_word(fd);
}

void descriptor_forget_range(uint32_t first, uint32_t last)
{
	uint32_t end = load_relaxed(&used_end);

	for (uint32_t fd = first; fd <= last && fd < end; fd++)
		descriptor_forget((int)fd);
}

void descriptors_forget_all(void)
{
	uint32_t end = load_relaxed(&used_end);

	for (uint32_t fd = 0; fd < end; fd++)
		forget_word((int)fd);
	description_forget();
	destinations_forget();
}

void descriptors_lose_sight(void)
{
	uint32_t end = load_relaxed(&used_end);

	for (uint32_t fd = 0; fd < end; fd++)
		if (load_relaxed(origin_of(fd)) != 0)
			store_relaxed(origin_of(fd), 0);
}

/* --- Files ---------------------------------------------------------------------------------- */

/* A call without a descriptor has a path, or is about memory. */
bool descriptors_is_of_files(const struct record *op)
{
	static const char file[] = "file";
	const char *what;
	uint32_t bytes;

	if (op->what != KIND_IO || op->count != 0)
		return false;
	if (op->ident == 0)
		return op->fd < 0;
	what = strings_get(recorder_arena, op->ident, &bytes);
	return bytes >= sizeof(file) - 1 && memcmp(what, file, sizeof(file) - 1) == 0;
}

/* --- Learning ------------------------------------------------------------------------------- */

bool descriptors_are_crowded(void)
{
	const struct arena *arena = recorder_arena;

	return load_relaxed(&arena->string_count) > STRINGS_MAX / 2 ||
	       load_relaxed(&arena->string_bytes) > STRING_POOL_BYTES / 2;
}

static bool is_in_table(struct self *self, int fd)
{
	if ((uint32_t)fd < DESCRIPTORS_MAX)
		return true;
	if (fd >= 0)
		self_count(self, COUNTER_undescribed);
	return false;
}

static void use(int fd)
{
	uint32_t end = load_relaxed(&used_end);

	while (end <= (uint32_t)fd && !cas_acq_rel(&used_end, &end, (uint32_t)fd + 1))
		;
}

/* Notes that the descriptor is used, and its word. A description is too large for the program's
 * stack; NULL: there is no room for one now. */
static struct description *learn_begin(int fd, uint64_t *word)
{
	struct description *description = spare_borrow();

	assert((uint32_t)fd < DESCRIPTORS_MAX);
	use(fd);
	if (!description)
		return NULL;
	description_begin(description, descriptors_are_crowded());
	description->origin = origin_of(fd);
	*word = load_acquire(descriptors_word(fd));
	return description;
}

/* With what was found out since learn_begin() gave `word`. */
static uint64_t learn_end(struct self *self, int fd, uint64_t word, const struct description *found)
{
	uint64_t next = word & -DESCRIPTOR_GENERATION;

	if (found->text.used == 0)
		return 0;
	if (found->is_crowded)
		self_count(self, COUNTER_crowded_descriptors);
	if (found->is_accepted)
		next |= (uint64_t)RECORD_ACCEPTED << DESCRIPTOR_FLAGS_SHIFT;
	next |= DESCRIPTOR_KNOWN | string_intern(found->text.bytes, found->text.used);
	if (found->lonely)
		peers_want(recorder_arena, found->lonely);
	/* Pairs with descriptor_forget(): fails when it was closed or made meanwhile. */
	if (!found->is_passing)
		(void)cas_acq_rel(descriptors_word(fd), &word, next);
	return next;
}

static uint64_t describe(struct self *self, int fd, uint64_t word, struct description *found)
{
	uint64_t next;

	description_make(found, fd);
	next = learn_end(self, fd, word, found);
	spare_return(found);
	return next;
}

static bool may_learn(struct self *self, int fd)
{
	return is_in_table(self, fd) && !is_childs();
}

uint64_t descriptors_learn(struct self *self, int fd)
{
	struct description *found;
	uint64_t word;

	if (!may_learn(self, fd))
		return 0;
	found = learn_begin(fd, &word);
	return found ? describe(self, fd, word, found) : 0;
}

/* It has just become another one: forgets it, and learns it again unless that cannot be. */
static struct description *learn_anew(struct self *self, int fd, uint64_t *word)
{
	descriptor_forget(fd);
	return may_learn(self, fd) ? learn_begin(fd, word) : NULL;
}

void descriptor_opened(struct self *self, int fd, const char *path)
{
	uint64_t word;
	struct description *found = learn_anew(self, fd, &word);

	if (!found)
		return;
	found->path = path;
	(void)describe(self, fd, word, found);
}

void descriptor_accepted(struct self *self, int fd)
{
	uint64_t word;
	struct description *found = learn_anew(self, fd, &word);

	if (!found)
		return;
	found->is_accepted = true;
	(void)describe(self, fd, word, found);
}

void descriptor_connected(struct self *self, int fd, const void *peer, size_t bytes)
{
	uint64_t word;
	struct description *found = learn_anew(self, fd, &word);

	if (!found)
		return;
	found->peer = peer;
	found->peer_bytes = bytes;
	(void)describe(self, fd, word, found);
}

static void set_origin(int fd, uint64_t origin)
{
	descriptor_forget(fd);
	if ((uint32_t)fd >= DESCRIPTORS_MAX || !descriptors_table || origin == 0 || is_childs())
		return;
	use(fd);
	store_relaxed(origin_of(fd), origin);
}

void descriptor_counted(int fd)
{
	set_origin(fd, description_next_origin());
}

void descriptor_copied(int fd, int from)
{
	bool is_known = descriptors_table && (uint32_t)from < DESCRIPTORS_MAX;

	if (fd != from)
		set_origin(fd, is_known ? load_relaxed(origin_of(from)) : 0);
}

void descriptor_paired(int fd, int other)
{
	descriptor_forget(fd);
	descriptor_forget(other);
	description_pair(fd, other);
}
