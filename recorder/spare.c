/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of ours. See spare.h.
 *
 * Each spare has an owner: the thread that it is lent to. A call blocks all signals before it takes
 * one, so it always gives it back. A borrower may be jumped away from at any place. So it notes
 * which spare it tries for before it does: if the owner there is itself, it has it still.
 *
 * A signal handler that interrupted a borrower takes another spare for its calls, under another
 * name of the same thread.
 *
 * Threads: any. `owner` is written by exchange, the rest by the thread itself. Never here: waiting.
 */
#include "spare.h"

#include "atomics.h"
#include "mapping.h"
#include "sequence.h"
#include "syscalls.h"

#include "in_target.h"

/* More than there are CPUs on which threads are likely to be here at once. Pages that nobody uses
 * cost nothing. */
enum { SPARES = 64, TRIES = 1000 };
enum { FOREIGN_BYTES = 262144 };

/* 0 = nobody's. A line each: threads that walk at the same time do not share one. */
static struct {
	_Alignas(64) uint64_t owner;
} leases[SPARES];

static void *rooms; /* char [SPARES][SPARE_BYTES] */

/* The spare that this thread has borrowed, or was about to: its number + 1. */
static __thread uint32_t borrowed_number;

static char *room_of(uint32_t number)
{
	return (char *)rooms + (size_t)number * SPARE_BYTES;
}

/* The thread as a borrower, and as a caller. */
static uint64_t borrower(void)
{
	return (uint64_t)(uintptr_t)__builtin_thread_pointer();
}

static uint64_t caller(void)
{
	return borrower() | 1;
}

/* Threads begin to look at different places. */
static uint32_t first_choice(void)
{
	return (uint32_t)(sequence_scatter(borrower()) >> 40) % SPARES;
}

/* Acquire pairs with lease_end(): who had it before has left it. */
static bool lease_begin(uint32_t number, uint64_t owner)
{
	uint64_t nobody = 0;

	return load_relaxed(&leases[number].owner) == 0 &&
	       cas_acq_rel(&leases[number].owner, &nobody, owner);
}

static void lease_end(uint32_t number)
{
	store_release(&leases[number].owner, 0);
}

/*
 * Valgrind follows the stack pointer. It takes a switch of less than 2 MB to a stack that it does
 * not know for a large frame. When that goes, what lies between is no longer accessible. Its
 * requests are rotations that do nothing anywhere else: rotated by 128 bits, %rdi is as it was.
 */
enum { VALGRIND_STACK_REGISTER = 0x1501, VALGRIND_STACK_DEREGISTER = 0x1502 };

static uint64_t tell_valgrind(uint64_t code, uint64_t first, uint64_t second)
{
	uint64_t request[6] = { code, first, second };
	uint64_t id = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi\n"
			 "rolq $61, %%rdi; rolq $51, %%rdi\n"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(id)
			 : "a"(request)
			 : "cc", "memory");
	return id;
}

static uint64_t announce(const char *room, size_t bytes)
{
	return tell_valgrind(VALGRIND_STACK_REGISTER, (uintptr_t)room, (uintptr_t)room + bytes - 1);
}

bool spare_start(void)
{
	bool is_new = !load_acquire(&rooms);

	if (!mapping_ensure(&rooms, (size_t)SPARES * SPARE_BYTES))
		return false;
	for (uint32_t i = 0; is_new && i < SPARES; i++)
		(void)announce(room_of(i), SPARE_BYTES);
	return true;
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Calls the function with the stack pointer at `top`. An unwinder finds its way back. */
void spare_switch(void (*function)(void *), void *argument, char *top) HIDDEN;
__asm__(".pushsection .text\n"
	".type spare_switch, @function\n"
	"spare_switch:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rdx, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size spare_switch, . - spare_switch\n"
	".popsection\n");

bool spare_call_blocked(void (*function)(void *), void *argument)
{
	uint32_t first = first_choice();

	for (uint32_t i = 0; load_acquire(&rooms) && i < SPARES; i++) {
		uint32_t number = (first + i) % SPARES;

		if (!lease_begin(number, caller()))
			continue;
		spare_switch(function, argument, room_of(number) + SPARE_BYTES);
		lease_end(number);
		return true;
	}
	return false;
}

bool spare_call(void (*function)(void *), void *argument)
{
	uint64_t mask;
	bool is_called;

	mask = sys_block_signals();
	is_called = spare_call_blocked(function, argument);
	sys_restore_signals(mask);
	return is_called;
}

void spare_call_surely(void (*function)(void *), void *argument)
{
	for (int i = 0; i < TRIES && load_acquire(&rooms); i++) {
		if (spare_call(function, argument))
			return;
		sys_yield();
	}
	spare_call_here(function, argument);
}

void spare_call_foreign(void (*function)(void *), void *argument)
{
	char *room = mapping_make(FOREIGN_BYTES, -1);
	uint64_t mask, id;

	mask = sys_block_signals();
	if (room) {
		id = announce(room, FOREIGN_BYTES);
		spare_switch(function, argument, room + FOREIGN_BYTES);
		(void)tell_valgrind(VALGRIND_STACK_DEREGISTER, id, 0);
		sys_munmap(room, FOREIGN_BYTES);
	} else {
		function(argument);
	}
	sys_restore_signals(mask);
}

/* --- Borrowing -------------------------------------------------------------------------------- */

/* Whether a jump has left a spare with this thread. */
static bool still_has_one(void)
{
	return borrowed_number && load_relaxed(&leases[borrowed_number - 1].owner) == borrower();
}

static bool borrow(uint32_t number)
{
	borrowed_number = number + 1;
	order_for_handlers();
	return lease_begin(number, borrower());
}

void *spare_borrow(void)
{
	uint32_t first = first_choice();

	if (still_has_one())
		return room_of(borrowed_number - 1);
	for (uint32_t i = 0; load_acquire(&rooms) && i < SPARES; i++)
		if (borrow((first + i) % SPARES))
			return room_of(borrowed_number - 1);
	borrowed_number = 0;
	return NULL;
}

void spare_return(void *borrowed)
{
	uint32_t number = (uint32_t)(((char *)borrowed - (char *)rooms) / SPARE_BYTES);

	/* Not another's, as it may be in a child whose fork interrupted this thread. */
	if (load_relaxed(&leases[number].owner) == borrower())
		lease_end(number);
	borrowed_number = 0;
}

void spare_call_on(void *borrowed, void (*function)(void *), void *argument)
{
	uint64_t mask;

	mask = sys_block_signals();
	spare_switch(function, argument, (char *)borrowed + SPARE_BYTES);
	sys_restore_signals(mask);
}

void spare_call_here(void (*function)(void *), void *argument)
{
	uint64_t mask;

	mask = sys_block_signals();
	function(argument);
	sys_restore_signals(mask);
}

/* --- Ends ------------------------------------------------------------------------------------- */

void spare_thread_ends(void)
{
	if (still_has_one())
		lease_end(borrowed_number - 1);
	borrowed_number = 0;
}

/* This thread keeps its own: a handler that forked may have interrupted its walk. The other threads
 * are not in this process. */
void spare_fork_child(void)
{
	for (uint32_t i = 0; i < SPARES; i++)
		if ((load_relaxed(&leases[i].owner) | 1) != caller())
			store_relaxed(&leases[i].owner, 0);
}
