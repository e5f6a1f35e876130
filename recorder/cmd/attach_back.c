/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way back of a thread that is made to call a function. See attach_back.h.
 *
 * The bytes are those that the kernel writes for a signal handler, and as many. Of the thread's
 * alternate stack nothing is known from outside: its flags are such that the kernel leaves it as it
 * is. A system call that was to begin again does so by its own instruction. One thread.
 */
#include "attach_back.h"

#include <cpuid.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	PAGE_BYTES = 4096,
	/* As the kernel numbers them for itself and tracers. */
	RESTART_SYS = -512,
	RESTART_NOINTR = -513,
	RESTART_NOHAND = -514,
	RESTART_BLOCK = -516,
	SYSCALL_RESTART = 219,
	SYSCALL_BYTES = 2,
	/* In XSAVE's layout. */
	SOFTWARE_OFFSET = 464,
	HEADER_OFFSET = 512,
	LEGACY_BYTES = 576,
	FEATURES_MAX = 63,
	XSAVE_LEAF = 0xd,
	/* uc_flags: vector state is there; the stack segment too, and is to be taken. */
	HAS_ALL = 1 | 2 | 4,
	NO_SUCH_FLAGS = 0x7fff
};

/* Tiles are in a thread's state once it has used them. */
#define DYNAMIC_FEATURES (UINT64_C(3) << 17)

/* A step in memory, from the return address on. */
struct step {
	uint64_t code;
	uint64_t flags;
	uint64_t link;
	stack_t stack;
	mcontext_t machine;
	uint64_t mask;
};

_Static_assert(offsetof(struct step, mask) - offsetof(struct step, flags) ==
		       offsetof(ucontext_t, uc_sigmask),
	       "the kernel's layout");

/* The result of a function goes into a register that the call does not change. */
static const uint8_t code[] = {
	0x48, 0x89,
	0xc7, /* mov %rax, %rdi */
	0xb8, SYS_rt_sigreturn,
	0x00, 0x00,
	0x00, 0x0f,
	0x05 /* mov $15, %eax; syscall */
};

uint64_t attach_back_put_code(const struct attach_symbols *libc, int memory)
{
	uint64_t at = libc->code_end;

	_Static_assert(sizeof(code) <= ATTACH_CODE_BYTES, "others have what is behind it");
	if (PAGE_BYTES - at % PAGE_BYTES < sizeof(code) || at % PAGE_BYTES == 0 ||
	    pwrite(memory, code, sizeof(code), (off_t)at) != sizeof(code))
		return 0;
	return at;
}

/* --- Vector state ----------------------------------------------------------------------------- */

static uint64_t word_at(const struct attach_state *state, size_t offset)
{
	uint64_t word;

	memcpy(&word, state->vectors + offset, sizeof(word));
	return word;
}

/* A tracer is shown room for all that the CPU has; the kernel takes back no more than the thread
 * may have. */
static uint64_t features_of(const struct attach_state *state)
{
	uint64_t all = word_at(state, SOFTWARE_OFFSET), used = word_at(state, HEADER_OFFSET);

	return all & (~DYNAMIC_FEATURES | used);
}

static uint32_t bytes_of(const struct attach_state *state, uint64_t features)
{
	uint32_t most = LEGACY_BYTES;

	for (unsigned i = 2; i < FEATURES_MAX; i++) {
		uint32_t bytes, offset, c, d;

		if (!(features >> i & 1))
			continue;
		__cpuid_count(XSAVE_LEAF, i, bytes, offset, c, d);
		if (offset + bytes > most)
			most = offset + bytes;
	}
	return most < state->vector_bytes ? most : (uint32_t)state->vector_bytes;
}

static bool write_vectors(const struct attach_state *state, int memory, uint64_t to, uint32_t bytes)
{
	const uint32_t end = FP_XSTATE_MAGIC2;
	struct _fpx_sw_bytes software = {
		.magic1 = FP_XSTATE_MAGIC1,
		.extended_size = bytes + (uint32_t)sizeof(end),
		.xstate_bv = features_of(state),
		.xstate_size = bytes,
	};

	return pwrite(memory, state->vectors, bytes, (off_t)to) == (ssize_t)bytes &&
	       pwrite(memory, &software, sizeof(software), (off_t)(to + SOFTWARE_OFFSET)) ==
		       sizeof(software) &&
	       pwrite(memory, &end, sizeof(end), (off_t)(to + bytes)) == sizeof(end);
}

/* --- Registers -------------------------------------------------------------------------------- */

/* As the kernel would do before the thread goes on. */
void attach_back_begin_again(struct user_regs_struct *registers)
{
	long result = (long)registers->rax;

	if ((long)registers->orig_rax < 0)
		return;
	if (result == RESTART_BLOCK)
		registers->rax = SYSCALL_RESTART;
	else if (result == RESTART_SYS || result == RESTART_NOINTR || result == RESTART_NOHAND)
		registers->rax = registers->orig_rax;
	else
		return;
	registers->rip -= SYSCALL_BYTES;
}

static void put_registers(greg_t *to, struct user_regs_struct from)
{
	attach_back_begin_again(&from);
	to[REG_R8] = (greg_t)from.r8;
	to[REG_R9] = (greg_t)from.r9;
	to[REG_R10] = (greg_t)from.r10;
	to[REG_R11] = (greg_t)from.r11;
	to[REG_R12] = (greg_t)from.r12;
	to[REG_R13] = (greg_t)from.r13;
	to[REG_R14] = (greg_t)from.r14;
	to[REG_R15] = (greg_t)from.r15;
	to[REG_RDI] = (greg_t)from.rdi;
	to[REG_RSI] = (greg_t)from.rsi;
	to[REG_RBP] = (greg_t)from.rbp;
	to[REG_RBX] = (greg_t)from.rbx;
	to[REG_RDX] = (greg_t)from.rdx;
	to[REG_RAX] = (greg_t)from.rax;
	to[REG_RCX] = (greg_t)from.rcx;
	to[REG_RSP] = (greg_t)from.rsp;
	to[REG_RIP] = (greg_t)from.rip;
	to[REG_EFL] = (greg_t)from.eflags;
	to[REG_CSGSFS] = (greg_t)(from.cs | from.ss << 48);
}

/* At the entry of a function, the stack lies 8 bytes behind a multiple of 16, and vector state is
 * at a multiple of 64. */
uint64_t attach_back_write(const struct attach_state *state, uint64_t code_address, int memory,
			   uint64_t top)
{
	uint32_t bytes = state->vector_bytes ? bytes_of(state, features_of(state)) : 0;
	uint64_t vectors = (top - bytes - sizeof(FP_XSTATE_MAGIC2)) & -UINT64_C(64);
	uint64_t at = ((vectors - sizeof(struct step)) & -UINT64_C(16)) - sizeof(uint64_t);
	struct step step = {
		.code = code_address,
		.flags = HAS_ALL,
		.stack.ss_flags = NO_SUCH_FLAGS,
		.mask = state->mask,
	};

	put_registers(step.machine.gregs, state->registers);
	if (bytes > 0)
		memcpy(&step.machine.fpregs, &vectors, sizeof(vectors));
	if ((bytes > 0 && !write_vectors(state, memory, vectors, bytes)) ||
	    pwrite(memory, &step, sizeof(step), (off_t)at) != sizeof(step))
		return 0;
	return at;
}

bool attach_back_is_at(const struct user_regs_struct *registers, uint64_t step, uint64_t *result)
{
	if (registers->orig_rax != SYS_rt_sigreturn || registers->rsp != step + sizeof(uint64_t))
		return false;
	*result = registers->rdi;
	return true;
}
