/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of the type "stapsdt", and the places of arguments, which are operands of the assembler.
 *
 * The bytes are a file's and may be anything: each string is checked to end within its note. One
 * thread.
 */
#include "usdt.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE_TYPE = 3, WORDS = 3 };

/* --- notes --- */

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	size_t names = 0;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section;
	     section = elf_nextscn(elf, section)) {
		const char *own = gelf_getshdr(section, header)
					  ? elf_strptr(elf, names, header->sh_name)
					  : NULL;

		if (own && strcmp(own, name) == 0)
			return section;
	}
	return NULL;
}

/* The next string of the note; NULL: it does not end there. */
static const char *take_string(const char **at, const char *end)
{
	const char *string = *at;
	const char *nul = string < end ? memchr(string, '\0', (size_t)(end - string)) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return string;
}

static bool read_mark(const char *bytes, size_t size, uint64_t base, struct usdt_mark *mark)
{
	uint64_t words[WORDS];
	const char *at = bytes + sizeof(words), *end = bytes + size;

	if (size <= sizeof(words))
		return false;
	memcpy(words, bytes, sizeof(words));
	/* A prelinked file was moved after its notes were written. */
	if (base && words[1]) {
		words[0] += base - words[1];
		words[2] += words[2] ? base - words[1] : 0;
	}
	*mark = (struct usdt_mark){ .address = words[0], .semaphore = words[2] };
	mark->provider = take_string(&at, end);
	mark->name = mark->provider ? take_string(&at, end) : NULL;
	mark->arguments = mark->name ? take_string(&at, end) : NULL;
	return mark->arguments != NULL;
}

void usdt_each(Elf *elf, bool (*see)(void *context, const struct usdt_mark *mark), void *context)
{
	GElf_Shdr header;
	GElf_Nhdr note;
	Elf_Scn *section = find_section(elf, ".stapsdt.base", &header);
	uint64_t base = section ? header.sh_addr : 0;
	size_t offset = 0, next, name_at, bytes_at;
	struct usdt_mark mark;
	Elf_Data *data;

	section = find_section(elf, ".note.stapsdt", &header);
	data = section && header.sh_type == SHT_NOTE ? elf_getdata(section, NULL) : NULL;
	while (data && (next = gelf_getnote(data, offset, &note, &name_at, &bytes_at)) > 0) {
		const char *bytes = data->d_buf;

		offset = next;
		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof("stapsdt") &&
		    memcmp(bytes + name_at, "stapsdt", sizeof("stapsdt")) == 0 &&
		    read_mark(bytes + bytes_at, note.n_descsz, base, &mark) && !see(context, &mark))
			return;
	}
}

/* --- arguments --- */

struct reading {
	const char *at;
	const char *end;
	uint64_t (*find)(void *context, const char *symbol, size_t length);
	void *context;
};

/* Names of registers, by their numbers in DWARF: of 8, 4, 2 and 1 bytes, and the second byte. */
static const char *const registers[][5] = {
	{ "rax", "eax", "ax", "al", "ah" },
	{ "rdx", "edx", "dx", "dl", "dh" },
	{ "rcx", "ecx", "cx", "cl", "ch" },
	{ "rbx", "ebx", "bx", "bl", "bh" },
	{ "rsi", "esi", "si", "sil", "" },
	{ "rdi", "edi", "di", "dil", "" },
	{ "rbp", "ebp", "bp", "bpl", "" },
	{ "rsp", "esp", "sp", "spl", "" },
	{ "r8", "r8d", "r8w", "r8b", "" },
	{ "r9", "r9d", "r9w", "r9b", "" },
	{ "r10", "r10d", "r10w", "r10b", "" },
	{ "r11", "r11d", "r11w", "r11b", "" },
	{ "r12", "r12d", "r12w", "r12b", "" },
	{ "r13", "r13d", "r13w", "r13b", "" },
	{ "r14", "r14d", "r14w", "r14b", "" },
	{ "r15", "r15d", "r15w", "r15b", "" },
	{ "rip", "", "", "", "" },
};

static bool take(struct reading *reading, char sign)
{
	if (reading->at == reading->end || *reading->at != sign)
		return false;
	reading->at++;
	return true;
}

/* "%rax": its number; `is_second`: of its bytes, the second. */
static bool take_register(struct reading *reading, uint8_t *number, bool *is_second)
{
	const char *begin = reading->at + 1;
	size_t length = 0;

	if (!take(reading, '%'))
		return false;
	while (reading->at < reading->end && isalnum((unsigned char)*reading->at))
		reading->at++;
	length = (size_t)(reading->at - begin);
	for (size_t i = 0; length > 0 && i < sizeof(registers) / sizeof(registers[0]); i++)
		for (size_t k = 0; k < 5; k++) {
			if (strlen(registers[i][k]) != length ||
			    memcmp(registers[i][k], begin, length) != 0)
				continue;
			*number = (uint8_t)i;
			*is_second = k == 4;
			return true;
		}
	return false;
}

