/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address space that does not exist. See unwind_probe.h.
 *
 * Only libunwind's flavour for foreign address spaces is used, uncached, with the accessors below.
 * So the loader's lock (dl_iterate_phdr), the pipe that probes memory, the program's heap and
 * libunwind's per-thread caches stay out of it. Modules come from _dl_find_object, which takes no
 * lock.
 *
 * Never here: a read through a pointer of the tables that probe_may_read() has not seen.
 */
#include "unwind_probe.h"

#include <assert.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "atomics.h"
#include "mapping.h"

#include "in_target.h"

enum {
	PAGE_BYTES = 4096,
	SPACE_BYTES = 1 << 20 /* more than any libunwind's address space; unused pages are free */
};

/* Exported for users of foreign address spaces, but declared in no installed header. */
extern int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
					      unw_proc_info_t *, int, void *);
/* --- Tokens ----------------------------------------------------------------------------------- */

bool probe_offset(const struct probe *probe, uint64_t value, int32_t *offset)
{
	int64_t distance = (int64_t)(value - probe_token(probe, probe_family(value)));

	*offset = (int32_t)distance;
	return *offset == distance;
}

static uint64_t token_of_read(struct probe *probe, uint64_t address)
{
	uint32_t i = 0;

	while (i < probe->read_count && probe->read_at[i] != address)
		i++;
	if (i == PROBE_READS_MAX)
		return 0;
	if (i == probe->read_count)
		probe->read_at[probe->read_count++] = address;
	return probe_token(probe, TOKEN_READ + i);
}

uint64_t probe_address(const struct probe *probe, uint64_t value)
{
	unsigned i = probe_family(value) - TOKEN_READ;

	return i < probe->read_count && value == probe_token(probe, TOKEN_READ + i)
		       ? probe->read_at[i]
		       : 0;
}

/* --- libunwind's questions -------------------------------------------------------------------- */

bool probe_may_read(const struct probe *probe, uint64_t address, uint64_t bytes)
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
		if (!(header[i].p_flags & PF_R) || probe->segment_count == PROBE_SEGMENTS_MAX)
			continue;
		probe->segments[probe->segment_count++] = (struct probe_segment){
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

	if (!frame_header || !probe_may_read(probe, address, TABLE_AT) ||
	    frame_header[0] != VERSION || frame_header[1] != SDATA4_PC ||
	    frame_header[2] != UDATA4 || frame_header[3] != SDATA4_TABLE)
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
	if (probe_family(address)) {
		*value = token_of_read(probe, address);
		return *value ? 0 : -UNW_EINVAL;
	}
	if ((address & 7) || !probe_may_read(probe, address, sizeof(*value)))
		return -UNW_EINVAL;
	*value = *(const uint64_t *)(uintptr_t)address;
	return 0;
}

const uint8_t probe_registers[UNWIND_REGISTER_COUNT] = {
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
		if (probe_registers[i] == number)
			family = TOKEN_REGISTER + i;
	*value = number == UNW_X86_64_RIP ? probe->pc : probe_token(probe, family);
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

/* --- Steps ------------------------------------------------------------------------------------ */

/* Not from unw_create_addr_space(), which would ask the program's heap for it. An address space is
 * zero but for its accessors, and unw_get_accessors() says where they are. */
static void *space_bytes; /* SPACE_BYTES */

static unw_addr_space_t space(void)
{
	return (unw_addr_space_t)load_relaxed(&space_bytes);
}

bool probe_start(void)
{
	if (!mapping_ensure(&space_bytes, SPACE_BYTES))
		return false;
	*unw_get_accessors(space()) = (unw_accessors_t){ .find_proc_info = find_proc_info,
							 .put_unwind_info = put_unwind_info,
							 .get_dyn_info_list_addr = get_dynamic_list,
							 .access_mem = access_memory,
							 .access_reg = access_register,
							 .access_fpreg = access_float };
	assert((char *)unw_get_accessors(space()) < (char *)space_bytes + SPACE_BYTES);
	return true;
}

void probe_begin(struct probe *probe, uint64_t pc, uint64_t middle)
{
	probe->pc = pc;
	probe->middle = middle;
	probe->segment_count = 0;
	probe->read_count = 0;
	probe->found = false;
}

bool probe_step(struct probe *probe, unw_cursor_t *cursor)
{
	return unw_init_remote(cursor, space(), probe) >= 0 && unw_step(cursor) > 0 && probe->found;
}
