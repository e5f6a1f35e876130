/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ftw() and nftw() walk a tree of files and tell the program of each one. Their work between two of
 * these calls is an op, where it takes longer than a call that cannot have blocked. The work in the
 * program's functions is the program's own.
 *
 * Its function has no argument for us, so the thread notes which walk it is in. A walk may be left
 * by longjmp, and the note of it then stays. Only the functions below read it; each knows that its
 * own walk goes on, and notes that again when the program's function has returned. Nothing is held
 * across a call of libc's or the program's.
 */
#include "hooks.h"

/* One walk; lives in the frame of its hook. */
struct walk {
	void *told; /* the program's function */
	struct caller caller;
	enum call call;
	uint64_t op;
};

static void walk_goes_on(struct walk *walk)
{
	hooks_thread.walk = walk;
	walk->op = op_begin_call(KIND_IO, walk->call, -1, walk->caller.pc, walk->caller.frame);
}

static void walk_pauses(struct walk *walk)
{
	if (walk->op) {
		op_takes_longer(walk->op, true);
		op_end_call(walk->op, OUTCOME_OK, 0, true);
	}
	walk->op = 0;
}

static int tell(const char *path, const void *seen, int type)
{
	struct walk *walk = hooks_thread.walk;
	walk_told *told = (walk_told *)walk->told;

	walk_pauses(walk);
	int result = told(path, seen, type);
	walk_goes_on(walk);
	return result;
}

static int tell_with_place(const char *path, const void *seen, int type, void *place)
{
	struct walk *walk = hooks_thread.walk;
	walk_told_place *told = (walk_told_place *)walk->told;

	walk_pauses(walk);
	int result = told(path, seen, type, place);
	walk_goes_on(walk);
	return result;
}

static void walk_begins(struct walk *walk, void *told, enum call call, struct caller caller)
{
	*walk = (struct walk){ .told = told, .caller = caller, .call = call };
	self_leave(hook_enter()); /* a thread that the recorder has not seen yet */
	walk_goes_on(walk);
}

int hook_ftw(const char *path, walk_told *told, int descriptors)
{
	struct walk walk;
	walk_begins(&walk, (void *)told, CALL_ftw, CALLER);
	int result = real.ftw(path, tell, descriptors);
	walk_pauses(&walk);
	return result;
}

#define NFTW(id)                                                                           \
	int hook_##id(const char *path, walk_told_place *told, int descriptors, int flags) \
	{                                                                                  \
		struct walk walk;                                                          \
		walk_begins(&walk, (void *)told, CALL_##id, CALLER);                       \
		int result = real.id(path, tell_with_place, descriptors, flags);           \
		walk_pauses(&walk);                                                        \
		return result;                                                             \
	}
NFTW(nftw_old)
NFTW(nftw)
NFTW(nftw64_old)
NFTW(nftw64)
