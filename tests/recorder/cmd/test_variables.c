/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a probe shows values that the program does not have.
 *
 * Programs in values/ are compiled in several ways and stopped at probes' places. The values that a
 * probe reads there are held against those that gdb prints. In unoptimised code, gdb knows
 * parameters only behind the first instructions: it is asked there.
 */
#include "variables.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe_eval.h"
#include "probe_spec.h"
#include "suite.h"

enum { TEXT_BYTES = 256, ANSWERS_MAX = 16 };

/* A program, and how it is compiled. */
static const struct build {
	const char *compiler;
	const char *arguments;
	const char *source;
	bool is_behind; /* gdb is asked behind the function's first instructions */
} builds[] = {
	/*  0 */ { "gcc", "-g -O0", "values.c", true },
	/*  1 */ { "gcc", "-g -O2", "values.c", false },
	/*  2 */ { "gcc", "-g -O2 -gdwarf-4 -fno-pie -no-pie", "values.c", false },
	/*  3 */ { "gcc", "-g -O1 -gsplit-dwarf", "values.c", false },
	/*  4 */ { "gcc", "-g -O2 -flto", "values.c", false },
	/*  5 */ { "clang", "-g -O0", "values.c", true },
	/*  6 */ { "clang", "-g -O2", "values.c", false },
	/*  7 */ { "clang", "-g -O1 -fno-omit-frame-pointer", "values.c", true },
	/*  8 */ { "g++", "-g -O0", "values.cc", true },
	/*  9 */ { "g++", "-g -O2", "values.cc", false },
	/* 10 */ { "clang++", "-g -O0", "values.cc", true },
	/* 11 */ { "clang++", "-g -O2", "values.cc", false },
	/* 12 */ { "rustc", "-g", "values.rs", true },
	/* 13 */ { "rustc", "-g -O", "values.rs", true },
};
enum { BUILDS = sizeof(builds) / sizeof(builds[0]) };

/* For the programs of one ending: a text, and what gdb calls its values. */
static const struct question {
	const char *ending;
	const char *text;
	const char *break_at; /* NULL: where the probe is */
	const char *expressions[ANSWERS_MAX];
} questions[] = {
	{ ".c",
	  "numbers(c, u, s, i, n, l, seventh, eighth)",
	  "numbers",
	  { "c", "u", "s", "i", "n", "l", "seventh", "eighth" } },
	{ ".c",
	  "strings(text, q->len, q->key.kind, q->key.rank, q->flags, q->depth, q->name, "
	  "q->next->len, q->table[1], q->mode, q->left, q->right)",
	  "strings",
	  { "text", "q->len", "q->key.kind", "q->key.rank", "q->flags", "q->depth", "q->name",
	    "q->next->len", "q->table[1]", "q->mode", "q->left", "q->right" } },
	{ ".c",
	  "strings(*q->text:u8, (*q).len, q, &q->len, counter, queries[1].len, q->len:u8)",
	  "strings",
	  { "*q->text", "(*q).len", "q", "&q->len", "counter", "queries[1].len",
	    "(unsigned char)q->len" } },
	{ ".c",
	  "by_value(p.a, p.b, o.a, o.b, after)",
	  "by_value",
	  { "p.a", "p.b", "o.a", "o.b", "after" } },
	{ ".c", "mixed(n, d, m.d, m.n)", "mixed", { "n", "d", "m.d", "m.n" } },
	{ ".c", "reals(f, d, many)", "reals", { "f", "d", "many" } },
	{ ".c",
	  "values.c:70(sum, q->len, q->next->len, counter)",
	  NULL,
	  { "sum", "q->len", "q->next->len", "counter" } },
	{ ".c", "large(big.v[0], big.v[3], n)", "large", { "big.v[0]", "big.v[3]", "n" } },
	{ ".c", "returns_large(n)", "returns_large", { "n" } },
	{ ".c",
	  "modes(mode, flag, letter, array[2], *array)",
	  "modes",
	  { "mode", "flag", "letter", "array[2]", "*array" } },
	{ ".c", "local(q->len)", "local", { "q->len" } },
	{ ".cc",
	  "db::table::scan(from, other.rows, this->rows, this->id, other.id, "
	  "other.name._M_dataplus._M_p, limit, db::limit)",
	  "db::table::scan",
	  { "from", "other.rows", "this->rows", "this->id", "other.id",
	    "other.name._M_dataplus._M_p", "db::limit", "db::limit" } },
	{ ".cc",
	  "db::table::scan(other.name)",
	  "db::table::scan",
	  { "other.name._M_dataplus._M_p" } },
	{ ".cc", "db::twice<int>(value)", "db::twice<int>", { "value" } },
	{ ".cc", "twice<long>(value)", "db::twice<long>", { "value" } },
	{ ".cc", "by_address(copy.rows, n)", "db::by_address", { "copy.rows", "n" } },
	{ ".cc",
	  "returns_owner(n, from.handle, last)",
	  "db::returns_owner",
	  { "n", "from.handle", "last" } },
	{ ".rs", "values::numbers(a, b, c, flag)", "values::numbers", { "a", "b", "c", "flag" } },
	{ ".rs",
	  "values::borrowed(q.len, q.rank, q.deep, n)",
	  "values::borrowed",
	  { "q.len", "q.rank", "q.deep", "n" } },
	{ ".rs", "values::text(s.length, n)", "values::text", { "s.length", "n" } },
};
enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

