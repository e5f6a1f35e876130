/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breakpoints in the code of another process, and the registers of its threads. See attach_traps.h.
 *
 * They are written through /proc/PID/mem, which makes private copies of the pages: no file changes.
 * One thread.
 */
#include "attach_traps.h"

#include <elf.h>
#include <sys/mman.h>
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

struct attach_trap_table *attach_traps_new(void)
{
	void *memory = mmap(NULL, sizeof(struct attach_trap_table), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

bool attach_threads_add_trap(struct attach_threads *threads, uint64_t address,
			     enum attach_traps when)
{
	struct attach_trap_table *table = threads->traps;
	struct attach_trap *trap = &table->all[table->count];

	if (attach_traps_at(table, address))
		return true;
	if (table->count == ATTACH_TRAPS_MAX ||
	    pread(threads->memory, &trap->byte, 1, (off_t)address) != 1)
		return false;
	trap->address = address;
	trap->when = when;
	table->count++;
	return true;
}

void attach_traps_write(const struct attach_trap_table *table, int memory, enum attach_traps which)
{
	const uint8_t int3 = INT3;

	for (size_t i = 0; i < table->count; i++) {
		const struct attach_trap *trap = &table->all[i];
		bool is_set = trap->when == which ||
			      (trap->when == ATTACH_TRAPS_FORK && which == ATTACH_TRAPS_RETURN);

		(void)!pwrite(memory, is_set ? &int3 : &trap->byte, 1, (off_t)trap->address);
	}
}

void attach_traps_remove(const struct attach_trap_table *table, int memory)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct attach_trap *trap = &table->all[i];
		uint8_t found;

		if (pread(memory, &found, 1, (off_t)trap->address) == 1 && found == INT3)
			(void)!pwrite(memory, &trap->byte, 1, (off_t)trap->address);
	}
}

const struct attach_trap *attach_traps_at(const struct attach_trap_table *table, uint64_t address)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->all[i].address == address)
			return &table->all[i];
	return NULL;
}

bool attach_traps_are_fork(const struct attach_threads *threads, pid_t tid)
{
	struct user_regs_struct registers;
	const struct attach_trap *trap = NULL;

	if (attach_thread_get(tid, &registers))
		trap = attach_traps_at(threads->traps, registers.rip);
	return trap && trap->when == ATTACH_TRAPS_FORK;
}
