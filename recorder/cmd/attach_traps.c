/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breakpoints in the code of another process, and the registers of its threads. See attach_traps.h.
 *
 * They are written through /proc/PID/mem, which makes private copies of the pages: no file changes.
 * One thread.
 */
#include "attach_traps.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

enum { INT3 = 0xcc };

/* --- Registers -------------------------------------------------------------------------------- */

bool attach_thread_get(pid_t tid, struct user_regs_struct *registers)
{
	struct iovec part = { registers, sizeof(*registers) };

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &part) == 0;
}

bool attach_thread_set(pid_t tid, const struct user_regs_struct *registers)
{
	struct iovec part = { (void *)(uintptr_t)registers, sizeof(*registers) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &part) == 0;
}

/* --- Breakpoints ------------------------------------------------------------------------------ */

bool attach_threads_add_trap(struct attach_threads *threads, uint64_t address,
			     enum attach_traps when)
{
	struct attach_trap *trap = &threads->traps[threads->trap_count];

	for (size_t i = 0; i < threads->trap_count; i++)
		if (threads->traps[i].address == address)
			return true;
	if (threads->trap_count == ATTACH_TRAPS_MAX ||
	    pread(threads->memory, &trap->byte, 1, (off_t)address) != 1)
		return false;
	trap->address = address;
	trap->when = when;
	threads->trap_count++;
	return true;
}

void attach_traps_write(const struct attach_threads *threads, int memory, enum attach_traps which)
{
	const uint8_t int3 = INT3;

	for (size_t i = 0; i < threads->trap_count; i++) {
		const struct attach_trap *trap = &threads->traps[i];

		bool is_set = trap->when == which ||
			      (trap->when == ATTACH_TRAPS_FORK && which == ATTACH_TRAPS_RETURN);

		(void)!pwrite(memory, is_set ? &int3 : &trap->byte, 1, (off_t)trap->address);
	}
}

const struct attach_trap *attach_traps_at(const struct attach_threads *threads, uint64_t address)
{
	for (size_t i = 0; i < threads->trap_count; i++)
		if (threads->traps[i].address == address)
			return &threads->traps[i];
	return NULL;
}

bool attach_traps_are_fork(const struct attach_threads *threads, pid_t tid)
{
	struct user_regs_struct registers;
	const struct attach_trap *trap = NULL;

	if (attach_thread_get(tid, &registers))
		trap = attach_traps_at(threads, registers.rip);
	return trap && trap->when == ATTACH_TRAPS_FORK;
}