static char directory[64];
static char program[TEXT_BYTES];
static char error[PROBE_ERROR_BYTES];
/* A process of the program that stays at its entry point, where texts are looked up. The values are
 * read in processes of their own, which have all modules at the same addresses. */
static pid_t looked_at;
static struct probe_target *target;

static bool compile(const struct build *build)
{
	char command[1024];
	int status;

	snprintf(command, sizeof(command), "command -v %s >/dev/null", build->compiler);
	if (system(command) != 0)
		return false;
	snprintf(directory, sizeof(directory), "/tmp/wcprof-values-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(program, sizeof(program), "%s/values", directory);
	snprintf(command, sizeof(command),
		 "cd %s && %s %s $OLDPWD/tests/recorder/cmd/values/%s -o values", directory,
		 build->compiler, build->arguments, build->source);
	status = system(command);
	ck_assert_int_eq(status, 0);
	return true;
}

/* --- the program, stopped --- */

static bool read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)address, bytes };

	return process_vm_readv(*(pid_t *)context, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static void read_registers(pid_t pid, uint64_t *to, uint64_t *thread, uint64_t *vectors)
{
	struct user_regs_struct regs;
	struct user_fpregs_struct floating;

	ck_assert_int_eq(ptrace(PTRACE_GETFPREGS, pid, NULL, &floating), 0);
	for (size_t i = 0; i < PROBE_VECTORS; i++)
		memcpy(&vectors[i], &floating.xmm_space[4 * i], sizeof(vectors[i]));
	ck_assert_int_eq(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	*thread = regs.fs_base;
	memcpy(to,
	       (uint64_t[]){ regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi, regs.rdi, regs.rbp,
			     regs.rsp, regs.r8, regs.r9, regs.r10, regs.r11, regs.r12, regs.r13,
			     regs.r14, regs.r15, regs.rip },
	       PROBE_REGISTERS * sizeof(*to));
}

static void run_to(pid_t pid, uint64_t address)
{
	struct user_regs_struct regs;
	long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)(uintptr_t)address, NULL);
	int status;

	ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)address, (void *)((word & ~0xffL) | 0xcc));
	ck_assert_int_eq(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP, "status %x", status);
	ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)address, (void *)word);
	ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	ck_assert_uint_eq(regs.rip, address + 1);
	regs.rip = address;
	ptrace(PTRACE_SETREGS, pid, NULL, &regs);
}

