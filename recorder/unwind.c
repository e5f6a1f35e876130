/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learns unwind rules from libunwind, by experiment.
 *
 * libunwind steps through an address space that does not exist: registers hold tokens (a number per
 * register in the top byte, see token()), and reading memory at a token yields another token that
 * stands for that place. After one step, the tokens in the registers tell how each was computed,
 * and that is the rule. So no stack is read here, whatever the tables say; the only real memory
 * read is the module's own, inside its readable segments. A second experiment with other low bits
 * proves that the rule is a sum: where it is not (alignment, say), the stack ends.
 *
 * Code without tables, as made at run time, may keep a frame pointer. Its rule says so, on trial:
 * whoever follows it believes it when it leads behind a call in code that has tables.
 *
 * Only libunwind's flavour for foreign address spaces is used, uncached, with accessors of our own.
 * So the loader's lock (dl_iterate_phdr), the pipe that probes memory, the program's heap and
 * libunwind's per-thread caches stay out of it; modules come from _dl_find_object, which takes no
 * lock. What remains is libunwind's lock around its pool of parsed entries, held for moments with
 * all signals blocked. It must not be held across a fork: unwind_fork_prepare() waits for learners
 * to finish, and a child of a fork that was not prepared never learns again if there were any.
 *
 * Threads: any, at the same time. Never here: reads through a pointer that the tables gave and that
 * readable() has not seen; calls of libunwind outside learners_enter() and learners_leave().
 */
#include "unwind.h"

#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind-x86_64.h>
#include <link.h>
#include <signal.h>
#include <string.h>

#include "atomics.h"
#include "self.h"
#include "syscalls.h"

#include "in_target.h"

enum {
	PAGE_BYTES = 4096,
	SEGMENTS_MAX = 12, /* of one module; the usual number is 4 or 5 */
	READS_MAX = 24,    /* places of one experiment; a signal frame has 18 */
	SPACE_BYTES =
		1 << 20, /* more than any libunwind's address space; what is unused costs nothing */
	FORK_SPINS_MAX = 1 << 18 /* with a yield every 64: some milliseconds at most */
};

/* Exported for users of foreign address spaces, but declared in no installed header. */
extern int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
					      unw_proc_info_t *, int, void *);
/* Missing before glibc 2.35: there, stacks have one frame. */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

struct segment {
	uint64_t start;
	uint64_t end;
};

/* One experiment. On the learner's stack. */
struct probe {
	uint64_t pc;
	uint64_t middle; /* offset in a token's span that stands for the register's value */
	struct segment segments[SEGMENTS_MAX];
	uint64_t read_at[READS_MAX]; /* tokens: what was read, in order of first reading */
	uint32_t segment_count;
	uint32_t read_count;
	bool found; /* the tables cover pc */
};

/* --- Tokens ------------------------------------------------------------------------------------
 * */

/* Top bytes. Real addresses have 0 there. Others than these: registers of no interest. */
enum { TOKEN_REGISTER = 0x10, TOKEN_OTHER = 0x20, TOKEN_READ = 0x40, TOKEN_SHIFT = 56 };

static uint64_t token(const struct probe *probe, unsigned family)
{
	return ((uint64_t)family << TOKEN_SHIFT) + probe->middle;
}

static unsigned token_family(uint64_t value)
{
	return (unsigned)(value >> TOKEN_SHIFT);
}

/* A family's value + offset; false when it is too far off to be one. */
static bool token_offset(const struct probe *probe, uint64_t value, int32_t *offset)
{
	int64_t distance = (int64_t)(value - token(probe, token_family(value)));

	*offset = (int32_t)distance;
	return *offset == distance;
}

static uint64_t token_of_read(struct probe *probe, uint64_t address)
{
	uint32_t i = 0;

	while (i < probe->read_count && probe->read_at[i] != address)
		i++;
	if (i == READS_MAX)
		return 0;
	if (i == probe->read_count)
		probe->read_at[probe->read_count++] = address;
	return token(probe, TOKEN_READ + i);
}

/* The address at which the value was read, 0 if it was not read from memory as it is. */
static uint64_t token_address(const struct probe *probe, uint64_t value)
{
	unsigned i = token_family(value) - TOKEN_READ;

	return i < probe->read_count && value == token(probe, TOKEN_READ + i) ? probe->read_at[i]
									      : 0;
}

