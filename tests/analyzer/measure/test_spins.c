/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that waits on a CPU passes for one that works, or the reverse. */
#include "measure/spins.h"

#include <stdlib.h>
#include <string.h>

#include "dump_text.h"
#include "sample.h"
#include "suite.h"

static const char spinning_c[] =
	"int flag;\n"
	"__attribute__((noinline)) void await(int *at)\n"
	"{\n"
	"	__asm__ volatile(\".globl in_await\\n1: in_await: mov (%0),%%eax\\n\"\n"
	"	\"test %%eax,%%eax\\nje 1b\" : : \"r\"(at) : \"eax\", \"memory\");\n"
	"}\n"
	"__attribute__((noinline)) unsigned burn(unsigned x)\n"
	"{\n"
	"	__asm__ volatile(\".globl in_burn\\n1: in_burn: imul %0,%0\\n\"\n"
	"			 \"test %0,%0\\njne 1b\" : \"+r\"(x));\n"
	"	return x;\n"
	"}\n"
	"int main(void)\n"
	"{\n"
	"	await(&flag);\n"
	"	return (int)burn(1);\n"
	"}\n";

/* Frames have the address after the one that ran, as a call's have. Stack 3: the loop is in a call
 * that the recorder made. */
static void read_spinning(struct recording *recording, uint64_t spin_at, uint64_t burn_at)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "{'schema_version':1,'epoch_unix_nano':1000,'dumped_unix_nano':900000,"
		 "'process':{'pid':1},'strings':[''],"
		 "'threads':[{'th':1,'tid':1,'name':'loop'},{'th':2,'tid':2,'name':'loop'}],"
		 "'modules':[{'path':'%s','base':0,'start':4096,'size':65536},"
		 "{'path':'/none/libwcprof.so','base':0,'start':131072,'size':4096}],"
		 "'stacks':[[],[0,%llu],[0,%llu],[0,%llu,1,132000]]}\n"
		 "{'e':'sample','th':1,'s':100,'cpu':0}\n"
		 "{'e':'sample','th':1,'s':200,'cpu':100,'st':1}\n"
		 "{'e':'sample','th':1,'s':300,'cpu':400,'st':2}\n"
		 "{'e':'sample','th':2,'s':100,'cpu':0}\n"
		 "{'e':'sample','th':2,'s':300,'cpu':150,'st':1}\n"
		 "{'e':'sample','th':2,'s':500,'cpu':350,'st':3}\n",
		 sample_path("spinning"), (unsigned long long)spin_at + 1,
		 (unsigned long long)burn_at + 1, (unsigned long long)spin_at + 1);
	read_good(recording, text, 0);
}

START_TEST(samples_in_a_waiting_loop_add_up)
{
	struct recording recording;
	struct spins spins;

	sample_build("gcc", "spinning", spinning_c, "-O2");
	read_spinning(&recording, sample_symbol("spinning", "await"),
		      sample_symbol("spinning", "in_burn"));
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	spins_build(&spins, &recording, symbols);
	symbols_free(symbols);
	ck_assert_uint_eq(spins.total_ns, 250);
	ck_assert_uint_eq(spins.looked_ns, 750);
	ck_assert_uint_eq(spins.most_ns, 150);
	ck_assert_uint_eq(spins.thread_ns, 150);
	ck_assert_str_eq(recording.strings[spins.function], "await");
	ck_assert_uint_eq(recording.threads[spins.thread].tid, 2);
	recording_free(&recording);
}
END_TEST

static const char compiled_c[] =
	"__attribute__((noinline)) int await(volatile int *at, volatile int *to, int x, int y)\n"
	"{\n"
	"	while (*at == x && *to == y)\n"
	"		__asm__ volatile(\".globl in_await\\nin_await:\");\n"
	"	return x;\n"
	"}\n"
	"__attribute__((noinline)) int count(volatile int *to)\n"
	"{\n"
	"	volatile int i = 0;\n"
	"	for (; i < *to; i++)\n"
	"		__asm__ volatile(\".globl in_burn\\nin_burn:\");\n"
	"	return i;\n"
	"}\n"
	"int main(void)\n"
	"{\n"
	"	volatile int one = 1, two = 2;\n"
	"	return await(&one, &two, 1, 1) + count(&two);\n"
	"}\n";

static const char *const flags[] = {
	"-O0",
	"-O1",
	"-O2",
	"-O2 -fno-omit-frame-pointer",
	"-O0 -fomit-frame-pointer",
	/* rbp is the next register that is left */
	"-O2 -ffixed-rax -ffixed-rcx -ffixed-rdx -ffixed-rbx -ffixed-r8 -ffixed-r9 -ffixed-r10",
};

/* Whatever registers the compiler takes. */
START_TEST(the_same_source_spins_as_ever_it_is_compiled)
{
	struct recording recording;
	struct spins spins;

	sample_build("gcc", "spinning", compiled_c, flags[_i]);
	read_spinning(&recording, sample_symbol("spinning", "in_await"),
		      sample_symbol("spinning", "in_burn"));
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	spins_build(&spins, &recording, symbols);
	symbols_free(symbols);
	ck_assert_msg(spins.total_ns == 250, "%s: %llu ns", flags[_i],
		      (unsigned long long)spins.total_ns);
	ck_assert_str_eq(recording.strings[spins.function], "await");
	recording_free(&recording);
}
END_TEST

START_TEST(code_that_is_not_here_works)
{
	struct recording recording;
	struct spins spins;

	read_spinning(&recording, 0x1000, 0x1000);
	recording.strings[recording.modules[0].path] = "/none/spinning";
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	spins_build(&spins, &recording, symbols);
	symbols_free(symbols);
	ck_assert_uint_eq(spins.total_ns, 0);
	ck_assert_uint_eq(spins.looked_ns, 0);
	ck_assert_uint_eq(spins.thread, NO_INDEX);
	recording_free(&recording);
}
END_TEST

SUITE()
{
	FIXTURE_ONCE(sample_begin, sample_end);
	TEST(samples_in_a_waiting_loop_add_up);
	EACH(the_same_source_spins_as_ever_it_is_compiled, flags);
	TEST(code_that_is_not_here_works);
}
