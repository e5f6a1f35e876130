/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of running threads, on request. See glimpse.h.
 *
 * One box per question. Its word goes from WANTED to WRITING by the thread that answers, alone, and
 * then to THERE. The thread that asks takes WANTED back to IDLE when it has waited enough. The word
 * also has the number of the question: a signal that comes late finds another one, and answers
 * nothing. A box that is being written when its question ends is not used again until it is THERE.
 */
#include "glimpse.h"

#include <assert.h>
#include <string.h>

#include "atomics.h"
#include "claim.h"
#include "self.h"
#include "stack_walk.h"
#include "timers.h"

#include "in_target.h"

enum { BOXES = 256 };

enum box_state { BOX_IDLE, BOX_WANTED, BOX_WRITING, BOX_THERE, BOX_STATES };

struct box {
	uint32_t word;  /* number of the question * BOX_STATES + state */
	uint32_t count; /* written by who answers, before THERE */
	uint64_t pcs[GLIMPSE_FRAMES_MAX];
	bool is_asked; /* this and what follows: the control thread's own */
	uint32_t question;
	uint32_t tid;
};

static struct box boxes[BOXES];

static uint32_t word_of(const struct box *box, enum box_state state)
{
	return box->question * BOX_STATES + state;
}

/* The signal's value: which box, and the low bits of its question. Never 0. */
static int ticket_of(const struct box *box)
{
	return (int)((box->question & 0x3fffff) << 8 | (uint32_t)(box - boxes)) | 1 << 30;
}

static struct box *take_box(void)
{
	for (int i = 0; i < BOXES; i++) {
		struct box *box = &boxes[i];

		if (!box->is_asked && load_acquire(&box->word) % BOX_STATES != BOX_WRITING) {
			box->is_asked = true;
			box->question++;
			return box;
		}
	}
	return NULL;
}

int glimpse_ask(uint32_t tid)
{
	struct box *box;

	if (!claim_take() || !claim_is_kept())
		return -1;
	box = take_box();
	if (!box)
		return -1;
	/* Pairs with glimpse_answer(), which finds this before it writes. */
	store_release(&box->word, word_of(box, BOX_WANTED));
	box->tid = tid;
	/* Again and again, until it is answered: the thread may be inside the recorder at first. */
	if (timers_ask(tid, ticket_of(box)))
		return (int)(box - boxes);
	store_release(&box->word, word_of(box, BOX_IDLE));
	box->is_asked = false;
	return -1;
}

bool glimpse_is_there(int glimpse)
{
	const struct box *box = &boxes[glimpse];

	assert(glimpse >= 0 && glimpse < BOXES && box->is_asked);
	return load_acquire(&box->word) == word_of(box, BOX_THERE);
}

uint32_t glimpse_end(int glimpse, uint64_t pcs[GLIMPSE_FRAMES_MAX])
{
	struct box *box = &boxes[glimpse];
	uint32_t wanted = word_of(box, BOX_WANTED);
	uint32_t count = 0;

	timers_end_asking(box->tid);
	(void)cas_acq_rel(&box->word, &wanted, word_of(box, BOX_IDLE));
	if (glimpse_is_there(glimpse)) {
		count = box->count;
		memcpy(pcs, box->pcs, count * sizeof(*pcs));
	}
	box->is_asked = false;
	return count;
}

static void fill_box(struct box *box, const ucontext_t *context)
{
	struct stack_walk walk;

	stack_walk_interrupted(&walk, context->uc_mcontext.gregs, GLIMPSE_FRAMES_MAX);
	/* As return addresses are: behind the instruction. */
	walk.pcs[0]++;
	memcpy(box->pcs, walk.pcs, walk.count * sizeof(*walk.pcs));
	box->count = walk.count;
}

void glimpse_answer(int asked, const ucontext_t *context)
{
	struct box *box = &boxes[asked & 0xff];
	uint32_t word = load_acquire(&box->word);
	uint32_t question = word / BOX_STATES;

	if (word % BOX_STATES != BOX_WANTED ||
	    (question & 0x3fffff) != ((uint32_t)asked >> 8 & 0x3fffff))
		return;
	if (self_of_thread.busy || !cas_acq_rel(&box->word, &word, word - BOX_WANTED + BOX_WRITING))
		return;
	self_of_thread.busy = SELF_INSIDE;
	fill_box(box, context);
	self_of_thread.busy = 0;
	/* Pairs with glimpse_is_there(): the stack is whole. */
	store_release(&box->word, question * BOX_STATES + BOX_THERE);
}

void glimpse_forget(void)
{
	for (int i = 0; i < BOXES; i++)
		if (boxes[i].is_asked || boxes[i].word % BOX_STATES == BOX_WRITING) {
			boxes[i].is_asked = false;
			store_release(&boxes[i].word, word_of(&boxes[i], BOX_IDLE));
		}
}