/* --- What libunwind asks -----------------------------------------------------------------------
 * */

static bool readable(const struct probe *probe, uint64_t address, uint64_t bytes)
{
	for (uint32_t i = 0; i < probe->segment_count; i++)
		if (address >= probe->segments[i].start && address < probe->segments[i].end)
			return probe->segments[i].end - address >= bytes;
	return false;
}

/* Readable segments, from the program headers at the module's start; none if they are not there. */
static void find_segments(struct probe *probe, const struct dl_find_object *module)
{
	uint64_t start = (uint64_t)(uintptr_t)module->dlfo_map_start;
	const ElfW(Ehdr) *elf = module->dlfo_map_start;
	const ElfW(Phdr) * header;
	bool first = true;
	uint64_t bias = 0;

	probe->segment_count = 0;
	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phentsize != sizeof(*header) ||
	    elf->e_phoff + elf->e_phnum * sizeof(*header) > PAGE_BYTES)
		return;
	header = (const ElfW(Phdr) *)(uintptr_t)(start + elf->e_phoff);
	for (unsigned i = 0; i < elf->e_phnum; i++) {
		if (header[i].p_type != PT_LOAD)
			continue;
		if (first)
			bias = start - (header[i].p_vaddr & -(uint64_t)PAGE_BYTES);
		first = false;
		if (!(header[i].p_flags & PF_R) || probe->segment_count == SEGMENTS_MAX)
			continue;
		probe->segments[probe->segment_count++] = (struct segment){
			.start = bias + (header[i].p_vaddr & -(uint64_t)PAGE_BYTES),
			.end = bias + ((header[i].p_vaddr + header[i].p_memsz + PAGE_BYTES - 1) &
				       -(uint64_t)PAGE_BYTES)
		};
	}
}

/* The module's sorted table of functions, in the only form that linkers write; false without one.
 * */
static bool find_table(const struct probe *probe, const unsigned char *frame_header,
		       unw_dyn_info_t *info)
{
	enum { VERSION = 1, UDATA4 = 0x03, SDATA4_PC = 0x1b, SDATA4_TABLE = 0x3b, TABLE_AT = 12 };
	uint64_t address = (uint64_t)(uintptr_t)frame_header;
	uint32_t count;

	if (!frame_header || !readable(probe, address, TABLE_AT) || frame_header[0] != VERSION ||
	    frame_header[1] != SDATA4_PC || frame_header[2] != UDATA4 ||
	    frame_header[3] != SDATA4_TABLE)
		return false;
	memcpy(&count, frame_header + 8, sizeof(count));
	info->format = UNW_INFO_FORMAT_REMOTE_TABLE;
	info->u.rti.segbase = address;
	info->u.rti.table_data = address + TABLE_AT;
	info->u.rti.table_len = count; /* entries of eight bytes */
	return true;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t pc, unw_proc_info_t *result,
			  int need_unwind_info, void *argument)
{
	struct probe *probe = argument;
	struct dl_find_object module;
	unw_dyn_info_t info;
	int error;

	if (!_dl_find_object || _dl_find_object((void *)(uintptr_t)pc, &module) != 0)
		return -UNW_ENOINFO;
	find_segments(probe, &module);
	memset(&info, 0, sizeof(info));
	info.start_ip = (uint64_t)(uintptr_t)module.dlfo_map_start;
	info.end_ip = (uint64_t)(uintptr_t)module.dlfo_map_end;
	if (pc < info.start_ip || pc >= info.end_ip ||
	    !find_table(probe, module.dlfo_eh_frame, &info))
		return -UNW_ENOINFO;
	error = _Ux86_64_dwarf_search_unwind_table(space, pc, &info, result, need_unwind_info,
						   argument);
	probe->found = error >= 0;
	return error;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *argument)
{
	(void)space;
	(void)info;
	(void)argument;
}

static int get_dynamic_list(unw_addr_space_t space, unw_word_t *address, void *argument)
{
	(void)space;
	(void)address;
	(void)argument;
	return -UNW_ENOINFO;
}

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
			 void *argument)
{
	struct probe *probe = argument;

	(void)space;
	if (write)
		return -UNW_EINVAL;
	if (token_family(address)) {
		*value = token_of_read(probe, address);
		return *value ? 0 : -UNW_EINVAL;
	}
	if ((address & 7) || !readable(probe, address, sizeof(*value)))
		return -UNW_EINVAL;
	*value = *(const uint64_t *)(uintptr_t)address;
	return 0;
}

