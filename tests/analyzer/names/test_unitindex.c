/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, addresses get wrong functions or lines: others give other answers. */
/*
 * The oracle is addr2line for C, and llvm-symbolizer for C++, where addr2line mixes names and files
 * up; a machine without it leaves those rows out.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "names/unitindex.h"
#include "sample.h"
#include "suite.h"

enum { ANSWER_BYTES = 16 << 20 };

static const char sample_cc[] =
	"#include <algorithm>\n"
	"#include <mutex>\n"
	"#include <string>\n"
	"#include <vector>\n"
	"namespace shop {\n"
	"static std::mutex lock;\n"
	"struct Cart {\n"
	"	std::vector<std::string> items;\n"
	"	void add(const std::string &item) {\n"
	"		std::lock_guard<std::mutex> guard(lock); items.push_back(item); }\n"
	"	int price() { struct Local { int operator()(int a, const std::string &b) {\n"
	"			return a + b.size(); } };\n"
	"		int sum = 0; for (auto &i : items) sum = Local()(sum, i); return sum; }\n"
	"};\n"
	"template <int N> int sorted(Cart &cart) {\n"
	"	std::sort(cart.items.begin(), cart.items.end(),\n"
	"		  [](const std::string &a, const std::string &b) {\n"
	"			return a.size() + N < b.size() * N; });\n"
	"	try { return std::stoi(cart.items.at(0)); }\n"
	"	catch (std::exception &) { return -1; }\n"
	"}\n"
	"}\n"
	"int main(int argc, char **argv) {\n"
	"	shop::Cart cart;\n"
	"	for (int i = 0; i < argc; i++) cart.add(argv[i]);\n"
	"	return shop::sorted<3>(cart) + shop::sorted<5>(cart) + cart.price();\n"
	"}\n";

static const struct {
	const char *name;
	const char *compiler;
	const char *source;
	const char *flags;
	const char *
		afterwards; /* done to the file before it is looked at, not before addr2line does */
} cases[] = {
	/* 0 */ { "c", "gcc", sample_c, "-g -O2 -falign-functions=1", "" },
	/* 1 */ { "c-O0", "gcc", sample_c, "-g -O0", "" },
	/* 2 */ { "c-dwarf4", "gcc", sample_c, "-gdwarf-4 -O2 -falign-functions=1", "" },
	/* 3 */ { "c-no-pie", "gcc", sample_c, "-g -O2 -falign-functions=1 -no-pie", "" },
	/* 4 */
	{ "c-no-table", "gcc", sample_c, "-g -O2 -falign-functions=1",
	  "objcopy --remove-section .debug_aranges" },
	/* 5 */
	{ "c-compressed", "gcc", sample_c, "-g -O2 -falign-functions=1",
	  "objcopy --compress-debug-sections" },
	/* 6 */ { "cc", "g++", sample_cc, "-g -O2 -falign-functions=1", "" },
	/* 7 */ { "cc-O1", "g++", sample_cc, "-g -O1 -falign-functions=1 -std=c++20", "" },
	/* 8 */ { "cc-lto", "g++", sample_cc, "-g -O2 -falign-functions=1 -flto=1", "" },
	/* 9 */
	{ "cc-sections", "g++", sample_cc,
	  "-g -O2 -falign-functions=1 -ffunction-sections -Wl,--gc-sections", "" },
};

static const char addr2line[] = "addr2line -a -f -i -e";
static const char llvm_symbolizer[] = "llvm-symbolizer --output-style=GNU --functions=linkage "
				      "--no-demangle --inlines -a -e";

struct opened {
	int fd;
	Dwarf *dwarf;
	struct unitindex index;
};

static void open_index(struct opened *opened, const char *name)
{
	opened->fd = open(sample_path(name), O_RDONLY);
	opened->dwarf = dwarf_begin(opened->fd, DWARF_C_READ);
	ck_assert_ptr_nonnull(opened->dwarf);
	unitindex_open(&opened->index, opened->dwarf, 0);
}

static void close_index(struct opened *opened)
{
	unitindex_close(&opened->index);
	dwarf_end(opened->dwarf);
	close(opened->fd);
}

/* Clones, and constructors and destructors of one kind, are the same to whoever reads their names.
 */
static const char normalize[] =
	"sed -i 's/ (discriminator.*//; s/^0x0*/0x/; s/^\\(_[^.]*\\)[.][a-z].*/\\1/; "
	"s/^main[.]cold/main/; /^_/s/\\([CD]\\)[124]E/\\1E/g'";

/* The file's contents after that. */
static char *normalized_text(const char *name, const char *ending)
{
	char *text = calloc(1, ANSWER_BYTES), path[SAMPLE_PATH_BYTES];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", sample_path(name), ending);
	sample_run("%s %s", normalize, path);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	length = fread(text, 1, ANSWER_BYTES - 1, file);
	ck_assert_uint_lt(length, ANSWER_BYTES - 1);
	fclose(file);
	return text;
}

/* The command's answer for every second byte of the code: "FUNCTION\nFILE:LINE\n" a frame. */
static char *oracle(const char *command, const char *name, uint64_t start, uint64_t end)
{
	sample_run("cd %s && seq %llu 2 %llu | while read n; do printf '0x%%x\\n' $n; done "
		   ">%s.addresses",
		   sample_directory, (unsigned long long)start, (unsigned long long)end, name);
	sample_run("cd %s && %s %s <%s.addresses >%s.theirs", sample_directory, command, name, name,
		   name);
	return normalized_text(name, ".theirs");
}

