/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of functions by a thread of another process. See attach_call.h.
 *
 * The thread stops at each system call on its way, and so where it is about to go back: then the
 * function has returned. dlopen() takes more stack than small threads have, so it gets one of its
 * own. A thread that is left alone there unmaps that stack on its way back.
 *
 * Meanwhile signals are blocked in the thread, but for two kinds. A fault makes the kernel forget
 * the handler of a signal that is blocked. And setuid() reaches every thread by one: it waits for
 * each, with a lock of libc's that may be wanted here.
 */
#include "attach_call.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	RED_ZONE_BYTES = 128,
	STACK_BYTES = 512 * 1024,
	TEXT_BYTES = 8192, /* at the top of the stack */
	SIGNAL_SETXID = 33,
	SMALL_CALL_MS = 3000,
	LONGEST_MS = 10000, /* of a call that goes on making system calls: it spins for a lock */
	DIRECTION_FLAG = 0x400,
	TRAP_FLAG = 0x100
};

static uint64_t bit_of(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

static uint64_t mask_meanwhile(void)
{
	return ~(bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGILL) | bit_of(SIGFPE) |
		 bit_of(SIGTRAP) | bit_of(SIGABRT) | bit_of(SIGNAL_SETXID));
}

bool attach_call_prepare(struct attach_call *call, struct attach_threads *threads,
			 const struct attach_symbols *libc)
{
	*call = (struct attach_call){ .threads = threads, .libc = libc };
	call->code = attach_back_put_code(libc, threads->memory);
	attach_forks_prepare(&call->forks, libc, threads->memory);
	return call->code != 0;
}

/* --- State ------------------------------------------------------------------------------------ */

static bool save(struct attach_state *state, pid_t tid)
{
	struct iovec vectors = { state->vectors, sizeof(state->vectors) };

	if (!attach_thread_get(tid, &state->registers) ||
	    ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &vectors) != 0 ||
	    ptrace(PTRACE_GETSIGMASK, tid, sizeof(state->mask), &state->mask) != 0)
		return false;
	state->vector_bytes = vectors.iov_len;
	return true;
}

/* By the registers last: a thread that is let go before them goes its way back. */
static bool restore(const struct attach_state *state, pid_t tid)
{
	struct iovec vectors = { (void *)(uintptr_t)state->vectors, state->vector_bytes };
	struct user_regs_struct registers = state->registers;

	attach_back_begin_again(&registers);
	registers.orig_rax = UINT64_MAX;
	return ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &vectors) == 0 &&
	       ptrace(PTRACE_SETSIGMASK, tid, sizeof(state->mask), &state->mask) == 0 &&
	       attach_thread_set(tid, &registers);
}

/* --- Calls ------------------------------------------------------------------------------------ */

static void put_call(struct user_regs_struct *registers, uint64_t function,
		     const uint64_t arguments[ATTACH_ARGUMENTS], uint64_t next)
{
	registers->rip = function;
	registers->rsp = next;
	registers->rdi = arguments[0];
	registers->rsi = arguments[1];
	registers->rdx = arguments[2];
	registers->rcx = arguments[3];
	registers->r8 = arguments[4];
	registers->r9 = arguments[5];
	registers->rax = 0;
	registers->rbp = 0;
	registers->orig_rax = UINT64_MAX;
	registers->eflags &= ~(unsigned long long)(DIRECTION_FLAG | TRAP_FLAG);
}

/* A step into a function, which goes on with the step `next`. */
static uint64_t write_step(const struct attach_call *call, uint64_t function,
			   const uint64_t arguments[ATTACH_ARGUMENTS], uint64_t next, uint64_t top)
{
	static struct attach_state state;

	if (!next || !function)
		return 0;
	state.registers = call->state.registers;
	state.mask = mask_meanwhile();
	put_call(&state.registers, function, arguments, next);
	return attach_back_write(&state, call->code, call->threads->memory, top);
}

static uint64_t write_letting(const struct attach_call *call, uint64_t next)
{
	const uint64_t arguments[ATTACH_ARGUMENTS] = { call->forks.word, 0 };

	return write_step(call, call->forks.store, arguments, next, next);
}

static uint64_t write_unmapping(const struct attach_call *call, uint64_t next)
{
	const uint64_t mapping[ATTACH_ARGUMENTS] = { call->stack, STACK_BYTES };

	return write_step(call, attach_symbols_address(call->libc, "munmap"), mapping, next,
			  call->stack + STACK_BYTES - TEXT_BYTES);
}

/* Its first step; 0: there is no such memory. */
static uint64_t write_way(const struct attach_call *call)
{
	uint64_t step = attach_back_write(&call->state, call->code, call->threads->memory,
					  call->state.registers.rsp - RED_ZONE_BYTES);

	if (call->stack)
		step = write_unmapping(call, step);
	if (call->holds_forks)
		step = write_letting(call, step);
	return step;
}

