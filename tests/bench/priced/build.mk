# SPDX-License-Identifier: MIT
# Four parts of equal work, then a last one that needs them all: CUT leaves the last one's work out.
BURN = n=$(1); while [ $$n -gt 0 ]; do n=$$((n - 1)); done
PARTS = a b c d
all: whole
whole: $(PARTS)
	@./link_whole $(if $(CUT),1,600000)
$(PARTS):
	@$(call BURN,200000)
.PHONY: all whole $(PARTS)