/* libunwind's numbers of the registers of a rule; UNWIND_PC is asked for apart. */
static const uint8_t unw_numbers[UNWIND_REGISTER_COUNT] = {
	[UNWIND_RBP] = UNW_X86_64_RBP, [UNWIND_RBX] = UNW_X86_64_RBX, [UNWIND_R12] = UNW_X86_64_R12,
	[UNWIND_R13] = UNW_X86_64_R13, [UNWIND_R14] = UNW_X86_64_R14, [UNWIND_R15] = UNW_X86_64_R15,
	[UNWIND_PC] = UNW_X86_64_RIP,  [UNWIND_SP] = UNW_X86_64_RSP
};

static int access_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value,
			   int write, void *argument)
{
	const struct probe *probe = argument;
	unsigned family = TOKEN_OTHER + (unsigned)number;

	(void)space;
	if (write || number < 0 || number > UNW_X86_64_RIP)
		return -UNW_EBADREG;
	for (unsigned i = 0; i < UNWIND_REGISTER_COUNT; i++)
		if (unw_numbers[i] == number)
			family = TOKEN_REGISTER + i;
	*value = number == UNW_X86_64_RIP ? probe->pc : token(probe, family);
	return 0;
}

static int access_float(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
			void *argument)
{
	(void)space;
	(void)number;
	(void)value;
	(void)write;
	(void)argument;
	return -UNW_EBADREG;
}

/* --- From tokens to a rule ---------------------------------------------------------------------
 * */

static bool rule_of_cfa(struct probe *probe, uint64_t cfa, struct unwind_rule *rule)
{
	unsigned family = token_family(cfa);
	uint64_t base = cfa;

	if (family >= TOKEN_READ && family - TOKEN_READ < probe->read_count) {
		if (!token_offset(probe, cfa, &rule->cfa_after))
			return false;
		base = probe->read_at[family - TOKEN_READ];
		rule->flags |= UNWIND_DEREF;
	}
	rule->cfa_register = (uint8_t)(token_family(base) - TOKEN_REGISTER);
	return rule->cfa_register < UNWIND_REGISTER_COUNT && rule->cfa_register != UNWIND_PC &&
	       token_offset(probe, base, &rule->cfa_offset);
}

/* How far `address` is from the value of a register before the step; false if it is not near it. */
static bool is_near(const struct probe *probe, unsigned number, uint64_t address, int32_t *at)
{
	return token_family(address) == TOKEN_REGISTER + number && token_offset(probe, address, at);
}

static void rule_of_register(const struct probe *probe, unsigned number, uint64_t value,
			     uint64_t cfa, struct unwind_rule *rule)
{
	uint64_t address = token_address(probe, value);
	int32_t *at = &rule->at[number];

	if (number != UNWIND_PC && value == token(probe, TOKEN_REGISTER + number)) {
		rule->where[number] = UNWIND_SAME;
	} else if (address && token_family(address) == token_family(cfa)) {
		*at = (int32_t)(address - cfa);
		rule->where[number] =
			*at == (int64_t)(address - cfa) ? UNWIND_NEAR_CFA : UNWIND_LOST;
	} else if (is_near(probe, UNWIND_SP, address, at)) {
		rule->where[number] = UNWIND_NEAR_SP;
	} else if (is_near(probe, UNWIND_RBP, address, at)) {
		rule->where[number] = UNWIND_NEAR_RBP;
	} else {
		*at = 0;
		rule->where[number] = UNWIND_LOST;
	}
}

/* What nearly all rules are: whoever follows them need not look at `where`. */
static void rule_simplify(struct unwind_rule *rule)
{
	if (rule->flags || rule->where[UNWIND_PC] != UNWIND_NEAR_CFA)
		return;
	for (unsigned i = 0; i < UNWIND_PRESERVED_COUNT; i++) {
		if (rule->where[i] == UNWIND_NEAR_CFA)
			rule->saved |= (uint8_t)(1U << i);
		else if (rule->where[i] != UNWIND_SAME)
			return;
	}
	rule->flags = UNWIND_PLAIN;
}

