# SPDX-License-Identifier: Apache-2.0
# Targets: make help. Knobs: CC=clang, SAN=address,undefined or thread (gcc's warnings are guesses then: no
# -Werror), B=build directory, V=1 shows commands.

CC       := $(if $(filter default,$(origin CC)),gcc,$(CC))
comma    := ,
B        ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
PREFIX   ?= /usr/local
VERSION   = $(shell sed -nE 's/^.define WCPROF_VERSION "(.*)"/\1/p' recorder/format.h)
Q        := $(if $(V),,@)

WARN     := -Wall -Wextra $(if $(SAN),,-Werror) -Wswitch-enum -Wmissing-prototypes -Wstrict-prototypes -Wshadow \
            -Wpointer-arith -Wwrite-strings -Wvla
CFLAGS   ?= $(if $(SAN),-O1,-O2) -g
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE $(WARN) -MMD -MP $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) $(CFLAGS)
PIC      := -fPIC -fvisibility=hidden -ftls-model=initial-exec -fexceptions -fno-plt
# libgcc_s first: a plug-in's C++ exceptions must find their unwinder there, not in libunwind.so, which hangs them.
LIB_LIBS := -Wl,--push-state,--no-as-needed -lgcc_s -lc -lunwind-x86_64 -Wl,--pop-state
CMD_LIBS := -lZydis -lzstd -ldw -lelf -liberty -lm
# Of the machine's libcurl only the agent has a need, and without its headers it is not built.
HAS_CURL := $(wildcard /usr/include/curl/curl.h /usr/include/*/curl/curl.h)
AN_LIBS  := -ldw -lelf -liberty -lzstd -lz -lm -lpthread

objects   = $(patsubst %.c,$(B)/%.o,$(wildcard $(1)/*.c)) $(patsubst %.S,$(B)/%.o,$(wildcard $(1)/*.S))
REC_OBJ  := $(call objects,recorder)
PRE_OBJ  := $(call objects,preload)
CMD_OBJ  := $(call objects,recorder/cmd)
AGENT_OBJ := $(if $(HAS_CURL),$(call objects,recorder/agent))
AN_DIRS  := $(patsubst %/,%,$(sort $(dir $(wildcard analyzer/*.c analyzer/*/*.c analyzer/*/*/*.c))))
AN_OBJ   := $(foreach dir,$(AN_DIRS),$(call objects,$(dir)))
MANUALS  := $(wildcard analyzer/*.1 recorder/cmd/*.1)
SOURCES  := $(wildcard $(foreach dir,preload recorder recorder/cmd recorder/agent $(AN_DIRS) $(addprefix tests/,\
              recorder/cmd recorder/agent $(AN_DIRS)) tests/*,$(dir)/*.[ch]))
.PHONY: all no-agent demo check tidy format analyze install clean help
all: $(B)/libwcprof.so $(B)/wcprof-analyze $(if $(strip $(CMD_OBJ)),$(B)/wcprof) \
  $(if $(HAS_CURL),$(B)/wcprof-agent,no-agent) ## the library and the commands
no-agent:
	@echo "  wcprof-agent is left out: libcurl's headers are not there (libcurl4-openssl-dev)"

# $(call build,WORD) arguments: says what it makes, and makes it from the .c and .o that it depends on.
build     = $(Q)echo "  $(1)	$@"; mkdir -p $(@D); $(CC) $(ALL_CFLAGS) -o $@ $(if $(2),$(2),$(filter %.c %.o,$^))

$(B)/libwcprof.so: $(PRE_OBJ) $(REC_OBJ) preload/libwcprof.map
	$(call build,LD) -shared -Wl,--version-script=preload/libwcprof.map -Wl,-soname,libwcprof.so \
	  -Wl,-z,now,-z,relro,-z,defs,-z,initfirst,-z,nodelete,--sort-section=alignment $(LIB_LIBS)
$(B)/wcprof-analyze: $(AN_OBJ)
	$(call build,LD) $(AN_LIBS)
$(B)/wcprof: $(CMD_OBJ) $(REC_OBJ)
	$(call build,LD) $(LIB_LIBS) $(CMD_LIBS)
$(B)/commands.a: $(filter-out %/main.o,$(CMD_OBJ)) $(REC_OBJ)
	$(Q)echo "  AR	$@"; rm -f $@; ar rcsT $@ $^
$(B)/wcprof-agent: $(AGENT_OBJ) $(B)/commands.a
	$(call build,LD,$(AGENT_OBJ) $(B)/commands.a) $(LIB_LIBS) $(CMD_LIBS) -lcurl

# Asserts are for our tests: in a stranger's process the recorder counts and carries on.
# Aligned: where the linker happened to put a function made up to 20 ns of a recorded write().
# Variables one by one, which the link sorts: the small ones share pages that each process writes to.
$(B)/preload/%.o $(B)/recorder/%.o: ALL_CFLAGS += $(PIC) -falign-functions=64 -fdata-sections \
  $(if $(findstring clang,$(CC)),,-malign-data=abi) $(if $(SAN),,-DNDEBUG)
# The way of a probe's hit: a probed function's vector registers are not saved there (recorder/vectors.h).
PROBED   := probe_eval probe_hit probe_lengths op entries chunk self stack spare watch handles python own_stack \
            python_copied python_words packed clock slow pool arena room tasks condition requests glob strings \
            interned stacks
$(PROBED:%=$(B)/recorder/%.o): ALL_CFLAGS += -mgeneral-regs-only
$(B)/analyzer/%.o: ALL_CFLAGS += -iquote analyzer
$(B)/preload/%.o $(B)/analyzer/%.o $(B)/recorder/cmd/%.o $(B)/recorder/agent/%.o: ALL_CFLAGS += -iquote recorder
$(B)/recorder/agent/%.o: ALL_CFLAGS += -iquote recorder/cmd
$(B)/%.o: %.c
	$(call build,CC,$<) -c
$(B)/analyzer/export/page_assets.o: $(wildcard analyzer/page/*)
$(B)/%.o: %.S
	$(call build,AS,$<) $(PIC) -c

demo: ## finds a planted bottleneck in a bundled server
	@scripts/demo
check: ## every test: 25 to 50 minutes
	@scripts/check
tidy: ## style, arrows between folders, tables that must agree
	@scripts/tidy
format: ## lays the sources out as .clang-format says
	clang-format -i $(SOURCES)
analyze: ## gcc's and clang's static analyzers (some minutes)
	$(MAKE) CC=gcc B=$(B)-fanalyzer CFLAGS="-O2 -g -fanalyzer" all
	clang-tidy --quiet $(patsubst $(B)/%.o,%.c,$(AN_OBJ)) -- -std=c11 -D_GNU_SOURCE -iquote analyzer \
	  -iquote recorder
	clang-tidy --quiet --checks=-clang-analyzer-core.* $(wildcard recorder/*.c preload/*.c recorder/cmd/*.c) -- \
	  -std=c11 -D_GNU_SOURCE -iquote recorder # it takes what raw system calls fill in for uninitialised
# The service finds the program where it was put.
define install-agent
install -m 644 recorder/agent/wcprof-agent.conf.5 $(DESTDIR)$(PREFIX)/share/man/man5
install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
sed 's|@PREFIX@|$(PREFIX)|' recorder/agent/wcprof-agent.service.in \
  >$(DESTDIR)$(PREFIX)/lib/systemd/system/wcprof-agent.service
endef
install: all ## into PREFIX (/usr/local), below DESTDIR
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin lib/wcprof include share/man/man1 share/man/man3 \
	  share/man/man5 share/bash-completion/completions share/pkgconfig)
	install -m 755 $(wildcard $(B)/wcprof-analyze $(B)/wcprof $(B)/wcprof-agent) $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(B)/libwcprof.so $(DESTDIR)$(PREFIX)/lib/wcprof
	install -m 644 recorder/wcprof.h $(DESTDIR)$(PREFIX)/include
	install -m 644 recorder/wcprof.h.3 $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 recorder/wcprof-format.5 analyzer/wcprof-rows.5 $(DESTDIR)$(PREFIX)/share/man/man5
	sed 's|@PREFIX@|$(PREFIX)|;s|@VERSION@|$(VERSION)|' recorder/wcprof.pc.in \
	  >$(DESTDIR)$(PREFIX)/share/pkgconfig/wcprof.pc
	install -d $(DESTDIR)$(PREFIX)/share/wcprof
	install -m 644 $(wildcard analyzer/rows/*.sql recorder/cmd/*.yml) $(DESTDIR)$(PREFIX)/share/wcprof
	install -m 644 recorder/cmd/wcprof.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/wcprof
	$(if $(HAS_CURL),$(install-agent))
	$(if $(MANUALS),install -m 644 $(MANUALS) $(DESTDIR)$(PREFIX)/share/man/man1)
clean: ## removes the build directory
	$(Q)rm -rf $(B)
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

include tests/tests.mk
-include $(shell find $(B) -name '*.d' 2>/dev/null)
