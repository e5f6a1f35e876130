# SPDX-License-Identifier: Apache-2.0
# How the programs of the tests are built, and what measures or tries for long. The Makefile includes this.

TEST_LIBS := -lcheck -lsubunit -lm -lrt -lpthread -ljansson
TARGETS  := $(patsubst %.c,$(B)/%,$(wildcard tests/targets/*.c tests/truth/*.c tests/bench/*.c))
FUZZERS  := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))
UNIT     := $(patsubst %.c,$(B)/%,$(wildcard \
              $(addsuffix /test_*.c,$(addprefix tests/,recorder recorder/cmd $(if $(HAS_CURL),recorder/agent) \
              $(AN_DIRS) preload))))

.PHONY: tests-built unit-built fuzzers fuzz bench truth windows peers trials ci-trial fleet-trial diffs field \
  agent-hour generators soak model conformance kill moments attach-rows attach-soak attach-kills probe-soak scale \
  sources-read

# A unit test is one program: the test, and what it calls of the part of the house that it mirrors. Most are not
# optimised, or most of the time of a build would be theirs; the recorder's are, as stacks are looked at in them.
$(B)/tests/%.o: CFLAGS = -g
$(B)/tests/recorder/%.o: CFLAGS = -O2 -g
$(B)/tests/analyzer/%.o: ALL_CFLAGS += $(addprefix -iquote ,tests tests/analyzer analyzer recorder)
$(B)/tests/recorder/%.o: ALL_CFLAGS += $(addprefix -iquote ,tests recorder/cmd recorder)
$(B)/tests/recorder/agent/%.o: ALL_CFLAGS += -iquote recorder/agent
$(B)/tests/preload/%.o: ALL_CFLAGS += $(addprefix -iquote ,tests recorder preload)
$(B)/analyzer.a: $(filter-out %/main.o,$(AN_OBJ))
	$(Q)echo "  AR	$@"; rm -f $@; ar rcsT $@ $^
$(filter $(B)/tests/analyzer/%,$(UNIT)): $(B)/%: $(B)/%.o $(B)/analyzer.a
	$(call build,TEST,$(filter %.o %.a,$^)) $(AN_LIBS) $(TEST_LIBS)
$(filter $(B)/tests/recorder/test_%,$(UNIT)): $(B)/%: $(B)/%.o $(REC_OBJ)
	$(call build,TEST,$(filter %.o %.a,$^)) $(LIB_LIBS) $(TEST_LIBS)
$(filter $(B)/tests/recorder/cmd/%,$(UNIT)): $(B)/%: $(B)/%.o $(filter-out %/main.o,$(CMD_OBJ)) $(REC_OBJ)
	$(call build,TEST,$(filter %.o %.a,$^)) $(LIB_LIBS) $(CMD_LIBS) $(TEST_LIBS)
$(filter $(B)/tests/recorder/agent/%,$(UNIT)): $(B)/%: $(B)/%.o $(filter-out %/main.o,$(AGENT_OBJ)) \
  $(B)/commands.a
	$(call build,TEST,$(filter %.o %.a,$^)) $(LIB_LIBS) $(CMD_LIBS) -lcurl $(TEST_LIBS)
# The hooks are tested from outside: their tests run target programs with the library preloaded.
$(filter $(B)/tests/preload/%,$(UNIT)): $(B)/%: $(B)/%.o | $(B)/libwcprof.so $(TARGETS)
	$(call build,TEST,$(filter %.o %.a,$^)) $(TEST_LIBS)
# The one benchmark that looks inside.
$(B)/tests/bench/bench_recorder: tests/bench/bench_recorder.c $(REC_OBJ)
	$(call build,BENCH) -iquote recorder $(LIB_LIBS) -lpthread
# Targets, truths and benchmarks are plain programs that know nothing of us.
$(B)/tests/%: tests/%.c
	$(call build,TARGET) -iquote recorder -lpthread -lm -ldl $(LIBS_$(@F))
LIBS_teams := -l:libgomp.so.1
LIBS_rings := -luring
LIBS_traced := -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
LIBS_spans := $(LIBS_traced)
$(B)/tests/targets/%.o $(B)/tests/truth/%.o $(B)/tests/bench/%.o: ALL_CFLAGS += -iquote recorder
# A fuzzer feeds the folder that has the file of its name; SAN must bring a fuzzer-no-link.
$(B)/tests/fuzz/fuzz_agent: $(AGENT_OBJ) $(B)/commands.a
$(B)/tests/fuzz/fuzz_agent: FUZZED = $(filter-out %/main.o,$(AGENT_OBJ)) $(B)/commands.a $(LIB_LIBS) $(CMD_LIBS) \
  -lcurl -iquote recorder/cmd
$(B)/tests/fuzz/%: tests/fuzz/%.c $(REC_OBJ) $(CMD_OBJ) $(B)/analyzer.a
	$(call build,FUZZ,$<) -fsanitize=fuzzer -iquote analyzer -iquote recorder \
	  $(if $(FUZZED),$(FUZZED),$(if $(wildcard \
	  analyzer/*/$(*:fuzz_%=%).c),$(B)/analyzer.a $(AN_LIBS),$(if $(wildcard recorder/cmd/$(*:fuzz_%=%).c),\
	  $(filter-out %/main.o,$(CMD_OBJ)) $(CMD_LIBS)) $(REC_OBJ) $(LIB_LIBS)))

