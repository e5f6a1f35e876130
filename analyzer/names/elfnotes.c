/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the notes of an ELF file's segments by libelf; elfnotes.h has the contract. */
#include "elfnotes.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef NT_FDO_PACKAGING_METADATA
#define NT_FDO_PACKAGING_METADATA 0xcafe1a7e
#endif

static void take_build_id(struct elf_notes *notes, const unsigned char *bytes, size_t count)
{
	if (count >= sizeof(notes->build_id) / 2)
		return;
	for (size_t i = 0; i < count; i++)
		snprintf(notes->build_id + 2 * i, 3, "%02x", bytes[i]);
}

static void take_package(struct elf_notes *notes, const char *bytes, size_t count)
{
	static const char *const names[] = { "type", "name", "version" };
	char texts[3][JSON_TEXTS_BYTES];

	if (!json_texts(bytes, strnlen(bytes, count), names, 3, texts))
		return;
	memcpy(notes->type, texts[0], sizeof(notes->type));
	memcpy(notes->name, texts[1], sizeof(notes->name));
	memcpy(notes->version, texts[2], sizeof(notes->version));
}

static void read_segment(struct elf_notes *notes, Elf *elf, const GElf_Phdr *segment)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz,
					      segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, name_at, bytes_at;
	GElf_Nhdr note;

	while (data && at < data->d_size &&
	       (at = gelf_getnote(data, at, &note, &name_at, &bytes_at)) > 0) {
		const char *name = (const char *)data->d_buf + name_at;
		const char *bytes = (const char *)data->d_buf + bytes_at;
		size_t length = note.n_namesz;

		if (note.n_type == NT_GNU_BUILD_ID && length == 4 && memcmp(name, "GNU", 4) == 0)
			take_build_id(notes, (const unsigned char *)bytes, note.n_descsz);
		if (note.n_type == NT_FDO_PACKAGING_METADATA && length == 4 &&
		    memcmp(name, "FDO", 4) == 0)
			take_package(notes, bytes, note.n_descsz);
	}
}

bool elf_notes_read(struct elf_notes *notes, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t count = 0;
	GElf_Phdr segment;

	*notes = (struct elf_notes){ .build_id = "" };
	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	bool is_elf = elf && elf_kind(elf) == ELF_K_ELF && elf_getphdrnum(elf, &count) == 0;
	for (size_t i = 0; is_elf && i < count; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_NOTE)
			read_segment(notes, elf, &segment);
	elf_end(elf);
	close(fd);
	return is_elf;
}