static void print_answer(FILE *out, struct unitindex *index, uint64_t address)
{
	struct unitindex_frame frames[UNITINDEX_FRAMES_MAX];
	size_t count = unitindex_frames(index, address, frames);

	fprintf(out, "0x%llx\n", (unsigned long long)address);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%s\n", frames[i].function ? frames[i].function : "??");
		if (frames[i].line)
			fprintf(out, "%s:%u\n", frames[i].file, frames[i].line);
		else
			fprintf(out, "%s:?\n", frames[i].file ? frames[i].file : "??");
	}
}

/* The next "0x…" record of an answer: its length; records end where the next one begins. */
static size_t record_length(const char *answer)
{
	size_t length = 0;

	while (answer[length]) {
		length += (size_t)(strchrnul(answer + length, '\n') - (answer + length));
		length += answer[length] == '\n';
		if (answer[length] == '0' && answer[length + 1] == 'x')
			break;
	}
	return length;
}

/* How many addresses with a known line there are; ends the test at the first that differs. */
static size_t compare_answers(const char *name, const char *mine, const char *theirs)
{
	size_t compared = 0;

	while (*mine && *theirs) {
		size_t my_length = record_length(mine), length = record_length(theirs);
		bool is_known =
			!memmem(theirs, length, ":?", 2) && !memmem(theirs, length, ":0\n", 3);

		if (is_known && (length != my_length || memcmp(mine, theirs, length)))
			ck_abort_msg("%s: mine\n%.*s, expected\n%.*s", name, (int)my_length, mine,
				     (int)length, theirs);
		compared += is_known;
		mine += my_length;
		theirs += length;
	}
	ck_assert_msg(!*mine && !*theirs, "%s: not as many answers", name);
	return compared;
}

START_TEST(agrees_with_others)
{
	const char *name = cases[_i].name;
	struct opened opened;
	char *theirs, *mine, mine_path[SAMPLE_PATH_BYTES];
	uint64_t start, end;
	bool is_cxx = cases[_i].source == sample_cc;
	FILE *out;

	if (is_cxx && system("command -v llvm-symbolizer >/dev/null")) {
		fprintf(stderr, "no llvm-symbolizer: row %d is left out\n", _i);
		return;
	}
	sample_build(cases[_i].compiler, name, cases[_i].source, cases[_i].flags);
	sample_text(name, &start, &end);
	theirs = oracle(is_cxx ? llvm_symbolizer : addr2line, name, start, end);
	if (cases[_i].afterwards[0])
		sample_run("%s %s", cases[_i].afterwards, sample_path(name));
	open_index(&opened, name);
	out = fopen(strcat(strcpy(mine_path, sample_path(name)), ".mine"), "w");
	ck_assert_ptr_nonnull(out);
	for (uint64_t address = start; address <= end; address += 2)
		print_answer(out, &opened.index, address);
	fclose(out);
	mine = normalized_text(name, ".mine");
	ck_assert_uint_gt(compare_answers(name, mine, theirs), 30);
	ck_assert_ptr_nonnull(strstr(mine, "main\n"));
	close_index(&opened);
	free(mine);
	free(theirs);
}
END_TEST

START_TEST(inlined_functions_innermost_first)
{
	struct unitindex_frame frames[UNITINDEX_FRAMES_MAX];
	struct opened opened;

	sample_build("gcc", "chain", sample_c, "-g -O2 -falign-functions=1");
	open_index(&opened, "chain");
	ck_assert_uint_eq(
		unitindex_frames(&opened.index, sample_symbol("chain", "in_inner"), frames), 3);
	ck_assert_str_eq(frames[0].function, "inner");
	ck_assert_uint_eq(frames[0].line, 3);
	ck_assert_str_eq(frames[1].function, "middle");
	ck_assert_uint_eq(frames[1].line, 8);
	ck_assert_str_eq(frames[2].function, "outer");
	ck_assert_uint_eq(frames[2].line, 12);
	ck_assert_ptr_nonnull(strstr(frames[2].file, "chain.c"));
	close_index(&opened);
}
END_TEST

START_TEST(a_bias_moves_all_addresses)
{
	struct unitindex_frame frames[UNITINDEX_FRAMES_MAX];
	struct opened opened;
	uint64_t address;

	sample_build("gcc", "biased", sample_c, "-g -O2 -falign-functions=1");
	address = sample_symbol("biased", "worker");
	open_index(&opened, "biased");
	unitindex_close(&opened.index);
	unitindex_open(&opened.index, opened.dwarf, 0x10000);
	ck_assert_uint_eq(unitindex_frames(&opened.index, address, frames), 0);
	ck_assert_uint_eq(unitindex_frames(&opened.index, address + 0x10000, frames), 1);
	ck_assert_str_eq(frames[0].function, "worker");
	close_index(&opened);
}
END_TEST

START_TEST(no_debug_information_finds_nothing)
{
	struct unitindex_frame frames[UNITINDEX_FRAMES_MAX];
	struct unitindex index;

	unitindex_open(&index, NULL, 0);
	ck_assert_uint_eq(unitindex_frames(&index, 0x1000, frames), 0);
	unitindex_close(&index);
}
END_TEST

SUITE()
{
	FIXTURE_ONCE(sample_begin, sample_end);
	EACH(agrees_with_others, cases);
	TEST(inlined_functions_innermost_first);
	TEST(a_bias_moves_all_addresses);
	TEST(no_debug_information_finds_nothing);
}
