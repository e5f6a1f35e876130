/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that are within five bytes of code. See probe_traps.h.
 */
#include "probe_traps.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "clock.h"
#include "gate.h"
#include "lines.h"
#include "mapping.h"
#include "probe_order.h"
#include "syscalls.h"
#include "tasks.h"

#include "in_target.h"

enum {
	STRAGGLERS_MAX = 1024,      /* with more threads, the handler stays */
	STRAGGLER_CPU_NS = 1000000, /* more than it takes to leave five bytes */
	BLOCKED_LOOKS = 300,
	BLOCKED_PAUSE_NS = 1000000
};

static const int kinds[] = { SIGTRAP, SIGILL };
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Pairs with the handler. */
static uint64_t (*where)(uint64_t pc);

static struct {
	uint32_t signals; /* bits of those that have the handler */
	bool is_overfull;
	uint32_t count;
	struct {
		uint32_t tid;
		uint64_t cpu_ns;
	} threads[STRAGGLERS_MAX];
} * stragglers;

struct kernel_action {
	const void *handler;
	uint64_t flags;
	const void *restorer;
	uint64_t mask;
};

enum { MASK_BYTES = 8, RESTORER = 0x04000000 };

void probe_trap_return(void) HIDDEN;
__asm__(".pushsection .text\n"
	".type probe_trap_return, @function\n"
	"probe_trap_return:\n"
	"	mov $15, %eax\n" /* rt_sigreturn */
	"	syscall\n"
	".size probe_trap_return, . - probe_trap_return\n"
	".popsection\n");

static int action(int number, const struct kernel_action *to, struct kernel_action *from)
{
	return (int)sys_call(SYS_rt_sigaction, number, (long)to, (long)from, MASK_BYTES, 0, 0);
}

/* Behind an int3, or at a byte that is no instruction. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t to = load_acquire(&where)((uint64_t)registers[REG_RIP] - (number == SIGTRAP));
	struct kernel_action usual = { 0 };

	(void)info;
	if (to) {
		registers[REG_RIP] = (greg_t)to;
		return;
	}
	/* A trap of the program's own: as without us. */
	(void)action(number, &usual, NULL);
	(void)sys_tgkill(sys_getpid(), sys_gettid(), number);
}

bool probe_traps_begin(uint64_t (*moved_to)(uint64_t pc), uint32_t signals)
{
	struct kernel_action to = { (const void *)on_trap, SA_SIGINFO | SA_ONSTACK | RESTORER,
				    (const void *)probe_trap_return, 0 };

	if (!stragglers)
		stragglers = mapping_make(sizeof(*stragglers), -1);
	if (!stragglers)
		return false;
	store_release(&where, moved_to);
	for (int i = 0; i < KINDS; i++)
		if (signals >> kinds[i] & 1 && action(kinds[i], &to, NULL) == 0)
			stragglers->signals |= 1U << kinds[i];
	return (signals & ~stragglers->signals) == 0;
}

/* Where the program has not set another one meanwhile. */
static void take_handlers_away(void)
{
	struct kernel_action usual = { 0 }, now;

	for (int i = 0; i < KINDS; i++)
		if (stragglers->signals >> kinds[i] & 1 && action(kinds[i], NULL, &now) == 0 &&
		    now.handler == (const void *)on_trap)
			(void)action(kinds[i], &usual, NULL);
	stragglers->signals = 0;
}

/* Of a thread of this process; 0 when it has ended. */
static uint64_t cpu_ns_of(uint32_t tid)
{
	enum { CLOCK_OF_THREAD = 6 }; /* as the kernel numbers clocks of threads */
	struct timespec time;

	if (sys_clock_time((int)(~tid << 3) | CLOCK_OF_THREAD, &time) != 0)
		return 0;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void note_straggler(uint32_t tid, void *context)
{
	(void)context;
	if ((int)tid == sys_gettid())
		return;
	if (stragglers->count == STRAGGLERS_MAX) {
		stragglers->is_overfull = true;
		return;
	}
	stragglers->threads[stragglers->count].tid = tid;
	stragglers->threads[stragglers->count++].cpu_ns = cpu_ns_of(tid);
}

void probe_traps_note(void)
{
	stragglers->count = 0;
	stragglers->is_overfull = false;
	(void)tasks_see(gate_pid(), note_straggler, NULL);
}

static bool is_within(uint32_t tid, uint64_t cpu_ns)
{
	struct task_call call;
	uint64_t now_ns = cpu_ns_of(tid);

	if (now_ns == 0 || now_ns - cpu_ns > STRAGGLER_CPU_NS)
		return false;
	return !task_read_call(gate_pid(), tid, &call) || where(call.pc) != 0;
}

bool probe_traps_tick(void)
{
	if (!stragglers || !stragglers->signals)
		return false;
	while (stragglers->count > 0 &&
	       !is_within(stragglers->threads[stragglers->count - 1].tid,
			  stragglers->threads[stragglers->count - 1].cpu_ns))
		stragglers->count--;
	if (stragglers->count > 0 || stragglers->is_overfull)
		return true;
	take_handlers_away();
	return false;
}

static bool is_traced(void)
{
	struct lines lines;
	const char *line;
	bool is = false;

	if (!lines_open(&lines, "/proc/self/status"))
		return false;
	while ((line = lines_next(&lines)))
		if (strncmp(line, "TracerPid:", 10) == 0)
			is = strspn(line + 10, "\t 0") != strlen(line + 10);
	lines_close(&lines);
	return is;
}

struct search {
	uint64_t address;
	int number;
	bool is_found;
};

/* One that sleeps in a system call elsewhere will not be there in a microsecond. */
static void see_blocked(uint32_t tid, void *context)
{
	struct search *search = context;
	struct task_call call;

	if (search->is_found || (int)tid == sys_gettid() ||
	    !task_blocks_signal(gate_pid(), tid, search->number))
		return;
	search->is_found = !task_read_call(gate_pid(), tid, &call) ||
			   call.pc - search->address < PROBE_JUMP_BYTES;
}

static bool some_thread_blocks(uint64_t address, int number)
{
	for (int i = 0; i < BLOCKED_LOOKS; i++) {
		struct search search = { .address = address, .number = number };

		(void)tasks_see(gate_pid(), see_blocked, &search);
		if (!search.is_found)
			return false;
		sys_pause_ns(BLOCKED_PAUSE_NS);
	}
	return true;
}

static bool has_own_handler(int number)
{
	struct kernel_action now = { 0 };

	return action(number, NULL, &now) != 0 ||
	       (now.handler != (const void *)SIG_DFL && now.handler != (const void *)on_trap);
}

const char *probe_traps_why_not(uint64_t address, uint32_t signals)
{
	static const char *const has_handler[KINDS] = {
		"the program has a handler of SIGTRAP: only functions whose first "
		"instruction has five bytes can be probed",
		"the program has a handler of SIGILL, and an instruction ends at the fourth of "
		"the five bytes"
	};
	static const char *const is_blocked[KINDS] = {
		"a thread that runs blocks SIGTRAP: only functions whose first instruction "
		"has five bytes can be probed",
		"a thread that runs blocks SIGILL, and an instruction ends at the fourth of the "
		"five bytes"
	};

	for (int i = 0; i < KINDS; i++)
		if (signals >> kinds[i] & 1 && has_own_handler(kinds[i]))
			return has_handler[i];
	if (is_traced())
		return "a debugger is attached, and would get traps";
	for (int i = 0; i < KINDS; i++)
		if (signals >> kinds[i] & 1 && some_thread_blocks(address, kinds[i]))
			return is_blocked[i];
	return NULL;
}
