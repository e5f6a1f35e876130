/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks of a program's authors (usdt.h) as places of a probe. One mark may be at several places.
 * One thread.
 */
#include "finding.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "usdt.h"
#include "variables_fetches.h"

struct looking {
	struct finding *finding;
	struct mapped_file *file;
	size_t seen; /* marks of the provider */
};

static uint64_t find_symbol(void *context, const char *symbol, size_t length)
{
	struct looking *looking = context;
	int total = dwfl_module_getsymtab(looking->file->dwfl_module);

	for (int i = 0; i < total; i++) {
		GElf_Addr address;
		GElf_Word section;
		GElf_Sym found;
		const char *name = dwfl_module_getsym_info(looking->file->dwfl_module, i, &found,
							   &address, &section, NULL, NULL);

		if (name && section != SHN_UNDEF && strcspn(name, "@") == length &&
		    memcmp(name, symbol, length) == 0)
			return address;
	}
	return 0;
}

static bool see_mark(void *context, const struct usdt_mark *mark)
{
	struct looking *looking = context;
	struct finding *finding = looking->finding;
	struct probe_fetch arguments[PROBE_FETCHES_MAX];
	struct probe_place *place;
	struct variables variables;
	const struct mapped_function *function;
	size_t count;

	if (fnmatch(finding->text->file, mark->provider, 0) != 0)
		return true;
	looking->seen++;
	if (fnmatch(finding->text->function, mark->name, 0) != 0)
		return true;
	place = finding_add(finding, looking->file, PROBE_AT_USDT, mark->address);
	if (!place)
		return finding->result == 0;
	place->semaphore = mark->semaphore;
	snprintf(place->label, sizeof(place->label), "usdt:%.100s:%.100s", mark->provider,
		 mark->name);
	function = finding_name(finding, looking->file, place);
	finding_open(finding, looking->file, function, place, &variables);
	count = usdt_arguments(mark->arguments, arguments, PROBE_FETCHES_MAX, find_symbol, looking);
	finding->result = fetches_fill(finding->text, place->has_debug_info ? &variables : NULL,
				       arguments, count, place, finding->error);
	return finding->result == 0;
}

void finding_marks(struct finding *finding)
{
	struct looking looking = { finding, NULL, 0 };
	char files[512];

	if (finding->text->is_return) {
		finding_fail(finding, -EINVAL, "a mark does not return: probe its function");
		return;
	}
	for (size_t i = 0; i < finding->mapped->count && finding->result == 0; i++) {
		looking.file = &finding->mapped->files[i];
		if (finding_searches(finding, looking.file) &&
		    mapped_load(finding->mapped, looking.file))
			usdt_each(looking.file->elf, see_mark, &looking);
	}
	if (finding->result != 0 || finding->found->count > 0)
		return;
	finding_write_files(finding, files, sizeof(files));
	finding_fail(finding, -ENOENT, "no mark `%s` of `%s` in %s%s", finding->text->function,
		     finding->text->file, files,
		     looking.seen ? ", which has others of that provider (usdt:PROVIDER:*)" : "");
}