tests-built: all unit-built $(TARGETS)
unit-built: $(UNIT)
# Each source by itself: with CFLAGS=-fsyntax-only what a compiler has to say, and no object.
sources-read: $(PRE_OBJ) $(REC_OBJ) $(CMD_OBJ) $(AGENT_OBJ) $(AN_OBJ) $(addsuffix .o,$(UNIT) $(TARGETS))
fuzzers: $(FUZZERS)
fuzz: ## every fuzzer for FUZZ_SECONDS (60)
	$(Q)$(MAKE) CC=clang SAN=fuzzer-no-link,address,undefined B=$(B)-fuzz fuzzers
	$(Q)tests/fuzz/run $(B)-fuzz $(or $(FUZZ_SECONDS),60)
bench: tests-built ## what the hooks, the recorder and the analyzer cost (prints, never fails)
	@tests/bench/run $(B)
scale: ## what an analysis of 1, 10, 100 million events takes (SCALE_EVENTS; 12 GB in TMPDIR)
	@tests/bench/analyze.sh -b $(B) -r 1 -s tree $(or $(SCALE_EVENTS),1000000 10000000 100000000)
truth: tests-built ## predicted savings against fixes that are really made (about 25 minutes)
	@tests/truth/truth.py --build $(B) $(TRUTH_ARGS)
peers: tests-built ## predictions of other tools for the rows of make truth (PEERS_ARGS=--coz: 10 minutes more)
	@tests/truth/peers.py --build $(B) $(PEERS_ARGS)
trials: tests-built ## what wcprof try measures, against constants that are changed (half an hour; TRIALS_ARGS=-h)
	@tests/truth/trials.py --build $(B) $(TRIALS_ARGS)
fleet-trial: all $(B)/tests/targets/chained ## three services, the last one's lock halved (some minutes; FLEET_ARGS=-h)
	@tests/truth/fleet.py --build $(B) $(FLEET_ARGS)
agent-hour: all ## the agent beside redis, nginx and Java, and kills (AGENT_HOUR_ARGS: --minutes 60)
	@tests/agent/hour --build $(B) $(AGENT_HOUR_ARGS)
windows: tests-built ## answers of 200 windows (half an hour; WINDOWS_ARGS=-h)
	@tests/truth/windows.py --build $(B) --windows 200 $(WINDOWS_ARGS)
ci-trial: all $(B)/tests/targets/gated ## wcprof ci of equal and worse builds (a quarter of an hour; CI_TRIAL_ARGS=-h)
	@tests/truth/ci_trial.py --build $(B) $(CI_TRIAL_ARGS)
diffs: all $(B)/tests/truth/server ## what wcprof-analyze --diff finds between equal and slower recordings (3 minutes)
	@tests/truth/diffs.py --build $(B) $(DIFFS_ARGS)
field: all $(B)/tests/targets/kvload ## settings of real programs, predicted and made (an hour; FIELD_ARGS=-h)
	@tests/field/field.py --build $(B) $(FIELD_ARGS)
generators: all $(addprefix $(B)/tests/targets/,kvload timetable) ## report against generators (GENERATORS_ARGS=-h)
	@tests/field/generators.py --build $(B) $(GENERATORS_ARGS)
soak: tests-built ## 200,000 threads, 10,000 children, 500 threads flat out for a minute (10 GB in TMPDIR)
	@SOAK_THREADS=200000 $(B)/tests/recorder/test_recorder
	@CHILDREN=10000 B=$(B) tests/pressure/test_children
	@PRESSURE_SECONDS=60 B=$(B) tests/pressure/test_pressure
model: ## every interleaving of filling, draining, leaving and overwriting chunks (spin; 2 minutes)
	@B=$(B) MODEL_EVENTS=4 tests/model/test_model
conformance: tests-built ## programs of other projects behave the same, off and recording (an hour; CONFORMANCE_ARGS=-h)
	@scripts/setup conformance
	@B=$(B) tests/conformance/conformance.py $(CONFORMANCE_ARGS)
moments: tests-built ## dumps at 25,000 moments of a program keep what the format promises (about 10 minutes)
	@MOMENTS=20000 B=$(B) tests/safety/test_moments
attach-rows: tests-built ## attaches to each program of the hooks' tests before it begins (a minute; ROWS_ARGS=-h)
	@B=$(B) tests/attach/rows $(ROWS_ARGS)
attach-soak: tests-built ## attaches to 12 busy programs and leaves them, ATTACH_CYCLES (500) times or ATTACH_SECONDS
	@B=$(B) tests/attach/soak
attach-kills: tests-built ## kills wcprof attach at random moments, ATTACH_KILLS (60) times at each of 9 busy programs
	@ATTACH_KILLS=$(or $(ATTACH_KILLS),60) B=$(B) tests/attach/kills
probe-soak: tests-built ## probes of busy programs are put in and taken out, PROBE_CYCLES (1000) times each
	@PROBE_CYCLES=$(or $(PROBE_CYCLES),1000) B=$(B) tests/cmd/test_probe -k come_and_go
kill: tests-built ## programs that end at 10,000 random moments lose nothing (about 20 minutes)
	@KILL_RUNS=10000 B=$(B) tests/kill/test_kill