static const struct unwind_rule rule_end = { .flags = UNWIND_END };

/* What a function has that begins with push %rbp; mov %rsp, %rbp. */
static const struct unwind_rule rule_trial = {
	.flags = UNWIND_TRIAL,
	.cfa_register = UNWIND_RBP,
	.cfa_offset = 16,
	.at = { [UNWIND_RBP] = -16, [UNWIND_PC] = -8 },
	.where = { [UNWIND_RBP] = UNWIND_NEAR_CFA,
		   [UNWIND_RBX] = UNWIND_LOST,
		   [UNWIND_R12] = UNWIND_LOST,
		   [UNWIND_R13] = UNWIND_LOST,
		   [UNWIND_R14] = UNWIND_LOST,
		   [UNWIND_R15] = UNWIND_LOST,
		   [UNWIND_PC] = UNWIND_NEAR_CFA },
};

static bool rule_of_cursor(struct probe *probe, unw_cursor_t *cursor, struct unwind_rule *rule)
{
	unw_word_t cfa;
	unw_word_t value;

	if (unw_get_reg(cursor, UNW_X86_64_RSP, &cfa) < 0 || !rule_of_cfa(probe, cfa, rule))
		return false;
	for (unsigned i = 0; i < UNWIND_SAVED_COUNT; i++) {
		rule->where[i] = UNWIND_LOST;
		if (unw_get_reg(cursor, unw_numbers[i], &value) >= 0)
			rule_of_register(probe, i, value, cfa, rule);
	}
	if (unw_is_signal_frame(cursor) > 0)
		rule->flags |= UNWIND_SIGNAL;
	rule_simplify(rule);
	return rule->where[UNWIND_PC] != UNWIND_LOST;
}

/* Whether a call ends there: to a place that it names (E8), or that a register or memory does (FF
 * /2, of 2 to 7 bytes). */
static bool is_after_call(const struct probe *probe, uint64_t pc)
{
	enum { NEAR = 0xe8, NEAR_BYTES = 5, INDIRECT = 0xff, INDIRECT_BYTES_MAX = 7 };
	const unsigned char *end = (const unsigned char *)(uintptr_t)pc;

	if (!readable(probe, pc - INDIRECT_BYTES_MAX, INDIRECT_BYTES_MAX))
		return false;
	for (int bytes = 2; bytes <= INDIRECT_BYTES_MAX; bytes++)
		if (end[-bytes] == INDIRECT && (end[1 - bytes] >> 3 & 7) == 2)
			return true;
	return end[-NEAR_BYTES] == NEAR;
}

/* libunwind's address space. Not from unw_create_addr_space(), which would ask the program's heap
 * for it: an address space is zero but for its accessors, and unw_get_accessors() says where they
 * are. */
static _Alignas(64) unsigned char space_bytes[SPACE_BYTES];

static unw_addr_space_t space(void)
{
	return (unw_addr_space_t)space_bytes;
}

static struct unwind_rule experiment(uint64_t pc, uint64_t middle)
{
	struct probe probe;
	struct unwind_rule rule;
	unw_cursor_t cursor;

	memset(&rule, 0, sizeof(rule));
	probe.pc = pc;
	probe.middle = middle;
	probe.segment_count = 0;
	probe.read_count = 0;
	probe.found = false;
	if (unw_init_remote(&cursor, space(), &probe) < 0 || unw_step(&cursor) <= 0 ||
	    !probe.found || !rule_of_cursor(&probe, &cursor, &rule))
		rule = probe.found ? rule_end : rule_trial;
	rule.follows_call = probe.found && is_after_call(&probe, pc + 1);
	return rule;
}

/* --- Who may learn when ------------------------------------------------------------------------
 * */

static struct {
	uint32_t ready;    /* set once, by unwind_warm_up() */
	uint32_t closed;   /* forks under way; for ever where a held lock may have been inherited */
	uint32_t learners; /* threads inside libunwind */
} gate;

static bool is_in_module(uint64_t pc)
{
	struct dl_find_object module;

	return _dl_find_object && _dl_find_object((void *)(uintptr_t)pc, &module) == 0;
}

