# SPDX-License-Identifier: MIT
# merge_fixture.c holds a symbolizer of its own, so that these need no debug information.
unit(query SOURCES merge_fixture.c LIBS merge m)
