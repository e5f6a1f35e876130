/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts `syscall` instructions in the code of modules. See inlined.h.
 *
 * The two bytes of the instruction also occur inside others. So one counts only in the company that
 * it keeps: its number loaded just before it, or its result looked at right after it. Compiled code
 * that does neither is missed: the figure is a least one (of libgomp's 38 it finds 19). The control
 * thread spends some three per cent of its time here, as long as there is anything to look at.
 */
#include "inlined.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

#include "modules.h"
#include "syscalls.h"
#include "text.h"

#include "in_target.h"

enum {
	BEFORE_BYTES = 24, /* how far before it the number is looked for */
	AFTER_BYTES = 8,
	CALLS_MAX = 1024, /* more than there are system calls */
	PIECE_BYTES = 262144,
	BUFFER_BYTES = 65536,
	PHDRS_MAX = 24,
	/* A process that ends sooner is not looked at: many short ones would pay for it. */
	PATIENCE_NS = 1000000000,
	/* In code that makes calls of its own, hardly any pair of such bytes is by chance. */
	PAIRS_PER_CALL = 4
};

/* mov $NUMBER,%eax; mov $NUMBER,%rax. At least 5 bytes. */
static bool is_number_loaded(const uint8_t *at)
{
	uint32_t number;

	if (at[0] == 0xb8)
		memcpy(&number, at + 1, sizeof(number));
	else if (at[0] == 0x48 && at[1] == 0xc7 && at[2] == 0xc0)
		memcpy(&number, at + 3, sizeof(number));
	else
		return false;
	return number < CALLS_MAX;
}

/* cmp $-4096,%rax or cmp $-4095,%rax; cmp $SMALL,%rax; test %rax,%rax. */
static bool is_result_looked_at(const uint8_t *at)
{
	if (at[0] != 0x48)
		return false;
	if (at[1] == 0x3d)
		return (at[2] & 0xfe) == 0 && at[3] == 0xf0 && at[4] == 0xff && at[5] == 0xff;
	return (at[1] == 0x83 && at[2] == 0xf8) || (at[1] == 0x85 && at[2] == 0xc0);
}

static bool is_call(const uint8_t *code, size_t at, size_t bytes)
{
	size_t back = at < BEFORE_BYTES ? at : BEFORE_BYTES;

	if (at + AFTER_BYTES <= bytes && is_result_looked_at(code + at + 2))
		return true;
	/* xor %eax,%eax: read(2) is number 0. */
	if (back >= 2 && code[at - 2] == 0x31 && code[at - 1] == 0xc0)
		return true;
	for (size_t i = 5; i <= back; i++)
		if (is_number_loaded(code + at - i))
			return true;
	return false;
}

void inlined_count(struct inlined_tally *tally, const uint8_t *code, size_t bytes, size_t first,
		   size_t last)
{
	assert(first <= last && last <= bytes);
	for (size_t at = first; at < last && at + 1 < bytes; at++) {
		const uint8_t *next = memchr(code + at, 0x0f, last - at);

		if (!next)
			break;
		at = (size_t)(next - code);
		if (at + 1 < bytes && next[1] == 0x05) {
			tally->pairs++;
			tally->calls += is_call(code, at, bytes);
		}
	}
}

uint32_t inlined_result(const struct inlined_tally *tally)
{
	return tally->calls * PAIRS_PER_CALL >= tally->pairs ? tally->calls : 0;
}

/* --- Module by module ------------------------------------------------------------------------ */

/* The control thread's own. */
static struct {
	uint64_t began_ns; /* when recording was first seen on; 0 = not yet */
	uint64_t due_ns;
	uint32_t module; /* the next one to look at, or the one in hand */
	int fd;          /* of its file, when has_file */
	bool has_file;
	uint64_t at, end; /* in the file: what is left of the segment in hand */
	uint32_t segment; /* the next program header */
	struct inlined_tally tally;
	_Alignas(8) uint8_t buffer[BUFFER_BYTES];
} scan;

static void module_done(struct arena *arena, uint32_t result)
{
	if (scan.has_file)
		sys_close(scan.fd);
	scan.has_file = false;
	/* Pairs with the dump's load: the module is complete long since. */
	store_release(&arena->module_calls[scan.module], result);
	scan.module++;
}

bool inlined_is_exempt(const char *path)
{
	static const char *const names[] = { "libc.so", "libc-", "libpthread", "ld-linux",
					     "ld-2.",   "ld.so", "libwcprof" };
	const char *slash = strrchr(path, '/');

	if (!slash)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(slash + 1, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static long read_at(void *to, size_t bytes, uint64_t offset)
{
	return sys_call(SYS_pread64, scan.fd, (long)to, (long)bytes, (long)offset, 0, 0);
}

/* On to the next segment with code; false: there is none, or the file is not what was loaded. */
static bool next_segment(void)
{
	Elf64_Ehdr header;

	if (read_at(&header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	while (scan.segment < header.e_phnum && scan.segment < PHDRS_MAX) {
		uint64_t at = header.e_phoff + scan.segment++ * sizeof(Elf64_Phdr);
		Elf64_Phdr phdr;

		if (read_at(&phdr, sizeof(phdr), at) != sizeof(phdr))
			return false;
		if (phdr.p_type == PT_LOAD && phdr.p_flags & PF_X) {
			scan.at = phdr.p_offset;
			scan.end = phdr.p_offset + phdr.p_filesz;
			return true;
		}
	}
	return false;
}

/* One bufferful, a little of what lies before and behind it with it. False: nothing is left. */
static bool scan_buffer(void)
{
	uint64_t from;
	size_t first, last;
	long got;

	if (scan.at >= scan.end && !next_segment())
		return false;
	from = scan.at < BEFORE_BYTES ? 0 : scan.at - BEFORE_BYTES;
	first = (size_t)(scan.at - from);
	got = read_at(scan.buffer, sizeof(scan.buffer), from);
	if (got <= (long)(first + AFTER_BYTES))
		return false;
	last = (size_t)got < sizeof(scan.buffer) ? (size_t)got : (size_t)got - AFTER_BYTES;
	if (scan.end - scan.at < last - first)
		last = first + (size_t)(scan.end - scan.at);
	inlined_count(&scan.tally, scan.buffer, (size_t)got, first, last);
	scan.at += last - first;
	return true;
}

static void scan_piece(struct arena *arena)
{
	const struct module_entry *module = modules_at(arena, scan.module);

	if (!scan.has_file) {
		scan.tally = (struct inlined_tally){ 0 };
		scan.at = scan.end = 0;
		scan.segment = 0;
		scan.fd = inlined_is_exempt(module->path)
				  ? -1
				  : sys_open(module->path, O_RDONLY | O_CLOEXEC, 0);
		scan.has_file = scan.fd >= 0;
		if (!scan.has_file) {
			module_done(arena, inlined_is_exempt(module->path) ? INLINED_NONE
									   : INLINED_UNKNOWN);
			return;
		}
	}
	for (size_t bytes = 0; bytes < PIECE_BYTES; bytes += sizeof(scan.buffer))
		if (!scan_buffer()) {
			module_done(arena, INLINED_NONE + inlined_result(&scan.tally));
			return;
		}
}

bool inlined_tick(struct arena *arena, uint64_t now_ns)
{
	if (scan.began_ns == 0)
		scan.began_ns = now_ns;
	if (scan.module >= load_acquire(&arena->module_count) ||
	    now_ns - scan.began_ns < PATIENCE_NS)
		return false;
	if (now_ns >= scan.due_ns) {
		scan_piece(arena);
		scan.due_ns = now_ns + INLINED_TICK_MS * UINT64_C(1000000);
	}
	return true;
}

void inlined_forget(void)
{
	scan.has_file = false;
	scan.module = 0;
	scan.began_ns = 0;
}
