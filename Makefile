# SPDX-License-Identifier: Apache-2.0
# dtrain: one program (cmd/) on one library (lib/). GNU make; everything is built under build/, but lib/dtrain/ops.h.
#
#   make              the program, the libraries
#   make tests        the test programs            make test      builds and runs them, prints N passed, N failed
#   make examples     the C examples, the sample digits and the sample text
#   make fuzz         fuzz targets, by clang: scripts/fuzz runs them
#   make check        rooms, sizes, format, shell scripts, warnings are errors
#   make check-fast   what a change touches, in under a minute
#   make bench        measures against the limits of this machine
#   make install      PREFIX=/usr/local libdir=PREFIX/lib DESTDIR=; make uninstall takes it away; install-strip: smaller
#   SAN=asan|tsan     the same under sanitizers (asan brings ubsan), in a build folder of its own
#
# ROOMS="base conf" builds and tests those rooms only: a room needs no room below it.

ALL_ROOMS := $(shell awk '$$1 ~ /^[a-z]+$$/ { print $$1 }' lib/ROOMS)
ROOMS     ?= $(ALL_ROOMS)
SAN       ?=
BUILD     ?= build$(if $(SAN),/$(SAN))
PREFIX    ?= /usr/local
CC        ?= cc
libdir    ?= $(PREFIX)/lib
# lib/dtrain/version.h says it.
part      = $(shell awk '$$2 == "DTRAIN_VERSION_$(1)" { print $$3 }' lib/dtrain/version.h)
VERSION   := $(call part,MAJOR).$(call part,MINOR).$(call part,PATCH)
SONAME    := libdtrain.so.$(call part,MAJOR)

WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
# Sanitizers name functions and lines: more takes longer to compile.
CFLAGS   ?= -O2 $(if $(filter asan tsan,$(SAN)),-g1,-g)
# No contraction: a product and a sum are rounded the same way by every compiler and instruction set.
DTFLAGS  := -std=gnu17 $(WARN) -Ilib -fPIC -ffp-contract=off -fno-math-errno
LDLIBS   := -lyaml -ljansson -lcrypto -lz -lpng -ljpeg -lm -ldl -lpthread
TESTLIBS := -lcmocka

# Hardening, as far as the compiler has it; scripts/check-hardening looks for it in what was built. FORTIFY needs optimization, and a
# packager's own level counts. Sanitizers check more and come without it.
accepted = $(shell for flag in $(1); do $(CC) -Werror $$flag -x c -c -o /dev/null /dev/null 2>/dev/null && echo $$flag; done)
ifeq ($(SAN),)
ifeq ($(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),)
FORTIFY  := $(if $(filter -O1 -O2 -O3 -Os -Oz,$(CFLAGS)),$(shell \
    echo | $(CC) -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -include features.h -Werror -x c -E -o /dev/null - 2>/dev/null && echo 3 || echo 2))
endif
HARDEN   := $(if $(FORTIFY),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(FORTIFY)) \
    $(call accepted,-fstack-protector-strong -fstack-clash-protection -fcf-protection)
HARDEN_LD := -Wl,-z,relro -Wl,-z,now
endif
DTFLAGS += $(HARDEN) $(CPPFLAGS)

# What tests and examples are linked with. Under these sanitizers each would be a program of 20 to 60 MB: they share one library, which
# exports everything.
ifneq ($(filter asan tsan,$(SAN)),)
DTFLAGS  += -fno-semantic-interposition -ftls-model=initial-exec
INTERNAL := $(BUILD)/libinternal.so
INTERNAL_LD := -Wl,-rpath,$(abspath $(BUILD))
else
DTFLAGS  += -fvisibility=hidden
INTERNAL := $(BUILD)/libdtrain.a
endif

