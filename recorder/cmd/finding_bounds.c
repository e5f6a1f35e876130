/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a function begins and ends, by the tables for unwinding: a stripped file has no symbols
 * of its static functions, but these. Code that a compiler puts elsewhere, as rarely run, is a
 * function of its own there. One thread.
 */
#include <dwarf.h>
#include <string.h>

#include "finding.h"

/* As compilers write addresses there: four bytes, counted from themselves. */
enum { FOUR_BYTES_FROM_HERE = DW_EH_PE_pcrel | DW_EH_PE_sdata4, ADDRESS_BYTES = 4 };

struct table {
	const unsigned char *identity; /* of the file */
	Elf_Data *data;
	uint64_t address;
};

static bool open_table(Elf *elf, struct table *table)
{
	size_t names = 0;
	GElf_Shdr header;

	if (!elf || elf_getshdrstrndx(elf, &names) != 0)
		return false;
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section;
	     section = elf_nextscn(elf, section)) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (!name || strcmp(name, ".eh_frame") != 0 || header.sh_type == SHT_NOBITS)
			continue;
		table->identity = (const unsigned char *)elf_getident(elf, NULL);
		table->data = elf_getdata(section, NULL);
		table->address = header.sh_addr;
		return table->identity && table->data && table->data->d_buf;
	}
	return false;
}

/* How addresses are written: "zR", or "zPLR" with the address of a function first. */
static bool is_usual(const struct table *table, Dwarf_Off at)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;
	const uint8_t *data;
	size_t bytes, used = 0;

	if (dwarf_next_cfi(table->identity, table->data, true, at, &next, &entry) != 0 ||
	    !dwarf_cfi_cie_p(&entry) || entry.cie.augmentation[0] != 'z')
		return false;
	data = entry.cie.augmentation_data;
	bytes = entry.cie.augmentation_data_size;
	for (const char *letter = entry.cie.augmentation + 1; *letter && used < bytes; letter++) {
		if (*letter == 'R')
			return data[used] == FOUR_BYTES_FROM_HERE;
		if (*letter == 'P' && (data[used] & 0xf) != DW_EH_PE_sdata4)
			return false;
		used += *letter == 'P' ? 1 + ADDRESS_BYTES : *letter == 'L';
	}
	return false;
}

static bool has(const struct table *table, const Dwarf_FDE *function, uint64_t address,
		uint64_t *low, uint64_t *high)
{
	const uint8_t *base = table->data->d_buf;
	int32_t distance;
	uint32_t bytes;

	if (function->end - function->start < 2 * ADDRESS_BYTES)
		return false;
	memcpy(&distance, function->start, sizeof(distance));
	memcpy(&bytes, function->start + ADDRESS_BYTES, sizeof(bytes));
	*low = table->address + (uint64_t)(function->start - base) + (uint64_t)(int64_t)distance;
	*high = *low + bytes;
	return address >= *low && address < *high;
}

bool finding_bounds(const struct mapped_file *file, uint64_t address, uint64_t *low, uint64_t *high)
{
	struct table table;
	Dwarf_Off at = 0, next;
	Dwarf_CFI_Entry entry;

	if (!open_table(file->elf, &table))
		return false;
	/* It ends behind the last entry, or at one that is broken. */
	for (; dwarf_next_cfi(table.identity, table.data, true, at, &next, &entry) == 0; at = next)
		if (!dwarf_cfi_cie_p(&entry) && has(&table, &entry.fde, address, low, high))
			return is_usual(&table, entry.fde.CIE_pointer);
	return false;
}