/* The registers come first: a thread that is let go with them alone may have signals meanwhile. */
static bool begin_call(const struct attach_call *call, uint64_t function,
		       const uint64_t arguments[ATTACH_ARGUMENTS], uint64_t way)
{
	struct user_regs_struct registers = call->state.registers;
	uint64_t mask = mask_meanwhile();
	pid_t tid = call->threads->caller;

	put_call(&registers, function, arguments, way);
	if (call->holds_forks) {
		registers.rax = function;
		registers.rip = call->forks.enter;
	}
	return attach_thread_set(tid, &registers) &&
	       ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) == 0;
}

/* Until it has returned, or has a fault. The time is that between its system calls. */
static bool await_return(const struct attach_call *call, uint64_t way, int timeout_ms,
			 uint64_t *result)
{
	struct attach_threads *threads = call->threads;
	struct attach_thread *held = attach_threads_caller(threads);
	uint64_t end_ms = attach_now_ms() + LONGEST_MS;
	struct user_regs_struct registers;

	do {
		if (held)
			attach_threads_go(threads, held);
		held = attach_threads_wait_for_caller(threads, timeout_ms);
		if (!held || attach_now_ms() > end_ms || !attach_thread_get(held->tid, &registers))
			return false;
	} while (!threads->fault && !attach_back_is_at(&registers, way, result));
	return true;
}

bool attach_call(struct attach_call *call, uint64_t function,
		 const uint64_t arguments[ATTACH_ARGUMENTS], int timeout_ms, uint64_t *result)
{
	uint64_t way = call->is_left || call->threads->fault ? 0 : write_way(call);

	if (way == 0 || !begin_call(call, function, arguments, way))
		return false;
	call->is_left = !await_return(call, way, timeout_ms, result) ||
			!restore(&call->state, call->threads->caller);
	if (call->is_left)
		call->threads->caller = 0;
	return !call->is_left && !call->threads->fault;
}

static bool call_by_name(struct attach_call *call, const char *name,
			 const uint64_t arguments[ATTACH_ARGUMENTS], uint64_t *result)
{
	uint64_t function = attach_symbols_address(call->libc, name);

	return function && attach_call(call, function, arguments, SMALL_CALL_MS, result);
}

/* errno stays as it is, and there is room for what takes more of the stack. */
static bool make_room(struct attach_call *call)
{
	const uint64_t none[ATTACH_ARGUMENTS] = { 0 };
	const uint64_t mapping[ATTACH_ARGUMENTS] = { 0,
						     STACK_BYTES,
						     PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
						     UINT64_MAX,
						     0 };
	uint64_t stack;

	if (!call_by_name(call, "__errno_location", none, &call->error_address) ||
	    pread(call->threads->memory, &call->error, sizeof(call->error),
		  (off_t)call->error_address) != sizeof(call->error) ||
	    !call_by_name(call, "mmap", mapping, &stack) || stack > UINT64_MAX - STACK_BYTES)
		return false;
	call->stack = stack;
	return true;
}

/* Where there is another thread, in a libc that has room for it. */
static void hold_forks(struct attach_call *call)
{
	const uint64_t arguments[ATTACH_ARGUMENTS] = { call->forks.prepare, call->forks.parent,
						       call->forks.child, call->forks.word };
	uint64_t result;

	if (call->threads->count <= 1 || !call->forks.prepare)
		return;
	if (!call->forks.is_registered &&
	    call_by_name(call, "__register_atfork", arguments, &result) && (uint32_t)result == 0)
		attach_forks_note(&call->forks, call->threads->memory);
	call->holds_forks = call->forks.is_registered;
	if (call->holds_forks)
		attach_forks_await_begun(call->threads);
}

static void forget_forks(struct attach_call *call)
{
	const uint32_t none = 0;

	if (!call->holds_forks || call->is_left)
		return;
	(void)!pwrite(call->threads->memory, &none, sizeof(none), (off_t)call->forks.word);
	call->holds_forks = false;
	attach_forks_await_counted(&call->forks, call->threads);
}

bool attach_call_begin(struct attach_call *call, pid_t tid)
{
	if (!save(&call->state, tid))
		return false;
	call->threads->caller = tid;
	call->threads->fault = 0;
	if (!make_room(call)) {
		attach_call_end(call);
		return false;
	}
	hold_forks(call);
	return true;
}

uint64_t attach_call_put(struct attach_call *call, const char *text)
{
	uint64_t address = call->stack + STACK_BYTES - TEXT_BYTES;
	size_t bytes = strlen(text) + 1;

	if (bytes > TEXT_BYTES ||
	    pwrite(call->threads->memory, text, bytes, (off_t)address) != (ssize_t)bytes)
		return 0;
	return address;
}

static void tidy_up(struct attach_call *call)
{
	const uint64_t mapping[ATTACH_ARGUMENTS] = { call->stack, STACK_BYTES };
	uint64_t result;

	call->threads->fault = 0;
	forget_forks(call);
	call->stack = 0;
	if (mapping[0])
		(void)call_by_name(call, "munmap", mapping, &result);
	if (call->error_address && !call->is_left)
		(void)!pwrite(call->threads->memory, &call->error, sizeof(call->error),
			      (off_t)call->error_address);
}

void attach_call_end(struct attach_call *call)
{
	struct attach_thread *held;

	tidy_up(call);
	held = attach_threads_caller(call->threads);
	call->threads->caller = 0;
	if (held)
		attach_threads_go(call->threads, held);
}