/* A number that fits; its sign may be a plus. */
static bool take_number(struct reading *reading, int64_t *value)
{
	char digits[24];
	size_t length = 0;
	char *end;

	while (reading->at + length < reading->end && length < sizeof(digits) - 1 &&
	       (isxdigit((unsigned char)reading->at[length]) ||
		strchr("xX", reading->at[length]) != NULL ||
		(length == 0 && strchr("+-", reading->at[length]) != NULL))) {
		digits[length] = reading->at[length];
		length++;
	}
	digits[length] = '\0';
	errno = 0;
	*value = digits[0] == '-' ? strtoll(digits, &end, 0) : (int64_t)strtoull(digits, &end, 0);
	if (end == digits || errno != 0)
		return false;
	reading->at += end - digits;
	return true;
}

/* "counter", "counter+8" */
static bool take_symbol(struct reading *reading, int64_t *address)
{
	const char *begin = reading->at;
	uint64_t found;
	int64_t offset = 0;

	while (reading->at < reading->end &&
	       (isalnum((unsigned char)*reading->at) || strchr("_.$@", *reading->at)))
		reading->at++;
	if (reading->at == begin || isdigit((unsigned char)*begin))
		return false;
	found = reading->find(reading->context, begin, (size_t)(reading->at - begin));
	if (reading->at < reading->end && strchr("+-", *reading->at) &&
	    !take_number(reading, &offset))
		return false;
	*address = (int64_t)(found + (uint64_t)offset);
	return found != 0;
}

/* "-16(%rbp)", "counter(%rip)", "8+counter(%rip)", "counter": what is in memory there. */
static bool take_memory(struct reading *reading, uint8_t bytes, struct probe_fetch *fetch)
{
	bool is_symbol = false, is_second = false;
	int64_t more = 0;

	if (reading->at < reading->end && *reading->at != '(' &&
	    (!take_number(reading, &more) || take(reading, '+'))) {
		is_symbol = true;
		if (!take_symbol(reading, &fetch->add))
			return false;
	}
	fetch->add += more;
	fetch->start = is_symbol ? PROBE_FROM_MODULE : PROBE_FROM_REGISTER;
	fetch->steps[fetch->step_count++] = (struct probe_step){ .bytes = bytes };
	if (!take(reading, '('))
		return is_symbol;
	/* An index in the brackets would be a product, which no program can have. */
	if (!take_register(reading, &fetch->reg, &is_second) || is_second || !take(reading, ')'))
		return false;
	return is_symbol == (fetch->reg == PROBE_RIP);
}

/* "%xmm3" */
static bool take_vector(struct reading *reading, uint8_t *number)
{
	static const char name[] = "%xmm";
	const char *at = reading->at;
	unsigned found = 0, digits = 0;

	if ((size_t)(reading->end - at) < sizeof(name) || memcmp(at, name, sizeof(name) - 1) != 0)
		return false;
	for (at += sizeof(name) - 1; at < reading->end && isdigit((unsigned char)*at); digits++)
		found = found * 10 + (unsigned)(*at++ - '0');
	if (digits == 0 || digits > 2 || found >= PROBE_VECTORS)
		return false;
	reading->at = at;
	*number = (uint8_t)found;
	return true;
}

static bool take_place(struct reading *reading, uint8_t bytes, struct probe_fetch *fetch)
{
	bool is_second = false;

	if (take(reading, '$')) {
		fetch->start = PROBE_FROM_ZERO;
		return take_number(reading, &fetch->add);
	}
	if (reading->at == reading->end || *reading->at != '%')
		return take_memory(reading, bytes, fetch);
	if (take_vector(reading, &fetch->reg)) {
		fetch->start = PROBE_FROM_VECTOR;
		return true;
	}
	fetch->start = PROBE_FROM_REGISTER;
	if (!take_register(reading, &fetch->reg, &is_second))
		return false;
	if (is_second) {
		fetch->bit_shift = 8;
		fetch->bit_count = 8;
	}
	return true;
}

/* "-4@%eax": four bytes with a sign; "8f@%xmm0": a double. */
static void read_argument(struct reading *reading, struct probe_fetch *fetch)
{
	int64_t bytes;
	bool is_real;

	memset(fetch, 0, sizeof(*fetch));
	if (!take_number(reading, &bytes))
		return;
	is_real = take(reading, 'f');
	if (!take(reading, '@'))
		return;
	fetch->type = bytes < 0 ? PROBE_SIGNED : PROBE_UNSIGNED;
	bytes = bytes < 0 ? -bytes : bytes;
	if (is_real) {
		if (bytes < 4)
			return;
		fetch->type = PROBE_REAL;
	}
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		return;
	if (take_place(reading, (uint8_t)bytes, fetch) && reading->at == reading->end)
		fetch->size = (uint8_t)bytes;
}

size_t usdt_arguments(const char *text, struct probe_fetch *fetches, size_t max,
		      uint64_t (*find)(void *context, const char *symbol, size_t length),
		      void *context)
{
	size_t count = 0;

	for (text += strspn(text, " "); *text && count < max; text += strspn(text, " ")) {
		size_t length = strcspn(text, " ");
		struct reading reading = { text, text + length, find, context };

		read_argument(&reading, &fetches[count++]);
		text += length;
	}
	return count;
}