/* The dynamic loader has mapped all when the program's entry point is reached. */
static pid_t start(void)
{
	pid_t pid = fork();
	uint64_t pair[2] = { 1, 1 }, entry = 0;
	char path[64];
	FILE *vector;
	int status;

	if (pid == 0) {
		/* As gdb does. */
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(program, program, NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSTOPPED(status));
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	vector = fopen(path, "re");
	while (fread(pair, sizeof(pair), 1, vector) == 1 && pair[0])
		entry = pair[0] == 9 ? pair[1] : entry; /* AT_ENTRY */
	fclose(vector);
	run_to(pid, entry);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* False: this machine has no such compiler. */
static bool make(const struct build *build)
{
	if (!compile(build))
		return false;
	looked_at = start();
	target = probe_target_open(looked_at, error);
	ck_assert_msg(target != NULL, "%s", error);
	return true;
}

static void clean(void)
{
	char command[128];

	probe_target_close(target);
	end(looked_at);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static void write_value(const struct probe_fetch *fetch, const struct probe_value *value, char *to)
{
	if (!value->is_known)
		snprintf(to, TEXT_BYTES, "unreadable");
	else if (fetch->type == PROBE_STRING)
		snprintf(to, TEXT_BYTES, "%s", value->text);
	else
		snprintf(to, TEXT_BYTES, "%" PRId64, (int64_t)value->bits);
}

/* Fills in one answer for each value of the text. An empty one: it cannot be had. */
static size_t ask_probe(const char *text, char answers[ANSWERS_MAX][TEXT_BYTES])
{
	static struct probe_value values[PROBE_FETCHES_MAX];
	pid_t pid;
	uint64_t registers[PROBE_REGISTERS], vectors[PROBE_VECTORS];
	struct probe_context context = { registers, 0, read_memory, &pid, 0, vectors };
	struct probe_places found;
	const struct probe_place *place;
	size_t count;

	if (probe_find(target, text, &found, error) != 0)
		return 0;
	ck_assert_uint_eq(found.count, 1);
	pid = start();
	place = &found.places[0];
	ck_assert(probe_code_is_valid(&place->code));
	run_to(pid, place->address + place->module->bias);
	context.bias = place->module->bias;
	read_registers(pid, registers, &context.thread, vectors);
	probe_fetch_all(&place->code, &context, false, values);
	if (place->is_return) {
		uint64_t back;

		ck_assert(read_memory(&pid, registers[PROBE_RSP], &back, sizeof(back)));
		run_to(pid, back);
		read_registers(pid, registers, &context.thread, vectors);
		probe_fetch_all(&place->code, &context, true, values);
	}
	count = place->code.fetch_count;
	for (size_t i = 0; i < count; i++)
		write_value(&place->code.fetches[i], &values[i], answers[i]);
	probe_places_free(&found);
	end(pid);
	return count;
}

/* --- gdb --- */

/* Strings as strings, all else as a number; nothing where it has none. */
static const char script[] =
	"set width 0\nset print elements 64\nset confirm off\n"
	"python\n"
	"import struct\n"
	"def bits(v): return struct.unpack('<q', struct.pack('<d', v))[0]\n"
	"def show(number, place, expression):\n"
	" try:\n"
	"  v = gdb.parse_and_eval(expression)\n"
	"  t = v.type.strip_typedefs()\n"
	"  has_target = t.code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_ARRAY)\n"
	"  e = t.target().strip_typedefs() if has_target else t\n"
	"  is_text = t.code != e.code and str(e.unqualified()) == 'char'\n"
	"  n = 0 if is_text else bits(float(v)) if t.code == gdb.TYPE_CODE_FLT else int(v)\n"
	"  n = n - (1 << 64) if n >= 1 << 63 else n\n"
	"  print('@%d.%d=%s' % (number, place, v.string() if is_text else n))\n"
	" except gdb.error: pass\n"
	"end\n";

static bool is_of(const struct build *build, const struct question *question)
{
	return strcmp(strrchr(build->source, '.'), question->ending) == 0;
}

/* Where the place of a text is when the program runs. */
static uint64_t address_of(const char *text)
{
	struct probe_places found;
	uint64_t address;

	ck_assert_msg(probe_find(target, text, &found, error) == 0, "%s", error);
	address = found.places[0].address + found.places[0].module->bias;
	probe_places_free(&found);
	return address;
}

static void write_break(const struct build *build, const struct question *question, FILE *file)
{
	char place[TEXT_BYTES];

	fprintf(file, "delete\n");
	if (question->break_at) {
		fprintf(file, build->is_behind ? "break %s\n" : "break *'%s'\n",
			question->break_at);
		return;
	}
	snprintf(place, sizeof(place), "%.*s", (int)strcspn(question->text, "("), question->text);
	fprintf(file, "break *%#" PRIx64 "\n", address_of(place));
}

static void write_commands(const struct build *build, FILE *file)
{
	fputs(script, file);
	for (size_t i = 0; i < QUESTIONS; i++) {
		if (!is_of(build, &questions[i]))
			continue;
		write_break(build, &questions[i], file);
		fprintf(file, "run\n");
		for (size_t k = 0; k < ANSWERS_MAX && questions[i].expressions[k]; k++)
			fprintf(file, "python show(%zu, %zu, '%s')\n", i, k,
				questions[i].expressions[k]);
	}
	fprintf(file, "kill\nquit\n");
}

static char theirs[QUESTIONS][ANSWERS_MAX][TEXT_BYTES];

static void ask_gdb(const struct build *build)
{
	char path[128], command[1024], line[TEXT_BYTES];
	FILE *file;

	snprintf(path, sizeof(path), "%s/commands", directory);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	write_commands(build, file);
	fclose(file);
	snprintf(command, sizeof(command),
		 "gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set auto-solib-add off' "
		 "-x %s %s </dev/null 2>%s/errors",
		 path, program, directory);
	file = popen(command, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		unsigned number, place;
		int used = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "@%u.%u=%n", &number, &place, &used) == 2 && used &&
		    number < QUESTIONS && place < ANSWERS_MAX)
			memcpy(theirs[number][place], line + used, strlen(line + used) + 1);
	}
	pclose(file);
}

/* --- both --- */

/* One value alone: "f(x)" of "f(a, x)". */
static void single(const struct question *question, size_t i, char *to)
{
	size_t place = strcspn(question->text, "(");
	const char *at = question->text + place + 1;
	unsigned depth = 0;

	for (; i > 0; at++) {
		depth += *at == '(';
		depth -= *at == ')';
		i -= *at == ',' && depth == 0;
	}
	at += strspn(at, " ");
	snprintf(to, TEXT_BYTES, "%.*s(", (int)place, question->text);
	for (depth = 0; *at && (depth > 0 || (*at != ',' && *at != ')')); at++) {
		size_t used = strlen(to);

		depth += *at == '(';
		depth -= *at == ')';
		to[used] = *at;
		to[used + 1] = '\0';
	}
	strcat(to, ")");
}

static void compare(const struct build *build, size_t number)
{
	static char ours[ANSWERS_MAX][TEXT_BYTES];
	const struct question *question = &questions[number];
	char text[TEXT_BYTES];

	for (size_t i = 0; i < ANSWERS_MAX && question->expressions[i]; i++) {
		single(question, i, text);
		memset(ours, 0, sizeof(ours));
		error[0] = '\0';
		ask_probe(text, ours);
		ck_assert_msg(strcmp(ours[0], theirs[number][i]) == 0,
			      "%s %s: %s: probe '%s', gdb '%s' %s", build->compiler,
			      build->arguments, text, ours[0], theirs[number][i], error);
	}
}

START_TEST(values_are_those_that_gdb_prints)
{
	if (!make(&builds[_i])) {
		printf("NOT TESTED: no %s\n", builds[_i].compiler);
		return;
	}
	ask_gdb(&builds[_i]);
	for (size_t i = 0; i < QUESTIONS; i++)
		if (is_of(&builds[_i], &questions[i]))
			compare(&builds[_i], i);
	clean();
}

/* Those that gdb does not know: before a function has returned, or without libthread_db. */
START_TEST(other_values_are_those_of_the_program)
{
	static const struct {
		const char *ending, *text, *expected;
	} rows[] = {
		{ ".c", "strings($ret)", "1235322" },
		{ ".c", "returns_large($ret.v[2])", "62" },
		{ ".c", "returns_pair($ret.a)", "70" },
		{ ".c", "returns_pair($ret.b)", "140" },
		{ ".c", "modes($ret)", "-7" },
		{ ".c", "returns_float($ret)", "-4620693217682128896" },
		{ ".c", "reals(p.x)", "4612811918334230528" },
		{ ".c", "reals(p.y)", "-4608871268660281344" },
		{ ".c", "returns_mixed($ret.d)", "4608308318706860032" },
		{ ".c", "returns_mixed($ret.n)", "-9" },
		{ ".c", "returns_point($ret.y)", "-4611686018427387904" },
		{ ".c", "modes($ret:u8)", "249" },
		{ ".c", "mixed(own)", "-7" },
		{ ".c", "mixed(own_key.rank)", "300" },
		{ ".cc", "db::twice<int>($ret)", "-16" },
		{ ".cc", "returns_owner($ret.handle)", "31" },
		{ ".cc", "table::scan($ret)", "1007" },
		{ ".rs", "values::borrowed($ret)", "786" },
	};
	static char ours[ANSWERS_MAX][TEXT_BYTES];

	/* Across files, a function that nobody asks for its value returns none. */
	if (strstr(builds[_i].arguments, "-flto") || !make(&builds[_i]))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* There the offset of a thread-local variable is in a table, and refused. */
		bool is_refused = strstr(builds[_i].arguments, "-gsplit-dwarf") &&
				  strstr(rows[i].text, "own");
		const char *expected = is_refused ? "" : rows[i].expected;

		if (strcmp(strrchr(builds[_i].source, '.'), rows[i].ending) != 0)
			continue;
		memset(ours, 0, sizeof(ours));
		ask_probe(rows[i].text, ours);
		ck_assert_msg(strcmp(ours[0], expected) == 0, "%s: '%s', not '%s' %s", rows[i].text,
			      ours[0], expected, error);
	}
	clean();
}

SUITE()
{
	SKIP_UNLESS(system("command -v gdb >/dev/null") == 0, "no gdb");
	LOOP(values_are_those_that_gdb_prints, 0, BUILDS);
	LOOP(other_values_are_those_of_the_program, 0, BUILDS);
}
