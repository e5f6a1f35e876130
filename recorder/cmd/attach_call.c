/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of functions by a thread of another process. See attach_call.h.
 *
 * A call returns to a breakpoint at the entry of a function of libc's that nobody calls. Where that
 * is not in the way any more, the function fails, and returns to where the way back begins.
 * dlopen() takes more stack than small threads have, so it gets one of its own. Meanwhile signals
 * are blocked in the thread, but for two kinds. A fault makes the kernel forget the handler of a
 * signal that is blocked. And setuid() reaches every thread by one: it waits for each, with a lock
 * of libc's that may be wanted here.
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

#include "attach_signals.h"

enum {
	RED_ZONE_BYTES = 128,
	STACK_BYTES = 512 * 1024,
	TEXT_BYTES = 8192, /* at the top of the stack */
	SIGNAL_SETXID = 33,
	SMALL_CALL_MS = 3000,
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
	/* They have been there without a meaning for decades. */
	static const char *const unused[] = { "sstk", "revoke", "gtty", "stty", "setlogin" };
	/* A child would have the loader's lock held by a thread that it has not. fork() has no lock
	 * yet at its entry. */
	uint64_t fork = attach_symbols_address(libc, "fork");

	*call = (struct attach_call){ .threads = threads, .libc = libc };
	call->ignores_trap = attach_signal_is_ignored(threads->pid, SIGTRAP);
	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]) && !call->return_address; i++)
		call->return_address = attach_symbols_address(libc, unused[i]);
	call->sigreturn = attach_back_find(libc, threads->memory);
	if (fork)
		(void)attach_threads_add_trap(threads, fork, ATTACH_TRAPS_FORK);
	return call->return_address && call->sigreturn &&
	       attach_threads_add_trap(threads, call->return_address, ATTACH_TRAPS_RETURN);
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

static void restore(const struct attach_state *state, pid_t tid)
{
	struct iovec vectors = { (void *)(uintptr_t)state->vectors, state->vector_bytes };

	(void)attach_thread_set(tid, &state->registers);
	(void)ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &vectors);
	(void)ptrace(PTRACE_SETSIGMASK, tid, sizeof(state->mask), &state->mask);
}

/* --- Calls ------------------------------------------------------------------------------------ */

static uint64_t top_of_stack(const struct attach_call *call)
{
	if (call->stack)
		return call->stack + STACK_BYTES - TEXT_BYTES;
	return call->state.registers.rsp - RED_ZONE_BYTES;
}

static bool put_stack(struct attach_call *call, uint64_t *sp)
{
	int memory = call->threads->memory;

	*sp = attach_back_write(&call->state, call->sigreturn, memory, top_of_stack(call));
	return *sp && pwrite(memory, &call->return_address, sizeof(call->return_address),
			     (off_t)*sp) == sizeof(call->return_address);
}

/* The mask comes first: a thread that is let go with it alone has only signals that wait. */
static bool begin_call(struct attach_call *call, uint64_t function, uint64_t sp,
		       const uint64_t arguments[ATTACH_ARGUMENTS])
{
	struct user_regs_struct registers = call->state.registers;
	uint64_t mask = mask_meanwhile();
	pid_t tid = call->threads->caller;

	registers.rsp = sp;
	registers.rip = function;
	registers.rdi = arguments[0];
	registers.rsi = arguments[1];
	registers.rdx = arguments[2];
	registers.rcx = arguments[3];
	registers.r8 = arguments[4];
	registers.r9 = arguments[5];
	registers.rax = 0;
	registers.rbp = 0;
	registers.orig_rax = UINT64_MAX;
	registers.eflags &= ~(unsigned long long)(DIRECTION_FLAG | TRAP_FLAG);
	return ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) == 0 &&
	       attach_thread_set(tid, &registers) && ptrace(PTRACE_CONT, tid, 0, 0) == 0;
}

bool attach_call(struct attach_call *call, uint64_t function,
		 const uint64_t arguments[ATTACH_ARGUMENTS], int timeout_ms, uint64_t *result)
{
	struct user_regs_struct registers;
	const struct attach_thread *held;
	uint64_t sp;

	if (call->is_left || call->threads->fault || !put_stack(call, &sp) ||
	    !begin_call(call, function, sp, arguments))
		return false;
	held = attach_threads_wait_for_caller(call->threads, timeout_ms);
	call->is_left = !held;
	if (!held || !attach_thread_get(held->tid, &registers))
		return false;
	restore(&call->state, held->tid);
	*result = registers.rax;
	return !call->threads->fault;
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

bool attach_call_begin(struct attach_call *call, pid_t tid)
{
	if (!save(&call->state, tid))
		return false;
	call->threads->caller = tid;
	call->threads->fault = 0;
	attach_threads_set(call->threads, ATTACH_TRAPS_RETURN);
	if (make_room(call))
		return true;
	attach_call_end(call);
	return false;
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
	const uint64_t ignore[ATTACH_ARGUMENTS] = { SIGTRAP, (uintptr_t)SIG_IGN };
	uint64_t result;

	call->stack = 0;
	if (mapping[0])
		(void)call_by_name(call, "munmap", mapping, &result);
	if (call->ignores_trap)
		(void)call_by_name(call, "signal", ignore, &result);
	if (call->error_address && !call->is_left)
		(void)!pwrite(call->threads->memory, &call->error, sizeof(call->error),
			      (off_t)call->error_address);
}

void attach_call_end(struct attach_call *call)
{
	struct attach_threads *threads = call->threads;

	tidy_up(call);
	attach_threads_set(threads, ATTACH_TRAPS_NONE);
	threads->caller = 0;
	attach_threads_go_all(threads);
}
