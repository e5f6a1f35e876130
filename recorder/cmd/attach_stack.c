/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a thread that is held may load a library. See attach_stack.h.
 *
 * To load one is to allocate, to take the loader's lock, and to create a thread. Another thread may
 * have any of these locks for a moment: it runs, and lets go. This one must not: so each function
 * that it is inside of is looked at. libdw unwinds, by the files' tables; where code is made at run
 * time it ends, and all up to there counts. One thread.
 */
#include "attach_stack.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procfs.h"

enum { FRAMES_MAX = 512 };

struct attach_stack {
	Dwfl *dwfl;
	Dwfl_Callbacks callbacks;
	pid_t pid;
	int memory;
	const struct user_regs_struct *registers; /* of the thread that is looked at */
	pid_t tid;
	int frames;
	bool waits_for_lock;
	bool is_unsafe;
};

/* The process of the stack that is open: libdw does not say for which it wants a file. */
static pid_t process;

static int find_file(Dwfl_Module *module, void **own, const char *name, Dwarf_Addr base,
		     char **file_name, Elf **elf)
{
	int fd = -ENOENT;

	if (name[0] == '/')
		fd = procfs_open_seen(process, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return dwfl_linux_proc_find_elf(module, own, name, base, file_name, elf);
	*file_name = strdup(name);
	return fd;
}

/* The tables that are loaded are enough: a thread waits meanwhile. */
static int find_no_more(Dwfl_Module *module, void **own, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word checksum, char **found)
{
	(void)module, (void)own, (void)name, (void)base;
	(void)file, (void)link, (void)checksum, (void)found;
	return -1;
}

/* --- A thread, as libdw asks for it ----------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread)
{
	const struct attach_stack *stack = argument;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = argument;
	return stack->tid;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *argument)
{
	const struct attach_stack *stack = argument;

	(void)dwfl;
	return pread(stack->memory, result, sizeof(*result), (off_t)address) == sizeof(*result);
}

/* In DWARF's order. */
static bool set_registers(Dwfl_Thread *thread, void *argument)
{
	const struct user_regs_struct *r = ((struct attach_stack *)argument)->registers;
	const Dwarf_Word values[17] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
					r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
					r->r12, r->r13, r->r14, r->r15, r->rip };

	return dwfl_thread_state_registers(thread, 0, 17, values);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

struct attach_stack *attach_stack_open(pid_t pid, int memory)
{
	struct attach_stack *stack = calloc(1, sizeof(*stack));

	if (!stack)
		return NULL;
	process = pid;
	stack->pid = pid;
	stack->memory = memory;
	stack->callbacks = (Dwfl_Callbacks){
		.find_elf = find_file,
		.find_debuginfo = find_no_more,
	};
	stack->dwfl = dwfl_begin(&stack->callbacks);
	if (stack->dwfl && dwfl_linux_proc_report(stack->dwfl, pid) == 0 &&
	    dwfl_report_end(stack->dwfl, NULL, NULL) == 0 &&
	    dwfl_attach_state(stack->dwfl, NULL, pid, &thread_callbacks, stack))
		return stack;
	attach_stack_close(stack);
	return NULL;
}

void attach_stack_close(struct attach_stack *stack)
{
	if (!stack)
		return;
	if (stack->dwfl)
		dwfl_end(stack->dwfl);
	free(stack);
}

/* --- Where it must not be --------------------------------------------------------------------- */

/* Patterns of files; of functions in any file: allocators are linked into programs; of libc's. */
static const char *const unsafe_files[] = { "ld-linux*", "ld-2.*",   "*malloc*",
					    "libasan*",  "libtsan*", "liblsan*" };
static const char *const allocators[] = { "*malloc*", "*calloc*", "*realloc*",      "free",
					  "*_free",   "memalign", "*aligned_alloc", "*memalign",
					  "valloc",   "pvalloc",  "mallinfo*",      "mallopt",
					  "_Zn[wa]*", "_Zd[la]*", "je_*",           "tc_*",
					  "mi_*",     "arena_*" };
static const char *const libc_functions[] = { "dl_iterate_phdr",
					      "dl*open",
					      "dlclose",
					      "dl*sym",
					      "dladdr*",
					      "_dl_*",
					      "*fork*",
					      "*posix_spawn*",
					      "system",
					      "popen",
					      "pclose",
					      "*exit",
					      "abort",
					      "_Exit",
					      "quick_exit",
					      "__cxa_*",
					      "atexit",
					      "on_exit",
					      "pthread_create",
					      "thrd_create",
					      "pthread_key_*",
					      "pthread_atfork",
					      "__register_atfork",
					      "*setuid",
					      "*setgid",
					      "setre*id",
					      "setres*id",
					      "setgroups",
					      "initgroups",
					      "pthread_cancel",
					      "__restore_rt" };

/* A lock may be an allocator's, whose functions have no names in a stripped program. */
static const char *const lock_functions[] = { "pthread_mutex_*", "pthread_rwlock_*", "mtx_*lock",
					      "pthread_spin_*", "__lll_*" };

static bool fits_any(const char *name, const char *const *patterns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fnmatch(patterns[i], name, 0) == 0)
			return true;
	return false;
}

#define FITS(name, patterns) fits_any(name, patterns, sizeof(patterns) / sizeof((patterns)[0]))

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static bool is_unsafe_at(const struct attach_stack *stack, Dwarf_Addr address)
{
	Dwfl_Module *module = dwfl_addrmodule(stack->dwfl, address);
	const char *file, *function;
	GElf_Off offset;
	GElf_Sym symbol;

	if (!module)
		return false;
	file = base_name(dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
	function = dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	/* A name from before the end of its function says nothing. */
	if (function && symbol.st_size > 0 && offset >= symbol.st_size)
		function = NULL;
	if (file && FITS(file, unsafe_files))
		return true;
	if (!function || FITS(function, allocators))
		return function != NULL;
	return file && fnmatch("libc.so*", file, 0) == 0 &&
	       (FITS(function, libc_functions) ||
		(!stack->waits_for_lock && FITS(function, lock_functions)));
}

static int see_frame(Dwfl_Frame *frame, void *argument)
{
	struct attach_stack *stack = argument;
	Dwarf_Addr address;
	bool is_activation;

	if (!dwfl_frame_pc(frame, &address, &is_activation))
		return DWARF_CB_ABORT;
	/* The frame of a signal is one that was interrupted: any but the innermost. */
	if ((is_activation && stack->frames > 0) ||
	    (stack->frames > 0 && is_unsafe_at(stack, address - !is_activation)))
		stack->is_unsafe = true;
	return stack->is_unsafe || ++stack->frames == FRAMES_MAX ? DWARF_CB_ABORT : DWARF_CB_OK;
}

bool attach_stack_is_safe(struct attach_stack *stack, pid_t tid,
			  const struct user_regs_struct *registers, bool waits_for_lock)
{
	stack->tid = tid;
	stack->registers = registers;
	stack->frames = 0;
	stack->waits_for_lock = waits_for_lock;
	stack->is_unsafe = false;
	(void)dwfl_getthread_frames(stack->dwfl, tid, see_frame, stack);
	return !stack->is_unsafe && stack->frames > 1;
}