ifeq ($(SAN),asan)
DTFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
else ifeq ($(SAN),tsan)
DTFLAGS += -fsanitize=thread
LDFLAGS += -fsanitize=thread
else ifeq ($(SAN),fuzz)
# private: otherwise $(BUILD)/flags, made for such an object, would say that all have this flag.
$(BUILD)/tests/fuzz/%.o: private DTFLAGS += -DDT_FUZZER
DTFLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-pass-failed
LDFLAGS += -fsanitize=address,undefined
else ifeq ($(SAN),cov)
DTFLAGS += --coverage
LDFLAGS += --coverage
else ifneq ($(SAN),)
$(error SAN is asan, tsan, fuzz or cov, not '$(SAN)')
endif
# Not among the flags whose change rebuilds everything.
STRICT   := $(if $(filter 1,$(WERROR)),-Werror)

# Sources are found by wildcard: a new layer, op or verb touches no makefile.
find_c   = $(sort $(shell find $(1) -name '*.c' 2>/dev/null))
LIB_C   := $(filter-out lib/net/plugin/%,$(call find_c,$(addprefix lib/,$(ROOMS))))
# A room's simd/*.c are compiled once per instruction set; the best is chosen at start-up.
SIMD_C  := $(filter $(addsuffix /simd/%,$(wildcard lib/*)),$(LIB_C))
PLAIN_C := $(filter-out $(SIMD_C),$(LIB_C))
CMD_C   := $(call find_c,cmd)
TEST_C  := $(foreach r,$(ROOMS),$(filter %_test.c,$(call find_c,tests/$(r))))
HELP_C  := $(call find_c,tests/support)
# Golden cases through the public API; for users too: build/tests/conformance DIRECTORY
GOLDEN_C := $(call find_c,tests/conformance)
EXAMPLE_C := $(call find_c,examples)
# The header of ops is made of their comments.
OPS_H   := lib/dtrain/ops.h
PUBLIC_H := $(sort $(wildcard lib/dtrain/*.h) $(OPS_H))

ARCH    := $(shell $(CC) -dumpmachine | cut -d- -f1)
ifeq ($(ARCH),x86_64)
ISAS    := base avx2 avx512
else
ISAS    := base
endif
ISA_base   :=
ISA_avx2   := -mavx2 -mfma -mf16c
ISA_avx512 := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c -mprefer-vector-width=512

PLAIN_O := $(PLAIN_C:%.c=$(BUILD)/%.o)
SIMD_O  := $(foreach i,$(ISAS),$(SIMD_C:%.c=$(BUILD)/%.$(i).o))
LIB_O   := $(PLAIN_O) $(SIMD_O)
CMD_O   := $(CMD_C:%.c=$(BUILD)/%.o)
HELP_O  := $(HELP_C:%.c=$(BUILD)/%.o)
# Not below tests/conformance: that is the program.
GOLDEN_O := $(GOLDEN_C:tests/conformance/%.c=$(BUILD)/tests/golden/%.o)
TESTS   := $(TEST_C:%.c=$(BUILD)/%)
EXAMPLES := $(EXAMPLE_C:examples/%.c=$(BUILD)/examples/%)

.DEFAULT_GOAL := all
.PHONY: all tests test examples check check-fast bench install install-strip uninstall clean FORCE
.SUFFIXES:
.SECONDARY:

# A plug-in for each MPI library whose compiler is here; `mpicc` alone is asked which one it is. Loaded only when a job asks: nothing links MPI.
mpicc    = $(firstword $(shell command -v mpicc.$(1) || (mpicc -show 2>/dev/null | grep -q $(2) && command -v mpicc)))
MPICC_openmpi := $(call mpicc,openmpi,openmpi)
MPICC_mpich   := $(call mpicc,mpich,mpich)
MPI_PLUGINS   := $(strip $(if $(filter net,$(ROOMS)),$(foreach m,openmpi mpich,$(if $(MPICC_$(m)),$(BUILD)/dtrain-fabric-$(m).so))))

all: $(BUILD)/dtrain $(BUILD)/libdtrain.a $(BUILD)/libdtrain.so $(MPI_PLUGINS)

# Asked once, before anything is compiled: one line instead of an error for each file.
$(BUILD)/headers: scripts/install-missing
	@mkdir -p $(@D)
	@CC='$(CC) $(CFLAGS)' scripts/install-missing check && touch $@

# The script leaves the header as it is where nothing differs, so a file of this build says when it ran.
$(OPS_H): $(BUILD)/op-header
	@test -f $@ || scripts/op-header
$(BUILD)/op-header: scripts/op-header lib/op/ops.h $(wildcard lib/op/*.c)
	scripts/op-header
	@mkdir -p $(@D)
	@touch $@

# What every object needs before it is compiled for the first time.
FIRST   := $(BUILD)/headers $(OPS_H)
$(BUILD)/%.o: %.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(CC) $(DTFLAGS) $(STRICT) $(CFLAGS) -MMD -MP -c -o $@ $<

# Floating-point traps are not used. If they were allowed, gcc would compile every choice between floats (exp, maximum) to scalar code.
SIMDFLAGS := -O3 -fno-trapping-math
define simd_rule
$(BUILD)/%.$(1).o: %.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $$(@D)
	$$(CC) $$(DTFLAGS) $$(STRICT) $$(CFLAGS) $$(SIMDFLAGS) $$(ISA_$(1)) -DDT_ISA=$(1) -DDT_ISA_$(1) -MMD -MP -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call simd_rule,$(i))))

# Texts that are compiled in: each line of FILE as a string, for `#include "ROOM/FILE.inc"` between braces.
$(BUILD)/embedded/%.inc: lib/%
	@mkdir -p $(@D)
	sed '/SPDX-License-Identifier/d; s/[\\"]/\\&/g; s/.*/"&\\n",/' $< > $@
$(BUILD)/embedded/%.inc: cmd/shell/%
	@mkdir -p $(@D)
	sed '/SPDX-License-Identifier/d; s/[\\"]/\\&/g; s/.*/"&\\n",/' $< > $@
$(BUILD)/cmd/complete.o: DTFLAGS += -I$(BUILD)/embedded
$(BUILD)/cmd/complete.o: $(BUILD)/embedded/dtrain.bash.inc $(BUILD)/embedded/dtrain.zsh.inc $(BUILD)/embedded/dtrain.fish.inc
$(BUILD)/lib/report/write.o: DTFLAGS += -I$(BUILD)/embedded
$(BUILD)/lib/report/write.o: $(patsubst lib/%,$(BUILD)/embedded/%.inc,$(wildcard lib/report/*.css lib/report/*.js))
# docs/errors.md as C, for `dtrain explain`.
$(BUILD)/embedded/base/error_texts.inc: docs/errors.md scripts/error-texts
	@mkdir -p $(@D)
	scripts/error-texts $< > $@.new && mv $@.new $@
$(BUILD)/lib/base/report.o: DTFLAGS += -I$(BUILD)/embedded
$(BUILD)/lib/base/report.o: $(BUILD)/embedded/base/error_texts.inc

# Calls of all public functions, generated from the headers.
$(BUILD)/embedded/api_calls.inc: scripts/api-calls $(PUBLIC_H)
	@mkdir -p $(@D)
	scripts/api-calls $(filter %.h,$^) > $@
API_O   := $(BUILD)/tests/job/api_test.o $(BUILD)/tests/fuzz/api_fuzz.o
$(API_O): DTFLAGS += -I$(BUILD)/embedded
$(API_O): $(BUILD)/embedded/api_calls.inc

# A change of flags rebuilds everything.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(CC) $(DTFLAGS) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(CC) $(DTFLAGS) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS))' > $@
FORCE:

$(BUILD)/libdtrain.a: $(LIB_O)
	@rm -f $@
	$(AR) rcs $@ $^
# Only the public API is exported, under the version of its interface. The link lets programs use the library without installing it.
$(BUILD)/libdtrain.map: lib/dtrain/version.h
	@mkdir -p $(@D)
	echo 'DTRAIN_$(call part,MAJOR).$(call part,MINOR) { global: dt_*; local: *; };' > $@
$(BUILD)/libdtrain.so: $(LIB_O) $(BUILD)/libdtrain.map
	$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script,$(BUILD)/libdtrain.map $(HARDEN_LD) $(LDFLAGS) -o $@ $(LIB_O) $(LDLIBS)
	@ln -sf libdtrain.so $(BUILD)/$(SONAME)
$(BUILD)/dtrain: $(CMD_O) $(BUILD)/libdtrain.a
	$(CC) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ $(LDLIBS)
# Not under sanitizers: MPI libraries are not built for them.
$(BUILD)/dtrain-fabric-%.so: lib/net/plugin/mpi.c lib/net/plugin/mpi.h $(BUILD)/flags
	$(MPICC_$*) -shared -std=gnu17 $(WARN) $(STRICT) -Ilib -fPIC -fvisibility=hidden $(HARDEN) $(CFLAGS) $(HARDEN_LD) -o $@ $<
# The program for machines that have nothing but the C library: the wheel. What it loads (OpenBLAS, MPI plug-ins) may lie in ../lib/dtrain.
# `linked` lists what the linker took, for the bill of materials.
STATIC_LIBS := -Wl,-Bstatic -lyaml -ljansson -lcrypto -lpng -ljpeg -lz -Wl,-Bdynamic -lm -ldl -lpthread
# The names of cmd/ are its own: jansson has some of them, too.
$(BUILD)/portable/cmd.o: $(CMD_O)
	@mkdir -p $(@D)
	$(LD) -r -o $@ $^
	objcopy --keep-global-symbol=main $@
$(BUILD)/portable/dtrain: $(BUILD)/portable/cmd.o $(BUILD)/libdtrain.a
	$(CC) $(HARDEN_LD) $(LDFLAGS) -s -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib/dtrain' -Wl,--trace -o $@ $^ $(STATIC_LIBS) >$(@D)/linked

WHOLE   := $(if $(filter-out $(ROOMS),$(ALL_ROOMS)),,yes)

# What fuzzing found, once more.
# What the reference documents promise, through all rooms.
TESTS   += $(if $(WHOLE),$(patsubst %.c,$(BUILD)/%,$(filter %_test.c,$(call find_c,tests/contract))))
TESTS   += $(if $(WHOLE),$(BUILD)/tests/fuzz/replay_test)

build/corpus/unpacked: $(wildcard tests/fuzz/corpus/*.tar.gz) scripts/corpus
	scripts/corpus unpack
	@touch $@

# Benchmarks are compiled with the tests, so that a change of what they call is noticed.
BENCH_C := $(filter-out $(if $(MPICC_openmpi),,%/allreduce.c),$(call find_c,scripts/bench.d))
$(BUILD)/scripts/bench.d/allreduce.o: private DTFLAGS += $(addprefix -isystem ,$(if $(MPICC_openmpi),$(shell $(MPICC_openmpi) --showme:incdirs)))

tests: $(TESTS) $(if $(WHOLE),$(BUILD)/tests/conformance $(addprefix $(BUILD)/tests/faults/,shim.so states) $(BENCH_C:%.c=$(BUILD)/%.o))
$(BUILD)/tests/golden/%.o: tests/conformance/%.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(CC) $(DTFLAGS) $(STRICT) $(CFLAGS) -MMD -MP -c -o $@ $<
# As a program of a user's would: the public header, the library.
$(BUILD)/tests/conformance: $(GOLDEN_O) $(BUILD)/libdtrain.a
	$(CC) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ $(LDLIBS)
# An archive, so that a test takes from tests/support what it needs and no room below its own.
$(BUILD)/tests/libsupport.a: $(HELP_O)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^
# TEST_LDFLAGS=-s: without symbols and debugging information, which are most of their size.
TEST_LDFLAGS ?=
$(BUILD)/libinternal.so: $(LIB_O)
	$(CC) -shared -Wl,-soname,libinternal.so $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/tests/%_test: $(BUILD)/tests/%_test.o $(BUILD)/tests/libsupport.a $(INTERNAL)
	$(CC) $(HARDEN_LD) $(LDFLAGS) $(TEST_LDFLAGS) $(INTERNAL_LD) -o $@ $^ $(TESTLIBS) $(LDLIBS)
# Readers under fire: make fuzz, with clang's libFuzzer; with any compiler the same targets are run once over what was found (replay_test.c).
FUZZ_C  := $(call find_c,tests/fuzz)
FUZZERS := $(patsubst %.c,build/fuzz/%,$(filter %_fuzz.c,$(FUZZ_C)))
FUZZ_O  := $(FUZZ_C:%.c=$(BUILD)/%.o)
.PHONY: fuzz
fuzz: build/corpus/unpacked
	$(MAKE) SAN=fuzz CC=clang CFLAGS='-O1 -g' $(FUZZERS)
# The command line's readers, without its main.
$(BUILD)/tests/fuzz/libverbs.a: $(filter-out $(BUILD)/cmd/main.o,$(CMD_O))
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^
$(BUILD)/tests/fuzz/%_fuzz: $(BUILD)/tests/fuzz/%_fuzz.o $(filter-out %_fuzz.o %_test.o,$(FUZZ_O)) $(BUILD)/tests/fuzz/libverbs.a $(BUILD)/libdtrain.a
	$(CC) $(HARDEN_LD) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)
$(BUILD)/tests/fuzz/replay_test: $(FUZZ_O) $(BUILD)/tests/fuzz/libverbs.a $(BUILD)/libdtrain.a | build/corpus/unpacked
	$(CC) $(HARDEN_LD) $(LDFLAGS) -Wl,--wrap=dt_try_alloc,--wrap=dt_try_alloc_dense -o $@ $^ $(TESTLIBS) $(LDLIBS)

# Plug-ins lie beside the program that loads them.
$(BUILD)/tests/net/mpi_test: | $(MPI_PLUGINS:$(BUILD)/%=$(BUILD)/tests/net/%)
$(BUILD)/tests/net/dtrain-fabric-%.so: $(BUILD)/dtrain-fabric-%.so
	@mkdir -p $(@D)
	ln -sf ../../$(<F) $@

# Plug-ins that are none, for the drivers' tests.
$(BUILD)/tests/pjrt/fake_%.so: tests/pjrt/fake_%.c lib/pjrt/api.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) -shared $(DTFLAGS) $(STRICT) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS) -o $@ $<
$(BUILD)/tests/pjrt/pjrt_test: | $(BUILD)/tests/pjrt/fake_plugin.so
$(BUILD)/tests/pjrt/client_test $(BUILD)/tests/backend/pjrt_test: | $(BUILD)/tests/pjrt/fake_device.so

# What makes calls of a program fail and records them, for scripts/soak: a plain library, also beside sanitizers. What makes states of a record.
FAULTS_C := $(wildcard tests/faults/shim*.c)
PLAIN    := -std=gnu17 $(WARN) $(STRICT)
$(BUILD)/tests/faults/shim.so: $(FAULTS_C) tests/faults/shim.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) -shared $(PLAIN) -fPIC $(CFLAGS) -o $@ $(FAULTS_C) -ldl -lpthread
STATES_C := $(addprefix tests/faults/,states.c story.c tree.c)
$(BUILD)/tests/faults/states: $(STATES_C) tests/faults/story.h tests/faults/tree.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(PLAIN) $(CFLAGS) -o $@ $(STATES_C)

# All that is compiled, without links: for a second compiler's warnings.
.PHONY: objects
objects: $(LIB_O) $(CMD_O) $(HELP_O) $(GOLDEN_O) $(EXAMPLES:%=%.o) $(patsubst %,%.o,$(filter %_test,$(TESTS))) $(FUZZ_O) $(BENCH_C:%.c=$(BUILD)/%.o)

test: tests $(if $(WHOLE),all examples)
	BUILD=$(BUILD) scripts/run-tests $(TESTS) tests/cli/*/*.sh tests/tasks/*.sh

$(BUILD)/examples/%: $(BUILD)/examples/%.o $(INTERNAL)
	@mkdir -p $(@D)
	$(CC) $(HARDEN_LD) $(LDFLAGS) $(TEST_LDFLAGS) $(INTERNAL_LD) -o $@ $^ $(LDLIBS)
examples: $(EXAMPLES) build/digits/x.npy build/text/play.txt
# The sample digits are drawn, never downloaded: 10,000 to train, 2,000 to test.
build/digits/x.npy: | $(BUILD)/dtrain
	$(BUILD)/dtrain data synth digits -o build/digits
build/text/play.txt: | $(BUILD)/dtrain
	$(BUILD)/dtrain data synth text -o build/text

# After each edit, in under a minute.
check-fast:
	scripts/check-fast

check:
	scripts/check-rooms
	scripts/check-ops
	scripts/check-size
	scripts/check-format
	shellcheck $$(scripts/shell-files)
	$(MAKE) BUILD=$(BUILD)/werror WERROR=1 all tests
	BUILD=$(BUILD)/werror scripts/check-links
	scripts/check-hardening $(BUILD)/werror/dtrain $(BUILD)/werror/libdtrain.so

# Sums over workers beside those of MPI: only where its compiler is here.
$(BUILD)/bench-allreduce: scripts/bench.d/allreduce.c $(BUILD)/libdtrain.a
	$(MPICC_openmpi) -std=gnu17 -O2 $(WARN) -Ilib $(LDFLAGS) -o $@ $^ $(LDLIBS)
bench: all examples $(if $(MPICC_openmpi),$(BUILD)/bench-allreduce)
	BUILD=$(BUILD) scripts/bench

# What the binary prints of itself (manual pages, completions) is made while it is installed, for all to read whatever the umask. DESTDIR may
# have blanks; pkg-config takes none in PREFIX and libdir.
TO   = $(DESTDIR)$(PREFIX)
LIB_TO  = $(DESTDIR)$(libdir)
DOC_TO  = $(TO)/share/doc/dtrain
BASH_TO = $(TO)/share/bash-completion/completions
ZSH_TO  = $(TO)/share/zsh/site-functions
FISH_TO = $(TO)/share/fish/vendor_completions.d
DOCS    = LICENSE NOTICE CHANGELOG.md
CHECK_PREFIX = $(if $(filter ~%,$(PREFIX) $(DESTDIR)),$(error no shell reads '~' here: write PREFIX=$(HOME)/...))$(if $(filter-out 0 1,$(words $(PREFIX)) $(words $(libdir))),$(error PREFIX has a blank in it, which pkg-config does not take: '$(PREFIX)'))
# filled FILE TO: a file of packaging/ with what is known here.
filled = sed 's|@VERSION@|$(VERSION)|; s|@MAJOR@|$(call part,MAJOR)|; s|@MINOR@|$(call part,MINOR)|; s|@PREFIX@|$(PREFIX)|; \
    s|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(libdir))|' packaging/$(1).in > "$(2)/$(1)"
INSTALL_BINARY = install -m 755
install: all $(OPS_H)
	$(CHECK_PREFIX)install -d "$(TO)/bin" "$(LIB_TO)/pkgconfig" "$(LIB_TO)/cmake/dtrain" "$(TO)/include/dtrain" $(foreach n,1 3 5,"$(TO)/share/man/man$(n)")
	install -d "$(BASH_TO)" "$(ZSH_TO)" "$(FISH_TO)" "$(DOC_TO)"
	$(INSTALL_BINARY) $(BUILD)/dtrain "$(TO)/bin/"
	$(if $(MPI_PLUGINS),install -d "$(TO)/lib/dtrain" && $(INSTALL_BINARY) $(MPI_PLUGINS) "$(TO)/lib/dtrain/")
	install -m 644 $(BUILD)/libdtrain.a "$(LIB_TO)/"
	$(INSTALL_BINARY) $(BUILD)/libdtrain.so "$(LIB_TO)/libdtrain.so.$(VERSION)"
	ln -sf libdtrain.so.$(VERSION) "$(LIB_TO)/$(SONAME)"
	ln -sf $(SONAME) "$(LIB_TO)/libdtrain.so"
	install -m 644 lib/dtrain.h "$(TO)/include/"
	install -m 644 $(PUBLIC_H) "$(TO)/include/dtrain/"
	install -m 644 $(DOCS) "$(DOC_TO)/"
	$(call filled,dtrain.pc,$(LIB_TO)/pkgconfig)
	$(call filled,dtrain-config.cmake,$(LIB_TO)/cmake/dtrain)
	$(call filled,dtrain-config-version.cmake,$(LIB_TO)/cmake/dtrain)
	set -e; for page in $$($(BUILD)/dtrain man --list); do \
	    to="$(TO)/share/man/man$${page##*.}/$$page"; $(BUILD)/dtrain man $$page > "$$to"; chmod 644 "$$to"; done
	umask 022 && scripts/reference --man "$(TO)/share/man/man3"
	$(BUILD)/dtrain completions bash > "$(BASH_TO)/dtrain"
	$(BUILD)/dtrain completions zsh > "$(ZSH_TO)/_dtrain"
	$(BUILD)/dtrain completions fish > "$(FISH_TO)/dtrain.fish"
	chmod 644 "$(LIB_TO)/pkgconfig/dtrain.pc" "$(LIB_TO)/cmake/dtrain"/*.cmake "$(BASH_TO)/dtrain" "$(ZSH_TO)/_dtrain" "$(FISH_TO)/dtrain.fish"
	@$(if $(DESTDIR),,echo "installed below $(PREFIX); if a C program does not find libdtrain.so, see docs/install.md")
# Without debugging information and local symbols.
install-strip:
	$(MAKE) INSTALL_BINARY='install -s -m 755' install

# Files of ours alone: folders that others may use stay.
uninstall:
	$(CHECK_PREFIX)rm -f "$(TO)/bin/dtrain" $(foreach f,libdtrain.a libdtrain.so $(SONAME) libdtrain.so.$(VERSION),"$(LIB_TO)/$(f)")
	rm -f $(foreach m,openmpi mpich,"$(TO)/lib/dtrain/dtrain-fabric-$(m).so")
	rm -f "$(LIB_TO)/pkgconfig/dtrain.pc" "$(TO)/include/dtrain.h" $(foreach f,$(PUBLIC_H),"$(TO)/include/$(f:lib/%=%)")
	rm -f "$(TO)/share/man/man1/dtrain.1" "$(TO)/share/man/man1"/dtrain-*.1 "$(TO)/share/man/man5/dtrain-job.5"
	scripts/reference --man $(BUILD)/man3
	for page in $(BUILD)/man3/*.3; do rm -f "$(TO)/share/man/man3/$${page##*/}"; done
	rm -f "$(BASH_TO)/dtrain" "$(ZSH_TO)/_dtrain" "$(FISH_TO)/dtrain.fish" $(foreach f,$(DOCS),"$(DOC_TO)/$(f)")
	rm -f "$(LIB_TO)/cmake/dtrain/dtrain-config.cmake" "$(LIB_TO)/cmake/dtrain/dtrain-config-version.cmake"
	set -e; for folder in "$(TO)/include/dtrain" "$(TO)/lib/dtrain" "$(DOC_TO)" "$(LIB_TO)/cmake/dtrain"; do \
	    if [ -d "$$folder" ]; then rmdir --ignore-fail-on-non-empty "$$folder"; fi; done

clean:
	rm -rf build $(OPS_H)

-include $(shell find $(addprefix $(BUILD)/,lib cmd tests examples scripts) -name '*.d' -type f 2>/dev/null)