static void signals_block(uint64_t *saved)
{
	uint64_t all = ~UINT64_C(0);

	sys_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)saved, sizeof(all), 0, 0);
}

static void signals_restore(const uint64_t *saved)
{
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)saved, 0, sizeof(*saved), 0, 0);
}

/* Sequentially consistent, as is unwind_fork_prepare(): either the learner sees `closed`, or the
 * fork sees the learner. Weaker, a fork could copy a held lock. */
static bool learners_enter(void)
{
	add_seq_cst(&gate.learners, 1);
	if (!load_seq_cst(&gate.closed))
		return true;
	add_seq_cst(&gate.learners, -1);
	return false;
}

static void learners_leave(void)
{
	add_seq_cst(&gate.learners, -1);
}

void unwind_fork_prepare(void)
{
	add_seq_cst(&gate.closed, 1);
	for (uint32_t i = 0; i < FORK_SPINS_MAX; i++) {
		if (!load_seq_cst(&gate.learners))
			return;
		if (i % 64 == 63)
			sys_yield();
	}
}

void unwind_fork_parent(void)
{
	add_seq_cst(&gate.closed, -1);
}

/* Single-threaded. Learners that were copied are gone, but not what they held. */
void unwind_fork_child(void)
{
	gate.closed = gate.learners ? 1 : 0;
	gate.learners = 0;
}

bool unwind_learn(uint64_t pc, struct unwind_rule *rule)
{
	static const uint64_t middles[2] = { UINT64_C(1) << 47, (UINT64_C(1) << 47) + 0x2b7ac8 };
	int saved_errno = errno;
	struct unwind_rule again;
	uint8_t busy;
	uint64_t mask;

	if (!load_acquire(&gate.ready))
		return false;
	if (!is_in_module(pc)) {
		*rule = rule_trial;
		return true;
	}
	signals_block(&mask);
	if (!learners_enter()) {
		signals_restore(&mask);
		return false;
	}
	busy = self_of_thread.busy;
	self_of_thread.busy = SELF_LEARNING;
	*rule = experiment(pc, middles[0]);
	again = experiment(pc, middles[1]);
	if (memcmp(rule, &again, sizeof(again)) != 0) {
		*rule = rule_end;
		rule->follows_call = again.follows_call;
	}
	self_of_thread.busy = busy;
	learners_leave();
	signals_restore(&mask);
	errno = saved_errno;
	return true;
}

/* --- Set-up ------------------------------------------------------------------------------------
 * */

/* The two lowest free descriptors, by making a pipe. */
static bool lowest_free(int pair[2])
{
	if (SYS3(pipe2, pair, O_CLOEXEC, 0) < 0)
		return false;
	sys_close(pair[0]);
	sys_close(pair[1]);
	return true;
}

static bool is_pipe(int descriptor, ino_t *inode)
{
	struct stat status;

	if (sys_fstat(descriptor, &status) < 0 || !S_ISFIFO(status.st_mode))
		return false;
	*inode = status.st_ino;
	return true;
}

/* libunwind opens a pipe when it starts, for a purpose that never arises here. */
static void close_pipe(const int pair[2])
{
	ino_t inodes[2];

	if (is_pipe(pair[0], &inodes[0]) && is_pipe(pair[1], &inodes[1]) &&
	    inodes[0] == inodes[1]) {
		sys_close(pair[0]);
		sys_close(pair[1]);
	}
}

void unwind_warm_up(void)
{
	int saved_errno = errno;
	struct unwind_rule rule;
	bool has_pair;
	int pair[2];

	if (load_acquire(&gate.ready))
		return;
	has_pair = lowest_free(pair);
	*unw_get_accessors(space()) = (unw_accessors_t){ .find_proc_info = find_proc_info,
							 .put_unwind_info = put_unwind_info,
							 .get_dyn_info_list_addr = get_dynamic_list,
							 .access_mem = access_memory,
							 .access_reg = access_register,
							 .access_fpreg = access_float };
	assert((unsigned char *)unw_get_accessors(space()) < space_bytes + SPACE_BYTES);
	if (has_pair)
		close_pipe(pair);
	store_release(&gate.ready, 1);
	unwind_learn((uint64_t)(uintptr_t)__builtin_return_address(0) - 1,
		     &rule); /* binds all symbols */
	errno = saved_errno;
}
